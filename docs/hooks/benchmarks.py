"""The page about performance ends with what the last full run of the benchmarks wrote, fitted to the site."""

from pathlib import Path
from typing import Any

_MEASURED = Path(__file__).parents[2] / "benchmarks" / "README.md"


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Return a page; that about performance with the benchmarks' page behind it."""
    return f"{markdown}\n{_measured()}" if page.file.src_uri == "performance.md" else markdown


def _measured() -> str:
    """Return the benchmarks' page without its title; two things that it says are said otherwise here."""
    _, text = _MEASURED.read_text(encoding="utf-8").split("\n", 1)
    return text.replace("<details>", '<details markdown="1">').replace("\\\n", "  \n")
