"""Options that several commands have, groups of options, and the parsers of their values."""

import copy
import functools
import inspect
import math
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, is_dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from tritree.cli.advice import unescape
from tritree.cli.messages import quiet

#: Titles of groups of options in the help.
_FORMAT, _COLUMNS, MODEL, TREE = "Reading the table", "Columns", "Model", "Trees"
VALIDATION = "Validation"


def option(metavar: str, *names: str, panel: str | None = None, **more: Any) -> Any:
    """Return an option whose value is called ``metavar`` in the help."""
    return typer.Option(*names, metavar=metavar, rich_help_panel=panel, **more)


def argument(metavar: str) -> Any:
    """Return an argument whose value is called ``metavar`` in the help."""
    return typer.Argument(metavar=metavar)


def flag(name: str, panel: str | None = None, **more: Any) -> Any:
    """Return an option without a value."""
    return option("", name, panel=panel, **more)


def parser(expected: str, parse: Callable[[str], Any]) -> Callable[[Any], Any]:
    """Return a parser of the values of an option: ``parse``, whose errors become one that says what is expected."""

    def run(value: Any) -> Any:
        try:
            return parse(str(value))  # a default may be a number
        except (LookupError, ValueError):
            raise typer.BadParameter(f"{str(value)!r} is not {expected}") from None

    return run


def _checked(value: Any, is_valid: bool) -> Any:
    if not is_valid:
        raise ValueError
    return value


def integer(least: int, *names: str, words: tuple[str, ...] = (), **more: Any) -> Any:
    """Return an option that takes an integer of at least ``least``, or one of some words, of which "none" is None."""

    def parse(text: str) -> Any:
        if text.lower() in words:
            return None if text.lower() == "none" else text.lower()
        return _checked(int(text), int(text) >= least)

    expected = " or ".join((f"an integer of at least {least}", *words))
    return option("NUMBER", *names, parser=parser(expected, parse), **more)


def some_of(*choices: str) -> Callable[[Any], Any]:
    """Return a parser of a list of words with commas between: Typer has no lists of choices."""

    def parse(text: str) -> Any:
        words = [word.strip() for word in text.split(",")]
        return _checked(words, set(words) <= set(choices))

    return parser(f"one or several of {', '.join(map(repr, choices))}", parse)


def _parse_fractions(text: str) -> Any:
    """Return fractions from a text such as ``0.1,0.3`` or ``10%,30%``."""
    numbers = [
        float(part.rstrip("% ")) / (100 if part.strip().endswith("%") else 1) for part in text.split(",")
    ]
    return _checked(numbers, all(0 <= number <= 1 for number in numbers))


def _parse_fraction(text: str) -> Any:
    """Return a fraction from a text such as ``0.3`` or ``30%``."""
    numbers = _parse_fractions(text)
    return _checked(numbers[0], len(numbers) == 1)


def _parse_class_weight(text: str) -> Any:
    return {"balanced": "balanced", "none": None}[text.lower()]


def _parse_date_parts(text: str) -> Any:
    from tritree.dates import DATE_PARTS  # imports NumPy, which --help does without

    parts = text.split(",")
    return _checked(parts, all(part in DATE_PARTS for part in parts))


def _parse_character(text: str) -> Any:
    character = {"tab": "\t", "space": " "}.get(text) or unescape(text)
    return _checked(character, len(character) == 1 and character not in '\r\n"')


def _parse_encoding(name: str) -> str:
    "".encode(name)  # raises a LookupError if there is none
    return name


_fractions = parser(
    "a list of fractions between 0 and 1, such as 0.1,0.3; 30 percent is 0.3 or 30%", _parse_fractions
)
fraction = parser("a fraction between 0 and 1, such as 0.3 or 30%", _parse_fraction)
_class_weight = parser("balanced or none", _parse_class_weight)
_date_parts = parser("a list of parts of dates, such as month,hour", _parse_date_parts)
_learning_rate = parser(
    "a number above 0 and at most 100, such as 0.1",
    lambda text: _checked(float(text), 0 < float(text) <= 100),
)
_penalty = parser(
    "a number of at least 0, such as 0.5",
    lambda text: _checked(float(text), 0 <= float(text) < math.inf),
)
_masked_copies = parser(
    "a number of copies from 0 to 100", lambda text: _checked(int(text), 0 <= int(text) <= 100)
)
_n_jobs = parser("a number of threads; -1 is for all cores", lambda text: _checked(int(text), int(text) != 0))
_character = parser("one character, such as ',' or '\\t'", _parse_character)
_text = parser("a text", unescape)
_encoding = parser("an encoding; try latin-1 or utf-16", _parse_encoding)

