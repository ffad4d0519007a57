"""onnxruntime predicts with an exported tree what the tree predicts, to the last bit."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from hypothesis import given
from models import STRATEGIES, TASKS, as_array, estimator, fitted, simulated, with_missing
from onnx.reference import ReferenceEvaluator
from properties.strategies import Problem, problems

from tritree import (
    GrowthLimitError,
    TrinaryTreeClassifier,
    TrinaryTreeRegressor,
    UngrownBranchWarning,
    UngrownExportWarning,
)

EXPORTED = [missing for missing in STRATEGIES if missing != "fractional"]
COLOURS = ["azure", "crimson", "dun", "Ève", "fawn and brown"]
SIZES = ["small", "large", "huge"]
GRADES = [30, 10, 20.5]
CODES = [-7.5, -1.0, 0.0, 0.1, 12.0]


def columns_of(X: Any) -> list[Any]:
    return [X.iloc[:, j].tolist() for j in range(X.shape[1])] if isinstance(X, pd.DataFrame) else X.T.tolist()


def feed(model: Any, X: Any) -> dict[str, Any]:
    """Return a table as the inputs of the model."""
    inputs = model.graph.input
    columns = []
    for j, cells in enumerate(columns_of(X)):
        is_text = inputs[min(j, len(inputs) - 1)].type.tensor_type.elem_type == onnx.TensorProto.STRING
        missing, kind = ("", object) if is_text else (np.nan, np.float64)
        column = [missing if pd.isna(cell) else cell for cell in cells]
        columns.append(np.array(column, dtype=kind).reshape(-1, 1))
    if len(inputs) < len(columns):
        return {inputs[0].name: np.hstack(columns)}
    return {value.name: column for value, column in zip(inputs, columns, strict=True)}


def run(model: Any, X: Any) -> list[Any]:
    """Return the outputs of the model as onnxruntime has them."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feed(model, X))


def assert_same(tree: Any, X: Any, model: Any = None) -> None:
    """Check that the exported tree predicts the rows as the tree does."""
    found = run(model or tree.to_onnx(), X)
    if not hasattr(tree, "classes_"):
        np.testing.assert_array_equal(found[0], tree.predict(X))
        return
    label, probabilities = found
    np.testing.assert_array_equal(label, tree.predict(X))
    np.testing.assert_array_equal(probabilities, tree.predict_proba(X))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def mixed_frame(n: int = 240, *, missing_rate: float, seed: int = 0) -> pd.DataFrame:
    """Return a table with a column of every kind."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "tied": rng.integers(0, 4, size=n) / 2,
            "single": rng.normal(size=n).astype(np.float32),
            "colour": rng.choice(COLOURS, size=n).astype(object),
            "street": [f"street {k}" for k in rng.integers(0, 110, size=n)],
            "code": rng.choice(CODES, size=n),
            "flag": rng.random(n) < 0.5,
            "size": rng.choice(SIZES, size=n).astype(object),
            "grade": rng.choice(GRADES, size=n),
            "never": np.nan,
            "constant": 3.5,
        }
    )
    for name in frame:
        frame[name] = frame[name].astype(object).where(rng.random(n) >= missing_rate, None)
    return frame


def learnable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with its columns typed, as training needs them."""
    floats = ["number", "tied", "never", "constant"]
    types = dict.fromkeys(floats, "float64") | {"single": "float32", "code": "category", "flag": "boolean"}
    types["size"] = pd.CategoricalDtype(SIZES, ordered=True)
    types["grade"] = pd.CategoricalDtype(GRADES, ordered=True)
    return frame.astype(types)


def target(frame: pd.DataFrame, task: str) -> Any:
    """Return a target that depends on every column that varies."""
    signal = np.random.default_rng(5).normal(size=len(frame))
    for name in frame.columns.drop(["never", "constant"]):
        codes = pd.factorize(frame[name], sort=True)[0] if frame[name].dtype == object else frame[name]
        signal += 2.0 * ((np.asarray(codes, dtype=float) * 7) % 3 > 1)
    return signal if task == "regression" else np.digitize(signal, np.quantile(signal, [0.3, 0.6]))


