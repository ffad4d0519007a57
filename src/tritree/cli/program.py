"""The commands of the program, put together.

Modules of commands import what they need when a command runs, so that all of them can be listed here at no cost:
``tritree --help`` is quick.
"""

# annotations are read by Typer when the program is built, so they are not put off here

import inspect
from collections.abc import Callable, Iterable
from typing import Annotated

import typer

from tritree.cli import compare, demo, export, fit, holes, lab, predict, show
from tritree.cli.messages import put

__all__ = ["make_app"]

Examples = Iterable[tuple[str, str]]
#: The commands in the order of the help: panel, function, examples.
COMMANDS: tuple[tuple[str, Callable[..., None], Examples], ...] = (
    ("Start", demo.demo, demo.EXAMPLES),
    ("Trees", fit.fit, fit.EXAMPLES),
    ("Trees", predict.predict, predict.PREDICT_EXAMPLES),
    ("Trees", predict.explain, predict.EXPLAIN_EXAMPLES),
    ("Trees", show.show, show.EXAMPLES),
    ("Trees", export.export, export.EXAMPLES),
    ("Tables", holes.holes, holes.EXAMPLES),
    ("The laboratory", compare.compare, compare.EXAMPLES),
)
LAB: tuple[tuple[Callable[..., None], Examples], ...] = (
    (lab.paper, lab.PAPER_EXAMPLES),
    (lab.bias, lab.BIAS_EXAMPLES),
)


def make_app() -> typer.Typer:
    """Return the program as Typer has it."""
    app = typer.Typer(
        name="tritree",
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    app.callback(invoke_without_command=True, help=_flowing(_welcome.__doc__))(_welcome)
    for panel, function, examples in COMMANDS:
        app.command(rich_help_panel=panel, help=_flowing(function.__doc__), epilog=_epilog(examples))(
            function
        )
    laboratory = typer.Typer(
        help="The experiments of the paper.", no_args_is_help=True, rich_markup_mode="rich"
    )
    for function, examples in LAB:
        laboratory.command(help=_flowing(function.__doc__), epilog=_epilog(examples))(function)
    app.add_typer(laboratory, name="lab", rich_help_panel="The laboratory")
    return app


def _flowing(text: str | None) -> str:
    """Return a docstring with a line per paragraph: how wide these are is for the terminal to say."""
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    return "\n\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs)


def _epilog(examples: Examples) -> str:
    """Return examples as the end of a help page; brackets in them are no markup."""
    lines = [f"  {command}\n      {words}" for command, words in examples]
    return "Examples:\n\n" + "\n\n".join(lines).replace("[", "\\[")


def _show_version(wanted: bool) -> None:
    if wanted:
        from tritree import __version__

        put(f"tritree {__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option(
        "--version", callback=_show_version, is_eager=True, metavar="", help="Say which version this is."
    ),
]


def _welcome(context: typer.Context, version: Version = False) -> None:  # noqa: ARG001 - Typer's callback has it
    """Decision trees that learn from tables with holes, and predict any row.

    Tables are CSV, TSV or Parquet files. fit makes a model file of one; predict, explain, show and export use it. Every
    command has examples in its help: tritree fit --help.
    """
    if context.invoked_subcommand is None:
        context.get_help()
