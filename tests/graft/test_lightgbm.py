"""The reader of LightGBM: trees that predict as the library does."""

from __future__ import annotations

import re
import subprocess
import sys
import tracemalloc
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
from graft.random_lightgbm import make
from graft.random_models import as_numbers, check, error_in_ulps
from graft.reference import raw_predictions
from hypothesis import given
from hypothesis import strategies as st

from tritree.errors import GraftError
from tritree.graft import lightgbm as reader
from tritree.graft import limits

ULP = np.finfo(np.float64).eps
ONE_TREE = {"num_leaves": 4, "min_data_in_leaf": 1, "min_data_in_bin": 1, "verbose": -1, "num_threads": 1}


def train(
    X: Any, y: Any, n_trees: int = 1, categorical_feature: Any = "auto", **parameters: Any
) -> lightgbm.Booster:
    data = lightgbm.Dataset(X, y, categorical_feature=categorical_feature)
    return lightgbm.train({**ONE_TREE, **parameters}, data, n_trees)


def random_rows(seed: int = 0, n_rows: int = 200, n_columns: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def sums(model: Any, X: Any) -> np.ndarray:
    """Return the raw predictions of the trees that were read."""
    source = reader.read(model, X)
    return raw_predictions(source, as_numbers(source, X))


def as_file(model: lightgbm.Booster) -> bytes:
    return model.model_to_string().encode()


def edited(model: lightgbm.Booster, pattern: str, replacement: str) -> bytes:
    text, n_edits = re.subn(pattern, replacement, model.model_to_string(), flags=re.MULTILINE)
    assert n_edits
    return text.encode()


@pytest.mark.parametrize("seed", range(30))
def test_random_models_predict_as_the_library_does(seed: int) -> None:
    check("lightgbm", seed)


@pytest.mark.parametrize("seed", range(5))
def test_file_is_read_as_the_model(seed: int) -> None:
    model, complete, _ = make(seed)
    booster = getattr(model, "booster_", model)
    from_object, from_file = (
        reader.read(booster, complete),
        reader.read_file(as_file(booster), "m.txt", complete),
    )
    numbers = as_numbers(from_object, complete)
    np.testing.assert_array_equal(
        raw_predictions(from_object, numbers), raw_predictions(from_file, as_numbers(from_file, complete))
    )
    assert from_file.raw is None
    assert from_file.link == from_object.link


def test_reading_a_file_does_not_import_the_library(tmp_path: Any) -> None:
    path = tmp_path / "model.txt"
    path.write_bytes(as_file(train(random_rows(), random_rows()[:, 0])))
    code = (
        "import sys; from pathlib import Path; from tritree.graft.lightgbm import read_file; "
        f"read_file(Path({str(path)!r}).read_bytes(), 'model.txt'); assert 'lightgbm' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- what the sums mean


def predict(link: str, raw: np.ndarray) -> np.ndarray:
    if link == "softmax":
        odds = np.exp(raw - raw.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)
    by_link = {
        "identity": lambda raw: raw,
        "log": np.exp,
        "logit": lambda raw: 1 / (1 + np.exp(-raw)),
        "sigmoid_each": lambda raw: 1 / (1 + np.exp(-raw)),
    }
    return by_link[link](raw)


@pytest.mark.parametrize(
    ("objective", "link"),
    [
        *(
            (name, "identity")
            for name in ("regression", "regression_l1", "huber", "fair", "quantile", "mape")
        ),
        *((name, "log") for name in ("poisson", "gamma", "tweedie")),
        *((name, "logit") for name in ("binary", "cross_entropy")),
        ("multiclass", "softmax"),
        ("multiclassova", "sigmoid_each"),
    ],
)
@pytest.mark.parametrize("boosting", ["gbdt", "rf"])
def test_link_of_the_sums_gives_the_predictions(objective: str, link: str, boosting: str) -> None:
    X = random_rows()
    y = np.digitize(X[:, 0], [-0.5, 0.5]) if "multi" in objective else (X[:, 0] > 0) + 0.0
    y = y + 1.0 if link == "log" else y
    parameters: dict[str, Any] = {"num_class": 3} if "multi" in objective else {}
    if boosting == "rf":
        parameters |= {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}
    model = train(X, y, 4, objective=objective, sigmoid=1.7, **parameters)
    source = reader.read(model)
    assert source.link == link
    assert source.raw is not None
    expected = model.predict(X).reshape(len(X), -1)
    np.testing.assert_allclose(predict(link, source.raw(X)), expected, rtol=1e-12)
    np.testing.assert_allclose(predict(link, sums(model, X)), expected, rtol=1e-12)


def test_trees_of_a_random_forest_are_averaged() -> None:
    X = random_rows()
    model = train(X, X[:, 0] + 5, 10, boosting="rf", bagging_freq=1, bagging_fraction=0.5)
    np.testing.assert_allclose(sums(model, X)[:, 0], model.predict(X), rtol=1e-14)


def test_first_tree_holds_the_baseline() -> None:
    X = random_rows()
    model = train(X, X[:, 0] + 1000, learning_rate=0.01)
    np.testing.assert_allclose(sums(model, X)[:, 0], model.predict(X), rtol=1e-15)
    assert (reader.read(model).baseline == 0).all()


def test_trees_end_at_the_best_iteration() -> None:
    X = random_rows()
    model = train(X, X[:, 0], 10)
    model.best_iteration = 4
    assert len(reader.read(model).trees) == 4
    np.testing.assert_allclose(sums(model, X)[:, 0], model.predict(X), rtol=1e-14)


def test_trees_of_a_single_leaf_are_read() -> None:
    X = random_rows()
    model = train(X, X[:, 0] + 3, 2, min_data_in_leaf=1000)
    assert {len(tree) for tree in reader.read(model).trees} == {1}
    np.testing.assert_allclose(sums(model, X)[:, 0], model.predict(X))


def test_scores_of_ranking_are_the_predictions() -> None:
    X = random_rows()
    model = lightgbm.LGBMRanker(n_estimators=3, verbose=-1, n_jobs=1).fit(X, X[:, 0] > 0, group=[100, 100])
    source = reader.read(model)
    assert (source.link, source.classes) == ("identity", None)
    np.testing.assert_allclose(sums(model, X)[:, 0], model.predict(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifier_has_its_labels(n_classes: int) -> None:
    X = random_rows()
    y = np.array(["b", "a", "c"])[np.digitize(X[:, 0], [0, 0.5][: n_classes - 1])]
    source = reader.read(lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1).fit(X, y))
    assert source.classes is not None
    assert source.classes.tolist() == sorted(set(y))
    assert source.n_outputs == (1 if n_classes == 2 else 3)


# ---- where values go


def test_value_at_the_threshold_goes_left() -> None:
    X = np.repeat([[0.1], [0.3]], 50, axis=0)
    model = train(X, X[:, 0], min_data_in_bin=1)
    cut = model.trees_to_dataframe().loc[0, "threshold"]
    rows = np.array([[np.nextafter(cut, -1)], [cut], [np.nextafter(cut, 1)]])
    expected = model.predict(rows)
    assert expected[0] == expected[1] != expected[2]
    np.testing.assert_allclose(sums(model, rows)[:, 0], expected, rtol=ULP)


@pytest.mark.parametrize("parameters", [{}, {"zero_as_missing": True}, {"use_missing": False}])
def test_tiny_values_are_zeros(parameters: dict[str, Any]) -> None:
    X = np.repeat([[-1.0], [0.0], [1.0], [2.0]], 50, axis=0)
    model = train(X, np.repeat([3, 1, 2, 0], 50), **parameters)
    zero = float(np.float32(1e-35))
    rows = np.array([[side * value] for side in (-1, 1) for value in (zero, np.nextafter(zero, 1), 1e-35, 0)])
    np.testing.assert_allclose(sums(model, rows)[:, 0], model.predict(rows), rtol=1e-15)


def random_column_with_missing() -> tuple[np.ndarray, np.ndarray]:
    X = random_rows(n_columns=1)
    X[::4] = np.nan
    return X, np.where(np.isnan(X[:, 0]), 3, X[:, 0])


def test_column_without_missing_values_in_training_takes_them_for_zeros() -> None:
    X, _ = random_column_with_missing()
    model = train(random_rows(n_columns=1), random_rows()[:, 0])
    assert "decision_type=2 " in model.model_to_string()  # of the missing type None
    np.testing.assert_array_equal(sums(model, X[:1]), sums(model, np.zeros((1, 1))))
    assert model.predict(X[:1]) == model.predict(np.zeros((1, 1)))
    tree = reader.read(model).trees[0]
    assert (tree.missing_learned[tree.column >= 0] == 0).all()


def test_direction_is_learned_in_columns_with_missing_values_in_training() -> None:
    X, y = random_column_with_missing()
    model = train(X, y)
    assert error_in_ulps(reader.read(model), X).max() <= 1e-6
    tree = reader.read(model).trees[0]
    assert (tree.missing_learned[tree.column >= 0] == 1).all()


def test_missing_values_against_all_others_have_the_threshold_minus_infinity() -> None:
    X = np.array([[1.0], [np.nan]] * 50)
    model = train(X, np.isnan(X[:, 0]), num_leaves=2)
    text = edited(model, "^threshold=.*$", "threshold=1.7976931348623157e+308").decode()
    model = lightgbm.Booster(model_str=re.sub("(?m)^decision_type=.*$", "decision_type=8", text))
    tree = reader.read(model).trees[0]
    assert tree.threshold[0] == -np.inf
    assert tree.missing_left[0]
    np.testing.assert_array_equal(
        tree.value[[tree.left[0], tree.right[0]]], model.predict([[np.nan], [1e308]])
    )


def test_zeros_are_missing_in_all_numeric_columns_with_zero_as_missing() -> None:
    X = np.where(random_rows() < -0.5, 0, random_rows())
    model = train(X, X[:, 0] == 0, 3, zero_as_missing=True, num_leaves=10)
    source = reader.read(model)
    assert all(column.zero_is_missing for column in source.columns)
    # whether training had zeros in the column is not recorded
    assert {int(learned) for tree in source.trees for learned in tree.missing_learned[tree.column >= 0]} == {
        -1
    }
    assert error_in_ulps(source, np.where(X > 1, np.nan, X)).max() <= 1e-6


def test_zeros_that_are_missing_in_some_trees_only_are_refused() -> None:
    X = random_rows()
    first = train(X, X[:, 0])
    data = lightgbm.Dataset(X, X[:, 0], params={"zero_as_missing": True})
    both = lightgbm.train(ONE_TREE | {"zero_as_missing": True}, data, 1, init_model=first)
    with pytest.raises(GraftError, match="zeros of column 'Column_0' are missing values at some splits"):
        reader.read(both)


# ---- categories


def test_missing_negative_and_unknown_categories_go_right() -> None:
    X = np.random.default_rng(0).integers(0, 5, (200, 1)).astype(float)
    model = train(X, np.isin(X[:, 0], [1, 3]), categorical_feature=[0], min_data_per_group=1, cat_smooth=0)
    source = reader.read(model)
    assert source.columns[0].categories == (0, 1, 2, 3, 4)
    rows = np.array([[np.nan], [-1], [99], [1], [2], [3]])
    np.testing.assert_allclose(sums(model, rows)[:, 0], model.predict(rows), rtol=1e-15)
    assert not source.trees[0].missing_left.any()
    assert not source.trees[0].unknown_left.any()


def table_of_pandas(*, ordered: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    levels = pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
    table = pd.DataFrame(
        {
            "home town": pd.Categorical(rng.choice(["é", "a b", "c"], 200)),
            "size": rng.normal(size=200),
            "level": pd.Series(rng.choice(levels.categories, 200)).astype(levels if ordered else "category"),
        }
    )
    return table, (table["home town"] == "a b") + (table["level"] == "middle") + table["size"] / 3


def train_on_pandas(*, ordered: bool = False) -> tuple[lightgbm.Booster, pd.DataFrame]:
    table, y = table_of_pandas(ordered=ordered)
    parameters = {"min_data_per_group": 1, "cat_smooth": 0, "num_leaves": 12}
    return train(table, y, 3, **parameters), table


def test_categories_of_pandas_are_read_from_a_file() -> None:
    model, table = train_on_pandas()
    source = reader.read_file(as_file(model), "m.txt")
    assert [column.categories for column in source.columns] == [
        ("a b", "c", "é"),
        None,
        ("high", "low", "middle"),
    ]
    expected = model.predict(table)
    np.testing.assert_allclose(raw_predictions(source, as_numbers(source, table))[:, 0], expected, rtol=1e-14)


def test_unknown_categories_of_pandas_are_missing_values() -> None:
    model, table = train_on_pandas(ordered=True)
    table["home town"] = table["home town"].cat.add_categories("new")
    table["level"] = table["level"].cat.add_categories("higher")
    rows = table.iloc[[0, 1, 2]].copy()
    rows.loc[0, "home town"], rows.loc[1, "level"], rows.loc[2, "level"] = "new", "higher", None
    np.testing.assert_allclose(sums(model, rows)[:, 0], model.predict(rows), rtol=1e-14)


def test_splits_of_ordered_categories_are_sets() -> None:
    model, table = train_on_pandas(ordered=True)
    source = reader.read(model, table)
    assert source.columns[2].categories == ("low", "middle", "high")
    np.testing.assert_allclose(sums(model, table)[:, 0], model.predict(table), rtol=1e-14)


def test_first_of_ordered_categories_is_a_zero_of_lightgbm() -> None:
    table, _ = table_of_pandas(ordered=True)
    # the first and the last category go right: the first one as a missing value
    model = train(table[["level"]], table["level"] != "middle", zero_as_missing=True, num_leaves=2)
    assert not reader.read(model, table[["level"]]).columns[0].zero_is_missing
    rows = pd.DataFrame(
        {"level": pd.Categorical(["low", "middle", "high", None], table["level"].dtype.categories)}
    )
    rows["level"] = rows["level"].cat.as_ordered()
    expected = model.predict(rows)
    assert expected[0] == expected[2] == expected[3] > expected[1]
    np.testing.assert_allclose(sums(model, rows)[:, 0], expected, rtol=1e-14)


def test_categories_whose_column_is_not_recorded_are_refused_without_a_table() -> None:
    model, _ = train_on_pandas(ordered=True)
    with pytest.raises(
        GraftError, match=r"2 columns were categories of pandas .* pass X as a table of pandas"
    ):
        reader.read_file(as_file(model), "m.txt")


def test_names_with_spaces_are_those_of_the_table() -> None:
    model, table = train_on_pandas()
    assert reader.read(model).columns[0].name == "home_town"
    assert [column.name for column in reader.read(model, table).columns] == list(table.columns)


def test_columns_without_names_have_none() -> None:
    X = random_rows()
    assert [column.name for column in reader.read(train(X, X[:, 0])).columns] == [None, None]


# ---- what cannot be grafted


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"linear_tree": True}, "tree 0 has linear models in its leaves .*; fit without linear_tree"),
        ({"reg_sqrt": True}, "squares of raw scores .*; fit without reg_sqrt"),
        ({"objective": "cross_entropy_lambda"}, "cross_entropy_lambda"),
    ],
)
def test_models_whose_predictions_are_no_sums_are_refused(parameters: dict[str, Any], message: str) -> None:
    X = random_rows()
    with pytest.raises(GraftError, match=message):
        reader.read(train(X, X[:, 0] > 0, **parameters))


