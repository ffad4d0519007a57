"""Which columns matter, and where a tree has to do without them: three answers side by side.

The tree is fitted to the diabetes data of scikit-learn, with holes punched into three of its columns.

- importance: each column's share of the reduction of the training loss;
- permutation: how much of the score on held-out rows is lost when the column is shuffled;
- reliance: the share of held-out predictions that pass through the column's missing branches.

Run it with ``python examples/importance.py [folder]``; the picture ``importance.png`` goes to that folder.
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

SHARES = {"bmi": 0.4, "s5": 0.2, "bp": 0.1}  # of cells that are missing; the rest is complete


def main() -> None:
    """Print the table and save the picture."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    chance = np.random.default_rng(0)
    for column, share in SHARES.items():
        X.loc[chance.random(len(X)) < share, column] = np.nan
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)

    tree = TrinaryTreeRegressor(max_depth=3).fit(X_train, y_train)
    answers = {
        "importance": tree.feature_importances_,
        "permutation": permutation_importance(
            tree, X_test, y_test, n_repeats=20, random_state=0
        ).importances_mean,
        "reliance": tree.reliance_on_missing_(X_test),
    }

    order = np.argsort(-answers["importance"], kind="stable")
    print(f"R² on held-out rows: {tree.score(X_test, y_test):.2f}\n")
    print("column" + "".join(f"{name:>13}" for name in answers) + f"{'missing':>10}")
    for j in order:
        cells = "".join(f"{values[j]:13.3f}" for values in answers.values())
        print(f"{X.columns[j]:<6}{cells}{X_test.iloc[:, j].isna().mean():10.0%}")

    draw(list(X.columns[order]), {name: values[order] for name, values in answers.items()})
    plt.savefig(folder / "importance.png", dpi=150)
    print(f"\n{folder / 'importance.png'}")


def draw(names: list[str], answers: dict[str, np.ndarray]) -> None:
    """Draw a panel of bars per answer, the columns in the same order."""
    figure, axes = plt.subplots(1, len(answers), figsize=(9, 3.6), sharey=True, layout="constrained")
    colours = ("#4477aa", "#228833", "#cc6677")
    titles = (
        "share of the reduction\nof the training loss",
        "score lost\nwhen shuffled",
        "predictions through\nits missing branches",
    )
    for ax, values, colour, title in zip(axes, answers.values(), colours, titles, strict=True):
        ax.barh(range(len(names)), values, height=0.6, color=colour)
        ax.set_title(title, fontsize=10, loc="left")
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    figure.suptitle("Diabetes with holes in bmi, s5 and bp", x=0.01, ha="left")


if __name__ == "__main__":
    main()
