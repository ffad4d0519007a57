"""``tritree lab``: the experiments of the paper."""

# annotations are read by Typer when the program is built, so they are not put off here

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from tritree.cli import options
from tritree.cli.compare import StoreFile, shares_of
from tritree.cli.messages import Mendable, put, put_json
from tritree.cli.tables import records

__all__ = ["BIAS_EXAMPLES", "PAPER_EXAMPLES", "bias", "paper"]

PAPER_EXAMPLES = (
    (
        "tritree lab paper --data-dir data",
        "all of Section 4; figure2.png and paper.html are in the current folder",
    ),
    ("tritree lab paper --datasets cement,seeds --seeds 1", "a part of it, in a few seconds"),
    (
        "tritree lab paper --as text --store paper.sqlite",
        "what the text says; a run that was stopped goes on",
    ),
)
BIAS_EXAMPLES = (
    ("tritree lab bias", "what the leaves of one split estimate: simulated, and by the formulas"),
    ("tritree lab bias --p 0.4 --n 200 -o bias.png", "other settings, and a picture"),
)

_MISSING = (0.1, 0.3, 0.5, 0.7, 0.9)  # shares of values that are missing

Folder = Annotated[
    str, typer.Option("--output", "-o", metavar="FOLDER", help="Where the figure and the report go.")
]
DataDir = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        show_default=False,
        help="Where the data sets are. Else TRITREE_DATA names the folder, or they are downloaded.",
    ),
]
As = Annotated[
    Literal["author", "text"],
    typer.Option(
        "--as", metavar="READING", help="author: as the figure's runs were. text: as the paper says."
    ),
]
Names = Annotated[
    str | None,
    typer.Option(
        "--datasets", metavar="NAMES", show_default=False, help="Some of the sets, with commas between them."
    ),
]
Rates = Annotated[
    str | None,
    typer.Option(metavar="SHARES", show_default=False, help="Other rates than 0, 0.1 and so on to 0.9."),
]
Seeds = Annotated[
    int, typer.Option(parser=options.whole(1), metavar="NUMBER", help="Times that holes are made anew.")
]


def paper(
    reading: As = "author",
    output: Folder = ".",
    data_dir: DataDir = None,
    datasets: Names = None,
    rates: Rates = None,
    seeds: Seeds = 3,
    store: StoreFile = None,
    n_jobs: options.NJobs = None,
    as_json: options.AsJson = False,
) -> None:
    """Run the paper's experiment, and draw its Figure 2 with the paper's own curves beside ours.

    Eight data sets, three settings, ten rates, five strategies, ten folds.
    """
    from tritree.lab import paper_experiment, paper_figure, write_report
    from tritree.lab.agreement import agreement_text, compare_curves, compare_losses, compare_order
    from tritree.lab.data import NAMES
    from tritree.lab.experiment import RATES
    from tritree.lab.figures import plot_panels

    folder = _folder(output)
    experiment = paper_experiment(
        reading,
        datasets=NAMES if datasets is None else [name.strip() for name in datasets.split(",")],
        rates=RATES if rates is None else shares_of(rates),
        seeds=seeds,
        data_dir=data_dir,
        store=store,
    )
    results = experiment.run(n_jobs if n_jobs is not None else -1)
    theirs = paper_figure()
    axes = plot_panels(results, reference=theirs)
    figure = axes[0].figure
    figure.savefig(folder / "figure2.png", dpi=130)
    write_report(
        results, folder / "paper.html", title=f"The paper's experiment, as {reading}", reference=theirs
    )
    if as_json:
        tables = {
            "losses": compare_losses(results),
            "order": compare_order(results),
            "curves": compare_curves(results),
        }
        put_json({"about": experiment.about()} | {name: records(table) for name, table in tables.items()})
        return
    put(agreement_text(results))
    put(f"\n{folder / 'figure2.png'}, {folder / 'paper.html'}")


Share = Annotated[
    float, typer.Option(min=0.01, max=0.99, metavar="SHARE", help="The share of rows on the right.")
]
Rows = Annotated[int, typer.Option("--n", parser=options.whole(2), metavar="NUMBER", help="Rows of a table.")]
Repeats = Annotated[
    int, typer.Option(parser=options.whole(2), metavar="NUMBER", help="Tables that are simulated.")
]
Seed = Annotated[int, typer.Option(parser=options.whole(0), metavar="NUMBER", help="Of the simulation.")]
Picture = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", show_default=False, help="A picture to draw.")
]


def bias(
    p: Share = 0.3,
    n: Rows = 50,
    repeats: Repeats = 1000,
    seed: Seed = 0,
    output: Picture = None,
    as_json: options.AsJson = False,
) -> None:
    """Tell what the two leaves of one split estimate when its column has holes: simulated, and by the formulas."""
    from tritree.cli.pictures import picture
    from tritree.cli.places import PICTURE_ENDINGS, check_output, format_of, write_out
    from tritree.lab.bias import bias_table, bias_text, plot_bias
    from tritree.lab.progress import bar

    form = None if output is None else format_of(output, None, PICTURE_ENDINGS, None)
    place = check_output(output, "the picture")
    with bar(len(_MISSING) * repeats, "tables", shown=sys.stderr.isatty()) as done:
        table = bias_table(p=p, q=_MISSING, n=n, repeats=repeats, seed=seed, done=done)
    if form is not None:
        write_out(picture(lambda: plot_bias(table)[0], form, 130), place, output, "the picture")
    if as_json:
        put_json(records(table))
    else:
        put(bias_text(table))


def _folder(name: str) -> Path:
    folder = Path(name)
    if not folder.is_dir():
        raise Mendable(f"there is no folder {name!r} to write to; make it, or name another one")
    return folder
