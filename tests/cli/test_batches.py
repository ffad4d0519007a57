"""Parquet files that are read batch by batch: the same models and predictions, and nothing half-done is left."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli.program import SECONDS, InProcess, environment, run_program

import tritree as library
from tritree.cli import inputs

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N = 900
#: What a table that is read as a whole is not scored with either.
PLAIN = ("--no-validation", "--quiet")


def trips() -> pd.DataFrame:
    """Return a table with columns of several types, in which values are missing."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "km": rng.gamma(2, 3, N),
            "city": rng.choice(["Bern", "Rome", "Oslo"], N),
            "seats": pd.array(rng.integers(0, 5, N), "Int64"),
            "begin": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 5000, N), "h"),
            "rush": rng.random(N) < 0.3,
        }
    )
    frame["minutes"] = 5 + 2 * frame.km * np.where(frame.city == "Rome", 1.5, 1) + rng.normal(size=N)
    frame["late"] = np.where(frame.minutes > 20, "yes", "no")
    frame["times"] = rng.integers(1, 4, N)
    frame.loc[::11, "km"] = np.nan
    frame.loc[::10, "city"] = None
    frame.loc[300::7, "seats"] = pd.NA
    return frame


def write(frame: pd.DataFrame, *edges: int) -> None:
    """Write a frame to whole.parquet, and cut at some rows to files in the folder big."""
    Path("big").mkdir(exist_ok=True)
    whole = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(whole, "whole.parquet")
    for number, (begin, end) in enumerate(itertools.pairwise([0, *edges, len(frame)])):
        pq.write_table(whole.slice(begin, end - begin), f"big/{number}.parquet", row_group_size=70)


FILES = ("big/0.parquet", "big/1.parquet", "big/2.parquet", "big/3.parquet")


@pytest.fixture
def files(tritree: InProcess) -> tuple[str, ...]:
    write(trips(), 1, 300, 300)
    return FILES


@pytest.fixture
def fitted(tritree: InProcess, files: tuple[str, ...]) -> tuple[str, ...]:
    """Return files to predict, beside the models m.tritree of minutes and late.tritree of classes."""
    tritree.good("fit", "whole.parquet", "-y", "minutes", "--drop", "late,times", "-o", "m.tritree", *PLAIN)
    tritree.good("fit", "whole.parquet", "-y", "late", "--drop", "minutes", "-o", "late.tritree", *PLAIN)
    return files


@pytest.mark.parametrize(
    "options",
    [
        ("-y", "minutes", "--drop", "late"),
        ("-y", "minutes", "-m", "boosting", "--trees", 3, "--weights", "times", "--numeric", "rush"),
        ("-y", "late", "-m", "forest", "--trees", 2, "--categorical", "seats", "--na", "Oslo"),
        ("-y", "late", "-m", "boosting", "--trees", 3, "--class-weight", "balanced", "--drop", "m*,times"),
        ("-y", "seats", "--skip-missing-target"),
        ("-y", "seats", "--skip-missing-target", "--task", "regression"),
        ("-y", "rush", "--date-parts", "month,weekday"),
    ],
    ids=" ".join(map(str, range(7))).split(),
)
def test_model_is_that_of_the_whole_table(
    options: tuple[object, ...], tritree: InProcess, files: tuple[str, ...]
) -> None:
    facts = tritree.good("fit", "whole.parquet", *options, "-o", "whole.tritree", "--json").json
    for tables in (("big",), ("big/*.parquet",), files):
        found = tritree.good("fit", *tables, *options, "-o", "batches.tritree", "--json").json
        assert Path("batches.tritree").read_bytes() == Path("whole.tritree").read_bytes()
        assert found["training"] is found["validation"] is None
        for name in found.keys() - {"model", "training", "validation", "validation_skipped", "replaced"}:
            assert found[name] == facts[name]


