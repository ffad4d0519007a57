"""Errors and warnings carry facts as attributes, also through pickling."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tritree
from tritree import errors
from tritree.errors import (
    ColumnError,
    ColumnMatchWarning,
    DateTextWarning,
    GraftError,
    GrowthLimitError,
    IdentifierWarning,
    ModelFileError,
    NumberTextWarning,
    ParameterError,
    SampleWeightError,
    TargetError,
    UngrownBranchWarning,
    UngrownExportWarning,
    UnknownCategoryError,
    UnknownValuesWarning,
)

EXAMPLES = [
    ColumnError("age", "holds inf in row 3", "replace it", row=3, value=np.inf),
    ColumnError("joined", "holds dates", "turn it into a number", can_drop=True),
    ColumnError(None, "column names occur more than once", "rename them"),
    UnknownCategoryError("city", 2, "Ulm", ("Bonn", "Kiel")),
    TargetError("is missing in row 1", "drop the row", row=1),
    TargetError("holds the class 3, which y does not", value=3, subject="y_val"),
    SampleWeightError("holds -1.0 in row 0", "weights must be finite and not negative", row=0, value=-1.0),
    ParameterError("max_depth", "an integer of at least 0", -1, none_means="no limit"),
    ParameterError("max_features", "a number above 0 and at most 1", 3, hint="give a fraction"),
    GraftError("gblinear has no trees", "graft a model of trees"),
    GraftError("truncated", path="model.json"),
    GrowthLimitError(9, 10, "raise max_nodes", n_ungrown=4, n_nodes_in_full=10**7),
    GrowthLimitError(11, 10, "raise max_nodes", n_trees=3),
    GrowthLimitError(11, 99, "fit again", limit="max_third_nodes", n_ungrown=4),
    ModelFileError("damaged", "model.tritree"),
    ColumnMatchWarning(absent=["a"]),
    ColumnMatchWarning(ignored=["b"]),
    IdentifierWarning("id", 240, 240),
    DateTextWarning("joined", "day/month/year"),
    NumberTextWarning("area", 99, 100, "2,5", True),
    UnknownValuesWarning("sex", 20, 20, "MALE", "'female', 'male'", False),
    UngrownBranchWarning("detached", 1),
    UngrownBranchWarning("node_limit", 4),
    UngrownExportWarning("rows", destination="file", n_ungrown=7, one_missing=0.02, fifth_missing=0.4),
    UngrownExportWarning("max_nodes", 3, 10, n_ungrown=7, max_nodes=100),
    UngrownExportWarning("detached", n_ungrown=1),
]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: f"{type(error).__name__}: {error}"[:60])
def test_pickling_keeps_message_and_facts(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


@pytest.mark.parametrize("warning", [example for example in EXAMPLES if isinstance(example, Warning)])
def test_warning_is_the_same_if_created_from_its_args(warning: Warning) -> None:
    again = type(warning)(*warning.args)
    assert vars(again) == vars(warning)


def test_every_error_has_an_example() -> None:
    classes = {
        value
        for name in errors.__all__
        if isinstance(value := getattr(errors, name), type) and value is not errors.DataError
    }
    assert {type(example) for example in EXAMPLES} == classes
    assert {cls.__name__ for cls in classes} <= set(tritree.__all__)


def test_column_error_says_where_and_what() -> None:
    table = pd.DataFrame({"a": [1.0, 2.0, -np.inf], "b": [1.0, 2.0, 3.0]})
    with pytest.raises(ColumnError) as caught:
        tritree.TrinaryTreeRegressor().fit(table, [1.0, 2.0, 3.0])
    error = caught.value
    assert (error.column, error.row, error.value, error.can_drop) == ("a", 2, -np.inf, False)
    assert (error.subject, error.problem) == ("column 'a'", "holds -inf in row 2")
    assert str(error) == f"{error.subject} {error.problem}; {error.remedy}"


def test_column_of_an_array_is_its_position() -> None:
    with pytest.raises(ColumnError, match=r"^column 1 holds inf in row 0;") as caught:
        tritree.TrinaryTreeRegressor().fit([[1.0, np.inf], [2.0, 1.0]], [1.0, 2.0])
    assert caught.value.column == 1


def test_dropping_the_column_is_the_last_remedy() -> None:
    table = pd.DataFrame({"joined": [[2020], [2021]]})
    with pytest.raises(ColumnError, match=r", or drop it$") as caught:
        tritree.TrinaryTreeRegressor().fit(table, [1.0, 2.0])
    assert caught.value.can_drop
    assert "drop" not in caught.value.remedy


def test_unknown_category_error_has_row_value_and_known_categories() -> None:
    table = pd.DataFrame({"city": ["Bonn", "Kiel", "Bonn", "Kiel"]})
    model = tritree.TrinaryTreeRegressor(unknown_category="error").fit(table, [1.0, 2.0, 1.0, 2.0])
    with pytest.raises(UnknownCategoryError) as caught:
        model.predict(pd.DataFrame({"city": ["Kiel", "Ulm"]}))
    error = caught.value
    assert (error.column, error.row, error.value, error.categories) == ("city", 1, "Ulm", ("Bonn", "Kiel"))


@pytest.mark.parametrize(
    ("y", "sample_weight", "error", "row"),
    [
        ([1.0, np.nan, 2.0], None, TargetError, 1),
        ([1.0, 2.0, np.inf], None, TargetError, 2),
        ([1.0, 2.0, 3.0], [1.0, 1.0, -1.0], SampleWeightError, 2),
    ],
)
def test_errors_about_target_and_weights_name_the_row(
    y: Any, sample_weight: Any, error: Any, row: int
) -> None:
    with pytest.raises(error) as caught:
        tritree.TrinaryTreeRegressor().fit([[1.0], [2.0], [3.0]], y, sample_weight)
    assert caught.value.row == row


def test_parameter_error_names_parameter_and_value() -> None:
    with pytest.raises(ParameterError) as caught:
        tritree.TrinaryTreeRegressor(max_depth=-2).fit([[1.0], [2.0]], [1.0, 2.0])
    error = caught.value
    assert (error.name, error.value, error.none_means) == ("max_depth", -2, "no limit")
    assert str(error) == f"max_depth must be {error.requirement}, or None (no limit), got -2"


def test_growth_limit_error_counts_nodes_and_branches() -> None:
    rng = np.random.default_rng(0)
    model = tritree.TrinaryTreeRegressor(max_depth=4).fit(rng.normal(size=(100, 5)), rng.normal(size=100))
    with pytest.raises(GrowthLimitError) as caught:
        model.grow_all(max_nodes=50)
    error = caught.value
    assert (error.n_nodes, error.max_nodes, error.limit) == (model.n_nodes_, 50, "max_nodes")
    assert error.n_ungrown > 0
    assert error.n_nodes_in_full is not None
    assert error.n_nodes_in_full > 50


def test_growth_limit_error_names_max_third_nodes_if_it_stopped_growth() -> None:
    rng = np.random.default_rng(0)
    model = tritree.TrinaryBoostingRegressor(max_third_nodes=5, min_samples_leaf=5, max_iter=2, max_depth=3)
    model.fit(rng.normal(size=(100, 5)), rng.normal(size=100))
    with pytest.raises(
        GrowthLimitError, match="gets the value of the node above it; fit with a higher"
    ) as caught:
        model.grow_all()
    assert caught.value.limit == "max_third_nodes"
    assert "max_nodes=" not in str(caught.value)
    assert "right" not in str(caught.value)


def test_warning_about_columns_lists_them() -> None:
    model = tritree.TrinaryTreeRegressor().fit(pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0]}), [1.0, 2.0])
    with pytest.warns(ColumnMatchWarning) as seen:
        model.predict(pd.DataFrame({"b": [1.0], "c": [1.0]}))
    assert [(list(w.message.absent), list(w.message.ignored)) for w in seen] == [(["a"], []), ([], ["c"])]


def test_warning_about_ungrown_branches_counts_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    model = tritree.TrinaryTreeRegressor().fit(X, X[:, 0]).detach()
    with pytest.warns(UngrownBranchWarning) as seen:
        model.predict(np.full((7, 3), np.nan))
    (warning,) = (w.message for w in seen)
    assert (warning.cause, warning.n_hits) == ("detached", 7)
