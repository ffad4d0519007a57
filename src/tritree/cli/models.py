"""Models: files opened, estimators made from options, rows read as a model takes them."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import tritree
from tritree.cli.advice import advise
from tritree.cli.cells import is_declared_missing, is_text, shown, to_numbers
from tritree.cli.fit_record import FitRecord, read_record
from tritree.cli.inputs import check_readable
from tritree.cli.messages import UserError, progress
from tritree.cli.tables import format_by_name
from tritree.serialization import load
from tritree.validation import BOOSTING_STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tritree.cli.batches import BatchTable
    from tritree.cli.tables import TableSource

_Source = TypeVar("_Source", "TableSource", "BatchTable")

#: The parameters of estimators that options set; not every kind of model has all of them.
OPTIONS = {
    "missing": "--strategy",
    "criterion": "--criterion",
    "max_depth": "--max-depth",
    "max_leaf_nodes": "--max-leaf-nodes",
    "min_samples_leaf": "--min-samples-leaf",
    "max_bins": "--max-bins",
    "parse_dates": "--no-parse-dates",
    "date_parts": "--date-parts",
    "drop_identifiers": "--keep-identifiers",
    "category_penalty": "--category-penalty",
    "split_penalty": "--split-penalty",
    "masked_copies": "--masked-copies",
    "split_on_missing": "--no-split-on-missing",
    "unknown_category": "--unknown-category",
    "max_surrogates": "--max-surrogates",
    "n_estimators": "--trees",
    "max_iter": "--trees",
    "learning_rate": "--learning-rate",
    "loss": "--loss",
    "quantile": "--quantile",
    "early_stopping": "--early-stopping",
    "class_weight": "--class-weight",
    "random_state": "--seed",
    "n_jobs": "--n-jobs",
}


def open_model(path: str, *, n_jobs: int | None = None, unknown_category: str | None = None) -> Any:
    """Return the model in a file, with the parameters that a command sets."""
    file = Path(path)
    if path == "-":
        raise UserError("a model is read from a file, not from the standard input; name the file")
    check_readable(file, "model")
    if format_by_name(file)[0] is not None:
        raise UserError(f"{path!r} is a table, not a model: the model comes first, then the table")
    with progress(f"opening {path!r}"):
        model = load(file)
    if n_jobs is not None:
        model.n_jobs = n_jobs
    if unknown_category is not None:
        model.unknown_category = unknown_category
    return model


def model_kind(model: Any) -> str:
    """Return whether a model is a "tree", a "forest" or "boosting"."""
    return "tree" if hasattr(model, "tree_") else "boosting" if hasattr(model, "n_iter_") else "forest"


def select_tree(model: Any, number: int | None) -> Any:
    """Return the tree of an ensemble that has a number, or the model itself without one."""
    if number is None:
        return model
    if model_kind(model) == "tree":
        raise UserError("the model is one tree; leave out --tree")
    last = model.n_trees_ - 1
    if number > last:
        raise UserError(f"there is no tree {number}; the trees are numbered from 0 to {last}")
    trees = model.estimators_
    return trees.flat[number] if model_kind(model) == "boosting" else trees[number]


def make_estimator(kind: str, task: str, given: Mapping[str, Any]) -> Any:
    """Return an unfitted estimator with the parameters that the options on the command line set."""
    check_options(given, [kind])
    if "--strategy" in given:
        _check_strategies(kind, [given["--strategy"]])
    check_criterion(given.get("--criterion"), task)
    _check_loss(given, kind, task)
    names = _parameters(kind, task)
    for option in given:
        if option not in names:
            raise UserError(f"{option} is not for {task}; leave it out, or use another --task")
    parameters = {names[option]: value for option, value in given.items()}
    for name in parameters.keys() & {
        "drop_identifiers",
        "parse_dates",
        "split_on_missing",
    }:  # flags switch them off
        parameters[name] = not parameters[name]
    if kind != "tree":  # the same table and options give the same model
        parameters.setdefault("random_state", 0)
    return _estimator_class(kind, task)(**parameters)


def _parameters(kind: str, *tasks: str) -> dict[str, str]:
    """Return the options that a kind of model has for some tasks, and the parameters of estimators that they set."""
    existing = {name for task in tasks for name in inspect.signature(_estimator_class(kind, task)).parameters}
    return {option: parameter for parameter, option in OPTIONS.items() if parameter in existing}


def method_names(kinds: Sequence[str], strategies: Sequence[str] | None, masked_copies: int = 0) -> list[str]:
    """Return the names of the methods to compare: each kind of model with its default strategy, or with those named.

    "all" are all strategies, and complete-case analysis. Methods of boosting are repeated with masked copies, if any.
    """
    from tritree.lab.methods import method_spec, with_masked_copies

    names = _names_without_copies(kinds, strategies)
    copied = [with_masked_copies(name, masked_copies) for name in names] if masked_copies else []
    return names + [name for name in copied if method_spec(name) is not None]


def _names_without_copies(kinds: Sequence[str], strategies: Sequence[str] | None) -> list[str]:
    from tritree.lab.methods import strategies_of
    from tritree.lab.ranks.names import METHODS

    if not strategies:
        return list(dict.fromkeys(kinds))
    names = []
    for kind in dict.fromkeys(kinds):
        available = [name for name in METHODS if name in strategies_of(kind)]
        found = [name for name in available if "all" in strategies or name in strategies]
        if not found:
            _check_strategies(kind, strategies)
        names += [name if kind == "tree" else f"{kind}:{name}" for name in found]
    return names


def has_option(kind: str, option: str) -> bool:
    """Return whether an option sets a parameter of a kind of model."""
    return option in _parameters(kind, "regression", "classification")


def check_options(given: Iterable[str], kinds: Sequence[str]) -> None:
    """Raise a UserError if an option is for none of some kinds of models."""
    for option in given:
        if not any(has_option(kind, option) for kind in kinds):
            named = " or ".join(f"--model {kind}" for kind in dict.fromkeys(kinds))
            raise UserError(f"{option} is not for {named}; leave it out")


def _check_strategies(kind: str, strategies: Sequence[str]) -> None:
    """Raise a UserError if a kind of model has none of some strategies; only boosting lacks any."""
    if kind == "boosting" and not set(strategies) & set(BOOSTING_STRATEGIES):
        *first, last = BOOSTING_STRATEGIES
        raise UserError(
            f"--strategy {' and '.join(strategies)} is not for --model {kind}; use {', '.join(first)} or {last}"
        )


def check_criterion(criterion: str | None, task: str) -> None:
    """Raise a UserError if a criterion is not for the task."""
    _check_choice("criterion", criterion, "tree", task)


def _check_loss(given: Mapping[str, Any], kind: str, task: str) -> None:
    """Raise a UserError if the loss is not for the task, or has no quantile."""
    if "--loss" in given:
        _check_choice("loss", given["--loss"], kind, task)
    if "--quantile" in given and given.get("--loss") != "quantile":
        raise UserError("--quantile is for --loss quantile; add it, or leave out --quantile")


def _check_choice(parameter: str, value: str | None, kind: str, task: str) -> None:
    available = _estimator_class(kind, task)._allowed[parameter].options
    if value is not None and value not in available:
        raise UserError(
            f"{OPTIONS[parameter]} {value} is not for {task}; use {' or '.join(available)}, or another --task"
        )


def _estimator_class(kind: str, task: str) -> Any:
    suffix = "Regressor" if task == "regression" else "Classifier"
    return getattr(tritree, f"Trinary{kind.capitalize()}{suffix}")


# ---- rows for a model


def read_rows(model: Any, source: TableSource, text_columns: Sequence[str] = ()) -> Any:
    """Return a table for a model, with all its columns; what was text or numbers in training is read as such.

    The table is read with the options of ``tritree fit`` unless others are given. ``text_columns`` are further columns
    to read as text.
    """
    source = like_training(model, source)
    frame = source.read([*_columns_of_type(model, "text"), *text_columns])
    first_row = "if the first row has the names of columns, add --header" if source.no_header else ""
    for name in _columns_of_type(model, "numbers"):
        if name in frame.columns and is_text(frame[name]):
            frame[name] = to_numbers(frame[name], name, " (it held numbers in training)", first_row)
    if (record := read_record(model)) is not None:
        _warn_of_declared_missing(frame, source, record)
    return frame


def like_training(model: Any, source: _Source) -> _Source:
    """Return a source that is read as the training table of a model was, unless other options are given."""
    record = read_record(model)
    if record is None:
        return source
    source = source.like_training(record.table_format)
    now = describe_missing(source.missing_options)
    if now != (before := describe_missing(record.table_format)):
        warnings.warn(
            f"this table is read with {now}; the training table was read with {before}", stacklevel=2
        )
    return source


def describe_missing(options: Mapping[str, Any]) -> str:
    """Return the options for missing values as they are on the command line."""
    named = [advise("--na", na) for na in sorted(options.get("na", ()))]
    if options.get("no_default_na"):
        named.append("--no-default-na")
    return " ".join(named) or "neither --na nor --no-default-na"


def _warn_of_declared_missing(frame: Any, source: TableSource, record: FitRecord) -> None:
    """Warn of values that were read as missing in training, and are not missing here."""
    others = set(record.table_format.get("na", ())) - set(source.missing_options["na"])
    for name in frame.columns if others else ():
        found = frame[name][is_declared_missing(frame[name], others)]
        if len(found):
            warnings.warn(
                f"column {name!r} holds {shown(found.iloc[0])}, which was missing in training; add "
                f"{advise('--na', *sorted(others))}",
                stacklevel=2,
            )
            return


def features_of(model: Any, frame: Any) -> Any:
    """Return a table without the columns that ``tritree fit`` was told not to learn from: nobody expects them there."""
    record = read_record(model)
    names = [] if record is None else [name for name in record.not_features if name in frame.columns]
    return frame.drop(columns=names) if len(names) < len(frame.columns) else frame


def _columns_of_type(model: Any, column_type: str) -> list[str]:
    """Return the names of the columns that had a type in training."""
    return [
        str(column.name)
        for column in model._encoder.columns
        if column.type.value == column_type and column.order is None and column.part is None
    ]


def grow_for(model: Any, source: TableSource, *, ignore: Sequence[str] = ()) -> Any:
    """Grow the third branches that the rows of a table need, and return these rows.

    ``ignore`` names columns that are not features; no warning says that they are ignored.
    """
    rows = features_of(model, read_rows(model, source)).drop(columns=list(ignore), errors="ignore")
    with progress("growing the branches that rows need"):
        # that something can no longer be grown is a warning of predict, and an error of grow_for
        model.predict(rows) if model._model.is_detached else model.grow_for(rows)
    return rows
