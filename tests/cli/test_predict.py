"""``tritree predict`` and ``tritree explain`` say what the library says, and pass on what is not theirs."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli.conftest import diabetes, flowers
from cli.running import InProcess

import tritree as library


def read(out: str) -> pd.DataFrame:
    """Return a table with the numbers as they are written, to the last digit."""
    names, *rows = csv.reader(io.StringIO(out))
    return pd.DataFrame(rows, columns=names).map(number_or_text)


def number_or_text(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


def test_predictions_are_those_of_the_library_bit_for_bit(
    tritree: InProcess, table: Path, model: Path
) -> None:
    run = tritree.good("predict", model, table)
    ours = library.load(model).predict(diabetes().drop(columns=["id", "progress"]))
    assert np.array_equal(read(run.out)["prediction"], ours)


def test_probabilities_have_a_column_per_class(tritree: InProcess, classes: Path, classifier: Path) -> None:
    told = read(tritree.good("predict", classifier, classes, "--probabilities", "--name", "kind?").out)
    ours = library.load(classifier)
    rows = flowers().drop(columns="kind")
    assert list(told.columns) == ["kind?", "kind?_setosa", "kind?_versicolor", "kind?_virginica"]
    assert told["kind?"].tolist() == ours.predict(rows).tolist()
    assert np.array_equal(told.iloc[:, 1:], ours.predict_proba(rows))


def test_kept_columns_are_passed_on_as_they_stand_in_the_file(tritree: InProcess, model: Path) -> None:
    Path("new.csv").write_text('id,age,note\n007,50,"a, ""b"""\n008,NA,NA\n,60.50,\n')
    told = tritree.good("predict", model, "new.csv", "--keep", "id", "--keep", "note", "--keep", "age").out
    assert [line.rpartition(",")[0] for line in told.splitlines()] == [
        "id,note,age",
        '007,"a, ""b""",50',
        "008,NA,NA",
        ",,60.50",
    ]


def test_all_columns_can_be_passed_on_with_types(tritree: InProcess, model: Path) -> None:
    Path("new.csv").write_text("id,age,bmi\n007,50,NA\n008,60,25.5\n")
    tritree.good("predict", model, "new.csv", "--append", "-o", "out.parquet")
    frame = pd.read_parquet("out.parquet")
    assert list(frame.columns) == ["id", "age", "bmi", "prediction"]
    assert frame["id"].tolist() == ["007", "008"]
    assert frame["age"].tolist() == [50, 60]
    assert np.isnan(frame["bmi"][0])
    told = tritree.good("predict", model, "new.csv", "--append", "--json").json
    assert told[0] == {"id": "007", "age": 50, "bmi": None, "prediction": frame["prediction"][0]}


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "csv.bz2", "csv.xz", "csv.zip", "parquet"])
def test_predictions_can_be_written_to_a_file_of_any_kind(
    ending: str, tritree: InProcess, table: Path, model: Path
) -> None:
    run = tritree.good("predict", model, table, "--keep", "id", "-o", f"out.{ending}")
    assert run.out == ""
    assert f"predictions written to 'out.{ending}'" in run.err
    if ending == "parquet":
        frame = pd.read_parquet(f"out.{ending}")
    else:
        frame = pd.read_csv(f"out.{ending}", sep="\t" if ending == "tsv" else ",", dtype={"id": str})
    assert frame["id"].tolist() == diabetes()["id"].tolist()
    ours = library.load(model).predict(diabetes().drop(columns=["id", "progress"]))
    assert np.allclose(frame["prediction"], ours, rtol=1e-15)


def test_columns_that_vanished_or_are_new_are_told_in_a_line_each(
    tritree: InProcess, table: Path, model: Path
) -> None:
    diabetes().drop(columns=["bmi", "s5"]).to_csv("new.csv", index=False)
    run = tritree.good("predict", model, "new.csv")
    assert run.err.splitlines() == [
        "tritree: warning: absent from the table, so missing in every row: 'bmi', 's5'",
        "tritree: warning: not in training, so ignored: 'id', 'progress'",
    ]
    quiet = tritree.good("predict", model, table, "--keep", "id", "--keep", "progress")
    assert quiet.err == ""


def test_text_of_training_stays_text_even_where_it_looks_like_numbers(tritree: InProcess) -> None:
    i = np.arange(100)
    frame = pd.DataFrame({"code": np.array(["1", "2", "a", "b"])[i % 4], "y": i % 4})
    frame.to_csv("t.csv", index=False)
    tritree.good("fit", "t.csv", "-y", "y")
    Path("new.csv").write_text("code\n1\n2\n")
    run = tritree.good("predict", "t.tritree", "new.csv")
    assert run.out.split() == ["prediction", "0", "1"]
    assert run.err == ""


def test_result_file_with_json_is_told_to_programs(tritree: InProcess, table: Path, model: Path) -> None:
    told = tritree.good("predict", model, table, "-o", "p.csv", "--json").json
    assert told == {"output": "p.csv", "rows": 442, "columns": ["prediction"]}


def test_unknown_category_can_be_made_an_error(tritree: InProcess, classes: Path, classifier: Path) -> None:
    flowers().assign(colour="blue").head(3).to_csv("new.csv", index=False)
    assert tritree("predict", classifier, "new.csv").code == 0
    run = tritree("predict", classifier, "new.csv", "--unknown-category", "error")
    assert run.code == 1
    assert "'blue'" in run.complaint
    assert run.complaint.endswith("--unknown-category no_information")


def test_explanations_are_those_of_the_library(tritree: InProcess, table: Path, model: Path) -> None:
    run = tritree.good("explain", model, table, "0", "3-4")
    why = library.load(model).explain(diabetes().drop(columns=["id", "progress"]).iloc[[0, 3, 4]])
    assert run.out == "\n\n\n".join(f"row {i} {text}" for i, text in zip((0, 3, 4), why, strict=True)) + "\n"
    told = tritree.good("explain", model, table, "3", "--json").json
    assert [item["row"] for item in told] == [3]
    assert told[0]["prediction"] == why[1].prediction
    assert [turn["reason"] for turn in told[0]["turns"]] == [turn.reason for turn in why[1].turns]


def test_all_rows_of_a_short_table_are_explained(tritree: InProcess, model: Path) -> None:
    diabetes().head(3).to_csv("new.csv", index=False)
    assert [item["row"] for item in tritree.good("explain", model, "new.csv", "--json").json] == [0, 1, 2]
