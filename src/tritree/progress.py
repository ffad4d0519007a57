"""Progress bars for terminals; nothing is shown elsewhere, or without rich."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["bar", "growth_progress"]


@contextmanager
def bar(total: int, unit: str, *, shown: bool) -> Iterator[Callable[[], None]]:
    """Yield a function to call after each of ``total`` steps; it advances a bar with the time left."""
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
    if not (console.is_terminal or console.is_jupyter):  # elsewhere there would be empty lines
        yield lambda: None
        return
    columns = (TextColumn(unit), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda: progress.advance(task)


@contextmanager
def growth_progress(max_nodes: int) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows how many nodes there are and how many branches are still to grow."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _nodes, _ungrown: None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        yield lambda _nodes, _ungrown: None
        return
    columns = (
        TextColumn("growing"),
        BarColumn(),
        TextColumn("{task.completed:,} nodes, {task.fields[ungrown]:,} branches to grow"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None, ungrown=0)

        def show(nodes: int, ungrown: int) -> None:
            total = min(max_nodes, nodes + ungrown)
            progress.update(task, completed=nodes, total=total, ungrown=ungrown)

        yield show
