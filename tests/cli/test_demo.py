"""``tritree demo`` writes everything that it lists."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.program import InProcess

from tritree import load

pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")


def test_demo_writes_a_figure_a_report_a_page_and_a_model(tritree: InProcess, tmp_path: Path) -> None:
    run = tritree.good("demo", "-o", "shown")
    assert "Use " in run.out
    names = {"comparison.png", "report.html", "tree.html", "diabetes.tritree"}
    assert {path.name for path in (tmp_path / "shown").iterdir()} == names
    assert load(tmp_path / "shown" / "diabetes.tritree").n_features_in_ == 10
