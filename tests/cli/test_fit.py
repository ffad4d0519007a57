"""``tritree fit`` makes the model that the library makes, and says what it did."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from cli.conftest import diabetes, flowers
from cli.running import InProcess

import tritree as library
from tritree.cli import fit_options
from tritree.cli.fit import fit
from tritree.parameters import STRATEGIES, UNKNOWN_CATEGORY


def test_model_is_that_of_the_library(tritree: InProcess, table: Path) -> None:
    tritree.good(
        "fit", table, "--response", "progress", "--drop", "id", "--max-depth", 4, "--strategy", "mia"
    )
    frame = diabetes().drop(columns="id")
    X, y = frame.drop(columns="progress"), frame["progress"]
    ours = library.TrinaryTreeRegressor(max_depth=4, missing="mia").fit(X, y)
    assert library.load("diabetes.tritree").to_dict() == ours.to_dict()


def test_every_setting_of_the_estimator_reaches_it(tritree: InProcess, classes: Path) -> None:
    tritree.good(
        *("fit", classes, "-y", "kind", "-o", "m.tritree", "--strategy", "surrogate", "--criterion", "gini"),
        *("--max-depth", "none", "--min-samples-leaf", 7, "--max-bins", 50, "--unknown-category", "error"),
        *("--no-split-on-missing", "--max-surrogates", 2, "--n-jobs", 1),
    )
    assert library.load("m.tritree").get_params() == {
        "missing": "surrogate",
        "criterion": "gini",
        "max_depth": None,
        "min_samples_leaf": 7,
        "max_bins": 50,
        "unknown_category": "error",
        "split_on_missing": False,
        "max_surrogates": 2,
        "n_jobs": 1,
        "categorical_features": "from_dtype",
    }


def test_defaults_are_those_of_the_estimators(tritree: InProcess, table: Path, classes: Path) -> None:
    tritree.good("fit", table, "-y", "progress")
    tritree.good("fit", classes, "-y", "kind")
    assert library.load("diabetes.tritree").get_params() == library.TrinaryTreeRegressor().get_params()
    assert library.load("flowers.tritree").get_params() == library.TrinaryTreeClassifier().get_params()


def test_choices_are_those_of_the_library() -> None:
    def choices(option: object) -> set[str]:
        literal = get_args(option)[0]
        parts = [part for part in get_args(literal) if part is not type(None)]
        return set(get_args(parts[0])) if not isinstance(parts[0], str) else set(parts)

    assert choices(fit_options.Strategy) == set(STRATEGIES)
    assert choices(fit_options.Unknown) == set(UNKNOWN_CATEGORY)
    criteria = {*library.TrinaryTreeRegressor._criteria, *library.TrinaryTreeClassifier._criteria}
    assert choices(fit_options.Criterion) == criteria
    renamed = {"missing", "categorical_features", "split_on_missing"}
    settings = set(inspect.signature(library.TrinaryTreeRegressor).parameters)
    assert settings - renamed <= set(inspect.signature(fit).parameters)


@pytest.mark.parametrize(
    ("response", "task", "first"),
    [
        (["no", "yes"], "classification", "no"),
        ([True, False], "classification", False),
        ([0, 1], "classification", 0),
        (list(range(1, 11)), "classification", 1),
        (list(range(11)), "regression", None),
        ([0.5, 1.0], "regression", None),
        ([1.0, 2.0], "classification", 1),
    ],
)
def test_task_follows_from_the_response(
    response: list[object], task: str, first: object, tritree: InProcess, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"x": np.arange(220) % 13, "y": (response * 220)[:220]})
    frame.to_csv("t.csv", index=False)
    told = tritree.good("fit", "t.csv", "-y", "y", "--json").json
    assert told["task"] == task
    assert (told["classes"] or [None])[0] == first
    assert type((told["classes"] or [None])[0]) is type(first)


def test_task_can_be_set(tritree: InProcess) -> None:
    pd.DataFrame({"x": np.arange(100), "y": np.arange(100) % 2}).to_csv("t.csv", index=False)
    assert tritree.good("fit", "t.csv", "-y", "y", "--task", "regression", "--json").json["classes"] is None


def test_summary_tells_rows_columns_task_loss_nodes_holes_and_the_model(
    tritree: InProcess, classes: Path
) -> None:
    told = tritree.good("fit", classes, "-y", "kind", "--min-samples-leaf", 5).out
    facts = tritree.good("fit", classes, "-y", "kind", "--min-samples-leaf", 5, "--json").json
    frame = flowers().drop(columns="kind")
    model = library.load("flowers.tritree")
    shares = model.predict_proba(frame)
    number = np.searchsorted(model.classes_, flowers()["kind"].to_numpy(dtype=object))
    loss = -np.log(shares[np.arange(150), number]).mean()
    assert "150 rows, 6 columns (2 categorical)" in told
    assert f"{frame.isna().to_numpy().mean():.1%} of the cells are missing" in told
    assert "classification of 3 classes: kind holds text" in told
    assert f"cross-entropy {loss:.3f} on the training rows ({np.log(3):.3f} without a tree)" in told
    assert facts["nodes"] == len(library.load("flowers.tritree").to_dict()["nodes"])
    assert f"{facts['nodes']} nodes, {facts['leaves']} leaves, depth {facts['depth']}" in told
    assert told.splitlines()[-1].startswith("model  flowers.tritree (")
    assert facts["training_loss"] == pytest.approx(loss)
    assert facts["model"] == "flowers.tritree"


def test_model_that_was_there_is_replaced_and_the_summary_says_so(tritree: InProcess, table: Path) -> None:
    first = tritree.good("fit", table, "-y", "progress", "-o", "m.tritree")
    second = tritree.good("fit", table, "-y", "progress", "-o", "m.tritree", "--max-depth", 2)
    assert "replaced" not in first.out
    assert "replaced" in second.out.splitlines()[-1]
    assert library.load("m.tritree").max_depth == 2


def test_fit_that_fails_leaves_the_old_model(tritree: InProcess, table: Path, model: Path) -> None:
    before = model.read_bytes()
    assert tritree("fit", table, "-y", "progress", "--weights", "bmi").code == 1
    assert model.read_bytes() == before
    assert not list(Path().glob(".tritree*"))


def test_weights_count_and_are_no_column(tritree: InProcess) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.random(200), "w": rng.integers(0, 3, 200), "y": rng.random(200)})
    frame.to_csv("t.csv", index=False)
    told = tritree.good("fit", "t.csv", "-y", "y", "--weights", "w", "--json").json
    ours = library.TrinaryTreeRegressor().fit(frame[["x"]], frame["y"], sample_weight=frame["w"])
    assert library.load("t.tritree").to_dict() == ours.to_dict()
    errors = (frame["y"] - ours.predict(frame[["x"]])) ** 2
    assert told["training_loss"] == pytest.approx(np.average(errors, weights=frame["w"]))


def test_rows_without_response_can_be_left_out(tritree: InProcess) -> None:
    frame = diabetes().drop(columns="id")
    frame.loc[3:10, "progress"] = np.nan
    frame.to_csv("t.csv", index=False)
    told = tritree.good("fit", "t.csv", "-y", "progress", "--skip-missing-response")
    assert f"{len(frame) - 8} rows, 10 columns; 8 rows without a response left out" in told.out
    kept = frame.dropna(subset="progress")
    ours = library.TrinaryTreeRegressor().fit(kept.drop(columns="progress"), kept["progress"])
    assert library.load("t.tritree").to_dict() == ours.to_dict()


def test_numbers_can_be_categories_and_true_and_false_numbers(tritree: InProcess) -> None:
    i = np.arange(200)
    pd.DataFrame({"code": i % 4, "flag": i % 2 == 0, "y": (i % 4 == 2) * 1.5}).to_csv("t.csv", index=False)
    told = tritree.good(
        "fit", "t.csv", "-y", "y", "--categorical", "code", "--numeric", "flag", "--json"
    ).json
    columns = {column["name"]: column for column in library.load("t.tritree").to_dict()["columns"]}
    assert told["categorical_columns"] == 1
    assert columns["code"]["categories"] == [0, 1, 2, 3]
    assert columns["flag"]["categories"] is None


def test_tree_can_be_grown_in_full_and_kept_without_its_rows(tritree: InProcess, table: Path) -> None:
    common = ("fit", table, "-y", "progress", "--drop", "id", "--max-depth", 2)
    tritree.good(*common, "-o", "small.tritree")
    tritree.good(*common, "-o", "full.tritree", "--grow-all", "--no-training-rows")
    tritree.good(*common, "-o", "bare.tritree", "--no-training-rows")
    full, bare = library.load("full.tritree"), library.load("bare.tritree")
    assert full.n_nodes_ > library.load("small.tritree").n_nodes_
    assert full.to_dict()["n_ungrown"] == 0
    assert bare._tree.model.is_detached
    cut = tritree.good("predict", "bare.tritree", table)
    assert "fit with --grow-all to have every branch" in cut.err
    assert "grow_all()" not in cut.err
    assert "third branch" not in tritree.good("predict", "full.tritree", table).err


def test_model_that_was_replaced_is_told_to_programs_too(tritree: InProcess, table: Path) -> None:
    runs = [tritree.good("fit", table, "-y", "progress", "--drop", "id", "--json").json for _ in range(2)]
    assert [run["replaced"] for run in runs] == [False, True]
