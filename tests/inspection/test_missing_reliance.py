"""What is counted as passing through missing branches is what passes there, row by row."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pytest
from models import STRATEGIES, TASKS, WITH_THIRD_BRANCHES, estimator, simulated, with_missing

from tritree import TrinaryTreeRegressor, UngrownBranchWarning
from tritree.inspection import contributions

pd = pytest.importorskip("pandas")

N = 500
LETTERS = [f"{a}{b}" for a in "abcdefghij" for b in "012345678"]  # more than a word of a set holds


def drawn(n_rows: int, missing_rate: float, seed: int, *, more: bool = False) -> Any:
    """A table with columns of every kind; ``more`` brings categories that training does not have."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "number": rng.normal(size=n_rows),
            "single": rng.normal(size=n_rows).astype("float32"),
            "city": rng.choice(["Rome", "Oslo", "Bern", *(["Nowhere"] if more else [])], n_rows),
            "letter": rng.choice([*LETTERS, *(["zz"] if more else [])], n_rows),
            "size": pd.Categorical.from_codes(rng.integers(0, 3, n_rows), ["S", "M", "L"], ordered=True),
            "flag": rng.integers(0, 2, n_rows) > (-1 if more else 0),
        }
    )
    return table.mask(rng.random(table.shape) < missing_rate)


def target(table: Any, task: str) -> Any:
    """A target that depends on every column, and on whether some are missing."""
    y = (
        2 * table["number"].fillna(1).to_numpy()
        + table["single"].fillna(-1).to_numpy()
        + 2 * (table["city"] == "Rome")
        + 3 * table["city"].isna()
        + table["letter"].str[0].isin(list("aceg"))
        + table["size"].cat.codes
        + 2 * (table["flag"] == True)  # noqa: E712
    ).to_numpy()
    return y if task == "regression" else np.array(["low", "middle", "top"])[np.digitize(y, [1.5, 4])]


def fitted(task: str, missing: str, missing_rate: float = 0.15, **parameters: Any) -> Any:
    table = drawn(N, missing_rate, seed=1)
    parameters = {"max_depth": 4, "min_samples_leaf": 15} | parameters
    return estimator(task, missing=missing, **parameters).fit(table, target(table, task))


ROWS = drawn(100, 0.3, seed=2, more=True)


def lacks(step: Any) -> bool:
    """Whether a step was taken without a usable value."""
    return step.state in ("missing", "column absent") or "not seen" in step.reason


def reference(model: Any, rows: Any) -> Any:
    """The same from explanations, step by step: the slow reference."""
    columns = [column["name"] for column in model.to_dict()["columns"]]
    total = np.zeros(len(columns))
    explained = model.explain(rows)
    for why in explained:
        above = {step.to: step for step in why.path if step.to is not None}
        for node in {step.node for step in why.path}:
            out = [step for step in why.path if step.node == node]
            if not lacks(out[0]) or _met_before(out[0], above):
                continue
            total[columns.index(out[0].column)] += sum(step.fraction for step in out)
    return total / len(explained)


def _met_before(step: Any, above: Any) -> bool:
    column, step = step.column, above.get(step.node)
    while step is not None:
        if step.column == column and lacks(step):
            return True
        step = above.get(step.node)
    return False


@pytest.mark.parametrize("missing_rate", [0.0, 0.15], ids=["complete", "missing values"])
@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("task", TASKS)
def test_agrees_with_the_explanations(task: str, missing: str, missing_rate: float) -> None:
    model = fitted(task, missing, missing_rate)
    found = model.missing_reliance(ROWS)
    assert found.shape == (model.n_features_in_,)
    np.testing.assert_allclose(found, reference(model, ROWS), rtol=0, atol=1e-12)
    assert found.max() > 0.1


