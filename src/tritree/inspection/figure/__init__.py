"""The tree drawn with matplotlib: a box per node, its daughters below it, its third branch dotted to its right."""

from __future__ import annotations

from typing import Any

from tritree.inspection.axes import check_axes, plt
from tritree.inspection.figure.picture import Picture
from tritree.inspection.layout import MAX_NODES
from tritree.inspection.node_selection import choose
from tritree.validation import check_int

__all__ = ["draw_tree"]

_MOST = 200.0  # inches of a new figure; more cannot be saved at 300 dpi


def draw_tree(
    tree: dict[str, Any],
    ax: Any = None,
    *,
    max_depth: int | None = None,
    max_nodes: int | None = MAX_NODES,
    digits: int = 4,
    caption: bool = True,
) -> Any:
    """Return the ``Axes`` on which a description of `describe` has been drawn, a new one unless one is given.

    The options are those of `draw_text`. Nodes show how their responses are spread if `add_spread` has told it.
    """
    check_int("max_depth", max_depth, 0, or_none="draws every depth")
    check_int("max_nodes", max_nodes, 1, or_none="draws everything")
    check_int("digits", digits, 1)
    check_axes(ax)
    picture = Picture(tree, choose(tree["nodes"], max_depth, max_nodes), int(digits), caption)
    if ax is None:
        scale = min(1.0, _MOST / picture.width, _MOST / picture.height)
        size = scale * picture.width, scale * picture.height
        ax = plt.figure(figsize=size, layout="none").add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    ax.set(xlim=(0, picture.width), ylim=(picture.height, 0), aspect="equal", adjustable="box")
    for artist in picture.artists():
        ax.add_artist(artist)
    return ax
