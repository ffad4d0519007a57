"""A model that is fitted to a table batch by batch is the one fitted to the whole table, to the last bit."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from tritree import (
    ColumnError,
    SampleWeightError,
    TargetError,
    TrinaryBoostingClassifier,
    TrinaryBoostingRegressor,
    TrinaryForestRegressor,
    TrinaryTreeClassifier,
    TrinaryTreeRegressor,
)

N = 3_000
FEATURES = ["number", "whole", "text", "moment", "date_text", "flag", "skewed", "level", "id", "nothing"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    days = pd.to_timedelta(rng.integers(0, 700, N), "D")
    frame = pd.DataFrame(
        {
            "number": np.where(rng.random(N) < 0.1, np.nan, rng.normal(size=N)),
            "whole": rng.integers(0, 9, N),
            "text": np.where(rng.random(N) < 0.1, None, rng.choice(["x", "y", "z"], N)),
            "moment": pd.Timestamp("2020-01-01") + days,
            "date_text": (pd.Timestamp("2021-03-01") + days).strftime("%d.%m.%Y"),
            "flag": rng.random(N) < 0.3,
            "skewed": np.where(rng.random(N) < 0.4, np.nan, rng.exponential(size=N)),
            "level": pd.Categorical(rng.choice(["low", "high"], N), ["low", "middle", "high"], ordered=True),
            "id": [f"u{i}" for i in range(N)],
            "nothing": np.full(N, np.nan),
        }
    )
    frame["weight"] = rng.random(N)
    frame["y"] = frame.number.fillna(0) + 2 * (frame.text == "x") + 0.2 * frame.whole
    frame["label"] = np.where(frame.y > 1, "high", "low")
    return frame


class Repeatable:
    """Yields frames each time it is iterated over."""

    def __init__(self, *frames):
        self.frames = frames

    def __iter__(self):
        return iter(self.frames)


def cut(frame, *rows):
    edges = [0, *rows, len(frame)]
    return [frame.iloc[begin:end] for begin, end in itertools.pairwise(edges)]


def write_parquet(frame, folder):
    for number, part in enumerate(cut(frame, 10, 1_500, 1_501)):
        pq.write_table(pa.Table.from_pandas(part, preserve_index=False), folder / f"part{number}.parquet")
    return folder


SOURCES = {
    "frames": lambda frame, _: cut(frame, 7, 2_000, 2_000),
    "one row per batch at first": lambda frame, _: cut(frame, 1, 2, 3),
    "record batches": lambda frame, _: pa.Table.from_pandas(frame, preserve_index=False).to_batches(700),
    "own class": lambda frame, _: Repeatable(*cut(frame, 100)),
    "folder": lambda frame, folder: str(write_parquet(frame, folder)),
    "pattern": lambda frame, folder: f"{write_parquet(frame, folder)}/*.parquet",
    "path of a file": lambda frame, folder: (
        write_parquet(frame.iloc[:1], folder) and _one_file(frame, folder)
    ),
    "dataset": lambda frame, folder: ds.dataset(write_parquet(frame, folder)),
    "lazy frame": lambda frame, folder: pl.scan_parquet(f"{write_parquet(frame, folder)}/*.parquet"),
}


def _one_file(frame, folder):
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), folder / "whole.pq", row_group_size=999)
    return folder / "whole.pq"


# in Parquet, an ordered category becomes text
IN_FILES = ("folder", "pattern", "path of a file", "dataset", "lazy frame")


@pytest.mark.filterwarnings(
    "ignore::tritree.errors.IdentifierWarning", "ignore::tritree.errors.DateTextWarning"
)
@pytest.mark.parametrize("source", SOURCES)
def test_source(source, table, tmp_path):
    whole = table.drop(columns="label")
    if source in IN_FILES:
        whole["level"] = whole["level"].astype(str)
    parameters = {"max_iter": 4, "date_parts": ["month"], "random_state": 0}
    expected = TrinaryBoostingRegressor(**parameters).fit(whole[FEATURES], whole.y, whole.weight)
    fitted = TrinaryBoostingRegressor(**parameters).fit(SOURCES[source](whole, tmp_path), "y", "weight")
    assert fitted._encoder == expected._encoder
    np.testing.assert_array_equal(fitted.predict(whole[FEATURES]), expected.predict(whole[FEATURES]))


ESTIMATORS = {
    "tree": TrinaryTreeRegressor(max_depth=4),
    "tree of classes": TrinaryTreeClassifier(max_depth=4, missing="trinary_mia"),
    "forest": TrinaryForestRegressor(n_estimators=3, random_state=0),
    "boosting": TrinaryBoostingClassifier(max_iter=3, random_state=0),
    "boosting with masked copies": TrinaryBoostingRegressor(max_iter=3, masked_copies=1, random_state=0),
    "boosting of fractions": TrinaryBoostingRegressor(
        max_iter=3, missing="fractional", subsample=0.5, random_state=0
    ),
    "absolute error": TrinaryBoostingRegressor(max_iter=3, loss="absolute_error", random_state=0),
    "a list of categorical columns": TrinaryTreeRegressor(categorical_features=["whole"], max_depth=4),
}


@pytest.mark.filterwarnings(
    "ignore::tritree.errors.IdentifierWarning", "ignore::tritree.errors.DateTextWarning"
)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimator(name, table):
    estimator = ESTIMATORS[name]
    target = "label" if hasattr(estimator, "predict_proba") else "y"
    columns = [c for c in FEATURES if "list" not in name or c in ("number", "whole", "skewed")]
    whole = table[[*columns, target]]
    method = "predict_proba" if target == "label" else "predict"
    answers = getattr(estimator.fit(whole[columns], whole[target]), method)(whole[columns])
    fitted = estimator.fit(cut(whole, 500, 501), target)
    np.testing.assert_array_equal(getattr(fitted, method)(whole[columns]), answers)


def test_batches_without_rows_or_values(table):
    frame = table[["number", "skewed", "y"]]
    parts = [frame.iloc[:0], frame.iloc[:300].assign(skewed=np.nan), frame.iloc[:0], frame.iloc[300:]]
    whole = pd.concat(parts)
    expected = TrinaryTreeRegressor().fit(whole[["number", "skewed"]], whole.y)
    fitted = TrinaryTreeRegressor().fit(parts, "y")
    rows = frame[["number", "skewed"]]
    np.testing.assert_array_equal(fitted.predict(rows), expected.predict(rows))


def test_category_in_one_batch_only(table):
    frame = table[["text", "y"]].assign(text=["rare"] * 40 + ["other"] * (N - 40))
    fitted = TrinaryTreeRegressor().fit(cut(frame, 40), "y")
    assert fitted._encoder.columns[0].categories == ("other", "rare")


def test_classes_in_one_batch_only(table):
    frame = table[["number"]].assign(label=["a"] * 40 + ["b"] * (N - 40))
    assert TrinaryTreeClassifier().fit(cut(frame, 40), "label").classes_.tolist() == ["a", "b"]


def test_prediction_yields_record_batches(table, tmp_path):
    frame = table[["number", "text", "label"]]
    fitted = TrinaryBoostingClassifier(max_iter=2, random_state=0).fit(
        frame.drop(columns="label"), frame.label
    )
    features = frame.drop(columns="label")
    found = list(fitted.predict_proba(str(write_parquet(features, tmp_path))))
    assert [len(batch) for batch in found] == [10, 1_490, 1, 1_499]
    assert found[0].schema.names == ["prediction_high", "prediction_low"]
    joined = pa.Table.from_batches(found).to_pandas().to_numpy()
    np.testing.assert_array_equal(joined, fitted.predict_proba(features))
    labels = pa.Table.from_batches(fitted.predict(cut(features, 3)))["prediction"].to_pylist()
    assert labels == fitted.predict(features).tolist()


def frames(**changes):
    first = pd.DataFrame({"x": np.arange(50.0), "y": np.arange(50.0), "w": 1.0})
    return [first, first.assign(**changes)]


@pytest.mark.parametrize(
    ("batches", "error", "message"),
    [
        (
            frames(x="text"),
            ColumnError,
            "in batch 1, which begins at row 50: column 'x' holds text, and numbers in an",
        ),
        (frames(z=1.0), ColumnError, "in batch 1, .* column 'z' is not in the first batch"),
        (frames(x=[np.inf, *range(49)]), ColumnError, "in batch 1, .* column 'x' holds inf in row 0"),
        (
            frames(x=[2**60 + 1] * 50),
            ColumnError,
            "1152921504606846977 in row 50, which becomes 1152921504606846976",
        ),
        (frames(y=None), TargetError, "in batch 1, .* y is missing in all rows"),
        (frames(y=[*range(49), np.nan]), TargetError, "y is missing in row 99"),
        (frames(y="a"), TargetError, "in batch 1, .* y mixes text and other values"),
        (frames(w=-1.0), SampleWeightError, "sample_weight holds -1.0 in row 50"),
        ([frames()[0].iloc[:0]], ValueError, "the list of frames has no rows"),
        ((frame for frame in frames()), TypeError, "can be read only once"),
        (Repeatable(frames()[0], "x"), TypeError, "batch 1 is of type str; yield record batches"),
        ("no_such_file.parquet", FileNotFoundError, "there is no file 'no_such_file.parquet'"),
        ("no_such_folder/*.parquet", FileNotFoundError, "no file matches"),
        (__file__, ValueError, "is no Parquet file"),
    ],
)
def test_what_cannot_be_read(batches, error, message):
    with pytest.raises(error, match=message):
        TrinaryBoostingRegressor(max_iter=1).fit(batches, "y", "w")


def test_target_must_be_named():
    with pytest.raises(
        TypeError, match="y must be the name of a column, since the list of frames is read batch by"
    ):
        TrinaryTreeRegressor().fit(frames(), np.zeros(100))
    with pytest.raises(ColumnError, match="there is no column 'price'; the columns are 'x', 'y', 'w'"):
        TrinaryTreeRegressor().fit(frames(), "price")


@pytest.mark.parametrize(
    ("estimator", "parameter"),
    [
        (TrinaryForestRegressor(oob_score=True), "oob_score=True"),
        (TrinaryBoostingRegressor(early_stopping=True), "early_stopping=True without X_val and y_val"),
    ],
)
def test_what_needs_the_table_in_memory(estimator, parameter):
    with pytest.raises(ValueError, match=f"{parameter} needs the training table in memory"):
        estimator.fit(frames(), "y")


def test_warm_start_needs_the_table_in_memory():
    forest = TrinaryForestRegressor(n_estimators=1, warm_start=True).fit(frames(), "y")
    with pytest.raises(ValueError, match="warm_start=True needs the training table in memory"):
        forest.set_params(n_estimators=2).fit(frames(), "y")


def test_early_stopping_with_validation_rows(table):
    frame = table[["number", "whole", "y"]]
    rows = {"X_val": frame[["number", "whole"]], "y_val": frame.y}
    parameters = {"early_stopping": True, "max_iter": 5, "random_state": 0}
    expected = TrinaryBoostingRegressor(**parameters).fit(frame[["number", "whole"]], frame.y, **rows)
    fitted = TrinaryBoostingRegressor(**parameters).fit(cut(frame, 1_000), "y", **rows)
    np.testing.assert_array_equal(fitted.validation_scores_, expected.validation_scores_)


class Changing:
    """Yields other values from the third time on: the first is to look at the type of a batch."""

    def __init__(self, change):
        self.n_read, self.change = 0, change

    def __iter__(self):
        self.n_read += 1
        frame = frames()[0]
        return iter([frame if self.n_read < 3 else self.change(frame)])


@pytest.mark.parametrize(
    "change", [lambda frame: frame * 3, lambda frame: frame.iloc[1:], lambda frame: pd.concat([frame] * 2)]
)
def test_table_that_changes_is_refused(change):
    with pytest.raises(ValueError, match="the Changing is not what it was when it was first read"):
        TrinaryTreeRegressor().fit(Changing(change), "y")


def test_a_fit_that_fails_leaves_the_estimator_as_it_was(table):
    tree = TrinaryTreeRegressor().fit(frames(), "y")
    before = tree.predict(pd.DataFrame({"x": [3.0], "w": [1.0]}))
    with pytest.raises(ColumnError):
        tree.fit(frames(x="text"), "y")
    np.testing.assert_array_equal(tree.predict(pd.DataFrame({"x": [3.0], "w": [1.0]})), before)
