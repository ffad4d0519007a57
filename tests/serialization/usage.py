"""Use of a loaded model, as a user may."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd

mpl.use("agg")
from matplotlib import pyplot as plt
from models import predictions

import tritree
from tritree import GrowthLimitError
from tritree.columns import ColumnType

__all__ = ["rows_of", "use"]


def rows_of(model: Any) -> Any:
    """Return rows with missing values in the columns of a model."""
    rng = np.random.default_rng(0)
    columns = []
    for column in model._encoder.columns:
        known = list(column.order or column.categories or ())
        if column.type is ColumnType.EMPTY:
            known = []
        elif column.order is not None:
            known = [label for label in known if isinstance(label, str) == (column.type is ColumnType.TEXT)]
        elif column.type is ColumnType.TEXT:
            known += ["never seen"] if model.unknown_category == "no_information" else []
        elif column.categories is None:
            known = [-2.0, -0.5, 0.0, 0.5, 2.0]
        if column.type is not ColumnType.TEXT:
            known = list(map(float, known))
        columns.append([known[i] if known else None for i in rng.integers(max(1, len(known)), size=12)])
    table = pd.DataFrame(dict(enumerate(columns)), dtype=object)
    table = table.mask(rng.random(table.shape) < 0.4, None)
    if model._encoder.column_names is None:
        return table.to_numpy()
    table.columns = pd.Index(model._encoder.column_names, dtype=object)
    return table


def use(model: Any, path: Path, *, plot: bool = True) -> None:
    """Use a loaded model as a user may, within bounds, and save it to a path; plots take most of the time."""
    rows = rows_of(model)
    check_predictions(model, rows)
    model.apply(rows)
    view(model, rows)
    if plot:
        has_own_plot = model._model.is_single or hasattr(model, "feature_importances_")
        plt.close(model.plot(**({} if has_own_plot else {"tree": 0})).figure)
    if not model._model.core.is_detached:
        try:
            model.grow_all(model.n_nodes_ + 20)
        except GrowthLimitError:
            pass
        assert np.isfinite(model.feature_importances_).all()
    grown = check_predictions(model, rows)
    model.save(path)
    assert predictions(tritree.load(path), rows).tobytes() == grown.tobytes(), (
        "other predictions when saved again"
    )


def is_unicode(model: Any) -> bool:
    """Return whether the names and categories of a model can be encoded; halves of surrogate pairs cannot."""
    labels = [label for column in model._encoder.columns for label in column.categories or column.order or ()]
    try:
        "".join(map(str, [*(model._encoder.column_names or ()), *labels])).encode()
    except UnicodeEncodeError:
        return False
    return True


def check_predictions(model: Any, rows: Any) -> Any:
    found = predictions(model, rows)
    assert not np.isnan(found).any(), "a prediction is NaN"
    if hasattr(model, "predict_proba"):
        assert (found >= 0).all(), "a negative probability"
        assert np.allclose(found.sum(axis=1), 1), "probabilities that do not add up to 1"
    return found


def view(model: Any, rows: Any) -> None:
    """Call all views of a model except for plots."""
    json.dumps(model.to_dict(**({"distribution": True} if model._model.is_single else {})))
    for explanation in model.explain(rows[:3]):
        str(explanation)
    assert np.isfinite(model.missing_reliance(rows)).all()
    model.to_text()
    model.to_dot()
    model.to_html().encode()
    cannot_express = ("fractional", "surrogate")
    if model._model.core.params["missing"] not in cannot_express and is_unicode(model):
        model.to_onnx()
