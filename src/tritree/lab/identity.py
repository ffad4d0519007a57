"""Identity of an estimator: its parameters as canonical text, and the versions of its packages.

Results in a store are found by it.
"""

from __future__ import annotations

import sys
from functools import cache, partial
from types import CellType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator


def canonical_repr(value: Any) -> str:
    """Return an estimator with all its parameters as text, nested ones included; the same in every process.

    A hash of the content stands for objects whose ``repr`` is truncated or has an address. ``n_jobs`` is left out: it
    does not change results.
    """
    if _is_estimator(value):
        items = sorted(value.get_params(deep=False).items())
        parameters = ", ".join(f"{name}={canonical_repr(item)}" for name, item in items if name != "n_jobs")
        return f"{_qualified_name(type(value))}({parameters})"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({', '.join(map(canonical_repr, value))})"
    if isinstance(value, dict):
        return f"dict({', '.join(f'{canonical_repr(k)}: {canonical_repr(v)}' for k, v in value.items())})"
    if value is None or isinstance(value, (str, bytes, bool, int, float, complex, np.generic)):
        return repr(value)
    if isinstance(value, type):
        return _qualified_name(value)
    if isinstance(value, (set, frozenset)):
        return f"set({', '.join(sorted(map(canonical_repr, value)))})"
    if isinstance(value, FunctionType):
        parts = [_code(value), value.__defaults__, value.__kwdefaults__, list(_used_by(value))]
        return f"{_qualified_name(value)}({canonical_repr(parts)})"
    if isinstance(value, partial):
        return f"partial({canonical_repr([value.func, value.args, value.keywords])})"
    return f"{_qualified_name(type(value))}:{_hash(value)}"


def _is_estimator(value: Any) -> bool:
    return hasattr(value, "get_params") and not isinstance(value, type)


def _qualified_name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def _code(value: FunctionType | CodeType) -> list[Any]:
    """Return the byte code of a function with its constants and names, without its position in the file."""
    code = value.__code__ if isinstance(value, FunctionType) else value
    constants = [_code(part) if isinstance(part, CodeType) else part for part in code.co_consts]
    return [code.co_code, constants, code.co_names, code.co_varnames]


def _used_by(function: FunctionType) -> Iterator[Any]:
    """Yield the closure and the globals that a function uses."""
    inner = [cell.cell_contents for cell in function.__closure__ or () if cell != CellType()]
    outer = [function.__globals__.get(name) for name in function.__code__.co_names]
    for value in (*inner, *outer):
        if isinstance(value, FunctionType):
            yield _code(value)  # not what that uses: functions may call each other
        else:
            yield value.__name__ if isinstance(value, ModuleType) else _hash(value)


def _hash(value: Any) -> str:
    try:
        return str(joblib.hash(value))
    except Exception:  # cannot be pickled; an address in repr makes it run again, never be taken for another
        return repr(value)


def package_versions(value: Any) -> dict[str, str]:
    """Return the versions of the packages of an estimator and of those nested in it, tritree included."""
    named = (
        part if isinstance(part, FunctionType) else type(part)
        for part in _nested(value)
        if isinstance(part, FunctionType) or _is_estimator(part)
    )
    packages = {"tritree"} | {part.__module__.partition(".")[0] for part in named}
    return {name: version for name in sorted(packages) if (version := _version(name)) is not None}


def _nested(value: Any) -> Iterator[Any]:
    """Yield a value and everything nested in it."""
    yield value
    inner = value.get_params(deep=False) if _is_estimator(value) else value
    if isinstance(inner, (dict, list, tuple)):
        for part in inner.values() if isinstance(inner, dict) else inner:
            yield from _nested(part)


@cache
def _version(package: str) -> str | None:
    """Return the version of an imported package, or None if it has none, such as the standard library."""
    found = getattr(sys.modules.get(package), "__version__", None)
    return None if found is None else str(found)
