"""``tritree missing`` summarises and draws the missing values of a table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from cli.conftest import flowers
from cli.program import InProcess


def test_missing_values_are_counted(tritree: InProcess, classes: Path) -> None:
    frame = flowers()
    text = tritree.good("missing", classes).out
    missing = frame.isna().sum()
    assert f"150 rows × 7 columns: {missing.sum()} cells" in text
    for name in ("petal length", "colour"):
        assert any(
            line.split() == [str(missing[name]), *line.split()[1:2], *name.split()]
            for line in text.splitlines()
        )
    data = tritree.good("missing", classes, "--json").json
    assert {column["name"]: column["missing"] for column in data["columns"]} == missing.to_dict()


def test_missing_values_are_drawn(tritree: InProcess, classes: Path) -> None:
    pytest.importorskip("matplotlib")
    run = tritree.good("missing", classes, "--drop", "kind", "-o", "missing.png")
    assert Path("missing.png").read_bytes().startswith(b"\x89PNG")
    assert "figure written to 'missing.png'" in run.err


def test_dates_lists_and_complete_tables_are_summarised(tritree: InProcess) -> None:
    pytest.importorskip("pyarrow")
    dates = pd.to_datetime(["2020-01-01", None, "2020-01-03"])
    pd.DataFrame({"day": dates, "list": [[1], None, None], "x": [1, 2, 3]}).to_parquet("dates.parquet")
    columns = tritree.good("missing", "dates.parquet", "--json").json["columns"]
    assert [column["missing"] for column in columns] == [1, 2, 0]
    assert (
        "no cell is missing"
        in tritree.good("missing", "dates.parquet", "--drop", "day", "--drop", "list").out
    )
