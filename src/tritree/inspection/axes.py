"""Where figures are drawn: axes that are given must be such."""

from __future__ import annotations

from typing import Any

from tritree.errors import shortened

__all__ = ["check_axes"]


def check_axes(ax: Any) -> None:
    """Raise a TypeError unless a figure can be drawn there; None stands for axes that are yet to be made."""
    if ax is not None and not hasattr(ax, "add_artist"):
        raise TypeError(
            f"ax must be an Axes of matplotlib, got {shortened(ax)}; to save a picture, call figure.savefig of what "
            "is returned"
        )
