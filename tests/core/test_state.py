"""A state that does not fit together is refused when it is loaded, before anything reads it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from models import fitted, holed, same_bits, simulated

from tritree import _core

State = dict[str, Any]
BOTH, SURROGATES = 3, 4


def good_state(**parameters: Any) -> State:
    """Return the state of a half-grown tree on three numeric columns and one of categories, with holes."""
    X, y = simulated(200, 4, holes=0.2, task=parameters.pop("task", "regression"))
    X[:, 3] = np.digitize(X[:, 3], [-1, 0, 1]) + 0 * X[:, 3]
    model = fitted(X, y, categorical_features=[3], **parameters)
    model.predict(holed(X[:20]))
    state: State = model._model.core.__getstate__()
    return state


def load(state: State) -> Any:
    model = _core.Model.__new__(_core.Model)
    model.__setstate__(state)
    return model


def split_of(state: State, *, categorical: bool = False) -> int:
    """Return the first node that splits a numeric (or a categorical) column."""
    column = state["tree"]["column"]
    return int(np.flatnonzero((column == 3) if categorical else (column >= 0) & (column < 3))[0])


def change(state: State, part: str, name: str, position: Any, value: Any) -> None:
    array = state[part][name].copy()
    array[position] = value
    state[part][name] = array


def change_setting(state: State, name: str, value: Any) -> None:
    state["settings"] = state["settings"] | {name: value}


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("missing", ["trinary", "trinary_mia", "mia", "fractional", "surrogate"])
def test_good_state_is_loaded_and_is_the_same_again(task: str, missing: str) -> None:
    state = good_state(task=task, missing=missing)
    again = load(copy.deepcopy(state)).__getstate__()
    assert again["settings"] == state["settings"]
    for part in ("tree", "growth"):
        arrays = {name: a for name, a in state.get(part, {}).items() if name != "n_rows"}
        assert all(same_bits(again[part][name], array) for name, array in arrays.items())


def set_without_a_place(state: State) -> None:
    change(state, "tree", "set_begin", split_of(state, categorical=True), -1)


def set_past_the_end(state: State) -> None:
    change(state, "tree", "set_begin", split_of(state, categorical=True), len(state["tree"]["sets"]))


def words_of_a_numeric_split(state: State) -> None:
    change(state, "tree", "set_words", split_of(state), 1)


def missing_to_both_sides(state: State) -> None:
    change(state, "tree", "missing_to", 0, BOTH)


def missing_to_surrogates(state: State) -> None:
    change(state, "tree", "missing_to", 0, SURROGATES)


def rung_with_an_empty_left_side(state: State) -> None:
    change(state, "growth", "rung_low", slice(None), 0)


def rung_with_an_empty_right_side(state: State) -> None:
    change(state, "growth", "rung_low", slice(None), 60_000)


def rung_below_all_codes(state: State) -> None:
    change(state, "growth", "rung_low", slice(None), -1)


def criterion_of_classes(state: State) -> None:
    change_setting(state, "criterion", "entropy")


def unknown_criterion(state: State) -> None:
    change_setting(state, "criterion", "nonsense")


def unknown_strategy(state: State) -> None:
    change_setting(state, "missing", "nonsense")


def negative_depth(state: State) -> None:
    change_setting(state, "max_depth", -1)


def another_strategy(state: State) -> None:
    change_setting(state, "missing", "mia")


def scale_that_is_no_number(state: State) -> None:
    change(state, "growth", "base_sum_scale", 0, np.nan)


def weight_scale_of_zero(state: State) -> None:
    change(state, "growth", "base_weight_scale", 0, 0.0)


def infinite_centre(state: State) -> None:
    change(state, "growth", "base_center", 0, np.inf)


def places_swapped(state: State) -> None:
    base = state["growth"]["place_base"]
    change(state, "growth", "place_base", [0, 1], base[[1, 0]])


def places_of_sisters_swapped(state: State) -> None:
    """Swap the places of a node's daughters with all they stand on, so that each has the other's rows."""
    tree, growth = state["tree"], state["growth"]
    sisters = [int(tree["left"][0]), int(tree["right"][0])]
    for name in ("place_base", "place_rung"):
        change(state, "growth", name, sisters, growth[name][sisters[::-1]])


def code_out_of_range(state: State) -> None:
    change(state, "growth", "codes_narrow", 0, 255)


def column_out_of_range(state: State) -> None:
    change(state, "tree", "column", 0, 4)


def child_before_its_parent(state: State) -> None:
    change(state, "tree", "left", split_of(state), 0)


def child_past_the_end(state: State) -> None:
    change(state, "tree", "left", 0, len(state["tree"]["left"]))


def node_without_a_parent(state: State) -> None:
    arrays = state["tree"]
    last = len(arrays["left"]) - 1
    assert arrays["column"][last] < 0  # a leaf, so that nothing else is wrong with a second one like it
    for name, values in arrays.items():
        if not name.startswith("surrogate") and name != "sets":
            arrays[name] = np.concatenate([values, values[-1:]])
    arrays["surrogate_begin"] = np.concatenate([arrays["surrogate_begin"], arrays["surrogate_begin"][-1:]])
    state["growth"]["place_base"] = np.append(state["growth"]["place_base"], np.int32(-1))
    state["growth"]["place_rung"] = np.append(state["growth"]["place_rung"], np.int32(0))


def base_without_a_node(state: State) -> None:
    growth = state["growth"]
    n_rungs = growth["base_ladder_begin"][1]
    for name in [name for name in growth if name.startswith("rung_") and name != "rung_sets"]:
        growth[name] = np.concatenate([growth[name], growth[name][:n_rungs]])
    categorical = growth["column_is_categorical"][growth["rung_column"][:n_rungs]] > 0
    words = 2 * ((growth["column_n_codes"][growth["rung_column"][:n_rungs]] + 63) // 64)
    growth["rung_sets"] = np.concatenate(
        [growth["rung_sets"], growth["rung_sets"][: int((words * categorical).sum())]]
    )
    growth["base_ladder_begin"] = np.append(growth["base_ladder_begin"], np.int32(len(growth["rung_column"])))
    growth["base_unusable_begin"] = np.append(
        growth["base_unusable_begin"], growth["base_unusable_begin"][-1:]
    )
    for name in ("base_center", "base_sum_scale", "base_weight_scale"):
        growth[name] = np.concatenate([growth[name], growth[name][:1]])


def depth_beyond_all_numbers(state: State) -> None:
    change(state, "tree", "depth", 0, 2**31 - 1)


def share_that_is_no_number(state: State) -> None:
    change(state, "tree", "share", 0, np.nan)


def response_that_is_no_number(state: State) -> None:
    change(state, "growth", "y", 0, np.nan)


def other_number_of_rows(state: State) -> None:
    state["growth"]["n_rows"] += 1


def other_number_of_columns(state: State) -> None:
    state["n_columns"] += 1


def settings_of_another_version(state: State) -> None:
    state["settings"] = {name: value for name, value in state["settings"].items() if name != "max_surrogates"}


CRAFTED: list[Callable[[State], None]] = [
    set_without_a_place,
    set_past_the_end,
    words_of_a_numeric_split,
    missing_to_both_sides,
    missing_to_surrogates,
    rung_with_an_empty_left_side,
    rung_with_an_empty_right_side,
    rung_below_all_codes,
    criterion_of_classes,
    unknown_criterion,
    unknown_strategy,
    negative_depth,
    another_strategy,
    scale_that_is_no_number,
    weight_scale_of_zero,
    infinite_centre,
    places_swapped,
    places_of_sisters_swapped,
    code_out_of_range,
    column_out_of_range,
    child_before_its_parent,
    child_past_the_end,
    node_without_a_parent,
    base_without_a_node,
    depth_beyond_all_numbers,
    share_that_is_no_number,
    response_that_is_no_number,
    other_number_of_rows,
    other_number_of_columns,
    settings_of_another_version,
]


@pytest.mark.parametrize("craft", CRAFTED, ids=lambda craft: craft.__name__)
def test_crafted_state_is_refused(craft: Callable[[State], None]) -> None:
    state = copy.deepcopy(good_state())
    craft(state)
    with pytest.raises(ValueError):
        load(state)


# Most rungs lead to branches that are not grown yet, so that no node shows what is wrong with them.
@pytest.mark.parametrize("missing", ["trinary", "trinary_mia"])
def test_any_rung_beyond_the_codes_of_its_column_is_refused(missing: str) -> None:
    state = good_state(missing=missing)
    growth = state["growth"]
    is_numeric = (growth["rung_column"] != 3) & (growth["rung_missing_alone"] == 0)
    for rung in np.flatnonzero(is_numeric):
        crafted = copy.deepcopy(state)
        change(crafted, "growth", "rung_low", rung, 60_000)
        with pytest.raises(ValueError):
            load(crafted)


@pytest.mark.parametrize("missing", ["trinary", "trinary_mia"])
def test_any_rung_that_was_moved_is_refused_or_can_be_grown(missing: str) -> None:
    state = good_state(missing=missing)
    growth = state["growth"]
    is_numeric = (growth["rung_column"] != 3) & (growth["rung_missing_alone"] == 0)
    for rung in np.flatnonzero(is_numeric):
        crafted = copy.deepcopy(state)
        change(crafted, "growth", "rung_low", rung, 0)
        try:
            model = load(crafted)
        except ValueError:
            continue
        while model.grow_some(10_000, 1):
            pass
        assert model.n_ungrown == 0


def test_any_rung_on_a_column_that_its_ladder_has_already_is_refused() -> None:
    state = good_state()
    growth = state["growth"]
    for begin, end in pairwise(growth["base_ladder_begin"]):
        for rung in range(begin + 1, end):
            crafted = copy.deepcopy(state)
            change(crafted, "growth", "rung_column", rung, growth["rung_column"][begin])
            with pytest.raises(ValueError):
                load(crafted)


@pytest.mark.parametrize("missing", ["trinary", "trinary_mia"])
def test_split_that_sends_missing_elsewhere_than_its_rung_is_refused(missing: str) -> None:
    state = good_state(missing=missing)
    root = state["growth"]["rung_missing_to"][0]
    for to in {0, 1, 2} - {int(root)}:
        crafted = copy.deepcopy(state)
        change(crafted, "growth", "rung_missing_to", 0, to)
        with pytest.raises(ValueError):
            load(crafted)


def test_any_rung_without_categories_on_a_side_is_refused() -> None:
    state = good_state()
    for word in range(len(state["growth"]["rung_sets"])):
        crafted = copy.deepcopy(state)
        change(crafted, "growth", "rung_sets", word, 0)
        with pytest.raises(ValueError):
            load(crafted)


def test_any_rung_of_missing_against_observed_is_refused_where_missing_goes_third() -> None:
    state = good_state()
    for rung in range(len(state["growth"]["rung_missing_alone"])):
        crafted = copy.deepcopy(state)
        change(crafted, "growth", "rung_missing_alone", rung, 1)
        with pytest.raises(ValueError):
            load(crafted)


def test_fractional_tree_with_an_ungrown_child_is_refused() -> None:
    state = good_state(missing="fractional")
    change(state, "tree", "left", 0, -2)
    with pytest.raises(ValueError):
        load(state)


@pytest.mark.parametrize("missing", ["mia", "majority", "surrogate"])
def test_binary_tree_with_an_ungrown_child_is_refused(missing: str) -> None:
    state = good_state(missing=missing)
    change(state, "tree", "right", 0, -2)
    with pytest.raises(ValueError):
        load(state)


def test_class_out_of_range_is_refused() -> None:
    state = good_state(task="classification")
    change(state, "growth", "labels", 0, 3)
    with pytest.raises(ValueError):
        load(state)


STATE = good_state()


@pytest.mark.parametrize(
    ("part", "name"),
    [(part, name) for part in ("tree", "growth") for name, a in STATE[part].items() if np.size(a) > 1],
)
def test_truncated_array_is_refused(part: str, name: str) -> None:
    state = copy.deepcopy(STATE)
    state[part][name] = state[part][name][:-1].copy()
    with pytest.raises(ValueError):
        load(state)
