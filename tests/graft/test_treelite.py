"""A second opinion on the readers: treelite, where it is installed and reads the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from graft.random_models import as_numbers, make, read
from graft.reference import raw_predictions

treelite = pytest.importorskip("treelite")

#: Seeds whose models treelite reads, and predicts as their libraries do.
SEEDS = {"xgboost": range(40), "sklearn": range(40)}


def import_model(library: str, model: Any) -> Any:
    """Return the model as treelite has it; None if it does not support it."""
    try:
        if library == "sklearn":
            return treelite.sklearn.import_model(model)
        return treelite.frontend.from_xgboost(getattr(model, "get_booster", lambda: model)())
    except (treelite.TreeliteError, NotImplementedError, AssertionError):
        return None


@pytest.mark.parametrize("library", SEEDS)
def test_trees_predict_as_treelite_does(library: str) -> None:
    n_compared = 0
    for seed in SEEDS[library]:
        model, complete, missing = make(library, seed)
        rows = complete if missing is None else missing
        other = None if isinstance(rows, pd.DataFrame) else import_model(library, model)
        source = read(library, model, complete)
        # treelite predicts with all iterations
        if (
            other is None
            or other.num_tree != len(source.trees)
            or any(c.zero_is_missing for c in source.columns)
        ):
            continue
        rows = np.asarray(rows, np.float32)  # treelite compares rows of scikit-learn as double
        dtype = np.float32 if library == "xgboost" else np.float64
        raw = treelite.gtil.predict(other, rows.astype(dtype), nthread=1, pred_margin=True).reshape(
            len(rows), -1
        )
        ours = raw_predictions(source, as_numbers(source, rows.astype(np.float64)))
        if raw.shape == ours.shape:
            np.testing.assert_allclose(ours, raw, rtol=1e-5, atol=1e-5 * np.abs(raw).max(), err_msg=str(seed))
            n_compared += 1
    assert n_compared >= 5