def test_summary_says_that_there_are_no_scores(tritree: InProcess, files: tuple[str, ...]) -> None:
    run = tritree.good("fit", *files, "-y", "minutes")
    assert "'big/0.parquet' and 3 more: 900 rows, 7 columns" in run.out
    assert "minutes holds 900 distinct numbers" in run.out
    assert "scores" not in run.out
    assert "validation is skipped: the table is read batch by batch" in run.err
    assert Path("model.tritree").exists()
    tritree.good("fit", "big", "-y", "minutes", "--quiet")
    assert Path("big.tritree").exists()


def test_large_file_is_read_batch_by_batch(
    tritree: InProcess, files: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    n_bytes = 8 * N * len(trips().columns)
    monkeypatch.setattr(inputs, "memory", lambda: 8 * n_bytes)
    assert "constant" in tritree.good("fit", "whole.parquet", "-y", "minutes").out
    monkeypatch.setattr(inputs, "memory", lambda: 8 * n_bytes - 8)
    assert "batch by batch" in tritree.good("fit", "whole.parquet", "-y", "minutes").err


def test_index_that_pandas_has_written_is_read_as_in_one_table(tritree: InProcess) -> None:
    for name, index in {
        "named": pd.Index(range(N), name="number"),
        "nameless": pd.Index(range(1, N + 1)),
    }.items():
        Path(name).mkdir()
        frame = trips().set_index(index)
        frame.to_parquet(f"{name}.parquet", index=True)
        frame.iloc[:400].to_parquet(f"{name}/0.parquet", index=True)
        frame.iloc[400:].to_parquet(f"{name}/1.parquet", index=True)
        for table in (f"{name}.parquet", name):
            tritree.good("fit", table, "-y", "minutes", "-o", f"{table}.tritree", *PLAIN)
        assert Path(f"{name}.parquet.tritree").read_bytes() == Path(f"{name}.tritree").read_bytes()
        run = tritree.good("predict", f"{name}.tritree", name, "--append")
        assert run.err == ""
        assert run.out.startswith("number,km" if name == "named" else "km,")


# ---- predictions


def expected(model: str, *drop: str) -> np.ndarray:
    found: np.ndarray = library.load(model).predict(trips().drop(columns=["minutes", "late", *drop]))
    return found


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "csv.gz", "csv.xz", "csv.bz2", "csv.zip"])
def test_predictions_are_those_of_the_whole_table_in_order(
    ending: str, tritree: InProcess, fitted: tuple[str, ...]
) -> None:
    run = tritree.good("predict", "m.tritree", *fitted, "-o", f"p.{ending}", "--json", "--append")
    separator = "\t" if ending == "tsv" else ","
    found = pd.read_parquet("p.parquet") if ending == "parquet" else pd.read_csv(f"p.{ending}", sep=separator)
    assert np.array_equal(found["prediction"], expected("m.tritree", "times"))
    assert run.json["rows"] == N
    assert run.json["columns"] == list(found.columns) == [*trips().columns, "prediction"]
    assert run.json["bytes"] == Path(f"p.{ending}").stat().st_size
    if ending == "parquet":
        before = pq.read_schema("whole.parquet")
        assert pq.read_schema("p.parquet").types == [*before.types, pa.float64()]
        kept = pq.read_table("p.parquet").drop_columns("prediction")
        assert kept.equals(pq.read_table("whole.parquet").replace_schema_metadata())
    else:  # a cell is written as it is, whatever else is in its batch
        cells = pd.read_csv(f"p.{ending}", sep=separator, dtype=str)
        assert set(cells["seats"].dropna()) == set("01234")
        assert cells["begin"].str.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d").all()


def test_predictions_go_to_the_standard_output(tritree: InProcess, fitted: tuple[str, ...]) -> None:
    for options in ((), ("--keep", "city,begin", "--probabilities"), ("--json", "--keep", "seats")):
        by_batches = tritree.good("predict", "late.tritree", *fitted, *options)
        whole = tritree.good("predict", "late.tritree", "whole.parquet", *options)
        assert by_batches.out == whole.out
        assert by_batches.err == ""  # the target is in the table, too
    assert len(whole.json) == N
    assert set(whole.json[300]) == {"seats", "prediction"}
    assert whole.json[300]["seats"] is None


