"""What the library says in words of Python, in words of the command line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["in_our_lines", "in_our_words"]

#: Ours are hardly longer, since below a picture there is only so much room.
_OURS = {
    "grow_all() grows them all": "fit --grow-all grows them all",
    "grow_for(rows) grows those that rows need": "--rows TABLE grows those that rows need",
    "max_nodes=None draws everything": "--max-nodes none draws everything",
    "a larger max_depth draws more": "a larger --max-depth draws more",
    "digits=17 shows them in full": "--digits 17 shows them in full",
    "not grown before detach()": "never grown",
    "call grow_all() before detach() or save(training_rows=False) to have every branch": "fit with --grow-all to have "
    "every branch, or with --grow-for to have those that rows need",
    "the rows to grow from are gone (detach(), or a file saved without them); call grow_for() before that, with rows "
    "like these": "the model file has no rows to grow from; fit without --no-training-rows, or name rows like them "
    "with --grow-for",
    "call grow_for() first, with rows like those to come": "name rows like those to come with --grow-for",
    "call grow_for() before, with rows like those to come": "name rows like those to come with --rows, or with "
    "fit --grow-for",
    "it may have; raise max_third_nodes": "it may have; fit with a lower --max-depth, which needs fewer",
}
#: What is said of one of many trees, which cannot be fitted by itself.
_OURS_OF_MANY = _OURS | {
    "grow_all() grows them all": _OURS["grow_for(rows) grows those that rows need"],
}
_BREAK = "\0"  # between lines; no text has it


def in_our_words(text: str, *, one_of_many: bool = False) -> str:
    """Return a text with options of the command line where it names functions and parameters.

    Examples
    --------
    >>> in_our_words("… 9 nodes are left out: max_nodes=None draws everything")
    '… 9 nodes are left out: --max-nodes none draws everything'
    """
    return in_our_lines([text], one_of_many=one_of_many)[0]


def in_our_lines(lines: Sequence[str], *, one_of_many: bool = False) -> list[str]:
    """Return as many lines in our words, also where what is to be said goes on from one to the next.

    Examples
    --------
    >>> in_our_lines(["12 nodes are left out: max_nodes=None", "draws everything"])
    ['12 nodes are left out: --max-nodes', 'none draws everything']
    """
    text = _BREAK.join(lines)
    for theirs, ours in (_OURS_OF_MANY if one_of_many else _OURS).items():
        pattern = f"[ {_BREAK}]".join(map(re.escape, theirs.split(" ")))
        text = re.sub(pattern, lambda found, ours=ours: _parted(ours, found.group()), text)  # type: ignore[misc]
    return text.split(_BREAK)


def _parted(ours: str, theirs: str) -> str:
    """Return our words in as many lines as theirs, none longer than it was; the last has what is left."""
    parts, words = [], ours.split(" ")
    for line in theirs.split(_BREAK)[:-1]:
        n = len(words)
        while n > 1 and len(" ".join(words[:n])) > len(line):
            n -= 1
        parts.append(" ".join(words[:n]))
        words = words[n:]
    return _BREAK.join([*parts, " ".join(words)])
