"""Separators are found, and Excel and ARFF files are read."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli.conftest import flowers
from cli.program import InProcess
from scipy.io import arff as scipy_arff

from tritree.cli.arff import read_arff
from tritree.cli.options import TableFormat
from tritree.cli.sniffing import Sample
from tritree.cli.tables import open_table


def read(path: str, **options: object) -> pd.DataFrame:
    return open_table(path, TableFormat(**options)).read()  # type: ignore[arg-type]


# Separators


@pytest.mark.parametrize(
    ("text", "separator", "decimal"),
    [
        ("a,b\n1,2\n", ",", None),
        ("a,b\n1.5,2\n", ",", "."),
        ("a;b\n1;2\n", ";", None),
        ("a;b\n1,5;2\n", ";", ","),
        ("a;b\n1.5;2\n", ";", "."),
        ("a;b\n1,234;2\n", ";", None),  # 1.234 or 1234
        ("a;b\n1,5;2.5\n", ";", None),
        ("a;b\n-,5;1,5e3\n", ";", ","),
        ("a;b\n01.02.2024;1,5\n", ";", ","),
        ("a\tb\n1\t2\n", "\t", None),
        ("a|b\n1|2\n", "|", None),
        ('a,b\n"1;2",3\n"x;y",4\n', ",", None),
        ('a;b\n"1,2";3\n"x,y";4\n', ";", ","),
        ('"x;y","z"\n1,2\n', ",", None),
        ("price, EUR;area;y\n1,5;2;3\n", ";", ","),
        ('a;b\n"two\nlines";2\n', ";", None),
        ("\na;b\n\n1;2\n", ";", None),
        ("a;b;y\n", ";", None),  # a header only
        ("y\n1\n2\n", None, None),
        ("comment\nhello; world\nbye\n", None, None),
        ("a;b\n1;2;3\n", None, None),
        ("", None, None),
    ],
)
def test_separators_are_found_in_the_first_rows(
    text: str, separator: str | None, decimal: str | None
) -> None:
    sample = Sample(text, is_whole=True)
    assert sample.find_separator(",") == separator
    if separator is not None:
        assert sample.find_decimal(separator) == decimal


def test_row_that_the_sample_cuts_off_does_not_count() -> None:
    assert Sample("a;b\n1;2\n3", is_whole=False).find_separator(",") == ";"
    assert Sample("a;b\n1;2\n3", is_whole=True).find_separator(",") is None


@pytest.mark.parametrize(("separator", "decimal"), [(";", ","), (";", "."), ("\t", ","), ("|", ".")])
def test_table_with_other_separators_is_the_same_and_they_are_named(
    separator: str, decimal: str, tritree: InProcess, classes: Path
) -> None:
    flowers().to_csv("t.csv", index=False, sep=separator, decimal=decimal)
    run = tritree.good("missing", "t.csv")
    assert "'t.csv' is read with --separator" in run.err
    assert run.err.count("\n") == 1
    assert run.out == tritree.good("missing", classes).out
    pd.testing.assert_frame_equal(read("t.csv"), read(str(classes)))


def test_tab_separated_file_with_commas_is_found_out(tritree: InProcess, classes: Path) -> None:
    Path("t.tsv").write_bytes(classes.read_bytes())
    assert "'t.tsv' is read with --separator ," in tritree.good("missing", "t.tsv").err


def test_given_separator_is_used_whatever_the_rows_look_like(tritree: InProcess) -> None:
    Path("t.csv").write_text("a;b\n1;2\n")
    run = tritree.good("missing", "t.csv", "--separator", ",")
    assert "1 row × 1 column" in run.out
    assert run.err == ""


@pytest.mark.parametrize(
    ("text", "question"),
    [("name\nAnn\nBob\n", False), ("first name\nAnn\nBob Lee\n", False), ("a b y\n1 2 3\n4 5 6\n", True)],
)
def test_table_of_one_column_is_questioned_if_it_looks_like_several(
    text: str, question: bool, tritree: InProcess
) -> None:
    Path("t.csv").write_text(text)
    run = tritree.good("missing", "t.csv")
    assert ("has one column, 'a b y'; if it has several, name their separator" in run.err) == question
    assert bool(run.err) == question
    if question:
        assert "2 rows × 3 columns" in tritree.good("missing", "t.csv", "--separator", "space").out


# Excel


@pytest.fixture
def book(tmp_path: Path) -> Path:
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter(tmp_path / "t.xlsx") as writer:
        flowers().to_excel(writer, sheet_name="All", index=False)
        flowers().head(3).to_excel(writer, sheet_name="Some", index=False)
    return Path("t.xlsx")


def test_excel_file_is_read_as_the_same_csv_file(tritree: InProcess, book: Path, classes: Path) -> None:
    run = tritree.good("missing", book)
    assert (
        "'t.xlsx' has 2 sheets, of which the first, 'All', is read; --sheet names another one ('Some')"
        in run.err
    )
    assert run.out == tritree.good("missing", classes).out
    assert tritree.good("missing", book, "--sheet", "All").err == ""
    assert "3 rows × 7 columns" in tritree.good("missing", book, "--sheet", "Some").out
    assert "no sheet 'some' in 't.xlsx'; did you mean 'Some'?" in (
        tritree("missing", book, "--sheet", "some").error_line
    )


def test_sheet_of_training_is_used_if_there_is_one(tritree: InProcess, book: Path) -> None:
    tritree.good("fit", book, "-y", "kind", "--sheet", "All")
    assert tritree.good("predict", "t.tritree", book).err == ""
    flowers().to_excel("new.xlsx", index=False, sheet_name="Other")
    assert tritree.good("predict", "t.tritree", "new.xlsx").err == ""


def test_text_among_numbers_of_an_excel_file_is_noticed(tritree: InProcess) -> None:
    pytest.importorskip("openpyxl")
    cells = ["?" if i % 50 == 7 else i % 11 for i in range(100)]
    pd.DataFrame({"hp": cells, "y": range(100)}).to_excel("t.xlsx", index=False)
    assert "make the others missing with --na '?'" in tritree.good("fit", "t.xlsx", "-y", "y").err
    assert tritree.good("fit", "t.xlsx", "-y", "y", "--na", "?").err == ""


def test_text_column_of_training_is_text_in_an_excel_file_of_numbers(tritree: InProcess) -> None:
    pytest.importorskip("openpyxl")
    pd.DataFrame({"code": ["1", "2", "a", "b"] * 25, "y": [0, 1, 2, 3] * 25}).to_csv("t.csv", index=False)
    tritree.good("fit", "t.csv", "-y", "y")
    pd.DataFrame({"code": [1, 2, None]}).to_excel("new.xlsx", index=False)
    assert tritree.good("predict", "t.tritree", "new.xlsx").out.split()[1:3] == ["0", "1"]


def test_excel_file_without_a_header(tritree: InProcess) -> None:
    pytest.importorskip("openpyxl")
    pd.DataFrame([[1, "a"], [2, "b"]]).to_excel("t.xlsx", index=False, header=False)
    assert list(read("t.xlsx", no_header=True).columns) == ["x0", "x1"]


@pytest.mark.parametrize("header", [True, False])
def test_blank_rows_above_the_table_of_an_excel_file_are_skipped(tritree: InProcess, header: bool) -> None:
    pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"a": [1, None, 2], "b": ["u", None, "w"]})
    for name, n_blank in (("t.xlsx", 0), ("blank.xlsx", 3)):
        frame.to_excel(name, index=False, header=header, startrow=n_blank)
    found = read("blank.xlsx", no_header=not header)
    pd.testing.assert_frame_equal(found, read("t.xlsx", no_header=not header))
    assert list(found.columns) == (["a", "b"] if header else ["x0", "x1"])
    pd.DataFrame().to_excel("empty.xlsx", index=False)
    assert "sheet 'Sheet1' of 'empty.xlsx' is empty" in tritree("missing", "empty.xlsx").error_line


def test_damaged_excel_file_is_refused_in_one_line(tritree: InProcess, book: Path) -> None:
    data = book.read_bytes()
    for number, content in enumerate([b"text", data[:1000], data[:-100], zipped({"a.txt": b""})]):
        Path(f"{number}.xlsx").write_bytes(content)
        assert (
            "is not an Excel file (.xlsx), or a damaged one"
            in tritree("missing", f"{number}.xlsx").error_line
        )
    Path("old.xls").write_bytes(b"x")
    assert "save it as .xlsx or .csv" in tritree("missing", "old.xls").error_line


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_missing_openpyxl_is_named_with_its_remedy(
    tritree: InProcess, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(*_: object, **__: object) -> None:
        raise ImportError("Missing optional dependency 'openpyxl'")

    monkeypatch.setattr(pd, "ExcelFile", absent)
    assert tritree("missing", book).error_line.endswith("pip install 'tritree[excel]'")


# ARFF

ARFF = r"""% a comment
@RELATION 'two words'

