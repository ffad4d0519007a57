"""A cluster of three worker threads, which are quick to start, and a table that is fitted on it."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed", reason="the extra dask is not installed")

from distributed import Client

N_ROWS = 900


@pytest.fixture(scope="session")
def client():
    """A client of three workers in this process."""
    with Client(
        n_workers=3, threads_per_worker=1, processes=False, dashboard_address=None, set_as_default=False
    ) as client:
        yield client


@pytest.fixture(scope="session")
def table():
    """A table with columns of all types, and targets."""
    rng = np.random.default_rng(0)
    days = pd.to_timedelta(rng.integers(0, 700, N_ROWS), "D")
    frame = pd.DataFrame(
        {
            "number": np.where(rng.random(N_ROWS) < 0.2, np.nan, rng.normal(size=N_ROWS)),
            "whole": rng.integers(0, 9, N_ROWS),
            "text": pd.Series(rng.choice(["x", "y", "z"], N_ROWS), dtype=object),
            "moment": pd.Timestamp("2020-01-01") + days,
            "date_text": pd.Series((pd.Timestamp("2021-03-01") + days).strftime("%d.%m.%Y"), dtype=object),
            "flag": rng.random(N_ROWS) < 0.3,
            "level": pd.Categorical(
                rng.choice(["low", "high"], N_ROWS), ["low", "middle", "high"], ordered=True
            ),
            "nothing": np.full(N_ROWS, np.nan),
        }
    )
    frame["weight"] = rng.random(N_ROWS) + 0.5
    frame["y"] = frame.number.fillna(0) + 2 * (frame.text == "x") + 0.2 * frame.whole
    frame["label"] = np.where(frame.y > 1, "high", "low")
    frame["group"] = np.select([frame.y < 0.5, frame.y < 1.5], ["a", "b"], "c")
    return frame


@pytest.fixture(scope="session")
def features(table):
    """The table without targets and weights."""
    return table.drop(columns=["weight", "y", "label", "group"])
