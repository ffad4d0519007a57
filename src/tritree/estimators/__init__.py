"""The six estimators: single trees, forests and gradient boosting, each for regression and classification."""
