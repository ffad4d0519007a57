"""scikit-learn's callbacks, where the installed version has them: one task per round of boosting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CallbackSupport", "FitWatch", "with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:  # before 1.9

    class CallbackSupport:  # type: ignore[no-redef]
        """What an estimator has without callbacks: nothing."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method as it is."""
        return method


class FitWatch:
    """Tells the callbacks of an estimator of a fit and of its rounds."""

    def __init__(self, estimator: Any, max_iter: int, X: Any, y: Any) -> None:
        self._estimator, self._X, self._y = estimator, X, y
        self._fit: Any = None
        if getattr(estimator, "_skl_callbacks", None) or hasattr(estimator, "_parent_callback_ctx"):
            self._fit = estimator._init_callback_context(max_subtasks=max_iter)
            self._fit.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def run(self, task: Callable[[], None], fitted: Callable[[], dict[str, Any]]) -> bool:
        """Run a round; return whether a callback wants it to be the last.

        ``fitted`` returns the attributes that an estimator with the rounds so far has.
        """
        if self._fit is None:
            task()
            return False
        round_ = self._fit.subcontext(task_name="round")
        about = {"estimator": self._estimator, "X": self._X, "y": self._y}
        round_.call_on_fit_task_begin(**about)
        task()
        return bool(round_.call_on_fit_task_end(**about, reconstruction_attributes=fitted))

    def end(self, fitted: Callable[[], dict[str, Any]]) -> None:
        """Tell that the fit has ended."""
        if self._fit is not None:
            self._fit.call_on_fit_task_end(
                estimator=self._estimator, X=self._X, y=self._y, reconstruction_attributes=fitted
            )
