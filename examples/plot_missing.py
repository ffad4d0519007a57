"""Plot where values are missing in a table, and which columns are missing together.

The wine data of scikit-learn lose values by three mechanisms: two instruments fail together, one fails more often the
higher its value is, and a few cells are missing at random.

Run it with ``python examples/plot_missing.py [folder]``; it writes ``missing.png`` to that folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine

from tritree import plot_missing


def main() -> None:
    """Save the picture."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    X, _ = load_wine(return_X_y=True, as_frame=True)
    rng = np.random.default_rng(0)
    X = X.mask(rng.random(X.shape) < 0.01)
    X.loc[rng.random(len(X)) < 0.25, ["flavanoids", "total_phenols"]] = np.nan
    X.loc[rng.random(len(X)) < X["proline"].rank(pct=True) / 2, "proline"] = np.nan
    plot_missing(X).figure.savefig(folder / "missing.png", dpi=110)
    print(folder / "missing.png")


if __name__ == "__main__":
    main()
