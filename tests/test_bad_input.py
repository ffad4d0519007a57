"""Bad input is refused before anything is grown, with the column and the remedy in the message."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest
from models import Floats, estimator, same_bits, simulated
from sklearn.exceptions import NotFittedError

from tritree import TrinaryBoostingClassifier, TrinaryForestClassifier, TrinaryTreeClassifier

X, Y = simulated(100, 3)


def with_cell(value: float) -> Floats:
    """Return the good table with one cell of column 1 replaced."""
    table = X.copy()
    table[7, 1] = value
    return table


def with_target(value: float) -> Floats:
    target = Y.copy()
    target[7] = value
    return target


def weights_with(value: float) -> Floats:
    weights = np.ones(len(Y))
    weights[7] = value
    return weights


BAD_FITS: dict[str, tuple[dict[str, Any], str]] = {
    "missing target": ({"y": with_target(np.nan)}, r"(?is)\by\b.*(drop|remove)"),
    "infinite target": ({"y": with_target(np.inf)}, r"(?is)\by\b.*(drop|remove|replace)"),
    "infinite value": ({"X": with_cell(np.inf)}, r"(?is)column 1\b.*(replace|missing|nan)"),
    "minus infinity": ({"X": with_cell(-np.inf)}, r"(?is)column 1\b.*(replace|missing|nan)"),
    "dates as target": (
        {"y": np.arange(len(Y)).astype("M8[D]")},
        r"(?is)\by holds dates \(1970-01-01 in row 0\).*number",
    ),
    "durations as target": (
        {"y": np.arange(len(Y)).astype("m8[s]")},
        r"(?is)\by holds durations \(0 seconds in row 0\).*number",
    ),
    "records as target": (
        {"y": np.zeros(len(Y), dtype=[("a", float)])},
        r"(?is)\by holds records \(\(0\.0,\) in row 0\).*field",
    ),
    "dates among objects as target": (
        {"y": [*Y[:-1], dt.date(2020, 1, 1)]},
        r"(?is)\by holds dates .*2020, 1, 1.* in row 99\).*number",
    ),
    "text that looks like numbers as target": (
        {"y": Y.astype(str)},
        r"(?is)\by\b.*text .*in row 0.*astype",
    ),
    "a text among numbers as target": (
        {"y": np.array([*Y[:-1], "1.5"], dtype=object)},
        r"(?is)\by\b.*'1\.5' in row 99.*astype",
    ),
    "bytes as target": ({"y": Y.astype("S")}, r"(?is)\by\b.*text .*in row 0.*astype"),
    "too large a target": ({"y": [*Y[:-1], 10**400]}, r"(?is)\by\b.*1\.8e308 in row 99.*(drop|replace)"),
    "too large a value": (
        {"X": np.array([*X.tolist()[:-1], [0, 10**400, 0]], dtype=object)},
        r"(?is)column 1\b.*1\.8e308 in row 99.*(replace|missing)",
    ),
    "too few targets": ({"y": Y[:-1]}, r"(?is)100.*99|99.*100"),
    "one dimension": ({"X": X[:, 0]}, r"(?is)2d|reshape|two dimensions"),
    "three dimensions": ({"X": X[None]}, r"(?is)dim"),
    "no rows": ({"X": X[:0], "y": Y[:0]}, r"(?is)0 sample|no rows"),
    "no columns": ({"X": X[:, :0]}, r"(?is)0 feature|no columns"),
    "two targets": ({"y": np.column_stack([Y, Y])}, r"(?is)\by\b.*1d"),
    "negative weight": ({"sample_weight": weights_with(-1.0)}, r"(?is)weight.*negative"),
    "missing weight": ({"sample_weight": weights_with(np.nan)}, r"(?is)weight.*(finite|nan)"),
    "infinite weight": ({"sample_weight": weights_with(np.inf)}, r"(?is)weight.*(finite|inf)"),
    "only zero weights": ({"sample_weight": np.zeros(len(Y))}, r"(?is)weight.*zero"),
    "too few weights": ({"sample_weight": np.ones(len(Y) - 1)}, r"(?is)weight.*row"),
}


def refuse(model: Any, match: str, **bad: Any) -> None:
    arguments = {"X": X, "y": Y} | bad
    with pytest.raises((ValueError, TypeError), match=match):
        model.fit(**arguments)


@pytest.mark.parametrize("bad", BAD_FITS)
def test_bad_training_data_are_refused(bad: str) -> None:
    arguments, message = BAD_FITS[bad]
    model = estimator("regression")
    refuse(model, message, **arguments)
    assert not hasattr(model, "n_features_in_")  # nothing was grown


@pytest.mark.parametrize("bad", BAD_FITS)
def test_earlier_fit_survives_a_refused_one(bad: str) -> None:
    arguments, message = BAD_FITS[bad]
    model = estimator("regression").fit(X, Y)
    before = model.predict(X)
    refuse(model, message, **arguments)
    assert same_bits(model.predict(X), before)


@pytest.mark.parametrize("bad", BAD_FITS)
def test_good_fit_after_a_refused_one_is_like_any_other(bad: str) -> None:
    arguments, message = BAD_FITS[bad]
    model = estimator("regression")
    refuse(model, message, **arguments)
    assert same_bits(model.fit(X, Y).predict(X), estimator("regression").fit(X, Y).predict(X))


BAD_PARAMETERS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown strategy": ({"missing": "median"}, r"(?is)missing.*trinary.*median|median.*trinary"),
    "unknown criterion": ({"criterion": "poisson"}, r"(?is)criterion.*squared_error"),
    "negative depth": ({"max_depth": -1}, r"(?is)max_depth"),
    "no rows in a leaf": ({"min_samples_leaf": 0}, r"(?is)min_samples_leaf"),
    "one bin": ({"max_bins": 1}, r"(?is)max_bins"),
    "too many bins": ({"max_bins": 65_535}, r"(?is)max_bins.*65,?534"),
    "column that is not there": ({"categorical_features": [3]}, r"(?is)categorical_features.*3"),
    "no threads": ({"n_jobs": 0}, r"(?is)n_jobs"),
}


@pytest.mark.parametrize("bad", BAD_PARAMETERS)
def test_bad_parameters_are_refused(bad: str) -> None:
    parameters, message = BAD_PARAMETERS[bad]
    refuse(estimator("regression", **parameters), message)


def test_missing_class_is_refused() -> None:
    with pytest.raises(ValueError, match=r"(?is)\by\b.*(drop|remove)"):
        estimator("classification").fit(X, with_target(np.nan))


CLASSIFIERS = [TrinaryTreeClassifier, TrinaryForestClassifier, TrinaryBoostingClassifier]


@pytest.mark.parametrize("classifier", CLASSIFIERS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", object])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.filterwarnings("error")
def test_infinite_class_is_refused_by_row(classifier: Any, dtype: Any, value: float) -> None:
    labels = (Y > 0).astype(dtype)
    labels[7] = value
    with pytest.raises(ValueError, match=rf"^y holds {value} in row 7; drop such rows or replace"):
        classifier().fit(X, labels)


@pytest.mark.parametrize("classifier", CLASSIFIERS)
@pytest.mark.parametrize(
    ("value", "shown"),
    [(1e300, r"1e\+300"), (-1e20, r"-1e\+20"), (10**5000, "a number beyond 1.8e308")],
    ids=["large", "negative", "beyond floats"],
)
@pytest.mark.filterwarnings("error")
def test_too_large_a_class_is_refused_by_row(classifier: Any, value: float, shown: str) -> None:
    labels = [*(Y > 0).astype(float).tolist()[:-1], value]
    regressor = classifier.__name__.replace("Classifier", "Regressor")
    with pytest.raises(ValueError, match=rf"^y holds {shown} in row 99, .*text, or use {regressor} for"):
        classifier().fit(X, labels)


@pytest.mark.parametrize("labels", [[-(2.0**63), 2.0**62], [0, 2**64 - 1], [-(2**63), 0]])
@pytest.mark.filterwarnings("error")
def test_large_numbers_may_be_classes_while_64_bits_hold_them(labels: list[float]) -> None:
    values = np.array(labels, dtype="u8" if labels[1] == 2**64 - 1 else None)
    assert TrinaryTreeClassifier().fit(X, np.tile(values, 50)).classes_.tolist() == labels


@pytest.mark.parametrize("unit", ["M8[D]", "m8[s]"])
def test_dates_and_durations_are_no_classes(unit: str) -> None:
    with pytest.raises(ValueError, match=r"(?is)\by holds (dates|durations).*turn them into"):
        estimator("classification").fit(X, np.arange(len(X)).astype(unit))


def test_numbers_that_are_no_classes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"(?is)label|classes|regress"):
        estimator("classification").fit(X, Y)


# ------------------------------------------------------------------------------------------------- categories


def test_too_many_categories_are_refused() -> None:
    names = np.arange(70_000, dtype=float)
    table = np.column_stack([np.zeros_like(names), names])
    model = estimator("regression", categorical_features=[1])
    refuse(model, r"(?is)column 1\b.*categor.*65,?534.*(join|group|drop)", X=table, y=names)


def test_as_many_categories_as_there_are_codes_are_learned() -> None:
    names = np.arange(65_534, dtype=float)
    model = estimator("regression", categorical_features=[0], max_depth=1).fit(names[:, None], names)
    assert model.predict([[0.0]]) < model.predict([[65_533.0]])


# ----------------------------------------------------------------------------------------------------- frames


def frame(**columns: Any) -> Any:
    """Return a pandas frame of the good table with columns added."""
    pd = pytest.importorskip("pandas")
    return pd.DataFrame({"age": X[:, 0], "height": X[:, 1]} | columns)


def test_column_of_periods_is_refused_by_name() -> None:
    pd = pytest.importorskip("pandas")
    months = pd.period_range("2020-01", periods=len(Y), freq="M")
    refuse(estimator("regression"), r"(?is)'joined'.*period.*to_timestamp", X=frame(joined=months))


def test_column_of_mixed_objects_is_refused_by_name() -> None:
    mixed = np.array([1, "two"] * (len(Y) // 2), dtype=object)
    refuse(estimator("regression"), r"(?is)'mixed'.*(number|text)", X=frame(mixed=mixed))


def test_column_of_lists_is_refused_by_name() -> None:
    lists = [[i] for i in range(len(Y))]
    refuse(estimator("regression"), r"(?is)'tags'.*(number|drop)", X=frame(tags=lists))


def test_infinite_value_in_a_frame_is_refused_by_name() -> None:
    column = X[:, 2].copy()
    column[7] = np.inf
    refuse(estimator("regression"), r"(?is)'weight'.*(replace|missing|nan)", X=frame(weight=column))


def test_earlier_fit_survives_a_refused_frame() -> None:
    mixed = np.array([1, "two"] * (len(Y) // 2), dtype=object)
    model = estimator("regression").fit(frame(), Y)
    before = model.predict(frame())
    refuse(model, r"'mixed'", X=frame(mixed=mixed))
    assert same_bits(model.predict(frame()), before)


# ------------------------------------------------------------------------------------------------- prediction


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_unfitted_estimator_does_not_predict(task: str) -> None:
    with pytest.raises(NotFittedError):
        estimator(task).predict(X)


def test_table_to_predict_with_another_number_of_columns_is_refused() -> None:
    model = estimator("regression").fit(X, Y)
    with pytest.raises(ValueError, match=r"(?is)2 features.*3 features"):
        model.predict(X[:, :2])


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("missing", ["trinary", "fractional"])
def test_infinite_value_to_predict_is_refused_and_the_model_stays_usable(missing: str, value: float) -> None:
    model = estimator("regression", missing=missing).fit(X, Y)
    before = model.predict(X)
    with pytest.raises(ValueError, match=r"(?is)column 1\b.*row 7\b.*(replace|missing|nan)"):
        model.predict(with_cell(value))
    assert same_bits(model.predict(X), before)


BAD_COLUMNS: dict[str, tuple[Any, str]] = {
    "dates": (np.arange(len(X)).astype("M8[ns]"), r"(?is)'height' holds dates.*(number|drop)"),
    "date objects": ([dt.date(2020, 1, 1)] * len(X), r"(?is)'height' holds dates.*(number|drop)"),
    "durations": (np.arange(len(X)).astype("m8[ns]"), r"(?is)'height' holds durations.*(number|drop)"),
    "mixed objects": (
        np.array([1, "two"] * (len(X) // 2), dtype=object),
        r"(?is)'height' mixes.*1 in row 0.*'two' in row 1.*(number|text)",
    ),
}


@pytest.mark.parametrize("bad", BAD_COLUMNS)
def test_bad_column_to_predict_is_refused_by_name_and_the_model_stays_usable(bad: str) -> None:
    values, message = BAD_COLUMNS[bad]
    model = estimator("regression").fit(frame(), Y)
    before = model.predict(frame())
    with pytest.raises((ValueError, TypeError), match=message):
        model.predict(frame(height=values))
    assert same_bits(model.predict(frame()), before)


@pytest.mark.parametrize("cell", [dt.date(2020, 1, 1), "text", 10**400], ids=["date", "text", "large"])
def test_bad_cell_of_an_array_to_predict_is_refused_by_position(cell: Any) -> None:
    model = estimator("regression").fit(X, Y)
    rows = X.astype(object)
    rows[7, 1] = cell
    with pytest.raises((ValueError, TypeError), match=r"(?is)column 1\b.*in row 7\b"):
        model.predict(rows)
