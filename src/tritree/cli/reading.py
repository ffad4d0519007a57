"""How a table is read, as options that every command which reads one has alike."""

# annotations are read by Typer when the program is built, so they are not put off here

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tritree.cli import options
from tritree.cli.tables import Reading

__all__ = ["reads_a_table"]


def _reading(
    read_as: options.ReadAs = None,
    separator: options.Separator = None,
    decimal: options.Decimal = ".",
    encoding: options.Encoding = "utf-8",
    na: options.Na = None,
    no_default_na: options.NoDefaultNa = False,
) -> Reading:
    return Reading(read_as, separator, decimal, encoding, tuple(na or ()), not no_default_na)


def reads_a_table(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that has the options of reading a table, too, and gets what they say as its ``reading``."""
    own = [part for name, part in inspect.signature(command).parameters.items() if name != "reading"]
    shared = inspect.signature(_reading).parameters

    @functools.wraps(command)
    def run(**given: Any) -> None:
        reading = _reading(**{name: given.pop(name) for name in shared})
        command(**given, reading=reading)

    parts = [*own, *shared.values()]
    run.__signature__ = inspect.Signature(parts, return_annotation=None)  # type: ignore[attr-defined]
    run.__annotations__ = {part.name: part.annotation for part in parts} | {"return": None}
    return run
