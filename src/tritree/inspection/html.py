"""Interactive page of a tree: one HTML file that fetches nothing and runs no code but its own."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from dataclasses import asdict
from importlib.resources import files
from itertools import pairwise
from math import isfinite
from string import Template
from typing import TYPE_CHECKING, Any

from tritree.inspection.captions import WIDEST_LABEL, NodeText, SplitText, best_class, headline, terms_of
from tritree.inspection.colours import PAGE_COLOURS, NodeColours
from tritree.inspection.formatting import as_label, as_name, number_format
from tritree.inspection.rows import NEVER_SEEN
from tritree.inspection.text import draw_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tritree.inspection.rows import Cell

__all__ = [
    "MAX_NODES",
    "MAX_ROWS",
    "NOTEBOOK_NODES",
    "draw_html",
    "in_frame",
    "name_rows",
    "page_data",
    "policy_hash",
]

#: Default maximum number of nodes.
MAX_NODES = 2_000
#: Maximum number of nodes in a notebook, which stores every output.
NOTEBOOK_NODES = 300
#: Maximum number of rows to start from.
MAX_ROWS = 1_000

_SCRIPTS = (
    "traversal.js",
    "layout.js",
    "drawing.js",
    "panel.js",
    "folding.js",
    "card.js",
    "search.js",
    "keyboard.js",
    "pointer.js",
    "main.js",
)
_FRAME_HEIGHT = 480  # pixels in a notebook
_NEVER_SEEN = -2  # a category that was not seen in training
_DIGITS = 4
_LINES = 200  # of the text shown without scripts


def draw_html(
    tree: dict[str, Any],
    numbers: Sequence[int],
    *,
    rows: Sequence[tuple[str, Sequence[Cell]]] = (),
    loss: str,
    version: str,
    compact: bool = False,
) -> str:
    """Return a description of `describe` as a page with some of its nodes, the root first, a child after its parent."""
    data = page_data(tree, numbers, rows, loss)
    folder = files("tritree.inspection") / "page"
    script = "".join((folder / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    script = f'(() => {{\n"use strict";\n{script}}})();\n'
    style = Template((folder / "page.css").read_text(encoding="utf-8")).substitute(PAGE_COLOURS)
    return Template((folder / "page.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(data["title"]),
        text=html.escape(draw_text(tree, max_nodes=_LINES)),
        version=html.escape(version),
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


def page_data(
    tree: dict[str, Any], numbers: Sequence[int], rows: Sequence[tuple[str, Sequence[Cell]]], loss: str
) -> dict[str, Any]:
    """Return the data of the page: the nodes, numbered by their place in it, and the rows to start from."""
    columns = [_Column(column, j) for j, column in enumerate(tree["columns"])]
    nodes = _PageNodes(tree, numbers, columns)
    described = nodes.described()
    edges, values = tree.get("edges"), [tree["nodes"][number]["value"][0] for number in numbers]
    text_of = number_format(values, _DIGITS)
    for column in columns:
        column.set_range(described, [cells[column.number] for _, cells in rows])
    return {
        "title": headline(tree),
        "missing": tree["missing"],
        "terms": asdict(terms_of(tree)),
        "loss": loss.replace("_", " "),
        "classes": None
        if tree["classes"] is None
        else [as_label(label, WIDEST_LABEL) for label in tree["classes"]],
        "colours": nodes.class_colours(),
        "detached": tree["detached"],
        "ends": [text_of(edges[0]), text_of(edges[-1])] if edges else None,
        "columns": [column.described() for column in columns],
        "used": nodes.used_columns(),
        "typical": [column.typical for column in columns],
        "rows": [
            {
                "name": name,
                "cells": [column.cell(cell) for column, cell in zip(columns, cells, strict=True)],
            }
            for name, cells in rows
        ],
        "nodes": described,
    }


class _Column:
    """A column of the page: how its values are entered, and a typical value to start from."""

    def __init__(self, column: dict[str, Any], number: int) -> None:
        self.number = number
        self.name = str(column["name"])
        self.labels = column["order"] if column["order"] is not None else column["categories"]
        self.kind = (
            "order" if column["order"] is not None else "numeric" if self.labels is None else "categories"
        )
        self._places = {label: place for place, label in enumerate(self.labels or ())}
        self.typical: float | None = None
        self._span: list[float] | None = None

    def places(self, labels: Sequence[Any]) -> list[int]:
        """Return the positions of categories."""
        return [self._places[label] for label in labels]

    def set_range(self, nodes: Sequence[dict[str, Any]], cells: Sequence[Cell]) -> None:
        """Take a typical value from the splits, in the middle of the thresholds, and the range of a slider."""
        splits = [node["split"] for node in nodes if node["split"] is not None]
        splits += [surrogate for split in splits for surrogate in split["surrogates"]]
        mine = [split for split in splits if split["column"] == self.number and split["rule"] != "missing"]
        if not mine:
            return
        if self.kind == "categories":
            self.typical = mine[0][mine[0].get("larger_side", "left")][0]
            return
        thresholds = sorted({split["threshold"] for split in mine})
        middle = thresholds[len(thresholds) // 2]
        margin = _margin(thresholds)
        self.typical = _rounded(middle, margin) if self.labels is None else int(middle)
        low, high = thresholds[0] - margin, thresholds[-1] + margin
        if thresholds[0] >= 0:
            low = max(low, 0.0)  # counts and measurements are rarely negative
        seen = [cell.number for cell in cells if cell.number is not None]
        low, high = min([low, *seen]), max([high, *seen])
        if self.labels is None and isfinite(low) and isfinite(high):
            self._span = [_rounded(low, margin), _rounded(high, margin)]

    def described(self) -> dict[str, Any]:
        """Return the column as the page reads it; ``range`` is that of a slider."""
        return {
            "name": self.name,
            "shown": as_name(self.name, 30),
            "kind": self.kind,
            "labels": None if self.labels is None else [str(label) for label in self.labels],
            "range": self._span,
            "typical": self.typical,
        }

    def cell(self, cell: Cell) -> float | None:
        """Return the value of a row as the page reads it."""
        if cell.state == NEVER_SEEN:
            return _NEVER_SEEN
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


class _PageNodes:
    """The nodes of the page, numbered by their place in it."""

    def __init__(self, tree: dict[str, Any], numbers: Sequence[int], columns: Sequence[_Column]) -> None:
        self._tree = tree
        self._numbers = numbers
        self._columns = columns
        self._places = {number: place for place, number in enumerate(numbers)}
        self._splits = SplitText(tree["nodes"], _DIGITS)
        self._values = NodeText(tree, list(numbers), _DIGITS)
        self._colours = NodeColours(tree, [tree["nodes"][number] for number in numbers])

    def described(self) -> list[dict[str, Any]]:
        return [self._node(number) for number in self._numbers]

    def class_colours(self) -> list[str] | None:
        """Return the colour of each class; None in regression."""
        classes = self._tree["classes"]
        return None if classes is None else [self._colours.of_class(k) for k in range(len(classes))]

    def used_columns(self) -> list[int]:
        """Return the columns that splits and surrogates use, in the order of their first use."""
        found: dict[int, None] = {}
        for number in self._numbers:
            split = self._tree["nodes"][number]["split"]
            if split is not None:
                found |= dict.fromkeys([split["column"], *(s["column"] for s in split["surrogates"])])
        return list(found)

    def _node(self, number: int) -> dict[str, Any]:
        node = self._tree["nodes"][number]
        kept = {key: node[key] for key in ("depth", "rows", "weight", "loss", "value") if key in node}
        page: dict[str, Any] = kept | {"name": str(number), "shown": self._shown(node), "split": None}
        page["strength"] = round(self._colours.strength(node), 2)
        page |= {
            key: None for key in ("weight", "loss") if key in node and not isfinite(node[key])
        }  # JSON has no number for it
        page |= {branch: self._child(node[branch]) for branch in ("left", "right", "third")}
        if node.get("distribution"):
            page["distribution"] = [round(fraction, 4) for fraction in node["distribution"]]
        if node["split"] is not None:
            page["split"] = self._split(node["split"])
            page["rules"] = dict(self._splits.branches(node))
            page["conditions"] = dict(zip(("left", "right"), self._splits.sides(node["split"]), strict=True))
            page["full"] = dict(self._in_full(node["split"]))
            if node["split"]["surrogates"]:
                page["surrogates"] = self._splits.surrogates(node["split"])
        return page

    def _shown(self, node: dict[str, Any]) -> str:
        if self._tree["classes"] is None:
            return self._values.mean(node)
        return f"{self._values.best(node)} {node['value'][best_class(node)]:.1%}"

    def _child(self, child: int | str | None) -> int | str | None:
        return self._places.get(child, "left out") if isinstance(child, int) else child

    def _split(self, split: dict[str, Any]) -> dict[str, Any]:
        fields = (
            "column",
            "rule",
            "missing_to",
            "larger_side",
            "left_fraction",
            "threshold",
            "below",
            "gain",
        )
        page = {key: split[key] for key in fields if key in split}
        if split["rule"] == "categories":
            column = self._columns[split["column"]]
            page |= {side: column.places(split[side]) for side in ("left", "right")}
        if "surrogates" in split:
            page["surrogates"] = [self._split(surrogate) for surrogate in split["surrogates"]]
        return page

    def _in_full(self, split: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield the conditions of both sides, with every category."""
        name, conditions = str(split["name"]), self._splits.conditions(split)
        for side, condition in zip(("left", "right"), conditions, strict=True):
            if split["rule"] == "categories":
                condition = "is " + ", ".join(str(label) for label in split[side])
            yield side, f"{name} {condition}"
