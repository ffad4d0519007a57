"""``tritree.graft``: models of other libraries, end to end, and the estimators that it returns."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

import tritree
from tritree import (
    ColumnMatchWarning,
    GraftedClassifier,
    GraftedRegressor,
    GraftError,
    TrinaryTreeRegressor,
    graft,
)

NAN = np.nan


def make_rows(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of which some columns tell about others, and a target."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 6))
    X[:, 1] += X[:, 0]
    X[:, 3] += 0.7 * X[:, 2]
    return X, X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3]


X, Y = make_rows(0, 1500)
TARGETS = {
    "regression": Y,
    "two classes": np.where(Y > 0, "yes", "no"),
    "three classes": np.digitize(Y, [-1, 1]),
}
COMPLETE, TRUTH = make_rows(1, 400)
LACKING = np.where(np.random.default_rng(2).random(COMPLETE.shape) < 0.3, NAN, COMPLETE)


def of_xgboost(task: str) -> Any:
    xgboost = pytest.importorskip("xgboost")
    kind = xgboost.XGBRegressor if task == "regression" else xgboost.XGBClassifier
    return kind(n_estimators=20, max_depth=4, n_jobs=1)


def of_lightgbm(task: str) -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    kind = lightgbm.LGBMRegressor if task == "regression" else lightgbm.LGBMClassifier
    return kind(n_estimators=20, n_jobs=1, verbose=-1)


def of_catboost(task: str) -> Any:
    catboost = pytest.importorskip("catboost")
    kind = catboost.CatBoostRegressor if task == "regression" else catboost.CatBoostClassifier
    return kind(iterations=20, depth=4, verbose=0, thread_count=1, allow_writing_files=False)


def of_scikit_learn(name: str) -> Callable[[str], Any]:
    def make(task: str) -> Any:
        from sklearn import ensemble, tree

        suffix = "Regressor" if task == "regression" else "Classifier"
        kind = getattr(ensemble, name + suffix, None) or getattr(tree, name + suffix)
        sizes = {
            "HistGradientBoosting": {"max_iter": 20},
            "GradientBoosting": {"n_estimators": 20},
            "DecisionTree": {"max_depth": 6},
        }
        return kind(random_state=0, **sizes.get(name, {"n_estimators": 20, "max_depth": 6}))

    return make


SOURCES: dict[str, Callable[[str], Any]] = {
    "XGBoost": of_xgboost,
    "LightGBM": of_lightgbm,
    "CatBoost": of_catboost,
    **{
        name: of_scikit_learn(name)
        for name in ("HistGradientBoosting", "GradientBoosting", "RandomForest", "ExtraTrees", "DecisionTree")
    },
}
#: Those that predict rows with missing values although training had none.
TAKE_MISSING = ("XGBoost", "LightGBM", "CatBoost", "HistGradientBoosting")


@cache
def fitted(source: str, task: str) -> Any:
    target = TARGETS[task]
    if source == "XGBoost" and task == "two classes":
        target = (target == "yes").astype(int)
    return SOURCES[source](task).fit(X, target)


def values_of(model: Any, rows: np.ndarray) -> np.ndarray:
    return model.predict(rows) if is_regressor(model) else model.predict_proba(rows)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Keep threads of other libraries from waiting for each other on a busy machine."""
    with threadpool_limits(1):
        yield


# ---- every library


@pytest.mark.parametrize("task", TARGETS)
@pytest.mark.parametrize("source", SOURCES)
def test_complete_rows_get_the_predictions_of_the_source(source: str, task: str) -> None:
    model = fitted(source, task)
    robust = graft(model, X, random_state=0, n_jobs=1)
    assert type(robust) is (GraftedRegressor if task == "regression" else GraftedClassifier)
    np.testing.assert_allclose(values_of(robust, COMPLETE), values_of(model, COMPLETE), rtol=2e-6, atol=1e-6)
    if task != "regression":
        assert (robust.predict(COMPLETE) == np.ravel(model.predict(COMPLETE))).all()


