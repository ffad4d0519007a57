"""Write the model files of stored/ with rows and what is predicted for them; by hand, once per format.

    python tests/files/make_stored.py

Files that are there are never rewritten: they are what users have, and every later version must read them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from files.samples import half_grown, mixed, more_holes
from models import answers, simulated

import tritree
from tritree.files import FORMAT_VERSION

STORED = Path(__file__).with_name("stored")


def trinary_regressor() -> tuple[Any, Any]:
    """Return a half-grown tree on numbers, text and ordered categories, with its training rows."""
    X, y = mixed(80, seed=11)
    X = X[["number", "colour", "size"]]
    return half_grown(X, y, max_depth=2), more_holes(X[:25], seed=12)


def surrogate_classifier() -> tuple[Any, Any]:
    """Return a tree of classes that are text, on an array."""
    X, y = simulated(200, 3, holes=0.1, seed=13, task="classification")
    labels = [["low", "middle", "high"][k] for k in y]
    model = tritree.TrinaryTreeClassifier(missing="surrogate", max_depth=3, min_samples_leaf=10).fit(
        X, labels
    )
    return model, more_holes(X[:25], seed=14)


def write(name: str, model: Any, rows: Any) -> None:
    """Write a model, and beside it rows and what it predicts for them; refuse to if one of the files is there."""
    path = STORED / f"{name}.tritree"
    expected = path.with_suffix(".json")
    for file in (path, expected):
        if file.exists():
            raise FileExistsError(f"{file} is there already, and must stay as it is")
    STORED.mkdir(exist_ok=True)
    model.save(path)
    if hasattr(rows, "columns"):
        table = {column: plain(rows[column].tolist()) for column in rows}
    else:
        table = [plain(row) for row in rows.tolist()]
    told = {
        "tritree": tritree.__version__,
        "classes": model.classes_.tolist() if hasattr(model, "classes_") else None,
        "n_nodes": model.n_nodes_,
        "rows": table,
        "predictions": answers(model, rows).tolist(),
        "n_nodes_after": model.n_nodes_,
    }
    expected.write_text(json.dumps(told) + "\n", encoding="utf-8")


def plain(cells: list[Any]) -> list[Any]:
    """Return cells as JSON keeps them, None where one is missing."""
    return [None if cell is None or cell != cell else cell for cell in cells]


if __name__ == "__main__":
    write(f"format{FORMAT_VERSION}_trinary_regressor", *trinary_regressor())
    write(f"format{FORMAT_VERSION}_surrogate_classifier", *surrogate_classifier())
