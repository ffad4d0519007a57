// The side panel: one row, cell by cell, what it is predicted, and why.

/** Return an HTML element with properties and children; texts are never read as markup. */
function html(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || key === "for") element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children);
  return element;
}

const asPercent = (share) => `${(100 * share).toFixed(1)}%`;

class Panel {
  constructor(tree, on) {
    this.tree = tree;
    this.on = on; // what to call: change(row), focus(node)
    this.decimals = (tree.nodes[0].shown.split(".")[1] || "").replace(/\D.*/, "").length;
    this.starts = [{ name: "typical values", cells: tree.typical }, ...tree.rows];
    this.cells = new Map();
    this.makeCells();
    this.makePicker();
    this.take(tree.rows.length ? 1 : 0);
    document.getElementById("reset").addEventListener("click", () => this.pick(this.picked));
    document.getElementById("all-missing").addEventListener("click", () => this.set(this.row.map(() => null)));
  }

  makePicker() {
    if (!this.tree.rows.length) return;
    const select = document.getElementById("rows");
    select.append(...this.starts.map(({ name }, i) => html("option", { value: i, textContent: name })));
    select.addEventListener("change", () => this.pick(Number(select.value)));
    document.getElementById("picker").hidden = false;
  }

  /** Make inputs for the columns that the tree asks for; the others when they are wanted. */
  makeCells() {
    const { columns, asked } = this.tree;
    const others = columns.map((_, j) => j).filter((j) => !asked.includes(j));
    document.getElementById("cells").append(...asked.map((j) => this.makeCell(j)));
    if (!others.length) return;
    const details = document.getElementById("unused");
    details.hidden = false;
    details.querySelector("summary").textContent = `${others.length} ${others.length === 1 ? "column that this page never asks" : "columns that this page never asks"}`;
    details.addEventListener("toggle", () => {
      const place = document.getElementById("unused-cells");
      if (!place.childElementCount) place.append(...others.map((j) => this.makeCell(j)));
    }, { once: true });
  }

  makeCell(j) {
    const column = this.tree.columns[j], id = `cell-${j}`;
    const name = html("label", { className: "name", for: id, textContent: column.name, title: column.name });
    const input = column.labels ? this.makeSelect(j, id) : html("input", { id, type: "number", step: "any", autocomplete: "off" });
    const missing = html("button", { type: "button", textContent: "missing", "aria-pressed": "false", "aria-label": `${column.name} is missing` });
    const parts = { cell: html("div", { className: "cell" }, name, input, missing), name, input, missing };
    parts.cell.dataset.column = j;
    // what is no number yet, such as "-" or "1e", is neither a value nor missing
    const read = () => (input.validity.badInput ? NaN : input.value === "" ? null : Number(input.value));
    input.addEventListener("input", () => this.change(j, read()));
    if (column.labels) input.addEventListener("change", () => this.change(j, read())); // some tools know no other event
    input.addEventListener("blur", () => this.showCell(j));
    missing.addEventListener("click", () => {
      const cell = this.row[j] === null ? this.last[j] ?? column.usual : null;
      if (cell === null && this.row[j] === null) input.focus(); // no value is known, so one must be given
      else this.change(j, cell);
    });
    if (column.range && column.range[0] < column.range[1]) {
      const [min, max] = column.range;
      const step = max / 200 - min / 200;
      const digits = Math.min(17, Math.ceil(Math.log10(Math.max(-min, max) / step)) + 1); // as many as tell steps apart
      parts.slider = html("input", { type: "range", min, max, step, "aria-label": `${column.name}, by sliding` });
      parts.slider.addEventListener("input", () => this.change(j, Number(Number(parts.slider.value).toPrecision(digits))));
      parts.cell.append(parts.slider);
    }
    this.cells.set(j, parts);
    if (this.row) this.showCell(j);
    return parts.cell;
  }

