"""Dates, durations and times of day as numbers: read from arrays, objects and text, and written as text.

Inside, all of them are microseconds: since 1970 (in UTC), of a duration, or since midnight. float64 holds every
microsecond of the years 1685 to 2255.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = [
    "DATE_PARTS",
    "RESOLUTIONS",
    "TEXT_FORMATS",
    "TimeFormat",
    "find_text_format",
    "from_array",
    "from_object",
    "from_text",
    "has_zone",
    "part_of",
    "resolution_of",
]

_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1)
#: Units in which values may be given, in microseconds, largest first.
RESOLUTIONS = (86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000, 1_000, 1)
_DAY, _HOUR, _MINUTE, _SECOND, _MILLISECOND, _ = RESOLUTIONS

#: Share of the observed cells of a text column that must be dates for it to be a column of dates.
_MIN_SHARE = 0.99

_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(:(?P<second>\d{2})([.,](?P<fraction>\d{1,9}))?)?"
_TIME_OF_DAY = rf"({_TIME}( ?(?P<half>[AaPp])\.?[Mm]\.?)?)"
_ZONE = r"(?P<zone> ?Z| ?UTC| ?[+-]\d{2}:?\d{2})?"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAME = r"(?P<name>[A-Za-z]{3,9})\.?"
_YEAR, _MONTH, _DAY_OF_MONTH = r"(?P<year>\d{4})", r"(?P<month>\d{1,2})", r"(?P<day>\d{1,2})"


def _pattern(day: str) -> re.Pattern[str]:
    return re.compile(rf"{day}([T ,]+{_TIME_OF_DAY}{_ZONE})?")


#: Formats of dates in text, by their name, which model files hold. The first that fits a column is used.
TEXT_FORMATS: dict[str, tuple[re.Pattern[str], ...]] = {
    "year-month-day": (_pattern(rf"{_YEAR}(?P<separator>[-/.]){_MONTH}(?P=separator){_DAY_OF_MONTH}"),),
    "day/month/year": (_pattern(rf"{_DAY_OF_MONTH}(?P<separator>[-/.]){_MONTH}(?P=separator){_YEAR}"),),
    "month/day/year": (_pattern(rf"{_MONTH}(?P<separator>[-/.]){_DAY_OF_MONTH}(?P=separator){_YEAR}"),),
    "day month-name year": (
        _pattern(rf"{_DAY_OF_MONTH}[- ]{_MONTH_NAME}[- ,]+{_YEAR}"),
        _pattern(rf"{_MONTH_NAME} {_DAY_OF_MONTH},? {_YEAR}"),
    ),
    "time of day": (
        re.compile(_TIME_OF_DAY),
        re.compile(r"(?P<hour>\d{2})\.(?P<minute>\d{2})\.(?P<second>\d{2})"),
    ),
}


@dataclass(frozen=True)
class TimeFormat:
    """How the values of a column of dates, durations or times are read from text and written as text."""

    #: "dates", "durations" or "times of day".
    kind: str
    #: The largest unit, in microseconds, of which all training values are multiples.
    resolution: int
    #: Time zone of dates; None if they have none.
    time_zone: str | None = None
    #: Name of the format of text, a key of `TEXT_FORMATS`; None if training had no text.
    text: str | None = None

    def parse(self, label: str) -> float:
        """Return a text as a number; NaN if it is no such date or time."""
        default = "time of day" if self.kind == "times of day" else "year-month-day"
        return from_text(label, self.text or default)

    @property
    def how_to_write(self) -> str:
        """How a text must be written to be read, in the words of a message."""
        if self.text is None:
            return "in ISO 8601"
        has_separator = "separator" in TEXT_FORMATS[self.text][0].groupindex
        return f"as {self.text}{' (with -, / or . between)' * has_separator}, as in training"

    def write(self, value: float) -> str:
        """Return a number as text: an ISO date or time, or a duration such as "2 d 03:00"."""
        if self.kind == "dates":
            return self._write_date(value)
        days, rest = divmod(abs(round(value)), _DAY)
        clock = self._write_clock(rest)
        if self.kind == "times of day" and not days:
            return clock
        text = f"{days} d {clock}" if days and rest else f"{days} d" if days or not rest else clock
        return f"-{text}" if value < 0 else text

    def write_threshold(self, value: float) -> str:
        """Return the first value, in the unit of the training values, that is not below a threshold."""
        return self.write(math.ceil(value / self.resolution) * float(self.resolution))

    def _write_date(self, value: float) -> str:
        try:
            moment = _EPOCH + round(value) * _MICROSECOND
        except OverflowError:  # years beyond 9999
            return str(np.datetime64(round(value), "us"))
        if self.time_zone is not None:
            moment = moment.replace(tzinfo=UTC).astimezone(_zone(self.time_zone))
        day = moment.date().isoformat()
        clock = (moment - moment.replace(hour=0, minute=0, second=0, microsecond=0)) // _MICROSECOND
        if self.resolution == _DAY and not clock:
            return day
        return f"{day} {self._write_clock(clock)}"

    def _write_clock(self, microseconds: int) -> str:
        clock = (datetime.min + microseconds * _MICROSECOND).time()
        if self.resolution >= _MINUTE and not microseconds % _MINUTE:
            return clock.isoformat("minutes")
        if self.resolution >= _SECOND and not microseconds % _SECOND:
            return clock.isoformat("seconds")
        return clock.isoformat("milliseconds" if not microseconds % _MILLISECOND else "microseconds")


def resolution_of(values: NDArray[np.float64]) -> int:
    """Return the largest unit, in microseconds, of which all observed values are multiples."""
    observed = values[~np.isnan(values)]
    return next((unit for unit in RESOLUTIONS if not (observed % unit).any()), 1)


def _zone(name: str) -> ZoneInfo | timezone:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # without a database of time zones, or "+01:00"
        return UTC


# ---- reading


def from_array(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return dates or durations of NumPy as numbers; NaN where they are missing."""
    unit = "datetime64[us]" if values.dtype.kind == "M" else "timedelta64[us]"
    numbers = values.astype(unit).astype(np.int64).astype(np.float64)
    numbers[np.isnat(values)] = np.nan
    return numbers


