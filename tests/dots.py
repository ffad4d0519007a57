"""Parse the output of `to_dot`, and the layout that Graphviz's ``dot`` computes from it."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree as ET

import pytest

__all__ = ["Graph", "needs_dot", "positions", "read_dot", "run_dot", "svg_lines"]

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz (dot) is not installed")

_LABEL = r'label="((?:[^"\\]|\\.)*)"'


@dataclass
class Graph:
    """A graph: label lines by node, labels by edge, dotted edges, and pairs of nodes at the same height."""

    title: list[str] = field(default_factory=list)
    nodes: dict[str, list[str]] = field(default_factory=dict)
    edges: dict[tuple[str, str], str] = field(default_factory=dict)
    dotted: set[tuple[str, str]] = field(default_factory=set)
    same_height: set[tuple[str, str]] = field(default_factory=set)


def read_dot(text: str) -> Graph:
    """Return the graph that `to_dot` wrote, one statement per line."""
    first, *statements, last = text.splitlines()
    assert (first, last) == ("digraph tree {", "}")
    graph = Graph()
    for statement in statements:
        line = statement.strip()
        if match := re.fullmatch(r"\{ rank=same; (\w+); (\w+) \}", line):
            graph.same_height.add((match[1], match[2]))
        elif match := re.fullmatch(r"(\w+) -> (\w+) \[(.*)\]", line):
            edge = match[1], match[2]
            graph.edges[edge] = " ".join(part.strip() for part in _label(match[3]))
            if "style=dotted" in match[3]:
                graph.dotted.add(edge)
        elif match := re.fullmatch(r"(\w+) \[(.*)\]", line):
            if match[1] == "graph":
                graph.title = _label(match[2])
            elif match[1] not in ("node", "edge"):
                graph.nodes[match[1]] = _label(match[2])
        else:
            raise AssertionError(f"not a statement: {line}")
    return graph


def _label(attributes: str) -> list[str]:
    """Return the lines of a label, unescaped."""
    match = re.search(_LABEL, attributes)
    if match is None:
        return []
    escapes = {"n": "\n", "l": "\n"}
    text = re.sub(r"\\(.)", lambda sign: escapes.get(sign[1], sign[1]), match[1])
    return text.replace("&amp;", "&").removesuffix("\n").split("\n")


def run_dot(text: str, output_format: str) -> str:
    """Return the output of ``dot``, which must not print warnings."""
    completed = subprocess.run(
        ["dot", f"-T{output_format}"], input=text.encode(), capture_output=True, timeout=60, check=False
    )
    assert completed.returncode == 0, completed.stderr
    # a missing font is not an error of the graph
    messages = [line for line in completed.stderr.decode().splitlines() if "font" not in line.lower()]
    assert messages == []
    return completed.stdout.decode()


def svg_lines(text: str) -> list[str]:
    """Return the lines of text in the picture."""
    root = ET.fromstring(run_dot(text, "svg"))
    lines: list[Any] = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    return [line.replace("\xa0", " ").strip() for line in lines]


def positions(text: str) -> dict[str, tuple[float, float]]:
    """Return the centre of each node in the layout of ``dot``, from the left and from below."""
    lines = [line.split() for line in run_dot(text, "plain").splitlines()]
    return {line[1]: (float(line[2]), float(line[3])) for line in lines if line[0] == "node"}
