"""Tables that cannot be learned from: errors that name the partition, before anything is fitted."""

import subprocess
import sys

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed

from tritree import ColumnError, DataError, TargetError
from tritree.dask import DaskTrinaryBoostingClassifier, DaskTrinaryBoostingRegressor


def frame_of(*parts):
    return dd.from_delayed([delayed(part) for part in parts], meta=parts[0].iloc[:0], verify_meta=False)


def part(first, **columns):
    index = range(first, first + 20)
    return pd.DataFrame(
        {"a": np.arange(20.0), "b": np.ones(20), "y": np.arange(20.0), **columns}, index=index
    )


@pytest.fixture
def fit(client):
    def run(X, y, weight=None, **parameters):
        parameters = {"max_iter": 1, **parameters}
        return DaskTrinaryBoostingRegressor(client=client, **parameters).fit(X, y, sample_weight=weight)

    return run


def test_a_column_is_absent(fit):
    with pytest.raises(
        ColumnError, match=r"in partition 1: column 'b' is absent, and is in the other partitions"
    ):
        fit(frame_of(part(0), part(20).drop(columns="b")), "y")


def test_a_column_is_only_in_one_partition(fit):
    with pytest.raises(
        ColumnError, match=r"in partition 1: column 'c' is not a column of the other partitions"
    ):
        fit(frame_of(part(0), part(20, c=1.0)), "y")


def test_a_column_has_another_dtype(fit):
    with pytest.raises(ColumnError, match=r"in partition 1: column 'b' holds text, and numbers in the other"):
        fit(frame_of(part(0), part(20, b="text")), "y")


def test_a_column_of_objects_is_of_another_kind(fit):
    first = part(0, b=pd.Series(["u"] * 20, dtype=object, index=range(20)))
    second = part(20, b=pd.Series([pd.Timestamp("2020-01-01")] * 20, dtype=object, index=range(20, 40)))
    with (
        dask.config.set({"dataframe.convert-string": False}),
        pytest.raises(ColumnError, match=r"in partition 1: column 'b' holds dates, and text in an earlier"),
    ):
        fit(frame_of(first, second), "y")


def test_a_value_is_infinite(fit):
    with pytest.raises(ColumnError, match=r"in partition 1: column 'a' holds inf"):
        fit(frame_of(part(0), part(20, a=np.inf)), "y")


def test_the_target_is_missing_in_one_partition(fit):
    second = part(20)
    second.loc[23:25, "y"] = np.nan
    with pytest.raises(TargetError, match=r"in partition 1: y is missing in row 3 of the partition"):
        fit(frame_of(part(0), second), "y")
    with pytest.raises(DataError, match=r"in partition 1: y is missing in row 0 of the partition"):
        fit(frame_of(part(0), part(20, y=np.nan)), "y")


def test_a_class_is_missing_in_one_partition(client):
    labels = pd.Series(["u", "v"] * 10, dtype=object)
    second = part(20, y=labels.set_axis(range(20, 40)).where(lambda label: label == "u"))
    with pytest.raises(TargetError, match=r"in partition 1: y is missing in row 1 of the partition"):
        DaskTrinaryBoostingClassifier(client=client).fit(frame_of(part(0, y=labels), second), "y")


def test_a_weight_is_missing(fit):
    with pytest.raises(
        DataError, match=r"in partition 0: sample_weight is missing in row 0 of the partition"
    ):
        fit(frame_of(part(0, w=np.nan)), "y", "w")


def test_the_target_is_not_there(fit):
    with pytest.raises(ColumnError, match="there is no column 'z'; the columns are 'a', 'b', 'y'"):
        fit(frame_of(part(0)), "z")


def test_partitions_of_x_and_y_differ_in_number(fit):
    frame = dd.from_pandas(part(0), npartitions=2)
    with pytest.raises(ValueError, match="X has 2 partitions and y 1; make them the same"):
        fit(frame, dd.from_pandas(part(0).y, npartitions=1))


def test_partitions_of_x_and_y_have_other_divisions(fit):
    X = dd.from_pandas(part(0), npartitions=2).repartition(divisions=[0, 5, 19])
    y = dd.from_pandas(part(0).y, npartitions=2)
    with pytest.raises(ValueError, match="partition 1 begins at 5 in X and at 10 in y"):
        fit(X, y)


def test_partitions_of_unknown_divisions_have_other_rows(fit):
    X = frame_of(part(0), part(20)).drop(columns="y")
    y = frame_of(part(0)[["y"]], part(20)[["y"]].iloc[:7]).y
    with pytest.raises(ValueError, match="in partition 1: X has 20 rows and y 7"):
        fit(X, y)
    y = frame_of(part(0)[["y"]], part(20)[["y"]].iloc[::-1]).y
    with pytest.raises(ValueError, match="in partition 1: X and y have different indexes"):
        fit(X, y)


def test_partitions_of_unknown_divisions_with_the_same_rows_are_fitted(fit):
    X = frame_of(part(0), part(20))
    assert not X.known_divisions
    assert fit(X.drop(columns="y"), X.y).n_iter_ == 1


def test_blocks_of_arrays_have_other_rows(fit):
    X = da.zeros((20, 2), chunks=(10, 2))
    with pytest.raises(ValueError, match="partition 0 has 10 rows in X and 5 in y"):
        fit(X, da.zeros(20, chunks=(5, 15)))


def test_tables_without_rows(fit):
    with pytest.raises(ValueError, match="X has no rows"):
        fit(frame_of(part(0).iloc[:0]), "y")


def test_tables_in_memory(fit):
    with pytest.raises(TypeError, match="X must be a DataFrame or an array of Dask, got DataFrame"):
        fit(part(0), "y")
    with pytest.raises(
        TypeError, match="y must be a series or an array of Dask, or the name of a column of X"
    ):
        fit(frame_of(part(0)), np.zeros(20))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "absolute_error"}, "fit TrinaryBoostingRegressor instead"),
        ({"loss": "quantile"}, "fit TrinaryBoostingRegressor instead"),
        ({"masked_copies": 1}, "masked_copies=1 is not supported on a cluster"),
        ({"warm_start": True}, "warm_start=True is not supported on a cluster"),
        ({"early_stopping": True}, "early_stopping=True is not supported on a cluster"),
        ({"max_depth": -1}, "max_depth"),
    ],
    ids=str,
)
def test_parameters_that_need_all_rows_are_refused(fit, parameters, message):
    with pytest.raises(ValueError, match=message):
        fit(frame_of(part(0)), "y", **parameters)


def test_without_a_cluster():
    with pytest.raises(ValueError, match="there is no client of a Dask cluster"):
        DaskTrinaryBoostingRegressor().fit(frame_of(part(0)), "y")


def test_nothing_of_dask_is_imported_with_tritree():
    program = (
        "import sys, tritree; print(sorted({'dask', 'distributed', 'tritree.dask'} & sys.modules.keys()))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
