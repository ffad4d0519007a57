"""The contributions of columns add up to the sum over trees, to the last bit, and are those of the trees."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from boosting.tables import HOLED, KINDS, ROWS, TABLE, boosted, sums
from hypothesis import given
from hypothesis import strategies as st

from tritree import (
    ColumnMatchWarning,
    TrinaryBoostingClassifier,
    TrinaryBoostingRegressor,
    UngrownBranchWarning,
)
from tritree.validation import BOOSTING_STRATEGIES


def total(why: Any) -> float:
    return why.base_value + sum(why.contributions.values()) + why.rounding


def explained_sums(model: Any, explained: list[Any], rows: Any) -> Any:
    """Return what the explained sums must be, given what the model says."""
    raw = sums(model, rows)
    if raw.shape[1] == 1:
        signs = [
            -1 if why.explained_class == getattr(model, "classes_", [None])[0] else 1 for why in explained
        ]
        return raw[:, 0] * (signs if hasattr(model, "classes_") else 1)
    return raw[np.arange(len(raw)), [model.classes_.tolist().index(why.explained_class) for why in explained]]


@pytest.mark.parametrize("training", [TABLE, HOLED], ids=["complete", "missing values"])
@pytest.mark.parametrize("missing", BOOSTING_STRATEGIES)
@pytest.mark.parametrize("kind", KINDS)
def test_terms_add_up_to_the_last_bit_in_any_order(kind: str, missing: str, training: Any) -> None:
    model = boosted(kind, training, missing=missing)
    explained = model.explain(ROWS)
    for why, value in zip(explained, explained_sums(model, explained, ROWS), strict=True):
        contributions = list(why.contributions.values())
        random.Random(3).shuffle(contributions)
        assert total(why) == sum(contributions, start=why.base_value) + why.rounding == why.value == value
        assert abs(why.rounding) <= 1e-15 * (abs(why.base_value) + sum(map(abs, contributions)) + abs(value))


@pytest.mark.parametrize("loss", ["absolute_error", "quantile", "poisson", "gamma"])
def test_terms_of_every_loss_add_up(loss: str) -> None:
    model = boosted("regression", loss=loss, subsample=0.7)
    for why, predicted in zip(model.explain(ROWS), model.predict(ROWS), strict=True):
        assert total(why) == why.value
        assert why.prediction == why.predicted_value == predicted
        # half the variance is added to a logarithm
        adjusted = np.exp(why.value + why.std**2 / 2) if loss in ("poisson", "gamma") else why.value
        assert adjusted == (pytest.approx(predicted, rel=1e-14) if why.std else predicted)


@given(
    powers=st.lists(st.integers(-250, 250), min_size=4, max_size=4),
    seed=st.integers(0, 10),
    max_iter=st.sampled_from([1, 7, 60]),
)
def test_terms_add_up_whatever_the_numbers(powers: list[int], seed: int, max_iter: int) -> None:
    generator = np.random.default_rng(seed)
    X = generator.integers(0, 4, size=(80, 3)).astype(float)
    y = generator.normal(size=80) * 10.0 ** np.array(powers)[X[:, 0].astype(int)]
    model = TrinaryBoostingRegressor(
        max_iter=max_iter, max_depth=3, min_samples_leaf=2, learning_rate=0.4, random_state=0
    )
    if not 1e-100 <= np.abs(y).max() <= 1e100:
        with pytest.raises(ValueError, match="give it in another unit"):
            model.fit(X, y)
        y /= np.abs(y).max()
    model.fit(X, y)
    rows = np.where(generator.random(X.shape) < 0.3, np.nan, X)
    for why, predicted in zip(model.explain(rows), model.predict(rows), strict=True):
        assert total(why) == predicted


@pytest.mark.parametrize("training", [TABLE, HOLED], ids=["complete", "missing values"])
@pytest.mark.parametrize("missing", BOOSTING_STRATEGIES)
def test_contributions_are_those_of_the_trees_one_by_one(missing: str, training: Any) -> None:
    model = boosted("regression", training, missing=missing)
    explained = model.explain(ROWS)
    expected: list[dict[str, float]] = [{} for _ in explained]
    starts = model._model.core.baseline[0]
    for number in range(model.n_iter_):
        tree = model.estimators_.flat[number]
        starts += tree.to_dict()["nodes"][0]["value"][0]
        for found, of_tree in zip(expected, tree.explain(ROWS), strict=True):
            for column, contribution in of_tree.contributions.items():
                found[column] = found.get(column, 0.0) + contribution[0]
    for why, found in zip(explained, expected, strict=True):
        assert why.contributions == pytest.approx(found, abs=1e-12)
        assert why.base_value == pytest.approx(starts, abs=1e-12)


def test_start_is_the_same_for_every_row() -> None:
    model = boosted("regression")
    assert len({why.base_value for why in model.explain(ROWS)}) == 1


@pytest.mark.parametrize("kind", KINDS[1:])
def test_class_of_interest_is_explained_for_every_row(kind: str) -> None:
    model = boosted(kind)
    probabilities = model.predict_proba(ROWS)
    for number, label in enumerate(model.classes_.tolist()):
        explained = model.explain(ROWS, class_of_interest=label)
        assert {why.explained_class for why in explained} == {label}
        assert [why.predicted_value for why in explained] == probabilities[:, number].tolist()
        assert [why.prediction for why in explained] == model.predict(ROWS).tolist()
        np.testing.assert_array_equal(
            [total(why) for why in explained], explained_sums(model, explained, ROWS)
        )


def test_predicted_class_is_explained_unless_another_is_asked_for() -> None:
    model = boosted("three classes")
    assert [why.explained_class for why in model.explain(ROWS)] == model.predict(ROWS).tolist()


def test_unknown_class_of_interest_is_refused() -> None:
    with pytest.raises(ValueError, match=r"class_of_interest must be one of \['high', 'low'\], got 'x'"):
        boosted("two classes").explain(ROWS, class_of_interest="x")
    with pytest.raises(ValueError, match="class_of_interest is for classifiers"):
        boosted("regression").explain(ROWS, class_of_interest="x")


# ------------------------------------------------------------------------------------------------------ in words


def test_missing_columns_are_named() -> None:
    model = boosted("regression", max_iter=40, max_depth=4)
    row = TABLE.head(1).assign(number=np.nan, city="Nowhere")
    [why] = model.explain(row)
    assert why.states["number"] == "missing"
    assert why.states["city"] == "not seen in training"
    assert list(why.missing_contributions) == ["number"]
    assert "number is missing" in str(why)
    assert "city = Nowhere, not seen in training" in str(why)


def test_absent_column_is_named() -> None:
    with pytest.warns(ColumnMatchWarning):
        [why] = boosted("regression").explain(TABLE.head(1).drop(columns="number"))
    assert why.states["number"] == "column absent"
    assert "number, column absent" in str(why)


def test_third_branch_of_a_column_is_its_contribution_and_what_takes_over_has_its_own() -> None:
    X = np.column_stack([np.arange(100.0), np.arange(100) // 10])
    model = TrinaryBoostingRegressor(max_depth=1, l2_regularization=0.0, max_features=1.0).fit(
        X, X[:, 0] >= 35
    )
    [why] = model.explain([[np.nan, 9.0]])
    assert list(why.contributions) == ["x0", "x1"]
    assert why.contributions["x1"] == pytest.approx(0.35, abs=1e-4)
    assert why.n_trees_used == {"x0": 100, "x1": 100}


def test_headline_says_what_is_predicted_and_the_summary_what_the_sum_means() -> None:
    [why] = boosted("two classes").explain(TABLE.head(1))
    lines = str(why).splitlines()
    assert lines[0] == f"predicts {why.prediction}, {why.predicted_value:.1%}"
    assert lines[-1].startswith("f(x) = ")
    assert lines[-1].endswith(f", the log-odds of {why.explained_class}: {why.predicted_value:.1%}")
    [why] = boosted("regression", loss="poisson").explain(TABLE.head(1))
    assert ", the logarithm of the prediction: " in str(why).splitlines()[-1]


def test_many_columns_are_summed_up() -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 40))
    model = TrinaryBoostingRegressor(max_iter=60, min_samples_leaf=3).fit(X, X.sum(axis=1))
    [why] = model.explain(X[:1])
    assert len(why.contributions) > 25
    more = f"{len(why.contributions) - 20} more columns"
    assert more in str(why)
    assert str(why).count("\n") < 30


def test_user_text_is_escaped_in_a_notebook() -> None:
    table = TABLE.rename(columns={"number": "<b>number</b>"})
    [why] = boosted("regression", table).explain(table.head(1))
    assert "<b>number" not in why._repr_html_()
    assert "&lt;b&gt;number&lt;/b&gt; = " in why._repr_html_()


def test_plain_data_survives_json() -> None:
    for why in boosted("two classes").explain(ROWS.head(5)):
        data = json.loads(json.dumps(why.to_dict(), allow_nan=False))
        assert data["contributions"] == why.contributions
        assert set(data["states"]) == set(data["values"]) == set(data["contributions"])


def test_plot_ends_at_the_sum() -> None:
    pytest.importorskip("matplotlib")
    [why] = boosted("two classes").explain(TABLE.head(1))
    ax = why.plot()
    shown = [label.get_text() for label in ax.get_yticklabels()]
    assert (shown[0], shown[-1]) == ("base value", "f(x)")
    assert len(shown) == 2 + sum(value != 0 for value in why.contributions.values())
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(why.value - why.base_value)
    assert ax.get_xlabel() == why.value_name


# ------------------------------------------------------------------------------------------------------ the edges


def test_branches_that_are_not_grown_still_add_up() -> None:
    model = boosted("regression").detach()
    with pytest.warns(UngrownBranchWarning):
        explained = model.explain(ROWS)
    assert [total(why) for why in explained] == model.predict(ROWS).tolist()
    nothing = TABLE.head(1).mask(np.ones((1, TABLE.shape[1]), dtype=bool))
    [why] = model.explain(nothing)
    assert all(state == "missing" for state in why.states.values())
    assert total(why) == model.predict(nothing)[0]


@pytest.mark.filterwarnings("ignore::tritree.UngrownBranchWarning")
def test_explaining_counts_rows_at_ungrown_branches_as_predict_does() -> None:
    explaining, predicting = boosted("regression").detach(), boosted("regression").detach()
    explaining.explain(ROWS)
    predicting.predict(ROWS)
    assert explaining.n_ungrown_hits_ == predicting.n_ungrown_hits_ > 0


def test_trees_without_splits_have_nothing_to_explain() -> None:
    model = TrinaryBoostingRegressor(max_iter=3).fit(np.zeros((50, 2)), np.arange(50.0))
    [why] = model.explain([[1.0, np.nan]])
    assert why.contributions == {}
    assert total(why) == why.base_value + why.rounding == model.predict([[1.0, np.nan]])[0]


def test_explaining_changes_no_prediction() -> None:
    model, other = boosted("three classes"), boosted("three classes")
    model.explain(ROWS)
    np.testing.assert_array_equal(model.predict_proba(ROWS), other.predict_proba(ROWS))


def test_classes_may_be_numbers() -> None:
    X = np.arange(90.0)[:, None]
    model = TrinaryBoostingClassifier(max_iter=5, min_samples_leaf=5).fit(X, X[:, 0] // 30)
    [why] = model.explain([[80.0]])
    assert why.explained_class == 2.0
    assert str(why).startswith("predicts 2.0, ")
