"""The page holds what rows with few missing values need, says what it leaves out, and trusts no text."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models import STRATEGIES, fitted, predictions, simulated, with_missing
from sklearn import config_context
from sklearn.base import clone

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor
from tritree.inspection.node_selection import select_by_missing

pd = pytest.importorskip("pandas")


def data_of(page: str) -> dict[str, Any]:
    """Return the data that is in a page."""
    [text] = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def thirds_above(tree: dict[str, Any]) -> list[int]:
    """Return for each node how many third branches lead to it."""
    n_thirds = [0] * len(tree["nodes"])
    for number, node in enumerate(tree["nodes"]):
        for branch in ("left", "right", "third"):
            if isinstance(node[branch], int):
                n_thirds[node[branch]] = n_thirds[number] + (branch == "third")
    return n_thirds


def test_page_is_written_to_a_file_or_returned(tmp_path: Path) -> None:
    model = fitted(*simulated(200))
    path = tmp_path / "tree.html"
    assert model.to_html(path) is None
    assert path.read_text(encoding="utf-8") == model.to_html()
    assert [file.name for file in tmp_path.iterdir()] == ["tree.html"]


def test_place_that_cannot_be_written_is_refused_before_the_tree_grows(tmp_path: Path) -> None:
    model = fitted(*simulated(200))
    before = model.n_nodes_
    with pytest.raises(FileNotFoundError, match="no folder"):
        model.to_html(tmp_path / "nowhere" / "tree.html")
    with pytest.raises(IsADirectoryError, match="save the page in"):
        model.to_html(tmp_path)
    assert model.n_nodes_ == before


def test_small_tree_is_grown_in_full_and_is_all_in_the_page() -> None:
    model = fitted(*simulated(200, 3))
    data = data_of(model.to_html())
    assert len(data["nodes"]) == model.grow_all().n_nodes_
    children = [node[branch] for node in data["nodes"] for branch in ("left", "right", "third")]
    assert "ungrown" not in children
    assert "left out" not in children


@pytest.mark.parametrize("max_nodes", [1, 10, 40, 100])
def test_rows_with_fewer_missing_values_come_first(max_nodes: int) -> None:
    X, y = simulated(300, 5)
    model = fitted(X, y)
    data = data_of(model.to_html(max_nodes=max_nodes))
    assert len(data["nodes"]) == max_nodes
    shown = np.array(thirds_above(data))
    assert shown.tolist() == sorted(shown)
    whole = np.array(thirds_above(model.grow_all().to_dict()))
    for level in range(shown.max()):  # all but the last are there in full
        assert (shown == level).sum() == (whole == level).sum()


def test_growing_for_a_page_changes_no_prediction() -> None:
    X, y = simulated(300, 5, missing=0.1)
    model, other = fitted(X, y), fitted(X, y)
    model.to_html(max_nodes=150)
    np.testing.assert_array_equal(predictions(model, with_missing(X)), predictions(other, with_missing(X)))


def test_nodes_that_given_rows_need_are_in_a_page_however_small() -> None:
    X, y = simulated(300, 6)
    rows = np.full((1, 6), np.nan)
    rows[0, 5] = 1.0
    model = fitted(X, y)
    path = {step.to for step in model.explain(rows)[0].path}
    data = data_of(model.to_html(rows=rows, max_nodes=len(path) + 1))
    assert {int(node["name"]) for node in data["nodes"]} == path | {0}


def test_wanted_nodes_come_with_all_above_them() -> None:
    tree = fitted(*simulated(300, 4)).grow_all().to_dict()
    last = len(tree["nodes"]) - 1
    chosen = select_by_missing(tree["nodes"], 20, [last])
    assert last in chosen
    places = {number: place for place, number in enumerate(chosen)}
    for number in chosen:
        above = [
            n
            for n, node in enumerate(tree["nodes"])
            if number in (node["left"], node["right"], node["third"])
        ]
        assert all(places[n] < places[number] for n in above)


def test_more_rows_than_a_page_lists_are_refused() -> None:
    X, y = simulated(1_001)
    model = fitted(X, y)
    with pytest.raises(
        ValueError, match=r"at most 1,000 rows, got 1,001; choose some, such as rows\[:1000\]"
    ):
        model.to_html(rows=X)


def test_rows_are_listed_by_the_labels_of_their_table() -> None:
    X, y = simulated(100, 2)
    table = pd.DataFrame(X, columns=["a", "b"], index=[f"case {i}" for i in range(100)])
    data = data_of(fitted(table, y).to_html(rows=table.head(2)))
    assert [row["name"] for row in data["rows"]] == ["row case 0", "row case 1"]
    np.testing.assert_array_equal([row["cells"] for row in data["rows"]], X[:2])
    plain = data_of(fitted(X, y).to_html(rows=X[:2]))
    assert [row["name"] for row in plain["rows"]] == ["row 0", "row 1"]


def test_cells_of_rows_are_numbers_categories_or_missing() -> None:
    n = 200
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "city": rng.choice(["Rome", "Oslo", "Bern"], n),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n), ["S", "M", "L"], ordered=True),
        }
    )
    model = TrinaryTreeRegressor(max_depth=2).fit(table, rng.normal(size=n) + (table["city"] == "Rome"))
    rows = pd.DataFrame(
        {"x": [1.5, None], "city": ["Rome", "Paris"], "size": pd.Categorical(["L", None], ["S", "M", "L"])}
    )
    data = data_of(model.to_html(rows=rows))
    labels = [column["labels"] for column in data["columns"]]
    assert labels[0] is None
    assert labels[2] == ["S", "M", "L"]
    first, second = (row["cells"] for row in data["rows"])
    assert first == [1.5, labels[1].index("Rome"), 2]
    assert second == [None, -2, None]  # missing, not seen in training, missing


@pytest.mark.parametrize("missing", STRATEGIES)
def test_detached_trees_are_shown_as_they_are(missing: str) -> None:
    X, y = simulated(200, 4, missing=0.1)
    model = fitted(X, y, missing=missing).detach()
    data = data_of(model.to_html())
    assert data["detached"]
    assert len(data["nodes"]) == model.n_nodes_
    assert all(len(node["distribution"]) == 16 for node in data["nodes"])


def test_user_text_cannot_end_the_data_nor_become_markup() -> None:
    n = 100
    evil = "</script><script>alert(1)</script>"
    table = pd.DataFrame(
        {evil: np.arange(n), "$data ${x} & <b>": np.where(np.arange(n) < 50, evil, "<img src=x>")}
    )
    labels = np.where(np.arange(n) < 50, "<i>yes</i>", '"no"')
    page = TrinaryTreeClassifier(max_depth=1).fit(table, labels).to_html(rows=table.head(1))
    assert page.count("<script") == page.count("</script>") == 2
    for text in ("<img", "<i>", "<b>", "alert(1)</script>"):
        assert text not in page
    assert data_of(page)["columns"][0]["name"] == evil


def test_page_names_no_other_place() -> None:
    page = fitted(*simulated(100)).to_html()
    urls = set(re.findall(r"https?://[^\s\"'`]+", page))
    assert urls == {"http://www.w3.org/2000/svg"}  # a name of SVG, not a place to fetch from
    assert not re.search(r"@import|url\(|<link(?![^>]*data:,)|<iframe", page)


def test_notebook_shows_the_diagram_before_fitting_and_the_tree_after_it() -> None:
    model = TrinaryTreeRegressor(max_depth=2)
    assert "sk-" in model._repr_html_()
    X, y = simulated(200, 3)
    before = model.fit(X, y).n_nodes_
    shown = model._repr_html_()
    assert shown.startswith("<iframe")
    assert model._repr_mimebundle_()["text/html"] == shown
    assert model.n_nodes_ == before  # to look at a tree does not grow it
    inner = html.unescape(re.findall(r'srcdoc="(.*?)"', shown, re.DOTALL)[0])
    assert data_of(inner)["nodes"][0]["third"] == "ungrown"
    assert 'class="compact"' in inner
    assert "sk-" in clone(model)._repr_html_()


def test_notebook_shows_text_if_scikit_learn_is_set_to() -> None:
    model = fitted(*simulated(100))
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert "text/html" not in model._repr_mimebundle_()
