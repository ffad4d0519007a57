"""Deep trees are loaded as they were, in time that does not grow with their depth."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from models import fitted, predictions, simulated
from serialization.samples import Arrays, description_and_arrays, more_missing, same_model, write_file

import tritree
from tritree import _core


def deep_table(n_rows: int) -> tuple[pd.DataFrame, Any]:
    """Return a table of numbers and categories whose rows are split off one by one, largest target first."""
    number = np.arange(n_rows)
    table = pd.DataFrame(
        {
            "number": np.where(number % 5 == 0, np.nan, number),
            "label": np.where(number % 2 == 0, None, number.astype(str).astype(object)),
            "other": number % 3,
        }
    )
    return table, 3.0 ** (number - n_rows / 2)


@pytest.mark.filterwarnings("ignore::tritree.IdentifierWarning")
@pytest.mark.parametrize("missing", ["trinary", "trinary_mia"])
def test_deep_tree_grows_as_before_it_was_saved(missing: str, tmp_path: Path) -> None:
    X, y = deep_table(250)
    model = fitted(X, y, missing=missing, max_depth=300, min_samples_leaf=1)
    rows = more_missing(X[:40])
    model.predict(rows[:10])
    assert model.get_depth() > 100  # longer than the paths that are followed split by split
    model.save(tmp_path / "model", training_rows=True)
    loaded = tritree.load(tmp_path / "model")
    assert same_model(loaded, model, rows)


def chain(n_rows: int, depth: int) -> dict[str, Arrays]:
    """Return the arrays of a tree that splits off the first rows one by one, with a second split per ladder."""
    node = np.arange(2 * depth + 1)
    n_nodes, is_split, step = len(node), (node % 2 == 0) & (node < 2 * depth), np.repeat(np.arange(depth), 2)
    is_first, n_splits = np.arange(2 * depth) % 2 == 0, np.where(is_split, 2, 0)
    rows = np.where(node % 2 == 1, 1, n_rows - node // 2)
    trees = {
        "column": np.where(is_split, 0, -1).astype("i4"),
        "threshold": np.where(is_split, node // 2 + 0.5, np.nan),
        "set_begin": np.full(n_nodes, -1),
        "set_words": np.zeros(n_nodes, "i4"),
        "left": np.where(is_split, node + 1, -1).astype("i4"),
        "right": np.where(is_split, node + 2, -1).astype("i4"),
        "third": np.where(is_split, -2, -1).astype("i4"),
        "missing_to": np.where(is_split, 2, -1).astype("i1"),
        "larger_side": np.where(is_split, 1, -1).astype("i1"),
        "depth": ((node + 1) // 2).astype("i4"),
        "rows": rows,
        "weight": rows.astype(float),
        **{name: np.zeros(n_nodes) for name in ("left_fraction", "loss", "value")},
        **{name: np.array([n_nodes], "i4") for name in ("n_nodes", "n_fitted")},
        "n_surrogates": np.zeros(1, "i4"),
        "n_words": np.zeros(1, "i8"),
        "seed": np.zeros(1, "u8"),
    }
    values = np.append(np.arange(depth + 1.0), [0, 1, 2])
    data = {
        "categorical": np.zeros(2, "i1"),
        "n_bins": np.array([depth + 1, 3]),
        "bins16": np.minimum(np.arange(n_rows), depth).astype("u2"),
        "bins8": (np.arange(n_rows) % 3).astype("u1"),
        "bin_min": values,
        "bin_max": values,
        "y": np.zeros(n_rows),
    }
    ladders = {
        "n_in_bag": np.zeros(1, "i8"),
        "n_ladders": np.array([n_nodes]),
        "position_ladder": node.astype("i4"),
        "position_rank": np.zeros(n_nodes, "i4"),
        "used_columns_begin": np.zeros(n_nodes + 1, "i8"),
        "splits_begin": np.append(0, np.cumsum(n_splits)),
        **{name: np.ones(n_nodes) for name in ("center", "sum_scale", "square_scale", "weight_scale")},
        "first_split_only": np.zeros(n_nodes, "i1"),
        "column": np.where(is_first, 0, 1).astype("i4"),
        "threshold": np.where(is_first, step + 0.5, 0.5),
        "threshold_bin": np.where(is_first, step, 0),
        **{name: np.full(2 * depth, 0.5) for name in ("gain", "left_fraction")},
        "missing_vs_observed": np.zeros(2 * depth, "i1"),
        "missing_to": np.full(2 * depth, 2, "i1"),
        "larger_side": np.ones(2 * depth, "i1"),
    }
    return {"trees": trees, "data": data, "ladders": ladders}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no interval timers")
def test_loading_handles_signals() -> None:
    params = fitted(*simulated(100, 2))._model.core.params
    state = {"params": params, "n_columns": 2, "n_rows": 1_000_000, **chain(1_000_000, 60_000)}
    handled = []
    before = signal.signal(signal.SIGALRM, lambda *_: handled.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
    try:
        _core.LadderModel.from_state(state)
        n_handled = len(handled)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert n_handled > 2  # those that wait for the end are handled as one


def test_loading_takes_no_time_in_proportion_to_rows_times_depth(tmp_path: Path) -> None:
    n_rows, depth = 200_000, 40_000  # whose product takes some ten seconds
    model = fitted(np.random.default_rng(0).normal(size=(100, 2)), np.arange(100.0))
    model.save(path := tmp_path / "model", training_rows=True)
    description, _ = description_and_arrays(path.read_bytes())
    description["n_rows"] = n_rows
    arrays = {
        f"{part}.{name}": array for part, own in chain(n_rows, depth).items() for name, array in own.items()
    }
    write_file(path, description, arrays)
    begin = time.perf_counter()
    loaded = tritree.load(path)
    seconds = time.perf_counter() - begin
    assert loaded.get_depth() == depth
    assert predictions(loaded, np.zeros((1, 2))).tolist() == [0]
    assert seconds < 3 or "asan" in os.environ.get("LD_PRELOAD", "")
