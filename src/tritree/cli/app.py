"""The commands of the program."""

from collections.abc import Callable, Iterable
from typing import Annotated

import typer

from tritree.cli import (
    compare,
    demo,
    explain,
    export,
    fit,
    graft,
    importance,
    info,
    lab,
    missing,
    options,
    predict,
    score,
    show,
)
from tritree.cli.messages import write_text

#: The commands in the order of the help: panel, function, and examples with their explanations.
COMMANDS: tuple[tuple[str, Callable[..., None], Iterable[tuple[str, str]]], ...] = (
    ("Start", demo.demo, demo.EXAMPLES),
    ("Models", fit.fit, fit.EXAMPLES),
    ("Models", graft.graft, graft.EXAMPLES),
    ("Models", predict.predict, predict.EXAMPLES),
    ("Models", score.score, score.EXAMPLES),
    ("Models", explain.explain, explain.EXAMPLES),
    ("Models", show.show, show.EXAMPLES),
    ("Models", importance.importance, importance.EXAMPLES),
    ("Models", info.info, info.EXAMPLES),
    ("Models", export.export, export.EXAMPLES),
    ("Tables", missing.missing, missing.EXAMPLES),
    ("Experiments", compare.compare, compare.EXAMPLES),
    ("lab", lab.paper, lab.PAPER_EXAMPLES),
    ("lab", lab.bias, lab.BIAS_EXAMPLES),
)


def make_app() -> typer.Typer:
    """Return the program."""
    app = typer.Typer(
        name="tritree",
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    text, _ = options.parse_docstring(_welcome)
    app.callback(invoke_without_command=True, help=text)(options.as_command(_welcome, has_quiet=False))
    experiments = typer.Typer(
        help="Reproduce the experiments of the paper.", no_args_is_help=True, rich_markup_mode="rich"
    )
    for panel, function, examples in COMMANDS:
        lines = [f"  {command}\n      {explanation}" for command, explanation in examples]
        epilog = "Examples:\n\n" + "\n\n".join(lines).replace("[", "\\[")  # brackets are not markup
        text, _ = options.parse_docstring(function)
        group, title = (experiments, None) if panel == "lab" else (app, panel)
        group.command(rich_help_panel=title, help=text, epilog=epilog)(options.as_command(function))
    app.add_typer(experiments, name="lab", rich_help_panel="Experiments")
    return app


def _print_version(requested: bool) -> None:
    if requested:
        from tritree import __version__

        write_text(f"tritree {__version__}")
        raise typer.Exit


def _welcome(
    context: typer.Context,
    version: Annotated[bool, options.flag("--version", callback=_print_version, is_eager=True)] = False,  # noqa: ARG001 - Typer's callback has it
) -> None:
    """Decision trees, forests and gradient boosting for tables with missing values.

    Tables are CSV, TSV, Parquet, Excel or ARFF files. fit writes a model file, and the other commands for models read
    it. The help of every command has examples: tritree fit --help.

    Parameters
    ----------
    version
        Print the version and exit.
    """
    if context.invoked_subcommand is None:
        context.get_help()
