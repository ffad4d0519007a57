"""HTML elements of a report; all text is escaped here."""

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
    from collections.abc import Callable, Iterable

    from tritree.lab.ranks.tables import DisplayCell, DisplayTable

_MAX_DEPTH = 6  # of nested definitions
_DARK = "(prefers-color-scheme: dark)"
_NARROW = "screen and (max-width: 600px)"
_INK, _PAPER, _DARK_INK, _DARK_PAPER = "#1b1f24", "#ffffff", "#e8ebee", "#14171b"  # those of page.css


def section(title: str, *content: str) -> str:
    """Return a section with a heading."""
    return "\n".join(["<section>", f"<h2>{html.escape(title)}</h2>", *content, "</section>"])


def paragraph(text: str, css_class: str = "") -> str:
    """Return a paragraph."""
    return f"<p{_class(css_class)}>{html.escape(text)}</p>"


def bullets(texts: Iterable[str]) -> str:
    """Return a bulleted list."""
    return f'<ul class="findings">{"".join(f"<li>{html.escape(text)}</li>" for text in texts)}</ul>'


def details(title: str, *content: str) -> str:
    """Return content that is collapsed until it is clicked."""
    return "\n".join([f"<details><summary>{html.escape(title)}</summary>", *content, "</details>"])


def table(content: DisplayTable) -> str:
    """Return a table with its title and notes; the page's script makes it sortable."""
    head = "".join(
        f'<th scope="col"{_class("name" if j < content.n_names else "")}>{html.escape(title)}</th>'
        for j, title in enumerate(content.columns)
    )
    body = "".join(
        f"<tr>{''.join(_cell(cell, j < content.n_names) for j, cell in enumerate(row))}</tr>"
        for row in content.rows
    )
    title = html.escape(content.title)
    lines = [
        "<div>",
        f"<h3>{title}</h3>" if title else "",
        f'<div class="scroll" tabindex="0" role="region" aria-label="{title or "table"}">',
        f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>",
        *(paragraph(note, "note") for note in content.notes),
        "</div>",
    ]
    return "\n".join(lines)


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _cell(cell: DisplayCell, is_name: bool) -> str:
    value = ""
    if not isinstance(cell.value, str):
        infinite = math.copysign(1e308, cell.value)  # JavaScript parses it as a number, and sorts it last
        value = f' data-value="{cell.value if math.isfinite(cell.value) else infinite!r}"'
    css_class = "name" if is_name else "best" if cell.best else ""
    return f"<td{_class(css_class)}{value}>{html.escape(cell.text)}</td>"


def tables(contents: Iterable[DisplayTable]) -> str:
    """Return tables side by side, as far as there is room."""
    return f'<div class="tables">{"".join(map(table, contents))}</div>'


def definitions(content: Any, max_depth: int = _MAX_DEPTH) -> str:
    """Return plain data as a nested list of names and values."""
    if isinstance(content, dict) and max_depth and content:
        lines = (
            f"<dt>{html.escape(str(name))}</dt><dd>{definitions(value, max_depth - 1)}</dd>"
            for name, value in content.items()
        )
        return f"<dl>{''.join(lines)}</dl>"
    if isinstance(content, (list, tuple, set)):
        return html.escape(", ".join(map(str, content)) or "none")
    return html.escape("none" if content is None else str(content))


def picture(draw: Callable[[Callable[..., Any], int], Any], alt: str, caption: str) -> str:
    """Return a figure in four versions: for light and dark pages, wide and narrow.

    ``draw`` gets the class of the figure and the number of axes side by side, and returns the axes.
    """
    wide, narrow = _to_svg(draw, 3), _to_svg(draw, 1)
    sources = {
        f"{_NARROW} and {_DARK}": _darken(narrow),
        _NARROW: narrow,
        f"screen and {_DARK}": _darken(wide),
    }
    lines = [f'<source media="{media}" srcset="{_data_url(svg)}">' for media, svg in sources.items()]
    image = f'<img src="{_data_url(wide)}" alt="{html.escape(alt)}">'
    legend = f"<figcaption>{html.escape(caption)}</figcaption>"
    return "\n".join(["<figure><picture>", *lines, image, "</picture>", legend, "</figure>"])


def _to_svg(draw: Callable[[Callable[..., Any], int], Any], n_columns: int) -> bytes:
    """Return a figure as reproducible SVG for a light page."""
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the tables show letters that fonts lack
        mpl.rcdefaults()  # the page has a style of its own
        ink = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
        mpl.rcParams.update(dict.fromkeys(ink, _INK) | {"axes.facecolor": _PAPER, "svg.hashsalt": "tritree"})
        file = io.BytesIO()
        metadata = dict.fromkeys(("Date", "Creator"))
        figure = draw(Figure, n_columns)[0].figure
        figure.savefig(file, format="svg", facecolor=_PAPER, metadata=metadata)
    return file.getvalue()


def _darken(svg: bytes) -> bytes:
    """Return a figure for a dark page; no method is drawn in the colours that are exchanged."""
    for light, dark in ((_INK, _DARK_INK), (_PAPER, _DARK_PAPER)):
        svg = svg.replace(light.encode(), dark.encode())
    return svg


def _data_url(svg: bytes) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()
