"""Losses are averaged as they say, ranks and tests are those of the books, and no more is claimed than was shown."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from experiments import SLOPES, paper_figure, paper_results, simulated
from hypothesis import given, settings
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")
stats = pytest.importorskip("scipy.stats")

from tritree.inspection.formatting import width_of  # noqa: E402
from tritree.lab.ranks import (  # noqa: E402
    compare_methods,
    compare_unchanged,
    curves,
    excess,
    losses,
    mean_ranks,
    omissions,
)
from tritree.lab.ranks.significance import corrected_t_test, holm  # noqa: E402
from tritree.lab.ranks.tables import (  # noqa: E402
    DisplayCell,
    DisplayTable,
    as_text,
    comparison_table,
    curves_tables,
    losses_tables,
    select_rates,
    time_tables,
)

KEYS = ["dataset", "scenario", "rate", "method", "seed"]


def thinned(seed: int, share: float = 0.1) -> Any:
    """Return results of which some lines are not there."""
    table = simulated(3, seed=seed)
    return table[np.random.default_rng(seed).random(len(table)) >= share]


def of(table: Any, **where: Any) -> Any:
    for name, value in where.items():
        table = table[table[name] == value]
    return table


# ------------------------------------------------------------------------------------------------------------- losses


@pytest.mark.parametrize("seed", range(3))
def test_losses_are_the_slow_means_over_all_rows_of_whole_cells(seed: int) -> None:
    table = thinned(seed)
    cells: dict[tuple[Any, ...], list[tuple[float, int]]] = {}
    for line in table.itertuples():
        cells.setdefault(tuple(getattr(line, key) for key in KEYS), []).append((line.loss, line.rows))
    slow = {
        key: sum(loss * rows for loss, rows in folds) / sum(rows for _, rows in folds)
        for key, folds in cells.items()
        if len(folds) == 3
    }
    quick = losses(table).set_index(KEYS)["loss"]
    assert len(slow) < len(cells)
    assert quick.to_dict() == pytest.approx(slow)


@pytest.mark.parametrize("seed", range(3))
def test_excess_is_the_slow_ratio_to_the_loss_at_rate_0(seed: int) -> None:
    table = thinned(seed)
    known = losses(table).set_index(KEYS)["loss"].to_dict()
    for line in excess(table).itertuples():
        same = known.get((line.dataset, line.scenario, 0.0, line.method, line.seed))
        other = [
            loss
            for (dataset, _, rate, method, seed), loss in known.items()
            if (dataset, rate, method, seed) == (line.dataset, 0.0, line.method, line.seed)
        ]
        if same is None and not other:
            assert math.isnan(line.excess)
        else:
            base = sum(other) / len(other) if same is None else same
            assert line.excess == pytest.approx(line.loss / base - 1)


def test_averages_of_the_authors_losses_are_the_papers_figure_to_the_last_digit() -> None:
    ours = curves(paper_results()).set_index(["scenario", "rate", "method"])["excess"]
    figure = paper_figure().set_index(["scenario", "missingness", "strategy"])["excess_loss"]
    assert len(ours) == len(figure)
    assert (ours.loc[figure.index] - figure).abs().max() <= 0.5000001e-6


def test_ratio_is_one_more_than_the_excess() -> None:
    table = simulated()
    np.testing.assert_allclose(curves(table, "ratio")["excess"], curves(table)["excess"] + 1)


def test_band_reaches_from_the_least_to_the_greatest_seed() -> None:
    table = simulated(seeds=4)
    by_seed = excess(table).groupby(["scenario", "rate", "method", "seed"])["excess"].mean()
    for point in curves(table).itertuples():
        found = by_seed.loc[point.scenario, point.rate, point.method]
        assert (point.low, point.high) == (found.min(), found.max())
        assert point.excess == pytest.approx(found.mean())
        assert point.std == pytest.approx(found.std())


def test_one_seed_has_no_band() -> None:
    assert curves(simulated(seeds=1))[["low", "high", "std"]].isna().all(axis=None)


def test_curves_come_near_the_truth() -> None:
    for point in curves(simulated(20, noise=0.02)).itertuples():
        assert point.excess == pytest.approx(SLOPES[point.method] * point.rate, abs=0.02)


def test_data_sets_that_are_not_whole_are_left_out_of_averages_and_named() -> None:
    table = simulated(4)
    short = table[~((table["dataset"] == "set 2") & (table["method"] == "mia") & (table["rate"] == 0.5))]
    found = curves(short)
    assert set(found["datasets"]) == {3}
    pd.testing.assert_frame_equal(found, curves(table[table["dataset"] != "set 2"]))
    [said] = omissions(short)
    assert said.startswith("mcar and im: set 2 is omitted from averages")


def test_point_that_lacks_a_data_set_is_left_out_if_none_is_whole() -> None:
    table = simulated(2)
    lost = ((table["dataset"] == "set 0") & (table["method"] == "mia")) | (
        (table["dataset"] == "set 1") & (table["method"] == "majority")
    )
    short = table[~(lost & (table["rate"] == 0.5))]
    found = curves(short)
    assert set(found["datasets"]) == {2}
    assert set(found["method"][found["rate"] == 0.5]) == {"trinary"}
    assert any("points of majority and mia are omitted" in said for said in omissions(short))


def test_rate_0_of_another_setting_will_do() -> None:
    table = simulated()
    alone = table[(table["scenario"] == "mcar") | (table["rate"] > 0)]
    pd.testing.assert_series_equal(
        of(excess(alone), scenario="im", rate=0.5)["excess"].reset_index(drop=True),
        of(excess(table), scenario="im", rate=0.5)["excess"].reset_index(drop=True),
    )


def test_method_without_rate_0_has_no_excess_loss_and_is_named() -> None:
    table = simulated()
    without = table[(table["method"] != "mia") | (table["rate"] > 0)]
    assert of(excess(without), method="mia")["excess"].isna().all()
    assert "mia has no loss at rate 0, and therefore no excess loss." in omissions(without)


def test_failed_fold_leaves_its_loss_out_and_is_named() -> None:
    table = simulated()
    table.loc[5, "loss"] = math.nan
    assert len(losses(table)) == len(losses(simulated())) - 1
    assert omissions(table)[0].startswith("1 of 288 losses is omitted because")


def test_whole_results_have_no_omissions() -> None:
    assert omissions(simulated()) == []


@pytest.mark.parametrize("seed", range(3))
def test_order_of_lines_and_kinds_of_columns_make_no_difference(seed: int) -> None:
    table = simulated(3)
    other = table.sample(frac=1, random_state=seed)
    other = other.astype({"dataset": "category", "method": "category", "scenario": object})
    pd.testing.assert_frame_equal(curves(table), curves(other), check_exact=True)
    pd.testing.assert_frame_equal(mean_ranks(table).table, mean_ranks(other).table, check_exact=True)


def test_rates_that_differ_by_rounding_are_the_same() -> None:
    table = simulated(rates=(0.0, 0.3))
    noisy = table.assign(
        rate=np.where((table["method"] == "mia") & (table["rate"] > 0), 0.1 + 0.2, table["rate"])
    )
    pd.testing.assert_frame_equal(mean_ranks(table).table, mean_ranks(noisy).table)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.drop(columns="rows"), "no column 'rows'"),
        (lambda table: table.head(0), "no lines; run the experiment"),
        (
            lambda table: pd.concat([table, table.head(1)]),
            "1 folds more than once, such as fold 0 of 'majority'",
        ),
        (lambda table: table.assign(rate=50.0), "column 'rate' holds 50; rates must be between 0 and 1"),
        (lambda table: table.assign(loss="high"), "column 'loss' holds 'high', which is not a number"),
        (lambda table: table.assign(loss=-1.0), "a loss is never negative"),
        (lambda table: table.assign(rows=0), "column 'rows' holds 0"),
        (lambda table: table.assign(seed=math.nan), "column 'seed' holds nan"),
    ],
)
def test_results_that_cannot_be_are_refused(change: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        losses(change(simulated(2)))


# -------------------------------------------------------------------------------------------------------------- ranks


def one_case(values: Any) -> Any:
    """Return results with one case per data set: lines of values are data sets, columns are methods."""
    return pd.DataFrame(
        [
            {
                "dataset": f"set {i:02}",
                "scenario": "mcar",
                "rate": 0.5,
                "method": f"m{j}",
                "seed": 0,
                "fold": 0,
            }
            | {"loss": loss, "rows": 10}
            for i, line in enumerate(values)
            for j, loss in enumerate(line)
        ]
    )


@settings(max_examples=10)  # each takes a while
@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=6))
def test_ranks_share_ties_as_scipys_do(values: list[list[int]]) -> None:
    found = mean_ranks(one_case(values)).table.set_index("method")["mean_rank"]
    expected = stats.rankdata(values, axis=1).mean(axis=0)
    np.testing.assert_allclose([found[f"m{j}"] for j in range(4)], expected)


def test_tests_are_scipys_on_the_data_sets() -> None:
    values = np.random.default_rng(1).lognormal(size=(12, 4)) * [1.0, 1.5, 2.0, 4.0]
    ranks = mean_ranks(one_case(values))
    assert ranks.overall["p"].iloc[0] == pytest.approx(stats.friedmanchisquare(*values.T).pvalue)
    table = ranks.table.set_index("method")
    best = int(table.index[0][1])
    for j in set(range(4)) - {best}:
        difference = (values[:, j] - values[:, best]) / (values[:, j] + values[:, best])
        assert table.loc[f"m{j}", "p"] == pytest.approx(stats.wilcoxon(difference).pvalue)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_step_by_step(p: list[float]) -> None:
    adjusted = holm(np.array(p))
    for level in (0.01, 0.05, 0.3):
        rejected, left = set(), sorted(range(len(p)), key=p.__getitem__)
        while left and p[left[0]] * len(left) <= level:
            rejected.add(left.pop(0))
        assert {i for i, value in enumerate(adjusted) if value <= level} == rejected


def test_unit_of_a_data_set_makes_no_difference() -> None:
    table = simulated()
    scaled = table.assign(loss=table["loss"] * np.where(table["dataset"] == "set 3", 1e6, 1.0))
    pd.testing.assert_frame_equal(mean_ranks(table).table, mean_ranks(scaled).table)


def test_rate_0_is_not_ranked_unless_there_is_no_other() -> None:
    table = simulated()
    pd.testing.assert_frame_equal(mean_ranks(table).table, mean_ranks(table[table["rate"] > 0]).table)
    assert (mean_ranks(table[table["rate"] == 0]).table["mean_rank"] == 2.0).all()


def test_rates_and_seeds_add_no_data_sets() -> None:
    table = simulated(6, noise=0)
    more = simulated(6, noise=0, rates=(0.0, 0.1, 0.2, 0.3, 0.4, 0.5), seeds=5)
    assert mean_ranks(table).overall["p"].tolist() == mean_ranks(more).overall["p"].tolist()
    assert (mean_ranks(more).table["datasets"] == 6).all()


def test_order_of_the_truth_is_found() -> None:
    ranks = mean_ranks(simulated(10))
    for scenario in ("mcar", "im"):
        assert of(ranks.table, scenario=scenario)["method"].tolist() == ["trinary", "mia", "majority"]
    assert (ranks.table["p_holm"].dropna() < 0.05).all()
    assert ranks.conclusions[0].startswith("mcar: trinary ranks first (mean rank 1.")


def test_methods_that_are_the_same_are_tied_and_within_chance() -> None:
    table = simulated(8, slopes={"majority": 1.0, "mia": 1.0}, noise=0)
    ranks = mean_ranks(table)
    assert (ranks.table["mean_rank"] == 1.5).all()
    assert (ranks.table["p_holm"].dropna() == 1.0).all()


def test_methods_with_the_same_mean_rank_share_the_first_place() -> None:
    table = simulated(8, slopes={"majority": 3.0, "mia": 1.0, "trinary": 1.0}, noise=0, scenarios=["mcar"])
    [conclusion] = mean_ranks(table).conclusions
    assert conclusion.startswith(
        "mcar: mia and trinary are tied for first (mean rank 1.50 of 3); majority is significantly worse"
    )
    assert "ranks first" not in conclusion
    [all_alike] = mean_ranks(table[table["method"] != "majority"]).conclusions
    assert all_alike == "mcar: mia and trinary are tied for first (mean rank 1.50 of 2)."


def test_case_that_a_method_lacks_is_not_ranked_and_that_is_said() -> None:
    table = simulated(4)
    short = table[(table["method"] != "mia") | (table["scenario"] != "im") | (table["rate"] < 0.5)]
    ranks = mean_ranks(short)
    assert ranks.overall["cases"].tolist() == [16, 8]
    assert "im: 8 of 16 cases are not ranked, because mia has no loss there." in ranks.notes


def test_methods_that_share_no_case_are_refused() -> None:
    table = simulated(2)
    with pytest.raises(ValueError, match=r"no case .* in which all methods have a loss; rank fewer methods"):
        mean_ranks(table[(table["method"] == "mia") == (table["dataset"] == "set 0")])


def test_few_data_sets_are_said_to_show_nothing() -> None:
    few = mean_ranks(simulated(4))
    assert few.conclusions[0].endswith("; 4 data sets are too few for a significant difference.")
    notes = " ".join(few.notes)
    assert (
        "With 4 data sets no difference between 3 methods can be significant: the smallest adjusted p is 0.25"
        in notes
    )
    assert "can be significant" not in " ".join(mean_ranks(simulated(8)).notes)


def test_one_data_set_is_not_tested() -> None:
    ranks = mean_ranks(simulated(1))
    assert ranks.table[["p", "p_holm", "low", "high"]].isna().all(axis=None)
    assert ranks.overall["p"].isna().all()
    assert ranks.notes[0].startswith("There is one data set, so nothing is tested here")


def test_papers_losses_put_the_methods_in_the_papers_order() -> None:
    table = mean_ranks(paper_results()).table
    assert of(table, scenario="mcar_test")["method"].tolist() == ["trinary", "fractional", "majority"]
    assert set(of(table, scenario="mcar")["method"].head(2)) == {"trinary", "trinary_mia"}
    assert set(of(table, scenario="im")["method"].head(2)) == {"mia", "trinary_mia"}


# -------------------------------------------------------------------------------------------------------- comparisons


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


def test_seeds_that_change_nothing_are_no_evidence() -> None:
    d = np.random.default_rng(0).normal(1.0, size=10)
    once, thrice = (
        corrected_t_test(differences(d), np.ones(10)),
        corrected_t_test(differences([d] * 3), np.ones(30)),
    )
    assert thrice == pytest.approx(once)


def test_seeds_that_part_the_rows_anew_count_as_more_folds_with_the_same_training_rows() -> None:
    d = np.random.default_rng(0).normal(1.0, size=(3, 10))  # folds of different seeds have nothing in common
    _, low, high, p = corrected_t_test(differences(d), np.ones(30))
    error = math.sqrt((1 / 30 + 1 / 9) * d.var(ddof=1))
    assert p == pytest.approx(2 * stats.t.sf(abs(d.mean()) / error, 29))
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 29) * error)


@pytest.mark.parametrize("same_folds", [True, False])
def test_methods_that_do_not_differ_are_seldom_told_apart(same_folds: bool) -> None:
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
            base = of(losses(table), rate=0.0, method="mia", scenario=line.scenario)["loss"].mean()
            assert line.low < 0.4 * 0.5 * base < line.high
            assert line.outcome == "worse"


def test_differences_are_those_of_the_losses() -> None:
    table = simulated(1, folds=10)
    known = losses(table)
    means = known[known["rate"] > 0].groupby(["scenario", "method"])["loss"].mean()
    for line in compare_methods(table).table.itertuples():
        assert line.loss == pytest.approx(means[line.scenario, line.method])
        assert line.difference == pytest.approx(line.loss - means[line.scenario].min())


def test_better_method_is_named_and_equals_are_within_chance() -> None:
    slopes = {"majority": 3.0, "mia": 1.0, "trinary": 0.999}
    found = compare_methods(simulated(1, folds=10, slopes=slopes, noise=0.1, seed=3))
    outcome = found.table.set_index(["scenario", "method"])["outcome"]
    assert outcome["mcar", "majority"] == "worse"
    assert set(outcome["mcar"][["mia", "trinary"]]) == {"best", "not significant"}
    assert "is best, or not significantly worse than the best, in both scenarios." in found.recommendation
    assert "not significantly worse (p = " in found.conclusions[0]
    assert "majority is worse by" in found.conclusions[0]


def test_method_that_is_only_too_noisy_to_be_worse_is_not_called_as_good() -> None:
    table = simulated(1, folds=10, slopes={"mia": 1.0, "trinary": 1.0}, scenarios=["mcar"])
    hit = (table["method"] == "trinary") & (table["fold"] == 0) & (table["rate"] > 0)
    table.loc[hit, "loss"] *= 15  # one fold that costs much
    found = compare_methods(table)
    assert found.table["outcome"].tolist() == ["best", "not significant"]
    extra = found.table["loss"].iloc[1] / found.table["loss"].iloc[0] - 1
    assert extra > 1
    assert (
        f"trinary is not significantly worse either, with losses {extra:.0%} higher" in found.recommendation
    )
    assert "same" not in found.recommendation
    assert any("does not mean as good" in note for note in found.notes)


def test_table_as_it_is_is_compared_by_folds_once_each() -> None:
    table = simulated(1, folds=10, seeds=3)
    own = {"majority": 1.0, "mia": 1.2, "trinary": 1.1}  # as if the table had holes of its own
    at_zero = table["rate"] == 0
    table.loc[at_zero, "loss"] *= table["method"].map(own)[at_zero]
    found = compare_unchanged(table)
    assert found.table["method"].tolist() == ["majority", "trinary", "mia"]
    assert (found.table["seeds"] == 1).all()
    assert found.recommendation.startswith("Use majority: ")
    assert compare_methods(table).recommendation.startswith("Use trinary: ")
    with pytest.raises(ValueError, match="run rate 0"):
        compare_unchanged(table[~at_zero])


def test_comparison_tells_over_which_rates_its_losses_are_means() -> None:
    table = simulated(1, folds=5, seeds=1)
    found = compare_methods(table)
    assert found.rates == [0.1, 0.5]
    assert "to the best method, means over 10% and 50% of the cells removed" in str(found)
    assert "with 50% of the cells removed" in str(compare_methods(table[table["rate"] != 0.1]))
    assert "removed" not in str(compare_methods(table, by="rate"))
    assert "over 5 folds and 1 seed, by" in " ".join(str(found).split())


def test_methods_with_the_same_losses_are_the_same() -> None:
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
    assert of(found.table, method="mia")["outcome"].tolist() == ["worse"]
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
    assert set(of(found.table, rate=0.0)["outcome"]) == {"best", "identical"}


# ------------------------------------------------------------------------------------------------------------- tables


def test_columns_of_text_tables_are_aligned_however_wide_letters_are() -> None:
    cells = [("方法", "1.5", True), ("a", "10.2", False)]
    rows = [[DisplayCell(name, name), DisplayCell(text, 1.0, best)] for name, text, best in cells]
    lines = as_text(DisplayTable("", ["method", "loss"], rows)).splitlines()
    assert [width_of(line[: line.index(".")]) for line in lines[1:]] == [10, 10]
    assert lines[1].endswith("1.5 *")


def test_text_shows_the_numbers_of_the_averages() -> None:
    table = simulated(2)
    text = as_text(*curves_tables(table))
    for point in curves(table).itertuples():
        assert f"{point.excess:z.3f}" in text


def test_tables_of_losses_show_every_loss() -> None:
    table = simulated(2, seeds=1)
    known = losses(table).set_index(["scenario", "dataset", "method", "rate"])["loss"]
    for shown in losses_tables(table):
        scenario, dataset = shown.title.removesuffix(": loss").split(", ")
        for row in shown.rows:
            for rate, cell in zip((0.0, 0.1, 0.5), row[1:], strict=True):
                assert cell.value == pytest.approx(known[scenario, dataset, row[0].text, rate])
    assert len(losses_tables(table)) == 4


def test_best_of_each_column_is_marked_and_ties_of_all_are_not() -> None:
    [shown, _] = curves_tables(simulated())
    marks = {shown.columns[j]: [row[j].best for row in shown.rows] for j in range(1, 4)}
    assert marks == {"0%": [False] * 3, "10%": [False, False, True], "50%": [False, False, True]}


def test_what_is_printed_ends_with_what_was_tested() -> None:
    assert "Not tested: single data sets, rates and seeds." in " ".join(str(mean_ranks(simulated())).split())
    said = str(compare_methods(simulated(1)))
    assert said.startswith("Use trinary")
    assert "corrected resampled t-test" in " ".join(said.split())


def test_names_cannot_move_the_cursor_of_a_terminal() -> None:
    evil = "a\x1b[2J\nb\u202e"
    table = simulated(2).replace(
        {"dataset": {"set 0": evil}, "method": {"mia": evil}, "scenario": {"im": evil}}
    )
    found = compare_methods(table, dataset=evil)
    printed = [str(mean_ranks(table)), str(found), as_text(*losses_tables(table), *curves_tables(table))]
    printed += [*omissions(table[table["rate"] > 0]), as_text(comparison_table(found), *time_tables(table))]
    for text in printed:
        assert all(sign.isprintable() or sign == "\n" for sign in text)
        assert evil not in text


def test_some_rates_are_chosen_of_many() -> None:
    assert select_rates(simulated(1, rates=[0, 0.2, 0.4])) == [0.0, 0.2, 0.4]
    assert select_rates(simulated(1, rates=[i / 10 for i in range(10)])) == [0.0, 0.1, 0.3, 0.5, 0.7, 0.9]
    some = select_rates(simulated(1, rates=[i / 40 for i in range(20)]))
    assert (len(some), some[0], some[-1]) == (6, 0.0, 19 / 40)


def test_seconds_are_means_and_may_be_absent() -> None:
    [shown] = time_tables(simulated())
    assert [cell.text for cell in shown.rows[0]] == ["mcar", "majority", "250.00 ms", "2.00 ms"]
    assert time_tables(simulated().drop(columns="fit_seconds")) == []
