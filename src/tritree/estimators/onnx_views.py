"""Export to ONNX, the same for single trees, ensembles and the trees of ensembles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from tritree.encoder import column_errors
from tritree.errors import warn_caller
from tritree.estimators.fitted_state import on_snapshot
from tritree.output_files import check_output_path, write_atomically
from tritree.validation import check_int

if TYPE_CHECKING:
    from onnx import ModelProto

    from tritree.estimators.export import Exporter
    from tritree.estimators.growing_model import CoreTable, GrowingModel


class OnnxViews:
    """The export to ONNX."""

    #: How a smaller model is fitted, for messages.
    _size_remedy: str

    def _exporter(self) -> Exporter:
        """Return what grows third branches for an export."""
        raise NotImplementedError

    def _encode_rows(self, X: Any) -> CoreTable:
        """Return a table to predict as the core takes it."""
        raise NotImplementedError

    def _with_model(self, model: GrowingModel) -> Self:
        """Return a copy with other trees."""
        raise NotImplementedError

    def _to_onnx(self) -> ModelProto:
        """Return the trees as they are now as an ONNX model."""
        raise NotImplementedError

    @on_snapshot
    def to_onnx(
        self, path: Any = None, *, rows: Any = None, max_nodes: int | None = None
    ) -> ModelProto | None:
        """Return the model as an ONNX model, which onnxruntime and others run without Python, or write it to a file.

        An ONNX model cannot grow. Third branches are grown before, in a copy of the model: those that ``rows`` need. If
        ``rows`` is None, a single tree is grown in full if that takes at most 100,000 nodes; otherwise branches are
        grown that training rows need with their own missing values, with each column missing in turn, and with a fifth
        of the values missing. A row that reaches an ungrown branch gets the value of the node above it, as from a
        detached model; an `UngrownExportWarning` says how much that matters.

        If no column holds text, the ONNX model has one input ``X``, an array of float64 with NaN for missing values;
        else one input per column, named as the column: float64 or text of shape (rows, 1). ONNX has no missing text: an
        empty string stands for it, or ``_`` if the empty string is a category; the description of the input says which.
        Outputs are ``prediction``, or ``label`` and ``probabilities``. Needs the package onnx
        (``pip install tritree[onnx]``).

        Parameters
        ----------
        path : str or path-like, default=None
            Path of the file; an existing file is replaced. If None, the ONNX model is returned.
        rows : table of shape (n_rows, n_features_in_), default=None
            Rows with missing values where they are expected. For these rows the ONNX model predicts as `predict` does;
            forests need ``min_missing_third=0`` for that, since an ONNX model cannot divide a row. Branches that a
            sample of the training rows needs with other missing values are grown, too.
        max_nodes : int or None, default=None
            Maximum number of nodes, all trees together; growth stops there (the last rows may exceed it a little). If
            None, growth adds as many nodes as the model has, at least 1,000,000; without ``rows``, half as many, at
            least 200,000.

        Returns
        -------
        onnx.ModelProto or None
            The ONNX model, if ``path`` is None.

        Raises
        ------
        GrowthLimitError
            If the model has more than ``max_nodes`` nodes before anything is grown.
        ValueError
            If ONNX cannot express the model: with ``missing="fractional"``, with paths of more than 1,000 comparisons,
            with integers from 2**63 on as classes, or with text that is not valid Unicode.

        Notes
        -----
        Means, and sums over boosted trees, are the same to the last bit; exponentials and probabilities of boosting may
        differ in the last digits. A label that is not a category of an ordered column, which ``predict`` refuses, is
        missing to the ONNX model, and ``unknown_category="error"`` cannot be expressed: unknown categories carry no
        information. onnxruntime turns None into the text "None"; pass the text for missing values instead.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from tritree import TrinaryBoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = TrinaryBoostingRegressor().fit(X, y)
        >>> rows = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)  # doctest: +SKIP
        >>> model.to_onnx("diabetes.onnx", rows=rows)  # doctest: +SKIP
        """
        import tritree.inspection.onnx  # noqa: F401 - fails before anything is grown

        check_int("max_nodes", max_nodes, 1, or_none="as many as the model needs")
        place = None if path is None else check_output_path(path, "the ONNX model")  # before the work is done
        exporter = self._exporter()
        with column_errors(exporter.encoder):
            table = None if rows is None else self._encode_rows(rows)
            grown, warning = exporter.grown(table, max_nodes, self._size_remedy)
        exported = self._with_model(grown)._to_onnx()
        if warning is not None:
            warn_caller(warning)
        if place is None:
            return exported
        write_atomically(place, exported.SerializeToString())
        return None
