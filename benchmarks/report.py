"""A run's rows as tables on the terminal, as JSON, and as a section of the README.

All are drawn from the same cells, so they cannot disagree.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rich.console import Console

    from benchmarks.results import Measurement, Row, Verdict

__all__ = ["Report", "print_report", "quantity", "to_json", "to_markdown", "write_readme"]

BEGIN, END = "<!-- the last run begins -->", "<!-- the last run ends -->"
HEADINGS = ("benchmark", "work", "tritree", "beside", "result", "reach", "met")
LEGEND = "A result in x is tritree's median divided by that of the fastest peer, which is beside it."
QUICK = "This was a quick run: a tenth of the rows and few rounds. The reaches are meant for a full one."
SCALES = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "B": ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")),
}


@dataclass(frozen=True)
class Report:
    """A run: where, when and how it was made, and its rows."""

    about: dict[str, Any]
    rows: list[Row]

    @property
    def headline(self) -> str:
        """How the run was run, in a line."""
        how = self.about["settings"]
        kind = "Quick run (a tenth of the rows)" if how["quick"] else "Full run"
        if not how["everything"]:
            kind += f" of {', '.join(how['names'])} only"
        left = "" if self.about["finished"] else ", INTERRUPTED"
        return (
            f"{kind}, {self.about['date']}{left}, commit {self.about['commit']}: {how['threads']} threads, "
            f"at most {how['rounds']} rounds, seed {how['seed']}, {self.about['seconds']:.0f} s in all."
        )

    @property
    def surroundings(self) -> list[str]:
        """The machine, and the versions of everything, in a line each."""
        versions = ", ".join(f"{name} {version}" for name, version in self.about["versions"].items())
        machine = self.about["machine"]
        return [
            f"{machine['processor']}, {machine['processors']} processors, {machine['memory']}, {machine['system']}.",
            f"{versions}.",
        ]

    @property
    def conclusion(self) -> str:
        """How many reaches are met, in a line."""
        calm = [row for row in self.rows if not row.disturbance]
        met = [verdict.met for row in calm for verdict in row.verdicts if verdict.met is not None]
        left = len(self.rows) - len(calm)
        doubt = (
            f" Not judged, because other processes were busy meanwhile: {left} of {len(self.rows)} tables."
            if left
            else ""
        )
        failed = [row.case for row in self.rows if row.failed]
        doubt += f" FAILED: {', '.join(failed)}." if failed else ""
        judged = f"{sum(met)} of {len(met)} reaches are met." if met else "No reach was judged."
        return judged + doubt


def quantity(value: float, unit: str) -> str:
    """Return a number with its unit, three digits of it; seconds and bytes in a handy multiple."""
    factor, name = next(
        ((factor, name) for factor, name in SCALES.get(unit, ()) if abs(value) >= factor), (1.0, unit)
    )
    number = value / factor
    digits = 0 if number >= 100 else 1 if number >= 10 else 2
    text = f"{number:,.{digits}f}" if number >= 0.01 or number == 0 else f"{number:.1e}"
    return f"{text} {name}".rstrip()


def print_report(report: Report, console: Console) -> None:
    """Print what was found: first the verdicts, then every contender, then where it was found."""
    from rich import box
    from rich.table import Table

    table = Table(
        title="tritree beside its peers", title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    for heading in HEADINGS:  # what is long may break, numbers may not
        breaks = heading in ("work", "beside")
        table.add_column(heading, no_wrap=not breaks, min_width=21 if breaks else None)
    for cells in summary(report.rows):
        table.add_row(*cells, style="bold red" if cells[-1] == "NO" else "")
    console.print(table)
    console.print(f"{report.conclusion} {LEGEND}", highlight=False)
    if report.about["settings"]["quick"]:
        console.print(QUICK, highlight=False)
    console.print()
    for row in report.rows:
        headings, lines = details(row)
        if lines:
            title = f"{row.case}: {row.work}"
            contenders = Table(*headings, title=title, title_justify="left", box=box.SIMPLE_HEAD)
            for cells in lines:
                contenders.add_row(*cells)
            console.print(contenders)
        else:
            console.print(f"{row.case}: {row.work}", style="italic")
        for note in row.notes:
            console.print(f"  {note}", highlight=False)
        if row.disturbance:
            console.print(f"  {row.disturbance}", style="bold red", highlight=False)
        console.print()
    for line in (report.headline, *report.surroundings):
        console.print(line, highlight=False)


def summary(rows: Iterable[Row]) -> list[tuple[str, ...]]:
    """Return the cells of the table of verdicts, a line per verdict; a row without one has a line all the same."""
    lines: list[tuple[str, ...]] = []
    for row in rows:
        lines += [_verdict_cells(row, verdict) for verdict in row.verdicts]
        if not row.verdicts:
            lines.append((row.case, row.work, "–", "–", "–", "–", "–"))
    return lines


def details(row: Row) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return headings and cells of the table of a row's contenders, with tritree's ratio to each peer."""
    ours: list[Measurement] = []
    for verdict in row.verdicts:
        if verdict.ours and verdict.ours.contender.startswith("tritree") and verdict.ours not in ours:
            ours.append(verdict.ours)
    peers = [found for found in row.measurements if not found.contender.startswith("tritree")]
    ours = ours if peers else []
    headings = ("contender", "median", "quartiles", "rounds", *(f"{each.contender} / it" for each in ours))
    lines = []
    for found in row.measurements:
        low, high = (quantity(value, found.unit) for value in found.quartiles)
        ratios = [quantity(each.median / found.median, "x") if found in peers else "" for each in ours]
        lines.append(
            (
                found.contender,
                quantity(found.median, found.unit),
                f"{low} – {high}",
                str(len(found.rounds)),
                *ratios,
            )
        )
    return headings, lines