def test_columns_keep_their_types_whatever_those_of_training_and_of_predictions_are(
    tritree: InProcess, fitted: tuple[str, ...]
) -> None:
    write(trips().assign(city=np.arange(N), km=[f"{i}.5" for i in range(N)]), 300)
    files = ("big/0.parquet", "big/1.parquet")
    tritree.good("predict", "m.tritree", *files, "--keep", "km,city", "--name", "seats", "-o", "p.parquet")
    found = pd.read_parquet("p.parquet")
    assert found["city"].tolist() == list(range(N))
    assert found["km"].tolist() == [f"{i}.5" for i in range(N)]
    assert found["seats"].dtype == float


def test_warnings_are_given_once(tritree: InProcess, fitted: tuple[str, ...]) -> None:
    write(trips().drop(columns="km").assign(extra=1), 300, 600)
    run = tritree.good("predict", "m.tritree", "big/0.parquet", "big/1.parquet", "-o", "p.csv")
    warned = [line for line in run.err.splitlines() if "warning" in line]
    assert warned == [
        "tritree: warning: absent from the table, so missing in every row: 'km'",
        "tritree: warning: not in training, so ignored: 'extra'",
    ]


def test_ungrown_branches_are_counted_over_all_batches(tritree: InProcess, files: tuple[str, ...]) -> None:
    tritree.good("fit", "whole.parquet", "-y", "minutes", "--no-training-rows", *PLAIN)
    write(trips().assign(km=np.nan), 300)
    run = tritree.good("predict", "whole.tritree", "big/0.parquet", "big/1.parquet", "-o", "p.csv")
    assert run.err.count("a row reached a third branch") == 1
    assert "900 times a row reached" in run.err


# ---- errors


def change(path: str, **columns: object) -> None:
    pd.read_parquet(path).assign(**columns).to_parquet(path)


@pytest.mark.parametrize(
    ("changed", "parts"),
    [
        ({"more": 1.0}, ["'more' is absent from 'big/0.parquet', and is in 'big/1.parquet'; give all"]),
        (
            {"km": "far"},
            ["column 'km' is of type", "in 'big/1.parquet', and of type double in 'big/0.parquet'"],
        ),
        ({"km": None}, []),
        ({"km": 3}, []),
    ],
    ids=["other columns", "other type", "nothing", "whole numbers"],
)
@pytest.mark.parametrize("command", ["fit", "predict"])
def test_files_with_other_columns_are_named(
    command: str, changed: dict[str, object], parts: list[str], tritree: InProcess, fitted: tuple[str, ...]
) -> None:
    change("big/1.parquet", **changed)
    options = ("fit", *fitted, "-y", "minutes", "-o", "n.tritree")
    run = tritree(*options if command == "fit" else ("predict", "m.tritree", *fitted, "-o", "p.parquet"))
    assert run.code == (1 if parts else 0)
    for part in parts:
        assert part in run.error_line
    assert not list(Path().glob(".tritree*"))


def test_absent_column_names_the_file_without_it(tritree: InProcess, fitted: tuple[str, ...]) -> None:
    pd.read_parquet("big/3.parquet").drop(columns="city").to_parquet("big/3.parquet")
    line = tritree("predict", "m.tritree", *fitted).error_line
    assert "column 'city' is absent from 'big/3.parquet', and is in 'big/0.parquet'" in line


