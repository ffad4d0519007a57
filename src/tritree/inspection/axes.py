"""matplotlib, imported with a helpful error, and the check of the parameter ``ax``.

Whoever plots imports this module first.
"""

from __future__ import annotations

from typing import Any

from tritree.errors import shortened

try:
    from matplotlib import pyplot as plt
except ImportError as error:
    raise ImportError(
        f"plots need matplotlib, which cannot be imported ({error}); pip install tritree[plot]"
    ) from error

__all__ = ["check_axes", "plt"]


def check_axes(ax: Any) -> None:
    """Raise a TypeError unless ``ax`` is an Axes of matplotlib or None."""
    if ax is not None and not hasattr(ax, "add_artist"):
        raise TypeError(
            f"ax must be an Axes of matplotlib, got {shortened(ax)}; to save a picture, call figure.savefig of what "
            "is returned"
        )
