"""The comparison of accuracy: what is planned is run once, goes on when stopped, and hides no rival that wins."""

from __future__ import annotations

import argparse
import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from rival_tables import mixed, response

pytest.importorskip("matplotlib")

from benchmarks.accuracy import __main__ as command
from benchmarks.accuracy import run as running
from benchmarks.accuracy.data import SETS, SKLEARN, load_set, load_sets, sampled
from benchmarks.accuracy.plan import FAMILIES, MECHANISMS, Part, Plan, parted_name, quick, scenario
from benchmarks.accuracy.plots import draw
from benchmarks.accuracy.report import as_markdown, reaches
from benchmarks.accuracy.rivals import CONSTANT, OURS, Size
from benchmarks.accuracy.run import Outcome, run
from benchmarks.accuracy.summary import COMPLETE, summarised
from tritree.lab import Dataset, ampute
from tritree.lab.store import Store

TINY = Plan(
    parts=(Part(("test only", "shift"), ("mcar",), (0.5,)),),
    libraries=("HistGB",),
    ways=("", "mean"),
    folds=2,
    size=Size(depth=2, trees=3, leaf=5),
)


def tiny_sets() -> list[Dataset]:
    table = mixed(60).drop(columns=["no number", "no category"])
    return [
        Dataset.of("numbers", table.assign(y=response(table, "regression")), "y"),
        Dataset.of("classes", table.assign(y=response(table, "two classes")), "y"),
    ]


def invented(losses: dict[str, float], *, n_sets: int = 6, groups=("test only",)) -> pd.DataFrame:
    """Return results in which every method has its loss, but for a little noise that all share."""
    chance = np.random.default_rng(0)
    lines = []
    for dataset, group, how, rate, fold in product(
        range(n_sets), groups, ("mcar", "im"), (0.0, 0.1, 0.5), range(3)
    ):
        noise = 1 + 0.01 * chance.random()
        for place, (method, loss) in enumerate(losses.items()):
            lines.append(
                {"dataset": f"d{dataset}", "scenario": f"{group}: {how}", "rate": rate, "method": method, "seed": 0,
                 "fold": fold, "rows": 10, "loss": loss * (noise + 1e-4 * place * chance.random())}
            )  # fmt: skip
    return pd.DataFrame(lines).drop_duplicates(["dataset", "scenario", "rate", "method", "seed", "fold"])


LOSSES = {CONSTANT: 4.0, OURS: 1.0, f"{OURS} (mia)": 1.2, "LightGBM": 5.0, "LightGBM + copies": 1.5}


# What is planned.


def test_every_setting_has_its_mechanism_in_the_test() -> None:
    for family, mechanism in product(FAMILIES, MECHANISMS):
        made = scenario(family, mechanism)
        assert made.test is not None
        assert made.test.mechanism == mechanism
        assert (made.train is None) == (family == "test only")
        assert made.train is None or (made.train == made.test) == (family == "both")
        assert parted_name(made.name) == (family, mechanism)


def test_the_full_plan_has_all_sets_settings_mechanisms_and_rates() -> None:
    plan = Plan()
    assert len(plan.sets) == 8 + 4 + len(SKLEARN)
    assert plan.parts == (
        Part(("test only", "both", "shift"), ("mcar", "mar", "mnar", "im"), (0.1, 0.3, 0.5)),
    )
    assert (plan.size.depth, plan.size.trees, plan.size.learning_rate) == (4, 150, 0.1)


def test_the_quick_plan_is_part_of_the_full_one() -> None:
    assert set(quick().sets) <= set(Plan().sets)
    assert [(p.families, p.mechanisms, p.rates) for p in quick().parts] == [
        (("test only",), ("mcar",), (0.5,)),
        (("both",), ("mcar",), (0.3,)),
        (("shift",), ("mnar",), (0.3,)),
    ]


@pytest.mark.parametrize("name", SKLEARN)
def test_sets_of_scikit_learn_need_no_file(name) -> None:
    found = load_set(name)
    assert found.task == ("regression" if name == "diabetes" else "classification")
    assert found.n_rows >= 100


