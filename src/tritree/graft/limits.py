"""How large a model of another library may be."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tritree.errors import GraftError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "MAX_CATEGORIES",
    "MAX_COLUMNS",
    "check_set_sizes",
    "check_split_categories",
    "reading_file",
]

#: Bytes of a file.
MAX_FILE_SIZE = 2**30
#: Columns, and classes.
MAX_COLUMNS = 65_534
#: Categories of a column.
MAX_CATEGORIES = 65_534
#: Categories that go left at the splits of all trees; as Python sets they take up to 100 bytes each.
MAX_SPLIT_CATEGORIES = 5_000_000
#: Categories of the columns of all splits by category, whether they go left or right.
MAX_SET_SIZES = 2**28


@contextmanager
def reading_file(path: Any, n_bytes: int) -> Iterator[None]:
    """Refuse a file that is too large, and name it in errors that reading it raises."""
    try:
        if n_bytes > MAX_FILE_SIZE:
            raise GraftError(f"{n_bytes:,} bytes are more than the limit of {MAX_FILE_SIZE:,}")
        yield
    except GraftError as error:
        error.path = path
        raise


def check_split_categories(number: int) -> None:
    """Raise a GraftError if too many categories go to a side of the splits of all trees."""
    _check(number, MAX_SPLIT_CATEGORIES)


def check_set_sizes(number: int) -> None:
    """Raise a GraftError if the columns of all splits by category have too many categories in total."""
    _check(number, MAX_SET_SIZES)


def _check(number: int, limit: int) -> None:
    if number > limit:
        raise GraftError(
            f"all splits together have more than {limit:,} categories",
            "fit fewer trees, or columns of fewer categories",
        )
