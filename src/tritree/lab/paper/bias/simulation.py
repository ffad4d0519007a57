"""Simulation of the paper's example: estimates of fitted trees of depth 1, compared with their expectations."""

from __future__ import annotations

import math
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.estimators.tree import TrinaryTreeRegressor
from tritree.inspection.formatting import count
from tritree.lab.paper.bias.example import Example
from tritree.lab.paper.bias.expectation import check_strategy, expected, limits, printed
from tritree.lab.ranks.tables import DisplayCell, DisplayTable, as_text
from tritree.progress import bar
from tritree.validation import check_int

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    import pandas as pd

    from tritree import _core
    from tritree.lab.paper.bias.example import Estimates, Floats

#: The strategies, in the order of tables.
STRATEGIES = ("majority", "surrogate", "mia", "fractional", "trinary_mia", "trinary")
_Q = (0.1, 0.3, 0.5, 0.7, 0.9)
_MIN_PROBABILITY = 1e-3  # that both sides are observed; other tables are rejected, which would take too long
_BLOCK, _CELLS = 256, 1 << 20  # tables simulated at a time, and the maximum number of their cells
_NO_BAR = partial(bar, shown=False)

_NUMBERS = ("truth", "simulated", "error", "expected", "z", "limit", "printed", "bound")
_LEGEND = """\
error     standard error of simulated, the mean over the tables
expected  derived, exact for this n; z: difference of simulated to it in standard errors
limit     limit of expected for many rows
printed   expectation of the estimate as the paper defines it (majority: its two cases are swapped)
bound     bound as printed: expected should be at least as far from truth (majority: it never is; mia: its kappa is
          printed for the wrong side)"""


def simulate(
    strategies: Sequence[str] | str = STRATEGIES,
    *,
    a: float = 0.0,
    b: float = 1.0,
    p: float = 0.3,
    q: float = 0.4,
    n: int = 50,
    repeats: int = 1000,
    noise: float = 0.5,
    seed: int = 0,
    done: Callable[[], None] | None = None,
) -> pd.DataFrame:
    """Return the estimates of a and b by trees of depth 1 fitted to simulated tables.

    Parameters
    ----------
    strategies : sequence of str or str
        Values of the parameter ``missing`` of the estimators. All are fitted to the same tables.
    a, b : float
        Mean target on the left and on the right.
    p : float
        Probability of right.
    q : float
        Probability that a value is missing.
    n : int
        Number of rows of a table.
    repeats : int
        Number of tables. Tables in which a side is not observed are rejected.
    noise : float
        Standard deviation of the normal noise of the target.
    seed : int
        Random seed. Tables depend only on it, p, q and n, and on the scale of the target.
    done : callable, optional
        Called after each table, to show progress.

    Returns
    -------
    DataFrame
        One row per table and strategy, with the columns ``strategy``, ``repeat``, ``a`` and ``b``.

    Examples
    --------
    >>> from tritree.lab.paper.bias import simulate
    >>> found = simulate(["majority", "trinary"], a=0, b=1, q=0.4, repeats=200)
    >>> found.columns.tolist(), len(found)
    (['strategy', 'repeat', 'a', 'b'], 400)
    >>> means = found.groupby("strategy")["a"].mean()
    >>> bool(means["majority"] > 0.1 > abs(means["trinary"]))
    True
    """
    import pandas as pd

    strategies = _check_strategies(strategies)
    example = Example(a, b, p, q, n, noise)
    check_int("repeats", repeats, 1)
    check_int("seed", seed, 0)
    trees = {
        s: TrinaryTreeRegressor(missing=s, max_depth=1, min_samples_leaf=1, n_jobs=1) for s in strategies
    }
    rows = []
    for repeat, (X, y) in enumerate(_tables(example, repeats, seed)):
        rows += [(s, repeat, *_leaf_values(tree.fit(X, y).tree_)) for s, tree in trees.items()]
        if done is not None:
            done()
    return pd.DataFrame(rows, columns=["strategy", "repeat", "a", "b"])


