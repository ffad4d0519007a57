"""Parquet files that are one table have the same columns, and errors name the file."""

import numpy as np
import pandas as pd
import pytest

from tritree import ColumnError, TrinaryTreeRegressor


def frame(**changes):
    return pd.DataFrame({"x": np.arange(50.0), "y": np.arange(50.0)}).assign(**changes)


def write(folder, *frames):
    for number, one in enumerate(frames):
        one.to_parquet(folder / f"{number}.parquet")
    return str(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"z": 1},
            "column 'z' is absent from '.*0.parquet', and is in '.*1.parquet'; give all files the same",
        ),
        (
            {"x": "far"},
            "column 'x' is of type .*string in '.*1.parquet', and of type double in '.*0.parquet'",
        ),
    ],
)
def test_files_with_other_columns_are_refused(changes, message, tmp_path):
    table = write(tmp_path, frame(), frame(**changes))
    with pytest.raises(ValueError, match=message):
        TrinaryTreeRegressor().fit(table, "y")
    with pytest.raises(ValueError, match=message):
        next(TrinaryTreeRegressor().fit(frame()[["x"]], frame().y).predict(table))


def test_types_that_one_type_holds_are_read_as_it(tmp_path):
    frames = frame(x=None), frame(x=np.arange(50, dtype=np.int8)), frame(x=np.arange(50)), frame()
    table = write(tmp_path, *frames)
    found = TrinaryTreeRegressor(max_depth=4).fit(table, "y")
    whole = pd.concat([one.astype(float) for one in frames])
    expected = TrinaryTreeRegressor(max_depth=4).fit(whole[["x"]], whole.y)
    np.testing.assert_array_equal(found.predict(whole[["x"]]), expected.predict(whole[["x"]]))


def test_bad_value_names_its_file(tmp_path):
    table = write(tmp_path, frame(), frame(x=np.inf))
    with pytest.raises(
        ColumnError, match=r"in batch 1, which begins at row 0 of '.*1.parquet': column 'x' holds"
    ):
        TrinaryTreeRegressor().fit(table, "y")


def test_hidden_files_and_damaged_ones(tmp_path):
    (tmp_path / "_SUCCESS").touch()
    table = write(tmp_path, frame())
    TrinaryTreeRegressor().fit(table, "y")
    (tmp_path / "more.parquet").write_bytes(b"no table")
    with pytest.raises(ValueError, match=r"more.parquet' is no Parquet file"):
        TrinaryTreeRegressor().fit(table, "y")
