"""The paper's experiment comes out as the author's runs did wherever chance plays no part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from data_paths import DATA
from experiments import paper_results

from tritree.lab.paper import paper_experiment
from tritree.lab.paper.agreement import (
    agreement_tables,
    agreement_text,
    compare_curves,
    compare_losses,
    compare_order,
    reason_not_comparable,
)
from tritree.lab.paper.experiment import LOSSES

needs_data = pytest.mark.skipif(
    not (DATA / "paper" / "seeds.csv").exists(), reason="no data sets of the paper; set TRITREE_DATA"
)


def run(
    name: str, seeds: int = 1, variant: str = "author", rates: tuple[float, ...] = (0.1,)
) -> pd.DataFrame:
    return paper_experiment(variant, datasets=[name], rates=rates, seeds=seeds, data_dir=DATA).run(1)


@pytest.fixture(scope="module")
def seeds_as_author() -> pd.DataFrame:
    return run("seeds")


def with_seeds(results: Any, n: int) -> Any:
    """Return results as if with n seeds, each with slightly lower losses than the one before."""
    return pd.concat([results.assign(seed=i, loss=results["loss"] * (1 + 0.01 * i)) for i in range(n)])


# ------------------------------------------------------------------------------------- the author's runs, held against


def test_authors_own_losses_have_no_difference() -> None:
    table = compare_losses(paper_results())
    assert set(table["dataset"]) == set(LOSSES)
    np.testing.assert_allclose(table["relative_difference"], 0, atol=1e-15)
    assert agreement_text(paper_results()).count("difference +0.0000%") == 8


def test_authors_own_losses_make_the_papers_curves_in_its_order() -> None:
    assert reason_not_comparable(paper_results()) is None
    table = compare_curves(paper_results())
    np.testing.assert_allclose(table["excess"], table["paper"], rtol=0, atol=1e-5)  # it has 5 decimals
    assert len(compare_order(paper_results())) == 3
    assert compare_order(paper_results())["same"].all()


def test_fraction_within_the_range_is_compared_with_chance() -> None:
    text = agreement_text(with_seeds(paper_results(), 3))
    assert "one more seed would lie within the range of our 3 at 50% of the points" in text


def test_one_seed_has_no_band() -> None:
    text = agreement_text(paper_results())
    assert "one seed has no range" in text
    assert " of 1;" not in text


@pytest.mark.parametrize(
    ("variant", "query", "words"),
    [
        (
            "author",
            "dataset != 'seeds'",
            "means over its 8 data sets, and this run does not have all of them",
        ),
        ("author", "dataset != 'seeds' or rate < 0.5", "this run does not have all of them"),
        ("author", "rate == 0", "has none of these"),
        ("text", "rate >= 0", "this run follows the text"),
    ],
    ids=["a set less", "a part of a set less", "no rates", "text"],
)
def test_run_that_is_not_the_papers_is_not_compared_with_its_curves(
    variant: str, query: str, words: str
) -> None:
    text = agreement_text(with_seeds(paper_results(), 3).query(query), variant)
    [reason] = [line for line in text.splitlines() if line.startswith("Not compared")]
    assert words in reason
    for false in ("not the same", "one more seed", "tritree", "range", "paper  "):
        assert false not in text


def test_run_at_other_rates_has_its_own_order_and_curves() -> None:
    results = paper_results().query("rate in (0.0, 0.1)").replace({"rate": {0.1: 0.25}})
    order = agreement_tables(results)["order"]
    assert order["run"].tolist() == compare_order(paper_results().query("rate in (0.0, 0.1)"))["run"].tolist()
    text = agreement_text(results)
    assert "this run has none of these" in text
    assert all(run in text for run in order["run"])
    assert "25%" in text
    assert order["paper"].isna().all()


def test_order_marks_equal_strategies() -> None:
    results = paper_results().query("scenario == 'mcar' and method in ('trinary', 'mia')")
    alike = results.assign(
        loss=results.groupby(["dataset", "scenario", "rate", "fold"])["loss"].transform("mean")
    )
    assert set(agreement_tables(alike)["order"]["run"]) == {"MIA = Trinary"}


def test_run_without_removed_cells_has_no_order() -> None:
    assert agreement_tables(paper_results().query("rate == 0"))["order"].empty
    assert "no excess loss to order" in agreement_text(paper_results().query("rate == 0"))


# ------------------------------------------------------------------------------------------------------ ours, run here


@needs_data
def test_losses_without_missing_values_are_the_authors(seeds_as_author: pd.DataFrame) -> None:
    # cement and the others take longer; the whole table is in docs/paper.md
    assert compare_losses(seeds_as_author).loc[0, "loss"] == pytest.approx(0.28177, abs=5e-6)


@needs_data
@pytest.mark.parametrize(
    ("method", "loss"),
    [("trinary", 0.36520), ("mia", 0.29805), ("trinary_mia", 0.29805), ("fractional", 0.35336)],
)
def test_losses_with_the_smallest_values_removed_are_the_authors(
    seeds_as_author: pd.DataFrame, method: str, loss: float
) -> None:
    table = seeds_as_author.query(f"scenario == 'im' and rate == 0.1 and method == '{method}'")
    assert (table["loss"] * table["rows"]).sum() / table["rows"].sum() == pytest.approx(loss, abs=5e-6)


@needs_data
def test_wheat_seeds_are_a_classification_in_the_text_variant() -> None:
    text = agreement_text(run("seeds", variant="text"), "text")
    assert "as a regression" in text
    assert "difference" not in text
