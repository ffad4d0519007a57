"""A table of simulated and expected estimates as aligned text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["bias_text"]

_NUMBERS = ("truth", "simulated", "error", "expected", "limit", "printed", "bound")
_WORDS = """\
error     the standard error of simulated, the mean over the tables
expected  derived, exact for this n; z: standard errors from simulated to it
limit     what expected approaches with many rows
printed   expectation of the estimate as the paper defines it (majority: its two cases are swapped)
bound     printed, too: expected should lie at least as far from truth (majority: it never does; mia: its
          kappa is printed for the wrong side)"""


def bias_text(table: pd.DataFrame, *, digits: int = 4) -> str:
    """Return a table of `bias_table` as aligned text: a block for each setting and q, and what the words mean.

    Parameters
    ----------
    table : DataFrame
        Of `bias_table`, or of several of them.
    digits : int
        Behind the decimal point.

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
    names = ["p", "n", "noise", "repeats", "q"]
    settings = table.groupby(names, sort=False)
    blocks = [_block(dict(zip(names, values, strict=True)), lines, digits) for values, lines in settings]
    return "\n\n".join([*blocks, _WORDS])


def _block(setting: dict[str, Any], lines: pd.DataFrame, digits: int) -> str:
    """Return the heading and the lines of one setting."""
    heading = (
        f"q = {setting['q']:g}, p = {setting['p']:g}, noise = {setting['noise']:g}: "
        f"{setting['repeats']:,} {'table' if setting['repeats'] == 1 else 'tables'} of {setting['n']:,} rows"
    )
    cells = [["strategy", "", *_NUMBERS[:4], "z", *_NUMBERS[4:]]]
    last = None
    for line in lines.to_dict("records"):
        numbers = [_number(line[name], digits) for name in _NUMBERS]
        strategy = line["strategy"] if line["strategy"] != last else ""
        last = line["strategy"]
        cells.append([strategy, line["parameter"], *numbers[:4], _number(line["z"], 1), *numbers[4:]])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rows = (
        "  ".join(
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )
    return "\n".join([heading, *rows])


def _number(value: float, digits: int) -> str:
    return "" if math.isnan(value) else f"{value:z.{digits}f}"
