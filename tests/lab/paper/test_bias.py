"""What stumps estimate in the example of the paper's Section 3: formulas, enumerated tables and fitted trees agree."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritree import TrinaryTreeRegressor
from tritree.lab.paper.bias import STRATEGIES, expected, limits, route_probabilities, simulate
from tritree.lab.paper.bias.example import Counts, Example, every_count
from tritree.lab.paper.bias.routing import LEFT, RIGHT, ROUTES, THIRD, route_moments
from tritree.lab.paper.bias.simulation import _leaf_values

pd = pytest.importorskip("pandas")

Floats = Any

UP, DOWN = (0.0, 1.0), (2.0, -1.0)
P_AND_Q = [(0.3, 0.4), (0.5, 0.5), (0.6, 0.8)]
EXAMPLES = [
    {"p": 0.3, "q": 0.4, "n": 50, "noise": 0.5},
    {"p": 0.6, "q": 0.6, "n": 30, "noise": 0.3},
    {"p": 0.5, "q": 0.3, "n": 12, "noise": 1.0},
    {"p": 0.2, "q": 0.7, "n": 40, "noise": 0.0},
    {"p": 0.5, "q": 0.5, "n": 8, "noise": 0.0},
    {"a": 3.0, "b": -1.0, "p": 0.45, "q": 0.5, "n": 20, "noise": 2.0},
]
REPEATS = 1200

probabilities = st.floats(0.02, 0.98)
examples = st.fixed_dictionaries({"p": probabilities, "q": probabilities, "n": st.integers(2, 40)})


def stump(strategy: str, X: Floats, y: Floats) -> TrinaryTreeRegressor:
    return TrinaryTreeRegressor(missing=strategy, max_depth=1, min_samples_leaf=1, n_jobs=1).fit(X, y)


def truth(example: dict[str, Any]) -> tuple[float, float]:
    return example.get("a", 0.0), example.get("b", 1.0)


# ------------------------------------------------------------------------------------- formulas and enumerated tables


@cache
def every_table(strategy: str, a: float, b: float, n: int) -> tuple[Floats, Floats, Floats]:
    """Return the estimates of trees fitted to all tables of n rows with both sides seen, and where rows belong."""
    found, rights, masks = [], [], []
    for rows in product([(right, missing) for right in (0, 1) for missing in (0, 1)], repeat=n):
        right, missing = (np.array(v, dtype=bool) for v in zip(*rows, strict=True))
        if right[~missing].any() and (~right[~missing]).any():
            X = np.where(missing, np.nan, right)[:, None]
            found.append(stump(strategy, X, np.where(right, b, a)).predict([[0.0], [1.0]]))
            rights.append(right)
            masks.append(missing)
    return np.array(found), np.array(rights), np.array(masks)


@pytest.mark.parametrize(("sides", "n"), [(UP, 2), (UP, 3), (UP, 4), (UP, 5), (DOWN, 4)])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_expectation_is_that_over_trees_of_all_tables(strategy: str, sides: Any, n: int) -> None:
    found, right, missing = every_table(strategy, *sides, n)
    for p, q in P_AND_Q:
        weight = np.prod(np.where(right, p, 1 - p) * np.where(missing, q, 1 - q), axis=1)
        by_hand = weight @ found / weight.sum()
        assert expected(strategy, a=sides[0], b=sides[1], p=p, q=q, n=n) == pytest.approx(by_hand, abs=1e-12)


def drawn_means(L: int, R: int, M: int, k: int, example: Example) -> tuple[Floats, Floats, Floats]:
    """Return simulated means of the targets observed left, observed right and missing."""
    rng = np.random.default_rng(0)
    middle = ((M - k) * example.a + k * example.b) / M
    centres = np.array([example.a, example.b, middle])[:, None]
    spread = example.noise / np.sqrt([L, R, M])[:, None]
    return tuple(centres + spread * rng.standard_normal((3, 400_000)))


def losses(means: Any, L: int, R: int, M: int) -> dict[int, Floats]:
    """Return by route the loss of a tree above that within the three groups, by definition."""
    left, right, missing = means

    def apart(*groups: tuple[int, Floats]) -> Floats:
        centre = sum(n * mean for n, mean in groups) / sum(n for n, _ in groups)
        return sum(n * (mean - centre) ** 2 for n, mean in groups)

    whole = (L * left + R * right + M * missing) / (L + R + M)
    return {
        LEFT: apart((L, left), (M, missing)),
        THIRD: M * (missing - whole) ** 2,
        RIGHT: apart((R, right), (M, missing)),
        ROUTES.index("alone"): apart((L, left), (R, right)),
    }


@pytest.mark.parametrize("strategy", ["mia", "trinary_mia"])
@pytest.mark.parametrize("counts", [(5, 3, 4), (1, 9, 2), (7, 1, 30), (4, 4, 1)])
@pytest.mark.parametrize("noise", [0.2, 1.0, 5.0])
def test_integrals_over_the_noise_agree_with_drawn_means(strategy: str, counts: Any, noise: float) -> None:
    L, R, M = counts
    example = Example(
        0.0, 1.0, 1e-12, 0.5, sum(counts), noise
    )  # with so small a p no missing row belongs right
    means = drawn_means(L, R, M, 0, example)
    compared = losses(means, L, R, M)
    if strategy == "mia":
        del compared[THIRD]
    chosen = np.array(list(compared))[np.argmin(list(compared.values()), axis=0)]
    x = means[0] - means[1]
    z = means[2] - (L * means[0] + R * means[1]) / (L + R)
    one = Counts(*(np.array([float(v)]) for v in (*counts, 1.0)))
    moments = route_moments(strategy, one, example)[:, :, 0]
    for route in (LEFT, THIRD, RIGHT):
        taken = chosen == route
        for value, sample in zip(moments[route], (taken, taken * x, taken * z), strict=True):
            assert abs(value - sample.mean()) <= 4.5 * sample.std() / np.sqrt(len(x)) + 1e-4  # rare routes
    assert moments[:, 0].sum() == pytest.approx(1)


@given(examples)
def test_probabilities_of_all_counts_sum_to_one(example: dict[str, Any]) -> None:
    blocks = list(every_count(Example(0.0, 1.0, **example)))
    assert sum(counts.probability.sum() for counts in blocks) == pytest.approx(1)
    assert all((counts.L + counts.R + counts.M == example["n"]).all() for counts in blocks)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(example=examples, noise=st.sampled_from([0.0, 0.5]), shift=st.floats(-9, 9), scale=st.floats(0.1, 9))
def test_expectations_follow_shift_and_scale(
    strategy: str, example: dict[str, Any], noise: float, shift: float, scale: float
) -> None:
    plain = np.array(expected(strategy, **example, noise=noise))
    moved = expected(strategy, a=shift, b=shift + scale, **example, noise=scale * noise)
    assert moved == pytest.approx(shift + scale * plain, abs=1e-8)


@pytest.mark.parametrize("strategy", ["mia", "trinary_mia", "fractional", "surrogate"])
@given(example=examples)
def test_left_and_right_can_be_exchanged(strategy: str, example: dict[str, Any]) -> None:
    plain = expected(strategy, **example, noise=0.5)
    mirrored = expected(strategy, **(example | {"p": 1 - example["p"]}), a=1.0, b=0.0, noise=0.5)
    assert mirrored[::-1] == pytest.approx(plain, abs=1e-8)


# -------------------------------------------------------------------------------------------- formulas and fitted trees


@cache
def estimates(number: int) -> Any:
    """Return simulated estimates for one of the examples."""
    return simulate(**EXAMPLES[number], repeats=REPEATS, seed=number)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_fitted_trees_estimate_what_is_expected(strategy: str, number: int) -> None:
    found = estimates(number)
    sample = found.loc[found["strategy"] == strategy, ["a", "b"]].to_numpy()
    error = sample.std(axis=0, ddof=1) / np.sqrt(REPEATS)
    assert (abs(sample.mean(axis=0) - expected(strategy, **EXAMPLES[number])) <= 4 * error + 1e-9).all()


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_trinary_estimates_are_unbiased(number: int) -> None:
    found = estimates(number)
    sample = found.loc[found["strategy"] == "trinary", ["a", "b"]].to_numpy()
    error = sample.std(axis=0, ddof=1) / np.sqrt(REPEATS)
    assert (abs(sample.mean(axis=0) - truth(EXAMPLES[number])) <= 4 * error + 1e-9).all()


@given(examples, st.sampled_from([0.0, 0.5]))
def test_expectation_of_trinary_is_unbiased(example: dict[str, Any], noise: float) -> None:
    assert expected("trinary", **example, noise=noise) == pytest.approx((0, 1), abs=1e-12)


@pytest.mark.parametrize("strategy", ["mia", "trinary_mia"])
def test_missing_rows_take_each_route_as_often_as_expected(strategy: str) -> None:
    rng = np.random.default_rng(3)
    p, q, n, noise, tables = 0.4, 0.5, 10, 1.0, 3000
    counted = dict.fromkeys(ROUTES, 0)
    seen = 0
    for _ in range(tables):
        right, missing = rng.random(n) < p, rng.random(n) < q
        if not (right[~missing].any() and (~right[~missing]).any()):
            continue
        seen += 1
        tree = stump(strategy, np.where(missing, np.nan, right)[:, None], right + rng.normal(size=n)).tree_
        if missing.any():
            alone = tree.threshold[0] == -np.inf
            counted["alone" if alone else ("left", "right", "third")[tree.missing_to[0]]] += 1
    for route, probability in route_probabilities(strategy, p=p, q=q, n=n, noise=noise).items():
        assert (
            abs(counted[route] / seen - probability)
            <= 4 * np.sqrt(probability * (1 - probability) / seen) + 1e-9
        )


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_leaf_values_of_a_tree_are_its_predictions(strategy: str) -> None:
    rng = np.random.default_rng(0)
    kinds = set()
    for _ in range(60):
        x = np.append(rng.choice([0.0, 1.0, np.nan], size=8), [0.0, 1.0])
        tree = stump(strategy, x[:, None], rng.normal(size=10))
        assert _leaf_values(tree.tree_) == tuple(tree.predict([[0.0], [1.0]]))
        kinds.add(float(tree.tree_.threshold[0]))
    assert (-np.inf in kinds) == (strategy in ("mia", "trinary_mia"))


def test_same_seed_gives_the_same_estimates_and_more_tables_begin_with_them() -> None:
    few, more = (simulate("mia", repeats=repeats) for repeats in (20, 300))
    assert few.equals(more.head(20))


def test_other_seed_gives_other_estimates() -> None:
    assert not simulate("mia", repeats=20).equals(simulate("mia", repeats=20, seed=1))


def test_all_tables_have_both_sides() -> None:
    found = simulate("trinary", p=0.1, q=0.8, n=5, repeats=200, noise=0)
    assert len(found) == 200
    assert set(found["a"]) == {0}
    assert set(found["b"]) == {1}


# ----------------------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize("strategy", ["majority", "surrogate", "fractional", "trinary"])
@pytest.mark.parametrize(("p", "q"), [(0.3, 0.4), (0.7, 0.6), (0.2, 0.9)])
def test_limit_is_the_expectation_for_many_rows(strategy: str, p: float, q: float) -> None:
    assert expected(strategy, p=p, q=q, n=5000) == pytest.approx(limits(strategy, p=p, q=q), abs=1e-9)


@pytest.mark.parametrize("strategy", ["mia", "trinary_mia"])
@pytest.mark.parametrize(("p", "q"), [(0.2, 0.4), (0.85, 0.6)])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_limit_is_approached_where_the_target_decides(
    strategy: str, p: float, q: float, noise: float
) -> None:
    limit = np.array(limits(strategy, p=p, q=q))
    off = [abs(expected(strategy, p=p, q=q, n=n, noise=noise) - limit).max() for n in (30, 90, 270)]
    assert off[2] < off[1] < off[0]
    assert off[2] < 2e-3


@pytest.mark.parametrize("strategy", ["majority", "mia", "surrogate"])
def test_limit_of_equal_sides_is_half_of_the_bias(strategy: str) -> None:
    sizes = (50, 200) if strategy == "mia" else (1000, 20_000)
    limit = np.array(limits(strategy, p=0.5, q=0.4))
    off = [abs(np.array(expected(strategy, p=0.5, q=0.4, n=n)) - limit).max() for n in sizes]
    assert off[1] < off[0] < 0.05
