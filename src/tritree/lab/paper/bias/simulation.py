"""Tables of the paper's example, and what trees of depth 1 that are fitted to them estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tritree.estimators.tree import TrinaryTreeRegressor
from tritree.lab.paper.bias.example import Example
from tritree.lab.paper.bias.formulas import check_strategy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pandas as pd

    from tritree import _core
    from tritree.lab.paper.bias.example import Floats

__all__ = ["ALL", "chosen", "simulate"]

#: The strategies, in the order of their tables.
ALL = ("majority", "surrogate", "mia", "fractional", "trinary_mia", "trinary")
#: Tables with both sides seen are drawn by trying; if they are rarer than this it would take for ever.
_RAREST = 1e-3
_BLOCK, _CELLS = 256, 1 << 20  # tables that are drawn at a time, and the most cells


def simulate(
    strategies: Sequence[str] | str = ALL,
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
    """Return the estimates of a and b that trees of depth 1 make on simulated tables: a row per table and strategy.

    Parameters
    ----------
    strategies : sequence of str or str
        As in ``missing=``. All of them see the same tables.
    a, b : float
        The mean response on the left and on the right.
    p : float
        The probability of right.
    q : float
        The probability that a value is missing.
    n : int
        The rows of a table.
    repeats : int
        How many tables. Tables in which a side is never observed are drawn anew.
    noise : float
        The standard deviation of the normal noise in the responses.
    seed : int
        Tables depend on it, on p, q and n, and on nothing else but the scale of the responses.
    done : callable, optional
        Called after each table, to show how far it is.

    Returns
    -------
    DataFrame
        With the columns strategy, repeat, a and b.

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

    strategies = chosen(strategies)
    example = Example(a, b, p, q, n, noise)
    _check_whole("repeats", repeats, 1)
    _check_whole("seed", seed, 0)
    trees = {
        s: TrinaryTreeRegressor(missing=s, max_depth=1, min_samples_leaf=1, n_jobs=1) for s in strategies
    }
    rows = []
    for repeat, (X, y) in enumerate(_tables(example, repeats, seed)):
        rows += [(s, repeat, *_read(tree.fit(X, y).tree_)) for s, tree in trees.items()]
        if done is not None:
            done()
    return pd.DataFrame(rows, columns=["strategy", "repeat", "a", "b"])


def _tables(example: Example, repeats: int, seed: int) -> Iterator[tuple[Floats, Floats]]:
    """Return tables of one column, 0 on the left and 1 on the right, with their responses; both sides are seen."""
    example.check_seen(_RAREST)
    # a stream of its own for each p, q and n, so that results at several q do not err together
    rng = np.random.default_rng([seed, example.n, *(int(v * 2**53) for v in (example.p, example.q))])
    block = max(1, min(_BLOCK, _CELLS // example.n))  # whatever repeats is: the first tables stay the same
    while repeats > 0:
        right = rng.random((block, example.n)) < example.p
        missing = rng.random((block, example.n)) < example.q
        y = np.where(right, example.b, example.a) + example.noise * rng.standard_normal(right.shape)
        seen = (right & ~missing).any(axis=1) & (~right & ~missing).any(axis=1)
        x = np.where(missing, np.nan, right)
        for i in np.flatnonzero(seen)[:repeats]:
            yield x[i, :, None], y[i]
        repeats -= int(seen.sum())


def _read(tree: _core.Tree) -> tuple[float, float]:
    """Return what a stump answers on the left and on the right."""
    left, right = tree.left[0], tree.right[0]
    if tree.threshold[0] == -np.inf:  # missing against observed: both are observed, which is right
        left = right
    elif tree.threshold[0] != 0.5:
        raise RuntimeError(f"the tree parts 0 from 1 at {tree.threshold[0]}, not at 0.5")
    return float(tree.value[left, 0]), float(tree.value[right, 0])


def chosen(strategies: Sequence[str] | str) -> tuple[str, ...]:
    """Return the strategies asked for, each once."""
    names = (strategies,) if isinstance(strategies, str) else tuple(dict.fromkeys(strategies))
    if not names:
        raise ValueError(f"no strategy was given; there are {', '.join(ALL)}")
    for name in names:
        check_strategy(name)
    return names


def _check_whole(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} must be a whole number, at least {least}, got {value!r}")
