"""Run benchmarks and report: ``python -m benchmarks [NAME ...]``, see ``--help``."""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks import builds, environment, memory
from benchmarks.arguments import integer_from
from benchmarks.cases import CASES
from benchmarks.page import read_readme, update_readme
from benchmarks.report import Report, print_report, to_json
from benchmarks.results import Row
from benchmarks.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FOLDER = Path(__file__).resolve().parent
README = FOLDER / "README.md"
ROUNDS, QUICK_ROUNDS = 7, 3
#: Processes per build of a comparison of builds, and the rounds in each.
PAIRS, QUICK_PAIRS, ROUNDS_PER_PROCESS = 5, 3, 3
MIN_WIDTH, MIN_WIDTH_OF_BUILDS = 100, 150  # of the tables


def main(arguments: Sequence[str] | None = None) -> int:
    """Run benchmarks and report; return 1 if a benchmark failed, and 130 after Ctrl-C.

    A goal that is missed is not a failure.
    """
    options = parse(arguments)
    if options.list:
        for name, case in CASES.items():
            print(f"{name:<18}{(case.__doc__ or '').splitlines()[0]}")
        return 0
    names = list(dict.fromkeys(options.names)) or list(CASES)
    if options.against:
        return compare_builds(names, options)
    builds.activate()
    if options.write_readme:
        read_readme(README)  # fails here, not after the run, if it cannot be read
    begin = time.perf_counter()
    rows, finished = run_all(names, options)
    report = Report(about(options, names, finished, time.perf_counter() - begin), rows)

    kind = "quick" if options.quick else "full"
    part = "" if set(names) == set(CASES) else "-part"
    file = options.json or FOLDER / "results" / f"{kind}{part}.json"
    write_json(file, to_json(report))
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    print_report(report, wide_console())
    print(f"All measurements are in {file}.")
    if options.write_readme:
        print(update_readme(report, README, list(CASES)))
    if not finished:
        return 130  # as of any program that Ctrl-C has ended
    return 1 if any(row.failed for row in rows) else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description="Compare the speed and memory of tritree with other libraries."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run (default: all)")
    parser.add_argument("--list", action="store_true", help="list the benchmarks and exit")
    parser.add_argument("--quick", action="store_true", help="use a tenth of the rows; takes a few minutes")
    parser.add_argument(
        "--rounds",
        type=integer_from(1),
        help=f"maximum number of rounds (default: {ROUNDS}, or {QUICK_ROUNDS} with --quick); with --against, "
        f"number of processes per build (default: {PAIRS}, or {QUICK_PAIRS} with --quick)",
    )
    parser.add_argument("--seed", type=integer_from(0), default=0, help="seed of the data (default: 0)")
    parser.add_argument(
        "--threads", type=integer_from(1), help="threads of every library (default: all processors)"
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="file for the results (default: full.json, quick.json, ... in benchmarks/results)",
    )
    parser.add_argument(
        "--write-readme",
        action="store_true",
        help="replace the tables of these benchmarks in README.md, if they run at full size and undisturbed",
    )
    parser.add_argument("--tritree-only", action="store_true", help="leave other libraries out")
    parser.add_argument(
        "--against",
        type=Path,
        metavar="FOLDER",
        help="compare with another build of tritree: FOLDER holds the package, or is the site-packages of its install",
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in CASES]
    if unknown:
        parser.error(f"unknown benchmark {', '.join(unknown)}; choose from {', '.join(CASES)}")
    if options.json and options.json.is_dir():
        parser.error(f"argument --json: {options.json} is a folder; name a file")
    if options.against and not options.against.is_dir():
        parser.error(f"argument --against: there is no folder {options.against}")
    if options.rounds is None:
        full, quick = (PAIRS, QUICK_PAIRS) if options.against else (ROUNDS, QUICK_ROUNDS)
        options.rounds = quick if options.quick else full
    options.threads = options.threads or environment.processors()
    return options


