"""What the paper's Section 3 says as it is printed, held against trees and against sums over all tables."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritree.lab.paper.bias import expected, printed, route_probabilities, simulate
from tritree.lab.paper.bias.example import Example, every_count

pytest.importorskip("pandas")

probabilities = st.floats(0.02, 0.98)
examples = st.fixed_dictionaries({"p": probabilities, "q": probabilities, "n": st.integers(2, 40)})


@pytest.mark.parametrize("p", [0.3, 0.7])
def test_majority_with_its_cases_as_printed_is_not_what_trees_estimate(p: float) -> None:
    example = {"p": p, "q": 0.4, "n": 50, "noise": 0.5}
    sample = simulate("majority", **example, repeats=500)[["a", "b"]].to_numpy()
    error = sample.std(axis=0, ddof=1) / np.sqrt(len(sample))
    assert (abs(sample.mean(axis=0) - expected("majority", **example)) <= 4 * error).all()
    assert (abs(sample.mean(axis=0) - printed("majority", **example).estimate) > 10 * error).all()


def test_majority_with_its_cases_as_printed_joins_missing_rows_to_the_smaller_side() -> None:
    example = {
        "p": 0.3,
        "q": 0.4,
        "n": 3,
    }  # L = R = M = 1 is all there is to count where something is missing
    assert printed("majority", **example).estimate.b == pytest.approx(1)
    assert expected("majority", **example).a == pytest.approx(0)


@given(examples)
def test_lower_bound_of_majority_is_an_upper_bound(example: dict[str, Any]) -> None:
    found, bound = expected("majority", **example), printed("majority", **example).bound
    assert found.a <= bound.a + 1e-12
    assert found.b >= bound.b - 1e-12


def test_lower_bound_of_majority_is_exceeded_by_far() -> None:
    example = {"p": 0.6, "q": 0.6, "n": 10}
    assert expected("majority", **example).a < 0.9 * printed("majority", **example).bound.a


@given(examples.filter(lambda example: example["n"] <= 20))
def test_ratio_in_the_papers_proof_is_an_equality_without_the_condition(example: dict[str, Any]) -> None:
    p, q, n = example["p"], example["q"], example["n"]
    from scipy.stats import multinomial

    counts = [c for c in product(range(n + 1), repeat=2) if 0 < sum(c) <= n]
    L, M = np.array(counts, dtype=float).T
    weight = multinomial.pmf(np.stack([L, n - L - M, M], axis=1), n, [(1 - p) * (1 - q), p * (1 - q), q])
    mean = weight @ (p * M / (L + M)) / weight.sum()
    assert mean == pytest.approx(p * q / (1 - p + p * q))


def test_kappa_of_mia_as_printed_gives_a_lower_bound_that_trees_do_not_reach() -> None:
    example = {"p": 0.7, "q": 0.4, "n": 50, "noise": 0.5}
    sample = simulate("mia", **example, repeats=500)["a"]
    assert sample.mean() + 20 * sample.std() / np.sqrt(500) < printed("mia", **example).bound.a


def test_kappa_of_mia_corrected_gives_no_lower_bound_either() -> None:
    example = {"p": 0.3, "q": 0.4, "n": 50, "noise": 0.5}
    bound = route_probabilities("mia", **example)["left"] * 0.3 * 0.4 / (1 - 0.3 + 0.3 * 0.4)
    sample = simulate("mia", **example, repeats=1000)["a"]
    assert sample.mean() + 4 * sample.std() / np.sqrt(1000) < bound


def test_estimate_of_a_by_mia_can_be_too_low() -> None:
    assert expected("mia", p=0.05, q=0.1, n=40, noise=1.0).a < -0.0007


@given(examples)
def test_fractional_bias_is_pq_except_for_tables_with_an_unobserved_side(example: dict[str, Any]) -> None:
    full = Example(0.0, 1.0, **example)
    missing = sum(counts.probability @ counts.M for counts in every_count(full)) / full.n
    found = expected("fractional", **example)
    assert found == pytest.approx((full.p * missing, 1 - (1 - full.p) * missing))
    assert missing <= full.q + 1e-12
