"""Nothing leaves the page, and no name or label in it is anything but text."""

from __future__ import annotations

import html
import re
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.utils._testing import ignore_warnings

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor
from tritree.inspection.formatting import as_label

NASTY = [
    "</script><script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    '"><svg onload=window.pwned=1>',
    "'-window.pwned=1-'",
    "${window.pwned=1}",
    "javascript:window.pwned=1",
    "]]>",
    "<!--",
    "</noscript><script>window.pwned=1</script>",
    "\u2028window.pwned=1\u2029",
    "$data",
    "$$",
    "__proto__",
    "constructor",
    "toString",
    "&lt;b&gt;",
    "\\u003cb\\u003e",
    "{{window.pwned=1}}",
]

# opens every part of the page, node by node and cell by cell
USE_ALL = """
for (const id of ["unfold", "fold", "fit", "larger", "smaller", "theme", "all-missing", "reset"])
  document.getElementById(id).click();
for (const { dataset } of document.querySelectorAll("g.node")) {
  const node = document.querySelector(`g.node[data-key="${dataset.key}"]`);
  node?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
}
for (const field of document.querySelectorAll("select"))
  for (const option of field.options) {
    field.value = option.value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }
for (const button of document.querySelectorAll(".cell button, #path button")) button.click();
const search = document.getElementById("search");
for (const wanted of arguments[0] || []) {
  search.value = wanted;
  search.dispatchEvent(new Event("input", { bubbles: true }));
  search.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
}
"""


def nasty_tree():
    """A tree whose columns, categories and classes are all called something nasty, and rows called so too."""
    rng = np.random.default_rng(0)
    n, k = 600, len(NASTY)
    codes = rng.integers(0, k, size=(n, k))
    table = pd.DataFrame({name: np.array(NASTY)[codes[:, j]] for j, name in enumerate(NASTY[:3])})
    for name in NASTY[3:]:
        table[name] = rng.normal(size=n)
    classes = np.array(NASTY)[codes[:, 0]]
    model = TrinaryTreeClassifier(max_depth=2, min_samples_leaf=5).fit(table, classes)
    rows = table.head(k).set_axis(NASTY)
    return model, rows


@pytest.fixture(scope="module")
def nasty():
    """The tree, its rows and its page."""
    model, rows = nasty_tree()
    return model, rows, model.to_html(rows=rows, max_nodes=300)


def test_no_request_leaves_the_page(open_page, small_source):
    page = open_page(small_source)
    page.open_unused()
    page.run(USE_ALL)
    page.command("Page.printToPDF")
    page.settle()
    requests = page.requests()
    assert page.url in requests  # so the log is a log
    assert [url for url in requests if url != page.url and not url.startswith("data:")] == []


def test_source_names_no_address_but_that_of_svg(small_source):
    assert set(re.findall(r"\w+://[^\s\"'`<)]*", small_source)) == {"http://www.w3.org/2000/svg"}
    assert (
        re.findall(r"\bsrc\s*=|srcset|@import|url\(|<link(?! rel=\"icon\" href=\"data:,\">)", small_source)
        == []
    )
    assert re.findall(r"fetch\(|XMLHttpRequest|sendBeacon|WebSocket|EventSource|import\(", small_source) == []


def test_page_can_ask_for_nothing(open_page, small_source):
    """Even a script that did run could send nothing away."""
    page = open_page(small_source)
    page.expected = ("Content Security Policy",)
    blocked = page.driver.execute_async_script(
        "const done = arguments[0];"
        "document.addEventListener('securitypolicyviolation', (event) => done(event.effectiveDirective));"
        "fetch('http://127.0.0.1:9/').catch(() => {})"
    )
    assert blocked == "connect-src"


def test_nasty_names_do_nothing(open_page, nasty):
    page = open_page(nasty[2])
    page.open_unused()
    page.run(USE_ALL, NASTY)
    page.settle()
    assert page.run("return window.pwned") is None
    assert page.run("return document.title") == page.text("#title")
    # what the page is made of, and nothing else
    assert page.run("return document.querySelectorAll('script').length") == 2
    assert page.all("img, iframe, object, embed, form, a, b") == []
    handlers = (
        "return [...document.querySelectorAll('*')]"
        ".filter((element) => [...element.attributes].some((a) => a.name.startsWith('on'))).length"
    )
    assert page.run(handlers) == 0
    assert page.run("return Object.prototype.pwned === undefined && ({}).polluted === undefined")


