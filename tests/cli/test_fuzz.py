"""Whatever is in a file, the program ends with a result or with one line."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
from cli.conftest import diabetes
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import tritree as library
from tritree.cli.main import main

PIECES = [
    ",",
    ";",
    "\t",
    "\n",
    '"',
    "'",
    "a",
    "y",
    "1",
    "0.5",
    "-3",
    "NA",
    "é",
    "\x00",
    "[b]",
    "\\",
    " ",
    "inf",
    "1e999",
]
in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@in_one_folder
@given(
    content=st.binary(max_size=200)
    | st.lists(st.sampled_from(PIECES), max_size=60).map(lambda p: "".join(p).encode())
)
def test_any_bytes_are_read_or_refused_in_one_line(content: bytes, tmp_path: Path, capsys: object) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    for args in (["missing", str(path)], ["fit", str(path), "-y", "y", "-o", str(tmp_path / "m.tritree")]):
        capsys.readouterr()  # type: ignore[attr-defined]
        code = main(args)
        err = capsys.readouterr().err  # type: ignore[attr-defined]
        assert code in (0, 1)
        assert sum("warning:" not in line for line in err.splitlines()) == code


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)


@in_one_folder
@example(cells=[("a\rb", "c\nd")], name="e\rf")
@given(
    cells=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8),
    name=TEXTS.filter(lambda n: n.strip() != ""),
)
def test_any_text_is_passed_on_unchanged(cells: list[tuple[str, str]], name: str, tmp_path: Path) -> None:
    model = tmp_path / "m.tritree"
    frame = diabetes()
    if not model.exists():
        library.TrinaryTreeRegressor(max_depth=1).fit(frame[["age", "bmi"]], frame["progress"]).save(model)
    if name in ("age", "prediction", "second"):
        return
    table = pd.DataFrame({name: [a for a, _ in cells], "second": [b for _, b in cells], "age": 50})
    table.to_csv(tmp_path / "t.csv", index=False, quoting=csv.QUOTE_ALL)
    expected = pd.read_csv(tmp_path / "t.csv", dtype=str, keep_default_na=False)
    code = main(["predict", str(model), str(tmp_path / "t.csv"), "--append", "-o", str(tmp_path / "p.csv")])
    assert code == 0
    got = pd.read_csv(tmp_path / "p.csv", dtype=str, keep_default_na=False)
    assert got.drop(columns="prediction").equals(expected)
