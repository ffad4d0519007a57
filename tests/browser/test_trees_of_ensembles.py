"""The page of one of many trees shows its contribution to the sum, or its prediction."""

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
  return JSON.parse(document.getElementById("prediction").dataset.value)[0];
});
"""


@pytest.mark.parametrize("missing", ["trinary_mia", "mia"])
def test_rows_of_the_page_get_the_values_of_the_tree(open_page, missing):
    model, rows = boosted("two classes", missing=missing), ROWS.head(40)
    tree = model.estimators_[5, 0]
    page = open_page(tree, rows=rows)
    found = page.driver.execute_script(PICK, list(range(1, len(rows) + 1)))
    leaves = model.apply(rows)[:, 5]
    nodes = tree.to_dict()["nodes"]
    assert found == [nodes[leaf]["value"][0] for leaf in leaves]


def test_rows_of_the_page_go_both_ways(open_page):
    model, rows = boosted("regression", missing="fractional", max_iter=1), ROWS.head(40)
    page = open_page(model.estimators_[0, 0], rows=rows)
    found = page.driver.execute_script(PICK, list(range(1, len(rows) + 1)))
    begin = model._model.core.baseline[0]
    assert found == pytest.approx((model.predict(rows) - begin).tolist(), abs=1e-12)
    page.settle()
    page.driver.execute_script("document.querySelector('[data-key=\"0\"]').dispatchEvent(new Event('click'))")
    assert "deviation" not in page.text("#card")


def test_value_is_a_contribution_and_a_split_has_its_gain(open_page):
    page = open_page(boosted("regression").estimators_[0, 0], rows=TABLE.head(1))
    assert "Contribution to the sum" in page.text("#prediction")
    page.driver.execute_script("document.querySelector('[data-key=\"0\"]').dispatchEvent(new Event('click'))")
    card = page.text("#card")
    assert "Value" in card
    assert "Gain (squared error)" in card
    assert "Loss" not in card
    assert "Mean" not in card


def test_branch_that_is_not_grown_names_the_method_of_the_model(open_page):
    page = open_page(boosted("regression").estimators_[0, 0].to_html())
    page.driver.execute_script("document.getElementById('all-missing').click()")
    assert "model.grow_for(rows)" in page.text("#prediction .warn")


@pytest.mark.parametrize("missing", ["trinary", "surrogate"])
def test_page_of_a_tree_of_a_forest_says_what_that_tree_predicts(open_page, missing):
    tree, rows = grown("regression", HOLED, missing=missing).estimators_[3], ROWS.head(40)
    page = open_page(tree, rows=rows)
    assert "Prediction of this tree" in page.text("#prediction")
    found = page.driver.execute_script(PICK, list(range(1, len(rows) + 1)))
    assert found == tree.predict(rows).tolist()
