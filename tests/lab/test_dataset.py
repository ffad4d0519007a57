"""Any table makes a data set, which its fingerprint identifies."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")

from tritree.lab.dataset import Dataset, DatasetError  # noqa: E402

TABLE = {
    "size": [1.5, None, 3.0, 4.0],
    "town": ["B", "A", None, "A"],
    "sold": [True, False, True, True],
    "price": [10.0, 20.0, 15.5, 12.0],
}


def made(table: Any = None, target: str = "price", **options: Any) -> Dataset:
    return Dataset.from_table("houses", pd.DataFrame(TABLE) if table is None else table, target, **options)


def test_text_becomes_categories_and_all_else_stays() -> None:
    houses = made()
    assert houses.X["town"].dtype == "category"
    assert houses.X["town"].isna().tolist() == [False, False, True, False]
    assert houses.X["sold"].dtype == bool
    assert houses.X["size"].dtype == np.float64
    assert list(houses.X) == ["size", "town", "sold"]


def test_table_of_polars_and_pyarrow_makes_the_same_data_set() -> None:
    expected = made().fingerprint
    for library in ("polars", "pyarrow"):
        frames = pytest.importorskip(library)
        table = frames.DataFrame(TABLE) if library == "polars" else frames.table(TABLE)
        assert made(table).fingerprint == expected


def test_rows_are_numbered_from_zero_and_the_users_table_is_not_touched() -> None:
    table = pd.DataFrame(TABLE, index=[5, 5, 7, 9])
    before = table.copy()
    assert made(table).X.index.tolist() == [0, 1, 2, 3]
    pd.testing.assert_frame_equal(table, before)


@pytest.mark.parametrize(
    ("values", "task"),
    [
        ([1.5, 2.5, 2.5, 1.5], "regression"),
        ([1, 2, 3, 1], "regression"),
        ([0, 1, 1, 0], "classification"),
        ([0.0, 1.0, 1.0, 0.0], "classification"),
        ([True, False, True, True], "classification"),
        (["no", "yes", "no", "no"], "classification"),
        (pd.Categorical([1, 2, 3, 1]), "classification"),
        (pd.array([1, 2, 3, 1], dtype="Int64"), "regression"),
    ],
)
def test_task_is_inferred_from_the_target(values: Any, task: str) -> None:
    houses = made(pd.DataFrame(TABLE).assign(price=values))
    assert houses.task == task
    assert houses.y.tolist() == list(values)
    assert houses.y.dtype != object


def test_task_can_be_given() -> None:
    table = pd.DataFrame(TABLE).assign(price=[1, 2, 3, 1])
    assert made(table, task="classification").y.tolist() == [1, 2, 3, 1]
    assert made(table.assign(price=[0, 1, 1, 0]), task="regression").y.dtype == np.float64


@pytest.mark.parametrize(
    ("table", "target", "task", "message"),
    [
        (TABLE, "prize", None, r"no column 'prize' \(did you mean 'price'\?\); the columns are 'size, town"),
        (TABLE, "town", None, "target 'town' is missing in 1 of 4 rows, first in row 2; drop these rows"),
        (TABLE, "price", "classification", "target 'price' holds 15.5, which is not a class; use task='regr"),
        (TABLE | {"town": list("abca")}, "town", "regression", "holds 'a', and a regression needs numbers"),
        (TABLE | {"price": [1, 2, np.inf, -np.inf]}, "price", "regression", "is infinite in 2 of 4 rows"),
        ({"price": [1, 2]}, "price", None, "no column beside the target"),
        ({"size": [], "price": []}, "price", None, "no rows"),
        (TABLE, "price", "ranking", "task must be 'regression' or 'classification', got 'ranking'"),
    ],
)
def test_unusable_target_is_an_error_that_says_why(
    table: dict[str, Any], target: str, task: Any, message: str
) -> None:
    with pytest.raises(DatasetError, match=message):
        made(pd.DataFrame(table), target, task=task)


def test_target_name_that_two_columns_have_is_refused() -> None:
    table = pd.DataFrame([[1, 2, 3]], columns=["a", "price", "price"])
    with pytest.raises(DatasetError, match="2 columns are called 'price'"):
        made(table)


def test_array_is_refused_with_a_remedy() -> None:
    with pytest.raises(DatasetError, match=r"a table with named columns.*, not from ndarray"):
        made(np.zeros((3, 2)))


def test_data_set_cannot_be_changed_and_survives_pickling() -> None:
    houses = made()
    with pytest.raises(AttributeError):
        houses.name = "other"  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(houses)).fingerprint == houses.fingerprint


CHANGES = {
    "a cell": lambda t: t.assign(size=[1.5, None, 3.0, 4.5]),
    "a missing value": lambda t: t.assign(size=[1.5, 2.0, 3.0, 4.0]),
    "a category": lambda t: t.assign(town=["B", "A", None, "C"]),
    "categories swapped": lambda t: t.assign(town=["A", "B", None, "B"]),
    "the target": lambda t: t.assign(price=[10.0, 20.0, 15.5, 12.5]),
    "a name": lambda t: t.rename(columns={"size": "area"}),
    "the order of columns": lambda t: t[["town", "size", "sold", "price"]],
    "the order of rows": lambda t: t.iloc[::-1],
    "a column less": lambda t: t.drop(columns="sold"),
    "a row less": lambda t: t.iloc[:3],
    "numbers that are text": lambda t: t.assign(sold=["1", "0", "1", "1"]),
    "an order of categories": lambda t: t.assign(town=pd.Categorical(t["town"], ["B", "A"], ordered=True)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_fingerprint_changes_with(change: str) -> None:
    assert made(CHANGES[change](pd.DataFrame(TABLE))).fingerprint != made().fingerprint


SAMES = {
    "float as float32 would not, int as float does": lambda t: t.assign(sold=[1.0, 0.0, 1.0, 1.0]),
    "text already categories": lambda t: t.assign(town=t["town"].astype("category")),
    "an unused category": lambda t: t.assign(town=pd.Categorical(t["town"], ["Z", "B", "A"])),
    "nullable numbers": lambda t: t.assign(size=t["size"].astype("Float64")),
    "nullable text": lambda t: t.assign(town=t["town"].astype("string")),
    "row numbers": lambda t: t.set_axis([3, 3, 2, 1], axis=0),
}


@pytest.mark.parametrize("change", SAMES)
def test_fingerprint_does_not_depend_on_dtypes(change: str) -> None:
    assert made(SAMES[change](pd.DataFrame(TABLE))).fingerprint == made().fingerprint


def test_fingerprint_depends_on_the_task() -> None:
    table = pd.DataFrame(TABLE).assign(price=[0, 1, 1, 0])
    assert made(table, task="regression").fingerprint != made(table, task="classification").fingerprint


def test_fingerprint_distinguishes_large_integers() -> None:
    one, other = ({"size": [2**53, 2**53 + i], "price": [1.5, 2.5]} for i in (0, 1))
    assert made(pd.DataFrame(one)).fingerprint != made(pd.DataFrame(other)).fingerprint


def test_zero_has_one_fingerprint_whatever_its_sign() -> None:
    one, other = ({"size": [zero, 1.0], "price": [1.5, 2.5]} for zero in (0.0, -0.0))
    assert made(pd.DataFrame(one)).fingerprint == made(pd.DataFrame(other)).fingerprint


def test_fingerprint_is_the_same_in_another_process() -> None:
    code = (
        "import pandas as pd; from tritree.lab.dataset import Dataset; "
        f"print(Dataset.from_table('other', pd.DataFrame({TABLE!r}), 'price').fingerprint)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert run.stdout.strip() == made().fingerprint


text = st.lists(st.none() | st.text(max_size=2), min_size=1, max_size=5)
numbers = st.lists(st.none() | st.integers(-3, 3) | st.floats(allow_nan=False), min_size=1, max_size=5)
anything = st.lists(
    st.none() | st.text() | st.integers() | st.booleans() | st.dates(), min_size=1, max_size=5
)


def column(values: list[Any], kind: str) -> Dataset:
    size = pd.Series(values, dtype=kind)
    return made(pd.DataFrame({"size": size, "price": np.arange(len(values)) + 0.5}))


@given(text, text)
def test_fingerprints_of_text_are_equal_just_where_the_text_is(one: Any, other: Any) -> None:
    assert (column(one, "object").fingerprint == column(other, "object").fingerprint) == (one == other)


@given(numbers, numbers)
def test_fingerprints_of_numbers_are_equal_just_where_the_numbers_are(one: Any, other: Any) -> None:
    assert (column(one, "float64").fingerprint == column(other, "float64").fingerprint) == (one == other)


@given(anything)
def test_tables_of_any_values_have_a_fingerprint(values: Any) -> None:
    assert column(values, "object").fingerprint == column(list(values), "object").fingerprint


def test_column_of_weights_is_not_a_feature() -> None:
    houses = made(sample_weight="size", table=pd.DataFrame(TABLE).fillna({"size": 0.0}))
    assert list(houses.X) == ["town", "sold"]
    assert houses.sample_weight is not None
    assert houses.sample_weight.tolist() == [1.5, 0.0, 3.0, 4.0]
    assert houses.weights_of(np.array([2, 0])).tolist() == [3.0, 1.5]  # type: ignore[union-attr]
    assert made().weights_of(np.array([0])) is None


def test_other_weights_make_another_fingerprint() -> None:
    table = pd.DataFrame(TABLE)
    found = [
        made(table.assign(w=w), sample_weight="w").fingerprint
        for w in ([1, 1, 1, 1], [1, 2, 1, 1], [1.0, 2, 1, 1])
    ]
    assert made().fingerprint != found[0] != found[1] == found[2]


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ("size", "the column of weights 'size' holds nan in row 1; weights must be finite and not negative"),
        ("town", "the column of weights 'town'"),
        ("sise", r"there is no column 'sise' \(did you mean 'size'\?\)"),
        ("price", "no column beside 'price' and the weights 'price'"),
    ],
)
def test_invalid_weights_are_refused_by_name(weights: str, words: str) -> None:
    with pytest.raises(DatasetError, match=words):
        made(sample_weight=weights)