def squared(y: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return raw - y, np.ones(len(y))


def test_custom_objective_is_read_but_not_of_a_classifier() -> None:
    X = random_rows()
    model = lightgbm.LGBMClassifier(n_estimators=2, objective=squared, verbose=-1, n_jobs=1).fit(
        X, X[:, 0] > 0
    )
    with pytest.raises(GraftError, match="mean no probabilities; graft its booster_"):
        reader.read(model)
    source = reader.read(model.booster_)
    assert (source.link, source.classes) == ("identity", None)
    np.testing.assert_allclose(sums(model.booster_, X)[:, 0], model.booster_.predict(X), rtol=1e-14)


def test_classifier_with_cross_entropy_has_its_labels() -> None:
    X = random_rows()
    model = lightgbm.LGBMClassifier(n_estimators=2, objective="cross_entropy", verbose=-1, n_jobs=1)
    source = reader.read(model.fit(X, np.where(X[:, 0] > 0, "yes", "no")))
    assert source.classes is not None
    assert source.classes.tolist() == ["no", "yes"]


def test_model_without_trees_is_refused() -> None:
    text = edited(train(random_rows(), random_rows()[:, 0]), r"^Tree=0[\s\S]*?(?=^end of trees)", "")
    with pytest.raises(GraftError, match=r"m\.txt: the model has no trees"):
        reader.read_file(text, "m.txt")


def test_classifier_of_one_class_is_refused() -> None:
    model = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1).fit(random_rows(), np.zeros(200))
    with pytest.raises(GraftError, match="fitted to 1 class"):
        reader.read(model)


