"""``tritree compare``: which strategy to use on a table, and what happens when its fields go missing."""

# annotations are read by Typer when the program is built, so they are not put off here

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

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
        "tritree compare cars.csv -y mpg --mechanism mnar --store cars.sqlite",
        "finished parts are kept in a file of one's own",
    ),
)

Mechanism = Annotated[
    Literal["mcar", "im", "mar", "mnar", "predictive"],
    typer.Option(
        metavar="NAME",
        help="How holes are made: mcar (at random), im (largest values first), mar (by other columns), mnar (by the "
        "value itself), predictive (by the response).",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="COLUMN",
        show_default=False,
        help="A column whose cells are removed. May be repeated; if none is named, all of them.",
    ),
]


def shares_of(text: str) -> list[float]:
    """Return shares from a text such as ``0.1,0.3`` or ``10%,30%``."""
    try:
        found = [
            float(part.rstrip("% ")) / (100 if part.strip().endswith("%") else 1) for part in text.split(",")
        ]
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no list of shares, such as 0.1,0.3,0.5") from None
    if not all(0 <= share <= 1 for share in found):
        raise typer.BadParameter(f"{text!r} has shares that are not from 0 to 1; 30 percent is 0.3 or 30%")
    return found


def checked_shares(text: str | None) -> str | None:
    """Return a text that `shares_of` can read, or None if there is none."""
    if text is not None:
        shares_of(text)
    return text


def depth_of(text: str) -> int | str | None:
    """Return a depth from a text: a number, ``none`` or ``tuned``."""
    if text in ("tuned", "none"):
        return None if text == "none" else text
    if not text.isdecimal():
        raise typer.BadParameter(f"{text!r} is not a whole number, none or tuned")
    return int(text)


def _checked_depth(text: str) -> str:
    depth_of(text)
    return text


Rates = Annotated[
    str,
    typer.Option(
        metavar="SHARES",
        callback=checked_shares,
        help="Shares of the cells that are removed, with commas between them. The table as it is comes in any case.",
    ),
]
Seeds = Annotated[
    int, typer.Option(parser=options.whole(1), metavar="NUMBER", help="Times that holes are made anew.")
]
FoldCount = Annotated[int, typer.Option("--folds", parser=options.whole(2), metavar="NUMBER", help="Folds.")]
Depth = Annotated[
    str,
    typer.Option(
        metavar="NUMBER",
        callback=_checked_depth,
        help="Depth of the trees, or tuned: where a majority tree stops improving.",
    ),
]
MinSamplesLeaf = Annotated[
    int,
    typer.Option(
        parser=options.whole(1), metavar="NUMBER", help="The fewest rows on either side of a split."
    ),
]
Report = Annotated[
    str | None, typer.Option(metavar="FILE", show_default=False, help="A report to write, one HTML file.")
]


@reads_a_table
def compare(
    table: options.TableFile,
    response: of_fit.Response,
    task: of_fit.Task = None,
    drop: of_fit.Drop = None,
    categorical: of_fit.Categorical = None,
    numeric: of_fit.Numeric = None,
    skip_missing: of_fit.SkipMissing = False,
    mechanism: Mechanism = "mcar",
    columns: Columns = None,
    rates: Rates = "0.1,0.3,0.5",
    seeds: Seeds = 3,
    folds: FoldCount = 10,
    depth: Depth = "tuned",
    min_samples_leaf: MinSamplesLeaf = 20,
    criterion: of_fit.Criterion = None,
    report: Report = None,
    store: StoreFile = None,
    n_jobs: options.NJobs = None,
    as_json: options.AsJson = False,
    *,
    reading: Reading,
) -> None:
    """Compare the strategies on a table: as it is, with more holes in training and test, and in the test only.

    Every number is cross-validated. The last of the settings is what happens when fields go missing in production.

    Finished parts are kept in the user's cache, by the content of the table, unless a file is named with --store: a
    run that was stopped goes on when it is started again.
    """
    from tritree.cli.compared import compared, told
    from tritree.cli.response import Roles, take_apart
    from tritree.cli.typed import read_typed
    from tritree.lab import Experiment, Folds, in_both, in_test, write_report
    from tritree.lab.ranks.names import METHODS

    shares = shares_of(rates)
    page, kept = _report_place(report, table), check_store(store, table, report)
    source = open_source(table, reading)
    frame = read_typed(source, reading, categorical or [], numeric or [], drop or [])
    roles = Roles(response, drop=tuple(drop or ()))
    training = take_apart(frame, source.name, roles, task=task, skip_missing=skip_missing)
    _check_criterion(criterion, training.task)
    dataset = _dataset(source.name if table == "-" else Path(table).name, training, response)
    _check_folds(folds, dataset)
    for name in columns or ():
        check_column(name, list(dataset.X.columns), f"what is learned from in {source.name}")
    experiment = Experiment(
        datasets=[dataset],
        settings=(in_both(mechanism, columns=columns), in_test(mechanism, columns=columns)),
        rates=shares,
        methods={name: name for name in METHODS},
        seeds=seeds,
        depth=depth_of(depth),
        folds=Folds(folds),
        options={"min_samples_leaf": min_samples_leaf}
        | ({} if criterion is None else {"criterion": criterion}),
        store=kept or cached_store(dataset.fingerprint),
    )
    results = run_kept(experiment, n_jobs)
    _check_results(results, shares)
    found = compared(results, dataset)
    if page is not None:
        write_report(results, page, title=f"Strategies for missing values on {dataset.name}")
    if as_json:
        about = experiment.about() | {"task": dataset.task, "store": experiment.store}
        put_json({"about": about} | found.to_dict())
        return
    put(f"{found.text()}\n")
    for label, words in {
        "table": told(dataset, training.reason),
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


def _dataset(name: str, training: Any, response: str) -> Any:
    """Return what is compared on: the same columns, response and task that ``tritree fit`` would take."""
    from tritree.lab import Dataset

    whole = training.columns.assign(**{response: training.response})
    return Dataset.of(name, whole, response, task=training.task)


def _check_criterion(criterion: str | None, task: str) -> None:
    """Raise a Mendable if a loss is not for the task."""
    from tritree.estimators import TrinaryTreeClassifier, TrinaryTreeRegressor

    known = (TrinaryTreeRegressor if task == "regression" else TrinaryTreeClassifier)._criteria
    if criterion is not None and criterion not in known:
        fitting = " or ".join(known)
        raise Mendable(f"--criterion {criterion} is not for a {task}; use {fitting}, or another --task")


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