@pytest.mark.parametrize("task", TARGETS)
@pytest.mark.parametrize("source", TAKE_MISSING)
def test_rows_with_missing_values_get_the_predictions_of_the_source_with_keep(source: str, task: str) -> None:
    model = fitted(source, task)
    robust = graft(model, X, missing="keep", n_jobs=1)
    np.testing.assert_allclose(values_of(robust, LACKING), values_of(model, LACKING), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("missing", ["auto", "third"])
@pytest.mark.parametrize("source", SOURCES)
def test_rows_with_missing_values_are_predicted_better_than_by_the_source(source: str, missing: str) -> None:
    model = fitted(source, "regression")
    robust = graft(model, X, missing=missing, random_state=0, n_jobs=1)
    # those that take no missing values get the means
    rows = LACKING if source in TAKE_MISSING else np.where(np.isnan(LACKING), X.mean(axis=0), LACKING)
    loss, of_source = (np.mean((p - TRUTH) ** 2) for p in (robust.predict(LACKING), model.predict(rows)))
    assert loss < 0.95 * of_source


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost", "sklearn"])
def test_random_models_are_as_their_source(library: str, seed: int) -> None:
    pytest.importorskip(library)
    from graft.random_models import make

    model, complete, missing = make(library, seed)
    robust = graft(model, complete, missing="keep", random_state=0, n_jobs=1)  # it checks complete rows
    if missing is not None:
        graft(model, missing, missing="keep", random_state=0, n_jobs=1)  # and rows with missing values
        assert np.isfinite(graft(model, complete, missing="third", n_jobs=1)._raw_predict(missing)[0]).all()
    assert robust.n_third_splits_ == 0


def test_directions_that_lightgbm_has_learned_are_kept() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    table = X.copy()
    table[np.random.default_rng(0).random(len(table)) < 0.3, 0] = NAN
    model = lightgbm.LGBMRegressor(n_estimators=20, n_jobs=1, verbose=-1).fit(table, Y)
    robust = graft(model, table, random_state=0, n_jobs=1)
    assert robust.n_kept_splits_ > 0
    assert robust.n_third_splits_ > 0
    only_first = COMPLETE.copy()
    only_first[:, 0] = NAN
    np.testing.assert_allclose(robust.predict(only_first), model.predict(only_first), rtol=1e-12)


def test_file_is_the_model(tmp_path: Path) -> None:
    model = fitted("XGBoost", "regression")
    for name in ("model.json", "model.ubj"):
        model.save_model(tmp_path / name)
        robust = graft(tmp_path / name, X, random_state=0, n_jobs=1)
        np.testing.assert_allclose(robust.predict(COMPLETE), model.predict(COMPLETE), rtol=2e-6, atol=1e-5)
    lightgbm = fitted("LightGBM", "two classes")
    lightgbm.booster_.save_model(tmp_path / "model.txt")
    robust = graft(str(tmp_path / "model.txt"), X, random_state=0, n_jobs=1)
    np.testing.assert_allclose(robust.predict_proba(COMPLETE), lightgbm.predict_proba(COMPLETE), rtol=1e-6)


def test_files_are_read_without_their_library(tmp_path: Path) -> None:
    fitted("XGBoost", "regression").save_model(tmp_path / "model.json")
    fitted("LightGBM", "regression").booster_.save_model(tmp_path / "model.txt")
    fitted("CatBoost", "regression").save_model(str(tmp_path / "cat.json"), format="json")
    code = (
        "import sys, numpy as np; from tritree import graft\n"
        f"for name in ('model.json', 'model.txt', 'cat.json'):\n"
        f"    graft({str(tmp_path)!r} + '/' + name, np.zeros((5, 6)))\n"
        "found = {'xgboost', 'lightgbm', 'catboost'} & sys.modules.keys()\n"
        "sys.exit(f'imported {found}' if found else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_import_of_tritree_imports_neither_grafts_nor_other_libraries() -> None:
    code = (
        "import sys, tritree; tritree.TrinaryTreeRegressor\n"
        "sys.exit(bool({'xgboost', 'lightgbm', 'catboost', 'tritree.graft'} & sys.modules.keys()))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "before", ["", "import tritree.graft.source", "import tritree.graft.models as models"]
)
@pytest.mark.parametrize("after", ["", "import tritree.graft.source as source"])
def test_graft_is_a_function_whatever_is_imported(before: str, after: str) -> None:
    code = f"{before}\nfrom tritree import graft\nimport tritree\n{after}\nassert graft is tritree.graft\n"
    code += "import inspect; assert 'max_background' in inspect.signature(graft).parameters"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- the estimators


@cache
def robust_model(task: str) -> Any:
    return graft(fitted("LightGBM", task), X, random_state=0, n_jobs=1)


@pytest.fixture(params=list(TARGETS))
def robust(request: pytest.FixtureRequest) -> Any:
    return pickle.loads(pickle.dumps(robust_model(request.param)))


def test_saved_model_predicts_the_same(robust: Any, tmp_path: Path) -> None:
    expected = values_of(robust, LACKING)
    robust.save(tmp_path / "model.tritree", metadata={"from": "test"})
    loaded = tritree.load(tmp_path / "model.tritree")
    assert type(loaded) is type(robust)
    assert loaded.get_params() == robust.get_params()
    np.testing.assert_array_equal(values_of(loaded, LACKING), expected)
    assert (loaded.n_kept_splits_, loaded.n_third_splits_) == (robust.n_kept_splits_, robust.n_third_splits_)


def test_pickled_and_cloned_models_predict_the_same(robust: Any) -> None:
    expected = values_of(robust, LACKING)
    for copied in (pickle.loads(pickle.dumps(robust)), clone(robust)):
        np.testing.assert_array_equal(values_of(copied, LACKING), expected)
    check_is_fitted(clone(robust))


def test_parameters_of_a_clone_are_its_own(robust: Any) -> None:
    clone(robust).set_params(unknown_category="error")
    assert robust.unknown_category == "no_information"


def test_it_cannot_be_fitted(robust: Any) -> None:
    with pytest.raises(TypeError, match=r"cannot be fitted: tritree.graft\(model, X\) makes it"):
        robust.fit(X, Y)


def test_last_stage_is_the_prediction(robust: Any) -> None:
    *_, last = robust.staged_predict(LACKING)
    expected = robust.predict(LACKING)
    assert np.allclose(last, expected, rtol=1e-12) if is_regressor(robust) else (last == expected).all()
    assert robust.n_iter_ == 20


def test_explanation_adds_up_to_the_sum_over_trees(robust: Any) -> None:
    classes = {} if is_regressor(robust) else {"class_of_interest": robust.classes_[-1]}
    raw = robust.predict(LACKING[:5]) if is_regressor(robust) else robust.decision_function(LACKING[:5])
    for explanation, row in zip(robust.explain(LACKING[:5], **classes), raw, strict=True):
        total = explanation.base_value + sum(explanation.contributions.values()) + explanation.rounding
        assert total == np.ravel(row)[-1]


def test_views_name_the_source(robust: Any) -> None:
    assert robust.to_text().startswith("grafted LightGBM, ")
    assert ", grafted LightGBM, contributions to " in repr(robust.estimators_[0, 0])
    assert robust.estimators_.shape == (20, robust._model.n_outputs)
    assert robust.to_dict(max_trees=1)["model"] == "grafted LightGBM"
    assert "</html>" in robust.to_html(rows=LACKING[:2])
    assert "</html>" in robust.estimators_[0, 0].to_html()


def test_importances_follow_the_gains_of_the_source() -> None:
    model = fitted("LightGBM", "regression")
    gains = model.booster_.feature_importance("gain")
    importances = graft(model, X, missing="keep").feature_importances_
    np.testing.assert_allclose(importances, gains / gains.sum(), rtol=1e-5)


def test_missing_reliance_is_zero_for_complete_rows(robust: Any) -> None:
    assert not robust.missing_reliance(COMPLETE).any()
    assert robust.missing_reliance(LACKING).all()


def test_onnx_model_predicts_the_same(robust: Any) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(robust.to_onnx(rows=LACKING).SerializeToString())
    found = session.run(None, {"X": LACKING})[-1]
    np.testing.assert_allclose(found, values_of(robust, LACKING), rtol=1e-12)


def test_detached_model_predicts_rows_like_those_of_grow_for(robust: Any) -> None:
    expected = values_of(robust.grow_for(LACKING), LACKING)
    np.testing.assert_array_equal(values_of(robust.detach(), LACKING), expected)


def test_apply_returns_a_node_per_tree(robust: Any) -> None:
    assert robust.apply(LACKING).shape == (len(LACKING), robust.n_trees_)


def test_scikit_learn_knows_what_it_is(robust: Any) -> None:
    assert is_regressor(robust) != is_classifier(robust)
    assert robust.__sklearn_tags__().input_tags.allow_nan
    assert robust.n_features_in_ == 6


def test_ties_of_a_forest_go_to_the_class_of_the_source() -> None:
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(
        X[:300], TARGETS["two classes"][:300]
    )
    tied = COMPLETE[np.ptp(forest.predict_proba(COMPLETE), axis=1) == 0]
    assert len(tied)
    assert (graft(forest, X).predict(tied) == forest.predict(tied)).all()


# ---- what is refused


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"missing": "mean"}, "missing must be one of 'auto', 'third', 'keep', got 'mean'"),
        ({"max_background": 0}, "max_background must be an integer of at least 1, got 0"),
        ({"third_depth_extra": -1}, "third_depth_extra must be an integer of at least 0, got -1"),
        ({"n_jobs": 0}, "n_jobs must be a number of threads"),
    ],
)
def test_wrong_parameter_is_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(tritree.ParameterError, match=message):
        graft(fitted("LightGBM", "regression"), X, **parameters)


