"""Errors and warnings of tritree. They carry facts as attributes, so that no code has to parse a message."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

__all__ = [
    "ColumnError",
    "ColumnMatchWarning",
    "DataError",
    "DateTextWarning",
    "GraftError",
    "GrowthLimitError",
    "IdentifierWarning",
    "ModelFileError",
    "NumberTextWarning",
    "ParameterError",
    "SampleWeightError",
    "TargetError",
    "UngrownBranchWarning",
    "UngrownExportWarning",
    "UnknownCategoryError",
    "UnknownValuesWarning",
    "list_names",
    "name_column",
    "shortened",
    "warn_caller",
]

_PACKAGE = str(Path(__file__).parent)

# Pickling calls an exception's class with its positional arguments and then restores its attributes: arguments without
# a default must be positional.


@dataclass(eq=False, repr=False)
class DataError(ValueError):
    """Data that cannot be learned from or predicted. The base class of errors about columns, targets and weights.

    Attributes
    ----------
    subject : str
        What the message is about, such as ``"column 'age'"``, ``"y"`` or ``"sample_weight"``.
    problem : str
        What is wrong with it, such as ``"holds inf in row 3"``.
    remedy : str
        What to do about it; empty if there is nothing to suggest.
    row : int or None
        Position of the first row with the problem.
    value : object
        The value in that row.
    argument : str or None
        Name of the arguments that hold the data, such as ``"X_val"``, if they are not those for training.
    """

    problem: str
    remedy: str = ""
    subject: str = field(default="", kw_only=True)
    row: int | None = field(default=None, kw_only=True)
    value: Any = field(default=None, kw_only=True)
    argument: str | None = field(default=None, init=False)

    def __str__(self) -> str:
        text = f"{self.subject} {self.problem}".lstrip()
        text = f"{text}; {self.remedy}" if self.remedy else text
        return text if self.argument is None else f"in {self.argument}: {text}"


class ColumnError(DataError, TypeError):
    """A column that cannot be used: an unsupported type or value, or too many categories.

    Attributes
    ----------
    column : object
        Name of the column, its position if the table has no names; None if the error is about the whole table.
    can_drop : bool
        Whether dropping the column is another remedy, which the message suggests last.
    """

    def __init__(
        self,
        column: Any,
        problem: str,
        remedy: str = "",
        *,
        row: int | None = None,
        value: Any = None,
        can_drop: bool = False,
    ) -> None:
        subject = "" if column is None else name_column(column)
        super().__init__(problem, remedy, subject=subject, row=row, value=value)
        self.column = column
        self.can_drop = can_drop

    def __str__(self) -> str:
        return f"{super().__str__()}, or drop it" if self.can_drop else super().__str__()


class UnknownCategoryError(ColumnError):
    """A category that was not seen in training, where ``unknown_category="error"``.

    Attributes
    ----------
    categories : sequence
        The categories that were seen in training.
    """

    def __init__(self, column: Any, row: int, value: Any, categories: Sequence[Any]) -> None:
        super().__init__(
            column,
            f"holds {shortened(value)} in row {row}, a category not seen in training (which had "
            f"{list_names(categories)})",
            "make it one of them or missing, or set unknown_category='no_information'",
            row=row,
            value=value,
        )
        self.categories = categories


@dataclass(eq=False, repr=False)
class TargetError(DataError):
    """A target that cannot be learned: missing or infinite values, text in a regression, a single class."""

    subject: str = field(default="y", kw_only=True)


@dataclass(eq=False, repr=False)
class SampleWeightError(DataError):
    """Sample weights that are negative, not finite, or not one per row."""

    subject: str = field(default="sample_weight", kw_only=True)


@dataclass(eq=False, repr=False)
class ParameterError(ValueError):
    """A parameter with a value that it cannot have.

    Attributes
    ----------
    name : str
        Name of the parameter.
    requirement : str
        What the parameter must be, such as ``"an integer of at least 1"``; None, if allowed, is not mentioned.
    value : object
        The value that was passed.
    none_means : str or None
        What None stands for, such as ``"no limit"``; None if the parameter cannot be None.
    hint : str
        How to obtain what was probably intended; may be empty.
    """

    name: str
    requirement: str
    value: Any
    none_means: str | None = field(default=None, kw_only=True)
    hint: str = field(default="", kw_only=True)

    def __str__(self) -> str:
        none = "" if self.none_means is None else f", or None ({self.none_means})"
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.name} must be {self.requirement}{none}, got {self.value!r}{hint}"


@dataclass(eq=False, repr=False)
class GrowthLimitError(RuntimeError):
    """Growing all branches would exceed a limit, or the model has more nodes already. What was grown stays.

    Attributes
    ----------
    n_nodes : int
        Number of nodes that the model has.
    max_nodes : int
        The maximum number of nodes that was passed.
    limit : {"max_nodes", "max_third_nodes"}
        What stopped the growth: ``max_nodes``, or the parameter ``max_third_nodes`` of forests and boosting.
    n_ungrown : int
        Number of branches that are still to be grown.
    n_nodes_in_full : int or None
        Upper bound of the number of nodes of the fully grown tree; None if it is beyond counting, or not known.
    n_trees : int
        Number of trees that have these nodes.
    remedy : str
        What to do about it.
    """

    n_nodes: int
    max_nodes: int
    remedy: str
    limit: Literal["max_nodes", "max_third_nodes"] = field(default="max_nodes", kw_only=True)
    n_ungrown: int = field(default=0, kw_only=True)
    n_nodes_in_full: int | None = field(default=None, kw_only=True)
    n_trees: int = field(default=1, kw_only=True)

    def __str__(self) -> str:
        model = "the tree has" if self.n_trees == 1 else "the trees have"
        if not self.n_ungrown:
            return f"{model} {self.n_nodes:,} nodes, more than max_nodes={self.max_nodes:,}; {self.remedy}"
        if self.limit == "max_third_nodes":
            return (
                f"{model} {self.n_nodes:,} nodes and {self.n_ungrown:,} branches that max_third_nodes keeps from "
                f"growing; a row that needs one of them gets the value of the node above it; {self.remedy}"
            )
        in_full = "far more" if self.n_nodes_in_full is None else f"up to {self.n_nodes_in_full:,} nodes"
        return (
            f"{model} {self.n_nodes:,} nodes and {self.n_ungrown:,} branches still to grow, which would pass "
            f"max_nodes={self.max_nodes:,}; in full it may have {in_full}; {self.remedy}"
        )


@dataclass(eq=False, repr=False)
class GraftError(ValueError):
    """A model of another library that cannot be grafted: unsupported, damaged, or read otherwise than it predicts.

    Attributes
    ----------
    reason : str
        What is wrong with the model, or with its file.
    remedy : str
        What to do about it; empty if there is nothing to suggest.
    path : path-like or None
        The file of the model.
    """

    reason: str
    remedy: str = ""
    path: Any = field(default=None, kw_only=True)

    def __str__(self) -> str:
        text = f"{self.reason}; {self.remedy}" if self.remedy else self.reason
        return text if self.path is None else f"{self.path}: {text}"


@dataclass(eq=False, repr=False)
class ModelFileError(ValueError):
    """A file that is not a model, or a damaged one. Nothing in it was run.

    Attributes
    ----------
    reason : str
        What is wrong with the file.
    path : path-like or None
        The file.
    """

    reason: str
    path: Any = None

    def __str__(self) -> str:
        return self.reason if self.path is None else f"{self.path}: {self.reason}"


class _FactsWarning(UserWarning):
    """Warning whose ``args`` are its facts, so that another process can create it from them, as pytest-xdist does."""

    def __post_init__(self) -> None:
        self.args = tuple(vars(self).values())


@dataclass(eq=False, repr=False)
class ColumnMatchWarning(_FactsWarning):
    """Columns of training that a table to predict lacks, or columns of it that training did not have.

    Attributes
    ----------
    absent : sequence
        Names of columns that the table lacks; they are missing in every row.
    ignored : sequence
        Names of columns that training did not have; they are ignored.
    """

    absent: Sequence[Any] = ()
    ignored: Sequence[Any] = ()

    def __str__(self) -> str:
        parts = []
        if self.absent:
            parts.append(f"absent from the table, so missing in every row: {list_names(self.absent)}")
        if self.ignored:
            parts.append(f"not in training, so ignored: {list_names(self.ignored)}")
        return "; ".join(parts)


@dataclass(eq=False, repr=False)
class IdentifierWarning(_FactsWarning):
    """A column that probably identifies the rows, from which nothing can be learned.

    Attributes
    ----------
    column : object
        Name of the column, its position if the table has no names.
    n_values, n_rows : int
        Numbers of distinct values, and of rows in which the column is observed.
    is_dropped : bool
        Whether the column was left out. Text is; whole numbers are not.
    """

    column: Any
    n_values: int
    n_rows: int
    is_dropped: bool = True

    @property
    def problem(self) -> str:
        """What was found, and what was done about it."""
        found = f"{name_column(self.column)} has {self.n_values:,} different values in {self.n_rows:,} rows, so it "
        return found + ("is left out as an identifier" if self.is_dropped else "looks like an identifier")

    def __str__(self) -> str:
        if self.is_dropped:
            return (
                f"{self.problem}; set drop_identifiers=False, or name it in categorical_features, to use it"
            )
        return f"{self.problem}; drop it if it is one"


@dataclass(eq=False, repr=False)
class DateTextWarning(_FactsWarning):
    """A text column that is read as dates or times of day.

    Attributes
    ----------
    column : object
        Name of the column, its position if the table has no names.
    text_format : str
        How the text is read, such as "day/month/year".
    """

    column: Any
    text_format: str

    @property
    def problem(self) -> str:
        """What was found, and what was done about it."""
        kind = "times of day" if self.text_format == "time of day" else f"dates ({self.text_format})"
        return f"the text in {name_column(self.column)} is read as {kind}"

    def __str__(self) -> str:
        return f"{self.problem}; set parse_dates=False to treat it as categories"


@dataclass(eq=False, repr=False)
class NumberTextWarning(_FactsWarning):
    """A text column whose cells look like numbers, so that it was probably meant to be numeric.

    Attributes
    ----------
    column : object
        Name of the column, its position if the table has no names.
    n_numbers, n_rows : int
        Numbers of rows that look like numbers, and of rows in which the column is observed.
    value : str
        A number with a decimal comma, or a value that is not a number.
    has_decimal_commas : bool
        Whether the numbers have decimal commas.
    """

    column: Any
    n_numbers: int
    n_rows: int
    value: str
    has_decimal_commas: bool

    def __str__(self) -> str:
        count = f"{self.n_numbers:,} of {self.n_rows:,} values"
        found = f"{name_column(self.column)} holds text, but {count} look like numbers"
        if self.has_decimal_commas:
            return f"{found} with decimal commas, such as {shortened(self.value)}; turn it into numbers"
        return f"{found}, unlike {shortened(self.value)}; turn it into numbers, and other values into missing ones"


@dataclass(eq=False, repr=False)
class UnknownValuesWarning(_FactsWarning):
    """A column to predict with many values that mean nothing to the model: unknown categories, or unreadable dates.

    Attributes
    ----------
    column : object
        Name of the column, its position if the table has no names.
    n_unknown, n_rows : int
        Numbers of rows with such a value, and of rows in which the column is observed.
    value : object
        One of these values.
    known : str
        The categories of training, or the format of its dates, in words.
    is_date : bool
        Whether the column holds dates or times.
    """

    column: Any
    n_unknown: int
    n_rows: int
    value: Any
    known: str
    is_date: bool

    def __str__(self) -> str:
        count = f"{self.n_unknown:,} of {self.n_rows:,} values in {name_column(self.column)}"
        found = f"{count}, such as {shortened(self.value)},"
        if self.is_date:
            return f"{found} cannot be read as {self.known}, and are treated as missing; write them as in training"
        return f"{found} are categories not seen in training ({self.known}); check their spelling"


@dataclass(eq=False, repr=False)
class UngrownBranchWarning(_FactsWarning):
    """Rows reached a third branch that is not grown, and got the value of the node above it.

    Attributes
    ----------
    cause : {"detached", "node_limit"}
        Why the branch is not grown: the rows to grow from are gone, or the tree has as many nodes as it may have.
    n_hits : int
        How many times a row reached such a branch.
    """

    cause: str
    n_hits: int

    def __str__(self) -> str:
        times = "once" if self.n_hits == 1 else f"{self.n_hits:,} times"
        return (
            f"{times} a row reached a third branch that is not grown, and got the value of the node above it: "
            f"{_CAUSES[self.cause]}"
        )


#: Why a branch is not grown, and what to do about it.
_CAUSES = {
    "detached": "the training rows are gone (detach(), or a file saved without them); call grow_for() before that, "
    "with rows like these, or grow_all()",
    "node_limit": "a tree has its maximum number of nodes; raise max_third_nodes",
}


@dataclass(eq=False, repr=False)
class UngrownExportWarning(UngrownBranchWarning):
    """An exported model lacks third branches, and cannot grow them.

    Attributes
    ----------
    cause : {"rows", "other_rows", "max_nodes", "detached", "node_limit"}
        Why branches are not grown: the rows to come were not known, the rows of `grow_for` did not need them,
        ``max_nodes`` stopped the growth, the rows to grow from are gone, or a tree has as many nodes as
        ``max_third_nodes`` allows.
    n_hits : int
        How many of the rows that were passed reach such a branch.
    n_rows : int
        How many rows were passed.
    destination : {"onnx", "file"}
        Where the model is exported to: ONNX, or a model file without training rows.
    n_ungrown : int
        Number of branches that are known but not grown.
    max_nodes : int
        The number of nodes at which growth stopped; 0 if it did not.
    one_missing, fifth_missing : float or None
        How much predictions for training rows deviate from those of `predict`, with one value missing and with a fifth
        of the values missing: the root mean squared deviation as a fraction of their standard deviation. None if it is
        not known.
    """

    n_hits: int = 0
    n_rows: int = 0
    destination: Literal["onnx", "file"] = "onnx"
    n_ungrown: int = 0
    max_nodes: int = 0
    one_missing: float | None = None
    fifth_missing: float | None = None

    @property
    def _is_file(self) -> bool:
        return self.destination == "file"

    @property
    def problem(self) -> str:
        """What is left out, and what it costs."""
        model = "the model in the file" if self._is_file else "the ONNX model"
        if self.n_rows:
            return (
                f"{self.n_hits:,} of {self.n_rows:,} rows reach a third branch that is not grown, where {model} "
                "predicts the value of the node above it"
            )
        branches = (
            "branch for missing values is" if self.n_ungrown == 1 else "branches for missing values are"
        )
        found = f"{self.n_ungrown:,} {branches} not grown, and {model} cannot grow any"
        if self.one_missing is None or self.fifth_missing is None:
            return f"{found}: a row that reaches one gets the value of the node above it"
        return (
            f"{found}: for training rows with one value missing, its predictions deviate from those of the fitted "
            f"model by {self.one_missing:.1%} of their standard deviation, with a fifth of the values missing by "
            f"{self.fifth_missing:.1%}"
        )

    def __str__(self) -> str:
        if self.cause == "max_nodes":
            remedy = f"growth stopped at {self.max_nodes:,} nodes; pass a higher max_nodes"
            remedy += ", or fewer rows" if self.n_rows else ", or rows=... with the missing values to expect"
        elif self.cause == "rows":
            how = "call grow_for() first, with rows that have" if self._is_file else "pass rows=... with"
            return f"{self.problem}; {how} the missing values to expect"
        elif self.cause == "other_rows":
            how = "call it with them too" if self._is_file else "pass them as rows=..."
            remedy = f"grow_for() has grown what its rows need; if rows lack other values, {how}"
        else:
            remedy = _EXPORT_CAUSES[self.cause]
        return f"{self.problem}: {remedy}"


_EXPORT_CAUSES = {
    "detached": "the training rows are gone (detach(), or a file saved without them); export before that, or fit again",
    "node_limit": "a tree has its maximum number of nodes; fit with a higher max_third_nodes",
}


def shortened(value: object, max_length: int = 80) -> str:
    """Return the repr of a value for a message, truncated: a name of thousands of characters would bury it."""
    text = repr(value)
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


def name_column(column: Any) -> str:
    """Return how messages refer to a column, given its name or position."""
    return f"column {shortened(column)}"


def list_names(names: Sequence[Any], max_names: int = 10) -> str:
    """Return names for a message, separated by commas; only the first ones if there are many."""
    shown = ", ".join(shortened(name) for name in names[:max_names])
    return shown if len(names) <= max_names else f"{shown} and {len(names) - max_names} more"


def warn_caller(warning: str | Warning) -> None:
    """Warn at the line that called the package, however deep inside it the reason was found."""

    def is_inside(frame: FrameType) -> bool:
        wrappers = ("sklearn.base", "sklearn.callback")  # scikit-learn puts them around our methods
        is_wrapper = frame.f_globals.get("__name__", "").startswith(wrappers)
        return is_wrapper or frame.f_code.co_filename.startswith(_PACKAGE)

    level, frame = 1, sys._getframe()
    while frame.f_back is not None and is_inside(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)
