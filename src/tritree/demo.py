"""The main job on data that ships with scikit-learn: fit on complete rows, predict rows with holes.

Run with ``python -m tritree.demo``. Every number is computed on the spot.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor
from tritree.parameters import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

SHARES = (0.0, 0.1, 0.3, 0.5)
PEER = "HistGradientBoosting"
FOLDS = 5


def main() -> None:
    """Print the demonstration."""
    begin = time.perf_counter()
    show_growth()
    print()
    with threadpool_limits(1):  # the peer's threads cost more than they bring on tables this small
        compare_regression()
        print()
        compare_classification()
    print(f"\n{time.perf_counter() - begin:.0f} seconds in all.")


def show_growth() -> None:
    """Show a small tree, and its third branches appear as rows need them."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    tree = TrinaryTreeRegressor(max_depth=2).fit(X, y)
    _title("A tree fitted to complete rows: the progress of diabetes in 442 patients")
    print(tree.to_text())

    row = X.iloc[[0]].copy()
    print(f"\nThe first patient, everything known:      {tree.predict(row)[0]:6.1f}")
    row["bmi"] = np.nan
    print(f"The same without the body mass index:     {tree.predict(row)[0]:6.1f}")
    row["s5"] = np.nan
    print(f"The same without the blood value s5 too:  {tree.predict(row)[0]:6.1f}")
    print(f"\nThe {tree.n_grown_} nodes that these rows needed have grown meanwhile:\n")
    print(tree.to_text())


def compare_regression() -> None:
    """Compare the strategies on a numeric response."""
    X, y = load_diabetes(return_X_y=True)
    models = {missing: TrinaryTreeRegressor(missing=missing) for missing in STRATEGIES}
    folds = list(KFold(FOLDS, shuffle=True, random_state=0).split(X))
    _title(
        f"Diabetes, {X.shape[0]} rows x {X.shape[1]} columns: mean squared error by share of holes when predicting"
    )
    _compare(
        X,
        y,
        folds,
        models | {PEER: HistGradientBoostingRegressor(random_state=0)},
        lambda model, rows, truth: mean_squared_error(truth, model.predict(rows)),
        decimals=0,
    )


def compare_classification() -> None:
    """Compare the strategies on classes."""
    X, y = load_breast_cancer(return_X_y=True)
    models = {missing: TrinaryTreeClassifier(missing=missing) for missing in STRATEGIES}
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y))
    _title(
        f"Breast cancer, {X.shape[0]} rows x {X.shape[1]} columns: cross-entropy by share of holes when predicting"
    )
    _compare(
        X,
        y,
        folds,
        models | {PEER: HistGradientBoostingClassifier(random_state=0)},
        lambda model, rows, truth: log_loss(truth, model.predict_proba(rows)),
        decimals=3,
    )


def _compare(
    X: NDArray[np.float64],
    y: NDArray[Any],
    folds: list[tuple[NDArray[Any], NDArray[Any]]],
    models: dict[str, Any],
    loss: Callable[[Any, NDArray[np.float64], NDArray[Any]], float],
    *,
    decimals: int,
) -> None:
    """Print the loss of each model on held-out rows, the same holes for all; training rows are complete."""
    chance = np.random.default_rng(0).random(X.shape)
    heading = "".join(f"{share:>9.0%}" for share in SHARES)
    print(f"{'strategy':<24}{heading}{'nodes fitted':>15}{'now':>7}")
    for name, model in models.items():
        losses = np.zeros(len(SHARES))
        fitted = grown = 0
        for train, test in folds:
            model.fit(X[train], y[train])
            fitted += getattr(model, "n_nodes_", 0)
            for i, share in enumerate(SHARES):
                rows = np.where(chance[test] < share, np.nan, X[test])
                losses[i] += loss(model, rows, y[test]) / len(folds)
            grown += getattr(model, "n_nodes_", 0)
        nodes = (
            f"{fitted / len(folds):15.0f}{grown / len(folds):7.0f}"
            if fitted
            else "   (100 trees, for comparison)"
        )
        print(f"{name:<24}{''.join(f'{value:>9.{decimals}f}' for value in losses)}{nodes}")
    print(f"(averages over {len(folds)} folds; smaller is better)")


def _title(text: str) -> None:
    print(f"{text}\n{'─' * len(text)}")


if __name__ == "__main__":
    main()
