"""``tritree fit``: a model from a table, in a file."""

# annotations are read by Typer when the program is built, so they are not put off here

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from tritree.cli import fit_options as of_fit
from tritree.cli import options
from tritree.cli.messages import Mendable, put, put_json, working
from tritree.cli.reading import reads_a_table
from tritree.cli.tables import Reading, open_source

__all__ = ["EXAMPLES", "fit"]

EXAMPLES = (
    ("tritree fit houses.csv --response price", "the model is in houses.tritree"),
    ("tritree fit visits.parquet -y outcome --drop visit_id -o visits.tritree", "without a column"),
    ("tritree fit cars.tsv.gz -y mpg --na '?' --strategy mia --max-depth 8", "with other settings"),
    ("tritree fit houses.csv -y price --model boosting --trees 300", "many trees, which predict better"),
    (
        "tritree fit houses.csv -y price -m forest --grow-for new.csv --no-training-rows",
        "a file without training rows that is ready for rows with such holes",
    ),
    ("tritree fit - -y y -o model.tritree --json < table.csv", "for programs"),
)


@reads_a_table
def fit(
    context: typer.Context,
    table: options.TableFile,
    response: of_fit.Response,
    output: of_fit.Output = None,
    task: of_fit.Task = None,
    drop: of_fit.Drop = None,
    weights: of_fit.Weights = None,
    categorical: of_fit.Categorical = None,
    numeric: of_fit.Numeric = None,
    skip_missing: of_fit.SkipMissing = False,
    kind: of_fit.Model = "tree",
    trees: of_fit.Trees = 100,
    learning_rate: of_fit.LearningRate = 0.1,
    strategy: of_fit.Strategy = None,
    criterion: of_fit.Criterion = None,
    max_depth: of_fit.MaxDepth = of_fit.BY_MODEL,
    min_samples_leaf: of_fit.MinSamplesLeaf = of_fit.BY_MODEL,
    max_bins: of_fit.MaxBins = of_fit.BY_MODEL,
    unknown_category: of_fit.Unknown = "no_information",
    no_split_on_missing: of_fit.NoSplitOnMissing = False,
    max_surrogates: of_fit.MaxSurrogates = 5,
    grow_all: of_fit.GrowAll = False,
    grow_for: of_fit.GrowFor = None,
    no_training_rows: of_fit.NoTrainingRows = False,
    n_jobs: options.NJobs = None,
    as_json: options.AsJson = False,
    *,
    reading: Reading,
) -> None:
    """Fit a tree, a forest or boosted trees to a table and write them to a model file.

    Every column but the response is learned from. Cells may be missing anywhere but in the response.
    """
    from tritree.cli.kinds import make_estimator, options_named
    from tritree.cli.leading import lead
    from tritree.cli.response import Roles, take_apart
    from tritree.cli.summary import Summary
    from tritree.cli.typed import read_typed

    if table == "-" == grow_for:
        raise Mendable("the standard input has one table; name a file for --grow-for")
    source = open_source(table, reading)
    to_come = None if grow_for is None else open_source(grow_for, reading)
    output = output or _named_after(table)
    place = _model_place(output, table, *([] if grow_for is None else [grow_for]))
    frame = read_typed(source, reading, categorical or [], numeric or [], drop or [])
    roles = Roles(response, weights, tuple(drop or ()))
    training = take_apart(frame, source.name, roles, task=task, skip_missing=skip_missing)
    del frame
    model = make_estimator(
        kind,
        training.task,
        {
            "--strategy": strategy,
            "--criterion": criterion,
            "--max-depth": max_depth,
            "--min-samples-leaf": min_samples_leaf,
            "--max-bins": max_bins,
            "--unknown-category": unknown_category,
            "--no-split-on-missing": no_split_on_missing,
            "--max-surrogates": max_surrogates,
            "--trees": trees,
            "--learning-rate": learning_rate,
            "--n-jobs": n_jobs,
        },
        options.given(context),
    )
    if grow_all and kind != "tree":
        raise Mendable(
            f"--grow-all is for one tree; the branches of a {kind} model grow when rows need them, or by --grow-for"
        )
    with options_named(kind):
        _train(model, training, response, weights, grow_all)
    replaced = place.exists()
    if to_come is not None:
        try:
            lead(model, to_come, reading, besides=[response, *(drop or ()), *([weights] if weights else [])])
        except (KeyboardInterrupt, Mendable, ValueError) as error:
            if replaced:  # what is there is not given for something half done
                raise
            _save(model, place, output, without_rows=no_training_rows)
            if isinstance(error, KeyboardInterrupt):
                raise
            raise Mendable(f"{error} ({output!r} is written, without the branches that rows need)") from error
    # before the summary, which Ctrl-C may end
    _save(model, place, output, without_rows=no_training_rows)
    with working("measuring the model on its training rows"):
        summary = Summary(model, training, table=source.name, output=output, replaced=replaced)
    if as_json:
        put_json(summary.to_dict())
    else:
        put(summary.text())


def _named_after(table: str) -> str:
    """Return the name of a model file for a table, in the folder of the caller."""
    return "model.tritree" if table == "-" else f"{Path(table).name.partition('.')[0] or 'model'}.tritree"


def _model_place(output: str, *inputs: str) -> Path:
    from tritree.cli.places import check_output

    place = check_output(output, "the model", *inputs)
    if place is None:
        raise Mendable("a model is written to a file, not to the standard output; name it with -o")
    return place


def _train(model: Any, training: Any, response: str, weights: str | None, grow_all: bool) -> None:
    from tritree.errors import GrowthLimitError

    with working("fitting the model"), _columns_named(response, weights):
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


def _save(model: Any, place: Path, output: str, *, without_rows: bool) -> None:
    rows = "background_rows" if hasattr(model, "background_rows") else "training_rows"
    try:
        model.save(place, **{rows: False if without_rows else None})
    except OSError as error:
        raise Mendable(f"cannot write {output!r}: {error.strerror or error}") from error
