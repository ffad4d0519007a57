"""The experiment of the paper's Section 4, in two variants: as its text describes it, and as its author ran it.

The variants differ in these points:

===================  ==========================================  =================================================
subject              text                                        author's runs
===================  ==========================================  =================================================
IM, numbers          the largest values are removed first        the smallest values are removed first
MIA, TrinaryMIA      missing against observed is a split, too    missing values go left or right only
FC, minimum leaf     a row with a missing value counts by its    it counts fully on both sides
                     fractions
cross-entropy        summed over the rows of a node              that sum times the rows of the node, in the search
Wheat seeds          classification                              regression on 1, 2 and 3
excess loss          loss / loss without missing values          that ratio minus 1
===================  ==========================================  =================================================

In these points they differ as well, but both variants here follow the author's runs:

===================  ==========================================  =================================================
subject              text                                        author's runs, and both variants here
===================  ==========================================  =================================================
Majority, on a tie   right in training, left in prediction       right in both
tuning               ten folds, a depth of at most 5             the same, with a majority tree on the complete
                                                                 data set: 0, 1, 2 until the loss stops falling
Boston Housing       classification                              regression: its target is a price
===================  ==========================================  =================================================
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pandas as pd

from tritree.estimators.tree import TrinaryTreeClassifier, TrinaryTreeRegressor
from tritree.lab.experiment import RATES, Experiment
from tritree.lab.paper.datasets import NAMES, load
from tritree.lab.scenarios import in_both, in_test
from tritree.validation import check_choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritree.lab.ranks.averages import Measure

#: The variants, each with its measure of excess loss.
MEASURES: dict[str, Measure] = {"author": "excess", "text": "ratio"}
#: The strategies that the paper compares.
STRATEGIES = ("majority", "mia", "fractional", "trinary", "trinary_mia")
#: Losses of the author's runs on complete data: mean squared errors, and sums of cross-entropies.
LOSSES = {
    "auto_mpg": 11.44263991524434,
    "black_friday": 24988488.259007856,
    "boston_housing": 21.932669405866655,
    "cement": 74.84955083016166,
    "life_expectancy": 13.729348027832336,
    "lymphography": 72.38729753344847,
    "seeds": 0.2817677245929493,
    "titanic": 327.91094957404977,
}


class _GrowsAsInPaperRuns:
    def _core_options(self) -> dict[str, Any]:
        return {"as_in_paper_runs": True}


class AuthorRegressor(_GrowsAsInPaperRuns, TrinaryTreeRegressor):
    """Regression tree whose fractional splits need fewer observed rows.

    For ``min_samples_leaf`` a row with a missing value counts fully on both sides of a split, not by its fraction.
    """


class AuthorClassifier(_GrowsAsInPaperRuns, TrinaryTreeClassifier):
    """Classification tree that does the same, and multiplies a node's cross-entropy by its number of rows once more."""


class AuthorExperiment(Experiment):
    """Experiment whose trees grow as in the author's runs."""

    _tree_classes = (AuthorRegressor, AuthorClassifier)


def paper_experiment(
    variant: str = "author",
    *,
    datasets: Sequence[str] = NAMES,
    rates: Sequence[float] = RATES,
    seeds: int = 3,
    data_dir: Any = None,
    store: Any = None,
) -> Experiment:
    """Return the paper's experiment: eight data sets, three scenarios, ten rates, five strategies, ten folds.

    Parameters
    ----------
    variant : {"author", "text"}, default="author"
        Whether to repeat the author's runs or to follow the paper's text.
    datasets : sequence of str, default=all
        Names of data sets.
    rates : sequence of float, default=(0, 0.1, ..., 0.9)
        Fractions of cells to remove.
    seeds : int, default=3
        Number of repetitions with other missing cells.
    data_dir : str, path-like or None, default=None
        Folder of the data sets; see `tritree.lab.paper.datasets.load`.
    store : str, path-like or None, default=None
        File that keeps finished results.
    """
    check_choice("variant", variant, tuple(MEASURES))
    as_author = variant == "author"
    return (AuthorExperiment if as_author else Experiment)(
        datasets=[load(name, data_dir, as_author=as_author) for name in datasets],
        scenarios=(
            in_both("mcar"),
            in_test("mcar"),
            in_both("im", direction="smallest" if as_author else "largest"),
        ),
        rates=rates,
        methods={name: name for name in STRATEGIES},
        seeds=seeds,
        options={"split_on_missing": not as_author},
        store=store,
    )


def figure2() -> pd.DataFrame:
    """Return the curves of the paper's Figure 2: ``scenario``, ``missingness``, ``strategy`` and ``excess_loss``.

    The excess loss is a ratio minus 1.
    """
    with (files("tritree.lab.paper") / "figure2.csv").open(encoding="utf-8") as file:
        wide = pd.read_csv(file)  # a column per strategy, empty where the figure does not have it
    long = wide.melt(["scenario", "missingness"], None, "strategy", "excess_loss", ignore_index=False)
    return long.sort_index(kind="stable").dropna().reset_index(drop=True)
