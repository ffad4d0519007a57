"""Tables and JSON show the same run; Ctrl-C keeps what was measured."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("rich")

from benchmarks.__main__ import main
from benchmarks.cases import CASES
from benchmarks.report import Report, quantity, summary, to_json
from benchmarks.results import Measurement, Row, compare


def report(*, other_load=()) -> Report:
    tritree, other = (
        Measurement("tritree", (0.5, 0.6, 0.7), other_load=other_load),
        Measurement("LightGBM", (0.3,)),
    )
    row = Row("fit-complete", "10 x 2", [tritree, other], compare(tritree, [other], 1.0), ["A note."])
    options = {"quick": False, "everything": True, "names": list(CASES), "threads": 2, "rounds": 3, "seed": 0}
    machine = {"processor": "a processor", "processors": 2, "memory": "1 GiB", "system": "Linux"}
    about = {"date": "2000-01-01", "commit": "abc", "finished": True, "seconds": 1.0, "options": options}
    return Report(about | {"machine": machine, "versions": {"numpy": "2"}}, [row])


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(1.234, "s", "1.23 s"), (0.0123, "s", "12.3 ms"), (4.5e-5, "s", "45.0 µs"), (2**20 * 150.0, "B", "150 MiB"),
     (0.00001, "x", "1.0e-05 x"), (1.05, "", "1.05")],
)  # fmt: skip
def test_a_quantity_has_three_digits_and_a_unit_prefix(value, unit, text) -> None:
    assert quantity(value, unit) == text


def test_a_missed_goal_is_reported_as_no() -> None:
    found = report()
    [cells] = summary(found.rows)
    assert cells == ("fit-complete", "10 x 2", "600 ms", "LightGBM, 300 ms", "2.00 x", "≤ 1 x", "NO")
    assert found.conclusion.startswith("0 of 1 goals")


def test_a_disturbed_row_is_not_judged() -> None:
    found = report(other_load=(0.0, 0.9, 0.0))
    assert summary(found.rows)[0][-1] == "busy"
    assert found.conclusion.startswith("No goal was judged")


def test_json_holds_samples_and_verdicts() -> None:
    [row] = json.loads(to_json(report()))["rows"]
    assert row["measurements"][0]["samples"] == [0.5, 0.6, 0.7]
    assert row["verdicts"][0]["met"] is False


def test_ctrl_c_keeps_finished_benchmarks(tmp_path, monkeypatch, capsys) -> None:
    def finished(_run):
        yield Row("author", "work", [Measurement("tritree", (1.0,))])

    def interrupted(_run):
        raise KeyboardInterrupt
        yield

    monkeypatch.setitem(CASES, "author", finished)
    monkeypatch.setitem(CASES, "scaling", interrupted)
    assert main(["author", "scaling", "--json", str(tmp_path / "out.json")]) == 130
    content = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert [row["case"] for row in content["rows"]] == ["author"]
    assert content["finished"] is False
    assert "INTERRUPTED" in capsys.readouterr().out


def test_an_unknown_benchmark_is_an_error_that_lists_the_known_ones(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["fit-everything"])
    assert "fit-complete" in capsys.readouterr().err
