"""Predictions, warnings and errors of the fast path for small tables are those of reading every column."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tritree.estimators.base
import tritree.table
from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

NAMES = ["a", "b", "c"]
X = np.random.default_rng(0).integers(0, 30, size=(400, 3)) / 2
Y = X[:, 0] - 2 * X[:, 1] + X[:, 0] * X[:, 2] / 5
FRAME = pd.DataFrame(X, columns=NAMES)


def fit_tree(table: Any = FRAME, **parameters: Any) -> Any:
    return TrinaryTreeRegressor(min_samples_leaf=5, **parameters).fit(table, Y)


def outcome(model: Any, rows: Any) -> tuple[Any, ...]:
    """Return what a caller sees: the predictions or the error, and the warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            found: Any = model.predict(rows).tolist()
        except (TypeError, ValueError) as error:
            found = (type(error), str(error))
    return found, [(w.category, str(w.message)) for w in seen]


def outcome_of_columns(model: Any, rows: Any) -> tuple[Any, ...]:
    """Return what a caller sees without the fast path."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tritree.estimators.base, "read_matrix", lambda *_: None)
        patch.setattr(tritree.table, "_is_matrix", lambda _: False)
        return outcome(model, rows)


def column_of(values: list[Any], dtype: Any) -> Any:
    return FRAME.head(len(values)).assign(b=pd.Series(values, dtype=dtype))


FLOATS = pd.CategoricalDtype([3.5, 0.5, 9.0])
ORDERED = pd.CategoricalDtype([3.5, 0.5, 9.0], ordered=True)
FRAMES: dict[str, Any] = {
    "floats": FRAME.head(1),
    "a few rows": FRAME.head(7),
    "missing": FRAME.head(7).mask(FRAME.head(7) > 5),
    "a missing column": FRAME.head(3).assign(b=np.nan),
    "missing only": FRAME.head(3) * np.nan,
    "an infinite value": FRAME.head(3).assign(b=[1.0, np.inf, 2.0]),
    "minus infinity": FRAME.head(3).assign(c=[1.0, 0.0, -np.inf]),
    "single precision": FRAME.head(7).astype("float32"),
    "half precision": FRAME.head(7).astype("float16"),
    "single and double precision": FRAME.head(7).astype({"b": "float32"}),
    "single precision that needs double beside": FRAME.head(1).assign(a=np.float32(0.1), b=0.1),
    "half precision beside single": FRAME.head(7).astype({"a": "float16", "b": "float32", "c": "float32"}),
    "integers": FRAME.head(7).astype("int64"),
    "integers beside floats": FRAME.head(7).astype({"b": "int64"}),
    "small integers beside single precision": FRAME.head(7).astype("float32").astype({"b": "int8"}),
    "integers beside single precision": FRAME.head(7).astype("float32").astype({"b": "int64"}),
    "integers that no float holds": FRAME.head(1).assign(b=2**53 + 1),
    "unsigned and signed": FRAME.head(7).astype({"a": "uint64", "b": "int64", "c": "int64"}),
    "nullable floats": FRAME.head(7).astype("Float64"),
    "nullable floats with NA": column_of([1.5, None, 2.0], "Float64"),
    "nullable floats with NA everywhere": FRAME.head(3).mask(FRAME.head(3) > 5).astype("Float64"),
    "nullable single precision with NA": column_of([1.5, None, 2.0], "Float32"),
    "nullable integers with NA": column_of([1, None, 2], "Int64"),
    "nullable booleans with NA": column_of([True, None, False], "boolean"),
    "floats of Arrow": column_of([1.5, None, 2.0], "float64[pyarrow]"),
    "sparse": column_of([0.0, 1.5, np.nan], pd.SparseDtype("float64", 0.0)),
    "booleans": column_of([True, False, True], bool),
    "booleans only": FRAME.head(5) > 3,
    "float categories": column_of([3.5, 9.0, None], FLOATS),
    "ordered float categories": column_of([3.5, 9.0, None], ORDERED),
    "integer categories": column_of([3, 1, None, 3], "category"),
    "text categories": column_of(["x", None, "y"], "category"),
    "float objects": column_of([1.5, None, 2.0], object),
    "numbers and booleans as objects": column_of([1.5, True, 2.0], object),
    "text": column_of(["1.5", "2", "3"], "str"),
    "text among objects": column_of([1.5, "2", 3.0], object),
    "complex": column_of([1.5, 2.0], complex),
    "dates": column_of(["2020-01-01", None], "datetime64[ns]"),
    "durations": FRAME.head(2).assign(b=pd.to_timedelta([1, 2], unit="s")),
    "lists": column_of([[1.0], [2.0]], object),
    "other order": FRAME.head(7)[["c", "a", "b"]],
    "a column less": FRAME.head(7)[["a", "c"]],
    "a column more": FRAME.head(7).assign(d=1.0),
    "a column more in front": pd.concat(
        [FRAME.head(7)[["b"]].set_axis(["d"], axis=1), FRAME.head(7)], axis=1
    ),
    "a column replaced": FRAME.head(7).rename(columns={"b": "d"}),
    "a column twice": FRAME.head(7)[["a", "b", "b"]],
    "a column twice beside all": FRAME.head(7)[["a", "b", "c", "c"]],
    "other names": FRAME.head(7).set_axis(["x", "y", "z"], axis=1),
    "numbers for names": FRAME.head(7).set_axis([0, 1, 2], axis=1),
    "names of several types": FRAME.head(7).set_axis(["a", "b", 2], axis=1),
    "names of several levels": pd.concat({"top": FRAME.head(7)}, axis=1),
    "names of categories": FRAME.head(7).set_axis(pd.CategoricalIndex(NAMES), axis=1),
    "no rows": FRAME.head(0),
    "no columns": FRAME.head(3)[[]],
    "rows with names of their own": FRAME.head(7).set_index(pd.Index(list("gfedcba"))),
    "rows backwards": FRAME.head(7)[::-1],
    "every other row": FRAME.head(14)[::2],
}


@pytest.mark.parametrize("kind", FRAMES)
def test_small_frame_is_predicted_as_by_columns(kind: str) -> None:
    model = fit_tree()
    assert outcome(model, FRAMES[kind]) == outcome_of_columns(model, FRAMES[kind])


@pytest.mark.parametrize("kind", ["floats", "missing", "single precision", "integers beside floats"])
def test_small_frame_of_floats_takes_the_fast_path(kind: str) -> None:
    assert tritree.table.read_matrix(FRAMES[kind], tuple(NAMES), 3) is not None


@pytest.mark.parametrize("kind", FRAMES)
def test_small_frame_is_predicted_as_by_columns_if_training_had_no_names(kind: str) -> None:
    model = fit_tree(X)
    assert outcome(model, FRAMES[kind]) == outcome_of_columns(model, FRAMES[kind])


@pytest.mark.parametrize("kind", FRAMES)
def test_small_frame_is_predicted_as_by_columns_if_training_had_numeric_booleans(kind: str) -> None:
    model = fit_tree(FRAME.assign(b=FRAME["b"] > 7), categorical_features=None)
    assert outcome(model, FRAMES[kind]) == outcome_of_columns(model, FRAMES[kind])


@pytest.mark.parametrize("kind", [kind for kind in FRAMES if 0 < FRAMES[kind].size])
def test_small_frame_is_predicted_as_the_first_rows_of_a_large_one(kind: str) -> None:
    model, rows = fit_tree(), FRAMES[kind]
    large = rows.iloc[np.arange(5_000) % len(rows)]
    few, many = outcome(model, rows), outcome(model, large)
    assert few == ((many[0][: len(rows)] if isinstance(many[0], list) else many[0]), many[1])


@pytest.mark.parametrize(
    "training",
    [
        FRAME.assign(b=(FRAME["b"] > 7)),
        FRAME.assign(b=FRAME["b"].astype("category")),
        FRAME.assign(b=FRAME["b"].astype(pd.CategoricalDtype(sorted(set(FRAME["b"])), ordered=True))),
        FRAME.assign(b=FRAME["b"].astype(str)),
        FRAME.assign(b=np.nan),
    ],
    ids=["booleans", "categories", "ordered categories", "text", "nothing"],
)
@pytest.mark.parametrize(
    "rows", [FRAME.head(3), FRAME.head(3) * np.nan, X[:3]], ids=["floats", "missing", "array"]
)
def test_floats_where_training_had_another_type_are_read_by_columns(training: Any, rows: Any) -> None:
    model = fit_tree(training)
    assert outcome(model, rows) == outcome_of_columns(model, rows)


def test_single_row_is_the_same_in_every_library() -> None:
    model, by_position = fit_tree(), fit_tree(X)
    for i in range(20):
        row = np.where(np.arange(3) == i % 4, np.nan, X[i])
        expected = outcome_of_columns(by_position, [row.tolist()])
        assert outcome(by_position, row[None]) == expected
        assert outcome(model, pd.DataFrame(row[None], columns=NAMES)) == expected
        assert outcome(model, pl.DataFrame(row[None], schema=NAMES, orient="row")) == expected


def test_classes_of_a_single_row_are_those_of_the_row_among_others() -> None:
    labels = np.where(Y > np.median(Y), "high", "low")
    model = TrinaryTreeClassifier().fit(FRAME, labels)
    alone = [model.predict_proba(FRAME.iloc[[i]])[0] for i in range(40)]
    large = FRAME.iloc[np.arange(5_000) % 40]
    np.testing.assert_array_equal(alone, model.predict_proba(large)[:40])


def test_subclass_of_a_frame_is_a_frame() -> None:
    class Derived(pd.DataFrame):  # type: ignore[misc]
        pass

    model = fit_tree()
    assert outcome(model, Derived(FRAME.head(5))) == outcome_of_columns(model, FRAME.head(5))


# ------------------------------------------------------------------------------------------------------ arrays


def read_only(array: Any) -> Any:
    array = array.copy()
    array.flags.writeable = False
    return array


def unaligned(array: Any) -> Any:
    memory = np.zeros(array.nbytes + 1, dtype=np.uint8)
    moved = memory[1:].view(array.dtype).reshape(array.shape)
    moved[:] = array
    assert not moved.flags.aligned
    return moved


def within_records(array: Any) -> Any:
    """Return the rows as floats that lie between single bytes."""
    records = np.zeros(len(array), dtype=[("mark", "u1"), ("cells", array.dtype, (array.shape[1],))])
    records["cells"] = array
    return records["cells"]


class Subclass(np.ndarray):
    pass


ROWS = np.where(np.random.default_rng(1).random((25, 3)) < 0.2, np.nan, X[:25])
ARRAYS: dict[str, Any] = {
    "floats": ROWS,
    "single precision": ROWS.astype("f4"),
    "half precision": ROWS.astype("f2"),
    "extended precision": ROWS.astype(np.longdouble),
    "big-endian": ROWS.astype(">f8"),
    "big-endian single precision": ROWS.astype(">f4"),
    "integers": X[:25].astype("i8"),
    "booleans": X[:25] > 5,
    "columns side by side": np.asfortranarray(ROWS),
    "backwards": ROWS[::-1, ::-1],
    "without writing": read_only(ROWS),
    "without writing, columns side by side": read_only(np.asfortranarray(ROWS)),
    "unaligned": unaligned(ROWS),
    "unaligned in single precision": unaligned(ROWS.astype("f4")),
    "within records": within_records(ROWS),
    "masked": np.ma.masked_array(X[:25], X[:25] > 10),
    "masked nowhere": np.ma.masked_array(X[:25]),
    "matrix": np.matrix(ROWS),
    "subclass": ROWS.view(Subclass),
    "objects": ROWS.astype(object),
    "lists": ROWS.tolist(),
    "a row too few dimensions": ROWS[0],
    "too many dimensions": ROWS[None],
    "a number": np.float64(3),
    "no rows": ROWS[:0],
    "no columns": ROWS[:, :0],
    "too few columns": ROWS[:, :2],
    "too many columns": np.hstack([ROWS, ROWS]),
    "infinite": np.where(np.arange(75).reshape(25, 3) == 37, -np.inf, ROWS),
    "infinite in single precision": np.where(np.arange(75).reshape(25, 3) == 38, np.inf, ROWS).astype("f4"),
    "infinite in too many columns": np.full((2, 4), np.inf),
}


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("kind", ARRAYS)
def test_array_is_predicted_as_by_columns(kind: str, named: bool) -> None:
    model = fit_tree(FRAME if named else X)
    assert outcome(model, ARRAYS[kind]) == outcome_of_columns(model, ARRAYS[kind])


@pytest.mark.parametrize("kind", ARRAYS)
def test_tree_fitted_to_an_array_is_as_by_columns(kind: str) -> None:
    table = ARRAYS[kind]

    def grown() -> tuple[Any, ...]:
        model = TrinaryTreeRegressor(min_samples_leaf=2)
        try:
            return outcome(model.fit(table, Y[:25]), X)
        except (TypeError, ValueError) as error:
            return type(error), str(error)

    quick = grown()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tritree.table, "_is_matrix", lambda _: False)
        assert quick == grown()


def test_wrong_number_of_columns_has_scikit_learns_message() -> None:
    message = "X has 2 features, but TrinaryTreeRegressor is expecting 3 features as input."
    with pytest.raises(ValueError, match=message):
        fit_tree(X).predict(X[:1, :2])


def test_array_for_a_tree_of_a_frame_warns_about_names_every_time() -> None:
    model = fit_tree()
    for rows in (X[:1], X):
        with pytest.warns(UserWarning, match="X does not have valid feature names") as seen:
            model.predict(rows)
        assert len(seen) == 1
