"""Background rows as the core takes them, and the encoding of columns that a source model was fitted to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree import _core
from tritree.columns import ColumnType, TypedColumn
from tritree.encoder import MAX_CATEGORIES, ColumnEncoder, TableEncoder, column_errors
from tritree.errors import GraftError, name_column, shortened
from tritree.graft.limits import check_set_sizes
from tritree.table import read_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tritree.graft.nodes import Nodes
    from tritree.graft.source import SourceColumn, SourceModel
    from tritree.table import Table

__all__ = ["GraftColumns", "read_background"]

#: Numbers of leaves that are in memory at once.
_MAX_LEAVES = 1 << 21
#: How libraries name columns that have no names.
_DEFAULT_NAMES = ("f{}", "x{}", "Column_{}", "{}")


@dataclass(frozen=True)
class GraftColumns:
    """Background rows, with the encoding of their columns."""

    encoder: TableEncoder
    #: The background rows as the core takes them.
    values: list[NDArray[Any]]
    #: Per column the position of each of the source's categories among those of the encoder; None if it is numeric.
    positions: list[NDArray[np.int64] | None]
    #: Which rows of the table they are.
    numbers: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        """Number of background rows."""
        return len(self.numbers)

    def is_missing(self) -> NDArray[np.bool_]:
        """Return the missing cells, a row per background row."""
        of_columns = [np.isnan(v) if v.dtype.kind == "f" else v < 0 for v in self.values]
        return np.stack(of_columns, axis=1)

    def missing_shares(self) -> NDArray[np.float64]:
        """Return the fraction of the cells of each column that is missing."""
        return np.asarray(self.is_missing().mean(axis=0))

    def check_values(self, nodes: Nodes) -> None:
        """Raise a GraftError if no row has a value of a column that the source splits by."""
        is_empty = np.all(self.is_missing(), axis=0).tolist()
        empty = next((j for j in np.unique(nodes.column[nodes.is_split]).tolist() if is_empty[j]), None)
        if empty is not None:
            raise GraftError(
                f"{name_column(self.encoder.columns[empty].name)} has no value in X, and the model splits by it",
                "pass rows that have the columns of training, by the same names",
            )

    def sets(self, nodes: Nodes, left_categories: Sequence[frozenset[int]]) -> list[NDArray[np.bool_]]:
        """Return whether each category goes left, of each set: those that the source does not have as it says."""
        found: list[Any] = [None] * len(left_categories)
        splits = np.flatnonzero(nodes.category_set >= 0)
        sizes = np.array([len(column.categories or ()) for column in self.encoder.columns], np.int64)
        check_set_sizes(int(sizes[nodes.column[splits]].sum()))
        for node, number in zip(splits.tolist(), nodes.category_set[splits].tolist(), strict=True):
            column = int(nodes.column[node])
            positions, categories = self.positions[column], self.encoder.columns[column].categories
            assert positions is not None
            assert categories is not None
            goes_left = np.full(len(categories), nodes.unknown_left[node])
            goes_left[positions] = False
            goes_left[positions[list(left_categories[number])]] = True
            found[number] = goes_left
        return found

    def leaves(self, core: _core.BoostedModel, n_threads: int) -> Iterator[NDArray[np.int32]]:
        """Yield the nodes that blocks of rows end in, one column per tree."""
        size = max(1, _MAX_LEAVES // core.n_trees)
        for begin in range(0, self.n_rows, size):
            block = [column[begin : begin + size] for column in self.values]
            yield core.apply(block, len(block[0]), n_threads)


def read_background(
    source: SourceModel, X: Any, max_rows: int, generator: np.random.RandomState
) -> GraftColumns:
    """Return at most ``max_rows`` rows of a table, drawn at random, and the encoding of the source's columns."""
    table = read_table(X)
    encoder = TableEncoder(
        tuple(_encoder(column, j) for j, column in enumerate(source.columns)), _names(source, table)
    )
    if encoder.column_names is not None:
        named = zip(encoder.columns, encoder.column_names, strict=True)
        encoder = replace(encoder, columns=tuple(replace(column, name=name) for column, name in named))
    numbers = generator.permutation(table.n_rows)[:max_rows]
    encoders, values = [], []
    matched = encoder.match(table, f"the model of {source.library}")
    for own, (learned, column) in zip(source.columns, matched, strict=True):
        encoders.append(learned if column is None else _with_categories(learned, column))
        encoded = None if column is None else encoders[-1].encode(column)
        if own.zero_is_exact and column is not None and encoded is not None:
            _check_zeros(source, column, encoded)
        values.append(
            encoders[-1].all_missing(len(numbers))
            if encoded is None
            else np.ascontiguousarray(encoded[numbers])
        )
    encoder = replace(encoder, columns=tuple(encoders))
    with column_errors(encoder):
        for j, column_values in enumerate(values):
            infinite = np.flatnonzero(np.isinf(column_values))
            if len(infinite):
                raise _core.InfiniteValueError(
                    j, int(numbers[infinite[0]]), float(column_values[infinite[0]])
                )
    positions = [
        _positions(known, own.categories) for known, own in zip(encoders, source.columns, strict=True)
    ]
    return GraftColumns(encoder, values, positions, numbers)


