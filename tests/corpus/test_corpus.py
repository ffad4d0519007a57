"""Predictions are those of the corpus, to the bit.

The corpus holds predictions that must not change unless on purpose; record.py writes it anew.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from corpus.cases import CASES
from corpus.measure import CORPUS, digest, measure, onnxruntime_version, probe

RECORDED: dict[str, Any] = json.loads(CORPUS.read_text(encoding="utf-8"))
SAME_MACHINE = RECORDED["probe"] == probe()
SAME_RUNTIME = RECORDED["onnxruntime"] == onnxruntime_version()


def is_same(name: str, expected: str, found: str) -> bool:
    """Return whether digests are equal; where exponentials or onnxruntime differ, whether values are close."""
    if SAME_MACHINE and (SAME_RUNTIME or not name.startswith("onnx")):
        return expected == found
    a, b = ([float.fromhex(value) for value in text.split()[1:]] for text in (expected, found))
    return len(a) == len(b) and np.allclose(a, b, rtol=1e-12, atol=0)


def as_told(text: str) -> str:
    sha, *values = text.split()
    return f"{sha} {[float.fromhex(value) for value in values]}"


def test_every_recorded_case_is_there() -> None:
    assert list(RECORDED["cases"]) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_case_predicts_what_was_recorded(name: str) -> None:
    recorded = RECORDED["cases"][name]
    found = {quantity: digest(values) for quantity, values in measure(CASES[name]).items()}
    without_onnx = onnxruntime_version() is None
    expected = {
        quantity: recorded[text[2:]] if text.startswith("= ") else text
        for quantity, text in recorded.items()
        if not (without_onnx and quantity.startswith("onnx"))
    }
    assert found.keys() == expected.keys()
    wrong = [
        f"{name}: {quantity}\n  expected {as_told(text)}\n  found    {as_told(found[quantity])}"
        for quantity, text in expected.items()
        if not is_same(quantity, text, found[quantity])
    ]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def test_exported_models_are_part_of_the_cases() -> None:
    if onnxruntime_version() is None:
        pytest.skip("exported models are not checked: onnx or onnxruntime is not installed")
    exported = [name for name, recorded in RECORDED["cases"].items() if "onnx incomplete" in recorded]
    assert exported == [name for name in CASES if "-fractional-" not in name]
