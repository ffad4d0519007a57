"""The options of ``tritree compare``, each with its words for the help."""

# annotations are read by Typer when the program is built, so they are not put off here

from collections.abc import Callable
from typing import Annotated, Literal

import typer

from tritree.cli import options

__all__ = [
    "Columns",
    "Depth",
    "FoldCount",
    "Mechanism",
    "Models",
    "Rates",
    "Report",
    "Seeds",
    "Strategies",
    "checked_shares",
    "depth_of",
    "shares_of",
]

_MODEL, _TREE = "The model", "The tree"


def _one_of(*known: str) -> Callable[[str], str]:
    """Return a reader of one of some words; Typer knows no lists of them."""

    def read(text: str) -> str:
        if text not in known:
            raise typer.BadParameter(f"{text!r} is not one of {', '.join(map(repr, known))}.")
        return text

    return read


Models = Annotated[
    list[str],
    typer.Option(
        "--model",
        "-m",
        parser=_one_of("tree", "forest", "boosting"),
        metavar="KIND",
        rich_help_panel=_MODEL,
        help="What is compared: tree, forest or boosting. May be repeated, to compare kinds of models, too.",
    ),
]
Strategies = Annotated[
    list[str] | None,
    typer.Option(
        "--strategy",
        "-s",
        parser=_one_of("trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate"),
        metavar="STRATEGY",
        rich_help_panel=_MODEL,
        show_default=False,
        help="A strategy to compare. May be repeated; if none is named, all of them, and to learn from complete rows "
        "only (discard).",
    ),
]
Mechanism = Annotated[
    Literal["mcar", "im", "mar", "mnar", "predictive"],
    typer.Option(
        metavar="NAME",
        help="How holes are made: mcar (at random), im (largest values first), mar (by other columns), mnar (by the "
        "value itself), predictive (by the response).",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="COLUMN",
        show_default=False,
        help="A column whose cells are removed. May be repeated; if none is named, all of them.",
    ),
]


def shares_of(text: str) -> list[float]:
    """Return shares from a text such as ``0.1,0.3`` or ``10%,30%``."""
    try:
        found = [
            float(part.rstrip("% ")) / (100 if part.strip().endswith("%") else 1) for part in text.split(",")
        ]
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no list of shares, such as 0.1,0.3,0.5") from None
    if not all(0 <= share <= 1 for share in found):
        raise typer.BadParameter(f"{text!r} has shares that are not from 0 to 1; 30 percent is 0.3 or 30%")
    return found


def checked_shares(text: str | None) -> str | None:
    """Return a text that `shares_of` can read, or None if there is none."""
    if text is not None:
        shares_of(text)
    return text


def depth_of(text: str) -> int | str | None:
    """Return a depth from a text: a number, ``none`` or ``tuned``."""
    if text in ("tuned", "none"):
        return None if text == "none" else text
    if not text.isdecimal():
        raise typer.BadParameter(f"{text!r} is not a whole number, none or tuned")
    return int(text)


def _checked_depth(text: str) -> str:
    depth_of(text)
    return text


Rates = Annotated[
    str,
    typer.Option(
        metavar="SHARES",
        callback=checked_shares,
        help="Shares of the cells that are removed, with commas between them. The table as it is comes in any case.",
    ),
]
Seeds = Annotated[
    int, typer.Option(parser=options.whole(1), metavar="NUMBER", help="Times that holes are made anew.")
]
FoldCount = Annotated[int, typer.Option("--folds", parser=options.whole(2), metavar="NUMBER", help="Folds.")]
Depth = Annotated[
    str,
    typer.Option(
        metavar="NUMBER",
        callback=_checked_depth,
        rich_help_panel=_TREE,
        help="Depth of the trees, none for no limit, or tuned: where one majority tree stops improving. Tuned, forests "
        "have no limit and boosting has 6, as in tritree fit.",
    ),
]
Report = Annotated[
    str | None, typer.Option(metavar="FILE", show_default=False, help="A report to write, one HTML file.")
]
