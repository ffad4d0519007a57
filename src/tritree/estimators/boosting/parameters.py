"""The parameters of boosting, checked, and as the core takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree import _core
from tritree.checks import check_max_features, check_number, check_truth, check_verbose
from tritree.encoder import MAX_CATEGORIES
from tritree.errors import ParameterError, name_column
from tritree.parameters import THIRD_BRANCHES, UNKNOWN_CATEGORY, check_choice, check_int, count_threads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tritree.encoder import TableEncoder

__all__ = ["MISSING", "Parameters"]

#: How boosting may handle missing values.
MISSING = ("trinary_mia", "trinary", "mia", "majority", "fractional")

_NO_LIMIT = 2**29  # for the core
#: What all trees of a model have in common.
_LASTING = {
    "loss",
    "quantile",
    "missing",
    "max_depth",
    "max_leaf_nodes",
    "min_samples_leaf",
    "l2_regularization",
    "max_features",
    "max_bins",
    "categorical_features",
    "monotonic_cst",
    "background_rows",
    "third_rows",
    "third_depth_extra",
    "max_third_nodes",
}
_DIRECTIONS = {1: 1, -1: -1, 0: 0, "increasing": 1, "decreasing": -1, None: 0}


@dataclass(frozen=True)
class Parameters:
    """The parameters of one fit."""

    values: Mapping[str, Any]

    def check(self, losses: tuple[str, ...]) -> None:
        """Raise a ValueError naming the first parameter that cannot be, and what it may be."""
        v = self.values
        check_choice("loss", v["loss"], losses)
        check_choice("missing", v["missing"], MISSING)
        check_choice("unknown_category", v["unknown_category"], UNKNOWN_CATEGORY)
        check_number("learning_rate", v["learning_rate"], 0, open_below=True)
        check_int("max_iter", v["max_iter"], 1)
        check_int("max_depth", v["max_depth"], 1, or_none="no limit")
        check_int("max_leaf_nodes", v["max_leaf_nodes"], 2, or_none="no limit")
        check_int("min_samples_leaf", v["min_samples_leaf"], 1)
        check_number("l2_regularization", v["l2_regularization"], 0)
        check_number("subsample", v["subsample"], 0, 1, open_below=True)
        check_max_features(v["max_features"])
        check_int("max_bins", v["max_bins"], 2, MAX_CATEGORIES)
        check_int("background_rows", v["background_rows"], 1)
        check_int("third_rows", v["third_rows"], 1)
        check_int("third_depth_extra", v["third_depth_extra"], 0)
        check_int("max_third_nodes", v["max_third_nodes"], 0)
        check_int("n_iter_no_change", v["n_iter_no_change"], 1)
        check_number("validation_fraction", v["validation_fraction"], 0, 1, open_below=True, open_above=True)
        check_number("tol", v["tol"], 0)
        if "quantile" in v:
            check_number("quantile", v["quantile"], 0, 1)
        stopping = v["early_stopping"]
        if not isinstance(stopping, (bool, np.bool_)) and (
            not isinstance(stopping, str) or stopping != "auto"
        ):
            raise ParameterError("early_stopping", "True, False or 'auto'", v["early_stopping"])
        check_truth("warm_start", v["warm_start"])
        check_verbose(v["verbose"])
        count_threads(v["n_jobs"])

    def changed(self, before: Mapping[str, Any]) -> str | None:
        """Return the first parameter that all trees of a model share and that is not as it was."""
        names = sorted(_LASTING & self.values.keys())
        return next((name for name in names if not _same(self.values[name], before[name])), None)

    def check_goes_on(self, before: Mapping[str, Any], n_rounds: int) -> None:
        """Raise a ValueError naming the first parameter that does not allow a model to be gone on with."""
        if (name := self.changed(before)) is not None:
            raise ValueError(
                f"warm_start goes on with the trees of the first fit, which had {name}={before[name]!r}; "
                f"set it again, or set warm_start=False to begin anew with {self.values[name]!r}"
            )
        if self.values["max_iter"] < n_rounds:
            raise ValueError(
                f"max_iter={self.values['max_iter']} is less than the {n_rounds} rounds that are there, to which "
                "warm_start adds; raise it, or set warm_start=False to begin anew"
            )

    def plan(self, encoder: TableEncoder, seed: int, *, is_curved: bool) -> _core.Plan:
        """Return how the core is to grow trees; ``is_curved``: a prediction is a curve of the sum over them."""
        v = self.values
        bound = directions(v["monotonic_cst"], encoder)
        return _core.Plan(
            missing=v["missing"],
            max_depth=_NO_LIMIT if v["max_depth"] is None else min(int(v["max_depth"]), _NO_LIMIT),
            max_leaf_nodes=0 if v["max_leaf_nodes"] is None else min(int(v["max_leaf_nodes"]), _NO_LIMIT),
            min_samples_leaf=min(int(v["min_samples_leaf"]), _NO_LIMIT),
            l2=float(v["l2_regularization"]),
            max_features=float(v["max_features"]),
            monotonic=bound,
            third_depth_extra=min(int(v["third_depth_extra"]), _NO_LIMIT),
            third_rows=min(int(v["third_rows"]), _NO_LIMIT),
            max_third_nodes=min(int(v["max_third_nodes"]), _NO_LIMIT),
            # what a bound column leaves open could fall as the sum rises, and the prediction with it
            measures_doubt=is_curved and not bound and v["missing"] in THIRD_BRANCHES,
            seed=seed,
        )


def _same(a: Any, b: Any) -> bool:
    return np.array_equal(np.asarray(a, dtype=object), np.asarray(b, dtype=object))


def directions(constraints: Any, encoder: TableEncoder) -> list[int]:
    """Return per column 1 if answers must not fall with it, -1 if they must not rise, else 0; [] if all are free."""
    if constraints is None:
        return []
    names = [name_column(column.name) for column in encoder.columns]
    if hasattr(constraints, "items"):
        if encoder.column_names is None:
            raise ValueError(
                "monotonic_cst is a dict, which goes by column names, and X has none; give a list with one entry per "
                "column"
            )
        unknown = [name for name in constraints if name not in encoder.column_names]
        if unknown:
            raise ValueError(f"monotonic_cst has {unknown[0]!r}, which is no column of X")
        listed = [constraints.get(key, 0) for key in encoder.column_names]
    else:
        array = np.asarray(constraints, dtype=object)
        if array.ndim == 0:  # a text would be taken for a list of its letters
            example = constraints if isinstance(constraints, str) else "name"
            raise ParameterError(
                "monotonic_cst",
                "a dict of column names or a list with one entry per column",
                constraints,
                hint=f"write {{{example!r}: 1}} for a column whose answers must not fall, -1 if they must not rise",
            )
        listed = list(array.tolist())
        if len(listed) != len(names):
            raise ValueError(
                f"monotonic_cst has {len(listed)} entries, X has {len(names)} columns; give one for each"
            )
    found = []
    for name, column, value in zip(names, encoder.columns, listed, strict=True):
        if isinstance(value, (list, dict)) or value not in _DIRECTIONS:
            raise ParameterError(f"monotonic_cst of {name}", "1, -1 or 0", value)
        if _DIRECTIONS[value] and column.categories is not None and column.order is None:
            raise ValueError(f"monotonic_cst binds {name}, whose categories have no order; give it 0")
        found.append(_DIRECTIONS[value])
    return found if any(found) else []
