"""Reads models of CatBoost with numeric features: objects, and JSON files without the library."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from tritree.errors import GraftError, shortened
from tritree.graft.limits import reading_file
from tritree.graft.order import in_order
from tritree.graft.source import Link, SourceColumn, SourceModel, SourceTree, by_output
from tritree.graft.thresholds import at_most_float32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["read", "read_file"]

#: CatBoost itself allows 16.
MAX_SYMMETRIC_DEPTH = 20

_REGRESSION = (
    *("RMSE", "MAE", "Quantile", "LogLinQuantile", "MAPE", "Huber", "Expectile", "LogCosh", "Lq", "RMSPE"),
    *("GroupQuantile", "NumErrors", "Cox", "PythonUserDefinedPerObject"),
    *("QueryRMSE", "QuerySoftMax", "QueryCrossEntropy", "PairLogit", "PairLogitPairwise", "YetiRank"),
    *("YetiRankPairwise", "LambdaMart", "StochasticRank", "StochasticFilter"),
)
_LINKS: dict[str, Link] = {
    **dict.fromkeys(_REGRESSION, "identity"),
    **dict.fromkeys(("Poisson", "Tweedie"), "log"),
    **dict.fromkeys(("Logloss", "CrossEntropy", "Focal"), "logit"),
    "MultiClass": "softmax",
    "MultiClassOneVsAll": "sigmoid_each",
}
#: Where each treatment sends missing values: whether left, where values up to the border go.
_MISSING_LEFT = {"AsIs": True, "AsFalse": True, "AsTrue": False}


def read(model: Any) -> SourceModel:
    """Read a fitted `catboost.CatBoost`, such as a CatBoostRegressor or CatBoostClassifier."""
    import catboost

    if not isinstance(model, catboost.CatBoost) or not model.is_fitted():
        raise GraftError(
            f"this {type(model).__name__} of CatBoost cannot be grafted",
            "pass a fitted CatBoost, CatBoostRegressor, CatBoostClassifier or CatBoostRanker",
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            model.save_model(str(path), format="json")
        except catboost.CatBoostError as error:
            raise GraftError(f"CatBoost cannot write the model as JSON: {error}") from error
        source = _read_json(path.read_bytes())
    source.raw = lambda table: by_output(model.predict(table, prediction_type="RawFormulaVal"))
    if isinstance(model, catboost.CatBoostClassifier):
        source.classes = _checked_classes(model.classes_, source.n_outputs)
    return source


def read_file(data: bytes, path_name: str) -> SourceModel:
    """Read a model file of the format "json"."""
    with reading_file(path_name, len(data)):
        return _read_json(data)


# Fields of the JSON, none of which is trusted.


def _refuse(where: str, what: str) -> NoReturn:
    raise GraftError(f"{where} {what}; the file is damaged, or of an unknown format")


def _field(of: Any, name: str, type_: type, where: str) -> Any:
    value = of.get(name) if isinstance(of, dict) else None
    if not isinstance(value, type_) or isinstance(value, bool):
        _refuse(where, f"has no '{name}' of the type {type_.__name__}")
    return value


def _numbers(values: Any, where: str) -> NDArray[np.float64]:
    """Return finite numbers, of which JSON has one or a list."""
    try:
        found = np.array(values)
    except ValueError:  # of lists within lists
        found = np.array(None)
    if found.ndim > 1 or found.dtype.kind not in "iuf" or not np.isfinite(found).all():
        _refuse(where, "has a value that is not a finite number")
    return found.astype(np.float64).reshape(-1)


def _parse(data: bytes) -> dict[str, Any]:
    if data.startswith(b"CBM1"):
        raise GraftError(
            "the binary format of CatBoost cannot be read without it",
            "load the file with catboost.CatBoost().load_model and graft the object, or save it with format='json'",
        )
    try:
        model = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise GraftError(f"the file is not valid JSON: {shortened(str(error))}") from None
    if not isinstance(model, dict) or not model.keys() & {"oblivious_trees", "trees"}:
        raise GraftError("the file is not a JSON model of CatBoost, which has 'oblivious_trees' or 'trees'")
    return model


def _read_json(data: bytes) -> SourceModel:
    model = _parse(data)
    columns, features = _read_features(_field(model, "features_info", dict, "the model"))
    scale, bias = _read_scale_and_bias(model.get("scale_and_bias"))
    name = "oblivious_trees" if "oblivious_trees" in model else "trees"
    read_tree = _read_symmetric if name == "oblivious_trees" else _read_nested
    trees: list[SourceTree] = []
    outputs = len(bias)
    for number, described in enumerate(_field(model, name, list, "the model")):
        where = f"tree {number}"
        tree, leaf_values = read_tree(described, features, where)
        if number == 0:
            outputs = leaf_values.shape[1] if len(bias) == 1 else outputs
            link, classes = _read_loss(model.get("model_info"), outputs)
        if leaf_values.shape[1] != outputs:
            _refuse(where, f"has {leaf_values.shape[1]:,} values per leaf instead of {outputs:,}")
        is_leaf = tree.column < 0
        for of_output in (scale * leaf_values).T:
            value = np.zeros(len(tree))
            value[is_leaf] = of_output
            trees.append(in_order(replace(tree, value=value), len(columns), where))
    if not trees:
        raise GraftError("the model has no trees")
    return SourceModel(
        library="CatBoost",
        columns=columns,
        trees=trees,
        baseline=np.broadcast_to(bias, outputs).copy(),
        link=link,
        classes=classes,
    )


class _Feature(NamedTuple):
    """What the splits of a feature have in common."""

    column: int
    missing_left: bool
    missing_learned: int


def _read_features(info: dict[str, Any]) -> tuple[list[SourceColumn], dict[int, _Feature]]:
    """Return the columns, and the numeric features by the numbers that splits have for them."""
    for kind, why in (
        ("categorical", "whose splits compare statistics of the training target or hashes of categories"),
        ("text", "which are not columns of numbers"),
        ("embedding", "which are not columns of numbers"),
    ):
        if info.get(f"{kind}_features"):
            raise GraftError(
                f"the model has {kind} features, {why}",
                "fit CatBoost to numeric columns, such as encoded categories",
            )
    found = dict[int, _Feature]()
    names = dict[int, str]()
    for feature in _field(info, "float_features", list, "features_info"):
        number = _field(feature, "feature_index", int, "a float feature")
        column = _field(feature, "flat_feature_index", int, "a float feature")
        treatment = feature.get("nan_value_treatment", "AsIs")
        if not isinstance(treatment, str) or treatment not in _MISSING_LEFT:
            _refuse(f"feature {number}", f"treats missing values as {shortened(treatment)}")
        # without missing values in training, where they go was not learned
        learned = int(treatment != "AsIs" and feature.get("has_nans") is True)
        found[number] = _Feature(column, _MISSING_LEFT[treatment], learned)
        names[column] = str(feature.get("feature_id") or "")
    if sorted(names) != list(range(len(found))) or not found:
        _refuse("features_info", f"does not number its {len(found):,} features")
    has_names = all(names.values())
    return [SourceColumn(names[i] if has_names else None) for i in range(len(names))], found


def _read_scale_and_bias(described: Any) -> tuple[float, NDArray[np.float64]]:
    where = "scale_and_bias"
    if not isinstance(described, list) or len(described) != 2:
        _refuse(where, "is not a scale and a bias")
    scale, bias = _numbers(described[0], where), _numbers(described[1], where)
    if len(scale) != 1 or not len(bias):
        _refuse(where, "is not a scale and a bias")
    return float(scale[0]), bias


def _read_loss(info: Any, n_outputs: int) -> tuple[Link, NDArray[Any] | None]:
    info = info if isinstance(info, dict) else {}
    loss = _unpacked(_unpacked(info.get("params", info)).get("loss_function")).get("type")
    if not isinstance(loss, str):
        _refuse("model_info", "does not say the loss function")
    if loss not in _LINKS:
        raise GraftError(f"predictions of the loss function {shortened(loss)} cannot be grafted")
    link = _LINKS[loss]
    if (link in ("softmax", "sigmoid_each")) != (n_outputs > 1):
        _refuse(
            "the model", f"has {n_outputs:,} values per leaf, which does not fit the loss function {loss}"
        )
    if link in ("identity", "log"):
        return link, None
    parameters = info.get("class_params")
    if not isinstance(parameters, dict):
        return link, _checked_classes(range(max(2, n_outputs)), n_outputs)
    labels = parameters.get("class_names") or parameters.get("class_to_label")
    if not isinstance(labels, list) or not all(isinstance(label, str | int | float) for label in labels):
        _refuse("class_params", "has no class labels")
    return link, _checked_classes(labels, n_outputs)


def _unpacked(described: Any) -> dict[str, Any]:
    """Return an object of JSON, which CatBoost may have written as a text of JSON."""
    if isinstance(described, str):
        try:
            described = json.loads(described)
        except (ValueError, RecursionError):
            return {}
    return described if isinstance(described, dict) else {}


def _checked_classes(labels: Sequence[Any], n_outputs: int) -> NDArray[Any]:
    """Return the class labels as an array of one type."""
    if len({type(label) for label in labels}) > 1 or len(set(labels)) != max(2, n_outputs):
        raise GraftError(
            f"{len(labels):,} class labels do not fit to {n_outputs:,} values per leaf",
            "fit without classes that do not occur (classes_count)",
        )
    return np.asarray(labels)


def _read_splits(splits: Sequence[Any], features: dict[int, _Feature], where: str) -> dict[str, NDArray[Any]]:
    """Return splits as arrays: float32 values up to the border go left."""
    found = []
    for split in splits:
        kind = _field(split, "split_type", str, where)
        if kind != "FloatFeature":
            raise GraftError(
                f"{where} has a split of the type {shortened(kind)}", "fit CatBoost to numeric columns"
            )
        number = _field(split, "float_feature_index", int, where)
        if number not in features:
            _refuse(where, f"splits the float feature {number}, which the model does not have")
        found.append((*features[number], split.get("border")))
    column, missing_left, learned, border = zip(*found, strict=True) if found else ((), (), (), ())
    return {
        "column": np.array(column, np.int32),
        "threshold": at_most_float32(_numbers(list(border), where)),
        "missing_left": np.array(missing_left, bool),
        "missing_learned": np.array(learned, np.int8),
    }


def _read_symmetric(
    described: Any, features: dict[int, _Feature], where: str
) -> tuple[SourceTree, NDArray[np.float64]]:
    """Return a tree all of whose nodes of a level have the same split, and the values of its leaves by output."""
    values = _numbers(_field(described, "leaf_values", list, where), where)
    described_splits = described.get("splits") or []
    if not isinstance(described_splits, list) or len(described_splits) > MAX_SYMMETRIC_DEPTH:
        _refuse(where, f"has no list of at most {MAX_SYMMETRIC_DEPTH} splits")
    depth = len(described_splits)
    n_leaves = 2**depth
    if not len(values) or len(values) % n_leaves:
        _refuse(where, f"has {len(values):,} values in {n_leaves:,} leaves")
    splits = _read_splits(described_splits, features, where)
    # nodes level by level: the children of i are 2i + 1 and 2i + 2
    level = np.repeat(np.arange(depth + 1), 2 ** np.arange(depth + 1))
    inner = np.arange(n_leaves - 1)

    def of_levels(name: str, of_leaves: Any) -> NDArray[Any]:
        return np.append(splits[name], np.array(of_leaves, splits[name].dtype))[level]

    def child(side: int) -> NDArray[np.int32]:
        return np.concatenate([2 * inner + side, np.full(n_leaves, -1)]).astype(np.int32)

    # bit i of the number of a leaf tells which way split i went; in order of the nodes, split 0 is the highest bit
    position = np.arange(n_leaves)
    number = sum(((position >> (depth - 1 - i)) & 1) << i for i in range(depth)) if depth else position
    tree = SourceTree(
        column=of_levels("column", -1),
        threshold=of_levels("threshold", 0),
        left=child(1),
        right=child(2),
        missing_left=of_levels("missing_left", False),
        missing_learned=of_levels("missing_learned", 0),
        value=np.zeros(2 * n_leaves - 1),
    )
    return tree, values.reshape(n_leaves, -1)[number]


def _read_nested(
    described: Any, features: dict[int, _Feature], where: str
) -> tuple[SourceTree, NDArray[np.float64]]:
    """Return a tree of nodes within nodes, and the values of its leaves by output."""
    stack = [(described, -1, "")]
    splits, leaf_values, split_nodes = [], [], []
    children: dict[str, dict[int, int]] = {"left": {}, "right": {}}
    n = 0
    while stack:
        node, parent, side = stack.pop()
        if parent >= 0:
            children[side][parent] = n
        if isinstance(node, dict) and "split" in node:
            splits.append(node["split"])
            split_nodes.append(n)
            stack += [(node.get("right"), n, "right"), (node.get("left"), n, "left")]
        else:
            leaf_values.append(_numbers(node.get("value") if isinstance(node, dict) else None, where))
        n += 1
    if len({len(value) for value in leaf_values}) > 1:
        _refuse(where, "has leaves with different numbers of values")
    of_splits = _read_splits(splits, features, where)
    of_splits["left"] = np.array([children["left"][node] for node in split_nodes], np.int32)
    of_splits["right"] = np.array([children["right"][node] for node in split_nodes], np.int32)

    def with_leaves(name: str, of_leaves: int) -> NDArray[Any]:
        values = np.full(n, of_leaves, of_splits[name].dtype)
        values[split_nodes] = of_splits[name]
        return values

    tree = SourceTree(
        column=with_leaves("column", -1),
        threshold=with_leaves("threshold", 0),
        left=with_leaves("left", -1),
        right=with_leaves("right", -1),
        missing_left=with_leaves("missing_left", 0),
        missing_learned=with_leaves("missing_learned", 0),
        value=np.zeros(n),
    )
    return tree, np.array(leaf_values)
