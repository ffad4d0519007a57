"""Errors and warnings of the library are worded for the command line from their attributes, not from their text."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import tritree.cli
from tritree import errors
from tritree.cli.errors import describe_error, describe_warning, fit_errors, growth_limit
from tritree.cli.messages import UserError
from tritree.cli.options import ColumnRoles

ROLES = ColumnRoles("price", weights="times")
TEXTS = ("str", "repr", "one_line")  # functions that return the text of an error


def raised_by_fit(error: Exception) -> str:
    with pytest.raises(UserError) as caught, fit_errors(ROLES):
        raise error
    assert caught.value.__cause__ is error
    return str(caught.value)


class Mute:
    """A mixin whose text says nothing, so that only attributes can be used."""

    def __str__(self) -> str:
        return "?"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (errors.TargetError("holds dates", "use numbers"), "the target 'price' holds dates; use numbers"),
        (
            errors.SampleWeightError("holds -1 in row 2", "correct it"),
            "the column of weights, 'times', holds -1 in row 2; correct it",
        ),
        (
            errors.ColumnError("day", "holds dates", "turn it into days", can_drop=True),
            "column 'day' holds dates; turn it into days, or drop it with --drop day",
        ),
        (errors.ColumnError("x", "holds inf in row 3"), "column 'x' holds inf in row 3"),
        (
            errors.ParameterError("max_bins", "an integer of at least 2", 1, none_means="every value"),
            "--max-bins must be an integer of at least 2, or none (every value), got 1",
        ),
    ],
)
def test_error_of_fit_names_columns_of_the_table_and_options(error: Exception, text: str) -> None:
    assert raised_by_fit(error) == text
    mute = type("Mute", (Mute, type(error)), {})
    error.__class__ = mute
    assert raised_by_fit(error) == text


def test_number_of_trees_is_named_by_the_option_for_every_kind_of_model() -> None:
    for name in ("n_estimators", "max_iter"):
        assert raised_by_fit(errors.ParameterError(name, "positive", 0)) == "--trees must be positive, got 0"


def test_parameter_without_an_option_is_not_reworded() -> None:
    with pytest.raises(errors.ParameterError), fit_errors(ROLES):
        raise errors.ParameterError("max_third_nodes", "positive", 0)


def test_unknown_category_suggests_the_option() -> None:
    text = describe_error(errors.UnknownCategoryError("colour", 4, "blue", ["dark", "light"]))
    assert text.startswith("column 'colour' holds 'blue' in row 4")
    assert text.endswith("or add --unknown-category no_information")


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        (
            {"n_ungrown": 7, "n_nodes_in_full": 900},
            "the tree has 20 nodes and 7 branches still to grow, which would exceed --max-nodes 25; the fully grown "
            "tree may have up to 900 nodes; do less",
        ),
        ({"n_trees": 3}, "the trees have 20 nodes, more than --max-nodes 25; do less"),
        (
            {"n_trees": 3, "n_ungrown": 7, "limit": "max_third_nodes"},
            "the trees have 20 nodes and 7 branches that cannot be grown, since a tree has its maximum number of "
            "nodes: a row that needs one of them gets the value of the node above it; fit with a lower --max-depth",
        ),
    ],
)
def test_growth_limit_names_the_option_and_the_remedy(facts: dict[str, Any], text: str) -> None:
    with pytest.raises(UserError) as caught, growth_limit("do less", option="--max-nodes"):
        raise errors.GrowthLimitError(20, 25, "raise max_nodes", **facts)
    assert str(caught.value) == text


@pytest.mark.parametrize("cause", ["detached", "node_limit"])
def test_warning_of_ungrown_branches_suggests_options(cause: str) -> None:
    text = describe_warning(errors.UngrownBranchWarning(cause, 1200))
    assert text.startswith("1,200 times a row reached a third branch that is not grown")
    assert ("--no-training-rows" if cause == "detached" else "--max-depth") in text
    assert "()" not in text


@pytest.mark.parametrize(
    ("facts", "remedy"),
    [
        ({"cause": "rows"}, "; name rows with the missing values to expect with --rows"),
        ({"cause": "rows", "destination": "file"}, "expect with --grow-for"),
        ({"cause": "other_rows", "destination": "file"}, "than those of --grow-for, name them there too"),
        (
            {"cause": "max_nodes", "max_nodes": 1000},
            ": growth stopped at 1,000 nodes; raise --max-nodes, or name rows",
        ),
        ({"cause": "max_nodes", "n_hits": 2, "n_rows": 9}, "raise --max-nodes, or use fewer rows"),
        ({"cause": "detached"}, ": the model file has no training rows"),
    ],
)
def test_warning_of_an_export_suggests_options(facts: dict[str, Any], remedy: str) -> None:
    text = describe_warning(errors.UngrownExportWarning(**facts, one_missing=0.01, fifth_missing=0.2))
    assert remedy in text
    assert "()" not in text
    assert "20.0%" in text or "2 of 9 rows" in text


def test_warning_of_an_identifier_suggests_to_drop_it() -> None:
    text = describe_warning(errors.IdentifierWarning("id", 400, 442))
    assert "column 'id' has 400 different values in 442 rows, so it is left out" in text
    assert "--keep-identifiers" in text
    assert "--drop" in describe_warning(errors.IdentifierWarning("id", 442, 442, is_dropped=False))


def test_notice_of_text_dates_says_how_to_switch_it_off() -> None:
    assert "--no-parse-dates" in describe_warning(errors.DateTextWarning("joined", "day/month/year"))


def test_no_module_searches_the_text_of_errors() -> None:
    """Names that hold errors are formatted, never compared, split or searched."""
    for path in Path(tritree.cli.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare | ast.Attribute):
                parts = [node.left, *node.comparators] if isinstance(node, ast.Compare) else [node.value]
                texts = [part for part in parts if isinstance(part, ast.Call)]
                of_errors = {f"{text}({name})" for text in TEXTS for name in ("error", "warning")}
                assert not of_errors & {ast.unparse(call) for call in texts}, path
