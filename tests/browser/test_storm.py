"""Whatever a reader does in whatever order, the page stays whole."""

from __future__ import annotations

import pytest

STEPS = 50

# does something at random in each frame, and returns what was wrong with the page afterwards
STORM = """
const [seed, steps, done] = arguments, problems = [], trail = [];
let state = seed;
const random = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
const pick = (list) => list[Math.floor(random() * list.length)];
const all = (selector) => [...document.querySelectorAll(selector)];
const send = (element, kind, type, more = {}) => element?.dispatchEvent(new kind(type, { bubbles: true, cancelable: true, ...more }));
const tree = document.getElementById("tree"), search = document.getElementById("search"), card = document.getElementById("card");
const keys = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Enter", "m", "M", "U", "f", "+", "-", "Escape"];
const names = JSON.parse(document.getElementById("data").textContent).nodes.map((node) => node.name);
window.addEventListener("error", (event) => problems.push(event.message));

const deeds = {
  key: () => send(document.activeElement, KeyboardEvent, "keydown", { key: pick(keys) }),
  focus: () => document.querySelector('g.node[tabindex="0"]')?.focus(),
  click: () => send(pick(all("g.node")), MouseEvent, "click"),
  twice: () => send(pick(all("g.node")), MouseEvent, "dblclick"),
  pill: () => send(pick(all(".pill")), MouseEvent, "click"),
  path: () => pick(all("#path button"))?.click(),
  button: () => pick(all("header button, .all button, .cell button, #card button")).click(),
  wheel: () => send(tree, WheelEvent, "wheel", { deltaY: 800 * (random() - 0.5), clientX: 300, clientY: 200 }),
  search: () => {
    search.value = pick(["e", "red", "1", "12", "nowhere", ""]);
    send(search, Event, "input");
    for (let n = 3 * random(); n > 0; n--) send(search, KeyboardEvent, "keydown", { key: pick(["Enter", "Enter", "Escape"]) });
  },
  cell: () => {
    const field = pick(all(".cell select, .cell input"));
    field.value = field.options ? pick([...field.options]).value : 6 * (random() - 0.5);
    send(field, Event, "input");
  },
};

function look(wasInTree) {
  const chosen = all("g.node.chosen"), shown = all("g.node").map((node) => node.dataset.key);
  const claims = {
    "one node can be tabbed to": all('g.node[tabindex="0"]').length === 1,
    "each node is drawn once": shown.length > 0 && new Set(shown).size === shown.length,
    "the view is finite": !/NaN|Infinity/.test(document.getElementById("world").getAttribute("transform")),
    "the card and its node go together": card.hidden ? !chosen.length
      : chosen.length === 1 && card.querySelector("h2").textContent.split(" ")[1] === names[chosen[0].dataset.key],
    "the focus stays in the tree": !wasInTree || document.activeElement !== document.body,
  };
  for (const [claim, holds] of Object.entries(claims)) if (!holds) problems.push(`not true after ${trail.slice(-5)}: ${claim}`);
}

function step() {
  const deed = pick(Object.keys(deeds)), wasInTree = document.getElementById("nodes").contains(document.activeElement);
  trail.push(deed);
  deeds[deed]();
  requestAnimationFrame(() => requestAnimationFrame(() => {
    look(wasInTree && deed !== "search");
    if (trail.length < steps && problems.length < 5) step();
    else done(problems);
  }));
}
step();
"""  # noqa: E501


@pytest.mark.parametrize("seed", [1, 2])
def test_page_stays_whole_whatever_is_done_in_it(open_page, small_source, seed):
    page = open_page(small_source)
    assert page.driver.execute_async_script(STORM, seed, STEPS) == []
