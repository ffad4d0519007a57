"""README.md keeps the newest tables of every benchmark: those of a run replace earlier ones, and all others stay."""

from __future__ import annotations

import pytest

pytest.importorskip("rich")

from benchmarks import __main__ as program
from benchmarks.cases import CASES
from benchmarks.page import BEGIN, END, read_readme, to_markdown, update_readme
from benchmarks.report import Report
from benchmarks.results import Measurement, Row, Verdict, compare

ORDER = ["first", "second", "third"]


def row(case: str, seconds: float = 1.0, *, work: str = "10 x 2", busy: bool = False) -> Row:
    tritree = Measurement("tritree", (seconds,), other_load=(0.9 if busy else 0.0,))
    other = Measurement("LightGBM", (2.0,))
    verdicts = [*compare(tritree, [other], 1.0), Verdict("whole fit", seconds, 3.0, "s", measured=tritree)]
    return Row(case, work, [tritree, other], verdicts, ["A note.", "Another: with a colon."])


def report(
    *rows: Row, date: str = "2000-01-01", commit: str = "abc", numpy: str = "2.0", **changed
) -> Report:
    options = {"quick": False, "tritree_only": False, "threads": 2, "rounds": 7, "seed": 0}
    about = {"date": date, "commit": commit, "finished": True, "seconds": 1.0}
    for name, value in changed.items():
        (options if name in options else about)[name] = value
    machine = {"processor": "A (R) processor", "processors": 2, "memory": "1 GiB", "system": "Linux"}
    return Report(about | {"options": options, "machine": machine, "versions": {"numpy": numpy}}, list(rows))


@pytest.fixture
def path(tmp_path):
    """A page with one run of two benchmarks."""
    path = tmp_path / "README.md"
    path.write_text(f"before\n{BEGIN}\n{END}\nafter\n", encoding="utf-8")
    update_readme(report(row("first"), row("third")), path, ORDER)
    return path


def seconds_on(path) -> dict[tuple[str, str], str]:
    return {each.key: each.verdicts[0][2] for each in read_readme(path)}


def block_of(path, case: str) -> str:
    """The tables of a benchmark, up to the next one."""
    _, _, rest = path.read_text(encoding="utf-8").partition(f"**{case}**")
    return rest.partition("\n**")[0].partition("</details>")[0]