ERRORS: dict[str, list[str]] = {
    "fit big/0.parquet t.csv -y minutes": ["'t.csv' is not a Parquet file", "read together"],
    "fit big/0.parquet nosuch.parquet -y minutes": ["there is no file 'nosuch.parquet'"],
    "fit nosuch/*.parquet -y minutes": ["no file matches 'nosuch/*.parquet'"],
    "fit *.csv -y minutes": ["there is no file '*.csv'"],
    "fit big *.csv -y minutes": ["'*.csv' is not a Parquet file"],
    "fit mixed -y minutes": ["'mixed' is a folder with other files", "mixed/*.parquet"],
    "fit nothing -y minutes": ["'nothing' is a folder without files"],
    "fit empty -y minutes": ["'empty' has 8 columns and no rows"],
    "fit big/0.parquet damaged.parquet -y minutes": [
        "'damaged.parquet' is no Parquet file, or a damaged one"
    ],
    "fit - big/0.parquet -y minutes": ["the standard input is one table"],
    "fit big -y price": ["there is no column 'price' in 'big'"],
    "fit big -y minutes --drop km,city,seats,begin,rush,late,times": ["no columns besides 'minutes'"],
    "fit big -y km": [
        "the target 'km' is missing in 82 of 900 rows, first in row 0 of 'big/0.parquet'",
        "--skip",
    ],
    "fit big -y begin": ["the target 'begin' holds dates"],
    "fit big -y minutes --cv 3": ["--cv needs the table in memory, and 'big' is read batch by batch"],
    "fit big -y minutes -m boosting --early-stopping": ["--early-stopping needs the table in memory"],
    "fit big -y late --task regression": ["the target 'late' holds text", "--task classification"],
    "fit big -y minutes --numeric city": [
        "in 'big/1.parquet', in rows that are counted from row 0 on: column 'city'"
    ],
    "fit big -y minutes -o big/2.parquet": ["'big/2.parquet' is read by this command"],
    "fit infinite -y minutes": [
        "in batch 1, which begins at row 0 of 'infinite/1.parquet': column 'km' holds inf in"
    ],
    "predict m.tritree big -o big/1.parquet": ["'big/1.parquet' is read by this command"],
    "predict m.tritree big -o p.txt": ["unknown file extension of 'p.txt'"],
    "predict whole.parquet big": ["is a table, not a model"],
    "predict damaged.parquet.tritree big": ["damaged.parquet.tritree"],
    "predict m.tritree big --append --name km -o p.csv": ["the table has a column 'km' already"],
    "predict m.tritree big --keep price": ["there is no column 'price' in 'big'"],
    "predict m.tritree empty": ["'empty' has 8 columns and no rows"],
    "predict m.tritree damaged.parquet": ["'damaged.parquet' is no Parquet file"],
    "predict m.tritree cut -o p.csv": ["cannot read 'cut/1.parquet' from row"],
    "predict m.tritree infinite -o p.csv": [
        "in 'infinite/1.parquet', in rows that are counted from row 0 on",
        "inf",
    ],
    "predict m.tritree new --unknown-category error -o p.csv": [
        "'new/1.parquet'",
        "'Rome'",
        "--unknown-category",
    ],
}


