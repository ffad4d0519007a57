"""The plot of robustness has a labelled line per method."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")

from tritree.lab.robustness import plot_robustness, spread_apart


def losses() -> pd.DataFrame:
    columns = {"ours": [1.0, 1.1, 1.2], "theirs": [0.9, 1.4, 1.9], "constant": [1.0, 1.1, 1.2]}
    return pd.DataFrame(columns, index=[0.0, 0.25, 0.5])


def test_each_method_is_a_line_with_its_name_at_the_end() -> None:
    ax = plot_robustness(losses(), highlight=["ours"])
    drawn = {tuple(np.round(line.get_ydata(), 6)) for line in ax.lines}
    assert drawn == {(1.0, 1.1, 1.2), (0.9, 1.4, 1.9)}
    assert len(ax.lines) == 3
    texts = {text.get_text(): text for text in ax.texts}
    assert set(texts) == {"ours", "theirs", "constant"}
    assert texts["ours"].get_color() != texts["theirs"].get_color()
    heights = sorted(text.xy[1] for text in texts.values())
    assert min(np.diff(heights)) > 0.05  # two lines coincide, their labels do not


def test_percentages_are_those_of_the_experiment() -> None:
    ax = plot_robustness(losses())
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0%", "25%", "50%"]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8).map(sorted))
def test_labels_are_apart_in_order_and_stay_where_there_is_room(positions: list[float]) -> None:
    found = spread_apart(np.array(positions), 0.05)
    assert (np.diff(found) >= 0.05 - 1e-12).all()
    assert found.mean() == pytest.approx(np.mean(positions))
    if (np.diff(positions) >= 0.05).all():
        assert found == pytest.approx(positions)
