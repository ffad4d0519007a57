"""Plot the loss of boosting as fields go missing that were never missing in training.

The table is scikit-learn's breast cancer data: 569 tumours, 30 measurements, benign or malignant. Every library has its
default parameters and is trained on complete rows. XGBoost, LightGBM and CatBoost are drawn if they are installed.

Run it with ``python examples/robustness.py [folder]``; it writes ``robustness.png`` to that folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sklearn.datasets import load_breast_cancer

from tritree import lab
from tritree.lab.other_libraries import LIBRARIES
from tritree.lab.ranks import losses
from tritree.lab.robustness import plot_robustness

NAMES = {
    "hist": "HistGradientBoosting",
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "catboost": "CatBoost",
}


def main() -> None:
    """Cross-validate the methods with fields removed from the test rows, and plot their losses."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    table = load_breast_cancer(as_frame=True).frame
    experiment = lab.Experiment(
        datasets=lab.Dataset.from_table("breast cancer", table, "target"),
        scenarios="mcar_test",
        rates=(0.1, 0.2, 0.3, 0.4, 0.5),
        methods={"tritree": "boosting"}
        | {NAMES[name]: name for name in NAMES if LIBRARIES[name].is_installed()},
        folds=5,
    )
    means = losses(experiment.run()).pivot_table(index="rate", columns="method", values="loss")
    ax = plot_robustness(means, highlight=["tritree"])
    ax.set_ylabel("log loss (lower is better)")
    ax.set_title("Breast cancer data: trained on complete rows", loc="left")
    ax.figure.savefig(folder / "robustness.png", dpi=130)
    print(folder / "robustness.png")


if __name__ == "__main__":
    main()
