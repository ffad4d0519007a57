"""The losses that boosting lowers: where it begins, what a sum over trees means, and how much is lost.

Derivatives are the core's business; this is what needs whole columns once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, log_softmax, softmax, xlogy

from tritree.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

__all__ = ["REGRESSION_LOSSES", "Loss", "class_loss", "regression_loss"]

#: The losses of a regression.
REGRESSION_LOSSES = ("squared_error", "absolute_error", "quantile", "poisson", "gamma")

_SMALLEST_SHARE = 1e-15  # of a class, where the weights say that there is none


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss. Sums over trees are ``raw``, of shape (n_rows, n_outputs).

    What is missing leaves a sum open by some variance, ``doubt``. Where the prediction is a curve of the sum, the mean
    of the curve is not the curve of the mean, and `settled` returns the sum whose curve it is.
    """

    #: What the core calls it.
    name: str
    n_outputs: int
    quantile: float
    #: Where boosting begins, given y and weights.
    begin: Callable[[Numbers, Numbers | None], Numbers]
    #: What ``raw`` means: a mean, or the shares of the classes.
    answer: Callable[[Numbers], Numbers]
    #: What each row loses, given y and ``raw``.
    lost: Callable[[Numbers, Numbers], Numbers]
    #: Given ``raw`` and its doubt, which is not below 0; None where the prediction is the sum itself.
    settle: Callable[[Numbers, Numbers], Numbers] | None = None

    def settled(self, raw: Numbers, doubt: Numbers | None) -> Numbers:
        """Return the sums that mean what is to be expected of sums with such a doubt."""
        if self.settle is None or doubt is None:
            return raw
        return self.settle(raw, np.maximum(doubt, 0))

    def measure(self, y: Numbers, raw: Numbers, weight: Numbers | None) -> float:
        """Return the mean loss of some rows."""
        return float(np.average(self.lost(y, raw), weights=weight))


def regression_loss(name: str, quantile: float) -> Loss:
    """Return a loss of a regression."""
    level = 0.5 if name == "absolute_error" else quantile
    begin: dict[str, Any] = {
        "squared_error": _mean,
        "absolute_error": lambda y, weight: _quantile(y, weight, 0.5),
        "quantile": lambda y, weight: _quantile(y, weight, quantile),
        "poisson": _log_mean_count,
        "gamma": lambda y, weight: np.log(_mean(y, weight)),
    }
    lost: dict[str, Any] = {
        "squared_error": lambda y, raw: np.square(y - raw[:, 0]),
        "absolute_error": lambda y, raw: np.abs(y - raw[:, 0]),
        "quantile": lambda y, raw: np.maximum(level * (y - raw[:, 0]), (level - 1) * (y - raw[:, 0])),
        # half the deviance: what is left after the best that a model of each row could do
        "poisson": lambda y, raw: xlogy(y, y) - y * raw[:, 0] - y + np.exp(raw[:, 0]),
        "gamma": lambda y, raw: y * np.exp(-raw[:, 0]) + raw[:, 0] - np.log(y) - 1,
    }
    if name in ("poisson", "gamma"):
        return Loss(name, 1, level, begin[name], _exponential, lost[name], _settled_logarithm)
    return Loss(name, 1, level, begin[name], _as_it_is, lost[name])


def class_loss(n_classes: int) -> Loss:
    """Return the cross-entropy of two classes, or of more; y are the numbers of the classes."""
    if n_classes == 2:
        return Loss("log_loss", 1, 0.5, _log_odds, _two_shares, _lost_of_two, _settled_log_odds)
    return Loss(
        "softmax", n_classes, 0.5, _log_shares(n_classes), _shares, _lost_of_many, _settled_log_shares
    )


def _log_mean_count(y: Numbers, weight: Numbers | None) -> Numbers:
    mean = _mean(y, weight)
    if not mean > 0:
        which = "" if weight is None else " that has a weight"
        raise TargetError(f"is zero in every row{which}", "loss='poisson' needs a number above it")
    return np.log(mean)


def _mean(y: Numbers, weight: Numbers | None) -> Numbers:
    return np.atleast_1d(np.average(y, weights=weight))


def _quantile(y: Numbers, weight: Numbers | None, level: float) -> Numbers:
    """Return the quantile of numbers: between two neighbours, or with weights the first that has enough below."""
    if weight is None:
        return np.atleast_1d(np.quantile(y, level))
    order = np.argsort(y, kind="stable")
    below = np.cumsum(weight[order])
    return np.atleast_1d(y[order][np.searchsorted(below, level * below[-1])])


def _as_it_is(raw: Numbers) -> Numbers:
    return raw


def _exponential(raw: Numbers) -> Numbers:
    found: Numbers = np.exp(raw)
    return found


def _settled_logarithm(raw: Numbers, doubt: Numbers) -> Numbers:
    """Return the logarithm of the mean of the exponential of a normal sum."""
    return raw + doubt / 2


def _settled_log_odds(raw: Numbers, doubt: Numbers) -> Numbers:
    """Return the log-odds of the mean share of a normal sum, as MacKay approximates it."""
    return np.asarray(raw / np.sqrt(1 + np.pi / 8 * doubt))


def _settled_log_shares(raw: Numbers, doubt: Numbers) -> Numbers:
    """Return the same for many classes; only the differences of their sums mean something, so they are centred."""
    return _settled_log_odds(raw - raw.mean(axis=1, keepdims=True), doubt)


def _log_odds(y: Numbers, weight: Numbers | None) -> Numbers:
    share = np.clip(_mean(y, weight), _SMALLEST_SHARE, 1 - _SMALLEST_SHARE)
    return np.asarray(np.log(share) - np.log1p(-share))


def _two_shares(raw: Numbers) -> Numbers:
    share = expit(raw[:, 0])
    return np.column_stack([1 - share, share])


def _lost_of_two(y: Numbers, raw: Numbers) -> Numbers:
    return np.asarray(np.logaddexp(0, raw[:, 0]) - y * raw[:, 0])


def _log_shares(n_classes: int) -> Callable[[Numbers, Numbers | None], Numbers]:
    def begin(y: Numbers, weight: Numbers | None) -> Numbers:
        counts = np.bincount(y.astype(np.intp), weights=weight, minlength=n_classes)
        return np.asarray(np.log(np.maximum(counts / counts.sum(), _SMALLEST_SHARE)))

    return begin


def _shares(raw: Numbers) -> Numbers:
    return np.asarray(softmax(raw, axis=1))


def _lost_of_many(y: Numbers, raw: Numbers) -> Numbers:
    return np.asarray(-log_softmax(raw, axis=1)[np.arange(len(y)), y.astype(np.intp)])
