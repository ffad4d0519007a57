"""Reads models of LightGBM: boosters, its scikit-learn estimators, and text files without the library."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.errors import GraftError, name_column, shortened
from tritree.graft.limits import MAX_CATEGORIES, check_set_sizes, check_split_categories, reading_file
from tritree.graft.order import in_order
from tritree.graft.source import Link, SourceColumn, SourceModel, SourceTree, by_output
from tritree.graft.thresholds import at_most

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["read", "read_file"]

#: What the raw scores of an objective are; "custom" stands for a function of the user.
_LINKS: dict[str, Link] = {
    **dict.fromkeys(("regression", "regression_l1", "huber", "fair", "quantile", "mape"), "identity"),
    **dict.fromkeys(("lambdarank", "rank_xendcg", "custom"), "identity"),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "log"),
    **dict.fromkeys(("binary", "cross_entropy"), "logit"),
    "multiclass": "softmax",
    "multiclassova": "sigmoid_each",
}
# decision_type: two bits, and above them what is missing at the node
_CATEGORICAL, _DEFAULT_LEFT, _MISSING_SHIFT = 1, 2, 2
_NONE, _ZERO = 0, 1
#: Values up to it are zeros.
_LARGEST_ZERO = float(np.float32(1e-35))


def read(model: Any, X: Any = None) -> SourceModel:
    """Read a `lightgbm.Booster`, or a fitted LGBMRegressor, LGBMClassifier or LGBMRanker.

    LightGBM replaces spaces in names, and does not record which columns its lists of pandas categories belong to. Both
    are taken from `X` if it is a table of pandas.
    """
    import lightgbm

    booster = getattr(model, "booster_", model)
    if not isinstance(booster, lightgbm.Booster):
        raise GraftError(
            f"a {type(model).__name__} of LightGBM cannot be grafted",
            "pass a Booster, or a fitted LGBMRegressor, LGBMClassifier or LGBMRanker",
        )
    source, scale = _read_text(booster.model_to_string(), X)
    source.raw = lambda table: scale * by_output(booster.predict(table, raw_score=True))
    if isinstance(model, lightgbm.LGBMClassifier):
        source.classes = _class_labels(model, source)
    return source


def read_file(data: bytes, path_name: str, X: Any = None) -> SourceModel:
    """Read a model file that LightGBM wrote (`save_model`)."""
    with reading_file(path_name, len(data)):
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise GraftError(f"byte {error.start:,} is not UTF-8 text; the file is damaged") from None
        return _read_text(text, X)[0]


def _class_labels(model: Any, source: SourceModel) -> NDArray[Any]:
    labels = np.asarray(model.classes_)
    if source.link in ("identity", "log"):
        raise GraftError(
            "the LGBMClassifier has an objective whose raw scores mean no probabilities",
            "graft its booster_ to predict what the raw scores mean",
        )
    if len(labels) != max(2, source.n_outputs):
        raise GraftError(f"the LGBMClassifier was fitted to {len(labels)} class", "fit it to two or more")
    return labels


# The file has a header of lines `key=value`, such lines for each tree, and lines that predictions do not depend on.


@dataclass
class _Lines:
    """The lines `key=value` of the header or of a tree."""

    name: str
    values: dict[str, str] = field(default_factory=dict)

    def text(self, key: str) -> str:
        if key not in self.values:
            raise GraftError(
                f"{self.name} has no line '{key}='; the file is damaged, or of an unknown format"
            )
        return self.values[key]

    def integer(self, key: str, low: int, high: int = 2**31 - 1) -> int:
        return int(self.integers(key, 1, low, high)[0])

    def integers(
        self, key: str, length: int | None, low: int = 0, high: int = 2**31 - 1
    ) -> NDArray[np.int64]:
        numbers = self._numbers(key, length, int, np.int64)
        if len(numbers) and (numbers.min() < low or numbers.max() > high):
            raise GraftError(f"{self.name} has a number in '{key}=' that is not from {low} to {high}")
        return numbers

    def floats(self, key: str, length: int) -> NDArray[np.float64]:
        return self._numbers(key, length, float, np.float64)

    def _numbers(self, key: str, length: int | None, parse: type, dtype: type) -> NDArray[Any]:
        words = self.text(key).split()
        if length is not None and len(words) != length:
            raise GraftError(f"{self.name} has {len(words):,} numbers in '{key}=' instead of {length:,}")
        try:
            return np.array([parse(word) for word in words], dtype)
        except (ValueError, OverflowError):
            raise GraftError(f"{self.name} has no numbers in '{key}={shortened(self.text(key))}'") from None


def _parse(text: str) -> tuple[_Lines, list[_Lines], list[list[Any]]]:
    """Return the header, the trees, and the lists of pandas categories."""
    lines = iter(text.split("\n"))
    if next(lines).strip() != "tree":
        raise GraftError("not a model of LightGBM, whose first line is 'tree'")
    header, trees = _Lines("the header"), list[_Lines]()
    for line in lines:
        key, _, value = line.strip("\r").partition("=")
        if key == "end of trees":
            break
        if key == "Tree":
            trees.append(_Lines(f"tree {len(trees)}"))
            if value != str(len(trees) - 1):
                raise GraftError(f"{trees[-1].name} is called {shortened(value)}; the file is damaged")
        elif key:
            (trees[-1] if trees else header).values[key] = value
    else:
        raise GraftError("the line 'end of trees' is absent; the file is cut off")
    prefix = "pandas_categorical:"
    lists = [line.removeprefix(prefix) for line in lines if line.startswith(prefix)]
    return header, trees, _parse_categories(lists[-1] if lists else "null")


def _parse_categories(text: str) -> list[list[Any]]:
    try:
        lists = json.loads(text) or []
    except (ValueError, RecursionError):
        lists = [None]
    if not isinstance(lists, list) or not all(
        isinstance(one, list) and all(isinstance(value, str | int | float) for value in one) for one in lists
    ):
        raise GraftError("the line 'pandas_categorical:' does not hold lists of categories")
    return lists


def _read_text(text: str, X: Any) -> tuple[SourceModel, float]:
    """Return the model, and how many times the scores of LightGBM its sums are."""
    header, trees, lists = _parse(text)
    if (version := header.text("version")) not in ("v2", "v3", "v4"):
        raise GraftError(f"the format {shortened(version)} is unknown", "v2, v3 and v4 can be read")
    n_columns = header.integer("max_feature_idx", 0) + 1
    names, infos = header.text("feature_names").split(" "), header.text("feature_infos").split(" ")
    if len(names) != n_columns or len(infos) != n_columns:
        raise GraftError(
            f"the header has {len(names):,} names and {len(infos):,} ranges of {n_columns:,} columns"
        )
    n_outputs = header.integer("num_tree_per_iteration", 1)
    if not trees:
        raise GraftError("the model has no trees")
    if "tree_sizes" in header.values and (n_sizes := len(header.text("tree_sizes").split())) != len(trees):
        raise GraftError(f"'tree_sizes=' has {n_sizes:,} items, but there are {len(trees):,} trees")
    if len(trees) % n_outputs:
        raise GraftError(f"{len(trees):,} trees are no multiple of the {n_outputs:,} per iteration")
    link, scale, classes = _read_objective(header.values.get("objective", "custom"), n_outputs)
    if "average_output" in header.values:  # random forests
        scale /= len(trees) // n_outputs
    nodes, n_left = list[_Nodes](), 0
    for lines in trees:
        nodes.append(_read_nodes(lines, n_columns, n_left))
        n_left += sum(map(len, nodes[-1].left_numbers.values()))
    labels = _labels(names, X)
    categories = _find_categories(nodes, infos, names)
    categories.update(_pandas_categories(lists, categories, names, labels, X))
    check_split_categories(n_left + sum(one.n_categories(categories, ~one.is_categorical) for one in nodes))
    check_set_sizes(sum(one.n_categories(categories) for one in nodes))
    zero_columns = _find_zero_columns(nodes, names) - set(categories)
    source = SourceModel(
        library="LightGBM",
        columns=[
            SourceColumn(
                name=None if _are_positions(names) else str(names[i] if labels is None else labels[i]),
                categories=tuple(categories[i].labels) if i in categories else None,
                zero_is_missing=i in zero_columns,
            )
            for i in range(n_columns)
        ],
        trees=[in_order(_source_tree(one, categories, scale), n_columns, one.name) for one in nodes],
        baseline=np.zeros(n_outputs),
        link=link,
        classes=classes,
    )
    return source, scale


def _read_objective(text: str, n_outputs: int) -> tuple[Link, float, NDArray[Any] | None]:
    """Return the link, what scores are multiplied by before it, and the classes."""
    name, *options = text.split() or [""]
    if "sqrt" in options:
        raise GraftError("predictions are squares of raw scores (reg_sqrt)", "fit without reg_sqrt")
    if name == "cross_entropy_lambda":
        raise GraftError(
            "predictions of cross_entropy_lambda are log(1 + exp(raw score))", "fit with cross_entropy"
        )
    if name not in _LINKS:
        raise GraftError(f"the objective {shortened(name)} is unknown")
    link = _LINKS[name]
    is_multiclass = link in ("softmax", "sigmoid_each")
    if is_multiclass != (n_outputs > 1):
        raise GraftError(f"the objective {name} does not have {n_outputs:,} scores per row")
    try:
        scale = float(dict(option.partition(":")[::2] for option in options).get("sigmoid", "1"))
    except ValueError:
        scale = np.nan
    if not 0 < scale < np.inf:
        raise GraftError(f"the objective {shortened(text)} has a sigmoid that is not a positive number")
    n_classes = n_outputs if is_multiclass else 2 if name == "binary" else 0
    return link, scale, np.arange(n_classes) if n_classes else None


@dataclass
class _Nodes:
    """A tree as the file has it; inner nodes come before leaves."""

    name: str
    column: NDArray[np.int64]
    threshold: NDArray[np.float64]
    #: Shape (n, 2).
    children: NDArray[np.int64]
    missing_type: NDArray[np.int64]
    default_left: NDArray[np.bool_]
    gain: NDArray[np.float64]
    #: Of the leaves.
    value: NDArray[np.float64]
    #: The numbers that go left at each categorical split.
    left_numbers: dict[int, NDArray[np.int64]]

    @property
    def is_categorical(self) -> NDArray[np.bool_]:
        found = np.zeros(len(self.column), bool)
        found[list(self.left_numbers)] = True
        return found

    def n_categories(self, categories: dict[int, _Categories], splits: Any = slice(None)) -> int:
        """Return how many categories the columns of splits have in total."""
        columns = self.column[splits].tolist()
        return sum(len(categories[column].labels) for column in columns if column in categories)


def _read_nodes(lines: _Lines, n_columns: int, n_left: int) -> _Nodes:
    """Return a tree, before which there were trees with `n_left` categories in their sets."""
    if lines.values.get("is_linear", "0") != "0":
        raise GraftError(
            f"{lines.name} has linear models in its leaves (linear_tree)", "fit without linear_tree"
        )
    n_leaves = lines.integer("num_leaves", 1)
    value = lines.floats("leaf_value", n_leaves)
    n = n_leaves - 1
    decision = lines.integers("decision_type", n, high=11)
    threshold = lines.floats("threshold", n)
    # children below 0 are leaves: -1 the first, -2 the second
    children = np.stack(
        [lines.integers(side, n, -n_leaves, n - 1) for side in ("left_child", "right_child")], axis=1
    )
    return _Nodes(
        name=lines.name,
        column=lines.integers("split_feature", n, high=n_columns - 1),
        threshold=threshold,
        children=np.where(children < 0, n + ~children, children),
        missing_type=decision >> _MISSING_SHIFT,
        default_left=(decision & _DEFAULT_LEFT) > 0,
        gain=lines.floats("split_gain", n) if "split_gain" in lines.values else np.zeros(n),
        value=value,
        left_numbers=_read_left_numbers(lines, threshold, np.flatnonzero(decision & _CATEGORICAL), n_left),
    )


def _read_left_numbers(
    lines: _Lines, threshold: NDArray[np.float64], nodes: NDArray[np.intp], n_left: int
) -> dict[int, NDArray[np.int64]]:
    """Return the numbers that go left at the categorical nodes, whose thresholds are positions in `cat_boundaries`."""
    if not len(nodes):
        return {}
    words = lines.integers("cat_threshold", None, high=2**32 - 1)
    boundaries = lines.integers("cat_boundaries", None, high=len(words))
    sets = threshold[nodes]
    if (np.diff(boundaries) < 0).any() or not np.isin(sets, np.arange(len(boundaries) - 1)).all():
        raise GraftError(f"{lines.name} has sets of categories that do not fit together ('cat_boundaries=')")
    bits = words.astype("<u4").view(np.uint8)
    found: dict[int, NDArray[np.int64]] = {}  # by set, which nodes may share
    left = {}
    for node, number in zip(nodes.tolist(), sets.astype(int).tolist(), strict=True):
        if number not in found:
            packed = bits[4 * boundaries[number] : 4 * boundaries[number + 1]]
            found[number] = np.flatnonzero(np.unpackbits(packed, bitorder="little"))
        left[node] = found[number]
        if len(left[node]) > MAX_CATEGORIES:
            raise GraftError(f"{lines.name} has a split of more than {MAX_CATEGORIES:,} categories")
        n_left += len(left[node])
        check_split_categories(n_left)
    return left


@dataclass
class _Categories:
    """What a column holds instead of numbers."""

    labels: list[Any]
    #: What stands for each label in LightGBM, in increasing order.
    numbers: NDArray[np.int64]


def _find_categories(
    trees: Sequence[_Nodes], infos: Sequence[str], names: Sequence[str]
) -> dict[int, _Categories]:
    """Return the numbers that are categories: those that LightGBM lists as `-1:2:0`, and those of splits."""
    found: dict[int, set[int]] = {}
    for column, info in enumerate(infos):
        if ":" in info and not info.startswith("["):
            try:
                found[column] = {number for number in map(int, info.split(":")) if 0 <= number < 2**31}
            except ValueError:
                raise GraftError(
                    f"{name_column(names[column])} has a range that cannot be read: {shortened(info)}"
                ) from None
    for nodes in trees:
        for node, left in nodes.left_numbers.items():
            found.setdefault(int(nodes.column[node]), set()).update(left.tolist())
    for column, numbers in found.items():
        if len(numbers) > MAX_CATEGORIES:
            raise GraftError(f"{name_column(names[column])} has more than {MAX_CATEGORIES:,} categories")
    return {column: _Categories(sorted(found[column]), np.array(sorted(found[column]))) for column in found}


def _pandas_categories(
    lists: list[list[Any]],
    categories: dict[int, _Categories],
    names: list[str],
    labels: list[Any] | None,
    X: Any,
) -> dict[int, _Categories]:
    """Return the columns that were categories of pandas, and what these were.

    As in LightGBM, they are the categorical columns of the table to predict, which `X` stands for. Without it, they are
    the columns that LightGBM treats as categorical, if there are as many; ordered categories are numbers to LightGBM.
    """
    columns = [
        column
        for column, label in enumerate(labels or ())
        if type(X[label].dtype).__name__ == "CategoricalDtype"
    ]
    if len(columns) != len(lists):
        columns = sorted(categories) if lists else []
    if len(columns) != len(lists):
        raise GraftError(
            f"{len(lists)} columns were categories of pandas in training, but which ones is not recorded",
            "pass X as a table of pandas with the dtypes of training",
        )
    found = {}
    for column, values in zip(columns, lists, strict=True):
        if len(set(values)) < len(values) or len(values) > MAX_CATEGORIES:
            raise GraftError(f"{name_column(names[column])} has too many categories, or one of them twice")
        if column in categories and categories[column].numbers[-1:].sum() >= len(values):
            raise GraftError(
                f"{name_column(names[column])} has {len(values):,} categories, but splits use more",
                "pass X as a table of pandas with the dtypes of training",
            )
        found[column] = _Categories(values, np.arange(len(values)))
    return found


def _labels(names: list[str], X: Any) -> list[Any] | None:
    """Return what a table of pandas calls the columns of the model; None if it is another table."""
    if (
        type(X).__module__.partition(".")[0] != "pandas"
        or not hasattr(X, "columns")
        or not X.columns.is_unique
    ):
        return None
    labels = {"".join("_" if char.isspace() else char for char in str(label)): label for label in X.columns}
    if all(name in labels for name in names):
        return [labels[name] for name in names]
    return list(X.columns) if _are_positions(names) and len(X.columns) == len(names) else None


def _are_positions(names: list[str]) -> bool:
    """Return whether names are those that LightGBM gives to columns without names."""
    return names == [f"Column_{i}" for i in range(len(names))]


def _find_zero_columns(trees: Sequence[_Nodes], names: Sequence[str]) -> set[int]:
    """Return the columns in which zeros are missing values at numeric splits."""
    found: dict[bool, set[int]] = {True: set(), False: set()}
    for nodes in trees:
        for is_zero, columns in found.items():
            columns.update(
                nodes.column[~nodes.is_categorical & ((nodes.missing_type == _ZERO) == is_zero)].tolist()
            )
    for column in found[True] & found[False]:
        raise GraftError(
            f"zeros of {name_column(names[column])} are missing values at some splits, but not at others",
            "fit all trees with the same zero_as_missing",
        )
    return found[True]


def _exact(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the exact thresholds of comparisons ``value <= threshold``, in which tiny values are zeros."""
    with np.errstate(over="ignore"):
        cut = at_most(threshold)
    near_zero = np.abs(threshold) <= _LARGEST_ZERO
    of_zeros = np.where(threshold >= 0, at_most(_LARGEST_ZERO), -_LARGEST_ZERO)
    return np.where(near_zero, of_zeros, cut)


