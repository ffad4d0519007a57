"""A progress bar with the time left, for terminals."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["bar"]


@contextmanager
def bar(total: int, unit: str, *, shown: bool) -> Iterator[Callable[[], None]]:
    """Yield what to call when one of so many is done; it moves a bar on a terminal if one is shown."""
    if not shown:
        yield lambda: None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        yield lambda: None
        return
    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):  # there it would be but empty lines
        yield lambda: None
        return
    columns = (TextColumn(unit), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda: progress.advance(task)
