"""Compare accuracy as fields go missing: ``python -m benchmarks.accuracy``, see ``--help``."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.accuracy.data import DATASETS, GROUPS, load_datasets
from benchmarks.accuracy.experiments import MECHANISMS, SCENARIOS, Design, Grid, quick, run
from benchmarks.accuracy.methods import GRAFTS, LIBRARIES, installed
from benchmarks.accuracy.plots import draw
from benchmarks.accuracy.report import as_markdown
from benchmarks.accuracy.summary import summarise
from benchmarks.accuracy.tables import TABLES, role_of
from benchmarks.accuracy.treatments import TREATMENTS
from benchmarks.arguments import integer_from
from tritree.lab.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.accuracy.experiments import Outcome
    from benchmarks.accuracy.summary import Summary
    from tritree.lab import Dataset

RESULTS = Path(__file__).resolve().parents[1] / "results"
DOCS = RESULTS.parents[1] / "docs"
_TREATMENTS = [*filter(None, TREATMENTS), *GRAFTS]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison and write its results; return 1 if there are none, and 130 after Ctrl-C."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(described()))
        return 0
    design = design_from(options)
    libraries, absent = installed(design.libraries)
    design = replace(design, libraries=tuple(libraries))
    datasets, not_found = load_datasets(design.datasets, design.rows)
    output = options.output or RESULTS / f"accuracy{'-quick' if options.quick else ''}"
    output.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    try:
        outcome = run(
            design,
            datasets,
            options.store or output / "store.sqlite",
            jobs=options.jobs,
            progress=options.progress,
        )
    except StoreError as error:
        parser.error(str(error))
    outcome.notes[:0] = absent + not_found
    if outcome.results.empty:
        interrupted = (
            "Interrupted before the first data set was finished; run the same command again to resume."
        )
        print(
            "\n".join([*outcome.notes, "There are no results." if outcome.finished else interrupted]),
            file=sys.stderr,
        )
        return 130 if not outcome.finished else 1
    summary = summarise(outcome.results)
    written = write(summary, design, datasets, outcome, output)
    if options.write_docs:
        written += publish(summary, design, datasets, outcome, DOCS)
    print((output / "summary.md").read_text(encoding="utf-8"))
    print(f"{time.perf_counter() - begin:.0f} s. Written: {', '.join(str(path) for path in written)}")
    return 0 if outcome.finished else 130


def write(
    summary: Summary, design: Design, datasets: Sequence[Dataset], outcome: Outcome, output: Path
) -> list[Path]:
    """Write the page, all tables and the pictures; return their paths."""
    pictures = draw(summary, output)
    page = output / "summary.md"
    _write_page(page, summary, design, datasets, outcome, pictures)
    tables = {
        "folds": outcome.results,
        "cases": summary.cases,
        "ranking": summary.ranking,
        "paired_tests": summary.paired_tests,
        "per_dataset": summary.per_dataset,
    }
    for name, table in tables.items():
        table.to_csv(output / f"{name}.csv", index=False)
    return [page, *(output / f"{name}.csv" for name in tables), *pictures.values()]


def publish(
    summary: Summary, design: Design, datasets: Sequence[Dataset], outcome: Outcome, docs: Path
) -> list[Path]:
    """Write the page and the pictures of the documentation; return their paths."""
    pictures = draw(summary, docs / "pictures", "accuracy-")
    page = docs / "accuracy.md"
    _write_page(page, summary, design, datasets, outcome, pictures)
    return [page, *pictures.values()]


def _write_page(
    page: Path,
    summary: Summary,
    design: Design,
    datasets: Sequence[Dataset],
    outcome: Outcome,
    pictures: Mapping[str, Path],
) -> None:
    paths = {shown: path.relative_to(page.parent).as_posix() for shown, path in pictures.items()}
    page.write_text(as_markdown(summary, design, datasets, outcome, paths), encoding="utf-8")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.accuracy",
        description="Compare the accuracy of tritree and other libraries as fields go missing. "
        "An interrupted run resumes if it is given the same store.",
    )
    add: Any = parser.add_argument
    add(
        "--quick",
        action="store_true",
        help="six development tables (or those of --data), as they are and in three scenarios, one rate each; "
        "takes a few minutes",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--data",
        choices=GROUPS,
        help="group of data sets: defaults are chosen on development tables only; earlier ones are those of reports "
        "before there were judgement tables (default: development)",
    )
    which.add_argument(
        "--datasets", nargs="+", choices=DATASETS, metavar="NAME", help="data sets by name; --list shows them"
    )
    add("--list", action="store_true", help="list the data sets and their groups, and exit")
    combined = "; with --scenarios, --mechanisms or --rates, all combinations of the three are run"
    add("--scenarios", nargs="+", choices=SCENARIOS, metavar="NAME", help=_choices(SCENARIOS) + combined)
    add("--mechanisms", nargs="+", choices=MECHANISMS, metavar="NAME", help=_choices(MECHANISMS))
    add(
        "--rates",
        nargs="+",
        type=_fraction,
        metavar="RATE",
        help="fractions of the cells that are removed (default: 0.1 0.3 0.5)",
    )
    add("--libraries", nargs="+", choices=LIBRARIES, metavar="NAME", help=_choices(LIBRARIES))
    add(
        "--treatments",
        nargs="+",
        choices=_TREATMENTS,
        metavar="NAME",
        help=f"any of {', '.join(_TREATMENTS)} (default: all but the last); libraries as they are are always run",
    )
    add(
        "--seeds",
        type=integer_from(1),
        metavar="N",
        help="number of repetitions with other folds and removals (default: 2)",
    )
    add("--folds", type=integer_from(2), metavar="N", help="number of cross-validation folds (default: 3)")
    add("--depth", type=integer_from(1), metavar="N", help="maximum depth of the trees (default: 4)")
    add("--trees", type=integer_from(1), metavar="N", help="number of trees of each method (default: 150)")
    add("--leaf", type=integer_from(1), metavar="N", help="minimum number of rows per leaf (default: 20)")
    add(
        "--rows",
        type=integer_from(0),
        metavar="N",
        help="maximum number of rows of a data set; larger ones are sampled (default: 1500; 0: no limit)",
    )
    add(
        "--jobs",
        type=integer_from(1),
        default=1,
        metavar="N",
        help="number of data sets that run in parallel, each on one thread (default: 1)",
    )
    add(
        "--store",
        type=Path,
        metavar="FILE",
        help="file for finished trials (default: store.sqlite in the output folder)",
    )
    add(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="output folder (default: benchmarks/results/accuracy, or accuracy-quick)",
    )
    add("--write-docs", action="store_true", help="also write the page and its pictures to docs/")
    add(
        "--progress",
        action=argparse.BooleanOptionalAction,
        help="show a progress bar (default: on terminals only)",
    )
    return parser


def design_from(options: argparse.Namespace) -> Design:
    """Return the design that the command line describes."""
    design = quick() if options.quick else Design()
    if options.scenarios or options.mechanisms or options.rates:
        full = Grid()
        grid = Grid(
            tuple(options.scenarios or full.scenarios),
            tuple(options.mechanisms or (("mcar",) if options.quick else full.mechanisms)),
            tuple(options.rates or full.rates),
        )
        design = replace(design, grids=(grid,))
    names = {"depth": "max_depth", "trees": "n_trees", "leaf": "min_samples_leaf"}
    parameters: dict[str, Any] = {
        names[name]: value for name in names if (value := getattr(options, name)) is not None
    }
    changed: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name in ("datasets", "libraries", "seeds", "folds", "rows")
        if (value := getattr(options, name)) is not None
    }
    if options.treatments:
        changed["treatments"] = ("", *options.treatments)
    if options.data:
        changed["datasets"] = GROUPS[options.data]
    return replace(design, parameters=replace(design.parameters, **parameters), **changed)


def described() -> list[str]:
    """Return a line for each data set: name, role, and for tables of R packages what is predicted."""
    return [
        f"{name:18}{role_of(name):13}{TABLES[name].about if name in TABLES else '(of earlier reports)'}"
        for name in DATASETS
    ]


def _choices(names: Any) -> str:
    return f"any of {', '.join(names)} (default: all)"


def _fraction(text: str) -> float:
    try:
        fraction = float(text)
    except ValueError:
        fraction = -1.0
    if not 0 < fraction <= 1:
        remedy = f"; {fraction:g} percent is {fraction / 100:g}" if 1 < fraction <= 100 else ""
        raise argparse.ArgumentTypeError(f"{text} is not a fraction in (0, 1]{remedy}")
    return fraction


if __name__ == "__main__":
    sys.exit(main())
