"""Predictions for tables that are read batch by batch."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from tritree.out_of_core.batches import batch_errors, find_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tritree.out_of_core.batches import Batches

__all__ = ["by_batches"]


def by_batches(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Let a method that predicts the rows of a table also take a dataset, and then return an iterator of batches.

    The iterator yields a record batch for each batch of rows: with the column "prediction", or with one such as
    "prediction_yes" for each class.
    """

    @wraps(method)
    def predict(self: Any, X: Any) -> Any:
        if (batches := find_batches(X)) is None:
            return method(self, X)
        snapshot = self._snapshot()
        return _predictions(batches, lambda frame: method(snapshot, frame), snapshot)

    return predict


def _predictions(batches: Batches, predict: Callable[[Any], Any], estimator: Any) -> Iterator[Any]:
    import pyarrow as pa

    for batch in batches:
        with batch_errors(batch):
            found = predict(batch.frame.to_native())
        if found.ndim == 1:
            yield pa.RecordBatch.from_pydict({"prediction": pa.array(found)})
        else:
            names = [f"prediction_{label}" for label in estimator.classes_.tolist()]
            yield pa.RecordBatch.from_arrays([pa.array(column) for column in found.T], names=names)
