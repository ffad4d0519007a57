"""Plots show what was counted, on the area that they were given, whatever names and missing values there are."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
import time
from collections import Counter
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models import simulated

import tritree
from tritree import TrinaryTreeRegressor
from tritree.inspection.missing_patterns import summarise_missing

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402


@pytest.fixture(autouse=True)
def figures_closed() -> Any:
    yield
    plt.close("all")


ROOT = Path(__file__).resolve().parents[2]


def table_with_missing(n_rows: int, n_columns: int, missing_rate: float, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n_rows, n_columns)) < missing_rate, np.nan, 1.0)


def panels(ax: Any) -> dict[str, Any]:
    return dict(zip(("patterns", "rows", "fractions", "together"), ax.child_axes, strict=False))


def labels(texts: Any) -> list[str]:
    return [text.get_text() for text in texts]


# ---- the summary of missing values


@pytest.mark.parametrize("n_columns", [1, 3, 64, 65, 150])
@pytest.mark.parametrize("missing_rate", [0.0, 0.02, 0.5, 1.0])
def test_summary_agrees_with_counting_row_by_row(n_columns: int, missing_rate: float) -> None:
    X = table_with_missing(300, n_columns, missing_rate)
    X[:100, :1] = X[100:200, :1]
    found = summarise_missing(X, max_patterns=None)
    missing = np.isnan(X)
    assert found["rows"] == 300
    assert [column["missing"] for column in found["columns"]] == missing.sum(axis=0).tolist()
    counted = Counter(tuple(np.flatnonzero(row).tolist()) for row in missing)
    assert {tuple(pattern["columns"]): pattern["rows"] for pattern in found["patterns"]} == counted
    assert found["n_patterns"] == len(counted)
    order = [(-pattern["rows"], len(pattern["columns"])) for pattern in found["patterns"]]
    assert order == sorted(order)


def test_correlations_are_those_of_the_missing_cells() -> None:
    X = table_with_missing(500, 6, 0.3)
    X[:, 1] = np.where(np.arange(500) % 5 == 0, np.nan, X[:, 0])
    X[:, 2], X[:, 3] = 1.0, np.nan
    together = summarise_missing(X)["together"]
    assert together["columns"] == [0, 1, 4, 5]
    expected = np.corrcoef(np.isnan(X[:, together["columns"]]), rowvar=False)
    np.testing.assert_allclose(together["correlation"], expected, atol=1e-12)


def test_summary_is_plain_data_that_does_not_depend_on_the_order_of_rows() -> None:
    X = table_with_missing(200, 5, 0.2)
    found = summarise_missing(X)
    assert json.loads(json.dumps(found)) == found
    assert summarise_missing(X[::-1]) == found


def test_only_the_most_frequent_patterns_are_listed_and_all_are_counted() -> None:
    X = table_with_missing(300, 8, 0.5)
    everything, some = summarise_missing(X, max_patterns=None), summarise_missing(X, max_patterns=3)
    assert some["patterns"] == everything["patterns"][:3]
    assert some["n_patterns"] == everything["n_patterns"] > 3


def test_missing_is_what_it_is_to_the_estimators_in_every_library() -> None:
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    cells: dict[str, list[Any]] = {
        "number": [1.0, None, 3.0, None],
        "text": ["a", "", None, None],
        "flag": [True, None, False, None],
        "empty": [None] * 4,
    }
    expected = [("number", 2), ("text", 2), ("flag", 2), ("empty", 4)]
    for table in (pd.DataFrame(cells), pl.DataFrame(cells), pa.table(cells)):
        found = summarise_missing(table)
        assert [(column["name"], column["missing"]) for column in found["columns"]] == expected
    odd = pd.DataFrame(
        {"a": [pd.NA, 1, np.nan], "b": pd.array([1, None, 2], dtype="Int64"), "c": ["x", None, "x"]}
    )
    assert [column["missing"] for column in summarise_missing(odd)["columns"]] == [2, 1, 1]


def test_column_without_names_is_called_as_in_the_other_views() -> None:
    assert [column["name"] for column in summarise_missing([[1.0, None]])["columns"]] == ["x0", "x1"]


def test_columns_that_the_estimators_refuse_have_missing_values_too() -> None:
    day, span = datetime(2024, 5, 1), timedelta(hours=3)
    values = {"date": day, "span": span, "list": [1, 2], "record": {"a": 1}, "bytes": b"x"}
    data = {name: [None, value, None] for name, value in values.items()}
    for library in ("pandas", "polars", "pyarrow"):
        module = pytest.importorskip(library)
        table = (module.table if library == "pyarrow" else module.DataFrame)(data)
        assert [column["missing"] for column in summarise_missing(table)["columns"]] == [2] * 5, library


def test_dates_in_an_array_or_as_categories_have_missing_values_too() -> None:
    pd = pytest.importorskip("pandas")
    dates = np.array([["2024-05-01"], ["NaT"], ["NaT"]], dtype="M8[D]")
    assert summarise_missing(dates)["columns"][0]["missing"] == 2
    categories = pd.DataFrame({"day": pd.Categorical([date(2024, 5, 1), None, None])})
    assert summarise_missing(categories)["columns"][0]["missing"] == 2


# ---- the plot of missing values


def test_panels_show_patterns_rows_fractions_and_pairs() -> None:
    X = np.ones((10, 4))
    X[:3, 1] = X[:2, 2] = np.nan
    found = panels(tritree.plot_missing(X))
    assert labels(found["patterns"].get_yticklabels()) == ["x1", "x2"]
    assert [bar.get_height() for bar in found["rows"].patches] == [7, 2, 1]
    assert [text for text in labels(found["rows"].texts) if text] == ["7", "2", "1"]
    assert labels(found["fractions"].texts) == ["30%", "20%"]
    assert (
        labels(found["together"].texts)[0]
        == f"{100 * summarise_missing(X)['together']['correlation'][0][1]:.0f}"
    )
    # of three patterns of two columns, three cells are missing
    (cells,) = found["patterns"].collections
    colours = Counter(map(tuple, cells.get_facecolors().round(3).tolist()))
    assert sorted(colours.values()) == [3, 3]


def test_title_has_the_size_and_what_is_not_drawn() -> None:
    X = table_with_missing(100, 5, 0.2)
    X[:, 4] = 1.0
    title = tritree.plot_missing(X).get_title(loc="left")
    assert "100 rows × 5 columns: " in title
    assert "1 column without missing values" in title
    limited = tritree.plot_missing(X, max_columns=1, max_patterns=4)
    assert "… 3 more columns with fewer missing values" in limited.get_title(loc="left")
    assert "4 patterns, … " in panels(limited)["patterns"].get_xlabel()
    assert any(text.startswith("+") for text in labels(panels(limited)["patterns"].get_xticklabels()))


@pytest.mark.parametrize(
    ("shape", "missing_rate", "n_panels"),
    [
        ((50, 4), 0.0, 0),
        ((50, 4), 1.0, 3),
        ((50, 1), 0.3, 3),
        ((50, 60), 0.01, 4),
        ((1, 1), 1.0, 3),
        ((1, 1), 0.0, 0),
    ],
)
def test_any_table_can_be_drawn(shape: tuple[int, int], missing_rate: float, n_panels: int) -> None:
    ax = tritree.plot_missing(table_with_missing(*shape, missing_rate))
    ax.figure.canvas.draw()
    assert len(ax.child_axes) == n_panels
    assert ("no cell is missing" in ax.get_title(loc="left")) == (missing_rate == 0)


def test_given_area_is_used_and_everything_stays_within_it() -> None:
    pd = pytest.importorskip("pandas")
    figure, (ax, other) = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
    table = pd.DataFrame(table_with_missing(100, 4, 0.3), columns=["a", "name of a column", "c" * 60, "d"])
    assert tritree.plot_missing(table, ax, max_patterns=8) is ax
    assert len(figure.axes) == 2
    assert other.child_axes == []
    figure.canvas.draw()
    area = ax.get_window_extent()
    for panel in ax.child_axes:
        box = panel.get_tightbbox()
        assert box.x0 >= area.x0 - 1
        assert box.x1 <= area.x1 + 1
        assert box.y0 >= area.y0 - 1


@pytest.mark.parametrize("style", ["default", "ggplot"])
def test_own_figure_holds_all_of_the_picture(style: str) -> None:
    with plt.style.context(style):
        ax = tritree.plot_missing(table_with_missing(50, 5, 0.2), max_patterns=6)
        ax.figure.canvas.draw()
    for artist in (ax, *ax.child_axes):
        box = artist.get_tightbbox()
        assert min(box.x0, box.y0) >= 0
        assert box.x1 <= ax.figure.bbox.x1
        assert box.y1 <= ax.figure.bbox.y1


def test_names_are_no_formulas_and_have_an_end() -> None:
    pd = pytest.importorskip("pandas")
    names = ["$x^2", r"$\broken{$", "line\nbreak", "long " * 30 + "end"]
    ax = tritree.plot_missing(pd.DataFrame(table_with_missing(20, 4, 0.3), columns=names), max_patterns=2)
    ax.figure.canvas.draw()
    shown = labels(panels(ax)["patterns"].get_yticklabels())
    assert shown[:2] == names[:2]
    assert shown[2] == r'"line\nbreak"'
    assert len(shown[3]) <= 24
    assert shown[3].endswith("…")


def test_a_hundred_thousand_rows_of_sixty_columns_are_drawn_at_once() -> None:
    X = table_with_missing(100_000, 60, 0.1)
    begin = time.process_time()  # its own time: others may keep the processors busy
    tritree.plot_missing(X)
    assert time.process_time() - begin < 5  # about 0.6 s where nothing else runs


@pytest.mark.parametrize("option", ["max_patterns", "max_columns"])
def test_limit_that_cannot_be_is_refused(option: str) -> None:
    with pytest.raises(ValueError, match=f"{option} must be an integer of at least 1, got 0"):
        tritree.plot_missing([[1.0]], **{option: 0})


# -------------------------------------------------------------------------------------------------------- importances


def test_importances_are_bars_the_largest_first() -> None:
    X, y = simulated(400, 5)
    tree = TrinaryTreeRegressor(max_depth=3).fit(X, y)
    ax = plt.subplots()[1]
    assert tree.plot_importance(ax) is ax
    ranked = np.sort(tree.feature_importances_)[::-1]
    assert [bar.get_width() for bar in ax.patches] == ranked[ranked > 0].tolist()
    best = int(np.argmax(tree.feature_importances_))
    assert labels(ax.get_yticklabels())[0] == f"x{best}"
    top, bottom = (ax.transData.transform((0, place))[1] for place in (0, 1))
    assert top > bottom


def test_columns_beyond_the_limit_are_mentioned() -> None:
    X, y = simulated(400, 5)
    tree = TrinaryTreeRegressor(max_depth=3).fit(X, y)
    ax = tree.plot_importance(max_columns=2)
    assert len(ax.patches) == 2
    assert "… 3 more columns: " in ax.get_xlabel()
    with pytest.raises(ValueError, match="max_columns must be an integer of at least 1"):
        tree.plot_importance(max_columns=0)


def test_tree_without_a_split_has_no_bars_and_says_why() -> None:
    ax = TrinaryTreeRegressor(max_depth=0).fit([[1.0], [2.0]], [3.0, 5.0]).plot_importance()
    ax.figure.canvas.draw()
    assert len(ax.patches) == 0
    assert "no column reduces it" in ax.get_xlabel()


def test_names_of_important_columns_are_no_formulas() -> None:
    pd = pytest.importorskip("pandas")
    X, y = simulated(400, 2)
    table = pd.DataFrame(X, columns=[r"$\broken{$", "$cost$"])
    tree = TrinaryTreeRegressor(max_depth=3).fit(table, y)
    ax = tree.plot_importance()
    ax.figure.canvas.draw()
    assert set(labels(ax.get_yticklabels())) == set(table.columns)
    tree.explain(table.head(1))[0].plot().figure.canvas.draw()


def test_example_prints_three_predictions_side_by_side_and_saves_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pandas")
    monkeypatch.setattr(sys, "argv", ["importance.py", str(tmp_path)])
    runpy.run_path(str(ROOT / "examples" / "importance.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert re.search(r"^column +importance +permutation +reliance", printed, re.MULTILINE)
    assert len(re.findall(r"^\w+ +[\d.]+ +-?[\d.]+ +[\d.]+ +\d+%$", printed, re.MULTILINE)) == 10
    assert (tmp_path / "importance.png").stat().st_size > 1000


# ------------------------------------------------------------------------------------------------- without matplotlib


def test_matplotlib_stays_unimported_until_something_is_drawn() -> None:
    code = (
        "import sys, tritree\n"
        "tritree.plot_missing, tritree.inspection.missing_patterns.summarise_missing([[1.0, None]])\n"
        "tree = tritree.TrinaryTreeRegressor(max_depth=1).fit([[1.0], [2.0]], [1.0, 2.0])\n"
        "tree.to_dot(), tree.missing_reliance([[None]])\n"
        "assert not any(name.startswith('matplotlib') for name in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_absent_matplotlib_is_an_error_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("axes", "plots", "missing_plot"):
        monkeypatch.delitem(sys.modules, f"tritree.inspection.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install tritree\[plot\]"):
        tritree.plot_missing([[1.0, None]])
    with pytest.raises(ImportError, match=r"pip install tritree\[plot\]"):
        TrinaryTreeRegressor().fit([[1.0], [2.0]], [1.0, 2.0]).plot_importance()


@pytest.mark.parametrize("given", ["tree.png", 3], ids=str)
def test_what_is_no_axes_is_refused_with_the_way_to_save(given):
    X = np.arange(100.0)[:, None]
    tree = TrinaryTreeRegressor(max_depth=1).fit(X, X[:, 0] > 30)
    for draw in (
        tree.plot,
        tree.plot_importance,
        tree.explain(X[:1])[0].plot,
        lambda ax: tritree.plot_missing(X, ax),
    ):
        with pytest.raises(TypeError, match=r"ax must be an Axes of matplotlib, got .*savefig"):
            draw(given)
