"""``tritree lab``: the experiments of the paper."""

import sys
from functools import partial
from typing import Annotated, Any, Literal

import typer

from tritree.cli import options
from tritree.cli.compare import run_experiment
from tritree.cli.messages import UserError, write_json, write_text

PAPER_EXAMPLES = (
    ("tritree lab paper --data-dir data", "all of Section 4; write figure2.png and paper.html"),
    ("tritree lab paper --datasets cement,seeds --seeds 1", "a part of it, in a few seconds"),
    ("tritree lab paper --as text -o as-text", "as the text describes it, in a folder of its own"),
)
BIAS_EXAMPLES = (
    ("tritree lab bias", "what the leaves of one split estimate: simulated, and by the formulas"),
    ("tritree lab bias --p 0.4 --n 200 -o bias.png", "other parameters, and a figure"),
)


def _parse_datasets(text: str) -> list[str]:
    """Return names of data sets of the paper, which are separated by commas."""
    from tritree.lab.dataset import suggestion
    from tritree.lab.paper.datasets import NAMES

    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in NAMES:
            hint = suggestion(name, NAMES)
            raise typer.BadParameter(
                f"{name!r} is not a data set of the paper{hint}; it has {', '.join(NAMES)}"
            )
    return names


def paper(
    *,
    variant: Annotated[Literal["author", "text"], options.option("VARIANT", "--as")] = "author",
    output: options.OutputFolder = ".",
    data_dir: Annotated[str | None, options.option("FOLDER")] = None,
    datasets: Annotated[Any, options.option("NAMES", parser=_parse_datasets)] = None,
    rates: options.Fractions = None,
    seeds: options.Seeds = 3,
    store: options.StoreFile = None,
    n_jobs: options.NJobs = None,
    as_json: options.AsJson = False,
) -> None:
    """Run the paper's experiment and draw its Figure 2, with the published curves beside the new ones.

    Eight data sets, three scenarios, ten rates, five strategies, ten folds.

    Finished results are kept in paper.sqlite in the output folder: an interrupted run continues when it is started
    again.

    Parameters
    ----------
    variant
        author: as the experiments for the figure were run. text: as the paper describes them.
    output
        Folder for the figure, the report and finished results; created if necessary.
    data_dir
        Folder of the data sets. By default TRITREE_DATA names it, or they are downloaded.
    datasets
        Names of data sets, separated by commas. By default all eight.
    rates
        Fractions of the values to remove, separated by commas. By default 0, 0.1, and so on to 0.9.
    """
    from tritree.cli.output import check_folder, check_store, figure_bytes, write_errors, write_file
    from tritree.cli.tables import to_records
    from tritree.lab import write_report
    from tritree.lab.experiment import RATES
    from tritree.lab.figures import plot_curves
    from tritree.lab.paper import figure2, paper_experiment
    from tritree.lab.paper.agreement import (
        agreement_tables,
        agreement_text,
        has_all_datasets,
        reason_not_comparable,
    )
    from tritree.lab.paper.datasets import NAMES
    from tritree.lab.paper.experiment import MEASURES

    folder = check_folder(output)
    figure, page = folder / "figure2.png", folder / "paper.html"
    store = store if store is not None else str(folder / "paper.sqlite")
    experiment = paper_experiment(
        variant,
        datasets=NAMES if datasets is None else datasets,
        rates=RATES if rates is None else rates,
        seeds=seeds,
        data_dir=data_dir,
        store=check_store(store, str(figure), str(page)),
    )
    results = run_experiment(experiment, n_jobs)
    if results.empty:
        raise UserError("no method could be run on any data set; the warning says why")
    # the published curves are means over all eight data sets
    published = figure2() if has_all_datasets(results) else None
    plot = partial(plot_curves, results, reference=published, measure=MEASURES[variant])
    write_file(figure_bytes(lambda: plot()[0], "png", 130), figure)
    title = f"The paper's experiment, as {variant}"
    with write_errors(str(page)):
        write_report(results, page, title=title, reference=published, measure=MEASURES[variant])
    if as_json:
        tables = agreement_tables(results, variant)
        facts: dict[str, Any] = {name: to_records(table) for name, table in tables.items()}
        facts["not_compared"] = reason_not_comparable(results, variant)
        write_json(facts | {"about": experiment.about() | {"store": store}})
        return
    write_text(f"{agreement_text(results, variant)}\n")
    for label, file in {"figure": figure, "report": page, "store": store}.items():
        write_text(f"{label:<6} {file}")


def bias(
    *,
    p: Annotated[float, options.option("FRACTION", min=0.01, max=0.99)] = 0.3,
    n: Annotated[int, options.integer(2)] = 50,
    repeats: Annotated[int, options.integer(2)] = 1000,
    seed: Annotated[int, options.integer(0)] = 0,
    output: options.OutputFile = None,
    as_json: options.AsJson = False,
) -> None:
    """Estimate the bias of the two leaves of a split whose column has missing values, simulated and by the formulas.

    Parameters
    ----------
    p
        Fraction of the rows in the right leaf.
    n
        Number of rows of a table.
    repeats
        Number of simulated tables.
    seed
        Random seed of the simulation.
    output
        Figure to draw: .png, .svg or .pdf.
    """
    from tritree.cli.output import FIGURE_FORMATS, check_format, check_output, figure_bytes, write_output
    from tritree.cli.tables import to_records
    from tritree.lab.paper.bias import bias_table, bias_text, plot_bias
    from tritree.progress import bar

    form = None if output is None else check_format(output, None, FIGURE_FORMATS, has_option=False)
    file = check_output(output, "the figure")
    progress = partial(bar, shown=sys.stderr.isatty())
    table = bias_table(p=p, n=n, repeats=repeats, seed=seed, progress=progress)
    if form is not None:
        write_output(figure_bytes(lambda: plot_bias(table)[0], form, 130), file, output, "the figure")
    if as_json:
        write_json(to_records(table))
    else:
        write_text(bias_text(table))
