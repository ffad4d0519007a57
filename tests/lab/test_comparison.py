"""Methods are compared on one data set by the corrected resampled t-test."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from experiments import select, simulated

pd = pytest.importorskip("pandas")
stats = pytest.importorskip("scipy.stats")

from tritree.lab.ranks import compare_methods, compare_unchanged, losses  # noqa: E402
from tritree.lab.ranks.significance import corrected_t_test  # noqa: E402


def differences(values: Any) -> Any:
    """Return differences as a series: lines of values are seeds, columns are folds."""
    values = np.atleast_2d(values)
    index = pd.MultiIndex.from_product([range(s) for s in values.shape], names=["seed", "fold"])
    return pd.Series(values.ravel().astype(float), index=index)


def test_corrected_t_is_that_of_nadeau_and_bengio() -> None:
    d = np.random.default_rng(0).normal(1.0, size=10)
    mean, low, high, p = corrected_t_test(differences(d), np.ones(10))
    error = math.sqrt((1 / 10 + 1 / 9) * d.var(ddof=1))
    assert (mean, p) == (pytest.approx(d.mean()), pytest.approx(2 * stats.t.sf(abs(d.mean()) / error, 9)))
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 9) * error)


def test_identical_seeds_add_no_evidence() -> None:
    d = np.random.default_rng(0).normal(1.0, size=10)
    once, thrice = (
        corrected_t_test(differences(d), np.ones(10)),
        corrected_t_test(differences([d] * 3), np.ones(30)),
    )
    assert thrice == pytest.approx(once)


def test_seeds_with_new_folds_count_as_more_folds_with_the_same_training_rows() -> None:
    d = np.random.default_rng(0).normal(1.0, size=(3, 10))  # folds of different seeds have nothing in common
    _, low, high, p = corrected_t_test(differences(d), np.ones(30))
    error = math.sqrt((1 / 30 + 1 / 9) * d.var(ddof=1))
    assert p == pytest.approx(2 * stats.t.sf(abs(d.mean()) / error, 29))
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 29) * error)


@pytest.mark.parametrize("same_folds", [True, False])
def test_equally_good_methods_seldom_differ_significantly(same_folds: bool) -> None:
    rng, found = np.random.default_rng(0), 0
    for _ in range(200):  # folds share their training rows: half of the variance is common to all of them
        shared, fold = rng.normal(scale=0.3), rng.normal(size=(1 if same_folds else 3, 10))
        found += (
            corrected_t_test(differences(shared + fold + rng.normal(size=(3, 10))), np.ones(30))[3] < 0.05
        )
    assert found <= 0.05 * 200


def test_interval_holds_the_true_difference() -> None:
    table = simulated(1, rates=(0.0, 0.5), folds=10, seeds=3, slopes={"trinary": 1.0, "mia": 1.4})
    for line in compare_methods(table).table.itertuples():
        if line.method == "mia":
            base = select(losses(table), rate=0.0, method="mia", scenario=line.scenario)["loss"].mean()
            assert line.low < 0.4 * 0.5 * base < line.high
            assert line.outcome == "worse"


def test_differences_are_those_of_the_losses() -> None:
    table = simulated(1, folds=10)
    known = losses(table)
    means = known[known["rate"] > 0].groupby(["scenario", "method"])["loss"].mean()
    for line in compare_methods(table).table.itertuples():
        assert line.loss == pytest.approx(means[line.scenario, line.method])
        assert line.difference == pytest.approx(line.loss - means[line.scenario].min())


def test_worse_method_is_named_and_similar_ones_are_not_significant() -> None:
    slopes = {"majority": 3.0, "mia": 1.0, "trinary": 0.999}
    found = compare_methods(simulated(1, folds=10, slopes=slopes, noise=0.1, seed=3))
    outcome = found.table.set_index(["scenario", "method"])["outcome"]
    assert outcome["mcar", "majority"] == "worse"
    assert set(outcome["mcar"][["mia", "trinary"]]) == {"best", "not significant"}
    assert "is best, or not significantly worse than the best, in both scenarios." in found.recommendation
    assert "not significantly worse (p = " in found.conclusions[0]
    assert "majority is worse by" in found.conclusions[0]


def test_noisy_method_is_not_called_as_good() -> None:
    table = simulated(1, folds=10, slopes={"mia": 1.0, "trinary": 1.0}, scenarios=["mcar"])
    hit = (table["method"] == "trinary") & (table["fold"] == 0) & (table["rate"] > 0)
    table.loc[hit, "loss"] *= 15  # one fold with a large loss
    found = compare_methods(table)
    assert found.table["outcome"].tolist() == ["best", "not significant"]
    extra = found.table["loss"].iloc[1] / found.table["loss"].iloc[0] - 1
    assert extra > 1
    assert (
        f"trinary is not significantly worse either, with losses {extra:.0%} higher" in found.recommendation
    )
    assert "same" not in found.recommendation
    assert any("does not mean equally good" in note for note in found.notes)


def test_unchanged_table_is_compared_with_each_fold_counted_once() -> None:
    table = simulated(1, folds=10, seeds=3)
    own = {"majority": 1.0, "mia": 1.2, "trinary": 1.1}  # as if the table had missing values of its own
    at_zero = table["rate"] == 0
    table.loc[at_zero, "loss"] *= table["method"].map(own)[at_zero]
    found = compare_unchanged(table)
    assert found.table["method"].tolist() == ["majority", "trinary", "mia"]
    assert (found.table["seeds"] == 1).all()
    assert found.recommendation.startswith("Use majority: ")
    assert compare_methods(table).recommendation.startswith("Use trinary: ")
    with pytest.raises(ValueError, match="run rate 0"):
        compare_unchanged(table[~at_zero])


def test_comparison_names_the_rates_of_its_means() -> None:
    table = simulated(1, folds=5, seeds=1)
    found = compare_methods(table)
    assert found.rates == [0.1, 0.5]
    assert "to the best method, means over 10% and 50% of the cells removed" in str(found)
    assert "with 50% of the cells removed" in str(compare_methods(table[table["rate"] != 0.1]))
    assert "removed" not in str(compare_methods(table, by="rate"))
    assert "over 5 folds and 1 seed, by" in " ".join(str(found).split())


def test_methods_with_equal_losses_are_identical() -> None:
    found = compare_methods(simulated(1, slopes={"majority": 1.0, "mia": 1.0}, noise=0, scenarios=["mcar"]))
    assert found.table["outcome"].tolist() == ["best", "identical"]
    assert found.conclusions[0].endswith("mia is identical in every fold.")


def test_one_fold_is_not_tested() -> None:
    found = compare_methods(simulated(1, folds=1))
    assert set(found.table["outcome"]) == {"best", "not tested"}
    assert (
        found.recommendation == "trinary has the lowest loss, but one fold does not tell whether by chance."
    )
    assert "use at least 5 folds" in found.notes[0]


def test_infinite_loss_is_worse_without_a_test() -> None:
    table = simulated(1, scenarios=["mcar"])
    table.loc[(table["method"] == "mia") & (table["rate"] == 0.5), "loss"] = math.inf
    found = compare_methods(table)
    assert select(found.table, method="mia")["outcome"].tolist() == ["worse"]
    assert "∞" in found.conclusions[0]


def test_several_data_sets_need_a_name() -> None:
    table = simulated(2)
    with pytest.raises(ValueError, match=r"2 data sets; name one of set 0 and set 1 with dataset="):
        compare_methods(table)
    with pytest.raises(ValueError, match="no data set 'set 7'"):
        compare_methods(table, dataset="set 7")
    assert compare_methods(table, dataset="set 1").dataset == "set 1"


def test_every_rate_can_be_compared_by_itself() -> None:
    found = compare_methods(simulated(1), by="rate")
    assert sorted(set(found.table["rate"])) == [0.0, 0.1, 0.5]
    assert set(select(found.table, rate=0.0)["outcome"]) == {"best", "identical"}
