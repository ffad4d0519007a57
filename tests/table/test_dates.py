"""Dates, durations and times of day are numeric columns that are shown as what they are."""

from __future__ import annotations

import datetime as dt
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tritree
from tritree import DateTextWarning, TrinaryBoostingRegressor, TrinaryForestRegressor, TrinaryTreeRegressor
from tritree.dates import DATE_PARTS, TimeFormat, from_text, part_of, resolution_of
from tritree.errors import ColumnError, ModelFileError, ParameterError

DAYS = pd.date_range("2014-01-01", periods=200, freq="D")
Y = (DAYS >= "2014-03-05").astype(float)
DAY, MINUTE = 86_400_000_000, 60_000_000


def fitted(column: Any, **parameters: Any) -> Any:
    table = column if isinstance(column, (pl.DataFrame, pa.Table)) else pd.DataFrame({"sold": column})
    return TrinaryTreeRegressor(max_depth=1, **parameters).fit(table, Y)


DATES = {
    "pandas": lambda: DAYS,
    "pandas, nanoseconds": lambda: DAYS.as_unit("ns"),
    "pandas, pyarrow": lambda: DAYS.to_series().astype("timestamp[us][pyarrow]").array,
    "objects: date": lambda: [day.date() for day in DAYS],
    "objects: datetime": lambda: np.array(DAYS.to_pydatetime(), dtype=object),
    "polars": lambda: pl.DataFrame({"sold": DAYS.to_numpy()}),
    "polars, date": lambda: pl.DataFrame({"sold": DAYS.date.tolist()}),
    "pyarrow, date": lambda: pa.table({"sold": pa.array(DAYS.date)}),
}
TEXT = {
    "year-month-day": ["%Y-%m-%d", "%Y/%m/%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"],
    "day/month/year": ["%d.%m.%Y", "%d-%m-%Y %H:%M", "%d/%m/%Y"],
    "month/day/year": ["%m/%d/%Y", "%m/%d/%Y %I:%M %p"],
    "day month-name year": ["%d %b %Y", "%d-%b-%Y", "%B %d, %Y"],
}


@pytest.mark.parametrize("library", DATES)
def test_dates_of_any_library_split_at_a_date(library: str) -> None:
    column = DATES[library]()
    tree = fitted(column)
    assert "sold < 2014-03-05 " in tree.to_text()
    table = column if isinstance(column, (pl.DataFrame, pa.Table)) else pd.DataFrame({"sold": column})
    assert tree.predict(table).tolist() == Y.tolist()


def test_array_of_dates_is_a_table() -> None:
    tree = TrinaryTreeRegressor(max_depth=1).fit(DAYS.to_numpy()[:, None], Y)
    assert "x0 < 2014-03-05 " in tree.to_text()


@pytest.mark.parametrize(("name", "form"), [(name, form) for name, forms in TEXT.items() for form in forms])
def test_text_of_dates_is_read_as_dates_with_a_notice(name: str, form: str) -> None:
    with pytest.warns(DateTextWarning, match="the text in column 'sold' is read as dates") as caught:
        tree = fitted(DAYS.strftime(form))
    assert caught[0].message.text_format == name
    assert "sold < 2014-03-05 " in tree.to_text()
    assert tree.predict(pd.DataFrame({"sold": DAYS.strftime(form)})).tolist() == Y.tolist()


def test_a_percent_of_other_text_is_missing() -> None:
    text = DAYS.strftime("%Y-%m-%d").to_numpy(dtype=object)
    text[[3, 150]] = "unknown", "31.12."
    with pytest.warns(DateTextWarning):
        tree = fitted(text)
    assert "sold < 2014-03-05 " in tree.to_text()


@pytest.mark.parametrize("text", ["20140305", "12-34", "v1.2.2014", "2014-13-01", "10:61", "1/2/34/5"])
def test_other_text_is_categorical(text: str) -> None:
    values = np.where(Y > 0, text, "no")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "sold is" in fitted(values).to_text()


