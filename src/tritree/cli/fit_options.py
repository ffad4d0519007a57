"""The options of ``tritree fit``: every setting of the estimators, each with its words for the help."""

# annotations are read by Typer when the program is built, so they are not put off here

from typing import Annotated, Literal

import typer

from tritree.cli.options import whole

__all__ = [
    "Categorical",
    "Criterion",
    "Drop",
    "GrowAll",
    "MaxBins",
    "MaxDepth",
    "MaxSurrogates",
    "MinSamplesLeaf",
    "NoSplitOnMissing",
    "NoTrainingRows",
    "Numeric",
    "Output",
    "Response",
    "SkipMissing",
    "Strategy",
    "Task",
    "Unknown",
    "Weights",
]

_TREE, _TABLE = "The tree", "The columns"

Response = Annotated[
    str,
    typer.Option(
        "--response", "-y", metavar="COLUMN", rich_help_panel=_TABLE, help="The column to learn to predict."
    ),
]
Task = Annotated[
    Literal["regression", "classification"] | None,
    typer.Option(
        metavar="TASK",
        rich_help_panel=_TABLE,
        show_default=False,
        help="regression or classification. If not named, the response tells: text, true and false, and whole numbers "
        "of which at most 10 are different are classes.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        rich_help_panel=_TABLE,
        show_default=False,
        help="A column to leave out. May be repeated.",
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        rich_help_panel=_TABLE,
        show_default=False,
        help="The column that says what each row counts.",
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        rich_help_panel=_TABLE,
        show_default=False,
        help="A column of numbers that stand for categories. May be repeated. Text, true and false always do.",
    ),
]
Numeric = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        rich_help_panel=_TABLE,
        show_default=False,
        help="A column to take as numbers, such as true and false. May be repeated.",
    ),
]
SkipMissing = Annotated[
    bool,
    typer.Option(
        "--skip-missing-response",
        metavar="",
        rich_help_panel=_TABLE,
        help="Leave out rows that have no response.",
    ),
]
Strategy = Annotated[
    Literal["trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate"],
    typer.Option(
        "--strategy",
        "-s",
        metavar="STRATEGY",
        rich_help_panel=_TREE,
        help="How missing values are handled: trinary, trinary_mia, mia, majority, fractional or surrogate.",
    ),
]
Criterion = Annotated[
    Literal["squared_error", "entropy", "gini"] | None,
    typer.Option(
        metavar="LOSS",
        rich_help_panel=_TREE,
        show_default=False,
        help="The loss that splits lower: squared_error for numbers, entropy (the default) or gini for classes.",
    ),
]
MaxDepth = Annotated[
    int | None,
    typer.Option(
        parser=whole(0, or_none=True),
        metavar="NUMBER",
        rich_help_panel=_TREE,
        help="The most left and right turns from the root to a leaf; none for no limit.",
    ),
]
MinSamplesLeaf = Annotated[
    int,
    typer.Option(
        parser=whole(1),
        metavar="NUMBER",
        rich_help_panel=_TREE,
        help="The fewest rows on either side of a split.",
    ),
]
MaxBins = Annotated[
    int | None,
    typer.Option(
        parser=whole(2, or_none=True),
        metavar="NUMBER",
        rich_help_panel=_TREE,
        show_default="none",
        help="The most values of a numeric column that are told apart; none for all.",
    ),
]
Unknown = Annotated[
    Literal["no_information", "error"],
    typer.Option(
        "--unknown-category",
        metavar="WHAT",
        rich_help_panel=_TREE,
        help="What a category is that training never saw: no_information or error.",
    ),
]
NoSplitOnMissing = Annotated[
    bool,
    typer.Option(
        "--no-split-on-missing",
        metavar="",
        rich_help_panel=_TREE,
        help="Do not let mia and trinary_mia split missing from observed.",
    ),
]
MaxSurrogates = Annotated[
    int,
    typer.Option(
        parser=whole(0),
        metavar="NUMBER",
        rich_help_panel=_TREE,
        help="The most surrogates per split, under surrogate.",
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        show_default=False,
        help="The model file; if not named, it is called as the table with the ending .tritree, in the current folder. "
        "A file that is there is replaced, and the summary says so.",
    ),
]
GrowAll = Annotated[
    bool,
    typer.Option(
        "--grow-all", metavar="", help="Grow every third branch now, not when a row first needs it."
    ),
]
NoTrainingRows = Annotated[
    bool,
    typer.Option(
        "--no-training-rows",
        metavar="",
        help="Keep the training rows out of the file. It is smaller and shows none of them, but third branches no "
        "longer grow from it: see --grow-all.",
    ),
]
