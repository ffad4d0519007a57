"""The six estimators share names and meaning of parameters, attributes and methods."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models import with_missing
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.utils.class_weight import compute_sample_weight

import tritree
from tritree import GrowthLimitError, UngrownBranchWarning
from tritree.validation import MAY_CHANGE_AFTER_FIT, allowed_values, column_fraction

FAMILIES = ("Tree", "Forest", "Boosting")
TASKS = ("Regressor", "Classifier")
DIABETES: Any = load_diabetes(return_X_y=True)
IRIS: Any = load_iris(return_X_y=True)
QUICK: dict[str, dict[str, Any]] = {
    "Tree": {"max_depth": 3},
    "Forest": {"n_estimators": 4, "max_depth": 3, "random_state": 0},
    "Boosting": {"max_iter": 4, "max_depth": 3, "random_state": 0},
}


def estimator_class(family: str, task: str) -> Any:
    return getattr(tritree, f"Trinary{family}{task}")


def make(family: str, task: str = "Regressor", **parameters: Any) -> Any:
    return estimator_class(family, task)(**(QUICK[family] | parameters))


#: Forests in which every split has a third branch, as in trees and boosting.
ALL_THIRD: dict[str, Any] = {"Forest": {"min_missing_third": 0}}


def fitted(family: str, task: str = "Regressor", **parameters: Any) -> Any:
    return make(family, task, **parameters).fit(*(DIABETES if task == "Regressor" else IRIS))


# ---- parameters


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_parameter_has_its_allowed_values_in_the_table(family: str, task: str) -> None:
    kind = estimator_class(family, task)
    assert set(kind._get_param_names()) == set(allowed_values(family.lower(), task.lower()))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_parameter_is_documented(family: str, task: str) -> None:
    kind = estimator_class(family, task)
    assert set(kind._get_param_names()) <= documented(kind, "Parameters", "Attributes")


def documented(kind: Any, section: str, next_section: str) -> set[str]:
    """Return the names in a section of a docstring."""
    text = kind.__doc__.partition(f"{section}\n")[2].partition(f"{next_section}\n")[0]
    names = [name for line in text.splitlines() for name in line.partition(" : ")[0].split(",")]
    return {name.strip(" ,\\") for name in names}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("max_features", [1, 3, 10, 1_000, 0.5, 1.0, "sqrt", "log2", None])
def test_max_features_may_be_what_it_is_in_scikit_learn(family: str, max_features: Any) -> None:
    model = fitted(family, max_features=max_features, random_state=0)
    same = fitted(family, max_features=column_fraction(max_features, 10), random_state=0)
    np.testing.assert_array_equal(
        model.predict(with_missing(DIABETES[0])), same.predict(with_missing(DIABETES[0]))
    )


@pytest.mark.parametrize("max_features", [0, -1, 1.5, 0.0, True, "all", [1]])
@pytest.mark.parametrize("family", FAMILIES)
def test_other_values_of_max_features_are_refused(family: str, max_features: Any) -> None:
    with pytest.raises(ValueError, match=r"max_features must be an integer .* or None \(all columns\), got "):
        fitted(family, max_features=max_features)


@pytest.mark.parametrize("n_columns", range(1, 130))
def test_number_of_columns_survives_the_way_to_the_core(n_columns: int) -> None:
    counts = [int(column_fraction(count, n_columns) * n_columns) for count in range(1, n_columns + 1)]
    assert counts == list(range(1, n_columns + 1))


def test_tree_draws_columns_by_its_random_state() -> None:
    trees = [fitted("Tree", max_features=2, random_state=seed) for seed in (0, 0, 1, 2, 3)]
    assert trees[0].to_dict() == trees[1].to_dict()
    assert len({tree.tree_.column[0] for tree in trees}) > 1
    assert fitted("Tree", random_state=0).to_dict() == fitted("Tree", random_state=1).to_dict()


def test_third_branches_of_a_tree_that_draws_columns_grow_alike_in_any_order() -> None:
    rows = with_missing(DIABETES[0])
    tree, other, full = (fitted("Tree", max_features=3, random_state=0, max_depth=2) for _ in range(3))
    expected = tree.predict(rows)
    backwards = np.concatenate([other.predict(rows[i : i + 1]) for i in reversed(range(len(rows)))])[::-1]
    np.testing.assert_array_equal(backwards, expected)
    np.testing.assert_array_equal(full.grow_all().predict(rows), expected)


@pytest.mark.parametrize("family", FAMILIES)
def test_class_weights_are_sample_weights(family: str) -> None:
    X, y = IRIS
    weights = {0: 1.0, 1: 5.0, 2: 0.5}
    model = make(family, "Classifier", class_weight=weights).fit(X, y)
    same = make(family, "Classifier").fit(X, y, compute_sample_weight(weights, y))
    np.testing.assert_array_equal(model.predict_proba(with_missing(X)), same.predict_proba(with_missing(X)))
    balanced = make(family, "Classifier", class_weight="balanced").fit(X[10:], y[10:])
    same = make(family, "Classifier").fit(X[10:], y[10:], compute_sample_weight("balanced", y[10:]))
    np.testing.assert_array_equal(balanced.predict_proba(X), same.predict_proba(X))


@pytest.mark.parametrize("family", ["Tree", "Forest"])
def test_log_loss_is_another_name_of_entropy(family: str, tmp_path: Path) -> None:
    X, _ = IRIS
    model, same = (fitted(family, "Classifier", criterion=name) for name in ("log_loss", "entropy"))
    np.testing.assert_array_equal(model.predict_proba(with_missing(X)), same.predict_proba(with_missing(X)))
    model.save(tmp_path / "model.tritree")
    again = tritree.load(tmp_path / "model.tritree")
    assert again.criterion == "log_loss"
    np.testing.assert_array_equal(again.predict_proba(with_missing(X)), same.predict_proba(with_missing(X)))


def test_error_for_arguments_of_other_libraries_names_those_of_fit() -> None:
    X, y = DIABETES
    with pytest.raises(
        TypeError, match=r"'eval_set'; pass validation rows as X_val and y_val: fit\(X, y, X_val"
    ):
        make("Boosting").fit(X, y, eval_set=[(X, y)])
    with pytest.raises(TypeError, match="'early_stopping_rounds'; set n_iter_no_change"):
        make("Boosting").fit(X, y, early_stopping_rounds=3)
    with pytest.raises(TypeError, match=r"TrinaryBoostingRegressor.fit\(\) .* argument 'nonsense'$"):
        make("Boosting").fit(X, y, nonsense=1)


# ---- growth on demand


@pytest.mark.parametrize("missing", ["trinary", "trinary_mia"])
@pytest.mark.parametrize("family", FAMILIES)
def test_branches_grown_for_rows_are_all_that_they_need(family: str, missing: str) -> None:
    rows = with_missing(DIABETES[0])
    expected = fitted(family, missing=missing, **ALL_THIRD.get(family, {})).predict(rows)
    model = fitted(family, missing=missing, **ALL_THIRD.get(family, {}))
    assert model.grow_for(rows) is model
    assert model.n_grown_ > 0
    model.detach()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.predict(rows), expected)
    assert model.grow_for(rows).n_ungrown_hits_ == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_detached_model_raises_where_it_cannot_grow(family: str, tmp_path: Path) -> None:
    nothing = np.full((1, 10), np.nan)
    model = fitted(family)
    with pytest.warns(UngrownBranchWarning, match="branches for missing values are not grown"):
        model.save(tmp_path / "model.tritree", training_rows=False)
    for without in (tritree.load(tmp_path / "model.tritree"), model.detach()):
        with pytest.raises(
            RuntimeError, match=r"can no longer be grown.*call grow_for\(\) before detach\(\)"
        ):
            without.grow_for(nothing)
        with pytest.raises(
            RuntimeError, match=r"can no longer be grown.*call grow_all\(\) before detach\(\)"
        ):
            without.grow_all()
        with pytest.warns(UngrownBranchWarning):
            without.predict(nothing)
        assert without.n_ungrown_hits_ > 0


@pytest.mark.parametrize("training_rows", [1.5, "yes"])
@pytest.mark.parametrize("family", FAMILIES)
def test_save_refuses_training_rows_that_are_no_truth_value(
    family: str, training_rows: Any, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="training_rows must be True, False or None, got"):
        fitted(family).save(tmp_path / "model.tritree", training_rows=training_rows)


@pytest.mark.parametrize("family", FAMILIES)
def test_save_refuses_training_rows_that_are_gone(family: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="training_rows=True, but this model has none"):
        fitted(family).detach().save(tmp_path / "model.tritree", training_rows=True)


@pytest.mark.parametrize("missing", ["trinary", "trinary_mia"])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("family", FAMILIES)
def test_fully_grown_model_predicts_the_same_and_needs_no_rows(family: str, task: str, missing: str) -> None:
    X, _ = DIABETES if task == "Regressor" else IRIS
    X, small = X[:, :4], {"max_depth": 2, "min_samples_leaf": 20, "missing": missing}
    y = DIABETES[1] if task == "Regressor" else IRIS[1]
    method = "predict" if task == "Regressor" else "predict_proba"
    model = make(family, task, **small).fit(with_missing(X, 0.1), y)
    full = clone(model).fit(with_missing(X, 0.1), y).grow_all()
    rows = np.concatenate([with_missing(X, rate, seed) for rate in (0.2, 0.8) for seed in range(5)])
    nodes = full.n_nodes_
    np.testing.assert_array_equal(getattr(full, method)(rows), getattr(model, method)(rows))
    assert full.n_nodes_ == nodes >= model.n_nodes_
    assert full.grow_all(max_nodes=1).n_nodes_ == nodes  # nothing is left to grow, so no limit is exceeded
    assert full.detach().grow_for(rows).n_ungrown_hits_ == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_growth_limit_is_an_error_that_keeps_what_was_grown(family: str) -> None:
    parameters = {"max_depth": 5, "min_samples_leaf": 5} | ALL_THIRD.get(family, {})
    model = fitted(family, **parameters)
    before, n_fitted = (
        model.predict(with_missing(DIABETES[0])),
        fitted(family, **parameters).n_nodes_,
    )
    with pytest.raises(GrowthLimitError, match=r"branches still to grow, which would pass max_nodes=5,000"):
        model.grow_all(max_nodes=5_000)
    assert model.n_nodes_ > n_fitted
    np.testing.assert_array_equal(model.predict(with_missing(DIABETES[0])), before)


@pytest.mark.parametrize("method", ["explain", "missing_reliance", "apply"])
@pytest.mark.parametrize("of_element", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_rows_that_reach_ungrown_branches_of_a_detached_model_warn(
    family: str, of_element: bool, method: str
) -> None:
    model = fitted(family).detach()
    if of_element:
        model = model if family == "Tree" else np.ravel(model.estimators_)[0]
    with pytest.warns(UngrownBranchWarning, match="the training rows are gone"):
        getattr(model, method)(with_missing(DIABETES[0]))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_attribute_of_a_fitted_estimator_is_documented(family: str, task: str) -> None:
    oob = {"oob_score": True, "n_estimators": 30} if family == "Forest" else {}
    model = fitted(family, task, **oob)
    public = {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}
    assert public <= documented(model, "Attributes", "See Also")


# ---- arguments of fit


@pytest.mark.parametrize("family", FAMILIES)
def test_unknown_argument_of_fit_is_refused_in_the_name_of_the_estimator(family: str) -> None:
    message = rf"^Trinary{family}Regressor\.fit\(\) got an unexpected keyword argument 'check_input'$"
    with pytest.raises(TypeError, match=message):
        make(family).fit(*DIABETES, check_input=False)


@pytest.mark.parametrize(
    ("argument", "hint"),
    [
        ("eval_set", "X_val and y_val"),
        ("eval_metric", "scored by the loss"),
        ("callbacks", r"set_callbacks\(\)"),
        ("verbose", "set verbose when the estimator is created"),
    ],
)
def test_error_for_an_argument_of_another_library_says_what_to_do(argument: str, hint: str) -> None:
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{argument}'; .*{hint}"):
        make("Boosting").fit(*DIABETES, **{argument: []})


# ---- parameters after the fit


@pytest.mark.parametrize("family", FAMILIES)
def test_model_is_not_saved_with_parameters_that_it_was_not_fitted_with(family: str, tmp_path: Path) -> None:
    model, file = fitted(family), tmp_path / "model.tritree"
    for name, value in {"missing": "mia", "max_depth": 2, "min_samples_leaf": 9, "max_bins": 17}.items():
        was = getattr(model, name)
        with pytest.raises(ValueError, match=f"{name} was {was!r} in fit and is {value!r} now; set it back"):
            model.set_params(**{name: value}).save(file)
        model.set_params(**{name: was}).save(file)


def test_every_parameter_that_may_change_after_fit_exists() -> None:
    kinds = [(family.lower(), task.lower()) for family in FAMILIES for task in TASKS]
    assert set().union(*(allowed_values(*kind) for kind in kinds)) >= MAY_CHANGE_AFTER_FIT


# ---- warm start of forests


@pytest.mark.parametrize("missing", ["trinary", "mia"])
def test_forest_fitted_in_two_steps_is_the_forest_fitted_in_one(missing: str, tmp_path: Path) -> None:
    rows = with_missing(DIABETES[0])
    common = {"n_estimators": 12, "oob_score": True, "missing": missing, "max_features": 0.5}
    whole = fitted("Forest", **common)
    parts = fitted("Forest", **(common | {"n_estimators": 8}), warm_start=True)
    parts.save(tmp_path / "forest.tritree")
    for forest in (tritree.load(tmp_path / "forest.tritree"), parts):
        forest.set_params(n_estimators=12).fit(*DIABETES)
        np.testing.assert_array_equal(forest.predict(rows), whole.predict(rows))
        assert forest.oob_score_ == whole.oob_score_


def test_forest_keeps_its_trees_if_no_more_are_requested() -> None:
    forest = fitted("Forest", warm_start=True, random_state=None)
    before = forest.predict(DIABETES[0])
    with pytest.warns(UserWarning, match="warm_start adds no trees"):
        forest.fit(*DIABETES)
    np.testing.assert_array_equal(forest.predict(DIABETES[0]), before)
    assert forest.set_params(n_estimators=6).fit(*DIABETES).n_trees_ == 6
    assert forest.set_params(n_estimators=2, warm_start=False).fit(*DIABETES).n_trees_ == 2


def test_forest_goes_on_only_with_what_its_trees_share() -> None:
    X, y = DIABETES
    forest = fitted("Forest", warm_start=True)
    with pytest.raises(ValueError, match="n_estimators=3 is less than the 4 trees of the fitted model"):
        clone_fitted(forest).set_params(n_estimators=3).fit(X, y)
    with pytest.raises(
        ValueError, match="which had missing='trinary'; set it again, or set warm_start=False"
    ):
        clone_fitted(forest).set_params(n_estimators=6, missing="mia").fit(X, y)
    for name, value in {"max_depth": 7, "max_features": 0.7, "min_samples_leaf": 9}.items():
        with pytest.raises(ValueError, match=f"which had {name}=.*; set it again, or set warm_start=False"):
            clone_fitted(forest).set_params(n_estimators=6, **{name: value}).fit(X, y)
    for changed in ((X[::2], y[::2]), (X, -y), (X, y, np.arange(1.0, len(y) + 1))):
        with pytest.raises(ValueError, match="X, y or sample_weight have changed; pass the same"):
            clone_fitted(forest).set_params(n_estimators=6).fit(*changed)
    with pytest.raises(ValueError, match=r"are gone \(detach"):
        clone_fitted(forest).detach().set_params(n_estimators=6).fit(X, y)
    classifier = fitted("Forest", "Classifier", warm_start=True).set_params(n_estimators=6)
    with pytest.raises(ValueError, match="the classes of the first fit, and y has others"):
        classifier.fit(IRIS[0], IRIS[1] + 1)


def clone_fitted(model: Any) -> Any:
    return clone(model).fit(*DIABETES)


@pytest.mark.parametrize("missing", ["trinary", "trinary_mia"])
@pytest.mark.parametrize("family", FAMILIES)
def test_fully_grown_model_of_categories_needs_no_rows(family: str, missing: str) -> None:
    pd = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    words = np.array(["oak", "elm", "ash", "fir", None], dtype=object)
    frame = pd.DataFrame(
        {"kind": words[random.integers(0, 5, 300)], "soil": words[random.integers(0, 5, 300)]}
    )
    frame["x"] = np.where(random.random(300) < 0.1, np.nan, random.normal(size=300))
    y = frame["kind"].isin(["oak", "elm"]) * 2.0 + (frame["soil"] == "ash") + frame["x"].fillna(0)
    model = make(family, missing=missing, min_samples_leaf=10).fit(frame, y).grow_all()
    nodes = model.n_nodes_
    words[4] = "yew"  # not seen in training
    rows = pd.DataFrame(
        {"kind": words[random.integers(0, 5, 900)], "soil": words[random.integers(0, 5, 900)]}
    )
    rows["x"] = np.where(random.random(900) < 0.5, np.nan, random.normal(size=900))
    model.predict(rows.mask(random.random(rows.shape) < 0.3))
    model.predict(rows)
    assert model.n_nodes_ == nodes


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("missing", ["mia", "trinary_mia"])
def test_missing_against_observed_is_no_split_without_split_on_missing(family: str, missing: str) -> None:
    X, y = DIABETES
    X = np.where(
        (y > 150)[:, None] & (np.arange(X.shape[1]) == 2), np.nan, X
    )  # missingness predicts the target
    parameters = {"missing": missing, "max_features": 1.0}

    def separates_missing(**more: Any) -> bool:
        model = make(family, **parameters, **more).fit(X, y)
        return any((tree.threshold == -np.inf).any() for tree in model._model.trees())

    assert separates_missing()
    assert not separates_missing(split_on_missing=False)
