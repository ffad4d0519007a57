"""Plot the loss of other libraries' models as fields go missing, as they are and grafted.

The table is scikit-learn's breast cancer data: 569 tumours, 30 measurements, benign or malignant. Every library has its
default parameters and is trained on complete rows; grafting needs the model and these rows, no labels. LightGBM,
XGBoost and CatBoost are drawn if they are installed.

Run it with ``python examples/graft.py [folder]``; it writes ``graft.png`` to that folder.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from tritree import graft

RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


def installed_models() -> dict[str, Any]:
    """Return a classifier of each library that is installed, with its default parameters."""
    models: dict[str, Any] = {"HistGradientBoosting": HistGradientBoostingClassifier(random_state=0)}
    try:
        from lightgbm import LGBMClassifier

        models["LightGBM"] = LGBMClassifier(verbose=-1, n_jobs=1)
    except ImportError:
        pass
    try:
        from xgboost import XGBClassifier

        models["XGBoost"] = XGBClassifier(n_jobs=1)
    except ImportError:
        pass
    try:
        from catboost import CatBoostClassifier

        models["CatBoost"] = CatBoostClassifier(
            iterations=300, verbose=False, thread_count=1, allow_writing_files=False
        )
    except ImportError:
        pass
    return models


def losses(model: Any, X: Any, y: Any) -> dict[str, list[float]]:
    """Return the mean loss over three folds at each rate of missing cells, as it is and grafted."""
    found = {"as it is": np.zeros(len(RATES)), "grafted": np.zeros(len(RATES))}
    rng = np.random.default_rng(0)
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        model.fit(X[train], y[train])
        both = {"as it is": model, "grafted": graft(model, X[train], random_state=0)}
        ranks = rng.random((len(test), X.shape[1]))
        for position, rate in enumerate(RATES):
            rows = np.where(ranks < rate, np.nan, X[test])
            for name, one in both.items():
                found[name][position] += log_loss(y[test], one.predict_proba(rows)) / 3
    return {name: values.tolist() for name, values in found.items()}


def main() -> None:
    """Draw a panel for each library."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    X, y = load_breast_cancer(return_X_y=True)
    models = installed_models()
    figure, axes = plt.subplots(
        1, len(models), figsize=(2.7 * len(models) + 0.6, 3.4), sharey=True, squeeze=False
    )
    for ax, (name, model) in zip(axes[0], models.items(), strict=True):
        for label, values in losses(model, X, y).items():
            is_grafted = label == "grafted"
            color, style = ("tab:blue", "-") if is_grafted else ("tab:gray", "--")
            ax.plot(RATES, values, style, color=color, marker="o", markersize=4, linewidth=2, label=label)
        ax.set_title(name, loc="left", fontsize=11)
        ax.set_xlabel("fraction of cells missing")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", alpha=0.3)
    axes[0, 0].set_ylabel("log loss (lower is better)")
    axes[0, 0].set_ylim(bottom=0)
    axes[0, 0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(folder / "graft.png", dpi=130)
    print(folder / "graft.png")


if __name__ == "__main__":
    main()
