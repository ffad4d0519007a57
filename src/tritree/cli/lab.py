"""``tritree lab``: the experiments of the paper."""

# annotations are read by Typer when the program is built, so they are not put off here

import sys
from functools import partial
from typing import Annotated, Any, Literal

import typer

from tritree.cli import options
from tritree.cli.compare_options import checked_shares, shares_of
from tritree.cli.messages import Mendable, put, put_json
from tritree.cli.parts import StoreFile, check_store, run_kept
from tritree.cli.pictures import picture
from tritree.cli.places import made_folder, write_place
from tritree.cli.tables import records

__all__ = ["BIAS_EXAMPLES", "PAPER_EXAMPLES", "bias", "paper"]

PAPER_EXAMPLES = (
    (
        "tritree lab paper --data-dir data",
        "all of Section 4; figure2.png and paper.html are in the current folder",
    ),
    ("tritree lab paper --datasets cement,seeds --seeds 1", "a part of it, in a few seconds"),
    (
        "tritree lab paper --as text -o as-text",
        "what the text says, in a folder of its own; the same command goes on if it was stopped",
    ),
)
BIAS_EXAMPLES = (
    ("tritree lab bias", "what the leaves of one split estimate: simulated, and by the formulas"),
    ("tritree lab bias --p 0.4 --n 200 -o bias.png", "other settings, and a picture"),
)

Folder = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FOLDER",
        help="Where the figure, the report and finished parts go; made if need be.",
    ),
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


def _checked_names(text: str | None) -> str | None:
    """Return a text that names data sets of the paper, or None if there is none."""
    if text is None:
        return None
    from tritree.lab.data import NAMES
    from tritree.lab.dataset import meant

    for name in _names_of(text):
        if name not in NAMES:
            hint = meant(name, NAMES)
            raise typer.BadParameter(f"{name!r} is no data set of the paper{hint}; it has {', '.join(NAMES)}")
    return text


def _names_of(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


Names = Annotated[
    str | None,
    typer.Option(
        "--datasets",
        metavar="NAMES",
        callback=_checked_names,
        show_default=False,
        help="Some of the sets, with commas between them.",
    ),
]
Rates = Annotated[
    str | None,
    typer.Option(
        metavar="SHARES",
        callback=checked_shares,
        show_default=False,
        help="Other rates than 0, 0.1 and so on to 0.9.",
    ),
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

    Eight data sets, three scenarios, ten rates, five strategies, ten folds.

    Finished parts are kept in paper.sqlite in the folder of the figure: a run that was stopped goes on when it is
    started again.
    """
    from tritree.lab import write_report
    from tritree.lab.data import NAMES
    from tritree.lab.experiment import RATES
    from tritree.lab.figures import plot_panels
    from tritree.lab.paper import figure2, paper_experiment
    from tritree.lab.paper.agreement import agreement_text, has_all_sets

    folder = made_folder(output)
    drawn, page = folder / "figure2.png", folder / "paper.html"
    parts = store if store is not None else str(folder / "paper.sqlite")
    kept = check_store(parts, str(drawn), str(page))
    experiment = paper_experiment(
        reading,
        datasets=NAMES if datasets is None else _names_of(datasets),
        rates=RATES if rates is None else shares_of(rates),
        seeds=seeds,
        data_dir=data_dir,
        store=kept,
    )
    results = run_kept(experiment, n_jobs)
    if results.empty:
        raise Mendable("no method could be run on any data set; the warning says why")
    # the paper's curves are means over its eight data sets, and say nothing of fewer
    theirs = figure2() if has_all_sets(results) else None
    plot = partial(plot_panels, results, reference=theirs, reading=reading)
    write_place(picture(lambda: plot()[0], "png", 130), drawn, str(drawn))
    title = f"The paper's experiment, as {reading}"
    write_report(results, page, title=title, reference=theirs, reading=reading)
    if as_json:
        put_json(_agreement(results, reading) | {"about": experiment.about() | {"store": parts}})
        return
    put(f"{agreement_text(results, reading)}\n")
    for label, place in {"figure": drawn, "report": page, "parts": parts}.items():
        put(f"{label:<6} {place}")


def _agreement(results: Any, reading: Any) -> dict[str, Any]:
    """Return how near a run comes to the paper as plain data; ours alone if they cannot be compared, and why."""
    from tritree.lab.paper import agreement

    apart = agreement.why_apart(results, reading)
    if apart is None:
        order, curves = agreement.compare_order(results), agreement.compare_curves(results)
    else:
        order, curves = agreement.own_order(results, reading), agreement.own_curves(results, reading)
    losses = agreement.compare_losses(results, reading)
    found = {"losses": losses, "order": order, "curves": curves}
    return {name: records(table) for name, table in found.items()} | {"not_compared": apart}


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
    from tritree.cli.places import PICTURE_ENDINGS, check_output, format_of, write_out
    from tritree.lab.paper.bias import bias_table, bias_text, plot_bias
    from tritree.progress import bar

    form = None if output is None else format_of(output, None, PICTURE_ENDINGS, None, has_option=False)
    place = check_output(output, "the picture")
    progress = partial(bar, shown=sys.stderr.isatty())
    table = bias_table(p=p, n=n, repeats=repeats, seed=seed, progress=progress)
    if form is not None:
        write_out(picture(lambda: plot_bias(table)[0], form, 130), place, output, "the picture")
    if as_json:
        put_json(records(table))
    else:
        put(bias_text(table))
