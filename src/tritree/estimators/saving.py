"""Saving of estimators to files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tritree.errors import ParameterError, warn_caller
from tritree.estimators.export import Exporter
from tritree.estimators.fitted_state import on_snapshot
from tritree.estimators.stored_rows import StoredRows
from tritree.validation import count_threads

if TYPE_CHECKING:
    from tritree.estimators.base import TrinaryEstimator

__all__ = ["SavingMixin"]


class SavingMixin:
    """The method ``save`` of estimators."""

    @on_snapshot
    def save(
        self: Any,  # a TrinaryEstimator
        path: Any,
        *,
        training_rows: bool | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Save the fitted estimator to a file, which `tritree.load` reads without running code.

        The file is replaced atomically: a crash leaves the old one.

        Parameters
        ----------
        path : str or path-like
            Path of the file; an existing file is replaced.
        training_rows : bool or None, default=None
            Whether to save the binned training rows, from which third branches grow after loading. If None, they are
            saved if there is something left to grow. Without them the file is smaller and holds no row (the value of
            a leaf with few rows still tells their target), but an ungrown third branch predicts the value of the node
            above it: call `grow_for` or `grow_all` before.
        metadata : dict or None, default=None
            Anything to know about the model later, such as where its rows come from: text, numbers, True, False, None,
            lists, and dicts whose keys are text, up to 1,000,000 characters as JSON. `load` returns it as
            ``metadata_``. If None, the metadata of the file that the model was loaded from are kept.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from sklearn.datasets import load_diabetes
        >>> from tritree import TrinaryTreeRegressor, load
        >>> X, y = load_diabetes(return_X_y=True)
        >>> tree = TrinaryTreeRegressor(max_depth=2).fit(X, y).grow_all()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tree.save(Path(folder, "model.tritree"), training_rows=False)
        ...     load(Path(folder, "model.tritree")).n_nodes_
        355
        """
        from tritree.serialization import save

        model = self._model
        if training_rows not in (None, True, False):
            raise ParameterError("training_rows", "True, False or None", training_rows)
        if training_rows and model.is_detached:
            raise ValueError(
                "training_rows=True, but this model has none: its strategy never needs them again, or detach() has "
                "dropped them; use training_rows=False"
            )
        if (name := self._changed_param(self._fit_params)) is not None:
            was, now = self._fit_params[name], getattr(self, name)
            raise ValueError(f"{name} was {was!r} in fit and is {now!r} now; set it back, or fit again")
        if training_rows is False and not model.is_detached:
            _warn_of_ungrown(self)
        save(
            self, path, training_rows=training_rows, metadata=self.metadata_ if metadata is None else metadata
        )


def _warn_of_ungrown(estimator: TrinaryEstimator) -> None:
    """Warn if predictions will deviate noticeably once the training rows are gone."""
    model, encoder = estimator._model, estimator._encoder
    if model.n_ungrown:
        exporter = Exporter(model, encoder, count_threads(estimator.n_jobs))
        warning = exporter.compare(model.copy(), StoredRows(model, encoder), "file")
        if warning is not None:
            warn_caller(warning)
