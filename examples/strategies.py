"""What each strategy does with the same table: six trees of one split.

The response depends on ``dose``, which is missing in a quarter of the rows, and a little less clearly on ``weight``.

Run it with ``python examples/strategies.py [folder]``; the picture ``strategies.png`` goes to that folder.
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
    """Save the picture, and print what each of the trees says of a row without its dose."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    chance = np.random.default_rng(0)
    weight = chance.uniform(40, 100, 400)
    dose = 2 * weight + chance.normal(scale=20, size=400)
    response = 10.0 * (dose > 150) + chance.normal(size=400)
    table = pd.DataFrame({"dose": dose, "weight": weight})
    table.loc[chance.random(400) < 0.25, "dose"] = np.nan
    row = pd.DataFrame({"dose": [np.nan], "weight": [95.0]})

    figure, axes = plt.subplots(2, 3, figsize=(13, 5), layout="constrained")
    for strategy, ax in zip(STRATEGIES, axes.flat, strict=True):
        tree = TrinaryTreeRegressor(missing=strategy, max_depth=1).fit(table, response)
        print(f"{strategy:<12} without a dose, at 95 kg: {tree.predict(row)[0]:.1f}")
        tree.plot(ax, caption=False)
        ax.set_title(strategy, loc="left", fontweight="bold")
    figure.savefig(folder / "strategies.png", dpi=110)
    print(folder / "strategies.png")


if __name__ == "__main__":
    main()
