"""A profile of holes as text and as HTML; both say the same, in the same words."""

from __future__ import annotations

from html import escape
from math import sqrt
from typing import Any

from tritree.inspection.formatting import as_name, as_percent, count, pad, width_of

__all__ = ["as_html", "as_text", "headline"]

_MOST_COLUMNS, _MOST_PATTERNS, _MOST_PAIRS = 30, 15, 10  # that are shown
_WIDEST_NAME, _MOST_NAMES = 30, 6  # letters of a name, and names in a row
_NOTABLE, _BY_CHANCE = (
    0.1,
    3.0,
)  # correlation of holes that is worth a line, also by what chance does in that many rows
_SURE = 0.05  # p-value below which holes are said not to be completely at random

#: A table that is shown: its title, its headings, its lines, and what was left out. Numbers stand to the right.
Section = tuple[str, list[str], list[list[str]], str]


def as_text(profile: dict[str, Any]) -> str:
    """Return a profile as lines of text."""
    parts = [headline(profile)]
    for title, headings, lines, rest in _sections(profile):
        body = _aligned([headings, *lines])
        parts.append("\n".join([title, *(f"  {line}" for line in [*body, *filter(None, [rest])])]))
    parts.append("\n".join([_LITTLE, *(f"  {line}" for line in _little(profile["little"]))]))
    return "\n\n".join(parts)


def as_html(profile: dict[str, Any]) -> str:
    """Return a profile as HTML for a notebook; names are text in it, whatever they hold."""
    parts = [f"<p>{escape(headline(profile))}</p>"]
    for title, headings, lines, rest in _sections(profile):
        head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in lines
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        more = f"<p>{escape(rest)}</p>" if rest else ""
        parts.append(f"<h4>{escape(title)}</h4>{table}{more}")
    parts.append(f"<h4>{escape(_LITTLE)}</h4><p>{_lines_as_html(_little(profile['little']))}</p>")
    return "<div>" + "\n".join(parts) + "</div>"


def _lines_as_html(lines: list[str]) -> str:
    return "<br>".join(map(escape, lines))


def _aligned(lines: list[list[str]]) -> list[str]:
    """Return lines of cells under each other: the last cell to the left, all before it to the right."""
    widths = [max(map(width_of, cells)) for cells in zip(*lines, strict=True)]
    return [
        "  ".join(
            pad(cell, width, right=place < len(line) - 1)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def headline(profile: dict[str, Any]) -> str:
    """Return the size of the table and its holes in one line."""
    n_rows, n_columns = profile["n_rows"], profile["n_columns"]
    missing = sum(column["missing"] for column in profile["columns"])
    size = f"{count(n_rows, 'row')} × {count(n_columns, 'column')}"
    if not missing:
        return f"{size}: no cell is missing"
    cells = f"{count(missing, 'cell')} ({as_percent(missing / (n_rows * n_columns))}) missing"
    complete = profile["complete_rows"]
    rows = f"{count(complete, 'row')} ({as_percent(complete / n_rows)}) complete"
    return f"{size}: {cells}, {rows}, {count(profile['n_patterns'], 'pattern')}"


def _sections(profile: dict[str, Any]) -> list[Section]:
    """Return the tables that have something to say."""
    sections = [_columns(profile), _patterns(profile), _together(profile)]
    return [section for section in sections if section[2]]


def _columns(profile: dict[str, Any]) -> Section:
    holed = sorted((c for c in profile["columns"] if c["missing"]), key=lambda c: -c["missing"])
    lines = [
        [f"{c['missing']:,}", as_percent(c["share"]), as_name(c["name"], _WIDEST_NAME)]
        for c in holed[:_MOST_COLUMNS]
    ]
    rest = []
    if len(holed) > _MOST_COLUMNS:
        rest.append(f"… {count(len(holed) - _MOST_COLUMNS, 'more column')} with fewer holes")
    if len(holed) < profile["n_columns"]:
        rest.append(f"{count(profile['n_columns'] - len(holed), 'column')} without holes")
    return "Missing cells", ["cells", "share", "column"], lines, ", ".join(rest)


def _patterns(profile: dict[str, Any]) -> Section:
    has_holes = any(column["missing"] for column in profile["columns"])
    shown = profile["patterns"][:_MOST_PATTERNS] if has_holes else []
    lines = [[f"{p['rows']:,}", as_percent(p["share"]), _names(p["columns"])] for p in shown]
    n_more = profile["n_patterns"] - len(shown)
    rest = f"… {count(n_more, 'more pattern')}" if n_more else ""
    return "Patterns", ["rows", "share", "missing in them"], lines, rest


def _together(profile: dict[str, Any]) -> Section:
    least = max(_NOTABLE, _BY_CHANCE / sqrt(profile["n_rows"]))
    notable = [pair for pair in profile["together"] if abs(pair["correlation"]) >= least]
    strongest = sorted(notable, key=lambda pair: -abs(pair["correlation"]))[:_MOST_PAIRS]
    lines = [[f"{pair['correlation']:+.2f}", _names(pair["columns"])] for pair in strongest]
    n_more = len(notable) - len(strongest)
    rest = f"… {count(n_more, 'more pair')} less so" if n_more else ""
    return "Missing together, or apart where below 0", ["correlation", "columns"], lines, rest


def _names(names: list[str]) -> str:
    if not names:
        return "nothing"
    shown = [as_name(name, _WIDEST_NAME) for name in names[:_MOST_NAMES]]
    more = [f"… {len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    return ", ".join(shown + more)


_LITTLE = "Little's test of missing completely at random"


def _little(test: dict[str, Any]) -> list[str]:
    """Return what the test says, on what, and how to read it."""
    lines = []
    if test["statistic"] is None:
        lines.append(f"not computed: {test['reason']}")
    else:
        p = test["p_value"]
        said = f"p = {p:.2g}" if p >= 1e-15 else "p < 1e-15"
        degrees = count(test["degrees_of_freedom"], "degree")
        lines.append(f"{said} (chi-square {test['statistic']:,.2f} with {degrees} of freedom)")
        lines.append(
            f"on {count(len(test['columns']), 'numeric column')}, {count(test['n_rows'], 'row')} and "
            f"{count(test['n_patterns'], 'pattern')}"
        )
        lines.append(
            "The holes are not completely at random: rows with different holes have different means."
            if p < _SURE
            else "No sign that holes depend on observed values; they may still depend on the missing ones."
        )
    lines += test["remarks"]
    reasons: dict[str, list[str]] = {}
    for name, reason in test["left_out"].items():
        reasons.setdefault(reason, []).append(name)
    return lines + [f"left out ({reason}): {_names(names)}" for reason, names in reasons.items()]