def rows_to_predict(seed: int = 1) -> pd.DataFrame:
    """Return rows with missing values and with unseen categories."""
    frame = mixed_frame(missing_rate=0.3, seed=seed)
    frame.loc[::5, "colour"] = "never seen"
    frame.loc[::7, "street"] = "street 7,000"
    frame.loc[::4, "code"] = 0.05
    frame.loc[::9, "code"] = 1e300
    frame.loc[::11, "code"] = np.nextafter(12.0, np.inf)
    frame.loc[::13, "code"] = np.nextafter(-7.5, -np.inf)
    frame.loc[frame.index[-1]] = None
    return frame


@pytest.mark.parametrize("missing", EXPORTED)
@given(problem=problems("regression"))
def test_random_regression_tree_predicts_the_same(missing: str, problem: Problem) -> None:
    assert_random_tree_predicts_the_same("regression", missing, problem)


@pytest.mark.parametrize("missing", EXPORTED)
@given(problem=problems("classification"))
def test_random_classification_tree_predicts_the_same(missing: str, problem: Problem) -> None:
    assert_random_tree_predicts_the_same("classification", missing, problem)


def assert_random_tree_predicts_the_same(task: str, missing: str, problem: Problem) -> None:
    tree = estimator(
        task,
        missing=missing,
        categorical_features=problem.categorical,
        max_depth=problem.max_depth,
        min_samples_leaf=problem.min_samples_leaf,
    )
    tree.fit(as_array(problem.X), np.array(problem.y), sample_weight=problem.weight)
    assert_same(tree, as_array(problem.X_test))


@pytest.mark.parametrize("missing_rate", [0.0, 0.2])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("missing", EXPORTED)
def test_tree_of_columns_of_every_kind_predicts_the_same(
    missing: str, task: str, missing_rate: float
) -> None:
    frame = mixed_frame(missing_rate=missing_rate)
    tree = estimator(task, missing=missing, max_depth=3, min_samples_leaf=4)
    tree.fit(learnable(frame), target(frame, task))
    assert_same(tree, rows_to_predict())


@pytest.mark.parametrize("missing", ["mia", "trinary_mia"])
@pytest.mark.parametrize("column", ["colour", "code", "flag", "size", "grade", "number"])
def test_tree_that_splits_missing_from_observed_predicts_the_same(missing: str, column: str) -> None:
    frame = mixed_frame(missing_rate=0.4)
    tree = TrinaryTreeRegressor(missing=missing, max_depth=2, min_samples_leaf=4)
    tree.fit(learnable(frame)[[column]], frame[column].isna().astype(float))
    assert tree.to_dict()["nodes"][0]["split"]["rule"] == "missing"
    assert_same(tree, rows_to_predict()[[column]])


@pytest.mark.parametrize("missing", EXPORTED)
def test_value_at_a_threshold_or_next_to_one_goes_the_same_way(missing: str) -> None:
    X, y = simulated(150, 2)
    tree = fitted(X, y, missing=missing)
    model, arrays = tree.to_onnx(), tree.tree_
    for column in (0, 1):
        at = arrays.threshold[arrays.column == column]
        rows = np.full((3 * len(at), 2), np.nan)
        rows[:, column] = np.concatenate([at, np.nextafter(at, -np.inf), np.nextafter(at, np.inf)])
        for other in (np.nan, 0.0):
            rows[:, 1 - column] = other
            assert_same(tree, rows, model)


def test_float32_value_next_to_a_threshold_goes_the_same_way() -> None:
    X = np.float32(1) + np.arange(40, dtype=np.float32)[:, None] * np.finfo(np.float32).eps
    tree = fitted(X, np.sin(np.arange(40.0)), max_depth=None, min_samples_leaf=1)
    around = [np.nextafter(X, np.float32(-np.inf)), X, np.nextafter(X, np.float32(np.inf))]
    assert_same(tree, np.concatenate(around))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("missing", EXPORTED)
def test_deep_tree_predicts_the_same(missing: str, task: str) -> None:
    X, y = simulated(60, 2, missing=0.1, task=task)
    tree = fitted(X, y, missing=missing, max_depth=None, min_samples_leaf=1)
    assert_same(tree, with_missing(X), tree.to_onnx(max_nodes=1_000_000))


