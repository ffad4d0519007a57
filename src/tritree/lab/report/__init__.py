"""One page about an experiment: figures, tables, tests, scenarios; nothing is fetched, nothing else can run."""

from __future__ import annotations

import html
import sys
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import pandas as pd

from tritree.files import check_place, write_whole
from tritree.inspection.html import policy_hash
from tritree.lab.ranks import checked
from tritree.lab.report.sections import sections, size

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tritree.lab.ranks.averages import Reading

__all__ = ["draw_report", "write_report"]

TITLE = "Methods for missing values, compared"


def write_report(
    results: pd.DataFrame,
    path: Any,
    *,
    title: str = TITLE,
    about: Mapping[str, Any] | None = None,
    reference: pd.DataFrame | None = None,
    reading: Reading | None = None,
) -> Path:
    """Return where the report of an experiment has been written: one HTML file that needs nothing else.

    Parameters
    ----------
    results : pandas.DataFrame
        As `tritree.lab.ranks.checked` describes them; ``fit_seconds`` and ``predict_seconds`` are shown if there.
    path : str or path-like
        Where to write it. The file is there in full or not at all.
    title : str
        What stands above it.
    about : mapping or None, default=None
        How the experiment was run, shown as it is; None takes ``results.attrs["about"]`` if that is there.
    reference : pandas.DataFrame or None, default=None
        Curves to draw beside ours; see `tritree.lab.figures.plot_panels`.
    reading : {"author", "text", "loss"} or None, default=None
        What is averaged; see `tritree.lab.ranks.excess`. None takes "author", or "loss" where there is one data set.

    Returns
    -------
    pathlib.Path
        The file.

    Examples
    --------
    >>> write_report(results, "report.html")  # doctest: +SKIP
    """
    place = check_place(path, "the report")
    page = draw_report(results, title=title, about=about, reference=reference, reading=reading)
    write_whole(place, page.encode("utf-8"))
    return place


def draw_report(
    results: pd.DataFrame,
    *,
    title: str = TITLE,
    about: Mapping[str, Any] | None = None,
    reference: pd.DataFrame | None = None,
    reading: Reading | None = None,
) -> str:
    """Return the report as the text of a page; the parameters are those of `write_report`."""
    from tritree import __version__

    if about is None:
        about = results.attrs.get("about", {})
    table = checked(results)
    folder = files("tritree.lab.report")
    style, script = ((folder / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    return Template((folder / "page.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(title),
        size=html.escape(size(table)),
        version=html.escape(__version__),
        sections="\n".join(sections(table, dict(about), _versions(), reference, reading)),
        style=style,
        style_hash=policy_hash(style),
        script=script,
        script_hash=policy_hash(script),
    )


def _versions() -> dict[str, str]:
    """Return what the report was made with, which need not be what the experiment was run with."""
    from tritree import __version__

    return {
        "tritree": __version__,
        "Python": ".".join(map(str, sys.version_info[:3])),
        "NumPy": np.__version__,
        "pandas": pd.__version__,
        "matplotlib": mpl.__version__,
    }
