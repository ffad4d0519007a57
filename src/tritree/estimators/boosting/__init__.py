"""Gradient boosting whose trees have third branches, so that answers stay right when fields go missing."""

from tritree.estimators.boosting.estimators import TrinaryBoostingClassifier, TrinaryBoostingRegressor

__all__ = ["TrinaryBoostingClassifier", "TrinaryBoostingRegressor"]
