"""Columns are named by name, in lists, by pattern, or by position if a table has no header."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.program import InProcess

import tritree as library

HEADER = 'id_1,id_2,a,"b,c",x*y,y'


@pytest.fixture
def named(tmp_path: Path) -> Path:
    rows = [f"{i},{i % 40},{i % 5},{i % 3},{i % 2},{i % 7}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    return Path("t.csv")


def features(tritree: InProcess, *options: str) -> list[str]:
    tritree.good("fit", "t.csv", "-y", "y", *options)
    return library.load("t.tritree").feature_names_in_.tolist()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--drop", "id_*"), ["a", "b,c", "x*y"]),
        (("--drop", "id_*,a"), ["b,c", "x*y"]),
        (("--drop", "id_1, a"), ["id_2", "b,c", "x*y"]),
        (("--drop", "id_[12]"), ["a", "b,c", "x*y"]),
        (("--drop", "id_?", "--drop", "id_1"), ["a", "b,c", "x*y"]),
        (("--drop", "b,c"), ["id_1", "id_2", "a", "x*y"]),
        (("--drop", "x*y"), ["id_1", "id_2", "a", "b,c"]),
        (("--drop", "b,c", "--drop", "a,x*y"), ["id_1", "id_2"]),
    ],
)
def test_columns_are_dropped_by_lists_and_patterns(
    options: tuple[str, ...], expected: list[str], tritree: InProcess, named: Path
) -> None:
    assert features(tritree, *options) == expected
    record = library.load("t.tritree").metadata_["fit"]
    assert set(record["drop"]) == {"id_1", "id_2", "a", "b,c", "x*y"} - set(expected)


@pytest.mark.parametrize(
    ("option", "parts"),
    [
        ("z*", ["--drop 'z*' matches no column of 't.csv'", "it has 'id_1'"]),
        ("a,z*", ["--drop 'z*' matches no column"]),
        ("a,zz", ["there is no column 'zz'"]),
        ("*y", ["--drop '*y' matches the target 'y', too", "narrower pattern"]),
        ("*", ["matches the target 'y'"]),
        ("y", ["'y' is the target"]),
        (",", ["there is no column ','"]),
    ],
)
def test_pattern_without_a_match_or_with_the_target_is_an_error(
    option: str, parts: list[str], tritree: InProcess, named: Path
) -> None:
    line = tritree("fit", "t.csv", "-y", "y", "--drop", option).error_line
    for part in parts:
        assert part in line


def test_exact_name_wins_over_a_list_and_a_pattern(tritree: InProcess) -> None:
    Path("t.csv").write_text('a,b,"a,b",a*,y\n' + "1,2,3,4,5\n2,3,4,5,6\n" * 30)
    assert features(tritree, "--drop", "a,b") == ["a", "b", "a*"]
    assert features(tritree, "--drop", "a*") == ["a", "b", "a,b"]


def test_other_options_take_lists_and_patterns(tritree: InProcess, named: Path) -> None:
    tritree.good("fit", "t.csv", "-y", "y", "--categorical", "a,id_*", "--numeric", "x*y")
    columns = library.load("t.tritree")._encoder.columns
    assert [column.name for column in columns if column.categories is not None] == ["id_1", "id_2", "a"]
    kept = tritree.good("predict", "t.tritree", "t.csv", "--keep", "id_*,y").out.splitlines()[0]
    assert kept == "id_1,id_2,y,prediction"
    assert "60 rows × 4 columns" in tritree.good("missing", "t.csv", "--drop", "id_*").out
    assert "--drop leaves no column" in tritree("missing", "t.csv", "--drop", "*").error_line


def test_name_that_spans_lines_can_be_escaped(tritree: InProcess) -> None:
    Path("t.csv").write_text('a,"net\nweight",y\n' + "1,2,3\n2,3,4\n" * 30)
    assert features(tritree, "--drop", "net\\nweight") == ["a"]


# Tables without a header


@pytest.fixture
def nameless(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text("".join(f"{i}.5,{i % 3 + 7},{i % 7},{2 * i}.25\n" for i in range(60)))
    return Path("t.csv")


@pytest.mark.parametrize("target", ["x3", "3", "-1"])
def test_columns_without_a_header_are_named_by_position(
    target: str, tritree: InProcess, nameless: Path
) -> None:
    run = tritree.good("fit", "t.csv", "--no-header", "-y", target, "--drop", "1,x2", "--json")
    assert run.json["rows"] == 60
    model = library.load("t.tritree")
    assert model.feature_names_in_.tolist() == ["x0"]
    assert model.metadata_["fit"]["target"] == "x3"


def test_position_out_of_range_is_an_error(tritree: InProcess, nameless: Path) -> None:
    line = tritree("fit", "t.csv", "--no-header", "-y", "4").error_line
    assert "there is no column 4" in line
    assert "'x0' to 'x3'" in line


def test_position_means_nothing_if_there_is_a_header(tritree: InProcess, named: Path) -> None:
    assert "there is no column '3'" in tritree("fit", "t.csv", "-y", "3").error_line


def test_first_row_of_numbers_is_questioned(tritree: InProcess, nameless: Path) -> None:
    assert "has numbers; if it is data, add --no-header" in tritree.good("missing", "t.csv").err
    assert tritree.good("missing", "t.csv", "--header").err == ""
    assert tritree.good("missing", "t.csv", "--no-header").err == ""
    line = tritree("fit", "t.csv", "-y", "y").error_line
    assert line.endswith("if the first row is data, add --no-header")
    Path("t.csv").write_text("1,1,2\n3,4,5\n")
    assert "add --no-header if the first row is data" in tritree("missing", "t.csv").error_line


def test_rows_longer_than_the_first_one_are_an_error(tritree: InProcess) -> None:
    Path("t.csv").write_text("1,2\n1,2,3\n")
    assert "is not a table" in tritree("missing", "t.csv", "--no-header").error_line


def test_model_of_a_table_without_a_header_predicts_such_tables(tritree: InProcess, nameless: Path) -> None:
    tritree.good("fit", "t.csv", "--no-header", "-y", "-1")
    expected = tritree.good("predict", "t.tritree", "t.csv")
    assert expected.err == ""
    assert len(expected.out.splitlines()) == 61
    # with the target left out, and written with the names that the columns have
    rows = [line.rpartition(",")[0] for line in Path("t.csv").read_text().splitlines()]
    Path("new.csv").write_text("\n".join(rows) + "\n")
    assert tritree.good("predict", "t.tritree", "new.csv").out == expected.out
    Path("named.csv").write_text("\n".join(["x0,x1,x2", *rows]) + "\n")
    assert tritree.good("predict", "t.tritree", "named.csv").out == expected.out
    Path("other.csv").write_text("\n".join(["a,b,c", *rows]) + "\n")
    line = tritree("predict", "t.tritree", "other.csv").error_line
    assert line.endswith("if the first row has the names of columns, add --header")