def test_tree_of_many_columns_predicts_the_same() -> None:
    X, y = simulated(200, 40)
    assert_same(fitted(X, y, max_depth=2), with_missing(X))


@pytest.mark.parametrize("missing", EXPORTED)
@pytest.mark.parametrize("text", [True, False])
def test_tree_of_so_many_categories_that_a_chain_of_them_would_crash_onnxruntime_predicts_the_same(
    text: bool, missing: str
) -> None:
    n = 15_000
    lean = np.random.default_rng(0).permutation(n) % 2
    X = pd.DataFrame({"category": [f"c{k:05}" for k in range(n)] if text else np.arange(n)}, dtype="category")
    tree = TrinaryTreeRegressor(missing=missing, max_depth=1).fit(X, lean)
    unknown = ["none", "zzz", None] if text else [-1, 0.5, 1e9]
    assert_same(tree, pd.DataFrame({"category": [*X["category"], *unknown]}))


def test_weights_change_the_model_as_they_change_the_tree() -> None:
    X, y = simulated(200, 3, missing=0.2, task="classification")
    tree = fitted(X, y, np.random.default_rng(0).exponential(size=200))
    assert_same(tree, with_missing(X))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("missing", EXPORTED)
@pytest.mark.parametrize("only", [{"max_depth": 0}, {"min_samples_leaf": 1_000}])
def test_single_leaf_predicts_the_same(only: dict[str, int], missing: str, task: str) -> None:
    X, y = simulated(30, 2, task=task)
    tree = fitted(X, y, missing=missing, **only)
    assert tree.n_nodes_ == 1
    assert_same(tree, with_missing(X))


def test_single_leaf_of_text_columns_predicts_the_same() -> None:
    frame = mixed_frame(missing_rate=0.1)
    tree = TrinaryTreeRegressor(max_depth=0).fit(learnable(frame), target(frame, "regression"))
    assert_same(tree, rows_to_predict())


@pytest.mark.parametrize("n_rows", [0, 1])
@pytest.mark.parametrize("task", TASKS)
def test_batch_of_no_or_one_row_is_predicted(task: str, n_rows: int) -> None:
    frame = mixed_frame(missing_rate=0.1)
    tree = estimator(task, max_depth=2).fit(learnable(frame), target(frame, task))
    model = tree.to_onnx()
    shapes = [output.shape for output in run(model, rows_to_predict()[:n_rows])]
    assert shapes == ([(n_rows,)] if task == "regression" else [(n_rows,), (n_rows, 3)])
    if n_rows:
        assert_same(tree, rows_to_predict()[:n_rows], model)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "", "maybé"]),
        np.array(["b", "a", "c"], dtype=object),
        np.array([3, -1, 2**62]),
        np.array([3, 1, 2], dtype=np.uint8),
        np.array([0.0, 2.0, -1.0]),
        np.array([True, False, True]),
        pd.Categorical(["low", "high", "middle"]),
    ],
    ids=lambda labels: f"{labels.dtype} {labels[0]}",
)
def test_label_is_the_class_as_it_was_given(labels: Any) -> None:
    X, y = simulated(150, 2, task="classification")
    assert_same(TrinaryTreeClassifier(max_depth=2).fit(X, labels[y]), with_missing(X))


def test_single_class_is_the_label_of_every_row() -> None:
    X, _ = simulated(50, 2)
    assert_same(TrinaryTreeClassifier().fit(X, np.full(50, "only")), with_missing(X))


def test_first_of_equally_probable_classes_is_the_label() -> None:
    tree = TrinaryTreeClassifier(max_depth=0).fit(np.zeros((4, 1)), ["b", "a", "b", "a"])
    assert run(tree.to_onnx(), np.zeros((1, 1)))[0].tolist() == ["a"]


def test_labels_that_onnx_does_not_have_are_refused() -> None:
    tree = TrinaryTreeClassifier().fit(np.arange(2.0)[:, None], np.array([2**63, 1], dtype=np.uint64))
    with pytest.raises(ValueError, match="9223372036854775808 cannot be labels in ONNX; fit to text"):
        tree.to_onnx()


