"""An encoder is pickled as it was when pickling began."""

from __future__ import annotations

import pickle
from typing import Any

from tritree.encoder import TableEncoder


class Name:
    """A column name that lets the encoder cache a property while it is pickled, as another thread may do."""

    encoder: TableEncoder

    def __reduce__(self) -> Any:
        assert self.encoder.is_numeric
        return Name, ()


def test_property_that_is_cached_while_an_encoder_is_pickled_does_no_harm() -> None:
    Name.encoder = TableEncoder((), (Name(),))
    assert pickle.loads(pickle.dumps(Name.encoder)).columns == ()
