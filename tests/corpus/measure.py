"""What is recorded of a case: predictions of the model as it is, loaded, detached and exported."""

from __future__ import annotations

import hashlib
import math
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from corpus.cases import Case
from numpy.typing import NDArray
from scipy.special import expit

import tritree

try:
    import onnx  # noqa: F401  (to_onnx needs it)
    import onnxruntime
except ImportError:
    onnxruntime = None

__all__ = ["CORPUS", "digest", "measure", "onnxruntime_version", "probe"]

CORPUS = Path(__file__).with_name("corpus.json")

Floats = NDArray[np.float64]


def measure(case: Case) -> dict[str, Floats]:
    """Return all that is recorded of a case, by name; names that begin with "onnx" only if it is installed."""
    with warnings.catch_warnings(), TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", Warning)
        data = case.data()
        model = case.fitted(data)
        path = Path(folder, "model.tritree")
        model.save(path)  # before rows with missing values make it grow
        found = predictions("complete", model, data.complete)
        found |= predictions("incomplete", model, data.incomplete)
        found |= staged("staged complete", model, data.complete)
        found |= staged("staged incomplete", model, data.incomplete)
        found["importances"] = model.feature_importances_
        found |= predictions("loaded", tritree.load(path), data.incomplete)
        found |= predictions("detached", tritree.load(path).detach(), data.incomplete)
        grown = tritree.load(path)
        if case.grow_all:
            grown.grow_all()
        else:
            grow = grown.grow_for if hasattr(grown, "grow_for") else grown.predict
            grow(data.complete)  # a category that a node has not seen may need a branch, too
            grow(data.incomplete)
        found |= predictions("grown, detached", grown.detach(), data.incomplete)
        if onnxruntime is not None and case.parameters["missing"] != "fractional":
            found |= exported(grown, {"complete": data.complete, "incomplete": data.incomplete})
        return found


def predictions(name: str, model: Any, rows: Any) -> dict[str, Floats]:
    """Return all that a model predicts for rows; classes as their positions in ``classes_``."""
    if not hasattr(model, "classes_"):
        return {name: model.predict(rows)}
    found = {f"{name}, classes": np.searchsorted(model.classes_, model.predict(rows))}
    found[name] = model.predict_proba(rows)
    if hasattr(model, "decision_function"):
        found[f"{name}, decision function"] = model.decision_function(rows)
    return found


def staged(name: str, model: Any, rows: Any) -> dict[str, Floats]:
    """Return what boosting predicts after each round."""
    if not hasattr(model, "staged_predict"):
        return {}
    stages = model.staged_predict_proba if hasattr(model, "classes_") else model.staged_predict
    return {name: np.array(list(stages(rows)))}


def exported(model: Any, tables: dict[str, Any]) -> dict[str, Floats]:
    """Return what onnxruntime predicts with the exported model."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.to_onnx().SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    found = {}
    for name, rows in tables.items():
        *labels, values = session.run(None, onnx_inputs(session, rows))
        found[f"onnx {name}"] = values
        for label in labels:
            found[f"onnx {name}, classes"] = np.searchsorted(
                model.classes_, label.astype(model.classes_.dtype)
            )
    return found


def onnx_inputs(session: Any, rows: Any) -> dict[str, Any]:
    """Return rows as the inputs of an exported model; an empty text is missing."""
    cells = pd.DataFrame(rows).astype(object)
    columns = [cells.iloc[:, j] for j in range(cells.shape[1])]
    inputs = session.get_inputs()
    if len(inputs) == 1:
        return {inputs[0].name: np.column_stack([column.to_numpy(np.float64) for column in columns])}
    arrays = {}
    for value, column in zip(inputs, columns, strict=True):
        kind, missing = (object, "") if value.type == "tensor(string)" else (np.float64, np.nan)
        cells = [missing if pd.isna(cell) else cell for cell in column]
        arrays[value.name] = np.array(cells, dtype=kind)[:, None]
    return arrays


def digest(values: Any) -> str:
    """Return a digest of shape and bits of an array, and its first three values."""
    array = np.ascontiguousarray(values, dtype="<f8")
    sha = hashlib.sha256(repr(array.shape).encode() + array.tobytes()).hexdigest()[:16]
    return " ".join([sha, *(float(value).hex() for value in array.ravel()[:3])])


def probe() -> str:
    """Return a digest of exponentials and logarithms, whose last bits differ between machines."""
    x = np.arange(1, 4001) / 331.0
    by_numpy = [np.exp(x), np.exp(-x), np.log(x), np.log1p(x), expit(x), expit(-x)]
    by_math = [[f(value) for value in x] for f in (math.exp, math.log, math.log1p)]
    return digest(np.array([*by_numpy, *by_math])).split()[0]


def onnxruntime_version() -> str | None:
    """Return the version of onnxruntime; None if exported models cannot be run."""
    return None if onnxruntime is None else str(onnxruntime.__version__)
