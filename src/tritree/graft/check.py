"""The proof of a graft: it predicts rows as the source does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import _safe_indexing

from tritree.errors import GraftError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree import _core
    from tritree.graft.columns import GraftColumns
    from tritree.graft.nodes import Nodes
    from tritree.graft.source import SourceModel

__all__ = ["check_complete_rows", "check_predictions"]


def check_predictions(
    source: SourceModel,
    nodes: Nodes,
    core: _core.BoostedModel,
    columns: GraftColumns,
    X: Any,
    n_threads: int,
) -> None:
    """Raise a GraftError if a model with the source's directions predicts background rows otherwise than the source.

    Sums may differ by one float32 ulp of the largest partial sum. A source that does not take missing values is asked
    for complete rows only. Nothing is checked if the source was read from a file.
    """
    if source.raw is None:
        return
    asked, theirs = _ask(source, X, columns)
    if theirs.shape[1] != source.n_outputs:
        raise GraftError(
            f"{source.library} predicts {theirs.shape[1]} numbers for a row, and its trees {source.n_outputs}"
        )
    expected = np.full((columns.n_rows, source.n_outputs), np.nan)
    expected[asked] = theirs
    begin = 0
    for leaves in columns.leaves(core, n_threads):
        rows = np.arange(begin, begin + len(leaves))
        begin += len(leaves)
        differ = _differ(source, nodes.value[leaves + nodes.first], expected[rows])
        if differ.any():
            row, output = np.argwhere(differ)[0]
            ours = core.predict([v[rows[row]][None] for v in columns.values], 1, 0, None, 1)[0][0, output]
            raise _difference(source, columns, rows[row], float(ours), float(expected[rows[row], output]))


def check_complete_rows(
    graft: _core.BoostedModel, as_is: _core.BoostedModel, columns: GraftColumns, n_threads: int
) -> None:
    """Raise a GraftError if a graft predicts complete rows otherwise than a model with the source's directions."""
    complete = np.flatnonzero(~columns.is_missing().any(axis=1))
    rows = [values[complete] for values in columns.values]
    ours, theirs = (model.predict(rows, len(complete), 0, None, n_threads)[0] for model in (graft, as_is))
    if not np.array_equal(ours, theirs):
        row = int(complete[np.argmax((ours != theirs).any(axis=1))])
        raise GraftError(
            f"the graft predicts row {columns.numbers[row]} otherwise than the trees that it is made of",
            "please report this with the model",
        )


def _ask(source: SourceModel, X: Any, columns: GraftColumns) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the background rows that the source predicts, all or the complete ones, and its raw predictions."""
    complete = np.flatnonzero(~columns.is_missing().any(axis=1))
    failure = None
    for asked in (np.arange(columns.n_rows), complete):
        if failure is None or 0 < len(asked) < columns.n_rows:
            try:
                return asked, _raw(source, X, columns.numbers[asked])
            except Exception as error:
                failure = error
    raise GraftError(
        f"{source.library} cannot predict the rows of X: {str(failure).strip()[:300]}",
        "pass a table like the one that the model was fitted to"
        + ("" if len(complete) else ", with some complete rows"),
    ) from failure


def _raw(source: SourceModel, X: Any, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the source's own raw predictions of some rows, whose columns are put into its order."""
    assert source.raw is not None
    names = [column.name for column in source.columns]
    of_frame = list(getattr(X, "columns", ()))
    if all(isinstance(name, str) for name in of_frame) and None not in names and set(names) <= set(of_frame):
        X = X[names]
    found = np.asarray(source.raw(_safe_indexing(X, numbers)), np.float64)
    return found.reshape(len(numbers), -1)


def _differ(
    source: SourceModel, values: NDArray[np.float64], expected: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return where sums of the values of trees differ from those expected, which are NaN where nothing is."""
    n_outputs = source.n_outputs
    baseline = np.broadcast_to(source.baseline, (len(values), n_outputs))
    terms = np.concatenate([baseline, values], axis=1).reshape(len(values), -1, n_outputs)
    sums = np.cumsum(terms, axis=1)
    largest = np.abs(sums).max(axis=1)
    candidates = [sums[:, -1]]
    if source.float32_sums:  # in the order of the trees, with the baseline first or last
        single = terms.astype(np.float32)
        candidates.append(np.cumsum(single, axis=1, dtype=np.float32)[:, -1].astype(np.float64))
        last = np.cumsum(single[:, 1:], axis=1, dtype=np.float32)[:, -1] + single[:, 0]
        candidates.append(last.astype(np.float64))
    # one of float32, if its exponent had no upper limit
    ulp = np.ldexp(1.0, np.frexp(np.maximum(largest, np.finfo(np.float32).tiny))[1] - 24)
    error = np.min([np.abs(candidate - expected) for candidate in candidates], axis=0)
    return np.asarray(np.isfinite(expected) & ~(error <= ulp))


def _difference(
    source: SourceModel, columns: GraftColumns, row: int, ours: float, theirs: float
) -> GraftError:
    """Return the error about a row that the graft predicts otherwise, with the likeliest reason."""
    missing = np.flatnonzero(columns.is_missing()[row])
    if len(missing):
        reason = f"a value of column {columns.encoder.columns[missing[0]].name!r} is missing in it"
    elif None in [column.name for column in source.columns]:
        reason = "the model has no column names, so the columns of X must be in the order of training"
    else:
        reason = "the model may use something that is not read"
    return GraftError(
        f"row {columns.numbers[row]} of X: the trees read from {source.library} add up to {ours!r}, and "
        f"{source.library} itself predicts {theirs!r} on its raw scale ({reason})",
        "pass X as it was in training; if it is, please report this with the model",
    )