@pytest.mark.parametrize("missing", STRATEGIES)
def test_agrees_where_a_column_is_absent(missing: str) -> None:
    model = fitted("regression", missing)
    rows = ROWS.drop(columns=["number", "city"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(model.missing_reliance(rows), reference(model, rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("missing", WITH_THIRD_BRANCHES)
def test_rows_of_a_detached_tree_count_where_they_end(missing: str) -> None:
    model = fitted("regression", missing, missing_rate=0.0)
    model.predict(ROWS.head(5))
    model.detach()
    with pytest.warns(UngrownBranchWarning):
        found = model.missing_reliance(ROWS)
    np.testing.assert_allclose(found, reference(model, ROWS), rtol=0, atol=1e-12)
    assert found.sum() > 0


@pytest.mark.parametrize("missing", STRATEGIES)
def test_missing_against_observed_takes_an_unseen_category_for_observed(missing: str) -> None:
    table = pd.DataFrame({"city": [None] * 60 + ["Rome", "Oslo"] * 30})
    model = TrinaryTreeRegressor(missing=missing, max_depth=1).fit(table, np.arange(120) < 60)
    rows = pd.DataFrame({"city": ["Nowhere", None, "Rome", "Oslo"]})
    expected = 0.25 if "mia" in missing else reference(model, rows)[0]
    assert model.missing_reliance(rows).tolist() == [expected]


def test_part_that_comes_to_a_column_twice_counts_once() -> None:
    X = np.arange(400.0)[:, None]
    for missing in STRATEGIES:
        model = TrinaryTreeRegressor(missing=missing, max_depth=4).fit(X, X[:, 0])
        assert model.missing_reliance([[np.nan], [1.0]]).tolist() == [0.5]


def test_fractional_counts_the_parts_that_get_there() -> None:
    first = np.repeat([0.0, 1.0], [100, 300])
    second = np.tile([0.0, 1.0], 200)
    model = TrinaryTreeRegressor(missing="fractional", max_depth=2).fit(
        np.column_stack([first, second]), 10 * first + first * second
    )
    # a quarter of a row without the first column goes left, where nothing is split
    np.testing.assert_allclose(model.missing_reliance([[np.nan, np.nan]]), [1.0, 0.75])


@pytest.mark.parametrize("missing", STRATEGIES)
def test_complete_rows_rely_on_nothing(missing: str) -> None:
    X, y = simulated(300, 4)
    assert estimator("regression", missing=missing).fit(X, y).missing_reliance(X).tolist() == [0.0] * 4


def test_single_leaf_relies_on_nothing() -> None:
    model = TrinaryTreeRegressor().fit([[1.0, 2.0], [2.0, 3.0]], [3.0, 5.0])
    assert model.missing_reliance([[np.nan, np.nan]]).tolist() == [0.0, 0.0]


def test_what_rows_need_is_grown_as_by_predicting() -> None:
    X, y = simulated(300, 4)
    rows = with_missing(X[:50])
    relied, predicted = (TrinaryTreeRegressor(max_depth=2).fit(X, y) for _ in range(2))
    relied.missing_reliance(rows)
    predicted.predict(rows)
    assert relied.n_nodes_ == predicted.n_nodes_


@pytest.mark.parametrize("missing", STRATEGIES)
def test_rows_may_be_traversed_in_any_number_at_once(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted("regression", missing)
    together = model.missing_reliance(ROWS)
    monkeypatch.setattr(contributions, "_MAX_MARKS", 100)
    np.testing.assert_allclose(model.missing_reliance(ROWS), together, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["rows first", "columns first", "float32", "list", "polars"])
def test_any_table_gives_the_same(kind: str) -> None:
    X, y = simulated(300, 4)
    model = TrinaryTreeRegressor(max_depth=3).fit(X, y)
    rows = with_missing(np.round(X, 2)).astype("float32").astype(float)
    expected = model.missing_reliance(rows)
    if kind == "polars":
        table = pytest.importorskip("polars").DataFrame(rows, schema=[str(i) for i in range(4)])
    else:
        table = {
            "rows first": np.ascontiguousarray(rows),
            "columns first": np.asfortranarray(rows),
            "float32": rows.astype("float32"),
            "list": rows.tolist(),
        }[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(model.missing_reliance(table), expected)


def test_infinite_value_is_refused_by_name() -> None:
    model = fitted("regression", "trinary")
    with pytest.raises(ValueError, match=r"column 'number' holds inf in row 0"):
        model.missing_reliance(ROWS.assign(number=np.inf))


def test_a_hundred_thousand_rows_are_not_traversed_in_python() -> None:
    X, y = simulated(2000, 10)
    model = TrinaryTreeRegressor(max_depth=5).fit(X, y)
    rows = with_missing(np.tile(X, (50, 1)), 0.1)
    model.predict(rows)
    begin = time.perf_counter()
    model.missing_reliance(rows)
    # 0.1 s where nothing else runs; explanations of as many rows take more than a minute
    assert time.perf_counter() - begin < 5
