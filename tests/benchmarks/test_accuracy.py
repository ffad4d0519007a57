"""The accuracy benchmark runs its design once, resumes when interrupted, and reports every library that wins."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from accuracy_results import TINY, page_of, simulated, tiny_datasets

pytest.importorskip("matplotlib")

from benchmarks.accuracy import __main__ as command
from benchmarks.accuracy import experiments as running
from benchmarks.accuracy.data import DATASETS, SKLEARN, load_dataset, load_datasets, sampled
from benchmarks.accuracy.experiments import (
    AS_IT_IS,
    MECHANISMS,
    SCENARIOS,
    Design,
    Grid,
    make_scenario,
    quick,
    run,
    split_name,
    trials_of,
)
from benchmarks.accuracy.methods import CONSTANT, TRITREE
from benchmarks.accuracy.plots import draw
from benchmarks.accuracy.summary import summarise
from tritree.lab import ampute
from tritree.lab.store import Store

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


def test_the_full_design_has_all_scenarios_and_the_rates_of_mcar_in_the_test_only() -> None:
    design = Design()
    settings = {(*split_name(scenario.name), rate) for scenario, rate in design.settings()}
    assert settings == {
        (AS_IT_IS, "none", 0.0),
        *(("test only", "mcar", rate) for rate in (0.1, 0.3, 0.5)),
        *(("test only", how, 0.3) for how in ("mar", "mnar", "im")),
        *(("both", how, 0.3) for how in ("mcar", "mnar")),
        *(("shift", how, 0.3) for how in ("mcar", "mar", "mnar", "im")),
    }
    assert (design.seeds, design.folds) == (2, 3)
    assert (design.parameters.max_depth, design.parameters.n_trees, design.parameters.learning_rate) == (
        4,
        150,
        0.1,
    )


def test_the_quick_design_is_part_of_the_full_one() -> None:
    assert set(quick().datasets) <= set(Design().datasets)
    assert set(quick().settings()) < set(Design().settings())
    assert {split_name(scenario.name)[0] for scenario, _ in quick().settings()} == {AS_IT_IS, *SCENARIOS}


def test_each_seed_has_its_own_folds_also_if_no_values_are_removed() -> None:
    dataset = tiny_datasets()[0]
    first, second = ({trial.key for trial in trials_of(TINY, dataset, seed)} for seed in (0, 1))
    assert len(first) == len(second) == len(trials_of(TINY, dataset, 0))
    assert not first & second


def test_trials_that_share_a_fitted_method_are_neighbours() -> None:
    trials = trials_of(Design(libraries=("HistGB",)), tiny_datasets()[0], 0)
    shared = [(trial.method, trial.training) for trial in trials]
    # complete, missing completely at random, missing by the own value
    assert len(set(shared)) == 3 * len({trial.method for trial in trials})
    assert 1 + sum(a != b for a, b in pairwise(shared)) == len(set(shared))


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
    # the constant, six of tritree, one library with two treatments and with its defaults
    n_methods = 1 + 6 + 3
    assert table["method"].nunique() == n_methods
    assert len(table) == 2 * 3 * n_methods * 2  # data sets, settings, methods, folds
    assert (table.groupby(["dataset", "scenario", "rate", "fold"])["rows"].nunique() == 1).all()
    has_classes = table["dataset"] == "classes"
    for metric in ("brier_score", "expected_calibration_error"):
        assert (table[metric].notna() == has_classes).all()


def test_trials_with_the_same_training_data_have_the_seconds_of_their_common_fit() -> None:
    table = run(TINY, tiny_datasets()[:1], None, jobs=1, progress=False).results
    complete = table[~table["scenario"].str.startswith("shift")]  # as it is, and missing in the test only
    assert (complete.groupby(["method", "fold"])["fit_seconds"].nunique() == 1).all()
    assert (table["fit_seconds"] > 0).all()


def test_data_sets_run_in_parallel_with_the_same_results(tmp_path) -> None:
    tiny = replace(TINY, libraries=(), grids=(Grid(("test only",), ("mcar",), (0.5,)),))
    one, two = (run(tiny, tiny_datasets(), None, jobs=jobs, progress=False).results for jobs in (1, 2))
    pd.testing.assert_series_equal(one["loss"], two["loss"])


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
    assert "HistGB on numbers, seed 0: 3 of 3 trials failed (RuntimeError: no)." in outcome.notes
    assert TRITREE in set(outcome.results["method"])


def test_all_libraries_use_one_thread(monkeypatch) -> None:
    from threadpoolctl import threadpool_info

    seen = []

    def watched(*_):
        seen.extend(pool["num_threads"] for pool in threadpool_info())
        return []

    monkeypatch.setattr(running, "run_trial", watched)
    run(TINY, tiny_datasets()[:1], None, jobs=1, progress=False)
    assert set(seen) == {1}


# Summary.


def test_relative_loss_is_to_the_constant_and_above_is_to_the_smallest() -> None:
    found = summarise(simulated(LOSSES)).ranking.set_index(["group", "method"])
    line = found.loc[("test only", "LightGBM + masked copies")]
    assert line["relative"] == pytest.approx(1.5 / 4, rel=0.01)
    assert line["above"] == pytest.approx(0.5, rel=0.01)
    assert line["fit"] == pytest.approx(3.0)
    assert line["fit_ratio"] == line["predict_ratio"] == pytest.approx(1.5)
    assert line["brier"] == pytest.approx(0.15, rel=0.01)
    assert line["calibration"] == pytest.approx(0.015, rel=0.01)


def test_a_method_whose_stored_results_lack_a_calibration_error_has_none() -> None:
    results = simulated(LOSSES)
    lacking = (results["method"] == TRITREE) & (results["dataset"] == "d1")
    results.loc[lacking, "expected_calibration_error"] = np.nan
    found = summarise(results).ranking.set_index(["group", "method"])["calibration"]
    assert found.isna()["test only", TRITREE]
    assert found.notna()["test only", "LightGBM"]
    assert "calibration, test only: not judged" in page_of(results)


def test_mean_ranks_follow_losses_and_the_constant_has_none() -> None:
    found = summarise(simulated(LOSSES)).ranking
    part = found[found["group"] == "test only"]
    assert part["method"].tolist() == [TRITREE, f"{TRITREE} (mia)", "LightGBM + masked copies", "LightGBM"]
    assert part["mean_rank"].tolist() == [1, 2, 3, 4]
    assert CONSTANT not in set(found["method"])


def test_cases_without_removed_values_are_the_first_group() -> None:
    found = summarise(simulated(LOSSES, groups=("both", "test only")))
    assert found.groups == [AS_IT_IS, "test only", "both"]
    assert len(found.cases[found.cases["group"] == AS_IT_IS]) == 6 * len(LOSSES)  # data sets
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


def test_pictures_are_drawn(tmp_path) -> None:
    found = draw(summarise(simulated(LOSSES, groups=SCENARIOS)), tmp_path)
    assert [path.name for path in found.values()] == ["ranks.png", "rates.png", "sets.png"]
    assert all(path.stat().st_size > 5_000 for path in found.values())


def test_main_writes_the_page_the_tables_and_the_pictures(tmp_path, capsys) -> None:
    arguments = ["--datasets", "iris", "diabetes", "--scenarios", "test only", "--mechanisms", "mcar"]
    arguments += ["--rates", "0.5", "--libraries", "HistGB", "--trees", "3", "--folds", "2", "--seeds", "1"]
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
    arguments += [
        "--libraries",
        "HistGB",
        "--trees",
        "2",
        "--folds",
        "2",
        "--seeds",
        "1",
        "--output",
        str(tmp_path / "out"),
    ]
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
