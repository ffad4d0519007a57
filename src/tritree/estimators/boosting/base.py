"""What both boosting estimators do: the flow from a table to trees, and from rows to their answers."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tritree import _core
from tritree.checks import random_source
from tritree.encoder import TableEncoder, column_errors
from tritree.errors import TargetError
from tritree.estimators.boosting.callbacks import CallbackSupport, FitWatch
from tritree.estimators.boosting.parameters import Parameters
from tritree.estimators.boosting.rounds import Patience, Validation
from tritree.estimators.boosting.training import Rows, relative, said_of
from tritree.estimators.boosting.viewing import ViewableBoosting
from tritree.parameters import THIRD_BRANCHES, count_threads
from tritree.progress import bar
from tritree.table import read_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from tritree.estimators.boosting.losses import Loss

__all__ = ["BaseTrinaryBoosting"]


class BaseTrinaryBoosting(CallbackSupport, ViewableBoosting):  # type: ignore[misc]
    """What both estimators share; the subclass reads the response and knows the loss."""

    _losses: ClassVar[tuple[str, ...]]

    def _read_response(self, y: Any, n_rows: int) -> tuple[NDArray[Any] | None, NDArray[np.float64]]:
        raise NotImplementedError

    def _loss_of(self, parameters: Mapping[str, Any], classes: NDArray[Any] | None) -> Loss:
        """Return the loss that parameters name."""
        raise NotImplementedError

    def _loss_answer(
        self, raw: NDArray[np.float64], doubt: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Return what sums over trees mean, given the variance that what is missing leaves them."""
        # of the fit: parameters may have been set to something else since
        loss = self._loss_of(self._started_with, getattr(self, "classes_", None))
        return loss.answer(loss.settled(raw, doubt))

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, sample_weight_val: Any
    ) -> Self:
        parameters = self._checked_parameters()
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val belong together; give both or neither")
        if X_val is None and sample_weight_val is not None:
            raise ValueError("sample_weight_val weighs the rows of X_val; give X_val and y_val, too")
        n_threads, goes_on = count_threads(self.n_jobs), self.warm_start and hasattr(self, "_ensemble")
        if goes_on:
            parameters.check_goes_on(self._started_with, self.n_iter_)
        # kept for the fits that go on: rows that were set aside must stay so
        seed = self._seed if goes_on else int(random_source(self.random_state).randint(2**31 - 1))
        encoder, classes, rows = self._read(X, y, sample_weight, goes_on=goes_on)
        loss = self._loss_of(parameters.values, classes)
        validation = None
        with column_errors(encoder):
            if X_val is not None:
                validation = Validation(
                    loss, self._read_validation(X_val, y_val, sample_weight_val, encoder, classes)
                )
            elif self.early_stopping not in (False, "auto"):
                rows.check_finite()
                rows, aside = rows.set_aside(self.validation_fraction, seed, by_class=classes is not None)
                validation = Validation(loss, aside)
            booster, ensemble = self._begin(
                encoder,
                rows,
                loss,
                parameters.plan(encoder, seed, is_curved=loss.settle is not None),
                self._ensemble if goes_on else None,
                n_threads,
            )
            if validation is not None:
                with said_of("X_val") if X_val is not None else nullcontext(), column_errors(encoder):
                    validation.check(ensemble, n_threads)
        fitted = {
            "_ensemble": ensemble,
            "_encoder": encoder,
            "_told_cut_short": False,
            "_seed": seed,
            "_started_with": dict(parameters.values),
        }
        if classes is not None:
            fitted["classes_"] = classes
        watch = FitWatch(self, self.max_iter, X, y)
        try:
            self._add_rounds(
                lambda: watch.run(booster.boost, lambda: fitted), ensemble, validation, n_threads
            )
        finally:
            # also if Ctrl-C has ended it: the trees so far are good
            if ensemble.n_trees:
                self.__dict__.update(fitted)
                self.validation_loss_ = None if validation is None else np.array(validation.losses)
                self._remember(encoder, classes)
        watch.end(lambda: fitted)
        return self

    def _checked_parameters(self) -> Parameters:
        parameters = Parameters(self.get_params(deep=False))
        parameters.check(self._losses)
        return parameters

    def _read(
        self, X: Any, y: Any, sample_weight: Any, *, goes_on: bool
    ) -> tuple[TableEncoder, NDArray[Any] | None, Rows]:
        """Return what the training table teaches about columns and classes, and its rows."""
        table = read_table(X)
        classes, response = self._read_response(y, table.n_rows)
        weight = relative(self._weigh(classes, response, sample_weight))
        if goes_on:
            self._check_same_classes(classes)
            return (
                self._encoder,
                classes,
                Rows(self._encoder.encode(table, type(self).__name__), response, weight),
            )
        encoder, columns = TableEncoder.fit(table, self.categorical_features)
        return encoder, classes, Rows(columns, response, weight)

    def _read_validation(
        self, X: Any, y: Any, sample_weight: Any, encoder: TableEncoder, classes: NDArray[Any] | None
    ) -> Rows:
        with said_of("X_val"):
            table = read_table(X)
        with said_of("X_val and y_val"):
            found, numbers = self._read_response(y, table.n_rows)
        if classes is not None and found is not None:
            unknown = [label for label in found.tolist() if label not in classes.tolist()]
            if unknown:
                raise TargetError(
                    f"holds the class {unknown[0]!r}, which y does not",
                    "drop such rows",
                    value=unknown[0],
                    name="y_val",
                )
            numbers = np.searchsorted(classes, found)[numbers.astype(np.intp)].astype(np.float64)
        with said_of("X_val and y_val"):
            weight = self._weigh(classes, numbers, sample_weight)
        with said_of("X_val"):
            columns = encoder.encode(
                table, type(self).__name__, refuse_unknown=self.unknown_category == "error"
            )
        return Rows(columns, numbers, weight)

    def _begin(
        self,
        encoder: TableEncoder,
        rows: Rows,
        loss: Loss,
        plan: _core.Plan,
        ensemble: _core.Ensemble | None,
        n_threads: int,
    ) -> tuple[_core.Booster, _core.Ensemble]:
        """Return what adds rounds, and what it adds them to: a new ensemble, or one that is there."""
        data: Any = rows.columns
        so_far = None
        if ensemble is None:
            data = _core.Codes(rows.columns, encoder.n_categories, int(self.max_bins), n_threads)
            ensemble = _core.Ensemble(data, plan, loss.begin(rows.y, rows.weight).tolist())
            if self.missing in THIRD_BRANCHES:
                ensemble.keep_background(
                    data, rows.weight, min(int(self.background_rows), len(rows)), n_threads
                )
        else:
            n_rounds = ensemble.n_trees // loss.n_outputs
            raw, _ = ensemble.predict(rows.columns, len(rows), 0, n_rounds, n_threads)
            so_far = np.ascontiguousarray(raw.T).ravel()
        pace = float(self.learning_rate), float(self.subsample)
        booster = _core.Booster(
            data, ensemble, loss.name, loss.quantile, rows.y, rows.weight, *pace, so_far, n_threads
        )
        return booster, ensemble

    def _add_rounds(
        self,
        boost: Callable[[], bool],
        ensemble: _core.Ensemble,
        validation: Validation | None,
        n_threads: int,
    ) -> None:
        """Add rounds until there are enough, or until they help no more; ``boost`` says when to stop, too."""
        first = ensemble.n_trees // ensemble.n_outputs
        patience = Patience(int(self.n_iter_no_change), float(self.tol))
        stops_early = validation is not None and bool(self.early_stopping)
        with bar(max(self.max_iter - first, 0), "rounds", shown=bool(self.verbose)) as show:
            for done in range(first + 1, self.max_iter + 1):
                stop = boost()
                show()
                if validation is not None:
                    lost = validation.measure(ensemble, done, n_threads)
                    stop |= stops_early and patience.is_over(lost, done)
                if stop:
                    break
        if stops_early and patience.best_round:
            ensemble.keep_rounds(patience.best_round)

    def _check_same_classes(self, classes: NDArray[Any] | None) -> None:
        if classes is not None and not np.array_equal(classes, self.classes_):
            raise ValueError(
                "warm_start goes on with the classes of the first fit, and y has others; set warm_start=False"
            )

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if "_ensemble" in state:
            state = state | {"_ensemble": self._ensemble.state(with_background=True)}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(state.get("_ensemble"), dict):
            state = state | {"_ensemble": _core.Ensemble.from_state(state["_ensemble"])}
        super().__setstate__(state)

    @property
    def n_iter_(self) -> int:
        """Rounds that were kept."""
        check_is_fitted(self)
        return self._ensemble.n_trees // self._ensemble.n_outputs

    @property
    def _trees(self) -> _core.Ensemble:
        return self._ensemble

    def _sums(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Return the sums over trees, and the variance that what is missing leaves them if it matters."""
        columns, n_rows, n_threads = self._encode(X)
        with column_errors(self._encoder):
            found = self._ensemble.predict(columns, n_rows, 0, self.n_iter_, n_threads)
        self._tell_cut_short()
        return found

    def _staged_answers(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield what the sums over the trees of the first rounds mean."""
        columns, n_rows, n_threads = self._encode(X)
        raw: Any = 0
        doubt: Any = None
        for done in range(self.n_iter_):
            with column_errors(self._encoder):
                more, open_more = self._ensemble.predict(columns, n_rows, done, done + 1, n_threads)
            raw = raw + more
            doubt = open_more if doubt is None or open_more is None else doubt + open_more
            yield self._loss_answer(raw, doubt)

    def save(self, path: Any, *, background_rows: bool | None = None) -> None:
        """Write the fitted estimator to a file that `tritree.load` reads without running code.

        The file is put in its place when it is whole, so that a crash leaves the old one.

        Parameters
        ----------
        path : str or path-like
            Where to write; a file that is there is replaced.
        background_rows : bool or None, default=None
            Whether the file holds the background rows, coded, so that third branches go on growing after loading. None
            keeps them if they are there. Without them the file shows no training row, but a third branch that was
            not grown answers with the mean of its node: call `grow_for` before.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from sklearn.datasets import load_diabetes
        >>> from tritree import TrinaryBoostingRegressor, load
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = TrinaryBoostingRegressor(max_iter=10).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder, "model.tritree"))
        ...     load(Path(folder, "model.tritree")).n_iter_
        10
        """
        from tritree.estimators.boosting.files import save

        check_is_fitted(self)
        if (name := self._checked_parameters().changed(self._started_with)) is not None:
            was, now = self._started_with[name], getattr(self, name)
            raise ValueError(f"{name} was {was!r} in fit and is {now!r} now; set it back, or fit again")
        if background_rows is False and not self._ensemble.is_detached:
            self._tell_nothing_grown("file")
        save(self, path, background=background_rows)

    def _restore(self, fields: Any, arrays: Any, encoder: TableEncoder, n_classes: int) -> None:
        """Take over the trees of a model file."""
        from tritree.estimators.boosting.files import restore_ensemble

        self._ensemble, self._seed = restore_ensemble(fields, arrays, encoder, n_classes)
        self._started_with = self.get_params(deep=False)
        self._told_cut_short = False
        self.validation_loss_ = None