TableFile = Annotated[str, typer.Argument(metavar="TABLE")]
TableFiles = Annotated[list[str], typer.Argument(metavar="TABLE...")]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL")]
OutputFile = Annotated[str | None, option("FILE", "--output", "-o")]
OutputFolder = Annotated[str, option("FOLDER", "--output", "-o")]
TreeNumber = Annotated[int | None, integer(0, "--tree")]
Dpi = Annotated[int, integer(10)]
MaxColumns = Annotated[int, integer(1)]
StoreFile = Annotated[str | None, option("FILE")]
Seeds = Annotated[int, integer(1)]
NJobs = Annotated[int | None, option("NUMBER", parser=_n_jobs)]
AsJson = Annotated[bool, flag("--json")]
Quiet = Annotated[bool, option("", "--quiet", "-q")]
Seed = Annotated[int, integer(0, "--seed")]
ClassWeight = Annotated[Any, option("NAME", panel=MODEL, parser=_class_weight, show_default="none")]
Trees = Annotated[int, integer(1, panel=MODEL)]
LearningRate = Annotated[float, option("NUMBER", panel=MODEL, parser=_learning_rate)]
Criterion = Annotated[
    Literal["squared_error", "entropy", "log_loss", "gini"] | None, option("NAME", panel=TREE)
]
MinSamplesLeaf = Annotated[
    int | None, integer(1, panel=TREE, show_default="20; 10 for boosting, 3 to 5 for a forest")
]
CategoryPenalty = Annotated[
    float | None,
    option("NUMBER", panel=TREE, parser=_penalty, show_default="0; 0.5 for boosting, 1 for a forest"),
]
SplitPenalty = Annotated[float, option("NUMBER", panel=MODEL, parser=_penalty)]
MaskedCopies = Annotated[int, option("NUMBER", panel=MODEL, parser=_masked_copies)]
UnknownCategory = Annotated[Literal["no_information", "error"] | None, option("HANDLING")]
Columns = Annotated[list[str] | None, option("COLUMN")]
DateParts = Annotated[Any, option("PARTS", panel=TREE, parser=_date_parts)]
Fractions = Annotated[Any, option("FRACTIONS", parser=_fractions)]

#: The help texts of options that several commands have.
_HELP = {
    "table": "A CSV, TSV, Parquet, Excel (.xlsx) or ARFF file; text also compressed; - reads the standard input.",
    "tables": "A CSV, TSV, Parquet, Excel (.xlsx) or ARFF file; text also compressed; - reads the standard input. Or "
    "several Parquet files that are one table, a folder of them, or a pattern such as 'big/*.parquet'.",
    "model": "A model file written by tritree fit.",
    "output": "File to write instead of the standard output. An existing file is replaced.",
    "tree_number": "Number of the tree in a forest or in boosting, from 0. By default the whole model.",
    "dpi": "Dots per inch of a PNG.",
    "store": "File for finished results; see above for the default.",
    "seeds": "Number of times values are removed, each with another random seed.",
    "n_jobs": "Number of threads: -1, the default, for all cores, -2 for all but one. The result is the same.",
    "as_json": "Write the result as JSON.",
    "quiet": "Print no warnings, notices and summaries. Errors and results are still printed.",
    "trees": "Number of trees of a forest, or maximum number of boosting iterations.",
    "learning_rate": "Learning rate of boosting: shrinks the contribution of each tree.",
    "class_weight": "balanced: weight classes inversely to their frequencies. none: weight all classes equally.",
    "criterion": "Loss that splits minimise: squared_error for regression, entropy (the default) or gini for "
    "classification.",
    "min_samples_leaf": "Minimum number of rows in a leaf.",
    "unknown_category": "How to treat categories not seen in training: no_information or error. By default as the "
    "model was fitted.",
}


@dataclass(frozen=True)
class TableFormat:
    r"""How a table is read. What is None is not on the command line.

    A model file has the options that its training table was read with; they are used for the tables of other commands,
    too, unless others are given.

    Parameters
    ----------
    read_as
        csv, tsv, parquet, excel or arff. By default the file extension decides.
    separator
        Column separator of a text file, such as ';' or '\t' (a tab). By default it is found in the first rows.
    decimal
        Decimal separator of a text file. By default it is found in the first rows.
    encoding
        Encoding of a text file, such as latin-1 or utf-16.
    no_header
        The first row holds data, not names. Columns are then named x0, x1, and so on, or by position: 0, 1, or -1 for
        the last.
    sheet
        Sheet of an Excel file. By default the first one.
    na
        Additional text to read as missing, such as '?', -999 or '\t?' (with a tab). May be repeated.
    no_default_na
        Read NA, NaN, N/A, null, None and the like as text. An empty cell is missing in any case.
    """

    read_as: Annotated[
        Literal["csv", "tsv", "parquet", "excel", "arff"] | None, option("FORMAT", panel=_FORMAT)
    ] = None
    separator: Annotated[str | None, option("CHARACTER", panel=_FORMAT, parser=_character)] = None
    decimal: Annotated[str | None, option("CHARACTER", panel=_FORMAT, parser=_character)] = None
    encoding: Annotated[str | None, option("NAME", panel=_FORMAT, parser=_encoding, show_default="utf-8")] = (
        None
    )
    no_header: Annotated[bool | None, flag("--no-header/--header", _FORMAT)] = None
    sheet: Annotated[str | None, option("NAME", panel=_FORMAT)] = None
    na: Annotated[list[str] | None, option("TEXT", panel=_FORMAT, parser=_text)] = None
    no_default_na: Annotated[bool | None, flag("--no-default-na/--default-na", _FORMAT)] = None


