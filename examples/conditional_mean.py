"""Plot what boosting predicts when the column that matters is missing, beside the mean that it estimates.

The target depends on ``dose``, which is correlated with ``weight``. Boosting is fitted to complete rows. Then ``dose``
goes missing: each strategy predicts from ``weight`` alone. The best prediction is the mean of the complete model's
predictions over rows with that weight.

Run it with ``python examples/conditional_mean.py [folder]``; it writes ``conditional_mean.png`` to that folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from tritree import TrinaryBoostingRegressor

STRATEGIES = {"trinary_mia": "#4477aa", "majority": "#cc6677"}


def main() -> None:
    """Print the errors and save the plot."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    rng = np.random.default_rng(0)
    weight = rng.uniform(40, 100, 4000)
    dose = 2 * weight + rng.normal(scale=20, size=4000)
    effect = dose / 10 + rng.normal(size=4000)
    table = pd.DataFrame({"dose": dose, "weight": weight})

    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    without_dose = pd.DataFrame({"dose": np.nan, "weight": np.linspace(42, 98, 113)})
    models = {
        strategy: TrinaryBoostingRegressor(missing=strategy, random_state=0).fit(table, effect)
        for strategy in STRATEGIES
    }
    complete = models["trinary_mia"].predict(table)
    mean = [complete[abs(weight - at) < 2].mean() for at in without_dose["weight"]]
    ax.scatter(weight[::4], complete[::4], s=4, color="0.8", label="F(x), complete rows")
    ax.plot(
        without_dose["weight"], mean, color="0.2", linestyle="dashed", label="mean of F(x) at this weight"
    )
    for strategy, model in models.items():
        predictions = model.predict(without_dose)
        error = np.sqrt(np.mean((predictions - mean) ** 2))
        print(f"{strategy}: differs from the mean by {error:.2f}")
        label = f"prediction without dose: {strategy}"
        ax.plot(without_dose["weight"], predictions, color=STRATEGIES[strategy], label=label)
    ax.set(xlabel="weight", ylabel="prediction")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9)
    figure.savefig(folder / "conditional_mean.png", dpi=130)
    print(folder / "conditional_mean.png")


if __name__ == "__main__":
    main()
