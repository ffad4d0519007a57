"""Tables are read from files of any format, and suspicious columns are named."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cli.conftest import diabetes, flowers
from cli.program import InProcess
from data_paths import DATA

import tritree as library


def tree_of(tritree: InProcess, path: str, *more: str) -> dict[str, object]:
    tritree.good("fit", path, "-y", "progress", "--drop", "id", "-o", "m.tritree", *more)
    return library.load("m.tritree").to_dict()


def write(frame: pd.DataFrame, path: str) -> None:
    """Write a table in the format of its ending, with the standard library where pandas is what is tested."""
    text = frame.to_csv(index=False, sep="\t" if ".tsv" in path else ",").encode()
    if path.endswith(".parquet"):
        frame.to_parquet(path)
    elif path.endswith(".zip"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("inside.csv", text)
    else:
        pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}.get(
            Path(path).suffix, bytes
        )
        Path(path).write_bytes(pack(text))


@pytest.mark.parametrize(
    "path",
    ["t.csv", "t.tsv", "t.csv.gz", "t.TSV.GZ".lower(), "t.csv.bz2", "t.csv.xz", "t.csv.zip", "t.parquet"],
)
def test_same_tree_is_fitted_to_a_file_of_any_format(path: str, tritree: InProcess, table: Path) -> None:
    if path.endswith("parquet"):
        pytest.importorskip("pyarrow")
    write(diabetes(), path)
    assert tree_of(tritree, path) == tree_of(tritree, str(table))


def test_format_can_be_named_where_the_extension_is_unknown(tritree: InProcess, table: Path) -> None:
    Path("t.data").write_bytes(table.read_bytes())
    assert tree_of(tritree, "t.data", "--read-as", "csv") == tree_of(tritree, str(table))


def test_separator_decimal_encoding_and_byte_order_mark_are_read(tritree: InProcess, table: Path) -> None:
    text = diabetes().to_csv(index=False, sep=";", decimal=",")
    Path("t.csv").write_text(text, encoding="utf-16")
    other = tree_of(tritree, "t.csv", "--separator", ";", "--decimal", ",", "--encoding", "utf-16")
    assert other == tree_of(tritree, str(table))
    Path("t.csv").write_text(diabetes().to_csv(index=False), encoding="utf-8-sig")
    assert tree_of(tritree, "t.csv") == tree_of(tritree, str(table))


def test_empty_cells_and_default_na_texts_are_missing(tritree: InProcess) -> None:
    Path("t.csv").write_text("a,b\n1,x\n,\nNA,NaN\nnull,None\n?,?\n")
    counts = {
        options: [
            column["missing"]
            for column in tritree.good("missing", "t.csv", *options.split(), "--json").json["columns"]
        ]
        for options in ("", "--na ?", "--no-default-na", "--no-default-na --na ?")
    }
    assert counts == {
        "": [3, 3],
        "--na ?": [4, 4],
        "--no-default-na": [1, 1],
        "--no-default-na --na ?": [2, 2],
    }


def test_mostly_numeric_text_column_is_named_with_a_remedy(tritree: InProcess) -> None:
    cells = ["?" if i % 50 == 7 else str(i % 11) for i in range(200)]
    pd.DataFrame({"hp": cells, "y": range(200)}).to_csv("t.csv", index=False)
    run = tritree.good("fit", "t.csv", "-y", "y")
    assert "column 'hp' is read as text" in run.err
    assert "--na '?'" in run.err
    assert tritree.good("fit", "t.csv", "-y", "y", "--na", "?").err == ""


def test_decimal_commas_are_noticed_with_a_remedy(tritree: InProcess) -> None:
    pd.DataFrame({"x": [f"{i},5" for i in range(100)], "y": range(100)}).to_csv("t.csv", index=False)
    assert "--decimal ," in tritree.good("fit", "t.csv", "-y", "y").err


def test_column_that_numbers_the_rows_is_noticed(tritree: InProcess) -> None:
    flowers().to_csv("t.csv")
    assert "--drop 'Unnamed: 0'" in tritree.good("fit", "t.csv", "-y", "kind").err


def write_cells(header: str) -> None:
    """Write a table of 60 rows with four columns."""
    rows = [f"{i % 7},{i % 5},{i % 3},{i}" for i in range(60)]
    Path("t.csv").write_text("\n".join([header, *rows]) + "\n")


def names_of(tritree: InProcess, *options: str) -> list[str]:
    return [column["name"] for column in tritree.good("missing", "t.csv", "--json", *options).json["columns"]]


@pytest.mark.parametrize("command", ["missing t.csv", "fit t.csv -y y"])
def test_column_without_a_name_is_noticed_unless_it_is_dropped(command: str, tritree: InProcess) -> None:
    write_cells("a,b,,y")
    remark = "warning: column 2 has no name; name it in the header, or leave it out with --drop 'Unnamed: 2'"
    assert tritree.good(*command.split()).err == f"tritree: {remark}\n"
    assert tritree.good(*command.split(), "--drop", "Unnamed: 2").err == ""


def test_target_without_a_name_can_be_named_by_its_number(tritree: InProcess) -> None:
    write_cells("a,b,c,")
    assert tritree.good("fit", "t.csv", "-y", "Unnamed: 3").err == ""


@pytest.mark.parametrize("options", ["", "--no-default-na", "--na a"])
def test_names_that_read_as_missing_are_names(options: str, tritree: InProcess) -> None:
    write_cells("NaN,,a,")
    assert names_of(tritree, *options.split()) == ["NaN", "Unnamed: 1", "a", "Unnamed: 3"]


@pytest.mark.parametrize(
    ("header", "name"), [("a,b,a,y", "a"), ("NaN,b,NaN,y", "NaN"), ("Unnamed: 1,,b,y", "Unnamed: 1")]
)
def test_two_columns_with_one_name_are_refused(header: str, name: str, tritree: InProcess) -> None:
    write_cells(header)
    expected = f"tritree: 't.csv' has two columns named {name!r}; rename one of them"
    assert tritree("missing", "t.csv").error_line == expected


def test_names_that_pandas_gives_to_duplicates_are_names_of_their_own(tritree: InProcess) -> None:
    write_cells("a.1,a,a.2,y")
    assert names_of(tritree) == ["a.1", "a", "a.2", "y"]


@pytest.mark.parametrize("name", ["a", ""])
def test_two_columns_of_a_parquet_file_with_one_name_are_refused(name: str, tritree: InProcess) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table([[1, 2], [3, 4]], names=[name, name]), "t.parquet")
    assert f"'t.parquet' has two columns named {name!r}" in tritree("missing", "t.parquet").error_line


def test_named_index_of_a_parquet_file_is_a_column(tritree: InProcess) -> None:
    pytest.importorskip("pyarrow")
    diabetes().set_index("id").to_parquet("t.parquet")
    assert tritree.good("missing", "t.parquet", "--json").json["columns"][0]["name"] == "id"


def test_dates_in_a_parquet_file_are_features_but_no_target(tritree: InProcess) -> None:
    pytest.importorskip("pyarrow")
    frame = diabetes()
    days = pd.date_range("2024-05-01", periods=len(frame))
    frame.assign(day=days, progress=days >= "2024-07-01").to_parquet("t.parquet")
    tritree.good("fit", "t.parquet", "-y", "progress", "-o", "m.tritree")
    assert "day < 2024-07-01 " in tritree.good("show", "m.tritree").out
    frame.assign(day=days, waited=days - days[0]).to_parquet("t.parquet")
    for target, problem in (("day", "dates ('2024-05-01 00:00:00' in row 0)"), ("waited", "durations")):
        for task in ([], ["--task", "regression"], ["--task", "classification"]):
            error_line = tritree("fit", "t.parquet", "-y", target, *task).error_line
            assert error_line.startswith(f"tritree: the target {target!r} holds {problem}")
            assert "turn them into numbers" in error_line


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (pd.date_range("2024-05-01", periods=60).strftime("%d.%m.%Y"), "dates ('01.05.2024' in row 0)"),
        ([f"{i % 24:02}:30" for i in range(60)], "times of day ('00:30' in row 0)"),
    ],
)
def test_text_of_dates_is_a_target_only_as_classes(tritree: InProcess, texts: Any, problem: str) -> None:
    pd.DataFrame({"x": np.arange(60) % 7, "when": texts}).to_csv("t.csv", index=False)
    for task in ([], ["--task", "regression"]):
        assert tritree("fit", "t.csv", "-y", "when", *task).error_line.startswith(
            f"tritree: the target 'when' holds {problem}; turn them into numbers"
        )
    run = tritree.good("fit", "t.csv", "-y", "when", "--task", "classification", "--no-validation")
    assert "scikit" not in run.err
    assert "`y`" not in run.err
    assert ("the target 'when' has 60 classes in 60 rows" in run.err) == (len(set(texts)) == 60)


@pytest.mark.parametrize("name", ["adult.csv.gz", "ames_housing.csv", "horse_colic.csv", "titanic_full.csv"])
def test_real_tables_are_fitted_predicted_and_explained(name: str, tritree: InProcess) -> None:
    path = DATA / "natural" / name
    if not path.exists():
        pytest.skip(f"{name} is not here; TRITREE_DATA names the folder that has it")
    tritree.good("fit", path, "-y", "y", "-o", "m.tritree", "--json")
    predictions = tritree.good("predict", "m.tritree", path, "--keep", "y", "--json").json
    frame = pd.read_csv(path)
    model = library.TrinaryTreeRegressor() if name.startswith("ames") else library.TrinaryTreeClassifier()
    expected = model.fit(frame.drop(columns="y"), frame["y"]).predict(frame.drop(columns="y"))
    assert [row["prediction"] for row in predictions] == expected.tolist()
    assert "predicts" in tritree.good("explain", "m.tritree", path, "0-2").out
    assert f"{len(frame):,} rows × {len(frame.columns)} columns" in tritree.good("missing", path).out


def test_cli_extra_has_what_parquet_needs() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    [needed] = [line for line in extras["cli"] if line.startswith("pyarrow")]
    assert needed in extras["test"]  # whose lower bounds are tested
