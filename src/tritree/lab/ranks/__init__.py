"""Results of an experiment as tables: losses, excess losses, mean ranks, and comparisons with significance tests."""

from tritree.lab.ranks.averages import check_results, curves, excess, losses, omissions
from tritree.lab.ranks.comparison import Comparison, compare_methods, compare_unchanged
from tritree.lab.ranks.names import DISPLAY_NAMES, scenario_name
from tritree.lab.ranks.ranking import Ranks, mean_ranks

__all__ = [
    "DISPLAY_NAMES",
    "Comparison",
    "Ranks",
    "check_results",
    "compare_methods",
    "compare_unchanged",
    "curves",
    "excess",
    "losses",
    "mean_ranks",
    "omissions",
    "scenario_name",
]
