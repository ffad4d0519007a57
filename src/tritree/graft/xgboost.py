"""Reads models of XGBoost: boosters, its scikit-learn estimators, and JSON or UBJSON files without the library."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.errors import GraftError, name_column, shortened
from tritree.graft import ubjson
from tritree.graft.limits import MAX_CATEGORIES, MAX_COLUMNS, check_split_categories, reading_file
from tritree.graft.order import in_order
from tritree.graft.source import Link, SourceColumn, SourceModel, SourceTree, by_output, mark_as_not_learned
from tritree.graft.thresholds import below_float32

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["read", "read_file"]

#: Major and minor number of the newest version whose files are known.
_NEWEST = (3, 2)

#: What the raw scores of an objective are.
_LINKS: dict[str, Link] = {
    **dict.fromkeys(("reg:squarederror", "reg:linear", "reg:squaredlogerror"), "identity"),
    **dict.fromkeys(("reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror"), "identity"),
    **dict.fromkeys(("rank:pairwise", "rank:ndcg", "rank:map"), "identity"),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft"), "log"),
    **dict.fromkeys(("binary:logistic", "binary:logitraw", "reg:logistic"), "logit"),
    **dict.fromkeys(("multi:softprob", "multi:softmax"), "softmax"),
}
_RESAVE = "load it with the XGBoost that wrote it, and save it with save_model() as .json or .ubj"


def read(model: Any, X: Any = None) -> SourceModel:
    """Read an `xgboost.Booster`, or a fitted estimator of its scikit-learn interface.

    As in XGBoost itself, an estimator that stopped early predicts with the iterations up to the best one, a booster
    with all. XGBoost before 3.1 does not record categories: they are those of `X` if it is a table of pandas, else
    their codes.
    """
    import xgboost

    booster = model
    if isinstance(model, xgboost.XGBModel):
        if not model.__sklearn_is_fitted__():
            raise GraftError(f"this {type(model).__name__} is not fitted", "call fit() first")
        booster = model.get_booster()
    if not isinstance(booster, xgboost.Booster):
        raise GraftError(
            f"a {type(model).__name__} of XGBoost cannot be grafted",
            "pass a Booster, or a fitted estimator of its scikit-learn interface",
        )
    document = _Entries(ubjson.decode(bytes(booster.save_raw("ubj"))))
    is_estimator = booster is not model
    source = _read_document(document, X, is_estimator)
    missing = model.missing if is_estimator else np.nan
    best = booster.attr("best_iteration") if is_estimator else None
    # an estimator predicts in place, where XGBoost rounds each tree of dart once more
    source.raw = lambda table: by_output(
        booster.predict(
            _matrix(booster, table, missing),
            output_margin=True,
            iteration_range=(0, 0 if best is None else int(best) + 1),
        )
    )
    if isinstance(model, xgboost.XGBClassifier) and source.classes is None:
        raise GraftError(f"an XGBClassifier with the objective {model.objective!r} has no probabilities")
    source.columns = _with_missing(source.columns, missing)
    if source.link in ("log", "logit"):
        source.baseline = _baseline_of_library(document)
    return source


def read_file(data: bytes, path_name: str, X: Any = None) -> SourceModel:
    """Read a model file that XGBoost wrote (`save_model`), JSON or UBJSON."""
    with reading_file(path_name, len(data)):
        document = _parse(data)
        document.object("learner")  # else it is no model at all
        _check_version(document)
        return _read_document(document, X)


def _check_version(document: _Entries) -> None:
    """Raise a GraftError if a file is of a newer version than is known: nothing else checks what is read from it."""
    version = tuple(document.integers("version")[:2].tolist())
    if version > _NEWEST:
        theirs, newest = (".".join(map(str, numbers)) for numbers in (version, _NEWEST))
        raise GraftError(
            f"XGBoost {theirs} wrote it, but tritree reads models of XGBoost 1.0 to {newest}",
            f"train it with XGBoost {newest} or older, or look for a newer tritree",
        )


def _baseline_of_library(document: _Entries) -> NDArray[np.float64]:
    """Return what XGBoost predicts without trees: its float32 logarithms may differ from ours in the last bit."""
    import xgboost

    learner = document.object("learner")
    parameters = {
        "objective": learner.object("objective").text("name"),
        # all digits of a double, as older versions round the shortest ones wrongly
        "base_score": float(_base_score(learner.object("learner_model_param"), 1)[0]),
        "nthread": 1,
    }
    row = xgboost.DMatrix(np.zeros((1, 1)))
    return np.asarray(xgboost.Booster(parameters, [row]).predict(row, output_margin=True), np.float64)


def _matrix(booster: Any, table: Any, missing: Any) -> Any:
    """Return rows as a booster takes them; arrays get the names and types of its features."""
    import xgboost

    if hasattr(table, "columns"):
        return xgboost.DMatrix(table, missing=missing, enable_categorical=True)
    features = {"feature_names": booster.feature_names, "feature_types": booster.feature_types}
    return xgboost.DMatrix(np.asarray(table), missing=missing, **features)


def _with_missing(columns: list[SourceColumn], missing: Any) -> list[SourceColumn]:
    """Return columns in which the parameter `missing` of an estimator is missing, too."""
    if missing is None or np.isnan(missing):
        return columns
    if missing == 0 and all(column.categories is None for column in columns):
        return [replace(column, zero_is_missing=True, zero_is_exact=True) for column in columns]
    raise GraftError(
        f"the estimator takes {missing!r} for a missing value",
        f"turn {missing!r} into NaN in the rows, and call set_params(missing=numpy.nan)",
    )


# ---- the document


def _parse(data: bytes) -> _Entries:
    if data[:1] != b"{":
        raise GraftError(
            "this is no model of XGBoost in JSON or UBJSON", f"if it is an older format, {_RESAVE}"
        )
    if data[1:2] not in (b'"', b"}", b" ", b"\t", b"\r", b"\n"):
        return _Entries(ubjson.decode(data))
    try:
        return _Entries(json.loads(data))
    except RecursionError:
        raise GraftError("the JSON is nested too deeply") from None
    except ValueError as error:  # of syntax, encoding, or integers that are too long
        raise GraftError(f"the JSON is malformed: {error}") from None


class _Entries:
    """An object of the document, whose entries are read with a check of their type."""

    def __init__(self, entries: Any, name: str = "") -> None:
        if not isinstance(entries, dict):
            raise GraftError(f"{name or 'the document'} is not an object")
        self.entries = entries
        self.name = name

    def __contains__(self, key: str) -> bool:
        return key in self.entries

    def get(self, key: str) -> Any:
        if key not in self.entries:
            raise GraftError(f"this is no model of XGBoost: there is no {self.path(key)}")
        return self.entries[key]

    def path(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

    def object(self, key: str) -> _Entries:
        return _Entries(self.get(key), self.path(key))

    def text(self, key: str) -> str:
        value = self.get(key)
        if not isinstance(value, str):
            raise GraftError(f"{self.path(key)} must be a text, not {shortened(value)}")
        return value

    def integer(self, key: str, default: int = 0) -> int:
        """Return a number that is written as a text."""
        text = self.text(key) if key in self else str(default)
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise GraftError(f"{self.path(key)} must be a number, not {shortened(text)}")
        return int(text)

    def items(self, key: str) -> list[Any]:
        values = self.get(key)
        if not isinstance(values, list | np.ndarray):
            raise GraftError(f"{self.path(key)} must be a list, not {shortened(values)}")
        return list(values)

    def texts(self, key: str) -> list[str]:
        values = self.items(key) if key in self else []
        if not all(isinstance(value, str) for value in values):
            raise GraftError(f"{self.path(key)} must be a list of texts")
        return values

    def integers(self, key: str, length: int | None = None) -> NDArray[np.int64]:
        return self.numbers(key, "biu", length).astype(np.int64)

    def floats(self, key: str, length: int | None = None) -> NDArray[np.float32]:
        with np.errstate(over="ignore"):
            return self.numbers(key, length=length).astype(np.float32)

    def numbers(self, key: str, kinds: str = "biuf", length: int | None = None) -> NDArray[Any]:
        values = self.get(key)
        try:
            numbers = np.asarray(values if len(values) else np.empty(0, np.int64))
        except (TypeError, ValueError, OverflowError):
            numbers = np.empty(0, object)
        if not isinstance(values, list | np.ndarray) or numbers.ndim != 1 or numbers.dtype.kind not in kinds:
            raise GraftError(f"{self.path(key)} must be a list of numbers, not {shortened(values)}")
        if length is not None and len(numbers) != length:
            raise GraftError(f"{self.path(key)} has {len(numbers):,} items, not {length:,}")
        return numbers


# ---- the model


def _read_document(document: _Entries, X: Any, is_estimator: bool = False) -> SourceModel:
    learner = document.object("learner")
    parameters = learner.object("learner_model_param")
    objective = learner.object("objective").text("name")
    link, n_outputs = _outputs(objective, parameters)
    n_columns = parameters.integer("num_feature")
    if n_columns > MAX_COLUMNS:
        raise GraftError(f"the model has {n_columns:,} columns, more than the limit of {MAX_COLUMNS:,}")

    booster, weights = learner.object("gradient_booster"), None
    if booster.text("name") == "dart":
        weights = booster.floats("weight_drop")
        booster = booster.object("gbtree")
    elif booster.text("name") != "gbtree":
        raise GraftError(f"the booster {shortened(booster.text('name'))} has no trees")
    model = booster.object("model")
    documents = [_Entries(tree, f"tree {i}") for i, tree in enumerate(model.items("trees"))]
    trees, n_right = list[_Tree](), 0
    for entries in documents:
        trees.append(_Tree(entries, n_columns, n_outputs))
        n_right += sum(map(len, trees[-1].right_categories.values()))
        check_split_categories(n_right)
    if weights is not None:
        if len(weights) != len(trees):
            raise GraftError(f"weight_drop has {len(weights):,} items, but there are {len(trees):,} trees")
        for tree, weight in zip(trees, weights, strict=True):
            tree.value *= weight
    n_trees = model.object("gbtree_model_param").integer("num_trees", len(trees))
    if n_trees != len(trees):
        raise GraftError(f"num_trees is {n_trees:,}, but there are {len(trees):,} trees; the file is damaged")
    groups = model.integers("tree_info")
    if len(groups) != len(trees):
        raise GraftError(f"tree_info has {len(groups):,} items, but there are {len(trees):,} trees")
    columns = _columns(learner, model, n_columns, trees, X)
    attributes = learner.object("attributes") if "attributes" in learner else _Entries({})
    if is_estimator or "scikit_learn" in attributes:
        trees = trees[: _n_best(attributes, model, n_outputs)]
    source_trees = _by_iteration(trees, groups, columns, n_outputs)
    sides = {side for tree in source_trees for side in tree.missing_left[tree.is_split].tolist()}
    if len(sides) == 1:  # the same everywhere, which side depends on tree_method
        mark_as_not_learned(source_trees)
    return SourceModel(
        library="XGBoost",
        columns=columns,
        trees=source_trees,
        baseline=_baseline(_base_score(parameters, n_outputs), objective),
        link=link,
        classes=np.arange(max(n_outputs, 2)) if objective.startswith(("binary:", "multi:")) else None,
        float32_sums=True,
    )


def _outputs(objective: str, parameters: _Entries) -> tuple[Link, int]:
    """Return the link of the raw scores and their number per row."""
    if objective not in _LINKS:
        is_hinge = objective == "binary:hinge"
        reason = "predicts labels without probabilities" if is_hinge else "is unknown to tritree"
        raise GraftError(f"the objective {shortened(objective)} {reason}")
    n_targets, n_classes = parameters.integer("num_target", 1), parameters.integer("num_class")
    if n_targets > 1:
        raise GraftError(f"the model predicts {n_targets:,} targets", "graft a model of one target")
    if _LINKS[objective] != "softmax":
        return _LINKS[objective], 1
    if not 2 <= n_classes <= MAX_COLUMNS:
        raise GraftError(f"the model has {n_classes:,} classes, which must be 2 to {MAX_COLUMNS:,}")
    return "softmax", n_classes


def _base_score(parameters: _Entries, n_outputs: int) -> NDArray[np.float32]:
    """Return `base_score`, one number or one per output, on the scale of predictions."""
    text = parameters.text("base_score")
    try:
        score = np.array([float(number) for number in text.strip("[]").split(",")], np.float32)
    except ValueError:
        raise GraftError(f"base_score must be numbers, not {shortened(text)}") from None
    if len(score) not in (1, n_outputs):
        raise GraftError(f"base_score has {len(score):,} numbers, but there are {n_outputs:,} outputs")
    return np.broadcast_to(score, n_outputs)


def _baseline(score: NDArray[np.float32], objective: str) -> NDArray[np.float64]:
    """Return the raw scores of `base_score`."""
    one, smallest = np.float32(1), np.float32(1e-6)
    with np.errstate(all="ignore"):
        if objective in ("binary:logistic", "reg:logistic"):
            odds = one / np.clip(score, smallest, one - smallest) - one
            margin = -np.log(odds.astype(np.float64))
        else:
            margin = np.log(score.astype(np.float64)) if _LINKS[objective] == "log" else score
    if not np.isfinite(margin).all():
        raise GraftError(f"the base_score {score.tolist()} means no finite raw score")
    return margin.astype(np.float32).astype(np.float64)


def _n_best(attributes: _Entries, model: _Entries, n_outputs: int) -> int | None:
    """Return the number of trees up to the best iteration; None if training did not stop early."""
    if "best_iteration" not in attributes:
        return None
    n_iterations = attributes.integer("best_iteration") + 1
    if "iteration_indptr" not in model:
        return n_iterations * model.object("gbtree_model_param").integer("num_parallel_tree", 1) * n_outputs
    indptr = model.integers("iteration_indptr")
    if n_iterations >= len(indptr):
        raise GraftError(f"best_iteration is {n_iterations - 1}, but there are {len(indptr) - 1} iterations")
    return max(int(indptr[n_iterations]), 0)


def _by_iteration(
    trees: Sequence[_Tree], groups: NDArray[np.int64], columns: list[SourceColumn], n_outputs: int
) -> list[SourceTree]:
    """Return the trees of all outputs in turn; iterations have the trees of one output after the other."""
    outputs: list[list[SourceTree]] = [[] for _ in range(n_outputs)]
    codes = [frozenset(range(len(column.categories or ()))) for column in columns]
    check_split_categories(
        sum(len(codes[j]) * tree.value.shape[1] for tree in trees for j in tree.categorical_columns())
    )
    for tree, group in zip(trees, groups.tolist(), strict=False):
        n_values = tree.value.shape[1]
        if not 0 <= group <= n_outputs - n_values:
            raise GraftError(f"{tree.name} has the class {group}, but there are {n_outputs}")
        for j in range(n_values):
            outputs[group + j].append(tree.of_output(j, columns, codes))
    if not outputs[0]:
        raise GraftError("the model has no trees")
    if len({len(output) for output in outputs}) > 1:
        raise GraftError("tree_info has more trees of some classes than of others")
    return [tree for iteration in zip(*outputs, strict=True) for tree in iteration]


# ---- trees


class _Tree:
    """The nodes of a tree as the document has them."""

    def __init__(self, entries: _Entries, n_columns: int, n_outputs: int) -> None:
        self.name = entries.name
        left = entries.integers("left_children")
        n = len(left)
        right = entries.integers("right_children", n)
        column = entries.integers("split_indices", n)
        # what is out of bounds stays so
        column = np.where((column < 0) | (column > n_columns), n_columns, column)
        self.column = np.where(left == -1, -1, column).astype(np.int32)
        self.left, self.right = (np.clip(child, -1, n).astype(np.int32) for child in (left, right))
        self.threshold = entries.floats("split_conditions", n)
        self.default_left = entries.integers("default_left", n) != 0
        has_gain = "loss_changes" in entries  # trees with vectors of values have none before XGBoost 3.2
        self.gain = np.nan_to_num(entries.floats("loss_changes", n)) if has_gain else np.zeros(n, np.float32)
        self.value = self._values(entries, n_outputs)
        self.right_categories = dict(self._categories(entries, n_columns))

    def _values(self, entries: _Entries, n_outputs: int) -> NDArray[np.float32]:
        """Return the values of the nodes, of shape (nodes, outputs)."""
        n, n_values = len(self.column), entries.object("tree_param").integer("size_leaf_vector")
        if n_values <= 1:
            return self.threshold[:, np.newaxis].copy()
        if n_values != n_outputs:
            raise GraftError(
                f"{self.name}: leaves have {n_values:,} values, but there are {n_outputs:,} outputs"
            )
        if "leaf_weights" not in entries:  # before XGBoost 3.2
            return entries.floats("base_weights", n * n_values).reshape(n, n_values)
        of_leaves = entries.floats("leaf_weights")
        leaf = np.where(self.column < 0, self.right, 0)
        leaves = leaf[self.column < 0]
        if (leaves < 0).any() or (leaves >= len(of_leaves) // n_values).any():
            raise GraftError(f"{self.name}: a leaf has no values in leaf_weights")
        if len(np.unique(leaves)) < len(leaves) or n >= 2 * len(leaves):
            raise GraftError(f"{self.name}: its leaves do not have values of their own in leaf_weights")
        return of_leaves[leaf[:, np.newaxis] * n_values + np.arange(n_values)]

    def _categories(self, entries: _Entries, n_columns: int) -> Iterator[tuple[int, frozenset[int]]]:
        """Yield the splits by category, with the codes that go right."""
        if "categories_nodes" not in entries:  # before XGBoost 1.5
            return
        nodes = entries.integers("categories_nodes")
        begins = entries.integers("categories_segments", len(nodes))
        sizes = entries.integers("categories_sizes", len(nodes))
        codes = entries.integers("categories")
        if ((codes < 0) | (codes >= MAX_CATEGORIES)).any():
            raise GraftError(f"{self.name}: categories are beyond the limit of {MAX_CATEGORIES:,}")
        wrong = (nodes < 0) | (nodes >= len(self.column)) | (begins < 0) | (sizes < 0)
        wrong |= (sizes > len(codes)) | (begins > len(codes) - sizes)
        if wrong.any():
            raise GraftError(f"{self.name}: the categories of node {nodes[wrong][0]} are out of bounds")
        if sizes.sum() > len(codes):
            raise GraftError(f"{self.name}: splits share categories, so that the file is damaged")
        check_split_categories(len(codes))
        for node, begin, size in zip(nodes.tolist(), begins.tolist(), sizes.tolist(), strict=True):
            if 0 <= self.column[node] < n_columns:
                yield node, frozenset(codes[begin : begin + size].tolist())

    def categorical_columns(self) -> list[int]:
        """Return the columns of all splits by category."""
        return [int(self.column[node]) for node in self.right_categories]

    def of_output(self, output: int, columns: list[SourceColumn], codes: list[frozenset[int]]) -> SourceTree:
        """Return the tree with the values of one output, its splits as exact ones of doubles."""
        n = len(self.column)
        splits_categories = np.zeros(n, bool)
        splits_categories[list(self.right_categories)] = True
        is_categorical = np.array([column.categories is not None for column in columns] + [False] * 2)
        wrong = np.flatnonzero((self.column >= 0) & (splits_categories != is_categorical[self.column]))
        if len(wrong):
            raise GraftError(f"{self.name}: node {wrong[0]} splits a column that is not of its type")
        tree = SourceTree(
            column=self.column,
            threshold=below_float32(self.threshold),
            left=self.left,
            right=self.right,
            missing_left=self.default_left,
            missing_learned=np.full(n, -1, np.int8),  # nothing tells whether rows had missing values
            value=self.value[:, output].astype(np.float64),
            left_categories={
                node: codes[self.column[node]] - right for node, right in self.right_categories.items()
            },
            unknown_left=splits_categories,
            gain=self.gain.astype(np.float64),
        )
        return in_order(tree, len(columns), self.name)


# ---- columns


def _columns(
    learner: _Entries, model: _Entries, n_columns: int, trees: Sequence[_Tree], X: Any
) -> list[SourceColumn]:
    names, types = learner.texts("feature_names"), learner.texts("feature_types")
    stored = model.object("cats").items("enc") if "cats" in model else []
    for key, values in (("feature_names", names), ("feature_types", types), ("cats.enc", stored)):
        if len(values) not in (0, n_columns):
            raise GraftError(f"{key} has {len(values):,} items, but there are {n_columns:,} columns")
    if len(set(names)) < len(names):
        raise GraftError("two columns have the same name")
    # per column with splits by category, the number of categories that they need
    n_needed = {j: 0 for j in range(n_columns) if types and types[j] == "c"}
    for tree in trees:
        for node, right in tree.right_categories.items():
            column = int(tree.column[node])
            n_needed[column] = max(n_needed.get(column, 0), 1 + max(right, default=-1))
    columns = []
    for j in range(n_columns):
        name = names[j] if names else None
        categories = None
        if j in n_needed:
            entry = _Entries(stored[j], f"cats.enc[{j}]") if stored else None
            categories = _categories(entry, n_needed[j], X, j, name)
            if not n_needed[j] <= len(set(categories)) == len(categories) <= MAX_CATEGORIES:
                raise GraftError(
                    f"{name_column(j if name is None else name)} has {len(set(categories)):,} different categories of "
                    f"{len(categories):,}, and the trees split {n_needed[j]:,}"
                )
        columns.append(SourceColumn(name, categories))
    return columns


def _categories(
    entry: _Entries | None, n_needed: int, X: Any, position: int, name: str | None
) -> tuple[Any, ...]:
    """Return the categories of a column: their codes if `X` is an array or nothing else is known."""
    n_codes = max(n_needed, 1)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iuf" and position < X.shape[1]:
        codes = X[:, position]
        largest = np.max(codes, initial=-1, where=np.isfinite(codes))
        return tuple(range(max(n_codes, int(min(largest, MAX_CATEGORIES - 1)) + 1)))
    of_table = _pandas_categories(X, position, name)
    stored = None if entry is None else _stored_categories(entry, of_table)
    return stored or of_table or tuple(range(n_codes))


def _stored_categories(entry: _Entries, of_table: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    """Return the categories that XGBoost 3.1 and later record; None if it has recorded none."""
    if "offsets" not in entry:
        return tuple(entry.numbers("values").tolist()) or None
    text = entry.integers("values").astype(np.uint8).tobytes()
    offsets = [0, *entry.integers("offsets").tolist()]
    if offsets != sorted(offsets) or offsets[-1] > len(text):
        raise GraftError(f"{entry.path('offsets')} are out of bounds")
    found = [text[begin:end] for begin, end in pairwise(offsets[1:])]
    if len(set(found)) < len(found):
        raise GraftError(
            f"two categories in {entry.name} have the same name, and XGBoost predicts one for the other: it cuts off "
            "those of pandas that are not ASCII",
            "rename the categories to ASCII, and train the model again",
        )
    if of_table is not None and found == _as_recorded(of_table):
        return of_table
    try:
        return tuple(category.decode() for category in found) or None
    except UnicodeDecodeError:
        raise GraftError(
            f"the categories in {entry.name} are cut off, as XGBoost records those of pandas that are not ASCII",
            "pass rows of a pandas table that has the same categories as in training, in the same order",
        ) from None


def _as_recorded(categories: tuple[Any, ...]) -> list[bytes]:
    """Return what XGBoost records of categories of pandas: it cuts their UTF-8 bytes at numbers of characters."""
    texts = [str(category) for category in categories]
    joined = "".join(texts).encode()
    return [joined[begin:end] for begin, end in pairwise(accumulate(map(len, texts), initial=0))]


def _pandas_categories(X: Any, position: int, name: str | None) -> tuple[Any, ...] | None:
    """Return the categories of a column of pandas; None if the table has no such column."""
    if not hasattr(X, "columns") or not hasattr(X, "iloc"):
        return None
    names = [str(column) for column in X.columns]
    if name is not None:
        position = names.index(name) if name in names else len(names)
    if position >= len(names):
        return None
    categories = getattr(X.dtypes.iloc[position], "categories", None)
    return None if categories is None else tuple(categories.tolist())