def test_nasty_names_are_shown_as_they_are(open_page, nasty):
    page = open_page(nasty[2])
    page.open_unused()
    labels = dict(
        page.run(
            "return [...document.querySelectorAll('.cell')]"
            ".map((cell) => [Number(cell.dataset.column), cell.querySelector('label').textContent])"
        )
    )
    assert [labels[j] for j in range(len(NASTY))] == NASTY
    assert page.texts("#rows option")[1:] == [f"row {name}" for name in NASTY]
    categories = page.texts("#cell-0 option")
    assert categories == ["(missing)", *sorted(NASTY), "(not seen in training)"]
    assert page.data()["classes"] == [as_label(label, 20) for label in sorted(NASTY)]
    assert page.text("#prediction .value") in page.data()["classes"]


def test_nasty_search_finds_the_name(open_page, nasty):
    page = open_page(nasty[2])
    for wanted in (nasty[0].to_dict()["nodes"][0]["split"]["name"], NASTY[0]):
        page.search(wanted)
        assert re.fullmatch(r"1 of \d+", page.text("#found"))


def test_page_without_scripts_shows_the_text_and_no_markup_of_names(open_page, nasty):
    page = open_page(nasty[2])
    page.command("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.driver.get(page.url)
        deadline = time.monotonic() + 20  # a busy machine may be late with it
        names: set[str] = set()
        while "PRE" not in names and time.monotonic() < deadline:
            snapshot = page.command("DOMSnapshot.captureSnapshot", {"computedStyles": []})
            names = {
                snapshot["strings"][name]
                for document in snapshot["documents"]
                for name in document["nodes"]["nodeName"]
            }
    finally:
        page.command("Emulation.setScriptExecutionDisabled", {"value": False})
    assert "PRE" in names  # so the text is there
    assert names.isdisjoint({"IMG", "IFRAME", "B"})
    assert sum(text.strip().startswith("trinary tree, ") for text in snapshot["strings"]) >= 1


def test_policy_of_the_page_blocks_handlers_that_got_in(open_page, small_source):
    page = open_page(small_source)
    page.expected = ("Content Security Policy",)
    page.run(
        """
        window.blocked = [];
        document.addEventListener("securitypolicyviolation", (event) => window.blocked.push(event.sample));
        const place = document.createElement("div");
        document.body.append(place);
        place.innerHTML = `<img src="data:,x" onerror="window.pwned = 1"><svg onload="window.pwned = 1"></svg>
          <button onclick="window.pwned = 1"></button><a href="javascript:window.pwned = 1"></a>`;
        for (const element of place.querySelectorAll("button, a")) element.click();
        """
    )
    page.settle()
    assert page.run("return window.pwned") is None
    assert len(page.run("return window.blocked")) >= 3  # each but that of the svg, which never loads


def test_policy_of_the_page_blocks_scripts_and_styles_that_got_in(open_page, small_source):
    page = open_page(small_source)
    page.expected = ("Content Security Policy", "Executing inline", "Applying inline", "unsafe-eval")
    page.run(
        "const script = document.createElement('script'); script.textContent = 'window.pwned = 1';"
        "const style = document.createElement('style'); style.textContent = 'body { display: none }';"
        "document.body.append(script, style)"
    )
    page.settle()
    assert page.run("return window.pwned") is None
    assert page.run("return getComputedStyle(document.body).display") == "flex"
    # from a timer, because the policy does not bind what the driver itself runs
    outcome = page.driver.execute_async_script(
        "const done = arguments[0]; setTimeout(() => { try { done(eval('1')) } catch { done('blocked') } })"
    )
    assert outcome == "blocked"


@ignore_warnings(category=UserWarning)
def test_nasty_names_do_nothing_in_a_notebook(open_page, nasty):
    rows = nasty[1]
    name = NASTY[1]
    model = TrinaryTreeRegressor(max_depth=1, categorical_features=[name, *NASTY[:1], NASTY[2]])
    model.fit(pd.concat([rows] * 20), np.arange(20 * len(rows)) % 7)
    shown = model._repr_html_()
    assert html.escape(name) in shown  # in the title of the frame, among the parameters
    page = open_page(f"<!DOCTYPE html><meta charset=utf-8><body>{shown}</body>")
    assert page.run("return document.querySelectorAll('img, script').length") == 0
    page.driver.switch_to.frame(page.one("iframe"))
    assert page.run("return window.pwned") is None
    assert page.run("return document.querySelectorAll('img').length") == 0