def test_a_set_without_a_file_is_left_out_and_named(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("benchmarks.accuracy.data.DATA", tmp_path)
    found, absent = load_sets(["iris", "horse_colic"], 0)
    assert [dataset.name for dataset in found] == ["iris"]
    assert len(absent) == 1
    assert absent[0].startswith("horse_colic is left out")


def test_a_large_set_is_sampled_and_says_so() -> None:
    whole = load_set("diabetes")
    part = sampled(whole, 100)
    assert part.n_rows == len(part.X) == 100
    assert part.note == "100 of its 442 rows, drawn at random"
    assert part.fingerprint == sampled(whole, 100).fingerprint
    assert sampled(whole, 0) is sampled(whole, 442) is whole


def test_the_command_line_changes_the_plan_it_is_asked_to() -> None:
    def planned(*arguments: str) -> Plan:
        return command.planned(command.make_parser().parse_args(arguments))

    assert planned() == Plan()
    assert planned("--quick") == quick()
    changed = planned("--sets", "iris", "--rates", "0.2", "--seeds", "2", "--folds", "5", "--depth", "3")
    assert (changed.sets, changed.seeds, changed.folds, changed.size.depth) == (("iris",), 2, 5, 3)
    assert changed.parts == (Part(rates=(0.2,)),)


def test_a_rate_in_percent_is_refused_with_the_share_that_was_meant() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"50 percent is 0\.5"):
        command._share("50")


# What is run.


def test_every_cell_that_is_planned_has_a_loss_on_the_same_rows(tmp_path) -> None:
    outcome = run(TINY, tiny_sets(), tmp_path / "store.sqlite", jobs=1, progress=False)
    assert outcome.finished
    assert outcome.notes == []
    table = outcome.results
    n_methods = 1 + 3 + 2  # the constant, tritree's strategies, one library in two ways
    assert len(table) == 2 * 2 * 2 * n_methods * 2  # sets, scenarios, rates with 0, methods, folds
    assert (table.groupby(["dataset", "scenario", "rate", "fold"])["rows"].nunique() == 1).all()


def test_a_stopped_run_goes_on_where_it_was(tmp_path, monkeypatch) -> None:
    store, sets = tmp_path / "store.sqlite", tiny_sets()
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


def test_a_method_that_fails_is_named_and_keeps_no_other_from_running(monkeypatch) -> None:
    from sklearn.ensemble import HistGradientBoostingRegressor

    def failing(self, X, y):
        raise RuntimeError("no")

    monkeypatch.setattr(HistGradientBoostingRegressor, "fit", failing)
    outcome = run(TINY, tiny_sets()[:1], None, jobs=1, progress=False)
    assert any("HistGB on numbers: 4 of 4 cells failed." in note for note in outcome.notes)
    assert OURS in set(outcome.results["method"])


def test_all_libraries_keep_to_one_thread(monkeypatch) -> None:
    from threadpoolctl import threadpool_info

    seen = []

    class Watched:
        datasets = tiny_sets()[:1]

        def run(self, *_, **__):
            seen.extend(pool["num_threads"] for pool in threadpool_info())
            raise KeyboardInterrupt

    monkeypatch.setattr(running, "experiments", lambda *_: [Watched()])
    run(TINY, tiny_sets()[:1], None, jobs=1, progress=False)
    assert set(seen) == {1}


# What comes out.


def test_relative_loss_is_to_the_constant_and_above_is_to_the_least() -> None:
    found = summarised(invented(LOSSES)).standings.set_index(["group", "method"])
    line = found.loc[("test only", "LightGBM + copies")]
    assert line["relative"] == pytest.approx(1.5 / 4, rel=0.01)
    assert line["above"] == pytest.approx(0.5, rel=0.01)
    assert found.loc[("test only", "LightGBM"), "worse"] == 1.0  # than the constant
    assert found.loc[("test only", OURS), "worse"] == 0.0


def test_mean_ranks_follow_losses_and_the_constant_has_none() -> None:
    found = summarised(invented(LOSSES)).standings
    part = found[found["group"] == "test only"]
    assert part["method"].tolist() == [OURS, f"{OURS} (mia)", "LightGBM + copies", "LightGBM"]
    assert part["mean_rank"].tolist() == [1, 2, 3, 4]
    assert CONSTANT not in set(found["method"])


def test_cases_without_holes_are_a_group_of_their_own_and_there_once() -> None:
    found = summarised(invented(LOSSES, groups=("test only", "both")))
    assert found.groups == ["test only", "both", COMPLETE]
    complete = found.cases[found.cases["group"] == COMPLETE]
    assert len(complete) == 6 * len(LOSSES)  # data sets; one rate, whatever the mechanism
    assert set(found.cases[found.cases["group"] == "both"]["rate"]) == {0.1, 0.5}


def test_paired_tests_are_adjusted_after_holm() -> None:
    found = summarised(invented(LOSSES)).pairs
    part = found[found["group"] == "test only"].set_index("method")
    assert (part["won"] == 6).all()
    assert part["p"].tolist() == pytest.approx([2 / 2**6] * 3)  # six data sets, all won
    assert part["p_holm"].tolist() == pytest.approx([3 * 2 / 2**6] * 3)
    assert part.loc["LightGBM + copies", "difference"] == pytest.approx(0.5, rel=0.01)


