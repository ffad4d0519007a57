"""Options that several commands have, each with its words for the help."""

# annotations are read by Typer when the program is built, so they are not put off here

import codecs
from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer

__all__ = [
    "AsJson",
    "Decimal",
    "Encoding",
    "ModelFile",
    "NJobs",
    "Na",
    "NoDefaultNa",
    "OutputFile",
    "ReadAs",
    "Separator",
    "TableFile",
    "TreeNumber",
    "UnknownCategory",
    "given",
    "whole",
]

_READING = "Reading the table"

TableFile = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        show_default=False,
        help="A CSV, TSV or Parquet file, compressed or not; - reads the standard input.",
    ),
]
ModelFile = Annotated[
    str, typer.Argument(metavar="MODEL", show_default=False, help="A model file, as tritree fit writes it.")
]
OutputFile = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        show_default=False,
        help="The file to write, if not to the standard output. One that is there is replaced.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", metavar="", help="Write the result as JSON, for programs.")]

ReadAs = Annotated[
    Literal["csv", "tsv", "parquet"] | None,
    typer.Option(
        "--read-as",
        metavar="KIND",
        rich_help_panel=_READING,
        show_default=False,
        help="csv, tsv or parquet, if the ending of the file does not tell.",
    ),
]


def _one_sign(value: str | None) -> str | None:
    if value is None:
        return None
    sign = {"\\t": "\t", "tab": "\t"}.get(value, value)
    if len(sign) != 1:
        raise typer.BadParameter(f"{value!r} is not one character, such as ',' or ';'")
    return sign


Separator = Annotated[
    str | None,
    typer.Option(
        metavar="SIGN",
        rich_help_panel=_READING,
        show_default=False,
        callback=_one_sign,
        help="What stands between cells: a comma, in .tsv a tab, unless something else is named, such as ';'.",
    ),
]
Decimal = Annotated[
    str,
    typer.Option(
        metavar="SIGN", rich_help_panel=_READING, callback=_one_sign, help="What stands before decimals."
    ),
]


def _known_encoding(name: str) -> str:
    try:
        codecs.lookup(name)
    except (LookupError, ValueError):
        raise typer.BadParameter(f"{name!r} is no encoding; try latin-1 or utf-16") from None
    return name


Encoding = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        rich_help_panel=_READING,
        callback=_known_encoding,
        help="How text is encoded, such as latin-1 or utf-16.",
    ),
]
Na = Annotated[
    list[str] | None,
    typer.Option(
        "--na",
        metavar="TEXT",
        rich_help_panel=_READING,
        show_default=False,
        help="One more text that means missing, such as '?'. May be repeated.",
    ),
]
NoDefaultNa = Annotated[
    bool,
    typer.Option(
        "--no-default-na",
        metavar="",
        rich_help_panel=_READING,
        help="Take NA, NaN, N/A, null, None and the like for text. An empty cell is missing in any case.",
    ),
]


def given(context: typer.Context) -> set[str]:
    """Return the options that were given, by name, whether or not they say what would be without them."""
    by_user = [
        part
        for part in context.command.params
        if getattr(context.get_parameter_source(part.name), "name", None) == "COMMANDLINE"
    ]
    return {name for part in by_user for name in part.opts}


def whole(least: int, *, or_none: bool = False) -> Callable[[Any], int | None]:
    """Return a reader of whole numbers from ``least`` on, and of ``none`` if there need be no limit."""
    what = f"a whole number of at least {least}" + (" or none" if or_none else "")

    def read(given: Any) -> int | None:
        text = str(given).strip()  # a default comes as the number it is
        if or_none and text.lower() == "none":
            return None
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise typer.BadParameter(f"{text!r} is not {what}")
        return number

    return read


def _threads(value: int | None) -> int | None:
    if value == 0:
        raise typer.BadParameter("0 threads do nothing; give a number, or -1 for all processors")
    return value


TreeNumber = Annotated[
    int | None,
    typer.Option(
        "--tree",
        parser=whole(0),
        metavar="NUMBER",
        show_default=False,
        help="Which tree of a forest or of boosting, from 0 on.",
    ),
]
NJobs = Annotated[
    int | None,
    typer.Option(
        "--n-jobs",
        metavar="NUMBER",
        callback=_threads,
        show_default=False,
        help="Threads to use: -1, the default, for all processors, -2 for all but one. Results do not depend on it.",
    ),
]
UnknownCategory = Annotated[
    Literal["no_information", "error"] | None,
    typer.Option(
        "--unknown-category",
        metavar="WHAT",
        show_default=False,
        help="What a category is that training never saw: no_information or error; as fitted, if not named.",
    ),
]
