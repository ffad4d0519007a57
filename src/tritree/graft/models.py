"""``graft``: from a model of another library, or its file, to an estimator."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.encoder import column_errors
from tritree.errors import GraftError, ParameterError, warn_caller
from tritree.estimators.grafted import GraftedClassifier, GraftedRegressor
from tritree.estimators.growing_model import GrowingModel
from tritree.graft.build import build_core, kept_splits, make_bins, make_plan, rows_of_nodes
from tritree.graft.check import check_complete_rows, check_predictions
from tritree.graft.columns import read_background
from tritree.graft.limits import reading_file
from tritree.graft.nodes import Nodes
from tritree.validation import allowed_values, as_random_state, check_int, count_threads, validate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree.graft.columns import GraftColumns
    from tritree.graft.source import SourceModel

__all__ = ["graft", "graft_source", "read_source"]

#: The libraries whose models can be grafted, in the order in which their classes are recognised.
_LIBRARIES = ("xgboost", "lightgbm", "catboost", "sklearn")
#: Fewer background rows than this are warned of.
_FEW_ROWS = 50
#: What files begin with that are no models, or of no use, and what to do about it.
_REFUSED = {
    b"\x80": ("is a pickle, which runs code when it is read", "load it if you trust it, and pass the model"),
    b"PK": ("is a zip file", "save the model as JSON or text"),
    b"binf": (
        "is in XGBoost's old binary format",
        "load it with XGBoost, and save it as .json or pass the model",
    ),
}


def graft(
    model: Any,
    X: Any,
    *,
    missing: str = "auto",
    max_background: int = 20_000,
    third_depth_extra: int = 0,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> GraftedRegressor | GraftedClassifier:
    """Return a model of another library with third branches for missing values.

    Rows without missing values get the source's own predictions. For others a split whose column is missing takes a
    third branch: a small tree of the other columns, fitted to what the split's own left and right branches predict for
    the rows of ``X``. So the prediction estimates the source's mean prediction, given the observed values. Nothing is
    trained anew, and no labels are needed. Third branches grow on demand.

    Parameters
    ----------
    model : object, str or path-like
        A fitted model of XGBoost, LightGBM, CatBoost or scikit-learn (trees, forests, gradient boosting), or a file:
        XGBoost's JSON or UBJSON, LightGBM's text, CatBoost's JSON. Files are read without the library, and reading
        them runs no code.
    X : table of shape (n_rows, n_columns)
        Background rows, like those that the model was fitted to; some hundred to some ten thousand.
    missing : {"auto", "third", "keep"}, default="auto"
        Which splits have third branches.

        - "auto": all but those whose direction for missing values the source has learned from many training rows with
          missing values: it records that it has learned it, or does not record it, as XGBoost, and at least a tenth of
          the rows of ``X`` lack the column. Where ``X`` lacks no value of the column, a record alone counts.
        - "third": all of them.
        - "keep": none; the model predicts as the source does.
    max_background : int, default=20_000
        Maximum number of rows of ``X`` that are kept to grow third branches from; they are drawn at random.
    third_depth_extra : int, default=0
        Additional depth of third branches, which are otherwise at most as deep as the deepest tree of the source.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of background rows.
    n_jobs : int or None, default=None
        Number of threads; see `TrinaryBoostingRegressor`.

    Returns
    -------
    GraftedRegressor or GraftedClassifier
        A fitted estimator with the predictions, views and exports of tritree's own boosting.

    Raises
    ------
    GraftError
        If the model is not supported, if its file is damaged, or if the graft predicts rows of ``X`` otherwise than the
        model itself (which is checked unless the model comes from a file).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from tritree import graft
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(n_estimators=20, max_depth=4, random_state=0).fit(X, y)
    >>> robust = graft(forest, X, random_state=0)
    >>> bool(np.allclose(robust.predict(X), forest.predict(X)))
    True
    >>> rows = X[:3].copy()
    >>> rows[:, [2, 8]] = np.nan  # the two most important columns
    >>> robust.predict(rows).shape
    (3,)
    """
    parameters = {
        "missing": missing,
        "third_depth_extra": third_depth_extra,
        "random_state": random_state,
        "n_jobs": n_jobs,
    }
    validate(parameters, allowed_values("graft", "regressor"))
    check_int("max_background", max_background, 1)
    source = read_source(model, X)
    return graft_source(source, X, max_background=max_background, **parameters)


def graft_source(
    source: SourceModel, X: Any, *, max_background: int, **parameters: Any
) -> GraftedRegressor | GraftedClassifier:
    """Return the estimator of a model that has been read, and checked against the source's own predictions."""
    n_threads = count_threads(parameters["n_jobs"])
    generator = as_random_state(parameters["random_state"])
    seed = int(generator.randint(2**31 - 1))
    if not source.trees:
        raise GraftError(f"the model of {source.library} has no trees")
    source = _sorted_classes(source)
    columns = read_background(source, X, max_background, generator)
    if columns.n_rows < _FEW_ROWS:
        warn_caller(
            f"third branches are fitted to the rows of X, which are only {columns.n_rows:,}; pass some hundred or more"
        )
    nodes, left_categories = Nodes.join(source.trees)
    if parameters["missing"] != "keep":
        columns.check_values(nodes)
    parameters |= {
        "library": source.library,
        "link": source.link,
        "max_depth": sum(1 for _ in nodes.levels()) - 1,
    }
    kind: Any = GraftedRegressor if source.classes is None else GraftedClassifier
    estimator: GraftedRegressor | GraftedClassifier = kind(**parameters)
    estimator._validate_params()
    if source.n_outputs != estimator._n_outputs(parameters, source.classes):
        raise GraftError(f"{source.library} predicts {source.n_outputs} numbers for a row; one is supported")
    with column_errors(columns.encoder):
        core = _graft_core(source, estimator, nodes, left_categories, columns, X, seed, n_threads)
    estimator._set_fitted(GrowingModel(core, "boosting"), columns.encoder, source.classes)
    return estimator


