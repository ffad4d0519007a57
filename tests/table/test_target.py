"""Targets and sample weights of any type are read, or refused with the row and a remedy."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor

pd = pytest.importorskip("pandas")

TEXT_FRAME = pd.DataFrame({"colour": ["red", "blue"] * 150, "size": np.linspace(0, 1, 300)})
Y = np.tile([1.0, 2.0], 150)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (np.array([1, 2] * 30, dtype=object), [1, 2]),
        (np.array([True, False] * 30, dtype=object), [False, True]),
    ],
)
def test_object_labels_are_classes(labels: Any, classes: list[Any]) -> None:
    found = TrinaryTreeClassifier().fit(np.arange(60.0)[:, None], labels).classes_
    assert found.tolist() == classes
    assert found.dtype != object


def test_bytes_as_labels_are_refused_with_a_remedy() -> None:
    with pytest.raises(ValueError, match=r"y holds bytes \(b'u' in row 0\); decode them to text"):
        TrinaryTreeClassifier().fit(np.arange(60.0)[:, None], np.array([b"u", b"v"] * 30))


@pytest.mark.parametrize("model", [TrinaryTreeRegressor(), TrinaryTreeClassifier()])
def test_times_of_day_are_refused_with_a_remedy(model: Any) -> None:
    message = r"y holds times of day \(datetime.time\(8, 30\) in row 0\); turn them into numbers \(seconds"
    with pytest.raises(ValueError, match=message):
        model.fit(np.arange(60.0)[:, None], [dt.time(8, 30)] * 60)


@pytest.mark.parametrize("labels", [["a", float("nan"), "b"] * 20, ["a", None, "b"] * 20])
def test_missing_label_in_a_list_is_refused(labels: list[Any]) -> None:
    with pytest.raises(ValueError, match="y is missing in row 1"):
        TrinaryTreeClassifier().fit(np.arange(60.0)[:, None], labels)


def test_labels_of_text_and_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="y mixes labels of type int, str"):
        TrinaryTreeClassifier().fit(np.arange(60.0)[:, None], ["a", 1] * 30)


def test_labels_of_booleans_and_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="y mixes labels of type bool, int"):
        TrinaryTreeClassifier().fit(np.arange(60.0)[:, None], np.array([True, 0] * 30, dtype=object))


def test_masked_target_and_weight_are_missing() -> None:
    X, masked = np.arange(60.0)[:, None], np.ma.masked_array([0.0, 1.0] * 30, mask=[False, True] * 30)
    with pytest.raises(ValueError, match="y is missing in row 1"):
        TrinaryTreeRegressor().fit(X, masked)
    with pytest.raises(ValueError, match="sample_weight is missing in row 1"):
        TrinaryTreeRegressor().fit(X, X[:, 0], sample_weight=masked)


def test_text_weights_are_refused() -> None:
    X = np.arange(60.0)[:, None]
    with pytest.raises(ValueError, match="sample_weight must hold one number per row"):
        TrinaryTreeRegressor().fit(X, X[:, 0], sample_weight=["1"] * 60)


@pytest.mark.parametrize(("dtype", "kind"), [("Int64", "i"), ("boolean", "b"), ("UInt8", "u")])
@pytest.mark.parametrize("wrap", [pd.array, pd.Series])
def test_nullable_classes_keep_their_type(dtype: str, kind: str, wrap: Any) -> None:
    model = TrinaryTreeClassifier().fit(TEXT_FRAME, wrap([1, 0] * 150, dtype=dtype))
    assert model.classes_.dtype.kind == kind
    assert model.predict(TEXT_FRAME).dtype.kind == kind


def test_missing_value_in_a_nullable_target_is_refused_with_its_row() -> None:
    with pytest.raises(ValueError, match=r"y is missing in row 1\b"):
        TrinaryTreeRegressor().fit(TEXT_FRAME, pd.array([1, None, 3] * 100, dtype="Int64"))


def test_labels_of_several_types_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"(?s)y mixes labels of type int, str.*one type"):
        TrinaryTreeClassifier().fit(TEXT_FRAME, np.array(["a", 1] * 150, dtype=object))


def test_scalar_weight_changes_nothing() -> None:
    plain = TrinaryTreeRegressor().fit(TEXT_FRAME, Y)
    weighted = TrinaryTreeRegressor().fit(TEXT_FRAME, Y, sample_weight=2)
    np.testing.assert_array_equal(weighted.predict(TEXT_FRAME), plain.predict(TEXT_FRAME))
