"""Decision trees that learn from tables with holes."""

from importlib.metadata import version

from tritree.errors import (
    ColumnError,
    ColumnMatchWarning,
    CutShortWarning,
    GrowthLimitError,
    ModelFileError,
)
from tritree.estimators import TrinaryTreeClassifier, TrinaryTreeRegressor
from tritree.files import load
from tritree.views.holes import plot_holes

__version__ = version("tritree")
__all__ = [
    "ColumnError",
    "ColumnMatchWarning",
    "CutShortWarning",
    "GrowthLimitError",
    "ModelFileError",
    "TrinaryTreeClassifier",
    "TrinaryTreeRegressor",
    "__version__",
    "load",
    "plot_holes",
]
