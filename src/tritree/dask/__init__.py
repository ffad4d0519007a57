"""Estimators on a cluster of Dask: the local model, to the last bit, of a table whose partitions are anywhere.

Needs ``pip install "tritree[dask]"``; ``import tritree`` imports nothing of it.
"""

from tritree.dask.boosting import DaskTrinaryBoostingClassifier, DaskTrinaryBoostingRegressor
from tritree.dask.trees import (
    DaskTrinaryForestClassifier,
    DaskTrinaryForestRegressor,
    DaskTrinaryTreeClassifier,
    DaskTrinaryTreeRegressor,
)

__all__ = [
    "DaskTrinaryBoostingClassifier",
    "DaskTrinaryBoostingRegressor",
    "DaskTrinaryForestClassifier",
    "DaskTrinaryForestRegressor",
    "DaskTrinaryTreeClassifier",
    "DaskTrinaryTreeRegressor",
]
