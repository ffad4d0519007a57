"""The profile of a table counts what is there, and says it in text, HTML, plain data and a picture."""

from __future__ import annotations

import json
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritree import plot_missing
from tritree.lab import ampute, profile

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


def make_frame():
    random = np.random.default_rng(1)
    frame = pd.DataFrame(
        random.normal(size=(500, 3)) @ np.triu(np.ones((3, 3))), columns=["age", "bmi", "whole"]
    )
    frame["town"] = random.choice(["Oslo", "Bergen"], 500)
    return ampute(frame, 0.2, columns=["age", "town"]).assign(bmi=lambda f: f["bmi"].where(f["age"].notna()))


tables = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.sampled_from([0.0, 1.0, 2.5, np.nan]), min_size=width, max_size=width),
        min_size=1,
        max_size=12,
    )
)


@given(tables)
def test_counts_are_those_of_a_walk_over_the_rows(rows):
    array = np.array(rows)
    found = profile(array)
    patterns = Counter(tuple(f"x{j}" for j, value in enumerate(row) if np.isnan(value)) for row in rows)
    assert (found.n_rows, found.n_columns) == array.shape
    assert [column.missing for column in found.columns] == np.isnan(array).sum(axis=0).tolist()
    assert found.complete_rows == patterns[()]
    assert {pattern.columns: pattern.rows for pattern in found.patterns} == dict(patterns)
    assert found.n_patterns == len(patterns)
    assert sum(pattern.share for pattern in found.patterns) == pytest.approx(1)


@given(tables)
def test_any_table_can_be_shown_in_every_way(rows):
    found = profile(np.array(rows))
    json.dumps(found.to_dict(), allow_nan=False)
    assert str(found)
    assert found._repr_html_()


@pytest.mark.parametrize(
    "convert", [lambda f: f, lambda f: f.convert_dtypes(), pl.from_pandas, lambda f: pa.Table.from_pandas(f)]
)
def test_profile_is_the_same_in_every_library(convert):
    assert profile(convert(make_frame())).to_dict() == profile(make_frame()).to_dict()


def test_complete_rows_are_counted_among_more_patterns_than_are_listed():
    table = np.random.default_rng(0).normal(size=(3000, 12))
    table[np.random.default_rng(1).random(table.shape) < 0.5] = np.nan
    found = profile(table)
    assert found.n_patterns > len(found.patterns) == 100
    assert found.complete_rows == (~np.isnan(table)).all(axis=1).sum()


def test_pairs_are_ordered_by_how_much_they_go_missing_together():
    first, *rest = profile(make_frame()).together
    assert first.columns == ("age", "bmi")
    assert first.correlation == pytest.approx(1)
    assert all(pair.correlation < 0.2 for pair in rest)


def test_text_categories_and_booleans_are_counted_but_not_tested():
    frame = make_frame().assign(category=pd.Categorical([1, 2] * 250), yes=[True, False] * 250)
    assert profile(frame).little.columns == ("age", "bmi", "whole")


def test_holes_at_random_are_told_from_holes_completely_at_random():
    frame = make_frame().fillna({"age": 0, "bmi": 0})
    assert "No sign that holes depend" in str(profile(ampute(frame, 0.2, columns=["age", "bmi"])))
    by_others = ampute(frame[["age", "bmi", "whole"]], 0.2, "mar", columns=["age", "bmi"])
    assert "not completely at random: rows with different holes" in str(profile(by_others))


def test_text_says_what_was_found():
    text = str(profile(make_frame()))
    assert text.splitlines()[0].startswith("500 rows × 4 columns: 300 cells (15%) missing, ")
    assert "100    20%  age" in text
    assert "+1.00  age, bmi" in text
    assert "1 column without holes" in text
    assert "on 3 numeric columns, 500 rows and 2 patterns" in text


def test_text_of_a_table_without_holes_is_short():
    text = str(profile(np.eye(3)))
    assert text.startswith("3 rows × 3 columns: no cell is missing\n\nLittle's test")
    assert "not computed: the numeric columns have no holes" in text


def test_tables_with_much_to_say_are_cut_and_it_is_told():
    table = np.random.default_rng(0).normal(size=(400, 60))
    lines = str(profile(ampute(table, 0.3))).splitlines()
    assert len(lines) < 80
    assert max(map(len, lines)) < 200
    assert any("… 30 more columns with fewer holes" in line for line in lines)
    assert any(line.strip().startswith("… 385 more patterns") for line in lines)


def test_representation_is_one_line():
    assert repr(profile(make_frame())).startswith("<Profile: 500 rows × 4 columns: 300 cells")
    assert "\n" not in repr(profile(make_frame()))


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text = set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert not attrs

    def handle_data(self, data):
        self.text.append(data)


def test_names_are_text_in_html_whatever_they_hold():
    name = "<script>alert('1')</script>&amp;"
    reader = _Reader()
    reader.feed(profile(make_frame().rename(columns={"age": name}))._repr_html_())
    assert reader.tags == {"div", "p", "h4", "table", "thead", "tbody", "tr", "th", "td", "br"}
    assert any("<script>alert(" in text for text in reader.text)


def test_html_says_what_the_text_says():
    found = profile(make_frame())
    reader = _Reader()
    reader.feed(found._repr_html_())
    assert "".join("".join(reader.text).split()) == "".join(str(found).split())


def test_picture_is_that_of_plot_missing():
    plt = pytest.importorskip("matplotlib.pyplot")
    pictures = []
    for draw in (profile(make_frame()).plot, lambda: plot_missing(make_frame())):
        figure = draw().figure
        figure.canvas.draw()
        pictures.append(np.asarray(figure.canvas.buffer_rgba()).copy())
        plt.close(figure)
    assert np.array_equal(*pictures)


def test_picture_is_drawn_where_it_is_asked_for():
    plt = pytest.importorskip("matplotlib.pyplot")
    figure, ax = plt.subplots()
    assert profile(make_frame()).plot(ax) is ax
    plt.close(figure)
    with pytest.raises(ValueError, match="max_patterns must be a whole number of at least 1, got 0"):
        profile(make_frame()).plot(max_patterns=0)


def test_lazy_frame_is_collected_once():
    with pytest.warns(UserWarning, match="collected") as caught:
        assert profile(pl.from_pandas(make_frame()).lazy()).n_rows == 500
    assert len(caught) == 1


def test_columns_that_no_tree_takes_are_told_of_too():
    joined = pd.Series(pd.date_range("2020", periods=500)).where(np.arange(500) >= 40)
    found = profile(make_frame().assign(joined=joined))
    assert (found.columns[-1].name, found.columns[-1].missing) == ("joined", 40)
    assert found.complete_rows <= 460
    assert "joined" not in found.little.columns
