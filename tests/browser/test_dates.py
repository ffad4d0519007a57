"""Dates, times of day and durations are entered and shown as what they are, and predicted as by the model."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from tritree import TrinaryTreeRegressor

N = 300
RNG = np.random.default_rng(0)
DAYS = pd.date_range("2014-01-01", periods=N)
TABLE = pd.DataFrame(
    {
        "sold": DAYS,
        "seen": DAYS + pd.to_timedelta(RNG.integers(0, 1440, N), unit="min"),
        "opens": pd.to_datetime(RNG.integers(0, 1440, N) * 60, unit="s").time,
        "stay": pd.to_timedelta(RNG.integers(0, 40, N), unit="D"),
    }
)
MINUTE_OF_DAY = np.array([60 * time.hour + time.minute for time in TABLE["opens"]])
Y = (
    (TABLE["stay"].dt.days > 20) * 4
    + (DAYS.month > 5) * 2
    + MINUTE_OF_DAY / 1440
    + TABLE["seen"].dt.hour / 24
)

# types a value into the input of a column, and returns what the page predicts
TYPE = """
const [column, text] = arguments;
const input = document.querySelector(`.cell[data-column="${column}"] input:not([type=range])`);
if (input) {  // the tree uses the column
  input.value = text;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}
return document.getElementById("prediction").dataset.value;
"""


def entered(row: pd.Series) -> list[str]:
    """Return the values of a row as they are typed."""
    return [
        f"{row['sold']:%Y-%m-%d}",
        f"{row['seen']:%Y-%m-%dT%H:%M}",
        f"{row['opens']:%H:%M}",
        str(row["stay"].days),
    ]


def test_page_predicts_typed_dates_as_the_tree_does(driver: Any, tmp_path: Any) -> None:
    tree = TrinaryTreeRegressor(max_depth=5, min_samples_leaf=2, missing="mia").fit(TABLE, Y)
    tree.to_html(tmp_path / "tree.html", rows=TABLE.head(3))
    driver.get((tmp_path / "tree.html").as_uri())
    expected = tree.predict(TABLE.head(60))
    for (_, row), prediction in zip(TABLE.head(60).iterrows(), expected, strict=True):
        for column, text in enumerate(entered(row)):
            found = driver.execute_script(TYPE, column, text)
        assert json.loads(found) == [prediction]


def test_page_shows_the_dates_of_a_row(driver: Any, tmp_path: Any) -> None:
    tree = TrinaryTreeRegressor(max_depth=3).fit(TABLE, Y)
    tree.to_html(tmp_path / "tree.html", rows=TABLE.head(1))
    driver.get((tmp_path / "tree.html").as_uri())
    shown = driver.execute_script(
        "return [...document.querySelectorAll('.cell')].map((cell) =>"
        " [Number(cell.dataset.column), cell.querySelector('input:not([type=range])').value])"
    )
    texts = entered(TABLE.iloc[0])
    assert shown
    assert all(text == texts[column] for column, text in shown)