def test_several_models_are_refused() -> None:
    X = random_rows()
    folds = lightgbm.cv(
        {**ONE_TREE, "objective": "regression"},
        lightgbm.Dataset(X, X[:, 0]),
        1,
        return_cvbooster=True,
        stratified=False,
    )
    with pytest.raises(GraftError, match="a CVBooster of LightGBM cannot be grafted; pass a Booster"):
        reader.read(folds["cvbooster"])


@pytest.mark.parametrize(
    ("pattern", "replacement", "message"),
    [
        ("^tree$", "forest", "first line is 'tree'"),
        ("^version=v4", "version=v9", "format 'v9' is unknown"),
        ("^end of trees[^$]*", "", "cut off"),
        ("^max_feature_idx=1", "max_feature_idx=2", "2 names and 2 ranges of 3 columns"),
        ("^objective=.*", "objective=guess", "objective 'guess' is unknown"),
        ("^objective=.*", "objective=multiclass", "multiclass does not have 1 scores"),
        ("^Tree=0", "Tree=7", "tree 0 is called '7'"),
        ("^num_leaves=4", "num_leaves=99", "tree 0 has 4 numbers in 'leaf_value=' instead of 99"),
        ("^num_leaves=4", "num_leaves=0", "tree 0 has a number in 'num_leaves=' that is not from 1"),
        ("^leaf_value=", "leaf_value=x", "tree 0 has no numbers in 'leaf_value='"),
        (r"^leaf_value=\S+", "leaf_value=nan", "tree 0: node 3 is a leaf with the value nan"),
        (r"^threshold=\S+", "threshold=nan", "tree 0: node 0 splits at nan"),
        (r"^split_feature=\S+", "split_feature=2", "tree 0 has a number in 'split_feature='"),
        (r"^left_child=\S+", "left_child=0", "tree 0 is not a tree"),
        (r"^left_child=\S+", "left_child=-9", "tree 0 has a number in 'left_child='"),
        (r"^decision_type=\S+", "decision_type=14", "tree 0 has a number in 'decision_type='"),
        ("^left_child=.*", "", "tree 0 has no line 'left_child='"),
        ("^tree_sizes=", "tree_sizes=9 ", "'tree_sizes=' has 2 items, but there are 1 trees"),
        ("^num_tree_per_iteration=1", "num_tree_per_iteration=2", "1 trees are no multiple of the 2"),
        ("^pandas_categorical:.*", "pandas_categorical:[[[1]]]", "'pandas_categorical:' does not hold lists"),
    ],
)
def test_error_says_what_is_wrong_with_a_file(pattern: str, replacement: str, message: str) -> None:
    X = random_rows()
    with pytest.raises(GraftError, match=message) as error:
        reader.read_file(edited(train(X, X[:, 0]), pattern, replacement), "m.txt")
    assert str(error.value).startswith("m.txt: ")


