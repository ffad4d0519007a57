"""The page of one of many trees says what that tree adds to the sum, or predicts, in words of its own."""

from __future__ import annotations

import pytest
from boosting.tables import HOLED, ROWS, TABLE, boosted
from forest.grown import grown

# picks one row after the other; returns what the page says of each
PICK = """
const select = document.getElementById("rows");
return arguments[0].map((number) => {
  select.value = number;
  select.dispatchEvent(new Event("change", { bubbles: true }));
  return JSON.parse(document.getElementById("answer").dataset.value)[0];
});
"""


@pytest.mark.parametrize("missing", ["trinary_mia", "mia"])
def test_rows_of_the_page_get_the_steps_of_the_tree(open_page, missing):
    model, rows = boosted("two classes", missing=missing), ROWS.head(40)
    member = model.member(5)
    page = open_page(member, rows=rows)
    found = page.driver.execute_script(PICK, list(range(1, len(rows) + 1)))
    nodes = member.to_dict()["nodes"]
    assert found == [nodes[end]["value"][0] for end in model.apply(rows)[:, 5]]


def test_rows_of_the_page_go_both_ways(open_page):
    model, rows = boosted("regression", missing="fractional", max_iter=1), ROWS.head(40)
    page = open_page(model.member(0), rows=rows)
    found = page.driver.execute_script(PICK, list(range(1, len(rows) + 1)))
    begin = model._model.core.state(with_background=False)["baseline"][0]
    assert found == pytest.approx((model.predict(rows) - begin).tolist(), abs=1e-12)
    page.driver.execute_script("document.querySelector('[data-key=\"0\"]').dispatchEvent(new Event('click'))")
    assert "deviate" not in page.text("#card")


def test_value_is_called_a_step_and_a_split_tells_its_gain(open_page):
    page = open_page(boosted("regression").member(0), rows=TABLE.head(1))
    assert "Step in the sum" in page.text("#answer")
    page.driver.execute_script("document.querySelector('[data-key=\"0\"]').dispatchEvent(new Event('click'))")
    card = page.text("#card")
    assert "Step" in card
    assert "Gain (squared error)" in card
    assert "Loss" not in card
    assert "Mean" not in card


def test_branch_that_is_not_grown_names_the_method_of_the_model(open_page):
    page = open_page(boosted("regression").member(0).to_html())
    page.driver.execute_script("document.getElementById('all-missing').click()")
    assert "model.grow_for(rows)" in page.text("#answer .warn")


@pytest.mark.parametrize("missing", ["trinary", "surrogate"])
def test_page_of_a_tree_of_a_forest_says_what_that_tree_predicts(open_page, missing):
    member, rows = grown("regression", HOLED, missing=missing).member(3), ROWS.head(40)
    page = open_page(member, rows=rows)
    assert "Prediction of this tree" in page.text("#answer")
    found = page.driver.execute_script(PICK, list(range(1, len(rows) + 1)))
    assert found == member.predict(rows).tolist()