@dataclass(frozen=True)
class ColumnRoles:
    """What the columns of a table to learn from are for; all columns that are not named are features.

    Parameters
    ----------
    target
        Column to predict.
    task
        regression or classification. By default classification if the target is text, boolean, categorical, or has at
        most 10 distinct values that are all integers.
    drop
        Column to leave out, or several: a,b or a pattern such as 'id_*'. May be repeated.
    weights
        Column with the sample weights.
    categorical
        Numeric column to treat as categorical, or several, as in --drop. May be repeated. Text and boolean columns are
        categorical anyway.
    numeric
        Column to treat as numeric, such as a boolean one, or several, as in --drop. May be repeated.
    skip_missing_target
        Leave out rows whose target is missing.
    """

    target: Annotated[str, option("COLUMN", "--target", "-y", panel=_COLUMNS)]
    task: Annotated[Literal["regression", "classification"] | None, option("TASK", panel=_COLUMNS)] = None
    drop: Annotated[list[str] | None, option("COLUMN", panel=_COLUMNS)] = None
    weights: Annotated[str | None, option("COLUMN", panel=_COLUMNS)] = None
    categorical: Annotated[list[str] | None, option("COLUMN", panel=_COLUMNS)] = None
    numeric: Annotated[list[str] | None, option("COLUMN", panel=_COLUMNS)] = None
    skip_missing_target: Annotated[bool, flag("--skip-missing-target", _COLUMNS)] = False

    @property
    def not_features(self) -> list[str]:
        """Return the columns that are not learned from."""
        return [self.target, *(self.drop or []), *([] if self.weights is None else [self.weights])]


def parse_docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return the text of a docstring, with one line per paragraph, and the descriptions of the parameters."""
    text, _, section = inspect.cleandoc(function.__doc__ or "").partition("\n\nParameters\n----------\n")
    paragraphs = [paragraph.replace("\n", " ") for paragraph in text.split("\n\n")]
    described = re.findall(r"^(\w+)\n((?:    .*\n?)+)", section, re.MULTILINE)
    return "\n\n".join(paragraphs), {name: " ".join(lines.split()) for name, lines in described}


def as_command(function: Callable[..., None], *, has_quiet: bool = True) -> Callable[..., None]:
    """Return a function as Typer reads it: its parameters are options, whose help texts are in its docstring.

    A parameter whose type is a dataclass is a group of options, one per field. ``has_quiet`` adds the option --quiet.
    """
    parameters = inspect.signature(function).parameters.values()
    groups: dict[str, Any] = {
        part.name: part.annotation for part in parameters if is_dataclass(part.annotation)
    }
    fields = {name: inspect.signature(group).parameters for name, group in groups.items()}

    @functools.wraps(function)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field: values.pop(field) for field in fields[name]})
        with quiet(values.pop("quiet", False)):
            function(**values)

    texts = dict(_HELP)
    for described in (*groups.values(), function):
        texts |= parse_docstring(described)[1]
    options = [
        _with_help(option, texts)
        for part in parameters
        for option in fields.get(part.name, {part.name: part}).values()
    ]
    if has_quiet:
        switch = inspect.Parameter("quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Quiet)
        options.append(_with_help(switch, texts))
    run.__signature__ = inspect.Signature(options, return_annotation=None)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in options} | {"return": None}
    return run


def _with_help(parameter: inspect.Parameter, texts: dict[str, str]) -> inspect.Parameter:
    annotation = parameter.annotation
    if get_origin(annotation) is Annotated:  # all but the context
        value_type, declared = get_args(annotation)
        declared = copy.copy(declared)  # several commands may have it
        declared.help = texts[parameter.name]
        annotation = Annotated[value_type, declared]
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=annotation)


def given_options(context: typer.Context, group: Any) -> dict[str, Any]:
    """Return the options of a group that are on the command line with their values, also those equal to the default."""
    return {
        f"--{field.replace('_', '-')}": value
        for field, value in asdict(group).items()
        if is_given(context, field)
    }


def is_given(context: typer.Context, parameter: str) -> bool:
    """Return whether a parameter is on the command line, also with a value that is the default."""
    return getattr(context.get_parameter_source(parameter), "name", None) == "COMMANDLINE"
