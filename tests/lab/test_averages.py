"""Losses are averaged over folds, seeds and data sets, and omissions are reported."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from experiments import SLOPES, paper_figure, paper_results, select, simulated

pd = pytest.importorskip("pandas")

from tritree.lab.ranks import curves, excess, losses, mean_ranks, omissions  # noqa: E402

KEYS = ["dataset", "scenario", "rate", "method", "seed"]


def with_lines_removed(seed: int, share: float = 0.1) -> Any:
    """Return results without some random lines."""
    table = simulated(3, seed=seed)
    return table[np.random.default_rng(seed).random(len(table)) >= share]


@pytest.mark.parametrize("seed", range(3))
def test_losses_are_the_means_over_all_rows_of_complete_cases(seed: int) -> None:
    table = with_lines_removed(seed)
    cases: dict[tuple[Any, ...], list[tuple[float, int]]] = {}
    for line in table.itertuples():
        cases.setdefault(tuple(getattr(line, key) for key in KEYS), []).append((line.loss, line.rows))
    expected = {
        key: sum(loss * rows for loss, rows in folds) / sum(rows for _, rows in folds)
        for key, folds in cases.items()
        if len(folds) == 3
    }
    found = losses(table).set_index(KEYS)["loss"]
    assert len(expected) < len(cases)
    assert found.to_dict() == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(3))
def test_excess_is_the_ratio_to_the_loss_at_rate_0(seed: int) -> None:
    table = with_lines_removed(seed)
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


def test_band_spans_the_means_of_the_seeds() -> None:
    table = simulated(seeds=4)
    by_seed = excess(table).groupby(["scenario", "rate", "method", "seed"])["excess"].mean()
    for point in curves(table).itertuples():
        found = by_seed.loc[point.scenario, point.rate, point.method]
        assert (point.low, point.high) == (found.min(), found.max())
        assert point.excess == pytest.approx(found.mean())
        assert point.std == pytest.approx(found.std())


def test_one_seed_has_no_band() -> None:
    assert curves(simulated(seeds=1))[["low", "high", "std"]].isna().all(axis=None)


def test_curves_approximate_the_expected_losses() -> None:
    for point in curves(simulated(20, noise=0.02)).itertuples():
        assert point.excess == pytest.approx(SLOPES[point.method] * point.rate, abs=0.02)


def test_incomplete_data_sets_are_omitted_from_averages_and_reported() -> None:
    table = simulated(4)
    short = table[~((table["dataset"] == "set 2") & (table["method"] == "mia") & (table["rate"] == 0.5))]
    found = curves(short)
    assert set(found["datasets"]) == {3}
    pd.testing.assert_frame_equal(found, curves(table[table["dataset"] != "set 2"]))
    [sentence] = omissions(short)
    assert sentence.startswith("mcar and im: set 2 is omitted from averages")


def test_point_that_lacks_a_data_set_is_omitted_if_none_is_complete() -> None:
    table = simulated(2)
    lost = ((table["dataset"] == "set 0") & (table["method"] == "mia")) | (
        (table["dataset"] == "set 1") & (table["method"] == "majority")
    )
    short = table[~(lost & (table["rate"] == 0.5))]
    found = curves(short)
    assert set(found["datasets"]) == {2}
    assert set(found["method"][found["rate"] == 0.5]) == {"trinary"}
    assert any("points of majority and mia are omitted" in sentence for sentence in omissions(short))


def test_rate_0_of_another_scenario_is_used() -> None:
    table = simulated()
    alone = table[(table["scenario"] == "mcar") | (table["rate"] > 0)]
    pd.testing.assert_series_equal(
        select(excess(alone), scenario="im", rate=0.5)["excess"].reset_index(drop=True),
        select(excess(table), scenario="im", rate=0.5)["excess"].reset_index(drop=True),
    )


def test_method_without_rate_0_has_no_excess_loss_and_is_reported() -> None:
    table = simulated()
    without = table[(table["method"] != "mia") | (table["rate"] > 0)]
    assert select(excess(without), method="mia")["excess"].isna().all()
    assert "mia has no loss at rate 0, and therefore no excess loss." in omissions(without)


def test_loss_with_a_failed_fold_is_omitted_and_reported() -> None:
    table = simulated()
    table.loc[5, "loss"] = math.nan
    assert len(losses(table)) == len(losses(simulated())) - 1
    assert omissions(table)[0].startswith("1 of 288 losses is omitted because")


def test_complete_results_have_no_omissions() -> None:
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
def test_invalid_results_are_refused(change: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        losses(change(simulated(2)))


def test_losses_are_empty_if_no_case_has_all_folds() -> None:
    table = simulated(1, folds=4)
    apart = table[(table["method"] == "mia") == (table["fold"] < 2)]
    assert losses(apart).empty