def test_text_around_the_results_is_unchanged(path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{BEGIN}\n")
    assert text.endswith(f"\n{END}\nafter\n")


def test_what_is_read_is_written_again_to_the_same_text(path) -> None:
    assert to_markdown(read_readme(path), ORDER) in path.read_text(encoding="utf-8")


def test_the_page_of_the_project_is_what_the_program_writes() -> None:
    written = to_markdown(read_readme(program.README), list(CASES))
    assert f"{BEGIN}\n\n{written}\n\n{END}" in program.README.read_text(encoding="utf-8")


def test_a_run_replaces_its_own_benchmarks_only(path) -> None:
    before = block_of(path, "third")
    told = update_readme(report(row("first", 5.0), date="2000-02-02", commit="def"), path, ORDER)
    assert told == "README.md shows this run."
    assert seconds_on(path) == {("first", "10 x 2"): "5.00 s", ("third", "10 x 2"): "1.00 s"}
    assert block_of(path, "third") == before
    assert "Measured 2000-02-02 in environment 1: commit def, 2 threads" in block_of(path, "first")
    assert "Measured 2000-01-01 in environment 1: commit abc, 2 threads" in block_of(path, "third")


def test_the_summary_counts_goals_of_all_runs_and_dates_each_line(path) -> None:
    update_readme(report(row("first", 5.0), date="2000-02-02"), path, ORDER)
    text = path.read_text(encoding="utf-8")
    assert "2 of 4 goals are met." in text
    assert "| first | 10 x 2 | 5.00 s | LightGBM, 2.00 s | 2.50 x | ≤ 1 x | NO | 2000-02-02 |" in text
    assert "| third | 10 x 2: whole fit | 1.00 s | – | 1.00 s | ≤ 3 s | yes | 2000-01-01 |" in text


def test_a_new_benchmark_takes_its_place_in_the_order(path) -> None:
    update_readme(report(row("second")), path, ORDER)
    assert [case for case, _ in seconds_on(path)] == ORDER


def test_benchmarks_that_no_longer_exist_leave_the_page(path) -> None:
    update_readme(report(row("second")), path, ["second", "third"])
    assert [case for case, _ in seconds_on(path)] == ["second", "third"]


def test_environments_are_listed_once_and_those_of_replaced_tables_dropped(path) -> None:
    update_readme(report(row("first"), numpy="2.1"), path, ORDER)
    text = path.read_text(encoding="utf-8")
    assert "Environment 1: A (R) processor, 2 processors, 1 GiB, Linux; numpy 2.1.\n" in text
    assert "Environment 2: A (R) processor, 2 processors, 1 GiB, Linux; numpy 2.0.\n" in text
    assert "in environment 2" in block_of(path, "third")
    update_readme(report(row("third"), numpy="2.1"), path, ORDER)
    assert "Environment 2" not in path.read_text(encoding="utf-8")


def test_a_disturbed_row_does_not_replace_an_earlier_one(path) -> None:
    rows = [row("first", 5.0, work="20 x 2"), row("first", 6.0, busy=True)]
    told = update_readme(report(*rows, date="2000-02-02"), path, ORDER)
    assert "except for\nfirst, 10 x 2: DISTURBED" in told
    assert seconds_on(path) == {
        ("first", "20 x 2"): "5.00 s",
        ("first", "10 x 2"): "1.00 s",
        ("third", "10 x 2"): "1.00 s",
    }
    assert [each.date for each in read_readme(path)] == ["2000-02-02", "2000-01-01", "2000-01-01"]


def test_a_disturbed_row_without_an_earlier_one_is_left_out(path) -> None:
    update_readme(report(row("first"), row("second", busy=True)), path, ORDER)
    assert [case for case, _ in seconds_on(path)] == ["first", "third"]


def test_rows_that_a_benchmark_no_longer_has_are_dropped(path) -> None:
    update_readme(report(row("first", work="20 x 2")), path, ORDER)
    assert [each.key for each in read_readme(path)] == [("first", "20 x 2"), ("third", "10 x 2")]


@pytest.mark.parametrize("bad", [Row("first", "failed", failed=True), Row("first", "a file that is absent")])
def test_earlier_tables_of_an_incomplete_benchmark_stay(path, bad) -> None:
    before = block_of(path, "first")
    rows = [row("first", 5.0), bad, row("third", 7.0)]
    assert "failed, or its data" in update_readme(report(*rows), path, ORDER)
    assert block_of(path, "first") == before
    assert seconds_on(path)["third", "10 x 2"] == "7.00 s"


@pytest.mark.parametrize(
    ("changed", "busy"), [({"quick": True}, False), ({"finished": False}, False), ({"tritree_only": True}, False),
                          ({}, True)]
)  # fmt: skip
def test_no_other_run_goes_to_the_page(path, changed, busy) -> None:
    before = path.read_text(encoding="utf-8")
    found = report(row("first", 5.0, busy=busy), **changed)
    assert "unchanged" in update_readme(found, path, ORDER)
    assert path.read_text(encoding="utf-8") == before


def test_works_that_begin_alike_keep_their_verdicts(path) -> None:
    works = ["10 x 2, 30 % missing", "10 x 2", "10 x 2, 30 % missing, many"]
    rows = [row("second", float(i + 3), work=work) for i, work in enumerate(works)]
    update_readme(report(*rows), path, ORDER)
    found = {each.work: each.verdicts for each in read_readme(path) if each.case == "second"}
    assert list(found) == works
    assert [verdicts[0][2] for verdicts in found.values()] == ["3.00 s", "4.00 s", "5.00 s"]
    assert {len(verdicts) for verdicts in found.values()} == {2}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (END, "", "has no lines"),
        ("Measured 2000-01-01", "Measured once", "does not say when"),
        ("in environment 1", "in environment 9", "does not say when"),
        ("**third**", "third", "no table of all candidates for third"),
    ],
)
def test_a_page_that_cannot_be_read_is_an_error_and_stays(path, old, new, message) -> None:
    text = path.read_text(encoding="utf-8").replace(old, new)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        update_readme(report(row("first")), path, ORDER)
    assert path.read_text(encoding="utf-8") == text


def test_the_program_writes_a_selection_to_the_page(tmp_path, monkeypatch, capsys) -> None:
    path = tmp_path / "README.md"
    path.write_text(f"{BEGIN}\n{END}\n", encoding="utf-8")
    monkeypatch.setattr(program, "README", path)
    monkeypatch.setitem(CASES, "scaling", lambda _run: iter([row("scaling", 4.0)]))
    monkeypatch.setitem(CASES, "author", lambda _run: iter([row("author", 3.0)]))
    arguments = ["--write-readme", "--json", str(tmp_path / "out.json")]
    assert program.main(["author", *arguments]) == 0
    assert program.main(["scaling", *arguments]) == 0
    assert program.main(["author", "--quick", *arguments]) == 0
    assert list(seconds_on(path).values()) == ["4.00 s", "3.00 s"]
    assert "README.md is unchanged" in capsys.readouterr().out


def test_a_page_that_cannot_be_read_is_found_before_the_run(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(program, "README", tmp_path / "README.md")
    (tmp_path / "README.md").write_text("no lines for the results", encoding="utf-8")
    monkeypatch.setitem(CASES, "author", lambda _run: pytest.fail("it ran"))
    with pytest.raises(ValueError, match="has no lines"):
        program.main(["author", "--write-readme", "--json", str(tmp_path / "out.json")])
