"""The target distribution of a node is that of its rows; that of fitted nodes outlives the training rows."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import STRATEGIES, WITH_THIRD_BRANCHES, fitted, simulated, with_missing
from reference.traversal import steps

from tritree import _core, load

BINS = 16


def distribution_of(model: Any) -> tuple[Any, Any]:
    core = model._model.core
    found = core.target_distribution(0, np.arange(core.n_nodes, dtype=np.int32))
    return found["edges"], found["fractions"].reshape(core.n_nodes, -1)


def reference_fractions(model: Any, X: Any, y: Any, weight: Any, edges: Any) -> Any:
    """Return the fractions by traversal of every training row in Python; a third branch has all rows of its node."""
    nodes, cells = model.to_dict()["nodes"], model._read_cells(X).cells
    fractions_of_rows: list[Any] = [np.ones(len(y)), *(np.zeros(len(y)) for _ in nodes[1:])]
    for number, node in enumerate(nodes):
        if node["split"] is None:
            continue
        if isinstance(node["third"], int):
            fractions_of_rows[node["third"]] = fractions_of_rows[number]
        for row in np.flatnonzero(fractions_of_rows[number]):
            for branch, fraction, _, _ in steps(node["split"], cells[row]):
                if branch != "third" and isinstance(node[branch], int):
                    fractions_of_rows[node[branch]][row] = fractions_of_rows[number][row] * fraction
    inside = np.clip(y, edges[0], edges[-1])
    weights = [np.histogram(inside, edges, weights=part * weight)[0] for part in fractions_of_rows]
    return np.array([bins / max(bins.sum(), 1e-300) for bins in weights])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", STRATEGIES)
def test_fractions_are_those_of_the_rows_of_each_node(missing: str, weighted: bool) -> None:
    X, y = simulated(300, 4, missing=0.2)
    weight = np.random.default_rng(1).integers(0, 4, len(y)).astype(float) if weighted else np.ones(len(y))
    model = fitted(X, y, weight if weighted else None, missing=missing)
    model.predict(with_missing(X))  # grows third branches
    edges, fractions = distribution_of(model)
    expected = reference_fractions(model, X, y, weight, edges)
    # np.histogram may put a target on an edge into the other bin
    assert np.abs(np.cumsum(fractions - expected, axis=1)).max() < 1e-6 + 2 / 300


@pytest.mark.parametrize("missing", ["trinary", "mia", "fractional"])
@pytest.mark.parametrize("steps", [1, 2, 7, 39, 300])
@pytest.mark.parametrize("base", [0.7, -3.0, 1e-310, 1e300, 0.0])
def test_distribution_of_targets_that_differ_by_rounding_only_survives_a_pickle(
    base: float, steps: int, missing: str
) -> None:
    y = np.full(200, base)
    y[::3] += steps * np.spacing(base)
    model = fitted(np.arange(200.0)[:, None], y, missing=missing).detach()
    again = pickle.loads(pickle.dumps(model))
    edges, fractions = distribution_of(again)
    assert (np.diff(edges) >= 0).all()
    np.testing.assert_allclose(fractions.sum(axis=1), 1, rtol=1e-6)


def test_rows_without_weight_do_not_widen_the_bins() -> None:
    X, y = simulated(400, 2)
    weight = np.ones(400)
    y[:200], weight[:200] = 1e6, 0
    edges, _ = distribution_of(fitted(X, y, weight))
    assert edges[-1] < 100


@given(
    targets=st.lists(st.floats(-1e308, 1e308), min_size=2, max_size=30),
    missing=st.sampled_from(["trinary", "majority", "fractional"]),
)
def test_any_finite_targets_have_ordered_finite_bins(targets: list[float], missing: str) -> None:
    y = np.array(targets)
    X = np.arange(len(y), dtype=float)[:, None]
    edges, fractions = distribution_of(fitted(X, y, missing=missing, min_samples_leaf=1))
    assert len(edges) == BINS + 1
    assert np.isfinite(edges).all()
    assert (np.diff(edges / 2) >= 0).all()
    np.testing.assert_allclose(fractions.sum(axis=1), 1, rtol=1e-6)


def test_outliers_do_not_leave_the_other_targets_in_one_bin() -> None:
    X, y = simulated(1_000, 2)
    y[0] = 1e9
    edges, fractions = distribution_of(fitted(X, y))
    assert edges[-1] < 100
    assert fractions[0, -1] > 0
    assert (fractions[0] > 0.02).sum() > 5


def test_classes_have_no_bins() -> None:
    edges, fractions = distribution_of(fitted(*simulated(200, task="classification")))
    assert edges.size == 0
    assert fractions.size == 0


@pytest.mark.parametrize("missing", STRATEGIES)
def test_distribution_of_fitted_nodes_outlives_the_training_rows(missing: str, tmp_path: Any) -> None:
    X, y = simulated(300, 4, missing=0.2)
    model = fitted(X, y, missing=missing)
    n_fitted = model.n_nodes_
    model.predict(with_missing(X))
    edges, fractions = distribution_of(model)
    model.save(tmp_path / "m.tritree", training_rows=False)
    detached = pickle.loads(pickle.dumps(model)).detach()
    for other in (load(tmp_path / "m.tritree"), detached, pickle.loads(pickle.dumps(detached))):
        edges_after, after = distribution_of(other)
        np.testing.assert_array_equal(edges_after, edges)
        np.testing.assert_array_equal(after[:n_fitted], fractions[:n_fitted])
        assert np.isnan(after[n_fitted:]).all()
        tree = other.to_dict(distribution=True)
        assert all(node["distribution"] is None for node in tree["nodes"][n_fitted:])
    assert (model.n_nodes_ > n_fitted) == (missing in WITH_THIRD_BRANCHES)


def test_described_distributions_match_the_values_of_nodes() -> None:
    X, y = simulated(150, 3)  # too few for one of them to lie beyond the bins
    tree = fitted(X, y).to_dict(distribution=True)
    edges = np.array(tree["edges"])
    assert edges[0] <= y.min()
    assert edges[-1] >= y.max()
    middle = (edges[1:] + edges[:-1]) / 2
    for node in tree["nodes"]:
        assert abs(np.dot(node["distribution"], middle) - node["value"][0]) <= (edges[1] - edges[0]) / 2


@pytest.mark.parametrize(
    "broken",
    [
        {"edges": np.arange(5.0)},
        {"edges": np.full(BINS + 1, np.nan)},
        {"edges": np.arange(BINS + 1.0)[::-1].copy()},
        {"fractions": np.zeros(BINS + 1, np.float32)},
        {"fractions": np.zeros(BINS * 10_000, np.float32)},
        {"fractions": np.full(BINS, 2, np.float32)},
        {"fractions": np.full(BINS, np.nan, np.float32)},
    ],
    ids=["few edges", "NaN", "falling", "odd size", "many nodes", "above 1", "fraction NaN"],
)
def test_state_with_an_invalid_distribution_is_refused(broken: dict[str, Any]) -> None:
    core = fitted(*simulated(200), missing="majority")._model.core
    state = core.state(with_rows=False)
    state["distributions"] = state["distributions"] | broken
    with pytest.raises(ValueError, match=r"array|entries|bins|distribution|fraction"):
        _core.LadderModel.from_state(state)


def test_unknown_nodes_and_branches_are_refused() -> None:
    core = fitted(*simulated(200))._model.core
    for bad in (-1, core.n_nodes):
        with pytest.raises(IndexError, match="node index out of range"):
            core.target_distribution(0, np.array([bad], np.int32))
        with pytest.raises(IndexError, match="branch"):
            core.grow_branches(0, np.array([bad], np.int32), np.array([2], np.int32), 9, 1)
    with pytest.raises(IndexError, match="branch"):
        core.grow_branches(0, np.array([0], np.int32), np.array([256], np.int32), 9, 1)
