"""Boxes of a drawn tree have places of their own, and those places say how they hang together."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("matplotlib")
from tritree.inspection.figure.boxes import Box, arrange

GAP = 0.25
WIDTHS = st.floats(0.125, 4, width=16)


@st.composite
def trees(draw):
    """Boxes that grow children, or a third branch, one after the other."""
    boxes = [Box(draw(WIDTHS), draw(WIDTHS))]
    for _ in range(draw(st.integers(0, 25))):
        parent = boxes[draw(st.integers(0, len(boxes) - 1))]
        if draw(st.booleans()) and not parent.below:
            parent.below = [len(boxes), len(boxes) + 1]
            boxes += [Box(draw(WIDTHS), draw(WIDTHS)) for _ in range(2)]
        elif parent.aside is None:
            parent.aside = len(boxes)
            boxes.append(Box(draw(WIDTHS), draw(WIDTHS)))
    return boxes


def depth_first(boxes):
    """The numbers of the boxes: each with what is below it, left before right, and then with what is aside."""
    stack = [0]
    while stack:
        yield (number := stack.pop())
        box = boxes[number]
        stack += [*([] if box.aside is None else [box.aside]), *reversed(box.below)]


@given(trees())
def test_no_two_boxes_are_nearer_than_the_gap(boxes):
    arrange(boxes, GAP)
    for level in {box.level for box in boxes}:
        row = sorted((box.x, box) for box in boxes if box.level == level)
        for (x, box), (next_x, next_box) in pairwise(row):
            assert next_x - next_box.to_left - (x + box.to_right) >= GAP - 1e-9


@given(trees())
def test_children_are_one_level_below_with_their_node_above_the_middle(boxes):
    arrange(boxes, GAP)
    for box in boxes:
        if box.below:
            left, right = (boxes[child] for child in box.below)
            assert left.level == right.level == box.level + 1
            assert left.x < right.x
            assert box.x == pytest.approx((left.x + right.x) / 2)


@given(trees())
def test_third_branch_is_to_the_right_at_the_same_level(boxes):
    arrange(boxes, GAP)
    for box in boxes:
        if box.aside is not None:
            assert boxes[box.aside].level == box.level
            assert boxes[box.aside].x > box.x


@given(trees())
def test_order_on_every_level_is_depth_first_so_that_no_branches_cross(boxes):
    arrange(boxes, GAP)
    by_level: dict[int, list[float]] = {}
    for number in depth_first(boxes):
        by_level.setdefault(boxes[number].level, []).append(boxes[number].x)
    assert all(row == sorted(row) for row in by_level.values())


@given(trees())
def test_picture_begins_at_its_left_end(boxes):
    arrange(boxes, GAP)
    assert min(box.x - box.to_left for box in boxes) == pytest.approx(0)


def test_shallow_block_moves_over_a_deep_one():
    #  0 ┄┄ 5 ┄┄ 6      level 0: 5 is as near to 0 as if nothing was below it
    # 1 2               level 1
    #   3 4             level 2
    boxes = [Box(1, 1) for _ in range(7)]
    boxes[0].below, boxes[2].below, boxes[0].aside, boxes[5].aside = [1, 2], [3, 4], 5, 6
    arrange(boxes, GAP)
    assert boxes[5].x - boxes[0].x == boxes[6].x - boxes[5].x == 2 + GAP


def test_single_item_is_at_the_left_end():
    box = Box(1.5, 3)
    arrange([box], GAP)
    assert (box.x, box.level) == (1.5, 0)


def test_long_ladder_is_placed_without_recursion():
    n = 5_000
    boxes = [Box(1, 1, aside=i + 1) for i in range(n)] + [Box(1, 1)]
    arrange(boxes, GAP)
    assert boxes[-1].x == pytest.approx(1 + n * (2 + GAP))


def test_long_chain_of_children_is_placed_without_recursion():
    n = 1_500
    boxes = [Box(1, 1)]
    for _ in range(n):
        boxes[-1].below = [len(boxes), len(boxes) + 1]
        boxes += [Box(1, 1), Box(1, 1)]
    arrange(boxes, GAP)
    assert boxes[-1].level == n
