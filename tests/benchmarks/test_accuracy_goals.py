"""The goals are judged against the methods that they are about, with the data sets that miss them."""

from __future__ import annotations

import pytest
from accuracy_results import page_of, simulated

from benchmarks.accuracy.experiments import AS_IT_IS, SCENARIOS
from benchmarks.accuracy.goals import GOALS, judge
from benchmarks.accuracy.methods import CONSTANT, GRAFTED_FROM, TRITREE, TRITREE_DEFAULTS, TRITREE_FOREST
from benchmarks.accuracy.summary import summarise

LOSSES = {
    CONSTANT: 4.0,
    TRITREE: 1.0,
    TRITREE_DEFAULTS: 0.9,
    TRITREE_FOREST: 1.5,
    f"{TRITREE} (mia)": 0.5,  # of tritree, so no rival
    "LightGBM": 1.2,
    "LightGBM + mean": 1.3,
    "LightGBM (defaults)": 0.95,
    "Forest": 1.6,
    "Forest + mean": 1.55,
}
GRAFTED = dict.fromkeys(GRAFTED_FROM, 1.02) | dict.fromkeys(GRAFTED_FROM.values(), 1.2)
GOAL = {goal.name: goal for goal in GOALS}


def judged(name: str, losses=LOSSES, *, n_datasets: int = 8, changed=None):
    results = simulated(losses, n_datasets=n_datasets, groups=SCENARIOS)
    if changed is not None:
        changed(results)
    return judge(GOAL[name], summarise(results))


@pytest.mark.parametrize("name", GOAL)
def test_every_goal_is_met_if_tritree_is_ahead_everywhere(name) -> None:
    bounds = judged(name, GRAFTED | LOSSES)
    assert bounds
    assert all(bound.met for bound in bounds)


def test_the_rivals_of_a_goal_are_the_methods_of_other_libraries_in_its_family() -> None:
    assert GOAL["test only"].rivals(set(LOSSES)) == ["LightGBM", "LightGBM + mean"]
    assert GOAL["as it is, defaults against defaults"].rivals(set(LOSSES)) == ["LightGBM (defaults)"]
    assert GOAL["forests, test only"].rivals(set(LOSSES)) == ["Forest", "Forest + mean"]
    assert GOAL["forests, shift"].rivals(set(LOSSES)) == ["Forest"]


def test_the_mean_rank_is_among_the_methods_of_the_goal() -> None:
    [rank, *_] = judged("as it is, equal settings")
    assert rank.numbers == "1.00, rank 1 of 3; the best rival is LightGBM, 2.00"


@pytest.mark.parametrize(("loss", "met"), [(1.0, True), (1.25, False)])
def test_the_best_mean_rank_is_required(loss, met) -> None:
    [rank] = judged("both", LOSSES | {TRITREE: loss})
    assert rank.met == met


def test_a_data_set_on_which_a_rival_is_far_ahead_is_named_with_the_difference() -> None:
    def better_on_d2(results) -> None:
        results.loc[(results["dataset"] == "d2") & (results["method"] == "LightGBM + mean"), "loss"] *= 0.5

    [rank, behind] = judged("as it is, equal settings", changed=better_on_d2)
    assert rank.met
    assert not behind.met
    assert behind.numbers.startswith("1 of 8 miss it: d2 +53.")
    assert "to LightGBM + mean (p" in behind.numbers


@pytest.mark.parametrize(("group", "limit"), [("as it is, equal settings", 0.05), ("test only", 0.1)])
def test_the_limit_is_relative_to_the_best_rival(group, limit) -> None:
    for behind, met in ((limit - 0.01, True), (limit + 0.01, False)):
        last = judged(group, LOSSES | {"LightGBM": 1 / (1 + behind)})[-1]
        assert last.met == met, last


def test_few_data_sets_cannot_be_significant() -> None:
    def significant(n_datasets: int):
        [bound] = [
            b for b in judged("test only", n_datasets=n_datasets) if b.name.startswith("ahead of the best")
        ]
        return bound

    assert significant(8).met
    assert not significant(4).met
    assert "LightGBM," in significant(8).name


def test_being_significantly_worse_is_not_ahead() -> None:
    [_, significant, _] = judged("test only", LOSSES | {TRITREE: 1.25, "LightGBM": 1.2})
    assert not significant.met


def test_a_forest_must_win_more_data_sets_than_it_loses_against_each_rival() -> None:
    def worse_on_most(results) -> None:
        mostly = results["dataset"].isin([f"d{i}" for i in range(5)])
        results.loc[mostly & (results["method"] == "Forest + mean"), "loss"] *= 0.9

    _, ahead = judged("forests, test only", changed=worse_on_most)
    assert not ahead.met
    assert "3–5 against Forest + mean" in ahead.numbers
    assert all(bound.met for bound in judged("forests, shift", changed=worse_on_most))


def test_calibration_is_compared_on_data_sets_with_classes() -> None:
    [bound] = judged("calibration, shift", LOSSES | {"LightGBM": 0.8})
    assert not bound.met
    assert "the best rival is LightGBM, 0.008" in bound.numbers


def test_the_page_says_which_goals_are_met_missed_and_not_judged() -> None:
    losses = {name: loss for name, loss in LOSSES.items() if "efault" not in name} | {TRITREE: 1.25}
    page = page_of(simulated(losses))
    assert "- as it is, equal settings: **NO**" in page
    assert f"- forests, {AS_IT_IS}: **yes**" in page
    assert "- as it is, defaults against defaults: not judged" in page
    assert "- shift: not judged" in page


def test_the_rivals_of_a_grafted_library_are_the_library_itself_and_with_imputation() -> None:
    names = {
        "XGBoost",
        "XGBoost + mean",
        "XGBoost + iterative",
        "XGBoost + masked copies",
        "LightGBM",
        TRITREE,
    }
    own = ["XGBoost", "XGBoost + mean", "XGBoost + iterative"]
    assert GOAL["XGBoost + graft, test only"].rivals(names) == own
    assert GOAL["XGBoost + graft, as it is"].rivals(names) == own[:1]


@pytest.mark.parametrize(("n_lost", "met"), [(1, True), (2, False)])
def test_a_grafted_library_must_win_nine_of_ten_data_sets(n_lost, met) -> None:
    def worse_on_some(results) -> None:
        some = results["dataset"].isin([f"d{i}" for i in range(n_lost)])
        results.loc[some & (results["method"] == "LightGBM + mean"), "loss"] *= 0.5

    name = "LightGBM + graft, test only"
    [ahead, near] = judged(name, GRAFTED | LOSSES, n_datasets=10, changed=worse_on_some)
    assert ahead.met == met
    assert f"{10 - n_lost}–{n_lost} against LightGBM + mean" in ahead.numbers
    assert near.met


@pytest.mark.parametrize(("loss", "met"), [(0.9, True), (1.04, True), (1.06, False)])
def test_a_grafted_library_must_be_close_to_boosting(loss, met) -> None:
    losses = GRAFTED | LOSSES | {"LightGBM + graft": loss}
    [_, near] = judged("LightGBM + graft, test only", losses)
    assert near.met == met, near


def test_a_grafted_library_must_not_be_worse_where_nothing_is_removed() -> None:
    name = "LightGBM + graft, as it is"
    for loss, met in ((1.19, True), (1.21, False)):
        [behind] = judged(name, GRAFTED | LOSSES | {"LightGBM + graft": loss})
        assert behind.met == met, behind
