"""A loaded model is the saved one: the tree, the columns, the classes and the parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from models import STRATEGIES, TASKS, predictions, simulated
from serialization.samples import half_grown, mixed, more_missing, same_model

import tritree
from tritree import ColumnError, TrinaryTreeClassifier, TrinaryTreeRegressor


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.tritree"


def saved_and_loaded(model: Any, path: Path, **options: Any) -> Any:
    model.save(path, **options)
    return tritree.load(path)


@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("task", TASKS)
def test_loaded_model_is_the_same(task: str, missing: str, path: Path) -> None:
    X, y = mixed(task=task)
    model = half_grown(X, y, missing=missing)
    assert same_model(saved_and_loaded(model, path), model, more_missing(X, seed=2))


@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("task", TASKS)
def test_loaded_model_of_an_array_with_weights_is_the_same(task: str, missing: str, path: Path) -> None:
    X, y = simulated(200, 4, missing=0.2, task=task)
    weight = np.random.default_rng(1).random(len(y))
    model = half_grown(X, y, weight, missing=missing)
    assert same_model(saved_and_loaded(model, path), model, more_missing(X, seed=2))


def test_loaded_root_without_a_split_is_the_same(path: Path) -> None:
    X, y = simulated(50, 2)
    model = half_grown(X, y, max_depth=0)
    again = saved_and_loaded(model, path)
    assert again.n_nodes_ == 1
    assert same_model(again, model, X)


def test_binned_columns_and_columns_of_many_values_are_the_same(path: Path) -> None:
    X, y = simulated(400, 3, missing=0.1)
    X[:, 0] = np.round(X[:, 0], 1)
    for max_bins in (None, 8):
        model = half_grown(X, y, max_bins=max_bins)
        assert same_model(saved_and_loaded(model, path), model, more_missing(X, seed=2))


# Columns


def one_column(values: Any) -> tuple[pd.DataFrame, Any]:
    """Return a table with one column of its own and one of noise, and a target that depends on the first."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": values, "noise": rng.normal(size=len(values))})
    return table, pd.factorize(table["a"])[0] + rng.normal(scale=0.1, size=len(values))


CODES = np.arange(120) % 3
COLUMNS = {
    "text": np.array(["", "b\n", "žlutý 🌳"], dtype=object)[CODES],
    "integers": pd.Categorical(CODES * 2 - 2**52),
    "fractions": pd.Categorical(CODES / 3),
    "booleans": CODES == 1,
    "ordered text": pd.Categorical(np.array(["m", "s", "l"])[CODES], ["s", "m", "l", "xl"], ordered=True),
    "ordered numbers": pd.Categorical(CODES / 4, [0.5, 0.0, 0.25], ordered=True),
    "ordered booleans": pd.Categorical(CODES == 1, [True, False], ordered=True),
    "ordered, all missing": pd.Categorical([None] * 120, ["s", "m"], ordered=True),
    "empty": np.full(120, None),
}


@pytest.mark.parametrize("values", COLUMNS.values(), ids=COLUMNS)
def test_columns_of_any_type_come_back(values: Any, path: Path) -> None:
    X, y = one_column(values)
    model = half_grown(X, y)
    again = saved_and_loaded(model, path)
    assert again._encoder == model._encoder
    assert same_model(again, model, more_missing(X))


@pytest.mark.parametrize("missing", ["trinary_mia", "mia"])
@pytest.mark.parametrize("kind", ["number", "category", "order"])
def test_split_of_missing_against_observed_comes_back(missing: str, kind: str, path: Path) -> None:
    is_missing = np.arange(200) % 3 == 0
    codes = np.random.default_rng(0).integers(0, 3, 200)
    values = codes.astype(float) if kind == "number" else pd.Categorical(codes, ordered=kind == "order")
    X = pd.DataFrame(
        {"a": pd.Series(values).mask(is_missing), "b": np.random.default_rng(1).normal(size=200)}
    )
    model = half_grown(X, 10.0 * is_missing + X["b"].to_numpy(), missing=missing)
    assert model.to_dict()["nodes"][0]["split"]["rule"] == "missing"
    assert same_model(saved_and_loaded(model, path), model, more_missing(X))


@pytest.mark.parametrize("missing", ["trinary", "surrogate"])
@pytest.mark.parametrize("n_categories", [63, 64, 65, 128, 300])
def test_many_categories_come_back(n_categories: int, missing: str, path: Path) -> None:
    codes = np.arange(600) % n_categories
    X = np.column_stack([codes, codes[::-1], np.random.default_rng(0).normal(size=600)]).astype(float)
    model = half_grown(more_missing(X), np.sin(codes), missing=missing, categorical_features=[0, 1])
    assert same_model(saved_and_loaded(model, path), model, more_missing(X, seed=2))


