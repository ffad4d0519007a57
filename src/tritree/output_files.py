"""Output files: checked before the work that fills them, and replaced atomically."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import Any

__all__ = ["check_output_path", "write_atomically"]


def check_output_path(path: Any, content: str) -> Path:
    """Return the path of a file to write, with links resolved, or raise an OSError that says why it cannot be written.

    ``content`` says for messages what is written, such as "the model".
    """
    resolved = Path(os.path.realpath(os.fspath(path)))
    if resolved.is_dir():
        raise IsADirectoryError(f"{str(resolved)!r} is a folder; name a file in it to save {content} in")
    if resolved.exists() and not resolved.is_file():
        raise FileExistsError(
            f"{str(resolved)!r} is not a regular file; name another one to save {content} in"
        )
    if not resolved.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(resolved.parent)!r} to save {content} in")
    return resolved


def write_atomically(path: Path, *parts: bytes | memoryview) -> None:
    """Write a file next to its path and then rename it, so that a crash leaves the old file."""
    temporary = path.with_name(f".tritree.{secrets.token_hex(8)}.tmp")
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():  # keep its permissions; not every file system can
            with contextlib.suppress(OSError):
                temporary.chmod(path.stat().st_mode & 0o777)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