def _names(source: SourceModel, table: Table) -> tuple[Any, ...] | None:
    """Return the names of the columns: those of the source, else of the table; None if neither has names.

    Names such as f0 are made up by the source, unless the table has them all. LightGBM writes _ for spaces.
    """
    names = tuple(column.name for column in source.columns)
    in_table = tuple(table.column_names or ())
    if source.library == "LightGBM" and in_table and not set(names) <= set(in_table):
        written = {"_".join(str(name).split()): name for name in in_table}
        if len(written) == len(in_table):
            names = tuple(written.get(str(name), name) for name in names)
    if None not in names and len(set(names)) == len(names) and set(names) <= set(in_table):
        return names
    is_default = any(
        all(name in (None, pattern.format(j)) for j, name in enumerate(names)) for pattern in _DEFAULT_NAMES
    )
    if not is_default:
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None or None in names:
            raise GraftError(
                f"{source.library} has several columns {repeated!r}"
                if repeated
                else f"{source.library} has columns without names",
                "fit the model to a table whose columns have different names",
            )
        return names
    if table.column_names is None or table.n_columns != len(names):
        return None
    return tuple(table.column_names)


def _encoder(column: SourceColumn, position: int) -> ColumnEncoder:
    name = position if column.name is None else column.name
    if column.categories is None:
        return ColumnEncoder(name, ColumnType.NUMERIC, zero_is_missing=column.zero_is_missing)
    labels = [_plain(label) for label in column.categories]
    others = [label for label in labels if not isinstance(label, (str, bool, int, float))]
    if others:
        raise GraftError(
            f"{name_column(name)} has categories that are not text, booleans or numbers: {shortened(others[0])}",
            "turn them into text, and fit the model again",
        )
    kinds = {type(label) if isinstance(label, (str, bool)) else float for label in labels}
    if len(kinds) > 1 or len(set(labels)) < len(labels):
        raise GraftError(
            f"{name_column(name)} has categories of several types, or equal ones: {labels[:5]}",
            "make all of them text or all of them numbers, and fit the model again",
        )
    types = {str: ColumnType.TEXT, bool: ColumnType.BOOLEAN, float: ColumnType.NUMERIC}
    return ColumnEncoder(name, types[kinds.pop()] if kinds else ColumnType.EMPTY, tuple(sorted(labels)))


def _plain(label: Any) -> Any:
    """Return a category as text, a boolean or a plain number."""
    is_plain = isinstance(label, np.generic) and label.dtype.kind in "biufU"  # dates would become integers
    label = label.item() if is_plain else label
    return int(label) if isinstance(label, float) and label.is_integer() else label


def _check_zeros(source: SourceModel, column: TypedColumn, encoded: NDArray[Any]) -> None:
    """Raise a GraftError if a number is missing as encoded that is neither missing nor a zero to the source."""
    with np.errstate(over="ignore"):
        is_other = column.values.astype(np.float32) != 0
    wrong = np.flatnonzero(np.isnan(encoded) & ~np.isnan(column.values) & is_other)
    if len(wrong):
        raise GraftError(
            f"row {wrong[0]} of {name_column(column.name)} is {float(column.values[wrong[0]])!r}, which tritree would "
            f"take for zero and so for missing, and {source.library} does not",
            "scale the column so that its numbers are 0 or beyond 1e-35, and fit the model again",
        )


def _with_categories(learned: ColumnEncoder, column: TypedColumn) -> ColumnEncoder:
    """Return the encoder of a column with the categories of the background rows that the source does not have."""
    if learned.categories is None or column.type is ColumnType.EMPTY:
        return learned
    if learned.type is ColumnType.EMPTY:  # the source has no categories
        learned = replace(learned, type=column.type)
    if learned.type in (ColumnType.NUMERIC, ColumnType.BOOLEAN) and column.type is not ColumnType.TEXT:
        observed = np.unique(column.values[~np.isnan(column.values)]).tolist()
        is_boolean = learned.type is ColumnType.BOOLEAN and column.type is ColumnType.BOOLEAN
        found: set[Any] = {bool(value) if is_boolean else _plain(value) for value in observed}
    else:
        found = set(column.labels)
    known: set[Any] = set(learned.categories or ())
    if len(known | found) > MAX_CATEGORIES:
        raise GraftError(
            f"{name_column(learned.name)} has {len(found):,} categories in X, and at most {MAX_CATEGORIES:,} are "
            "supported",
            "pass fewer rows, or make rare categories missing",
        )
    if any(isinstance(one, str) for one in found) != (learned.type is ColumnType.TEXT):
        return learned  # encoding it raises an error
    return replace(learned, categories=tuple(sorted(known | found)))


def _positions(learned: ColumnEncoder, categories: tuple[Any, ...] | None) -> NDArray[np.int64] | None:
    if categories is None:
        return None
    assert learned.categories is not None
    position = {label: i for i, label in enumerate(learned.categories)}
    return np.array([position[_plain(label)] for label in categories], np.int64)
