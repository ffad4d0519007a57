"""Decision trees that learn from tables with holes."""

from importlib.metadata import version

from tritree.errors import ColumnError, ColumnMatchWarning, CutShortWarning, GrowthLimitError
from tritree.estimators import TrinaryTreeClassifier, TrinaryTreeRegressor

__version__ = version("tritree")
__all__ = [
    "ColumnError",
    "ColumnMatchWarning",
    "CutShortWarning",
    "GrowthLimitError",
    "TrinaryTreeClassifier",
    "TrinaryTreeRegressor",
    "__version__",
]
