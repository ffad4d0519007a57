"""The accuracy benchmark runs its design once, resumes when interrupted, and reports every library that wins."""

from __future__ import annotations

import argparse
import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from mixed_tables import mixed, target

pytest.importorskip("matplotlib")

from benchmarks.accuracy import __main__ as command
from benchmarks.accuracy import experiments as running
from benchmarks.accuracy.data import DATASETS, SKLEARN, load_dataset, load_datasets, sampled
from benchmarks.accuracy.experiments import (
    MECHANISMS,
    SCENARIOS,
    Design,
    Grid,
    Outcome,
    make_scenario,
    quick,
    run,
    split_name,
)
from benchmarks.accuracy.methods import CONSTANT, TRITREE, Hyperparameters
from benchmarks.accuracy.plots import draw
from benchmarks.accuracy.report import as_markdown, goals
from benchmarks.accuracy.summary import COMPLETE, summarise
from tritree.lab import Dataset, ampute
from tritree.lab.store import Store

TINY = Design(
    grids=(Grid(("test only", "shift"), ("mcar",), (0.5,)),),
    libraries=("HistGB",),
    treatments=("", "mean"),
    folds=2,
    parameters=Hyperparameters(max_depth=2, n_trees=3, min_samples_leaf=5),
)


def tiny_datasets() -> list[Dataset]:
    table = mixed(60).drop(columns=["no number", "no category"])
    return [
        Dataset.from_table("numbers", table.assign(y=target(table, "regression")), "y"),
        Dataset.from_table("classes", table.assign(y=target(table, "two classes")), "y"),
    ]


def simulated(losses: dict[str, float], *, n_datasets: int = 6, groups=("test only",)) -> pd.DataFrame:
    """Return results in which every method has a fixed loss, up to noise that all share."""
    rng = np.random.default_rng(0)
    lines = []
    for dataset, group, how, rate, fold in product(
        range(n_datasets), groups, ("mcar", "im"), (0.0, 0.1, 0.5), range(3)
    ):
        noise = 1 + 0.01 * rng.random()
        for i, (method, loss) in enumerate(losses.items()):
            lines.append(
                {"dataset": f"d{dataset}", "scenario": f"{group}: {how}", "rate": rate, "method": method, "seed": 0,
                 "fold": fold, "rows": 10, "loss": loss * (noise + 1e-4 * i * rng.random())}
            )  # fmt: skip
    return pd.DataFrame(lines).drop_duplicates(["dataset", "scenario", "rate", "method", "seed", "fold"])


LOSSES = {
    CONSTANT: 4.0,
    TRITREE: 1.0,
    f"{TRITREE} (mia)": 1.2,
    "LightGBM": 5.0,
    "LightGBM + masked copies": 1.5,
}


# Design.


def test_every_scenario_has_its_mechanism_in_the_test_data() -> None:
    for scenario, mechanism in product(SCENARIOS, MECHANISMS):
        made = make_scenario(scenario, mechanism)
        assert made.test is not None
        assert made.test.mechanism == mechanism
        assert (made.train is None) == (scenario == "test only")
        assert made.train is None or (made.train == made.test) == (scenario == "both")
        assert split_name(made.name) == (scenario, mechanism)


def test_the_full_design_has_all_scenarios_mechanisms_and_rates() -> None:
    design = Design()
    assert design.grids == (
        Grid(("test only", "both", "shift"), ("mcar", "mar", "mnar", "im"), (0.1, 0.3, 0.5)),
    )
    assert (design.parameters.max_depth, design.parameters.n_trees, design.parameters.learning_rate) == (
        4,
        150,
        0.1,
    )


def test_the_quick_design_is_part_of_the_full_one() -> None:
    assert set(quick().datasets) <= set(Design().datasets)
    assert [(p.scenarios, p.mechanisms, p.rates) for p in quick().grids] == [
        (("test only",), ("mcar",), (0.5,)),
        (("both",), ("mcar",), (0.3,)),
        (("shift",), ("mnar",), (0.3,)),
    ]


@pytest.mark.parametrize("name", SKLEARN)
def test_datasets_of_scikit_learn_need_no_file(name) -> None:
    found = load_dataset(name)
    assert found.task == ("regression" if name == "diabetes" else "classification")
    assert found.n_rows >= 100


def test_a_dataset_without_a_file_is_skipped_with_a_note(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("benchmarks.accuracy.data.DATA", tmp_path)
    found, absent = load_datasets(["iris", "horse_colic"], 0)
    assert [dataset.name for dataset in found] == ["iris"]
    assert len(absent) == 1
    assert absent[0].startswith("horse_colic was skipped")


def test_a_large_dataset_is_sampled_with_a_note() -> None:
    whole = load_dataset("diabetes")
    part = sampled(whole, 100)
    assert part.n_rows == len(part.X) == 100
    assert part.note == "100 of 442 rows, sampled at random"
    assert part.fingerprint == sampled(whole, 100).fingerprint
    assert sampled(whole, 0) is sampled(whole, 442) is whole


def test_command_line_options_change_the_design() -> None:
    def design_of(*arguments: str) -> Design:
        return command.design_from(command.make_parser().parse_args(arguments))

    assert design_of() == Design()
    assert design_of("--quick") == quick()
    changed = design_of(
        "--datasets", "iris", "--rates", "0.2", "--seeds", "2", "--folds", "5", "--depth", "3"
    )
    assert (changed.datasets, changed.seeds, changed.folds, changed.parameters.max_depth) == (
        ("iris",),
        2,
        5,
        3,
    )
    assert changed.grids == (Grid(rates=(0.2,)),)


def test_a_rate_in_percent_is_refused_with_the_fraction_meant() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"50 percent is 0\.5"):
        command._fraction("50")


