"""All views of a tree say the same: the same nodes and branches, counts, values and rules.

Each view is read back into one form, `Seen` by path from the root, and compared with the others and with ``to_dict()``.
A new view needs a reader here, and an entry in ``VIEWS``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from dots import read_dot
from models import STRATEGIES, simulated, with_missing

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor

pd = pytest.importorskip("pandas")

N = 400
Path = tuple[str, ...]


@dataclass
class Seen:
    """What a view shows of a node or of a branch that is not grown."""

    rule: str = ""
    rows: str = ""
    weight: str = ""
    #: The mean; or the class and the probabilities.
    values: list[str] = field(default_factory=list)
    surrogates: str = ""
    #: What stands in the place of branches, or of the node itself.
    note: str = ""


# ------------------------------------------------------------------------------------------------ the readers


def read_text(tree: Any, **options: Any) -> dict[Path, Seen]:
    """What the text view shows: its lines, the branches by their signs."""
    lines = tree.to_text(**options).splitlines()
    begin = lines.index("") + 1
    headings = lines[begin].split()
    seen: dict[Path, Seen] = {}
    at: list[str] = []
    for line in lines[begin + 1 :]:
        if line.startswith("…"):
            break
        drawing, text = re.fullmatch(r"((?:│  |   )*(?:[├╰][─┄] |┊  )?)(.*)", line).groups()  # type: ignore[union-attr]
        depth = len(drawing) // 3
        if "┊" in drawing:
            seen[tuple(at[: depth - 1])].surrogates = text
            continue
        above = tuple(at[: depth - 1])
        if depth:
            first = "left" if (*above, "left") not in seen else "right"
            at = [*above, "third" if "┄" in drawing else first]
        seen[tuple(at)] = _cells(text, headings)
    return seen


def _cells(text: str, headings: list[str]) -> Seen:
    rule, *cells = re.split(r" {2,}", text)
    seen = Seen("" if rule == "all rows" else rule)
    if cells[0].startswith("not grown"):
        seen.note = cells[0]
        return seen
    if cells[-1] == "●":
        cells.pop()
    elif cells[-1].startswith("…"):
        seen.note = cells.pop()
    seen.rows = cells.pop(0)
    if "weight" in headings:
        seen.weight = cells.pop(0)
    if seen.rule:  # the root is no fraction of a parent
        cells.pop(0)
    seen.values = cells
    return seen


def read_graph(tree: Any, **options: Any) -> dict[Path, Seen]:
    """What the graph of Graphviz shows, from the root along its edges."""
    graph = read_dot(tree.to_dot(**options))
    seen: dict[Path, Seen] = {(): _node(graph.nodes["n0"], "")}
    stack: list[tuple[str, Path]] = [("n0", ())]
    while stack:
        name, path = stack.pop()
        sides = iter(("left", "right"))
        for (tail, head), rule in graph.edges.items():
            if tail != name:
                continue
            if head == f"{name}_missing":
                seen[path].surrogates = " ".join(graph.nodes[head])
            elif head == f"{name}_more":
                (seen[path].note,) = graph.nodes[head]
            else:
                branch = "third" if (tail, head) in graph.dotted else next(sides)
                seen[*path, branch] = _node(graph.nodes[head], rule)
                stack.append((head, (*path, branch)))
    return seen


def _node(lines: list[str], rule: str) -> Seen:
    if lines[0].startswith("not grown"):
        return Seen(rule, note=lines[0])
    rows, *values = lines
    weight = values.pop(0).removeprefix("weight ") if values[0].startswith("weight ") else ""
    if values[0].startswith("mean "):
        values = [values[0].removeprefix("mean ")]
    else:
        label, *probabilities = values
        values = [label.removeprefix("class "), *(probability.split()[-1] for probability in probabilities)]
    return Seen(rule, rows.split()[0], weight, values)


def read_description(tree: Any) -> dict[Path, Any]:
    """The nodes of ``to_dict()`` by their path; "ungrown" for branches that are not there."""
    nodes = tree.to_dict()["nodes"]
    found: dict[Path, Any] = {}
    stack: list[tuple[Any, Path]] = [(0, ())]
    while stack:
        number, path = stack.pop()
        found[path] = nodes[number] if isinstance(number, int) else number
        if isinstance(number, int):
            branches = [name for name in ("left", "right", "third") if nodes[number][name] is not None]
            stack.extend((nodes[number][name], (*path, name)) for name in branches)
    return found


def read_page(tree: Any) -> tuple[dict[Path, Any], list[list[Any]]]:
    """The nodes of the page by their path, "ungrown" for branches that are not there; and the labels of columns."""
    page = tree._to_page(max_nodes=tree.n_nodes_)
    [text] = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    data = json.loads(text)
    found: dict[Path, Any] = {}
    stack: list[tuple[Any, Path]] = [(0, ())]
    while stack:
        number, path = stack.pop()
        found[path] = data["nodes"][number] if isinstance(number, int) else number
        if isinstance(number, int):
            branches = [name for name in ("left", "right", "third") if found[path][name] is not None]
            stack.extend((found[path][name], (*path, name)) for name in branches)
    return found, [column["labels"] for column in data["columns"]]


VIEWS = {"text": read_text, "graph": read_graph}


# ------------------------------------------------------------------------------------------------ the trees


def classes_of(y: Any, n_classes: int) -> Any:
    cuts = np.quantile(y, np.arange(1, n_classes) / n_classes)
    return np.array([f"class {k}" for k in range(n_classes)])[np.digitize(y, cuts)]


def grown(n_classes: int = 0, *, weights: bool = False, demand: bool = True, **parameters: Any) -> Any:
    """A tree of two levels on a table with missing values, which has met other rows with missing values."""
    X, y = simulated(N, 4, missing=0.1)
    kind: Any = TrinaryTreeClassifier if n_classes else TrinaryTreeRegressor
    tree = kind(**({"max_depth": 2} | parameters))
    weight = 0.5 + np.arange(N) % 3 if weights else None
    tree.fit(X, classes_of(y, n_classes) if n_classes else 100 * y, sample_weight=weight)
    if demand:
        tree.predict(with_missing(X[:30]))
    return tree


def of_categories(**parameters: Any) -> Any:
    """A tree on a column of 40 categories, an ordered one and a number."""
    i = np.arange(800)
    table = pd.DataFrame(
        {
            "city": [f"city {k % 40:02}" for k in i],
            "size": pd.Categorical.from_codes(i // 7 % 3, ["S", "M", "L"], ordered=True),
            "age": (i * 37 % 100).astype(float),
        }
    )
    y = (i % 40) ** 1.5 + 20 * (i // 7 % 3) + (i * 37 % 100) / 5
    tree = TrinaryTreeRegressor(max_depth=3, **parameters).fit(table.mask(table.age < 5), y)
    tree.predict(table.head(50).assign(city=None))
    return tree


TREES = {
    "regression": grown,
    "two classes": lambda: grown(2),
    "three classes": lambda: grown(3),
    "many classes": lambda: grown(9),
    "categories": of_categories,
    "surrogates of categories": lambda: of_categories(missing="surrogate"),
    "single node": lambda: grown(max_depth=0),
    "single node of classes": lambda: grown(3, max_depth=0),
    "nothing on demand": lambda: grown(demand=False),
    "in full": lambda: grown(2).grow_all(),
    "detached": lambda: grown().detach(),
    "detached classes": lambda: grown(3).detach(),
    "weights": lambda: grown(2, weights=True),
    **{f"{missing}, regression": lambda m=missing: grown(missing=m) for missing in STRATEGIES},
    **{f"{missing}, classes": lambda m=missing: grown(2, missing=m, weights=True) for missing in STRATEGIES},
}


@pytest.fixture(scope="module", params=TREES)
def tree(request: pytest.FixtureRequest) -> Any:
    return TREES[request.param]()


# ------------------------------------------------------------------------------------------------ the claims


@pytest.mark.parametrize("options", [{}, {"digits": 17}, {"max_nodes": 4}, {"max_depth": 1}], ids=str)
def test_views_show_the_same(tree: Any, options: dict[str, Any]) -> None:
    text = read_text(tree, **{"max_nodes": None} | options)
    for read in VIEWS.values():
        assert read(tree, **{"max_nodes": None} | options) == text


def test_page_says_what_the_text_does(tree: Any) -> None:
    text, (page, _) = read_text(tree, max_nodes=None), read_page(tree)
    assert set(page) == set(text)
    for path, seen in text.items():
        if path:
            assert page[path[:-1]]["rules"][path[-1]] == seen.rule
        if seen.note:
            assert page[path] == "ungrown"
            continue
        assert f"{page[path]['rows']:,}" == seen.rows
        assert page[path].get("missing_rule", "") == seen.surrogates
        if len(seen.values) == 1:
            assert page[path]["shown"] == seen.values[0]
        else:
            label, *probabilities = seen.values
            best = max(probabilities, key=lambda probability: float(probability.rstrip("%")))
            assert page[path]["shown"] == f"{label} {best}"


def test_page_predicts_by_the_splits_that_there_are(tree: Any) -> None:
    page, labels = read_page(tree)
    for path, node in read_description(tree).items():
        if node == "ungrown":
            continue
        for key in ("depth", "rows", "weight", "loss", "value"):
            assert page[path][key] == node[key]
        assert (page[path]["split"] is None) == (node["split"] is None)
        if node["split"] is not None:
            same_split(page[path]["split"], node["split"], labels)


def same_split(shown: dict[str, Any], split: dict[str, Any], labels: list[list[Any]]) -> None:
    """The page's split is the tree's; categories are numbers there."""
    for key in ("column", "rule", "missing_to", "larger_side", "left_fraction", "threshold", "below"):
        assert shown.get(key) == split.get(key)
    if split["rule"] == "categories":
        for side in ("left", "right"):
            assert [labels[split["column"]][k] for k in shown[side]] == split[side]
    for mine, theirs in zip(shown.get("surrogates", []), split.get("surrogates", []), strict=True):
        same_split(mine, theirs, labels)


@pytest.mark.parametrize("view", VIEWS)
def test_view_shows_the_nodes_and_branches_that_there_are(tree: Any, view: str) -> None:
    seen, expected = VIEWS[view](tree, max_nodes=None), read_description(tree)
    assert set(seen) == set(expected)
    assert sum(node != "ungrown" for node in expected.values()) == tree.n_nodes_
    for path, node in expected.items():
        assert seen[path].note.startswith("not grown") == (node == "ungrown")


@pytest.mark.parametrize("view", VIEWS)
def test_view_shows_the_counts_and_values_that_there_are(tree: Any, view: str) -> None:
    seen, classes = VIEWS[view](tree, max_nodes=None), tree.to_dict()["classes"]
    for path, node in read_description(tree).items():
        if node == "ungrown":
            continue
        shown = seen[path]
        assert shown.rows == f"{node['rows']:,}"
        assert not shown.weight or shows(shown.weight, node["weight"])
        if classes is None:
            (value,) = shown.values
            assert shows(value, node["value"][0])
            continue
        best = int(np.argmax(node["value"]))
        label, *probabilities = shown.values
        assert label == classes[best]
        expected = node["value"] if len(probabilities) > 1 else [node["value"][best]]
        assert len(probabilities) in (1, len(classes))
        assert all(
            shows(probability, value) for probability, value in zip(probabilities, expected, strict=True)
        )


def shows(text: str, value: float) -> bool:
    """Whether a number is written rightly: off by half a unit of its last digit at most."""
    number = Decimal(text.rstrip("%").replace(",", ""))
    unit = 10.0 ** int(number.as_tuple().exponent)
    return abs(float(number) - (100 * value if text.endswith("%") else value)) <= 0.5000001 * unit


@pytest.mark.parametrize("view", VIEWS)
def test_view_shows_the_rules_that_there_are(tree: Any, view: str) -> None:
    seen = VIEWS[view](tree, max_nodes=None, digits=17)
    for path, node in read_description(tree).items():
        if node == "ungrown" or node["split"] is None:
            continue
        split = node["split"]
        for branch in ("left", "right"):
            follows(seen[*path, branch].rule, branch, split)
        assert ((*path, "third") in seen) == (split["missing_to"] == "third")
        stays = split["missing_branch"] == "none"
        assert (seen[path].surrogates != "") == (len(split["surrogates"]) > 0 or stays)
        assert seen[path].surrogates.startswith(
            f"{split['name']} missing: by "
            if split["surrogates"]
            else f"{split['name']} missing: stays" * stays
        )


def follows(rule: str, branch: str, split: dict[str, Any]) -> None:
    """A rule names its column, what holds there, and where missing values go."""
    assert rule.startswith(f"{split['name']} ")
    condition = rule.removeprefix(f"{split['name']} ")
    if split["rule"] == "threshold":
        sign, number = condition.replace(",", "").split()[:2]
        assert (sign, float(number)) == ("<" if branch == "left" else "≥", split["threshold"])
    elif split["rule"] == "order":
        assert condition.startswith(
            f"≤ {split['left'][-1]}" if branch == "left" else f"≥ {split['right'][0]}"
        )
    elif split["rule"] == "categories":
        listed = re.findall(r"city \d+", condition)
        assert listed == split[branch][: len(listed)]
        more = re.search(r"… (\d+) more", condition)
        assert len(listed) + (int(more[1]) if more else 0) == len(split[branch])
    else:
        assert condition == ("missing" if branch == split["missing_to"] else "observed")
        return
    to = split["missing_to"]
    if to == "surrogates" and not split["surrogates"]:
        to = split["larger_side"]
    assert rule.endswith(" or missing") == (to == branch)
    assert rule.endswith(" of each missing row") == (to == "both")
