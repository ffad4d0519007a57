"""Reference implementations share no code with what they are compared with."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

MODULES = sorted(path for path in Path(__file__).parent.glob("*.py") if path.name != Path(__file__).name)
ALLOWED = {*sys.stdlib_module_names, "numpy", "reference"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_reference_imports_nothing_of_tritree(path: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add((node.module or "").partition(".")[0])
    assert imported <= ALLOWED
