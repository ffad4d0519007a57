"""Plot the missing values of fields over the days on which they break, and how much the predictions are affected.

Run it with ``python examples/monitoring.py [folder]``; it writes ``monitoring.png`` to that folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.datasets import load_diabetes

from tritree import TrinaryBoostingRegressor

COLOURS = {"bmi": "#cc6677", "s4": "#4477aa"}
LIMITS = {"look": 0.1, "act": 0.3}


def main() -> None:
    """Print both measures per week and save the plot."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    model = TrinaryBoostingRegressor(learning_rate=0.05, random_state=0).fit(X, y)
    rng = np.random.default_rng(0)
    missing, reliance = [], []
    for day in range(40):
        rows = X.sample(200, replace=True, random_state=day)
        rows = rows.mask(rng.random(rows.shape) < 0.01)
        broken = np.clip((day - 10) / 15, 0, 0.9)  # bmi breaks slowly, s4 at once
        rows.loc[rng.random(len(rows)) < broken, "bmi"] = np.nan
        if day >= 28:
            rows["s4"] = np.nan
        missing.append(rows.isna().mean())
        reliance.append(pd.Series(model.missing_reliance(rows), index=X.columns))

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="constrained")
    titles = ("share of missing values", "missing_reliance")
    for ax, title, series in zip(axes, titles, (missing, reliance), strict=True):
        table = pd.DataFrame(series)
        print(f"{title}\n{table[list(COLOURS)].iloc[::7].round(2)}\n")
        for column in X.columns:
            highlighted = column in COLOURS
            ax.plot(table[column], color=COLOURS.get(column, "0.8"), label=column if highlighted else None)
        ax.set_title(title, loc="left", fontsize=10)
        ax.set(xlabel="day", ylim=(0, 1.02))
        ax.spines[["top", "right"]].set_visible(False)
    for name, limit in LIMITS.items():
        axes[1].axhline(limit, color="0.4", linestyle="dotted")
        axes[1].annotate(name, (0, limit), (0, 2), textcoords="offset points")
    axes[0].legend(frameon=False, loc="upper left")
    figure.savefig(folder / "monitoring.png", dpi=130)
    print(folder / "monitoring.png")


if __name__ == "__main__":
    main()
