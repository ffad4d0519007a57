"""The options of ``tritree fit``: settings of the estimators, each with its words for the help."""

# annotations are read by Typer when the program is built, so they are not put off here

from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer

from tritree.cli.options import whole

__all__ = [
    "BY_MODEL",
    "Categorical",
    "Criterion",
    "Drop",
    "GrowAll",
    "GrowFor",
    "LearningRate",
    "MaxBins",
    "MaxDepth",
    "MaxSurrogates",
    "MinSamplesLeaf",
    "Model",
    "NoSplitOnMissing",
    "NoTrainingRows",
    "Numeric",
    "Output",
    "Response",
    "SkipMissing",
    "Strategy",
    "Task",
    "Trees",
    "Unknown",
    "Weights",
]

_TREE, _TABLE, _MODEL = "The tree", "The columns", "The model"

#: What an option is that was not given, where the kind of model decides.
BY_MODEL = "by model"


def _unless_by_model(parser: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: BY_MODEL if text == BY_MODEL else parser(text)


def _share(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= 10:
        raise typer.BadParameter(f"{text!r} is no number above 0, such as 0.1")
    return found


Model = Annotated[
    Literal["tree", "forest", "boosting"],
    typer.Option(
        "--model",
        "-m",
        metavar="KIND",
        rich_help_panel=_MODEL,
        help="tree: one, which can be read. forest: the mean of many. boosting: many, one after the other, which "
        "predict best on most tables.",
    ),
]
Trees = Annotated[
    int,
    typer.Option(
        parser=whole(1),
        metavar="NUMBER",
        rich_help_panel=_MODEL,
        help="Trees of a forest, or rounds of boosting.",
    ),
]
LearningRate = Annotated[
    float,
    typer.Option(
        parser=_share, metavar="NUMBER", rich_help_panel=_MODEL, help="What each round of boosting counts."
    ),
]

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
    Literal["trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate"] | None,
    typer.Option(
        "--strategy",
        "-s",
        metavar="STRATEGY",
        rich_help_panel=_TREE,
        show_default="trinary; trinary_mia for boosting",
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
    Any,
    typer.Option(
        parser=_unless_by_model(whole(0, or_none=True)),
        metavar="NUMBER",
        rich_help_panel=_TREE,
        show_default="5; 6 for boosting, none for a forest",
        help="The most left and right turns from the root to a leaf; none for no limit.",
    ),
]
MinSamplesLeaf = Annotated[
    Any,
    typer.Option(
        parser=_unless_by_model(whole(1)),
        metavar="NUMBER",
        rich_help_panel=_TREE,
        show_default="20; 5 for a forest",
        help="The fewest rows on either side of a split.",
    ),
]
MaxBins = Annotated[
    Any,
    typer.Option(
        parser=_unless_by_model(whole(2, or_none=True)),
        metavar="NUMBER",
        rich_help_panel=_TREE,
        show_default="none; 255 for boosting and a forest",
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
GrowFor = Annotated[
    str | None,
    typer.Option(
        metavar="TABLE",
        show_default=False,
        help="Rows like those to come: the third branches that they need are grown now.",
    ),
]
NoTrainingRows = Annotated[
    bool,
    typer.Option(
        "--no-training-rows",
        metavar="",
        help="Keep the training rows out of the file. It is smaller and shows none of them, but third branches no "
        "longer grow from it: see --grow-for, and for one tree --grow-all.",
    ),
]