def test_the_page_names_every_data_set_on_which_a_rival_wins() -> None:
    results = invented(LOSSES)
    lost = (results["dataset"] == "d2") & (results["method"] == "LightGBM + copies") & (results["rate"] > 0)
    results.loc[lost, "loss"] *= 0.5
    page = page_of(results)
    [line] = [line for line in page.splitlines() if line.startswith("| d2 | ")]
    assert "| 1 of 2 | " in line
    assert "LightGBM + copies" in line
    assert "Where rivals win: 1 of 6 data sets" in page


def test_the_page_says_so_where_no_rival_wins() -> None:
    assert "No rival has less loss than tritree on any of the 6 data sets." in page_of(invented(LOSSES))


def test_another_strategy_of_tritree_is_no_rival_that_wins() -> None:
    page = page_of(invented(LOSSES | {f"{OURS} (mia)": 0.5}))
    assert "Where rivals win" not in page
    assert "place 2 of 4 (first is tritree (mia), 1.00)" in page  # but the reach is missed


@pytest.mark.parametrize(("ours", "said"), [(1.0, "yes"), (1.005, "yes"), (1.1, "NO")])
def test_the_reach_in_both_is_one_percent(ours, said) -> None:
    found = summarised(invented({CONSTANT: 4.0, OURS: ours, "LightGBM": 1.003}, groups=("both",)))
    assert reaches(found)[0].endswith(f"within 1% of the best: {said}.")


@pytest.mark.parametrize(("ours", "said"), [(1.0, "yes"), (1.1, "NO")])
def test_the_reach_in_test_only_is_the_best_mean_rank(ours, said) -> None:
    found = summarised(invented({CONSTANT: 4.0, OURS: ours, "LightGBM": 1.05}))
    assert reaches(found)[0].endswith(f"the best mean rank: {said}.")


def test_pictures_are_drawn(tmp_path) -> None:
    found = draw(summarised(invented(LOSSES, groups=FAMILIES)), tmp_path)
    assert [path.name for path in found.values()] == ["ranks.png", "rates.png", "sets.png"]
    assert all(path.stat().st_size > 5_000 for path in found.values())


def test_main_writes_the_page_the_tables_and_the_pictures(tmp_path, capsys) -> None:
    arguments = ["--sets", "iris", "diabetes", "--scenarios", "test only", "--mechanisms", "mcar"]
    arguments += ["--rates", "0.5", "--libraries", "HistGB", "--trees", "3", "--folds", "2"]
    assert command.main([*arguments, "--output", str(tmp_path)]) == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert {"summary.md", "folds.csv", "cases.csv", "standings.csv", "pairs.csv", "singles.csv"} <= names
    assert {"ranks.png", "sets.png", "store.sqlite"} <= names
    assert "## Test only" in capsys.readouterr().out


def test_main_writes_the_documentation_s_page_if_asked(tmp_path, monkeypatch) -> None:
    (tmp_path / "pictures").mkdir()
    monkeypatch.setattr(command, "DOCS", tmp_path)
    arguments = ["--sets", "iris", "--scenarios", "test only", "--mechanisms", "mcar", "--rates", "0.5"]
    arguments += ["--libraries", "HistGB", "--trees", "2", "--folds", "2", "--output", str(tmp_path / "out")]
    assert command.main([*arguments, "--write-docs"]) == 0
    page = (tmp_path / "accuracy.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[.+\]\((.+)\)", page)
    assert "pictures/accuracy-ranks.png" in pictures
    assert all((tmp_path / picture).exists() for picture in pictures)


def test_main_refuses_a_store_that_is_none(tmp_path, capsys) -> None:
    (tmp_path / "notes.txt").write_text("not a database, but long enough to be looked at as one" * 20)
    with pytest.raises(SystemExit):
        command.main(["--sets", "iris", "--store", str(tmp_path / "notes.txt"), "--output", str(tmp_path)])
    assert "notes.txt" in capsys.readouterr().err


def page_of(results: pd.DataFrame) -> str:
    return as_markdown(summarised(results), TINY, tiny_sets(), Outcome(results))


def test_the_readme_explains_the_comparison() -> None:
    from benchmarks.data import PROJECT

    text = (PROJECT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert "python -m benchmarks.accuracy" in text
    assert all(name in SETS for name in quick().sets)


def test_holes_of_shift_differ_between_training_and_test() -> None:
    dataset = tiny_sets()[0]
    train, test = scenario("shift", "im").tables(dataset, 0.5, 0)
    assert not train.isna().equals(test.isna())
    pd.testing.assert_frame_equal(test, ampute(dataset.X, 0.5, "im", seed=0))
