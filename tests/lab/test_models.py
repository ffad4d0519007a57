"""Forests and boosting are methods of an experiment like trees: named, with options, stored and drawn."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tritree
from tritree.lab import trial
from tritree.lab.dataset import Dataset
from tritree.lab.experiment import Experiment
from tritree.lab.methods import (
    DEFAULT_DEPTH,
    MODELS,
    CompleteCaseEstimator,
    Methods,
    method_spec,
    strategies_of,
    with_masked_copies,
)
from tritree.lab.ranks.names import (
    DISPLAY_NAMES,
    METHODS,
    method_order,
    parse_method,
    scenario_name,
    scenario_title,
)
from tritree.lab.scenarios import in_test
from tritree.lab.trial import Folds
from tritree.metrics import mean_loss

ALL = [f"{kind}:{strategy}" for kind in MODELS for strategy in strategies_of(kind)]


def made(task: str = "regression", n: int = 120) -> Dataset:
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    signal = table["a"] + table["b"].abs()
    table["y"] = signal if task == "regression" else np.where(signal > 0, "yes", "no")
    return Dataset.from_table("made", table, "y")


def small(**parameters: Any) -> Experiment:
    defaults: dict[str, Any] = {
        "datasets": made(),
        "scenarios": "mcar_test",
        "rates": 0.3,
        "methods": ["trinary", "forest:mia", "boosting"],
        "folds": 3,
        "options": {"trees": 4},
    }
    return Experiment(**(defaults | parameters))


def test_model_alone_has_the_default_strategy_of_its_estimators() -> None:
    for kind, estimator in (
        ("tree", tritree.TrinaryTreeRegressor),
        ("forest", tritree.TrinaryForestClassifier),
        ("boosting", tritree.TrinaryBoostingClassifier),
    ):
        assert method_spec(kind) == (kind, estimator().missing, 0)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_boosting_with_masked_copies_is_a_method_of_its_own(task: str) -> None:
    for name, strategy, n_copies in (
        ("boosting + 4 masked copies", "trinary_mia", 4),
        ("boosting:mia + 1 masked copy", "mia", 1),
        ("boosting:majority + 100 masked copies", "majority", 100),
    ):
        assert method_spec(name) == ("boosting", strategy, n_copies)
        assert with_masked_copies(name.partition(" + ")[0], n_copies) == name
        made_of_it = Methods({"x": name}).make("x", task, DEFAULT_DEPTH)
        without = Methods({"x": f"boosting:{strategy}"}).make("x", task, DEFAULT_DEPTH)
        assert made_of_it.get_params() == without.get_params() | {"masked_copies": n_copies}


def test_number_of_masked_copies_of_a_method_counts_more_than_an_option() -> None:
    methods = Methods({"x": "boosting + 4 masked copies", "y": "boosting"}, masked_copies=2)
    assert [methods.make(name, "regression", 3).masked_copies for name in "xy"] == [4, 2]


@pytest.mark.parametrize(
    "name",
    [
        *("", ":", "boosting:", ":mia", "bosting:mia", "forest:tree", "Boosting:mia", "mia:tree"),
        *("forest + 4 masked copies", "mia + 4 masked copies", "boosting + 4 copies", " + 4 masked copies"),
        *(f"boosting + {n} masked copies" for n in ("0", "1", "04", "101", "4 masked copies + 2")),
        "boosting:complete_case + 4 masked copies",
    ],
)
def test_other_names_are_not_methods(name: str) -> None:
    assert method_spec(name) is None


@pytest.mark.parametrize(("name", "task"), list(product(ALL, ["regression", "classification"])))
def test_every_name_makes_a_model_that_fits(name: str, task: str) -> None:
    options = {} if name.startswith("tree") else {"trees": 2}
    model = Methods({"x": name}, **options).make("x", task, 2)
    data = made(task)
    model.fit(data.X, data.y)
    assert len(model.predict(data.X)) == data.n_rows
    kind, strategy = name.split(":")
    assert isinstance(model, CompleteCaseEstimator) == (strategy == "complete_case")
    inner = getattr(model, "estimator", model)
    ending = {"regression": "Regressor", "classification": "Classifier"}[task]
    assert type(inner).__name__ == f"Trinary{kind.capitalize()}{ending}"
    assert (inner.max_depth, inner.n_jobs) == (2, 1)


def test_strategy_that_a_model_lacks_is_refused_and_its_own_are_listed() -> None:
    with pytest.raises(
        ValueError, match="boosting has no 'surrogate'; it has 'trinary_mia', 'trinary', 'mia'"
    ):
        Methods({"x": "boosting:surrogate"})


def test_options_go_to_the_models_that_have_them() -> None:
    methods = Methods(
        {name: name for name in ("mia", "forest", "boosting")},
        trees=7,
        learning_rate=0.3,
        min_samples_leaf=9,
        split_on_missing=False,
    )
    tree, forest, boosting = (methods.make(name, "regression", 3).get_params() for name in methods.names)
    assert {parameters["min_samples_leaf"] for parameters in (tree, forest, boosting)} == {9}
    assert (forest["n_estimators"], boosting["max_iter"], boosting["learning_rate"]) == (7, 7, 0.3)
    assert (tree["split_on_missing"], forest["split_on_missing"]) == (False, False)


def test_parameters_without_an_option_keep_the_defaults_of_the_estimators() -> None:
    methods = Methods({"forest": "forest", "boosting": "boosting"})
    for name, estimator in (
        ("forest", tritree.TrinaryForestRegressor()),
        ("boosting", tritree.TrinaryBoostingRegressor()),
    ):
        found = methods.make(name, "regression", "default").get_params()
        assert found == estimator.get_params() | {"n_jobs": 1, "random_state": 0}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"learning_rate": 0.1}, "'learning_rate', which is for boosting, and methods has none"),
        ({"trees": 5}, "'trees', which is for forest and boosting"),
        (
            {"min_sample_leaf": 5},
            "'min_sample_leaf', which is not a parameter of a tree, a forest or boosting",
        ),
    ],
)
def test_option_that_no_method_has_is_refused_at_once(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        small(methods=["trinary"], options=options)


def test_tuned_depth_is_that_of_trees_only() -> None:
    experiment = small(max_depth="tuned")
    experiment.run(1)
    models = experiment.about()["models"]
    assert list(experiment.depths) == ["made"]
    assert (models["forest"]["max_depth"], models["boosting"]["max_depth"]) == (None, 6)
    models = small(max_depth=2).about()["models"]
    assert {facts["max_depth"] for facts in models.values()} == {2}


def test_depth_is_not_tuned_without_single_trees() -> None:
    experiment = small(methods=["boosting"])
    experiment.run(1)
    assert experiment.depths == {}


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_loss_is_that_of_models_fitted_by_hand(task: str) -> None:
    data = made(task)
    found = small(datasets=data, methods=["boosting:mia"], max_depth=2).run(1)
    kind = tritree.TrinaryBoostingRegressor if task == "regression" else tritree.TrinaryBoostingClassifier
    _, with_missing = in_test("mcar").tables(data, 0.3, 0)
    for fold, (train, test) in enumerate(Folds(3).split(data)):
        model = kind(missing="mia", max_depth=2, max_iter=4, random_state=0).fit(
            data.X.iloc[train], data.y[train]
        )
        expected = mean_loss(model, with_missing.iloc[test], data.y[test], task)
        loss = found[(found["rate"] == 0.3) & (found["fold"] == fold)]["loss"].item()
        assert loss == expected


def test_stored_models_are_not_run_again_unless_options_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "results.sqlite"
    first = small(store=store, max_depth=2).run(1)
    ran = []
    monkeypatch.setattr("tritree.lab.experiment.run_trial", lambda one, _: ran.append(one.method) or [])
    again = small(store=store, max_depth=2).run(1)
    assert not ran
    pd.testing.assert_frame_equal(first, again)
    small(store=store, max_depth=2, options={"trees": 5}).run(1)
    assert set(ran) == {"forest:mia", "boosting"}
    ran.clear()
    small(store=store, max_depth=2, options={"trees": 4, "learning_rate": 0.2}).run(1)
    assert set(ran) == {"boosting"}


def test_fitted_models_are_cached_for_the_next_rate_within_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    cached = []

    def forget() -> None:
        cached.append([(fold, trial._size(model)) for (_, fold), model in trial._models.items()])
        trial.clear_caches()

    monkeypatch.setattr("tritree.lab.experiment.clear_caches", forget)
    plenty = small(methods=["boosting"], folds=4, rates=[0.3, 0.6]).run(1)
    folds, sizes = zip(*cached[0], strict=True)
    assert folds == (0, 1, 2, 3)
    monkeypatch.setattr(trial, "_MAX_BYTES", sum(sizes[:2]))
    limited = small(methods=["boosting"], folds=4, rates=[0.3, 0.6]).run(1)
    assert cached[1] == cached[0][:2]
    assert limited["loss"].tolist() == plenty["loss"].tolist()


def test_methods_are_listed_kind_by_kind_in_the_papers_order() -> None:
    names = ["zebra", "boosting:trinary", "trinary", "forest:mia", "boosting:mia", "mia", "boosting"]
    assert method_order(names) == [
        "mia",
        "trinary",
        "forest:mia",
        "boosting:mia",
        "boosting:trinary",
        "boosting",
        "zebra",
    ]


def test_names_are_parsed_unless_they_may_be_those_of_other_libraries() -> None:
    assert parse_method("forest:mia") == ("forest", "mia")
    assert parse_method("forest") is None  # may be a forest of another library
    assert DISPLAY_NAMES["boosting:trinary_mia"] == "TrinaryMIA boosting"
    assert "forest" not in DISPLAY_NAMES
    assert scenario_name("mcar_test") == "MCARTest"
    assert scenario_name("mcar → mnar") == "MCAR → MNAR"
    assert scenario_name("as in production") == "as in production"


def test_scenarios_are_titled_in_plain_words() -> None:
    assert scenario_title("mcar") == "values missing in training and test (mcar)"
    assert scenario_title("mnar_test") == "values missing in the test only (mnar_test)"
    assert scenario_title("as in production") == "as in production"


def test_strategy_has_one_colour_and_each_kind_of_model_its_line_style() -> None:
    pytest.importorskip("matplotlib")
    from tritree.lab.figures import method_styles

    drawn = method_styles([*METHODS, *(f"{kind}:{method}" for kind in MODELS[1:] for method in METHODS)])
    assert len(set(drawn.values())) == 3 * len(METHODS)
    for method in METHODS:
        same = [drawn[method], *(drawn[f"{kind}:{method}"] for kind in MODELS[1:])]
        assert len({(style.colour, style.marker) for style in same}) == 1
        assert len({str(style.line) for style in same}) == len({style.fill for style in same}) == 3
