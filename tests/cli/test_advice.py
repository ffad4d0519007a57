"""Options that messages advise work when they are pasted into a shell."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from cli.program import InProcess
from hypothesis import given
from hypothesis import strategies as st

from tritree.cli.advice import advise, escape, unescape
from tritree.cli.messages import one_line

needs_shell = pytest.mark.skipif(shutil.which("sh") is None, reason="no POSIX shell here")


def split_by_shell(text: str) -> list[str]:
    """Return the words that a shell makes of a text."""
    words = subprocess.run(["sh", "-c", f"printf '%s\\0' {text}"], capture_output=True, check=True).stdout
    return words.decode().split("\0")[:-1]


def advised(message: str, option: str) -> list[str]:
    """Return the words of all advice for an option in a message: what follows it, up to a comma or a semicolon."""
    match = re.search(rf"{option} .*?(?=, or |; |\n|$)", message)
    assert match is not None, message
    return split_by_shell(match[0])


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
def test_any_text_is_read_back_from_its_escapes_on_one_line(text: str) -> None:
    assert unescape(escape(text)) == text
    assert one_line(escape(text)) == escape(text)


@pytest.mark.parametrize("text", ["\\N", "C:\\data", "a\\", "\\U12345678", "\\xg0", "-200", ""])
def test_other_backslashes_stay(text: str) -> None:
    assert unescape(text) == text


@needs_shell
@pytest.mark.parametrize(
    "text", ["?", "\t?", "it's", '"', "$HOME", "a b", "  a", "`ls`", "!x", "*", ";", "\\", "žluť"]
)
def test_shell_reads_back_what_is_advised(text: str) -> None:
    option, value = split_by_shell(advise("--na", text))
    assert (option, unescape(value)) == ("--na", text)


@needs_shell
@pytest.mark.parametrize(
    "cell", ["?", "\t?", " ?", "n/a ", "it's", '"', "$x", "a  b", "\\t", "\\N", "-", "--", "*"]
)
def test_advised_na_makes_a_column_numeric(cell: str, tritree: InProcess) -> None:
    cells = [cell if i % 50 == 7 else str(i % 11) for i in range(200)]
    pd.DataFrame({"hp": cells, "y": range(200)}).to_csv("t.csv", index=False)
    message = tritree.good("fit", "t.csv", "-y", "y").err
    assert "column 'hp' is read as text" in message
    run = tritree.good("fit", "t.csv", "-y", "y", *advised(message, "--na"))
    assert run.err == ""
    assert "4 cells" in run.out


@needs_shell
def test_all_texts_among_numbers_are_advised_if_they_are_few(tritree: InProcess) -> None:
    cells = [{7: "?", 8: "n. a."}.get(i % 50, str(i % 11)) for i in range(200)]
    pd.DataFrame({"hp": cells, "y": range(200)}).to_csv("t.csv", index=False)
    words = advised(tritree.good("fit", "t.csv", "-y", "y").err, "--na")
    assert words == ["--na", "?", "--na", "n. a."]
    assert tritree.good("fit", "t.csv", "-y", "y", *words).err == ""


@needs_shell
@pytest.mark.parametrize("cell", ["\told", "it's", "x y"])
def test_advised_na_makes_rows_predictable(cell: str, tritree: InProcess, model: Path) -> None:
    pd.DataFrame({"age": ["50", cell]}).to_csv("new.csv", index=False)
    run = tritree("predict", model, "new.csv")
    assert run.code == 1
    again = tritree.good("predict", model, "new.csv", *advised(run.err, "--na"))
    assert len(again.out.split()) == 3


@needs_shell
@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_advised_separator_is_understood(separator: str, tritree: InProcess) -> None:
    Path("t.csv").write_text(f"a{separator}b\n1{separator}2\n3\n")
    words = advised(tritree("missing", "t.csv").err, "--separator")
    assert "2 rows × 2 columns" in tritree.good("missing", "t.csv", *words).out


@needs_shell
def test_advised_drop_leaves_a_column_out(tritree: InProcess) -> None:
    Path("t.csv").write_text("a,,y\n" + "1,2,3\n2,3,4\n" * 30)
    words = advised(tritree.good("fit", "t.csv", "-y", "y").err, "--drop")
    assert tritree.good("fit", "t.csv", "-y", "y", *words).err == ""


def test_decimal_commas_are_advised_only_if_pandas_can_read_them(tritree: InProcess) -> None:
    pd.DataFrame({"x": [f"1.{i:03},5" for i in range(100)], "y": range(100)}).to_csv("t.csv", index=False)
    assert "--decimal" not in tritree.good("fit", "t.csv", "-y", "y").err
