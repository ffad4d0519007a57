"""Every mistake of a user is reported in one line that names it and the remedy, with the right exit code."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import pandas as pd
import pytest
from cli.conftest import diabetes
from cli.program import InProcess

from tritree.cli.main import warnings_as_lines

FILES = {
    "empty.csv": b"",
    "header.csv": b"a,b,y\n",
    "blank.csv": b"\n\n",
    "more.csv": b"a,b\n1,2,3\n4,5,6\n",
    "ragged.csv": b"a,b\n1,2\n3,4,5\n",
    "semicolons.csv": b"a;b;y\n1;2\n",
    "tabs.csv": b"a\tb\ty\n1\t2\n",
    "noise.csv": bytes(range(128, 256)) * 10,
    "latin.csv": b"a,y\n\xe9t\xe9,1\nb,2\n",
    "twice.csv": b"a,a,y\n1,2,3\n",
    "cut.csv.gz": b"\x1f\x8b\x08\x00\x00\x00\x00\x00",
    "text.parquet": b"hello, this is no Parquet",
    "text.txt": b"a,y\n1,2\n",
    "text.tritree": b"not a model",
    "one_missing.csv": b"a,y\n1,\n2,3\n",
    "all_missing.csv": b"a,y\n1,\n2,\n",
    "alone.csv": b"y\n1\n2\n",
    "odd.csv": b"a,w,y\n1,1,inf\n2,-1,3\n3,x,4\n",
    "strange.csv": b"foo,bar\n1,2\n",
    "bad_age.csv": b"age,bmi\n50,20\nold,30\n",
}

#: Arguments, and what must be in the line.
ERRORS = {
    "fit nosuch.csv -y y": ["there is no file 'nosuch.csv'"],
    "fit one_missing.cvs -y y": ["there is no file 'one_missing.cvs'", "did you mean 'one_missing.csv'"],
    "fit . -y y": ["'.' is a folder"],
    "fit empty.csv -y y": ["'empty.csv' is empty"],
    "fit blank.csv -y y": ["'blank.csv' is empty"],
    "fit header.csv -y y": ["'header.csv' has 3 columns and no rows"],
    "fit diabetes.csv more.csv -y y": [
        "'diabetes.csv' is not a Parquet file, and only these are read together"
    ],
    "fit more.csv -y b": ["more cells than the header has names"],
    "fit ragged.csv -y b": ["'ragged.csv' is not a table: line 3 has 3 cells instead of 2; correct it"],
    "fit semicolons.csv -y y": ["one column, 'a;b;y'", "--separator ';'"],
    "fit tabs.csv -y y": ["one column", r"--separator '\t'"],
    "fit noise.csv -y y": ["'noise.csv' is not text in utf-8", "--encoding"],
    "fit latin.csv -y y": ["not text in utf-8", "--encoding latin-1"],
    "fit twice.csv -y y": ["'twice.csv' has two columns named 'a'"],
    "fit cut.csv.gz -y y": ["cannot decompress 'cut.csv.gz'"],
    "fit text.parquet -y y": ["'text.parquet' is not a Parquet file"],
    "fit text.txt -y y": ["unknown format of 'text.txt'", "--read-as"],
    "fit text.tritree -y y": ["is a model, not a table"],
    "fit one_missing.csv -y y": [
        "target 'y' is missing in 1 of 2 rows, first in row 0",
        "--skip-missing-target",
    ],
    "fit all_missing.csv -y y": ["target 'y' is missing in every row"],
    "fit alone.csv -y y": ["no columns besides 'y'"],
    "fit odd.csv -y y": ["the target 'y' holds inf in row 0"],
    "fit odd.csv -y a --weights w": ["column 'w' holds 'x' in row 2, which is not a number"],
    "fit diabetes.csv -y Progres": ["no column 'Progres' in", "did you mean 'progress'?"],
    "fit diabetes.csv -y zzz": ["no column 'zzz' in", "it has 'id', 'age'"],
    "fit diabetes.csv -y progress --drop agee": ["no column 'agee'", "did you mean 'age'?"],
    "fit diabetes.csv -y progress --weights wait": ["no column 'wait'"],
    "fit diabetes.csv -y progress --categorical Sex": ["no column 'Sex'", "did you mean 'sex'?"],
    "fit diabetes.csv -y progress --drop progress": ["'progress' is the target"],
    "fit diabetes.csv -y progress --weights bmi": ["the column of weights, 'bmi', holds nan in row 0"],
    "fit diabetes.csv -y progress --numeric sex --categorical sex": ["both --categorical and --numeric"],
    "fit diabetes.csv -y progress -o nosuch/m.tritree": ["there is no folder"],
    "fit diabetes.csv -y progress -o .": ["is a folder"],
    "fit diabetes.csv -y progress -o diabetes.csv": ["'diabetes.csv' is read by this command"],
    "fit diabetes.csv -y progress -o -": ["written to a file", "-o"],
    "fit diabetes.csv -y progress --criterion gini": [
        "--criterion gini is not for regression",
        "squared_error",
    ],
    "fit diabetes.csv -y progress --max-bins 70000": ["--max-bins must be", "or none (every", "got 70000"],
    "fit diabetes.csv -y progress -m boosting --max-depth 0": [
        "--max-depth must be",
        "or none (no limit), got 0",
    ],
    "fit diabetes.csv -y progress --grow-for nosuch.csv": ["there is no file 'nosuch.csv'"],
    "fit diabetes.csv -y progress --grow-for strange.csv": ["none of the columns of training"],
    "fit diabetes.csv -y progress -o bad_age.csv --grow-for bad_age.csv": ["is read by this command"],
    "fit - -y progress --grow-for -": ["the standard input has only one table", "--grow-for"],
    "fit diabetes.csv -y bmi --skip-missing-target --task classification": ["classes must be integers"],
    "fit latin.csv -y a --task regression --encoding latin-1": ["holds text", "--task classification"],
    "predict diabetes.csv diabetes.tritree": ["is a table, not a model"],
    "predict text.tritree diabetes.csv": ["text.tritree: not a tritree model"],
    "predict nosuch.tritree diabetes.csv": ["there is no file 'nosuch.tritree'"],
    "predict . diabetes.csv": ["is a folder; name a model in it"],
    "predict - diabetes.csv": ["a model is read from a file"],
    "predict diabetes.tritree strange.csv": ["none of the columns of training"],
    "predict diabetes.tritree bad_age.csv": ["column 'age' holds 'old' in row 1", "--na old"],
    "predict diabetes.tritree diabetes.csv --keep Id": ["no column 'Id'", "did you mean 'id'?"],
    "predict diabetes.tritree diabetes.csv --append --name age": ["has a column 'age' already", "--name"],
    "predict diabetes.tritree diabetes.csv --probabilities": ["predicts numbers"],
    "predict diabetes.tritree diabetes.csv -o out.xls": ["unknown file extension of 'out.xls'"],
    "predict diabetes.tritree diabetes.csv -o out.parquet.gz": ["compressed already"],
    "predict diabetes.tritree diabetes.csv -o diabetes.csv": ["is read by this command"],
    "explain diabetes.tritree diabetes.csv": ["has 442 rows; name those to explain"],
    "explain diabetes.tritree diabetes.csv 442": ["there is no row 442", "0 to 441"],
    "show diabetes.tritree -o tree.bmp": ["file extension of 'tree.bmp'", ".png"],
    "show diabetes.tritree -o diabetes.tritree -f text": ["is read by this command"],
    "show diabetes.tritree -f html --max-nodes none": ["--max-nodes"],
    "show diabetes.tritree --json": ["the tree and the JSON cannot both go", "-o"],
    "export diabetes.tritree -f json --json": ["the model and the JSON cannot both go", "-o"],
    "score diabetes.tritree diabetes.csv -y progres": ["no column 'progres'", "did you mean 'progress'?"],
    "score diabetes.tritree diabetes.csv -y bmi": ["target 'bmi' is missing in", "--skip-missing-target"],
    "score diabetes.tritree diabetes.csv --weights bmi": ["the column of weights, 'bmi', holds nan in row 0"],
    "importance diabetes.tritree -o importance.gif": ["file extension of 'importance.gif'", ".png"],
    "importance diabetes.csv": ["is a table, not a model"],
    "info text.tritree": ["text.tritree: not a tritree model"],
    "export diabetes.tritree": ["-o", "--format"],
    "export diabetes.tritree -o tree.onnx --max-nodes 2": [
        "more than --max-nodes 2",
        "raise --max-nodes",
    ],
    "export diabetes.tritree -o tree.onnx --rows nosuch.csv": ["there is no file 'nosuch.csv'"],
    "export diabetes.tritree -f json -o bad_age.csv --rows bad_age.csv": ["is read by this command"],
    "missing diabetes.csv -o missing.gif": ["file extension of 'missing.gif'"],
    "missing diabetes.csv --drop sx": ["no column 'sx'", "did you mean 'sex'?"],
    "missing diabetes.csv --json --format svg": ["standard output"],
    "compare diabetes.csv -y progress --report diabetes.csv": ["'diabetes.csv' is read by this command"],
    "compare diabetes.csv -y progress --store diabetes.csv": [
        "'diabetes.csv' has another purpose",
        "--store",
    ],
    "compare diabetes.csv -y progress --store s.html --report s.html": ["'s.html' has another purpose"],
    "compare diabetes.csv -y progress --report -": ["the report must be written to a file", "--report"],
    "compare diabetes.csv -y progress --store -": ["finished results must be written to a file", "--store"],
    "compare diabetes.csv -y progress --store nowhere/runs.sqlite": ["there is no folder"],
    "compare diabetes.csv -y Progres": ["no column 'Progres' in", "did you mean 'progress'?"],
    "compare diabetes.csv -y progress --drop progress": ["'progress' is the target"],
    "compare diabetes.csv -y progress --columns progress": ["no column 'progress' in the features of"],
    "compare diabetes.csv -y progress --columns agee": ["no column 'agee'", "did you mean 'age'?"],
    "compare diabetes.csv -y progress --folds 500": ["442 rows, too few for 500 folds", "--folds"],
    "compare one_missing.csv -y y": ["missing in 1 of 2 rows, first in row 0", "--skip-missing-target"],
    "compare odd.csv -y y": ["the target 'y' holds inf in row 0", "--skip-missing-target"],
    "compare latin.csv -y a --task regression --encoding latin-1": ["holds text", "--task classification"],
    "compare diabetes.csv -y bmi --skip-missing-target --task classification": ["--task regression"],
    "lab paper -o diabetes.csv": ["'diabetes.csv' exists and is not a folder", "-o"],
    "lab paper --store figure2.png": ["'figure2.png' has another purpose"],
    "demo -o diabetes.csv": ["'diabetes.csv' exists and is not a folder", "-o"],
}
USAGE = {
    "fit": ["Missing argument"],
    "fit diabetes.csv": ["Missing option '--target'", "tritree fit --help"],
    "fit diabetes.csv -y y --stratgy mia": ["No such option: --stratgy", "--strategy"],
    "fit diabetes.csv -y y --strategy both": ["'both' is not one of 'trinary'"],
    "fit diabetes.csv -y y --max-depth -1": ["'-1' is not an integer of at least 0 or none"],
    "fit diabetes.csv -y y --max-depth deep": ["'deep' is not an integer"],
    "fit diabetes.csv -y y --min-samples-leaf none": ["'none' is not an integer of at least 1"],
    "fit diabetes.csv -y y --n-jobs 0": ["'0' is not a number of threads"],
    "fit diabetes.csv -y y --separator ,,": ["not one character"],
    "fit diabetes.csv -y y --encoding nonsense": ["'nonsense' is not an encoding", "latin-1"],
    "fit diabetes.csv -y y --cv 1": ["'1' is not an integer of at least 2"],
    "fit diabetes.csv -y y --missing mia": ["'mia' is not a fraction between 0 and 1"],
    "fit diabetes.csv -y y --class-weight equal": ["'equal' is not balanced or none"],
    "score diabetes.tritree": ["Missing argument"],
    "score diabetes.tritree diabetes.csv --missing 30": ["'30' is not a fraction", "such as 0.3 or 30%"],
    "compare diabetes.csv -y progress --rates high": ["--rates", "'high' is not a list of fractions"],
    "compare diabetes.csv -y progress --rates 30": ["--rates", "30 percent is 0.3"],
    "compare diabetes.csv -y progress --rates 1.5": [
        "--rates",
        "not a list of fractions between 0 and 1",
        "tritree compare --help",
    ],
    "compare diabetes.csv -y progress --depth deep": ["--depth", "'deep' is not an integer"],
    "compare diabetes.csv -y progress --seeds 0": ["at least 1"],
    "compare diabetes.csv -y progress --folds 1": ["at least 2"],
    "lab paper --rates 30": ["--rates", "30 percent is 0.3", "tritree lab paper --help"],
    "lab paper --datasets cemnt": ["'cemnt' is not a data set of the paper (did you mean 'cement'?)"],
    "lab bias --p 2": ["--p"],
    "explain diabetes.tritree diabetes.csv x": ["'x' is not a position"],
    "explain diabetes.tritree diabetes.csv 5-3": ["'5-3' is not a position"],
    "show diabetes.tritree --max-nodes 0": ["'0' is not an integer of at least 1 or none"],
    "show diabetes.tritree --format jpeg": ["'jpeg' is not one of"],
    "nonsense": ["No such command 'nonsense'"],
    "--nonsense": ["No such option"],
}


@pytest.fixture
def files(tmp_path: Path, model: Path) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def check(code: int, args: str, parts: list[str], tritree: InProcess, files: Path) -> None:
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    run = tritree(*args.split())
    assert run.code == code
    assert run.error_line.startswith("tritree")
    for part in parts:
        assert part in run.error_line
    assert {path.name: path.read_bytes() for path in files.iterdir()} == before  # nothing was written


@pytest.mark.parametrize("args", ERRORS)
def test_error_that_the_user_can_fix_ends_with_1_and_one_line(
    args: str, tritree: InProcess, files: Path
) -> None:
    if ".parquet" in args:
        pytest.importorskip("pyarrow")
    if ".onnx" in args:
        pytest.importorskip("onnx")
    check(1, args, ERRORS[args], tritree, files)


@pytest.mark.parametrize("args", USAGE)
def test_wrong_usage_ends_with_2_and_one_line(args: str, tritree: InProcess, files: Path) -> None:
    check(2, args, USAGE[args], tritree, files)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="everything is permitted here")
def test_lack_of_permission_is_named(tritree: InProcess, table: Path, tmp_path: Path) -> None:
    table.chmod(0)
    assert "cannot read" in tritree("fit", table, "-y", "progress").error_line
    table.chmod(0o600)
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    assert "cannot write" in tritree("fit", table, "-y", "progress", "-o", folder / "m.tritree").error_line


def test_errors_of_the_system_take_one_line(
    tritree: InProcess, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as closed:
        closed.setattr("tritree.cli.output.os.access", lambda *_: False)
        assert "cannot write" in tritree("fit", table, "-y", "progress").error_line
    with monkeypatch.context() as closed:
        closed.setattr(Path, "open", refused)
        assert "cannot read" in tritree("fit", table, "-y", "progress").error_line
    with monkeypatch.context() as full:
        full.setattr("tritree.serialization.write_atomically", refused)
        assert "cannot write 'diabetes.tritree'" in tritree("fit", table, "-y", "progress").error_line


def test_names_that_look_like_markup_or_span_lines_are_escaped(tritree: InProcess) -> None:
    pd.DataFrame({"[bold]a[/bold]": [1, 2], "b\nc": [1, 2], "y": [1, 2]}).to_csv("t.csv", index=False)
    error_line = tritree("fit", "t.csv", "-y", "[red]x[/red]").error_line
    assert "'[red]x[/red]'" in error_line
    assert r"'[bold]a[/bold]', 'b\nc', 'y'" in error_line


def test_deprecations_of_other_libraries_are_not_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class OldWay(UserWarning, DeprecationWarning):
        pass

    monkeypatch.setattr(sys, "warnoptions", [])
    with warnings_as_lines():
        warnings.warn("for who writes programs", DeprecationWarning, stacklevel=1)
        warnings.warn("for who writes programs, too", OldWay, stacklevel=1)
        warnings.warn("for who uses them", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "tritree: warning: for who uses them\n"


def test_bug_of_the_program_raises(tritree: InProcess, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise AssertionError("a bug")

    monkeypatch.setattr("tritree.cli.training.read_training_data", broken)
    with pytest.raises(AssertionError, match="a bug"):
        tritree("fit", table, "-y", "progress")


def test_environment_variable_makes_errors_raise(tritree: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    from tritree.cli.messages import UserError

    monkeypatch.setenv("TRITREE_TRACEBACK", "1")
    with pytest.raises(UserError):
        tritree("fit", "nosuch.csv", "-y", "y")


def test_missing_package_is_named_with_its_remedy(
    tritree: InProcess, table: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remedies = {
        "matplotlib": (("show", model, "-o", "t.png"), "pip install 'tritree[plot]'"),
        "onnx": (("export", model, "-o", "t.onnx"), "pip install 'tritree[onnx]'"),
        "pandas": (("fit", table, "-y", "progress"), "pip install 'tritree[cli]'"),
    }
    for package, (args, remedy) in remedies.items():
        with monkeypatch.context() as absent:
            absent.setitem(sys.modules, package, None)
            if package == "pandas":  # which was imported with this module
                absent.delitem(sys.modules, "tritree.cli.tables")
            run = tritree(*args)
        assert run.code == 1
        assert package in run.error_line
        assert run.error_line.endswith(remedy)


def test_missing_pyarrow_is_named_with_its_remedy(
    tritree: InProcess, model: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(*_: object, **__: object) -> None:
        raise ImportError("Unable to find a usable engine")

    Path("t.parquet").write_bytes(b"PAR1")
    monkeypatch.setattr(pd, "read_parquet", absent)
    monkeypatch.setattr(pd.DataFrame, "to_parquet", absent)
    for args in (("missing", "t.parquet"), ("predict", model, table, "-o", "out.parquet")):
        assert tritree(*args).error_line.endswith("pip install pyarrow")


def test_diabetes_table_has_the_rows_that_the_messages_name() -> None:
    assert len(diabetes()) == 442
