"""Boosters of parts of a table, which fit the trees of the whole table together."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import assert_equal_models

from tritree import _core

N_ROWS = 400
LOSSES = ["squared_error", "poisson", "log_loss", "softmax"]


class Exchange:
    """Combines the numbers of parts that run on a thread each."""

    def __init__(self, n_parts):
        self._numbers = [None] * n_parts
        self._barrier = threading.Barrier(n_parts, timeout=60)

    def of(self, part):
        def combine(how, numbers):
            self._numbers[part] = numbers
            self._barrier.wait()
            combined = (np.sum if how == "sum" else np.max)(np.stack(self._numbers), axis=0)
            self._barrier.wait()
            return combined

        return combine

    def abort(self):
        self._barrier.abort()


@dataclass
class Setting:
    """A table with a target, and how it is fitted."""

    loss: str = "squared_error"
    weighted: bool = False
    subsample: float = 1.0
    growth: dict = field(default_factory=dict)
    seed: int = 0
    n_iterations: int = 4

    def __post_init__(self):
        rng = np.random.default_rng(self.seed)
        X = rng.normal(size=(N_ROWS, 4))
        X[:, 3] = rng.integers(0, 5, N_ROWS)
        signal = X[:, 0] + X[:, 1] * (X[:, 2] > 0) + rng.normal(size=N_ROWS)
        X[rng.random(X.shape) < 0.3] = np.nan
        self.binned = _core.BinnedColumns(
            [*X[:, :3].T, np.where(np.isnan(X[:, 3]), -1, X[:, 3]).astype(np.int32)], [-1] * 3 + [5], 255, 1
        )
        self.y = {
            "squared_error": signal,
            "poisson": np.floor(np.exp(signal / 2)),
            "log_loss": (signal > 0).astype(float),
            "softmax": np.clip(np.floor(signal + 1), 0, 2),
        }[self.loss]
        self.weight = rng.random(N_ROWS) + 0.5 if self.weighted else None
        self.n_outputs = 3 if self.loss == "softmax" else 1

    def model(self):
        growth = {"missing": "trinary_mia", "max_depth": 3, "min_samples_leaf": 5, "l2": 1.0, "seed": 3}
        params = _core.GrowthParameters(**growth | self.growth)
        model = _core.BoostedModel(self.binned, params, [0.1] * self.n_outputs)
        if params.to_dict()["missing"] in ("trinary", "trinary_mia"):
            model.keep_background(self.binned, self.weight, 300, 1)
        return model

    def booster(self, model, rows=None, combine=None):
        rows = np.arange(N_ROWS) if rows is None else rows
        binned = self.binned.take(rows)
        weight = None if self.weight is None else self.weight[rows]
        part = (int(rows[0]), N_ROWS, combine) if combine else ()
        return _core.Booster(
            binned, model, self.loss, 0.5, self.y[rows], weight, 0.3, self.subsample, 1, *part
        )

    def fit_whole(self):
        model = self.model()
        booster = self.booster(model)
        for _ in range(self.n_iterations):
            booster.boost()
        return model

    def fit_parts(self, ends, model_of=None):
        """Fit parts of consecutive rows that end at these; ``model_of(part)`` returns models to continue."""
        exchange = Exchange(len(ends))

        def fit(part):
            rows = np.arange(0 if part == 0 else ends[part - 1], ends[part])
            model = self.model() if model_of is None else model_of(part)
            try:
                booster = self.booster(model, rows, exchange.of(part))
                while model.n_iterations < self.n_iterations:
                    booster.boost()
            except BaseException:
                exchange.abort()
                raise
            return model

        with ThreadPoolExecutor(len(ends)) as threads:
            return list(threads.map(fit, range(len(ends))))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("subsample", [1.0, 0.6])
def test_parts_fit_the_model_of_the_whole_table(loss, weighted, subsample):
    setting = Setting(loss, weighted, subsample)
    whole = setting.fit_whole()
    for model in setting.fit_parts([100, 101, 350, N_ROWS]):
        assert_equal_models(model, whole)


@pytest.mark.parametrize(
    "growth",
    [
        {"missing": "majority"},
        {"missing": "mia"},
        {"missing": "fractional"},
        {"missing": "trinary"},
        {"max_leaf_nodes": 6},
        {"max_features": 0.5},
        {"max_third_nodes": 40},
        {"max_depth": 6, "min_samples_leaf": 1},
        {"monotonic": [1, 0, -1, 0]},
        {"max_depth": 0},
    ],
    ids=str,
)
def test_parts_fit_the_same_with_all_growth_parameters(growth):
    setting = Setting("log_loss", growth=growth)
    whole = setting.fit_whole()
    for model in setting.fit_parts([37, 200, N_ROWS]):
        assert_equal_models(model, whole)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_it_does_not_matter_where_parts_end(data):
    setting = Setting(
        data.draw(st.sampled_from(LOSSES)),
        data.draw(st.booleans()),
        data.draw(st.sampled_from([1.0, 0.3])),
        {"max_features": data.draw(st.sampled_from([1.0, 0.5]))},
        data.draw(st.integers(0, 3)),
        n_iterations=2,
    )
    ends = sorted(data.draw(st.sets(st.integers(1, N_ROWS - 1), max_size=6)))
    whole = setting.fit_whole()
    for model in setting.fit_parts([*ends, N_ROWS]):
        assert_equal_models(model, whole)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("missing", ["trinary_mia", "fractional"])
def test_other_parts_can_continue_the_model(loss, missing):
    setting = Setting(loss, growth={"missing": missing}, n_iterations=2)
    halfway = setting.fit_parts([150, N_ROWS])[0].state(with_rows=True)
    setting.n_iterations = 5
    whole = setting.fit_whole()
    continued = setting.fit_parts([20, 300, N_ROWS], lambda _: _core.BoostedModel.from_state(halfway))
    for model in continued:
        assert_equal_models(model, whole)


def test_a_part_whose_exchange_fails_keeps_its_complete_iterations():
    setting = Setting()
    model = setting.model()
    calls = 0

    def combine(how, numbers):
        nonlocal calls
        calls += 1
        if calls == 40:
            raise ConnectionError("gone")
        return numbers

    booster = setting.booster(model, np.arange(N_ROWS), combine)

    def boost_on():
        while True:
            booster.boost()

    with pytest.raises(ConnectionError, match="gone"):
        boost_on()
    n_complete = model.n_iterations
    assert n_complete > 0
    setting.n_iterations = n_complete
    assert_equal_models(model, setting.fit_whole())


def test_quantiles_of_residuals_are_refused():
    setting = Setting()
    setting.loss = "absolute_error"
    with pytest.raises(ValueError, match="in one place"):
        setting.booster(setting.model(), np.arange(N_ROWS), lambda _, numbers: numbers)


def test_counts_of_parts_are_those_of_the_whole_column():
    rng = np.random.default_rng(0)
    columns = [rng.normal(size=300_000), np.round(rng.normal(size=300_000), 1), 1e9 + rng.random(300_000) / 8]
    whole = _core.TableCounts(3)
    whole.add(columns, 300_000, 1)
    merged = _core.TableCounts(3)
    for begin, end in pairwise([0, 5, 1000, 200_000, 300_000]):
        part = _core.TableCounts(3)
        part.add([column[begin:end] for column in columns], end - begin, 1)
        merged.merge(part)
    for column in range(3):
        expected = whole.bounds(column, 300_000, 255)
        found = merged.bounds(column, 300_000, 255)
        assert (found is None) == (expected is None)
        assert expected is None or found.tolist() == expected.tolist()


def test_only_a_part_may_begin_with_a_model_without_trees():
    state = Setting().model().state(with_rows=True)
    assert _core.BoostedModel.from_state(state, may_lack_trees=True).n_trees == 0
    with pytest.raises(ValueError, match="arrays of different lengths"):
        _core.BoostedModel.from_state(state)
