// The side panel of a tree: the prediction of the row, and its path.

class Panel {
  constructor(form, focus) {
    this.form = form;
    this.focus = focus; // what to call with a node
  }

  /** Show what another tree does. */
  open(tree) {
    this.tree = tree;
    const { nodes } = tree;
    this.number = formatLike(nodes.find(({ shown }) => /\de/.test(shown))?.shown ?? nodes[0].shown);
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
    if (classes) box.append(probabilityBars(found.value, this.tree));
    for (const warning of this.warnings(found)) box.append(html("p", { className: "warn" }, ...warning));
    this.showPath(found);
    const used = new Set(found.steps.map((step) => this.tree.nodes[step.node].split.column));
    for (const [j, { name }] of this.form.cells) name.classList.toggle("used", used.has(j));
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

  /** Show the path of the row, with the changes of the value of the most probable class. */
  showPath({ steps, value: predicted }) {
    const best = this.tree.classes ? bestOf(predicted) : 0;
    const lines = steps.map((step) => {
      const { nodes } = this.tree, before = nodes[step.node], after = step.to === null ? before : nodes[step.to];
      const button = html("button", { type: "button", textContent: this.reason(step) });
      button.addEventListener("click", () => this.focus(step.to ?? step.node));
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
    const name = columns[split.column].shown, cell = this.form.row[split.column];
    if (step.observed) return split.rule === "missing" ? `${name} is observed` : `${name} = ${this.form.shown(split.column)}: ${node.conditions[step.branch]}`;
    const lacking = cell === null ? `${name} is missing` : cell === UNSEEN ? `${name} was not seen in training` : `${name} = ${this.form.shown(split.column)}, not seen in this node`;
    if (step.branch === "third") return `${lacking}: third branch, ${this.nextSplit(step.to)}`;
    if (step.branch === "both") return `${lacking}: both ways, in parts that this page does not know`;
    if (split.missing_to === "both") return `${lacking}: ${step.branch} (${node.conditions[step.branch]})`;
    if (step.by !== split.column) return `${lacking}: ${step.branch} by surrogate ${columns[step.by].shown} = ${this.form.shown(step.by)}`;
    if (step.branch === "none") return `${lacking}, and no surrogate is observed: stays, as both children have as many rows`;
    if (split.missing_to === "surrogates") return `${lacking}, and no surrogate is observed: ${step.branch}, the larger child`;
    return cell === null ? `${lacking}: ${step.branch}, the default direction` : `${lacking}: ${step.branch}, the larger child`;
  }

  nextSplit(to) {
    if (to === null) return "which is not in this page";
    const { split } = this.tree.nodes[to];
    return split ? `then ${this.tree.columns[split.column].shown}` : "no further split";
  }
}