@pytest.mark.parametrize("scale", [1e-300, 1e307])
def test_numbers_of_any_size_come_back(scale: float, path: Path) -> None:
    X, y = simulated(200, 3, missing=0.1)
    X, y = np.clip(X, -10, 10) * scale, np.clip(y, -10, 10) * scale
    model = half_grown(X, y)
    assert same_model(saved_and_loaded(model, path), model, more_missing(X))


def test_chosen_categories_of_an_array_come_back(path: Path) -> None:
    X, y = simulated(200, 3)
    X[:, 1] = np.digitize(X[:, 1], [-0.5, 0.5])
    model = half_grown(X, y, categorical_features=[1])
    again = saved_and_loaded(model, path)
    assert again._encoder.columns[1].categories == (0, 1, 2)
    assert same_model(again, model, more_missing(X))


def test_unknown_category_is_predicted_as_before_loading(path: Path) -> None:
    X, y = mixed()
    model = half_grown(X, y)
    rows = X[:20].assign(colour="violet")
    assert same_model(saved_and_loaded(model, path), model, rows)


def test_unknown_category_is_refused_after_loading_on_request(path: Path) -> None:
    X, y = mixed()
    again = saved_and_loaded(half_grown(X, y, unknown_category="error"), path)
    with pytest.raises(ColumnError, match="violet"):
        again.predict(X[:1].assign(colour="violet"))


def test_label_outside_an_order_is_refused_after_loading(path: Path) -> None:
    X, y = mixed()
    again = saved_and_loaded(half_grown(X, y), path)
    with pytest.raises(ColumnError, match="'huge' in row 0, which is not one of its ordered categories"):
        again.predict(X[:1].assign(size="huge"))


def test_infinite_value_is_refused_by_the_name_of_its_column_after_loading(path: Path) -> None:
    X, y = mixed()
    again = saved_and_loaded(half_grown(X, y), path)
    with pytest.raises(ColumnError, match="column 'number' holds inf in row 0"):
        again.predict(X[:1].assign(number=np.inf))


# Names


def test_text_names_come_back(path: Path) -> None:
    X, y = mixed()
    again = saved_and_loaded(half_grown(X, y), path)
    assert again.feature_names_in_.tolist() == list(X.columns)
    assert again.feature_names_in_.dtype == object
    assert again.n_features_in_ == 5


@pytest.mark.parametrize(
    "names", [[10, 20, 30], [0.5, 1.5, 2.5], pd.Index([1, 2.5, 3], dtype=object)], ids=str
)
def test_names_that_are_numbers_come_back(names: Any, path: Path) -> None:
    X, y = simulated(100, 3)
    table = pd.DataFrame(X, columns=names)
    again = saved_and_loaded(half_grown(table, y), path)
    assert again._encoder.column_names == tuple(names)
    assert not hasattr(again, "feature_names_in_")
    assert predictions(again, table[table.columns[::-1]]).tobytes() == predictions(again, table).tobytes()


def test_array_has_no_names_after_loading(path: Path) -> None:
    again = saved_and_loaded(half_grown(*simulated(100, 3)), path)
    assert again.n_features_in_ == 3
    assert not hasattr(again, "feature_names_in_")


def test_columns_are_matched_by_name_after_loading(path: Path) -> None:
    X, y = mixed()
    again = saved_and_loaded(half_grown(X, y), path)
    assert predictions(again, X[X.columns[::-1]]).tobytes() == predictions(again, X).tobytes()


def test_loaded_model_predicts_tables_of_another_library(path: Path) -> None:
    X, y = mixed()
    X = X[["number", "colour"]]
    model = half_grown(X, y)
    assert (
        predictions(saved_and_loaded(model, path), pl.from_pandas(X)).tobytes()
        == predictions(model, X).tobytes()
    )


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]),
            r"column names must be text or numbers, not \['a', 1\]",
        ),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "Timestamp"),
    ],
    ids=["tuples", "dates"],
)
def test_names_that_json_cannot_hold_are_refused_when_saving(names: Any, message: str, path: Path) -> None:
    X, y = simulated(100, 2)
    table = pd.DataFrame(X)
    table.columns = names
    with pytest.raises((TypeError, ValueError), match=message):
        half_grown(table, y).save(path)
    assert not path.exists()


# Classes

