"""What-if page of a forest or boosting: the branches that it needs are grown first, in a copy."""

from __future__ import annotations

from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.encoder import MISSING, column_errors
from tritree.errors import GrowthLimitError
from tritree.estimators.losses import LINKS
from tritree.validation import count_threads

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tritree.estimators.ensemble_views import EnsembleViews
    from tritree.estimators.growing_model import CoreTable, GrowingModel
    from tritree.inspection.page_columns import PageColumn
    from tritree.inspection.rows import Rows
    from tritree.inspection.what_if import Ensemble

#: Maximum number of nodes in the page by default.
MAX_NODES = 200_000
_PAIRED = 16  # columns, the most used ones, of which any two are set to missing
_BATCH = 100  # rows that grow together: bounds how far growth goes beyond the limit
_FILLED = 5_000  # rows with a missing value filled


def what_if_page(model: EnsembleViews, names: Sequence[str], rows: Rows | None, max_nodes: int) -> str:
    """Return the page, with these rows to start from."""
    from tritree.inspection.what_if import what_if_to_html

    n_fitted = model._model.n_nodes - model._model.n_grown
    if n_fitted > max_nodes:
        remedy = f"raise max_nodes, {model._size_remedy}, or show one of them: to_html(tree=0)"
        raise GrowthLimitError(n_fitted, max_nodes, remedy, n_trees=model._model.n_trees)
    named = [] if rows is None else list(zip(names, rows.cells, strict=True))
    columns, used = _columns(model, rows)
    tables = [] if rows is None else [(list(rows.columns), rows.n_rows)]
    tables.append(([column.typical_array() for column in columns], 1))
    by_use = sorted(range(len(columns)), key=lambda j: -used.get(j, 0))
    grown = _grown(model, _variants(tables, columns, by_use), max_nodes)
    chosen = _choose_nodes(grown._model, _variants(tables, columns, by_use), max_nodes)
    trees = (
        (grown._describe_for_page(number, arrays), numbers.tolist())
        for number, (arrays, numbers) in enumerate(zip(grown._model.trees(), chosen, strict=True))
    )
    thresholds = _thresholds(grown._model, columns)
    return what_if_to_html(_ensemble(model, grown, tables), trees, thresholds, columns, used, named)


def _thresholds(model: GrowingModel, columns: Sequence[PageColumn]) -> dict[int, NDArray[np.float64]]:
    """Return the thresholds of all trees by column."""
    trees = list(model.trees())
    of = np.concatenate([part for tree in trees for part in (tree.column, tree.surrogate_column)])
    values = np.concatenate([part for tree in trees for part in (tree.threshold, tree.surrogate_threshold)])
    return {j: np.unique(values[(of == j) & np.isfinite(values)]) for j in range(len(columns))}


def _columns(model: EnsembleViews, rows: Rows | None) -> tuple[list[PageColumn], dict[int, int]]:
    """Return the columns of the page, and the number of fitted splits on each."""
    from tritree.inspection.page_columns import page_columns

    described = [
        (model._describe_for_page(number, tree), tree.n_fitted)
        for number, tree in enumerate(model._model.trees())
    ]
    nodes = [(tree["nodes"], range(n_fitted)) for tree, n_fitted in described]
    return page_columns(described[0][0]["columns"], nodes, [] if rows is None else rows.cells)


def _grown(model: EnsembleViews, variants: Iterator[CoreTable], max_nodes: int) -> EnsembleViews:
    """Return a copy of the model in which the branches are grown that the page needs."""
    grown = model._independent_copy()
    n_before, n_threads = grown._model.n_grown, count_threads(model.n_jobs)
    with column_errors(model._encoder):
        for table, n_rows in variants:
            is_full = grown._model.n_nodes - n_before >= max_nodes
            if is_full or grown._model.is_detached or not grown._model.n_ungrown:
                break
            grown._model.predict(table, n_rows, n_threads)
    return grown


