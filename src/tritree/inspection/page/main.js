// What is shown of the tree, and what the reader does with it.

const tree = JSON.parse(document.getElementById("data").textContent);
const { nodes, columns } = tree;
const AT_FIRST = 15; // nodes that are unfolded at first

for (const [number, node] of nodes.entries()) {
  node.number = number;
  for (const branch of BRANCHES) if (typeof node[branch] === "number") Object.assign(nodes[node[branch]], { above: number, branch });
}
/** How many nodes hang below each, itself included. A child comes after its parent. */
const sizes = nodes.map(() => 1);
for (let n = nodes.length - 1; n > 0; n--) sizes[nodes[n].above] += sizes[n];
const sizeOf = (...children) => children.reduce((sum, child) => sum + (typeof child === "number" ? sizes[child] : 0), 0);

const state = { daughters: new Set(), thirds: new Set(), way: new Set(), found: [], hits: new Set(), at: -1, chosen: 0, searched: new Set() };
/** What the reader has folded although the row's way, or what was searched for, leads there. */
const folded = { daughters: new Set(), third: new Set() };

/** Unfold daughters from the root on, as many as one can take in at a glance. */
function openFirst() {
  let shown = 1;
  for (const queue = [0]; queue.length; ) {
    const number = queue.shift(), node = nodes[number];
    if (!node.split || shown + 2 > AT_FIRST) continue;
    state.daughters.add(number);
    shown += 2;
    for (const branch of ["left", "right"]) if (typeof node[branch] === "number") queue.push(node[branch]);
  }
}

const isLed = (child) => state.way.has(child) || state.searched.has(child);
const isOpen = (number) => state.daughters.has(number) || (!folded.daughters.has(number) && (isLed(nodes[number].left) || isLed(nodes[number].right)));
const thirdOpen = (number) => state.thirds.has(number) || (!folded.third.has(number) && isLed(nodes[number].third));
const showLed = () => Object.values(folded).forEach((numbers) => numbers.clear());

/** Return the items to draw, top down: nodes, and ghosts for branches that are not here. */
function itemsShown() {
  const items = [makeItem(0, null, "")];
  for (let i = 0; i < items.length; i++) {
    const item = items[i], { node } = item;
    if (item.ghost || !node.split) continue;
    const add = (branch) => {
      const child = makeItem(node[branch], item, branch);
      item.children[branch] = child;
      items.push(child);
    };
    if (isOpen(node.number)) {
      add("left");
      add("right");
    } else {
      item.below = sizeOf(node.left, node.right) || 2;
    }
    if (node.third === null) continue;
    const grown = typeof node.third === "number";
    if (grown && thirdOpen(node.number)) {
      add("third");
      continue;
    }
    item.hasPill = true;
    item.pill = grown ? "missing ▸" : node.third === "ungrown" ? "not grown" : "not here";
    item.pillTitle = grown ? `${node.said.third}: ${sizes[node.third]} nodes` : `${node.said.third}: ${NOT_HERE[node.third]}`;
  }
  if (!items.some((item) => item.current)) makeCurrent(items);
  return items;
}

/** Go back from a node that is no longer shown to one that is, so that the keyboard has a place to start from. */
function makeCurrent(items) {
  const shown = new Map(items.map((item) => [item.key, item]));
  while (!shown.has(String(state.chosen))) state.chosen = nodes[state.chosen].above;
  shown.get(String(state.chosen)).current = true;
  document.getElementById("card").hidden = true;
}

const NOT_HERE = {
  ungrown: tree.detached ? "was never grown, its node answers" : `not grown yet; predicting a row that needs it grows it, ${tree.words.owner}.${tree.words.grow} ${tree.words.grows}`,
  "left out": "left out of this page; a larger max_nodes shows more",
};

function makeItem(child, above, branch) {
  const place = { above, branch, children: {}, said: "all rows", condition: "" };
  if (above) Object.assign(place, { said: above.node.said[branch], condition: branch === "third" ? "missing" : above.node.conditions[branch] });
  if (typeof child !== "number") {
    const ghost = child === "ungrown" ? (tree.detached ? "was not grown" : "not grown yet") : "not in this page";
    return { ...place, key: `${above.key}.${branch}`, node: above.node, ghost, remedy: NOT_HERE[child], label: `${place.said}: ${NOT_HERE[child]}` };
  }
  const node = nodes[child];
  const item = { ...place, key: String(child), node, on: state.way.has(child) || (child === 0), canOpen: Boolean(node.split) };
  item.current = state.chosen === child;
  item.chosen = item.current && !document.getElementById("card").hidden;
  item.found = state.hits.has(child);
  item.label = `${place.said}: ${countedRows(node.rows)}, ${node.shown}${node.split ? `, asks ${columns[node.split.column].shown}` : ", leaf"}`;
  return item;
}

