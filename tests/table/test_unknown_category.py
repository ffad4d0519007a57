"""An unknown category carries no information, or is an error; it is never taken for missing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from models import STRATEGIES

from tritree import ColumnError, TrinaryTreeClassifier, TrinaryTreeRegressor

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


def fit_tree(frame: Any, y: Any, **parameters: Any) -> Any:
    return TrinaryTreeRegressor(min_samples_leaf=5, **parameters).fit(frame, y)


# 40 a, 60 b and 20 missing; missing has a target of its own
LETTERS = ["a"] * 40 + ["b"] * 60 + [None] * 20
Y = np.repeat([0.0, 1.0, 9.0], [40, 60, 20])
SIZES = np.repeat([0.0, 1.0, 2.0], 40)
FRAME = pd.DataFrame({"letter": LETTERS, "size": SIZES})


def row(letter: Any, size: Any = None) -> Any:
    return pd.DataFrame(
        {"letter": pd.Series([letter], dtype=object), "size": [np.nan if size is None else size]}
    )


# ---- as an error


CATEGORIES: dict[str, tuple[Any, Any, str, str]] = {
    "text": (pd.Series(["x", "y"] * 30), "z", "'z'", "'x', 'y'"),
    "integers": (pd.Series([1, 2] * 30, dtype="category"), 3, "3", "1, 2"),
    "numbers": (pd.Series([0.5, 2.5] * 30, dtype="category"), 0.1, r"0\.1\d*", r"0\.5, 2\.5"),
}


@pytest.mark.parametrize("kind", CATEGORIES)
@pytest.mark.parametrize("missing", STRATEGIES)
def test_error_names_column_value_row_known_categories_and_remedy(kind: str, missing: str) -> None:
    seen, unknown, shown, saw = CATEGORIES[kind]
    model = fit_tree(
        pd.DataFrame({"a": seen, "b": np.arange(60.0)}),
        np.arange(60),
        missing=missing,
        unknown_category="error",
    )
    rows = pd.DataFrame({"b": 1.0, "a": pd.Series([seen[0], None, unknown, seen[1], unknown], dtype=object)})
    message = (
        rf"column 'a' holds {shown} in row 2, .*not seen in training \(which had {saw}\); "
        "make it one of them or missing, .*"
    )
    for ask in (model.predict, model.apply):
        with pytest.raises(ColumnError, match=message + "unknown_category='no_information'"):
            ask(rows)


def test_error_about_a_boolean_names_column_and_row() -> None:
    model = fit_tree(np.array([[True]] * 60), np.arange(60), unknown_category="error")
    with pytest.raises(ColumnError, match=r"column 0 holds .* in row 1, .*which had True\).*no_information"):
        model.predict(np.array([[True], [False]]))


def test_error_shows_a_boolean_as_such() -> None:
    model = fit_tree(np.array([[True]] * 60), np.arange(60), unknown_category="error")
    with pytest.raises(ColumnError, match=r"column 0 holds False in row 1"):
        model.predict(np.array([[True], [False]]))


def test_error_about_a_column_with_many_categories_shows_some_of_them() -> None:
    seen = [f"c{i:03}" for i in range(100)]
    model = fit_tree(
        pd.DataFrame({"a": seen}), np.arange(100), unknown_category="error", drop_identifiers=False
    )
    with pytest.raises(ColumnError, match=r"which had 'c000', .*'c009' and 90 more\)"):
        model.predict(pd.DataFrame({"a": ["other"]}))


def test_classifier_refuses_an_unknown_category_too() -> None:
    model = TrinaryTreeClassifier(unknown_category="error").fit(FRAME, Y > 0)
    for ask in (model.predict, model.predict_proba, model.predict_log_proba):
        with pytest.raises(ColumnError, match="column 'letter' holds 'z' in row 0"):
            ask(row("z"))


@pytest.mark.parametrize("missing", STRATEGIES)
def test_missing_is_not_unknown(missing: str) -> None:
    strict = fit_tree(FRAME, Y, missing=missing, unknown_category="error")
    lenient = fit_tree(FRAME, Y, missing=missing)
    rows = pd.DataFrame({"letter": ["a", None, np.nan, "b"], "size": [np.nan, 1.0, 2.0, 0.0]})
    np.testing.assert_array_equal(strict.predict(rows), lenient.predict(rows))


def test_absent_and_empty_columns_are_not_unknown() -> None:
    model = fit_tree(FRAME, Y, unknown_category="error")
    with pytest.warns(UserWarning, match="'letter'"):
        model.predict(FRAME[["size"]])
    model.predict(FRAME.assign(letter=np.nan))


def test_column_without_a_value_in_training_has_no_unknown_categories() -> None:
    model = fit_tree(FRAME.assign(letter=None), Y, unknown_category="error")
    assert len(model.predict(FRAME)) == len(FRAME)


def test_training_rows_are_always_known() -> None:
    model = fit_tree(FRAME, Y, unknown_category="error")
    np.testing.assert_array_equal(model.predict(FRAME), fit_tree(FRAME, Y).predict(FRAME))


def test_numbers_of_a_numeric_column_are_never_unknown() -> None:
    model = fit_tree(FRAME, Y, unknown_category="error")
    assert model.predict(row("a", 1e9)) == model.predict(row("a", 2.0))


def test_parameter_is_read_by_each_prediction() -> None:
    model = fit_tree(FRAME, Y)
    expected = model.predict(row("z"))
    with pytest.raises(ColumnError):
        model.set_params(unknown_category="error").predict(row("z"))
    np.testing.assert_array_equal(
        model.set_params(unknown_category="no_information").predict(row("z")), expected
    )


@pytest.mark.parametrize("wrong", ["ignore", "", None, True, ["error"]])
def test_wrong_value_of_the_parameter_is_refused_at_fit_and_at_predict(wrong: Any) -> None:
    message = r"unknown_category must be one of 'no_information', 'error', got "
    with pytest.raises(ValueError, match=message):
        fit_tree(FRAME, Y, unknown_category=wrong)
    with pytest.raises(ValueError, match=message):
        fit_tree(FRAME, Y).set_params(unknown_category=wrong).predict(FRAME)


def test_wrong_value_of_the_parameter_is_refused_where_all_columns_are_numbers() -> None:
    model = fit_tree(SIZES[:, None], Y).set_params(unknown_category="ignore")
    with pytest.raises(ValueError, match="unknown_category must be one of"):
        model.predict(SIZES[:, None])


# ---- as no information


def test_trinary_sends_an_unknown_category_to_the_third_branch() -> None:
    model = fit_tree(FRAME, Y, missing="trinary", max_depth=1)
    assert model.predict(row("z", 0.0)) == model.predict(row(None, 0.0))
    only_letters = fit_tree(FRAME[["letter"]], Y, missing="trinary", max_depth=1)
    assert only_letters.predict(pd.DataFrame({"letter": ["z"]})) == Y.mean()


def test_fractional_sends_an_unknown_category_to_both_branches() -> None:
    model = fit_tree(FRAME[["letter"]], Y, missing="fractional", max_depth=1)
    rows = pd.DataFrame({"letter": ["a", "b", "z", None]})
    a, b, unknown, missing = model.predict(rows)
    assert unknown == missing == pytest.approx(0.4 * a + 0.6 * b)
    assert a != b


def test_surrogates_or_the_larger_side_take_an_unknown_category() -> None:
    frame = pd.DataFrame({"letter": ["a"] * 40 + ["b"] * 60, "size": np.repeat([0.0, 1.0], [40, 60])})
    model = fit_tree(frame, np.repeat([0.0, 1.0], [40, 60]), missing="surrogate", max_depth=1)
    assert model.to_dict()["nodes"][0]["split"]["name"] == "letter"
    assert model.predict(row("z", 0.0)) == 0
    assert model.predict(row("z", 1.0)) == 1
    assert model.predict(row("z")) == 1


def test_surrogate_that_does_not_know_the_category_is_passed_over() -> None:
    c = np.r_[0.0:95, -5:0]
    frame = pd.DataFrame({"a": ["x"] * 40 + ["y"] * 60, "b": ["u"] * 38 + ["v"] * 62, "c": c})
    model = fit_tree(frame, np.repeat([0.0, 1.0], [40, 60]), missing="surrogate", max_depth=1)
    stand_ins = [surrogate["name"] for surrogate in model.to_dict()["nodes"][0]["split"]["surrogates"]]
    assert stand_ins == ["b", "c"]
    rows = pd.DataFrame({"a": ["?", "?", None], "b": ["u", "?", "?"], "c": [99.0, 3.0, 3.0]})
    assert model.predict(rows).tolist() == [0, 0, 0]


def test_majority_sends_an_unknown_category_to_the_larger_side() -> None:
    model = fit_tree(FRAME[["letter"]], Y, missing="majority", max_depth=1)
    rows = pd.DataFrame({"letter": ["b", "z", None]})
    b, unknown, missing = model.predict(rows)
    assert unknown == missing == b


@pytest.mark.parametrize("missing", ["mia", "trinary_mia"])
def test_mia_sends_an_unknown_category_to_the_larger_side_where_missing_goes_to_the_smaller(
    missing: str,
) -> None:
    # missing is like a, and b has more rows
    y = np.repeat([0.0, 5.0, 0.0], [40, 60, 20])
    model = fit_tree(FRAME[["letter"]], y, missing=missing, max_depth=1)
    split = model.to_dict()["nodes"][0]["split"]
    assert (split["rule"], split["missing_to"], split["larger_side"]) == ("categories", "left", "right")
    assert model.predict(pd.DataFrame({"letter": ["z", None]})).tolist() == [5, 0]


@pytest.mark.parametrize("missing", ["mia", "trinary_mia"])
def test_unknown_category_is_observed_where_missing_is_split_from_observed(missing: str) -> None:
    # missing has more rows than are observed, so the larger side of all rows is the wrong one
    frame = pd.DataFrame({"letter": ["a", "b"] * 20 + [None] * 80})
    y = np.repeat([0.0, 9.0], [40, 80])
    model = fit_tree(frame, y, missing=missing, max_depth=1)
    assert model.to_dict()["nodes"][0]["split"]["rule"] == "missing"
    assert model.predict(pd.DataFrame({"letter": ["z", None]})).tolist() == [0, 9]


def test_trinary_mia_sends_an_unknown_category_to_the_third_branch_where_nothing_was_missing() -> None:
    frame, y = FRAME.head(100), Y[:100]
    model = fit_tree(frame[["letter"]], y, missing="trinary_mia", max_depth=1)
    assert model.predict(pd.DataFrame({"letter": ["z", None]})).tolist() == [y.mean()] * 2


@pytest.mark.parametrize("missing", STRATEGIES)
def test_category_unknown_to_the_node_goes_where_one_unknown_to_training_goes(missing: str) -> None:
    # c occurs where size is 0 only; the letters split what is left
    frame = pd.DataFrame(
        {"size": np.repeat([0.0, 1.0], [60, 100]), "letter": list("c" * 60 + "a" * 40 + "b" * 60)}
    )
    model = fit_tree(frame, np.repeat([-50.0, 0.0, 5.0], [60, 40, 60]), missing=missing, max_depth=2)
    first, right = (model.to_dict()["nodes"][i]["split"] for i in (0, model.tree_.right[0]))
    assert (first["name"], right["left"], right["right"]) == ("size", ["a"], ["b"])
    known_elsewhere, unknown = model.predict(pd.DataFrame({"size": [1.0, 1.0], "letter": ["c", "z"]}))
    node_mean, larger_side = 3, 5
    has_third_or_both = missing in ("trinary", "trinary_mia", "fractional")
    assert known_elsewhere == unknown == pytest.approx(node_mean if has_third_or_both else larger_side)


# ---- any library


WITH_UNKNOWN = {"letter": ["a", "z", None, "b"], "size": [1.0, 2.0, 0.0, None]}
LIBRARIES = {
    "pandas": pd.DataFrame(WITH_UNKNOWN),
    "pandas objects": pd.DataFrame(WITH_UNKNOWN, dtype=object),
    "pandas string": pd.DataFrame(WITH_UNKNOWN).astype({"letter": "string"}),
    "pandas categories": pd.DataFrame(WITH_UNKNOWN).astype({"letter": "category"}),
    "polars": pl.DataFrame(WITH_UNKNOWN),
    "polars categories": pl.DataFrame(WITH_UNKNOWN).cast({"letter": pl.Categorical}),
    "polars Enum": pl.DataFrame(WITH_UNKNOWN).cast({"letter": pl.Enum(["z", "unused", "b", "a"])}),
    "pyarrow": pa.table(WITH_UNKNOWN),
    "pyarrow dictionary": pa.table(
        {"letter": pa.array(WITH_UNKNOWN["letter"]).dictionary_encode(), "size": WITH_UNKNOWN["size"]}
    ),
    "array": np.array(list(zip(*WITH_UNKNOWN.values(), strict=True)), dtype=object),
    "lists": [list(cells) for cells in zip(*WITH_UNKNOWN.values(), strict=True)],
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_agrees_about_unknown_categories(library: str) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        for missing in STRATEGIES:
            model = fit_tree(FRAME, Y, missing=missing)
            expected = model.predict(LIBRARIES["pandas"])
            np.testing.assert_array_equal(model.predict(LIBRARIES[library]), expected)
        with pytest.raises(
            ColumnError, match=r"column 'letter' holds 'z' in row 1, .*\(which had 'a', 'b'\)"
        ):
            model.set_params(unknown_category="error").predict(LIBRARIES[library])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": pd.Series([1, None, 7], dtype="Int64")}),
        pd.DataFrame({"a": pd.Categorical([1, None, 7])}),
        pl.DataFrame({"a": [1, None, 7]}),
        pa.table({"a": pa.array([1, None, 7]).dictionary_encode()}),
        pa.table({"a": pa.array([1.0, None, 7.0], pa.float32())}),
    ],
    ids=["nullable", "categories", "polars", "pyarrow dictionary", "single precision"],
)
def test_every_library_agrees_about_unknown_numbers(frame: Any) -> None:
    model = fit_tree(pd.DataFrame({"a": pd.Categorical([1, 2] * 30)}), [0.0, 1.0] * 30)
    np.testing.assert_allclose(model.predict(frame), [0, 0.5, 0.5])
    with pytest.raises(ColumnError, match=r"column 'a' holds 7 in row 2, .*\(which had 1, 2\)"):
        model.set_params(unknown_category="error").predict(frame)
