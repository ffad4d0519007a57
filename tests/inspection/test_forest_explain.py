"""The contributions of columns add up to the mean over trees, to the last bit, and are those of the trees."""

from __future__ import annotations

import json
import random
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from boosting.tables import HOLED, KINDS, ROWS, TABLE
from forest.grown import grown, predictions
from hypothesis import given
from hypothesis import strategies as st
from models import STRATEGIES

from tritree import ColumnMatchWarning, TrinaryForestClassifier, TrinaryForestRegressor, UngrownBranchWarning
from tritree.inspection.traversal import Traversal


def total(why: Any) -> float:
    return why.base_value + sum(why.contributions.values()) + why.rounding


def place_of(model: Any, why: Any) -> int:
    """Return the number of the class that is explained, 0 in regression."""
    return model.classes_.tolist().index(why.explained_class) if hasattr(model, "classes_") else 0


@pytest.mark.parametrize("training", [TABLE, HOLED], ids=["complete", "missing values"])
@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("kind", KINDS)
def test_terms_add_up_to_the_last_bit_in_any_order(kind: str, missing: str, training: Any) -> None:
    forest = grown(kind, training, missing=missing)
    for why, found in zip(forest.explain(ROWS), predictions(forest, ROWS), strict=True):
        contributions = list(why.contributions.values())
        random.Random(3).shuffle(contributions)
        assert (
            total(why)
            == sum(contributions, start=why.base_value) + why.rounding
            == found[place_of(forest, why)]
        )
        assert why.value == why.predicted_value == total(why)
        assert abs(why.rounding) <= 1e-15 * (
            abs(why.base_value) + sum(map(abs, contributions)) + abs(why.value)
        )


@given(
    powers=st.lists(st.integers(-250, 250), min_size=4, max_size=4),
    seed=st.integers(0, 10),
    missing=st.sampled_from(STRATEGIES),
)
def test_terms_add_up_whatever_the_numbers(powers: list[int], seed: int, missing: str) -> None:
    generator = np.random.default_rng(seed)
    X = generator.integers(0, 4, size=(60, 3)).astype(float)
    y = generator.normal(size=60) * 10.0 ** np.array(powers)[X[:, 0].astype(int)]
    forest = TrinaryForestRegressor(
        n_estimators=5, missing=missing, min_samples_leaf=2, random_state=0, n_jobs=1
    ).fit(np.where(generator.random(X.shape) < 0.1, np.nan, X), y)
    rows = np.where(generator.random(X.shape) < 0.3, np.nan, X)
    for why, predicted in zip(forest.explain(rows), forest.predict(rows), strict=True):
        assert total(why) == predicted


def averaged(forest: Any, number: int, rows: Any) -> tuple[list[dict[str, float]], float]:
    """Return from the trees one by one, for an output: contributions of columns, row by row, and the base value."""
    contributions: list[dict[str, float]] = [{} for _ in range(len(rows))]
    start = 0.0
    for i in range(forest.n_trees_):
        for found, why in zip(contributions, forest.estimators_[i].explain(rows), strict=True):
            for column, values in why.contributions.items():
                found[column] = found.get(column, 0.0) + values[number] / forest.n_trees_
        start += why.base_value[number] / forest.n_trees_
    return contributions, start


@pytest.mark.parametrize("training", [TABLE, HOLED], ids=["complete", "missing values"])
@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("kind", ["regression", "three classes"])
def test_contributions_are_those_of_the_trees_one_by_one(kind: str, missing: str, training: Any) -> None:
    forest, rows = grown(kind, training, missing=missing, n_estimators=4), ROWS.head(60)
    label = None if kind == "regression" else "middle"
    explained = forest.explain(rows, class_of_interest=label)
    contributions, start = averaged(forest, place_of(forest, explained[0]), rows)
    for why, expected in zip(explained, contributions, strict=True):
        # a column that was missing and had a surrogate has no contribution, and is named
        found = {column: step for column, step in why.contributions.items() if column in expected}
        assert found == pytest.approx(expected, abs=1e-12)
        assert all(why.contributions[column] == 0 for column in set(why.contributions) - set(expected))
        assert why.base_value == pytest.approx(start, abs=1e-12)


def test_rows_in_parts_may_be_traversed_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = grown("regression", HOLED, missing="fractional")
    expected = [why.contributions for why in forest.explain(ROWS)]
    blocks = Traversal.blocks
    monkeypatch.setattr(Traversal, "blocks", lambda self, n_rows: blocks(self, n_rows, max_parts=40))
    assert [why.contributions for why in forest.explain(ROWS)] == expected


def test_start_is_the_same_for_every_row() -> None:
    assert len({why.base_value for why in grown("regression", HOLED).explain(ROWS)}) == 1


def test_trees_that_asked_are_counted() -> None:
    forest = grown("regression", HOLED)
    n_used: dict[str, int] = {}
    for number in range(forest.n_trees_):
        [why] = forest.estimators_[number].explain(ROWS.head(1))
        for column in {step.column for step in why.path}:
            n_used[column] = n_used.get(column, 0) + 1
    [why] = forest.explain(ROWS.head(1))
    assert why.n_trees_used == n_used
    assert why.n_trees == forest.n_trees_


@pytest.mark.parametrize("kind", KINDS[1:])
def test_class_of_interest_is_explained_for_every_row(kind: str) -> None:
    forest = grown(kind, HOLED, class_weight="balanced")
    probabilities, predicted = forest.predict_proba(ROWS), forest.predict(ROWS).tolist()
    assert [why.explained_class for why in forest.explain(ROWS)] == predicted
    for number, label in enumerate(forest.classes_.tolist()):
        explained = forest.explain(ROWS, class_of_interest=label)
        assert {why.explained_class for why in explained} == {label}
        assert [total(why) for why in explained] == probabilities[:, number].tolist()
        assert [why.prediction for why in explained] == predicted


