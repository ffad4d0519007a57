// The side panel: the values of one row, its prediction and its path.

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

const asPercent = (fraction) => `${(100 * fraction).toFixed(1)}%`;

class Panel {
  constructor(tree, on) {
    this.tree = tree;
    this.on = on; // what to call: change(row), focus(node)
    this.decimals = (tree.nodes[0].shown.split(".")[1] || "").replace(/\D.*/, "").length;
    this.starts = [{ name: "typical values", cells: tree.columns.map(({ typical }) => typical) }, ...tree.rows];
    this.cells = new Map();
    this.makeCells();
    this.makePicker();
    this.take(tree.rows.length ? 1 : 0);
    document.getElementById("reset").addEventListener("click", () => (this.take(this.picked), this.on.change(this.row)));
    document.getElementById("all-missing").addEventListener("click", () => (this.show(this.row.map(() => null)), this.on.change(this.row)));
  }

  makePicker() {
    if (!this.tree.rows.length) return;
    const select = document.getElementById("rows");
    select.append(...this.starts.map(({ name }, i) => html("option", { value: i, textContent: name })));
    select.addEventListener("change", () => (this.take(Number(select.value)), this.on.change(this.row)));
    document.getElementById("picker").hidden = false;
  }

  /** Make inputs for the columns that the tree uses; for the others when their list is opened. */
  makeCells() {
    const { columns, used } = this.tree;
    const others = columns.map((_, j) => j).filter((j) => !used.includes(j));
    document.getElementById("cells").append(...used.map((j) => this.makeCell(j)));
    if (!others.length) return;
    const details = document.getElementById("unused");
    details.hidden = false;
    details.querySelector("summary").textContent = `${others.length} ${others.length === 1 ? "column" : "columns"} not used by the tree`;
    details.addEventListener("toggle", () => {
      const place = document.getElementById("unused-cells");
      if (!place.childElementCount) place.append(...others.map((j) => this.makeCell(j)));
    }, { once: true });
  }

