"""Parts of a report as HTML; all text that comes in is escaped here."""

from __future__ import annotations

import base64
import html
import io
import math
import warnings
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tritree.lab.ranks.tables import Cell, Table

__all__ = ["bullets", "facts", "folded", "paragraph", "picture", "section", "table", "tables"]

_DEEPEST = 6  # facts within facts
_PREFERS_DARK = "(prefers-color-scheme: dark)"
_IS_NARROW = "screen and (max-width: 600px)"
_INK, _PAPER, _DARK_INK, _DARK_PAPER = "#1b1f24", "#ffffff", "#e8ebee", "#14171b"  # those of page.css


def section(title: str, *parts: str) -> str:
    """Return a section with a heading."""
    return "\n".join(["<section>", f"<h2>{html.escape(title)}</h2>", *parts, "</section>"])


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of plain text."""
    return f'<p class="{kind}">{html.escape(text)}</p>' if kind else f"<p>{html.escape(text)}</p>"


def bullets(texts: Iterable[str], kind: str = "findings") -> str:
    """Return a list of plain texts."""
    return f'<ul class="{kind}">{"".join(f"<li>{html.escape(text)}</li>" for text in texts)}</ul>'


def folded(title: str, *parts: str) -> str:
    """Return parts that are shown on demand."""
    return "\n".join([f"<details><summary>{html.escape(title)}</summary>", *parts, "</details>"])


def table(content: Table) -> str:
    """Return a table with its title and its notes; the script of the page makes it sortable."""
    head = "".join(
        f'<th scope="col"{_kind("name") if j < content.n_names else ""}>{html.escape(title)}</th>'
        for j, title in enumerate(content.columns)
    )
    body = "".join(
        f"<tr>{''.join(_cell(cell, j < content.n_names) for j, cell in enumerate(row))}</tr>"
        for row in content.rows
    )
    label = html.escape(content.title or "table")
    return "\n".join(
        [
            "<div>",
            f"<h3>{html.escape(content.title)}</h3>" if content.title else "",
            f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">',
            f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>",
            *(paragraph(note, "note") for note in content.notes),
            "</div>",
        ]
    )


def _kind(name: str) -> str:
    return f' class="{name}"'


def _cell(cell: Cell, is_name: bool) -> str:
    value = ""
    if not isinstance(cell.value, str):
        end = math.copysign(1e308, cell.value)  # without end comes last, and is a number to a script
        value = f' data-value="{cell.value if math.isfinite(cell.value) else end!r}"'
    kind = _kind("name") if is_name else _kind("best") if cell.best else ""
    return f"<td{kind}{value}>{html.escape(cell.text)}</td>"


def tables(contents: Sequence[Table]) -> str:
    """Return tables beside one another as far as there is room."""
    return f'<div class="tables">{"".join(map(table, contents))}</div>'


def facts(content: Any, deepest: int = _DEEPEST) -> str:
    """Return plain data as a list of names and values, one within the other."""
    if isinstance(content, dict) and deepest and content:
        lines = (
            f"<dt>{html.escape(str(name))}</dt><dd>{facts(value, deepest - 1)}</dd>"
            for name, value in content.items()
        )
        return f"<dl>{''.join(lines)}</dl>"
    if isinstance(content, (list, tuple, set)):
        return html.escape(", ".join(map(str, content)) or "none")
    return html.escape("none" if content is None else str(content))


def picture(draw: Callable[[int], Any], alt: str, caption: str) -> str:
    """Return a figure in four forms: for light and dark pages, wide and narrow; ``draw`` gets the panels beside."""
    wide, narrow = _drawn(draw, 3), _drawn(draw, 1)
    sources = [
        (f"{_IS_NARROW} and {_PREFERS_DARK}", _darkened(narrow)),
        (_IS_NARROW, narrow),
        (f"screen and {_PREFERS_DARK}", _darkened(wide)),
    ]
    lines = [f'<source media="{media}" srcset="{_address(svg)}">' for media, svg in sources]
    image = f'<img src="{_address(wide)}" alt="{html.escape(alt)}">'
    said = f"<figcaption>{html.escape(caption)}</figcaption>"
    return "\n".join(["<figure><picture>", *lines, image, "</picture>", said, "</figure>"])


def _drawn(draw: Callable[[int], Any], across: int) -> bytes:
    """Return a figure as SVG, for a light page; the same each time."""
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the tables have the letters that fonts lack
        mpl.rcdefaults()  # whatever style is in use: the page has its own
        ink = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
        mpl.rcParams.update(dict.fromkeys(ink, _INK) | {"axes.facecolor": _PAPER, "svg.hashsalt": "tritree"})
        file = io.BytesIO()
        metadata = dict.fromkeys(("Date", "Creator"))
        draw(across).savefig(file, format="svg", facecolor=_PAPER, metadata=metadata)
    return file.getvalue()


def _darkened(svg: bytes) -> bytes:
    """Return a figure for a dark page: no method is drawn in the colours of the page, so these can be exchanged."""
    for light, dark in ((_INK, _DARK_INK), (_PAPER, _DARK_PAPER)):
        svg = svg.replace(light.encode(), dark.encode())
    return svg


def _address(svg: bytes) -> str:
    """Return an address that holds all of a picture."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()


def make_figure(**options: Any) -> Figure:
    """Return a figure that no window knows of."""
    return Figure(**options)
