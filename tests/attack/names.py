"""Names of columns, categories and classes are text in every view, whatever they contain."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import onnx
import pandas as pd
import pytest
from models import predictions, same_bits

import tritree

mpl.use("agg")
from matplotlib import pyplot as plt

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>'",
    "<!--",
    "]]>",
    "&lt;b&gt;&amp;",
    "line\nbreak\r\n\ttab",
    "nul\0byte",
    "\u202eright to left\u202c",
    "\u2028\u2029\ufeff\u200b",
    "%s %d %(name)s %n",
    "{} {0} {name!r:>{width}}",
    "$\\frac{1}{$",
    "$x_{1}^2$ and $",
    "\\alpha\\",
    "\\N\\G\\L\\l",
    'end"]; n0 -> n9; "',
    "<TABLE><TR><TD>",
    "=cmd|' /C calc'!A0",
    "[bold red]markup[/]",
    "__proto__",
    "x" * 10_000,
    "\x1b[31mred\x1b[0m\x07",
    "e\u0301\U0001f600\U0010ffff",
    " ",
    "nan",
)
#: Text that UTF-8 cannot express.
SURROGATES = ("lone \ud800 surrogate", "\udfff")
_CONTROL = "\0\r\x1b\x07"  # what CSV or XML cannot hold, or a terminal interprets


def _fitted(seed: int, names: tuple[str, ...]) -> tuple[Any, pd.DataFrame, Any]:
    """Return an estimator with hostile names, and its table; the structure depends on the seed alone."""
    rng = np.random.default_rng(seed)
    columns = list(names[:4])
    table = pd.DataFrame(rng.normal(size=(240, 4)), columns=pd.Index(columns, dtype=object))
    codes = rng.integers(0, 4, (240, 2))
    for j in range(2):
        table[columns[j]] = pd.Series(np.array(names[4:8], dtype=object)[codes[:, j]], dtype=object)
    signal = codes[:, 0] + 2 * (codes[:, 1] == 1) + table[columns[2]]
    y = np.array(names[8:11], dtype=object)[np.digitize(signal, np.quantile(signal, [0.3, 0.7]))]
    table = table.mask(rng.random(table.shape) < 0.1)
    kinds = (
        lambda: tritree.TrinaryTreeClassifier(max_depth=3, min_samples_leaf=5),
        lambda: tritree.TrinaryForestClassifier(n_estimators=3, max_depth=3, random_state=0),
        lambda: tritree.TrinaryBoostingClassifier(max_iter=3, max_depth=2, random_state=0),
    )
    return kinds[seed % 3]().fit(table, y), table, y


def _drawn(seed: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return hostile names, and harmless ones that are sorted alike, so that trees have the same structure."""
    hostile = tuple(map(str, np.random.default_rng(seed).permutation(np.array(HOSTILE, dtype=object))[:11]))
    rank = {name: number for number, name in enumerate(sorted(hostile))}
    return hostile, tuple(f"n{rank[name]:02}" for name in hostile)