def test_damaged_sets_of_categories_are_refused() -> None:
    model, _ = train_on_pandas()
    for pattern, replacement in (
        ("^cat_boundaries=0", "cat_boundaries=9"),
        (r"^cat_boundaries=0 \d", "cat_boundaries=0 7"),
        ("^cat_threshold=.*", "cat_threshold="),
        ("^cat_threshold=", "cat_threshold=4294967296 "),
    ):
        with pytest.raises(GraftError, match="tree 0 has"):
            reader.read_file(edited(model, pattern, replacement), "m.txt")


def test_too_many_categories_at_all_splits_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model, table = train_on_pandas(ordered=True)
    n_left = sum(
        len(left) for tree in reader.read(model, table).trees for left in tree.left_categories.values()
    )
    monkeypatch.setattr(limits, "MAX_SPLIT_CATEGORIES", n_left - 1)
    with pytest.raises(GraftError, match="all splits together have more than"):
        reader.read(model, table)


def test_categories_of_all_columns_of_splits_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    model, table = train_on_pandas()
    source = reader.read(model, table)
    n = sum(
        len(source.columns[tree.column[node]].categories or ())
        for tree in source.trees
        for node in tree.left_categories
    )
    monkeypatch.setattr(limits, "MAX_SET_SIZES", n - 1)
    with pytest.raises(GraftError, match="all splits together have more than"):
        reader.read(model, table)


