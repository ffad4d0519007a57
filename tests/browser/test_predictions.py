"""What the page predicts for a row is what the tree predicts for it, whichever way its cells were given."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from models import STRATEGIES, TASKS, WITH_THIRD_BRANCHES, estimator, predictions

from tritree.inspection.formatting import as_label

ROWS_PER_TREE = 17  # two tasks and six strategies: 204 rows in all
LEVELS = ["low", "mid", "high", "never used"]
CITIES = ["Athens", "Bern", "Cork", "Delft", "Évora"]
COLUMNS = ["number", "level", "city", "member", "zone", "gap"]
UNSEEN = -2  # the option for a category not seen in training

# gives every cell of a row its value and then presses "missing" where a value is missing; returns what the page says
GIVE = """
const cells = new Map([...document.querySelectorAll(".cell")].map((cell) => [Number(cell.dataset.column), cell]));
const input = (j) => cells.get(j).querySelector("select, input:not([type=range])");
return arguments[0].map(([row, missing]) => {
  row.forEach((value, j) => {
    input(j).value = value;
    input(j).dispatchEvent(new Event("input", { bubbles: true }));
  });
  for (const j of missing) cells.get(j).querySelector("button").click();
  const box = document.getElementById("prediction");
  return [box.dataset.value, ...[...box.children].slice(1, 3).map((line) => line.textContent)];
});
"""


def mixed(n_rows, seed):
    """A table of all kinds of columns, and a target that depends on each of them, and on missing values of the last."""
    rng = np.random.default_rng(seed)
    number = rng.normal(size=n_rows)
    table = pd.DataFrame(
        {
            "number": number,
            "level": pd.Categorical.from_codes(rng.integers(0, 3, n_rows), LEVELS, ordered=True),
            "city": rng.choice(CITIES, n_rows, p=[0.3, 0.3, 0.2, 0.18, 0.02]),
            "member": rng.random(n_rows) < 0.5,
            "zone": pd.Categorical(rng.choice([3, 7, 12, 40], n_rows)),
            "gap": number + rng.normal(0, 1.0, n_rows),
        }
    )
    missing = rng.random(n_rows) < 0.3
    effects = pd.DataFrame(
        {
            "number": 2 * number,
            "level": table["level"].cat.codes.to_numpy() * 1.5,
            "city": table["city"].map({"Athens": 0, "Bern": 3, "Cork": 1, "Delft": 2, "Évora": 4}),
            "member": table["member"] * 1.5,
            "zone": table["zone"].astype(int) % 5,
            "gap": 8.0 * missing,
        }
    )
    table.loc[missing, "gap"] = np.nan
    return table, 50 + effects.sum(axis=1).to_numpy() + rng.normal(0, 0.5, n_rows)


def table_with_missing(table, seed):
    """The table with missing values in all columns."""
    return table.mask(np.random.default_rng(seed).random(table.shape) < 0.1)


def grown_tree(task, missing):
    """A tree on the mixed table, with every branch that it can have."""
    table, signal = mixed(600, seed=0)
    labels = np.array(["lo", "null", "hi"])  # "null" is shown in quotes: it is none
    target = signal if task == "regression" else labels[np.digitize(signal, np.quantile(signal, [0.4, 0.7]))]
    depth = {"trinary": 3, "trinary_mia": 4}.get(missing, 6)  # in full, trees with third branches are large
    model = estimator(task, missing=missing, max_depth=depth, min_samples_leaf=5)
    model.fit(table_with_missing(table, seed=1), target)
    return model.grow_all() if missing in WITH_THIRD_BRANCHES else model


def random_rows(n_rows, seed):
    """Rows as a table to predict, and as the page takes them: all values first, then the columns to be missing."""
    rng = np.random.default_rng(1000 + seed)
    table, _ = mixed(n_rows, seed)
    table["gap"] = rng.normal(size=n_rows)
    cities, zones = sorted(CITIES), sorted(table["zone"].cat.categories)
    rows, given = [], []
    for row in table.to_dict("records"):
        cells = [
            repr(row["number"]),
            LEVELS.index(row["level"]),
            cities.index(row["city"]),
            int(row["member"]),
            zones.index(row["zone"]),
            repr(row["gap"]),
        ]
        for name, stranger in (("city", "Atlantis"), ("zone", 99)):
            if rng.random() < 0.15:
                row[name], cells[COLUMNS.index(name)] = stranger, UNSEEN
        missing = np.flatnonzero(rng.random(len(COLUMNS)) < rng.choice([0.0, 0.3, 0.6])).tolist()
        rows.append([None if j in missing else row[name] for j, name in enumerate(COLUMNS)])
        given.append((cells, missing))
    table = pd.DataFrame(rows, columns=COLUMNS, dtype=object)
    return table.astype({"number": float, "gap": float, "zone": float}), given


def splits_of(model):
    return [node["split"] for node in model.to_dict()["nodes"] if node["split"] is not None]


def assert_shown(model, text, value, table_row):
    """The prediction that a reader sees is the prediction, as far as it has digits."""
    if hasattr(model, "classes_"):
        if np.diff(np.sort(value)[-2:]) > 1e-9:
            assert text == as_label(model.predict(table_row)[0], 20)
        return
    decimals = len(text.partition(".")[2])
    assert float(text.replace(",", "")) == pytest.approx(value[0], abs=0.5001 * 10.0**-decimals)


@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("task", TASKS)
def test_row_given_in_the_page_gets_the_prediction_of_the_tree(open_page, task, missing):
    model = grown_tree(task, missing)
    if missing == "mia" and task == "regression":
        assert any(split["rule"] == "missing" for split in splits_of(model))
    seed = 100 + 10 * STRATEGIES.index(missing) + TASKS.index(task)
    table, given = random_rows(ROWS_PER_TREE, seed)
    expected = np.asarray(predictions(model, table)).reshape(len(table), -1)
    page = open_page(model, max_nodes=1_000_000)
    assert len(page.data()["nodes"]) == model.n_nodes_
    page.open_unused()
    shown = page.run(GIVE, given)
    ends = model.apply(table)
    for i, (value, text, behind) in enumerate(shown):
        found = np.array([float(probability) for probability in value.strip("[]").split(",")])
        np.testing.assert_allclose(
            found, expected[i], rtol=1e-12, atol=0, err_msg=str(table.iloc[i].to_dict())
        )
        assert_shown(model, text, found, table.iloc[[i]])
        if missing != "fractional":
            rows = int(model.tree_.rows[ends[i]])
            assert behind == f"from {rows:,} training row{'' if rows == 1 else 's'}"
    assert page.all("#prediction .warn") == []


def test_some_of_the_rows_meet_each_way_of_a_missing_value():
    """Else the comparison above would say little."""
    for missing in STRATEGIES:
        reasons = []
        for task in TASKS:
            model = grown_tree(task, missing)
            table, _ = random_rows(ROWS_PER_TREE, 100 + 10 * STRATEGIES.index(missing) + TASKS.index(task))
            reasons += [step.reason for why in model.explain(table) for step in why.path]
        words = {
            "majority": ["the default direction", "not seen in training"],
            "mia": ["the default direction", "is observed"],
            "fractional": ["with"],
            "trinary": ["third branch", "not seen in training"],
            "trinary_mia": ["third branch"],
            "surrogate": ["by surrogate"],
        }[missing]
        for word in words:
            assert any(word in reason for reason in reasons), (missing, word)


def test_cells_given_by_mouse_and_keys_move_the_prediction(open_page):
    from selenium.webdriver import Keys
    from selenium.webdriver.support.select import Select

    model = grown_tree("regression", "trinary")
    page = open_page(model, max_nodes=1_000_000)
    page.open_unused()
    columns = page.data()["columns"]
    for seed in (4, 6):
        table, [(cells, missing)] = random_rows(1, seed)
        for j, value in enumerate(cells):
            if columns[j]["labels"] is None:
                field = page.cell(j).find_element("css selector", "input")
                field.send_keys(Keys.CONTROL, "a")
                field.send_keys(value)
            else:
                Select(page.cell(j).find_element("css selector", "select")).select_by_value(str(value))
        for j in missing:
            page.click(page.cell(j).find_element("css selector", "button"))
        assert page.value() == pytest.approx(predictions(model, table).tolist(), rel=1e-12)


def test_row_that_stays_in_a_node_is_predicted_by_it(open_page):
    X = np.arange(10.0)[:, None]
    model = estimator("regression", missing="surrogate", max_depth=1, min_samples_leaf=1)
    page = open_page(model.fit(X, X[:, 0] >= 5), rows=[[np.nan]])
    assert page.value() == [0.5]
    assert page.all("#prediction .warn") == []
    assert "no surrogate is observed: stays" in page.one("#path li").text


def two_columns():
    """A tree that splits on x0, and on x1 where that is missing."""
    X = np.random.default_rng(0).uniform(-100, 100, size=(300, 2))
    return estimator("regression", max_depth=4, min_samples_leaf=5).fit(X, X[:, 0] + X[:, 1] / 10), X


def test_number_can_be_typed_character_by_character(open_page):
    from selenium.webdriver import Keys

    model, _ = two_columns()
    page = open_page(model, rows=[[5.0, 5.0]])
    field = page.cell(0).find_element("css selector", "input")
    field.send_keys(Keys.CONTROL, "a")
    for sign in "-12.5e-1":
        field.send_keys(sign)
    assert field.get_property("value") == "-12.5e-1"
    assert page.value() == pytest.approx(model.predict([[-1.25, 5.0]]).tolist(), rel=1e-12)


def test_number_that_is_not_finished_is_not_taken_for_missing(open_page):
    from selenium.webdriver import Keys

    model, _ = two_columns()
    page = open_page(model, rows=[[5.0, 5.0]])
    field = page.cell(0).find_element("css selector", "input")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("-")
    assert page.value() == pytest.approx(model.predict([[5.0, 5.0]]).tolist(), rel=1e-12)
    field.send_keys(Keys.TAB)
    assert field.get_property("value") == "5"  # and is given up with the field


def test_emptied_field_is_missing(open_page):
    from selenium.webdriver import Keys

    model, _ = two_columns()
    page = open_page(model, rows=[[5.0, 5.0]])
    field = page.cell(0).find_element("css selector", "input")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(Keys.DELETE)
    assert page.value() == pytest.approx(model.predict([[np.nan, 5.0]]).tolist(), rel=1e-12)
    assert page.cell(0).find_element("css selector", "button").get_attribute("aria-pressed") == "true"


def test_missing_button_takes_a_value_away_and_brings_it_back(open_page):
    model, X = two_columns()
    page = open_page(model, rows=X[:1])
    before = page.value()
    button = page.cell(0).find_element("css selector", "button")
    page.click(button)
    assert button.get_attribute("aria-pressed") == "true"
    assert page.value() == pytest.approx(model.predict([[np.nan, X[0, 1]]]).tolist(), rel=1e-12)
    page.click(button)
    assert button.get_attribute("aria-pressed") == "false"
    assert page.value() == before


def test_missing_button_of_a_column_without_a_known_value_focuses_its_input(open_page):
    model, X = two_columns()
    X = np.column_stack([X, np.random.default_rng(1).normal(size=len(X))])
    model = estimator("regression", missing="majority", max_depth=1).fit(X, X[:, 0])
    page = open_page(model)  # which does not use x1 and x2, and so has no typical value of them
    page.open_unused()
    page.click(page.cell(2).find_element("css selector", "button"))
    assert page.run("return document.activeElement.id") == "cell-2"


def test_slider_moves_the_value_and_the_prediction(open_page):
    from selenium.webdriver import Keys

    model, X = two_columns()
    page = open_page(model, rows=X[:1])
    slider = page.cell(0).find_element("css selector", "input[type=range]")
    seen = set()
    for key in (Keys.HOME, Keys.END):
        slider.send_keys(key)
        value = float(page.cell(0).find_element("css selector", "input").get_property("value"))
        assert value == pytest.approx(float(slider.get_property("value")), rel=1e-3)
        assert page.value() == pytest.approx(model.predict([[value, X[0, 1]]]).tolist(), rel=1e-12)
        seen.add(page.value()[0])
    assert len(seen) == 2


def test_slider_distinguishes_large_numbers_that_lie_close(open_page):
    """Their first digits are all the same."""
    from selenium.webdriver import Keys

    seconds = 1.7e9 + 3600.0 * np.arange(300)
    model = estimator("regression", max_depth=3, min_samples_leaf=5).fit(seconds[:, None], seconds - 1.7e9)
    page = open_page(model)
    slider = page.cell(0).find_element("css selector", "input[type=range]")
    slider.send_keys(Keys.HOME)
    low = page.value()
    slider.send_keys(Keys.END)
    assert page.value() != low


def test_row_picked_from_the_list_gets_its_prediction(open_page):
    from selenium.webdriver.support.select import Select

    model = grown_tree("classification", "trinary_mia")
    table, _ = random_rows(12, seed=5)
    table.index = [f"no. {i}" for i in range(12)]
    page = open_page(model, rows=table, max_nodes=1_000_000)
    rows = Select(page.one("#rows"))
    assert [option.text for option in rows.options] == [
        "typical values",
        *(f"row no. {i}" for i in range(12)),
    ]
    assert rows.first_selected_option.text == "row no. 0"
    expected = predictions(model, table)
    for i in (0, 3, 11):
        rows.select_by_visible_text(f"row no. {i}")
        np.testing.assert_allclose(page.value(), expected[i], rtol=1e-12)


def test_reset_brings_the_picked_row_back(open_page):
    from selenium.webdriver.support.select import Select

    model, X = two_columns()
    page = open_page(model, rows=X[:3])
    Select(page.one("#rows")).select_by_visible_text("row 2")
    page.click("#all-missing")
    assert page.value() == pytest.approx(model.predict([[np.nan, np.nan]]).tolist(), rel=1e-12)
    assert [button.get_attribute("aria-pressed") for button in page.all(".cell button")] == ["true"] * 2
    page.click("#reset")
    assert page.value() == pytest.approx(model.predict(X[2:3]).tolist(), rel=1e-12)


def test_path_has_the_steps_of_explain(open_page):
    model, X = two_columns()
    X = X[:8].copy()
    X[::2, 0] = np.nan
    page = open_page(model, rows=X)
    for i, why in enumerate(model.explain(X)):
        page.run(
            "const rows = document.getElementById('rows'); rows.value = arguments[0];"
            "rows.dispatchEvent(new Event('change'))",
            i + 1,
        )
        steps = page.texts("#path li button")
        assert len(steps) == len(why.path)
        for text, step in zip(steps, why.path, strict=True):
            assert text.startswith(step.column)
            assert ("missing" in text) == (step.state == "missing")
            assert ("third branch" in text) == (step.branch == "third")
