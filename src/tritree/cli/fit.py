"""``tritree fit``: fit a model to a table and write it to a file."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tritree.cli import options
from tritree.cli.errors import describe_error, fit_errors, growth_limit
from tritree.cli.messages import UserError, is_quiet, note, progress, write_json, write_text
from tritree.cli.options import MODEL, TREE, VALIDATION, flag, integer, option
from tritree.cli.output import check_file, format_size, write_errors
from tritree.inspection.formatting import count

if TYPE_CHECKING:
    from tritree.cli.training import TrainingData
    from tritree.cli.training_batches import BatchTrainingData

EXAMPLES = (
    ("tritree fit houses.csv --target price", "write the model to houses.tritree"),
    ("tritree fit visits.parquet -y outcome --drop visit_id -o visits.tritree", "leave out a column"),
    ("tritree fit cars.tsv.gz -y mpg --na '?' --strategy mia --max-depth 8", "set parameters"),
    ("tritree fit houses.csv -y price --model boosting --trees 300", "boosting, which predicts better"),
    (
        "tritree fit houses.csv -y price -m forest --grow-for new.csv --no-training-rows",
        "ship a model without its training rows, with the branches that new.csv needs",
    ),
    ("tritree fit big/*.parquet -y price -m boosting", "tables larger than memory, read batch by batch"),
    ("tritree fit big -y price -m boosting --scratch /fast/disk", "binned on a disk, if memory is short"),
    ("tritree fit - -y y -o model.tritree --json < table.csv", "read from a pipe, write JSON"),
)


@dataclass(frozen=True)
class Parameters:
    """The parameters of the estimator; those that are not on the command line have its default values.

    Parameters
    ----------
    loss
        Loss of boosting: squared_error (the default), absolute_error, quantile, poisson or gamma for regression,
        log_loss for classification.
    quantile
        Quantile to predict, with --loss quantile.
    split_penalty
        How much more than by chance a split of boosting must gain; larger values overfit less.
    masked_copies
        Number of copies of the rows, with cells removed at random, that boosting is fitted to as well: for missing
        values that meant something in training and go missing at random later. tritree compare says whether it pays.
    early_stopping
        Stop boosting when the score on a tenth of the rows, which are set aside, stops improving.
    seed
        Random seed of forests and boosting, and of the validation.
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
    category_penalty
        How much more a split of many categories must gain; larger values overfit less.
    no_split_on_missing
        Do not let mia and trinary_mia split missing from observed.
    max_surrogates
        Maximum number of surrogates per split, with --strategy surrogate.
    """

    trees: options.Trees = 100
    learning_rate: options.LearningRate = 0.1
    loss: Annotated[
        Literal["squared_error", "absolute_error", "quantile", "poisson", "gamma", "log_loss"] | None,
        option("NAME", panel=MODEL),
    ] = None
    quantile: Annotated[float, option("FRACTION", panel=MODEL, parser=options.fraction)] = 0.5
    split_penalty: options.SplitPenalty = 0.3
    masked_copies: options.MaskedCopies = 0
    early_stopping: Annotated[bool, flag("--early-stopping", MODEL)] = False
    class_weight: options.ClassWeight = None
    seed: Annotated[int, integer(0, panel=MODEL)] = 0
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
    category_penalty: options.CategoryPenalty = None
    no_split_on_missing: Annotated[bool, flag("--no-split-on-missing", TREE)] = False
    max_surrogates: Annotated[int, integer(0, panel=TREE)] = 5
    n_jobs: options.NJobs = None


@dataclass(frozen=True)
class ValidationOptions:
    """How the model is scored on rows that it was not fitted to.

    Parameters
    ----------
    test_size
        Fraction of the rows to hold out. A model that is fitted to the others is scored on them; the model in the file
        is fitted to all rows. By default 0.25, at most 50,000 rows, and for a forest none: its rows are scored out of
        bag.
    cv
        Number of folds: cross-validate the model instead.
    missing
        Fraction of the cells to remove in the second score, which shows what happens when fields go missing in
        production; 0 leaves it out.
    no_validation
        Score the model on its training rows only, which is faster.
    """

    test_size: Annotated[Any, option("FRACTION", panel=VALIDATION, parser=options.fraction)] = None
    cv: Annotated[int | None, integer(2, panel=VALIDATION)] = None
    missing: Annotated[Any, option("FRACTION", panel=VALIDATION, parser=options.fraction)] = "0.3"
    no_validation: Annotated[bool, flag("--no-validation", VALIDATION)] = False

    def check(self) -> None:
        """Raise a UserError if options exclude each other."""
        if self.test_size is not None and self.cv is not None:
            raise UserError("--test-size holds rows out and --cv cross-validates; leave one of them out")
        if self.no_validation and (self.test_size is not None or self.cv is not None):
            raise UserError(
                "--no-validation leaves out what --test-size and --cv ask for; leave one of them out"
            )
        if self.test_size in (0, 1):
            raise UserError("--test-size must be above 0 and below 1; --no-validation holds out no rows")


def fit(
    context: typer.Context,
    tables: options.TableFiles,
    *,
    roles: options.ColumnRoles,
    output: options.OutputFile = None,
    kind: Annotated[
        Literal["tree", "forest", "boosting"], option("KIND", "--model", "-m", panel=MODEL)
    ] = "tree",
    grow_all: Annotated[bool, flag("--grow-all")] = False,
    grow_for: Annotated[str | None, option("TABLE")] = None,
    no_training_rows: Annotated[bool, flag("--no-training-rows")] = False,
    scratch: Annotated[str | None, option("FOLDER")] = None,
    parameters: Parameters,
    validation: ValidationOptions,
    as_json: options.AsJson = False,
    table_format: options.TableFormat,
) -> None:
    """Fit a tree, a forest or gradient boosting to a table, and write the model to a file.

    All columns but the target are features. Values may be missing in any of them, but not in the target. The scores are
    those on rows that the model was not fitted to, as they are and with more cells missing.

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
    scratch
        Folder for temporary files that hold the binned table of Parquet files instead of memory: one byte per cell, two
        for boosting. They have no names, so nothing is left of them, however the program ends.
    """
    from tritree.cli.batches import find_batches
    from tritree.cli.fit_record import make_record
    from tritree.cli.models import make_estimator
    from tritree.cli.tables import open_table

    if tables == ["-"] == [grow_for]:
        raise UserError("the standard input has only one table; name a file for --grow-for")
    validation.check()
    source: Any = find_batches(tables, table_format, also_small=scratch is not None)
    if is_batches := source is not None:
        _check_batches(context, source.name)
    elif scratch is not None:
        raise UserError("--scratch is for Parquet files, which are read batch by batch; leave it out")
    else:
        source = open_table(tables[0], table_format)
    rows = None if grow_for is None else open_table(grow_for, table_format)
    output = output or f"{_model_name(tables)}.tritree"
    file = check_file(output, "the model", "-o", *(source.files.paths if is_batches else tables), grow_for)
    data = _read_data(source, roles, is_batches)
    roles = data.roles
    model = make_estimator(kind, data.task, options.given_options(context, parameters))
    with progress("fitting the model"), fit_errors(roles):
        model.fit(data.features, data.target, data.weights, scratch=scratch)
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
    save()  # before the scores, which Ctrl-C may interrupt
    facts = _summarize(model, kind, data, output, replaced)
    if is_quiet() and not as_json:
        return
    if not as_json:
        write_text(_summary_text(facts, source.name, data.reason))
    try:
        facts |= _score(model, kind, data, roles, None if is_batches else validation, parameters.seed)
    except KeyboardInterrupt:
        note(f"the model is in {output!r}; its scores were interrupted")
        raise
    if as_json:
        write_json(facts)
    elif facts["training"] is not None:
        write_text(f"\n{_scores_text(facts)}")


def _check_batches(context: typer.Context, table: str) -> None:
    """Raise a UserError if options need the table in memory."""
    for parameter in ("early_stopping", "test_size", "cv"):
        if options.is_given(context, parameter):
            raise UserError(
                f"--{parameter.replace('_', '-')} needs the table in memory, and {table} is read batch by batch; leave "
                "it out, and score the model on other rows with tritree score"
            )


def _model_name(tables: list[str]) -> str:
    """Return the name of the model file, without extension: that of the table if it is one file or folder."""
    from tritree.out_of_core.parquet import is_pattern

    if len(tables) > 1 or tables[0] == "-" or is_pattern(tables[0]):
        return "model"
    return Path(tables[0]).name.partition(".")[0] or "model"


def _read_data(
    source: Any, roles: options.ColumnRoles, is_batches: bool
) -> "TrainingData | BatchTrainingData":
    if is_batches:
        from tritree.cli.training_batches import read_training_batches

        return read_training_batches(source, roles)
    from tritree.cli.training import read_training_data

    return read_training_data(source, roles)


def _score(
    model: Any,
    kind: str,
    data: Any,
    roles: options.ColumnRoles,
    validation: ValidationOptions | None,
    seed: int,
) -> dict[str, Any]:
    """Return the scores of a model on its training rows and in a validation, which may be impossible.

    There are none without ``validation``, of a table that is read batch by batch.
    """
    from tritree.cli import scores, validate

    if validation is None:
        reason = "the table is read batch by batch; score the model on other rows with tritree score"
        note(f"validation is skipped: {reason}")
        return {"training": None, "validation": None, "validation_skipped": reason}
    with progress("scoring the model on its training rows"):
        training = scores.metrics_of(model, data, scores.predict(model, data.features))
    facts: dict[str, Any] = {
        "training": training | {"constant": scores.constant_scores(model, data, data)},
        "validation": None,
        "validation_skipped": "--no-validation" if validation.no_validation else None,
    }
    if validation.no_validation:
        return facts
    how = validate.Validation(validation.test_size, validation.cv, validation.missing, seed)
    try:
        with progress("validating the model"), fit_errors(roles):
            facts["validation"] = validate.validate(model, kind, data, how)
    except (UserError, ValueError) as error:  # the model is written all the same
        facts["validation_skipped"] = describe_error(error)
        note(f"validation is skipped: {describe_error(error)}")
    return facts


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


def _summarize(
    model: Any, kind: str, data: "TrainingData | BatchTrainingData", output: str, replaced: bool
) -> dict[str, Any]:
    """Return the facts about a fitted model as plain data."""
    counts = data.counts()
    facts = {
        "model": output,
        "bytes": Path(output).stat().st_size,
        "replaced": replaced,
        "rows": counts.rows,
        "rows_skipped": counts.rows_skipped,
        "columns": counts.columns,
        "categorical_columns": sum(column.categories is not None for column in model._encoder.columns),
        "missing_cells": counts.missing_cells,
        "missing_fraction": counts.missing_cells / (counts.rows * counts.columns),
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
    return facts


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
    lines = {
        "table": rows,
        "missing": missing if facts["missing_cells"] else "no cell is missing",
        "task": f"{facts['task']}{classes}: {reason}",
        facts["kind"]: f"{facts['strategy']}, {size}",
        "model": f"{facts['model']} ({format_size(facts['bytes'])}{', replaced' if facts['replaced'] else ''})",
    }
    return "\n".join(f"{label:<9}{text}" for label, text in lines.items())


def _scores_text(facts: dict[str, Any]) -> str:
    """Return the scores of a model as a table, and notes on them."""
    from tritree.cli.scores import constant_label, scores_text
    from tritree.cli.validate import validation_lines, validation_notes

    found = facts["validation"]
    lines = {"training rows": facts["training"]} | ({} if found is None else validation_lines(found))
    constant = (found or facts["training"])["constant"]
    lines[constant_label(facts["task"], constant)] = constant
    notes = [] if found is None else validation_notes(found, facts["rows"])
    return "\n".join([scores_text(facts["task"], lines), *notes])
