"""Compare three measures of feature importance on data with missing values.

The tree is fitted to the diabetes data of scikit-learn, with values removed from three of its columns.

- importance: fraction of the reduction of the training loss that is due to the column;
- permutation: decrease of the score on held-out rows when the column is shuffled;
- reliance: fraction of held-out predictions that take a branch for missing values of the column.

Run it with ``python examples/importance.py [folder]``; it writes ``importance.png`` to that folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split

from tritree import TrinaryTreeRegressor

MISSING_RATES = {"bmi": 0.4, "s5": 0.2, "bp": 0.1}  # the other columns are complete


def main() -> None:
    """Print the table and save the plot."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    rng = np.random.default_rng(0)
    for column, rate in MISSING_RATES.items():
        X.loc[rng.random(len(X)) < rate, column] = np.nan
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)

    tree = TrinaryTreeRegressor(max_depth=3).fit(X_train, y_train)
    measures = {
        "importance": tree.feature_importances_,
        "permutation": permutation_importance(
            tree, X_test, y_test, n_repeats=20, random_state=0
        ).importances_mean,
        "reliance": tree.missing_reliance(X_test),
    }

    order = np.argsort(-measures["importance"], kind="stable")
    print(f"R² on held-out rows: {tree.score(X_test, y_test):.2f}\n")
    print("column" + "".join(f"{name:>13}" for name in measures) + f"{'missing':>10}")
    for j in order:
        cells = "".join(f"{values[j]:13.3f}" for values in measures.values())
        print(f"{X.columns[j]:<6}{cells}{X_test.iloc[:, j].isna().mean():10.0%}")

    draw(list(X.columns[order]), {name: values[order] for name, values in measures.items()})
    plt.savefig(folder / "importance.png", dpi=150)
    print(f"\n{folder / 'importance.png'}")


def draw(names: list[str], measures: dict[str, np.ndarray]) -> None:
    """Draw a bar plot per measure, with the columns in the same order."""
    figure, axes = plt.subplots(1, len(measures), figsize=(9, 3.6), sharey=True, layout="constrained")
    colours = ("#4477aa", "#228833", "#cc6677")
    titles = (
        "fraction of the reduction\nof the training loss",
        "decrease of the score\nwhen shuffled",
        "predictions by a branch\nfor missing values",
    )
    for ax, values, colour, title in zip(axes, measures.values(), colours, titles, strict=True):
        ax.barh(range(len(names)), values, height=0.6, color=colour)
        ax.set_title(title, fontsize=10, loc="left")
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    figure.suptitle("Diabetes with missing values in bmi, s5 and bp", x=0.01, ha="left")


if __name__ == "__main__":
    main()