def to_json(report: Report) -> str:
    """Return everything that was found, raw rounds included."""
    content = report.about | {"rows": [row.as_dict() for row in report.rows]}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def to_markdown(report: Report) -> str:
    """Return the report as a section in Markdown."""
    parts = [report.headline, "", *(line + "\\" for line in report.surroundings[:-1])]
    parts += [report.surroundings[-1], "", report.conclusion, ""]
    parts += _markdown_table(HEADINGS, summary(report.rows))
    parts += ["", "<details>", "<summary>Every contender: median and quartiles of the rounds</summary>", ""]
    for row in report.rows:
        headings, lines = details(row)
        parts += [f"**{row.case}**: {row.work}", ""]
        if lines:
            parts += [*_markdown_table(headings, lines), ""]
        if row.notes or row.disturbance:
            parts += [" ".join([*row.notes, row.disturbance]).strip(), ""]
    return "\n".join([*parts, "</details>"])


def write_readme(report: Report, path: Path) -> None:
    """Put the report between the markers of the README; what is around them stays."""
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} has no lines {BEGIN} and {END}; put them where the table is to go")
    path.write_text(f"{before}{BEGIN}\n\n{to_markdown(report)}\n\n{END}{after}", encoding="utf-8")


def _verdict_cells(row: Row, verdict: Verdict) -> tuple[str, ...]:
    ours, theirs = verdict.ours, verdict.theirs
    return (
        row.case,
        f"{row.work}: {verdict.what}" if verdict.what else row.work,
        quantity(ours.median, ours.unit) if ours else "–",
        f"{theirs.contender}, {quantity(theirs.median, theirs.unit)}" if theirs else "–",
        quantity(verdict.value, verdict.unit),
        "–"
        if verdict.reach is None
        else f"{'≥' if verdict.at_least else '≤'} {verdict.reach:g} {verdict.unit}".rstrip(),
        "busy" if row.disturbance else {True: "yes", False: "NO", None: "–"}[verdict.met],
    )


def _markdown_table(headings: Iterable[str], lines: Iterable[tuple[str, ...]]) -> list[str]:
    headings = list(headings)
    rows = [headings, ["---"] * len(headings), *lines]
    return [f"| {' | '.join(cells)} |" for cells in rows]