  makeSelect(j, id) {
    const column = this.tree.columns[j];
    const options = column.labels.map((label, k) => html("option", { value: k, textContent: label }));
    options.unshift(html("option", { value: "", textContent: "(missing)" }));
    if (column.kind === "categories") options.push(html("option", { value: UNSEEN, textContent: "(never seen in training)" }));
    return html("select", { id }, ...options);
  }

  /** Take up one of the rows to start from. */
  take(number) {
    this.picked = number;
    this.last = [...this.starts[number].cells];
    this.row = [...this.starts[number].cells];
    document.getElementById("rows").value = number;
    for (const j of this.cells.keys()) this.showCell(j);
  }

  pick(number) {
    this.take(number);
    this.on.change(this.row);
  }

  set(row) {
    this.row = row;
    for (const j of this.cells.keys()) this.showCell(j);
    this.on.change(row);
  }

  change(j, cell) {
    if (Number.isNaN(cell)) return;
    if (cell !== null) this.last[j] = cell;
    this.row[j] = cell;
    this.showCell(j);
    this.on.change(this.row);
  }

  showCell(j) {
    const { cell, input, missing, slider } = this.cells.get(j), value = this.row[j];
    cell.classList.toggle("missing", value === null);
    missing.setAttribute("aria-pressed", value === null);
    const text = value === null ? "" : String(value);
    // what is being typed is left as it is: "1." and "1.0" are the same number
    if (text === "" || input.value === "" || Number(input.value) !== value) input.value = text;
    if (slider) slider.value = value ?? this.tree.columns[j].usual;
  }

  /** Show what the row is predicted, and the turns that lead there. */
  answer(found) {
    const { classes } = this.tree;
    const best = bestOf(found.value);
    const box = document.getElementById("answer");
    box.dataset.value = JSON.stringify(found.value);
    box.replaceChildren(html("div", { className: "from", textContent: this.tree.words.answer }));
    box.append(html("div", { className: "said", textContent: classes ? classes[best] : this.say(found) }));
    box.append(html("div", { className: "from", textContent: this.behind(found) }));
    if (classes) box.append(this.shares(found.value));
    for (const warning of this.warnings(found)) box.append(html("p", { className: "warn" }, ...warning));
    this.showPath(found, classes ? best : 0);
    const asked = new Set(found.turns.map((turn) => this.tree.nodes[turn.node].split.column));
    for (const [j, { name }] of this.cells) name.classList.toggle("asked", asked.has(j));
  }

  behind({ ends }) {
    const { nodes } = this.tree;
    if (ends.length > 1) return `from ${ends.length} leaves, weighted`;
    const rows = nodes[ends[0].node].rows;
    return `from ${counted(rows)} training row${rows === 1 ? "" : "s"}`;
  }

  warnings({ ends }) {
    const cut = ends.find((end) => end.cut);
    if (!cut) return [];
    if (this.tree.detached && cut.cut === "ungrown") return [["A branch on the way was never grown, so its node answers, as predict does."]];
    const code = html("code", { textContent: cut.cut === "ungrown" ? `${this.tree.words.owner}.${this.tree.words.grow}` : "max_nodes" });
    const remedy = cut.cut === "ungrown"
      ? [" is not grown yet, so its node answers here; predict would grow it. In Python, ", code, ` ${this.tree.words.grows}: then make this page again.`]
      : [" is not in this page, so its node answers here; predict knows it. Make this page again with a larger ", code, ", or with this row among ", html("code", { textContent: "rows" }), "."];
    return [["A branch on the way", ...remedy]];
  }

  /** Return a predicted number as text, written like those of the nodes. */
  say({ ends, value }) {
    if (ends.length === 1) return this.tree.nodes[ends[0].node].shown;
    return this.number(value[0]);
  }

  number(value) {
    if (this.tree.nodes.some(({ shown }) => /\de/.test(shown))) return value === 0 ? "0" : value.toExponential(3).replace("e+", "e");
    return value.toLocaleString("en-US", { minimumFractionDigits: this.decimals, maximumFractionDigits: this.decimals });
  }