def from_object(value: Any) -> tuple[float, bool]:
    """Return a date, duration or time of day as a number, and whether it has a time zone."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return float(from_array(np.array([value]))[0]), False
    if isinstance(value, timedelta):
        return value / _MICROSECOND, False
    if isinstance(value, time):
        since_midnight = timedelta(
            hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond
        )
        return since_midnight / _MICROSECOND, False
    if isinstance(value, datetime):
        moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return (moment.replace(fold=0) - _EPOCH) / _MICROSECOND, value.tzinfo is not None
    return (datetime.combine(value, time()) - _EPOCH) / _MICROSECOND, False


def from_text(label: str, name: str) -> float:
    """Return the date or time that a text holds in the format of this name; NaN if it holds none."""
    label = label.strip()
    for pattern in TEXT_FORMATS[name]:
        if match := pattern.fullmatch(label):
            return _number(match.groupdict())
    return math.nan


def _number(parts: dict[str, str | None]) -> float:
    try:
        hour = int(parts.get("hour") or 0)
        if half := parts.get("half"):
            if not 1 <= hour <= 12:
                return math.nan
            hour = hour % 12 + (12 if half in "Pp" else 0)
        clock = time(hour, int(parts.get("minute") or 0), int(parts.get("second") or 0))
        fraction = int((parts.get("fraction") or "0").ljust(6, "0")[:6])
        if "year" not in parts:
            return from_object(clock)[0] + fraction
        month = parts.get("month") or str(_MONTHS.index((parts.get("name") or "")[:3].lower()) + 1)
        moment = datetime.combine(date(int(parts["year"] or 0), int(month), int(parts["day"] or 0)), clock)
    except ValueError:  # the 31st of February, month names of other languages
        return math.nan
    return from_object(moment)[0] + fraction - _offset(parts.get("zone"))


def _offset(zone: str | None) -> int:
    """Return the offset of a time zone such as "+01:00" in microseconds."""
    zone = (zone or "").strip()
    if zone in ("", "Z", "UTC"):
        return 0
    sign = -1 if zone[0] == "-" else 1
    return sign * (int(zone[1:3]) * _HOUR + int(zone[-2:]) * _MINUTE)


def has_zone(label: str) -> bool:
    """Return whether the text of a date ends with a time zone."""
    return bool(
        re.search(r":\d{2}([.,]\d+)?( ?[AaPp]\.?[Mm]\.?)?( ?Z| ?UTC| ?[+-]\d{2}:?\d{2})$", label.strip())
    )


def find_text_format(labels: Sequence[str], counts: NDArray[np.int64]) -> str | None:
    """Return the name of the format in which at least 99 % of the cells of a text column are dates; None if none is.

    ``counts`` has the number of cells with each label. Where the days and months of dates could be exchanged, the
    separator decides: 10/03/2004 is in October, 10.03.2004 and 10-03-2004 are in March.
    """
    fits = [name for name in TEXT_FORMATS if _share(labels, counts, name) >= _MIN_SHARE]
    if fits[:2] == ["day/month/year", "month/day/year"]:
        slashes = sum("/" in label for label in labels)
        return fits[1] if 2 * slashes > len(labels) else fits[0]
    return fits[0] if fits else None


def _share(labels: Sequence[str], counts: NDArray[np.int64], name: str) -> float:
    """Return the share of cells in a format; 0 as soon as the first labels show that it is not used."""
    probe = labels[:20]
    if len(labels) > len(probe) and all(math.isnan(from_text(label, name)) for label in probe):
        return 0.0
    parsed = np.array([not math.isnan(from_text(label, name)) for label in labels])
    return float(counts[parsed].sum() / counts.sum()) if len(parsed) else 0.0


# ---- parts

#: Parts of a date that are features of their own, from the date's day and the microseconds since its midnight.
_PARTS: dict[str, Callable[[NDArray[Any], NDArray[np.float64]], NDArray[Any]]] = {
    "year": lambda day, _: day.astype("datetime64[Y]").astype(np.int64) + 1970,
    "month": lambda day, _: day.astype("datetime64[M]").astype(np.int64) % 12 + 1,
    "day": lambda day, _: (day - day.astype("datetime64[M]")).astype(np.int64) + 1,
    "weekday": lambda day, _: (day.astype(np.int64) + 3) % 7,  # 1970 began on a Thursday; 0 is Monday
    "dayofyear": lambda day, _: (day - day.astype("datetime64[Y]")).astype(np.int64) + 1,
    "hour": lambda _, clock: clock // _HOUR,
    "minute": lambda _, clock: clock % _HOUR // _MINUTE,
}
DATE_PARTS = tuple(_PARTS)


def part_of(part: str, values: NDArray[np.float64], time_zone: str | None) -> NDArray[np.float64]:
    """Return a part of dates, such as "month" or "weekday" (0 is Monday), in their time zone; NaN where missing."""
    observed = ~np.isnan(values)
    moments = values[observed]
    if time_zone is not None and not isinstance(zone := _zone(time_zone), timezone):
        instants, positions = np.unique(moments // _MINUTE, return_inverse=True)
        offsets = [_utc_offset(zone, minute) for minute in instants.tolist()]
        moments = moments + np.array(offsets)[positions]
    days = moments // _DAY
    found = np.full(len(values), np.nan)
    found[observed] = _PARTS[part](days.astype("datetime64[D]"), moments - days * _DAY)
    return found


def _utc_offset(zone: ZoneInfo, minute: float) -> float:
    """Return the offset of a time zone, in microseconds, at a minute since 1970."""
    moment = (_EPOCH + timedelta(minutes=minute)).replace(tzinfo=UTC)
    return (moment.astimezone(zone).utcoffset() or timedelta()) / _MICROSECOND
