"""Exported models have the third branches that rows need; what they lack is a warning with numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

from tritree import (
    GrowthLimitError,
    TrinaryBoostingClassifier,
    TrinaryBoostingRegressor,
    TrinaryForestRegressor,
    TrinaryTreeRegressor,
    UngrownExportWarning,
    load,
)
from tritree.estimators.stored_rows import StoredRows

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from inspection.test_onnx import run  # noqa: E402


def table(n_rows: int, seed: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return columns that are correlated in pairs, and a target."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 8))
    X[:, 4:] = X[:, :4] + 0.5 * X[:, 4:]
    return X, X[:, 0] + X[:, 1] * (X[:, 2] > 0) + np.sin(2 * X[:, 3])


def with_missing(X: Any, rate: float) -> Any:
    return np.where(np.random.default_rng(2).random(X.shape) < rate, np.nan, X)


X, Y = table(1_000, seed=0)
TEST, TEST_Y = table(1_000, seed=1)
MODELS = {
    "tree": TrinaryTreeRegressor(max_depth=None, min_samples_leaf=5),
    "forest": TrinaryForestRegressor(n_estimators=5, min_missing_third=0, random_state=0),
    "boosting": TrinaryBoostingRegressor(max_iter=10, learning_rate=0.3, max_depth=4, random_state=0),
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Any:
    return MODELS[request.param].fit(X, Y)


def trees_and_model(model: Any) -> list[Any]:
    trees = getattr(model, "estimators_", ())
    return [model, *np.ravel(trees)[1:2]] if isinstance(trees, np.ndarray) else [model, *trees[1:2]]


def test_rows_are_predicted_as_by_the_model_and_nothing_else_changes(model: Any) -> None:
    rows = with_missing(TEST[:200], 0.4)
    n_nodes = model.n_nodes_
    for exported in trees_and_model(model):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = run(exported.to_onnx(rows=rows), rows)[0]
        assert model.n_nodes_ == n_nodes
        if hasattr(exported, "predict"):
            expected = exported._independent_copy().predict(rows)
        else:
            expected = [explanation.value[0] for explanation in exported.explain(rows)]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore::tritree.UngrownExportWarning")
def test_rows_do_not_make_the_predictions_of_other_rows_worse(model: Any) -> None:
    others = with_missing(TEST, 0.2)
    expected = model._independent_copy().predict(others)
    errors = [
        np.square(run(model.to_onnx(rows=rows), others)[0] - expected).mean() for rows in (None, TEST[:20])
    ]
    assert errors[1] <= 1.1 * errors[0]


@pytest.mark.filterwarnings("ignore::tritree.UngrownExportWarning")
def test_without_rows_the_score_is_close_to_that_of_the_model(model: Any) -> None:
    rows = with_missing(TEST, 0.2)
    bare = model._independent_copy().detach()
    exported = model.to_onnx()
    assert model.n_grown_ == 0
    found = r2_score(TEST_Y, run(exported, rows)[0])
    lost = r2_score(TEST_Y, model._independent_copy().predict(rows)) - found
    assert lost < 0.03
    with pytest.warns():
        assert found > r2_score(TEST_Y, bare.predict(rows)) + 0.05


@pytest.mark.filterwarnings("ignore::tritree.UngrownExportWarning")
@pytest.mark.parametrize("estimator", [TrinaryTreeRegressor, TrinaryBoostingRegressor])
def test_models_of_default_size_are_exported_by_default(estimator: Any) -> None:
    model, rows = estimator().fit(X[:, :4], Y), TEST[:200, :4]
    np.testing.assert_array_equal(run(model.to_onnx(), rows)[0], model.predict(rows))


def test_deviation_of_the_warning_is_that_of_predictions(model: Any) -> None:
    with pytest.warns(UngrownExportWarning, match="pass a higher max_nodes, or rows=") as caught:
        exported = model.to_onnx(max_nodes=model.n_nodes_)  # nothing is grown
    rows = with_missing(X, 0.2)
    expected, found = model._independent_copy().predict(rows), run(exported, rows)[0]
    deviation = np.sqrt(np.mean((found - expected) ** 2)) / np.std(expected)
    fact: Any = caught[0].message
    assert fact.fifth_missing == pytest.approx(deviation, rel=0.5)  # of 50 rows
    assert 0 < fact.one_missing < fact.fifth_missing
    assert fact.n_ungrown == model._model.n_ungrown


@pytest.mark.filterwarnings("error")
def test_onnx_of_a_model_that_was_grown_for_few_rows_warns_with_numbers() -> None:
    X, y = np.random.default_rng(0).normal(size=(1_000, 12)), np.random.default_rng(1).normal(size=1_000)
    forest = TrinaryForestRegressor(n_estimators=4, min_samples_leaf=2, random_state=0).fit(X, y)
    row = X[:1].copy()
    row[0, 0] = np.nan
    with pytest.warns(UngrownExportWarning, match=r"grow_for\(\) has grown .*, pass them as rows=") as caught:
        forest.grow_for(row).to_onnx()
    fact: Any = caught[0].message
    assert (fact.cause, fact.destination) == ("other_rows", "onnx")
    assert fact.fifth_missing > 0.005


def test_rows_that_the_limit_leaves_out_are_counted(model: Any) -> None:
    rows = with_missing(TEST[:300], 0.4)
    limit = model.n_nodes_ + 50
    with pytest.warns(UngrownExportWarning, match=r"of 300 rows reach .* growth stopped at") as caught:
        exported = model.to_onnx(rows=rows, max_nodes=limit)
    fact: Any = caught[0].message
    assert (fact.cause, fact.n_rows, fact.max_nodes) == ("max_nodes", 300, limit)
    n_different = np.count_nonzero(run(exported, rows)[0] != model._independent_copy().predict(rows))
    assert n_different <= fact.n_hits <= 300


def test_detached_model_is_exported_as_it_is_with_a_warning(model: Any) -> None:
    rows = with_missing(TEST[:100], 0.4)
    half = model._independent_copy().grow_for(rows[:50]).detach()
    with pytest.warns(UngrownExportWarning, match="not grown, and the ONNX model cannot grow any: a row"):
        half.to_onnx()
    with pytest.warns(UngrownExportWarning, match="the training rows are gone") as caught:
        half.to_onnx(rows=rows)
    fact: Any = caught[0].message
    assert 0 < fact.n_hits <= 50
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        half.to_onnx(rows=rows[:50])


def test_limit_below_the_size_of_the_model_names_one_that_works(model: Any) -> None:
    n_nodes = model.n_nodes_
    with pytest.raises(GrowthLimitError, match=f"pass max_nodes={n_nodes} or more, or fit "):
        model.to_onnx(max_nodes=n_nodes - 1)
    model.to_onnx(max_nodes=n_nodes, rows=X[:5])


def test_file_is_written_and_a_wrong_path_is_found_first(tmp_path: Any) -> None:
    tree = TrinaryTreeRegressor(max_depth=2).fit(X, Y)
    assert tree.to_onnx(tmp_path / "tree.onnx") is None
    assert onnx.load(tmp_path / "tree.onnx") == tree.to_onnx()
    with pytest.raises(FileNotFoundError, match=r"there is no folder .* to save the ONNX model in"):
        tree.to_onnx(tmp_path / "none" / "tree.onnx")
    with pytest.raises(ValueError, match="max_nodes must be an integer of at least 1"):
        tree.to_onnx(max_nodes=0)


def test_dates_lose_their_parts_together_and_categories_are_read() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, 600), "D"),
            "colour": rng.choice(["red", "green", "blue"], 600),
            "size": rng.normal(size=600),
        }
    )
    frame.loc[::7, "colour"] = None
    y = frame["sold"].dt.month + (frame["colour"] == "red") * 3 + frame["size"]
    for estimator in (TrinaryTreeRegressor, TrinaryBoostingRegressor):
        model = estimator(date_parts=["month", "weekday"]).fit(frame, y)
        stored = StoredRows(model._model, model._encoder)
        assert stored.n_inputs == 3
        lost = np.zeros((600, 3), dtype=bool)
        lost[:, 0] = True
        columns = stored.read(np.arange(600), lost)
        assert [bool(np.isnan(column).all()) for column in columns if column.dtype.kind == "f"] == [
            True,
            True,
            True,
            False,
        ]
        assert set(columns[3]) == {-1, 0, 1, 2}


@pytest.mark.parametrize("max_bins", [16, 255])
def test_stored_rows_take_the_branches_of_training_rows(max_bins: int) -> None:
    frame = pd.DataFrame(with_missing(X, 0.1))
    frame["text"] = np.where(X[:, 0] > 0, "a", "b")
    frame["empty"] = np.nan
    frame.columns = frame.columns.astype(str)
    for estimator in (TrinaryTreeRegressor, TrinaryBoostingRegressor):
        model: Any = estimator(max_bins=max_bins).fit(frame, Y)
        stored = StoredRows(model._model, model._encoder)
        rows = np.arange(stored.n_rows)
        assert stored.n_rows == len(frame)
        columns = stored.read(rows, np.zeros((len(rows), stored.n_inputs), dtype=bool))
        found, _ = model._model.predict(columns, len(rows), 1)
        np.testing.assert_array_equal(np.sort(found[:, 0]), np.sort(model.predict(frame)))
        np.testing.assert_array_equal(stored.has_missing(rows), True)  # the empty column


def test_classes_of_boosting_are_exported_for_rows() -> None:
    y = np.digitize(Y, [-1, 1])
    rows = with_missing(TEST[:200], 0.3)
    model = TrinaryBoostingClassifier(max_iter=3, max_depth=3, random_state=0).fit(X, y)
    np.testing.assert_allclose(run(model.to_onnx(rows=rows), rows)[1], model.predict_proba(rows), rtol=1e-12)
    tree = model.estimators_[2, 1]
    np.testing.assert_array_equal(
        run(tree.to_onnx(rows=rows), rows)[0], [explanation.value[0] for explanation in tree.explain(rows)]
    )


def test_file_without_training_rows_warns_with_numbers(model: Any, tmp_path: Any) -> None:
    with pytest.warns(UngrownExportWarning, match=r"the model in the file .* call grow_for\(\) first"):
        model.save(tmp_path / "model", training_rows=False)
    assert model.n_grown_ == 0
    grown = model._independent_copy().grow_for(with_missing(TEST[:10], 0.3))
    with pytest.warns(
        UngrownExportWarning, match=r"by \d.*%: grow_for\(\) has grown .*, call it with them too"
    ):
        grown.save(tmp_path / "grown", training_rows=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.save(tmp_path / "model")
        TrinaryTreeRegressor(max_depth=2).fit(X, Y).grow_all().save(tmp_path / "tree", training_rows=False)
        TrinaryTreeRegressor(missing="mia").fit(X, Y).save(tmp_path / "mia")
    assert load(tmp_path / "grown").n_nodes_ == grown.n_nodes_


@pytest.mark.parametrize("where", ["name", "category", "class"])
def test_text_that_is_not_unicode_is_refused_with_a_remedy(where: str) -> None:
    bad = "a\udc80"
    cells = np.array([["red"], [bad if where == "category" else "b"]] * 50, dtype=object)
    frame = pd.DataFrame(
        cells, columns=pd.Index([bad if where == "name" else "colour"], dtype=object), dtype=object
    )
    y = np.array(["yes", bad if where == "class" else "no"] * 50, dtype=object)
    model = TrinaryBoostingClassifier(max_iter=2).fit(frame, y)
    with pytest.raises(
        ValueError, match=r"'a\\udc80', which is not valid Unicode .* rename it and fit again"
    ):
        model.to_onnx()
