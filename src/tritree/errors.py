"""The errors and warnings that are tritree's own."""

import sys
import warnings
from pathlib import Path
from types import FrameType

__all__ = [
    "ColumnError",
    "ColumnMatchWarning",
    "GrowthLimitError",
    "ModelFileError",
    "UngrownBranchWarning",
    "shortened",
    "warn_caller",
]

_PACKAGE = str(Path(__file__).parent)


class ColumnError(ValueError, TypeError):
    """A column that cannot be learned from: a kind, a value or a number of categories the tree has no use for."""


class GrowthLimitError(RuntimeError):
    """Growing on would pass the number of nodes that was allowed; what was grown stays."""


class ModelFileError(ValueError):
    """A file that is no model, or not a whole one; nothing in it was run."""


class ColumnMatchWarning(UserWarning):
    """Columns of a table to predict that are absent, or that training did not have."""


class UngrownBranchWarning(UserWarning):
    """Rows met a third branch that a detached tree can no longer grow and got their node's value."""


def shortened(value: object, most: int = 80) -> str:
    """Return a value as a message shows it: a name of thousands of characters would hide what is wrong with it."""
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn where the package was called from, however deep inside it the reason was found."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_inside(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_inside(frame: FrameType) -> bool:
    """Return whether a frame is the package's, or of what scikit-learn wraps around its methods."""
    wrappers = ("sklearn.base", "sklearn.callback")
    return frame.f_code.co_filename.startswith(_PACKAGE) or frame.f_globals.get("__name__", "").startswith(
        wrappers
    )
