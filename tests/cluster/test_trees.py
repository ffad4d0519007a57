"""Single trees and forests that are grown on a cluster are the local ones."""

import pickle

import dask.dataframe as dd
import numpy as np
import pytest

from tritree import (
    TrinaryForestClassifier,
    TrinaryForestRegressor,
    TrinaryTreeClassifier,
    TrinaryTreeRegressor,
    UngrownBranchWarning,
    load,
)
from tritree.dask import (
    DaskTrinaryForestClassifier,
    DaskTrinaryForestRegressor,
    DaskTrinaryTreeClassifier,
    DaskTrinaryTreeRegressor,
    trees,
)

TREE = {"max_depth": 3, "n_jobs": 1}
FOREST = {"n_estimators": 3, "max_depth": 4, "random_state": 0, "n_jobs": 1}


@pytest.fixture
def holed(features):
    """Rows that need third branches."""
    rng = np.random.default_rng(5)
    with_missing = features.mask(rng.random(features.shape) < 0.3)
    return with_missing.assign(flag=features.flag)  # Dask would make text of booleans with missing values


def saved(estimator, path):
    estimator.save(path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("kind", "local_kind", "target", "parameters"),
    [
        (DaskTrinaryTreeRegressor, TrinaryTreeRegressor, "y", TREE),
        (DaskTrinaryTreeClassifier, TrinaryTreeClassifier, "group", TREE | {"missing": "surrogate"}),
        (DaskTrinaryForestRegressor, TrinaryForestRegressor, "y", FOREST),
        (DaskTrinaryForestClassifier, TrinaryForestClassifier, "group", FOREST),
    ],
)
def test_the_model_is_the_local_one(
    kind, local_kind, target, parameters, client, table, features, holed, tmp_path
):
    local = local_kind(**parameters).fit(features, table[target], sample_weight=table.weight)
    frame = dd.from_pandas(features.assign(target=table[target], w=table.weight), npartitions=4)
    fitted = kind(client=client, **parameters).fit(frame, "target", sample_weight="w")
    assert saved(fitted, tmp_path / "a.tritree") == saved(local, tmp_path / "b.tritree")
    method = "predict_proba" if target == "group" else "predict"
    lazy = getattr(fitted, method)(dd.from_pandas(holed, npartitions=3))
    np.testing.assert_array_equal(client.compute(lazy).result(), getattr(local, method)(holed))


def test_rows_in_memory_are_predicted_where_the_training_rows_are(client, table, features, holed):
    frame = dd.from_pandas(features.assign(y=table.y), npartitions=4)
    fitted = DaskTrinaryTreeRegressor(client=client, **TREE).fit(frame, "y")
    local = TrinaryTreeRegressor(**TREE).fit(features, table.y)
    np.testing.assert_array_equal(fitted.predict(holed), local.predict(holed))


def test_branches_grown_for_rows_go_along_to_the_local_estimator(client, table, features, holed, tmp_path):
    frame = dd.from_pandas(features.assign(y=table.y), npartitions=4)
    fitted = DaskTrinaryTreeRegressor(client=client, **TREE).fit(frame, "y")
    n_fitted = fitted.n_nodes_
    assert fitted.grow_for(dd.from_pandas(holed, npartitions=2)) is fitted
    local = TrinaryTreeRegressor(**TREE).fit(features, table.y).grow_for(holed)
    assert fitted.n_nodes_ == local.n_nodes_ > n_fitted
    detached = fitted.to_local(training_rows=False)
    np.testing.assert_array_equal(detached.predict(holed), local.predict(holed))
    detached.save(tmp_path / "m.tritree")
    np.testing.assert_array_equal(load(tmp_path / "m.tritree").predict(holed), local.predict(holed))


def test_a_pickled_estimator_leaves_the_training_rows_on_the_cluster(client, table, features, holed):
    frame = dd.from_pandas(features.assign(y=table.y), npartitions=4)
    restored = pickle.loads(pickle.dumps(DaskTrinaryTreeRegressor(client=client, **TREE).fit(frame, "y")))
    with pytest.warns(UngrownBranchWarning):
        restored.predict(holed)
    with pytest.raises(ValueError, match="the training rows are gone"):
        restored.grow_for(holed)


def test_too_little_memory_on_one_worker(client, table, monkeypatch):
    monkeypatch.setattr(trees, "BYTES_PER_ROW", 2**40)
    frame = dd.from_pandas(table[["whole", "y"]], npartitions=2)
    with pytest.raises(MemoryError, match=r"a tree on 900 rows needs about .* and the largest worker has"):
        DaskTrinaryTreeRegressor(client=client, **TREE).fit(frame, "y")


@pytest.mark.parametrize("parameters", [{"warm_start": True}, {"oob_score": True}])
def test_parameters_that_need_rows_are_refused(parameters, client, table):
    frame = dd.from_pandas(table[["whole", "y"]], npartitions=2)
    with pytest.raises(ValueError, match="is not supported on a cluster"):
        DaskTrinaryForestRegressor(client=client, **FOREST | parameters).fit(frame, "y")
