"""Predictions are lazy, in the order of the rows, and have known divisions and dtypes."""

import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tritree import TrinaryBoostingClassifier, TrinaryBoostingRegressor
from tritree.dask import DaskTrinaryBoostingClassifier, DaskTrinaryBoostingRegressor

OPTIONS = {"max_iter": 2, "max_depth": 2, "random_state": 0, "background_rows": 300, "n_jobs": 1}


@pytest.fixture(scope="module")
def classifier(client, table):
    frame = dd.from_pandas(table.drop(columns=["weight", "y", "label"]), npartitions=3)
    return DaskTrinaryBoostingClassifier(client=client, **OPTIONS).fit(frame, "group")


def test_classes_of_a_frame(client, classifier, features):
    predicted = classifier.predict(dd.from_pandas(features, npartitions=4))
    assert predicted.known_divisions
    assert predicted.npartitions == 4
    found = client.compute(predicted).result()
    assert found.index.equals(features.index)
    assert found.tolist() == classifier.to_local().predict(features).tolist()


def test_probabilities_of_a_frame(client, classifier, features):
    predicted = classifier.predict_proba(dd.from_pandas(features, npartitions=4))
    assert predicted.known_divisions
    assert list(predicted.columns) == ["prediction_a", "prediction_b", "prediction_c"]
    assert set(predicted.dtypes) == {np.dtype(float)}
    np.testing.assert_array_equal(
        client.compute(predicted).result(), classifier.to_local().predict_proba(features)
    )


def test_arrays(client):
    X = np.random.default_rng(0).normal(size=(300, 3))
    chunks = da.from_array(X, chunks=(100, 2))
    y = (X[:, 0] > 0).astype(int)
    classifier = DaskTrinaryBoostingClassifier(client=client, **OPTIONS).fit(chunks, da.from_array(y, 100))
    local = TrinaryBoostingClassifier(**OPTIONS).fit(X, y)
    predicted, probabilities = classifier.predict(chunks), classifier.predict_proba(chunks)
    assert predicted.chunks == ((100, 100, 100),)
    assert predicted.dtype == y.dtype
    assert probabilities.shape == (300, 2)
    np.testing.assert_array_equal(client.compute(predicted).result(), local.predict(X))
    np.testing.assert_array_equal(client.compute(probabilities).result(), local.predict_proba(X))


def test_rows_in_memory_are_predicted_at_once(classifier, features):
    found = classifier.predict(features.head())
    assert found.tolist() == classifier.to_local().predict(features.head()).tolist()


def test_fitted_attributes_are_those_of_the_local_estimator(classifier, features):
    assert classifier.n_iter_ == 2
    assert classifier.n_features_in_ == features.shape[1]
    assert classifier.feature_names_in_.tolist() == list(features.columns)
    with pytest.raises(AttributeError, match="no attribute 'no_such_'"):
        _ = classifier.no_such_


def test_parameters_are_those_of_the_local_estimator():
    own = DaskTrinaryBoostingRegressor(max_iter=7).get_params()
    assert own.pop("client") is None
    assert own == TrinaryBoostingRegressor(max_iter=7).get_params()
    assert clone(DaskTrinaryBoostingRegressor(max_depth=3)).max_depth == 3
    with pytest.raises(TypeError, match="max_iters"):
        DaskTrinaryBoostingRegressor(max_iters=7)


def test_an_estimator_that_is_not_fitted_says_so(features):
    with pytest.raises(NotFittedError, match="call fit"):
        DaskTrinaryBoostingRegressor().predict(features)
    with pytest.raises(NotFittedError, match="call fit"):
        DaskTrinaryBoostingRegressor().to_local()


def test_a_pickled_estimator_predicts_without_its_client(classifier, features):
    restored = pickle.loads(pickle.dumps(classifier))
    assert restored.client is None
    assert restored.predict(features).tolist() == classifier.predict(features).tolist()
