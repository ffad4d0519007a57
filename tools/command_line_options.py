"""Write docs/command-line-options.md, the list of all options of the program, from the program itself."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from typer.main import get_command

from tritree.cli.app import make_app

PAGE = Path(__file__).resolve().parents[1] / "docs" / "command-line-options.md"
INTRODUCTION = """# Options of the command line

Every argument and option of every command, from the help of the program. Options that several commands have in the same
form are listed once, at the end. [Command line](command-line.md) has examples, and `tritree COMMAND --help` shows the
same in a terminal.
"""


def page() -> str:
    """Return the page."""
    commands = _commands(get_command(make_app()), "tritree")
    options = {
        name: [option for option in command.params if option.name != "help" and not option.hidden]
        for name, command in commands.items()
    }
    users: dict[tuple[str, ...], list[str]] = defaultdict(
        list
    )  # the commands that have an option in the same form
    for name, found in options.items():
        for option in found:
            users[_row(option)].append(name)

    parts = [INTRODUCTION]
    for name, command in commands.items():
        arguments = [str(option.metavar) for option in options[name] if option.param_type_name == "argument"]
        own = [row for row in map(_row, options[name]) if len(users[row]) == 1]
        parts.append(f"## {' '.join([name, *arguments])}\n\n{_paragraphs(command.help)}\n")
        if own:
            parts.append(_table(own))
    panels = {_row(option): "Other" for found in options.values() for option in found}
    for found in options.values():
        panels |= {_row(option): option.rich_help_panel for option in found if option.rich_help_panel}
    parts.append("## Options of several commands\n")
    for panel in dict.fromkeys(panels.values()):
        shared = [
            (*row, ", ".join(name.removeprefix("tritree ") for name in users[row]))
            for row in panels
            if panels[row] == panel and len(users[row]) > 1
        ]
        if shared:
            parts.append(f"### {panel}\n\n{_table(shared)}")
    return "\n".join(parts)


def _commands(group: Any, prefix: str) -> dict[str, Any]:
    """Return the commands of the program, and those of its groups, by name."""
    found = {}
    for name, command in group.commands.items():
        nested = getattr(command, "commands", None)
        found |= _commands(command, f"{prefix} {name}") if nested else {f"{prefix} {name}": command}
    return found


def _row(option: Any) -> tuple[str, ...]:
    """Return how the page shows an option: its names and value, what it does, and its default."""
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    names = names if option.param_type_name == "option" else ""
    value = "" if getattr(option, "is_flag", False) or not option.metavar else f" {option.metavar}"
    shown = f"{names}{value}" if names else f"{option.metavar}"
    default = option.show_default if isinstance(option.show_default, str) else option.default
    known = not (default is None or default is False or callable(default) or default == [] or option.required)
    text = " ".join(option.help.split()).replace("|", "\\|")
    return shown, text + (" Required." if option.required and names else ""), f"{default}" if known else ""


def _table(rows: list[tuple[str, ...]]) -> str:
    """Return rows as a Markdown table, whose columns are the first of those named here."""
    titles = ("option", "what it does", "default", "commands")[: len(rows[0])]
    lines = [titles, ("---",) * len(titles), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _paragraphs(text: str) -> str:
    """Return the text of a help page as Markdown."""
    return re.sub(r"\n{2,}", "\n\n", text.strip()).replace("\\[", "[")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
