"""Reads models of scikit-learn: both kinds of gradient boosting, forests and single trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from tritree.errors import GraftError, shortened
from tritree.graft.order import in_order
from tritree.graft.source import Link, SourceColumn, SourceModel, SourceTree, mark_as_not_learned
from tritree.graft.thresholds import at_most, at_most_float32

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read"]

_HIST_GRADIENT_BOOSTING = (HistGradientBoostingRegressor, HistGradientBoostingClassifier)
_GRADIENT_BOOSTING = (GradientBoostingRegressor, GradientBoostingClassifier)
_FORESTS = (RandomForestRegressor, RandomForestClassifier, ExtraTreesRegressor, ExtraTreesClassifier)
_TREES = (DecisionTreeRegressor, DecisionTreeClassifier)  # and ExtraTree…, which are subclasses


def read(model: Any) -> SourceModel:
    """Read a fitted estimator of scikit-learn."""
    _check_supported(model)
    try:
        if isinstance(model, _HIST_GRADIENT_BOOSTING):
            return _read_hist_gradient_boosting(model)
        if isinstance(model, _GRADIENT_BOOSTING):
            return _read_gradient_boosting(model)
        return _read_forest(model)
    except GraftError:
        raise
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        fitted_by = getattr(model, "_sklearn_version", None) or "another version"
        raise GraftError(
            f"the trees of this {type(model).__name__} are not those of scikit-learn {sklearn.__version__}: {error}",
            f"load and graft it with the scikit-learn that fitted it ({fitted_by}), or fit it again",
        ) from error


def _check_supported(model: Any) -> None:
    name = type(model).__name__
    if isinstance(model, Pipeline):
        raise GraftError(
            "a Pipeline transforms the rows before its model sees them",
            "graft pipeline[-1], with the rows that pipeline[:-1].transform returns",
        )
    if not isinstance(model, (*_HIST_GRADIENT_BOOSTING, *_GRADIENT_BOOSTING, *_FORESTS, *_TREES)):
        raise GraftError(
            f"{name} is no model of scikit-learn that can be grafted",
            "graft its best_estimator_"
            if hasattr(model, "best_estimator_")
            else "pass gradient boosting, a random forest, extremely randomized trees or a decision tree",
        )
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise GraftError(f"this {name} is not fitted", "call fit() first") from None
    if getattr(model, "n_outputs_", 1) > 1:
        raise GraftError(
            f"this {name} predicts {model.n_outputs_} targets", "fit a model to each, and graft these"
        )


def _source_model(
    model: Any,
    columns: list[SourceColumn],
    trees: list[SourceTree],
    baseline: NDArray[np.float64],
    link: Link,
    scale: float = 1.0,
) -> SourceModel:
    def raw(X: Any) -> NDArray[np.float64]:
        if not hasattr(model, "classes_"):
            found = np.log(model.predict(X)) if link == "log" else model.predict(X)
        else:
            found = model.predict_proba(X) if link == "probability" else model.decision_function(X)
        return scale * np.asarray(found, np.float64).reshape(len(found), -1)

    if not any((tree.missing_learned[tree.is_split] == 1).any() for tree in trees):  # all to the larger child
        mark_as_not_learned(trees)
    return SourceModel(
        library="scikit-learn",
        columns=columns,
        trees=trees,
        baseline=scale * baseline,
        link=link,
        classes=getattr(model, "classes_", None),
        raw=raw,
    )


def _names(model: Any) -> list[str | None]:
    names = getattr(model, "feature_names_in_", None)
    return [None] * model.n_features_in_ if names is None else [str(name) for name in names]


# ---- decision trees, forests and gradient boosting of them


def _read_forest(model: Any) -> SourceModel:
    """Read a forest, whose prediction is the mean of its trees, or a single tree."""
    parts = list(model.estimators_) if isinstance(model, _FORESTS) else [model]
    takes_missing = model.__sklearn_tags__().input_tags.allow_nan
    trees = [
        _source_tree(part, output / len(parts), takes_missing, f"tree {i}")
        for i, part in enumerate(parts)
        for output in part.tree_.value[:, 0, :].T
    ]
    columns = [SourceColumn(name) for name in _names(model)]
    n_outputs = len(trees) // len(parts)
    return _source_model(
        model,
        columns,
        trees,
        np.zeros(n_outputs),
        "probability" if hasattr(model, "classes_") else "identity",
    )


def _read_gradient_boosting(model: Any) -> SourceModel:
    init = model.init_
    if isinstance(init, (DummyClassifier, DummyRegressor)):
        is_constant = init.strategy != "stratified"
    else:
        is_constant = isinstance(init, str) and init == "zero"
    if not is_constant:
        raise GraftError(
            f"its init, {shortened(init)}, is no constant", "fit it with init=None or init='zero'"
        )
    # "exponential" has a link of half the log-odds
    scale = 2.0 if model.loss == "exponential" else 1.0
    trees = [
        _source_tree(part, scale * model.learning_rate * part.tree_.value[:, 0, 0], False, f"tree {i}")
        for i, part in enumerate(model.estimators_.ravel())
    ]
    columns = [SourceColumn(name) for name in _names(model)]
    baseline = model._raw_predict_init(np.zeros((1, len(columns)), np.float32))[0]
    return _source_model(model, columns, trees, baseline, _link(model, len(baseline)), scale)


def _link(model: Any, n_outputs: int) -> Link:
    if hasattr(model, "classes_"):
        return "softmax" if n_outputs > 1 else "logit"
    return "log" if model.loss in ("poisson", "gamma") else "identity"


def _source_tree(part: Any, value: NDArray[np.float64], takes_missing: bool, where: str) -> SourceTree:
    """Return a tree of scikit-learn with a value per node."""
    tree = part.tree_
    is_split = tree.children_left >= 0
    left, right = np.where(is_split, tree.children_left, 0), np.where(is_split, tree.children_right, 0)
    missing_left = tree.missing_go_to_left.astype(bool)
    # Without missing values in a node, the larger child gets them. Extremely randomized trees draw a side.
    learned = -1 * np.ones(len(left), np.int8)
    learned[(missing_left != _has_more(tree.n_node_samples, left, right)) | np.isposinf(tree.threshold)] = 1
    if not takes_missing or part.splitter == "random":
        learned[:] = 0
    loss = tree.weighted_n_node_samples * tree.impurity
    found = SourceTree(
        column=np.where(is_split, tree.feature, -1).astype(np.int32),
        threshold=np.where(np.isposinf(tree.threshold), np.inf, at_most_float32(tree.threshold)),
        left=left.astype(np.int32),
        right=right.astype(np.int32),
        missing_left=missing_left,
        missing_learned=learned,
        value=np.ascontiguousarray(value),
        gain=np.nan_to_num(loss - loss[left] - loss[right]),
    )
    return in_order(found, part.n_features_in_, where)


def _has_more(rows: NDArray[Any], left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Return at which nodes the left child has more rows than the right one."""
    return np.asarray(rows[left] > rows[right])


