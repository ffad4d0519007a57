"""An inconsistent state of a model is refused when it is loaded, before anything reads it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from models import fitted, same_bits, simulated, with_missing

from tritree import _core

State = dict[str, Any]
PARTS = ("trees", "ladders", "data", "distributions")
#: Arrays with one entry per ladder, and per split of a ladder.
LADDER_ARRAYS = ("center", "sum_scale", "square_scale", "weight_scale", "first_split_only")
SPLIT_ARRAYS = (
    *("column", "gain", "threshold", "left_fraction", "missing_vs_observed", "missing_to", "larger_side"),
    "threshold_bin",
)
BOTH, SURROGATES = 3, 4


def good_state(**parameters: Any) -> State:
    """Return the state of a half-grown tree on three numeric columns and a categorical one, with missing values."""
    X, y = simulated(200, 4, missing=0.2, task=parameters.pop("task", "regression"))
    X[:, 3] = np.digitize(X[:, 3], [-1, 0, 1]) + 0 * X[:, 3]
    model = fitted(X, y, categorical_features=[3], **parameters)
    model.predict(with_missing(X[:20]))
    state: State = model._model.core.state(with_rows=True)
    return state


load = _core.LadderModel.from_state


def split_of(state: State, *, categorical: bool = False) -> int:
    """Return the first node that splits a numeric (or a categorical) column."""
    column = state["trees"]["column"]
    return int(np.flatnonzero((column == 3) if categorical else (column >= 0) & (column < 3))[0])


def change(state: State, part: str, name: str, position: Any, value: Any) -> None:
    array = state[part][name].copy()
    array[position] = value
    state[part][name] = array


def change_parameter(state: State, name: str, value: Any) -> None:
    state["params"] = state["params"] | {name: value}


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("missing", ["trinary", "trinary_mia", "mia", "fractional", "surrogate"])
def test_loaded_state_is_the_same_again(task: str, missing: str) -> None:
    state = good_state(task=task, missing=missing)
    again = load(copy.deepcopy(state)).state(with_rows=True)
    assert again.keys() == state.keys()
    for part, entries in state.items():
        if part in PARTS:
            assert again[part].keys() == entries.keys()
            assert all(same_bits(again[part][name], array) for name, array in entries.items())
        else:
            assert again[part] == entries


def set_without_a_position(state: State) -> None:
    change(state, "trees", "set_begin", split_of(state, categorical=True), -1)


def set_past_the_end(state: State) -> None:
    change(state, "trees", "set_begin", split_of(state, categorical=True), len(state["trees"]["sets"]))


def words_of_a_numeric_split(state: State) -> None:
    change(state, "trees", "set_words", split_of(state), 1)


def missing_to_both_sides(state: State) -> None:
    change(state, "trees", "missing_to", 0, BOTH)


def missing_to_surrogates(state: State) -> None:
    change(state, "trees", "missing_to", 0, SURROGATES)


def no_larger_side(state: State) -> None:
    change(state, "trees", "larger_side", 0, -1)


def candidate_with_an_empty_left_side(state: State) -> None:
    ladders = state["ladders"]
    later = np.setdiff1d(np.arange(len(ladders["column"])), ladders["splits_begin"])
    change(state, "ladders", "threshold_bin", later, 0)


def first_candidate_with_other_rows(state: State) -> None:
    change(state, "ladders", "threshold_bin", slice(None), 0)


def candidate_with_an_empty_right_side(state: State) -> None:
    change(state, "ladders", "threshold_bin", slice(None), 60_000)


def candidate_below_all_bins(state: State) -> None:
    change(state, "ladders", "threshold_bin", slice(None), -1)


def criterion_of_classes(state: State) -> None:
    change_parameter(state, "criterion", "entropy")


def unknown_criterion(state: State) -> None:
    change_parameter(state, "criterion", "nonsense")


def unknown_strategy(state: State) -> None:
    change_parameter(state, "missing", "nonsense")


def negative_depth(state: State) -> None:
    change_parameter(state, "max_depth", -1)


def another_strategy(state: State) -> None:
    change_parameter(state, "missing", "mia")


def scale_that_is_nan(state: State) -> None:
    change(state, "ladders", "sum_scale", 0, np.nan)


def weight_scale_of_zero(state: State) -> None:
    change(state, "ladders", "weight_scale", 0, 0.0)


def infinite_center(state: State) -> None:
    change(state, "ladders", "center", 0, np.inf)


def positions_swapped(state: State) -> None:
    ladder = state["ladders"]["position_ladder"]
    change(state, "ladders", "position_ladder", [0, 1], ladder[[1, 0]])


def positions_of_siblings_swapped(state: State) -> None:
    """Swap the ladders of the children of the root, so that each has the rows of the other."""
    trees, ladders = state["trees"], state["ladders"]
    siblings = [int(trees["left"][0]), int(trees["right"][0])]
    for name in ("position_ladder", "position_rank"):
        change(state, "ladders", name, siblings, ladders[name][siblings[::-1]])


def bin_out_of_range(state: State) -> None:
    change(state, "data", "bins8", 0, 255)


def column_out_of_range(state: State) -> None:
    change(state, "trees", "column", 0, 4)


def child_before_its_parent(state: State) -> None:
    change(state, "trees", "left", split_of(state), 0)


def child_past_the_end(state: State) -> None:
    change(state, "trees", "left", 0, len(state["trees"]["left"]))


def node_without_a_parent(state: State) -> None:
    arrays = state["trees"]
    assert arrays["column"][-1] < 0  # a leaf, so that nothing else is wrong with a second one like it
    n_nodes = len(arrays["left"])
    for name, values in arrays.items():
        if len(values) == n_nodes:
            arrays[name] = np.concatenate([values, values[-1:]])
    arrays["n_nodes"] = arrays["n_nodes"] + np.int32(1)
    ladders = state["ladders"]
    ladders["position_ladder"] = np.append(ladders["position_ladder"], np.int32(-1))
    ladders["position_rank"] = np.append(ladders["position_rank"], np.int32(0))


def ladder_without_a_node(state: State) -> None:
    ladders, data = state["ladders"], state["data"]
    n_splits = ladders["splits_begin"][1]
    column = ladders["column"][:n_splits]
    words = 2 * ((data["n_bins"][column] + 63) // 64) * (data["categorical"][column] > 0)
    for name in SPLIT_ARRAYS:
        ladders[name] = np.concatenate([ladders[name], ladders[name][:n_splits]])
    ladders["sets"] = np.concatenate([ladders["sets"], ladders["sets"][: int(words.sum())]])
    ladders["splits_begin"] = np.append(ladders["splits_begin"], np.int64(len(ladders["column"])))
    ladders["used_columns_begin"] = np.append(
        ladders["used_columns_begin"], ladders["used_columns_begin"][-1:]
    )
    for name in LADDER_ARRAYS:
        ladders[name] = np.concatenate([ladders[name], ladders[name][:1]])
    ladders["n_ladders"] = ladders["n_ladders"] + 1


def depth_beyond_all_numbers(state: State) -> None:
    change(state, "trees", "depth", 0, 2**31 - 1)


def fraction_that_is_nan(state: State) -> None:
    change(state, "trees", "left_fraction", 0, np.nan)


def target_that_is_nan(state: State) -> None:
    change(state, "data", "y", 0, np.nan)


def other_number_of_rows(state: State) -> None:
    state["n_rows"] += 1


def other_number_of_columns(state: State) -> None:
    state["n_columns"] += 1


def parameters_of_another_version(state: State) -> None:
    state["params"] = {name: value for name, value in state["params"].items() if name != "max_surrogates"}


CRAFTED: dict[Callable[[State], None], str] = {
    set_without_a_position: "category set without a position",
    set_past_the_end: "category set out of range",
    words_of_a_numeric_split: "category set without a position",
    missing_to_both_sides: "a branch that the strategy does not have",
    missing_to_surrogates: "a branch that the strategy does not have",
    no_larger_side: "a branch that the strategy does not have",
    candidate_with_an_empty_left_side: "split without rows on one side",
    first_candidate_with_other_rows: "node with other rows than its own",
    candidate_with_an_empty_right_side: "threshold does not match its bin",
    candidate_below_all_bins: "bin out of range",
    criterion_of_classes: "the criterion does not match the number of classes",
    unknown_criterion: "nonsense",
    unknown_strategy: "nonsense",
    negative_depth: "growth parameters out of range",
    another_strategy: "a branch that the strategy does not have",
    scale_that_is_nan: "fixed-point scale out of range",
    weight_scale_of_zero: "fixed-point scale out of range",
    infinite_center: "fixed-point scale out of range",
    positions_swapped: "ladders out of order",
    positions_of_siblings_swapped: "ladders out of order",
    bin_out_of_range: "bin out of range",
    column_out_of_range: "column index out of range",
    child_before_its_parent: "child out of range",
    child_past_the_end: "child out of range",
    node_without_a_parent: "node without a parent",
    ladder_without_a_node: "ladder without a node",
    depth_beyond_all_numbers: "the depth of the root is not 0",
    fraction_that_is_nan: "left fraction out of range",
    target_that_is_nan: "target is not finite",
    other_number_of_rows: "array too short",
    other_number_of_columns: "training rows do not match the columns",
    parameters_of_another_version: "max_surrogates is absent",
}


@pytest.mark.parametrize("craft", CRAFTED, ids=lambda craft: craft.__name__)
def test_crafted_state_is_refused_with_its_reason(craft: Callable[[State], None]) -> None:
    state = copy.deepcopy(good_state())
    craft(state)
    with pytest.raises(ValueError, match=CRAFTED[craft]):
        load(state)


# Most split candidates are of branches that are not grown yet, so that no node has them.
@pytest.mark.parametrize("missing", ["trinary", "trinary_mia"])
def test_any_candidate_beyond_the_bins_of_its_column_is_refused(missing: str) -> None:
    state = good_state(missing=missing)
    ladders = state["ladders"]
    is_numeric = (ladders["column"] != 3) & (ladders["missing_vs_observed"] == 0)
    for split in np.flatnonzero(is_numeric):
        crafted = copy.deepcopy(state)
        change(crafted, "ladders", "threshold_bin", split, 60_000)
        with pytest.raises(ValueError):
            load(crafted)


@pytest.mark.parametrize("missing", ["trinary", "trinary_mia"])
def test_any_candidate_at_another_bin_is_refused_or_can_be_grown(missing: str) -> None:
    state = good_state(missing=missing)
    ladders = state["ladders"]
    is_numeric = (ladders["column"] != 3) & (ladders["missing_vs_observed"] == 0)
    for split in np.flatnonzero(is_numeric):
        crafted = copy.deepcopy(state)
        change(crafted, "ladders", "threshold_bin", split, 0)
        try:
            model = load(crafted)
        except ValueError:
            continue
        while model.grow_some(10_000, 1):
            pass
        assert model.n_ungrown == 0


def test_any_candidate_on_a_column_that_its_ladder_has_already_is_refused() -> None:
    state = good_state()
    ladders = state["ladders"]
    for begin, end in pairwise(ladders["splits_begin"]):
        for split in range(begin + 1, end):
            crafted = copy.deepcopy(state)
            change(crafted, "ladders", "column", split, ladders["column"][begin])
            with pytest.raises(ValueError):
                load(crafted)


@pytest.mark.parametrize("missing", ["trinary", "trinary_mia"])
def test_split_that_sends_missing_to_another_branch_than_its_candidate_is_refused(missing: str) -> None:
    state = good_state(missing=missing)
    root = state["ladders"]["missing_to"][0]
    for to in {0, 1, 2} - {int(root)}:
        crafted = copy.deepcopy(state)
        change(crafted, "ladders", "missing_to", 0, to)
        with pytest.raises(ValueError):
            load(crafted)


def test_any_candidate_without_categories_on_a_side_is_refused() -> None:
    state = good_state()
    for word in range(len(state["ladders"]["sets"])):
        crafted = copy.deepcopy(state)
        change(crafted, "ladders", "sets", word, 0)
        with pytest.raises(ValueError):
            load(crafted)


def test_any_candidate_of_missing_against_observed_is_refused_where_missing_goes_third() -> None:
    state = good_state()
    for split in range(len(state["ladders"]["missing_vs_observed"])):
        crafted = copy.deepcopy(state)
        change(crafted, "ladders", "missing_vs_observed", split, 1)
        with pytest.raises(ValueError):
            load(crafted)


def test_fractional_tree_with_an_ungrown_child_is_refused() -> None:
    state = good_state(missing="fractional")
    change(state, "trees", "left", 0, -2)
    with pytest.raises(ValueError):
        load(state)


@pytest.mark.parametrize("missing", ["mia", "majority", "surrogate"])
def test_binary_tree_with_an_ungrown_child_is_refused(missing: str) -> None:
    state = good_state(missing=missing)
    change(state, "trees", "right", 0, -2)
    with pytest.raises(ValueError):
        load(state)


def test_class_out_of_range_is_refused() -> None:
    state = good_state(task="classification")
    change(state, "data", "labels", 0, 3)
    with pytest.raises(ValueError):
        load(state)


STATES = {
    f"{missing} {task}": good_state(missing=missing, task=task)
    for missing, task in [
        ("trinary", "regression"),
        ("trinary_mia", "classification"),
        ("surrogate", "regression"),
        ("fractional", "regression"),
        ("majority", "classification"),
    ]
}
CHANGES: dict[str, Callable[[Any], Any]] = {
    "one less": lambda array: array[:-1].copy(),
    "one more": lambda array: np.append(array, array[-1:]),
    "other dtype": lambda array: array.astype(np.float64 if array.dtype == np.float32 else np.float32),
    "two-dimensional": lambda array: array.reshape(1, -1),
    "list": lambda array: array.tolist(),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", STATES)
def test_any_array_of_another_shape_or_dtype_is_refused(kind: str, change: str) -> None:
    for part, name in arrays_of(STATES[kind]):
        state = copy.deepcopy(STATES[kind])
        state[part][name] = CHANGES[change](state[part][name])
        with pytest.raises(ValueError):
            load(state)


@pytest.mark.parametrize("kind", STATES)
def test_any_absent_array_is_refused(kind: str) -> None:
    for part, name in arrays_of(STATES[kind]):
        state = copy.deepcopy(STATES[kind])
        del state[part][name]
        with pytest.raises(ValueError):
            load(state)


def arrays_of(state: State) -> list[tuple[str, str]]:
    return [(part, name) for part in PARTS for name in state.get(part, {})]


def test_surrogate_tree_without_any_surrogate_arrays_is_refused() -> None:
    state = good_state(missing="surrogate")
    state["trees"] = {
        name: array for name, array in state["trees"].items() if not name.startswith("surrogate_")
    }
    change(state, "trees", "n_surrogates", 0, 0)
    with pytest.raises(ValueError, match="surrogates of the wrong shape"):
        load(state)


@pytest.mark.parametrize(("name", "value"), [("estimates_variance", True), ("monotonic", [1, 0, 0, 0])])
def test_boosting_parameters_of_a_single_tree_are_refused(name: str, value: Any) -> None:
    state = good_state()
    change_parameter(state, name, value)
    with pytest.raises(ValueError, match="boosting parameters"):
        load(state)
