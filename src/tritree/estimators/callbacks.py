"""scikit-learn's callbacks, where the installed version has them: one task per boosting iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CallbackSupport", "FitCallbacks", "with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:  # before 1.9

    class CallbackSupport:  # type: ignore[no-redef]
        """An estimator without callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method unchanged."""
        return method


class FitCallbacks:
    """Calls the callbacks of an estimator during a fit; ``fitted`` returns the attributes of the estimator so far."""

    def __init__(
        self, estimator: Any, max_iter: int, X: Any, y: Any, fitted: Callable[[], dict[str, Any]]
    ) -> None:
        self._task = {"estimator": estimator, "X": X, "y": y}
        self._fitted = fitted
        self._fit: Any = None
        if getattr(estimator, "_skl_callbacks", None) or hasattr(estimator, "_parent_callback_ctx"):
            self._fit = estimator._init_callback_context(max_subtasks=max_iter)
            self._fit.call_on_fit_task_begin(**self._task)

    def run(self, task: Callable[[], None]) -> bool:
        """Run an iteration; return whether a callback asks to stop after it."""
        if self._fit is None:
            task()
            return False
        iteration = self._fit.subcontext(task_name="iteration")
        iteration.call_on_fit_task_begin(**self._task)
        task()
        return bool(iteration.call_on_fit_task_end(**self._task, reconstruction_attributes=self._fitted))

    def end(self) -> None:
        """Call the callbacks at the end of the fit."""
        if self._fit is not None:
            self._fit.call_on_fit_task_end(**self._task, reconstruction_attributes=self._fitted)