NAMES = [
    "X",
    "label",
    "prediction",
    "probabilities",
    "leaf",
    "leaf number",
    "values",
    "number of X",
    "X as a number",
]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("text", [True, False])
def test_column_may_be_called_like_a_part_of_the_model(text: bool, task: str) -> None:
    X, y = simulated(200, len(NAMES), task=task)
    frame = pd.DataFrame(X, columns=NAMES)
    if text:
        frame["X"] = np.where(frame["X"] < 0, "low", "high")
        frame["leaf"] = np.where(frame["leaf"] < 0, "low", "high")
    tree = estimator(task, max_depth=2).fit(frame, y)
    model = tree.to_onnx()
    assert [value.name for value in model.graph.input] == (NAMES if text else ["X"])
    assert_same(tree, frame.mask(np.random.default_rng(0).random(frame.shape) < 0.3), model)


def test_inputs_are_called_as_the_columns_are() -> None:
    frame = pd.DataFrame({"a colour": ["red", "blue"] * 30, "größe": np.arange(60.0), "": 1.0, "x2": 1.0})
    tree = TrinaryTreeRegressor(max_depth=2).fit(frame, np.arange(60.0))
    model = tree.to_onnx()
    assert [value.name for value in model.graph.input] == ["a colour", "größe", "x2_", "x2"]
    assert_same(tree, frame, model)


def test_outputs_are_called_by_what_they_are() -> None:
    X, y = simulated(50, 2, task="classification")
    outputs = [[value.name for value in fitted(X, y).to_onnx().graph.output] for y in (y, y * 1.0)]
    assert outputs == [["label", "probabilities"], ["prediction"]]


@pytest.mark.parametrize("missing", ["trinary_mia", "majority"])
def test_text_that_stands_for_missing_is_none_of_the_categories(missing: str) -> None:
    cells = np.array(["", "_", "a", None] * 25, dtype=object)
    tree = TrinaryTreeRegressor(missing=missing, max_depth=3, min_samples_leaf=1)
    model = tree.fit(pd.DataFrame({"text": cells}), np.arange(100) % 4 * 1.0).to_onnx()
    assert model.graph.input[0].doc_string == "'__' is missing"
    rows = np.array([["__" if cell is None else cell] for cell in cells], dtype=object)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (found,) = session.run(None, {"text": rows})
    np.testing.assert_array_equal(found, tree.predict(pd.DataFrame({"text": cells})))


@pytest.mark.parametrize("labels", [SIZES, GRADES])
def test_label_that_an_ordered_column_does_not_have_is_missing(labels: list[Any]) -> None:
    X = pd.DataFrame({"size": pd.Categorical(np.repeat([*labels, None], 30), labels, ordered=True)})
    tree = TrinaryTreeRegressor(missing="mia", max_depth=3).fit(X, np.repeat([1.0, 2.0, 3.0, 4.0], 30))
    rows = pd.DataFrame({"size": [*labels, "enormous" if labels is SIZES else 11.0]})
    assert run(tree.to_onnx(), rows)[0].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_detached_half_grown_tree_is_exported_as_it_predicts() -> None:
    X, y = simulated(200, 4)
    tree = fitted(X, y)
    tree.predict(with_missing(X)[:5])
    tree.detach()
    with pytest.warns(UngrownBranchWarning):
        assert_same(tree, with_missing(X, seed=2))


def test_detached_tree_without_any_third_branch_is_exported_as_it_predicts() -> None:
    X, y = simulated(200, 3, task="classification")
    tree = fitted(X, y).detach()
    with pytest.warns(UngrownBranchWarning):
        assert_same(tree, with_missing(X))


def test_copy_of_the_tree_is_grown_in_full_for_its_export() -> None:
    X, y = simulated(100, 3)
    tree = fitted(X, y)
    n_nodes, exported = tree.n_nodes_, tree.to_onnx().SerializeToString()
    assert tree.n_nodes_ == n_nodes
    assert tree.grow_all().to_onnx().SerializeToString() == exported


def test_tree_that_would_be_larger_than_allowed_is_exported_as_far_as_that() -> None:
    X, y = simulated(200, 4)
    tree = fitted(X, y)
    with pytest.warns(UngrownExportWarning, match=r"growth stopped at 50 nodes; pass a higher max_nodes"):
        assert len(tree.to_onnx(max_nodes=50).SerializeToString()) < len(tree.to_onnx().SerializeToString())
    size = tree.grow_all().n_nodes_
    with pytest.raises(GrowthLimitError, match=f"has {size:,} nodes, more than max_nodes={size - 1:,}"):
        tree.to_onnx(max_nodes=size - 1)
    tree.to_onnx(max_nodes=size)


