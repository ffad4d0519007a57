"""The reader of XGBoost: trees that predict as the library does."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from graft.random_models import as_numbers, check, error_in_ulps
from graft.reference import raw_predictions
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, softmax

from tritree.errors import GraftError
from tritree.graft import limits
from tritree.graft import xgboost as reader

xgboost = pytest.importorskip("xgboost")

Edit = Callable[[dict[str, Any]], None]


def random_rows(seed: int = 0, n_rows: int = 100, n_columns: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def train(X: Any, y: Any, n_trees: int = 2, **parameters: Any) -> Any:
    types = parameters.pop("feature_types", None)
    data = xgboost.DMatrix(X, y, enable_categorical=True, feature_types=types)
    return xgboost.train({"max_depth": 3, "nthread": 1, "verbosity": 0, **parameters}, data, n_trees)


def three_classes(X: np.ndarray) -> np.ndarray:
    return np.digitize(X[:, 0], [-0.5, 0.5])


def edited(model: xgboost.Booster, edit: Edit) -> bytes:
    """Return the JSON file of a model after a change."""
    document = json.loads(bytes(model.save_raw("json")))
    edit(document)
    return json.dumps(document).encode()


def tree_of(document: dict[str, Any], number: int = 0) -> Any:
    return document["learner"]["gradient_booster"]["model"]["trees"][number]


def sums(source: Any, X: Any) -> np.ndarray:
    return raw_predictions(source, as_numbers(source, X))


@pytest.mark.parametrize("seed", range(25))
def test_random_models_predict_as_the_library_does(seed: int) -> None:
    check("xgboost", seed)


@pytest.mark.parametrize("suffix", ["json", "ubj"])
@pytest.mark.parametrize("seed", range(5))
def test_file_is_read_as_the_model(seed: int, suffix: str, tmp_path: Any) -> None:
    from graft.random_xgboost import make

    model, X, _ = make(seed)
    path = tmp_path / f"model.{suffix}"
    model.save_model(path)
    found, expected = reader.read_file(path.read_bytes(), str(path), X), reader.read(model, X)
    assert found.raw is None
    assert len(found.trees) == len(expected.trees)
    for tree, other in zip(found.trees, expected.trees, strict=True):
        assert tree.left_categories == other.left_categories
        for name in ("column", "threshold", "left", "right", "missing_left", "value", "gain"):
            np.testing.assert_array_equal(getattr(tree, name), getattr(other, name))
    # a file has our logarithm of base_score
    np.testing.assert_allclose(found.baseline, expected.baseline, rtol=3e-7)


# ---- comparisons


def test_value_that_is_the_threshold_as_float32_goes_right() -> None:
    model = train(np.arange(8.0)[:, None], np.arange(8) > 3, max_depth=1, n_trees=1)
    document = json.loads(bytes(model.save_raw("json")))
    tree_of(document)["split_conditions"][0] = 0.1  # as float32 it is 0.10000000149
    source = reader.read_file(json.dumps(document).encode(), "model.json")
    below = np.nextafter(np.float32(0.1), np.float32(0)).astype(float)
    left, right = sums(source, [[0.09], [0.11]])[:, 0]
    values = [[below], [0.09999999776482580], [0.0999999978], [0.1], [float(np.float32(0.1))]]
    assert sums(source, values)[:, 0].tolist() == [left, left, right, right, right]
    document["learner"]["feature_names"] = []
    booster = xgboost.Booster(model_file=bytearray(json.dumps(document).encode()))
    np.testing.assert_array_equal(
        booster.predict(xgboost.DMatrix(np.array(values))) == np.float32(left), [1, 1, 0, 0, 0]
    )


def test_nodes_that_were_pruned_are_left_out() -> None:
    X = random_rows()
    model = train(X, X[:, 0], tree_method="exact", gamma=1.0, max_depth=6)
    n_nodes = [len(tree_of(json.loads(bytes(model.save_raw("json"))), i)["left_children"]) for i in range(2)]
    source = reader.read(model)
    assert [len(tree) for tree in source.trees] < n_nodes
    assert error_in_ulps(source, X).max() <= 1


@pytest.mark.parametrize(("share", "learned"), [(0.0, {0}), (0.3, {-1})])
def test_directions_are_not_learned_if_all_are_the_same(share: float, learned: set[int]) -> None:
    X = random_rows()
    y = X[:, 0].copy()
    X[np.random.default_rng(0).random(X.shape) < share] = np.nan
    trees = reader.read(train(X, y)).trees
    assert {int(one) for tree in trees for one in tree.missing_learned[tree.is_split]} == learned


# ---- raw scores


@pytest.mark.parametrize(
    ("objective", "link"),
    [
        *((name, "identity") for name in ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror")),
        *((name, "log") for name in ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox")),
        *((name, "logit") for name in ("binary:logistic", "reg:logistic")),
        ("multi:softprob", "softmax"),
    ],
)
@pytest.mark.parametrize("base_score", [None, 0.37])
def test_link_of_the_sums_gives_the_predictions(objective: str, link: str, base_score: float | None) -> None:
    X = random_rows()
    y = three_classes(X) if link == "softmax" else (X[:, 0] > 0.5) if link == "logit" else np.exp(X[:, 0])
    n_classes = {"num_class": 3} if link == "softmax" else {}
    model = train(X, y, objective=objective, base_score=base_score, **n_classes)
    source = reader.read(model)
    assert source.link == link
    raw = sums(source, X)
    inverse = {"identity": np.asarray, "log": np.exp, "logit": expit, "softmax": lambda a: softmax(a, axis=1)}
    np.testing.assert_allclose(np.squeeze(inverse[link](raw)), model.predict(xgboost.DMatrix(X)), rtol=1e-5)
    from_file = reader.read_file(bytes(model.save_raw("json")), "model.json")
    np.testing.assert_allclose(sums(from_file, X), raw, rtol=1e-5, atol=1e-6)


def test_base_score_was_one_number_before_xgboost_3_1() -> None:
    X = random_rows()

    def edit(document: dict[str, Any]) -> None:
        document["learner"]["learner_model_param"]["base_score"] = "5E-1"
        document["version"] = [2, 1, 4]

    model = train(X, three_classes(X), objective="multi:softprob", num_class=3)
    assert reader.read_file(edited(model, edit), "model.json").baseline.tolist() == [0.5, 0.5, 0.5]
    model = train(X, X[:, 0] > 0, objective="binary:logistic")
    assert reader.read_file(edited(model, edit), "model.json").baseline.tolist() == [0]


def test_probability_of_one_has_a_finite_raw_score() -> None:
    X = random_rows()
    model = train(X, np.ones(len(X)), objective="binary:logistic")
    from_file = reader.read_file(bytes(model.save_raw("json")), "model.json")
    assert error_in_ulps(reader.read(model), X).max() <= 1
    assert from_file.baseline == reader.read(model).baseline


def test_trees_of_dart_are_weighted() -> None:
    X = random_rows()
    model = train(X, X[:, 0], 6, booster="dart", rate_drop=0.5, seed=1)
    weights = json.loads(bytes(model.save_raw("json")))["learner"]["gradient_booster"]["weight_drop"]
    assert min(weights) < 1
    assert error_in_ulps(reader.read(model), X).max() <= 1


def test_trees_follow_their_classes_with_parallel_trees() -> None:
    X = random_rows()
    model = train(
        X, three_classes(X), objective="multi:softprob", num_class=3, num_parallel_tree=2, subsample=0.5
    )
    source = reader.read(model)
    assert len(source.trees) == 2 * 2 * 3
    assert source.classes is not None
    assert source.classes.tolist() == [0, 1, 2]
    assert error_in_ulps(source, X).max() <= 1


def test_trees_with_vectors_of_values_are_one_tree_per_class() -> None:
    X = random_rows()
    model = train(
        X, three_classes(X), objective="multi:softprob", num_class=3, multi_strategy="multi_output_tree"
    )
    source = reader.read(model)
    assert len(source.trees) == 2 * 3
    assert error_in_ulps(source, X).max() <= 1


def test_vectors_of_values_were_those_of_nodes_before_xgboost_3_2() -> None:
    X = random_rows()
    model = train(
        X, three_classes(X), objective="multi:softprob", num_class=3, multi_strategy="multi_output_tree"
    )

    def edit(document: dict[str, Any]) -> None:
        for number in range(2):
            tree = tree_of(document, number)
            leaf_weights = np.reshape(tree.pop("leaf_weights"), (-1, 3))
            weights = np.reshape(tree["base_weights"], (-1, 3))
            for node, (left, leaf) in enumerate(
                zip(tree["left_children"], tree["right_children"], strict=True)
            ):
                if left == -1:
                    weights[node] = leaf_weights[leaf]
                    tree["right_children"][node] = -1
            tree["base_weights"] = weights.ravel().tolist()

    found = reader.read_file(edited(model, edit), "model.json")
    np.testing.assert_array_equal(sums(found, X), sums(reader.read(model), X))


def test_estimator_ends_at_the_best_iteration_and_a_booster_does_not(tmp_path: Any) -> None:
    X, y = random_rows(), random_rows(1)[:, 0]
    model = xgboost.XGBRegressor(n_estimators=20, early_stopping_rounds=3, n_jobs=1)
    model.fit(X[:50], y[:50], eval_set=[(X[50:], y[50:])], verbose=False)
    n_all, n_best = model.get_booster().num_boosted_rounds(), model.best_iteration + 1
    assert n_best < n_all
    assert len(reader.read(model).trees) == n_best
    assert len(reader.read(model.get_booster()).trees) == n_all
    for save, n_trees in ((model.save_model, n_best), (model.get_booster().save_model, n_all)):
        save(tmp_path / "model.json")
        assert len(reader.read_file((tmp_path / "model.json").read_bytes(), "model.json").trees) == n_trees
    np.testing.assert_allclose(sums(reader.read(model), X)[:, 0], model.predict(X), rtol=1e-5, atol=1e-6)


def test_margins_are_the_predictions_of_raw_logistic_scores() -> None:
    X = random_rows()
    source = reader.read(train(X, X[:, 0] > 0, objective="binary:logitraw"))
    assert source.link == "logit"
    assert error_in_ulps(source, X).max() <= 1


# ---- columns


def categorical_table(categories: Any, n_rows: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    codes = np.random.default_rng(0).integers(0, len(categories), n_rows)
    return pd.DataFrame({"c": pd.Categorical.from_codes(codes, categories)}), np.sin(3.0 * codes)


@pytest.mark.parametrize("max_cat_to_onehot", [1, 100])
def test_categories_of_the_set_go_right_and_all_others_left(max_cat_to_onehot: int) -> None:
    X = np.random.default_rng(0).integers(0, 6, (200, 1)).astype(float)
    y = np.sin(3 * X[:, 0])
    model = train(X, y, feature_types=["c"], max_cat_to_onehot=max_cat_to_onehot)
    rows = np.array([[0.0], [1], [2], [3], [4], [5], [6], [1000], [-1], [np.nan]])
    source = reader.read(model, X)
    assert source.columns[0].categories == (0, 1, 2, 3, 4, 5)
    assert error_in_ulps(source, rows).max() <= 1


@pytest.mark.parametrize("categories", [("b", "a", "c d"), (7, -3, 10**12), ("b", "a", "é")])
def test_categories_of_pandas_are_those_of_training(categories: tuple[Any, ...]) -> None:
    X, y = categorical_table(categories)
    source = reader.read(train(X, y), X)
    assert source.columns[0].categories == categories
    assert error_in_ulps(source, X).max() <= 1


def test_recorded_categories_need_no_table() -> None:
    X, y = categorical_table(("b", "a", "c d"))
    source = reader.read_file(bytes(train(X, y).save_raw("ubj")), "model.ubj")
    assert source.columns[0].categories == ("b", "a", "c d")


def test_categories_that_xgboost_cuts_off_need_a_table() -> None:
    X, y = categorical_table(("b", "é", "a"))
    with pytest.raises(GraftError, match="not ASCII; pass rows of a pandas table"):
        reader.read(train(X, y))


def test_categories_that_xgboost_confuses_are_refused() -> None:
    X, y = categorical_table(("ab é", "ab è", "c"))  # cut off to "ab é", " ab" …

    def edit(document: dict[str, Any]) -> None:
        entry = document["learner"]["gradient_booster"]["model"]["cats"]["enc"][0]
        entry["offsets"], entry["values"] = [0, 1, 2, 3], [97, 98, 97]

    with pytest.raises(GraftError, match="XGBoost predicts one for the other"):
        reader.read_file(edited(train(X, y), edit), "model.json", X)


def test_categories_before_xgboost_3_1_are_those_of_the_table_or_codes() -> None:
    X, y = categorical_table(("b", "a", "c"))
    file = edited(train(X, y), lambda document: document["learner"]["gradient_booster"]["model"].pop("cats"))
    assert reader.read_file(file, "model.json", X).columns[0].categories == ("b", "a", "c")
    assert reader.read_file(file, "model.json").columns[0].categories == (0, 1, 2)


def test_names_are_those_of_training() -> None:
    X = random_rows()
    assert [column.name for column in reader.read(train(X, X[:, 0])).columns] == [None, None]
    frame = pd.DataFrame(X, columns=["b", "a"])
    assert [column.name for column in reader.read(train(frame, X[:, 0])).columns] == ["b", "a"]


def test_zeros_are_missing_if_the_estimator_says_so() -> None:
    X = np.round(random_rows())
    model = xgboost.XGBRegressor(n_estimators=3, n_jobs=1, missing=0.0).fit(X, X[:, 0])
    source = reader.read(model)
    assert all(column.zero_is_missing and column.zero_is_exact for column in source.columns)
    assert error_in_ulps(source, X).max() <= 1


def test_other_missing_values_than_nan_and_zero_are_refused() -> None:
    X = random_rows()
    model = xgboost.XGBRegressor(n_estimators=1, n_jobs=1, missing=-999.0).fit(X, X[:, 0])
    with pytest.raises(GraftError, match=r"-999.0 for a missing value; turn -999.0 into NaN"):
        reader.read(model)


# ---- models that are refused


def test_models_without_meaning_are_refused_with_the_reason() -> None:
    X = random_rows()
    for message, model in (
        ("'gblinear' has no trees", train(X, X[:, 0], booster="gblinear")),
        ("'binary:hinge' predicts labels", train(X, X[:, 0] > 0, objective="binary:hinge")),
        ("2 targets; graft a model of one target", train(X, X)),
        ("no trees", train(X, X[:, 0], 0)),
        ("not fitted; call fit", xgboost.XGBRegressor()),
        ("finite raw score", train(X, np.zeros(len(X)), objective="count:poisson")),
    ):
        with pytest.raises(GraftError, match=message):
            reader.read(model)


def test_classifier_without_an_objective_of_classes_is_refused() -> None:
    X = random_rows()
    model = xgboost.XGBClassifier(n_estimators=1, objective="reg:squarederror", n_jobs=1).fit(X, X[:, 0] > 0)
    with pytest.raises(GraftError, match="'reg:squarederror' has no probabilities"):
        reader.read(model)


def child_is_root(document: dict[str, Any]) -> None:
    tree_of(document)["left_children"][1] = 0


def swap(path: str, value: Any) -> Edit:
    """Return the edit that replaces an entry of the document."""

    def edit(document: Any) -> None:
        *parents, key = path.split(".")
        for parent in parents:
            document = document[int(parent) if isinstance(document, list) else parent]
        document[int(key) if isinstance(document, list) else key] = value

    return edit


MODEL = "learner.gradient_booster.model"


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (child_is_root, "tree 0 is not a tree"),
        (swap(f"{MODEL}.trees.0.right_children.0", 99), "tree 0: a split has a child beyond the"),
        (swap(f"{MODEL}.trees.1.split_indices.0", 2), "tree 1: node 0 splits column 2, but the model has 2"),
        (swap(f"{MODEL}.trees.0.split_indices.0", -4), "tree 0: node 0 splits column 2"),
        (swap(f"{MODEL}.trees.0.split_conditions.0", float("nan")), "tree 0: node 0 splits at nan"),
        (swap(f"{MODEL}.trees.0.split_conditions", [1.0]), "tree 0.split_conditions has 1 items"),
        (swap(f"{MODEL}.trees.0.default_left", "x"), "tree 0.default_left must be a list of numbers"),
        (swap(f"{MODEL}.trees.0.categories_nodes", [0]), "categories_segments has 0 items, not 1"),
        (swap(f"{MODEL}.trees.0", 3), "tree 0 is not an object"),
        (swap(f"{MODEL}.trees", {}), "trees must be a list"),
        (swap(f"{MODEL}.tree_info", [0]), "tree_info has 1 items, but there are 2 trees"),
        (swap(f"{MODEL}.tree_info", [0, 1]), "tree 1 has the class 1, but there are 1"),
        (swap("learner.learner_model_param.num_feature", "999999999"), "999,999,999 columns"),
        (swap("learner.learner_model_param.num_feature", "-1"), "must be a number"),
        (swap("learner.learner_model_param.base_score", "[x]"), "base_score must be numbers"),
        (swap("learner.learner_model_param.base_score", "[1,2]"), "base_score has 2 numbers"),
        (swap("learner.objective.name", "reg:new"), "'reg:new' is unknown"),
        (swap("learner.feature_names", ["a"]), "feature_names has 1 items, but there are 2 columns"),
        (swap("learner.feature_names", ["a", "a"]), "two columns have the same name"),
        (swap("version", [4, 0, 0]), "XGBoost 4.0 wrote it, but tritree reads models of XGBoost 1.0 to 3.2"),
        (swap("version", [3, 99, 0]), "XGBoost 3.99 wrote it"),
        (swap(f"{MODEL}.tree_info", [0, 0, 0]), "tree_info has 3 items, but there are 2 trees"),
        (swap(f"{MODEL}.gbtree_model_param.num_trees", "3"), "num_trees is 3, but there are 2 trees"),
        (swap("learner", 1), "learner is not an object"),
        (lambda document: document.clear(), "no model of XGBoost: there is no learner"),
    ],
)
def test_error_says_what_is_wrong_with_a_file(edit: Edit, message: str) -> None:
    X = random_rows()
    with pytest.raises(GraftError, match=f"model.json: .*{message}"):
        reader.read_file(edited(train(X, X[:, 0]), edit), "model.json")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"binf\0\0", "older format, load it with the XGBoost that wrote it"),
        (b"", "no model of XGBoost"),
        (b'{"learner": ', "JSON is malformed"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"a": "\xff"}', "JSON is malformed"),
        (b"{L", "byte 2 of the UBJSON data"),
    ],
)
def test_files_that_are_no_models_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(GraftError, match=message):
        reader.read_file(data, "file")


def test_too_many_categories_at_all_splits_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = categorical_table(("b", "a", "c"))
    monkeypatch.setattr(limits, "MAX_SPLIT_CATEGORIES", 2)
    with pytest.raises(GraftError, match="more than 2 categories"):
        reader.read(train(X, y))


def test_splits_that_share_categories_are_refused() -> None:
    X, y = categorical_table(("b", "a", "c"))

    def share(document: dict[str, Any]) -> None:
        tree = tree_of(document)
        n = len(tree["categories_nodes"])
        assert n > 1
        tree["categories_segments"], tree["categories_sizes"] = [0] * n, [len(tree["categories"])] * n

    with pytest.raises(GraftError, match="tree 0: splits share categories"):
        reader.read_file(edited(train(X, y, max_cat_to_onehot=1), share), "model.json")


def share_leaf(tree: dict[str, Any]) -> None:
    leaves = [node for node, left in enumerate(tree["left_children"]) if left == -1]
    for leaf in leaves:
        tree["right_children"][leaf] = 0


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (share_leaf, "leaves do not have values of their own"),
        (
            lambda tree: tree["tree_param"].update(size_leaf_vector="2"),
            "leaves have 2 values, but there are 3",
        ),
    ],
)
def test_wrong_vectors_of_values_are_refused(edit: Edit, message: str) -> None:
    X = random_rows()
    by_class = {"objective": "multi:softprob", "num_class": 3, "multi_strategy": "multi_output_tree"}
    model = train(X, three_classes(X), **by_class)
    with pytest.raises(GraftError, match=message):
        reader.read_file(edited(model, lambda document: edit(tree_of(document))), "model.json")


# ---- damage


def small_files() -> list[bytes]:
    X, y = categorical_table(("b", "a", "c"), 30)
    X = X.assign(x=y)
    by_class = {"objective": "multi:softprob", "num_class": 3, "max_depth": 2}
    models = [
        train(X, y, 1, booster="dart"),
        train(X[["x"]], X["c"].cat.codes, 1, multi_strategy="multi_output_tree", **by_class),
    ]
    return [bytes(model.save_raw(kind)) for model in models for kind in ("json", "ubj")]


FILES = small_files()


def read_or_refuse(data: bytes) -> None:
    try:
        source = reader.read_file(data, "file")
    except GraftError:
        return
    for tree in source.trees:
        assert np.isfinite(tree.value).all()


@given(st.sampled_from(FILES), st.data())
def test_truncated_files_are_refused(file: bytes, data: st.DataObject) -> None:
    with pytest.raises(GraftError):
        reader.read_file(file[: data.draw(st.integers(0, len(file) - 2))], "file")


@given(st.sampled_from(FILES), st.data())
def test_damaged_files_raise_graft_errors_only(file: bytes, data: st.DataObject) -> None:
    damaged = bytearray(file)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(file) - 1))] = data.draw(st.integers(0, 255))
    read_or_refuse(bytes(damaged))


VALUES = st.none() | st.integers() | st.floats() | st.text(max_size=3) | st.lists(st.integers(), max_size=3)


@given(st.sampled_from([file for file in FILES if file[1:2] == b'"']), st.data())
def test_files_with_another_value_raise_graft_errors_only(file: bytes, data: st.DataObject) -> None:
    document = node = json.loads(file)
    while True:
        key: Any = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        if not (isinstance(node[key], (dict, list)) and node[key] and data.draw(st.integers(0, 9))):
            break
        node = node[key]
    node[key] = data.draw(VALUES)
    read_or_refuse(json.dumps(document).encode())
