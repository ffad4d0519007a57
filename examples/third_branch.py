"""Plot a small tree whose first split has a third branch, grown for a row whose value is missing.

Run it with ``python examples/third_branch.py [folder]``; it writes ``third_branch.png`` to that folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_diabetes

from tritree import TrinaryTreeRegressor

NAMES = {"s5": "triglycerides", "bmi": "body mass index"}


def main() -> None:
    """Print the predictions of a row with and without its value, and save the plot."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X = X[list(NAMES)].rename(columns=NAMES)
    tree = TrinaryTreeRegressor(max_depth=1).fit(X, y)
    rows = X.iloc[[2, 3]].assign(triglycerides=np.nan)  # one on each side of the third branch's split
    print(
        f"with triglycerides: {tree.predict(X.iloc[[2, 3]]).round(1)}, without: {tree.predict(rows).round(1)}"
    )

    figure, ax = plt.subplots(figsize=(6.5, 2.6), layout="constrained")
    tree.plot(ax, caption=False)
    figure.savefig(folder / "third_branch.png", dpi=130)
    print(folder / "third_branch.png")


if __name__ == "__main__":
    main()
