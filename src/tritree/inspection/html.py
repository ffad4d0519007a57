"""Interactive page of a tree: one HTML file that fetches nothing and runs no code but its own."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from dataclasses import asdict
from importlib.metadata import version
from importlib.resources import files
from math import isfinite
from string import Template
from typing import TYPE_CHECKING, Any

from tritree.inspection.captions import TreeText, best_class, headline
from tritree.inspection.colours import CONTRIBUTION_COLOURS, PAGE_COLOURS, NodeColours
from tritree.inspection.formatting import as_label, number_format
from tritree.inspection.node_selection import BRANCHES
from tritree.inspection.page_columns import page_columns
from tritree.inspection.text import tree_to_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritree.inspection.page_columns import PageColumn
    from tritree.inspection.rows import Cell

#: Maximum number of nodes in a notebook, which stores every output.
NOTEBOOK_NODES = 300
#: Maximum number of rows to start from.
MAX_ROWS = 1_000

# of a page that shows trees, in the order in which they use each other
TREE_SCRIPTS = (
    "traversal",
    "layout",
    "drawing",
    "times",
    "row",
    "numbers",
    "panel",
    "folding",
    "card",
    "search",
    "keyboard",
    "pointer",
    "view",
)
_FRAME_HEIGHT = 480  # pixels in a notebook
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
    text = tree_to_text(tree, max_nodes=_LINES)
    return render_page(data, text, scripts=(*TREE_SCRIPTS, "main"), form="compact" if compact else "whole")


def render_page(
    data: dict[str, Any],
    text: str,
    *,
    scripts: Sequence[str],
    styles: Sequence[str] = ("page",),
    form: str = "whole",
    **parts: str,
) -> str:
    """Return a page, given its data, and its text without scripts.

    ``form`` is the class of its body; ``parts`` are further markup by its place in the page.
    """
    script = "".join(page_file(f"{name}.js") for name in scripts)
    script = f'(() => {{\n"use strict";\n{script}}})();\n'
    style = Template("".join(page_file(f"{name}.css") for name in styles)).substitute(
        PAGE_COLOURS | CONTRIBUTION_COLOURS
    )
    places = {"tabs": "", "section": "", "trees": ""}
    return Template(page_file("page.html")).substitute(
        places | parts,
        title=html.escape(data["title"]),
        text=html.escape(text),
        version=html.escape(version("tritree")),
        form=form,
        style=style,
        style_hash=policy_hash(style),
        script=script,
        script_hash=policy_hash(script),
        data=_inlined(data),
    )


def page_file(name: str) -> str:
    """Return one of the files that pages are made of."""
    return (files("tritree.inspection") / "page" / name).read_text(encoding="utf-8")


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


def as_json(data: Any) -> str:
    """Return data as compact JSON, all of it ASCII."""
    return json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=True)


def _inlined(data: Any) -> str:
    """Return data as JSON that can be embedded in a script element: no text in it can end the element."""
    return as_json(data).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _page_data(
    tree: dict[str, Any], numbers: Sequence[int], rows: Sequence[tuple[str, Sequence[Cell]]], loss: str
) -> dict[str, Any]:
    """Return the data of the page: the nodes, numbered by their place in it, and the rows to start from."""
    drawn, classes, edges = [tree["nodes"][number] for number in numbers], tree["classes"], tree.get("edges")
    columns, used = page_columns(tree["columns"], [(tree["nodes"], numbers)], [cells for _, cells in rows])
    text, colours = TreeText(tree, numbers, _DIGITS), NodeColours(tree, drawn)
    number_text = number_format([node["value"][0] for node in drawn], _DIGITS)
    nodes = page_nodes(tree, numbers, text, colours)
    for page, node in zip(nodes, drawn, strict=True):
        page |= {} if node["split"] is None else split_page(node, columns, text)
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
        "used": list(used),
        "rows": page_rows(columns, rows),
        "nodes": nodes,
    }


def page_rows(
    columns: Sequence[PageColumn], rows: Sequence[tuple[str, Sequence[Cell]]]
) -> list[dict[str, Any]]:
    """Return the rows of a page, with their names."""
    return [
        {"name": name, "cells": [c.cell(cell) for c, cell in zip(columns, cells, strict=True)]}
        for name, cells in rows
    ]


def page_nodes(
    tree: dict[str, Any], numbers: Sequence[int], text: TreeText, colours: NodeColours
) -> list[dict[str, Any]]:
    """Return the nodes of the page, with their texts, but not their splits."""
    places: dict[Any, Any] = {number: place for place, number in enumerate(numbers)}
    places |= {None: None, "ungrown": "ungrown"}
    nodes = []
    for number in numbers:
        node = tree["nodes"][number]
        page = {key: node[key] for key in ("depth", "rows", "weight", "loss", "value") if key in node}
        # JSON has no infinite numbers
        page |= {key: None for key in ("weight", "loss") if key in node and not isfinite(node[key])}
        page |= {branch: places.get(node[branch], "left out") for branch in BRANCHES}
        best = f"{text.best(node)} {node['value'][best_class(node)]:.1%}" if tree["classes"] else ""
        page |= {"name": str(number), "shown": best or text.mean(node), "split": None}
        page["strength"] = round(colours.strength(node), 2)
        if node.get("distribution"):
            page["distribution"] = [round(fraction, 4) for fraction in node["distribution"]]
        nodes.append(page)
    return nodes


def split_page(node: dict[str, Any], columns: Sequence[PageColumn], text: TreeText) -> dict[str, Any]:
    """Return the split of an inner node as the page reads it, with its texts."""
    split = node["split"]
    return {
        "split": _page_split(split, columns),
        "rules": dict(text.branches(node)),
        "conditions": dict(zip(("left", "right"), text.sides(split), strict=True)),
        "full": _in_full(split, text),
        "missing_rule": text.missing_rule(split),
    }


def _page_split(split: dict[str, Any], columns: Sequence[PageColumn]) -> dict[str, Any]:
    """Return a split as the page reads it: categories by number, no names."""
    page = {key: value for key, value in split.items() if key not in ("name", "left", "right")}
    if split["rule"] == "categories":
        page |= {side: columns[split["column"]].places(split[side]) for side in ("left", "right")}
    if split.get("evidence") is not None:
        page["evidence"] = [_page_evidence(evidence, columns) for evidence in split["evidence"]]
    if "surrogates" in split:
        page["surrogates"] = [_page_split(surrogate, columns) for surrogate in split["surrogates"]]
    return page


def _page_evidence(evidence: dict[str, Any], columns: Sequence[PageColumn]) -> dict[str, Any]:
    """Return the evidence of a column as the page reads it: categories by number, counts in lists."""
    groups = evidence["groups"]
    page = {key: evidence[key] for key in ("column", "rows", "left")}
    page |= {"group_rows": [g["rows"] for g in groups], "group_left": [g["left"] for g in groups]}
    if groups and "category" in groups[0]:
        return page | {"categories": columns[evidence["column"]].places([g["category"] for g in groups])}
    return page | {"from": [g["from"] for g in groups[1:]]}


def _in_full(split: dict[str, Any], text: TreeText) -> dict[str, str]:
    """Return the conditions of both sides, with every category."""
    conditions = dict(zip(("left", "right"), text.conditions(split), strict=True))
    if split["rule"] == "categories":
        conditions = {side: f"is {', '.join(map(str, split[side]))}" for side in conditions}
    return {side: f"{split['name']} {condition}" for side, condition in conditions.items()}
