"""Model files of boosting: its trees as arrays, and what is to be known about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tritree import _core
from tritree.errors import ModelFileError
from tritree.estimators.growing_model import BoostingModel
from tritree.files import describe_estimator, write_model
from tritree.restore import first_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree.encoder import TableEncoder
    from tritree.estimators.boosting import BaseBoosting
    from tritree.restore import Fields

__all__ = ["restore_ensemble", "save"]

_PARTS = ("trees", "rows")


def save(model: BaseBoosting, path: Any, *, training_rows: bool | None) -> None:
    """Write a fitted estimator to a file; see its method ``save``."""
    state = model._model.core.state(with_background=training_rows is not False)
    arrays = {f"{part}.{name}": array for part in _PARTS for name, array in state[part].items()}
    more = {"plan": state["plan"], "baseline": state["baseline"]}
    write_model(path, describe_estimator(model, "boosting ") | more, arrays)


def restore_ensemble(
    fields: Fields, arrays: dict[str, NDArray[Any]], encoder: TableEncoder, n_classes: int
) -> BoostingModel:
    """Return the trees of a file, every array and every index in them checked."""
    state: dict[str, Any] = {
        "plan": fields.take("plan", dict),
        "baseline": [_number(value) for value in fields.take("baseline", list)],
        "trees": {},
        "rows": {},
    }
    for name, array in arrays.items():
        part, _, entry = name.partition(".")
        if part not in _PARTS:
            raise ModelFileError(f"an unknown array, {name[:40]!r}")
        state[part][entry] = array
    try:
        ensemble = _core.Ensemble.from_state(state)
    except (ValueError, TypeError, RuntimeError, OverflowError) as error:
        raise ModelFileError(f"its arrays do not fit together: {first_line(error)}") from error
    if ensemble.n_outputs != (n_classes if n_classes > 2 else 1):
        raise ModelFileError("its classes do not fit its trees")
    n_codes, categorical = state["rows"]["n_codes"], state["rows"]["categorical"]
    if len(n_codes) != len(encoder.columns):
        raise ModelFileError("its columns do not fit its trees")
    known = np.array(encoder.n_categories)
    if ((known >= 0) != (categorical > 0)).any() or (n_codes[known >= 0] != known[known >= 0]).any():
        raise ModelFileError("its categories do not fit its trees")
    return BoostingModel(ensemble, state["plan"]["missing"], int(state["plan"]["seed"]))


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise ModelFileError("'baseline' holds something that is no number")
    return float(value)
