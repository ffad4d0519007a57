"""``tritree fit`` writes the model that the library fits, and summarises it."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pandas as pd
import pytest
from cli.conftest import diabetes, flowers, patients, rows_with_missing
from cli.program import InProcess

import tritree as library
from tritree.cli.fit import Parameters
from tritree.validation import STRATEGIES, UNKNOWN_CATEGORY_OPTIONS


def test_tree_equals_that_of_the_library(tritree: InProcess, table: Path) -> None:
    tritree.good("fit", table, "--target", "progress", "--drop", "id", "--max-depth", 4, "--strategy", "mia")
    frame = diabetes().drop(columns="id")
    X, y = frame.drop(columns="progress"), frame["progress"]
    expected = library.TrinaryTreeRegressor(max_depth=4, missing="mia").fit(X, y)
    assert library.load("diabetes.tritree").to_dict() == expected.to_dict()


def test_every_parameter_reaches_the_estimator(tritree: InProcess, classes: Path) -> None:
    tritree.good(
        *("fit", classes, "-y", "kind", "-o", "m.tritree", "--strategy", "surrogate", "--criterion", "gini"),
        *(
            "--max-depth",
            "none",
            "--max-leaf-nodes",
            9,
            "--min-samples-leaf",
            7,
            "--max-bins",
            50,
            "--unknown-category",
            "error",
        ),
        *("--category-penalty", 0.25, "--no-split-on-missing", "--max-surrogates", 2, "--n-jobs", 1),
        *("--no-parse-dates", "--keep-identifiers", "--date-parts", "month,hour"),
    )
    assert library.load("m.tritree").get_params() == {
        "missing": "surrogate",
        "criterion": "gini",
        "max_depth": None,
        "max_leaf_nodes": 9,
        "min_samples_leaf": 7,
        "max_bins": 50,
        "unknown_category": "error",
        "parse_dates": False,
        "date_parts": ["month", "hour"],
        "drop_identifiers": False,
        "category_penalty": 0.25,
        "split_on_missing": False,
        "max_surrogates": 2,
        "n_jobs": 1,
        "categorical_features": "from_dtype",
        "max_features": None,
        "class_weight": None,
        "random_state": None,
    }


def test_parameters_of_boosting_reach_the_estimator(tritree: InProcess, table: Path) -> None:
    options = ("--trees", 3, "--split-penalty", 0.7, "--category-penalty", 0.2, "--masked-copies", 2)
    tritree.good(
        "fit", table, "-y", "progress", "--drop", "id", "-m", "boosting", *options, "-o", "m.tritree"
    )
    frame = diabetes().drop(columns="id")
    expected = library.TrinaryBoostingRegressor(
        max_iter=3, split_penalty=0.7, category_penalty=0.2, masked_copies=2, random_state=0
    ).fit(frame.drop(columns="progress"), frame["progress"])
    model = library.load("m.tritree")
    assert model.get_params() == expected.get_params()
    assert model.to_dict() == expected.to_dict()


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [("--masked-copies", 101, "a number of copies from 0 to 100"), ("--split-penalty", -1, "at least 0")],
)
def test_penalties_and_copies_of_boosting_are_checked(
    option: str, value: int, expected: str, tritree: InProcess, table: Path
) -> None:
    for kind in ("tree", "forest"):
        run = tritree("fit", table, "-y", "progress", "-m", kind, option, 1)
        assert run.code == 1
        assert f"{option} is not for --model {kind}; leave it out" in run.error_line
    run = tritree("fit", table, "-y", "progress", "-m", "boosting", option, value)
    assert run.code == 2
    assert f"'{value}' is not a number" in run.error_line
    assert expected in run.error_line


def test_defaults_shown_for_boosting_are_those_of_the_estimators() -> None:
    shown = inspect.signature(Parameters).parameters
    for estimator in (library.TrinaryBoostingRegressor, library.TrinaryBoostingClassifier):
        parameters = inspect.signature(estimator).parameters
        for name in ("learning_rate", "split_penalty", "masked_copies"):
            assert shown[name].default == parameters[name].default


def test_defaults_equal_those_of_the_estimators(tritree: InProcess, table: Path, classes: Path) -> None:
    tritree.good("fit", table, "-y", "progress")
    tritree.good("fit", classes, "-y", "kind")
    assert library.load("diabetes.tritree").get_params() == library.TrinaryTreeRegressor().get_params()
    assert library.load("flowers.tritree").get_params() == library.TrinaryTreeClassifier().get_params()


def test_large_integer_classes_are_predicted_exactly(tritree: InProcess) -> None:
    labels = [2**60 + 1, 2**60 + 2]
    pd.DataFrame({"y": labels * 30, "x": [0, 1] * 30}).to_csv("t.csv", index=False)
    tritree.good("fit", "t.csv", "-y", "y", "-o", "m.tritree")
    predicted = json.loads(tritree.good("predict", "m.tritree", "t.csv", "--json").out)
    assert [row["prediction"] for row in predicted[:2]] == labels


def test_choices_equal_those_of_the_library() -> None:
    def choices(name: str) -> set[str]:
        literal = get_type_hints(Parameters)[name]
        parts = [part for part in get_args(literal) if part is not type(None)]
        return set(get_args(parts[0])) if not isinstance(parts[0], str) else set(parts)

    assert choices("strategy") == set(STRATEGIES)
    assert choices("unknown_category") == set(UNKNOWN_CATEGORY_OPTIONS)
    kinds = (library.TrinaryTreeRegressor, library.TrinaryTreeClassifier)
    criteria = {criterion for kind in kinds for criterion in kind._allowed["criterion"].options}
    assert choices("criterion") == criteria
    kinds = (library.TrinaryBoostingRegressor, library.TrinaryBoostingClassifier)
    assert choices("loss") == {loss for kind in kinds for loss in kind._allowed["loss"].options}
    renamed = {"missing", "categorical_features", "split_on_missing", "parse_dates", "drop_identifiers"}
    python_only = {"max_features", "random_state"}
    settings = set(inspect.signature(library.TrinaryTreeRegressor).parameters)
    assert settings - renamed - python_only <= set(inspect.signature(Parameters).parameters)


@pytest.mark.parametrize(
    ("target", "task", "first"),
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
def test_target_implies_the_task(
    target: list[object], task: str, first: object, tritree: InProcess, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"x": np.arange(220) % 13, "y": (target * 220)[:220]})
    frame.to_csv("t.csv", index=False)
    facts = tritree.good("fit", "t.csv", "-y", "y", "--json").json
    assert facts["task"] == task
    assert (facts["classes"] or [None])[0] == first
    assert type((facts["classes"] or [None])[0]) is type(first)


def test_task_can_be_set(tritree: InProcess) -> None:
    pd.DataFrame({"x": np.arange(100), "y": np.arange(100) % 2}).to_csv("t.csv", index=False)
    assert tritree.good("fit", "t.csv", "-y", "y", "--task", "regression", "--json").json["classes"] is None


def test_summary_has_rows_columns_task_nodes_missing_values_and_the_model(
    tritree: InProcess, classes: Path
) -> None:
    text = tritree.good("fit", classes, "-y", "kind", "--min-samples-leaf", 5).out
    facts = tritree.good("fit", classes, "-y", "kind", "--min-samples-leaf", 5, "--json").json
    frame = flowers().drop(columns="kind")
    model = library.load("flowers.tritree")
    shares = model.predict_proba(frame)
    number = np.searchsorted(model.classes_, flowers()["kind"].to_numpy(dtype=object))
    loss = -np.log(shares[np.arange(150), number]).mean()
    summary, scores = text.split("\n\n")
    assert "150 rows, 6 columns (2 categorical)" in text
    assert f"{frame.isna().to_numpy().mean():.1%} of the cells (" in text
    assert "classification, 3 classes: kind holds text" in text
    assert scores.splitlines()[1].split()[:3] == ["training", "rows", f"{loss:.3f}"]
    assert f"constant (class fractions)     {np.log(3):.3f}" in scores
    assert facts["nodes"] == len(library.load("flowers.tritree").to_dict()["nodes"])
    assert f"{facts['nodes']} nodes, {facts['leaves']} leaves, depth {facts['depth']}" in text
    assert summary.splitlines()[-1].startswith("model    flowers.tritree (")
    assert facts["training"]["log_loss"] == pytest.approx(loss)
    assert facts["model"] == "flowers.tritree"


def test_existing_model_is_replaced_and_the_summary_says_so(tritree: InProcess, table: Path) -> None:
    first = tritree.good("fit", table, "-y", "progress", "-o", "m.tritree")
    second = tritree.good("fit", table, "-y", "progress", "-o", "m.tritree", "--max-depth", 2)
    assert "replaced" not in first.out
    assert "replaced" in second.out.split("\n\n")[0].splitlines()[-1]
    assert library.load("m.tritree").max_depth == 2


def test_failed_fit_leaves_the_existing_model(tritree: InProcess, table: Path, model: Path) -> None:
    before = model.read_bytes()
    assert tritree("fit", table, "-y", "progress", "--weights", "bmi").code == 1
    assert model.read_bytes() == before
    assert not list(Path().glob(".tritree*"))


def test_weights_are_used_and_are_not_a_feature(tritree: InProcess) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.random(200), "w": rng.integers(0, 3, 200), "y": rng.random(200)})
    frame.to_csv("t.csv", index=False)
    facts = tritree.good("fit", "t.csv", "-y", "y", "--weights", "w", "--json").json
    expected = library.TrinaryTreeRegressor().fit(frame[["x"]], frame["y"], sample_weight=frame["w"])
    assert library.load("t.tritree").to_dict() == expected.to_dict()
    errors = (frame["y"] - expected.predict(frame[["x"]])) ** 2
    assert facts["training"]["rmse"] ** 2 == pytest.approx(np.average(errors, weights=frame["w"]))


def test_rows_without_target_can_be_left_out(tritree: InProcess) -> None:
    frame = diabetes().drop(columns="id")
    frame.loc[3:10, "progress"] = np.nan
    frame.to_csv("t.csv", index=False)
    run = tritree.good("fit", "t.csv", "-y", "progress", "--skip-missing-target")
    assert f"{len(frame) - 8} rows, 10 columns; 8 rows without a target left out" in run.out
    with_target = frame.dropna(subset="progress")
    expected = library.TrinaryTreeRegressor().fit(
        with_target.drop(columns="progress"), with_target["progress"]
    )
    assert library.load("t.tritree").to_dict() == expected.to_dict()


def test_numbers_can_be_categorical_and_booleans_numeric(tritree: InProcess) -> None:
    i = np.arange(200)
    pd.DataFrame({"code": i % 4, "flag": i % 2 == 0, "y": (i % 4 == 2) * 1.5}).to_csv("t.csv", index=False)
    facts = tritree.good(
        "fit", "t.csv", "-y", "y", "--categorical", "code", "--numeric", "flag", "--json"
    ).json
    columns = {column["name"]: column for column in library.load("t.tritree").to_dict()["columns"]}
    assert facts["categorical_columns"] == 1
    assert columns["code"]["categories"] == [0, 1, 2, 3]
    assert columns["flag"]["categories"] is None


@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_fully_grown_ensemble_can_be_saved_without_training_rows(
    kind: str, tritree: InProcess, table: Path
) -> None:
    size = ("--trees", 3, "--max-depth", 1)
    tritree.good("fit", table, "-y", "progress", "-m", kind, *size, "--grow-all", "--no-training-rows")
    pd.read_csv(table)[["bmi"]].to_csv("bmi.csv", index=False)
    run = tritree.good("predict", "diabetes.tritree", "bmi.csv", "-o", "predictions.csv")
    assert "third branch" not in run.err


def test_fully_grown_tree_can_be_saved_without_training_rows(tritree: InProcess, table: Path) -> None:
    common = ("fit", table, "-y", "progress", "--drop", "id", "--max-depth", 2)
    tritree.good(*common, "-o", "small.tritree")
    tritree.good(*common, "-o", "full.tritree", "--grow-all", "--no-training-rows")
    tritree.good(*common, "-o", "bare.tritree", "--no-training-rows")
    full, bare = library.load("full.tritree"), library.load("bare.tritree")
    assert full.n_nodes_ > library.load("small.tritree").n_nodes_
    assert full.to_dict()["n_ungrown"] == 0
    assert bare._model.core.is_detached
    cut = tritree.good("predict", "bare.tritree", table)
    assert "or grow every branch with --grow-all" in cut.err
    assert "grow_all()" not in cut.err
    assert "third branch" not in tritree.good("predict", "full.tritree", table).err


def test_json_says_whether_a_model_was_replaced(tritree: InProcess, table: Path) -> None:
    runs = [tritree.good("fit", table, "-y", "progress", "--drop", "id", "--json").json for _ in range(2)]
    assert [run["replaced"] for run in runs] == [False, True]


def test_boosting_equals_that_of_the_library(
    tritree: InProcess, boosting: Path, patients_table: Path
) -> None:
    frame = patients()
    X, y = frame.drop(columns="progress"), frame["progress"]
    model = library.TrinaryBoostingRegressor(max_iter=5, random_state=0).fit(X, y)
    found = library.load(boosting)
    assert isinstance(found, library.TrinaryBoostingRegressor)
    np.testing.assert_array_equal(found.predict(X), model.predict(X))
    tritree.good("predict", boosting, patients_table, "-o", "predictions.csv")
    assert len(Path("predictions.csv").read_text(encoding="utf-8").splitlines()) == len(frame) + 1


def test_boosting_can_be_fractional(tritree: InProcess, patients_table: Path, tmp_path: Path) -> None:
    path = tmp_path / "fractional.tritree"
    options = ("--model", "boosting", "-s", "fractional", "--trees", 5, "-o", path)
    tritree.good("fit", patients_table, "-y", "progress", *options)
    frame = patients()
    X, y = frame.drop(columns="progress"), frame["progress"]
    model = library.TrinaryBoostingRegressor(max_iter=5, missing="fractional", random_state=0).fit(X, y)
    np.testing.assert_array_equal(library.load(path).predict(X), model.predict(X))
    assert "tree 4 of 5, fractional boosting" in tritree.good("show", path, "--tree", 4).out
    assert "row 3 predicts" in tritree.good("explain", path, patients_table, "3").out
    assert "follows both branches" in tritree("export", path, "-o", "model.onnx").error_line


def test_forest_equals_that_of_the_library(forest: Path) -> None:
    frame = patients()
    X, y = frame.drop(columns="progress"), frame["progress"]
    model = library.TrinaryForestRegressor(n_estimators=4, random_state=0).fit(X, y)
    found = library.load(forest)
    assert isinstance(found, library.TrinaryForestRegressor)
    np.testing.assert_array_equal(found.predict(X), model.predict(X))


@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_summary_has_the_number_of_trees(kind: str, tritree: InProcess, patients_table: Path) -> None:
    run = tritree.good(
        "fit", patients_table, "-y", "progress", "--model", kind, "--trees", 3, "-o", "model.tritree"
    )
    assert f"{kind:<9}" in run.out
    assert "3 trees" in run.out
    facts = tritree.good(
        "fit", patients_table, "-y", "progress", "-m", kind, "--trees", 3, "-o", "model.tritree", "--json"
    ).json
    assert (facts["kind"], facts["trees"]) == (kind, 3)


def test_file_without_training_rows_is_smaller(tritree: InProcess, patients_table: Path) -> None:
    for kind in ("forest", "boosting"):
        args = ("fit", patients_table, "-y", "progress", "-m", kind, "--trees", 3)
        tritree.good(*args, "-o", "with.tritree")
        tritree.good(*args, "-o", "without.tritree", "--no-training-rows")
        assert Path("without.tritree").stat().st_size < Path("with.tritree").stat().st_size


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_warning_of_ungrown_branches_names_options_that_the_model_has(
    kind: str, tritree: InProcess, patients_table: Path
) -> None:
    tritree.good(
        *("fit", patients_table, "-y", "progress", "-m", kind),
        *("--trees", 3, "-o", "m.tritree", "--no-training-rows"),
    )
    patients().drop(columns=["bmi", "s5", "bp"]).to_csv("some_missing.csv", index=False)
    run = tritree.good("predict", "m.tritree", "some_missing.csv", "-o", "predictions.csv")
    assert "no training rows to grow it from; fit without --no-training-rows" in run.err
    assert "or grow every branch with --grow-all" in run.err
    assert "detach" not in run.err


@pytest.mark.parametrize("kind", ["tree", "boosting", "forest"])
def test_model_without_training_rows_has_the_branches_of_grow_for(
    kind: str, tritree: InProcess, patients_table: Path
) -> None:
    rows = rows_with_missing()
    rows.assign(progress=0).to_csv("new.csv", index=False)
    few = () if kind == "tree" else ("--trees", 3)
    args = ("fit", patients_table, "-y", "progress", "-m", kind, *few)
    tritree.good(*args, "-o", "with.tritree")
    run = tritree.good(*args, "-o", "m.tritree", "--grow-for", "new.csv", "--no-training-rows")
    assert "if rows lack other values than those of --grow-for, name them there too" in run.err
    assert "ignored" not in run.err  # the target
    rows.to_csv("new.csv", index=False)
    run = tritree.good("predict", "m.tritree", "new.csv")
    assert run.err == ""
    assert run.out == tritree.good("predict", "with.tritree", "new.csv").out


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_saving_without_training_rows_or_third_branches_warns(
    kind: str, tritree: InProcess, patients_table: Path
) -> None:
    pd.read_csv(patients_table).fillna(0).to_csv(
        "complete.csv", index=False
    )  # training grows the branches that its own missing values need
    run = tritree.good(
        *("fit", "complete.csv", "-y", "progress", "-m", kind),
        *("--trees", 3, "-o", "m.tritree", "--no-training-rows"),
    )
    assert "the model in the file cannot grow any" in run.err
    assert "name rows with the missing values to expect with --grow-for" in run.err


def test_model_is_saved_even_if_the_rows_to_grow_for_cannot_be_read(
    tritree: InProcess, patients_table: Path
) -> None:
    rows_with_missing().astype(object).assign(bmi="much").to_csv("bad.csv", index=False)
    run = tritree(
        *("fit", patients_table, "-y", "progress", "-m", "boosting"),
        *("--trees", 3, "-o", "m.tritree", "--grow-for", "bad.csv"),
    )
    assert run.code == 1
    assert "much" in run.error_line
    assert "(the model was saved to 'm.tritree' without the branches that these rows need)" in run.error_line
    assert tritree.good("show", "m.tritree", "--tree", 0).out


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("show", "{boosting}", "--tree", "5"), "there is no tree 5"),
        (("export", "{boosting}", "-o", "x.onnx", "--tree", "0"), "leave out --tree"),
        (("show", "{forest}", "--tree", "4"), "there is no tree 4"),
        (("export", "{forest}", "-o", "x.onnx", "--tree", "0"), "leave out --tree"),
        (("export", "{forest}", "-o", "x.onnx", "--max-nodes", "9"), "fit fewer or smaller trees (--trees"),
        (("export", "{boosting}", "-f", "json", "--tree", "0", "--distribution"), "leave out --distribution"),
        (("export", "{forest}", "-f", "json", "--distribution"), "is for one tree; name it with --tree"),
        (
            ("fit", "{table}", "-y", "progress", "-m", "boosting", "--criterion", "squared_error"),
            "--criterion is not for",
        ),
        (
            ("fit", "{table}", "-y", "progress", "-m", "boosting", "-s", "surrogate"),
            "--strategy surrogate is not for",
        ),
        (("fit", "{table}", "-y", "progress", "--trees", "7"), "--trees is not for --model tree"),
        (
            ("compare", "{table}", "-y", "progress", "-m", "tree", "--trees", "7"),
            "--trees is not for --model tree",
        ),
        (
            ("compare", "{table}", "-y", "progress", "-m", "tree", "-m", "forest", "--learning-rate", "1"),
            "--learning-rate is not for --model tree or --model forest",
        ),
        (
            ("compare", "{table}", "-y", "progress", "-m", "boosting", "--criterion", "squared_error"),
            "--criterion is not for",
        ),
        (("compare", "{table}", "-y", "progress", "-m", "boosting", "--depth", "0"), "--depth 0 is not for"),
        (
            ("compare", "{table}", "-y", "progress", "-m", "tree", "-m", "boosting", "-s", "surrogate"),
            "--strategy surrogate is not for --model boosting; use trinary_mia, trinary, mia, majority or",
        ),
        (
            ("fit", "{table}", "-y", "progress", "-m", "forest", "--learning-rate", "1"),
            "--learning-rate is not for",
        ),
        # what would be without the option is no reason to take it
        (
            ("fit", "{table}", "-y", "progress", "-m", "forest", "--learning-rate", ".1"),
            "--learning-rate is not for",
        ),
        (("fit", "{table}", "-y", "progress", "--trees", "100"), "--trees is not for --model tree"),
        (
            ("fit", "{table}", "-y", "progress", "-m", "boosting", "--max-surrogates", "5"),
            "--max-surrogates is not",
        ),
        (
            ("compare", "{table}", "-y", "progress", "-s", "mia", "--learning-rate", "0.1"),
            "--learning-rate is not for --model tree",
        ),
    ],
)
def test_option_that_a_kind_of_model_lacks_is_refused_in_one_line(
    args: tuple[str, ...], text: str, tritree: InProcess, boosting: Path, forest: Path, patients_table: Path
) -> None:
    paths = {"boosting": boosting, "forest": forest, "table": patients_table}
    run = tritree(*(arg.format(**paths) for arg in args))
    assert run.code == 1
    assert text in run.error_line