# Run.


def test_every_trial_of_the_design_has_a_loss_on_the_same_rows(tmp_path) -> None:
    outcome = run(TINY, tiny_datasets(), tmp_path / "store.sqlite", jobs=1, progress=False)
    assert outcome.finished
    assert outcome.notes == []
    table = outcome.results
    n_methods = 1 + 3 + 2  # the constant, tritree's strategies, one library with two treatments
    assert len(table) == 2 * 2 * 2 * n_methods * 2  # data sets, scenarios, rates including 0, methods, folds
    assert (table.groupby(["dataset", "scenario", "rate", "fold"])["rows"].nunique() == 1).all()


def test_an_interrupted_run_resumes(tmp_path, monkeypatch) -> None:
    store, sets = tmp_path / "store.sqlite", tiny_datasets()
    real = Store.put
    kept = []

    def stopping(self, key, *rest) -> None:
        if len(kept) == 5:
            raise KeyboardInterrupt
        real(self, key, *rest)
        kept.append(key)

    monkeypatch.setattr(Store, "put", stopping)
    assert not run(TINY, sets, store, jobs=1, progress=False).finished

    def counting(self, key, *rest) -> None:
        again.append(key)
        real(self, key, *rest)

    again: list[str] = []
    monkeypatch.setattr(Store, "put", counting)
    resumed = run(TINY, sets, store, jobs=1, progress=False)
    assert resumed.finished
    assert not set(again) & set(kept)
    fresh = run(TINY, sets, None, jobs=1, progress=False)
    pd.testing.assert_series_equal(resumed.results["loss"], fresh.results["loss"])
    again.clear()
    run(TINY, sets, store, jobs=1, progress=False)
    assert again == []


def test_a_failing_method_is_named_and_the_others_still_run(monkeypatch) -> None:
    from sklearn.ensemble import HistGradientBoostingRegressor

    def failing(self, X, y):
        raise RuntimeError("no")

    monkeypatch.setattr(HistGradientBoostingRegressor, "fit", failing)
    outcome = run(TINY, tiny_datasets()[:1], None, jobs=1, progress=False)
    assert any("HistGB on numbers: 4 of 4 trials failed." in note for note in outcome.notes)
    assert TRITREE in set(outcome.results["method"])


def test_all_libraries_use_one_thread(monkeypatch) -> None:
    from threadpoolctl import threadpool_info

    seen = []

    class Watched:
        datasets = tiny_datasets()[:1]

        def run(self, *_, **__):
            seen.extend(pool["num_threads"] for pool in threadpool_info())
            raise KeyboardInterrupt

    monkeypatch.setattr(running, "experiments", lambda *_: [Watched()])
    run(TINY, tiny_datasets()[:1], None, jobs=1, progress=False)
    assert set(seen) == {1}


# Summary.


def test_relative_loss_is_to_the_constant_and_above_is_to_the_smallest() -> None:
    found = summarise(simulated(LOSSES)).ranking.set_index(["group", "method"])
    line = found.loc[("test only", "LightGBM + masked copies")]
    assert line["relative"] == pytest.approx(1.5 / 4, rel=0.01)
    assert line["above"] == pytest.approx(0.5, rel=0.01)
    assert found.loc[("test only", "LightGBM"), "worse"] == 1.0  # than the constant
    assert found.loc[("test only", TRITREE), "worse"] == 0.0


def test_mean_ranks_follow_losses_and_the_constant_has_none() -> None:
    found = summarise(simulated(LOSSES)).ranking
    part = found[found["group"] == "test only"]
    assert part["method"].tolist() == [TRITREE, f"{TRITREE} (mia)", "LightGBM + masked copies", "LightGBM"]
    assert part["mean_rank"].tolist() == [1, 2, 3, 4]
    assert CONSTANT not in set(found["method"])


def test_cases_without_removed_values_are_one_group_without_duplicates() -> None:
    found = summarise(simulated(LOSSES, groups=("test only", "both")))
    assert found.groups == ["test only", "both", COMPLETE]
    complete = found.cases[found.cases["group"] == COMPLETE]
    assert len(complete) == 6 * len(LOSSES)  # data sets; one rate, whatever the mechanism
    assert set(found.cases[found.cases["group"] == "both"]["rate"]) == {0.1, 0.5}


