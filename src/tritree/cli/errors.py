"""Errors and warnings of the library in the words of the command line, built from the facts that they carry."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tritree.cli.advice import advise
from tritree.cli.messages import UserError
from tritree.errors import (
    ColumnError,
    DataError,
    DateTextWarning,
    GrowthLimitError,
    IdentifierWarning,
    ParameterError,
    SampleWeightError,
    TargetError,
    UngrownBranchWarning,
    UngrownExportWarning,
    UnknownCategoryError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritree.cli.options import ColumnRoles


#: Extras of the package that install optional libraries; all others are in "cli".
_EXTRAS = {"matplotlib": "plot", "onnx": "onnx"}


def describe_error(error: BaseException) -> str:
    """Return the text of an error, with a remedy."""
    if isinstance(error, MemoryError):
        return "there is not enough memory; use fewer rows or columns"
    if isinstance(error, OSError) and error.strerror is not None:
        return f"{str(error.filename)!r}: {error.strerror}" if error.filename is not None else error.strerror
    if isinstance(error, UnknownCategoryError):
        text = f"{_place(error)}{error.subject} {error.problem}"
        return f"{text}; correct it, make it missing, or add --unknown-category no_information"
    if isinstance(error, ImportError) and error.name is not None:
        package = error.name.partition(".")[0]
        extra = _EXTRAS.get(package, "cli")
        return f"{package} cannot be imported ({error}): pip install 'tritree[{extra}]'"
    return str(error) or type(error).__name__


def _place(error: DataError) -> str:
    """Return where data are, if they are not those of a whole table."""
    return "" if error.argument is None else f"in {error.argument}: "


@contextmanager
def fit_errors(roles: ColumnRoles) -> Iterator[None]:
    """Raise errors of ``fit`` as UserErrors that name the columns of the table and the options of the command."""
    from tritree.cli.models import OPTIONS

    try:
        yield
    except DataError as error:
        subject = error.subject
        if isinstance(error, TargetError):
            subject = f"the target {roles.target!r}"
        elif isinstance(error, SampleWeightError):
            subject = f"the column of weights, {roles.weights!r},"
        drop = ""
        if isinstance(error, ColumnError) and error.can_drop:
            drop = f"drop it with {advise('--drop', str(error.column))}"
        remedy = ", or ".join(filter(None, (_with_options(error.remedy), drop)))
        text = f"{_place(error)}{subject} {_with_options(error.problem)}"
        raise UserError(f"{text}; {remedy}" if remedy else text) from error
    except ParameterError as error:
        if error.name not in OPTIONS:
            raise
        none = "" if error.none_means is None else f", or none ({error.none_means})"
        raise UserError(
            f"{OPTIONS[error.name]} must be {error.requirement}{none}, got {error.value}"
        ) from error
    except ValueError as error:
        problem = re.fullmatch(r"validation_fraction=\S+ (of the rows [^;]+);.*", str(error))
        if problem is None:
            raise
        raise UserError(f"a tenth {problem[1]}; use more rows, or leave out --early-stopping") from error


def _with_options(text: str) -> str:
    """Return a text with the option of the command line for a parameter such as loss='gamma'."""
    from tritree.cli.models import OPTIONS

    def option(match: re.Match[str]) -> str:
        return f"{OPTIONS[match[1]]} {match[2]}" if match[1] in OPTIONS else match[0]

    return re.sub(r"\b(\w+)='(\w+)'", option, text)


@contextmanager
def growth_limit(remedy: str, *, option: str | None = None) -> Iterator[None]:
    """Raise a GrowthLimitError as a UserError that names the option of the limit, if there is one, and a remedy."""
    try:
        yield
    except GrowthLimitError as error:
        limit = f"{error.max_nodes:,} nodes" if option is None else f"{option} {error.max_nodes:,}"
        text = f"{'the tree has' if error.n_trees == 1 else 'the trees have'} {error.n_nodes:,} nodes"
        if error.limit == "max_third_nodes":
            raise UserError(
                f"{text} and {error.n_ungrown:,} branches that cannot be grown, since a tree has its maximum number of "
                "nodes: a row that needs one of them gets the value of the node above it; fit with a lower --max-depth"
            ) from None
        if error.n_ungrown:
            full = "far more" if error.n_nodes_in_full is None else f"up to {error.n_nodes_in_full:,} nodes"
            text += f" and {error.n_ungrown:,} branches still to grow, which would exceed {limit}"
            raise UserError(f"{text}; the fully grown tree may have {full}; {remedy}") from None
        raise UserError(f"{text}, more than {limit}; {remedy}") from None


#: Why branches are not grown, and what to do about it.
_CAUSES = {
    "detached": "the model file has no training rows to grow it from; fit without --no-training-rows, pass similar "
    "rows to fit --grow-for, or grow every branch with --grow-all",
    "node_limit": "a tree has its maximum number of nodes; fit with a lower --max-depth",
}


def describe_warning(warning: Warning) -> str:
    """Return the text of a warning, with options of the command line as its remedy."""
    if isinstance(warning, IdentifierWarning):
        remedy = (
            "use it with --keep-identifiers"
            if warning.is_dropped
            else f"if it is one, leave it out with {advise('--drop', str(warning.column))}"
        )
        return f"{warning.problem}; {remedy}"
    if isinstance(warning, DateTextWarning):
        return f"{warning.problem}; treat it as categories with --no-parse-dates"
    if isinstance(warning, UngrownExportWarning):
        return f"{warning.problem}{_export_remedy(warning)}"
    if not isinstance(warning, UngrownBranchWarning):
        return str(warning)
    times = "once" if warning.n_hits == 1 else f"{warning.n_hits:,} times"
    return (
        f"{times} a row reached a third branch that is not grown, and got the value of the node above it: "
        f"{_CAUSES[warning.cause]}"
    )


def _export_remedy(warning: UngrownExportWarning) -> str:
    """Return why an exported model lacks branches, and what to do about it."""
    if warning.cause == "max_nodes":
        other = (
            "use fewer rows" if warning.n_rows else "name rows with the missing values to expect with --rows"
        )
        return f": growth stopped at {warning.max_nodes:,} nodes; raise --max-nodes, or {other}"
    option = "--rows" if warning.destination == "onnx" else "--grow-for"
    if warning.cause == "rows":
        return f"; name rows with the missing values to expect with {option}"
    if warning.cause == "other_rows":
        return f"; if rows lack other values than those of {option}, name them there too"
    return f": {_CAUSES[warning.cause]}"
