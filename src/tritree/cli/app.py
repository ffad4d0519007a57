"""The commands of the program."""

import inspect
from collections.abc import Callable, Iterable
from typing import Annotated

import typer

from tritree.cli import compare, demo, explain, export, fit, lab, missing, options, predict, show
from tritree.cli.messages import write_text

Examples = Iterable[tuple[str, str]]
#: The commands in the order of the help: panel, function, examples.
COMMANDS: tuple[tuple[str, Callable[..., None], Examples], ...] = (
    ("Start", demo.demo, demo.EXAMPLES),
    ("Models", fit.fit, fit.EXAMPLES),
    ("Models", predict.predict, predict.EXAMPLES),
    ("Models", explain.explain, explain.EXAMPLES),
    ("Models", show.show, show.EXAMPLES),
    ("Models", export.export, export.EXAMPLES),
    ("Tables", missing.missing, missing.EXAMPLES),
    ("Experiments", compare.compare, compare.EXAMPLES),
)
LAB_COMMANDS: tuple[tuple[Callable[..., None], Examples], ...] = (
    (lab.paper, lab.PAPER_EXAMPLES),
    (lab.bias, lab.BIAS_EXAMPLES),
)


def make_app() -> typer.Typer:
    """Return the program."""
    app = typer.Typer(
        name="tritree",
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    app.callback(invoke_without_command=True, help=_unwrap(_welcome.__doc__))(_welcome)
    for panel, function, examples in COMMANDS:
        _add_command(app, function, examples, panel)
    experiments = typer.Typer(
        help="Reproduce the experiments of the paper.", no_args_is_help=True, rich_markup_mode="rich"
    )
    for function, examples in LAB_COMMANDS:
        _add_command(experiments, function, examples)
    app.add_typer(experiments, name="lab", rich_help_panel="Experiments")
    return app


def _add_command(
    app: typer.Typer, function: Callable[..., None], examples: Examples, panel: str | None = None
) -> None:
    lines = [f"  {command}\n      {text}" for command, text in examples]
    epilog = "Examples:\n\n" + "\n\n".join(lines).replace("[", "\\[")  # brackets are not markup
    app.command(rich_help_panel=panel, help=_unwrap(function.__doc__), epilog=epilog)(
        options.with_groups(function)
    )


def _unwrap(text: str | None) -> str:
    """Return a docstring with one line per paragraph, so that the terminal can wrap it."""
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    return "\n\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs)


def _print_version(requested: bool) -> None:
    if requested:
        from tritree import __version__

        write_text(f"tritree {__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    options.option("", "Print the version and exit.", "--version", callback=_print_version, is_eager=True),
]


def _welcome(context: typer.Context, version: Version = False) -> None:  # noqa: ARG001 - Typer's callback has it
    """Decision trees, forests and gradient boosting for tables with missing values.

    Tables are CSV, TSV or Parquet files. fit writes a model file; predict, explain, show and export use it. The help of
    every command has examples: tritree fit --help.
    """
    if context.invoked_subcommand is None:
        context.get_help()
