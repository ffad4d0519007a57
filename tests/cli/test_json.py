"""Whatever is in a table or in a name, --json writes JSON that every parser accepts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cli.program import InProcess

from tritree.cli.messages import to_json

ROWS = 60
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=ROWS)
TABLES = {
    "huge targets": {"a": NUMBERS, "y": 1e200 * RNG.normal(size=ROWS)},
    "tiny targets": {"a": NUMBERS, "y": RNG.choice([5e-324, 0.5], ROWS)},
    "huge integers": {
        "a": RNG.choice([f"{2**100}", f"{2**63}", "7"], ROWS),
        "b": NUMBERS,
        "y": RNG.choice([2**53 + 1, 3], ROWS),
    },
    "long integers": {"a": ["1" * 5000] * ROWS, "b": NUMBERS, "y": NUMBERS},
    "hostile names": {
        'a"\\\u2028\x1b[31m</script>': NUMBERS,
        "\U0001f600": RNG.choice(['z"', "\x7f", "\u2029"], ROWS),
        "y": RNG.choice(['ja"', "nein\n"], ROWS),
    },
    "names of nothing": {"NaN": NUMBERS, "None": NUMBERS, "null": NUMBERS, "y": NUMBERS},
    "an empty column": {"a": [np.nan] * ROWS, "b": NUMBERS, "y": NUMBERS},
    "equal targets": {"a": NUMBERS, "y": [1.5] * ROWS},
}


def parse(text: str) -> Any:
    """Return what strict JSON holds: no NaN or Infinity, and only text that can be encoded."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    value = json.loads(text, parse_constant=refuse)
    json.dumps(value, ensure_ascii=False).encode()  # lone surrogates cannot be
    return value


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("kind", [("tree",), ("boosting", "--trees", 3)], ids=["tree", "boosting"])
def test_json_of_a_model_is_valid(name: str, kind: tuple[str, ...], tritree: InProcess) -> None:
    pd.DataFrame(TABLES[name]).to_csv("t.csv", index=False)
    if (name, kind[0]) == ("huge targets", "boosting"):
        pytest.skip("too large for it, which is an error")
    model = "m.tritree"
    assert (
        parse(tritree.good("fit", "t.csv", "-y", "y", "-o", model, "--json", "-m", *kind).out)["rows"] == ROWS
    )
    assert len(parse(tritree.good("predict", model, "t.csv", "--append", "--json").out)) == ROWS
    assert len(parse(tritree.good("explain", model, "t.csv", "0-5", "--json").out)) == 6
    assert parse(tritree.good("export", model, "--format", "json", "--rows", "t.csv").out)


@pytest.mark.parametrize("name", TABLES)
def test_json_of_a_table_is_valid(name: str, tritree: InProcess) -> None:
    pd.DataFrame(TABLES[name]).to_csv("t.csv", index=False)
    assert parse(tritree.good("missing", "t.csv", "--json").out)["n_rows"] == ROWS


@pytest.mark.parametrize("name", ["huge targets", "hostile names", "an empty column"])
def test_json_of_a_comparison_is_valid(name: str, tritree: InProcess) -> None:
    pd.DataFrame(TABLES[name]).to_csv("t.csv", index=False)
    options = "--rates 0.3 --seeds 1 --folds 2 --depth 1 -s mia -s trinary --n-jobs 1 --json"
    assert parse(tritree.good("compare", "t.csv", "-y", "y", *options.split()).out)["scenarios"]


def test_infinite_cells_of_copied_columns_are_null(tritree: InProcess, model: Path) -> None:
    Path("t.csv").write_text("age,limit\n50,inf\n60,-inf\n70,3\n80,\n")
    rows = parse(tritree.good("predict", model, "t.csv", "--keep", "limit", "--json").out)
    assert [row["limit"] for row in rows] == [None, None, 3, None]


@pytest.mark.skipif(os.name != "posix", reason="file names are text there")
def test_file_names_that_are_not_text_are_escaped(tritree: InProcess, table: Path) -> None:
    odd = {
        extension: os.fsdecode(b"odd\xff." + extension)
        for extension in (b"csv", b"tritree", b"html", b"sqlite")
    }
    Path(odd[b"csv"]).write_bytes(table.read_bytes())
    fitted = tritree.good("fit", odd[b"csv"], "-y", "progress", "--drop", "id", "--json")
    assert parse(fitted.out)["model"] == r"odd\udcff.tritree"
    predicted = tritree.good("predict", odd[b"tritree"], odd[b"csv"], "-o", odd[b"csv"] + ".csv", "--json")
    assert parse(predicted.out)["output"] == r"odd\udcff.csv.csv"
    options = "--drop id --rates 0.3 --seeds 1 --folds 2 --depth 1 -s mia --n-jobs 1 --json"
    files = ("--store", odd[b"sqlite"], "--report", odd[b"html"])
    compared = tritree.good("compare", odd[b"csv"], "-y", "progress", *options.split(), *files)
    assert parse(compared.out)["about"]["datasets"] == [r"odd\udcff.csv"]


def test_values_without_json_are_null_or_text() -> None:
    value = {
        "numbers": (np.float32("nan"), np.inf, -np.inf, np.int64(3), 10**400),
        "array": np.array([[1.5, np.nan]]),
        "path": Path("x"),
        np.int64(1): np.bool_(True),
        "\ud800": "\udfff",
    }
    assert parse(to_json(value)) == {
        "numbers": [None, None, None, 3, 10**400],
        "array": [[1.5, None]],
        "path": "x",
        "1": True,
        r"\ud800": r"\udfff",
    }
