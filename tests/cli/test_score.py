"""``tritree score`` scores a model on a table that has the target."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli.conftest import diabetes, flowers
from cli.program import InProcess
from sklearn.metrics import log_loss, mean_absolute_error, r2_score, root_mean_squared_error

import tritree as library
from tritree.lab import ampute

FEATURES = diabetes().drop(columns=["id", "progress"])
PROGRESS = diabetes()["progress"]


def test_scores_equal_those_of_scikit_learn(tritree: InProcess, table: Path, model: Path) -> None:
    run = tritree.good("score", model, table, "--missing", 0.4, "--seed", 5, "--json")
    assert run.err == ""  # the target and the dropped column are expected there
    found, loaded = run.json, library.load(model)
    for key, rows in (("unchanged", FEATURES), ("removed", ampute(FEATURES, 0.4, seed=5))):
        predicted = loaded.predict(rows)
        assert found[key] == pytest.approx(
            {
                "r2": r2_score(PROGRESS, predicted),
                "rmse": root_mean_squared_error(PROGRESS, predicted),
                "mae": mean_absolute_error(PROGRESS, predicted),
            }
        )
    assert found["constant"]["r2"] == pytest.approx(0)
    assert found["constant"]["rmse"] == pytest.approx(PROGRESS.std(ddof=0))
    assert (found["target"], found["task"], found["rows"]) == ("progress", "regression", 442)


def test_text_has_a_line_per_set_of_rows(tritree: InProcess, table: Path, model: Path) -> None:
    head, scores = tritree.good("score", model, table, "--missing", 0.4).out.split("\n\n")
    assert head == "regression of progress: 442 rows"
    assert [line.split("  ")[0] or line.split("  ")[1] for line in scores.splitlines()] == [
        "scores",
        "rows as they are",
        "40% of cells removed",
        "constant (the mean)",
    ]


def test_classes_that_look_like_numbers_are_read_as_in_training(tritree: InProcess) -> None:
    pd.DataFrame({"x": range(90), "y": ["1", "2", "x"] * 30}).to_csv("t.csv", index=False)
    tritree.good("fit", "t.csv", "-y", "y", "-o", "m.tritree")
    pd.DataFrame({"x": range(90), "y": ["1", "2", "1"] * 30}).to_csv("new.csv", index=False)
    run = tritree.good("score", "m.tritree", "new.csv", "--json")
    model = library.load("m.tritree")
    shares = model.predict_proba(pd.DataFrame({"x": range(90)}))
    expected = log_loss(["1", "2", "1"] * 30, shares, labels=["1", "2", "x"])
    assert run.json["unchanged"]["log_loss"] == pytest.approx(expected)
    assert run.err == ""


@pytest.mark.parametrize("labels", [[0, 1], [True, False], [2**60 + 1, 2**60 + 2]])
def test_labels_keep_their_type(labels: list[object], tritree: InProcess) -> None:
    pd.DataFrame({"x": [0, 1] * 40, "y": labels * 40}).to_csv("t.csv", index=False)
    tritree.good("fit", "t.csv", "-y", "y", "-o", "m.tritree")
    assert tritree.good("score", "m.tritree", "t.csv", "--json").json["unchanged"]["accuracy"] == 1


def test_unknown_classes_count_as_wrong_and_a_warning_names_them(
    tritree: InProcess, classifier: Path
) -> None:
    frame = flowers()
    frame.loc[:14, "kind"] = "rose"
    frame.to_csv("new.csv", index=False)
    run = tritree.good("score", classifier, "new.csv", "--json")
    assert "a class that the model does not know count as wrong: 15 rows ('rose')" in run.err
    loaded = library.load(classifier)
    correct = loaded.predict(flowers().drop(columns="kind")) == frame["kind"].to_numpy()
    assert run.json["unchanged"]["accuracy"] == pytest.approx(correct.mean())
    frame["kind"] = "rose"
    frame.to_csv("new.csv", index=False)
    assert (
        "holds none of the classes of the model ('setosa'"
        in tritree("score", classifier, "new.csv").error_line
    )


@pytest.mark.parametrize(
    ("target", "other", "remedy"),
    [
        ("kind", "size", "name the column of the classes with -y"),
        ("size", "kind", "name the column of the target with -y"),
    ],
)
def test_target_of_another_type_is_refused_with_an_option_that_score_has(
    target: str, other: str, remedy: str, tritree: InProcess
) -> None:
    frame = pd.DataFrame({"x": range(40), "kind": ["a", "b"] * 20, "size": np.arange(40) + 0.5})
    frame.to_csv("t.csv", index=False)
    tritree.good("fit", "t.csv", "-y", target, "-o", "m.tritree", "--no-validation")
    assert tritree("score", "m.tritree", "t.csv", "-y", other).error_line.endswith(f"; {remedy}")


def test_model_saved_from_python_needs_the_target(tritree: InProcess, table: Path) -> None:
    library.TrinaryTreeRegressor().fit(FEATURES, PROGRESS).save("python.tritree")
    assert "name it with -y" in tritree("score", "python.tritree", table).error_line
    assert tritree.good("score", "python.tritree", table, "-y", "progress", "--json").json["rows"] == 442


def test_weights_of_the_fit_are_used_if_the_table_has_them(tritree: InProcess) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.random(200), "w": rng.integers(1, 4, 200), "y": rng.random(200)})
    frame.to_csv("t.csv", index=False)
    tritree.good("fit", "t.csv", "-y", "y", "--weights", "w", "-o", "m.tritree")
    found = tritree.good("score", "m.tritree", "t.csv", "--json").json
    predicted = library.load("m.tritree").predict(frame[["x"]])
    assert found["weights"] == "w"
    assert found["unchanged"]["r2"] == pytest.approx(
        r2_score(frame["y"], predicted, sample_weight=frame["w"])
    )
    frame.drop(columns="w").to_csv("new.csv", index=False)
    run = tritree.good("score", "m.tritree", "new.csv", "--json")
    assert "no column of weights, 'w'" in run.err
    assert run.json["unchanged"]["r2"] == pytest.approx(r2_score(frame["y"], predicted))


def test_rows_without_target_can_be_left_out(tritree: InProcess, model: Path) -> None:
    frame = diabetes()
    frame.loc[:9, "progress"] = np.nan
    frame.to_csv("new.csv", index=False)
    assert "--skip-missing-target" in tritree("score", model, "new.csv").error_line
    found = tritree.good("score", model, "new.csv", "--skip-missing-target", "--json").json
    assert (found["rows"], found["rows_skipped"]) == (432, 10)
