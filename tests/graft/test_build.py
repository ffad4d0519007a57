"""Grafted source models, made by hand and at random, against plain traversal of the source."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import numpy as np
import pytest
from graft.reference import raw_predictions
from graft.sources import as_table, random_codes, random_model
from hypothesis import given
from hypothesis import strategies as st

from tritree import GraftedClassifier, GraftedRegressor, GraftError
from tritree.graft.models import graft_source
from tritree.graft.source import SourceColumn, SourceModel, SourceTree

seeds = st.integers(0, 2**31 - 10)


def grafted(model: SourceModel, X: object, **parameters: object) -> GraftedRegressor | GraftedClassifier:
    parameters = {"missing": "auto", "third_depth_extra": 0, "random_state": 0, "n_jobs": 1} | parameters
    return graft_source(model, X, **{"max_background": 20_000} | parameters)


def one_split(**fields: object) -> SourceModel:
    """Return a model of one split on the first of two columns: 1 below 0, else 2; missing values go left."""
    tree = SourceTree(
        column=np.array([0, -1, -1], np.int32),
        threshold=np.array([0.0, np.nan, np.nan]),
        left=np.array([1, -1, -1], np.int32),
        right=np.array([2, -1, -1], np.int32),
        missing_left=np.array([True, False, False]),
        missing_learned=np.zeros(3, np.int8),
        value=np.array([0.0, 1.0, 2.0]),
    )
    for name in tree.__dataclass_fields__.keys() & fields.keys():
        setattr(tree, name, fields.pop(name))
    columns = [SourceColumn(), SourceColumn()]
    return SourceModel(
        **{
            "library": "Test",
            "columns": columns,
            "trees": [tree],
            "baseline": np.zeros(1),
            "link": "identity",
        }
        | fields
    )


# the second column is the first one again
TWICE = np.repeat(np.array([[-2.0], [-1.0], [0.5], [3.0]]), 30, axis=0)[:, [0, 0]]
NAN = np.nan


# ---- complete rows, and the source's directions


@given(seeds, st.sampled_from(["auto", "third", "keep"]), st.sampled_from([1, 3]), st.booleans())
def test_complete_rows_get_the_predictions_of_the_source(
    seed: int, missing: str, n_outputs: int, with_categories: bool
) -> None:
    fields = {"link": "softmax", "classes": np.array(["a", "b", "c"])} if n_outputs > 1 else {}
    model = random_model(seed, n_outputs=n_outputs, with_categories=with_categories, **fields)
    background = as_table(model, random_codes(model, seed + 1, 40, 0.2))
    robust = grafted(model, background, missing=missing)
    rows = random_codes(model, seed + 2, 30)
    raw = (
        robust.decision_function(as_table(model, rows))
        if n_outputs > 1
        else robust.predict(as_table(model, rows))
    )
    np.testing.assert_array_equal(raw.reshape(30, -1), raw_predictions(model, rows))


@given(seeds, st.booleans())
def test_rows_with_missing_values_go_where_the_source_sends_them_with_keep(
    seed: int, with_categories: bool
) -> None:
    model = random_model(seed, with_categories=with_categories)
    robust = grafted(model, as_table(model, random_codes(model, seed + 1, 40)), missing="keep")
    rows = random_codes(model, seed + 2, 50, 0.4)
    np.testing.assert_array_equal(robust.predict(as_table(model, rows)), raw_predictions(model, rows)[:, 0])
    assert robust.n_third_splits_ == 0
    assert robust.n_grown_ == 0


def test_learned_directions_are_kept_and_others_are_not() -> None:
    rows = [[NAN, -2.0], [NAN, 3.0]]
    assert grafted(one_split(missing_learned=np.ones(3, np.int8)), TWICE).predict(rows).tolist() == [1, 1]
    assert grafted(one_split(), TWICE).predict(rows).tolist() == [1, 2]  # by the other column


@pytest.mark.parametrize(
    ("learned", "n_missing", "is_kept"),
    [
        (1, 0, True),
        (1, 11, False),
        (1, 12, True),
        (-1, 0, False),
        (-1, 11, False),
        (-1, 12, True),
        (0, 60, False),
    ],
)
def test_directions_learned_from_few_rows_are_not_kept(learned: int, n_missing: int, is_kept: bool) -> None:
    background = TWICE.copy()  # 120 rows
    background[:n_missing, 0] = NAN
    robust = grafted(one_split(missing_learned=np.full(3, learned, np.int8)), background)
    assert (robust.n_kept_splits_, robust.n_third_splits_) == ((1, 0) if is_kept else (0, 1))


def test_third_branch_is_the_mean_of_the_predictions_given_the_other_columns() -> None:
    random = np.random.RandomState(0)
    X = np.column_stack([random.normal(size=4000), random.randint(2, size=4000)])
    X[X[:, 1] == 1, 0] += 1
    robust = grafted(one_split(), X, missing="third")
    expected = [1 + (X[X[:, 1] == group, 0] >= 0).mean() for group in (0, 1)]
    np.testing.assert_allclose(robust.predict([[NAN, 0], [NAN, 1]]), expected, atol=0.03)
    np.testing.assert_allclose(robust.predict([[NAN, NAN]]), 1 + (X[:, 0] >= 0).mean(), atol=0.03)


# ---- splits that no observed value decides


@pytest.mark.parametrize(("missing", "of_missing"), [("keep", 1.0), ("third", 2.0)])
def test_missing_against_observed(missing: str, of_missing: float) -> None:
    model = one_split(threshold=np.array([-np.inf, NAN, NAN]))
    robust = grafted(model, TWICE, missing=missing)
    assert robust.predict([[-5.0, 0], [5.0, 0], [NAN, 0]]).tolist() == [2, 2, of_missing]


def test_all_observed_values_left_and_missing_right() -> None:
    model = one_split(threshold=np.array([np.inf, NAN, NAN]), missing_left=np.zeros(3, bool))
    robust = grafted(model, TWICE, missing="keep")
    assert robust.predict([[-5.0, 0], [5.0, 0], [NAN, 0]]).tolist() == [1, 1, 2]


def test_split_that_sends_everything_to_one_side_is_left_out() -> None:
    model = one_split(threshold=np.array([-np.inf, NAN, NAN]), missing_left=np.zeros(3, bool))
    robust = grafted(model, TWICE, missing="keep")
    assert robust.n_nodes_ == 1
    assert robust.predict([[NAN, 0]]).tolist() == [2]


# ---- categories


def categorical(labels: tuple[object, ...], left: set[int], **fields: object) -> SourceModel:
    columns = [SourceColumn("colour", labels), SourceColumn("other")]
    return one_split(columns=columns, left_categories={0: frozenset(left)}, **fields)


@pytest.mark.parametrize("unknown_left", [False, True])
def test_category_that_only_the_background_has_goes_where_the_source_sends_it(unknown_left: bool) -> None:
    import pandas as pd

    model = categorical(("red", "blue"), {0}, unknown_left=np.full(3, unknown_left))
    X = pd.DataFrame({"colour": ["red", "blue", "green", None] * 10, "other": 0.0})
    robust = grafted(model, X, missing="third")
    assert robust.predict(X[:3]).tolist() == [1, 2, 1 if unknown_left else 2]


def test_categories_that_are_all_on_one_side_are_observed_against_missing() -> None:
    import pandas as pd

    model = categorical((3, 1), {0, 1}, missing_left=np.zeros(3, bool), unknown_left=np.zeros(3, bool))
    X = pd.DataFrame({"colour": [1.0, 3.0] * 10, "other": 0.0})
    robust = grafted(model, X, missing="keep")
    assert robust.predict(pd.DataFrame({"colour": [1.0, NAN], "other": 0.0})).tolist() == [1, 2]


def test_more_than_64_categories_take_several_words() -> None:
    import pandas as pd

    labels = tuple(f"c{i}" for i in range(200))
    model = categorical(labels, set(range(0, 200, 3)))
    X = pd.DataFrame({"colour": labels, "other": 0.0})
    assert grafted(model, X).predict(X).tolist() == [1 if i % 3 == 0 else 2 for i in range(200)]


def test_categories_of_mixed_types_are_refused() -> None:
    with pytest.raises(GraftError, match="column 'colour' has categories of several types"):
        grafted(categorical(("red", 1), {0}), TWICE)


@pytest.mark.parametrize("label", [datetime(2020, 1, 1), np.datetime64("2020-01-01", "ns"), None, ("a",)])
def test_categories_that_are_no_text_or_numbers_are_refused(label: object) -> None:
    with pytest.raises(
        GraftError, match="column 'colour' has categories that are not text, booleans or numbers"
    ):
        grafted(categorical((label,), {0}), TWICE)


# ---- columns


def test_zeros_are_missing_where_the_source_takes_them_for_missing() -> None:
    columns = [SourceColumn(zero_is_missing=True), SourceColumn()]
    model = one_split(columns=columns, threshold=np.array([0.6, NAN, NAN]), missing_left=np.zeros(3, bool))
    robust = grafted(model, TWICE, missing="keep")
    assert robust.predict([[0.0, 0], [1e-36, 0], [NAN, 0], [0.5, 0], [1.0, 0]]).tolist() == [2, 2, 2, 1, 2]


@pytest.mark.parametrize(
    ("value", "is_refused"), [(1e-36, True), (-1e-36, True), (1e-46, False), (0.0, False)]
)
def test_tiny_numbers_are_refused_where_only_zeros_are_missing(value: float, is_refused: bool) -> None:
    columns = [SourceColumn(zero_is_missing=True, zero_is_exact=True), SourceColumn()]
    X = TWICE.copy()
    X[3, 0] = value
    if is_refused:
        with pytest.raises(GraftError, match=f"row 3 of column 0 is .*{value}.*take for zero"):
            grafted(one_split(columns=columns), X)
    else:
        grafted(one_split(columns=columns), X)


def test_columns_are_matched_by_name() -> None:
    import pandas as pd

    model = one_split(columns=[SourceColumn("a"), SourceColumn("b")])
    robust = grafted(model, pd.DataFrame(TWICE, columns=["a", "b"]))
    assert robust.feature_names_in_.tolist() == ["a", "b"]
    assert robust.predict(pd.DataFrame({"b": [-1.0, -1.0], "a": [1.0, -1.0]})).tolist() == [2, 1]


@pytest.mark.parametrize("pattern", ["f{}", "Column_{}", "{}"])
def test_names_that_a_library_makes_up_give_way_to_those_of_the_table(pattern: str) -> None:
    import pandas as pd

    model = one_split(columns=[SourceColumn(pattern.format(j)) for j in range(2)])
    assert grafted(model, pd.DataFrame(TWICE, columns=["a", "b"])).feature_names_in_.tolist() == ["a", "b"]
    assert not hasattr(grafted(model, TWICE), "feature_names_in_")


def test_repeated_names_are_refused() -> None:
    with pytest.raises(GraftError, match="several columns 'a'"):
        grafted(one_split(columns=[SourceColumn("a"), SourceColumn("a")]), TWICE)


def test_infinite_background_value_is_refused_with_its_row() -> None:
    X = TWICE.copy()
    X[7, 1] = np.inf
    with pytest.raises(ValueError, match=r"column 1 holds inf in row 7"):
        grafted(one_split(), X)


def test_background_is_a_sample_of_the_rows() -> None:
    robust = grafted(one_split(), TWICE, max_background=50)
    assert robust.estimators_[0, 0].tree_.rows.tolist()[0] == 50


def test_column_without_any_value_in_the_background() -> None:
    X = TWICE.copy()
    X[:, 0] = NAN
    with pytest.raises(
        GraftError, match="has no value in X, and the model splits by it; pass rows that have"
    ):
        grafted(one_split(), X)
    robust = grafted(one_split(), X, missing="keep")
    assert robust.predict([[-1.0, 0], [1.0, 0]]).tolist() == [1, 2]
    assert np.isfinite(robust.predict([[NAN, 0.0]])).all()


def staircase(n: int) -> SourceModel:
    """Return a model of n trees of one split each, at different thresholds of the first column."""
    source = one_split()
    trees = []
    for i in range(n):
        tree = one_split().trees[0]
        tree.threshold = np.array([i - n / 2, NAN, NAN])
        trees.append(tree)
    source.trees = trees
    return source


def test_more_than_255_thresholds_of_a_column_are_exact() -> None:
    model = staircase(1000)
    rows = np.column_stack([np.linspace(-600, 600, 2401), np.zeros(2401)])
    np.testing.assert_array_equal(grafted(model, rows).predict(rows), raw_predictions(model, rows)[:, 0])


def test_more_thresholds_than_bins_are_refused() -> None:
    with pytest.raises(GraftError, match=r"splits column 0 at 65,534 thresholds"):
        grafted(staircase(65_534), TWICE)


# ---- outputs


@pytest.mark.parametrize(
    ("link", "inverse"),
    [("identity", lambda raw: raw), ("log", np.exp), ("logit", lambda raw: 1 / (1 + np.exp(-raw)))],
)
def test_links_of_regression(link: str, inverse: Callable[[np.ndarray], np.ndarray]) -> None:
    model = random_model(1, link=link)
    rows = random_codes(model, 2, 40)
    robust = grafted(model, as_table(model, rows))
    expected = inverse(raw_predictions(model, rows)[:, 0])
    np.testing.assert_allclose(robust.predict(as_table(model, rows)), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("link", "n_classes"), [("logit", 2), ("softmax", 3), ("sigmoid_each", 3), ("probability", 2)]
)
def test_links_of_classification(link: str, n_classes: int) -> None:
    n_outputs = 1 if link == "logit" else n_classes
    fields = {"link": link, "classes": np.arange(n_classes), "baseline": np.ones(n_outputs)}
    model = random_model(1, n_outputs=n_outputs, **fields)
    rows = random_codes(model, 2, 40)
    raw = raw_predictions(model, rows)
    sigmoid = 1 / (1 + np.exp(-raw))
    expected = {
        "logit": lambda: np.column_stack([1 - sigmoid, sigmoid]),
        "softmax": lambda: np.exp(raw) / np.exp(raw).sum(axis=1, keepdims=True),
        "sigmoid_each": lambda: sigmoid,
        "probability": lambda: np.maximum(raw, 0) / np.maximum(raw, 0).sum(axis=1, keepdims=True),
    }[link]()
    robust = grafted(model, as_table(model, rows))
    np.testing.assert_allclose(robust.predict_proba(as_table(model, rows)), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("link", ["logit", "softmax"])
def test_classes_are_put_into_sorted_order(link: str) -> None:
    labels = np.array(["no", "maybe"]) if link == "logit" else np.array(["no", "maybe", "yes"])
    n_outputs = 1 if link == "logit" else 3
    model = random_model(3, n_outputs=n_outputs, link=link, classes=labels)
    rows = random_codes(model, 4, 40)
    raw = raw_predictions(model, rows)
    best = (raw[:, 0] > 0).astype(int) if link == "logit" else raw.argmax(axis=1)
    robust = grafted(model, as_table(model, rows))
    assert robust.classes_.tolist() == sorted(labels)
    assert robust.predict(as_table(model, rows)).tolist() == labels[best].tolist()


def test_several_numbers_for_a_row_are_refused() -> None:
    model = random_model(0, n_outputs=2)
    with pytest.raises(GraftError, match="predicts 2 numbers for a row"):
        grafted(model, as_table(model, random_codes(model, 0, 10)))


def test_model_without_trees_is_refused() -> None:
    model = one_split()
    model.trees = []
    with pytest.raises(GraftError, match="the model of Test has no trees"):
        grafted(model, TWICE)


def test_sums_beyond_all_floats_are_refused() -> None:
    with pytest.raises(
        GraftError, match="the trees of Test cannot be grafted: sums of values are not finite"
    ):
        grafted(one_split(value=np.array([0.0, 1e308, 1e308]), baseline=np.array([1e308])), TWICE)


def test_one_background_row_is_enough() -> None:
    robust = grafted(one_split(), TWICE[:1])
    assert robust.predict([[-1.0, 0.0], [1.0, 0.0], [NAN, 0.0]]).tolist() == [1, 2, 1]


def test_graft_without_third_branches_keeps_no_rows() -> None:
    with pytest.raises(ValueError, match="this model has none"):
        grafted(one_split(), TWICE, missing="keep").save("model.tritree", training_rows=True)
    assert not grafted(one_split(), TWICE)._model.is_detached


# ---- the check


def with_raw(model: SourceModel, change: Callable[[np.ndarray], np.ndarray]) -> SourceModel:
    model.raw = lambda X: change(raw_predictions(model, X))
    return model


def test_graft_that_predicts_as_its_source_passes() -> None:
    grafted(with_raw(one_split(), lambda raw: raw.astype(np.float32)), TWICE)


def test_sums_beyond_float32_are_compared_as_well() -> None:
    model = one_split(value=np.array([0.0, 1e140, 3e140]))
    grafted(with_raw(model, lambda raw: raw * (1 + 1e-15)), TWICE)
    with pytest.raises(GraftError, match=r"add up to 1e\+140|add up to 3e\+140"):
        grafted(with_raw(model, lambda raw: raw * (1 + 1e-6)), TWICE)


def test_graft_that_differs_names_the_row_and_both_numbers() -> None:
    def change(raw: np.ndarray) -> np.ndarray:
        return np.where(raw == 2, 2.001, raw)

    with pytest.raises(
        GraftError,
        match=r"row \d+ of X: the trees read from Test add up to 2.0, and Test itself predicts 2.001",
    ):
        grafted(with_raw(one_split(), change), TWICE)


def test_difference_in_a_row_with_a_missing_value_names_its_column() -> None:
    X = TWICE.copy()
    X[5, 0] = NAN
    model = with_raw(one_split(), lambda raw: np.where(raw == 1, 1.5, raw))
    model.raw = lambda table: np.where(np.isnan(table[:, :1]), 7, raw_predictions(model, table))
    with pytest.raises(GraftError, match=r"row 5 of X.*a value of column 0 is missing in it"):
        grafted(model, X)


def test_source_that_takes_no_missing_values_is_asked_for_complete_rows() -> None:
    def refuse(raw: np.ndarray) -> np.ndarray:
        if len(raw) == len(TWICE):
            raise ValueError("Input X contains NaN")
        return raw

    X = TWICE.copy()
    X[5, 0] = NAN
    assert grafted(with_raw(one_split(), refuse), X).n_third_splits_ == 1


def test_source_that_cannot_predict_the_rows_is_refused() -> None:
    def refuse(raw: np.ndarray) -> np.ndarray:
        raise ValueError("X has 2 features, but 3 are expected")

    with pytest.raises(GraftError, match="Test cannot predict the rows of X: X has 2 features"):
        grafted(with_raw(one_split(), refuse), TWICE)


def test_source_that_refuses_complete_rows_too_is_named() -> None:
    model, X = one_split(), np.vstack([TWICE, [NAN, 0.0]])

    def refuse(table: np.ndarray) -> np.ndarray:
        raise ValueError("missing values" if np.isnan(table).any() else "no rows at all")

    model.raw = refuse
    with pytest.raises(GraftError, match="Test cannot predict the rows of X: no rows at all"):
        grafted(model, X)