def _ensemble(model: EnsembleViews, grown: EnsembleViews, tables: Sequence[CoreTable]) -> Ensemble:
    """Return what the page needs besides trees, columns and rows."""
    from tritree.inspection.what_if import Ensemble

    classes, text, link = model._labels(), model.to_text(), model._link
    still = grown._model.copy()
    still.detach()  # so that nothing grows any more
    n_threads = count_threads(model.n_jobs)
    values = np.concatenate([still.predict(table, n_rows, n_threads)[0].ravel() for table, n_rows in tables])
    return Ensemble(
        title=text.splitlines()[0],
        text=text,
        classes=classes,
        link=link,
        baseline=[0.0] * model._model.n_outputs if link == "mean" else list(model._model.core.baseline),
        has_variance=bool(model._model.core.params["estimates_variance"]),
        value_names=[model._value_name(k) for k in range(len(classes or [0]))],
        predictions=_predicted(values, link).tolist(),
        values=values.tolist(),
        detached=model._model.is_detached,
        loss=model._loss_name,
    )


def _predicted(values: NDArray[np.float64], link: str) -> NDArray[np.float64]:
    """Return what the page may show as predictions of a regression: numbers of the size of these."""
    if link == "expit":
        return np.asarray(LINKS["expit"].inverse(values))
    return np.exp(values) if link == "log" else values


def _variants(
    tables: Sequence[CoreTable], columns: Sequence[PageColumn], by_use: Sequence[int]
) -> Iterator[CoreTable]:
    """Yield rows as they are, with one of their missing values filled, with a column missing, and with two.

    Each column is missing in turn, in the order ``by_use``, then any two of the first ones.
    """
    pairs = combinations(by_use[:_PAIRED], 2)
    for table in chain(tables, *(_filled(table, columns, by_use) for table in tables)):
        yield from _batches(table)
    for missing in chain(((j,) for j in by_use), pairs):
        for cells, n_rows in tables:
            yield from _batches(([None if j in missing else x for j, x in enumerate(cells)], n_rows))


def _batches(table: CoreTable) -> Iterator[CoreTable]:
    columns, n_rows = table
    for begin in range(0, n_rows, _BATCH):
        batch = [None if column is None else column[begin : begin + _BATCH] for column in columns]
        yield batch, min(_BATCH, n_rows - begin)


def _filled(table: CoreTable, columns: Sequence[PageColumn], by_use: Sequence[int]) -> Iterator[CoreTable]:
    """Yield the rows in which a column is missing, with each of the values that the page tries for it.

    With many missing values, only some of the values.
    """
    cells, n_rows = table
    lacking = {j: np.flatnonzero(_is_missing(cells[j], n_rows)) for j in by_use}
    n_each = max(1, _FILLED // max(1, sum(map(len, lacking.values()))))
    for j, rows in lacking.items():
        tried = columns[j].tried_array()
        values = tried[:: -(-len(tried) // n_each) or 1]
        filled = [None if column is None else np.tile(column[rows], len(values)) for column in cells]
        filled[j] = np.repeat(values, len(rows))
        yield filled, len(rows) * len(values)


def _is_missing(column: NDArray[Any] | None, n_rows: int) -> NDArray[np.bool_]:
    if column is None:
        return np.ones(n_rows, dtype=bool)
    return np.asarray(np.isnan(column) if column.dtype.kind == "f" else column == MISSING)


def _choose_nodes(
    model: GrowingModel, variants: Iterator[CoreTable], max_nodes: int
) -> list[NDArray[np.intp]]:
    """Return the numbers of the nodes of each tree that a page has: all, or those that the first variants need."""
    from tritree.inspection.traversal import Traversal

    trees = list(model.trees())
    if model.n_nodes <= max_nodes:
        return [np.arange(len(tree.column)) for tree in trees]
    chosen = [np.arange(len(tree.column)) < tree.n_fitted for tree in trees]
    for columns, n_rows in variants:
        wider = [mask.copy() for mask in chosen]
        for tree, mask in zip(trees, wider, strict=True):
            for steps in Traversal(tree, columns, n_rows).all_steps():
                mask[steps.to] = True
        if sum(map(np.count_nonzero, wider)) > max_nodes:
            break
        chosen = wider
    return [np.flatnonzero(mask) for mask in chosen]
