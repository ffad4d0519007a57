"""Tables for a model are read as its training table was, and its target may stand in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cli.program import InProcess

import tritree as library


def sensors(n_rows: int = 120) -> pd.DataFrame:
    """Return a regression in which -200 and "?" stand for missing values."""
    rng = np.random.default_rng(0)
    co, kind = rng.normal(50, 9, n_rows).round(2), rng.choice(["a", "b", "?"], n_rows)
    co[rng.random(n_rows) < 0.3] = -200
    target = np.where(co == -200, 90, co) + 5 * (kind == "a")
    return pd.DataFrame({"id": range(n_rows), "CO": co, "kind": kind, "w": 1.0, "y": target.round(2)})


@pytest.fixture
def fitted(tritree: InProcess) -> Path:
    sensors().to_csv("t.csv", index=False)
    options = ("--drop", "id", "--weights", "w", "--na", "-200", "--na", "?", "--min-samples-leaf", "5")
    assert tritree.good("fit", "t.csv", "-y", "y", *options).err == ""
    return Path("t.tritree")


def predictions(tritree: InProcess, model: Path, *args: object) -> list[float]:
    run = tritree.good("predict", model, *args)
    assert run.err == ""
    return [float(line) for line in run.out.splitlines()[1:]]


@pytest.fixture
def expected(fitted: Path) -> list[float]:
    rows = sensors()[["CO", "kind"]].replace({"CO": {-200: np.nan}, "kind": {"?": None}})
    return library.load(fitted).predict(rows).tolist()


def test_file_has_the_columns_and_the_options_of_the_fit(fitted: Path) -> None:
    assert library.load(fitted).metadata_ == {
        "fit": {
            "target": "y",
            "weights": "w",
            "drop": ["id"],
            "categorical": [],
            "numeric": [],
            "task": "regression",
            "table_format": {"na": ["-200", "?"], "separator": ",", "decimal": "."},
        }
    }


@pytest.mark.parametrize("name", ["t.csv", "new.tsv", "new.csv", "new.parquet", "new.xlsx"])
def test_missing_values_are_those_of_training_in_any_format(
    name: str, tritree: InProcess, fitted: Path, expected: list[float]
) -> None:
    frame = sensors()
    match name:
        case "new.tsv":
            frame.to_csv(name, index=False, sep="\t")
        case "new.csv":
            frame.drop(columns=["y", "w", "id"]).to_csv(name, index=False)
        case "new.parquet":
            pytest.importorskip("pyarrow")
            frame.to_parquet(name)
        case "new.xlsx":
            pytest.importorskip("openpyxl")
            frame.to_excel(name, index=False)
    if name == "new.tsv":  # whose separator is another one, which its name says
        assert tritree.good("predict", fitted, name).err.count("\n") <= 1
    else:
        assert predictions(tritree, fitted, name) == expected


def test_explain_show_and_export_read_as_fit_did(tritree: InProcess, fitted: Path) -> None:
    row = int(np.flatnonzero(sensors()["CO"] == -200)[0])
    run = tritree.good("explain", fitted, "t.csv", row)
    assert "CO is missing" in run.out
    assert run.err == ""
    grown = tritree.good("show", fitted, "--rows", "t.csv")
    assert grown.err == ""
    assert "╰┄ CO missing" in grown.out
    assert "CO missing   not grown yet" not in grown.out
    assert json.loads(tritree.good("export", fitted, "--format", "json", "--rows", "t.csv").out)


def test_tree_of_a_forest_reads_rows_as_its_forest_does(tritree: InProcess) -> None:
    sensors().to_csv("t.csv", index=False)
    tritree.good("fit", "t.csv", "-y", "y", "--drop", "id", "--na", "-200", "-m", "forest", "--trees", 2)
    run = tritree.good("show", "t.tritree", "--tree", 1, "--rows", "t.csv")
    assert run.err == ""


def test_options_given_anew_replace_those_of_training_with_a_notice(tritree: InProcess, fitted: Path) -> None:
    run = tritree.good("predict", fitted, "t.csv", "--na", "none")
    assert run.err.splitlines() == [
        "tritree: warning: this table is read with --na none; the training table was read with --na -200 --na '?'",
        "tritree: warning: column 'CO' holds -200.0, which was missing in training; add --na -200 --na '?'",
    ]
    same = tritree.good("predict", fitted, "t.csv", "--na", "?", "--na", "-200")
    assert same.err == ""


def test_default_texts_are_read_as_in_training(tritree: InProcess) -> None:
    pd.DataFrame({"code": ["NA", "US"] * 40, "y": [1, 2] * 40}).to_csv("t.csv", index=False)
    tritree.good("fit", "t.csv", "-y", "y", "--no-default-na")
    assert tritree.good("predict", "t.tritree", "t.csv").out.split()[1:3] == ["1", "2"]
    assert "the training table was read with --no-default-na" in (
        tritree.good("predict", "t.tritree", "t.csv", "--default-na").err
    )


def test_separators_of_training_are_expected_but_not_required(tritree: InProcess) -> None:
    frame = sensors().drop(columns=["id", "w"])
    frame.to_csv("t.csv", index=False, sep=";", decimal=",")
    assert "--separator ';' --decimal ," in tritree.good("fit", "t.csv", "-y", "y").err
    expected = tritree.good("predict", "t.tritree", "t.csv")
    assert expected.err == ""
    frame.to_csv("commas.csv", index=False)
    other = tritree.good("predict", "t.tritree", "commas.csv")
    assert other.out == expected.out
    assert "'commas.csv' is read with --separator , --decimal . (found in its first rows" in other.err
    Path("ambiguous.csv").write_text("CO;kind\n1,234;a\n")
    assert tritree.good("predict", "t.tritree", "ambiguous.csv").err == ""


def test_encoding_of_training_is_used_and_questioned(tritree: InProcess) -> None:
    text = pd.DataFrame({"town": ["Köln", "Bern"] * 40, "y": [1, 2] * 40}).to_csv(index=False)
    Path("t.csv").write_text(text, encoding="latin-1")
    tritree.good("fit", "t.csv", "-y", "y", "--encoding", "latin-1")
    run = tritree.good("predict", "t.tritree", "t.csv")
    assert run.err == ""
    assert run.out.split()[1:3] == ["1", "2"]
    Path("new.csv").write_text(text, encoding="utf-8")
    assert (
        "looks like utf-8; if it is, add --encoding utf-8"
        in tritree.good("predict", "t.tritree", "new.csv").err
    )
    assert tritree.good("predict", "t.tritree", "new.csv", "--encoding", "utf-8").out == run.out


def test_columns_are_read_by_their_types_also_beside_parts_of_dates(tritree: InProcess) -> None:
    days = pd.date_range("2024-01-01", periods=80).astype(str)
    frame = pd.DataFrame({"day": days, "code": ["1", "x"] * 40, "size": range(80), "y": [1, 2] * 40})
    frame.to_csv("t.csv", index=False)
    tritree.good("fit", "t.csv", "-y", "y", "--date-parts", "month,weekday")
    frame.assign(code="1").to_csv("new.csv", index=False)
    run = tritree.good("predict", "t.tritree", "new.csv")
    assert set(run.out.split()[1:]) == {"1"}


def test_model_of_the_library_has_no_options(tritree: InProcess) -> None:
    frame = sensors()
    frame.to_csv("t.csv", index=False)
    library.TrinaryTreeRegressor().fit(frame[["CO"]], frame["y"]).save("m.tritree", metadata={"fit": "mine"})
    run = tritree.good("predict", "m.tritree", "t.csv")
    assert run.err == "tritree: warning: not in training, so ignored: 'id', 'kind', 'w', 'y'\n"


GOOD = {"target": "y", "table_format": {"na": ["?"]}}


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"target": 1},
        GOOD | {"drop": "id"},
        GOOD | {"weights": []},
        GOOD | {"table_format": []},
        GOOD | {"table_format": {"na": "?"}},
        GOOD | {"table_format": {"separator": ",,"}},
        GOOD | {"table_format": {"encoding": "nonsense"}},
        GOOD | {"table_format": {"encoding": "hex"}},
        GOOD | {"table_format": {"no_header": "yes"}},
        GOOD | {"table_format": {"sheet": 1}},
        GOOD | {"table_format": {"other": 1}},
    ],
)
def test_record_that_fit_does_not_write_is_refused(record: Any, tritree: InProcess) -> None:
    frame = sensors()
    frame.to_csv("t.csv", index=False)
    library.TrinaryTreeRegressor().fit(frame[["CO"]], frame["y"]).save("m.tritree", metadata={"fit": record})
    line = tritree("predict", "m.tritree", "t.csv").error_line
    assert "the entry 'fit' of the model's metadata is not as tritree fit writes it" in line
