"""Model files, opened with words for what may be wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tritree.cli.messages import Mendable, working
from tritree.cli.tables import check_readable, kind_of

__all__ = ["one_tree", "open_model"]


def open_model(path: str, *, n_jobs: int | None = None, unknown_category: str | None = None) -> Any:
    """Return the model in a file, with what this command sets of it."""
    place = Path(path)
    if path == "-":
        raise Mendable("a model is read from a file, not from the standard input; name the file")
    check_readable(place, "model")
    if kind_of(place)[0] is not None:
        raise Mendable(f"{path!r} is a table, where a model is wanted: the model comes first, then the table")
    with working(f"opening {path!r}"):
        from tritree.files import load

        model = load(place)
    if n_jobs is not None:
        model.n_jobs = n_jobs
    if unknown_category is not None:
        model.unknown_category = unknown_category
    return model


def one_tree(model: Any, number: int | None) -> Any:
    """Return the tree to be looked at: the model itself, or one of its trees."""
    if hasattr(model, "to_text"):
        if number is not None:
            raise Mendable("the model is one tree; leave out --tree")
        return model
    if number is None:
        raise Mendable(
            f"the model has {model.n_trees_:,} trees; name one with --tree, from 0 to {model.n_trees_ - 1}"
        )
    if number >= model.n_trees_:
        raise Mendable(f"there is no tree {number}; they go from 0 to {model.n_trees_ - 1}")
    return model.member(number)
