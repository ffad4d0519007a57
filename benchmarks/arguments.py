"""Types of command line arguments."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["integer_from"]


def integer_from(minimum: int) -> Callable[[str], int]:
    """Return the argument type of integers that are not less than ``minimum``."""

    def integer(text: str) -> int:
        if not text.strip().isdecimal() or int(text) < minimum:
            raise argparse.ArgumentTypeError(f"{text} is not an integer >= {minimum}")
        return int(text)

    return integer