  shares(value) {
    const { classes } = this.tree;
    const ranked = value.map((share, k) => [share, k]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, 8);
    const lines = ranked.map(([share, k]) => {
      const fill = html("div", { className: "fill" });
      fill.style.width = `${100 * share}%`;
      fill.style.background = classColour(k);
      return [html("span", { className: "name", textContent: classes[k], title: classes[k] }), html("div", { className: "track" }, fill),
        html("span", { className: "number", textContent: asPercent(share) })];
    });
    const others = classes.length - ranked.length, theirs = ranked.reduce((rest, [share]) => rest - share, 1);
    if (others) lines.push([html("span", { className: "rest", textContent: `${others} other class${others === 1 ? "" : "es"}` }),
      html("span", { className: "number", textContent: asPercent(Math.max(0, theirs)) })]);
    return html("div", { className: "shares" }, ...lines.flat());
  }

  showPath({ turns }, best) {
    const lines = turns.map((turn) => {
      const { nodes } = this.tree, before = nodes[turn.node], after = turn.to === null ? before : nodes[turn.to];
      const button = html("button", { type: "button", textContent: this.reason(turn) });
      button.addEventListener("click", () => this.on.focus(turn.to ?? turn.node));
      const part = turn.weight === 1 ? "" : `${asPercent(turn.weight)} of the row, `;
      const moved = turn.weight * (after.value[best] - before.value[best]);
      const value = this.tree.classes ? `${asPercent(after.value[best])} ${this.tree.classes[best]}` : after.shown;
      const step = moved === 0 ? "" : ` (${moved > 0 ? "+" : "−"}${this.tree.classes ? asPercent(Math.abs(moved)) : this.number(Math.abs(moved))})`;
      const then = html("div", { className: "then", textContent: `${part}${countedRows(after.rows)}, ${value}${step}` });
      return html("li", { className: turn.branch === "third" ? "third" : "" }, button, then);
    });
    const none = html("li", {}, "The tree is a single node: every row gets the same.");
    document.getElementById("path").replaceChildren(...(lines.length ? lines : [none]));
  }

  /** Return why a row takes a turn, in words. */
  reason(turn) {
    const { nodes, columns } = this.tree, node = nodes[turn.node], { split } = node;
    const name = columns[split.column].shown, cell = this.row[split.column];
    if (turn.known) return split.rule === "missing" ? `${name} is observed` : `${name} = ${this.shown(split.column)}: ${node.conditions[turn.branch]}`;
    const lacking = cell === null ? `${name} is missing` : cell === UNSEEN ? `${name} was never seen in training` : `${name} = ${this.shown(split.column)}, never seen in this node`;
    if (turn.branch === "third") return `${lacking}: third branch, ${this.successor(turn.to)}`;
    if (split.missing_to === "both") return `${lacking}: ${turn.branch} (${node.conditions[turn.branch]})`;
    if (turn.by !== split.column) return `${lacking}: ${columns[turn.by].shown} = ${this.shown(turn.by)} stands in, ${turn.branch}`;
    if (split.missing_to === "surrogates") return `${lacking}, and no stand-in is known: ${turn.branch}, the larger side`;
    return cell === null ? `${lacking}: ${turn.branch}, where its missing values go` : `${lacking}: ${turn.branch}, the larger side`;
  }

  successor(to) {
    if (to === null) return "which is not here";
    const { split } = this.tree.nodes[to];
    return split ? `${this.tree.columns[split.column].shown} takes over` : "no other column helps";
  }

  shown(j) {
    const { labels } = this.tree.columns[j];
    return labels ? labels[this.row[j]] ?? "(never seen in training)" : String(Number(this.row[j].toPrecision(Number.isInteger(this.row[j]) ? 17 : 8)));
  }
}
