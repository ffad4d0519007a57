"""Plot a regression tree and a classification tree with their third branches.

The trees are fitted to complete data sets of scikit-learn and then predict rows with missing values. The plots show the
third branches that these rows needed.

Run it with ``python examples/draw_a_tree.py [folder]``; it writes ``tree.png`` and ``classes.png`` to that folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes, load_wine

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor

COLUMNS = ["age", "bmi", "bp", "s3", "s5", "s6"]
NAMES = np.array(["Barolo", "Grignolino", "Barbera"])


def main() -> None:
    """Save both plots."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    tree = TrinaryTreeRegressor(max_depth=3).fit(X[COLUMNS], y)
    row = X[COLUMNS].head(1).assign(s5=np.nan, bmi=24.0)
    tree.predict(row)  # s5, the column of the first split, is missing: the third branch is grown
    tree.plot().figure.savefig(folder / "tree.png", dpi=110)

    X, y = load_wine(return_X_y=True, as_frame=True)
    wines = TrinaryTreeClassifier(max_depth=2, min_samples_leaf=5).fit(X, NAMES[y])
    wines.predict(X.head(1).assign(flavanoids=np.nan))
    wines.plot().figure.savefig(folder / "classes.png", dpi=110)

    print(tree.to_text())
    print(f"\n{folder / 'tree.png'}, {folder / 'classes.png'}")


if __name__ == "__main__":
    main()
