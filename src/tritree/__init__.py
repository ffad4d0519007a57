"""Decision trees, random forests and gradient boosting for tables with missing values."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tritree.errors import (
    ColumnError,
    ColumnMatchWarning,
    DataError,
    DateTextWarning,
    GraftError,
    GrowthLimitError,
    IdentifierWarning,
    ModelFileError,
    NumberTextWarning,
    ParameterError,
    SampleWeightError,
    TargetError,
    UngrownBranchWarning,
    UngrownExportWarning,
    UnknownCategoryError,
    UnknownValuesWarning,
)

if TYPE_CHECKING:
    from tritree.estimators.boosting import TrinaryBoostingClassifier, TrinaryBoostingRegressor
    from tritree.estimators.forest import TrinaryForestClassifier, TrinaryForestRegressor
    from tritree.estimators.grafted import GraftedClassifier, GraftedRegressor
    from tritree.estimators.tree import TrinaryTreeClassifier, TrinaryTreeRegressor
    from tritree.graft import graft
    from tritree.inspection.missing_patterns import plot_missing
    from tritree.serialization import load

    __version__: str

__all__ = [
    "ColumnError",
    "ColumnMatchWarning",
    "DataError",
    "DateTextWarning",
    "GraftError",
    "GraftedClassifier",
    "GraftedRegressor",
    "GrowthLimitError",
    "IdentifierWarning",
    "ModelFileError",
    "NumberTextWarning",
    "ParameterError",
    "SampleWeightError",
    "TargetError",
    "TrinaryBoostingClassifier",
    "TrinaryBoostingRegressor",
    "TrinaryForestClassifier",
    "TrinaryForestRegressor",
    "TrinaryTreeClassifier",
    "TrinaryTreeRegressor",
    "UngrownBranchWarning",
    "UngrownExportWarning",
    "UnknownCategoryError",
    "UnknownValuesWarning",
    "__version__",
    "graft",
    "load",
    "plot_missing",
]

# what needs scikit-learn is imported when it is first asked for, so that tritree --help is quick
_LATER = {
    "GraftedClassifier": "tritree.estimators.grafted",
    "GraftedRegressor": "tritree.estimators.grafted",
    "TrinaryBoostingClassifier": "tritree.estimators.boosting",
    "TrinaryBoostingRegressor": "tritree.estimators.boosting",
    "TrinaryForestClassifier": "tritree.estimators.forest",
    "TrinaryForestRegressor": "tritree.estimators.forest",
    "TrinaryTreeClassifier": "tritree.estimators.tree",
    "TrinaryTreeRegressor": "tritree.estimators.tree",
    "load": "tritree.serialization",
    "plot_missing": "tritree.inspection.missing_patterns",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("tritree")
    elif name == "graft":  # a package that is a function as well
        value = import_module("tritree.graft")
    elif name in _LATER:
        value = getattr(import_module(_LATER[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