# ---- histogram-based gradient boosting


def _read_hist_gradient_boosting(model: Any) -> SourceModel:
    columns, position, learned = _columns(model)
    predictors = [predictor for iteration in model._predictors for predictor in iteration]
    for predictor in predictors:
        learned[_columns_with_missing(predictor.nodes, position)] = 1
    trees = [
        _hist_tree(predictor, columns, position, learned, f"tree {i}")
        for i, predictor in enumerate(predictors)
    ]
    baseline = np.ravel(model._baseline_prediction).astype(np.float64)
    return _source_model(model, columns, trees, baseline, _link(model, len(baseline)))


def _columns(model: Any) -> tuple[list[SourceColumn], NDArray[np.intp], NDArray[np.int8]]:
    """Return the columns, the position among them of each column that the trees see, and what is known of directions.

    The trees see categorical columns first, as codes. Their categories include NaN if it was in the training rows.
    """
    columns = [SourceColumn(name) for name in _names(model)]
    learned = np.full(len(columns), -1, np.int8)
    if model._preprocessor is None:
        return columns, np.arange(len(columns)), learned
    is_categorical = np.asarray(model.is_categorical_, bool)
    position = np.argsort(~is_categorical, kind="stable")
    encoder = model._preprocessor.named_transformers_["encoder"]
    for j, categories in zip(position, encoder.categories_, strict=False):
        values = categories.tolist()
        learned[j] = bool(values) and values[-1] != values[-1]  # NaN
        columns[j] = SourceColumn(columns[j].name, tuple(values[:-1] if learned[j] else values))
    return columns, position, learned


def _columns_with_missing(nodes: NDArray[Any], position: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return columns whose splits show that the training rows had missing values: else the larger child gets them."""
    nodes_of_splits = nodes[nodes["is_leaf"] == 0]
    larger = _has_more(nodes["count"], nodes_of_splits["left"], nodes_of_splits["right"])
    shows = (nodes_of_splits["missing_go_to_left"] != larger) | np.isposinf(nodes_of_splits["num_threshold"])
    found: NDArray[np.intp] = position[nodes_of_splits["feature_idx"][shows]]
    return found


def _hist_tree(
    predictor: Any,
    columns: list[SourceColumn],
    position: NDArray[np.intp],
    learned: NDArray[np.int8],
    where: str,
) -> SourceTree:
    nodes = predictor.nodes
    is_split = nodes["is_leaf"] == 0
    column = np.where(is_split, position[np.where(is_split, nodes["feature_idx"], 0)], -1)
    missing_left = nodes["missing_go_to_left"] == 1
    left_categories = {}
    for node in np.flatnonzero(is_split & (nodes["is_categorical"] == 1)):
        n_categories = len(columns[column[node]].categories or ())
        bits = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]].astype("<u4").view(np.uint8)
        codes = np.flatnonzero(np.unpackbits(bits, bitorder="little"))
        left_categories[int(node)] = frozenset(codes[codes < n_categories].tolist())
    found = SourceTree(
        column=column.astype(np.int32),
        threshold=at_most(nodes["num_threshold"]),
        left=nodes["left"].astype(np.int32),
        right=nodes["right"].astype(np.int32),
        missing_left=missing_left,
        missing_learned=np.where(is_split, learned[column], 0).astype(np.int8),
        value=nodes["value"].astype(np.float64),
        left_categories=left_categories,
        unknown_left=missing_left,  # unknown categories go where missing values go
        gain=np.where(is_split, nodes["gain"], 0.0),
    )
    return in_order(found, len(columns), where)
