"""The base of all estimators: from tables to fitted trees, and from rows to predictions."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tritree import _core
from tritree.encoder import MAX_CATEGORIES, EncoderOptions, TableEncoder, column_errors
from tritree.estimators.encoded_rows import EncodedRows
from tritree.estimators.fitted_state import FittedState
from tritree.estimators.growing_model import warn_of_ungrown
from tritree.estimators.saving import SavingMixin
from tritree.out_of_core.batches import find_batches
from tritree.table import read_matrix, read_table
from tritree.target import (
    apply_class_weight,
    check_sample_weight,
    check_weight_limit,
)
from tritree.validation import (
    MAY_CHANGE_AFTER_FIT,
    UNKNOWN_CATEGORY_OPTIONS,
    check_choice,
    check_int,
    count_threads,
    validate,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tritree.estimators.growing_model import GrowingModel
    from tritree.out_of_core.batches import Batches

__all__ = ["TrinaryEstimator"]


class TrinaryEstimator(SavingMixin, BaseEstimator):  # type: ignore[misc]
    """Base of trees, forests and boosting; a subclass grows its kind of trees in ``_fit``."""

    #: The parameters with their checks.
    _allowed: ClassVar[Mapping[str, Callable[[str, Any], None]]]
    #: Arguments that `fit` has in other libraries, and what to do instead.
    _argument_hints: ClassVar[Mapping[str, str]] = {}
    #: Largest target of regression, and largest weight, of which all sums stay finite.
    _max_target: ClassVar[float] = np.inf
    _max_weight: ClassVar[float] = np.inf
    #: Whether training takes a row-major copy of the bins.
    _bins_rows: bool = False
    #: Attributes of the fitted state that are always there.
    _default_attributes: ClassVar[dict[str, Any]] = {}

    _fitted_state: FittedState

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted_state" in vars(self)

    @property
    def _fitted(self) -> FittedState:
        try:
            return self._fitted_state
        except AttributeError:
            check_is_fitted(self)
            raise

    # what a method reads of these belongs to one fit only if it runs on a snapshot

    @property
    def _model(self) -> GrowingModel:
        return self._fitted.model

    @property
    def _encoder(self) -> TableEncoder:
        return self._fitted.encoder

    @property
    def _fit_params(self) -> Mapping[str, Any]:
        return self._fitted.params

    def _snapshot(self) -> Self:
        """Return a shallow copy: the same fitted state, whatever other threads fit meanwhile."""
        snapshot = object.__new__(type(self))
        snapshot.__dict__ = self.__dict__.copy()
        return snapshot

    @property
    def n_features_in_(self) -> int:
        """Number of columns seen in `fit`."""
        return self._fitted.encoder.n_inputs

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns seen in `fit`; only if the table has column names."""
        if (names := self._fitted.encoder.input_names) is None:
            raise AttributeError("the table of fit had no column names")
        return np.asarray(names, dtype=object)

    @property
    def metadata_(self) -> dict[str, Any]:
        """Metadata of the model file that the estimator was loaded from; empty after `fit`."""
        return self._fitted.metadata

    def _params(self) -> dict[str, Any]:
        """Return the parameters as they are now; `get_params` reads the signature anew each time, which is slow."""
        return {name: getattr(self, name) for name in self._allowed}

    def _validate_params(self) -> None:
        """Raise a ValueError that names the first parameter with a wrong value."""
        validate(self._params(), self._allowed)

    def _changed_param(self, before: Mapping[str, Any]) -> str | None:
        """Return the first parameter that the model depends on and that is not as it was ``before``, in `fit`."""
        params = self._params()
        names = sorted(params.keys() - MAY_CHANGE_AFTER_FIT)
        return next((name for name in names if not _equal(params[name], before[name])), None)

    def _state_to_continue(self, size: str, unit: str) -> FittedState | None:
        """Return the fitted state that warm_start continues up to the parameter ``size``; None to start anew."""
        if not self.warm_start or not self.__sklearn_is_fitted__():
            return None
        fitted = self._fitted
        if (name := self._changed_param(fitted.params)) is not None:
            raise ValueError(
                f"warm_start continues with the trees of the first fit, which had {name}={fitted.params[name]!r}; "
                f"set it again, or set warm_start=False to start anew with {getattr(self, name)!r}"
            )
        if (requested := getattr(self, size)) < (n_fitted := fitted.model.n_iterations):
            raise ValueError(
                f"{size}={requested} is less than the {n_fitted} {unit} of the fitted model, which warm_start "
                "continues; raise it, or set warm_start=False to start anew"
            )
        return fitted

    # ---- fitting

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, scratch: Any = None, **unknown: Any) -> Self:
        """Fit the estimator to a training table.

        Branches are grown as far as a binary tree would have them; third branches grow on demand. Ctrl-C keeps the
        trees that a forest has so far; a single tree stays as it was.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            A NumPy array, a frame of pandas, polars or pyarrow, or anything else that narwhals reads. A table larger
            than memory is read batch by batch: the path of Parquet files, a dataset of pyarrow, a lazy frame of polars,
            or an iterable of frames.
        y : array-like of shape (n_rows,) or str
            The target: finite numbers in regression, class labels of one type in classification. The name of its
            column if the table is read batch by batch; likewise ``sample_weight``.
        sample_weight : array-like of shape (n_rows,) or str, default=None
            Sample weights. If None, all samples have equal weight. Weights below about 1e-12 of the
            largest count as zero. They do not change which rows a forest draws.
        scratch : str or path-like, default=None
            A folder for temporary files that hold the binned table instead of memory, if it is read batch by batch: a
            byte per cell, two if a column has more than 255 bins. They have no names, so nothing is left of them,
            however the process ends. The model is the same.
        **unknown : dict
            Nothing else is accepted.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._refuse_arguments(unknown)
        with self._fitting() as work:
            work._fit(X, y, sample_weight, scratch)
        return self

    @contextmanager
    def _fitting(self) -> Iterator[Self]:
        """Return a snapshot to fit, whose parameters nobody changes, and take over its fitted state, also of Ctrl-C."""
        work, before = self._snapshot(), vars(self).get("_fitted_state")
        try:
            yield work
        finally:
            if (fitted := vars(work).get("_fitted_state")) is not None and fitted is not before:
                self._fitted_state = fitted

    def _refuse_arguments(self, unknown: Mapping[str, Any]) -> None:
        """Raise a TypeError that names the first of the unknown arguments of `fit`, if there are any."""
        for name in unknown:
            hint = f"; {self._argument_hints[name]}" if name in self._argument_hints else ""
            raise TypeError(f"{type(self).__name__}.fit() got an unexpected keyword argument {name!r}{hint}")

    def _fit(self, X: Any, y: Any, sample_weight: Any, scratch: Any) -> None:
        raise NotImplementedError

    def _growth_parameters(
        self, encoder: TableEncoder, classes: NDArray[Any] | None, seed: int = 0
    ) -> _core.GrowthParameters:
        """Return how the core grows the trees."""
        raise NotImplementedError

    def _read_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any] | None, NDArray[Any]]:
        """Return the classes (None in regression), and the target as numbers."""
        raise NotImplementedError

    def _read_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        encoder: TableEncoder | None = None,
        needs_rows: str | None = None,
        scratch: Any = None,
    ) -> tuple[TableEncoder, NDArray[Any] | None, EncodedRows]:
        """Return the encoding of the columns, the classes and the rows of a training table.

        If an encoder is given, it is applied instead of fitting a new one. ``needs_rows`` names a parameter that needs
        the rows themselves, not just their bins.
        """
        if (batches := find_batches(X, may_be_lazy=isinstance(y, str))) is not None:
            if needs_rows := "warm_start=True" if encoder is not None else needs_rows:
                raise ValueError(
                    f"{needs_rows} needs the training table in memory, and {batches.name} is read batch by batch; "
                    "leave it out, or pass a frame"
                )
            return self._read_batches(batches, y, sample_weight, scratch)
        if scratch is not None:
            raise ValueError(
                "scratch is for tables that are read batch by batch, and X is in memory; leave it out"
            )
        table = read_table(X)
        columns: Sequence[Any]
        if encoder is None:
            encoder, columns = TableEncoder.fit(table, self._encoder_options())
        else:
            columns = encoder.encode(table, type(self).__name__)
        classes, target = self._read_target(y, table.n_rows)
        return (
            encoder,
            classes,
            EncodedRows(columns, target, self._read_weights(classes, target, sample_weight)),
        )

    def _read_batches(
        self, batches: Batches, y: Any, sample_weight: Any, scratch: Any
    ) -> tuple[TableEncoder, NDArray[Any] | None, EncodedRows]:
        """Return the same of a table that is read batch by batch, whose rows are binned at once."""
        from tritree.out_of_core.training import TrainingBatches

        training = TrainingBatches(
            batches,
            y,
            sample_weight,
            n_threads=count_threads(self.n_jobs),
            show_progress=bool(getattr(self, "verbose", False)),
            scratch=None if scratch is None else _core.Scratch(os.fspath(scratch)),
            also_rows=self._bins_rows,
        )
        encoder, target, weights = training.learn(self._encoder_options())
        classes, values = target.read(self._read_target)
        weight = self._read_weights(classes, values, weights.values() if weights else None)
        return encoder, classes, EncodedRows((), values, weight, training.bin(encoder, self._max_bins()))

    def _max_bins(self) -> int:
        return MAX_CATEGORIES if self.max_bins is None else int(self.max_bins)

    def _encoder_options(self) -> EncoderOptions:
        return EncoderOptions(
            self.categorical_features, bool(self.parse_dates), self.date_parts, bool(self.drop_identifiers)
        )

    def _read_weights(
        self, classes: NDArray[Any] | None, target: NDArray[Any], sample_weight: Any
    ) -> NDArray[np.float64] | None:
        """Return the sample weights times the class weights; None if all rows have equal weight."""
        weight, subject = check_sample_weight(sample_weight, len(target)), "sample_weight"
        if classes is not None and self.class_weight is not None:
            subject = "class_weight" if weight is None else "class_weight times sample_weight"
            labels = classes[target.astype(np.intp)]
            weight = apply_class_weight(self.class_weight, classes, labels, weight)
        if weight is not None:
            check_weight_limit(weight, subject, self._max_weight, type(self).__name__)
        return weight

    def _bin(self, rows: EncodedRows, encoder: TableEncoder, n_threads: int) -> _core.BinnedColumns:
        if rows.binned is not None:
            return rows.binned
        # a table that warm_start continues with may lack columns
        columns = [
            learned.all_missing(len(rows)) if column is None else column
            for learned, column in zip(encoder.columns, rows.columns, strict=True)
        ]
        with column_errors(encoder):
            return _core.BinnedColumns(columns, encoder.n_categories, self._max_bins(), n_threads)

    def _set_fitted(
        self,
        model: GrowingModel,
        encoder: TableEncoder,
        classes: NDArray[Any] | None,
        metadata: dict[str, Any] | None = None,
        /,
        **attributes: Any,
    ) -> None:
        """Replace the fitted state; called last, so that a fit that fails changes nothing."""
        attributes = self._default_attributes | attributes
        self._fitted_state = FittedState(model, encoder, classes, self._params(), attributes, metadata or {})

    # ---- prediction

    def _encode(self, X: Any, encoder: TableEncoder) -> tuple[_core.Columns, int, int]:
        """Return a table to predict as the core takes it: its columns, the number of rows and of threads."""
        n_threads = count_threads(self.n_jobs)
        check_choice("unknown_category", self.unknown_category, UNKNOWN_CATEGORY_OPTIONS)
        matrix = read_matrix(X, encoder.column_names, len(encoder.columns)) if encoder.is_numeric else None
        if matrix is not None:
            return matrix, len(matrix), n_threads
        table = read_table(X)
        columns = encoder.encode(table, type(self).__name__, refuse_unknown=self.unknown_category == "error")
        return columns, table.n_rows, n_threads

    def _call_model(self, fitted: FittedState, method: str, X: Any) -> Any:
        """Return the result of a method of the model for a table, and warn if rows reached ungrown branches."""
        request = self._encode(X, fitted.encoder)
        with column_errors(fitted.encoder):
            found = getattr(fitted.model, method)(*request)
        warn_of_ungrown(fitted.model)
        return found

    def _predict_values(self, fitted: FittedState, X: Any) -> NDArray[np.float64]:
        """Return the predicted numbers, in one column, or the probability of each class."""
        values: NDArray[np.float64] = self._call_model(fitted, "predict", X)[0]
        return values

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the index of the node that each row ends in.

        Parameters
        ----------
        X : table of shape (n_rows, n_features_in_)
            Rows, with or without missing values.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_trees)
            Node indices, with one column per tree for forests and boosting. With ``missing="fractional"``, the leaf
            that the largest part of the row reaches.

        Notes
        -----
        A node keeps its index. Indices depend on the order in which branches were grown, so that two trees with the
        same predictions may number their nodes differently.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryTreeRegressor
        >>> X = np.arange(100.0)[:, None]
        >>> tree = TrinaryTreeRegressor(max_depth=1).fit(X, X[:, 0] >= 30)
        >>> leaves = tree.apply([[10.0], [90.0]])
        >>> leaves
        array([1, 2], dtype=int32)
        >>> tree.tree_.value[leaves, 0]
        array([0., 1.])
        """
        nodes: NDArray[np.int32] = self._call_model(self._fitted, "apply", X)
        return nodes

    # ---- growth on demand

    @property
    def n_nodes_(self) -> int:
        """Number of nodes, all trees together, grown so far."""
        return self._model.n_nodes

    @property
    def n_grown_(self) -> int:
        """Number of nodes that were grown on demand, after fitting."""
        return self._model.n_grown

    @property
    def n_ungrown_hits_(self) -> int:
        """How often a row reached a third branch that could not be grown, and got the value of its node."""
        return self._model.n_ungrown_hits

    def grow_for(self, X: Any) -> Self:
        """Grow the third branches that rows need.

        Rows with the same columns missing are then predicted without growing anything, also after `detach`.

        Parameters
        ----------
        X : table of shape (n_rows, n_features_in_)
            Rows with missing values where they are expected.

        Returns
        -------
        self
            The estimator.

        Raises
        ------
        RuntimeError
            If rows need a branch that is not grown, and the training rows are gone.
        """
        if n := self._grow_for_rows(self._fitted, X):
            raise RuntimeError(
                f"{n:,} {'branch' if n == 1 else 'branches'} that these rows need can no longer be grown: the training "
                "rows are gone (detach(), or a file saved without them); call grow_for() before detach() or save(), or "
                "fit again"
            )
        return self

    def _grow_for_rows(self, fitted: FittedState, X: Any) -> int:
        """Grow the third branches that rows need; return how many of them cannot be grown."""
        request = self._encode(X, fitted.encoder)
        with column_errors(fitted.encoder):
            nodes = fitted.model.apply(*request)
        fitted.model.is_grown_for_rows = True
        if not fitted.model.is_detached or not fitted.model.n_ungrown:
            return 0
        per_tree = nodes.reshape(len(nodes), -1).T
        # a row that needs an ungrown branch ends in the node above it, which is not a leaf
        return sum(
            int(np.count_nonzero(tree.column[np.unique(ends)] >= 0))
            for tree, ends in zip(fitted.model.trees(), per_tree, strict=True)
        )

    def grow_all(self, max_nodes: int = 1_000_000) -> Self:
        """Grow every third branch.

        Predictions do not change. On a terminal, a progress bar is shown if rich is installed; Ctrl-C keeps what was
        grown.

        Parameters
        ----------
        max_nodes : int, default=1_000_000
            Maximum number of nodes, all trees together.

        Returns
        -------
        self
            The estimator.

        Raises
        ------
        GrowthLimitError
            If there would be more than ``max_nodes`` nodes. What was grown stays.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from tritree import TrinaryTreeRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> tree = TrinaryTreeRegressor(max_depth=2).fit(X, y)
        >>> tree.n_nodes_
        7
        >>> tree.grow_all().n_nodes_
        355
        >>> -2 in tree.tree_.third  # nothing is left to grow
        False
        """
        model = self._model
        check_int("max_nodes", max_nodes, 1)
        model.grow_all(max_nodes, count_threads(self.n_jobs))
        return self

    def detach(self) -> Self:
        """Drop the training rows that third branches grow from.

        From now on, a row that reaches an ungrown third branch gets the value of the node above it; the first time,
        an `UngrownBranchWarning` is issued.

        Returns
        -------
        self
            The estimator.

        Examples
        --------
        >>> import pickle
        >>> from sklearn.datasets import load_diabetes
        >>> from tritree import TrinaryTreeRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> tree = TrinaryTreeRegressor(max_depth=2).fit(X, y).grow_all()
        >>> before = len(pickle.dumps(tree))
        >>> len(pickle.dumps(tree.detach())) < before
        True
        """
        self._model.detach()
        return self


def _equal(a: Any, b: Any) -> bool:
    return np.array_equal(np.asarray(a, dtype=object), np.asarray(b, dtype=object))