  makeCell(j) {
    const column = this.tree.columns[j], id = `cell-${j}`;
    const entry = entryOf(column), label = entry.unit ? `${column.name} (${entry.unit})` : column.name;
    const name = html("label", { className: "name", for: id, textContent: label, title: label });
    const input = column.labels ? this.makeSelect(j, id) : html("input", { id, autocomplete: "off", ...entry.properties });
    const missing = html("button", { type: "button", textContent: "missing", "aria-pressed": "false", "aria-label": `${column.name} is missing` });
    const parts = { cell: html("div", { className: "cell" }, name, input, missing), name, input, missing, entry };
    parts.cell.dataset.column = j;
    // an incomplete number, such as "-" or "1e", is neither a value nor missing
    const read = () => (input.validity.badInput ? NaN : input.value === "" ? null : entry.toNumber(input.value));
    input.addEventListener("input", () => this.change(j, read()));
    if (column.labels) input.addEventListener("change", () => this.change(j, read())); // some tools fire no other event
    input.addEventListener("blur", () => this.showCell(j));
    missing.addEventListener("click", () => {
      const cell = this.row[j] === null ? this.last[j] ?? column.typical : null;
      if (cell === null && this.row[j] === null) input.focus(); // no value is known: let the reader enter one
      else this.change(j, cell);
    });
    if (column.range && column.range[0] < column.range[1]) {
      const [min, max] = column.range;
      const step = max / 200 - min / 200;
      const digits = Math.min(17, Math.ceil(Math.log10(Math.max(-min, max) / step)) + 1); // enough to distinguish steps
      parts.slider = html("input", { type: "range", min, max, step, "aria-label": `${column.name}, slider` });
      const unit = column.time?.resolution;
      const round = (value) => (unit ? Math.round(value / unit) * unit : Number(value.toPrecision(digits)));
      parts.slider.addEventListener("input", () => this.change(j, round(Number(parts.slider.value))));
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
    if (column.kind === "categories") options.push(html("option", { value: UNSEEN, textContent: "(not seen in training)" }));
    return html("select", { id }, ...options);
  }

  /** Start from one of the rows. */
  take(number) {
    this.picked = number;
    this.last = [...this.starts[number].cells];
    document.getElementById("rows").value = number;
    this.show([...this.last]);
  }

  /** Show other values. */
  show(row) {
    this.row = row;
    for (const j of this.cells.keys()) this.showCell(j);
  }

  change(j, cell) {
    if (Number.isNaN(cell)) return;
    if (cell !== null) this.last[j] = cell;
    this.row[j] = cell;
    this.showCell(j);
    this.on.change(this.row);
  }

  showCell(j) {
    const { cell, input, missing, slider, entry } = this.cells.get(j), value = this.row[j];
    cell.classList.toggle("missing", value === null);
    missing.setAttribute("aria-pressed", value === null);
    const text = value === null ? "" : entry.toText(value);
    // keep what is being typed: "1." and "1.0" are the same number
    if (text === "" || input.value === "" || entry.toNumber(input.value) !== value) input.value = text;
    if (slider) slider.value = value ?? this.tree.columns[j].typical;
  }

  /** Show the prediction of the row, and its path. */
  showPrediction(found) {
    const { classes } = this.tree;
    const best = bestOf(found.value);
    const box = document.getElementById("prediction");
    box.dataset.value = JSON.stringify(found.value);
    box.replaceChildren(html("div", { className: "from", textContent: this.tree.terms.prediction }));
    box.append(html("div", { className: "value", textContent: classes ? classes[best] : this.valueText(found) }));
    box.append(html("div", { className: "from", textContent: this.support(found) }));
    if (classes) box.append(this.probabilities(found.value));
    for (const warning of this.warnings(found)) box.append(html("p", { className: "warn" }, ...warning));
    this.showPath(found, classes ? best : 0);
    const used = new Set(found.steps.map((step) => this.tree.nodes[step.node].split.column));
    for (const [j, { name }] of this.cells) name.classList.toggle("used", used.has(j));
  }

  /** Return the number of training rows behind the prediction. */
  support({ ends }) {
    const { nodes } = this.tree;
    if (ends.length > 1) return `from ${ends.length} leaves, weighted`;
    const rows = nodes[ends[0].node].rows;
    return `from ${counted(rows)} training row${rows === 1 ? "" : "s"}`;
  }

  warnings({ ends }) {
    const end = ends.find((end) => end.absent);
    if (!end) return [];
    const isUngrown = end.absent === "ungrown";
    if (this.tree.detached && isUngrown) return [["A branch on the path was never grown, so its node predicts, as in predict."]];
    const code = html("code", { textContent: isUngrown ? this.tree.terms.grow : "max_nodes" });
    const remedy = isUngrown
      ? [" is not grown yet, so its node predicts here; predict would grow it. In Python, ", code, ` ${this.tree.terms.grows}: then make this page again.`]
      : [" is not in this page, so its node predicts here; predict uses the branch. Make this page again with a larger ", code, ", or with this row among ", html("code", { textContent: "rows" }), "."];
    return [["A branch on the path", ...remedy]];
  }

  /** Return a predicted number as text, formatted like those of the nodes. */
  valueText({ ends, value }) {
    if (ends.length === 1) return this.tree.nodes[ends[0].node].shown;
    return this.number(value[0]);
  }

  number(value) {
    if (this.tree.nodes.some(({ shown }) => /\de/.test(shown))) return value === 0 ? "0" : value.toExponential(3).replace("e+", "e");
    return value.toLocaleString("en-US", { minimumFractionDigits: this.decimals, maximumFractionDigits: this.decimals });
  }

  probabilities(value) {
    const { classes } = this.tree;
    const ranked = value.map((p, k) => [p, k]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, 8);
    const lines = ranked.map(([p, k]) => {
      const fill = html("div", { className: "fill" });
      fill.style.width = `${100 * p}%`;
      fill.style.background = this.tree.colours[k];
      return [html("span", { className: "name", textContent: classes[k], title: classes[k] }), html("div", { className: "track" }, fill),
        html("span", { className: "number", textContent: asPercent(p) })];
    });
    const others = classes.length - ranked.length, remainder = ranked.reduce((rest, [p]) => rest - p, 1);
    if (others) lines.push([html("span", { className: "rest", textContent: `${others} other class${others === 1 ? "" : "es"}` }),
      html("span", { className: "number", textContent: asPercent(Math.max(0, remainder)) })]);
    return html("div", { className: "probabilities" }, ...lines.flat());
  }

  showPath({ steps }, best) {
    const lines = steps.map((step) => {
      const { nodes } = this.tree, before = nodes[step.node], after = step.to === null ? before : nodes[step.to];
      const button = html("button", { type: "button", textContent: this.reason(step) });
      button.addEventListener("click", () => this.on.focus(step.to ?? step.node));
      const part = step.fraction === 1 ? "" : `${asPercent(step.fraction)} of the row, `;
      const contribution = step.fraction * (after.value[best] - before.value[best]);
      const value = this.tree.classes ? `${asPercent(after.value[best])} ${this.tree.classes[best]}` : after.shown;
      const size = Math.abs(contribution);
      const change = size ? ` (${contribution > 0 ? "+" : "−"}${this.tree.classes ? asPercent(size) : this.number(size)})` : "";
      const then = html("div", { className: "then", textContent: `${part}${countedRows(after.rows)}, ${value}${change}` });
      return html("li", { className: step.branch === "third" ? "third" : "" }, button, then);
    });
    const none = html("li", {}, "The tree is a single node: every row has the same prediction.");
    document.getElementById("path").replaceChildren(...(lines.length ? lines : [none]));
  }

  /** Return why the row takes a branch, in words. */
  reason(step) {
    const { nodes, columns } = this.tree, node = nodes[step.node], { split } = node;
    const name = columns[split.column].shown, cell = this.row[split.column];
    if (step.observed) return split.rule === "missing" ? `${name} is observed` : `${name} = ${this.shown(split.column)}: ${node.conditions[step.branch]}`;
    const lacking = cell === null ? `${name} is missing` : cell === UNSEEN ? `${name} was not seen in training` : `${name} = ${this.shown(split.column)}, not seen in this node`;
    if (step.branch === "third") return `${lacking}: third branch, ${this.nextSplit(step.to)}`;
    if (split.missing_to === "both") return `${lacking}: ${step.branch} (${node.conditions[step.branch]})`;
    if (step.by !== split.column) return `${lacking}: ${step.branch} by surrogate ${columns[step.by].shown} = ${this.shown(step.by)}`;
    if (step.branch === "none") return `${lacking}, and no surrogate is observed: stays, as both children have as many rows`;
    if (split.missing_to === "surrogates") return `${lacking}, and no surrogate is observed: ${step.branch}, the larger child`;
    return cell === null ? `${lacking}: ${step.branch}, the default direction` : `${lacking}: ${step.branch}, the larger child`;
  }

  nextSplit(to) {
    if (to === null) return "which is not in this page";
    const { split } = this.tree.nodes[to];
    return split ? `then ${this.tree.columns[split.column].shown}` : "no further split";
  }

  shown(j) {
    const column = this.tree.columns[j], value = this.row[j];
    if (column.labels) return column.labels[value] ?? "(not seen in training)";
    if (column.time) return `${entryOf(column).toText(value).replace("T", " ")}${column.time.kind === "durations" ? ` ${entryOf(column).unit}` : ""}`;
    return String(Number(value.toPrecision(Number.isInteger(value) ? 17 : 8)));
  }
}
