"""Report of an experiment: one HTML page with figures, tables and tests, which loads nothing from elsewhere."""

from __future__ import annotations

import html
import sys
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import pandas as pd

from tritree.inspection.html import policy_hash
from tritree.lab.ranks import check_results
from tritree.lab.report.sections import sections, size
from tritree.output_files import check_output_path, write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tritree.lab.ranks.averages import Measure

__all__ = ["render_report", "write_report"]

TITLE = "Methods for missing values, compared"


def write_report(
    results: pd.DataFrame,
    path: Any,
    *,
    title: str = TITLE,
    about: Mapping[str, Any] | None = None,
    reference: pd.DataFrame | None = None,
    measure: Measure | None = None,
) -> Path:
    """Write the report of an experiment as one self-contained HTML file, and return its path.

    Parameters
    ----------
    results : pandas.DataFrame
        See `tritree.lab.ranks.check_results`; the columns ``fit_seconds`` and ``predict_seconds`` are optional.
    path : str or path-like
        File to write. It is replaced only when the report is complete.
    title : str
        Heading of the page.
    about : mapping or None, default=None
        Description of the run. If None, ``results.attrs["about"]`` is used, if present.
    reference : pandas.DataFrame or None, default=None
        Curves for comparison; see `tritree.lab.figures.plot_curves`.
    measure : {"excess", "ratio", "loss"} or None, default=None
        What is averaged over data sets; see `tritree.lab.ranks.excess`. If None, "loss" for one data set and "excess"
        for several.

    Returns
    -------
    pathlib.Path
        Absolute path of the file.

    Examples
    --------
    >>> write_report(results, "report.html")  # doctest: +SKIP
    """
    place = check_output_path(path, "the report")
    page = render_report(results, title=title, about=about, reference=reference, measure=measure)
    write_atomically(place, page.encode("utf-8"))
    return place


def render_report(
    results: pd.DataFrame,
    *,
    title: str = TITLE,
    about: Mapping[str, Any] | None = None,
    reference: pd.DataFrame | None = None,
    measure: Measure | None = None,
) -> str:
    """Return the HTML of a report; the parameters are those of `write_report`."""
    from tritree import __version__

    if about is None:
        about = results.attrs.get("about", {})
    table = check_results(results)
    folder = files("tritree.lab.report")
    style, script = ((folder / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    return Template((folder / "page.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(title),
        size=html.escape(size(table)),
        version=html.escape(__version__),
        sections="\n".join(sections(table, dict(about), _versions(), reference, measure)),
        style=style,
        style_hash=policy_hash(style),
        script=script,
        script_hash=policy_hash(script),
    )


def _versions() -> dict[str, str]:
    """Return the versions that render the report; the experiment may have been run with others."""
    from tritree import __version__

    return {
        "tritree": __version__,
        "Python": ".".join(map(str, sys.version_info[:3])),
        "NumPy": np.__version__,
        "pandas": pd.__version__,
        "matplotlib": mpl.__version__,
    }
