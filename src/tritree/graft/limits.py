"""How large a model of another library may be."""

__all__ = ["MAX_CATEGORIES", "MAX_FILE_SIZE", "MAX_SPLIT_CATEGORIES"]

#: Bytes of a file.
MAX_FILE_SIZE = 2**30
#: Categories of a column.
MAX_CATEGORIES = 65_534
#: Categories that go left at the splits of all trees.
MAX_SPLIT_CATEGORIES = 50_000_000