def _graft_core(
    source: SourceModel,
    estimator: Any,
    nodes: Nodes,
    left_categories: list[frozenset[int]],
    columns: GraftColumns,
    X: Any,
    seed: int,
    n_threads: int,
) -> Any:
    """Return the model of the core, which predicts background rows as the source does."""
    sets, bins = columns.sets(nodes, left_categories), make_bins(source, nodes, columns)
    growth = estimator._growth_parameters(columns.encoder, source.classes, seed)
    as_is = make_plan(source, nodes, sets, bins, np.ones(len(nodes), bool))
    core = build_core(as_is, growth)
    check_predictions(source, as_is.nodes, core, columns, X, n_threads)
    keeps = kept_splits(nodes, estimator.missing, columns.missing_shares())
    if estimator.missing == "auto" and keeps[nodes.is_split].all():
        warn_caller(
            "no split gets a third branch: where missing values go was learned, or may have been, for all columns that "
            "the model splits by, so that it predicts as before; missing='third' gives all splits a third branch"
        )
    plan = make_plan(source, nodes, sets, bins, keeps)
    without_rows = build_core(plan, growth)
    check_complete_rows(without_rows, core, columns, n_threads)
    grown = build_core(plan, growth, rows=rows_of_nodes(plan.nodes, without_rows, columns, n_threads))
    if growth.to_dict()["estimates_variance"]:  # it depends on what all trees predict for background rows
        grown.grow_for_background(n_threads)
    return grown


def _sorted_classes(source: SourceModel) -> SourceModel:
    """Return a source whose classes are in sorted order, as scikit-learn has them."""
    classes = source.classes
    if classes is None:
        return source
    order = np.argsort(classes, kind="stable")
    if (order == np.arange(len(order))).all():
        return source
    k, raw = source.n_outputs, source.raw
    if k == 1:  # the log-odds of the second class
        trees = [replace(tree, value=-tree.value) for tree in source.trees]
        baseline = -source.baseline
    else:
        trees = [source.trees[first + i] for first in range(0, len(source.trees), k) for i in order]
        baseline = source.baseline[order]

    def raw_sorted(X: Any) -> NDArray[np.float64]:
        assert raw is not None
        found = np.asarray(raw(X), np.float64).reshape(-1, k)
        return -found if k == 1 else found[:, order]

    return replace(
        source,
        trees=trees,
        baseline=baseline,
        classes=classes[order],
        raw=None if raw is None else raw_sorted,
    )


# ---- reading


def read_source(model: Any, X: Any = None) -> SourceModel:
    """Return a model of another library, or in a file, as plain arrays.

    Models that do not record their categories have those of the columns of ``X``.
    """
    if isinstance(model, (str, os.PathLike)):
        return _read_file(Path(model), X)
    if isinstance(model, (bytes, bytearray)):
        return _read_bytes(bytes(model), "the file", X)
    modules = {cls.__module__.partition(".")[0] for cls in type(model).__mro__}
    if "tritree" in modules:
        raise GraftError(
            f"{type(model).__name__} has third branches already, or can have them", "use it as it is"
        )
    library = next((name for name in _LIBRARIES if name in modules), None)
    if library is None:
        raise ParameterError(
            "model",
            "a fitted model of XGBoost, LightGBM, CatBoost or scikit-learn, or the path of its file",
            model,
        )
    return _call_reader(library, "read", model, X=X)


def _read_file(path: Path, X: Any) -> SourceModel:
    if path.exists() and not path.is_file():
        raise GraftError("not a file", path=path)
    with reading_file(path, path.stat().st_size):
        return _read_bytes(path.read_bytes(), str(path), X)


def _read_bytes(data: bytes, name: str, X: Any) -> SourceModel:
    """Return the model in a file, whose format its first bytes tell."""
    for begin, (problem, remedy) in _REFUSED.items():
        if data.startswith(begin):
            raise GraftError(f"the file {problem}", remedy)
    return _call_reader(_library_of(data), "read_file", data, name, X=X)


def _library_of(data: bytes) -> str:
    if data.startswith(b"CBM"):
        return "catboost"
    if data.lstrip().startswith(b"tree"):
        return "lightgbm"
    if data.lstrip().startswith(b"{"):
        if b"learner" in data and b"gradient_booster" in data:
            return "xgboost"
        if b"features_info" in data or b"oblivious_trees" in data:
            return "catboost"
    raise GraftError(
        "the file is not a model of XGBoost (.json or .ubj), LightGBM (text) or CatBoost (.json)",
        "save the model in one of these formats, or pass the model itself",
    )


def _call_reader(library: str, function: str, *args: Any, X: Any) -> SourceModel:
    read = getattr(import_module(f"tritree.graft.{library}"), function)
    options = {"X": X} if "X" in signature(read).parameters else {}
    source: SourceModel = read(*args, **options)
    return source
