"""Why a row gets its prediction, although two of its values are missing.

Run it with ``python examples/explain_a_row.py [folder]``; the picture ``explanation.png`` goes to that folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes

from tritree import TrinaryTreeRegressor


def main() -> None:
    """Print the path of the row, and save what each column has moved."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    tree = TrinaryTreeRegressor(max_depth=4).fit(X, y)

    row = X.loc[[271]].assign(s5=np.nan, bp=np.nan)
    [why] = tree.explain(row)
    print(why)
    why.plot().figure.savefig(folder / "explanation.png", dpi=110)
    print(f"\n{folder / 'explanation.png'}")


if __name__ == "__main__":
    main()
