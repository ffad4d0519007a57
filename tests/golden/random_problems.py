"""Random problems with missing values, and the predictions of R's rpart for them.

    python tests/golden/random_problems.py 1000 [SEED]

compares so many problems, and prints those that differ.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from models import Floats, estimator, predictions
from reference.tree import ReferenceTree

__all__ = ["Problem", "ask_rpart", "differs", "draw", "has_tied_splits"]

_METHODS = {"regression": "anova", "classification": "class"}


@dataclass
class Problem:
    """A training table, rows to predict and growth parameters; categories are numbers."""

    name: str
    task: str
    X: Floats
    y: NDArray[Any]
    weight: Floats
    X_test: Floats
    categorical: list[int]
    parameters: dict[str, Any]


def draw(seed: int) -> Problem:
    """Return a problem whose columns are related, so that there are surrogates; all its numbers are exact in binary."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns = int(rng.integers(30, 200)), int(rng.integers(2, 7))
    n_all = n_rows + 60
    hidden = rng.normal(size=n_all)
    X = hidden[:, None] * rng.uniform(-1, 1, n_columns) + rng.normal(size=(n_all, n_columns)) / 2
    categorical = np.flatnonzero(rng.random(n_columns) < rng.choice([0, 0.4])).tolist()
    for j in range(n_columns):
        digits = 4 if j in categorical else rng.choice([4, 1024])
        X[:, j] = np.round(X[:, j] * digits) / digits
    signal = hidden + X @ rng.normal(size=n_columns) / 2 + rng.normal(size=n_all) / 4
    for j in categorical:
        X[:, j] = rng.permutation(8)[np.clip(2 * X[:, j] + 4, 0, rng.integers(2, 8)).astype(int)]
    X[rng.random(X.shape) < rng.uniform(0, 0.6, n_columns)] = np.nan
    task = str(rng.choice(list(_METHODS)))
    if task == "classification":
        y = np.digitize(signal, np.quantile(signal, [0.5] if rng.random() < 0.6 else [0.3, 0.7]))
    else:
        y = np.round(signal * 1024) / 1024
    known = np.flatnonzero(~np.isnan(X[:n_rows]).all(axis=1))  # rpart drops the other training rows
    weight = rng.integers(1, 17, len(known)) / 4 if rng.random() < 0.3 else np.ones(len(known))
    parameters = {
        "max_depth": int(rng.integers(1, 7)),
        "min_samples_leaf": int(rng.choice([1, 3, 7, 12])),
        "max_surrogates": int(rng.choice([1, 3, 5])),
    }
    return Problem(str(seed), task, X[known], y[known], weight, X[n_rows:], categorical, parameters)


def differs(problem: Problem, expected: Floats) -> NDArray[np.bool_]:
    """Return for which rows the predictions of tritree are not the expected ones."""
    model = estimator(
        problem.task, missing="surrogate", categorical_features=problem.categorical, **problem.parameters
    )
    model.fit(problem.X, problem.y, sample_weight=problem.weight)
    found = predictions(model, problem.X_test)
    difference: Floats = np.abs(found - expected).reshape(len(expected), -1).max(axis=1)
    return difference > 1e-9


def has_tied_splits(problem: Problem) -> bool:
    """Return whether several splits of a node gain the same, in exact arithmetic."""
    tree = ReferenceTree(
        missing="surrogate", task=problem.task, categorical=problem.categorical, **problem.parameters
    )
    return tree.fit(problem.X.tolist(), problem.y, problem.weight).has_tied_splits()


def ask_rpart(problems: list[Problem]) -> list[Floats]:
    """Return the predictions of rpart."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        lines = [[p.name, _METHODS[p.task], *p.parameters.values()] for p in problems]
        _write(folder / "problems.csv", [["name", "method", *problems[0].parameters], *lines])
        for p in problems:
            names = [f"x{j}" for j in range(p.X.shape[1])]
            rows = zip(p.y.tolist(), p.weight.tolist(), *_cells(p, p.X), strict=True)
            _write(folder / f"{p.name}-train.csv", [["y", "weight", *names], *rows])
            _write(folder / f"{p.name}-test.csv", [names, *zip(*_cells(p, p.X_test), strict=True)])
        script = Path(__file__).with_name("rpart.R")
        subprocess.run(["Rscript", "--vanilla", str(script), name], check=True)
        return [np.loadtxt(folder / f"{p.name}-prediction.csv", delimiter=",") for p in problems]


def _cells(problem: Problem, X: Floats) -> list[list[Any]]:
    """Return the columns as they are written: categories are text, a missing cell is empty."""
    columns = []
    for j, column in enumerate(X.T.tolist()):
        prefix = "category " if j in problem.categorical else ""
        columns.append(["" if v != v else f"{prefix}{v}" for v in column])
    return columns


def _write(path: Path, lines: list[Any]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(lines)


def main() -> None:
    """Compare many problems, and print those that differ."""
    n, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    problems = [draw(seed) for seed in range(first, first + n)]
    n_different = 0
    for problem, expected in zip(problems, ask_rpart(problems), strict=True):
        if n_rows := differs(problem, expected).sum():
            n_different += 1
            tied = "tied splits" if has_tied_splits(problem) else "no tied splits"
            print(f"problem {problem.name}, {problem.task}: {n_rows} rows differ, {tied}")
    print(f"{n_different} of {n} problems differ")


if __name__ == "__main__":
    main()
