"""``tritree explain`` shows the explanations of the library."""

from __future__ import annotations

from pathlib import Path

from cli.conftest import diabetes
from cli.program import InProcess

import tritree as library


def test_explanations_equal_those_of_the_library(tritree: InProcess, table: Path, model: Path) -> None:
    run = tritree.good("explain", model, table, "0", "3-4")
    why = library.load(model).explain(diabetes().drop(columns=["id", "progress"]).iloc[[0, 3, 4]])
    assert run.out == "\n\n\n".join(f"row {i} {text}" for i, text in zip((0, 3, 4), why, strict=True)) + "\n"
    explanations = tritree.good("explain", model, table, "3", "--json").json
    assert [item["row"] for item in explanations] == [3]
    assert explanations[0]["prediction"] == why[1].prediction
    assert [step["reason"] for step in explanations[0]["path"]] == [step.reason for step in why[1].path]


def test_all_rows_of_a_short_table_are_explained(tritree: InProcess, model: Path) -> None:
    diabetes().head(3).to_csv("new.csv", index=False)
    assert [item["row"] for item in tritree.good("explain", model, "new.csv", "--json").json] == [0, 1, 2]