def test_model_of_no_known_library_is_refused() -> None:
    with pytest.raises(tritree.ParameterError, match="model must be a fitted model of XGBoost"):
        graft(object(), X)


def test_model_of_tritree_needs_no_graft() -> None:
    with pytest.raises(GraftError, match="has third branches already"):
        graft(TrinaryTreeRegressor().fit(X, Y), X)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a model of XGBoost"),
        (b"\x80\x04.", "is a pickle, which runs code when it is read; load it if you trust it"),
        (b"PK\x03\x04", "is a zip file"),
        (b"binf", "old binary format"),
        (b'{"a": 1}', "is not a model of XGBoost"),
        (b"CBM1\x00", "CatBoost"),
    ],
)
def test_file_that_is_no_model_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(content)
    with pytest.raises(GraftError, match=message) as caught:
        graft(path, X)
    assert "model.bin" in str(caught.value)


def test_file_beyond_the_limit_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.json"
    with path.open("wb") as file:
        file.truncate(2**30 + 1)
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("the file was read"))
    with pytest.raises(GraftError, match=r"model.json: 1,073,741,825 bytes are more than the limit"):
        graft(path, X)


def test_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        graft(tmp_path / "none.json", X)


def test_rows_with_other_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="X has 5 features, but the model of LightGBM is expecting 6"):
        graft(fitted("LightGBM", "regression"), X[:, :5])


