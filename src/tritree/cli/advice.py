"""Options that messages advise: written so that a POSIX shell, and then the parser of options, reads them back."""

from __future__ import annotations

import re
import shlex

#: Escape sequences in the values of options, and what they stand for.
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}
_ESCAPED = re.compile(
    r"\\(?:([tnr\\])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U(000[0-9a-fA-F]{5}|0010[0-9a-fA-F]{4}))"
)


def unescape(text: str) -> str:
    r"""Return a text with a tab for ``\t``, a space for ``\x20`` and so on; other backslashes stay, as in ``\N``."""

    def replaced(match: re.Match[str]) -> str:
        letter, *codes = match.groups()
        return _ESCAPES[letter] if letter else chr(int(next(filter(None, codes)), 16))

    return _ESCAPED.sub(replaced, text)


def escape(text: str) -> str:
    """Return a printable text of one line that `unescape` turns into this text."""
    pieces = [character if character.isprintable() else _escape(character) for character in text]
    # messages show a run of white space as one space
    for match in re.finditer(r"^ | $|(?<= ) ", text):
        pieces[match.start()] = "\\x20"
    escaped = ""
    for piece in reversed(pieces):
        is_read_as_escape = piece == "\\" and _ESCAPED.match(piece + escaped)
        escaped = ("\\\\" if is_read_as_escape else piece) + escaped
    return escaped


def _escape(character: str) -> str:
    known = {sign: letter for letter, sign in _ESCAPES.items()}
    if character in known:
        return f"\\{known[character]}"
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def advise(option: str, *values: str) -> str:
    """Return an option with its values, once per value, to be pasted into a shell."""
    return " ".join(f"{option} {shlex.quote(escape(value))}" for value in values)
