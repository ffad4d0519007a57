"""Text that was probably meant to be something else is warned of: numbers in training, unknown values in prediction."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from tritree import (
    IdentifierWarning,
    NumberTextWarning,
    TrinaryTreeRegressor,
    UnknownValuesWarning,
)


def fit_column(values: list[object]) -> list[warnings.WarningMessage]:
    table = pd.DataFrame({"area": values, "x": np.arange(len(values)) % 7})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        TrinaryTreeRegressor().fit(table, np.arange(len(values), dtype=float))
    return caught


def test_numbers_with_decimal_commas_are_named_as_such() -> None:
    caught = fit_column([f"{i},5" for i in range(100)])
    warning = caught[0].message
    assert isinstance(warning, NumberTextWarning)
    assert (warning.column, warning.n_numbers, warning.n_rows) == ("area", 100, 100)
    assert warning.has_decimal_commas
    assert "'0,5'; turn it into numbers" in str(warning)
    assert isinstance(caught[1].message, IdentifierWarning)


def test_numbers_beside_a_few_other_values_are_warned_of() -> None:
    (caught,) = fit_column([str(i % 8) for i in range(95)] + ["n/a?"] * 5)
    assert isinstance(caught.message, NumberTextWarning)
    assert str(caught.message) == (
        "column 'area' holds text, but 95 of 100 values look like numbers, unlike 'n/a?'; turn it into numbers, and "
        "other values into missing ones"
    )


@pytest.mark.parametrize("values", [["1", "2", "3"] * 20, ["a", "b", "1"] * 20, ["1,2", "b"] * 20])
def test_text_on_purpose_is_not_warned_of(values: list[object]) -> None:
    assert not fit_column(values)


@pytest.fixture
def tree() -> TrinaryTreeRegressor:
    days = pd.date_range("2024-01-01", periods=300)
    table = pd.DataFrame({"sold": days.strftime("%d.%m.%Y"), "sex": np.resize(["female", "male"], 300)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TrinaryTreeRegressor(min_samples_leaf=5).fit(table, np.arange(300.0))


def warnings_of(tree: TrinaryTreeRegressor, table: pd.DataFrame) -> list[Warning]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tree.predict(table)
    return [caught.message for caught in caught if isinstance(caught.message, UnknownValuesWarning)]


def rows(dates: list[str], sex: str = "male") -> pd.DataFrame:
    return pd.DataFrame({"sold": dates, "sex": sex})


def test_dates_in_another_format_are_warned_of(tree: TrinaryTreeRegressor) -> None:
    days = pd.date_range("2024-01-01", periods=100)
    (warning,) = warnings_of(tree, rows(days.strftime("%m/%d/%Y").tolist()))
    assert (warning.column, warning.n_rows, warning.is_date) == ("sold", 100, True)
    assert warning.n_unknown == sum(day.day > 12 for day in days)  # the others could be read either way
    assert str(warning).endswith(
        "such as '01/13/2024', cannot be read as day/month/year, and are treated as missing; write them as in training"
    )


def test_dates_as_in_training_are_not_warned_of(tree: TrinaryTreeRegressor) -> None:
    days = pd.date_range("2024-01-01", periods=300).strftime("%d.%m.%Y").tolist()
    assert not warnings_of(tree, rows(days))
    assert not warnings_of(tree, rows([*days[:-2], "unknown", "?"]))  # within the tolerance of training


def test_categories_that_are_mostly_unknown_are_warned_of(tree: TrinaryTreeRegressor) -> None:
    (warning,) = warnings_of(tree, rows(["01.02.2024"] * 20, "MALE"))
    assert str(warning) == (
        "20 of 20 values in column 'sex', such as 'MALE', are categories not seen in training ('female', 'male'); "
        "check their spelling"
    )
    assert not warnings_of(tree, rows(["01.02.2024"], "MALE"))  # a single row may well be new


def test_a_few_unknown_categories_are_not_warned_of(tree: TrinaryTreeRegressor) -> None:
    table = rows(["01.02.2024"] * 20)
    table.loc[:8, "sex"] = "other"
    assert not warnings_of(tree, table)