# ---- background rows that do not suit the model


def xgboost_model(table: Any) -> Any:
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBRegressor(n_estimators=10, max_depth=3, n_jobs=1).fit(table, Y)


def test_columns_are_matched_by_names_that_look_made_up(tmp_path: Path) -> None:
    table = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    model = xgboost_model(table)
    model.save_model(tmp_path / "model.json")
    reordered = table[table.columns[::-1]]
    for source in (model, tmp_path / "model.json"):
        robust = graft(source, reordered, random_state=0, n_jobs=1)
        np.testing.assert_allclose(robust.predict(reordered), model.predict(table), rtol=1e-5)


def test_spaces_in_names_of_lightgbm(tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    table = pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])
    model = lightgbm.LGBMRegressor(n_estimators=5, n_jobs=1, verbose=-1).fit(table, Y)
    model.booster_.save_model(tmp_path / "model.txt")
    robust = graft(tmp_path / "model.txt", pl.from_pandas(table), random_state=0, n_jobs=1)
    np.testing.assert_allclose(robust.predict(table), model.predict(table), rtol=1e-12)


def test_a_column_that_the_model_splits_by_must_have_values(tmp_path: Path) -> None:
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    xgboost_model(table).save_model(tmp_path / "model.json")
    with (
        pytest.warns(ColumnMatchWarning),
        pytest.raises(GraftError, match="column 'c0' has no value in X, and"),
    ):
        graft(tmp_path / "model.json", table.drop(columns="c0"), n_jobs=1)


def test_directions_of_a_model_trained_without_missing_values_are_not_kept() -> None:
    table = np.where(np.random.default_rng(0).random(X.shape) < 0.3, NAN, X)
    hist = HistGradientBoostingRegressor(max_iter=10, random_state=0).fit(X, Y)
    for model in (xgboost_model(X), hist):
        assert graft(model, table, random_state=0, n_jobs=1).n_kept_splits_ == 0
    assert graft(xgboost_model(table), table, random_state=0, n_jobs=1).n_kept_splits_ > 0


def test_a_graft_without_third_branches_is_warned_of() -> None:
    table = np.where(np.random.default_rng(0).random(X.shape) < 0.3, NAN, X)
    with pytest.warns(
        UserWarning, match="no split gets a third branch: where missing values go was learned, or may"
    ):
        graft(xgboost_model(table), table, random_state=0, n_jobs=1)


def test_few_rows_are_warned_of() -> None:
    with pytest.warns(
        UserWarning, match="fitted to the rows of X, which are only 3; pass some hundred or more"
    ):
        graft(xgboost_model(X), X[:3], n_jobs=1)
