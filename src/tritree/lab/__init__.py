"""Experiments with missing values: amputation of tables, profiles of missing values, comparison of methods.

Needs ``pip install tritree[lab]``.
"""

from typing import TYPE_CHECKING, Any

try:
    import pandas as pd  # noqa: F401 - so that the error says what to install
except ImportError as error:
    raise ImportError(
        f"tritree.lab needs pandas, which cannot be imported ({error}); pip install tritree[lab]"
    ) from error

from tritree.lab.ampute import ampute
from tritree.lab.dataset import Dataset
from tritree.lab.experiment import Experiment, FailedTrialsWarning
from tritree.lab.missing_profile import MissingProfile, profile_missing
from tritree.lab.ranks import compare_methods, mean_ranks
from tritree.lab.scenarios import Amputation, Scenario, in_both, in_test, shifted
from tritree.lab.store import StoreError
from tritree.lab.trial import Folds

if TYPE_CHECKING:
    from tritree.lab.report import write_report

__all__ = [
    "Amputation",
    "Dataset",
    "Experiment",
    "FailedTrialsWarning",
    "Folds",
    "MissingProfile",
    "Scenario",
    "StoreError",
    "ampute",
    "compare_methods",
    "in_both",
    "in_test",
    "mean_ranks",
    "profile_missing",
    "shifted",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name == "write_report":  # which draws, and so needs matplotlib
        from tritree.lab.report import write_report

        return write_report
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
