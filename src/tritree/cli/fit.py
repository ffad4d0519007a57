"""``tritree fit``: a tree from a table, in a model file."""

# annotations are read by Typer when the program is built, so they are not put off here

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tritree.cli import fit_options as of_fit
from tritree.cli import options
from tritree.cli.messages import Mendable, put, put_json, working
from tritree.cli.reading import reads_a_table
from tritree.cli.tables import Reading, Source, check_column, open_source

__all__ = ["EXAMPLES", "fit"]

EXAMPLES = (
    ("tritree fit houses.csv --response price", "the model is in houses.tritree"),
    ("tritree fit visits.parquet -y outcome --drop visit_id -o visits.tritree", "without a column"),
    ("tritree fit cars.tsv.gz -y mpg --na '?' --strategy mia --max-depth 8", "with other settings"),
    ("tritree fit - -y y -o model.tritree --json < table.csv", "for programs"),
)


@reads_a_table
def fit(
    table: options.TableFile,
    response: of_fit.Response,
    output: of_fit.Output = None,
    task: of_fit.Task = None,
    drop: of_fit.Drop = None,
    weights: of_fit.Weights = None,
    categorical: of_fit.Categorical = None,
    numeric: of_fit.Numeric = None,
    skip_missing: of_fit.SkipMissing = False,
    strategy: of_fit.Strategy = "trinary",
    criterion: of_fit.Criterion = None,
    max_depth: of_fit.MaxDepth = 5,
    min_samples_leaf: of_fit.MinSamplesLeaf = 20,
    max_bins: of_fit.MaxBins = None,
    unknown_category: of_fit.Unknown = "no_information",
    no_split_on_missing: of_fit.NoSplitOnMissing = False,
    max_surrogates: of_fit.MaxSurrogates = 5,
    grow_all: of_fit.GrowAll = False,
    no_training_rows: of_fit.NoTrainingRows = False,
    n_jobs: options.NJobs = None,
    as_json: options.AsJson = False,
    *,
    reading: Reading,
) -> None:
    """Fit a tree to a table and write it to a model file.

    Every column but the response is learned from. Cells may be missing anywhere but in the response.
    """
    from tritree.cli.response import Roles, take_apart
    from tritree.cli.summary import Summary

    source = open_source(table, reading)
    output = output or _named_after(table)
    place = _model_place(output, table)
    frame = _typed(source, reading, categorical or [], numeric or [])
    roles = Roles(response, weights, tuple(drop or ()))
    training = take_apart(frame, source.name, roles, task=task, skip_missing=skip_missing)
    del frame
    model = _estimator(
        training.task,
        criterion,
        missing=strategy,
        max_depth=max_depth,
        min_samples_leaf=min_samples_leaf,
        max_bins=max_bins,
        unknown_category=unknown_category,
        split_on_missing=not no_split_on_missing,
        max_surrogates=max_surrogates,
        n_jobs=n_jobs,
    )
    _train(model, training, response, weights, grow_all)
    replaced = place.exists()
    # before the summary, which Ctrl-C may end
    _save(model, place, output, False if no_training_rows else None)
    with working("measuring the tree on its training rows"):
        summary = Summary(model, training, table=source.name, output=output, replaced=replaced)
    if as_json:
        put_json(summary.to_dict())
    else:
        put(summary.text())


def _named_after(table: str) -> str:
    """Return the name of a model file for a table, in the folder of the caller."""
    return "model.tritree" if table == "-" else f"{Path(table).name.partition('.')[0] or 'model'}.tritree"


def _model_place(output: str, table: str) -> Path:
    from tritree.cli.places import check_output

    place = check_output(output, "the model", table)
    if place is None:
        raise Mendable("a model is written to a file, not to the standard output; name it with -o")
    return place


def _typed(source: Source, reading: Reading, categorical: list[str], numeric: list[str]) -> Any:
    """Return the table with the columns of the kinds that were asked for."""
    from tritree.cli.typed import as_numbers, warn_of_odd_columns

    frame = source.read(reading)
    for name in (*categorical, *numeric):
        check_column(name, list(frame.columns), source.name)
    both = set(categorical) & set(numeric)
    if both:
        raise Mendable(f"column {both.pop()!r} cannot be both --categorical and --numeric")
    for name in numeric:
        frame[name] = as_numbers(frame[name], name)
    warn_of_odd_columns(frame)
    return frame.astype(dict.fromkeys(categorical, "category"))


def _estimator(task: str, criterion: str | None, **settings: Any) -> Any:
    """Return an estimator of the task, not fitted."""
    from tritree.estimators import TrinaryTreeClassifier, TrinaryTreeRegressor

    kind = TrinaryTreeRegressor if task == "regression" else TrinaryTreeClassifier
    if criterion is None:
        return kind(**settings)
    if criterion not in kind._criteria:
        fitting = " or ".join(kind._criteria)
        raise Mendable(f"--criterion {criterion} is not for a {task}; use {fitting}, or another --task")
    return kind(criterion=criterion, **settings)


def _train(model: Any, training: Any, response: str, weights: str | None, grow_all: bool) -> None:
    from tritree.errors import GrowthLimitError

    with working("fitting the tree"), _columns_named(response, weights):
        model.fit(training.columns, training.response, training.weights)
    if grow_all:
        try:
            model.grow_all()
        except GrowthLimitError as error:
            raise Mendable(
                f"{str(error).partition('; raise')[0]}; lower --max-depth, or leave out --grow-all: branches then grow "
                "when rows need them"
            ) from None


@contextmanager
def _columns_named(response: str, weights: str | None) -> Iterator[None]:
    """Word complaints with the names of columns for y and sample_weight, and with the option that is a remedy."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        for word, name in (
            ("y ", f"the response {response!r} "),
            ("sample_weight ", f"the column of weights, {weights!r}, "),
        ):
            if text.startswith(word):
                raise Mendable(name + text.removeprefix(word)) from error
        if text.endswith("drop it"):
            raise Mendable(f"{text} with --drop") from error
        raise


def _save(model: Any, place: Path, output: str, training_rows: bool | None) -> None:
    try:
        model.save(place, training_rows=training_rows)
    except OSError as error:
        raise Mendable(f"cannot write {output!r}: {error.strerror or error}") from error
