"""Parameters of an experiment have short forms, and invalid ones are refused with a remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lab.small_experiment import made, small
from sklearn.dummy import DummyRegressor

from tritree.lab.scenarios import in_both, in_test
from tritree.lab.trial import Folds


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rates": [1.5]}, "between 0 and 1"),
        ({"seeds": 0}, "seeds"),
        ({"max_depth": -1}, "depth"),
        ({"methods": {"x": "y"}}, "a method is one of"),
        ({"datasets": [made(), made(n=150)]}, "two data sets are called 'made'.*rename"),
        (
            {"scenarios": [in_both("im"), in_both("im", direction="smallest")]},
            "two scenarios are called 'im'.*name=",
        ),
        ({"seeds": [3, 3, 3]}, "three seeds are 3.*leave out"),
        (
            {"scenarios": [in_test(columns=["a", "bb"])]},
            "data set 'made': columns has 'bb'.*did you mean 'b'",
        ),
    ],
    ids=["rates", "seeds", "depth", "methods", "data sets", "scenarios", "seeds again", "columns"],
)
def test_inconsistent_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**parameters).run(1)


@pytest.mark.parametrize(
    ("parameters", "meant"),
    [
        ({"scenarios": ["im", "mcar_test"]}, {"scenarios": [in_both("im"), in_test("mcar")]}),
        ({"scenarios": "mnar"}, {"scenarios": [in_both("mnar")]}),
        ({"scenarios": in_test()}, {"scenarios": [in_test()]}),
        ({"folds": 5}, {"folds": Folds(5)}),
        ({"folds": np.int64(5)}, {"folds": Folds(5)}),
        ({"rates": 0.2}, {"rates": [0.0, 0.2]}),
        ({"rates": np.float32(0.5)}, {"rates": [0.0, 0.5]}),
        ({"rates": 0.1 + 0.2}, {"rates": [0.0, 0.3]}),
        ({"rates": []}, {"rates": [0.0]}),
        (
            {"methods": ["trinary", "complete_case"]},
            {"methods": {"trinary": "trinary", "complete_case": "complete_case"}},
        ),
        ({"methods": "mia"}, {"methods": {"mia": "mia"}}),
        ({"seeds": np.int64(2)}, {"seeds": [0, 1]}),
        ({"seeds": [7]}, {"seeds": [7]}),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_parameters_have_short_forms(parameters: dict[str, Any], meant: dict[str, Any]) -> None:
    experiment = small(**parameters)
    assert {name: getattr(experiment, name) for name in meant} == meant


def test_single_data_set_needs_no_list() -> None:
    dataset = made()
    assert small(datasets=dataset).datasets == [dataset]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scenarios": ["mcr"]}, "scenarios must hold results of in_both, .* 'mcar', 'im', .*got 'mcr'"),
        ({"scenarios": [0.3]}, "scenarios must hold .*got 0.3"),
        ({"scenarios": []}, "scenarios is empty"),
        ({"datasets": []}, "datasets is empty"),
        (
            {"datasets": [made().X]},
            r"got a DataFrame; make one with Dataset.from_table\(name, table, target\)",
        ),
        ({"datasets": made().X}, "got a DataFrame"),
        ({"datasets": "seeds"}, "got a str"),
        ({"methods": {}}, "methods is empty"),
        ({"methods": ["trinary", "my"]}, "method 'my' is 'my'; a method is one of"),
        (
            {"methods": [DummyRegressor()]},
            r"estimators in methods need names, .*\{'mine': DummyRegressor\(\)\}",
        ),
        ({"methods": 3}, "estimators in methods need names"),
        ({"rates": 30}, "got 30; 30 percent is 0.3"),
        ({"rates": "0.3"}, "rates must be between 0 and 1, got '0.3'"),
        ({"rates": [float("nan")]}, "rates must be between"),
        ({"seeds": []}, "seeds is empty"),
        ({"seeds": "3"}, "a seed must be an integer of at least 0, got '3'"),
        ({"folds": 1}, "folds must be an integer of at least 2, got 1"),
        ({"folds": "5"}, "folds must be an integer"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_invalid_argument_is_named_with_a_remedy(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        small(**parameters)
