// The tree and its folding: which nodes are shown.

const AT_FIRST = 15; // nodes shown at first

/** The tree that is shown, its nodes and columns, and the number of nodes of each subtree. */
let tree, nodes, columns, sizes;
/** Why a branch is not in the page. */
let NOT_HERE;
const state = {};
/** What the reader has folded although the path of the row, or a search, leads there. */
const folded = { children: new Set(), third: new Set() };

/** Show a tree, folded as at first. */
function openTree(other) {
  tree = other;
  ({ nodes, columns } = tree);
  for (const [number, node] of nodes.entries()) {
    node.number = number;
    for (const branch of BRANCHES) if (typeof node[branch] === "number") Object.assign(nodes[node[branch]], { above: number, branch });
  }
  sizes = nodes.map(() => 1);
  for (let n = nodes.length - 1; n > 0; n--) sizes[nodes[n].above] += sizes[n]; // a child comes after its parent
  NOT_HERE = {
    ungrown: tree.detached ? "was never grown, its node predicts" : `not grown yet; predicting a row that needs it grows it, ${tree.terms.grow} ${tree.terms.grows}`,
    "left out": "left out of this page; a larger max_nodes shows more",
  };
  Object.assign(state, { children: new Set(), thirds: new Set(), path: new Set(), found: [], hits: new Set(), at: -1, chosen: 0, searched: new Set() });
  unfoldNeeded();
  document.getElementById("card").hidden = true;
  for (const id of ["fold", "unfold"]) document.getElementById(id).setAttribute("aria-pressed", false);
  document.getElementById("fold").hidden = nodes.every((node) => node.third === null);
  drawing.tree = tree;
  panel.open(tree);
  prepareSearch();
  openFirst();
}

const sizeOf = (...children) => children.reduce((sum, child) => sum + (typeof child === "number" ? sizes[child] : 0), 0);

/** Unfold children from the root on, up to a number that is easy to survey. */
function openFirst() {
  let shown = 1;
  for (const queue = [0]; queue.length; ) {
    const number = queue.shift(), node = nodes[number];
    if (!node.split || shown + 2 > AT_FIRST) continue;
    state.children.add(number);
    shown += 2;
    for (const branch of ["left", "right"]) if (typeof node[branch] === "number") queue.push(node[branch]);
  }
}

const isNeeded = (child) => state.path.has(child) || state.searched.has(child);
const isOpen = (number) => state.children.has(number) || (!folded.children.has(number) && (isNeeded(nodes[number].left) || isNeeded(nodes[number].right)));
const thirdOpen = (number) => state.thirds.has(number) || (!folded.third.has(number) && isNeeded(nodes[number].third));
const unfoldNeeded = () => Object.values(folded).forEach((numbers) => numbers.clear());

/** Return the items to draw, top down: nodes, and placeholders for branches that are not in the page. */
function itemsShown() {
  const items = [makeItem(0, null, "")];
  for (let i = 0; i < items.length; i++) {
    const item = items[i], { node } = item;
    if (item.placeholder || !node.split) continue;
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
    item.pillTitle = grown ? `${node.rules.third}: ${sizes[node.third]} nodes` : `${node.rules.third}: ${NOT_HERE[node.third]}`;
  }
  if (!items.some((item) => item.current)) makeCurrent(items);
  return items;
}

/** Choose the nearest shown ancestor of a hidden node, so that the keyboard has a place to start from. */
function makeCurrent(items) {
  const shown = new Map(items.map((item) => [item.key, item]));
  while (!shown.has(String(state.chosen))) state.chosen = nodes[state.chosen].above;
  shown.get(String(state.chosen)).current = true;
  document.getElementById("card").hidden = true;
}

function makeItem(child, above, branch) {
  const place = { above, branch, children: {}, rule: "all rows", condition: "" };
  if (above) Object.assign(place, { rule: above.node.rules[branch], condition: branch === "third" ? "missing" : above.node.conditions[branch] });
  if (typeof child !== "number") {
    const placeholder = child === "ungrown" ? (tree.detached ? "was not grown" : "not grown yet") : "not in this page";
    return { ...place, key: `${above.key}.${branch}`, node: above.node, placeholder, remedy: NOT_HERE[child], label: `${place.rule}: ${NOT_HERE[child]}` };
  }
  const node = nodes[child];
  const item = { ...place, key: String(child), node, on: state.path.has(child) || (child === 0), canOpen: Boolean(node.split) };
  item.current = state.chosen === child;
  item.chosen = item.current && !document.getElementById("card").hidden;
  item.found = state.hits.has(child);
  item.label = `${place.rule}: ${countedRows(node.rows)}, ${node.shown}${node.split ? `, splits on ${columns[node.split.column].shown}` : ", leaf"}`;
  return item;
}

function toggle(item, what) {
  const { number } = item.node;
  if (item.placeholder || !item.node.split) return;
  if (what === "third" && typeof item.node.third !== "number") return choose(item);
  const open = what === "third" ? state.thirds : state.children;
  const isShown = what === "third" ? thirdOpen(number) : isOpen(number);
  keepSearched();
  if (isShown) (open.delete(number), folded[what].add(number));
  else (open.add(number), folded[what].delete(number));
  redraw(item.key);
}

/** Keep unfolded what a search has unfolded. */
function keepSearched() {
  for (const number of state.searched) if (number) (nodes[number].branch === "third" ? state.thirds : state.children).add(nodes[number].above);
  state.searched.clear();
}
