"""A model that is fitted on a cluster is the local one, to the last bit."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from distributed import Client
from models import assert_equal_models

from tritree import TrinaryBoostingClassifier, TrinaryBoostingRegressor, load
from tritree.dask import DaskTrinaryBoostingClassifier, DaskTrinaryBoostingRegressor, passes

OPTIONS = {"max_iter": 3, "max_depth": 3, "random_state": 0, "background_rows": 300, "n_jobs": 1}


def partitioned(table, ends):
    """Return the table as a frame of Dask whose partitions end at these rows."""
    parts = [table.iloc[begin:end] for begin, end in zip([0, *ends], [*ends, len(table)], strict=True)]
    return dd.from_delayed([delayed(part) for part in parts], meta=table.iloc[:0], verify_meta=False)


def assert_equal_estimators(fitted, local, features):
    assert_equal_models(fitted.to_local()._model.core, local._model.core)
    method = "predict_proba" if hasattr(local, "predict_proba") else "predict"
    expected = getattr(local, method)(features)
    np.testing.assert_array_equal(getattr(fitted.to_local(), method)(features), expected)


@pytest.mark.parametrize("n_workers", [1, 2, 3, 7])
def test_the_number_of_workers_does_not_matter(n_workers, table, features):
    local = TrinaryBoostingRegressor(**OPTIONS).fit(features, table.y)
    frame = dd.from_pandas(table.drop(columns=["weight", "label", "group"]), npartitions=7)
    with Client(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=False,
        dashboard_address=None,
        set_as_default=False,
    ) as client:
        fitted = DaskTrinaryBoostingRegressor(client=client, **OPTIONS).fit(frame, "y")
    assert_equal_estimators(fitted, local, features)


@pytest.mark.parametrize(
    "ends",
    [[], [1, 2, 3], [0, 300, 300, 899], [450]],
    ids=["one partition", "one row", "empty partitions", "two"],
)
def test_partitions_do_not_matter(ends, client, table, features):
    local = TrinaryBoostingClassifier(**OPTIONS).fit(features, table.label)
    frame = partitioned(table.drop(columns=["weight", "y", "group"]), ends)
    fitted = DaskTrinaryBoostingClassifier(client=client, **OPTIONS).fit(frame, "label")
    assert_equal_estimators(fitted, local, features)
    assert fitted.classes_.tolist() == ["high", "low"]


def test_what_occurs_in_some_partitions_only_does_not_matter(client, table, features):
    table = table.drop(columns=["weight", "label", "group"]).sort_values(["text", "whole"], ignore_index=True)
    table.loc[:299, ["number", "date_text", "moment"]] = None
    features = table.drop(columns="y")
    local = TrinaryBoostingRegressor(**OPTIONS).fit(features, table.y)
    fitted = DaskTrinaryBoostingRegressor(client=client, **OPTIONS).fit(partitioned(table, [300, 600]), "y")
    assert_equal_estimators(fitted, local, features)


@pytest.mark.parametrize(
    "options",
    [
        {"loss": "poisson"},
        {"missing": "mia"},
        {"missing": "majority"},
        {"missing": "fractional"},
        {"missing": "trinary"},
        {"subsample": 0.5},
        {"max_leaf_nodes": 5},
        {"max_bins": 16},
        {"date_parts": {"moment": ["month"]}},
        {"categorical_features": ["text", "level", "whole"]},
    ],
    ids=str,
)
def test_parameters_have_the_same_meaning(options, client, table, features):
    y = table.y.clip(lower=0)
    local = TrinaryBoostingRegressor(**OPTIONS | options).fit(features, y, sample_weight=table.weight)
    frame = dd.from_pandas(features.assign(y=y, weight=table.weight), npartitions=5)
    fitted = DaskTrinaryBoostingRegressor(client=client, **OPTIONS | options).fit(
        frame.drop(columns=["y", "weight"]), frame.y, sample_weight=frame.weight
    )
    assert_equal_estimators(fitted, local, features)


def test_several_classes_with_weights(client, table, features):
    options = OPTIONS | {"class_weight": "balanced"}
    local = TrinaryBoostingClassifier(**options).fit(features, table.group, sample_weight=table.weight)
    frame = dd.from_pandas(table.drop(columns=["y", "label"]), npartitions=4)
    fitted = DaskTrinaryBoostingClassifier(client=client, **options).fit(
        frame, "group", sample_weight="weight"
    )
    assert_equal_estimators(fitted, local, features)


def test_arrays(client):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(700, 4))
    X[rng.random(X.shape) < 0.2] = np.nan
    y = np.nan_to_num(X[:, 0]) + X[:, 1] ** 2
    y[np.isnan(y)] = 0
    local = TrinaryBoostingRegressor(**OPTIONS).fit(X, y)
    fitted = DaskTrinaryBoostingRegressor(client=client, **OPTIONS).fit(
        da.from_array(X, chunks=(200, 2)), da.from_array(y, chunks=200)
    )
    assert_equal_estimators(fitted, local, X)


def test_values_too_close_to_be_counted(client):
    values = 1 + np.arange(70_000) * 2.0**-52
    X = pd.DataFrame({"close": values, "other": np.arange(70_000) % 7})
    y = (np.arange(70_000) // 1_000 % 2).astype(float)
    local = TrinaryBoostingRegressor(**OPTIONS).fit(X, y)
    fitted = DaskTrinaryBoostingRegressor(client=client, **OPTIONS).fit(
        dd.from_pandas(X.assign(y=y), npartitions=3), "y"
    )
    assert_equal_estimators(fitted, local, X)


def test_background_rows_are_sampled_in_parts(client, table, features, monkeypatch):
    monkeypatch.setattr(passes, "_ROWS_PER_SAMPLE", 100)
    features, weight = features[["whole", "flag"]], table.whole % 3 + 1.0  # many rows are equal
    local = TrinaryBoostingRegressor(**OPTIONS).fit(features, table.y, sample_weight=weight)
    frame = dd.from_pandas(features.assign(y=table.y, w=weight), npartitions=4)
    fitted = DaskTrinaryBoostingRegressor(client=client, **OPTIONS).fit(frame, "y", sample_weight="w")
    assert_equal_estimators(fitted, local, features)


def test_columns_in_another_order_in_a_partition(client, table, features):
    local = TrinaryBoostingRegressor(**OPTIONS).fit(features, table.y)
    frame = features.assign(y=table.y)
    other = frame.iloc[400:]
    parts = [frame.iloc[:400], other[other.columns[::-1]]]
    shuffled = dd.from_delayed([delayed(part) for part in parts], meta=frame.iloc[:0], verify_meta=False)
    fitted = DaskTrinaryBoostingRegressor(client=client, **OPTIONS).fit(shuffled, "y")
    assert_equal_estimators(fitted, local, features)


def test_classes_are_those_that_occur(client, table, features):
    label = pd.Categorical(table.group, ["a", "b", "c", "unused"])
    local = TrinaryBoostingClassifier(**OPTIONS).fit(features, label)
    frame = dd.from_pandas(features.assign(label=label), npartitions=3)
    fitted = DaskTrinaryBoostingClassifier(client=client, **OPTIONS).fit(frame, "label")
    assert fitted.classes_.tolist() == ["a", "b", "c"]
    assert_equal_estimators(fitted, local, features)


def test_two_fits_at_once(client, table, features):
    from concurrent.futures import ThreadPoolExecutor

    frame = dd.from_pandas(table.drop(columns=["weight", "label", "group"]), npartitions=4)
    seeds = [0, 1]
    with ThreadPoolExecutor(2) as threads:
        fitted = list(
            threads.map(
                lambda seed: DaskTrinaryBoostingRegressor(
                    client=client, **OPTIONS | {"random_state": seed}
                ).fit(frame, "y"),
                seeds,
            )
        )
    for own, seed in zip(fitted, seeds, strict=True):
        local = TrinaryBoostingRegressor(**OPTIONS | {"random_state": seed}).fit(features, table.y)
        assert_equal_estimators(own, local, features)


def test_a_saved_model_is_the_local_one(client, table, features, tmp_path):
    frame = dd.from_pandas(table.drop(columns=["weight", "label", "group"]), npartitions=4)
    DaskTrinaryBoostingRegressor(client=client, **OPTIONS).fit(frame, "y").save(tmp_path / "m.tritree")
    loaded = load(tmp_path / "m.tritree")
    local = TrinaryBoostingRegressor(**OPTIONS).fit(features, table.y)
    assert type(loaded) is TrinaryBoostingRegressor
    np.testing.assert_array_equal(loaded.predict(features), local.predict(features))
