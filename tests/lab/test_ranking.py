"""Mean ranks and their tests agree with SciPy, and conclusions claim no more than was tested."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from experiments import paper_results, select, simulated
from hypothesis import given, settings
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")
stats = pytest.importorskip("scipy.stats")

from tritree.lab.ranks import mean_ranks  # noqa: E402
from tritree.lab.ranks.significance import holm  # noqa: E402


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
def test_ties_share_their_rank_as_in_scipy(values: list[list[int]]) -> None:
    found = mean_ranks(one_case(values)).table.set_index("method")["mean_rank"]
    expected = stats.rankdata(values, axis=1).mean(axis=0)
    np.testing.assert_allclose([found[f"m{j}"] for j in range(4)], expected)


def test_tests_are_those_of_scipy_over_data_sets() -> None:
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


def test_unit_of_the_loss_makes_no_difference() -> None:
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


def test_order_of_the_expected_losses_is_found() -> None:
    ranks = mean_ranks(simulated(10))
    for scenario in ("mcar", "im"):
        assert select(ranks.table, scenario=scenario)["method"].tolist() == ["trinary", "mia", "majority"]
    assert (ranks.table["p_holm"].dropna() < 0.05).all()
    assert ranks.conclusions[0].startswith("mcar: trinary ranks first (mean rank 1.")


def test_identical_methods_are_tied_and_not_significantly_different() -> None:
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


def test_case_that_a_method_lacks_is_not_ranked_and_reported() -> None:
    table = simulated(4)
    short = table[(table["method"] != "mia") | (table["scenario"] != "im") | (table["rate"] < 0.5)]
    ranks = mean_ranks(short)
    assert ranks.overall["cases"].tolist() == [16, 8]
    assert "im: 8 of 16 cases are not ranked, because mia has no loss there." in ranks.notes


def test_methods_that_share_no_case_are_refused() -> None:
    table = simulated(2)
    with pytest.raises(ValueError, match=r"no case .* in which all methods have a loss; rank fewer methods"):
        mean_ranks(table[(table["method"] == "mia") == (table["dataset"] == "set 0")])


def test_too_few_data_sets_for_significance_are_reported() -> None:
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
    assert select(table, scenario="mcar_test")["method"].tolist() == ["trinary", "fractional", "majority"]
    assert set(select(table, scenario="mcar")["method"].head(2)) == {"trinary", "trinary_mia"}
    assert set(select(table, scenario="im")["method"].head(2)) == {"mia", "trinary_mia"}


def test_data_sets_can_be_ranked_one_by_one() -> None:
    table = simulated(3)
    ranks = mean_ranks(table, by="dataset")
    assert ranks.overall["dataset"].tolist() == ["set 0", "set 1", "set 2"]
    for name in ranks.overall["dataset"]:
        alone = mean_ranks(select(table, dataset=name), by=None).table
        found = select(ranks.table, dataset=name).drop(columns="dataset").reset_index(drop=True)
        pd.testing.assert_frame_equal(found, alone)
