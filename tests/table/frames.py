"""One table in every library that holds tables, and its target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

N = 300
_rng = np.random.default_rng(0)
NUMBER = np.where(_rng.random(N) < 0.2, np.nan, _rng.normal(size=N))
INTEGER = _rng.integers(0, 6, N)
INTEGER_WITH_MISSING = [None if _rng.random() < 0.2 else int(value) for value in INTEGER]
COLOUR = [None if _rng.random() < 0.2 else ["red", "green", "blue"][_rng.integers(3)] for _ in range(N)]
FLAG = [None if _rng.random() < 0.2 else bool(_rng.integers(2)) for _ in range(N)]
Y = (
    np.nan_to_num(NUMBER)
    + INTEGER
    + np.array([3.0 if colour == "red" else 0.0 for colour in COLOUR])
    + np.array([2.0 if flag else 0.0 for flag in FLAG])
)


def as_dict() -> Any:
    return {
        "number": NUMBER,
        "integer": INTEGER,
        "missing": INTEGER_WITH_MISSING,
        "colour": COLOUR,
        "flag": FLAG,
    }


def as_pandas() -> Any:
    return pd.DataFrame(as_dict() | {"missing": [np.nan if v is None else v for v in INTEGER_WITH_MISSING]})


def as_pandas_objects() -> Any:
    return pd.DataFrame({name: pd.Series(list(values), dtype=object) for name, values in as_dict().items()})


def as_pandas_nullable() -> Any:
    types = {
        "number": "Float64",
        "integer": "Int32",
        "missing": "Int64",
        "colour": "string",
        "flag": "boolean",
    }
    return pd.DataFrame({name: pd.array(list(as_dict()[name]), dtype=dtype) for name, dtype in types.items()})


def as_pandas_arrow() -> Any:
    types = {"number": "float64", "integer": "int16", "missing": "int64", "colour": "string", "flag": "bool"}
    frame = {}
    for name, dtype in types.items():
        values = pd.array([None if v != v else v for v in as_dict()[name]], dtype=f"{dtype}[pyarrow]")
        frame[name] = values
    return pd.DataFrame(frame)


def as_pandas_categories() -> Any:
    return as_pandas().assign(colour=pd.Categorical(COLOUR))


def as_polars() -> Any:
    return pl.DataFrame(as_dict() | {"number": NUMBER.tolist()}, strict=False)


def as_polars_nulls() -> Any:
    return as_polars().with_columns(pl.col("number").fill_nan(None), pl.col("colour").cast(pl.Categorical))


def as_polars_enum() -> Any:
    return as_polars().with_columns(pl.col("colour").cast(pl.Enum(["red", "green", "blue"])))


def as_pyarrow() -> Any:
    return pa.table({name: pa.array(list(values), from_pandas=True) for name, values in as_dict().items()})


def as_pyarrow_dictionary() -> Any:
    return as_pyarrow().set_column(3, "colour", pa.array(COLOUR).dictionary_encode())


def as_numpy_objects() -> Any:
    return np.array(list(zip(*as_dict().values(), strict=True)), dtype=object)


def as_lists() -> Any:
    return [list(row) for row in zip(*as_dict().values(), strict=True)]


FRAMES = [
    as_pandas,
    as_pandas_objects,
    as_pandas_nullable,
    as_pandas_arrow,
    as_pandas_categories,
    as_polars,
    as_polars_nulls,
    as_polars_enum,
    as_pyarrow,
    as_pyarrow_dictionary,
]
WITHOUT_NAMES = [as_numpy_objects, as_lists]
