"""Output files: checked before the work that fills them, and replaced atomically."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed
    fcntl = None  # type: ignore[assignment, unused-ignore]

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["check_output_path", "open_atomically", "write_atomically"]

_TEMPORARY_NAME = re.compile(r"\.tritree\.[0-9a-f]{16}\.tmp")
#: Age in seconds from which the temporary file of a writer that was killed is removed.
_ABANDONED_AGE = 3600


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
    with open_atomically(path) as file:
        file.writelines(parts)


@contextlib.contextmanager
def open_atomically(path: Path) -> Iterator[BinaryIO]:
    """Open a file next to a path, which gets its name when the block ends, and is removed after an error.

    Temporary files that killed writers have left in the folder are removed.
    """
    _remove_abandoned(path.parent)
    temporary = path.with_name(f".tritree.{secrets.token_hex(8)}.tmp")
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            with contextlib.suppress(OSError):  # not every file system has locks
                _lock(handle)
            yield file
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


def _lock(handle: int) -> None:
    """Lock a file as long as its writer lives, or raise an OSError."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove_abandoned(folder: Path) -> None:
    """Remove temporary files of this user that are old, and whose writers were killed."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _TEMPORARY_NAME.fullmatch(entry.name):
                with contextlib.suppress(OSError):  # as is one that cannot be locked: its writer lives
                    _remove_if_abandoned(entry)


def _remove_if_abandoned(entry: os.DirEntry[str]) -> None:
    status = entry.stat(follow_symlinks=False)
    is_own = stat.S_ISREG(status.st_mode) and status.st_uid == getattr(os, "geteuid", lambda: 0)()
    if not is_own or time.time() - status.st_mtime < _ABANDONED_AGE:
        return
    if fcntl is not None:
        handle = os.open(entry.path, os.O_RDWR | os.O_NOFOLLOW)
        try:
            _lock(handle)
        finally:
            os.close(handle)
    Path(entry.path).unlink()
