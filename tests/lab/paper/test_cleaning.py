"""Published tables become the tables that the paper's author used."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from typing import Any

import numpy as np
import pytest
from data_paths import DATA

pd = pytest.importorskip("pandas")

from lab.paper.raw_rows import tables, texts  # noqa: E402
from pandas.testing import assert_frame_equal  # noqa: E402

from tritree.lab.dataset import DatasetError  # noqa: E402
from tritree.lab.paper.dataset_specs import SPECS, DatasetSpec  # noqa: E402
from tritree.lab.paper.datasets import NAMES  # noqa: E402


def small(name: str, rows: int | None = None) -> DatasetSpec:
    """Return a spec that expects as many rows as the made-up table leaves."""
    return replace(SPECS[name], rows=len(tables(name)[1]) if rows is None else rows)


def plain(table: Any) -> Any:
    """Return a table with its categories as text: what a file of it would be read as."""
    text = {column: "str" for column in table if isinstance(table[column].dtype, pd.CategoricalDtype)}
    return table.astype(text)


def the_file(name: str) -> Any:
    files = [DATA / "paper" / f"{name}.csv", DATA / "paper" / f"{name}.csv.gz"]
    found = [file for file in files if file.exists()]
    if not found:
        pytest.skip("no data sets of the paper; set TRITREE_DATA")
    return pd.read_csv(found[0])


@pytest.mark.parametrize("name", NAMES)
def test_made_up_raw_rows_become_the_expected_rows(name: str) -> None:
    raw, expected = tables(name)
    assert_frame_equal(
        plain(small(name).clean(raw)),
        expected.astype({column: "str" for column, kind in SPECS[name].types.items() if kind == "text"}),
    )


@pytest.mark.parametrize("name", NAMES)
def test_clean_table_has_the_columns_and_types_of_the_authors_file(name: str) -> None:
    file = the_file(name)
    clean = plain(small(name).clean(tables(name)[0]))
    assert list(clean) == list(file)
    assert clean.dtypes.astype(str).tolist() == file.dtypes.astype(str).tolist()
    assert file.shape == (SPECS[name].rows, len(SPECS[name].types))


@pytest.mark.parametrize("name", NAMES)
def test_columns_may_come_as_text_or_categories_and_in_any_order(name: str) -> None:
    raw = tables(name)[0]
    as_text = pd.read_csv(StringIO(texts(name)[0]), dtype="category")
    expected = small(name).clean(raw)
    assert_frame_equal(small(name).clean(as_text), expected)
    assert_frame_equal(small(name).clean(raw.iloc[:, ::-1]), expected)


@pytest.mark.parametrize("name", NAMES)
def test_row_numbers_of_the_raw_table_do_not_matter(name: str) -> None:
    raw = tables(name)[0]
    expected = small(name).clean(raw)
    assert_frame_equal(small(name).clean(raw.set_axis([7] * len(raw), axis=0)), expected)


@pytest.mark.parametrize("name", NAMES)
def test_absent_column_is_an_error_that_names_it_and_the_source(name: str) -> None:
    raw = tables(name)[0]
    needed = next(iter(SPECS[name].raw_columns(raw.columns)))
    with pytest.raises(DatasetError, match="the raw table lacks") as caught:
        small(name).clean(raw.drop(columns=needed))
    assert SPECS[name].missing_columns(raw.columns.drop(needed))[0] in str(caught.value)
    assert SPECS[name].source in str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_wrong_number_of_rows_is_an_error_that_says_how_many_were_expected(name: str) -> None:
    with pytest.raises(DatasetError, match=f"rows instead of {SPECS[name].rows:,} "):
        SPECS[name].clean(tables(name)[0])


@pytest.mark.parametrize(
    ("name", "column", "value", "expected"),
    [
        ("auto_mpg", "weight", "heavy", "column 'weight' holds 'heavy' instead of numbers"),
        ("auto_mpg", "origin", 1.5, "column 'origin' holds 1.5 instead of integers"),
        ("black_friday", "Age", "99-120", "column 'Age' holds '99-120' instead of one of 0-17, .*"),
        ("titanic", "Survived", 2, "column 'y' holds .*2.* instead of one of 0, 1"),
        ("lymphography", "class", "healthy", "column 'y' holds 'healthy' instead of one of"),
        ("seeds", "Class", 4, "column 'y' holds .*4.* instead of one of 1, 2, 3"),
    ],
)
def test_unexpected_value_is_an_error_that_names_column_and_value(
    name: str, column: str, value: Any, expected: str
) -> None:
    raw = tables(name)[0]
    raw[column] = raw[column].astype(object)
    raw.loc[0, column] = value
    with pytest.raises(DatasetError, match=expected):
        small(name).clean(raw)


def test_lymphography_shuffled_as_at_openml_comes_back_in_the_authors_order() -> None:
    file = the_file("lymphography")
    raw = file.sample(frac=1, random_state=1, ignore_index=True)
    words = {"lac. marginal": "lac_margin", "lac. central": "lac_central", "drop-like": "drop_like"}
    raw = raw.replace(words | {"malign": "malign_lymph"}).assign(n_nodes=raw["n_nodes"] / 45 + 1)
    new = {new: old for old, new in SPECS["lymphography"].names.items()}
    clean = SPECS["lymphography"].clean(raw.rename(columns=new))
    assert_frame_equal(plain(clean), file)


def test_all_seeds_that_the_author_lacks_have_a_number_of_three_characters() -> None:
    measured = the_file("seeds").drop(columns="y")
    assert measured.map(lambda value: len(f"{value:g}")).min().min() > 3  # so no row of his is dropped


def test_cement_of_the_author_is_not_changed_by_rounding() -> None:
    file = the_file("cement")
    clean = SPECS["cement"].clean(
        file.rename(columns=lambda column: column.replace("_", " ")).rename(columns={"y": "strength"})
    )
    assert_frame_equal(clean, file)


def test_black_friday_keeps_the_order_of_its_550_thousand_rows() -> None:
    rows = np.random.default_rng(0).integers(0, 3, SPECS["black_friday"].rows)
    raw = tables("black_friday")[0].iloc[rows]
    clean = SPECS["black_friday"].clean(raw)
    assert clean["Age"].tolist() == [[0, 6, 2][row] for row in rows]
