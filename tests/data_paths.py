"""Paths of worked cases and data sets that are not part of the repository."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
GOLDEN = Path(os.environ.get("TRITREE_GOLDEN", PROJECT.parent / "shared" / "golden"))
DATA = Path(os.environ.get("TRITREE_DATA", PROJECT.parent / "shared" / "data"))


def case_name(case: Any) -> str | None:
    """Return the test id of a golden case; None if there is no case, which pytest 8 passes too."""
    if not isinstance(case, dict):
        return None
    plain = "" if case.get("split_on_missing", True) else "-without_missing_against_observed"
    return f"{case['problem']}-{case['missing']}{plain}"


@cache
def golden_cases(name: str) -> list[dict[str, Any]]:
    """Return the cases of a golden file, each with its problem as "table"; empty if the file is absent."""
    path = GOLDEN / name
    if not path.exists():
        return []
    content = json.loads(path.read_text())
    problems = {problem["name"]: problem for problem in content["problems"]}
    return [case | {"table": problems[case["problem"]]} for case in content["cases"]]