@attribute size REAL
@ATTRIBUTE 'n rooms' integer
@attribute kind{a, 'b c', "d"}
@attribute note string
@attribute day date "yyyy-MM-dd"
@attribute y numeric
@data
1.5, 2, a, 'it\'s, here', 2024-01-02, 1
% another comment
?, ?, ?, ?, ?, 2
-2e3,3,'b c',"say \"no\"",'2024-01-03', 3
0,4,"d",'?',"2024-01-04",4
"""


def test_arff_file_has_types_missing_values_and_quotes() -> None:
    frame = read_arff(io.StringIO(ARFF), "t.arff")
    assert list(frame.columns) == ["size", "n rooms", "kind", "note", "day", "y"]
    assert frame["size"].tolist()[::2] == [1.5, -2000.0]
    assert frame["y"].tolist() == [1, 2, 3, 4]
    assert frame["kind"].tolist() == ["a", None, "b c", "d"]
    assert frame["note"].tolist() == ["it's, here", None, 'say "no"', "?"]
    assert frame.iloc[1].isna().tolist() == [True] * 5 + [False]
    assert read_arff(io.StringIO(ARFF), "t.arff", na=["d", "4"])["kind"].tolist() == ["a", None, "b c", None]


def test_sparse_arff_rows_have_zeros_and_first_categories() -> None:
    text = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@attribute c real\n@data\n"
    frame = read_arff(io.StringIO(text + "{0 3, 1 y}\n{ }\n{2 ?}\n{}\n{1 'y', 2 -1.5}\n"), "t.arff")
    assert frame["a"].tolist() == [3, 0, 0, 0, 0]
    assert frame["b"].tolist() == ["y", "x", "x", "x", "y"]
    assert frame["c"].fillna(9).tolist() == [0, 0, 9, 0, -1.5]


def test_arff_file_is_read_as_scipy_reads_it() -> None:  # which reads neither text nor sparse rows
    rng = np.random.default_rng(0)
    numbers = [f"{number:.6g}" if rng.random() < 0.8 else "?" for number in rng.normal(size=50)]
    rows = "".join(
        f"{x}, {n}, {k}\n" for x, n, k in zip(numbers, rng.integers(9, size=50), "ab" * 25, strict=True)
    )
    text = "@relation r\n@attribute x real\n@attribute n numeric\n@attribute k {a,b}\n@data\n" + rows
    frame = read_arff(io.StringIO(text), "t.arff")
    data, _ = scipy_arff.loadarff(io.StringIO(text))
    np.testing.assert_array_equal(frame["x"], data["x"])
    np.testing.assert_array_equal(frame["n"], data["n"])
    assert frame["k"].tolist() == [value.decode() for value in data["k"]]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("@relation r\n@data\n1\n", "it has no @attribute"),
        (
            "@relation r\n@attribute a numeric\n@data\n1,2\n",
            "line 4 has 2 values, where there are 1 attributes",
        ),
        ("@relation r\n@attribute a numeric\n@data\n", "1 columns and no rows"),
        ("@relation r\n@attribute a numeric\n@data\nx\n", "is numeric, but holds 'x' in row 0"),
        ("@relation r\n@attribute a relational\n@data\n", "of type 'relational', which cannot be read"),
        ("@relation r\n@attribute a numeric\n@attribute a real\n@data\n1,2\n", "two columns named 'a'"),
        ("@relation r\nhello\n", "line 2 has 'hello', which is neither @attribute nor @data"),
        ("@relation r\n@attribute a numeric\n@data\n{3 1}\n", "is not a sparse row"),
        ("@relation r\n@attribute a numeric\n@data\n{0 1\n", "is not a sparse row"),
    ],
)
def test_invalid_arff_file_is_refused_with_its_line(text: str, reason: str, tritree: InProcess) -> None:
    Path("t.arff").write_text(text)
    assert reason in tritree("missing", "t.arff").error_line


def test_model_is_fitted_to_an_arff_file(tritree: InProcess) -> None:
    rows = "".join(f"{i % 9},{'ab'[i % 2]},{'yes' if i % 2 else 'no'}\n" for i in range(80))
    header = "@relation r\n@attribute x numeric\n@attribute k {a,b}\n@attribute y {no,yes}\n@data\n"
    Path("t.arff").write_text(header + rows)
    Path("t.arff.gz").write_bytes(gzip.compress((header + rows).encode()))
    assert tritree.good("fit", "t.arff", "-y", "y", "--json").json["training"]["accuracy"] == 1
    expected = tritree.good("predict", "t.tritree", "t.arff")
    assert expected.err == ""
    assert tritree.good("predict", "t.tritree", "t.arff.gz").out == expected.out
    Path("new.csv").write_text("x,k\n" + rows.replace(",no", "").replace(",yes", ""))
    assert tritree.good("predict", "t.tritree", "new.csv").out == expected.out
