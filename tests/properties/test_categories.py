"""Up to ten categories in a node, a split is the best of all admissible partitions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor

STRATEGIES = ("majority", "mia", "trinary")


def sides(missing: str, left: NDArray[Any], right: NDArray[Any], absent: NDArray[Any]) -> Iterator[Any]:
    """Yield the rows on both sides of a partition, for each side that missing rows may join."""
    if missing == "trinary":
        yield left, right
    elif missing == "mia":
        yield left | absent, right
        yield left, right | absent
    elif left.sum() > right.sum():
        yield left | absent, right
    else:
        yield left, right | absent


def best_gain(missing: str, x: NDArray[Any], y: NDArray[Any], min_samples_leaf: int) -> float:
    """Return the best gain of all admissible partitions, by trying each of them."""
    absent = np.isnan(x)
    seen = np.unique(x[~absent])
    # the first category goes left; but if the order of means separates the sets, the lower ones go left (which side is
    # which matters to missing rows if both are equally large)
    subsets = [(seen[0], *more) for n in range(len(seen) - 1) for more in itertools.combinations(seen[1:], n)]
    by_mean = sorted(seen, key=lambda category: y[x == category].mean())
    best = 0.0
    for chosen in [*subsets, *(by_mean[:n] for n in range(1, len(seen)))]:
        is_left = np.isin(x, chosen)
        for both in sides(missing, is_left, ~is_left & ~absent, absent):
            if min(side.sum() for side in both) >= min_samples_leaf:
                best = max(best, sum(side.sum() * (y[side].mean() - y.mean()) ** 2 for side in both))
    return best


def gain_of(tree: Any, y: NDArray[Any]) -> float:
    """Return the gain of the root's split."""
    if tree.column[0] < 0:
        return 0.0
    children = [int(tree.left[0]), int(tree.right[0])]
    return float(sum(tree.rows[child] * (tree.value[child, -1] - y.mean()) ** 2 for child in children))


@st.composite
def columns(draw: st.DrawFn) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a column of a few categories of very different frequencies, some cells missing, and a target."""
    n_categories = draw(st.integers(2, 6))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    frequencies = random.integers(1, 8, size=n_categories)
    x = np.repeat(np.arange(n_categories, dtype=float), frequencies)
    y = random.normal(size=n_categories)[x.astype(int)] * 3 + random.normal(size=len(x)) * 0.1
    x[random.random(len(x)) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    return x, y


@pytest.mark.parametrize("missing", STRATEGIES)
@given(data=columns(), min_samples_leaf=st.integers(1, 6))
def test_regression_split_is_the_best_admissible_partition(
    missing: str, data: tuple[NDArray[Any], NDArray[Any]], min_samples_leaf: int
) -> None:
    x, y = data
    if np.isnan(x).all():
        return
    model = TrinaryTreeRegressor(
        missing=missing,
        max_depth=1,
        min_samples_leaf=min_samples_leaf,
        split_on_missing=False,
        categorical_features=[0],
    ).fit(x[:, None], y)
    expected = best_gain(missing, x, y, min_samples_leaf) if len(x) > min_samples_leaf else 0.0
    assert gain_of(model.tree_, y) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("missing", STRATEGIES)
@given(data=columns(), min_samples_leaf=st.integers(1, 6))
def test_split_of_two_classes_is_the_best_admissible_partition(
    missing: str, data: tuple[NDArray[Any], NDArray[Any]], min_samples_leaf: int
) -> None:
    x, signal = data
    y = (signal > np.median(signal)).astype(int)
    if np.isnan(x).all() or len(set(y)) < 2:
        return
    model = TrinaryTreeClassifier(
        missing=missing,
        criterion="gini",
        max_depth=1,
        min_samples_leaf=min_samples_leaf,
        split_on_missing=False,
        categorical_features=[0],
    ).fit(x[:, None], y)
    expected = best_gain(missing, x, y.astype(float), min_samples_leaf) if len(x) > min_samples_leaf else 0.0
    assert gain_of(model.tree_, y) == pytest.approx(expected, rel=1e-9, abs=1e-9)
