"""How an explanation is told: a headline, a table with its headings, and a line that sums it up."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from tritree.inspection.formatting import pad, width_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["signed", "told_as_html", "told_as_text"]


def told_as_text(headline: str, table: Sequence[Sequence[str]], summary: str) -> str:
    """Return an explanation as lines, the cells of the table below each other."""
    widths = [max(width_of(line[i]) for line in table) for i in range(len(table[0]))]
    lines = [
        "  ".join(
            pad(cell, width, right=i > 0) for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in table
    ]
    return "\n".join([headline, "", *(line.rstrip() for line in lines), "", summary])


def told_as_html(headline: str, table: Sequence[Sequence[str]], summary: str) -> str:
    """Return an explanation as a notebook shows it."""
    cell = '<{0} style="text-align:{1};padding:0.1em 0.8em 0.1em 0;white-space:nowrap">{2}</{0}>'
    rows = [
        "".join(
            cell.format("td" if r else "th", "right" if i else "left", html.escape(text))
            for i, text in enumerate(line)
        )
        for r, line in enumerate(table)
    ]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<div style="overflow-x:auto"><p><b>{html.escape(headline)}</b></p>'
        f"<table>{body}</table><p>{html.escape(summary)}</p></div>"
    )


def signed(value: float, say: Callable[[float], str]) -> str:
    """Return a change with its sign; nothing where there is none to be seen."""
    size = say(abs(value))
    return "" if size == say(0.0) else f"{'+' if value > 0 else '-'}{size}"
