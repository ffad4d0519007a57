"""Compare accuracy as fields go missing: ``python -m benchmarks.accuracy``, see ``--help``."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.accuracy.data import SETS, load_sets
from benchmarks.accuracy.plan import FAMILIES, MECHANISMS, Part, Plan, quick
from benchmarks.accuracy.plots import draw
from benchmarks.accuracy.report import as_markdown
from benchmarks.accuracy.rivals import LIBRARIES, installed
from benchmarks.accuracy.run import run
from benchmarks.accuracy.summary import summarised
from benchmarks.arguments import integer_from
from tritree.lab.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.accuracy.run import Outcome
    from benchmarks.accuracy.summary import Summary
    from tritree.lab import Dataset

RESULTS = Path(__file__).resolve().parents[1] / "results"
DOCS = RESULTS.parents[1] / "docs"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for and write it down; return 1 if there is nothing to show, and 130 after Ctrl-C."""
    parser = make_parser()
    asked = parser.parse_args(arguments)
    plan = planned(asked)
    libraries, absent = installed(plan.libraries)
    plan = replace(plan, libraries=tuple(libraries))
    datasets, lacking = load_sets(plan.sets, plan.rows)
    output = asked.output or RESULTS / f"accuracy{'-quick' if asked.quick else ''}"
    output.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    try:
        outcome = run(
            plan, datasets, asked.store or output / "store.sqlite", jobs=asked.jobs, progress=asked.progress
        )
    except StoreError as error:
        parser.error(str(error))
    outcome.notes[:0] = absent + lacking
    if outcome.results.empty:
        ended = "Ended before the first data set was done; the same command goes on where it was."
        print(
            "\n".join([*outcome.notes, "There are no results." if outcome.finished else ended]),
            file=sys.stderr,
        )
        return 130 if not outcome.finished else 1
    summary = summarised(outcome.results)
    written = write(summary, plan, datasets, outcome, output)
    if asked.write_docs:
        written += publish(summary, plan, datasets, outcome, DOCS)
    print((output / "summary.md").read_text(encoding="utf-8"))
    print(f"{time.perf_counter() - begin:.0f} s. Written: {', '.join(str(path) for path in written)}")
    return 0 if outcome.finished else 130


def write(
    summary: Summary, plan: Plan, datasets: Sequence[Dataset], outcome: Outcome, output: Path
) -> list[Path]:
    """Return the files that were written: the page, every table, and pictures."""
    pictures = draw(summary, output)
    page = output / "summary.md"
    _write_page(page, summary, plan, datasets, outcome, pictures)
    tables = {
        "folds": outcome.results,
        "cases": summary.cases,
        "standings": summary.standings,
        "pairs": summary.pairs,
        "singles": summary.singles,
    }
    for name, table in tables.items():
        table.to_csv(output / f"{name}.csv", index=False)
    return [page, *(output / f"{name}.csv" for name in tables), *pictures.values()]


def publish(
    summary: Summary, plan: Plan, datasets: Sequence[Dataset], outcome: Outcome, docs: Path
) -> list[Path]:
    """Return what was written to the documentation: the page, and pictures."""
    pictures = draw(summary, docs / "pictures", "accuracy-")
    page = docs / "accuracy.md"
    _write_page(page, summary, plan, datasets, outcome, pictures)
    return [page, *pictures.values()]


def _write_page(
    page: Path,
    summary: Summary,
    plan: Plan,
    datasets: Sequence[Dataset],
    outcome: Outcome,
    pictures: Mapping[str, Path],
) -> None:
    paths = {shown: path.relative_to(page.parent).as_posix() for shown, path in pictures.items()}
    page.write_text(as_markdown(summary, plan, datasets, outcome, paths), encoding="utf-8")


def make_parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.accuracy",
        description="Compare tritree's boosting with other libraries as fields go missing. A run that was "
        "stopped goes on where it was, if it is given the same store.",
    )
    add: Any = parser.add_argument
    add("--quick", action="store_true", help="six sets, three scenarios, one rate each; a few minutes")
    add("--sets", nargs="+", choices=SETS, metavar="SET", help=f"which data sets: {', '.join(SETS)}")
    add("--scenarios", nargs="+", choices=FAMILIES, metavar="SCENARIO", help=_all_of(FAMILIES))
    add("--mechanisms", nargs="+", choices=MECHANISMS, metavar="HOW", help=_all_of(MECHANISMS))
    add(
        "--rates",
        nargs="+",
        type=_share,
        metavar="SHARE",
        help="shares of cells that are removed: 0.1 0.3 0.5",
    )
    add("--libraries", nargs="+", choices=LIBRARIES, metavar="NAME", help=_all_of(LIBRARIES))
    add("--seeds", type=integer_from(1), metavar="N", help="how many times holes are made: 1")
    add("--folds", type=integer_from(2), metavar="N", help="of the cross-validation: 3")
    add("--depth", type=integer_from(1), metavar="N", help="of all trees: 4")
    add("--trees", type=integer_from(1), metavar="N", help="of every method: 150")
    add("--leaf", type=integer_from(1), metavar="N", help="the fewest rows of a leaf: 20")
    add(
        "--rows",
        type=integer_from(0),
        metavar="N",
        help="sample larger sets to so many rows: 2000; 0 takes all",
    )
    add("--jobs", type=integer_from(1), default=1, metavar="N", help="cells that run at the same time: 1")
    add(
        "--store", type=Path, metavar="FILE", help="keeps what is finished: store.sqlite in the output folder"
    )
    add("--output", type=Path, metavar="FOLDER", help="benchmarks/results/accuracy, or accuracy-quick")
    add("--write-docs", action="store_true", help="write the page and its pictures to docs/, too")
    add(
        "--progress",
        action=argparse.BooleanOptionalAction,
        help="show a bar; on a terminal it is shown anyway",
    )
    return parser


def planned(asked: argparse.Namespace) -> Plan:
    """Return the plan that was asked for."""
    plan = quick() if asked.quick else Plan()
    if asked.scenarios or asked.mechanisms or asked.rates:
        whole = Part()
        part = Part(
            tuple(asked.scenarios or whole.families),
            tuple(asked.mechanisms or (("mcar",) if asked.quick else whole.mechanisms)),
            tuple(asked.rates or whole.rates),
        )
        plan = replace(plan, parts=(part,))
    size: dict[str, Any] = {
        name: value for name in ("depth", "trees", "leaf") if (value := getattr(asked, name)) is not None
    }
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name in ("sets", "libraries", "seeds", "folds", "rows")
        if (value := getattr(asked, name)) is not None
    }
    return replace(plan, size=replace(plan.size, **size), **given)


def _all_of(names: Any) -> str:
    return f"some of {', '.join(names)}; all by default"


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        remedy = f"; {share:g} percent is {share / 100:g}" if 1 < share <= 100 else ""
        raise argparse.ArgumentTypeError(f"{text} is no share above 0 and up to 1{remedy}")
    return share


if __name__ == "__main__":
    sys.exit(main())
