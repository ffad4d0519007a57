"""tritree itself as contenders: one tree, boosting, a forest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.contender import Contender

if TYPE_CHECKING:
    from benchmarks.contender import Settings

__all__ = ["OURS", "Boosting", "Forest", "TriTree"]


class TriTree(Contender):
    """One tree."""

    modules = ("tritree",)

    def __init__(self, missing: str = "trinary") -> None:
        self.missing = missing
        self.name = "tritree" if missing == "trinary" else f"tritree ({missing})"  # type: ignore[misc]

    def fit(self, X: Any, y: Any, settings: Settings) -> Any:  # noqa: D102
        import tritree

        kind = tritree.TrinaryTreeClassifier if settings.n_classes else tritree.TrinaryTreeRegressor
        return kind(
            missing=self.missing,
            max_depth=settings.depth,
            min_samples_leaf=settings.leaf,
            max_bins=settings.bins,
            n_jobs=settings.threads,
        ).fit(X, y)


class Boosting(Contender):
    """Boosting, with third branches where a column has had no holes; nothing is held back, as in the others."""

    name = "tritree boosting"
    modules = ("tritree",)

    def fit(self, X: Any, y: Any, settings: Settings) -> Any:  # noqa: D102
        import tritree

        return tritree.TrinaryBoostingRegressor(
            max_iter=settings.trees,
            learning_rate=settings.rate,
            max_depth=settings.depth,
            min_samples_leaf=settings.leaf,
            l2_regularization=0.0,
            max_features=1.0,
            max_bins=settings.bins,  # type: ignore[arg-type]  # it refuses None itself
            random_state=settings.seed,
            n_jobs=settings.threads,
        ).fit(X, y)


class Forest(Contender):
    """A forest of trees of full depth."""

    name = "tritree forest"
    modules = ("tritree",)

    def fit(self, X: Any, y: Any, settings: Settings) -> Any:  # noqa: D102
        import tritree

        return tritree.TrinaryForestRegressor(
            n_estimators=settings.trees,
            max_depth=None,
            min_samples_leaf=settings.leaf,
            max_features=settings.features,
            max_bins=settings.bins,
            random_state=settings.seed,
            n_jobs=settings.threads,
        ).fit(X, y)


#: Each by its name.
OURS: dict[str, Contender] = {each.name: each for each in (TriTree(), Boosting(), Forest())}