CLASSES = {
    "text": np.array(["ja", "nein", "žádný"]),
    "text that looks like numbers": np.array(["1", "2", "10"]),
    "text that is no Unicode": np.array(["\ud800", "\udcff"]),
    "objects": np.array(["ja", "nein", "vielleicht"], dtype=object),
    "int64": np.array([-5, 0, 2**62]),
    "int8": np.array([-128, 0, 127], dtype=np.int8),
    "uint8": np.array([0, 1, 255], dtype=np.uint8),
    "uint64": np.array([0, 1, 2**64 - 1], dtype=np.uint64),
    "bool": np.array([False, True]),
    "float64": np.array([-1.0, 0.0, 3.0]),
    "float32": np.array([0.0, 1.0, 2.0**24], dtype=np.float32),
    "float16": np.array([0.0, 1.0], dtype=np.float16),
    "one class": np.array([7]),
}


@pytest.mark.parametrize("classes", CLASSES.values(), ids=CLASSES)
def test_classes_keep_their_values_and_type(classes: Any, path: Path) -> None:
    X, signal = simulated(200, 3)
    y = classes[np.argsort(np.argsort(signal)) * len(classes) // len(signal)]
    model = TrinaryTreeClassifier(max_depth=2).fit(X, y)
    again = saved_and_loaded(model, path)
    assert again.classes_.dtype == model.classes_.dtype
    assert again.classes_.tolist() == model.classes_.tolist()
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert again.predict(X).dtype == model.predict(X).dtype


def test_classes_that_json_cannot_hold_are_refused_when_saving(path: Path) -> None:
    X, signal = simulated(100, 2)
    model = TrinaryTreeClassifier().fit(X, (signal > 0).astype(np.longdouble))
    with pytest.raises(TypeError, match="classes_ holds"):
        model.save(path)


# Parameters

PARAMETERS = {
    "defaults": {},
    "no limits": {"max_depth": None, "max_bins": None, "n_jobs": None},
    "beyond all limits": {"max_depth": 10**30, "min_samples_leaf": 10**30, "max_surrogates": 10**30},
    "others": {
        "missing": "surrogate",
        "max_depth": 2,
        "min_samples_leaf": 7,
        "max_bins": 16,
        "categorical_features": ["colour", "shop"],
        "unknown_category": "error",
        "split_on_missing": False,
        "max_surrogates": 3,
        "n_jobs": -1,
    },
    "NumPy's": {"max_depth": np.int64(3), "split_on_missing": np.True_, "n_jobs": np.int8(1)},
    "positions": {"categorical_features": [1, 3]},
    "booleans": {"categorical_features": [False, True, False, True, False]},
}


@pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS)
@pytest.mark.parametrize("kind", [TrinaryTreeRegressor, TrinaryTreeClassifier])
def test_parameters_come_back(kind: Any, parameters: dict[str, Any], path: Path) -> None:
    X, y = mixed(task="regression" if kind is TrinaryTreeRegressor else "classification")
    X = X.assign(size=X["size"].cat.codes)
    model = kind(**parameters).fit(X, y)
    again = saved_and_loaded(model, path)
    assert type(again) is kind
    assert again.get_params() == model.get_params()


@pytest.mark.parametrize(
    "chosen", [("colour", "shop"), np.array(["colour", "shop"]), pd.Index(["colour", "shop"])], ids=type
)
def test_any_list_of_categorical_columns_comes_back_as_a_list(chosen: Any, path: Path) -> None:
    X, y = mixed()
    X = X.assign(size=X["size"].cat.codes, open=X["open"].astype(float))
    model = half_grown(X, y, categorical_features=chosen)
    assert saved_and_loaded(model, path).categorical_features == ["colour", "shop"]


def test_parameter_that_does_not_affect_the_fitted_tree_is_saved_as_it_is_now(path: Path) -> None:
    X, y = simulated(200, 3, missing=0.1)
    model = half_grown(X, y).set_params(unknown_category="error", random_state=7, n_jobs=1)
    again = saved_and_loaded(model, path)
    assert again.get_params() == model.get_params()
    assert same_model(again, model, more_missing(X))


def test_loaded_model_can_be_fitted_again(path: Path) -> None:
    X, y = simulated(100, 3)
    again = saved_and_loaded(half_grown(*mixed()), path)
    again.fit(X, y)
    assert again.n_features_in_ == 3
    assert not hasattr(again, "feature_names_in_")


@pytest.mark.parametrize("missing", STRATEGIES)
def test_text_of_a_loaded_model_is_that_of_the_original(missing: str, path: Path) -> None:
    model = half_grown(*mixed(), missing=missing)
    assert saved_and_loaded(model, path).to_text() == model.to_text()
