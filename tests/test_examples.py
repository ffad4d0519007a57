"""All scripts in examples/ run and write the pictures of the documentation."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = "".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("*.md")))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_example_runs_and_writes_its_pictures(script: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    environment = os.environ | {"MPLBACKEND": "agg"}
    run = subprocess.run(
        [sys.executable, script, tmp_path], capture_output=True, text=True, timeout=120, env=environment
    )
    assert run.returncode == 0, run.stderr
    assert not run.stderr
    written = [file for file in tmp_path.iterdir() if file.suffix in (".png", ".html")]
    documented = set(re.findall(r"``(\w+\.(?:png|html))``", script.read_text(encoding="utf-8")))
    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        documented -= {"page.png"}
    assert documented
    assert documented <= {file.name for file in written}
    assert all(file.stat().st_size > 1_000 for file in written)


def test_documentation_shows_the_pictures_of_every_example() -> None:
    for script in EXAMPLES:
        assert f"`examples/{script.name}`" in PAGES
    pictures = re.findall(r"\((pictures/[^)]+)\)", PAGES)
    assert all((ROOT / "docs" / picture).exists() for picture in pictures)
    assert {Path(picture).name for picture in pictures} == {
        file.name for file in (ROOT / "docs" / "pictures").iterdir()
    }
