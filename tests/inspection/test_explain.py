"""An explanation shows the path that a row really takes, and its terms add up to the prediction."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
from models import STRATEGIES, TASKS

from tritree import ColumnError, ColumnMatchWarning, TrinaryTreeClassifier, TrinaryTreeRegressor

pd = pytest.importorskip("pandas")

N = 600
rng = np.random.default_rng(5)
TABLE = pd.DataFrame(
    {
        "number": rng.normal(size=N),
        "other": rng.normal(size=N),
        "city": rng.choice(["Rome", "Oslo", "Bern"], N),
        "size": pd.Categorical(rng.choice(["S", "M", "L"], N), ["S", "M", "L"], ordered=True),
        "code": pd.Categorical(rng.choice([3, 7, 11], N)),
    }
)
RESPONSE = (
    2 * TABLE["number"]
    + (TABLE["city"] == "Rome") * TABLE["other"]
    + TABLE["size"].cat.codes
    + 2 * (TABLE["code"] == 7)
)
INCOMPLETE = TABLE.mask(rng.random(TABLE.shape) < 0.3)
INCOMPLETE["city"] = INCOMPLETE["city"].where(rng.random(N) < 0.9, "Nowhere")


def fitted(task: str, table: Any = TABLE, **parameters: Any) -> Any:
    kind = TrinaryTreeRegressor if task == "regression" else TrinaryTreeClassifier
    labels = np.array(["low", "middle", "high"])[np.digitize(RESPONSE, [0, 2])]
    return kind(**({"max_depth": 3} | parameters)).fit(table, RESPONSE if task == "regression" else labels)


def predicted(model: Any, rows: Any) -> Any:
    return model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)[:, None]


@pytest.mark.parametrize("training", [TABLE, INCOMPLETE], ids=["complete", "missing values"])
@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("task", TASKS)
def test_terms_add_up_to_the_prediction(task: str, missing: str, training: Any) -> None:
    model = fitted(task, training, missing=missing)
    rows = INCOMPLETE.head(150)
    explained = model.explain(rows)
    expected = predicted(model, rows)
    for why, value, found in zip(explained, expected, model.predict(rows), strict=True):
        np.testing.assert_allclose(why.value, value, rtol=0, atol=1e-12)
        total = np.array(why.base_value) + np.sum([*why.contributions.values(), 0 * value], axis=0)
        np.testing.assert_allclose(total, value, rtol=0, atol=1e-12)
        assert why.prediction == found or task == "regression"


@pytest.mark.parametrize("missing", [s for s in STRATEGIES if s != "fractional"])
@pytest.mark.parametrize("task", TASKS)
def test_path_leads_from_the_root_to_the_leaf_of_the_row(task: str, missing: str) -> None:
    model = fitted(task, INCOMPLETE, missing=missing)
    rows = INCOMPLETE.head(100)
    for why, leaf in zip(model.explain(rows), model.apply(rows), strict=True):
        stops = [step.node for step in why.path] + [why.path[-1].to]
        assert stops[0] == 0
        assert stops[-1] == leaf
        assert [step.to for step in why.path] == stops[1:]


def test_fractional_row_goes_both_ways_and_all_of_it_arrives() -> None:
    model = fitted("regression", INCOMPLETE, missing="fractional")
    [why] = model.explain(pd.DataFrame({name: [None] for name in TABLE}))
    arrived = {step.to: step.fraction for step in why.path}
    inner = {step.node for step in why.path}
    assert sum(weight for node, weight in arrived.items() if node not in inner) == pytest.approx(1)
    assert "of the row" in str(why)


def test_missing_value_says_which_column_comes_next() -> None:
    [why] = fitted("regression").explain(TABLE.head(1).assign(number=np.nan))
    first, second = why.path[:2]
    assert (first.column, first.state, first.branch) == ("number", "missing", "third")
    assert first.reason == f"number is missing: third branch, then {second.column}"
    assert first.contribution == (0.0,)


def test_absent_column_and_unseen_category_are_named_as_such() -> None:
    rows = TABLE.head(1).drop(columns="number").assign(city="Nowhere", code=99)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnMatchWarning)
        [why] = fitted("regression", max_depth=4).explain(rows)
    states = {step.column: step.state for step in why.path}
    assert states["number"] == "column absent"
    assert {states.get("city"), states.get("code")} & {"not seen in training"}


def test_surrogate_that_decided_is_named_and_gets_the_term() -> None:
    table = pd.DataFrame({"main": np.arange(N, dtype=float), "mirrored": -np.arange(N, dtype=float)})
    model = TrinaryTreeRegressor(missing="surrogate", max_depth=1).fit(table, table["main"] > 300)
    [why] = model.explain(pd.DataFrame({"main": [np.nan], "mirrored": [-10.0]}))
    [step] = why.path
    assert (step.column, step.decided_by, step.branch) == ("main", "mirrored", "left")
    assert set(why.contributions) == {"mirrored"}
    assert "left by surrogate mirrored = " in step.reason


def test_branch_that_a_detached_tree_cannot_grow_is_reported() -> None:
    model = fitted("regression").detach()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        [why] = model.explain(TABLE.head(1).assign(number=np.nan))
    assert why.path[-1].to is None
    assert "not grown: the node predicts" in str(why)


def test_text_has_a_line_per_step_with_its_numbers_aligned() -> None:
    table = np.column_stack([np.arange(100.0), np.arange(100) // 10])
    model = TrinaryTreeRegressor(max_depth=1).fit(table, table[:, 0] >= 35)
    assert str(model.explain([[np.nan, 9.0]])[0]).splitlines() == [
        "predicts 1.000",
        "",
        "                                      rows   mean  contribution",
        "all rows                               100  0.650",
        "x0 is missing: third branch, then x1   100  0.650",
        "x1 = 9 ≥ 3.5                            60  1.000        +0.350",
        "",
        "base value 0.650, x1 +0.350: f(x) = 1.000",
    ]


def test_single_leaf_is_explained_by_its_root() -> None:
    [why] = TrinaryTreeRegressor().fit([[1.0], [2.0]], [3.0, 5.0]).explain([[1.0]])
    assert why.path == ()
    assert why.contributions == {}
    assert why.value == why.base_value == (4.0,)


@pytest.mark.parametrize("task", TASKS)
def test_plain_data_of_an_explanation_is_json(task: str) -> None:
    why = fitted(task).explain(INCOMPLETE.head(3))[1]
    assert json.loads(json.dumps(why.to_dict()))["path"][0]["node"] == 0


def test_names_and_values_cannot_bring_markup_into_the_page() -> None:
    evil = "<script>alert(1)</script>"
    table = pd.DataFrame({evil: [evil, "b"] * 50})
    model = TrinaryTreeRegressor(max_depth=1).fit(table, [0.0, 1.0] * 50)
    assert "<script>" not in model.explain(table.head(1))[0]._repr_html_()


def test_unknown_category_is_an_error_if_so_configured() -> None:
    model = fitted("regression", unknown_category="error")
    with pytest.raises(ColumnError, match="not seen in training"):
        model.explain(TABLE.head(1).assign(city="Nowhere"))


@pytest.mark.parametrize("task", TASKS)
def test_plot_has_a_bar_per_column_that_with_a_contribution(task: str) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    why = fitted(task).explain(INCOMPLETE.head(1))[0]
    figure, ax = plt.subplots()
    assert why.plot(ax) is ax
    best = 0 if why.classes is None else why.classes.index(why.prediction)
    assert len(ax.patches) == sum(values[best] != 0 for values in why.contributions.values())
    plt.close(figure)


def test_branch_that_was_never_grown_is_not_called_without_a_split() -> None:
    model = fitted("regression").detach()
    column = model.to_dict()["nodes"][0]["split"]["name"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        [why] = model.explain(TABLE.head(1).assign(**{column: None}))
    assert why.path[0].reason == f"{column} is missing: third branch, not grown: the node predicts"
