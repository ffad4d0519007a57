"""What-if page of many trees: one row, its prediction, the contributions of its columns, and the trees one by one."""

from __future__ import annotations

import base64
import zlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tritree.inspection.captions import TreeText, headline
from tritree.inspection.colours import NodeColours, class_colours
from tritree.inspection.formatting import ThresholdFormat, as_label, number_format
from tritree.inspection.html import (
    TREE_SCRIPTS,
    as_json,
    page_file,
    page_nodes,
    page_rows,
    render_page,
    split_page,
)
from tritree.inspection.node_selection import BRANCHES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tritree.inspection.page_columns import PageColumn
    from tritree.inspection.rows import Cell

_SCRIPTS = (*TREE_SCRIPTS, "trees", "ensemble", "bars", "what_if")
_DIGITS = 4
#: Children of a node that are none, as the page has them; others are given by their distance.
_ABSENT = {None: 0, "ungrown": -1, "left out": -2}
#: Fields of a split that only one way of handling missing values reads.
_READ_BY = {"left_fraction": "both", "larger_side": "surrogates"}


@dataclass(frozen=True)
class Ensemble:
    """Forest or boosting, as the page predicts with it."""

    #: Its title, and its text without scripts.
    title: str
    text: str
    classes: list[Any] | None
    #: From the sums or means over trees to predictions: "mean", or the name of a link.
    link: str
    #: Where sums start, one per output; zeros for a mean.
    baseline: list[float]
    #: Whether the second value of nodes is their contribution to the variance of the sum.
    has_variance: bool
    #: Names of the sums or means, one per class.
    value_names: list[str]
    #: Typical predictions, and sums or means: numbers are shown with as many digits as they need.
    predictions: list[float]
    values: list[float]
    detached: bool
    loss: str


def what_if_to_html(
    ensemble: Ensemble,
    trees: Iterable[tuple[dict[str, Any], Sequence[int]]],
    thresholds: Mapping[int, Iterable[float]],
    columns: Sequence[PageColumn],
    used: Mapping[int, int],
    rows: Sequence[tuple[str, Sequence[Cell]]],
) -> str:
    """Return the page, given the description of each tree and the numbers of its nodes to include.

    ``thresholds`` of all trees are given by column.
    """
    packer, classes = _Packer(columns, thresholds), ensemble.classes
    for tree, numbers in trees:
        packer.add(tree, numbers)
    data = {
        "title": ensemble.title,
        "terms": packer.terms,
        "loss": ensemble.loss.replace("_", " "),
        "classes": None if classes is None else [as_label(label) for label in classes],
        "colours": None if classes is None else class_colours(len(classes)),
        "detached": ensemble.detached,
        "link": ensemble.link,
        "baseline": ensemble.baseline,
        "has_variance": ensemble.has_variance,
        "value_names": ensemble.value_names,
        "number": _sample(ensemble.predictions),
        "value_number": _sample(ensemble.values),
        "columns": [column.described() | {"tried": column.tried()} for column in columns],
        "used": sorted(used, key=lambda j: (-used[j], j)),
        "rows": page_rows(columns, rows),
    }
    packed = as_json({"splits": packer.splits, "trees": packer.trees}).encode("ascii")
    deflated = base64.b64encode(zlib.compress(packed, 9)).decode("ascii")
    return render_page(
        data,
        ensemble.text,
        scripts=_SCRIPTS,
        styles=("page", "what_if"),
        form="whole many",
        tabs=page_file("tabs.html"),
        section=page_file("what_if.html"),
        trees=f'<script id="trees" type="text/plain">{deflated}</script>\n',
    )


def _sample(values: Sequence[float]) -> str:
    """Return a number with the digits that these numbers need."""
    text_of = number_format(values, _DIGITS)
    return text_of(max(values, key=abs))


class _Packer:
    """Trees as compact data: splits with their texts once for all trees, and of each tree one list per field."""

    def __init__(self, columns: Sequence[PageColumn], thresholds: Mapping[int, Iterable[float]]) -> None:
        self._columns, self._thresholds = columns, ThresholdFormat(thresholds, _DIGITS)
        self.splits: list[dict[str, Any]] = []
        self.trees: list[dict[str, Any]] = []
        #: The terms that describe the trees.
        self.terms: dict[str, str] = {}
        self._places: dict[str, int] = {}

    def add(self, tree: dict[str, Any], numbers: Sequence[int]) -> None:
        """Add some nodes of a tree, given its description."""
        text = TreeText(tree, numbers, _DIGITS, self._thresholds)
        described = [tree["nodes"][number] for number in numbers]
        nodes = page_nodes(tree, numbers, text, NodeColours(tree, described))
        self.terms = asdict(text.terms)
        self.trees.append(
            {
                "title": headline(tree),
                "names": None if len(numbers) == numbers[-1] + 1 else list(numbers),
                "split": [self._place(node, text) for node in described],
                "value": [number for node in nodes for number in node["value"]],
                "rows": [node["rows"] for node in nodes],
                "shown": [node["shown"] for node in nodes],
                "strength": [round(100 * node["strength"]) for node in nodes],
            }
            | {
                branch: [_distance(place, node[branch]) for place, node in enumerate(nodes)]
                for branch in BRANCHES
            }
        )

    def _place(self, node: dict[str, Any], text: TreeText) -> int:
        """Return the place of the split of a node; -1 if it is a leaf."""
        if node["split"] is None:
            return -1
        split = {
            name: value
            for name, value in node["split"].items()
            if _READ_BY.get(name) in (None, node["split"]["missing_to"])
        }
        place = self._places.setdefault(f"{split}{text.next_split(node)}", len(self.splits))
        if place == len(self.splits):
            self.splits.append(split_page(node | {"split": split}, self._columns, text))
        return place


def _distance(place: int, child: Any) -> int:
    """Return how far behind a node its child is."""
    return child - place if isinstance(child, int) else _ABSENT[child]
