"""Tables of results show their numbers, aligned in a terminal."""

from __future__ import annotations

import pytest
from experiments import simulated

pytest.importorskip("pandas")

from tritree.inspection.formatting import width_of
from tritree.lab.ranks import compare_methods, curves, losses, mean_ranks, omissions
from tritree.lab.ranks.significance import format_p
from tritree.lab.ranks.tables import (
    DisplayCell,
    DisplayTable,
    as_text,
    comparison_table,
    curves_tables,
    losses_tables,
    select_rates,
    time_tables,
)


def test_columns_of_text_tables_are_aligned_however_wide_letters_are() -> None:
    cells = [("方法", "1.5", True), ("a", "10.2", False)]
    rows = [[DisplayCell(name, name), DisplayCell(text, 1.0, best)] for name, text, best in cells]
    lines = as_text(DisplayTable("", ["method", "loss"], rows)).splitlines()
    assert [width_of(line[: line.index(".")]) for line in lines[1:]] == [10, 10]
    assert lines[1].endswith("1.5 *")


def test_text_shows_the_numbers_of_the_averages() -> None:
    table = simulated(2)
    text = as_text(*curves_tables(table))
    for point in curves(table).itertuples():
        assert f"{point.excess:z.3f}" in text


def test_tables_of_losses_show_every_loss() -> None:
    table = simulated(2, seeds=1)
    known = losses(table).set_index(["scenario", "dataset", "method", "rate"])["loss"]
    for shown in losses_tables(table):
        scenario, dataset = shown.title.removesuffix(": loss").split(", ")
        for row in shown.rows:
            for rate, cell in zip((0.0, 0.1, 0.5), row[1:], strict=True):
                assert cell.value == pytest.approx(known[scenario, dataset, row[0].text, rate])
    assert len(losses_tables(table)) == 4


def test_best_of_each_column_is_marked_and_ties_of_all_are_not() -> None:
    [shown, _] = curves_tables(simulated())
    marks = {shown.columns[j]: [row[j].best for row in shown.rows] for j in range(1, 4)}
    assert marks == {"0%": [False] * 3, "10%": [False, False, True], "50%": [False, False, True]}


def test_printed_results_say_what_was_tested() -> None:
    assert "Not tested: single data sets, rates and seeds." in " ".join(str(mean_ranks(simulated())).split())
    printed = str(compare_methods(simulated(1)))
    assert printed.startswith("Use trinary")
    assert "corrected resampled t-test" in " ".join(printed.split())


def test_names_cannot_move_the_cursor_of_a_terminal() -> None:
    evil = "a\x1b[2J\nb\u202e"
    table = simulated(2).replace(
        {"dataset": {"set 0": evil}, "method": {"mia": evil}, "scenario": {"im": evil}}
    )
    found = compare_methods(table, dataset=evil)
    printed = [str(mean_ranks(table)), str(found), as_text(*losses_tables(table), *curves_tables(table))]
    printed += [*omissions(table[table["rate"] > 0]), as_text(comparison_table(found), *time_tables(table))]
    for text in printed:
        assert all(sign.isprintable() or sign == "\n" for sign in text)
        assert evil not in text


def test_some_of_many_rates_are_selected() -> None:
    assert select_rates(simulated(1, rates=[0, 0.2, 0.4])) == [0.0, 0.2, 0.4]
    assert select_rates(simulated(1, rates=[i / 10 for i in range(10)])) == [0.0, 0.1, 0.3, 0.5, 0.7, 0.9]
    some = select_rates(simulated(1, rates=[i / 40 for i in range(20)]))
    assert (len(some), some[0], some[-1]) == (6, 0.0, 19 / 40)


def test_seconds_are_means_and_may_be_absent() -> None:
    [shown] = time_tables(simulated())
    assert [cell.text for cell in shown.rows[0]] == ["mcar", "majority", "250.00 ms", "2.00 ms"]
    assert time_tables(simulated().drop(columns="fit_seconds")) == []


def test_p_values_have_three_decimals() -> None:
    assert [format_p(p) for p in (0.03125, 0.0002, float("nan"))] == ["0.031", "<0.001", "–"]
    assert [format_p(p, prefix=True) for p in (0.5, 0.0002)] == ["p = 0.500", "p < 0.001"]
