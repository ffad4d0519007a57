"""What both forests do: the flow from a table to trees, and from rows to the mean of their answers."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tritree import _core
from tritree.checks import check_max_features, check_number, check_truth, check_verbose, random_source
from tritree.encoder import TableEncoder, column_errors
from tritree.errors import warn_caller
from tritree.estimators.forest.members import Members, Table, each
from tritree.estimators.forest.viewing import ViewableForest
from tritree.parameters import Parameters, check_int, count_threads
from tritree.progress import bar
from tritree.table import read_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BaseTrinaryForest"]

_NO_LIMIT = 2**62


class BaseTrinaryForest(ViewableForest):
    """What both estimators share; the subclass reads the response."""

    _criteria: ClassVar[tuple[str, ...]]

    @property
    def _trees(self) -> Members:
        return self._members

    def _read_response(self, y: Any, n_rows: int) -> tuple[NDArray[Any] | None, NDArray[Any]]:
        raise NotImplementedError

    def _score_of(self, y: NDArray[Any], values: NDArray[np.float64]) -> float:
        raise NotImplementedError

    def _checked_parameters(self) -> Parameters:
        parameters = Parameters.of(self)
        parameters.check(self._criteria)
        check_int("n_estimators", self.n_estimators, 1)
        check_int("max_third_nodes", self.max_third_nodes, 0)
        check_truth("bootstrap", self.bootstrap)
        check_truth("oob_score", self.oob_score)
        check_verbose(self.verbose)
        if self.max_samples is not None:
            check_number("max_samples", self.max_samples, 0, 1, open_below=True)
            if not self.bootstrap:
                raise ValueError(
                    f"max_samples={self.max_samples!r} is a share of the rows to draw, and bootstrap=False draws none; "
                    "set bootstrap=True, or max_samples=None"
                )
        check_max_features(self.max_features, ("sqrt", "log2"))
        if self.oob_score and not self.bootstrap:
            raise ValueError("oob_score needs rows that a tree has not seen; set bootstrap=True")
        return parameters

    def _share_of(self, n_columns: int) -> float:
        """Return the share of columns that a split may use."""
        if isinstance(self.max_features, str):
            n = math.sqrt(n_columns) if self.max_features == "sqrt" else math.log2(n_columns)
            return max(1, int(n)) / n_columns
        return float(self.max_features)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        parameters = self._checked_parameters()
        table = read_table(X)
        encoder, columns = TableEncoder.fit(table, self.categorical_features)
        classes, response = self._read_response(y, table.n_rows)
        weight = self._weigh(classes, response, sample_weight)
        n_threads = count_threads(self.n_jobs)
        with column_errors(encoder):
            codes = _core.Codes(columns, encoder.n_categories, parameters.n_bins, n_threads)
        shared = Table(codes, response, weight)
        n_classes = 0 if classes is None else len(classes)
        seeds = random_source(self.random_state).randint(1, 2**31 - 1, size=int(self.n_estimators))
        bags = _Bags(seeds, table.n_rows, self._drawn(table.n_rows), weight)
        share = self._share_of(table.n_columns)

        def grow(number: int) -> _core.Model:
            settings = parameters.settings(
                n_classes,
                max_features=share,
                seed=int(seeds[number]),
                max_grown=min(int(self.max_third_nodes), _NO_LIMIT),
            )
            return _core.Model(codes, response, weight, settings, 1, bags.rows(number))

        models: list[_core.Model] = []
        outside = None
        try:
            with bar(self.n_estimators, "trees", shown=bool(self.verbose)) as show:
                for model in each([partial(grow, number) for number in range(self.n_estimators)], n_threads):
                    models.append(model)
                    show()
            if self.oob_score:
                outside = self._ask_out_of_bag(models, columns, bags, n_threads)
        except KeyboardInterrupt:  # the trees so far are good, as those of boosting are
            if models:
                self._take_over(models, shared, encoder, classes)
            raise
        # nothing is assigned before this line, so that a fit that failed leaves an earlier one as it was
        self._take_over(models, shared, encoder, classes)
        if outside is not None:
            self._keep_out_of_bag(outside)
            seen = ~np.isnan(outside[:, 0])
            self.oob_score_ = self._score_of(response[seen], outside[seen])
        return self

    def _take_over(
        self, models: list[_core.Model], shared: Table, encoder: TableEncoder, classes: NDArray[Any] | None
    ) -> None:
        """Have these trees from now on."""
        can_grow = any(not model.is_detached for model in models)
        self._members = Members(models, shared if can_grow else None)
        self._told_cut_short = False
        self._remember(encoder, classes)
        for of_before in ("oob_score_", "oob_prediction_", "oob_decision_function_"):
            self.__dict__.pop(of_before, None)

    def _drawn(self, n_rows: int) -> int | None:
        """Return how many rows are drawn for a tree; None if it takes all of them."""
        if not self.bootstrap:
            return None
        return n_rows if self.max_samples is None else max(1, round(self.max_samples * n_rows))

    def _ask_out_of_bag(
        self, models: list[_core.Model], columns: list[Any], bags: _Bags, n_threads: int
    ) -> NDArray[np.float64]:
        """Return what the trees that have not seen a row say of it; NaN where all have."""
        total = np.zeros((bags.n_rows, max(1, int(models[0].settings["n_classes"]))))
        count = np.zeros(bags.n_rows, dtype=np.int64)

        def ask(number: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
            rows = bags.left_out(number)
            some = [np.ascontiguousarray(column[rows]) for column in columns]
            return rows, models[number].predict(some, len(rows), 1)

        for rows, values in each([partial(ask, number) for number in range(self.n_estimators)], n_threads):
            total[rows] += values
            count[rows] += 1
        if not (seen := count > 0).any():
            raise ValueError(
                "every row was drawn for every tree, so that there is no out-of-bag prediction; raise n_estimators, "
                "lower max_samples, or set oob_score=False"
            )
        if not seen.all():
            warn_caller(
                f"{np.count_nonzero(~seen):,} rows were drawn for every tree and have no out-of-bag prediction; "
                "raise n_estimators"
            )
        with np.errstate(invalid="ignore"):
            return np.asarray(total / count[:, None])

    def _keep_out_of_bag(self, answers: NDArray[np.float64]) -> None:
        raise NotImplementedError

    def _values(self, X: Any) -> NDArray[np.float64]:
        columns, n_rows, n_threads = self._encode(X)
        with column_errors(self._encoder):
            values = self._members.predict(columns, n_rows, n_threads)
        self._tell_cut_short()
        return values

    def save(self, path: Any, *, training_rows: bool | None = None) -> None:
        """Write the fitted forest to a file that `tritree.load` reads without running code.

        The file is put in its place when it is whole, so that a crash leaves the old one.

        Parameters
        ----------
        path : str or path-like
            Where to write; a file that is there is replaced.
        training_rows : bool or None, default=None
            Whether the file holds the training rows, coded, so that trees go on growing after loading. None keeps them
            if they are there. Without them the file shows no training row, but a third branch that was not
            grown answers with its node's value: call `grow_for` before.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from sklearn.datasets import load_diabetes
        >>> from tritree import TrinaryForestRegressor, load
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = TrinaryForestRegressor(n_estimators=5, random_state=0).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     forest.save(Path(folder, "model.tritree"))
        ...     load(Path(folder, "model.tritree")).n_estimators
        5
        """
        from tritree.estimators.forest.files import save

        check_is_fitted(self)
        if training_rows is False and not self._members.is_detached:
            self._tell_nothing_grown("file")
        save(self, path, training_rows=training_rows)

    def _restore(self, fields: Any, arrays: Any, encoder: TableEncoder, n_classes: int) -> None:
        """Take over the trees of a model file."""
        from tritree.estimators.forest.files import restore_members

        self._members = restore_members(fields, arrays, encoder, n_classes)
        self._told_cut_short = False


class _Bags:
    """The rows that each tree is grown from, drawn anew whenever they are asked for."""

    def __init__(
        self, seeds: NDArray[Any], n_rows: int, n_drawn: int | None, weight: NDArray[np.float64] | None
    ) -> None:
        self._seeds, self.n_rows, self._n_drawn = seeds, n_rows, n_drawn
        self._weighs = None if weight is None else weight > 0

    def rows(self, number: int) -> NDArray[np.uint32] | None:
        """Return the rows of a tree in their order, those drawn twice twice; None if it takes all of them."""
        if self._n_drawn is None:
            return None
        random = np.random.RandomState(self._seeds[number])
        while True:
            rows = np.sort(random.randint(0, self.n_rows, size=self._n_drawn).astype(np.uint32))
            if self._weighs is None or self._weighs[rows].any():  # a tree needs a row that counts
                return rows

    def left_out(self, number: int) -> NDArray[np.intp]:
        """Return the rows that a tree has not seen."""
        seen = np.zeros(self.n_rows, dtype=bool)
        rows = self.rows(number)
        if rows is not None:
            seen[rows] = True
        return np.flatnonzero(~seen)
