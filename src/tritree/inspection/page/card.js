// The card with the details of the chosen node.

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

/** Put the card where it does not hide its node; if there is no such place, move the tree. */
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
  if (node.weight === null || Math.abs(node.weight - node.rows) > 1e-9 * node.rows) lines.push(["Weight", written(node.weight, 6)]);
  const value = tree.terms.value;
  lines.push([tree.classes ? "Class" : value[0].toUpperCase() + value.slice(1), node.shown]);
  if (node.loss !== undefined) lines.push([`Loss (${tree.loss})`, written(node.loss, 4)]);
  if (node.split?.gain !== undefined) lines.push([`Gain (${tree.loss})`, written(node.split.gain, 4)]);
  lines.push(["Depth", String(node.depth)]);
  const list = html("dl", {}, ...lines.flatMap(([name, value]) => [html("dt", { textContent: name }), html("dd", { textContent: value })]));
  card.replaceChildren(close, html("h2", { textContent: node.split ? `Node ${node.name}` : `Leaf ${node.name}` }));
  card.append(html("p", { textContent: whereIs(node) }));
  if (item.placeholder || (node.third !== null && typeof node.third !== "number")) card.append(html("p", { className: "warn", textContent: `${item.placeholder ? item.rule : node.rules.third}: ${item.remedy || NOT_HERE[node.third]}.` }));
  card.append(list, ...distribution(node), ...splitText(node));
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
  if (!Number.isFinite(number)) return "too large";
  const size = Math.abs(number);
  if (size && (size < 1e-5 || size >= 1e15)) return number.toExponential(digits - 1).replace("e+", "e");
  return number.toLocaleString("en-US", { maximumSignificantDigits: digits });
}

/** Return the rules from the root to a node. */
function whereIs(node) {
  const rules = [];
  for (let here = node; here.above !== undefined; here = nodes[here.above]) rules.unshift(nodes[here.above].rules[here.branch]);
  return rules.join(", then ") || "All rows";
}

function distribution(node) {
  if (tree.classes) return [probabilityBars(node.value, tree)];
  if (!node.distribution) return deviation(node);
  const picture = svg("svg", { viewBox: "0 0 300 74", preserveAspectRatio: "none", role: "img", "aria-label": "Distribution of the target in the training rows" }, svg("path", { class: "bar", d: barsPath(node.distribution, 0, 0, 300, 74) }));
  picture.firstChild.style.fill = "var(--bar)";
  const ends = html("div", { className: "ends" }, html("span", { textContent: tree.ends[0] }), html("span", { textContent: "target" }), html("span", { textContent: tree.ends[1] }));
  return [picture, ends];
}

/** Return the standard deviation of the target, if its distribution is gone with the training rows. */
function deviation({ loss, weight }) {
  const known = typeof loss === "number" && weight > 0;
  return known ? [html("p", { textContent: `The standard deviation of the target is ${written(Math.sqrt(loss / weight), 4)}; its distribution is gone with the training rows.` })] : [];
}

function splitText(node) {
  if (!node.split) return [];
  const lines = ["left", "right"].map((branch) => `${branch === "left" ? "Left" : "Right"}: ${node.full[branch]}`);
  if (node.third !== null) lines.push(`Third: ${node.rules.third}`);
  if (node.missing_rule) lines.push(node.missing_rule);
  return lines.map((textContent) => html("p", { textContent }));
}