def test_nodes_that_share_a_large_set_need_no_memory_each() -> None:
    n = 2_000
    text = f"""tree
version=v4
num_tree_per_iteration=1
max_feature_idx=0
objective=regression
feature_names=Column_0
feature_infos=none

Tree=0
num_leaves={n + 1}
split_feature={"0 " * n}
threshold={"0 " * n}
decision_type={"1 " * n}
left_child={" ".join(map(str, [*range(1, n), -n - 1]))}
right_child={" ".join(str(-1 - i) for i in range(n))}
leaf_value={"0 " * (n + 1)}
cat_boundaries=0 2000
cat_threshold={"4294967295 " * 2000}

end of trees
"""
    tracemalloc.start()
    with pytest.raises(GraftError, match="all splits together have more than 5,000,000"):
        reader.read_file(text.encode(), "m.txt")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6


def _damaged_models() -> list[bytes]:
    X = np.where(random_rows() > 1, np.nan, random_rows())
    three = np.digitize(random_rows()[:, 0], [-0.5, 0.5])
    return [
        as_file(train_on_pandas()[0]),
        as_file(train(X, three, objective="multiclass", num_class=3)),
        as_file(
            train(X, three > 0, 2, objective="binary", boosting="rf", bagging_freq=1, bagging_fraction=0.5)
        ),
    ]


