"""What ``tritree fit`` tells of a tree: its table, its task, how well it fits, where it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.cli.places import show_size
from tritree.inspection.formatting import count, number_format

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree.cli.response import Training

__all__ = ["Summary", "losses"]

#: A probability of 0 would make the cross-entropy infinite.
_LEAST = 1e-15
_LOSSES = {"mean_squared_error": "mean squared error", "cross_entropy": "cross-entropy"}


class Summary:
    """A fitted tree in a few lines, or as plain data."""

    def __init__(self, model: Any, training: Training, *, table: str, output: str, replaced: bool) -> None:
        frame = training.columns
        self._table, self._training = table, training
        cells, holes = frame.size, int(frame.isna().to_numpy().sum())
        self._facts = {
            "model": output,
            "bytes": Path(output).stat().st_size,
            "replaced": replaced,
            "rows": len(frame),
            "rows_skipped": training.skipped,
            "columns": len(frame.columns),
            "categorical_columns": sum(column.categories is not None for column in model._encoder.columns),
            "missing_cells": holes,
            "missing_share": holes / cells,
            "task": training.task,
            "classes": [_plain(label) for label in model.classes_] if hasattr(model, "classes_") else None,
            "kind": _kind_of(model),
            "strategy": model.missing,
            "nodes": model.n_nodes_,  # before training rows with holes make it grow
        } | _size_of(model)
        self._facts |= losses(model, training)

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain data."""
        return dict(self._facts)

    def text(self) -> str:
        """Return the summary as lines."""
        lines = {
            "table": self._told_table(),
            "holes": self._told_holes(),
            "task": self._told_task(),
            self._facts["kind"] if self._facts["kind"] != "boosting" else "trees": self._told_tree(),
            "fit": self._told_fit(),
            "model": self._told_model(),
        }
        return "\n".join(f"{label:<7}{text}" for label, text in lines.items())

    def _told_table(self) -> str:
        facts = self._facts
        kinds = f" ({facts['categorical_columns']} categorical)" if facts["categorical_columns"] else ""
        skipped = facts["rows_skipped"]
        without = f"; {count(skipped, 'row')} without a response left out" if skipped else ""
        return f"{self._table}: {count(facts['rows'], 'row')}, {count(facts['columns'], 'column')}{kinds}{without}"

    def _told_holes(self) -> str:
        share, cells = self._facts["missing_share"], self._facts["missing_cells"]
        if not cells:
            return "no cell is missing"
        return f"{share:.1%} of the cells are missing ({count(cells, 'cell')})"

    def _told_task(self) -> str:
        classes = self._facts["classes"]
        how_many = "" if classes is None else f" of {count(len(classes), 'class', 'classes')}"
        return f"{self._facts['task']}{how_many}: {self._training.reason}"

    def _told_tree(self) -> str:
        facts = self._facts
        nodes = count(facts["nodes"], "node")
        if facts["kind"] != "tree":
            return f"{facts['strategy']}, {count(facts['trees'], 'tree')}, {nodes}"
        return f"{facts['strategy']}, {nodes}, {count(facts['leaves'], 'leaf', 'leaves')}, depth {facts['depth']}"

    def _told_model(self) -> str:
        replaced = ", replaced" if self._facts["replaced"] else ""
        return f"{self._facts['model']} ({show_size(self._facts['bytes'])}{replaced})"

    def _told_fit(self) -> str:
        facts = self._facts
        say = number_format([facts["training_loss"], facts["loss_without_tree"]], 4)
        words = f"{_LOSSES[facts['loss']]} {say(facts['training_loss'])} on the training rows"
        without = f" ({say(facts['loss_without_tree'])} without a tree)"
        right = (
            f", {facts['training_accuracy']:.1%} of them right"
            if facts["training_accuracy"] is not None
            else ""
        )
        return f"{words}{without}{right}"


def _kind_of(model: Any) -> str:
    return "tree" if hasattr(model, "tree_") else "boosting" if hasattr(model, "n_iter_") else "forest"


def _size_of(model: Any) -> dict[str, int]:
    if hasattr(model, "tree_"):
        return {"leaves": model.get_n_leaves(), "depth": model.get_depth()}
    return {"trees": model.n_trees_}


def losses(model: Any, training: Training) -> dict[str, Any]:
    """Return how well a tree fits its training rows, beside the mean or the class shares of all of them."""
    y, weights = np.asarray(training.response), training.weights
    if training.task == "regression":
        loss = float(np.average((y - model.predict(training.columns)) ** 2, weights=weights))
        mean = np.average(y, weights=weights)
        without = float(np.average((y - mean) ** 2, weights=weights))
        return {
            "loss": "mean_squared_error",
            "training_loss": loss,
            "loss_without_tree": without,
            "training_accuracy": None,
        }
    shares = model.predict_proba(training.columns)
    number = np.searchsorted(model.classes_, y)
    rows = np.arange(len(y))
    root = np.array([np.average(number == k, weights=weights) for k in range(len(model.classes_))])
    return {
        "loss": "cross_entropy",
        "training_loss": _cross_entropy(shares[rows, number], weights),
        "loss_without_tree": _cross_entropy(root[number], weights),
        "training_accuracy": float(np.average(shares.argmax(axis=1) == number, weights=weights)),
    }


def _cross_entropy(probabilities: NDArray[Any], weights: Any) -> float:
    return float(-np.average(np.log(probabilities.clip(min=_LEAST)), weights=weights)) + 0.0


def _plain(label: Any) -> Any:
    return label.item() if hasattr(label, "item") else label
