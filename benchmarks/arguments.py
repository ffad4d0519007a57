"""Numbers on the command line of a benchmark."""

from __future__ import annotations

import argparse

__all__ = ["positive", "several", "whole"]


def positive(text: str) -> int:
    """Return a whole number from 1 on."""
    return _number(text, 1)


def several(text: str) -> int:
    """Return a whole number from 2 on."""
    return _number(text, 2)


def whole(text: str) -> int:
    """Return a whole number from 0 on."""
    return _number(text, 0)


def _number(text: str, least: int) -> int:
    if not text.strip().isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from {least} on")
    return int(text)