const drawing = new Drawing(tree, { select: (item) => choose(item), toggle });
const panel = new Panel(tree, { change: follow, focus: goTo });

function redraw(anchor) {
  drawing.show(itemsShown(), anchor);
}

/** Lead a row through the tree, and show its way and its end. */
function follow(row) {
  const found = walk(nodes, row);
  state.way = new Set(found.turns.map((turn) => turn.to).filter((to) => to !== null));
  panel.answer(found);
  showLed();
  redraw("0");
}

function toggle(item, what) {
  const { number } = item.node;
  if (item.ghost || !item.node.split) return;
  if (what === "third" && typeof item.node.third !== "number") return choose(item);
  const open = what === "third" ? state.thirds : state.daughters;
  const isShown = what === "third" ? thirdOpen(number) : isOpen(number);
  keepSearched();
  if (isShown) (open.delete(number), folded[what].add(number));
  else (open.add(number), folded[what].delete(number));
  redraw(item.key);
}

/** Leave unfolded what a search has unfolded. */
function keepSearched() {
  for (const number of state.searched) if (number) (nodes[number].branch === "third" ? state.thirds : state.daughters).add(nodes[number].above);
  state.searched.clear();
}

// A node's card

function choose(item) {
  state.chosen = item.node.number;
  showCard(item);
  redraw(item.key);
  drawing.paintNow(); // so that the second click of two finds the node
  placeCard(item.key);
}

/** Choose a node and bring it into sight. */
function goTo(number) {
  choose({ key: String(number), node: nodes[number] });
  drawing.reveal(String(number));
  placeCard(String(number));
}

/** Put the card where it does not hide its node; if there is no such place, the tree makes room. */
function placeCard(key) {
  const card = document.getElementById("card");
  for (const aside of [false, true]) {
    card.classList.toggle("aside", aside);
    if (!drawing.isBehind(key, card)) return;
  }
  card.classList.remove("aside");
  drawing.lift(key, card.offsetTop - 12);
}

function showCard(item) {
  const { node } = item, card = document.getElementById("card");
  const close = html("button", { type: "button", className: "close", textContent: "✕", "aria-label": "Close" });
  close.addEventListener("click", hideCard);
  const lines = [["Training rows", counted(node.rows)]];
  const told = (number, digits) => (number === null ? "too large to tell" : written(number, digits));
  if (node.weight === null || Math.abs(node.weight - node.rows) > 1e-9 * node.rows) lines.push(["Weight", told(node.weight, 6)]);
  const value = tree.words.value;
  lines.push([tree.classes ? "Class" : value[0].toUpperCase() + value.slice(1), node.shown]);
  if (node.loss !== undefined) lines.push([`Loss (${tree.loss})`, told(node.loss, 4)]);
  if (node.split?.gain !== undefined) lines.push([`Gain (${tree.loss})`, told(node.split.gain, 4)]);
  lines.push(["Depth", String(node.depth)]);
  const list = html("dl", {}, ...lines.flatMap(([name, value]) => [html("dt", { textContent: name }), html("dd", { textContent: value })]));
  card.replaceChildren(close, html("h2", { textContent: node.split ? `Node ${node.name}` : `Leaf ${node.name}` }));
  card.append(html("p", { textContent: whereIs(node) }));
  if (item.ghost || (node.third !== null && typeof node.third !== "number")) card.append(html("p", { className: "warn", textContent: `${item.ghost ? item.said : node.said.third}: ${item.remedy || NOT_HERE[node.third]}.` }));
  card.append(list, ...distribution(node), ...splitWords(node));
  card.hidden = false;
}

function hideCard() {
  const card = document.getElementById("card");
  if (card.contains(document.activeElement)) (document.activeElement.blur(), (drawing.refocus = true));
  card.hidden = true;
  redraw(String(state.chosen));
}