def run_all(names: Sequence[str], options: argparse.Namespace) -> tuple[list[Row], bool]:
    """Return the rows of the benchmarks, and whether all were finished; after Ctrl-C, the rows so far."""
    rows: list[Row] = []
    console = Console(file=sys.stderr)
    columns = (TextColumn("{task.description:<18}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # refreshed between samples only: a refreshing thread would disturb the timing
    with Progress(*columns, console=console, auto_refresh=False, disable=not console.is_terminal) as progress:
        everything = progress.add_task("benchmarks", total=len(names))
        current = progress.add_task("", total=None)

        def tick(done: int, total: int) -> None:
            progress.update(current, completed=done, total=total, refresh=True)

        run = Run(
            n_threads=options.threads,
            rounds=options.rounds,
            seed=options.seed,
            quick=options.quick,
            tritree_only=options.tritree_only,
            tick=tick,
        )
        try:
            for name in names:
                progress.update(current, description=name, completed=0, total=None, refresh=True)
                if not console.is_terminal:
                    console.print(name)
                run_one(name, run, rows.append)
                progress.update(everything, advance=1, refresh=True)
        except KeyboardInterrupt:
            return rows, False
    return rows, True


def run_one(name: str, run: Run, add: Callable[[Row], None]) -> None:
    """Add the rows of a benchmark; if it fails, add a row with the error, so that the others still run."""
    measures_memory = memory.obstacle() is None
    try:
        for row in CASES[name](run):
            if measures_memory:
                row.peak_memory = memory.peak()
                memory.reset_peak()
            add(row)
    except Exception as error:
        add(Row(name, "failed", failed=True, notes=[f"Failed: {type(error).__name__}: {error}"]))


def about(
    options: argparse.Namespace, names: Sequence[str], finished: bool, seconds: float
) -> dict[str, Any]:
    """Return date, commit, options, machine and versions of the run."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": environment.commit(),
        "finished": finished,
        "seconds": seconds,
        "options": {
            "names": list(names),
            "everything": set(names) == set(CASES),
            "quick": options.quick,
            "rounds": options.rounds,
            "seed": options.seed,
            "threads": options.threads,
            "tritree_only": options.tritree_only,
        },
        "machine": environment.machine(),
        "versions": environment.versions(),
        "core": builds.location(),
    }


def compare_builds(names: Sequence[str], options: argparse.Namespace) -> int:
    """Compare this build of tritree with another one and print the ratios; return 1 if a benchmark failed."""
    rounds = [
        "--rounds",
        str(ROUNDS_PER_PROCESS),
        "--threads",
        str(options.threads),
        "--seed",
        str(options.seed),
    ]
    arguments = [*rounds, "--quick"] if options.quick else rounds
    comparisons: list[builds.Comparison] = []
    notes: list[str] = []
    finished, failed = True, False
    try:
        for found, remarks, any_failed in builds.compare_builds(
            names, options.against, arguments, options.rounds
        ):
            comparisons += found
            notes += remarks
            failed |= any_failed
    except KeyboardInterrupt:
        finished = False
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in builds.HEADINGS:
        table.add_column(heading, no_wrap=heading not in ("work", "measured"))
    for each in comparisons:
        table.add_row(*each.cells())
    console = wide_console(MIN_WIDTH_OF_BUILDS)
    console.print(table)
    console.print(
        "this / other: ratio of the medians over processes; below 1, this build is faster or smaller. range: ratios of "
        "single pairs of processes. fastest: ratio of the minima, which other processes disturb least.",
        highlight=False,
    )
    for note in dict.fromkeys(notes):
        console.print(note, highlight=False)
    if options.json:
        content = {
            "against": str(options.against),
            "rows": [each.as_dict() for each in comparisons],
            "notes": notes,
        }
        write_json(options.json, json.dumps(content, indent=2) + "\n")
    if not finished:
        return 130
    return 1 if failed else 0


def wide_console(width: int = MIN_WIDTH) -> Console:
    """Return a console that is wide enough for the tables."""
    return Console(width=max(Console().width, width))


def write_json(file: Path, text: str) -> None:
    """Write a file and create its folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
