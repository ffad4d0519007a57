"""Results of an experiment as tables: losses, excess losses, mean ranks, and comparisons with significance tests."""

from tritree.lab.ranks.averages import check_results, curves, excess, losses, omissions
from tritree.lab.ranks.comparison import Comparison, compare_methods, compare_unchanged
from tritree.lab.ranks.names import DISPLAY_NAMES, scenario_name
from tritree.lab.ranks.ranking import Ranks, mean_ranks
from tritree.lab.ranks.scores import ScenarioScores, scenario_scores
from tritree.lab.ranks.verdict import Verdict, judge

__all__ = [
    "DISPLAY_NAMES",
    "Comparison",
    "Ranks",
    "ScenarioScores",
    "Verdict",
    "check_results",
    "compare_methods",
    "compare_unchanged",
    "curves",
    "excess",
    "judge",
    "losses",
    "mean_ranks",
    "omissions",
    "scenario_name",
    "scenario_scores",
]
