"""What a fit produces, as one object: threads see all of it or nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from tritree.encoder import TableEncoder
    from tritree.estimators.growing_model import GrowingModel

__all__ = ["FittedState", "check_same_classes", "fitted_attribute", "on_snapshot"]

E = TypeVar("E")
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class FittedState:
    """The result of one fit. It is replaced as a whole, so that nobody sees parts of two fits."""

    model: GrowingModel
    encoder: TableEncoder
    #: None in regression.
    classes: NDArray[Any] | None
    #: The parameters of the estimator in `fit`; they may have been changed since.
    params: Mapping[str, Any]
    #: Attributes of the estimator that model files do not hold, by name: those of out-of-bag and validation scores.
    attributes: Mapping[str, Any]
    #: Of the model file that it was loaded from.
    metadata: dict[str, Any] = field(default_factory=dict)


def on_snapshot(method: Callable[Concatenate[E, P], R]) -> Callable[Concatenate[E, P], R]:
    """Run a method on a snapshot of the estimator, which another thread that calls `fit` does not change."""

    @wraps(method)
    def run(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return method(self._snapshot(), *args, **kwargs)

    return run


def fitted_attribute(name: str, doc: str) -> property:
    """Return a property for an attribute of the fitted state; it raises an AttributeError if there is none."""

    def get(self: Any) -> Any:
        try:
            return self._fitted.attributes[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}") from None

    return property(get, doc=doc)


def check_same_classes(classes: NDArray[Any] | None, before: NDArray[Any] | None) -> None:
    """Raise a ValueError if y has other classes than in the fit that warm_start continues."""
    if classes is not None and before is not None and not np.array_equal(classes, before):
        raise ValueError(
            "warm_start continues with the classes of the first fit, and y has others; set warm_start=False"
        )