def test_text_of_dates_is_categorical_if_asked_for() -> None:
    weeks = (DAYS - pd.to_timedelta(DAYS.dayofweek, unit="D")).strftime("%Y-%m-%d")
    for parameters in ({"parse_dates": False}, {"categorical_features": ["sold"]}):
        assert "2013-12-30" in fitted(weeks, **parameters).to_text()


def test_durations_and_times_of_day_split_at_what_they_are() -> None:
    assert "sold < 63 d " in fitted(DAYS - DAYS[0]).to_text()
    times = [dt.time(hour=8 + int(late), minute=number % 60) for number, late in enumerate(Y)]
    assert "sold < 09:00 " in fitted(times).to_text()
    assert "sold < 09:00 " in fitted(pl.DataFrame({"sold": times})).to_text()
    with pytest.warns(DateTextWarning, match="read as times of day"):
        assert "sold < 09:00 " in fitted([f"{time:%H:%M:%S}" for time in times]).to_text()


def test_dates_keep_their_time_zone() -> None:
    berlin = pd.date_range("2014-07-01", periods=200, freq="h", tz="Europe/Berlin")
    target = (berlin >= pd.Timestamp("2014-07-05 00:00", tz="Europe/Berlin")).astype(float)
    for table in (pd.DataFrame({"at": berlin}), pl.DataFrame({"at": berlin.to_list()})):
        tree = TrinaryTreeRegressor(max_depth=1).fit(table, target)
        assert "at < 2014-07-05 00:00 " in tree.to_text() or "at < 2014-07-04 22:00 " in tree.to_text()
        assert tree.predict(table).tolist() == target.tolist()
        with pytest.raises(ColumnError, match="no time zone now and had one in training"):
            tree.predict(pd.DataFrame({"at": berlin.tz_localize(None)}))


def test_missing_dates_are_missing_values() -> None:
    dates = DAYS.to_series().reset_index(drop=True)
    dates[5:10] = pd.NaT
    tree = fitted(dates)
    rows = pd.DataFrame({"sold": [pd.NaT, pd.Timestamp("2014-05-01")]})
    assert tree.predict(rows).tolist() == [Y.mean(), 1.0]
    assert "sold is missing" in str(tree.explain(rows)[0])


def test_explanations_show_dates() -> None:
    assert "sold = 2014-01-01 < 2014-03-05" in str(fitted(DAYS).explain(pd.DataFrame({"sold": DAYS[:1]}))[0])


def test_dictionary_has_the_threshold_as_number_and_as_text() -> None:
    tree = json.loads(json.dumps(fitted(DAYS).to_dict()))
    split = tree["nodes"][0]["split"]
    assert split["threshold_text"] == "2014-03-05"
    assert split["threshold"] == pd.Timestamp("2014-03-04 12:00").timestamp() * 1e6
    assert tree["columns"][0]["time"] == {"kind": "dates", "resolution": DAY, "time_zone": None, "text": None}


@pytest.mark.parametrize(
    "model",
    [TrinaryTreeRegressor(), TrinaryForestRegressor(n_estimators=5), TrinaryBoostingRegressor(max_iter=5)],
)
def test_saved_models_read_dates_as_before(model: Any, tmp_path: Path) -> None:
    table = pd.DataFrame({"sold": DAYS.strftime("%d.%m.%Y"), "x": np.arange(200.0)})
    with pytest.warns(DateTextWarning):
        model.set_params(date_parts=["month", "weekday"]).fit(table, Y)
    model.save(tmp_path / "model")
    again = tritree.load(tmp_path / "model")
    assert np.array_equal(again.predict(table), model.predict(table))
    assert again.to_text() == model.to_text()


def test_parts_of_dates_are_columns_of_their_own() -> None:
    monday = (DAYS.dayofweek == 0).astype(float)
    table = pd.DataFrame({"sold": DAYS, "x": np.arange(200.0)})
    for parts in (["weekday"], {"sold": ["weekday"]}):
        tree = TrinaryTreeRegressor(max_depth=1, date_parts=parts).fit(table, monday)
        assert "sold.weekday < 0.5 " in tree.to_text()
        assert tree.predict(table).tolist() == monday.tolist()
        assert tree.n_features_in_ == 2
        assert tree.feature_names_in_.tolist() == ["sold", "x"]
        assert len(tree.feature_importances_) == 3


