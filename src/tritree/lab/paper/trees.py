"""Trees as grown in the runs behind the paper's Figure 2, where these deviate from the paper's text."""

from __future__ import annotations

from typing import Any

from tritree.estimators.tree import TrinaryTreeClassifier, TrinaryTreeRegressor


class AuthorRegressor(TrinaryTreeRegressor):
    """Regression tree whose fractional splits need fewer observed rows.

    For ``min_samples_leaf`` a row with a missing value counts fully on both sides of a split, not by its fraction.
    """

    def _core_options(self) -> dict[str, Any]:
        return {"missing_counts_on_both_sides": True}


class AuthorClassifier(TrinaryTreeClassifier):
    """Classification tree that does the same, and multiplies a node's cross-entropy by its number of rows once more."""

    def _core_options(self) -> dict[str, Any]:
        return {"missing_counts_on_both_sides": True, "criterion": "entropy_times_rows"}