class _Tags(HTMLParser):
    """Collects the elements of a page with their attributes' names."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[Any] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, [name for name, _ in attrs]))

    def handle_comment(self, data: str) -> None:
        self.found.append("comment")


def names_in_views(seed: int, folder: Path) -> None:
    """Show a model with hostile names in every view: each has the elements that harmless names give."""
    hostile, harmless = _drawn(seed)
    model, table, _ = _fitted(seed, hostile)
    twin, harmless_table, _ = _fitted(seed, harmless)
    rows, harmless_rows = table.head(3), harmless_table.head(3)
    assert same_bits(predictions(model, table), predictions(twin, harmless_table))
    page, other = model.to_html(rows=rows), twin.to_html(rows=harmless_rows)
    assert _Tags(page).found == _Tags(other).found, "names have become elements of the page"
    assert _Tags(model._repr_html_()).found == _Tags(twin._repr_html_()).found
    assert len(model.to_text().splitlines()) == len(twin.to_text().splitlines()), "a name broke a line"
    assert json.loads(json.dumps(model.to_dict()))["classes"] == sorted(hostile[8:11])
    _draw(model, rows)
    _render(model.to_dot(), twin.to_dot(), folder)
    for explanation in model.explain(rows):
        str(explanation), repr(explanation), json.dumps(explanation.to_dict())


def _draw(model: Any, rows: Any) -> None:
    """Draw every figure, also as SVG, which has text as text."""
    for axes in (model.plot(), model.plot_importance(), model.explain(rows)[0].plot()):
        figure = getattr(axes, "figure", axes)
        figure.canvas.draw()
        figure.savefig(io.BytesIO(), format="svg")
    plt.close("all")


def _render(source: str, harmless: str, folder: Path) -> None:
    """Render with Graphviz: the same nodes and edges as with harmless names, and no complaint."""
    if shutil.which("dot") is None:
        return
    counts = []
    for name, text in (("hostile", source), ("harmless", harmless)):
        path = folder / f"{name}.dot"
        path.write_text(text, encoding="utf-8")
        done = subprocess.run(["dot", "-Tplain", str(path)], capture_output=True, text=True)
        # how edges run around wide labels is the business of Graphviz
        complaints = [line for line in done.stderr.splitlines() if "spline routing" not in line]
        assert (done.returncode, complaints) == (0, []), done.stderr
        kinds = [line.split(" ", 1)[0] for line in done.stdout.splitlines()]
        counts.append((kinds.count("node"), kinds.count("edge")))
    assert counts[0] == counts[1], "names have become nodes or edges"


def names_in_files(seed: int, folder: Path) -> None:
    """Save, load and export a model with hostile names: names and predictions stay."""
    hostile, _ = _drawn(seed)
    model, table, _ = _fitted(seed, hostile)
    model.save(folder / "model.tritree")
    loaded = tritree.load(folder / "model.tritree")
    assert list(loaded.classes_) == list(model.classes_)
    assert list(loaded.feature_names_in_) == list(model.feature_names_in_)
    assert same_bits(predictions(loaded, table), predictions(model, table))
    exported = model.to_onnx()
    onnx.checker.check_model(exported)
    assert {value.name for value in exported.graph.input} >= set(hostile[:2])


def names_that_are_no_text(seed: int, folder: Path) -> None:
    """Lone surrogates pass through every view and file but ONNX, which holds UTF-8 and refuses them."""
    rng = np.random.default_rng(seed)
    names = list(_drawn(seed)[0])
    names[rng.integers(len(names))] = str(rng.choice(SURROGATES))
    model, table, _ = _fitted(seed, tuple(names))
    model.save(folder / "model.tritree")
    loaded = tritree.load(folder / "model.tritree")
    assert list(loaded.classes_) == list(model.classes_)
    assert same_bits(predictions(loaded, table), predictions(model, table))
    model.to_html(folder / "page.html", rows=table.head(3))
    assert all((model.to_text(), model.to_dot(), model.to_dict()))
    with pytest.raises(ValueError, match="which is not valid Unicode"):
        model.to_onnx()


def names_in_the_program(seed: int, folder: Path) -> None:
    """Fit, show, explain and export a CSV file with hostile names on the command line."""
    from tritree.cli.main import main

    hostile, _ = _drawn(seed)
    # cells of CSV are stripped, and "nan" is a missing value there
    plain = ("".join(c for c in name if c not in _CONTROL).strip() for name in hostile)
    names = tuple(f"{name}." if name in ("", "nan") else name for name in plain)
    _, table, y = _fitted(seed, names)
    data, model = str(folder / "table.csv"), str(folder / "model.tritree")
    table.assign(**{"the target": y}).to_csv(data, index=False, quoting=csv.QUOTE_ALL)
    commands = [
        ["fit", data, "-y", "the target", "-o", model],
        ["show", model],
        ["predict", model, data, "-o", str(folder / "predicted.csv")],
        ["explain", model, data, "1"],
        ["show", model, "-o", str(folder / "page.html")],
        ["export", model, "-o", str(folder / "model.json")],
    ]
    for command in commands:
        assert main(command) == 0, command
    found = pd.read_csv(folder / "predicted.csv", keep_default_na=False)
    assert set(found["prediction"]) <= set(names[8:11])


ATTACKS = (names_in_views, names_in_files, names_that_are_no_text, names_in_the_program)
