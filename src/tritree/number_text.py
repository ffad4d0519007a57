"""Text columns that were probably meant to be numeric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tritree.columns import ColumnType
from tritree.errors import NumberTextWarning

if TYPE_CHECKING:
    from tritree.columns import TypedColumn

__all__ = ["find_number_text"]

_MIN_SHARE = 0.9  # of numbers among the observed cells


def find_number_text(column: TypedColumn) -> NumberTextWarning | None:
    """Return a warning if most cells of a text column are numbers, or numbers with decimal commas; else None.

    Text that is a number in every row, such as codes, is meant to be text.
    """
    if column.type is not ColumnType.TEXT or column.is_categorical or column.order is not None:
        return None
    counts = column.label_counts()
    for has_commas in (False, True):
        is_number = np.array([_is_number(label, has_commas=has_commas) for label in column.labels])
        n_numbers = int(counts[is_number].sum())
        if n_numbers < _MIN_SHARE * counts.sum():
            continue
        examples = [
            label
            for label, number in zip(column.labels, is_number, strict=True)
            if (number and "," in label if has_commas else not number)
        ]
        if examples:
            return NumberTextWarning(column.name, n_numbers, int(counts.sum()), examples[0], has_commas)
        return None
    return None


def _is_number(label: str, *, has_commas: bool) -> bool:
    """Return whether a text is a number such as "1.5", or, with decimal commas, such as "1,5" or "1.234,5"."""
    if has_commas:
        label = label.replace(".", "").replace(",", ".")
    try:
        float(label)
    except ValueError:
        return False
    return True
