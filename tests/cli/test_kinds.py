"""``--model`` makes and compares forests and boosting, and the other commands know what to do with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cli.conftest import diabetes as with_names
from cli.running import InProcess

import tritree as library
from tritree.lab import Experiment


def diabetes() -> pd.DataFrame:
    return with_names().drop(columns="id").rename(columns={"progress": "y"})


@pytest.fixture
def table(tmp_path: Path) -> Path:
    diabetes().to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


@pytest.fixture
def boosting(tritree: InProcess, table: Path, tmp_path: Path) -> Path:
    tritree.good(
        "fit", table, "-y", "y", "--model", "boosting", "--trees", 5, "-o", tmp_path / "boosting.tritree"
    )
    return tmp_path / "boosting.tritree"


@pytest.fixture
def forest(tritree: InProcess, table: Path, tmp_path: Path) -> Path:
    tritree.good(
        "fit", table, "-y", "y", "--model", "forest", "--trees", 4, "-o", tmp_path / "forest.tritree"
    )
    return tmp_path / "forest.tritree"


def test_boosting_is_that_of_the_library(tritree: InProcess, boosting: Path, table: Path) -> None:
    frame = diabetes()
    X, y = frame.drop(columns="y"), frame["y"]
    model = library.TrinaryBoostingRegressor(max_iter=5, random_state=0).fit(X, y)
    found = library.load(boosting)
    assert isinstance(found, library.TrinaryBoostingRegressor)
    np.testing.assert_array_equal(found.predict(X), model.predict(X))
    tritree.good("predict", boosting, table, "-o", "answers.csv")
    assert len(Path("answers.csv").read_text(encoding="utf-8").splitlines()) == len(frame) + 1


def test_boosting_may_be_fractional(tritree: InProcess, table: Path, tmp_path: Path) -> None:
    place = tmp_path / "fractional.tritree"
    options = ("--model", "boosting", "-s", "fractional", "--trees", 5, "-o", place)
    tritree.good("fit", table, "-y", "y", *options)
    frame = diabetes()
    X, y = frame.drop(columns="y"), frame["y"]
    model = library.TrinaryBoostingRegressor(max_iter=5, missing="fractional", random_state=0).fit(X, y)
    np.testing.assert_array_equal(library.load(place).predict(X), model.predict(X))
    assert "tree 4 of 5, fractional boosting" in tritree.good("show", place, "--tree", 4).out
    assert "row 3 predicts" in tritree.good("explain", place, table, "3").out
    assert "follows both branches" in tritree("export", place, "-o", "model.onnx").complaint


def test_forest_is_that_of_the_library(forest: Path) -> None:
    frame = diabetes()
    X, y = frame.drop(columns="y"), frame["y"]
    model = library.TrinaryForestRegressor(n_estimators=4, random_state=0).fit(X, y)
    found = library.load(forest)
    assert isinstance(found, library.TrinaryForestRegressor)
    np.testing.assert_array_equal(found.predict(X), model.predict(X))


@pytest.mark.parametrize(("kind", "name"), [("forest", "forest"), ("boosting", "trees")])
def test_summary_counts_trees(kind: str, name: str, tritree: InProcess, table: Path) -> None:
    run = tritree.good("fit", table, "-y", "y", "--model", kind, "--trees", 3, "-o", "model.tritree")
    assert f"{name:<7}" in run.out
    assert "3 trees" in run.out
    facts = tritree.good(
        "fit", table, "-y", "y", "-m", kind, "--trees", 3, "-o", "model.tritree", "--json"
    ).json
    assert (facts["kind"], facts["trees"]) == (kind, 3)


def test_model_without_rows_says_nothing_of_them(tritree: InProcess, table: Path) -> None:
    for kind in ("forest", "boosting"):
        args = ("fit", table, "-y", "y", "-m", kind, "--trees", 3)
        tritree.good(*args, "-o", "with.tritree")
        tritree.good(*args, "-o", "without.tritree", "--no-training-rows")
        assert Path("without.tritree").stat().st_size < Path("with.tritree").stat().st_size


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_one_tree_of_many_is_shown_and_exported(
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
def test_one_tree_of_many_grows_by_the_rows_that_are_named(
    kind: str, tritree: InProcess, table: Path, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(kind)
    frame = diabetes().drop(columns="y")
    frame.mask(np.random.default_rng(0).random(frame.shape) < 0.6).to_csv("holes.csv", index=False)
    before = tritree.good("show", model, "--tree", 0).out
    after = tritree.good("show", model, "--tree", 0, "--rows", "holes.csv").out
    assert "; --rows TABLE grows those that rows need" in before
    n_nodes = [int(re.search(r"([\d,]+) nodes", text)[1].replace(",", "")) for text in (before, after)]  # type: ignore[index]
    assert n_nodes[0] < n_nodes[1]


@pytest.mark.parametrize("view", ["text", "dot", "png"])
def test_remarks_on_a_boosted_tree_name_options(
    view: str, tritree: InProcess, boosting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    drawn: list[str] = []

    def read(draw: Callable[[], Any], *_: object) -> bytes:
        drawn.extend(text.get_text() for text in draw().texts)
        return b""

    monkeypatch.setattr("tritree.cli.show.picture", read)
    run = tritree.good("show", boosting, "--tree", 0, "--max-nodes", 3, "--format", view, "-o", "tree")
    said = " ".join(drawn) if view == "png" else Path("tree").read_text(encoding="utf-8")
    assert "--rows TABLE grows those that rows need" in said
    assert "--max-nodes none draws everything" in said
    for word in ("grow_for", "max_nodes", "detach"):
        assert word not in said + run.err


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_rows_that_are_not_in_the_file_are_told_with_a_remedy_that_the_kind_has(
    kind: str, tritree: InProcess, table: Path
) -> None:
    tritree.good("fit", table, "-y", "y", "-m", kind, "--trees", 3, "-o", "m.tritree", "--no-training-rows")
    diabetes().drop(columns=["bmi", "s5", "bp"]).to_csv("holed.csv", index=False)
    run = tritree.good("predict", "m.tritree", "holed.csv", "-o", "answers.csv")
    assert "no rows to grow from; fit without --no-training-rows" in run.err
    assert "--grow-all" not in run.err
    assert "detach" not in run.err


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_many_trees_are_explained_and_exported(
    kind: str, tritree: InProcess, table: Path, request: pytest.FixtureRequest
) -> None:
    pytest.importorskip("onnx")
    model = request.getfixturevalue(kind)
    assert "row 3 predicts" in tritree.good("explain", model, table, "3").out
    assert tritree.good("explain", model, table, "3", "--json").json[0]["contributions"]
    tritree.good("export", model, "-o", "model.onnx")
    assert Path("model.onnx").stat().st_size > 100


def holes_to_come() -> pd.DataFrame:
    frame = diabetes().drop(columns="y")
    return frame.mask(np.random.default_rng(0).random(frame.shape) < 0.3).head(60)


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_many_trees_are_exported_with_the_branches_that_rows_need(
    kind: str, tritree: InProcess, request: pytest.FixtureRequest
) -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = request.getfixturevalue(kind)
    rows = holes_to_come()
    rows.to_csv("new.csv", index=False)
    assert "warning" not in tritree.good("export", model, "-o", "model.onnx", "--rows", "new.csv").err
    session = runtime.InferenceSession("model.onnx")
    found = np.ravel(session.run(None, {"X": rows.to_numpy(np.float64)})[0])
    np.testing.assert_allclose(found, library.load(model).predict(rows), rtol=1e-4)


def test_export_that_knows_nothing_of_holes_names_the_option(tritree: InProcess) -> None:
    pytest.importorskip("onnx")
    diabetes().fillna(0).to_csv("whole.csv", index=False)
    tritree.good("fit", "whole.csv", "-y", "y", "-m", "boosting", "--trees", 3)
    told = tritree.good("export", "whole.tritree", "-o", "bare.onnx").err
    assert "name rows like those to come with --rows, or with fit --grow-for" in told
    assert "grow_for()" not in told


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_one_tree_of_many_is_exported_with_the_branches_that_rows_need(
    kind: str, tritree: InProcess, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(kind)
    holes_to_come().to_csv("new.csv", index=False)
    args = ("export", model, "--tree", 0, "-f", "json")
    nodes = [len(tritree.good(*args, *more).json["nodes"]) for more in ((), ("--rows", "new.csv"))]
    assert nodes[0] < nodes[1]


def test_fewer_rows_are_a_remedy_for_too_many_nodes(tritree: InProcess, boosting: Path) -> None:
    pytest.importorskip("onnx")
    holes_to_come().to_csv("new.csv", index=False)
    run = tritree("export", boosting, "-o", "x.onnx", "--rows", "new.csv", "--max-nodes", 200)
    assert "raise --max-nodes, or name fewer rows with --rows, or fit fewer" in run.complaint


@pytest.mark.parametrize("kind", ["tree", "boosting", "forest"])
def test_model_without_rows_has_the_branches_that_it_was_grown_for(
    kind: str, tritree: InProcess, table: Path
) -> None:
    rows = holes_to_come()
    rows.assign(y=0).to_csv("new.csv", index=False)
    few = () if kind == "tree" else ("--trees", 3)
    args = ("fit", table, "-y", "y", "-m", kind, *few)
    tritree.good(*args, "-o", "with.tritree")
    run = tritree.good(*args, "-o", "m.tritree", "--grow-for", "new.csv", "--no-training-rows")
    assert run.err == ""  # nor that the response is ignored
    rows.to_csv("new.csv", index=False)
    run = tritree.good("predict", "m.tritree", "new.csv")
    assert run.err == ""
    assert run.out == tritree.good("predict", "with.tritree", "new.csv").out


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_file_that_knows_nothing_of_holes_and_cannot_grow_is_warned_of(
    kind: str, tritree: InProcess, table: Path
) -> None:
    pd.read_csv(table).fillna(0).to_csv(
        "complete.csv", index=False
    )  # training itself grows what its holes need
    run = tritree.good(
        "fit", "complete.csv", "-y", "y", "-m", kind, "--trees", 3, "-o", "m.tritree", "--no-training-rows"
    )
    assert "the model in the file cannot grow any" in run.err
    assert "name rows like those to come with --grow-for" in run.err


def test_model_is_kept_where_the_rows_to_grow_for_cannot_be_read(tritree: InProcess, table: Path) -> None:
    holes_to_come().astype(object).assign(bmi="much").to_csv("bad.csv", index=False)
    run = tritree(
        "fit", table, "-y", "y", "-m", "boosting", "--trees", 3, "-o", "m.tritree", "--grow-for", "bad.csv"
    )
    assert run.code == 1
    assert "much" in run.complaint
    assert "('m.tritree' is written, without the branches that rows need)" in run.complaint
    assert tritree.good("show", "m.tritree", "--tree", 0).out


def test_rows_cannot_grow_what_has_no_training_rows(tritree: InProcess, table: Path) -> None:
    pytest.importorskip("onnx")
    holes_to_come().to_csv("new.csv", index=False)
    tritree.good(
        "fit", table, "-y", "y", "-m", "forest", "--trees", 3, "-o", "m.tritree", "--no-training-rows"
    )
    run = tritree.good("export", "m.tritree", "-o", "m.onnx", "--rows", "new.csv")
    assert (
        "no rows to grow from; fit without --no-training-rows, or name rows like them with --grow-for"
        in run.err
    )


def test_spread_of_a_tree_of_a_forest_is_exported(tritree: InProcess, forest: Path) -> None:
    tree = tritree.good("export", forest, "--tree", 1, "-f", "json", "--spread").json
    assert tree["member"] == {"number": 1, "of": 4}
    assert sum(tree["nodes"][0]["spread"]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("show", "{boosting}"), "the model has 5 trees; name one with --tree, from 0 to 4"),
        (("show", "{boosting}", "--tree", "5"), "there is no tree 5"),
        (("export", "{boosting}", "-f", "json"), "name one with --tree"),
        (("export", "{boosting}", "-o", "x.onnx", "--tree", "0"), "leave out --tree"),
        (("show", "{forest}"), "the model has 4 trees; name one with --tree, from 0 to 3"),
        (("show", "{forest}", "--tree", "4"), "there is no tree 4"),
        (("export", "{forest}", "-o", "x.onnx", "--tree", "0"), "leave out --tree"),
        (("export", "{forest}", "-o", "x.onnx", "--max-nodes", "9"), "fit fewer or smaller trees (--trees"),
        (("export", "{boosting}", "-f", "json", "--tree", "0", "--spread"), "leave out --spread"),
        (
            ("fit", "{table}", "-y", "y", "-m", "boosting", "--criterion", "squared_error"),
            "--criterion is not for",
        ),
        (
            ("fit", "{table}", "-y", "y", "-m", "boosting", "-s", "surrogate"),
            "--strategy surrogate is not for",
        ),
        (("fit", "{table}", "-y", "y", "-m", "boosting", "--grow-all"), "--grow-all is for one tree"),
        (("fit", "{table}", "-y", "y", "--trees", "7"), "--trees is not for --model tree"),
        (("compare", "{table}", "-y", "y", "--trees", "7"), "--trees is not for --model tree"),
        (
            ("compare", "{table}", "-y", "y", "-m", "tree", "-m", "forest", "--learning-rate", "1"),
            "--learning-rate is not for --model tree or --model forest",
        ),
        (
            ("compare", "{table}", "-y", "y", "-m", "boosting", "--criterion", "squared_error"),
            "--criterion is not for",
        ),
        (("compare", "{table}", "-y", "y", "-m", "boosting", "--depth", "0"), "--depth 0 is not for"),
        (
            (
                "compare",
                "{table}",
                "-y",
                "y",
                "-m",
                "tree",
                "-m",
                "boosting",
                "-s",
                "surrogate",
            ),
            "--strategy surrogate is not for --model boosting; use trinary_mia, trinary, mia, majority or",
        ),
        (("fit", "{table}", "-y", "y", "-m", "forest", "--learning-rate", "1"), "--learning-rate is not for"),
        # what would be without the option is no reason to take it
        (
            ("fit", "{table}", "-y", "y", "-m", "forest", "--learning-rate", ".1"),
            "--learning-rate is not for",
        ),
        (("fit", "{table}", "-y", "y", "--trees", "100"), "--trees is not for --model tree"),
        (("fit", "{table}", "-y", "y", "-m", "boosting", "--max-surrogates", "5"), "--max-surrogates is not"),
        (
            ("compare", "{table}", "-y", "y", "--learning-rate", "0.1"),
            "--learning-rate is not for --model tree",
        ),
    ],
)
def test_what_a_kind_cannot_do_is_said_in_a_line(
    args: tuple[str, ...], words: str, tritree: InProcess, boosting: Path, forest: Path, table: Path
) -> None:
    places = {"boosting": boosting, "forest": forest, "table": table}
    run = tritree(*(arg.format(**places) for arg in args))
    assert run.code == 1
    assert words in run.complaint


def compared(tritree: InProcess, table: Path, *more: object) -> Any:
    quick = ("--rates", 0.3, "--seeds", 1, "--folds", 2, "--n-jobs", 1)
    return tritree.good("compare", table, "-y", "y", *quick, *more)


def test_strategies_of_boosting_are_compared(tritree: InProcess, table: Path) -> None:
    run = compared(tritree, table, "-m", "boosting", "--trees", 3, "--learning-rate", 0.5)
    names = {f"boosting:{name}" for name in ("trinary_mia", "trinary", "mia", "majority", "discard")}
    assert {word for line in run.out.splitlines() for word in line.split()[1:2] if ":" in word} >= names
    assert "models boosting: 3 trees, depth 6, learning rate 0.5\n" in run.out


def test_kinds_are_compared_also_where_the_table_has_no_holes(tritree: InProcess, tmp_path: Path) -> None:
    diabetes().fillna(0).to_csv("whole.csv", index=False)
    whole = tmp_path / "whole.csv"
    run = compared(tritree, whole, "-m", "tree", "-m", "forest", "-s", "mia", "--trees", 3, "--depth", 2)
    assert run.out.startswith("The table as it is, without holes:\nTake ")
    assert "models tree: depth 2; forest: 3 trees, depth 2\n" in run.out
    found = compared(tritree, whole, "-m", "tree", "-m", "forest", "-s", "mia", "--trees", 3, "--json").json
    assert {line["method"] for line in found["as_it_is"]["methods"]} == {"mia", "forest:mia"}
    assert found["about"]["models"]["forest"]["n_estimators"] == 3


def test_comparison_of_one_kind_says_nothing_of_a_table_without_holes_as_it_is(
    tritree: InProcess, tmp_path: Path
) -> None:
    diabetes().fillna(0).to_csv("whole.csv", index=False)
    run = compared(
        tritree, tmp_path / "whole.csv", "-m", "boosting", "-s", "mia", "-s", "trinary", "--trees", 3
    )
    assert run.out.startswith("With 30% of the cells removed:")


def asked(tritree: InProcess, monkeypatch: pytest.MonkeyPatch, *args: object) -> Experiment:
    """Return the experiment that the program would run."""
    found: list[Experiment] = []
    monkeypatch.setattr(Experiment, "run", lambda self, *_, **__: found.append(self))
    with pytest.raises(AttributeError):  # there are no results
        tritree("compare", *args)
    return found[0]


@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_models_are_compared_as_they_would_be_fitted(
    kind: str, tritree: InProcess, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tritree.good("fit", table, "-y", "y", "-m", kind, "--trees", 3, "-o", "m.tritree")
    experiment = asked(tritree, monkeypatch, table, "-y", "y", "-m", kind, "--trees", 3)
    model = library.load("m.tritree")
    made = experiment._made(f"{kind}:{model.missing}", experiment.datasets[0])
    assert made.get_params() | {"n_jobs": None} == model.get_params() | {"n_jobs": None}


def test_rows_weigh_in_a_comparison_as_in_a_fit(
    tritree: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = np.arange(len(diabetes())) % 3
    diabetes().assign(times=weights).to_csv("weighed.csv", index=False)
    weighed = tmp_path / "weighed.csv"
    run = compared(tritree, weighed, "--weights", "times", "-s", "mia", "-s", "majority", "--depth", 2)
    assert "10 columns, weighed by times; regression" in run.out
    data = asked(tritree, monkeypatch, weighed, "-y", "y", "--weights", "times").datasets[0]
    assert "times" not in data.X
    np.testing.assert_array_equal(data.weights, weights)


def test_weights_that_cannot_be_are_named(tritree: InProcess, tmp_path: Path) -> None:
    diabetes().assign(times=-1).to_csv("weighed.csv", index=False)
    run = tritree("compare", tmp_path / "weighed.csv", "-y", "y", "--weights", "times")
    assert run.code == 1
    assert "the column of weights 'times' holds -1.0 in row 0" in run.complaint
