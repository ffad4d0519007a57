"""Scenarios: where and how values go missing: in training and test, in test only, or by another mechanism in test."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

from tritree.lab.ampute import ampute, check_mechanism

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritree.lab.dataset import Dataset

_STRENGTH = 3.0
_USES_DIRECTION = ("im", "mnar", "predictive")
_USES_STRENGTH = ("mar", "mnar", "predictive")


@dataclass(frozen=True, slots=True)
class Amputation:
    """How values are removed: the parameters of `ampute` without the missing rate and the seed.

    Examples
    --------
    >>> Amputation("mnar", columns=["income"]).to_dict()
    {'mechanism': 'mnar', 'columns': ['income'], 'direction': 'largest', 'strength': 3.0}
    """

    mechanism: str
    direction: str = "largest"
    columns: Any = None
    strength: float = _STRENGTH

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", _as_tuple(self.columns))
        check_mechanism(self.mechanism, self.direction, self.strength)

    def check(self, dataset: Dataset) -> None:
        """Raise a ValueError if the data set lacks one of the columns."""
        try:
            ampute(dataset.X.iloc[:1], 0.0, columns=self._columns())
        except ValueError as error:
            raise ValueError(f"data set {dataset.name!r}: {error}") from None

    def _columns(self) -> list[Any] | None:
        return None if self.columns is None else list(self.columns)

    def apply(self, dataset: Dataset, rate: float, seed: int) -> Any:
        """Return the data set's features with missing values."""
        return ampute(
            dataset.X,
            rate,
            self.mechanism,
            self._columns(),
            target=dataset.y if self.mechanism == "predictive" else None,
            direction=self.direction,
            strength=self.strength,
            seed=seed,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters that the mechanism uses, as plain data."""
        names = self._columns()
        columns = "all" if names is None else [n if isinstance(n, (str, int)) else repr(n) for n in names]
        parameters: dict[str, Any] = {"mechanism": self.mechanism, "columns": columns}
        if self.mechanism in _USES_DIRECTION:
            parameters["direction"] = self.direction
        if self.mechanism in _USES_STRENGTH:
            parameters["strength"] = float(self.strength)
        return parameters


def _as_tuple(columns: Any) -> tuple[Any, ...] | None:
    """Return names or positions of columns as a tuple, also if a single one was passed."""
    if columns is None:
        return None
    if isinstance(columns, (str, Integral)):
        columns = (columns,)
    try:
        names = tuple(int(name) if isinstance(name, Integral) else name for name in columns)
    except TypeError:
        raise TypeError(f"columns must be a list of names or positions, got {columns!r}") from None
    if not names:
        raise ValueError(
            "columns is empty; name the columns to remove values from, or leave it out for all of them"
        )
    return names


@dataclass(frozen=True, slots=True)
class Scenario:
    """Amputation of the training rows and of the test rows; None leaves the rows as they are."""

    name: str
    train: Amputation | None
    test: Amputation | None

    def check(self, dataset: Dataset) -> None:
        """Raise a ValueError if the data set lacks a column that values are to be removed from."""
        for amputation in (self.train, self.test):
            if amputation is not None:
                amputation.check(dataset)

    def tables(self, dataset: Dataset, rate: float, seed: int) -> tuple[Any, Any]:
        """Return the data set's features twice: for training and for the test.

        Values are removed before the rows are split into folds, so the missing rate is exact in the whole table.
        """
        if rate == 0:
            return dataset.X, dataset.X
        test = dataset.X if self.test is None else self.test.apply(dataset, rate, seed)
        if self.train == self.test:
            return test, test
        return dataset.X if self.train is None else self.train.apply(dataset, rate, seed), test

    def to_dict(self) -> dict[str, Any]:
        """Return the amputation of the training and of the test rows, as plain data."""
        return {
            rows: "complete" if amputation is None else amputation.to_dict()
            for rows, amputation in (("training", self.train), ("test", self.test))
        }


def in_both(
    mechanism: str = "mcar",
    *,
    columns: Sequence[Any] | None = None,
    direction: str = "largest",
    strength: float = _STRENGTH,
    name: str | None = None,
) -> Scenario:
    """Return the scenario with values missing by the same mechanism in training and test.

    Parameters
    ----------
    mechanism, columns, direction, strength
        How values are removed; see `ampute`.
    name : str, optional
        Name of the scenario, unique in an experiment. By default the mechanism.

    Examples
    --------
    >>> in_both("im", direction="smallest", name="smallest first").name
    'smallest first'
    """
    amputation = Amputation(mechanism, direction, columns, strength)
    return Scenario(mechanism if name is None else name, amputation, amputation)


def in_test(
    mechanism: str = "mcar",
    *,
    columns: Sequence[Any] | None = None,
    direction: str = "largest",
    strength: float = _STRENGTH,
    name: str | None = None,
) -> Scenario:
    """Return the scenario with complete training rows: values go missing in production only.

    Parameters
    ----------
    mechanism, columns, direction, strength
        How values are removed; see `ampute`.
    name : str, optional
        Name of the scenario, unique in an experiment. By default the mechanism followed by ``_test``.

    Examples
    --------
    What if the income is no longer collected?

    >>> in_test(columns=["income"]).to_dict()
    {'training': 'complete', 'test': {'mechanism': 'mcar', 'columns': ['income']}}
    """
    amputation = Amputation(mechanism, direction, columns, strength)
    return Scenario(f"{mechanism}_test" if name is None else name, None, amputation)


def shifted(
    train: str | Amputation,
    test: str | Amputation,
    *,
    columns: Sequence[Any] | None = None,
    direction: str = "largest",
    strength: float = _STRENGTH,
    name: str | None = None,
) -> Scenario:
    """Return the scenario in which the missingness mechanism of the test differs from that of training.

    Parameters
    ----------
    train, test : str or Amputation
        Mechanisms; or amputations, if training and test differ in other parameters.
    columns, direction, strength
        How values are removed by a mechanism given as str; see `ampute`.
    name : str, optional
        Name of the scenario, unique in an experiment. By default the two mechanisms with an arrow between them.

    Examples
    --------
    >>> shifted("mcar", Amputation("mnar", columns=["income"])).name
    'mcar → mnar'
    """
    before, after = (
        one if isinstance(one, Amputation) else Amputation(one, direction, columns, strength)
        for one in (train, test)
    )
    return Scenario(f"{before.mechanism} → {after.mechanism}" if name is None else name, before, after)
