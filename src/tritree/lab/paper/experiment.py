"""The experiment of the paper (its Section 4), in two readings: what its text says, and what its author ran.

They differ in a few places, and what is chosen by the reading is:

===================  ==========================================  =================================================
what                 the text                                    the author's runs
===================  ==========================================  =================================================
IM, numbers          the largest values are removed first        the smallest values are
MIA, TrinaryMIA      missing against observed is a split, too    missing joins the left or the right side only
FC, the least leaf   a row with a hole counts by its shares      it counts wholly on both sides
cross-entropy        summed over the rows of a node              that sum times the rows of the node, in the search
Wheat seeds          classes                                     a regression on 1, 2 and 3
excess loss          loss / loss without holes                   that ratio less one
===================  ==========================================  =================================================

In these they differ as well, and the same is done in both readings:

===================  ==========================================  =================================================
what                 the text                                    the author's runs, and both readings here
===================  ==========================================  =================================================
Majority, on a tie   right in training, left in prediction       right in both
tuning               ten folds, a depth of at most 5             the same, with a majority tree on the complete
                                                                 data set: 0, 1, 2 until the loss stops falling
Boston Housing       classes                                     a regression: its response is a price
===================  ==========================================  =================================================
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pandas as pd

from tritree.lab.data import NAMES, load
from tritree.lab.experiment import RATES, Experiment
from tritree.lab.paper.trees import AuthorClassifier, AuthorRegressor
from tritree.lab.scenarios import in_both, in_test
from tritree.validation import check_choice

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LOSSES", "READINGS", "STRATEGIES", "AuthorExperiment", "figure2", "paper_experiment"]

READINGS = ("author", "text")
#: The strategies that the paper compares.
STRATEGIES = ("majority", "mia", "fractional", "trinary", "trinary_mia")
#: The losses of the author's runs without holes, in all their digits: mean squared errors, and sums of cross-entropies.
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


class AuthorExperiment(Experiment):
    """Experiment whose trees grow as in the author's runs."""

    _tree_classes = (AuthorRegressor, AuthorClassifier)


def paper_experiment(
    reading: str = "author",
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
    reading : {"author", "text"}, default="author"
        Which of the two readings.
    datasets, rates, seeds
        Less than all of it, or more seeds.
    data_dir : str, path-like or None
        Where the data sets are; see `tritree.lab.data.load`.
    store : str, path-like or None
        The file that keeps finished cells.
    """
    check_choice("reading", reading, READINGS)
    as_author = reading == "author"
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
    """Return the curves of the paper's Figure 2: scenario, missingness, strategy and excess loss (a ratio less one)."""
    with (files("tritree.lab.paper") / "figure2.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file)
