"""Figures show what the tables say, in colours that everybody can tell apart, whatever the names are."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from experiments import paper_figure, paper_results, simulated

pd = pytest.importorskip("pandas")
matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.colors import to_rgb  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from tritree.lab.figures import method_styles, plot_curves, plot_ranks  # noqa: E402
from tritree.lab.ranks import curves, mean_ranks  # noqa: E402
from tritree.lab.ranks.names import METHODS  # noqa: E402


@pytest.fixture(autouse=True)
def figures_closed() -> Any:
    yield
    plt.close("all")


def lines(panel: Any) -> dict[str, Any]:
    """Return the points of each method by its name."""
    return {line.get_label(): line.get_xydata() for line in panel.lines if line.get_gid() != "reference"}


def dashed(panel: Any) -> list[Any]:
    return [line.get_xydata() for line in panel.lines if line.get_gid() == "reference"]


def legend_of(panels: Any) -> list[str]:
    [legend] = panels[0].figure.legends or [panels[-1].get_legend()]
    return [text.get_text() for text in legend.get_texts()]


# ------------------------------------------------------------------------------------------------------------- panels


def test_every_scenario_has_axes_whose_lines_are_the_curves() -> None:
    table = simulated()
    panels = plot_curves(table, names={})
    assert [panel.get_title() for panel in panels] == ["MCAR", "IM"]
    points = curves(table).set_index(["scenario", "method"])
    for panel, scenario in zip(panels, ("mcar", "im"), strict=True):
        for method, drawn in lines(panel).items():
            np.testing.assert_array_equal(drawn, points.loc[(scenario, method), ["rate", "excess"]])


def test_bands_span_the_means_of_the_seeds() -> None:
    table = simulated(scenarios=["mcar"], slopes={"mia": 1.0}, seeds=3)
    [panel] = plot_curves(table)
    [band] = panel.collections
    corners = band.get_paths()[0].vertices
    point = curves(table).set_index("rate").loc[0.5]
    assert {point["low"], point["high"]} <= set(corners[corners[:, 0] == 0.5][:, 1])
    assert not plot_curves(simulated(seeds=1))[0].collections


def test_methods_are_labelled_as_in_the_paper() -> None:
    table = simulated(slopes={"fractional": 1.0, "trinary_mia": 0.5, "LightGBM": 2.0})
    assert legend_of(plot_curves(table)) == ["FC", "TrinaryMIA", "LightGBM"]


def test_lines_that_coincide_are_named_and_both_are_seen() -> None:
    slopes = {"majority": 3.0, "mia": 1.0, "trinary": 1.0}
    panels = plot_curves(simulated(2, slopes=slopes, noise=0, scenarios=["mcar"]))
    assert [text.get_text() for text in panels[0].texts] == ["MIA = Trinary"]
    wide = {line.get_label(): line.get_linewidth() for line in panels[0].lines}
    order = [line.get_label() for line in panels[0].lines]
    assert order.index("MIA") < order.index("Trinary")
    assert wide["MIA"] > wide["Trinary"] == wide["Majority"]
    assert not plot_curves(simulated())[0].texts


def test_reference_is_drawn_dashed_in_its_scenario() -> None:
    table, figure = paper_results(), paper_figure()
    panels = plot_curves(table, figure)
    assert [len(dashed(panel)) for panel in panels] == [5, 3, 5]
    for panel in panels:  # the author's averages, and the figure rounded to six digits
        for ours, theirs in zip(
            sorted(lines(panel).values(), key=sum_of), sorted(dashed(panel), key=sum_of), strict=True
        ):
            np.testing.assert_allclose(ours, theirs, atol=1e-6)
    assert legend_of(panels)[-1] == "the paper"


def sum_of(points: Any) -> float:
    return float(points[:, 1].sum())


def test_reference_is_drawn_in_the_measure_of_the_curves() -> None:
    table = simulated(scenarios=["mcar"])
    reference = pd.DataFrame(
        {"scenario": "mcar", "missingness": [0.0, 0.5], "strategy": "mia", "excess_loss": [0.0, 0.7]}
    )
    [panel] = plot_curves(table, reference, measure="ratio")
    [points] = dashed(panel)
    assert points.tolist() == [[0.0, 1.0], [0.5, 1.7]]
    with pytest.raises(ValueError, match="holds excess losses"):
        plot_curves(table, reference, measure="loss")
    with pytest.raises(ValueError, match="no column 'strategy'"):
        plot_curves(table, reference.drop(columns="strategy"))


def test_panels_share_their_axis_unless_one_would_be_squeezed() -> None:
    alike = plot_curves(simulated())
    assert alike[0].get_ylim() == alike[1].get_ylim()
    table = simulated()
    apart = plot_curves(
        table.assign(loss=table["loss"] * np.where((table["scenario"] == "im") & (table["rate"] > 0), 20, 1))
    )
    assert apart[0].get_ylim()[1] < apart[1].get_ylim()[1] / 5


def test_all_points_are_within_their_panels() -> None:
    for panel in plot_curves(paper_results(), paper_figure()):
        low, high = panel.get_ylim()
        assert low == 0
        assert all((line.get_ydata() <= high).all() for line in panel.lines)


def test_missing_point_is_a_gap_in_the_line() -> None:
    table = simulated(1, scenarios=["mcar"], rates=(0.0, 0.1, 0.3, 0.5))
    without = table[(table["method"] != "mia") | (table["rate"] != 0.3)]
    [panel] = plot_curves(without, names={})
    assert np.isnan(lines(panel)["mia"][:, 1]).tolist() == [False, False, True, False]


def test_infinite_losses_leave_a_gap() -> None:
    table = simulated(1, scenarios=["mcar"])
    table.loc[(table["method"] == "mia") & (table["rate"] == 0.5), "loss"] = np.inf
    [panel] = plot_curves(table, names={})
    assert np.isnan(lines(panel)["mia"][-1, 1])
    panel.figure.canvas.draw()


def test_given_axes_are_used_and_too_few_are_refused() -> None:
    table = simulated()
    axes = Figure(figsize=(8, 3)).subplots(1, 2)
    assert plot_curves(table, axes=axes).tolist() == axes.tolist()
    assert legend_of(axes) == ["Majority", "MIA", "Trinary"]
    assert not plt.get_fignums()
    with pytest.raises(ValueError, match="2 scenarios to draw, and 1 axes; give 2 of them"):
        plot_curves(table, axes=Figure().subplots())


def test_results_without_rate_0_are_refused_with_a_remedy() -> None:
    table = simulated(rates=[0.1, 0.5])
    with pytest.raises(ValueError, match="run rate 0, too, or use measure='loss'"):
        plot_curves(table)
    assert len(plot_curves(table, measure="loss")) == 2


@pytest.mark.parametrize("name", ["_hidden", r"$\frac$", "a\nb", "x" * 60, "<b>&amp;"])
def test_odd_names_are_drawn_and_stay_in_the_figure(name: str) -> None:
    table = simulated(slopes={"trinary": 1.0, name: 2.0}, scenarios=["mcar", name])
    panels = plot_curves(table)
    figure = panels[0].figure
    figure.canvas.draw()
    [legend] = figure.legends
    whole = figure.bbox.padded(1)
    assert whole.containsx(legend.get_window_extent().x0)
    assert whole.containsx(legend.get_window_extent().x1)
    assert len([text for text in legend_of(panels) if text.strip()]) == 2
    plot_ranks(table)[0].figure.canvas.draw()


@pytest.mark.parametrize("n_scenarios", [1, 2, 3, 4, 7])
def test_any_number_of_scenarios_is_drawn(n_scenarios: int) -> None:
    table = simulated(2, scenarios=[f"scenario {i}" for i in range(n_scenarios)])
    panels = plot_curves(table)
    assert len(panels) == len(panels[0].figure.axes) == n_scenarios
    panels[0].figure.canvas.draw()
    below = [panel for panel in panels if panel.get_xlabel()]
    assert len(below) == min(n_scenarios, 3)
    assert all(any(label.get_text() for label in panel.get_xticklabels()) for panel in below)


# -------------------------------------------------------------------------------------------------------------- looks

# Machado, Oliveira and Fernandes (2009): what is seen without one of the three kinds of cones, in linear light
SIGHTS = {
    "all": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: str) -> Any:
    value = np.array(to_rgb(colour))
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(light: Any) -> Any:
    """Return a colour in CIE L*a*b*, where distances are about how different colours look."""
    x, y, z = np.cbrt(TO_XYZ @ np.clip(light, 1e-3, 1) / [0.9505, 1.0, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sight", SIGHTS)
def test_methods_of_the_paper_are_distinguishable_with_every_colour_vision(sight: str) -> None:
    seen = [
        lab(np.array(SIGHTS[sight]) @ linear(look.colour)) for look in method_styles(METHODS[:5]).values()
    ]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 12  # 2.3 can just be seen


def test_methods_with_alike_colours_have_other_markers() -> None:
    drawn = method_styles([*METHODS, *(f"own {i}" for i in range(8))]).values()
    assert len({(look.colour, look.marker) for look in drawn}) == 15
    assert len({look.marker for look in method_styles(METHODS).values()}) == 7


@pytest.mark.parametrize("paper", ["#ffffff", "#14171b", "#000000"])
def test_methods_are_visible_on_white_and_on_black(paper: str) -> None:
    light = [
        TO_XYZ[1] @ linear(colour) + 0.05
        for colour in (paper, *(look.colour for look in method_styles(METHODS).values()))
    ]
    assert min(max(light[0], other) / min(light[0], other) for other in light[1:]) > 2.5


# -------------------------------------------------------------------------------------------------------------- ranks


def test_dots_are_the_mean_ranks_best_above() -> None:
    ranks = mean_ranks(simulated())
    for panel, scenario in zip(plot_ranks(ranks, names={}), ("mcar", "im"), strict=True):
        table = ranks.table[ranks.table["scenario"] == scenario]
        dots = [line.get_xydata()[0].tolist() for line in panel.lines if line.get_marker() == "o"]
        assert dots == [[rank, place] for place, rank in enumerate(table["mean_rank"])]
        assert [label.get_text() for label in panel.get_yticklabels()] == table["method"].tolist()
        assert panel.yaxis_inverted()


def test_methods_that_differ_from_the_best_are_hollow() -> None:
    [panel] = plot_ranks(simulated(10, scenarios=["mcar"]))
    hollow = [
        line.get_markerfacecolor() == panel.get_facecolor()
        for line in panel.lines
        if line.get_marker() == "o"
    ]
    assert hollow == [False, True, True]


def test_one_data_set_has_dots_without_intervals() -> None:
    panels = plot_ranks(simulated(1))
    assert [len(panel.lines) for panel in panels] == [3, 3]


def test_figures_are_not_imported_with_the_tables() -> None:
    code = "import sys, tritree.lab.ranks.tables; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
