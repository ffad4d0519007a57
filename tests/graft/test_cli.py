"""``tritree graft`` on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pd = pytest.importorskip("pandas", reason="the command line needs pandas")
lightgbm = pytest.importorskip("lightgbm")

from cli.program import InProcess  # noqa: E402

import tritree as library  # noqa: E402


@pytest.fixture
def tritree(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InProcess:
    """Return the program, run in a folder with a model of LightGBM and rows for it."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(300, 3)), columns=["a", "b", "c"])
    frame["b"] += frame["a"]
    frame["colour"] = random.choice(["red", "blue"], size=300)
    y = frame["a"] * frame["b"] + (frame["colour"] == "red")
    model = lightgbm.LGBMRegressor(n_estimators=10, n_jobs=1, verbose=-1)
    model.fit(frame.astype({"colour": "category"}), y)
    model.booster_.save_model("model.txt")
    frame.assign(id=range(300), y=y).to_csv("rows.csv", index=False)
    return InProcess(capfd)


def test_summary_says_what_was_grafted(tritree: InProcess) -> None:
    run = tritree.good("graft", "model.txt", "rows.csv", "--drop", "id,y", "-o", "robust.tritree")
    assert run.err == ""
    assert "source   LightGBM, regression: 10 trees, " in run.out
    assert "table    'rows.csv': 300 rows" in run.out
    assert "splits have a third branch, 0 keep the direction of LightGBM" in run.out
    assert "model    robust.tritree (" in run.out


def test_json_has_the_same_facts(tritree: InProcess) -> None:
    facts = tritree.good("graft", "model.txt", "rows.csv", "--json").json
    assert (facts["model"], facts["library"], facts["trees"]) == ("model.tritree", "LightGBM", 10)
    assert facts["third_splits"] > 0
    assert facts["kept_splits"] == 0
    kept = tritree.good("graft", "model.txt", "rows.csv", "--strategy", "keep", "--json").json
    assert kept["replaced"]
    assert (kept["third_splits"], kept["kept_splits"]) == (0, facts["third_splits"])


def test_other_commands_take_the_model(tritree: InProcess) -> None:
    tritree.good("graft", "model.txt", "rows.csv", "--drop", "id,y")
    predicted = pd.read_csv(
        Path(tritree.good("predict", "model.tritree", "rows.csv", "-o", "p.csv") and "p.csv")
    )
    model = lightgbm.Booster(model_file="model.txt")
    frame = pd.read_csv("rows.csv").drop(columns=["id", "y"]).astype({"colour": "category"})
    np.testing.assert_allclose(predicted["prediction"], model.predict(frame))
    assert "LightGBM" in tritree.good("show", "model.tritree").out
    assert "LightGBM" in tritree.good("info", "model.tritree").out
    assert (
        "was grafted and does not name its target" in tritree("score", "model.tritree", "rows.csv").error_line
    )
    assert "rows as they are" in tritree.good("score", "model.tritree", "rows.csv", "-y", "y").out


def test_same_table_and_options_give_the_same_model(tritree: InProcess) -> None:
    rows = pd.read_csv("rows.csv").drop(columns=["id", "y"])
    rows["a"] = np.nan
    predicted = []
    for _ in range(2):
        tritree.good("graft", "model.txt", "rows.csv", "--drop", "id,y", "--max-background", 100)
        predicted.append(library.load("model.tritree").predict(rows))
    assert np.array_equal(*predicted)


def test_text_in_a_column_of_numbers_names_the_remedy(tritree: InProcess) -> None:
    frame = pd.read_csv("rows.csv").astype({"a": str})
    frame.loc[3, "a"] = "?"
    frame.to_csv("marked.csv", index=False)
    assert "--na '?'" in tritree("graft", "model.txt", "marked.csv").error_line
    tritree.good("graft", "model.txt", "marked.csv", "--na", "?")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("absent.json", "rows.csv"), "absent.json"),
        (("-", "rows.csv"), "a model is read from a file, not from the standard input"),
        (("rows.csv", "rows.csv"), "is not a model of XGBoost"),
        (("model.txt", "rows.csv", "-o", "model.txt"), "is read by this command"),
        (("model.txt", "rows.csv", "--drop", "none"), "no column 'none'"),
    ],
)
def test_errors_take_one_line(args: tuple[str, ...], message: str, tritree: InProcess) -> None:
    assert message in tritree("graft", *args).error_line