def test_unknown_class_of_interest_is_refused() -> None:
    with pytest.raises(ValueError, match=r"class_of_interest must be one of \['high', 'low'\], got 'x'"):
        grown("two classes").explain(ROWS, class_of_interest="x")
    with pytest.raises(ValueError, match="class_of_interest is for classifiers"):
        grown("regression").explain(ROWS, class_of_interest="x")


# ------------------------------------------------------------------------------------------------------ in words


def test_missing_absent_and_unseen_are_named() -> None:
    forest = grown("regression", n_estimators=20)
    [why] = forest.explain(TABLE.head(1).assign(number=np.nan, city="Nowhere"))
    assert list(why.missing_contributions) == ["number"]
    assert "number is missing" in str(why)
    assert "city = Nowhere, not seen in training" in str(why)
    with pytest.warns(ColumnMatchWarning):
        [why] = forest.explain(TABLE.head(1).drop(columns="number"))
    assert why.states["number"] == "column absent"
    assert "number, column absent" in str(why)


def test_surrogate_has_the_contribution_and_the_missing_column_is_named() -> None:
    x = np.random.default_rng(0).normal(size=200)
    X = pd.DataFrame({"main": x, "alike": x + 0.01})
    forest = TrinaryForestRegressor(
        n_estimators=5, missing="surrogate", max_depth=1, max_features=1.0, random_state=0
    ).fit(X, x > 0)
    lacking = forest.estimators_[0].to_dict()["nodes"][0]["split"]["name"]
    other = "alike" if lacking == "main" else "main"
    [why] = forest.explain(pd.DataFrame({"main": [2.0], "alike": [2.0]}).assign(**{lacking: np.nan}))
    assert why.missing_contributions == {lacking: 0.0}
    assert why.contributions[other] == pytest.approx(1 - why.base_value)


def test_words_are_those_of_a_mean() -> None:
    [why] = grown("regression").explain(TABLE.head(1))
    lines = str(why).splitlines()
    assert lines[0].removeprefix("predicts ") == lines[-1].removeprefix("f(x) = ").removesuffix(
        ", the mean over trees"
    )
    [why] = grown("two classes").explain(TABLE.head(1))
    lines = str(why).splitlines()
    assert lines[0] == f"predicts {why.prediction}, {why.predicted_value:.1%}"
    assert lines[3].split() == ["base", "value", "7", f"{why.base_value:.1%}"]
    assert lines[-1] == f"f(x) = {why.predicted_value:.1%}, the mean probability of {why.explained_class}"
    assert "<table>" in why._repr_html_()


def test_plain_data_survives_json() -> None:
    for why in grown("two classes").explain(ROWS.head(5)):
        data = json.loads(json.dumps(why.to_dict(), allow_nan=False))
        assert (data["contributions"], data["aggregation"]) == (why.contributions, "mean")


def test_plot_ends_at_the_mean() -> None:
    pytest.importorskip("matplotlib")
    [why] = grown("two classes").explain(TABLE.head(1))
    ax = why.plot()
    shown = [label.get_text() for label in ax.get_yticklabels()]
    assert (shown[0], shown[-1]) == ("base value", "f(x)")
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(why.value - why.base_value)
    assert ax.get_xlabel() == f"the mean probability of {why.explained_class}"


# ------------------------------------------------------------------------------------------------------ the edges


@pytest.mark.parametrize("missing", ["trinary", "trinary_mia"])
def test_branches_that_are_not_grown_still_add_up(missing: str) -> None:
    for forest in (
        grown("regression", HOLED, missing=missing).detach(),
        grown("regression", HOLED, missing=missing, max_third_nodes=9),
    ):
        with pytest.warns(UngrownBranchWarning):
            explained = forest.explain(ROWS)
        assert [total(why) for why in explained] == forest.predict(ROWS).tolist()


def test_detached_forest_explains_what_it_has_grown_for() -> None:
    expected = [str(why) for why in grown("regression", HOLED).explain(ROWS)]
    forest = grown("regression", HOLED).grow_for(ROWS).detach()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [str(why) for why in forest.explain(ROWS)] == expected


def test_trees_without_splits_have_nothing_to_explain() -> None:
    forest = TrinaryForestRegressor(n_estimators=3).fit(np.zeros((50, 2)), np.arange(50.0))
    [why] = forest.explain([[1.0, np.nan]])
    assert why.contributions == {}
    assert total(why) == why.base_value + why.rounding == forest.predict([[1.0, np.nan]])[0]


def test_explaining_changes_no_prediction() -> None:
    forest, other = grown("three classes"), grown("three classes")
    forest.explain(ROWS)
    np.testing.assert_array_equal(forest.predict_proba(ROWS), other.predict_proba(ROWS))


def test_infinite_value_is_named() -> None:
    with pytest.raises(ValueError, match="number"):
        grown("regression").explain(TABLE.head(1).assign(number=np.inf))


def test_classes_may_be_numbers() -> None:
    X = np.arange(90.0)[:, None]
    forest = TrinaryForestClassifier(n_estimators=5, random_state=0).fit(X, X[:, 0] // 30)
    [why] = forest.explain([[80.0]])
    assert (why.explained_class, str(why).splitlines()[0]) == (2.0, "predicts 2.0, 100.0%")
