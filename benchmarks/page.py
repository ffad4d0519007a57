"""The results in README.md: the newest tables of every benchmark, of which a run replaces its own.

The page itself is the record: it is read, its rows are replaced one by one, and it is written again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.report import HEADINGS, details, summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from benchmarks.report import Report
    from benchmarks.results import Row

__all__ = ["BEGIN", "END", "Entry", "read_readme", "to_markdown", "update_readme"]

BEGIN, END = "<!-- results of the newest runs: begin -->", "<!-- results of the newest runs: end -->"
INTRODUCTION = "Every table is of the newest run at full size that other processes did not disturb."
_TITLE = re.compile(r"^\*\*(?P<case>[^*]+)\*\*: (?P<work>.+)$", re.MULTILINE)
_MEASURED = re.compile(
    r"^Measured (?P<date>\d{4}-\d\d-\d\d) in environment (?P<number>\d+): (?P<settings>.+)\.$", re.MULTILINE
)
_ENVIRONMENT = re.compile(r"^Environment (?P<number>\d+): (?P<environment>.+)\.$", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """A row of a benchmark on the page, as Markdown, and when, how and where it was measured."""

    case: str
    work: str
    verdicts: tuple[tuple[str, ...], ...]  # cells of its lines in the summary
    candidates: str  # table of all candidates, and notes
    date: str
    settings: str  # commit and options of the run
    environment: str  # machine and versions

    @property
    def key(self) -> tuple[str, str]:
        """Benchmark and work, which identify the row."""
        return self.case, self.work


def update_readme(report: Report, path: Path, order: Sequence[str]) -> str:
    """Replace the tables of the benchmarks of a run by those of the run; return what was done.

    Tables of other benchmarks stay, and so do those of rows that were disturbed and of benchmarks that failed or whose
    data were absent. ``order`` has the names of all benchmarks; others are dropped from the page.
    """
    options = report.about["options"]
    if options["quick"] or options["tritree_only"] or not report.about["finished"]:
        return f"{path.name} is unchanged: it shows only finished runs at full size with other libraries."
    before, earlier, after = _parts(path)
    left_out = _left_out(report)
    remarks = [f"{case}, {work}: {reason}" for (case, work), reason in left_out.items()]
    if all((row.case, row.work) in left_out for row in report.rows):
        return "\n".join([f"{path.name} is unchanged.", *remarks])
    entries = _merged(earlier, report, left_out)
    path.write_text(f"{before}{BEGIN}\n\n{to_markdown(entries, order)}\n\n{END}{after}", encoding="utf-8")
    return "\n".join([f"{path.name} shows this run{', except for' if remarks else '.'}", *remarks])


def read_readme(path: Path) -> list[Entry]:
    """Return the rows that the page shows; raise ValueError if it cannot be read."""
    return _parts(path)[1]


def to_markdown(entries: Iterable[Entry], order: Sequence[str]) -> str:
    """Return the section of the results, with the benchmarks in this order."""
    known = [each for each in entries if each.case in order]
    entries = sorted(known, key=lambda each: order.index(each.case))
    environments = list(dict.fromkeys(each.environment for each in entries))
    judged = [cells[-1] for each in entries for cells in each.verdicts if cells[-1] in ("yes", "NO")]
    parts = [f"{INTRODUCTION} {judged.count('yes')} of {len(judged)} goals are met.", ""]
    for number, environment in enumerate(environments, 1):
        parts += [f"Environment {number}: {environment}.", ""]
    lines = [(*cells, each.date) for each in entries for cells in each.verdicts]
    parts += _markdown_table((*HEADINGS, "measured"), lines)
    parts += ["", "<details>", "<summary>All candidates: median and quartiles over rounds</summary>", ""]
    for each in entries:
        place = f"environment {environments.index(each.environment) + 1}"
        parts += [f"**{each.case}**: {each.work}", "", each.candidates, ""]
        parts += [f"Measured {each.date} in {place}: {each.settings}.", ""]
    return "\n".join([*parts, "</details>"])


def _left_out(report: Report) -> dict[tuple[str, str], str]:
    """Return why rows of a run do not go to the page, by benchmark and work."""
    incomplete = {row.case for row in report.rows if not row.measurements}
    reasons = {}
    for row in report.rows:
        if row.case in incomplete:
            reasons[row.case, row.work] = (
                "the benchmark failed, or its data or the other libraries were absent."
            )
        elif row.disturbance:
            reasons[row.case, row.work] = row.disturbance
    return reasons


def _merged(earlier: Sequence[Entry], report: Report, left_out: Iterable[tuple[str, str]]) -> list[Entry]:
    """Return the rows of the page and of the run, without earlier ones that those of the run replace."""
    fresh = [_entry(row, report) for row in report.rows if (row.case, row.work) not in left_out]
    measured = {each.case for each in fresh}
    kept = [each for each in earlier if each.case not in measured or each.key in left_out]
    position = {(row.case, row.work): i for i, row in enumerate(report.rows)}
    return sorted(fresh + kept, key=lambda each: position.get(each.key, len(position)))


def _entry(row: Row, report: Report) -> Entry:
    """Return a row of the run as it is shown on the page."""
    headings, lines = details(row)
    candidates = "\n".join(_markdown_table(headings, lines))
    options = report.about["options"]
    return Entry(
        row.case,
        row.work,
        tuple(summary([row])),
        f"{candidates}\n\n{' '.join(row.notes)}" if row.notes else candidates,
        report.about["date"],
        f"commit {report.about['commit']}, {options['threads']} threads, at most {options['rounds']} rounds, "
        f"seed {options['seed']}",
        "; ".join(line.removesuffix(".") for line in report.environment),
    )


def _parts(path: Path) -> tuple[str, list[Entry], str]:
    """Return the text before the results, the rows of the results, and the text after them."""
    before, begin, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    section, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} has no lines {BEGIN} and {END}; add them where the tables should go")
    return before, _entries(section), after


def _entries(section: str) -> list[Entry]:
    """Return the rows of the section of the results."""
    environments = {found["number"]: found["environment"] for found in _ENVIRONMENT.finditer(section)}
    titles = list(_TITLE.finditer(section))
    ends = [title.start() for title in titles[1:]] + [section.rfind("\n</details>")]
    verdicts = _verdicts(section, [(title["case"], title["work"]) for title in titles])
    entries = []
    for title, end in zip(titles, ends, strict=False):
        block = section[title.end() : end]
        measured = _MEASURED.search(block)
        if not measured or measured["number"] not in environments:
            raise ValueError(
                f"the table of {title[0]} does not say when and in which environment it was measured"
            )
        entries.append(
            Entry(
                title["case"],
                title["work"],
                verdicts[title["case"], title["work"]],
                block[: measured.start()].strip(),
                measured["date"],
                measured["settings"],
                environments[measured["number"]],
            )
        )
    return entries


def _verdicts(
    section: str, keys: list[tuple[str, str]]
) -> dict[tuple[str, str], tuple[tuple[str, ...], ...]]:
    """Return the cells of the summary by benchmark and work, without the dates."""
    found: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = dict.fromkeys(keys, ())
    for line in section.partition("<details>")[0].splitlines():
        cells = tuple(line.removeprefix("| ").removesuffix(" |").split(" | "))
        if not line.startswith("| ") or cells[0] in (HEADINGS[0], "---"):
            continue
        # the work of a verdict is that of its row, or "work: what"; the longest that fits, should several do
        fits = [key for key in keys if cells[0] == key[0] and f"{cells[1]}: ".startswith(f"{key[1]}: ")]
        if not fits:
            raise ValueError(f"there is no table of all candidates for {cells[0]}, {cells[1]}")
        found[max(fits, key=lambda key: len(key[1]))] += (cells[:-1],)
    return found


def _markdown_table(headings: Iterable[str], lines: Iterable[tuple[str, ...]]) -> list[str]:
    headings = list(headings)
    rows = [headings, ["---"] * len(headings), *lines]
    return [f"| {' | '.join(cells)} |" for cells in rows]
