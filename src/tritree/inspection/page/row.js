// The inputs of one row: each value can be changed, or set to missing.

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

/** The inputs of a row; `used` columns first, the others in a list that can be opened. */
class RowForm {
  constructor({ columns, used, rows, unused }, change) {
    this.columns = columns;
    this.change = change; // what to call with the row
    this.starts = [{ name: "typical values", cells: columns.map(({ typical }) => typical) }, ...rows];
    this.cells = new Map();
    this.makeCells(used, unused);
    this.makePicker();
    this.take(rows.length ? 1 : 0);
    document.getElementById("reset").addEventListener("click", () => (this.take(this.picked), this.change(this.row)));
    document.getElementById("all-missing").addEventListener("click", () => (this.show(this.row.map(() => null)), this.change(this.row)));
  }

  makePicker() {
    if (this.starts.length === 1) return;
    const select = document.getElementById("rows");
    select.append(...this.starts.map(({ name }, i) => html("option", { value: i, textContent: name })));
    select.addEventListener("change", () => (this.take(Number(select.value)), this.change(this.row)));
    document.getElementById("picker").hidden = false;
  }

  /** Make inputs for the columns that are used; for the others when their list is opened. */
  makeCells(used, unused) {
    const others = this.columns.map((_, j) => j).filter((j) => !used.includes(j));
    document.getElementById("cells").append(...used.map((j) => this.makeCell(j)));
    if (!others.length) return;
    const details = document.getElementById("unused");
    details.hidden = false;
    details.querySelector("summary").textContent = `${others.length} ${others.length === 1 ? "column" : "columns"} ${unused}`;
    details.addEventListener("toggle", () => {
      const place = document.getElementById("unused-cells");
      if (!place.childElementCount) place.append(...others.map((j) => this.makeCell(j)));
    }, { once: true });
  }

  makeCell(j) {
    const column = this.columns[j], id = `cell-${j}`;
    const entry = entryOf(column), label = entry.unit ? `${column.name} (${entry.unit})` : column.name;
    const name = html("label", { className: "name", for: id, textContent: label, title: label });
    const input = column.labels ? this.makeSelect(j, id) : html("input", { id, autocomplete: "off", ...entry.properties });
    const missing = html("button", { type: "button", textContent: "missing", "aria-pressed": "false", "aria-label": `${column.name} is missing` });
    const parts = { cell: html("div", { className: "cell" }, name, input, missing), name, input, missing, entry };
    parts.cell.dataset.column = j;
    // an incomplete number, such as "-" or "1e", is neither a value nor missing
    const read = () => (input.validity.badInput ? NaN : input.value === "" ? null : entry.toNumber(input.value));
    input.addEventListener("input", () => this.set(j, read()));
    if (column.labels) input.addEventListener("change", () => this.set(j, read())); // some tools fire no other event
    input.addEventListener("blur", () => this.showCell(j));
    missing.addEventListener("click", () => {
      const cell = this.row[j] === null ? this.last[j] ?? column.typical : null;
      if (cell === null && this.row[j] === null) input.focus(); // no value is known: let the reader enter one
      else this.set(j, cell);
    });
    if (column.range && column.range[0] < column.range[1]) {
      const [min, max] = column.range;
      const step = max / 200 - min / 200;
      const digits = Math.min(17, Math.ceil(Math.log10(Math.max(-min, max) / step)) + 1); // enough to distinguish steps
      parts.slider = html("input", { type: "range", min, max, step, "aria-label": `${column.name}, slider` });
      const unit = column.time?.resolution;
      const round = (value) => (unit ? Math.round(value / unit) * unit : Number(value.toPrecision(digits)));
      parts.slider.addEventListener("input", () => this.set(j, round(Number(parts.slider.value))));
      parts.cell.append(parts.slider);
    }
    this.cells.set(j, parts);
    if (this.row) this.showCell(j);
    return parts.cell;
  }

  makeSelect(j, id) {
    const column = this.columns[j];
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

  set(j, cell) {
    if (Number.isNaN(cell)) return;
    if (cell !== null) this.last[j] = cell;
    this.row[j] = cell;
    this.showCell(j);
    this.change(this.row);
  }

  showCell(j) {
    const { cell, input, missing, slider, entry } = this.cells.get(j), value = this.row[j];
    cell.classList.toggle("missing", value === null);
    missing.setAttribute("aria-pressed", value === null);
    const text = value === null ? "" : entry.toText(value);
    // keep what is being typed: "1." and "1.0" are the same number
    if (text === "" || input.value === "" || entry.toNumber(input.value) !== value) input.value = text;
    if (slider) slider.value = value ?? this.columns[j].typical;
  }

  /** Return the value of a column as text. */
  shown(j) {
    const column = this.columns[j], value = this.row[j];
    if (column.labels) return column.labels[value] ?? "(not seen in training)";
    if (column.time) return `${entryOf(column).toText(value).replace("T", " ")}${column.time.kind === "durations" ? ` ${entryOf(column).unit}` : ""}`;
    return String(Number(value.toPrecision(Number.isInteger(value) ? 17 : 8)));
  }
}