def _tables(example: Example, repeats: int, seed: int) -> Iterator[tuple[Floats, Floats]]:
    """Return tables of one column, 0 on the left and 1 on the right, with their targets; both sides are observed."""
    example.check_both_observed(_MIN_PROBABILITY)
    # a random stream for each p, q and n, so that errors at several q are independent
    rng = np.random.default_rng([seed, example.n, *(int(v * 2**53) for v in (example.p, example.q))])
    block = max(1, min(_BLOCK, _CELLS // example.n))  # independent of repeats: the first tables stay the same
    while repeats > 0:
        right = rng.random((block, example.n)) < example.p
        missing = rng.random((block, example.n)) < example.q
        y = np.where(right, example.b, example.a) + example.noise * rng.standard_normal(right.shape)
        accepted = (right & ~missing).any(axis=1) & (~right & ~missing).any(axis=1)
        x = np.where(missing, np.nan, right)
        for i in np.flatnonzero(accepted)[:repeats]:
            yield x[i, :, None], y[i]
        repeats -= int(accepted.sum())


def _leaf_values(tree: _core.Tree) -> tuple[float, float]:
    """Return the predictions of a stump on the left and on the right."""
    left, right = tree.left[0], tree.right[0]
    if tree.threshold[0] == -np.inf:  # missing against observed: all observed rows are right
        left = right
    elif tree.threshold[0] != 0.5:
        raise RuntimeError(f"the tree splits 0 from 1 at {tree.threshold[0]}, not at 0.5")
    return float(tree.value[left, 0]), float(tree.value[right, 0])


def _check_strategies(strategies: Sequence[str] | str) -> tuple[str, ...]:
    """Return distinct valid strategies."""
    names = (strategies,) if isinstance(strategies, str) else tuple(dict.fromkeys(strategies))
    if not names:
        raise ValueError(f"no strategy was given; there are {', '.join(STRATEGIES)}")
    for name in names:
        check_strategy(name)
    return names


def bias_table(
    strategies: Sequence[str] | str = STRATEGIES,
    *,
    a: float = 0.0,
    b: float = 1.0,
    p: float = 0.3,
    q: float | Sequence[float] = _Q,
    n: int = 50,
    repeats: int = 1000,
    noise: float = 0.5,
    seed: int = 0,
    progress: Callable[[int, str], AbstractContextManager[Callable[[], None]]] = _NO_BAR,
) -> pd.DataFrame:
    """Return simulated estimates with their expectations: a row per strategy, q and parameter.

    Parameters
    ----------
    q : float or sequence of float
        Probabilities that a value is missing. The other parameters are those of `simulate`.
    progress : callable, optional
        Called with the number of steps and their name, first for formulas and then for tables; returns a context
        manager whose value is called after each step. ``functools.partial(tritree.progress.bar, shown=True)`` shows
        progress bars.

    Returns
    -------
    DataFrame
        ``strategy``, ``parameter`` (a or b), ``p``, ``q``, ``n``, ``noise`` and ``truth`` identify the estimate;
        ``simulated`` is the mean over ``repeats`` tables and ``error`` its standard error; ``expected`` is derived,
        and ``z`` the difference in standard errors (NaN if all tables gave the same estimate); ``limit`` is the limit
        for many rows. ``printed`` is the expectation of the estimate as the paper prints it and ``bound`` its printed
        bound, NaN where it has none.

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

    strategies = _check_strategies(strategies)
    examples: list[dict[str, Any]] = [
        {"a": a, "b": b, "p": p, "q": float(value), "n": n, "noise": noise}
        for value in np.atleast_1d(np.asarray(q, dtype=float))
    ]
    # formulas first, so that errors are raised before the simulation
    formulas: dict[tuple[str, int], dict[str, Estimates]] = {}
    with progress(len(examples) * len(strategies), "formulas") as done:
        for i, example in enumerate(examples):
            for strategy in strategies:
                estimate, bound = printed(strategy, **example)
                limit = limits(strategy, **{name: example[name] for name in ("a", "b", "p", "q")})
                exact = expected(strategy, **example)
                formulas[strategy, i] = {
                    "expected": exact,
                    "limit": limit,
                    "printed": estimate,
                    "bound": bound,
                }
                done()
    with progress(len(examples) * repeats, "tables") as done:
        samples = [
            simulate(strategies, **example, repeats=repeats, seed=seed, done=done).groupby("strategy")
            for example in examples
        ]
    lines: list[dict[str, Any]] = []
    for strategy, (i, example) in product(strategies, enumerate(examples)):
        for j, parameter in enumerate(("a", "b")):
            estimates = samples[i].get_group(strategy)[parameter].to_numpy()
            mean = float(estimates.mean())
            error = float(estimates.std(ddof=1) / np.sqrt(repeats)) if repeats > 1 else np.nan
            formula = {name: values[j] for name, values in formulas[strategy, i].items()}
            difference, rounding = mean - formula["expected"], 1e-9 * abs(b - a)
            z = 0.0 if abs(difference) <= rounding else difference / error if error > rounding else np.nan
            lines.append(
                {"strategy": strategy, "parameter": parameter}
                | {name: example[name] for name in ("p", "q", "n", "noise")}
                | {"repeats": repeats, "truth": example[parameter], "simulated": mean, "error": error}
                | {"expected": formula.pop("expected"), "z": z}
                | formula
            )
    return pd.DataFrame(lines)


def bias_text(table: pd.DataFrame, *, digits: int = 4) -> str:
    """Return a table of `bias_table` as aligned text: a block per example and q, and a legend.

    Parameters
    ----------
    table : DataFrame
        Result of `bias_table`, or several of them concatenated.
    digits : int
        Number of decimals.

    Examples
    --------
    >>> from tritree.lab.paper.bias import bias_table, bias_text
    >>> print(bias_text(bias_table("fractional", q=0.4, repeats=100), digits=2))
    q = 0.4, p = 0.3, noise = 0.5: 100 tables of 50 rows
    strategy       truth  simulated  error  expected    z  limit  printed  bound
    fractional  a   0.00  ...
    """
    if not len(table):
        return "no estimates"
    blocks = []
    for (p, n, noise, repeats, q), lines in table.groupby(["p", "n", "noise", "repeats", "q"], sort=False):
        title = f"q = {q:g}, p = {p:g}, noise = {noise:g}: {count(repeats, 'table')} of {n:,} rows"
        # a strategy is named in the first of its lines
        names = lines["strategy"].where(lines["strategy"] != lines["strategy"].shift(), "")
        rows = [
            [
                *(DisplayCell(text, text) for text in (name, line["parameter"])),
                *(_number(line[column], 1 if column == "z" else digits) for column in _NUMBERS),
            ]
            for name, line in zip(names, lines.to_dict("records"), strict=True)
        ]
        blocks.append(DisplayTable(title, ["strategy", "", *_NUMBERS], rows, n_names=2))
    return f"{as_text(*blocks)}\n\n{_LEGEND}"


def _number(value: float, digits: int) -> DisplayCell:
    return DisplayCell("" if math.isnan(value) else f"{value:z.{digits}f}", value)
