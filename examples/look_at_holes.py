"""Where a table has holes, and which columns lose their values together.

The holes are punched into the wine data of scikit-learn: two instruments that fail together, one that fails more often
the higher the value is, and a few cells at random.

Run it with ``python examples/look_at_holes.py [folder]``; the picture ``holes.png`` goes to that folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine

from tritree import plot_holes


def main() -> None:
    """Save the picture."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    X, _ = load_wine(return_X_y=True, as_frame=True)
    chance = np.random.default_rng(0)
    X = X.mask(chance.random(X.shape) < 0.01)
    X.loc[chance.random(len(X)) < 0.25, ["flavanoids", "total_phenols"]] = np.nan
    X.loc[chance.random(len(X)) < X["proline"].rank(pct=True) / 2, "proline"] = np.nan
    plot_holes(X).figure.savefig(folder / "holes.png", dpi=110)
    print(folder / "holes.png")


if __name__ == "__main__":
    main()