def _source_tree(nodes: _Nodes, categories: dict[int, _Categories], scale: float) -> SourceTree:
    """Return the tree with exact thresholds, codes of categories, and what missing values do."""
    n, n_leaves = len(nodes.column), len(nodes.value)
    is_categorical = nodes.is_categorical
    threshold = np.where(is_categorical, 0, _exact(nodes.threshold))
    # missing values of the type None become zeros, and those of categorical splits go right
    missing_left = np.where(nodes.missing_type == _NONE, threshold > 0, nodes.default_left) & ~is_categorical
    # A column is of the type NaN if it had missing values in training. A categorical one may also be if it had rare
    # categories, and with zero_as_missing all numeric ones are of the type Zero.
    learned = np.choose(nodes.missing_type, [0, -1, np.where(is_categorical, -1, 1)])

    left_categories = {}
    for node in np.flatnonzero(np.isin(nodes.column, list(categories))).tolist():
        numbers = categories[int(nodes.column[node])].numbers
        if is_categorical[node]:
            goes_left = np.isin(numbers, nodes.left_numbers[node])
        else:
            goes_left = numbers < threshold[node]
            if nodes.missing_type[node] == _ZERO:
                goes_left[numbers == 0] = missing_left[node]
        left_categories[node] = frozenset(np.flatnonzero(goes_left).tolist())

    def with_leaves(of_splits: NDArray[Any], of_leaves: Any, dtype: Any) -> NDArray[Any]:
        return np.concatenate([of_splits, np.broadcast_to(of_leaves, n_leaves)]).astype(dtype)

    return SourceTree(
        column=with_leaves(nodes.column, -1, np.int32),
        threshold=with_leaves(threshold, 0, np.float64),
        left=with_leaves(nodes.children[:, 0], -1, np.int32),
        right=with_leaves(nodes.children[:, 1], -1, np.int32),
        missing_left=with_leaves(missing_left, False, bool),
        missing_learned=with_leaves(learned, 0, np.int8),
        value=with_leaves(np.zeros(n), scale * nodes.value, np.float64),
        left_categories=left_categories,
        # unknown categories of pandas are missing values
        unknown_left=with_leaves(missing_left & ~is_categorical, False, bool),
        gain=with_leaves(nodes.gain, 0, np.float64),
    )
