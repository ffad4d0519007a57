"""Trees as they grew in the runs behind the paper's figure, where these differ from the paper's text."""

from __future__ import annotations

from typing import ClassVar

from tritree.estimators.tree import TrinaryTreeClassifier, TrinaryTreeRegressor

__all__ = ["AuthorClassifier", "AuthorRegressor"]


class AuthorRegressor(TrinaryTreeRegressor):
    """The regressor whose fractional splits need fewer observed rows.

    In ``min_samples_leaf`` a row with a missing value counts wholly on both sides of a split, not by its share.
    """

    _missing_counts_twice = True


class AuthorClassifier(TrinaryTreeClassifier):
    """The classifier that does the same, and multiplies the cross-entropy of a node once more by its rows."""

    _missing_counts_twice = True
    _criteria: ClassVar[tuple[str, ...]] = ("entropy_times_rows",)

    # scikit-learn reads the parameters of a class from its own signature
    def __init__(
        self,
        *,
        missing: str = "trinary",
        criterion: str = "entropy_times_rows",
        max_depth: int | None = 5,
        min_samples_leaf: int = 20,
        split_on_missing: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            missing=missing,
            criterion=criterion,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            split_on_missing=split_on_missing,
            n_jobs=n_jobs,
        )