@pytest.mark.parametrize("part", DATE_PARTS)
def test_parts_are_those_of_pandas(part: str) -> None:
    moments = pd.date_range("1931-12-30 03:59:07", periods=500, freq="1237h13min")
    values = np.asarray(moments.as_unit("us")).astype(np.int64).astype(float)
    assert np.array_equal(part_of(part, values, None), getattr(moments, part))
    local = moments.tz_localize("UTC").tz_convert("America/New_York")
    assert np.array_equal(part_of(part, values, "America/New_York"), getattr(local, part))


def test_wrong_parts_are_refused() -> None:
    table = pd.DataFrame({"sold": DAYS, "x": np.arange(200.0)})
    with pytest.raises(ParameterError, match="date_parts must be a list of some of 'year'"):
        TrinaryTreeRegressor(date_parts=["moth"]).fit(table, Y)
    with pytest.raises(ColumnError, match="column 'x' holds numbers, no dates; leave it out of date_parts"):
        TrinaryTreeRegressor(date_parts={"x": ["month"]}).fit(table, Y)


@pytest.mark.filterwarnings("ignore:the text in column 'sold' is read as dates")
def test_columns_of_another_type_than_in_training_are_refused() -> None:
    tree = fitted(DAYS)
    with pytest.raises(ColumnError, match="holds numbers now and held dates in training"):
        tree.predict(pd.DataFrame({"sold": [1.0]}))
    with pytest.raises(ColumnError, match="holds text that is no date, such as 'soon'"):
        tree.predict(pd.DataFrame({"sold": ["soon"]}))
    with pytest.raises(
        ColumnError, match=r"write it as day/month/year \(with -, / or \. between\), as in training"
    ):
        fitted(DAYS.strftime("%d.%m.%Y")).predict(pd.DataFrame({"sold": ["soon"]}))
    numbers = TrinaryTreeRegressor().fit(pd.DataFrame({"sold": np.arange(200.0)}), Y)
    with pytest.raises(ColumnError, match="holds dates now and held numbers in training"):
        numbers.predict(pd.DataFrame({"sold": DAYS}))


def test_dates_and_text_are_exchangeable_in_prediction() -> None:
    text = pd.DataFrame({"sold": DAYS.strftime("%Y-%m-%d")})
    assert fitted(DAYS).predict(text).tolist() == Y.tolist()


@pytest.mark.parametrize(
    ("resolution", "value", "text"),
    [
        (DAY, 0.0, "1970-01-01"),
        (DAY, -DAY / 2, "1969-12-31 12:00"),
        (MINUTE, 90 * MINUTE, "1970-01-01 01:30"),
        (1, 1.0, "1970-01-01 00:00:00.000001"),
    ],
)
def test_dates_are_written_in_the_unit_of_training(resolution: int, value: float, text: str) -> None:
    assert TimeFormat("dates", resolution).write(value) == text


def test_resolution_is_the_largest_common_unit() -> None:
    assert resolution_of(np.array([DAY, 3 * DAY, np.nan])) == DAY
    assert resolution_of(np.array([DAY, DAY + 5 * MINUTE])) == MINUTE
    assert resolution_of(np.array([0.0, 1.0])) == 1


@pytest.mark.parametrize("text", ["2014-03-05 01:00+01:00", "2014-03-05T00:00Z", "2014-03-04 19:00 -0500"])
def test_offsets_of_text_are_subtracted(text: str) -> None:
    assert from_text(text, "year-month-day") == pd.Timestamp("2014-03-05").timestamp() * 1e6


def test_edited_formats_are_refused(tmp_path: Path) -> None:
    from tritree.serialization.description import JsonObject, describe, restore_estimator

    for entry, value in (("kind", "numbers"), ("resolution", 0), ("text", "backwards"), ("time_zone", 5)):
        description = json.loads(json.dumps(describe(fitted(DAYS))))
        description["columns"][0]["time"][entry] = value
        with pytest.raises(ModelFileError):
            restore_estimator(JsonObject(description, "the description"))