/** Return a number as text, with an exponent where it is far from 1. */
function written(number, digits) {
  if (!Number.isFinite(number)) return "too large to tell";
  const size = Math.abs(number);
  if (size && (size < 1e-5 || size >= 1e15)) return number.toExponential(digits - 1).replace("e+", "e");
  return number.toLocaleString("en-US", { maximumSignificantDigits: digits });
}

/** Return how a node is reached, from the root on. */
function whereIs(node) {
  const said = [];
  for (let here = node; here.above !== undefined; here = nodes[here.above]) said.unshift(nodes[here.above].said[here.branch]);
  return said.join(", then ") || "All rows";
}

function distribution(node) {
  if (tree.classes) return [panel.shares(node.value)];
  if (!node.spread) return deviation(node);
  const picture = svg("svg", { viewBox: "0 0 300 74", preserveAspectRatio: "none", role: "img", "aria-label": "Responses of the training rows" }, svg("path", { class: "bar", d: barsPath(node.spread, 0, 0, 300, 74) }));
  picture.firstChild.style.fill = "var(--bar)";
  const ends = html("div", { className: "ends" }, html("span", { textContent: tree.ends[0] }), html("span", { textContent: "response" }), html("span", { textContent: tree.ends[1] }));
  return [picture, ends];
}

/** Return how far the responses are from their mean, where their bins went with the training rows. */
function deviation({ loss, weight }) {
  const told = typeof loss === "number" && weight > 0;
  return told ? [html("p", { textContent: `The responses deviate by ${written(Math.sqrt(loss / weight), 4)} from their mean; how they are spread went with the training rows.` })] : [];
}

function splitWords(node) {
  if (!node.split) return [];
  const words = ["left", "right"].map((branch) => `${branch === "left" ? "Left" : "Right"}: ${node.full[branch]}`);
  if (node.third !== null) words.push(`Third: ${node.said.third}`);
  if (node.stand_ins) words.push(node.stand_ins);
  return words.map((textContent) => html("p", { textContent }));
}

// Search

const search = document.getElementById("search");
/** Return what a search looks at in a node: not the words between names, such as "takes over". */
const searchedIn = ({ name, shown, split, full }) => (split ? [name, shown, full.left, full.right, ...split.surrogates.map((other) => columns[other.column].name)] : [name, shown]);
const searchable = nodes.map((node) => searchedIn(node).join("\n").toLowerCase());

function find() {
  const wanted = search.value.trim().toLowerCase(), isNamed = (n) => nodes[n].name === wanted;
  state.found = wanted ? [...nodes.keys()].filter((n) => searchable[n].includes(wanted)).sort((a, b) => isNamed(b) - isNamed(a)) : [];
  state.hits = new Set(state.found);
  state.at = -1;
  state.searched.clear();
  document.getElementById("found").textContent = wanted ? `${state.found.length} found` : "";
  redraw("0");
}

/** Go to the next node found, unfolding what hides it. */
function findNext(step) {
  if (!state.found.length) return;
  state.at = (state.at + step + state.found.length) % state.found.length;
  const number = state.found[state.at];
  state.searched.clear();
  showLed();
  for (let here = number; here !== undefined; here = nodes[here].above) state.searched.add(here);
  document.getElementById("found").textContent = `${state.at + 1} of ${state.found.length}`;
  goTo(number);
}

search.addEventListener("input", find);
search.addEventListener("keydown", (event) => {
  if (event.key === "Enter") findNext(event.shiftKey ? -1 : 1);
  if (event.key !== "Escape") return;
  keepSearched();
  search.value = "";
  find();
  search.blur();
  drawing.refocus = true;
});

// Keys

/** Return the node that an arrow key leads to, as they are drawn: third branches follow their node to the right. */
function neighbour(key) {
  const node = nodes[state.chosen], kin = (number) => (typeof number === "number" ? number : undefined);
  const thirdOf = (number) => (number !== undefined && thirdOpen(number) ? kin(nodes[number].third) : undefined);
  if (key === "ArrowDown") return node.split ? kin(node.left) ?? kin(node.right) : undefined;
  if (key === "ArrowRight" && thirdOf(node.number) !== undefined) return node.third;
  if (key === "ArrowLeft" && node.branch === "third") return node.above;
  let head = node;
  while (head.branch === "third") head = nodes[head.above];
  if (head.above === undefined) return undefined;
  if (key === "ArrowUp") return head.above;
  if (key === "ArrowRight") return head.branch === "left" ? kin(nodes[head.above].right) : undefined;
  let last = head.branch === "right" ? kin(nodes[head.above].left) : undefined;
  while (thirdOf(last) !== undefined) last = thirdOf(last);
  return last;
}

