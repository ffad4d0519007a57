"""Plot how much of a tree grows on demand, compared with its fully grown size.

The tree is fitted to complete rows of the diabetes data of scikit-learn, and then predicts rows of which a fraction of
the cells is missing.

Run it with ``python examples/growth.py [folder]``; it writes ``growth.png`` to that folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_diabetes

from tritree import TrinaryTreeRegressor

RATES = {0.05: "#4477aa", 0.2: "#228833", 0.5: "#cc6677"}  # fractions of missing cells, and their colours
COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 442)


def main() -> None:
    """Print the numbers of nodes and save the plot."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    full = TrinaryTreeRegressor(max_depth=4).fit(X, y).grow_all().n_nodes_

    figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for rate, colour in RATES.items():
        rows = X.mask(np.random.default_rng(0).random(X.shape) < rate)
        tree = TrinaryTreeRegressor(max_depth=4).fit(X, y)
        fitted = tree.n_nodes_
        nodes = [tree.grow_for(rows[:count]).n_nodes_ for count in COUNTS]
        print(
            f"{rate:.0%} missing: {fitted} nodes after fit, {nodes[-1]:,} after {COUNTS[-1]} rows, of {full:,}"
        )
        ax.plot(COUNTS, nodes, marker="o", color=colour, label=f"{rate:.0%} of the cells missing")
    ax.axhline(full, color="0.4", linestyle="dotted")
    ax.annotate(f"fully grown: {full:,} nodes", (1, full), (0, -4), textcoords="offset points", va="top")
    ax.axhline(fitted, color="0.4", linestyle="dotted")
    ax.annotate(
        f"after fit: {fitted} nodes", (COUNTS[-1], fitted), (0, 3), textcoords="offset points", ha="right"
    )
    ax.set(xscale="log", xlabel="rows predicted", xticks=COUNTS, xticklabels=COUNTS)
    ax.set(yscale="log", ylabel="nodes of the tree", ylim=(fitted / 1.5, full * 1.6))
    ax.set_yticks([100, 1000, 10_000], ["100", "1,000", "10,000"])
    ax.minorticks_off()
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(0, 0.62))
    figure.savefig(folder / "growth.png", dpi=130)
    print(folder / "growth.png")


if __name__ == "__main__":
    main()
