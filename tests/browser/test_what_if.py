"""The what-if page predicts and explains as the forest or the boosting does, whichever way its cells were given."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from boosting.tables import HOLED, ROWS, TABLE, boosted
from forest.grown import grown

from tritree import TrinaryBoostingClassifier, TrinaryBoostingRegressor
from tritree.errors import UngrownBranchWarning

NASTY = [
    "</script><script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    '"><svg onload=window.pwned=1>',
    "</noscript><b>",
    "$data",
    "__proto__",
]
CLOSE = {"rtol": 1e-12, "atol": 1e-12}

# picks one row after the other; returns what the page predicts, and how it explains that
PICK = """
const select = document.getElementById("rows");
return arguments[0].map((number) => {
  select.value = number;
  select.dispatchEvent(new Event("change", { bubbles: true }));
  return [document.getElementById("prediction").dataset.value, document.getElementById("bars").dataset.value,
    document.querySelector("#prediction .warn")?.textContent ?? null];
});
"""
# types the values of a row into its cells, null for missing; returns what the page predicts
TYPE = """
return arguments[0].map((row) => {
  row.forEach((value, j) => {
    const cell = document.querySelector(`.cell[data-column="${j}"]`);
    const input = cell.querySelector("select, input:not([type=range])");
    if (value === null) {
      if (!cell.classList.contains("missing")) cell.querySelector("button").click();
      return;
    }
    input.value = value;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  return document.getElementById("prediction").dataset.value;
});
"""
# of each column whose values are tried: its name, the values, and what the page makes of them
TRIED = """
return [...document.querySelectorAll("#missing li")].map((line) => {
  const { columns } = JSON.parse(document.getElementById("data").textContent);
  const { name, tried } = columns.find(({ shown }) => shown === line.querySelector("b").textContent);
  return [name, JSON.stringify(tried), line.querySelector(".open").dataset.value]; // numbers to the last bit
});
"""
ALL_TRIED = "return [...document.querySelectorAll('#missing .open')].every((place) => place.dataset.value)"
READY = "return Boolean(document.getElementById('prediction').dataset.value)"


@pytest.fixture
def open_what_if(open_page: Any) -> Any:
    """Return how to open a page; its trees are unpacked a moment after it is loaded."""

    def open_it(model: Any, **options: Any) -> Any:
        page = open_page(model, **options)
        page.wait_for("prediction", lambda: page.run(READY))
        return page

    return open_it


def predictions(model: Any, rows: Any) -> Any:
    found = model.predict_proba(rows) if hasattr(model, "classes_") else model.predict(rows)
    return np.reshape(found, (len(rows), -1))


MODELS = {
    "squared error": lambda: boosted("regression"),
    "poisson": lambda: boosted("regression", HOLED, loss="poisson"),
    "gamma, mia": lambda: boosted("regression", HOLED, loss="gamma", missing="mia"),
    "two classes": lambda: boosted("two classes"),
    "two classes, trinary": lambda: boosted("two classes", HOLED, missing="trinary"),
    "three classes": lambda: boosted("three classes"),
    "three classes, fractional": lambda: boosted("three classes", HOLED, missing="fractional"),
    "forest": lambda: grown("regression"),
    "forest, two classes": lambda: grown("two classes", HOLED, missing="trinary_mia"),
    "forest, fractional": lambda: grown("three classes", HOLED, missing="fractional"),
    "forest, surrogates": lambda: grown("regression", HOLED, missing="surrogate"),
    "forest, majority": lambda: grown("three classes", HOLED, missing="majority"),
}


@pytest.mark.parametrize("name", MODELS)
def test_rows_are_predicted_and_explained_as_by_the_model(open_what_if: Any, name: str) -> None:
    model, rows = MODELS[name](), ROWS.head(40)
    page = open_what_if(model, rows=rows)
    is_classifier = hasattr(model, "classes_")
    binary = {"class_of_interest": model.classes_[1]} if is_classifier and len(model.classes_) == 2 else {}
    expected, reasons = predictions(model, rows), model.explain(rows, **binary)
    column = dict(enumerate(rows.columns))
    n_missing = 0
    for found, right, why in zip(page.run(PICK, list(range(1, 41))), expected, reasons, strict=True):
        predicted, explained = json.loads(found[0]), json.loads(found[1])
        np.testing.assert_allclose(predicted, right, **CLOSE)
        assert found[2] is None  # all that the rows need is in the page
        shown = {column[int(j)]: part for j, part in explained["columns"].items()}
        assert {name: part["trees"] for name, part in shown.items()} == why.n_trees_used
        for name, contribution in why.contributions.items():
            assert shown[name]["change"] == pytest.approx(contribution, rel=1e-12, abs=1e-12)
        numbers = [explained[key] for key in ("base", "value", "std")]
        np.testing.assert_allclose(numbers, [why.base_value, why.value, why.std], **CLOSE)
        n_missing += len(why.missing_contributions) > 0
    assert n_missing > 10


@pytest.mark.parametrize("name", ["two classes", "three classes", "forest, surrogates", "poisson"])
def test_typed_rows_are_predicted_as_by_the_model(open_what_if: Any, name: str) -> None:
    generator, model = np.random.default_rng(3), MODELS[name]()
    rows = TABLE.sample(60, random_state=0).mask(generator.random((60, 5)) < 0.3).astype({"code": float})
    labels = {"city": sorted(TABLE["city"].unique()), "size": ["S", "M", "L"], "code": [3, 7, 11]}
    typed = [
        [
            None if pd.isna(v) else labels[name].index(v) if name in labels else float(v)
            for name, v in row.items()
        ]
        for row in rows.to_dict("records")
    ]
    for i in range(0, 60, 9):  # a category that was not seen in training
        rows.iloc[i, 2], typed[i][2] = "Nowhere", -2
    expected = predictions(model, rows)  # the page has what predict has grown
    found = open_what_if(model).run(TYPE, typed)
    np.testing.assert_allclose([json.loads(value) for value in found], expected, **CLOSE)


def test_dates_are_typed_and_predicted(open_what_if: Any) -> None:
    days = pd.date_range("2020-01-01", periods=400)
    table = pd.DataFrame({"day": days, "number": np.random.default_rng(0).normal(size=400)})
    model = TrinaryBoostingRegressor(max_iter=20).fit(table, np.sin(np.arange(400) / 60) + table["number"])
    rows = table.iloc[::40]
    typed = [[f"{day:%Y-%m-%d}", number] for day, number in rows.itertuples(index=False)]
    found = open_what_if(model).run(TYPE, typed)
    np.testing.assert_allclose([json.loads(value)[0] for value in found], model.predict(rows), **CLOSE)


def test_any_class_can_be_explained(open_what_if: Any) -> None:
    model, rows = boosted("three classes"), ROWS.head(5)
    page = open_what_if(model, rows=rows)
    for k, label in enumerate(model.classes_):
        page.run(
            "const select = document.getElementById('class'); select.value = arguments[0];"
            "select.dispatchEvent(new Event('change', { bubbles: true }))",
            k,
        )
        shown = json.loads(page.one("#bars").get_attribute("data-value"))
        [why] = model.explain(rows.head(1), class_of_interest=label)
        assert shown["value"] == pytest.approx(why.value, rel=1e-12, abs=1e-12)
        assert label in page.text("#scale")


def test_page_says_in_how_many_trees_a_branch_is_lacking_and_predicts_as_without_it(
    open_what_if: Any,
) -> None:
    model, rows = boosted("two classes"), HOLED[HOLED["number"].isna()].head(10)
    page = open_what_if(model, rows=rows, max_nodes=model.n_nodes_)
    with pytest.warns(UngrownBranchWarning):
        expected = predictions(model.detach(), rows)
    for (value, _, warning), right in zip(page.run(PICK, list(range(1, 11))), expected, strict=True):
        np.testing.assert_allclose(json.loads(value), right, **CLOSE)
        assert warning.startswith("In ")
        assert "of 12 trees, the branch for these missing values is not in this page" in warning
    page = open_what_if(model, rows=rows)
    page.click("#all-missing")
    assert "was never grown, so its node predicts, as in predict" in page.text("#prediction .warn")


def test_missing_columns_are_named_with_what_they_leave_open(open_what_if: Any) -> None:
    page = open_what_if(boosted("two classes"), rows=TABLE.head(1))
    assert not page.one("#missing").is_displayed()
    page.click(page.cell(0).find_element("css selector", "button"))
    assert page.text("#missing h2") == "Missing (1)"
    assert "leave the log-odds of low a standard deviation of" in page.text("#missing p")
    page.wait_for("values tried", lambda: "could be between" in page.text("#missing li"))
    assert "number is missing" in page.texts("#bars .name")
    assert "±" in page.text("#scale")


@pytest.mark.parametrize("name", ["two classes", "forest", "poisson"])
def test_values_are_tried_for_one_of_many_missing_columns_as_by_the_model(
    open_what_if: Any, name: str
) -> None:
    model = MODELS[name]()
    rows = HOLED[HOLED.isna().sum(axis=1) >= 2].head(3)
    labels = {"city": sorted(TABLE["city"].unique()), "size": ["S", "M", "L"], "code": [3, 7, 11]}
    page = open_what_if(model, rows=rows)
    n_compared = 0
    for number in range(len(rows)):
        page.run(PICK, [number + 1])
        page.wait_for("values tried", lambda: page.run(ALL_TRIED))
        for column, *texts in page.run(TRIED):
            row, (values, found) = rows.iloc[[number]], map(json.loads, texts)
            assert found["short"] == 0
            shown = [labels[column][int(value)] for value in values] if column in labels else values
            tried = pd.concat([row] * len(shown)).assign(**{column: shown})
            expected = predictions(model, tried)[:, -1]
            np.testing.assert_allclose(found["found"], expected, **CLOSE)
            n_compared += 1
    assert n_compared > 4


def test_page_says_which_of_the_values_tried_it_has_no_branches_for(open_what_if: Any) -> None:
    model, rows = boosted("two classes"), HOLED[HOLED.isna().sum(axis=1) >= 2].head(1)
    page = open_what_if(model, rows=rows, max_nodes=model.n_nodes_)
    page.wait_for("values tried", lambda: page.run(ALL_TRIED))
    assert any(
        "of them need branches that are not in this page" in text for text in page.texts("#missing li")
    )


# The bars


def test_bars_go_from_the_base_value_to_f_of_x_red_up_and_blue_down(open_what_if: Any) -> None:
    page = open_what_if(boosted("regression"), rows=TABLE.head(3))
    names = page.texts("#bars .name")
    assert (names[0], names[-1]) == ("base value", "f(x)")
    assert sorted(name.split(" = ")[0] for name in names[1:-1]) == sorted(TABLE.columns)
    sizes = page.run(
        "const { columns } = JSON.parse(document.getElementById('bars').dataset.value);"
        "return [...document.querySelectorAll('#bars li:not(.mark)')].map((line) => columns[line.dataset.key].change)"
    )
    assert [abs(size) for size in sizes] == sorted((abs(size) for size in sizes), reverse=True)
    classes = page.run(
        "return [...document.querySelectorAll('#bars li:not(.mark)')].map((line) => line.className)"
    )
    assert classes == ["up" if size > 0 else "down" for size in sizes]
    colours = page.run(
        "return ['up', 'down'].map((name) => { const probe = document.createElement('li'); probe.className = name;"
        "probe.innerHTML = '<div class=bar></div>'; document.getElementById('bars').append(probe);"
        "const colour = getComputedStyle(probe.firstChild).backgroundColor; probe.remove(); return colour; })"
    )
    assert colours == ["rgb(255, 0, 81)", "rgb(0, 139, 251)"]


def test_many_columns_are_summed_up_until_all_are_asked_for(open_what_if: Any) -> None:
    X = np.random.default_rng(0).normal(size=(300, 30))
    page = open_what_if(
        TrinaryBoostingRegressor(max_iter=60, min_samples_leaf=3).fit(X, X.sum(axis=1)), rows=X[:1]
    )
    few = page.texts("#bars .name")
    assert few[-2].endswith("other columns")
    page.click("#all-bars")
    assert len(page.texts("#bars .name")) > len(few)


# The trees


@pytest.mark.parametrize("make", [lambda: boosted("three classes"), lambda: grown("two classes")])
def test_each_tree_shows_the_path_of_the_row(open_what_if: Any, make: Any) -> None:
    model, rows = make(), TABLE.head(3)
    page = open_what_if(model, rows=rows)
    page.click("#tab-trees")
    ends = model.apply(rows)[0]
    for number in (0, 4, len(ends) - 1):
        page.run(
            "const slider = document.getElementById('tree-slider'); slider.value = arguments[0];"
            "slider.dispatchEvent(new Event('input', { bubbles: true }))",
            number,
        )
        page.settle(2)
        assert page.text("#title").startswith(f"tree {number} of {len(ends)}, ")
        on_path = page.run(
            "return [...document.querySelectorAll('g.node.on')].map((g) => Number(g.dataset.key))"
        )
        assert ends[number] in on_path
        assert f"tree {number}" in page.text("#why h2")
    page.press("f", "U")  # the keys of the tree
    page.click_box(0)
    assert "Training rows" in page.text("#card")


# Safety


@pytest.fixture(scope="module")
def nasty() -> Any:
    """A model whose names, categories and classes look like markup, and rows."""
    generator = np.random.default_rng(0)
    table = pd.DataFrame({name: generator.choice(NASTY, 300) for name in NASTY[:3]})
    table[NASTY[4]] = generator.normal(size=300)
    y = np.where(table[NASTY[4]] + (table[NASTY[0]] == NASTY[1]) > 0, NASTY[1], NASTY[0])
    return TrinaryBoostingClassifier(max_iter=8, min_samples_leaf=3).fit(table, y), table.set_axis(
        NASTY * 50
    ).head(4)


def test_names_are_text_and_nothing_is_requested(open_what_if: Any, nasty: Any) -> None:
    model, rows = nasty
    page = open_what_if(model, rows=rows)
    page.click("#all-missing")
    page.click("#tab-trees")
    page.settle(2)
    assert page.run("return window.pwned") is None
    assert page.run("return document.querySelectorAll('img, iframe, b:not(#missing b)').length") == 0
    assert page.run("return document.querySelectorAll('script').length") == 3
    assert ["<img src=x onerror" in text for text in page.texts("#class option")] == [False, True]
    assert page.requests() == [page.url]


def test_policy_blocks_what_is_not_of_the_page(open_what_if: Any) -> None:
    page = open_what_if(boosted("regression"))
    page.expected = ("Content Security Policy", "Executing inline")
    page.run(
        "const script = document.createElement('script'); script.textContent = 'window.pwned = 1';"
        "document.body.append(script)"
    )
    page.settle()
    assert page.run("return window.pwned") is None


# Keyboards, screens and paper


def test_tabs_trees_and_bars_need_no_mouse(open_what_if: Any) -> None:
    from selenium.webdriver import Keys

    page = open_what_if(boosted("regression"), rows=TABLE.head(2))
    page.run("document.getElementById('tab-what-if').focus()")
    page.press(Keys.ARROW_RIGHT)
    assert page.run("return document.activeElement.id") == "tab-trees"
    assert page.one("#canvas").is_displayed()
    page.press(Keys.TAB, Keys.ARROW_UP)  # the number of the tree
    page.settle(2)
    assert page.text("#title").startswith("tree 1 of 12")
    page.run("document.getElementById('tab-trees').focus()")
    page.press(Keys.ARROW_LEFT)
    assert not page.one("#canvas").is_displayed()
    page.run("document.querySelector('#bars button').focus()")
    page.press(Keys.ENTER)
    page.settle(2)
    assert page.run("return document.activeElement.closest('.cell') !== null")


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1300, 820)])
def test_page_fits_the_screen(open_what_if: Any, screenshots: Any, width: int, height: int) -> None:
    page = open_what_if(boosted("three classes"), rows=ROWS.head(5), width=width, height=height)
    for dark in (False, True):
        for tab in ("what-if", "trees"):
            page.emulate(dark=dark)
            page.click(f"#tab-{tab}")
            page.screenshot(screenshots / f"what_if_{width}_{tab}_{'dark' if dark else 'light'}.png")
            over = "const { scrollWidth, clientWidth } = document.documentElement; return scrollWidth - clientWidth"
            assert page.run(over) <= 0
    page.click("#tab-what-if")
    if width == 390:  # the prediction stays in sight where the row is changed
        page.run("document.getElementById('all-missing').scrollIntoView({ block: 'center' })")
        assert page.run("return document.getElementById('prediction').getBoundingClientRect().top") == 0


def test_page_prints_its_contributions_and_its_tree(open_what_if: Any, screenshots: Any) -> None:
    page = open_what_if(boosted("two classes"), rows=ROWS.head(2))
    for tab in ("what-if", "trees"):
        page.click(f"#tab-{tab}")
        printed = base64.b64decode(page.command("Page.printToPDF", {"printBackground": True})["data"])
        (screenshots / f"what_if_{tab}.pdf").write_bytes(printed)
        assert printed.startswith(b"%PDF-")
        assert len(printed) > 5_000
    page.settle()
    assert page.view()[2] > 0.1  # the view of the tree is back


@pytest.mark.filterwarnings("ignore::tritree.IdentifierWarning")
def test_column_that_was_left_out_is_not_called_missing(open_what_if: Any) -> None:
    table = pd.DataFrame({"size": np.arange(60.0), "name": [f"owner {i}" for i in range(60)]})
    table["kind"] = np.resize(["a", "b"], 60)
    model = TrinaryBoostingRegressor(max_iter=3, min_samples_leaf=5).fit(table, table["size"])
    page = open_what_if(model, rows=table.head(1).assign(kind=None))
    assert "Missing (1)" in page.run("return document.getElementById('missing').textContent")
