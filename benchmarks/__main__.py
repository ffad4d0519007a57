"""Run benchmarks and report: ``python -m benchmarks [NAME ...]``, see ``--help``."""

from __future__ import annotations

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import surroundings
from benchmarks.arguments import positive, whole
from benchmarks.cases import CASES
from benchmarks.report import Report, print_report, to_json, write_readme
from benchmarks.results import Row
from benchmarks.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FOLDER = Path(__file__).resolve().parent
ROUNDS, QUICK_ROUNDS = 7, 3
WIDTH = 100  # that the tables need at least


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for, and report; return 1 if a benchmark failed, and 130 after Ctrl-C.

    A reach that is missed is no failure.
    """
    asked = parse(arguments)
    if asked.list:
        for name, case in CASES.items():
            print(f"{name:<18}{(case.__doc__ or '').splitlines()[0]}")
        return 0
    names = list(dict.fromkeys(asked.names)) or list(CASES)
    begin = time.perf_counter()
    rows, finished = run_all(names, asked)
    report = Report(about(asked, names, finished, time.perf_counter() - begin), rows)

    kind = "quick" if asked.quick else "full"
    part = "" if set(names) == set(CASES) else "-part"
    file = asked.json or FOLDER / "results" / f"{kind}{part}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(to_json(report), encoding="utf-8")
    # what was measured is safe now, whatever becomes of the printing
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    print_report(report, Console(width=max(Console().width, WIDTH)))
    print(f"All measurements are in {file}.")
    if asked.write_readme:
        print(update_readme(report, FOLDER / "README.md"))
    if not finished:
        return 130  # as of any program that Ctrl-C has ended
    return 1 if any(row.failed for row in rows) else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return what was asked for on the command line."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description="Measure tritree beside other libraries."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run; all of them by default")
    parser.add_argument("--list", action="store_true", help="list the benchmarks and end")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows; ends within three minutes")
    parser.add_argument(
        "--rounds", type=positive, help=f"rounds at most; {ROUNDS}, or {QUICK_ROUNDS} if quick"
    )
    parser.add_argument("--seed", type=whole, default=0, help="of the tables that are drawn; 0")
    parser.add_argument("--threads", type=positive, help="for every library; all processors")
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="where results go; full.json and the like in benchmarks/results",
    )
    parser.add_argument(
        "--write-readme",
        action="store_true",
        help="put the tables of a full run of everything into README.md",
    )
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.names if name not in CASES]
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(CASES)}")
    if asked.json and asked.json.is_dir():
        parser.error(f"argument --json: {asked.json} is a folder; name a file")
    asked.rounds = asked.rounds or (QUICK_ROUNDS if asked.quick else ROUNDS)
    asked.threads = asked.threads or surroundings.processors()
    return asked


def run_all(names: Sequence[str], asked: argparse.Namespace) -> tuple[list[Row], bool]:
    """Return the rows of the benchmarks, and whether all were finished; Ctrl-C keeps the rows it has."""
    rows: list[Row] = []
    console = Console(file=sys.stderr)
    columns = (TextColumn("{task.description:<18}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # drawn between turns only: a thread of its own would take part in the timing
    with Progress(*columns, console=console, auto_refresh=False, disable=not console.is_terminal) as progress:
        everything = progress.add_task("benchmarks", total=len(names))
        current = progress.add_task("", total=None)

        def tick(done: int, total: int) -> None:
            progress.update(current, completed=done, total=total, refresh=True)

        run = Run(threads=asked.threads, rounds=asked.rounds, seed=asked.seed, quick=asked.quick, tick=tick)
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


def run_one(name: str, run: Run, keep: Callable[[Row], None]) -> None:
    """Keep the rows of a benchmark; where it fails, a row that says so, so that others still run."""
    try:
        for row in CASES[name](run):
            keep(row)
    except Exception as error:
        keep(Row(name, "failed", failed=True, notes=[f"Failed: {type(error).__name__}: {error}"]))


def about(asked: argparse.Namespace, names: Sequence[str], finished: bool, seconds: float) -> dict[str, Any]:
    """Return where, when and how the run was made."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": surroundings.commit(),
        "finished": finished,
        "seconds": seconds,
        "settings": {
            "names": list(names),
            "everything": set(names) == set(CASES),
            "quick": asked.quick,
            "rounds": asked.rounds,
            "seed": asked.seed,
            "threads": asked.threads,
        },
        "machine": surroundings.machine(),
        "versions": surroundings.versions(),
    }


def update_readme(report: Report, path: Path) -> str:
    """Put the report into the README if it is of a full run of everything; return what was done."""
    how = report.about["settings"]
    if how["quick"] or not report.about["finished"] or set(how["names"]) != set(CASES):
        return f"{path.name} is left as it is: only a full run of every benchmark goes there."
    if any(not row.measurements for row in report.rows):
        return f"{path.name} is left as it is: a benchmark failed, or its table or peers were absent."
    if any(row.disturbance for row in report.rows):
        return f"{path.name} is left as it is: other processes disturbed this run."
    write_readme(report, path)
    return f"{path.name} shows this run."


if __name__ == "__main__":
    sys.exit(main())
