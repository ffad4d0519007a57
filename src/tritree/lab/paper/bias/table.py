"""Simulated estimates beside what is to be expected of them, as a tidy table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.lab.paper.bias.formulas import expected, limits
from tritree.lab.paper.bias.paper import printed
from tritree.lab.paper.bias.simulation import ALL, chosen, simulate
from tritree.progress import bar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    import pandas as pd

    from tritree.lab.paper.bias.example import Estimates, Floats

__all__ = ["bias_table"]

_Q = (0.1, 0.3, 0.5, 0.7, 0.9)
_SILENT = partial(bar, shown=False)


def bias_table(
    strategies: Sequence[str] | str = ALL,
    *,
    a: float = 0.0,
    b: float = 1.0,
    p: float = 0.3,
    q: float | Sequence[float] = _Q,
    n: int = 50,
    repeats: int = 1000,
    noise: float = 0.5,
    seed: int = 0,
    progress: Callable[[int, str], AbstractContextManager[Callable[[], None]]] = _SILENT,
) -> pd.DataFrame:
    """Return simulated estimates beside what is to be expected of them: a row per strategy, q and parameter.

    Parameters
    ----------
    q : float or sequence of float
        One or several probabilities that a value is missing. The other parameters are those of `simulate`.
    progress : callable, optional
        Called with how many there are and of what, formulas first and then tables; it returns a context manager that
        gives what to call after each of them. ``functools.partial(tritree.progress.bar, shown=True)`` shows bars.

    Returns
    -------
    DataFrame
        ``strategy``, ``parameter`` (a or b), ``p``, ``q``, ``n``, ``noise`` and ``truth`` say what is estimated;
        ``simulated`` is the mean over ``repeats`` tables and ``error`` its standard error, ``expected`` what the
        formula says and ``z`` how many standard errors lie between them (NaN where all tables gave the same
        estimate, and another one has not occurred yet); ``limit`` is the formula with many rows.
        ``printed`` is the expectation of the estimate as the paper prints it and ``bound`` the bound it prints for
        the expectation, NaN where it has none.

    Examples
    --------
    >>> from tritree.lab.paper.bias import bias_table
    >>> table = bias_table(["majority", "trinary"], q=0.4, repeats=200)
    >>> table[["strategy", "parameter", "truth", "expected", "printed"]].round(3)
       strategy parameter  truth  expected  printed
    0  majority         a    0.0     0.144    0.003
    1  majority         b    1.0     0.994    0.523
    2   trinary         a    0.0     0.000    0.000
    3   trinary         b    1.0     1.000    1.000
    """
    import pandas as pd

    strategies = chosen(strategies)
    given: dict[str, Any] = {"a": a, "b": b, "p": p, "n": n, "noise": noise}
    examples = [given | {"q": float(share)} for share in np.atleast_1d(np.asarray(q, dtype=float))]
    # the formulas come first: what cannot be had is said before anything takes time
    formulas: list[dict[str, Any]] = [{} for _ in examples]
    with progress(len(examples) * len(strategies), "formulas") as done:
        for example, of_strategy in zip(examples, formulas, strict=True):
            for strategy in strategies:
                of_strategy[strategy] = _formulas(strategy, example)
                done()
    with progress(len(examples) * repeats, "tables") as done:
        samples = [
            simulate(strategies, **example, repeats=repeats, seed=seed, done=done) for example in examples
        ]
    lines: list[dict[str, Any]] = []
    for example, of_strategy, found in zip(examples, formulas, samples, strict=True):
        for strategy, estimates in found.groupby("strategy", sort=False):
            setting = {name: example[name] for name in ("p", "q", "n", "noise")} | {"repeats": repeats}
            for i, parameter in enumerate(("a", "b")):
                line = {"strategy": strategy, "parameter": parameter, **setting, "truth": example[parameter]}
                formula = {name: values[i] for name, values in of_strategy[strategy].items()}
                lines.append(line | _compare(estimates[parameter].to_numpy(), formula, b - a))
    table = pd.DataFrame(lines)
    order = table["strategy"].map({strategy: i for i, strategy in enumerate(strategies)})
    return table.iloc[np.argsort(order, kind="stable")].reset_index(drop=True)


def _formulas(strategy: str, example: dict[str, Any]) -> dict[str, Estimates]:
    """Return what is derived and what is printed about a strategy, by the column it goes into."""
    paper = printed(strategy, **example)
    return {
        "expected": expected(strategy, **example),
        "limit": limits(strategy, **{name: example[name] for name in ("a", "b", "p", "q")}),
        "printed": paper.estimate,
        "bound": paper.bound,
    }


def _compare(estimates: Floats, formula: dict[str, float], step: float) -> dict[str, float]:
    """Return the mean of some estimates with its standard error beside the formulas."""
    mean = float(estimates.mean())
    error = float(estimates.std(ddof=1) / np.sqrt(len(estimates))) if len(estimates) > 1 else np.nan
    difference = mean - formula["expected"]
    rounding = 1e-9 * abs(step)
    z = 0.0 if abs(difference) <= rounding else difference / error if error > rounding else np.nan
    first = {"simulated": mean, "error": error, "expected": formula["expected"], "z": z}
    return first | {name: formula[name] for name in ("limit", "printed", "bound")}
