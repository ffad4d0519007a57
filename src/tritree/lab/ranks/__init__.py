"""What comes out of an experiment, as tables: losses, excess losses, mean ranks, comparisons with their tests."""

from tritree.lab.ranks.averages import checked, curves, excess, losses
from tritree.lab.ranks.gaps import gaps
from tritree.lab.ranks.names import PAPER_NAMES, paper_name, scenario_name
from tritree.lab.ranks.order import Ranks, mean_ranks
from tritree.lab.ranks.pairs import Comparison, compare_methods

__all__ = [
    "PAPER_NAMES",
    "Comparison",
    "Ranks",
    "checked",
    "compare_methods",
    "curves",
    "excess",
    "gaps",
    "losses",
    "mean_ranks",
    "paper_name",
    "scenario_name",
]
