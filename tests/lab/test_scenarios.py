"""Scenarios remove values where and how they say."""

from __future__ import annotations

from typing import Any

import pytest
from lab.small_experiment import made, small

from tritree.lab.scenarios import Amputation, in_test, shifted


def test_training_rows_stay_complete_if_values_are_missing_in_test_only() -> None:
    data = made()
    for_training, for_test = in_test("mcar").tables(data, 0.5, 0)
    assert not for_training.isna().any().any()
    assert for_test.isna().mean().to_numpy() == pytest.approx(0.5)
    before, after = shifted("mcar", "mnar").tables(data, 0.5, 0)
    assert not before.isna().equals(after.isna())


def test_values_are_removed_from_the_named_columns_only() -> None:
    data = made()
    _, for_test = in_test("mcar", columns=["b"]).tables(data, 0.5, 0)
    assert for_test.isna().mean().tolist() == pytest.approx([0, 0.5, 0])
    before, after = shifted("mcar", Amputation("mnar", columns="a")).tables(data, 0.5, 0)
    assert before.isna().mean().tolist() == pytest.approx([0.5, 0.5, 0.5])
    assert after.isna().mean().tolist() == pytest.approx([0.5, 0, 0])


def test_direction_applies_to_shifted_scenarios() -> None:
    data = made()
    _, after = shifted("mcar", "im", direction="smallest").tables(data, 0.5, 0)
    assert after["a"].min() > data.X["a"].median()


def test_strength_is_passed_to_the_mechanism() -> None:
    data, a = made(), made().X["a"]

    def mean_of_removed_values(strength: float) -> float:
        _, after = in_test("mnar", strength=strength).tables(data, 0.3, 0)
        return float(a[after["a"].isna()].mean())

    assert mean_of_removed_values(100) > mean_of_removed_values(1) + 0.1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"mechanism": "mcarr"}, "mechanism must be one of"),
        ({"direction": "up"}, "direction must be one of"),
        ({"mechanism": "mnar", "strength": -1}, "strength must be"),
        ({"columns": []}, "columns is empty"),
    ],
    ids=["mechanism", "direction", "strength", "columns"],
)
def test_invalid_amputation_is_refused_at_once(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        in_test(**parameters)


def test_scenarios_are_described_in_full() -> None:
    scenarios = [in_test(columns=["a"]), shifted("mar", "mnar", direction="smallest", strength=1)]
    assert small(scenarios=scenarios).about()["scenarios"] == {
        "mcar_test": {"training": "complete", "test": {"mechanism": "mcar", "columns": ["a"]}},
        "mar → mnar": {
            "training": {"mechanism": "mar", "columns": "all", "strength": 1.0},
            "test": {"mechanism": "mnar", "columns": "all", "direction": "smallest", "strength": 1.0},
        },
    }
