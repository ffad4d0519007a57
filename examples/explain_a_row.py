"""Explain the prediction for a row with two missing values.

Run it with ``python examples/explain_a_row.py [folder]``; it writes ``explanation.png`` to that folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes

from tritree import TrinaryTreeRegressor


def main() -> None:
    """Print the path of the row, and plot the contribution of each column."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    tree = TrinaryTreeRegressor(max_depth=4).fit(X, y)

    row = X.loc[[271]].assign(s5=np.nan, bp=np.nan)
    [explanation] = tree.explain(row)
    print(explanation)
    explanation.plot().figure.savefig(folder / "explanation.png", dpi=110)
    print(f"\n{folder / 'explanation.png'}")


if __name__ == "__main__":
    main()
