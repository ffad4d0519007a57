"""Graphs of Graphviz read back: what `to_dot` wrote, and where ``dot`` has put it."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree as ET

import pytest

__all__ = ["Graph", "needs_dot", "places", "read_dot", "run_dot", "svg_lines"]

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz (dot) is not installed")

_LABEL = r'label="((?:[^"\\]|\\.)*)"'


@dataclass
class Graph:
    """The statements of a graph: lines of labels by node, edges with theirs, and pairs at the same height."""

    title: list[str] = field(default_factory=list)
    nodes: dict[str, list[str]] = field(default_factory=dict)
    edges: dict[tuple[str, str], str] = field(default_factory=dict)
    dotted: set[tuple[str, str]] = field(default_factory=set)
    same_height: set[tuple[str, str]] = field(default_factory=set)


def read_dot(text: str) -> Graph:
    """Return the statements of a graph that `to_dot` wrote, one per line."""
    first, *statements, last = text.splitlines()
    assert (first, last) == ("digraph tree {", "}")
    graph = Graph()
    for statement in statements:
        line = statement.strip()
        if match := re.fullmatch(r"\{ rank=same; (\w+); (\w+) \}", line):
            graph.same_height.add((match[1], match[2]))
        elif match := re.fullmatch(r"(\w+) -> (\w+) \[(.*)\]", line):
            ends = match[1], match[2]
            graph.edges[ends] = " ".join(part.strip() for part in _label(match[3]))
            if "style=dotted" in match[3]:
                graph.dotted.add(ends)
        elif match := re.fullmatch(r"(\w+) \[(.*)\]", line):
            if match[1] == "graph":
                graph.title = _label(match[2])
            elif match[1] not in ("node", "edge"):
                graph.nodes[match[1]] = _label(match[2])
        else:
            raise AssertionError(f"not a statement: {line}")
    return graph


def _label(attributes: str) -> list[str]:
    """The lines of a label, as they are to be read."""
    match = re.search(_LABEL, attributes)
    if match is None:
        return []
    ends = {"n": "\n", "l": "\n"}
    text = re.sub(r"\\(.)", lambda sign: ends.get(sign[1], sign[1]), match[1])
    return text.replace("&amp;", "&").removesuffix("\n").split("\n")


def run_dot(text: str, form: str) -> str:
    """What ``dot`` makes of a graph; it must not complain."""
    done = subprocess.run(
        ["dot", f"-T{form}"], input=text.encode(), capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    # a font that is not there is no fault of the graph
    complaints = [line for line in done.stderr.decode().splitlines() if "font" not in line.lower()]
    assert complaints == []
    return done.stdout.decode()


def svg_lines(text: str) -> list[str]:
    """The lines of text that a reader of the picture sees."""
    root = ET.fromstring(run_dot(text, "svg"))
    lines: list[Any] = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    return [line.replace("\xa0", " ").strip() for line in lines]


def places(text: str) -> dict[str, tuple[float, float]]:
    """Where ``dot`` puts the centre of each node: from the left and from below."""
    lines = [line.split() for line in run_dot(text, "plain").splitlines()]
    return {line[1]: (float(line[2]), float(line[3])) for line in lines if line[0] == "node"}
