"""``tritree compare``: which strategy to use on a table, and what happens when its fields go missing."""

# annotations are read by Typer when the program is built, so they are not put off here

from typing import Annotated, Literal

import typer

from tritree.cli import fit_options as of_fit
from tritree.cli import options
from tritree.cli.messages import Mendable, put, put_json
from tritree.cli.reading import reads_a_table
from tritree.cli.tables import Reading, check_column, open_source, records

__all__ = ["EXAMPLES", "compare"]

EXAMPLES = (
    ("tritree compare houses.csv --response price", "all strategies, with more and more fields missing"),
    ("tritree compare visits.parquet -y outcome --seeds 5 --report visits.html", "with a report to hand on"),
    (
        "tritree compare cars.csv -y mpg --mechanism mnar --store cars.sqlite",
        "a run that can be stopped and goes on",
    ),
)
METHODS = ("trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate", "discard")

Mechanism = Annotated[
    Literal["mcar", "im", "mar", "mnar", "predictive"],
    typer.Option(
        metavar="NAME",
        help="How holes are made: mcar (at random), im (largest values first), mar (by other columns), mnar (by the "
        "value itself), predictive (by the response).",
    ),
]
Rates = Annotated[
    str,
    typer.Option(metavar="SHARES", help="Shares of the cells that are removed, with commas between them."),
]
Seeds = Annotated[
    int, typer.Option(parser=options.whole(1), metavar="NUMBER", help="Times that holes are made anew.")
]
FoldCount = Annotated[int, typer.Option("--folds", parser=options.whole(2), metavar="NUMBER", help="Folds.")]
Depth = Annotated[
    str,
    typer.Option(
        metavar="NUMBER", help="Depth of the trees, or tuned: where a majority tree stops improving."
    ),
]
Report = Annotated[
    str | None, typer.Option(metavar="FILE", show_default=False, help="A report to write, one HTML file.")
]
StoreFile = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="FILE",
        show_default=False,
        help="Where finished parts are kept, so that a run that was stopped goes on.",
    ),
]


@reads_a_table
def compare(
    table: options.TableFile,
    response: of_fit.Response,
    task: of_fit.Task = None,
    drop: of_fit.Drop = None,
    mechanism: Mechanism = "mcar",
    rates: Rates = "0.1,0.3,0.5",
    seeds: Seeds = 3,
    folds: FoldCount = 10,
    depth: Depth = "tuned",
    report: Report = None,
    store: StoreFile = None,
    n_jobs: options.NJobs = None,
    as_json: options.AsJson = False,
    *,
    reading: Reading,
) -> None:
    """Compare the strategies on a table: as it is, with more holes in training and test, and in the test only.

    Every number is cross-validated. The last of the settings is what happens when fields go missing in production.
    """
    from tritree.files import check_place
    from tritree.lab import Dataset, Experiment, Folds, compare_methods, in_both, in_test, write_report

    shares, deep = shares_of(rates), depth_of(depth)
    if report is not None:
        check_place(report, "the report")  # before the work is done
    source = open_source(table, reading)
    frame = source.read(reading)
    for name in (response, *(drop or ())):
        check_column(name, list(frame.columns), source.name)
    experiment = Experiment(
        datasets=[Dataset.of(source.name, frame.drop(columns=drop or []), response, task=task)],
        settings=(in_both(mechanism), in_test(mechanism)),
        rates=shares,
        methods={name: name for name in METHODS},
        seeds=seeds,
        depth=deep,
        folds=Folds(folds),
        store=store,
    )
    results = experiment.run(n_jobs if n_jobs is not None else -1)
    found = compare_methods(results)
    if report is not None:
        write_report(results, report, title=f"Strategies for missing values on {source.name}")
    if as_json:
        said = {"headline": found.headline, "verdict": found.verdict, "notes": found.notes}
        put_json({"about": experiment.about()} | said | {"methods": records(found.table)})
        return
    put(str(found))
    if report is not None:
        put(f"\n{report}")


def shares_of(text: str) -> list[float]:
    """Return shares from a text such as ``0.1,0.3`` or ``10%,30%``."""
    try:
        found = [
            float(part.rstrip("% ")) / (100 if part.strip().endswith("%") else 1) for part in text.split(",")
        ]
    except ValueError:
        raise Mendable(f"--rates takes shares such as 0.1,0.3,0.5, got {text!r}") from None
    if not all(0 <= share <= 1 for share in found):
        raise Mendable(f"--rates takes shares from 0 to 1, got {text!r}; 30 percent is 0.3")
    return found


def depth_of(text: str) -> int | str | None:
    """Return a depth from a text: a number, ``none`` or ``tuned``."""
    if text in ("tuned", "none"):
        return None if text == "none" else text
    if not text.isdecimal():
        raise Mendable(f"--depth takes a whole number, none or tuned, got {text!r}")
    return int(text)
