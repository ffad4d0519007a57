"""What ``tritree compare`` tells: of a table as it is, of the same with more holes, and of each rate by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tritree.cli.tables import records
from tritree.inspection.formatting import count

if TYPE_CHECKING:
    from tritree.lab.dataset import Dataset
    from tritree.lab.ranks import Comparison

__all__ = ["Compared", "compared", "models_told", "told"]


@dataclass(frozen=True)
class Compared:
    """The comparisons that answer which strategy to use.

    ``as_it_is`` is None if the table has no holes of its own, since all strategies of one kind of model are the same
    then; ``with_more`` is None if no cells were to be removed from one that has.
    """

    missing_share: float
    as_it_is: Comparison | None
    with_more: Comparison | None
    by_rate: Comparison

    def text(self) -> str:
        """Return both comparisons as text, each below a line that says which it is."""
        said = []
        if self.as_it_is is not None:
            # what was tested is told once, at the end
            notes = [] if self.with_more is not None else self.as_it_is.notes
            share = self.missing_share
            holes = f"with {_percent(share)} of its cells missing" if share > 0 else "without holes"
            said.append(f"The table as it is, {holes}:")
            said.append(f"{replace(self.as_it_is, notes=notes)}\n")
        if self.with_more is not None:
            said.append(f"{_removed(self.with_more.rates)}:")
            said.append(str(self.with_more))
        return "\n".join(said)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data: what is said of more holes, of the table as it is, and of each rate."""
        own = None
        if self.as_it_is is not None:
            own = {"missing_share": self.missing_share} | _plain(self.as_it_is)
        main = self.with_more or self.as_it_is
        said = {} if main is None else _plain(main)
        return said | {"as_it_is": own, "by_rate": records(self.by_rate.table)}


def compared(results: Any, dataset: Dataset) -> Compared:
    """Return what an experiment on one data set comes to."""
    from tritree.lab import compare_methods
    from tritree.lab.ranks.names import kind_of
    from tritree.lab.ranks.pairs import compare_as_is

    share = float(dataset.X.isna().to_numpy().mean())
    kinds = {kind_of(method) for method in results["method"].unique()}
    differ = share > 0 or len({kind[0] for kind in kinds if kind is not None}) > 1
    own = compare_as_is(results) if differ and (results["rate"] == 0).any() else None
    more = compare_methods(results) if own is None or (results["rate"] > 0).any() else None
    return Compared(share, own, more, compare_methods(results, by="rate"))


def _plain(found: Comparison) -> dict[str, Any]:
    said = {"headline": found.headline, "verdict": found.verdict, "notes": found.notes}
    return said | {"rates": found.rates, "methods": records(found.table)}


def _removed(rates: list[float]) -> str:
    """Return what was done to the table, as the beginning of a paragraph."""
    if rates == [0]:
        return "The table as it is, without holes"
    shown = [_percent(rate) for rate in rates]
    if len(shown) == 1:
        return f"With {shown[0]} of the cells removed"
    return f"With {', '.join(shown[:-1])} and {shown[-1]} of the cells removed (losses are means over these rates)"


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def told(dataset: Dataset, reason: str, weights: str | None) -> str:
    """Return what was compared on, in words."""
    size = f"{count(dataset.n_rows, 'row')}, {count(dataset.X.shape[1], 'column')}"
    weighed = "" if weights is None else f", weighed by {weights}"
    return f"{dataset.name}: {size}{weighed}; {dataset.task}: {reason}"


def models_told(about: dict[str, Any]) -> str:
    """Return what was compared, in words: each kind of model with what ``tritree fit`` would have to be told."""
    said = [f"tree: {_depth(depth)}" for depth in about["depths"].values() if _has_trees(about["methods"])]
    for kind, facts in about["models"].items():
        parts = [count(facts.get("n_estimators") or facts["max_iter"], "tree"), _depth(facts["max_depth"])]
        rate = facts.get("learning_rate")
        said.append(f"{kind}: {', '.join(parts)}{'' if rate is None else f', learning rate {rate:g}'}")
    return "; ".join(said)


def _has_trees(methods: list[str]) -> bool:
    return any(":" not in method for method in methods)


def _depth(depth: int | None) -> str:
    return "any depth" if depth is None else f"depth {depth}"
