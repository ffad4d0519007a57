"""The what-if page holds the trees within its limit, grown in a copy for its rows and for missing values."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boosting.tables import HOLED, ROWS, TABLE, boosted
from forest.grown import grown

from tritree.errors import GrowthLimitError

MODELS = {
    "boosting": lambda: boosted("two classes", split_penalty=0),
    "forest": lambda: grown("regression", min_missing_third=0),
}


def packed(page: str) -> list[dict[str, Any]]:
    """Return the trees of a page."""
    found = re.search(r'<script id="trees" type="text/plain">(.*?)</script>', page, re.S)
    assert found is not None
    trees: list[dict[str, Any]] = json.loads(zlib.decompress(base64.b64decode(found[1])))["trees"]
    return trees


def data_of(page: str) -> dict[str, Any]:
    """Return the data of a page besides the trees."""
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def n_nodes(page: str) -> int:
    return sum(len(tree["split"]) for tree in packed(page))


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Any:
    return MODELS[request.param]()


def test_branches_grow_in_a_copy_for_rows_and_for_more_missing_values(model: Any) -> None:
    before = model.n_nodes_
    complete, missing = TABLE.head(20), HOLED.head(20)
    sizes = [
        n_nodes(model.to_html()),
        n_nodes(model.to_html(rows=complete)),
        n_nodes(model.to_html(rows=missing)),
    ]
    assert before < sizes[0] < sizes[1] < sizes[2]
    assert model.n_nodes_ == before


@pytest.mark.parametrize("max_nodes", [0, 40, 400])
def test_page_has_the_fitted_nodes_and_no_more_than_max_nodes(model: Any, max_nodes: int) -> None:
    limit = model.n_nodes_ + max_nodes
    page = model.to_html(rows=ROWS.head(20), max_nodes=limit)
    assert model.n_nodes_ <= n_nodes(page) <= limit


def test_nodes_that_were_grown_before_give_way_to_those_that_the_rows_need(model: Any) -> None:
    fitted, rows = model.n_nodes_, HOLED.head(3)
    needed = n_nodes(model.to_html(rows=rows, max_nodes=100_000))
    model.predict(HOLED)
    assert model.n_nodes_ > fitted + 200
    page = model.to_html(rows=rows, max_nodes=fitted + 200)
    assert fitted < n_nodes(page) <= fitted + 200 < needed
    names = [name for tree in packed(page) for name in tree["names"] or []]
    assert max(names) >= fitted / len(packed(page))


def test_error_names_the_limit_that_the_fitted_trees_exceed(model: Any) -> None:
    with pytest.raises(
        GrowthLimitError, match=r"more than max_nodes=10; raise max_nodes, .*to_html\(tree=0\)"
    ):
        model.to_html(max_nodes=10)
    with pytest.raises(ValueError, match="max_nodes must be"):
        model.to_html(max_nodes=0)


def test_looking_at_a_detached_model_counts_nothing(model: Any) -> None:
    page = model.detach().to_html(rows=ROWS.head(10))
    assert model.n_ungrown_hits_ == 0
    assert data_of(page)["detached"]
    assert n_nodes(page) == model.n_nodes_


def test_page_is_written_whole_and_too_many_rows_are_refused(model: Any, tmp_path: Path) -> None:
    assert model.to_html(tmp_path / "page.html", rows=ROWS.head(3)) is None
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page == model.to_html(rows=ROWS.head(3))
    assert [row["name"] for row in data_of(page)["rows"]] == ["row 0", "row 1", "row 2"]
    with pytest.raises(ValueError, match="at most 1,000 rows"):
        model.to_html(rows=[[0.0] * 5] * 1_001)


def test_typical_values_are_in_the_middle_and_frequent() -> None:
    table = TABLE.assign(city=np.where(TABLE["city"] == "Rome", "Rome", "Oslo"))
    columns = {
        column["name"]: column
        for column in data_of(boosted("regression", table, split_penalty=0).to_html())["columns"]
    }
    assert abs(columns["number"]["typical"]) < 0.7
    assert columns["city"]["labels"][columns["city"]["typical"]] == "Oslo"
    low, high = columns["number"]["range"]
    assert low < min(columns["number"]["tried"][1:]) < max(columns["number"]["tried"]) < high


def test_page_of_a_strategy_without_third_branches_has_the_fitted_nodes() -> None:
    for missing in ("mia", "majority", "fractional", "surrogate"):
        forest = grown("regression", HOLED, missing=missing)
        assert n_nodes(forest.to_html(rows=ROWS.head(5))) == forest.n_nodes_
