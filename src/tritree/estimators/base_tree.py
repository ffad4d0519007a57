"""What both estimators do: the flow from a table to a tree, and from rows to its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from tritree import _core
from tritree.encoder import TableEncoder, column_errors
from tritree.estimators.growing_tree import GrowingTree
from tritree.estimators.tabular import TabularEstimator
from tritree.parameters import Parameters, check_int, count_threads
from tritree.table import read_table
from tritree.target import check_sample_weight

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["BaseTrinaryTree"]


class BaseTrinaryTree(TabularEstimator):
    """What both estimators share; the subclass reads the response."""

    _criteria: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        *,
        missing: str = "trinary",
        criterion: str,
        max_depth: int | None = 5,
        min_samples_leaf: int = 20,
        max_bins: int | None = None,
        categorical_features: Any = "from_dtype",
        unknown_category: str = "no_information",
        split_on_missing: bool = True,
        max_surrogates: int = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.missing = missing
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.unknown_category = unknown_category
        self.split_on_missing = split_on_missing
        self.max_surrogates = max_surrogates
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        parameters = self._checked_parameters()
        table = read_table(X)
        encoder, columns = TableEncoder.fit(table, self.categorical_features)
        classes, response = self._read_response(y, table.n_rows)
        weight = check_sample_weight(sample_weight, table.n_rows)
        n_classes = 0 if classes is None else len(classes)
        settings = parameters.settings(n_classes, **self._core_options())
        n_threads = count_threads(self.n_jobs)
        with column_errors(encoder):
            codes = _core.Codes(columns, encoder.n_categories, parameters.n_bins, n_threads)
        model = _core.Model(codes, response, weight, settings, n_threads)

        # nothing is assigned before this line, so that a fit that failed leaves an earlier one as it was
        self._tree = GrowingTree(model)
        self._missing = self.missing
        self._remember(encoder, classes)
        return self

    def _checked_parameters(self) -> Parameters:
        parameters = Parameters.of(self)
        parameters.check(self._criteria)
        return parameters

    def _core_options(self) -> dict[str, Any]:
        """Return growth options of the core that take precedence over the parameters.

        None here: `tritree.lab.paper` overrides this to repeat runs that deviate from the paper's definitions.
        """
        return {}

    def _read_response(self, y: Any, n_rows: int) -> tuple[NDArray[Any] | None, NDArray[Any]]:
        raise NotImplementedError

    def _restore(self, fields: Any, arrays: Any, encoder: TableEncoder, n_classes: int) -> None:
        """Take over the tree of a model file."""
        from tritree.restore import restore_tree

        self._tree, self._missing = restore_tree(fields, arrays, encoder, n_classes)

    def _values(self, X: Any) -> NDArray[np.float64]:
        """Return the values of the rows, one column per output."""
        request = self._encode(X)
        with column_errors(self._encoder):
            return self._tree.predict(*request)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the number of the node each row ends in.

        Parameters
        ----------
        X : table of shape (n_rows, n_features_in_)
            Rows, with holes or without.

        Returns
        -------
        ndarray of shape (n_rows,)
            Indices into the arrays of ``tree_``; under "fractional" the leaf with the largest share of the row.

        Notes
        -----
        A node keeps the number it was given. The numbers depend on the order in which branches were grown, so that
        two trees that predict the same may number their nodes differently.

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
        request = self._encode(X)
        with column_errors(self._encoder):
            return self._tree.apply(*request)

    def get_depth(self) -> int:
        """Return the depth of the tree as it is now: the most left and right turns down to a node."""
        return int(self.tree_.depth.max())

    def get_n_leaves(self) -> int:
        """Return the number of leaves of the tree as it is now."""
        return int((self.tree_.column < 0).sum())

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Each column's share of the reduction of the training loss.

        A split counts with the training rows that really pass through it, third branches included. Rows that come
        to a third branch are only some of those it was grown from, and its splits may raise their loss; a column
        whose splits raise the loss of the rows passing through them, all in all, counts as zero. Computed when it
        is first asked for, because it may have to grow what training rows with holes reach.
        """
        check_is_fitted(self)
        return self._tree.importances(count_threads(self.n_jobs))

    @property
    def tree_(self) -> _core.Tree:
        """The tree as flat arrays, one per field, as it is now."""
        check_is_fitted(self)
        return self._tree.snapshot()

    @property
    def n_nodes_(self) -> int:
        """Nodes of the tree as it is now."""
        check_is_fitted(self)
        return self._tree.model.n_nodes

    @property
    def n_grown_(self) -> int:
        """Nodes that were grown on demand, after fitting."""
        check_is_fitted(self)
        return self._tree.model.n_grown

    def grow_all(self, max_nodes: int = 1_000_000) -> Self:
        """Return the estimator with every third branch grown, reached by a row or not.

        Predictions do not change by it. A progress line shows itself on a terminal if rich is installed; Ctrl-C
        keeps what was grown.

        Parameters
        ----------
        max_nodes : int, default=1_000_000
            The most nodes the tree may get.

        Raises
        ------
        GrowthLimitError
            If the tree would pass ``max_nodes``. What was grown stays.

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
        check_is_fitted(self)
        check_int("max_nodes", max_nodes, 1)
        self._tree.grow_all(max_nodes, count_threads(self.n_jobs))
        return self

    def detach(self) -> Self:
        """Return the estimator without the training rows.

        From now on a third branch that was not grown answers with the value of the node it belongs to; the first
        time that happens an `UngrownBranchWarning` says so.

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
        check_is_fitted(self)
        self._tree.model.detach()
        return self

    def save(self, path: Any, *, training_rows: bool | None = None) -> None:
        """Write the fitted estimator to a file that `tritree.load` reads without running code.

        The file is put in its place when it is whole, so that a crash leaves the old one.

        Parameters
        ----------
        path : str or path-like
            Where to write; a file that is there is replaced.
        training_rows : bool or None, default=None
            Whether the file holds the training rows, coded, so that the tree goes on growing after loading. None
            keeps them if there is something left to grow. Without them the file is smaller and shows no training
            row, but a third branch that was not grown answers with its node's value: call ``grow_all`` before to have
            every branch.

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
        from tritree.files import save

        check_is_fitted(self)
        save(self, path, training_rows)
