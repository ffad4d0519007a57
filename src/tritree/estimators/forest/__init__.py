"""Random forests whose trees have third branches."""

from tritree.estimators.forest.estimators import TrinaryForestClassifier, TrinaryForestRegressor

__all__ = ["TrinaryForestClassifier", "TrinaryForestRegressor"]
