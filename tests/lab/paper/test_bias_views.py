"""The table, the text and the plot of biases show what was simulated and derived, and refuse what they cannot show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tritree.lab.paper.bias import (
    STRATEGIES,
    bias_table,
    bias_text,
    expected,
    limits,
    plot_bias,
    printed,
    route_probabilities,
    simulate,
)

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def table() -> Any:
    return bias_table(q=[0.2, 0.6], n=20, repeats=60)


def test_table_has_a_line_for_each_strategy_q_and_parameter(table: Any) -> None:
    lines = table[["strategy", "q", "parameter"]].itertuples(index=False, name=None)
    assert list(lines) == [
        (s, q, parameter) for s in STRATEGIES for q in (0.2, 0.6) for parameter in ("a", "b")
    ]


def test_table_has_means_and_standard_errors_of_what_was_simulated(table: Any) -> None:
    sample = simulate("mia", q=0.6, n=20, repeats=60)["b"]
    line = table.query("strategy == 'mia' and q == 0.6 and parameter == 'b'").iloc[0]
    assert line["simulated"] == pytest.approx(sample.mean())
    assert line["error"] == pytest.approx(sample.sem())
    assert line["z"] == pytest.approx((line["simulated"] - line["expected"]) / line["error"])


def test_table_has_the_formulas(table: Any) -> None:
    line = table.query("strategy == 'majority' and q == 0.6 and parameter == 'a'").iloc[0]
    example = {"p": 0.3, "q": 0.6, "n": 20, "noise": 0.5}
    paper = printed("majority", **example)
    assert line["expected"] == expected("majority", **example).a
    assert line["limit"] == limits("majority", p=0.3, q=0.6).a
    assert (line["printed"], line["bound"]) == (paper.estimate.a, paper.bound.a)


def test_formulas_that_the_paper_does_not_print_are_nan(table: Any) -> None:
    silent = table[table["strategy"].isin(["surrogate", "trinary_mia"])]
    assert silent[["printed", "bound"]].isna().all(axis=None)


def test_z_is_nan_if_all_simulated_estimates_are_equal() -> None:
    lines = bias_table(["majority", "trinary"], q=0.01, n=4, noise=0, repeats=3).set_index(
        ["strategy", "parameter"]
    )
    assert np.isnan(lines.loc[("majority", "b"), "z"])
    assert lines.loc[("trinary", "b"), "z"] == 0


class Counted:
    """A progress bar that counts: the totals and the finished steps by unit."""

    def __init__(self) -> None:
        self.totals: dict[str, int] = {}
        self.done: dict[str, int] = {}

    @contextmanager
    def __call__(self, total: int, unit: str) -> Iterator[Callable[[], None]]:
        assert self.totals == self.done  # one after the other: a terminal shows one bar
        self.totals[unit], self.done[unit] = total, 0

        def step() -> None:
            self.done[unit] += 1

        yield step


def test_each_formula_and_each_simulated_table_is_reported_when_it_is_done() -> None:
    counted = Counted()
    bias_table(["trinary", "mia"], q=[0.1, 0.2], n=10, repeats=7, progress=counted)
    assert counted.totals == counted.done == {"formulas": 4, "tables": 14}


def test_text_is_aligned_and_has_all_lines(table: Any) -> None:
    first, *blocks = bias_text(table).split("\n\n")
    assert first.splitlines()[0] == "q = 0.2, p = 0.3, noise = 0.5: 60 tables of 20 rows"
    head, *lines = first.splitlines()[1:]
    assert len(lines) == 12
    end = head.index("expected") + len("expected")
    assert all(line[end - 1].isdigit() and line[end : end + 2] == "  " for line in lines)
    assert len(blocks) == 2


def test_text_of_an_empty_table(table: Any) -> None:
    assert bias_text(table.head(0)) == "no estimates"


# ---------------------------------------------------------------------------------------------------------------- plot


@pytest.fixture
def plt() -> Any:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    yield plt
    plt.close("all")


def test_plot_has_a_panel_for_a_and_one_for_b(table: Any, plt: Any) -> None:
    panels = plot_bias(table)
    assert [panel.get_title(loc="left") for panel in panels] == ["a = 0, left", "b = 1, right"]
    panels[0].figure.canvas.draw()


def test_plot_has_the_colours_of_every_other_figure(table: Any, plt: Any) -> None:
    from tritree.lab.figures import method_styles

    for panel in plot_bias(table):
        drawn = {bar.get_label(): bar.lines[0] for bar in panel.containers}
        found = {name: (line.get_color(), line.get_marker()) for name, line in drawn.items()}
        assert found == {
            name: (style.colour, style.marker) for name, style in method_styles(STRATEGIES).items()
        }


def test_plot_lists_all_strategies_and_what_is_printed(table: Any, plt: Any) -> None:
    _, panel = plot_bias(table)
    assert [text.get_text() for text in panel.get_legend().texts] == [*STRATEGIES, "majority,\nas printed"]


def test_points_of_the_plot_are_the_simulated_biases(table: Any, plt: Any) -> None:
    panels = plot_bias(table)
    for panel, parameter in zip(panels, ("a", "b"), strict=True):
        for strategy, points in zip(STRATEGIES, panel.containers, strict=True):
            lines = table[(table["strategy"] == strategy) & (table["parameter"] == parameter)]
            np.testing.assert_allclose(
                points.lines[0].get_ydata().astype(float), lines["simulated"] - lines["truth"]
            )


@pytest.mark.parametrize("n", [20, 110])  # drawn finely, and through the points of the table
def test_lines_of_the_plot_are_the_expected_biases(plt: Any, n: int) -> None:
    table = bias_table("mia", q=[0.4, 0.2], n=n, repeats=3)
    for panel, truth, parameter in zip(plot_bias(table), (0, 1), ("a", "b"), strict=True):
        x, y = panel.lines[0].get_data()
        lines = table[table["parameter"] == parameter]
        np.testing.assert_allclose(np.interp(lines["q"], x, y), lines["expected"] - truth, atol=1e-12)


def test_plot_is_drawn_on_the_passed_axes(table: Any, plt: Any) -> None:
    _, axes = plt.subplots(2, 1)
    assert list(plot_bias(table, axes)) == list(axes)
    assert len(plt.get_fignums()) == 1


def test_single_axes_are_refused(table: Any, plt: Any) -> None:
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="axes must be two, one for a and one for b, got 1"):
        plot_bias(table, axes=ax)


def test_plot_of_several_examples_is_refused(table: Any, plt: Any) -> None:
    both = pd.concat([table, table.assign(p=0.5)])
    with pytest.raises(
        ValueError, match=r"a plot shows one p, the table has \[0.3, 0.5\]; select its rows first"
    ):
        plot_bias(both)


# ----------------------------------------------------------------------------------------------------- what is refused

EXAMPLE: dict[str, Any] = {"p": 0.3, "q": 0.4, "n": 10}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"p": 0}, "p, the probability of right, must lie between 0 and 1, got 0"),
        ({"p": float("nan")}, "p, the probability"),
        ({"q": 1.0}, "q, the probability of missing, must be at least 0 and below 1, got 1.0"),
        ({"n": 1}, "n must be an integer of at least 2 rows"),
        ({"n": 10.5}, "n must be an integer of at least 2 rows"),
        ({"n": True}, "n must be an integer of at least 2 rows"),
        ({"noise": -1}, "noise must be a standard deviation of at least 0, got -1"),
        ({"a": 1.0}, "a and b must differ, both are 1.0"),
        ({"b": float("inf")}, "b must be a finite number, got inf"),
        ({"n": 10_000}, "too many for exact sums"),
        ({"n": 2, "q": 0.999999}, "both sides are observed in .* of the tables only"),
    ],
)
def test_wrong_number_is_refused_with_its_name(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        expected("mia", **(EXAMPLE | wrong))


@pytest.mark.parametrize("ask", [expected, limits, route_probabilities, printed, simulate])
def test_unknown_strategy_is_refused_and_the_valid_ones_are_listed(ask: Any) -> None:
    with pytest.raises(ValueError, match=r"strategy must be one of trinary, .*, got 'mean'"):
        ask("mean", **({"p": 0.3, "q": 0.4} if ask is limits else EXAMPLE))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"repeats": 0}, "repeats must be an integer of at least 1, got 0"),
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
        (
            {"n": 3, "q": 0.999},
            "both sides are observed in .* of the tables only; use more rows or a smaller q",
        ),
        ({"strategies": []}, "no strategy was given; there are majority"),
    ],
)
def test_invalid_simulation_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simulate(**wrong)


def test_formula_with_too_many_rows_is_refused_before_trees_are_fitted() -> None:
    counted = Counted()
    with pytest.raises(ValueError, match=r"n = 10,000 rows are too many .* for 'mia' \(at most 5,000\)"):
        bias_table(["trinary", "mia"], n=10_000, progress=counted)
    assert "tables" not in counted.totals
