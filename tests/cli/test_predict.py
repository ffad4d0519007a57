"""``tritree predict`` writes the predictions of the library beside columns of the table."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli.conftest import diabetes, flowers
from cli.program import InProcess

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


def test_predictions_equal_those_of_the_library_bit_for_bit(
    tritree: InProcess, table: Path, model: Path
) -> None:
    run = tritree.good("predict", model, table)
    expected = library.load(model).predict(diabetes().drop(columns=["id", "progress"]))
    assert np.array_equal(read(run.out)["prediction"], expected)


def test_probabilities_have_a_column_per_class(tritree: InProcess, classes: Path, classifier: Path) -> None:
    written = read(tritree.good("predict", classifier, classes, "--probabilities", "--name", "kind?").out)
    expected = library.load(classifier)
    rows = flowers().drop(columns="kind")
    assert list(written.columns) == ["kind?", "kind?_setosa", "kind?_versicolor", "kind?_virginica"]
    assert written["kind?"].tolist() == expected.predict(rows).tolist()
    assert np.array_equal(written.iloc[:, 1:], expected.predict_proba(rows))


def test_kept_columns_are_copied_as_they_stand_in_the_file(tritree: InProcess, model: Path) -> None:
    Path("new.csv").write_text('id,age,note\n007,50,"a, ""b"""\n008,NA,NA\n,60.50,\n')
    written = tritree.good("predict", model, "new.csv", "--keep", "id", "--keep", "note", "--keep", "age").out
    assert [line.rpartition(",")[0] for line in written.splitlines()] == [
        "id,note,age",
        '007,"a, ""b""",50',
        "008,NA,NA",
        ",,60.50",
    ]


def test_all_columns_can_be_appended_with_types(tritree: InProcess, model: Path) -> None:
    Path("new.csv").write_text("id,age,bmi\n007,50,NA\n008,60,25.5\n")
    tritree.good("predict", model, "new.csv", "--append", "-o", "out.parquet")
    frame = pd.read_parquet("out.parquet")
    assert list(frame.columns) == ["id", "age", "bmi", "prediction"]
    assert frame["id"].tolist() == ["007", "008"]
    assert frame["age"].tolist() == [50, 60]
    assert np.isnan(frame["bmi"][0])
    written = tritree.good("predict", model, "new.csv", "--append", "--json").json
    assert written[0] == {"id": "007", "age": 50, "bmi": None, "prediction": frame["prediction"][0]}


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "csv.bz2", "csv.xz", "csv.zip", "parquet"])
def test_predictions_can_be_written_in_any_format(
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
    expected = library.load(model).predict(diabetes().drop(columns=["id", "progress"]))
    assert np.allclose(frame["prediction"], expected, rtol=1e-15)


def test_absent_and_unknown_columns_are_named_in_a_line_each(
    tritree: InProcess, table: Path, model: Path
) -> None:
    diabetes().drop(columns=["bmi", "s5"]).assign(extra=1, more=2).to_csv("new.csv", index=False)
    run = tritree.good("predict", model, "new.csv")
    assert run.err.splitlines() == [
        "tritree: warning: absent from the table, so missing in every row: 'bmi', 's5'",
        "tritree: warning: not in training, so ignored: 'extra', 'more'",
    ]
    diabetes().assign(extra=1).to_csv("new.csv", index=False)
    quiet = tritree.good("predict", model, "new.csv", "--keep", "id", "--keep", "extra")
    assert quiet.err == ""


def test_text_column_of_training_is_read_as_text_even_if_it_looks_numeric(tritree: InProcess) -> None:
    i = np.arange(100)
    frame = pd.DataFrame({"code": np.array(["1", "2", "a", "b"])[i % 4], "y": i % 4})
    frame.to_csv("t.csv", index=False)
    tritree.good("fit", "t.csv", "-y", "y")
    Path("new.csv").write_text("code\n1\n2\n")
    run = tritree.good("predict", "t.tritree", "new.csv")
    assert run.out.split() == ["prediction", "0", "1"]
    assert run.err == ""


def test_json_describes_the_file_that_was_written(tritree: InProcess, table: Path, model: Path) -> None:
    written = tritree.good("predict", model, table, "-o", "p.csv", "--json").json
    assert written == {
        "output": "p.csv",
        "bytes": Path("p.csv").stat().st_size,
        "replaced": False,
        "format": "csv",
        "rows": 442,
        "columns": ["prediction"],
    }


def test_unknown_category_can_be_made_an_error(tritree: InProcess, classes: Path, classifier: Path) -> None:
    flowers().assign(colour="blue").head(3).to_csv("new.csv", index=False)
    assert tritree("predict", classifier, "new.csv").code == 0
    run = tritree("predict", classifier, "new.csv", "--unknown-category", "error")
    assert run.code == 1
    assert "'blue'" in run.error_line
    assert run.error_line.endswith("--unknown-category no_information")


def test_appended_cells_with_decimal_commas_are_written_as_the_predictions_are(
    tritree: InProcess, tmp_path: Path
) -> None:
    lines = [f"{i},5;{'a, b' if i % 2 else 'c'};{2 * i},25" for i in range(60)]
    (tmp_path / "sizes.csv").write_text("size;kind;price\n" + "\n".join(lines) + "\n")
    tritree.good("fit", "sizes.csv", "-y", "price", "--quiet")
    tritree.good("predict", "sizes.tritree", "sizes.csv", "--append", "-o", "all.csv")
    appended = pd.read_csv(tmp_path / "all.csv")
    assert appended["size"].tolist() == [i + 0.5 for i in range(60)]
    assert set(appended["kind"]) == {"a, b", "c"}
    assert "R²" in tritree.good("score", "sizes.tritree", "all.csv").out
