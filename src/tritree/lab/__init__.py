"""A laboratory for missing values: make holes in a table, see where holes are, and what comes of them.

Needs ``pip install tritree[lab]``.
"""

from typing import TYPE_CHECKING, Any

try:
    import pandas as pd  # noqa: F401 - whoever lacks it is told so here, once
except ImportError as error:
    raise ImportError(
        f"the laboratory needs pandas, which cannot be imported ({error}); pip install tritree[lab]"
    ) from error

from tritree.lab.ampute import ampute
from tritree.lab.data import Dataset
from tritree.lab.experiment import Experiment
from tritree.lab.profile import Profile, profile
from tritree.lab.ranks import compare_methods, mean_ranks
from tritree.lab.scenarios import in_both, in_test, shifted
from tritree.lab.trial import Folds

if TYPE_CHECKING:
    from tritree.lab.report import write_report

__all__ = [
    "Dataset",
    "Experiment",
    "Folds",
    "Profile",
    "ampute",
    "compare_methods",
    "in_both",
    "in_test",
    "mean_ranks",
    "profile",
    "shifted",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name == "write_report":  # which draws, and so needs matplotlib
        from tritree.lab.report import write_report

        return write_report
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