MODELS = _damaged_models()


@given(st.sampled_from(MODELS), st.data())
def test_damaged_files_raise_graft_errors_only(model: bytes, data: st.DataObject) -> None:
    end = model.index(b"feature_importances:")
    model = model[:end] + model[model.index(b"pandas_categorical") :]
    damaged = bytearray(model)
    for _ in range(data.draw(st.integers(0, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    damaged = damaged[: data.draw(st.integers(0, len(damaged)) | st.just(len(damaged)))]
    check_file(bytes(damaged))


def check_file(data: bytes) -> None:
    """Raise anything but a GraftError that reading a file raises, or an AssertionError if it has no predictions."""
    try:
        source = reader.read_file(data, "m.txt")
    except GraftError:
        return
    assert np.isfinite(raw_predictions(source, np.zeros((2, len(source.columns))))).all()


WORDS = st.sampled_from(
    ["", "0", "-1", "2147483647", "1e400", "nan", "inf", "-inf", "x", "4294967295", "1.5"]
)


@given(st.sampled_from(MODELS), WORDS, st.data())
def test_files_with_another_number_raise_graft_errors_only(
    model: bytes, word: str, data: st.DataObject
) -> None:
    text = model.decode()
    numbers = list(re.finditer(r"(?<=[= ])[-+\d.e]+", text[: text.index("end of trees")]))
    chosen = data.draw(st.sampled_from(numbers))
    text = text[: chosen.start()] + word + text[chosen.end() :]
    check_file(text.encode())
