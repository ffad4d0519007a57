"""Estimators on a cluster of Dask: the local model, to the last bit, of a table whose partitions are anywhere.

A partition is one of Dask's, a block is a partition whose rows are binned, and a part is the rows that a worker boosts.

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
