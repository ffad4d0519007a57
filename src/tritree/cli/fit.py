"""``tritree fit``: fit a model to a table and write it to a file."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tritree.cli import options
from tritree.cli.errors import describe_error, fit_errors, growth_limit
from tritree.cli.messages import UserError, progress, write_json, write_text
from tritree.cli.options import TREE, flag, integer, option
from tritree.cli.output import check_file, format_size, write_errors
from tritree.inspection.formatting import count, number_format

if TYPE_CHECKING:
    from tritree.cli.training import TrainingData

EXAMPLES = (
    ("tritree fit houses.csv --target price", "write the model to houses.tritree"),
    ("tritree fit visits.parquet -y outcome --drop visit_id -o visits.tritree", "leave out a column"),
    ("tritree fit cars.tsv.gz -y mpg --na '?' --strategy mia --max-depth 8", "set parameters"),
    ("tritree fit houses.csv -y price --model boosting --trees 300", "boosting, which predicts better"),
    (
        "tritree fit houses.csv -y price -m forest --grow-for new.csv --no-training-rows",
        "ship a model without its training rows, with the branches that new.csv needs",
    ),
    ("tritree fit - -y y -o model.tritree --json < table.csv", "read from a pipe, write JSON"),
)


@dataclass(frozen=True)
class Parameters:
    """The parameters of the estimator; those that are not on the command line have its default values.

    Parameters
    ----------
    strategy
        How missing values are handled: trinary, trinary_mia, mia, majority, fractional or surrogate.
    max_depth
        Maximum depth of the trees; none for no limit.
    max_leaf_nodes
        Maximum number of leaves of each tree, which then grows best-first; none for no limit.
    max_bins
        Maximum number of bins of a numeric column; none for one per distinct value.
    unknown_category
        How prediction treats categories not seen in training: no_information or error.
    no_parse_dates
        Treat text columns of dates as categories.
    date_parts
        Parts of dates to add as columns, such as month,weekday: year, month, day, weekday, dayofyear, hour or minute.
    keep_identifiers
        Learn from text columns that are different in almost every row, such as names.
    no_split_on_missing
        Do not let mia and trinary_mia split missing from observed.
    max_surrogates
        Maximum number of surrogates per split, with --strategy surrogate.
    """

    trees: options.Trees = 100
    learning_rate: options.LearningRate = 0.1
    strategy: Annotated[
        Literal["trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate"] | None,
        option("STRATEGY", "--strategy", "-s", panel=TREE, show_default="trinary; trinary_mia for boosting"),
    ] = None
    criterion: options.Criterion = None
    max_depth: Annotated[
        int | None,
        integer(0, words=("none",), panel=TREE, show_default="5; 6 for boosting, none for a forest"),
    ] = None
    max_leaf_nodes: Annotated[int | None, integer(2, words=("none",), panel=TREE, show_default="none")] = None
    min_samples_leaf: options.MinSamplesLeaf = None
    max_bins: Annotated[
        int | None,
        integer(2, words=("none",), panel=TREE, show_default="none; 255 for boosting and a forest"),
    ] = None
    unknown_category: Annotated[Literal["no_information", "error"], option("HANDLING", panel=TREE)] = (
        "no_information"
    )
    no_parse_dates: Annotated[bool, flag("--no-parse-dates", TREE)] = False
    date_parts: options.DateParts = None
    keep_identifiers: Annotated[bool, flag("--keep-identifiers", TREE)] = False
    no_split_on_missing: Annotated[bool, flag("--no-split-on-missing", TREE)] = False
    max_surrogates: Annotated[int, integer(0, panel=TREE)] = 5
    n_jobs: options.NJobs = None


def fit(
    context: typer.Context,
    table: options.TableFile,
    *,
    roles: options.ColumnRoles,
    output: options.OutputFile = None,
    kind: Annotated[
        Literal["tree", "forest", "boosting"], option("KIND", "--model", "-m", panel=options.MODEL)
    ] = "tree",
    grow_all: Annotated[bool, flag("--grow-all")] = False,
    grow_for: Annotated[str | None, option("TABLE")] = None,
    no_training_rows: Annotated[bool, flag("--no-training-rows")] = False,
    parameters: Parameters,
    as_json: options.AsJson = False,
    table_format: options.TableFormat,
) -> None:
    """Fit a tree, a forest or gradient boosting to a table, and write the model to a file.

    All columns but the target are features. Values may be missing in any of them, but not in the target.

    Parameters
    ----------
    output
        Model file. By default it is named after the table, with the extension .tritree, in the current folder. An
        existing file is replaced.
    kind
        tree: one tree, which can be read. forest: a random forest. boosting: gradient boosting, which predicts best on
        most tables.
    grow_all
        Grow every third branch now instead of when a row first needs it.
    grow_for
        Rows with the missing values to expect; the third branches they need are grown now.
    no_training_rows
        Leave the training rows out of the file. The file is smaller and reveals none of them, but third branches can no
        longer grow: see --grow-for and --grow-all.
    """
    from tritree.cli.fit_record import make_record
    from tritree.cli.models import make_estimator
    from tritree.cli.tables import open_table
    from tritree.cli.training import read_training_data

    if table == "-" == grow_for:
        raise UserError("the standard input has only one table; name a file for --grow-for")
    source = open_table(table, table_format)
    rows = None if grow_for is None else open_table(grow_for, table_format)
    default_name = "model" if table == "-" else Path(table).name.partition(".")[0] or "model"
    output = output or f"{default_name}.tritree"
    file = check_file(output, "the model", "-o", table, grow_for)
    data = read_training_data(source, roles)
    roles = data.roles
    model = make_estimator(kind, data.task, options.given_options(context, parameters))
    with progress("fitting the model"), fit_errors(roles):
        model.fit(data.features, data.target, data.weights)
    if grow_all:
        with growth_limit(
            "lower --max-depth, or leave out --grow-all: branches then grow when rows need them"
        ):
            model.grow_all()
    replaced = file.exists()
    metadata = make_record(data, source.options()).to_metadata()

    def save() -> None:
        with write_errors(output):
            model.save(file, training_rows=False if no_training_rows else None, metadata=metadata)

    if rows is not None:
        _grow_for_rows(model, rows, roles.not_features, output, save)
    save()  # before the summary, which Ctrl-C may interrupt
    with progress("evaluating the model on its training rows"):
        facts = _summarize(model, kind, data, output, replaced)
    if as_json:
        write_json(facts)
    else:
        write_text(_summary_text(facts, source.name, data.reason))


def _grow_for_rows(model: Any, source: Any, ignore: list[str], output: str, save: Callable[[], None]) -> None:
    """Grow the branches that rows need; if that fails, save the model without them, unless a file exists already."""
    from tritree.cli.models import grow_for

    try:
        grow_for(model, source, ignore=ignore)
    except (KeyboardInterrupt, UserError, ValueError) as error:
        if Path(output).exists():  # it is not replaced by something incomplete
            raise
        save()
        if isinstance(error, KeyboardInterrupt):
            raise
        raise UserError(
            f"{describe_error(error)} (the model was saved to {output!r} without the branches that these rows need)"
        ) from error


def _summarize(model: Any, kind: str, data: "TrainingData", output: str, replaced: bool) -> dict[str, Any]:
    """Return the facts about a fitted model as plain data."""
    missing = data.features.isna().to_numpy()
    facts = {
        "model": output,
        "bytes": Path(output).stat().st_size,
        "replaced": replaced,
        "rows": len(data.features),
        "rows_skipped": data.n_skipped,
        "columns": len(data.features.columns),
        "categorical_columns": sum(column.categories is not None for column in model._encoder.columns),
        "missing_cells": int(missing.sum()),
        "missing_fraction": float(missing.mean()),
        "task": data.task,
        "classes": model.classes_.tolist() if hasattr(model, "classes_") else None,
        "kind": kind,
        "strategy": model.missing,
        "nodes": model.n_nodes_,  # before the training rows make branches grow
    }
    if kind == "tree":
        facts |= {"leaves": model.get_n_leaves(), "depth": model.get_depth()}
    else:
        facts["trees"] = model.n_trees_
    return facts | _training_losses(model, data)


def _training_losses(model: Any, data: "TrainingData") -> dict[str, Any]:
    """Return the loss on the training rows, and that of a constant prediction."""
    import numpy as np

    y, weights = np.asarray(data.target), data.weights
    if data.task == "regression":
        mean = np.average(y, weights=weights)
        return {
            "loss": "mean_squared_error",
            "training_loss": float(np.average((y - model.predict(data.features)) ** 2, weights=weights)),
            "constant_loss": float(np.average((y - mean) ** 2, weights=weights)),
            "training_accuracy": None,
        }

    def cross_entropy(probabilities: Any) -> float:
        # a probability of 0 would make it infinite
        return float(-np.average(np.log(probabilities.clip(min=1e-15)), weights=weights)) + 0.0

    probabilities = model.predict_proba(data.features)
    classes = np.searchsorted(model.classes_, y)
    priors = np.array([np.average(classes == k, weights=weights) for k in range(len(model.classes_))])
    return {
        "loss": "cross_entropy",
        "training_loss": cross_entropy(probabilities[np.arange(len(y)), classes]),
        "constant_loss": cross_entropy(priors[classes]),
        "training_accuracy": float(np.average(probabilities.argmax(axis=1) == classes, weights=weights)),
    }


def _summary_text(facts: dict[str, Any], table: str, reason: str) -> str:
    """Return the facts about a fitted model as text, a line per subject."""
    rows = f"{table}: {count(facts['rows'], 'row')}, {count(facts['columns'], 'column')}"
    if facts["categorical_columns"]:
        rows += f" ({facts['categorical_columns']} categorical)"
    if facts["rows_skipped"]:
        rows += f"; {count(facts['rows_skipped'], 'row')} without a target left out"
    missing = f"{facts['missing_fraction']:.1%} of the cells ({count(facts['missing_cells'], 'cell')})"
    classes = "" if facts["classes"] is None else f", {count(len(facts['classes']), 'class', 'classes')}"
    size = count(facts["nodes"], "node")
    if facts["kind"] == "tree":
        size = f"{size}, {count(facts['leaves'], 'leaf', 'leaves')}, depth {facts['depth']}"
    else:
        size = f"{count(facts['trees'], 'tree')}, {size}"
    form = number_format([facts["training_loss"], facts["constant_loss"]], 4)
    loss = (
        f"{facts['loss'].replace('_', ' ')} {form(facts['training_loss'])} on the training rows "
        f"({form(facts['constant_loss'])} for a constant prediction)"
    )
    if facts["training_accuracy"] is not None:
        loss += f", accuracy {facts['training_accuracy']:.1%}"
    lines = {
        "table": rows,
        "missing": missing if facts["missing_cells"] else "no cell is missing",
        "task": f"{facts['task']}{classes}: {reason}",
        facts["kind"]: f"{facts['strategy']}, {size}",
        "loss": loss,
        "model": f"{facts['model']} ({format_size(facts['bytes'])}{', replaced' if facts['replaced'] else ''})",
    }
    return "\n".join(f"{label:<9}{text}" for label, text in lines.items())
