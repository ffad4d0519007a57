"""Lazy predictions for collections of Dask, partition by partition."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
from dask.delayed import delayed

from tritree.dask.partitions import is_array, is_frame, whole_rows
from tritree.dask.workers import results

__all__ = ["predict_lazily"]


def predict_lazily(local: Any, predicting: Any, method: str, X: Any) -> Any:
    """Return the predictions of a method of a local estimator, in partitions as those of X.

    ``predicting`` is the same estimator, or a future of it.
    """
    shared = delayed(predicting, pure=True)
    if is_frame(X):
        return X.map_partitions(_predict_frame, shared, method, meta=_meta(local, method, X._meta.index))
    if not is_array(X):
        if predicting is local:
            return getattr(local, method)(X)
        return results(
            predicting.client, [predicting.client.submit(_predict_array, X, predicting, method, pure=False)]
        )[0]
    X = whole_rows(X)
    dtype = _meta(local, method, pd.RangeIndex(0)).to_numpy().dtype
    width = () if method == "predict" else (len(local.classes_),)
    array: Any = da  # whose functions have no types
    predict = delayed(_predict_array)
    blocks = zip(X.to_delayed().ravel(), X.chunks[0], strict=True)
    return array.concatenate(
        [array.from_delayed(predict(block, shared, method), (n, *width), dtype) for block, n in blocks]
    )


def _meta(local: Any, method: str, index: pd.Index) -> Any:
    """Return predictions without rows."""
    empty = index[:0]
    if method == "predict_proba":
        return pd.DataFrame(np.empty((0, len(local.classes_))), index=empty, columns=_names(local))
    dtype = np.float64 if not hasattr(local, "classes_") else local.classes_.dtype
    return pd.Series(np.empty(0, dtype), index=empty, name="prediction")


def _names(local: Any) -> list[str]:
    return [f"prediction_{label}" for label in local.classes_.tolist()]


def _predict_frame(frame: Any, local: Any, method: str) -> Any:
    if len(frame) == 0:
        return _meta(local, method, frame.index)
    found = getattr(local, method)(frame)
    if found.ndim == 1:
        return pd.Series(found, index=frame.index, name="prediction")
    return pd.DataFrame(found, index=frame.index, columns=_names(local))


def _predict_array(block: Any, local: Any, method: str) -> Any:
    if len(block) == 0:
        return _meta(local, method, pd.RangeIndex(0)).to_numpy()
    return getattr(local, method)(block)
