"""A model predicts the same to the bit, however it was fitted, asked, stored or exported."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from attack.random_models import Case, draw_case
from inspection.test_onnx import run as run_onnx
from models import predictions, same_bits

import tritree
from tritree import GrowthLimitError


def identities(seed: int, folder: Path) -> None:
    """Compare a random model with itself: other threads, orders, batches, copies, files and ONNX."""
    case = draw_case(seed)
    model = case.fitted()
    ungrown = pickle.loads(pickle.dumps(model))
    expected = predictions(model, case.rows)
    others = {
        "unpickled": pickle.loads(pickle.dumps(model)),
        "copied": copy.deepcopy(ungrown),
        "loaded": _loaded(model, folder),
        "loaded before it grew": _loaded(ungrown, folder),
        "fitted by three threads": case.fitted(n_jobs=3),
    }
    if not case.depends_on_row_order:
        order = np.random.default_rng(seed).permutation(len(case.X))
        others["fitted to rows in another order"] = case.fitted(order)
    for name, other in others.items():
        assert same_bits(predictions(other, case.rows), expected), name
    assert same_bits(_one_by_one(ungrown, case), expected), "rows one by one, in reverse"
    _compare_onnx(model, case, expected)


def _loaded(model: Any, folder: Path) -> Any:
    model.save(folder / "model.tritree")
    return tritree.load(folder / "model.tritree")


def _one_by_one(model: Any, case: Case) -> Any:
    single = [predictions(model, case.rows.iloc[[i]]) for i in reversed(range(len(case.rows)))]
    return np.concatenate(single[::-1])


def _compare_onnx(model: Any, case: Case, expected: Any) -> None:
    """Check the exported model: equal to the bit, except for exponentials and probabilities of boosting."""
    if case.parameters["missing"] == "fractional":  # ONNX cannot express it
        return
    onnxruntime.set_default_logger_severity(4)
    try:
        found = run_onnx(model.to_onnx(max_nodes=20_000), case.rows)[-1]
    except GrowthLimitError:
        return
    is_exact = case.family != "Boosting" or (
        case.is_regression and case.parameters["loss"] not in ("poisson", "gamma")
    )
    np.testing.assert_allclose(found, expected, rtol=0 if is_exact else 1e-12, atol=0 if is_exact else 1e-15)


ATTACKS = (identities,)
