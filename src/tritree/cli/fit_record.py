"""What ``tritree fit`` and ``tritree graft`` write into a model: roles of columns, and how the table was read."""

from __future__ import annotations

import codecs
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from tritree.cli.messages import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tritree.cli.training import TrainingData
    from tritree.cli.training_batches import BatchTrainingData

#: Entry of the metadata; other entries are the user's.
_KEY = "fit"


@dataclass(frozen=True)
class FitRecord:
    """The columns of the training table that are not features, and the options that it was read with."""

    #: None if the model was not fitted to the table, as a grafted one.
    target: str | None
    weights: str | None = None
    drop: list[str] = field(default_factory=list)
    categorical: list[str] = field(default_factory=list)
    numeric: list[str] = field(default_factory=list)
    task: str = ""
    #: Options of `TableFormat` that were given, by the names of its fields.
    table_format: dict[str, Any] = field(default_factory=dict)

    @property
    def not_features(self) -> list[str]:
        """Return the columns that the model has not learned from."""
        return [name for name in (self.target, *self.drop, self.weights) if name is not None]

    def to_metadata(self) -> dict[str, Any]:
        """Return the metadata to save a model with."""
        return {_KEY: asdict(self)}


def make_record(data: TrainingData | BatchTrainingData, table_format: dict[str, Any]) -> FitRecord:
    """Return the record of a fit to data that were read with these options."""
    roles = data.roles
    return FitRecord(
        roles.target,
        roles.weights,
        roles.drop or [],
        roles.categorical or [],
        roles.numeric or [],
        data.task,
        table_format,
    )


def read_record(model: Any) -> FitRecord | None:
    """Return the record of the fit of a model; None if it was not saved by ``tritree fit``."""
    found = model.metadata_.get(_KEY)
    if not isinstance(found, dict):
        return None
    known = {
        name: value for name, value in found.items() if name in {part.name for part in fields(FitRecord)}
    }
    try:
        record = FitRecord(**known)
    except TypeError:
        record = None
    if record is None or not _is_valid(record):
        raise UserError(
            f"the entry {_KEY!r} of the model's metadata is not as tritree fit writes it; fit the model again, or save "
            "it with other metadata"
        )
    return record


def _is_valid(record: FitRecord) -> bool:
    lists = (record.drop, record.categorical, record.numeric)
    return (
        isinstance(record.target, str | None)
        and isinstance(record.task, str)
        and isinstance(record.weights, str | None)
        and all(map(_is_text_list, lists))
        and isinstance(record.table_format, dict)
        and all(name in _OPTIONS and _OPTIONS[name](value) for name, value in record.table_format.items())
    )


def _is_text_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_character(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 1


def _is_encoding(value: Any) -> bool:
    try:
        return bool(codecs.lookup(value)._is_text_encoding)
    except (LookupError, TypeError, ValueError):
        return False


#: Options of reading in a record, with the checks of their values.
_OPTIONS: dict[str, Callable[[Any], bool]] = {
    "separator": _is_character,
    "decimal": _is_character,
    "encoding": _is_encoding,
    "sheet": lambda value: isinstance(value, str),
    "no_header": lambda value: isinstance(value, bool),
    "na": _is_text_list,
    "no_default_na": lambda value: isinstance(value, bool),
}
