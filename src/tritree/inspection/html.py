"""Interactive page of a tree: one HTML file that fetches nothing and runs no code but its own."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from dataclasses import asdict
from importlib.metadata import version
from importlib.resources import files
from itertools import pairwise
from math import isfinite
from string import Template
from typing import TYPE_CHECKING, Any

from tritree.inspection.captions import TreeText, best_class, headline
from tritree.inspection.colours import PAGE_COLOURS, NodeColours
from tritree.inspection.formatting import as_label, as_name, number_format
from tritree.inspection.rows import UNSEEN
from tritree.inspection.text import tree_to_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritree.inspection.rows import Cell

#: Maximum number of nodes in a notebook, which stores every output.
NOTEBOOK_NODES = 300
#: Maximum number of rows to start from.
MAX_ROWS = 1_000

# in the order in which they use each other
_SCRIPTS = (
    "traversal",
    "layout",
    "drawing",
    "times",
    "panel",
    "folding",
    "card",
    "search",
    "keyboard",
    "pointer",
    "main",
)
_FRAME_HEIGHT = 480  # pixels in a notebook
_UNSEEN = -2  # a category not seen in training, as the page has it
_DIGITS = 4
_LINES = 200  # of the text shown without scripts


def tree_to_html(
    tree: dict[str, Any],
    numbers: Sequence[int],
    *,
    rows: Sequence[tuple[str, Sequence[Cell]]] = (),
    loss: str,
    compact: bool = False,
) -> str:
    """Return a tree as a page, given its description and the nodes to show: the root first, parents before children."""
    data = _page_data(tree, numbers, rows, loss)
    folder = files("tritree.inspection") / "page"
    script = "".join((folder / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS)
    script = f'(() => {{\n"use strict";\n{script}}})();\n'
    style = Template((folder / "page.css").read_text(encoding="utf-8")).substitute(PAGE_COLOURS)
    return Template((folder / "page.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(data["title"]),
        text=html.escape(tree_to_text(tree, max_nodes=_LINES)),
        version=html.escape(version("tritree")),
        form="compact" if compact else "whole",
        style=style,
        style_hash=policy_hash(style),
        script=script,
        script_hash=policy_hash(script),
        data=_inlined(data),
    )


def name_rows(rows: Any, n_rows: int) -> list[str]:
    """Return the names of rows in a page; raise a ValueError if there are too many."""
    if n_rows > MAX_ROWS:
        raise ValueError(
            f"a page lists at most {MAX_ROWS:,} rows, got {n_rows:,}; choose some, such as rows[:{MAX_ROWS}]"
        )
    labels: Any = getattr(rows, "index", None)
    if labels is None or callable(labels):
        labels = range(n_rows)
    return [f"row {label}" for label in labels]


def in_frame(page: str, title: str) -> str:
    """Return a page as the output of a notebook: in a frame, so that neither can affect the other."""
    return (
        f'<iframe title="{html.escape(title)}" sandbox="allow-scripts" srcdoc="{html.escape(page)}" '
        f'style="width:100%;height:{_FRAME_HEIGHT}px;border:1px solid #8886;border-radius:8px" loading="lazy"></iframe>'
    )


def policy_hash(text: str) -> str:
    """Return the hash by which the content security policy allows a script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _inlined(data: Any) -> str:
    """Return data as JSON that can be embedded in a script element: no text in it can end the element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _page_data(
    tree: dict[str, Any], numbers: Sequence[int], rows: Sequence[tuple[str, Sequence[Cell]]], loss: str
) -> dict[str, Any]:
    """Return the data of the page: the nodes, numbered by their place in it, and the rows to start from."""
    columns = [_Column(column) for column in tree["columns"]]
    drawn, classes, edges = [tree["nodes"][number] for number in numbers], tree["classes"], tree.get("edges")
    splits = [node["split"] for node in drawn if node["split"] is not None]
    # of each column, in the order of their first use
    uses: dict[int, list[dict[str, Any]]] = {}
    for split in splits:
        for use in (split, *split["surrogates"]):
            uses.setdefault(use["column"], []).append(use)
    for j, used_by in uses.items():
        columns[j].set_range(used_by, [cells[j] for _, cells in rows])
    text, colours = TreeText(tree, numbers, _DIGITS), NodeColours(tree, drawn)
    number_text = number_format([node["value"][0] for node in drawn], _DIGITS)
    return {
        "title": headline(tree),
        "missing": tree["missing"],
        "terms": asdict(text.terms),
        "loss": loss.replace("_", " "),
        "classes": None if classes is None else [as_label(label) for label in classes],
        "colours": None if classes is None else [colours.of_class(k) for k in range(len(classes))],
        "detached": tree["detached"],
        "ends": [number_text(edges[0]), number_text(edges[-1])] if edges else None,
        "columns": [column.described() for column in columns],
        "used": list(uses),
        "rows": [
            {"name": name, "cells": [c.cell(cell) for c, cell in zip(columns, cells, strict=True)]}
            for name, cells in rows
        ],
        "nodes": _page_nodes(tree, numbers, columns, text, colours),
    }


class _Column:
    """A column of the page: how its values are entered, and a typical value to start from."""

    def __init__(self, column: dict[str, Any]) -> None:
        self.name = str(column["name"])
        is_ordered = column["order"] is not None
        self.labels = column["order"] if is_ordered else column["categories"]
        self.kind = "order" if is_ordered else "numeric" if self.labels is None else "categories"
        #: How dates and times are written; None for other columns.
        self.time = column["time"]
        self._places = {label: place for place, label in enumerate(self.labels or ())}
        self.typical: float | None = None
        self._span: list[float] | None = None

    def places(self, labels: Sequence[Any]) -> list[int]:
        """Return the positions of categories."""
        return [self._places[label] for label in labels]

    def set_range(self, splits: Sequence[dict[str, Any]], cells: Sequence[Cell]) -> None:
        """Take a typical value from the splits, in the middle of the thresholds, and the range of a slider."""
        splits = [split for split in splits if split["rule"] != "missing"]
        if not splits:
            return
        if self.kind == "categories":
            split = next((split for split in splits if "larger_side" in split), splits[0])
            larger_side = "right" if split.get("larger_side") == "right" else "left"
            self.typical = self._places[split[larger_side][0]]
            return
        thresholds = sorted({split["threshold"] for split in splits})
        middle = thresholds[len(thresholds) // 2]
        margin = _margin(thresholds)
        self.typical = self._rounded(middle, margin) if self.labels is None else int(middle)
        low, high = thresholds[0] - margin, thresholds[-1] + margin
        if thresholds[0] >= 0 and self.time is None:
            low = max(low, 0.0)  # counts and measurements are rarely negative
        seen = [cell.number for cell in cells if cell.number is not None]
        low, high = min([low, *seen]), max([high, *seen])
        if self.labels is None and isfinite(low) and isfinite(high):
            self._span = [self._rounded(low, margin), self._rounded(high, margin)]

    def _rounded(self, value: float, margin: float) -> float:
        """Return a value to start from with few digits, or in the unit of the training values."""
        if self.time is None:
            return _rounded(value, margin)
        return float(round(value / self.time["resolution"]) * self.time["resolution"])

    def described(self) -> dict[str, Any]:
        """Return the column as the page reads it; ``range`` is that of a slider."""
        return {
            "name": self.name,
            "shown": as_name(self.name),
            "kind": self.kind,
            "time": self.time,
            "labels": None if self.labels is None else [str(label) for label in self.labels],
            "range": self._span,
            "typical": self.typical,
        }

    def cell(self, cell: Cell) -> float | None:
        """Return the value of a row as the page reads it."""
        if cell.state == UNSEEN:
            return _UNSEEN
        if self.kind == "categories":
            return self._places.get(cell.value)
        return cell.number


def _margin(thresholds: Sequence[float]) -> float:
    """Return how far a slider goes beyond the thresholds: as far as these are apart."""
    if len(thresholds) == 1:
        return abs(thresholds[0]) / 2 or 1.0
    widest = max(high - low for low, high in pairwise(thresholds))
    return max(widest, thresholds[-1] / 4 - thresholds[0] / 4)


def _rounded(value: float, margin: float) -> float:
    """Return a value rounded to few digits, changed by at most a thousandth of the margin."""
    for digits in range(3, 17):
        rounded = float(f"{value:.{digits}g}")
        if abs(rounded - value) <= margin / 1000:
            return rounded
    return value


def _page_nodes(
    tree: dict[str, Any],
    numbers: Sequence[int],
    columns: Sequence[_Column],
    text: TreeText,
    colours: NodeColours,
) -> list[dict[str, Any]]:
    """Return the nodes of the page, with their texts."""
    places: dict[Any, Any] = {number: place for place, number in enumerate(numbers)}
    places |= {None: None, "ungrown": "ungrown"}
    nodes = []
    for number in numbers:
        node = tree["nodes"][number]
        page = {key: node[key] for key in ("depth", "rows", "weight", "loss", "value") if key in node}
        # JSON has no infinite numbers
        page |= {key: None for key in ("weight", "loss") if key in node and not isfinite(node[key])}
        page |= {branch: places.get(node[branch], "left out") for branch in ("left", "right", "third")}
        best = f"{text.best(node)} {node['value'][best_class(node)]:.1%}" if tree["classes"] else ""
        page |= {"name": str(number), "shown": best or text.mean(node), "split": None}
        page["strength"] = round(colours.strength(node), 2)
        if node.get("distribution"):
            page["distribution"] = [round(fraction, 4) for fraction in node["distribution"]]
        if (split := node["split"]) is not None:
            page["split"] = _page_split(split, columns)
            page["rules"] = dict(text.branches(node))
            page["conditions"] = dict(zip(("left", "right"), text.sides(split), strict=True))
            page["full"] = _in_full(split, text)
            page["missing_rule"] = text.missing_rule(split)
        nodes.append(page)
    return nodes


def _page_split(split: dict[str, Any], columns: Sequence[_Column]) -> dict[str, Any]:
    """Return a split as the page reads it: categories by number, no names."""
    page = {key: value for key, value in split.items() if key not in ("name", "left", "right")}
    if split["rule"] == "categories":
        page |= {side: columns[split["column"]].places(split[side]) for side in ("left", "right")}
    if "surrogates" in split:
        page["surrogates"] = [_page_split(surrogate, columns) for surrogate in split["surrogates"]]
    return page


def _in_full(split: dict[str, Any], text: TreeText) -> dict[str, str]:
    """Return the conditions of both sides, with every category."""
    conditions = dict(zip(("left", "right"), text.conditions(split), strict=True))
    if split["rule"] == "categories":
        conditions = {side: f"is {', '.join(map(str, split[side]))}" for side in conditions}
    return {side: f"{split['name']} {condition}" for side, condition in conditions.items()}
