"""Imports point upstream only, in the core and in Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: Folders of the core, upstream first.
CORE = ("common", "data", "split", "tree", "grow", "model", "bind")
#: Modules and packages of Python, upstream first.
PYTHON = (
    *(
        "errors",
        "_core",
        "output_files",
        "progress",
        "dates",
        "columns",
        "table",
        "target",
        "identifiers",
        "number_text",
        "encoder",
        "out_of_core",
        "validation",
        "metrics",
    ),
    *("inspection", "estimators", "dask", "serialization", "graft", "lab", "cli"),
)


def sources(folder: str, *endings: str) -> list[Path]:
    return [path for ending in endings for path in sorted((ROOT / folder).rglob(f"*{ending}"))]


def imported(path: Path) -> Iterator[str]:
    """Yield the modules and packages of tritree that are imported when a module is."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module == "tritree":
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tritree."):
            yield str(node.module).split(".")[1]


@pytest.mark.skipif(not (ROOT / "cpp").exists(), reason="the sources of the core are not here")
def test_headers_of_the_core_are_included_from_upstream() -> None:
    paths = sources("cpp", ".hpp", ".cpp")
    assert len(paths) > 50
    for path in paths:
        own = CORE.index(path.parent.name)
        for folder in re.findall(r'#include "(\w+)/', path.read_text(encoding="utf-8")):
            assert CORE.index(folder) <= own, f"{path.name} includes {folder}"


@pytest.mark.skipif(not (ROOT / "src").exists(), reason="the sources are not here")
def test_modules_import_from_upstream() -> None:
    package = ROOT / "src" / "tritree"
    paths = sources("src/tritree", ".py")
    assert len(paths) > 50
    for path in paths:
        own = path.relative_to(package).parts[0].removesuffix(".py")
        if own.startswith("__"):  # the package itself, and the program
            continue
        for name in imported(path):
            assert PYTHON.index(name) <= PYTHON.index(own), f"{path.name} imports {name}"
