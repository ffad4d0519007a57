"""Boxes of a drawn tree have places of their own, and those places say how they hang together."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritree.inspection.layout import Item, arrange

GAP = 0.25
WIDTHS = st.floats(0.125, 4, width=16)


@st.composite
def trees(draw):
    """Items that grow children, or a third branch, one after the other."""
    items = [Item(draw(WIDTHS), draw(WIDTHS))]
    for _ in range(draw(st.integers(0, 25))):
        parent = items[draw(st.integers(0, len(items) - 1))]
        if draw(st.booleans()) and not parent.below:
            parent.below = [len(items), len(items) + 1]
            items += [Item(draw(WIDTHS), draw(WIDTHS)) for _ in range(2)]
        elif parent.aside is None:
            parent.aside = len(items)
            items.append(Item(draw(WIDTHS), draw(WIDTHS)))
    return items


def depth_first(items):
    """The numbers of the items: each with what is below it, left before right, and then with what is aside."""
    stack = [0]
    while stack:
        yield (number := stack.pop())
        item = items[number]
        stack += [*([] if item.aside is None else [item.aside]), *reversed(item.below)]


@given(trees())
def test_no_two_boxes_are_nearer_than_the_gap(items):
    places = arrange(items, GAP)
    for level in {place.level for place in places}:
        row = sorted(
            (place.x, item) for place, item in zip(places, items, strict=True) if place.level == level
        )
        for (x, item), (next_x, next_item) in pairwise(row):
            assert next_x - next_item.to_left - (x + item.to_right) >= GAP - 1e-9


@given(trees())
def test_children_are_one_level_below_with_their_node_above_the_middle(items):
    places = arrange(items, GAP)
    for item, place in zip(items, places, strict=True):
        if item.below:
            left, right = (places[child] for child in item.below)
            assert left.level == right.level == place.level + 1
            assert left.x < right.x
            assert place.x == pytest.approx((left.x + right.x) / 2)


@given(trees())
def test_third_branch_is_to_the_right_at_the_same_level(items):
    places = arrange(items, GAP)
    for item, place in zip(items, places, strict=True):
        if item.aside is not None:
            assert places[item.aside].level == place.level
            assert places[item.aside].x > place.x


@given(trees())
def test_order_on_every_level_is_depth_first_so_that_no_branches_cross(items):
    places = arrange(items, GAP)
    by_level: dict[int, list[float]] = {}
    for number in depth_first(items):
        by_level.setdefault(places[number].level, []).append(places[number].x)
    assert all(row == sorted(row) for row in by_level.values())


@given(trees())
def test_picture_begins_at_its_left_end(items):
    places = arrange(items, GAP)
    assert min(p.x - item.to_left for p, item in zip(places, items, strict=True)) == pytest.approx(0)


def test_shallow_block_moves_over_a_deep_one():
    #  0 ┄┄ 5 ┄┄ 6      level 0: 5 is as near to 0 as if nothing was below it
    # 1 2               level 1
    #   3 4             level 2
    items = [Item(1, 1) for _ in range(7)]
    items[0].below, items[2].below, items[0].aside, items[5].aside = [1, 2], [3, 4], 5, 6
    places = arrange(items, GAP)
    assert places[5].x - places[0].x == places[6].x - places[5].x == 2 + GAP


def test_single_item_is_at_the_left_end():
    [place] = arrange([Item(1.5, 3)], GAP)
    assert (place.x, place.level) == (1.5, 0)


def test_long_ladder_is_placed_without_recursion():
    n = 5_000
    items = [Item(1, 1, aside=i + 1) for i in range(n)] + [Item(1, 1)]
    assert arrange(items, GAP)[-1].x == pytest.approx(1 + n * (2 + GAP))


def test_long_chain_of_children_is_placed_without_recursion():
    n = 1_500
    items = [Item(1, 1)]
    for _ in range(n):
        items[-1].below = [len(items), len(items) + 1]
        items += [Item(1, 1), Item(1, 1)]
    assert arrange(items, GAP)[-1].level == n
