"""``tritree fit`` scores models on rows that they were not fitted to; scikit-learn computes the same scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cli.conftest import flowers, patients
from cli.program import InProcess
from sklearn import metrics
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

import tritree as library
from tritree.lab import ampute

X, Y = patients().drop(columns="progress"), patients()["progress"].to_numpy()
FLOWERS, KINDS = flowers().drop(columns="kind"), flowers()["kind"].to_numpy()


def fit(tritree: InProcess, *args: object) -> Any:
    return tritree.good("fit", *args, "-o", "m.tritree", "--json").json


def of_regression(y: Any, predicted: Any, weights: Any = None) -> dict[str, float]:
    error = {"sample_weight": weights}
    return {
        "r2": metrics.r2_score(y, predicted, **error),
        "rmse": metrics.mean_squared_error(y, predicted, **error) ** 0.5,
        "mae": metrics.mean_absolute_error(y, predicted, **error),
    }


def of_classification(y: Any, shares: Any, labels: Any) -> dict[str, float]:
    return {
        "log_loss": metrics.log_loss(y, shares, labels=labels),
        "roc_auc": metrics.roc_auc_score(y, shares, multi_class="ovr", labels=labels),
        "accuracy": metrics.accuracy_score(y, labels[shares.argmax(axis=1)]),
        "brier_score": ((shares - (y[:, None] == labels)) ** 2).sum(axis=1).mean(),
    }


@pytest.mark.parametrize("seed", [0, 3])
def test_tree_is_scored_on_a_quarter_of_the_rows(seed: int, tritree: InProcess, patients_table: Path) -> None:
    found = fit(tritree, patients_table, "-y", "progress", "--seed", seed)["validation"]
    X_train, X_test, y_train, y_test = train_test_split(X, Y, test_size=0.25, random_state=seed)
    model = library.TrinaryTreeRegressor().fit(X_train, y_train)
    assert (found["method"], found["rows"], found["removed_rows"]) == ("held_out", 111, 111)
    assert found["unchanged"] == pytest.approx(of_regression(y_test, model.predict(X_test)))
    removed = ampute(X_test, 0.3, seed=seed)
    assert found["removed"] == pytest.approx(of_regression(y_test, model.predict(removed)))
    mean = np.full(len(y_test), y_train.mean())
    assert found["constant"] == pytest.approx(of_regression(y_test, mean))


def test_boosting_of_classes_is_scored_on_stratified_rows(tritree: InProcess, classes: Path) -> None:
    options = ("-m", "boosting", "--trees", 5, "--test-size", 0.4, "--missing", "50%")
    found = fit(tritree, classes, "-y", "kind", *options)["validation"]
    X_train, X_test, y_train, y_test = train_test_split(
        FLOWERS, KINDS, test_size=0.4, random_state=0, stratify=KINDS
    )
    model = library.TrinaryBoostingClassifier(max_iter=5, random_state=0).fit(X_train, y_train)
    labels = model.classes_
    assert found["unchanged"] == pytest.approx(of_classification(y_test, model.predict_proba(X_test), labels))
    removed = model.predict_proba(ampute(X_test, 0.5, seed=0))
    assert found["removed"] == pytest.approx(of_classification(y_test, removed, labels))
    assert found["removed_fraction"] == 0.5
    assert found["constant"]["log_loss"] == pytest.approx(np.log(3))


def test_forest_is_scored_out_of_bag(tritree: InProcess, patients_table: Path) -> None:
    found = fit(tritree, patients_table, "-y", "progress", "-m", "forest", "--trees", 8)["validation"]
    forest = library.TrinaryForestRegressor(n_estimators=8, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="drawn for every tree"):
        predicted = forest.fit(X, Y).oob_prediction_
    has = ~np.isnan(predicted)
    assert (found["method"], found["rows"]) == ("out_of_bag", has.sum())
    assert found["unchanged"] == pytest.approx(of_regression(Y[has], predicted[has]))
    # a tree of the forest predicts the rows that were not drawn for it
    removed, total, n_trees = ampute(X, 0.3, seed=0), np.zeros(len(X)), np.zeros(len(X))
    seeds = np.random.RandomState(0).randint(1, 2**31 - 1, size=8)
    for tree, seed in zip(forest.estimators_, seeds, strict=True):
        drawn = np.random.RandomState(seed).randint(0, len(X), size=len(X))
        own = np.setdiff1d(np.arange(len(X)), drawn)
        total[own] += tree.predict(removed.iloc[own])
        n_trees[own] += 1
    assert found["removed"] == pytest.approx(of_regression(Y[has], total[has] / n_trees[has]))


def test_out_of_bag_probabilities_are_those_of_the_library(tritree: InProcess, classes: Path) -> None:
    options = ("-m", "forest", "--trees", 30, "--missing", 0, "--class-weight", "balanced")
    found = fit(tritree, classes, "-y", "kind", *options)["validation"]
    forest = library.TrinaryForestClassifier(
        n_estimators=30, oob_score=True, random_state=0, class_weight="balanced"
    ).fit(FLOWERS, KINDS)
    expected = of_classification(KINDS, forest.oob_decision_function_, forest.classes_)
    assert found["unchanged"] == pytest.approx(expected)
    assert (found["removed"], found["removed_rows"]) == (None, None)


def test_cross_validation_is_the_mean_over_folds(tritree: InProcess, patients_table: Path) -> None:
    options = ("--cv", 4, "--seed", 1, "-m", "forest", "--trees", 3)
    found = fit(tritree, patients_table, "-y", "progress", *options)["validation"]
    scores = []
    for train, test in KFold(4, shuffle=True, random_state=1).split(X):
        model = library.TrinaryForestRegressor(n_estimators=3, random_state=1).fit(X.iloc[train], Y[train])
        scores.append(of_regression(Y[test], model.predict(X.iloc[test])))
    assert (found["method"], found["folds"], found["rows"]) == ("cross_validation", 4, len(X))
    assert found["unchanged"] == pytest.approx(pd.DataFrame(scores).mean().to_dict())


def test_folds_of_classes_are_stratified(tritree: InProcess, classes: Path) -> None:
    found = fit(tritree, classes, "-y", "kind", "--cv", 3, "--missing", 0)["validation"]
    correct = []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(FLOWERS, KINDS):
        model = library.TrinaryTreeClassifier().fit(FLOWERS.iloc[train], KINDS[train])
        correct.append(np.mean(model.predict(FLOWERS.iloc[test]) == KINDS[test]))
    assert found["unchanged"]["accuracy"] == pytest.approx(np.mean(correct))


def test_model_in_the_file_is_fitted_to_all_rows(tritree: InProcess, patients_table: Path) -> None:
    fit(tritree, patients_table, "-y", "progress")
    np.testing.assert_array_equal(
        library.load("m.tritree").predict(X), library.TrinaryTreeRegressor().fit(X, Y).predict(X)
    )


def test_scores_are_a_table_with_notes(tritree: InProcess, patients_table: Path) -> None:
    facts = fit(tritree, patients_table, "-y", "progress")
    text = tritree.good("fit", patients_table, "-y", "progress", "-o", "m.tritree").out
    header, *lines, note = text.split("\n\n")[1].splitlines()
    assert header.split() == ["scores", "R²", "RMSE", "MAE"]
    assert len({len(line) for line in (header, *lines)}) == 1
    found = facts["validation"]
    for line, label, scores in zip(
        lines,
        ("training rows", "held-out rows", "  30% of cells removed", "constant (the mean)"),
        (facts["training"], found["unchanged"], found["removed"], found["constant"]),
        strict=True,
    ):
        assert line.startswith(label)
        assert line.removeprefix(label).split() == [
            f"{scores['r2']:z.3f}",
            f"{scores['rmse']:.2f}",
            f"{scores['mae']:.2f}",
        ]
    assert note == "held-out rows: 111 of 442; the model in the file is fitted to all rows"


def test_training_scores_remain_without_validation(tritree: InProcess, patients_table: Path) -> None:
    text = tritree.good("fit", patients_table, "-y", "progress", "--no-validation").out
    assert [line.split("  ")[0] for line in text.split("\n\n")[1].splitlines()[1:]] == [
        "training rows",
        "constant (the mean)",
    ]
    facts = fit(tritree, patients_table, "-y", "progress", "--no-validation")
    expected = of_regression(Y, library.TrinaryTreeRegressor().fit(X, Y).predict(X))
    constant = facts["training"].pop("constant")
    assert facts["training"] == pytest.approx(expected)
    assert constant["r2"] == pytest.approx(0)
    assert facts["validation"] is None


def test_weights_count_in_fit_and_scores(tritree: InProcess) -> None:
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    X.assign(progress=Y, w=weights).to_csv("t.csv", index=False)
    found = fit(tritree, "t.csv", "-y", "progress", "--weights", "w")["validation"]
    train, test = train_test_split(np.arange(len(X)), test_size=0.25, random_state=0)
    model = library.TrinaryTreeRegressor().fit(X.iloc[train], Y[train], weights[train])
    expected = of_regression(Y[test], model.predict(X.iloc[test]), weights[test])
    assert found["unchanged"] == pytest.approx(expected)


def test_class_of_one_row_is_not_scored(tritree: InProcess) -> None:
    frame = flowers()
    frame.loc[7, "kind"] = "rose"
    frame.to_csv("t.csv", index=False)
    for options in ((), ("--cv", 2), ("-m", "forest", "--trees", 50)):
        facts = fit(tritree, "t.csv", "-y", "kind", *options)
        assert facts["classes"] == ["rose", "setosa", "versicolor", "virginica"]
        rows = {"held_out": 38, "cross_validation": 149, "out_of_bag": 149}
        found = facts["validation"]
        assert found["rows"] == rows[found["method"]]
        assert found["unchanged"]["log_loss"] < 1  # a row of a class with probability 0 would add 34


@pytest.mark.parametrize(
    ("table", "options", "reason"),
    [
        ({"x": [1, 2], "y": ["a", "b"]}, (), "every class has only one row"),
        ({"x": [1], "y": [0.5]}, (), "25% of 1 row cannot be held out"),
        ({"x": [1, 2, 3, 4], "y": ["a", "b", "a", "b"]}, (), "25% of 4 rows of 2 classes cannot be held out"),
        ({"x": [1, 2, 3], "y": [0.5, 1.5, 2]}, ("--cv", 5), "there are 3 rows, too few for --cv 5"),
        ({"x": [1, 2], "y": [0.5, 1.5]}, ("-m", "forest", "--trees", 1), "use more --trees, or --test-size"),
        ({"x": range(8), "y": np.arange(8) / 2, "w": [1] + [0] * 7}, ("--weights", "w"), "weight"),
    ],
)
def test_impossible_validation_is_skipped_with_a_notice(
    table: dict[str, Any], options: tuple[object, ...], reason: str, tritree: InProcess
) -> None:
    pd.DataFrame(table).to_csv("t.csv", index=False)
    seeds = range(8) if "forest" in options else [0]  # one tree may draw all rows, or not
    runs = [tritree.good("fit", "t.csv", "-y", "y", *options, "--json", "--seed", seed) for seed in seeds]
    skipped = [run for run in runs if run.json["validation"] is None]
    assert skipped
    for run in skipped:
        assert Path("t.tritree").exists()
        notices = [line for line in run.err.splitlines() if "validation is skipped" in line]
        assert len(notices) == 1
        assert reason in notices[0]
        assert reason in run.json["validation_skipped"]


def test_categories_that_only_held_out_rows_have_are_no_error(tritree: InProcess) -> None:
    names = [f"a{i}" for i in range(40)]
    pd.DataFrame({"x": names * 2 + ["b"] * 80, "y": np.arange(160) / 7}).to_csv("t.csv", index=False)
    assert fit(tritree, "t.csv", "-y", "y", "--unknown-category", "error")["validation"] is not None
    assert library.load("m.tritree").unknown_category == "error"


def test_interrupted_validation_leaves_the_model(
    tritree: InProcess, patients_table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tritree.cli.validate.validate", interrupted)
    run = tritree("fit", patients_table, "-y", "progress", "-o", "m.tritree")
    assert run.code == 130
    assert "the model is in 'm.tritree'; its scores were interrupted" in run.err
    assert run.out.startswith("table ")
    assert library.load("m.tritree").n_features_in_ == 10


def test_large_tables_hold_out_a_limited_number_of_rows(
    tritree: InProcess, patients_table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tritree.cli.validate._MAX_HELD_OUT", 60)
    monkeypatch.setattr("tritree.cli.validate._MAX_REMOVED", {"tree": 20})
    found = fit(tritree, patients_table, "-y", "progress")["validation"]
    assert (found["rows"], found["removed_rows"]) == (60, 20)
    run = tritree.good("fit", patients_table, "-y", "progress")
    assert "cells are removed at random, from 20 of these rows" in run.out


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("--cv 5 --test-size 0.2", "leave one of them out"),
        ("--no-validation --cv 5", "leave one of them out"),
        ("--test-size 0", "above 0 and below 1"),
        ("--class-weight balanced", "--class-weight is not for regression"),
        ("--loss poisson", "--loss is not for --model tree"),
        ("-m boosting --loss log_loss", "--loss log_loss is not for regression; use squared_error or"),
        ("-m boosting --quantile 0.9", "--quantile is for --loss quantile"),
        ("-m forest --early-stopping", "--early-stopping is not for --model forest"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    options: str, text: str, tritree: InProcess, patients_table: Path
) -> None:
    run = tritree("fit", patients_table, "-y", "progress", *options.split())
    assert run.code == 1
    assert text in run.error_line


def test_options_of_boosting_reach_the_estimator(tritree: InProcess, patients_table: Path) -> None:
    options = (
        "-m boosting --loss quantile --quantile 0.9 --early-stopping --learning-rate 0.5 --seed 7 --trees 9"
    )
    fit(tritree, patients_table, "-y", "progress", *options.split(), "--no-validation")
    model = library.load("m.tritree")
    assert (model.loss, model.quantile, model.early_stopping) == ("quantile", 0.9, True)
    assert (model.learning_rate, model.random_state, model.max_iter) == (0.5, 7, 9)


def test_early_stopping_with_too_few_rows_names_the_option(tritree: InProcess) -> None:
    command = ("fit", "t.csv", "-y", "y", "-m", "boosting", "--early-stopping", "--no-validation")
    pd.DataFrame({"x": range(15), "y": ["a", "b", "b"] * 5}).to_csv("t.csv", index=False)
    tritree.good(*command)
    pd.DataFrame({"x": range(15), "y": ["a"] + ["b"] * 14}).to_csv("t.csv", index=False)
    assert tritree(*command).error_line == (
        "tritree: a tenth of the rows cannot be set aside: there are 15, and the smallest class has 1; use more rows, "
        "or leave out --early-stopping"
    )


def test_target_that_a_loss_excludes_is_refused_in_words_of_the_options(tritree: InProcess) -> None:
    pd.DataFrame({"x": range(30), "y": np.arange(30) / 2}).to_csv("t.csv", index=False)
    run = tritree("fit", "t.csv", "-y", "y", "-m", "boosting", "--loss", "gamma")
    assert (
        run.error_line == "tritree: the target 'y' holds 0.0 in row 0; --loss gamma requires targets above 0"
    )


@pytest.mark.parametrize(
    ("n_rows", "options", "text"),
    [
        (1, [], "25% of 1 row cannot be held out; use more rows"),
        (
            250,
            ["--test-size", 0.999],
            "99.9% of 250 rows cannot be held out; use more rows, or another --test-size, or",
        ),
    ],
)
def test_rows_that_cannot_be_held_out_are_explained(
    n_rows: int, options: list[object], text: str, tritree: InProcess
) -> None:
    pd.DataFrame({"x": np.arange(n_rows) % 7, "y": np.arange(n_rows) / 2}).to_csv("t.csv", index=False)
    skipped = fit(tritree, Path("t.csv"), "-y", "y", "--task", "regression", *options)["validation_skipped"]
    assert skipped.startswith(text)
    assert ("--cv 2" in skipped) == (n_rows > 1)


def test_cells_are_removed_from_a_row_of_each_of_many_folds(tritree: InProcess) -> None:
    pd.DataFrame({"x": np.arange(502) % 7, "y": np.arange(502) / 2}).to_csv("t.csv", index=False)
    options = ("-m", "forest", "--trees", 1, "--cv", 501, "--max-depth", 1)
    assert fit(tritree, Path("t.csv"), "-y", "y", *options)["validation"]["removed_rows"] == 501


def test_quiet_fit_prints_nothing(tritree: InProcess, table: Path) -> None:
    run = tritree.good("fit", table, "-y", "progress", "-o", "m.tritree", "--quiet")
    assert (run.out, run.err) == ("", "")
    assert "looks like an identifier" in tritree.good("fit", table, "-y", "progress").err
    assert tritree("fit", table, "-y", "nothing", "-q").error_line
    assert tritree.good("predict", "m.tritree", table, "-q").err == ""


@pytest.mark.parametrize("loss", ["quantile", "poisson", "gamma"])
def test_loss_of_boosting_is_a_metric_unless_another_one_measures_it(
    loss: str, tritree: InProcess, patients_table: Path
) -> None:
    options = ("-m", "boosting", "--trees", 5, "--loss", loss, "--missing", 0)
    quantile = 0.9 if loss == "quantile" else 0.5
    more = ("--quantile", quantile) if loss == "quantile" else ()
    found = fit(tritree, patients_table, "-y", "progress", *options, *more)["validation"]
    X_train, X_test, y_train, y_test = train_test_split(X, Y, test_size=0.25, random_state=0)
    model = library.TrinaryBoostingRegressor(loss=loss, quantile=quantile, max_iter=5, random_state=0)
    predicted = model.fit(X_train, y_train).predict(X_test)
    key, measure = {
        "quantile": ("pinball_loss", lambda y, p: metrics.mean_pinball_loss(y, p, alpha=0.9)),
        "poisson": ("poisson_deviance", metrics.mean_poisson_deviance),
        "gamma": ("gamma_deviance", metrics.mean_gamma_deviance),
    }[loss]
    assert found["unchanged"] == pytest.approx(
        of_regression(y_test, predicted) | {key: measure(y_test, predicted)}
    )
    constant = np.quantile(y_train, 0.9) if loss == "quantile" else y_train.mean()
    expected = measure(y_test, np.full(len(y_test), constant))
    assert found["constant"][key] == pytest.approx(expected, rel=1e-2)  # quantiles have several definitions
    text = tritree.good("fit", patients_table, "-y", "progress", *options, *more).out
    assert key.replace("_", " ") in text.lower()
    assert ("the quantile" in text) == (loss == "quantile")


@pytest.mark.parametrize("learnable", [True, False])
def test_model_that_is_no_better_than_a_constant_comes_with_a_caution(
    learnable: bool, tritree: InProcess
) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=200)})
    table["y"] = table["x"] if learnable else rng.normal(size=200)
    table.to_csv("noise.csv", index=False)
    out = tritree.good("fit", "noise.csv", "-y", "y", "--max-depth", 8, "--min-samples-leaf", 1).out
    assert ("caution: the RMSE is no lower than that of a constant prediction" in out) is not learnable