def test_paired_tests_are_adjusted_after_holm() -> None:
    found = summarise(simulated(LOSSES)).paired_tests
    part = found[found["group"] == "test only"].set_index("method")
    assert (part["won"] == 6).all()
    assert part["p"].tolist() == pytest.approx([2 / 2**6] * 3)  # six data sets, all won
    assert part["p_holm"].tolist() == pytest.approx([3 * 2 / 2**6] * 3)
    assert part.loc["LightGBM + masked copies", "difference"] == pytest.approx(0.5, rel=0.01)


def test_the_page_names_every_dataset_on_which_another_library_wins() -> None:
    results = simulated(LOSSES)
    lost = (
        (results["dataset"] == "d2")
        & (results["method"] == "LightGBM + masked copies")
        & (results["rate"] > 0)
    )
    results.loc[lost, "loss"] *= 0.5
    page = page_of(results)
    [line] = [line for line in page.splitlines() if line.startswith("| d2 | ")]
    assert "| 1 of 2 | " in line
    assert "LightGBM + masked copies" in line
    assert "Another library has a smaller loss than tritree on 1 of 6 data sets." in page


def test_the_page_says_if_no_other_library_wins() -> None:
    assert "No other library has a smaller loss than tritree on any of the 6 data sets." in page_of(
        simulated(LOSSES)
    )


def test_another_strategy_of_tritree_does_not_count_as_another_library() -> None:
    page = page_of(simulated(LOSSES | {f"{TRITREE} (mia)": 0.5}))
    assert "Another library has a smaller loss" not in page
    assert "rank 2 of 4 (first is tritree (mia), 1.00)" in page  # but the goal is missed


@pytest.mark.parametrize(("loss", "met"), [(1.0, "yes"), (1.005, "yes"), (1.1, "NO")])
def test_the_goal_in_both_is_one_percent(loss, met) -> None:
    found = summarise(simulated({CONSTANT: 4.0, TRITREE: loss, "LightGBM": 1.003}, groups=("both",)))
    assert goals(found)[0].endswith(f"within 1% of the best: {met}.")


@pytest.mark.parametrize(("loss", "met"), [(1.0, "yes"), (1.1, "NO")])
def test_the_goal_in_test_only_is_the_best_mean_rank(loss, met) -> None:
    found = summarise(simulated({CONSTANT: 4.0, TRITREE: loss, "LightGBM": 1.05}))
    assert goals(found)[0].endswith(f"the best mean rank: {met}.")


def test_pictures_are_drawn(tmp_path) -> None:
    found = draw(summarise(simulated(LOSSES, groups=SCENARIOS)), tmp_path)
    assert [path.name for path in found.values()] == ["ranks.png", "rates.png", "sets.png"]
    assert all(path.stat().st_size > 5_000 for path in found.values())


def test_main_writes_the_page_the_tables_and_the_pictures(tmp_path, capsys) -> None:
    arguments = ["--datasets", "iris", "diabetes", "--scenarios", "test only", "--mechanisms", "mcar"]
    arguments += ["--rates", "0.5", "--libraries", "HistGB", "--trees", "3", "--folds", "2"]
    assert command.main([*arguments, "--output", str(tmp_path)]) == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert {
        "summary.md",
        "folds.csv",
        "cases.csv",
        "ranking.csv",
        "paired_tests.csv",
        "per_dataset.csv",
    } <= names
    assert {"ranks.png", "sets.png", "store.sqlite"} <= names
    assert "## Test only" in capsys.readouterr().out


def test_main_writes_the_page_of_the_documentation_on_request(tmp_path, monkeypatch) -> None:
    (tmp_path / "pictures").mkdir()
    monkeypatch.setattr(command, "DOCS", tmp_path)
    arguments = ["--datasets", "iris", "--scenarios", "test only", "--mechanisms", "mcar", "--rates", "0.5"]
    arguments += ["--libraries", "HistGB", "--trees", "2", "--folds", "2", "--output", str(tmp_path / "out")]
    assert command.main([*arguments, "--write-docs"]) == 0
    page = (tmp_path / "accuracy.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[.+\]\((.+)\)", page)
    assert "pictures/accuracy-ranks.png" in pictures
    assert all((tmp_path / picture).exists() for picture in pictures)


def test_main_refuses_a_file_that_is_not_a_store(tmp_path, capsys) -> None:
    (tmp_path / "notes.txt").write_text("not a database, but long enough to be looked at as one" * 20)
    with pytest.raises(SystemExit):
        command.main(
            ["--datasets", "iris", "--store", str(tmp_path / "notes.txt"), "--output", str(tmp_path)]
        )
    assert "notes.txt" in capsys.readouterr().err


def page_of(results: pd.DataFrame) -> str:
    return as_markdown(summarise(results), TINY, tiny_datasets(), Outcome(results))


def test_the_readme_explains_the_comparison() -> None:
    from benchmarks.data import PROJECT

    text = (PROJECT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert "python -m benchmarks.accuracy" in text
    assert all(name in DATASETS for name in quick().datasets)


def test_missing_cells_of_shift_differ_between_training_and_test() -> None:
    dataset = tiny_datasets()[0]
    train, test = make_scenario("shift", "im").tables(dataset, 0.5, 0)
    assert not train.isna().equals(test.isna())
    pd.testing.assert_frame_equal(test, ampute(dataset.X, 0.5, "im", seed=0))
