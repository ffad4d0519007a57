"""The losses of boosting: initial values, link functions and the mean loss. Gradients are computed in the core."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, log_softmax, softmax, xlogy

from tritree.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

__all__ = ["LINKS", "Link", "Loss", "classification_loss", "exact_sum", "regression_loss"]

_MAX_LOGARITHM = 709.0  # of a finite number
_MIN_PROBABILITY = 1e-15  # of a class whose rows all have weight 0


@dataclass(frozen=True, slots=True)
class Link:
    """How sums over trees, ``raw``, become predictions. They have shape (n_rows, n_outputs).

    Missing values leave a sum some variance. Where the prediction is a non-linear function of the sum, the mean of the
    function is not the function of the mean, and `adjusted` returns the sum that has the mean prediction.
    """

    name: str
    #: The prediction of ``raw``: numbers, or class probabilities.
    inverse: Callable[[Numbers], Numbers]
    #: ``raw`` adjusted to its variance, which is not negative; None where the prediction is linear in the sum.
    adjust: Callable[[Numbers, Numbers], Numbers] | None = None

    def adjusted(self, raw: Numbers, variance: Numbers | None) -> Numbers:
        """Return the sums whose predictions are the means over sums with this variance."""
        if self.adjust is None or variance is None:
            return raw
        return self.adjust(raw, np.maximum(variance, 0))

    def predict(self, raw: Numbers, variance: Numbers | None) -> Numbers:
        """Return the predictions of sums with this variance."""
        return self.inverse(self.adjusted(raw, variance))


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss. Sums over trees are ``raw``, of shape (n_rows, n_outputs)."""

    #: Its name in the core.
    name: str
    n_outputs: int
    quantile: float
    #: The constant that boosting starts from, given y and weights.
    initial: Callable[[Numbers, Numbers | None], Numbers]
    #: The loss of each row, given y and ``raw``.
    pointwise: Callable[[Numbers, Numbers], Numbers]
    link: Link

    def mean(self, y: Numbers, raw: Numbers, weight: Numbers | None) -> float:
        """Return the mean loss of rows."""
        return float(np.average(self.pointwise(y, raw), weights=weight))


def regression_loss(name: str, quantile: float) -> Loss:
    """Return a loss for regression."""
    level = 0.5 if name == "absolute_error" else quantile
    initial: dict[str, Any] = {
        "squared_error": _mean,
        "absolute_error": lambda y, weight: _quantile(y, weight, 0.5),
        "quantile": lambda y, weight: _quantile(y, weight, quantile),
        "poisson": _log_mean_count,
        "gamma": lambda y, weight: np.log(_mean(y, weight)),
    }
    pointwise: dict[str, Any] = {
        "squared_error": lambda y, raw: np.square(y - raw[:, 0]),
        "absolute_error": lambda y, raw: np.abs(y - raw[:, 0]),
        "quantile": lambda y, raw: np.maximum(level * (y - raw[:, 0]), (level - 1) * (y - raw[:, 0])),
        # half the deviance: 0 where the prediction is y
        "poisson": lambda y, raw: xlogy(y, y) - y * raw[:, 0] - y + np.exp(raw[:, 0]),
        "gamma": lambda y, raw: y * np.exp(-raw[:, 0]) + raw[:, 0] - np.log(y) - 1,
    }
    link = LINKS["log" if name in ("poisson", "gamma") else "identity"]
    return Loss(name, 1, level, initial[name], pointwise[name], link)


def classification_loss(n_classes: int) -> Loss:
    """Return the cross-entropy of two classes, or of more; y are the numbers of the classes."""
    if n_classes == 2:
        return Loss("log_loss", 1, 0.5, _log_odds, _binary_loss, LINKS["logit"])
    initial = _log_frequencies(n_classes)
    return Loss("softmax", n_classes, 0.5, initial, _multiclass_loss, LINKS["softmax"])


def exact_sum(values: Numbers) -> float:
    """Return the sum of numbers in fixed point, which does not depend on their order.

    Examples
    --------
    >>> exact_sum(np.array([0.1, 1e16, 0.3, -1e16]))
    0.4
    """
    largest = float(np.max(np.abs(values), initial=0))
    if largest == 0:
        return 0.0
    bits = 62 - len(values).bit_length()  # of an integer, so that their sum has at most 62
    exponent = bits - math.frexp(largest)[1]
    total, rest = 0, np.ldexp(values, exponent)
    for _ in range(2):
        integers = np.rint(rest)
        total = (total << bits) + int(integers.astype(np.int64).sum())
        rest = np.ldexp(rest - integers, bits)
    return float(total / Fraction(2) ** (exponent + bits))