def spoil() -> None:
    """Write tables that cannot be used."""
    frame = trips()
    Path("t.csv").write_text("km\n1\n")
    Path("damaged.parquet").write_bytes(b"no Parquet")
    Path("damaged.parquet.tritree").write_bytes(b"no model")
    for name in ("mixed", "nothing", "empty", "infinite", "cut", "new"):
        Path(name).mkdir()
        if name != "nothing":
            frame.head(0 if name == "empty" else 300).to_parquet(f"{name}/0.parquet")
    Path("mixed/readme.txt").write_text("Tables")
    frame.assign(km=[1.0, np.inf] * (N // 2)).to_parquet("infinite/1.parquet")
    frame.assign(city="Paris", km=1.0).to_parquet("new/1.parquet")
    pq.write_table(pa.Table.from_pandas(frame), "cut/1.parquet", row_group_size=100, compression="none")
    content = bytearray(Path("cut/1.parquet").read_bytes())
    content[len(content) // 3 : len(content) // 2] = bytes(len(content) // 2 - len(content) // 3)
    Path("cut/1.parquet").write_bytes(content)


@pytest.mark.parametrize("args", ERRORS)
def test_error_names_the_file_and_leaves_nothing(
    args: str, tritree: InProcess, fitted: tuple[str, ...]
) -> None:
    spoil()
    Path("p.csv").write_text("old")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    run = tritree(*args.split())
    assert run.code == 1
    for part in ERRORS[args]:
        assert part in run.error_line
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


SLOW = """
import signal, sys, time
from pathlib import Path
from tritree.cli import batches
from tritree.cli.main import main
parts = batches.BatchTable.parts
def slow(self, *args, **options):
    for number, part in enumerate(parts(self, *args, **options)):
        yield part
        if number == 1:
            Path("waiting").touch()
            time.sleep(60)
batches.BatchTable.parts = slow
sys.exit(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")
@pytest.mark.parametrize(
    ("number", "code", "said"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
@pytest.mark.parametrize("ending", ["parquet", "csv.gz", "csv.zip"])
def test_signal_leaves_no_file(
    number: int, code: int, said: str, ending: str, fitted: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / f"p.{ending}").write_bytes(b"old")
    command = [sys.executable, "-c", SLOW, "predict", "m.tritree", "big", "-o", f"p.{ending}"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=environment())
    until = time.monotonic() + SECONDS
    while not (tmp_path / "waiting").exists():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    assert list(tmp_path.glob(".tritree.*.tmp"))
    process.send_signal(number)
    _, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, err) == (code, f"tritree: {said}\n")
    assert not list(tmp_path.glob(".tritree.*.tmp"))
    assert (tmp_path / f"p.{ending}").read_bytes() == b"old"


MEASURED = """
import json, resource, sys
from tritree.cli.main import main
code = main()
print(json.dumps([code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss differs")
@pytest.mark.parametrize("output", ["p.parquet", "p.csv.gz"])
def test_peak_memory_of_predict_does_not_grow_with_the_rows(
    output: str, fitted: tuple[str, ...], tmp_path: Path
) -> None:
    peaks = []
    for n_rows in (400_000, 3_200_000):
        cells = np.random.default_rng(0).random(n_rows)
        name = f"{n_rows}.parquet"
        pq.write_table(
            pa.table({"km": cells, "a": cells, "b": cells}), tmp_path / name, row_group_size=200_000
        )
        arguments = ("predict", "m.tritree", name, "-o", output, "--quiet", "--n-jobs", 1)
        run = run_program(*arguments, cwd=tmp_path, program=[sys.executable, "-c", MEASURED])
        code, peak = json.loads(run.out)
        assert code == 0, run
        peaks.append(peak)
    # the further rows alone have 64 MiB of features and 21 MiB of predictions
    assert peaks[1] - peaks[0] < 25 * 1024, peaks


# ---- scratch


def test_scratch_folder_changes_nothing_but_where_bins_are(
    tritree: InProcess, files: tuple[str, ...]
) -> None:
    Path("scratch").mkdir()
    options = ("-y", "minutes", "--model", "boosting", "--trees", 3, "--quiet")
    tritree.good("fit", *files, *options)
    tritree.good("fit", "whole.parquet", *options, "--scratch", "scratch")
    assert Path("whole.tritree").read_bytes() == Path("model.tritree").read_bytes()
    assert not list(Path("scratch").iterdir())


def test_scratch_folder_that_cannot_be_used_is_named(tritree: InProcess, files: tuple[str, ...]) -> None:
    line = tritree("fit", *files, "-y", "minutes", "--scratch", "nosuch").error_line
    assert line == (
        "tritree: cannot create a file in the scratch folder 'nosuch': No such file or directory; name another folder"
    )
    Path("t.csv").write_text("x,y\n1,2\n")
    assert "--scratch is for Parquet files" in tritree("fit", "t.csv", "-y", "y", "--scratch", ".").error_line
