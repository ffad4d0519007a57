"""Numbers and names are written so that they cannot be misread."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritree.inspection.formatting import (
    ThresholdFormat,
    as_label,
    as_name,
    as_percent,
    number_format,
    pad,
    shorten,
    width_of,
)


def written(*values, digits=4):
    """The thresholds of one column as text."""
    thresholds = ThresholdFormat({0: values}, digits)
    return [thresholds.text(0, value) for value in values]


def read(text):
    return float(text.replace(",", ""))


def midpoint(lower, upper):
    """The threshold that the core puts between two values."""
    middle = lower + (upper - lower) / 2
    return middle if middle > lower else upper


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2000.5, "2000.5"),
        (20200101.5, "20,200,101.5"),
        (1_600_000_000_000.5, "1,600,000,000,000.5"),
        (1_650_000_000_123_456_768.0, "1.650000000123456768e18"),
        (midpoint(10.01, 10.02), "10.015"),
        (midpoint(1234567.01, 1234567.02), "1,234,567.015"),
        (midpoint(100.001, 100.002), "100.0015"),
        (midpoint(float(np.float32(10.02)), float(np.float32(10.03))), "10.025"),
        (0.006189012345678, "0.006189"),
        (-1.2939876543210, "-1.294"),
        (14.2142857142857, "14.21"),
        (100.001498765432, "100.001"),
        (1234.01498765432, "1234.01"),
        (0.0, "0"),
        (-0.0, "0"),
        (1e300, "1e300"),
        (1.23456789e-300, "1.23456789e-300"),
        (math.pi * 1e-20, "3.142e-20"),
        (math.pi * 1e200, "3.142e200"),
    ],
)
def test_threshold_is_written_so(value, text):
    assert written(value) == [text]


decimals = st.integers(0, 5)
units = st.integers(-(10**9), 10**9)


@given(units, st.integers(1, 1000), decimals, st.integers(1, 17))
def test_threshold_between_two_decimals_is_written_between_them(unit, step, places, digits):
    lower, upper = unit / 10**places, (unit + step) / 10**places
    (text,) = written(midpoint(lower, upper), digits=max(digits, 2 * places))
    assert lower < read(text) <= upper


@given(units, st.integers(1, 1000), st.integers(1, 17))
def test_threshold_between_two_whole_numbers_is_written_exactly(lower, step, digits):
    value = midpoint(float(lower), float(lower + step))
    assert read(written(value, digits=digits)[0]) == value


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(numbers | st.floats(100, 100.0001), min_size=2, unique=True), st.integers(1, 20))
def test_different_thresholds_of_a_column_look_different_and_keep_their_order(values, digits):
    values = sorted(values)
    texts = written(*values, digits=digits)
    assert len(set(texts)) == len(set(values))
    assert sorted(map(read, texts)) == list(map(read, texts))


@given(numbers, st.integers(16, 20))
def test_many_digits_show_a_threshold_in_full(value, digits):
    assert read(written(value, digits=digits)[0]) == value


def test_thresholds_of_standard_normal_data_stay_short():
    values = np.random.default_rng(0).normal(size=500)
    assert all(len(written(value)[0].lstrip("-").replace("0.", "")) <= 8 for value in values)
    assert sum(len(written(value)[0]) for value in values) / len(values) < 7


def test_rounding_is_owned_up_to():
    thresholds = ThresholdFormat({0: [2000.5, 1 / 3]}, 4)
    thresholds.text(0, 2000.5)
    assert not thresholds.rounded
    thresholds.text(0, 1 / 3)
    assert thresholds.rounded


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([193.21, 7.5], ["193.2", "7.5"]),
        ([180_796.3, 0.0], ["180,796", "0"]),
        ([1999.61, 2000.42], ["1,999.610", "2,000.420"]),
        ([0.0, 0.0], ["0.0", "0.0"]),
        ([-0.00001, 3.0], ["0.000", "3.000"]),
        ([1e300, -1.0, 0.0], ["1.000e300", "-1.000e0", "0"]),
        ([2.5e-300], ["2.500e-300"]),
    ],
)
def test_numbers_of_a_column_are_written_alike(values, texts):
    text = number_format(values, 4)
    assert [text(value) for value in values] == texts


def test_fractions_that_are_not_quite_nothing_or_all_say_so():
    assert [as_percent(fraction) for fraction in (0, 0.001, 0.5, 0.999, 1)] == [
        "0%",
        "<1%",
        "50%",
        ">99%",
        "100%",
    ]


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("plain words", "plain words"),
        ("d'Ivoire", "d'Ivoire"),
        (r"C:\new", r"C:\new"),
        ("東京　都", "東京　都"),
        (3, "3"),
        (True, "True"),
        (None, "None"),
        ("", '""'),
        (" padded", '" padded"'),
        ("a, b", '"a, b"'),
        ("{a}", '"{a}"'),
        ('say "a"', r'"say \"a\""'),
        ("'a'", "\"'a'\""),
        ("NaN", '"NaN"'),
        ("missing", '"missing"'),
        ("None", '"None"'),
        ("a\nb\\c", r'"a\nb\\c"'),
        ("a\u2028b\u202eb", r'"a\u2028b\u202eb"'),
        ("\ud800", r'"\ud800"'),
        ("a" * 30, "a" * 19 + "…"),
        ("a," * 30, '"' + "a," * 8 + 'a…"'),
    ],
)
def test_label_is_quoted_only_where_it_could_be_misread(label, text):
    assert as_label(label, 20) == text
    assert width_of(text) <= 20


def test_name_is_quoted_only_where_part_of_it_could_not_be_seen():
    names = ["income, yearly", "", "age ", "two\nlines", "nan"]
    assert [as_name(name, 30) for name in names] == ["income, yearly", '""', '"age "', r'"two\nlines"', "nan"]


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("東京", 4), ("e\u0301a", 2), ("ｱ", 1), ("a\u200db", 2), ("각", 2)]
)
def test_width_is_that_of_a_terminal(text, width):
    assert width_of(text) == width
    assert pad(text, 6) == text + " " * (6 - width)
    assert pad(text, 6, right=True) == " " * (6 - width) + text


@given(st.text(), st.integers(1, 30))
def test_shortened_text_fits(text, width):
    assert width_of(shorten(text, width)) <= width
