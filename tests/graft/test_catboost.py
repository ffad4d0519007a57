"""The reader of CatBoost: trees that predict as the library does."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from graft.random_models import as_numbers, check, error_in_ulps
from graft.reference import raw_predictions
from hypothesis import given
from hypothesis import strategies as st

from tritree.errors import GraftError
from tritree.graft import catboost as reader

catboost = pytest.importorskip("catboost")

QUIET = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
SMALL = {"iterations": 2, "depth": 2, **QUIET}


def random_rows(seed: int = 0, n_rows: int = 200, n_columns: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def three_classes() -> np.ndarray:
    return np.digitize(random_rows()[:, 0], [-0.5, 0.5])


def train(X: Any = None, y: Any = None, **parameters: Any) -> Any:
    X = random_rows() if X is None else X
    return catboost.CatBoost(SMALL | parameters).fit(X, random_rows()[:, 0] if y is None else y)


def sums(model: Any, X: Any) -> np.ndarray:
    """Return the raw predictions of the trees that were read."""
    source = reader.read(model)
    return raw_predictions(source, as_numbers(source, X))


@pytest.fixture
def as_json(tmp_path: Any) -> Any:
    def save(model: Any) -> Any:
        path = tmp_path / "model.json"
        model.save_model(str(path), format="json")
        return json.loads(path.read_bytes())

    return save


def read_json(described: Any) -> Any:
    return reader.read_file(json.dumps(described).encode(), "m.json")


@pytest.mark.parametrize("seed", range(20))
def test_random_models_predict_as_the_library_does(seed: int) -> None:
    check("catboost", seed)


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
@pytest.mark.parametrize("n_classes", [0, 3])
def test_file_is_read_as_the_model(policy: str, n_classes: int, as_json: Any) -> None:
    classes = {"y": three_classes(), "loss_function": "MultiClass"} if n_classes else {}
    model = train(grow_policy=policy, **classes)
    source = read_json(as_json(model))
    np.testing.assert_array_equal(raw_predictions(source, random_rows()), sums(model, random_rows()))
    assert source.raw is None
    assert source.link == ("softmax" if n_classes else "identity")


def test_reading_a_file_does_not_import_the_library(tmp_path: Any) -> None:
    path = tmp_path / "model.json"
    train().save_model(str(path), format="json")
    code = (
        "import sys; from pathlib import Path; from tritree.graft.catboost import read_file; "
        f"read_file(Path({str(path)!r}).read_bytes(), 'model.json'); assert 'catboost' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- what the sums mean


@pytest.mark.parametrize(
    ("loss", "link", "prediction_type"),
    [
        *((loss, "identity", "RawFormulaVal") for loss in ("RMSE", "MAE", "Quantile", "Huber:delta=1")),
        *((loss, "log", "Exponent") for loss in ("Poisson", "Tweedie:variance_power=1.5")),
        *((loss, "logit", "Probability") for loss in ("Logloss", "CrossEntropy")),
        ("Focal:focal_alpha=0.3;focal_gamma=2.0", "logit", "Probability"),
        ("MultiClass", "softmax", "Probability"),
        ("MultiClassOneVsAll", "sigmoid_each", "Probability"),
    ],
)
def test_link_of_the_sums_gives_the_predictions(loss: str, link: str, prediction_type: str) -> None:
    y = three_classes() if link in ("softmax", "sigmoid_each") else random_rows()[:, 0] > 0
    model = train(y=y.astype(int), loss_function=loss)
    raw, X = sums(model, random_rows()), random_rows()
    assert reader.read(model).link == link
    found = {
        "identity": raw,
        "log": np.exp(raw),
        "logit": np.hstack([1 / (1 + np.exp(raw)), 1 / (1 + np.exp(-raw))]),
        "softmax": np.exp(raw) / np.exp(raw).sum(axis=1, keepdims=True),
        "sigmoid_each": 1 / (1 + np.exp(-raw)),
    }[link]
    expected = model.predict(X, prediction_type=prediction_type)
    np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=1e-9)


@pytest.mark.parametrize(
    "labels", [["no", "yes"], [-1, 4], [1.5, 2.5], [False, True], ["b", "c", "a"], [3, 1, 2]]
)
def test_classifier_has_its_labels(labels: list[Any], as_json: Any) -> None:
    y = np.array(labels)[three_classes() % len(labels)]
    model = catboost.CatBoostClassifier(**SMALL).fit(random_rows(), y)
    for source in (reader.read(model), read_json(as_json(model))):
        assert source.classes.tolist() == model.classes_.tolist()
        assert type(source.classes[0]) is type(model.classes_[0]) or labels[0] == "no" or labels[0] == "b"


def test_sums_are_scaled_and_shifted() -> None:
    model = train(y=random_rows()[:, 0] + 1000)
    assert reader.read(model).baseline == pytest.approx(1000, abs=1)
    model.set_scale_and_bias(2.5, [-3])
    np.testing.assert_allclose(sums(model, random_rows())[:, 0], model.predict(random_rows()), rtol=1e-14)


def test_sum_of_models_is_read() -> None:
    both = catboost.sum_models([train(), train(iterations=3, y=random_rows()[:, 1])], weights=[0.3, 0.7])
    np.testing.assert_allclose(sums(both, random_rows())[:, 0], both.predict(random_rows()), rtol=1e-14)


def test_trees_of_a_single_leaf_are_read() -> None:
    model = train(depth=0)
    assert {len(tree) for tree in reader.read(model).trees} == {1}
    np.testing.assert_allclose(sums(model, random_rows())[:, 0], model.predict(random_rows()))


def test_symmetric_tree_splits_by_its_first_split_at_the_root(as_json: Any) -> None:
    model = train(iterations=1, depth=3)
    splits = as_json(model)["oblivious_trees"][0]["splits"]
    tree = reader.read(model).trees[0]
    assert tree.column[tree.column >= 0].tolist() == [
        splits[level]["float_feature_index"] for level in (0, 1, 1, 2, 2, 2, 2)
    ]


# ---- where values go


def test_values_are_rounded_to_float32_and_go_left_up_to_the_border(as_json: Any) -> None:
    X = np.repeat([[0.1], [0.3]], 50, axis=0)
    model = train(X, X[:, 0], depth=1, iterations=1)
    border = np.float32(as_json(model)["oblivious_trees"][0]["splits"][0]["border"])
    above = np.nextafter(border, np.float32(1))
    middle = (float(border) + float(above)) / 2
    rows = np.array([[border], [np.nextafter(middle, 0)], [middle], [np.nextafter(middle, 1)], [above]])
    expected = model.predict(rows.astype(np.float64))
    assert expected[0] == expected[1] != expected[4] == expected[3]
    np.testing.assert_allclose(sums(model, rows)[:, 0], expected, rtol=1e-15)


@pytest.mark.parametrize(("nan_mode", "goes_left"), [("Min", True), ("Max", False)])
def test_direction_of_missing_values_is_learned_if_training_had_some(nan_mode: str, goes_left: bool) -> None:
    X = random_rows(n_columns=1)
    X[::4] = np.nan
    source = reader.read(train(X, np.isnan(X[:, 0]) + 0.0, nan_mode=nan_mode))
    for tree in source.trees:
        splits = tree.column >= 0
        assert (tree.missing_learned[splits] == 1).all()
        assert (tree.missing_left[splits] == goes_left).all()
    assert error_in_ulps(source, X).max() <= 1e-6


@pytest.mark.parametrize("nan_mode", ["Min", "Max", "Forbidden"])
def test_missing_values_go_left_if_training_had_none(nan_mode: str) -> None:
    source = reader.read(train(nan_mode=nan_mode))
    for tree in source.trees:
        splits = tree.column >= 0
        assert (tree.missing_learned[splits] == 0).all()
        assert tree.missing_left[splits].all()
    assert error_in_ulps(source, np.where(random_rows() > 0, np.nan, random_rows())).max() <= 1e-6


def test_columns_have_the_names_of_training() -> None:
    table = pd.DataFrame(random_rows(), columns=["a b", "é", "1"])
    assert [column.name for column in reader.read(train(table)).columns] == list(table.columns)
    assert [column.name for column in reader.read(train()).columns] == [None] * 3


# ---- what cannot be grafted


@pytest.mark.parametrize("one_hot_max_size", [2, 10])
@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise"])
def test_categorical_features_are_refused(one_hot_max_size: int, policy: str) -> None:
    X = pd.DataFrame({"x": random_rows()[:, 0], "town": np.array(["a", "b", "c"])[three_classes()]})
    pool = catboost.Pool(X, three_classes(), cat_features=["town"])
    model = catboost.CatBoost(SMALL | {"one_hot_max_size": one_hot_max_size, "grow_policy": policy}).fit(pool)
    with pytest.raises(
        GraftError, match=r"categorical features, whose splits .*; fit CatBoost to numeric columns"
    ):
        reader.read(model)


def test_text_features_are_refused() -> None:
    X = pd.DataFrame({"x": random_rows()[:, 0], "text": np.array(["a b", "b c", "c a"])[three_classes()]})
    pool = catboost.Pool(X, three_classes() > 0, text_features=["text"])
    with pytest.raises(GraftError, match=r"text features|as JSON"):
        reader.read(catboost.CatBoost(SMALL | {"loss_function": "Logloss"}).fit(pool))


@pytest.mark.parametrize("loss", ["RMSEWithUncertainty", "MultiRMSE", "MultiQuantile:alpha=0.1,0.5"])
def test_losses_with_several_predictions_are_refused(loss: str) -> None:
    y = random_rows()[:, :2] if loss == "MultiRMSE" else random_rows()[:, 0]
    with pytest.raises(GraftError, match=f"loss function '{loss.partition(':')[0]}' cannot be grafted"):
        reader.read(train(y=y, loss_function=loss))


def test_classes_without_rows_are_refused() -> None:
    model = catboost.CatBoostClassifier(**SMALL, loss_function="MultiClass", classes_count=4)
    with pytest.raises(GraftError, match=r"4 class labels do not fit .*\(classes_count\)"):
        reader.read(model.fit(random_rows(), 2 * (random_rows()[:, 0] > 0)))


def test_unfitted_model_is_refused() -> None:
    with pytest.raises(
        GraftError, match="this CatBoostRegressor of CatBoost cannot be grafted; pass a fitted"
    ):
        reader.read(catboost.CatBoostRegressor())


def test_binary_files_are_refused_with_the_remedy(tmp_path: Any) -> None:
    path = tmp_path / "model.cbm"
    train().save_model(str(path))
    with pytest.raises(GraftError, match=r"load the file with catboost.* or save it with format='json'"):
        reader.read_file(path.read_bytes(), str(path))


#: A split whose border is a list, alone in its tree.
SPLIT = {"split_type": "FloatFeature", "float_feature_index": 0, "border": [0.5]}


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (["oblivious_trees", 1, "leaf_values"], [1, 2, 3], "tree 1 has 3 values in 4 leaves"),
        (["oblivious_trees", 1, "leaf_values", 0], "x", "tree 1 has a value that is not a finite number"),
        (["oblivious_trees", 1, "leaf_values", 0], 1e999, "tree 1 has a value that is not a finite number"),
        (["oblivious_trees", 1, "splits", 0, "float_feature_index"], 9, "tree 1 splits the float feature 9"),
        (
            ["oblivious_trees", 1, "splits", 0, "split_type"],
            "OnlineCtr",
            "tree 1 has a split of the type 'OnlineCtr'",
        ),
        (
            ["oblivious_trees", 1, "splits", 0, "border"],
            None,
            "tree 1 has a value that is not a finite number",
        ),
        (["oblivious_trees", 1, "leaf_values"], [[1, 2], [3, 4]], "tree 1 has a value that is not a finite"),
        *(
            (["oblivious_trees", 1, "splits", 0, "border"], border, "tree 1 has a value that is not a finite")
            for border in ([0.5], [0.5, 1.5], [], "0.5")
        ),
        (["oblivious_trees", 1, "splits"], [SPLIT], "tree 1 has a value that is not a finite"),
        (["oblivious_trees", 1, "leaf_values"], list(range(8)), "tree 1 has 2 values per leaf instead of 1"),
        (["oblivious_trees"], [], "the model has no trees"),
        (["features_info", "float_features", 0, "flat_feature_index"], 2, "does not number its 3 features"),
        (
            ["features_info", "float_features", 0, "nan_value_treatment"],
            "AsZero",
            "feature 0 treats .*'AsZero'",
        ),
        (["scale_and_bias"], [1], "scale_and_bias is not a scale and a bias"),
        (["scale_and_bias"], None, "scale_and_bias is not a scale and a bias"),
        (["model_info", "params", "loss_function"], None, "model_info does not say the loss function"),
        (
            ["model_info", "params", "loss_function", "type"],
            "MultiClass",
            "1 values per leaf, which does not fit",
        ),
    ],
)
def test_error_says_what_is_wrong_with_a_file(at: list[Any], value: Any, message: str, as_json: Any) -> None:
    described = as_json(train())
    inner = described
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    with pytest.raises(GraftError, match=message) as error:
        read_json(described)
    assert error.value.path == "m.json"


def test_file_without_scale_and_bias_is_refused(as_json: Any) -> None:
    described = as_json(train())
    del described["scale_and_bias"]
    with pytest.raises(GraftError, match="scale_and_bias is not a scale and a bias"):
        read_json(described)


def test_loss_is_checked_before_the_trees_of_all_outputs(
    as_json: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = as_json(train())
    described["oblivious_trees"][0]["leaf_values"] = [0] * 4000
    monkeypatch.setattr(reader, "in_order", lambda *_: pytest.fail("made a tree"))
    with pytest.raises(GraftError, match="1,000 values per leaf, which does not fit the loss function RMSE"):
        read_json(described)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not valid JSON"),
        (b"\xff\xfe{", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"{}", "not a JSON model of CatBoost"),
        (b"[1]", "not a JSON model of CatBoost"),
    ],
)
def test_foreign_files_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(GraftError, match=message):
        reader.read_file(data, "m.json")


def check_file(data: bytes) -> None:
    """Raise anything but a GraftError that reading a file raises, or an AssertionError if it has no predictions."""
    try:
        source = reader.read_file(data, "m.json")
    except GraftError:
        return
    assert np.isfinite(raw_predictions(source, np.zeros((2, len(source.columns))))).all()


@pytest.fixture(scope="module")
def models(tmp_path_factory: Any) -> list[Any]:
    """Return models as JSON, without what readers do not use."""
    found = []
    for model in (
        train(),
        train(y=three_classes(), loss_function="MultiClass", grow_policy="Depthwise"),
        catboost.CatBoostClassifier(**SMALL).fit(random_rows(), np.array(["a", "b"])[three_classes() % 2]),
    ):
        path = tmp_path_factory.mktemp("catboost") / "model.json"
        model.save_model(str(path), format="json")
        described = json.loads(path.read_bytes())
        info = described["model_info"]
        info["params"] = {"loss_function": info["params"]["loss_function"]}
        described["model_info"] = {key: info[key] for key in ("params", "class_params") if key in info}
        found.append(described)
    return found


@given(st.integers(0, 2), st.data())
def test_damaged_files_raise_graft_errors_only(models: list[Any], number: int, data: st.DataObject) -> None:
    damaged = bytearray(json.dumps(models[number]).encode())
    for _ in range(data.draw(st.integers(0, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    check_file(bytes(damaged[: data.draw(st.integers(0, len(damaged)) | st.just(len(damaged)))]))


ANYTHING = st.sampled_from(
    [None, True, -1, 0, 1, 2, 10**9, 10**400, 0.5, -1e308, 1e308, "", "x", [], [0], [[1]], {}]
)


@given(st.integers(0, 2), ANYTHING, st.data())
def test_files_with_another_value_raise_graft_errors_only(
    models: list[Any], number: int, value: Any, data: st.DataObject
) -> None:
    described = inner = copy.deepcopy(models[number])
    while True:
        key = data.draw(st.sampled_from(sorted(inner) if isinstance(inner, dict) else range(len(inner))))
        if not isinstance(inner[key], dict | list) or not inner[key] or data.draw(st.integers(0, 5)) == 0:
            break
        inner = inner[key]
    inner[key] = value
    check_file(json.dumps(described).encode())
