"""The profile of missing values counts right, and shows the same as text, HTML, plain data and figure."""

from __future__ import annotations

import json
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritree import plot_missing
from tritree.lab import ampute, profile_missing

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
def test_counts_agree_with_a_loop_over_the_rows(rows):
    array = np.array(rows)
    found = profile_missing(array)
    patterns = Counter(tuple(f"x{j}" for j, value in enumerate(row) if np.isnan(value)) for row in rows)
    assert (found.n_rows, found.n_columns) == array.shape
    assert [column.missing for column in found.columns] == np.isnan(array).sum(axis=0).tolist()
    assert found.complete_rows == patterns[()]
    assert {pattern.columns: pattern.rows for pattern in found.patterns} == dict(patterns)
    assert found.n_patterns == len(patterns)
    assert sum(pattern.fraction for pattern in found.patterns) == pytest.approx(1)


@given(tables)
def test_any_table_can_be_shown_as_text_html_and_json(rows):
    found = profile_missing(np.array(rows))
    json.dumps(found.to_dict(), allow_nan=False)
    assert str(found)
    assert found._repr_html_()


@pytest.mark.parametrize(
    "convert", [lambda f: f, lambda f: f.convert_dtypes(), pl.from_pandas, lambda f: pa.Table.from_pandas(f)]
)
def test_profile_is_the_same_in_every_library(convert):
    assert profile_missing(convert(make_frame())).to_dict() == profile_missing(make_frame()).to_dict()


def test_complete_rows_are_counted_among_more_patterns_than_are_listed():
    table = np.random.default_rng(0).normal(size=(3000, 12))
    table[np.random.default_rng(1).random(table.shape) < 0.5] = np.nan
    found = profile_missing(table)
    assert found.n_patterns > len(found.patterns) == 100
    assert found.complete_rows == (~np.isnan(table)).all(axis=1).sum()


def test_pairs_are_ordered_by_correlation():
    first, *rest = profile_missing(make_frame()).together
    assert first.columns == ("age", "bmi")
    assert first.correlation == pytest.approx(1)
    assert all(pair.correlation < 0.2 for pair in rest)


def test_text_categories_and_booleans_are_counted_but_not_tested():
    frame = make_frame().assign(category=pd.Categorical([1, 2] * 250), yes=[True, False] * 250)
    assert profile_missing(frame).mcar_test.columns == ("age", "bmi", "whole")


def test_mar_is_distinguished_from_mcar():
    frame = make_frame().fillna({"age": 0, "bmi": 0})
    assert "No evidence that missingness depends" in str(
        profile_missing(ampute(frame, 0.2, columns=["age", "bmi"]))
    )
    by_others = ampute(frame[["age", "bmi", "whole"]], 0.2, "mar", columns=["age", "bmi"])
    assert "not missing completely at random: the means differ" in str(profile_missing(by_others))


def test_text_has_counts_pairs_and_the_test():
    text = str(profile_missing(make_frame()))
    assert text.splitlines()[0].startswith("500 rows × 4 columns: 300 cells (15%) missing, ")
    assert "100       20%  age" in text
    assert "+1.00  age, bmi" in text
    assert "1 complete column" in text
    assert "on 3 numeric columns, 500 rows and 2 patterns" in text


def test_text_of_a_complete_table_is_short():
    text = str(profile_missing(np.eye(3)))
    assert text.startswith("3 rows × 3 columns: no cell is missing\n\nLittle's test")
    assert "not computed: the numeric columns have only one missing pattern" in text


def test_long_tables_are_truncated_with_a_note():
    table = np.random.default_rng(0).normal(size=(400, 60))
    lines = str(profile_missing(ampute(table, 0.3))).splitlines()
    assert len(lines) < 80
    assert max(map(len, lines)) < 200
    assert any("… 30 more columns with fewer missing values" in line for line in lines)
    assert any(line.strip().startswith("… 385 more patterns") for line in lines)


def test_representation_is_one_line():
    assert repr(profile_missing(make_frame())).startswith("<MissingProfile: 500 rows × 4 columns: 300 cells")
    assert "\n" not in repr(profile_missing(make_frame()))


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text = set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert not attrs

    def handle_data(self, data):
        self.text.append(data)


def test_names_are_escaped_in_html():
    name = "<script>alert('1')</script>&amp;"
    reader = _Reader()
    reader.feed(profile_missing(make_frame().rename(columns={"age": name}))._repr_html_())
    assert reader.tags == {"div", "p", "h4", "table", "thead", "tbody", "tr", "th", "td", "br"}
    assert any("<script>alert(" in text for text in reader.text)


def test_html_has_the_same_content_as_the_text():
    found = profile_missing(make_frame())
    reader = _Reader()
    reader.feed(found._repr_html_())
    assert "".join("".join(reader.text).split()) == "".join(str(found).split())


def test_figure_is_that_of_plot_missing():
    plt = pytest.importorskip("matplotlib.pyplot")
    pictures = []
    for draw in (profile_missing(make_frame()).plot, lambda: plot_missing(make_frame())):
        figure = draw().figure
        figure.canvas.draw()
        pictures.append(np.asarray(figure.canvas.buffer_rgba()).copy())
        plt.close(figure)
    assert np.array_equal(*pictures)


def test_figure_is_drawn_on_the_given_axes():
    plt = pytest.importorskip("matplotlib.pyplot")
    figure, ax = plt.subplots()
    assert profile_missing(make_frame()).plot(ax) is ax
    plt.close(figure)
    with pytest.raises(ValueError, match="max_patterns must be an integer of at least 1, got 0"):
        profile_missing(make_frame()).plot(max_patterns=0)


def test_lazy_frame_is_collected_once():
    with pytest.warns(UserWarning, match="collected") as caught:
        assert profile_missing(pl.from_pandas(make_frame()).lazy()).n_rows == 500
    assert len(caught) == 1


def test_columns_that_estimators_refuse_are_counted():
    joined = pd.Series(pd.date_range("2020", periods=500)).where(np.arange(500) >= 40)
    found = profile_missing(make_frame().assign(joined=joined))
    assert (found.columns[-1].name, found.columns[-1].missing) == ("joined", 40)
    assert found.complete_rows <= 460
    assert "joined" not in found.mcar_test.columns
