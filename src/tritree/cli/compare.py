"""``tritree compare``: which strategy, or model, to use on a table, and what happens when its fields go missing."""

# annotations are read by Typer when the program is built, so they are not put off here

from collections import Counter
from pathlib import Path
from typing import Any

import typer

from tritree.cli import compare_options as own
from tritree.cli import fit_options as of_fit
from tritree.cli import options
from tritree.cli.messages import Mendable, put, put_json
from tritree.cli.parts import StoreFile, cached_store, check_store, run_kept
from tritree.cli.reading import reads_a_table
from tritree.cli.tables import Reading, check_column, open_source

__all__ = ["EXAMPLES", "compare"]

EXAMPLES = (
    ("tritree compare houses.csv --response price", "all strategies, with more and more fields missing"),
    ("tritree compare visits.parquet -y outcome --seeds 5 --report visits.html", "with a report to hand on"),
    (
        "tritree compare loans.csv -y default --columns income",
        "what if one field goes missing in production?",
    ),
    (
        "tritree compare houses.csv -y price --model boosting",
        "the strategies of boosting, or of a forest",
    ),
    (
        "tritree compare houses.csv -y price -m tree -m boosting -s trinary -s trinary_mia",
        "one tree against boosting, with two of the strategies",
    ),
    (
        "tritree compare cars.csv -y mpg --mechanism mnar --store cars.sqlite",
        "finished parts are kept in a file of one's own",
    ),
)


@reads_a_table
def compare(
    context: typer.Context,
    table: options.TableFile,
    response: of_fit.Response,
    task: of_fit.Task = None,
    drop: of_fit.Drop = None,
    weights: of_fit.Weights = None,
    categorical: of_fit.Categorical = None,
    numeric: of_fit.Numeric = None,
    skip_missing: of_fit.SkipMissing = False,
    kinds: own.Models = ["tree"],  # noqa: B006 - Typer makes a new one of it
    strategies: own.Strategies = None,
    trees: of_fit.Trees = 100,
    learning_rate: of_fit.LearningRate = 0.1,
    depth: own.Depth = "tuned",
    min_samples_leaf: of_fit.MinSamplesLeaf = of_fit.BY_MODEL,
    criterion: of_fit.Criterion = None,
    mechanism: own.Mechanism = "mcar",
    columns: own.Columns = None,
    rates: own.Rates = "0.1,0.3,0.5",
    seeds: own.Seeds = 3,
    folds: own.FoldCount = 10,
    report: own.Report = None,
    store: StoreFile = None,
    n_jobs: options.NJobs = None,
    as_json: options.AsJson = False,
    *,
    reading: Reading,
) -> None:
    """Compare the strategies on a table: as it is, with more holes in training and test, and in the test only.

    Strategies are those of one tree, unless --model names a forest or boosting. Every number is cross-validated. The
    last of the scenarios is what happens when fields go missing in production.

    Finished parts are kept in the user's cache, by the content of the table, unless a file is named with --store: a
    run that was stopped goes on when it is started again.
    """
    from tritree.cli.compared import compared, models_told, told
    from tritree.cli.kinds import experiment_options, method_names
    from tritree.cli.response import Roles, take_apart
    from tritree.cli.typed import read_typed
    from tritree.lab import Experiment, Folds, in_both, in_test, write_report

    shares, depth_asked = own.shares_of(rates), own.depth_of(depth)
    methods = method_names(kinds, strategies)
    page, kept = _report_place(report, table), check_store(store, table, report)
    source = open_source(table, reading)
    frame = read_typed(source, reading, categorical or [], numeric or [], drop or [])
    roles = Roles(response, weights, drop=tuple(drop or ()))
    training = take_apart(frame, source.name, roles, task=task, skip_missing=skip_missing)
    asked = {
        "--criterion": criterion,
        "--depth": depth_asked,
        "--min-samples-leaf": min_samples_leaf,
        "--trees": trees,
        "--learning-rate": learning_rate,
    }
    wanted = experiment_options(kinds, training.task, asked, options.given(context))
    dataset = _dataset(source.name if table == "-" else Path(table).name, training, response, weights)
    _check_folds(folds, dataset)
    for name in columns or ():
        check_column(name, list(dataset.X.columns), f"what is learned from in {source.name}")
    experiment = Experiment(
        datasets=[dataset],
        scenarios=(in_both(mechanism, columns=columns), in_test(mechanism, columns=columns)),
        rates=shares,
        methods=methods,
        seeds=seeds,
        depth=depth_asked,
        folds=Folds(folds),
        options=wanted,
        store=kept or cached_store(dataset.fingerprint),
    )
    results = run_kept(experiment, n_jobs)
    _check_results(results, shares)
    found = compared(results, dataset)
    if page is not None:
        write_report(results, page, title=f"Strategies for missing values on {dataset.name}")
    about = experiment.about() | {"task": dataset.task, "weights": weights, "store": experiment.store}
    if as_json:
        put_json({"about": about} | found.to_dict())
        return
    put(f"{found.text()}\n")
    for label, words in {
        "models": models_told(about),
        "table": told(dataset, training.reason, weights),
        "parts": experiment.store,
        "report": report,
    }.items():
        if words is not None:
            put(f"{label:<6} {words}")


def _report_place(report: str | None, table: str) -> Path | None:
    from tritree.cli.places import check_output

    if report == "-":
        raise Mendable("a report is written to a file, not to the standard output; name it with --report")
    return check_output(report, "the report", table)


def _dataset(name: str, training: Any, response: str, weights: str | None) -> Any:
    """Return what is compared on: the same columns, response, weights and task that ``tritree fit`` would take."""
    from tritree.lab import Dataset

    whole = training.columns.assign(**{response: training.response})
    if weights is not None:
        whole[weights] = training.weights
    return Dataset.of(name, whole, response, task=training.task, weights=weights)


def _check_folds(folds: int, dataset: Any) -> None:
    """Raise a Mendable if there are too few rows, or rows of a class, to be parted into so many folds."""
    most, what = dataset.n_rows, "rows"
    if dataset.task == "classification":
        most, what = max(Counter(dataset.y.tolist()).values()), "rows of its largest class"
    if most < folds:
        raise Mendable(
            f"{dataset.name!r} has {most:,} {what}, too few for {folds} folds; use fewer with --folds"
        )


def _check_results(results: Any, shares: list[float]) -> None:
    """Raise a Mendable if what was asked for has failed: all are alike without holes, so rate 0 is no answer."""
    from tritree.lab.ranks import losses

    found = set() if results.empty else set(losses(results)["rate"])
    if not (found - {0.0} if any(shares) else found):
        where = " with cells removed" if any(shares) else ""
        raise Mendable(f"no method could be run{where}, so nothing can be compared; the warning says why")
