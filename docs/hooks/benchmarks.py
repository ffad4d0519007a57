"""Append the benchmarks and their newest results to the performance page."""

from pathlib import Path
from typing import Any

_BENCHMARKS = Path(__file__).parents[2] / "benchmarks" / "README.md"


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Return the page; on the performance page, append the benchmarks."""
    return f"{markdown}\n{_benchmarks()}" if page.file.src_uri == "performance.md" else markdown


def _benchmarks() -> str:
    """Return benchmarks/README.md without its title, in the Markdown dialect of the site."""
    _, text = _BENCHMARKS.read_text(encoding="utf-8").split("\n", 1)
    return text.replace("<details>", '<details markdown="1">')