def _log_mean_count(y: Numbers, weight: Numbers | None) -> Numbers:
    mean = _mean(y, weight)
    if not mean > 0:
        which = "" if weight is None else " that has a weight"
        raise TargetError(
            f"is zero in every row{which}", "loss='poisson' requires at least one target above 0"
        )
    return np.log(mean)


def _mean(y: Numbers, weight: Numbers | None) -> Numbers:
    if weight is None:
        return np.array([exact_sum(y) / len(y)])
    return np.array([exact_sum(y * weight) / exact_sum(weight)])


def _quantile(y: Numbers, weight: Numbers | None, level: float) -> Numbers:
    """Return a quantile: interpolated, or with weights the first value with enough weight up to it."""
    if weight is None:
        return np.atleast_1d(np.quantile(y, level))
    order = np.lexsort((weight, y))
    below = np.cumsum(weight[order])
    return np.atleast_1d(y[order][np.searchsorted(below, level * below[-1])])


def _identity(raw: Numbers) -> Numbers:
    return raw


def _exponential(raw: Numbers) -> Numbers:
    found: Numbers = np.exp(np.minimum(raw, _MAX_LOGARITHM))
    return found


def _adjust_logarithm(raw: Numbers, variance: Numbers) -> Numbers:
    """Return the logarithm of the mean exponential of a normally distributed sum."""
    return raw + variance / 2


def _adjust_log_odds(raw: Numbers, variance: Numbers) -> Numbers:
    """Return the log-odds of the mean probability of a normally distributed sum: MacKay's approximation."""
    return np.asarray(raw / np.sqrt(1 + np.pi / 8 * variance))


def _adjust_class_scores(raw: Numbers, variance: Numbers) -> Numbers:
    """Return the same for many classes; only the differences of their scores matter, so they are centred."""
    return _adjust_log_odds(raw - raw.mean(axis=1, keepdims=True), variance)


def _log_odds(y: Numbers, weight: Numbers | None) -> Numbers:
    probability = np.clip(_mean(y, weight), _MIN_PROBABILITY, 1 - _MIN_PROBABILITY)
    return np.asarray(np.log(probability) - np.log1p(-probability))


def _sigmoid(raw: Numbers) -> Numbers:
    probability = expit(raw[:, 0])
    return np.column_stack([1 - probability, probability])


def _binary_loss(y: Numbers, raw: Numbers) -> Numbers:
    return np.asarray(np.logaddexp(0, raw[:, 0]) - y * raw[:, 0])


def _log_frequencies(n_classes: int) -> Callable[[Numbers, Numbers | None], Numbers]:
    def initial(y: Numbers, weight: Numbers | None) -> Numbers:
        counts = np.bincount(y.astype(np.intp), minlength=n_classes)
        if weight is not None:
            counts = np.array([exact_sum(weight[y == k]) for k in range(n_classes)])
        return np.asarray(np.log(np.maximum(counts / counts.sum(), _MIN_PROBABILITY)))

    return initial


def _softmax(raw: Numbers) -> Numbers:
    return np.asarray(softmax(raw, axis=1))


def _multiclass_loss(y: Numbers, raw: Numbers) -> Numbers:
    return np.asarray(-log_softmax(raw, axis=1)[np.arange(len(y)), y.astype(np.intp)])


def _proportions(raw: Numbers) -> Numbers:
    """Return probabilities that are estimated one by one, so that they are not negative and add up to 1."""
    found = np.maximum(raw, 0)
    total = found.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(found, total, out=np.full_like(found, 1 / found.shape[1]), where=total > 0))


#: Links by name. "logit" predicts both classes, "expit" a number; the last two are those of models of other libraries.
LINKS = {
    link.name: link
    for link in (
        Link("identity", _identity),
        Link("log", _exponential, _adjust_logarithm),
        Link("logit", _sigmoid, _adjust_log_odds),
        Link("expit", expit, _adjust_log_odds),
        Link("softmax", _softmax, _adjust_class_scores),
        Link("sigmoid_each", expit, _adjust_log_odds),
        Link("probability", _proportions),
    )
}
