"""A run as tables on the terminal and as JSON, made from the same cells as those of README.md."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from benchmarks.results import Measurement, Row, Verdict

__all__ = ["HEADINGS", "Report", "details", "print_report", "quantity", "summary", "to_json"]

HEADINGS = ("benchmark", "work", "tritree", "fastest other", "result", "goal", "met")
LEGEND = "A result in x is the ratio of tritree's median to that of the fastest other library."
QUICK = "This was a quick run: a tenth of the rows and few rounds. The goals are for full runs."
SCALES = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "B": ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")),
}


@dataclass(frozen=True)
class Report:
    """A run: its date, options and environment, and its rows."""

    about: dict[str, Any]
    rows: list[Row]

    @property
    def headline(self) -> str:
        """Date, commit and options in one line."""
        options = self.about["options"]
        kind = "Quick run (a tenth of the rows)" if options["quick"] else "Full run"
        if not options["everything"]:
            kind += f" of {', '.join(options['names'])} only"
        left = "" if self.about["finished"] else ", INTERRUPTED"
        return (
            f"{kind}, {self.about['date']}{left}, commit {self.about['commit']}: {options['threads']} threads, "
            f"at most {options['rounds']} rounds, seed {options['seed']}, {self.about['seconds']:.0f} s in total."
        )

    @property
    def environment(self) -> list[str]:
        """The machine and the versions of all packages, one line each."""
        versions = ", ".join(f"{name} {version}" for name, version in self.about["versions"].items())
        machine = self.about["machine"]
        return [
            f"{machine['processor']}, {machine['processors']} processors, {machine['memory']}, {machine['system']}.",
            f"{versions}.",
        ]

    @property
    def conclusion(self) -> str:
        """Number of goals that are met, in one line."""
        calm = [row for row in self.rows if not row.disturbance]
        met = [verdict.met for row in calm for verdict in row.verdicts if verdict.met is not None]
        left = len(self.rows) - len(calm)
        caveat = (
            f" Not judged, because other processes were busy: {left} of {len(self.rows)} tables."
            if left
            else ""
        )
        failed = [row.case for row in self.rows if row.failed]
        caveat += f" FAILED: {', '.join(failed)}." if failed else ""
        judged = f"{sum(met)} of {len(met)} goals are met." if met else "No goal was judged."
        return judged + caveat


def quantity(value: float, unit: str) -> str:
    """Return a number with three significant digits and its unit; seconds and bytes with a prefix."""
    factor, name = next(
        ((factor, name) for factor, name in SCALES.get(unit, ()) if abs(value) >= factor), (1.0, unit)
    )
    number = value / factor
    digits = 0 if number >= 100 else 1 if number >= 10 else 2
    text = f"{number:,.{digits}f}" if number >= 0.01 or number == 0 else f"{number:.1e}"
    return f"{text} {name}".rstrip()


def print_report(report: Report, console: Console) -> None:
    """Print the verdicts, then all candidates, then the environment."""
    from rich import box
    from rich.table import Table

    table = Table(
        title="tritree and other libraries", title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    for heading in HEADINGS:  # text may wrap, numbers may not
        wraps = heading in ("work", "fastest other")
        table.add_column(heading, no_wrap=not wraps, min_width=21 if wraps else None)
    for cells in summary(report.rows):
        table.add_row(*cells, style="bold red" if cells[-1] == "NO" else "")
    console.print(table)
    console.print(f"{report.conclusion} {LEGEND}", highlight=False)
    if report.about["options"]["quick"]:
        console.print(QUICK, highlight=False)
    console.print()
    for row in report.rows:
        headings, lines = details(row)
        if lines:
            title = f"{row.case}: {row.work}"
            candidates = Table(*headings, title=title, title_justify="left", box=box.SIMPLE_HEAD)
            for cells in lines:
                candidates.add_row(*cells)
            console.print(candidates)
        else:
            console.print(f"{row.case}: {row.work}", style="italic")
        for note in row.notes:
            console.print(f"  {note}", highlight=False)
        if row.disturbance:
            console.print(f"  {row.disturbance}", style="bold red", highlight=False)
        console.print()
    for line in (report.headline, *report.environment):
        console.print(line, highlight=False)


def summary(rows: Iterable[Row]) -> list[tuple[str, ...]]:
    """Return the cells of the table of verdicts, one line per verdict, and one for a row without any."""
    lines: list[tuple[str, ...]] = []
    for row in rows:
        lines += [_verdict_cells(row, verdict) for verdict in row.verdicts]
        if not row.verdicts:
            lines.append((row.case, row.work, "–", "–", "–", "–", "–"))
    return lines


def details(row: Row) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return headings and cells of the table of a row's candidates, with tritree's ratio to each other library."""
    tritree: list[Measurement] = []
    for verdict in row.verdicts:
        measured = verdict.measured
        if measured and measured.candidate.startswith("tritree") and measured not in tritree:
            tritree.append(measured)
    others = [found for found in row.measurements if not found.candidate.startswith("tritree")]
    tritree = tritree if others else []
    headings = (
        "candidate",
        "median",
        "quartiles",
        "rounds",
        *(f"{each.candidate} / this" for each in tritree),
    )
    lines = []
    for found in row.measurements:
        low, high = (quantity(value, found.unit) for value in found.quartiles)
        ratios = [quantity(each.median / found.median, "x") if found in others else "" for each in tritree]
        lines.append(
            (
                found.candidate,
                quantity(found.median, found.unit),
                f"{low} – {high}",
                str(len(found.samples)),
                *ratios,
            )
        )
    return headings, lines


def to_json(report: Report) -> str:
    """Return all results, including the single samples."""
    content = report.about | {"rows": [row.as_dict() for row in report.rows]}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _verdict_cells(row: Row, verdict: Verdict) -> tuple[str, ...]:
    measured, baseline = verdict.measured, verdict.baseline
    return (
        row.case,
        f"{row.work}: {verdict.what}" if verdict.what else row.work,
        quantity(measured.median, measured.unit) if measured else "–",
        f"{baseline.candidate}, {quantity(baseline.median, baseline.unit)}" if baseline else "–",
        quantity(verdict.value, verdict.unit),
        "–"
        if verdict.goal is None
        else f"{'≥' if verdict.at_least else '≤'} {verdict.goal:g} {verdict.unit}".rstrip(),
        "busy" if row.disturbance else {True: "yes", False: "NO", None: "–"}[verdict.met],
    )
