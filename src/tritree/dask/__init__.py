"""Boosting on a cluster: the model of the whole table, to the last bit, fitted where the partitions of a table are.

Needs ``pip install "tritree[dask]"``; ``import tritree`` imports nothing of it.
"""

from tritree.dask.estimators import DaskTrinaryBoostingClassifier, DaskTrinaryBoostingRegressor

__all__ = ["DaskTrinaryBoostingClassifier", "DaskTrinaryBoostingRegressor"]
