"""A half-grown tree that another process has read predicts and grows bit for bit as in this one."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from models import STRATEGIES, TASKS, predictions
from serialization.samples import half_grown, mixed, more_missing, same_model

FORMATS: dict[str, tuple[Callable[[Any, Path], Any], str]] = {
    "save": (lambda model, path: model.save(path), "tritree.load(path)"),
    "pickle": (
        lambda model, path: path.write_bytes(pickle.dumps(model)),
        "pickle.loads(pathlib.Path(path).read_bytes())",
    ),
    "joblib": (lambda model, path: joblib.dump(model, path), "joblib.load(path)"),
}

READER = """
import joblib, numpy as np, pandas as pd, pathlib, pickle, sys, tritree
for path in sys.argv[1:]:
    model, rows = {read}, pd.read_pickle(path + ".rows")
    predictions = model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)
    np.save(path + ".predictions.npy", predictions)
    np.save(path + ".values.npy", model.tree_.value)
"""


@pytest.mark.parametrize("format_", FORMATS)
def test_another_process_predicts_and_grows_bit_for_bit_the_same(format_: str, tmp_path: Path) -> None:
    write, read = FORMATS[format_]
    models = {}
    for task in TASKS:
        X, y = mixed(task=task)
        path = tmp_path / task
        model = models[path] = half_grown(X, y)
        rows = more_missing(X, seed=2)
        rows.to_pickle(f"{path}.rows")
        write(model, path)
        predictions(model, rows)
    subprocess.run(
        [sys.executable, "-c", READER.format(read=read), *map(str, models)],
        check=True,
        env=os.environ,
        timeout=120,
    )
    for path, model in models.items():
        rows = more_missing(mixed(task=path.name)[0], seed=2)
        assert np.load(f"{path}.predictions.npy").tobytes() == predictions(model, rows).tobytes()
        assert np.load(f"{path}.values.npy").tobytes() == model.tree_.value.tobytes()


@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("task", TASKS)
def test_pickled_model_is_the_same(task: str, missing: str) -> None:
    X, y = mixed(task=task)
    model = half_grown(X, y, missing=missing)
    assert same_model(pickle.loads(pickle.dumps(model)), model, more_missing(X, seed=2))


@pytest.mark.parametrize("compress", [0, 3])
def test_model_dumped_by_joblib_is_the_same(compress: int, tmp_path: Path) -> None:
    X, y = mixed()
    model = half_grown(X, y)
    joblib.dump(model, tmp_path / "model", compress=compress)
    assert same_model(joblib.load(tmp_path / "model"), model, more_missing(X, seed=2))


def test_joblib_model_that_is_mapped_from_its_file_is_the_same(tmp_path: Path) -> None:
    X, y = mixed()
    model = half_grown(X, y)
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    assert same_model(mapped, model, more_missing(X, seed=2))