@pytest.mark.parametrize("missing", ["majority", "mia", "surrogate", "trinary"])
def test_grown_tree_that_is_larger_than_allowed_is_refused_with_its_size(missing: str) -> None:
    X, y = simulated(200, 4)
    tree = fitted(X, y, missing=missing).detach()
    assert tree.n_nodes_ == 15
    with pytest.raises(GrowthLimitError, match="has 15 nodes, more than max_nodes=14"):
        tree.to_onnx(max_nodes=14)


def test_tree_so_deep_that_onnxruntime_would_crash_is_refused() -> None:
    X = np.arange(3_000.0)[:, None]
    tree = TrinaryTreeClassifier(missing="majority", max_depth=None, min_samples_leaf=1).fit(
        X, np.arange(3_000) % 2
    )
    assert tree.get_depth() > 1_000
    with pytest.raises(ValueError, match=r"has up to [\d,]+ comparisons .* lower max_depth"):
        tree.to_onnx()


def test_fractional_is_refused_with_what_to_do() -> None:
    X, y = simulated(50, 2)
    with pytest.raises(ValueError, match=r"follows both branches .* use another strategy, or to_dict"):
        fitted(X, y, missing="fractional").to_onnx()


def test_absent_onnx_is_an_error_that_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = simulated(50, 2)
    monkeypatch.delitem(sys.modules, "tritree.inspection.onnx", raising=False)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install tritree\[onnx\]"):
        fitted(X, y).to_onnx()


@pytest.mark.parametrize("task", TASKS)
def test_model_passes_the_full_check_and_survives_a_file(task: str, tmp_path: Any) -> None:
    frame = mixed_frame(missing_rate=0.1)
    tree = estimator(task, max_depth=2).fit(learnable(frame), target(frame, task))
    onnx.save(tree.to_onnx(), tmp_path / "model.onnx")
    model = onnx.load(tmp_path / "model.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert_same(tree, rows_to_predict(), model)


def in_single_precision(model: Any) -> Any:
    """Return the model with its bounds as plain floats: the evaluator of onnx does not read tensors of doubles."""
    single = onnx.ModelProto()
    single.CopyFrom(model)
    (ensemble,) = (node for node in single.graph.node if node.op_type == "TreeEnsembleRegressor")
    for attribute in ensemble.attribute:
        if attribute.name.endswith("_as_tensor"):
            values = onnx.numpy_helper.to_array(attribute.t).tolist()
            attribute.CopyFrom(onnx.helper.make_attribute(attribute.name.removesuffix("_as_tensor"), values))
    return single


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("missing", EXPORTED)
def test_evaluator_of_onnx_itself_predicts_the_same(missing: str, task: str) -> None:
    X, y = simulated(100, 3, task=task)
    X = np.round(X)
    tree = fitted(X, y, missing=missing)
    rows = with_missing(X)
    model = tree.to_onnx()
    outputs = ReferenceEvaluator(in_single_precision(model)).run(None, {"X": rows})
    for found, expected in zip(outputs, run(model, rows), strict=True):
        np.testing.assert_array_equal(found, expected)


ALONE = """
import sys
import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
np.save("found.npy", session.run(["prediction"], {"X": np.load("rows.npy")})[0])
assert not {"tritree", "onnx", "sklearn"} & set(sys.modules)
"""


def test_model_runs_in_a_process_without_tritree(tmp_path: Any) -> None:
    X, y = simulated(200, 4)
    tree = fitted(X, y)
    onnx.save(tree.to_onnx(), tmp_path / "model.onnx")
    np.save(tmp_path / "rows.npy", with_missing(X))
    subprocess.run([sys.executable, "-c", ALONE], cwd=tmp_path, check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "found.npy"), tree.predict(with_missing(X)))


def test_importing_tritree_does_not_import_onnx() -> None:
    code = "import sys, tritree; assert not any(name.startswith('onnx') for name in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