function walkTo(number) {
  if (number === undefined) return;
  goTo(number);
  drawing.paintNow();
  drawing.made.get(String(number))?.focus({ preventScroll: true });
}

document.getElementById("tree").addEventListener("keydown", (event) => {
  const item = { key: String(state.chosen), node: nodes[state.chosen] };
  if (event.key === "ArrowDown" && item.node.split && !isOpen(state.chosen)) toggle(item, "daughters");
  if (event.key.startsWith("Arrow")) walkTo(neighbour(event.key));
  else if (event.key === "Enter" || event.key === " ") (toggle(item, "daughters"), walkTo(state.chosen));
  else if (event.key === "m") (toggle(item, "third"), walkTo(state.chosen));
  else return;
  event.preventDefault();
});
document.addEventListener("keydown", (event) => {
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
  const keys = { "/": () => search.focus(), "+": () => drawing.zoom(1.25), "=": () => drawing.zoom(1.25), "-": () => drawing.zoom(0.8), f: () => drawing.fit(), F: () => drawing.fit(), M: foldThirds, U: unfoldAll, Escape: hideCard };
  if (!keys[event.key]) return;
  keys[event.key]();
  event.preventDefault();
});

// Buttons, mouse and fingers

function foldThirds() {
  const button = document.getElementById("fold"), open = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", open);
  state.thirds = new Set(open ? nodes.keys() : []);
  redraw("0");
}
function unfoldAll() {
  const button = document.getElementById("unfold"), open = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", open);
  state.daughters = new Set(open ? nodes.keys() : []);
  if (!open) openFirst();
  redraw("0");
}
document.getElementById("fold").addEventListener("click", foldThirds);
document.getElementById("fold").hidden = nodes.every((node) => node.third === null);
document.getElementById("unfold").addEventListener("click", unfoldAll);
document.getElementById("fit").addEventListener("click", () => drawing.fit());
document.getElementById("larger").addEventListener("click", () => drawing.zoom(1.25));
document.getElementById("smaller").addEventListener("click", () => drawing.zoom(0.8));
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});

const area = document.getElementById("tree"), fingers = new Map();
let dragged = 0; // pixels since a finger came down: a hand that trembles still clicks
area.addEventListener("wheel", (event) => {
  event.preventDefault();
  const { left, top } = area.getBoundingClientRect();
  drawing.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), event.clientX - left, event.clientY - top);
}, { passive: false });
area.addEventListener("pointerdown", (event) => {
  if (event.button) return;
  if (!fingers.size) dragged = 0;
  fingers.set(event.pointerId, event);
});
area.addEventListener("click", (event) => {
  if (dragged > 5) event.stopPropagation();
}, true);
window.addEventListener("pointermove", (event) => {
  const before = fingers.get(event.pointerId);
  if (!before) return;
  dragged += Math.hypot(event.clientX - before.clientX, event.clientY - before.clientY);
  if (fingers.size === 1) {
    drawing.move(event.clientX - before.clientX, event.clientY - before.clientY);
    area.classList.add("dragging");
  } else {
    const other = [...fingers.values()].find((finger) => finger.pointerId !== event.pointerId);
    const apart = (finger) => Math.hypot(finger.clientX - other.clientX, finger.clientY - other.clientY) || 1;
    const { left, top } = area.getBoundingClientRect();
    drawing.zoom(apart(event) / apart(before), (event.clientX + other.clientX) / 2 - left, (event.clientY + other.clientY) / 2 - top);
  }
  fingers.set(event.pointerId, event);
});
for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, (event) => {
  fingers.delete(event.pointerId);
  area.classList.remove("dragging");
});

// Paper

let screenView = null;
window.addEventListener("beforeprint", () => {
  screenView = { ...drawing.view };
  const { left, top, width, height } = drawing.bounds();
  area.setAttribute("viewBox", `${left} ${top} ${width} ${height}`);
  drawing.view = { x: 0, y: 0, scale: 1 };
  drawing.onPaper = true;
  drawing.paintNow();
});
window.addEventListener("afterprint", () => {
  area.removeAttribute("viewBox");
  drawing.view = screenView;
  drawing.onPaper = false;
  drawing.paintNow();
});

openFirst();
follow(panel.row);
drawing.begin();
