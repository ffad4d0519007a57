"""Compare the six strategies on the same table: a tree of one split each.

The target depends on ``dose``, which is missing in a quarter of the rows and correlated with ``weight``.

Run it with ``python examples/strategies.py [folder]``; it writes ``strategies.png`` to that folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from tritree import TrinaryTreeRegressor

STRATEGIES = ("trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate")


def main() -> None:
    """Plot the trees, and print their predictions for a row whose dose is missing."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    rng = np.random.default_rng(0)
    weight = rng.uniform(40, 100, 400)
    dose = 2 * weight + rng.normal(scale=20, size=400)
    effect = 10.0 * (dose > 150) + rng.normal(size=400)
    table = pd.DataFrame({"dose": dose, "weight": weight})
    table.loc[rng.random(400) < 0.25, "dose"] = np.nan
    row = pd.DataFrame({"dose": [np.nan], "weight": [95.0]})

    figure, axes = plt.subplots(3, 2, figsize=(8.5, 7.2), layout="constrained")
    for strategy, ax in zip(STRATEGIES, axes.flat, strict=True):
        tree = TrinaryTreeRegressor(missing=strategy, max_depth=1).fit(table, effect)
        print(f"{strategy:<12} dose missing, 95 kg: {tree.predict(row)[0]:.1f}")
        tree.plot(ax, caption=False)
        ax.set_title(strategy, loc="left", fontweight="bold")
    figure.savefig(folder / "strategies.png", dpi=110)
    print(folder / "strategies.png")


if __name__ == "__main__":
    main()
