"""Model files of forests: the table once, and the trees as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tritree import _core
from tritree.errors import ModelFileError
from tritree.estimators.growing_model import BinnedRows, ForestModel
from tritree.files import describe_estimator, write_model
from tritree.restore import PARTS, Fields, check_tree, first_line, read_importances

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tritree.encoder import TableEncoder
    from tritree.estimators.forest import BaseForest

__all__ = ["restore_forest", "save"]

_WRONG = (ValueError, TypeError, RuntimeError, OverflowError, KeyError)


def save(model: BaseForest, path: Any, *, training_rows: bool | None) -> None:
    """Write a fitted forest to a file; see its method ``save``."""
    forest = model._model
    table = None if training_rows is False else forest.rows
    arrays, trees, n_rows = {}, [], None
    for number, tree in enumerate(forest.cores):
        state = tree.member_state()
        if table is None:
            state.pop("growth", None)
        trees.append({"settings": state["settings"], "n_fitted": state["n_fitted"]})
        for part in PARTS:
            for name, array in state.get(part, {}).items():
                if isinstance(array, np.ndarray):
                    arrays[f"{number}.{part}.{name}"] = array
    if table is not None:
        codes = table.codes.__getstate__()
        n_rows = codes.pop("n_rows")
        arrays |= {f"codes.{name}": array for name, array in codes.items()}
        arrays["table.response"] = table.target
        if table.weight is not None:
            arrays["table.weight"] = table.weight
    if forest.importances_ is not None:
        arrays["importances"] = forest.importances_
    write_model(path, describe_estimator(model, "forest ") | {"trees": trees, "n_rows": n_rows}, arrays)


def restore_forest(
    fields: Fields, arrays: dict[str, NDArray[Any]], encoder: TableEncoder, n_classes: int
) -> ForestModel:
    """Return the trees of a file, every array and every index in them checked."""
    known = None
    if "importances" in arrays:
        known = read_importances(arrays.pop("importances"), len(encoder.columns))
    parts: dict[str, dict[str, NDArray[Any]]] = {}
    for name, array in arrays.items():
        part, _, entry = name.partition(".")
        parts.setdefault(part, {})[entry] = array
    table = _read_table(fields, parts, encoder, n_classes)
    trees = fields.take("trees", list)
    if not trees or set(parts) - {"codes", "table"} != {str(number) for number in range(len(trees))}:
        raise ModelFileError("its arrays do not fit its trees")
    models = [
        _read_tree(Fields(tree, f"tree {number}"), parts[str(number)], table, encoder, n_classes)
        for number, tree in enumerate(trees)
    ]
    return ForestModel(models, table, known)


def _read_table(
    fields: Fields, parts: Mapping[str, dict[str, NDArray[Any]]], encoder: TableEncoder, n_classes: int
) -> BinnedRows | None:
    n_rows = fields.take_or_none("n_rows", int)
    if (n_rows is None) != ("codes" not in parts) or ("codes" in parts) != ("table" in parts):
        raise ModelFileError("training rows that are not all there")
    if n_rows is None:
        return None
    codes = _core.Codes.__new__(_core.Codes)
    try:
        codes.__setstate__(parts["codes"] | {"n_rows": n_rows})
    except _WRONG as error:
        raise ModelFileError(f"its codes do not fit together: {first_line(error)}") from error
    known, n_codes = np.array(encoder.n_categories), np.array(codes.n_codes)
    coded = parts["codes"]["column_is_categorical"] != 0
    if len(n_codes) != len(known) or (coded != (known >= 0)).any() or (n_codes != known)[known >= 0].any():
        raise ModelFileError("its codes do not fit its columns")
    response, weight = parts["table"].get("response"), parts["table"].get("weight")
    wanted = np.int32 if n_classes else np.float64
    if (
        response is None
        or response.dtype != wanted
        or response.shape != (n_rows,)
        or not _are_finite(response)
    ):
        raise ModelFileError("a response that does not fit its rows")
    if weight is not None and (
        weight.dtype != np.float64
        or weight.shape != (n_rows,)
        or not _are_finite(weight)
        or (weight < 0).any()
    ):
        raise ModelFileError("weights that do not fit its rows")
    return BinnedRows(codes, response, weight)


def _are_finite(numbers: NDArray[Any]) -> bool:
    return bool(np.isfinite(numbers).all())


def _read_tree(
    fields: Fields,
    arrays: Mapping[str, NDArray[Any]],
    table: BinnedRows | None,
    encoder: TableEncoder,
    n_classes: int,
) -> _core.Model:
    state: dict[str, Any] = {
        "settings": fields.take("settings", dict),
        "n_columns": len(encoder.columns),
        "n_fitted": fields.take("n_fitted", int),
    }
    if state["settings"].get("n_classes") != n_classes:
        raise ModelFileError("its classes do not fit its trees")
    for name, array in arrays.items():
        part, _, entry = name.partition(".")
        if part not in PARTS:
            raise ModelFileError(f"an unknown array, {name[:40]!r}")
        state.setdefault(part, {})[entry] = array
    if "growth" in state:
        state["growth"]["n_rows"] = 0  # the table has them
    model = _core.Model.__new__(_core.Model)
    try:
        if table is None:
            if "growth" in state:
                raise ModelFileError("a tree that grows from rows that are not there")
            model.__setstate__(state)
        else:
            model.__setstate__(state, table.codes, table.target, table.weight)
    except _WRONG as error:
        raise ModelFileError(f"its arrays do not fit together: {first_line(error)}") from error
    check_tree(
        model.tree(), encoder, {f"growth.{name}": array for name, array in state.get("growth", {}).items()}
    )
    return model
