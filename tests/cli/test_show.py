"""``tritree show`` writes what the library draws, with hints that name options."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.conftest import diabetes, patients, rows_with_missing
from cli.program import InProcess

import tritree as library

BEGINNINGS = {
    "png": b"\x89PNG",
    "svg": b"<?xml",
    "pdf": b"%PDF",
    "html": b"<!DOCTYPE html>",
    "dot": b"digraph",
    "txt": b"trinary tree",
}


@pytest.mark.parametrize("ending", BEGINNINGS)
def test_file_extension_decides_on_the_format(ending: str, tritree: InProcess, model: Path) -> None:
    pytest.importorskip("matplotlib")
    run = tritree.good("show", model, "-o", f"tree.{ending}")
    assert run.out == ""
    assert f"'tree.{ending}'" in run.err
    assert Path(f"tree.{ending}").read_bytes().startswith(BEGINNINGS[ending])


def test_format_option_overrides_the_file_extension(tritree: InProcess, model: Path) -> None:
    tritree.good("show", model, "-o", "tree.txt", "--format", "dot")
    assert Path("tree.txt").read_text(encoding="utf-8").startswith("digraph")


def test_text_is_written_to_the_standard_output(tritree: InProcess, model: Path) -> None:
    text = tritree.good("show", model).out
    expected = library.load(model).to_text()
    assert text.splitlines()[5:] == expected.splitlines()[5:]
    assert "grow_all" not in text


def test_dot_equals_that_of_the_library_except_for_the_hints(tritree: InProcess, model: Path) -> None:
    shown = tritree.good("show", model, "--format", "dot", "--max-nodes", 3).out.splitlines()
    of_library = library.load(model).to_dot(max_nodes=3).splitlines()
    [(with_option, with_parameter)] = [
        pair for pair in zip(shown, of_library, strict=True) if pair[0] != pair[1]
    ]
    assert "--max-nodes none draws everything" in with_option
    assert "max_nodes=None draws everything" in with_parameter


def test_hints_name_options_not_parameters(tritree: InProcess, model: Path) -> None:
    assert "--max-nodes none draws everything" in tritree.good("show", model, "--max-nodes", 3).out
    assert "a larger --max-depth draws more" in tritree.good("show", model, "--max-depth", 1).out
    assert "left out" not in tritree.good("show", model, "--max-nodes", "none").out


def test_rows_make_the_tree_grow_before_it_is_shown(tritree: InProcess, table: Path, model: Path) -> None:
    before, after = tritree.good("show", model).out, tritree.good("show", model, "--rows", table).out
    assert "grown on demand" not in before
    assert "grown on demand" in after


def test_page_starts_with_rows(tritree: InProcess, model: Path) -> None:
    diabetes().head(2).assign(age=77).to_csv("rows.csv", index=False)
    tritree.good("show", model, "-o", "tree.html", "--rows", "rows.csv")
    page = Path("tree.html").read_text(encoding="utf-8")
    assert "row 1" in page


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_one_tree_of_an_ensemble_is_shown_and_exported(
    kind: str, tritree: InProcess, request: pytest.FixtureRequest
) -> None:
    pytest.importorskip("matplotlib")
    model = request.getfixturevalue(kind)
    assert tritree.good("show", model, "--tree", 3).out.startswith(
        f"tree 3 of {library.load(model).n_trees_}, "
    )
    tritree.good("show", model, "--tree", 0, "-o", "tree.png", "--max-nodes", 7)
    tritree.good("show", model, "--tree", 0, "-o", "tree.html")
    assert Path("tree.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "digraph" in tritree.good("show", model, "--tree", 0, "-f", "dot").out
    assert len(tritree.good("export", model, "--tree", 0, "-f", "json").json["nodes"]) > 3


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_ensemble_is_shown_as_the_library_draws_it(
    kind: str, tritree: InProcess, request: pytest.FixtureRequest
) -> None:
    pytest.importorskip("matplotlib")
    model = request.getfixturevalue(kind)
    shown = tritree.good("show", model).out
    summary, first = shown.split("\n\ntree 0 of ")
    assert summary in library.load(model).to_text()
    assert f"\ntree 0 of {first}" in f"\n{tritree.good('show', model, '--tree', 0, '--max-nodes', 31).out}"
    expected = "--rows TABLE grows those that rows need" if kind == "boosting" else " missing: both ways\n"
    assert expected in first
    assert "importance  splits  trees" in summary
    tritree.good("show", model, "-o", "first.dot")
    tritree.good("show", model, "-o", "zero.dot", "--tree", 0)
    assert Path("first.dot").read_bytes() == Path("zero.dot").read_bytes()


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_figure_of_an_ensemble_has_its_importances(
    kind: str, tritree: InProcess, request: pytest.FixtureRequest
) -> None:
    pytest.importorskip("matplotlib")
    tritree.good("show", request.getfixturevalue(kind), "-o", "importances.svg")
    assert "fraction of the reduction of the training loss" in Path("importances.svg").read_text(
        encoding="utf-8"
    )


def test_forest_without_training_rows_has_no_importances_to_draw(
    tritree: InProcess, patients_table: Path
) -> None:
    pytest.importorskip("matplotlib")
    fit = ("fit", patients_table, "-y", "progress", "-m", "forest", "--trees", 3, "-o", "m.tritree")
    tritree.good(*fit, "--no-training-rows")
    assert "importance " not in tritree.good("show", "m.tritree").out
    assert "name a tree to draw with --tree" in tritree("show", "m.tritree", "-o", "x.png").error_line
    tritree.good("show", "m.tritree", "-o", "x.png", "--tree", 1)


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_page_of_an_ensemble_is_a_what_if_page(
    kind: str, tritree: InProcess, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(kind)
    rows = rows_with_missing()
    rows.to_csv("missing.csv", index=False)
    said = tritree.good("show", model, "-o", "what-if.html", "--rows", "missing.csv").err
    assert "the what-if page written to 'what-if.html'" in said
    page = Path("what-if.html").read_text(encoding="utf-8")
    assert page.count('{"name":"row ') == len(rows)
    assert 'id="tab-trees"' in page
    tritree.good("show", model, "-o", "tree.html", "--tree", 0)
    assert 'id="tab-trees"' not in Path("tree.html").read_text(encoding="utf-8")
    refused = tritree("show", model, "-o", "small.html", "--max-nodes", 5)
    assert "more than --max-nodes 5; raise it, fit fewer or smaller trees, or show one" in refused.error_line


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_ensemble_grows_for_rows_before_it_is_shown(
    kind: str, tritree: InProcess, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(kind)
    rows_with_missing().to_csv("missing.csv", index=False)
    before = tritree.good("show", model).out
    assert before != tritree.good("show", model, "--rows", "missing.csv").out


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_one_tree_of_an_ensemble_grows_for_rows(
    kind: str, tritree: InProcess, patients_table: Path, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(kind)
    frame = patients().drop(columns="progress")
    frame.mask(np.random.default_rng(0).random(frame.shape) < 0.6).to_csv("missing.csv", index=False)
    before = tritree.good("show", model, "--tree", 0).out
    after = tritree.good("show", model, "--tree", 0, "--rows", "missing.csv").out
    if kind == "forest":  # whose evidence is found
        assert "both ways, by " in after
        assert "both ways, by " not in before
        return
    assert "; --rows TABLE grows those that rows need" in before
    n_nodes = [int(re.search(r"([\d,]+) nodes", text)[1].replace(",", "")) for text in (before, after)]  # type: ignore[index]
    assert n_nodes[0] < n_nodes[1]


@pytest.mark.parametrize("view", ["text", "dot", "png"])
def test_hints_on_a_tree_of_boosting_name_options(
    view: str, tritree: InProcess, boosting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    drawn: list[str] = []

    def read(draw: Callable[[], Any], *_: object) -> bytes:
        drawn.extend(text.get_text() for text in draw().texts)
        return b""

    monkeypatch.setattr("tritree.cli.show.figure_bytes", read)
    run = tritree.good("show", boosting, "--tree", 0, "--max-nodes", 3, "--format", view, "-o", "tree")
    text = " ".join(drawn) if view == "png" else Path("tree").read_text(encoding="utf-8")
    assert "--rows TABLE grows those that rows need" in text
    assert "--max-nodes none draws everything" in text
    for word in ("grow_for", "max_nodes", "detach"):
        assert word not in text + run.err
