"""Progress bars for terminals and notebooks; nothing is shown elsewhere, or without rich."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["bar", "growth_progress", "progress_bar", "stderr_console"]


def stderr_console() -> Any:
    """Return a console of rich for the standard error, None if it is no terminal or if rich is not installed."""
    try:
        from rich.console import Console
    except ImportError:
        return None
    console = Console(stderr=True)
    return console if console.is_terminal or console.is_jupyter else None


@contextmanager
def progress_bar(
    console: Any, description: str, counts: str = "", total: int | None = None, **fields: Any
) -> Iterator[Callable[..., None]]:
    """Yield a function that updates a bar, with arguments as for ``rich.progress.Progress.update``.

    ``counts`` is formatted with the ``task`` and shown beside the bar, with the time left if there is a total, else
    with the time elapsed. Without a console nothing is shown.
    """
    if console is None:
        yield lambda **_: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    title = TextColumn("{task.description}", markup=False)
    time = TimeElapsedColumn() if total is None else TimeRemainingColumn()
    with Progress(title, BarColumn(), TextColumn(counts), time, console=console, transient=True) as progress:
        yield partial(progress.update, progress.add_task(description, total=total, **fields))


@contextmanager
def bar(total: int | None, unit: str, *, shown: bool) -> Iterator[Callable[..., None]]:
    """Yield a function to call after each of ``total`` steps; it advances a bar with the time left.

    It takes the number of steps, by default 1. If the total is None, the time elapsed is shown.
    """
    console = stderr_console() if shown else None
    counts = "{task.completed:,.0f}" if total is None else "{task.completed:,.0f}/{task.total:,.0f}"
    with progress_bar(console, unit, counts, total) as update:

        def advance(steps: int = 1) -> None:
            update(advance=steps)

        yield advance


@contextmanager
def growth_progress(max_nodes: int) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows how many nodes there are and how many branches are still to grow."""
    counts = "{task.completed:,} nodes, {task.fields[ungrown]:,} branches to grow"
    on_terminal = sys.stderr is not None and sys.stderr.isatty()  # else rich is not even imported
    with progress_bar(stderr_console() if on_terminal else None, "growing", counts, ungrown=0) as update:

        def show(nodes: int, ungrown: int) -> None:
            update(completed=nodes, total=min(max_nodes, nodes + ungrown), ungrown=ungrown)

        yield show
