"""Where an experiment has its holes: in training and test, in test only, or other ones in test than in training."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

from tritree.lab.ampute import ampute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritree.lab.data import Dataset

__all__ = ["Amputation", "Scenario", "in_both", "in_test", "shifted"]

_STRENGTH = 3.0
_WITH_DIRECTION = ("im", "mnar", "predictive")  # the mechanisms that look at it
_WITH_STRENGTH = ("mar", "mnar", "predictive")


@dataclass(frozen=True, slots=True)
class Amputation:
    """How holes are made: what the parameters of `ampute` are, but for the rate and the seed.

    Examples
    --------
    >>> Amputation("mnar", columns=["income"]).described()
    {'mechanism': 'mnar', 'columns': ['income'], 'direction': 'largest', 'strength': 3.0}
    """

    mechanism: str
    direction: str = "largest"
    columns: Any = None
    strength: float = _STRENGTH

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", _listed(self.columns))
        # ampute itself says what cannot be, and before hundreds of cells would
        ampute([[0, 1], [1, 0]], 0.0, self.mechanism, [0], response=[0, 1], **self._how())

    def _how(self) -> dict[str, Any]:
        return {"direction": self.direction, "strength": self.strength}

    def check(self, dataset: Dataset) -> None:
        """Raise a ValueError if the holes are to be in a column that a data set does not have."""
        try:
            ampute(dataset.X.iloc[:1], 0.0, columns=self._names())
        except ValueError as error:
            raise ValueError(f"data set {dataset.name!r}: {error}") from None

    def _names(self) -> list[Any] | None:
        return None if self.columns is None else list(self.columns)

    def punch(self, dataset: Dataset, rate: float, seed: int) -> Any:
        """Return the data set's table with holes."""
        response = dataset.y if self.mechanism == "predictive" else None
        return ampute(
            dataset.X, rate, self.mechanism, self._names(), response=response, seed=seed, **self._how()
        )

    def described(self) -> dict[str, Any]:
        """Return how holes are made as plain data; a parameter that the mechanism does not look at is left out."""
        columns = "all" if self.columns is None else [_plain(name) for name in self.columns]
        said: dict[str, Any] = {"mechanism": self.mechanism, "columns": columns}
        if self.mechanism in _WITH_DIRECTION:
            said["direction"] = self.direction
        if self.mechanism in _WITH_STRENGTH:
            said["strength"] = float(self.strength)
        return said


def _listed(columns: Any) -> tuple[Any, ...] | None:
    """Return the names or positions of columns, also if it is one that was given."""
    if columns is None:
        return None
    if isinstance(columns, (str, Integral)):
        columns = (columns,)
    try:
        listed = tuple(int(name) if isinstance(name, Integral) else name for name in columns)
    except TypeError:
        raise TypeError(f"columns must be a list of names or positions, got {columns!r}") from None
    if not listed:
        raise ValueError(
            "columns is empty; name those that are to get holes, or leave it out for all of them"
        )
    return listed


def _plain(name: Any) -> Any:
    return name if isinstance(name, (str, int)) else repr(name)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Amputation in the rows of training and in those of the test; None leaves them complete."""

    name: str
    train: Amputation | None
    test: Amputation | None

    def check(self, dataset: Dataset) -> None:
        """Raise a ValueError if a data set lacks a column that is to get holes."""
        for part in (self.train, self.test):
            if part is not None:
                part.check(dataset)

    def tables(self, dataset: Dataset, rate: float, seed: int) -> tuple[Any, Any]:
        """Return the whole table twice: as training sees it, and as the test does.

        Amputation are made before the rows are parted into folds, so that the share of them is that of the whole table.
        """
        if rate == 0:
            return dataset.X, dataset.X
        parts = {part for part in (self.train, self.test) if part is not None}
        made = {part: part.punch(dataset, rate, seed) for part in parts}
        return tuple(dataset.X if part is None else made[part] for part in (self.train, self.test))

    def described(self) -> dict[str, Any]:
        """Return where holes are, and how they are made, as plain data."""
        return {
            part: "complete" if holes is None else holes.described()
            for part, holes in (("training", self.train), ("test", self.test))
        }


def in_both(
    mechanism: str = "mcar",
    *,
    columns: Sequence[Any] | None = None,
    direction: str = "largest",
    strength: float = _STRENGTH,
    name: str | None = None,
) -> Scenario:
    """Return the scenario with the same holes in training and test.

    Parameters
    ----------
    mechanism, columns, direction, strength
        How holes are made; see `ampute`.
    name : str, optional
        What to call it; the mechanism if not given. An experiment needs a name of its own for each of its scenarios.

    Examples
    --------
    >>> in_both("im", direction="smallest", name="the smallest first").name
    'the smallest first'
    """
    holes = Amputation(mechanism, direction, columns, strength)
    return Scenario(mechanism if name is None else name, holes, holes)


def in_test(
    mechanism: str = "mcar",
    *,
    columns: Sequence[Any] | None = None,
    direction: str = "largest",
    strength: float = _STRENGTH,
    name: str | None = None,
) -> Scenario:
    """Return the scenario with complete training rows: fields go missing in production only.

    Parameters
    ----------
    mechanism, columns, direction, strength
        How holes are made; see `ampute`.
    name : str, optional
        What to call it; the mechanism and ``_test`` if not given.

    Examples
    --------
    What if the income is not asked for any more?

    >>> in_test(columns=["income"]).described()
    {'training': 'complete', 'test': {'mechanism': 'mcar', 'columns': ['income']}}
    """
    holes = Amputation(mechanism, direction, columns, strength)
    return Scenario(f"{mechanism}_test" if name is None else name, None, holes)


def shifted(
    train: str | Amputation,
    test: str | Amputation,
    *,
    columns: Sequence[Any] | None = None,
    direction: str = "largest",
    strength: float = _STRENGTH,
    name: str | None = None,
) -> Scenario:
    """Return the scenario in which holes are made in another way once the tree is in use.

    Parameters
    ----------
    train, test : str or Amputation
        The mechanisms; or holes in full, where training and test differ in more.
    columns, direction, strength
        How holes are made by a mechanism that is given by its name; see `ampute`.
    name : str, optional
        What to call it; the two mechanisms with an arrow between them if not given.

    Examples
    --------
    >>> shifted("mcar", Amputation("mnar", columns=["income"])).name
    'mcar → mnar'
    """
    before, after = (
        part if isinstance(part, Amputation) else Amputation(part, direction, columns, strength)
        for part in (train, test)
    )
    return Scenario(f"{before.mechanism} → {after.mechanism}" if name is None else name, before, after)
