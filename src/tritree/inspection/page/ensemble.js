// Predictions and contributions of many trees, as in Python: sums and means are added up in the same order.

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

class Ensemble {
  /** `trees` are lists of nodes; those of boosting have a contribution to the sum, and maybe to its variance. */
  constructor({ link, baseline, has_variance }, trees) {
    Object.assign(this, { link, baseline, hasVariance: has_variance, trees, isMean: link === "mean" });
  }

  /** Return the paths of a row through all trees. */
  follow(row) {
    return this.trees.map((nodes) => traverse(nodes, row));
  }

  /** Return the sums or means over trees, and their variances due to missing values. */
  totals(paths) {
    const raw = [...this.baseline], variance = this.baseline.map(() => 0), n = raw.length;
    paths.forEach(({ value }, t) => {
      if (this.isMean) value.forEach((part, k) => (raw[k] += part));
      else {
        raw[t % n] += value[0];
        if (this.hasVariance) variance[t % n] += value[1];
      }
    });
    return { raw: this.isMean ? raw.map((total) => total / paths.length) : raw, variance: variance.map((v) => Math.max(v, 0)) };
  }

  /** Return the predicted number, or the probabilities of the classes. */
  predict({ raw, variance }) {
    if (this.link === "log") return raw.map((total, k) => Math.exp(total + variance[k] / 2));
    if (this.link === "logit") {
      const second = 1 / (1 + Math.exp(-this.shrunk(raw, variance)[0]));
      return [1 - second, second];
    }
    if (this.link === "expit" || this.link === "sigmoid_each") return this.shrunk(raw, variance).map((total) => 1 / (1 + Math.exp(-total)));
    if (this.link === "probability") {
      const positive = raw.map((part) => Math.max(part, 0)), total = sum(positive);
      return positive.map((part) => (total > 0 ? part / total : 1 / raw.length));
    }
    if (this.link !== "softmax") return raw;
    const centre = this.hasVariance ? sum(raw) / raw.length : 0;
    const scores = this.shrunk(raw.map((score) => score - centre), variance);
    const highest = Math.max(...scores), powers = scores.map((score) => Math.exp(score - highest));
    return powers.map((power) => power / sum(powers));
  }

  /** Return sums of log-odds, nearer to 0 the larger their variance: the probabilities are then means. */
  shrunk(raw, variance) {
    return raw.map((total, k) => total / Math.sqrt(1 + (Math.PI / 8) * variance[k]));
  }

  /** Return the contribution of each column to the sum or mean of a class (0 in regression), the base value and f(x). */
  explain(paths, { raw, variance }, k) {
    const n = this.baseline.length, output = n > 1 ? k : 0, entry = this.isMean ? output : 0;
    const scale = this.isMean ? 1 / paths.length : this.link === "logit" && k === 0 ? -1 : 1;
    let base = this.baseline[output];
    const columns = new Map();
    const use = (j) => columns.get(j) ?? columns.set(j, { change: 0, trees: 0 }).get(j);
    paths.forEach(({ steps }, t) => {
      if (!this.isMean && t % n !== output) return;
      const nodes = this.trees[t], used = new Set();
      base += nodes[0].value[entry];
      for (const { node, to, fraction, by } of steps) {
        if (to !== null) use(by).change += scale * fraction * (nodes[to].value[entry] - nodes[node].value[entry]);
        used.add(by).add(nodes[node].split.column);
      }
      for (const j of used) use(j).trees++;
    });
    const sign = scale < 0 ? -1 : 1;
    return { base: base * scale, value: sign * raw[output], std: Math.sqrt(variance[output]), columns };
  }
}

/** Return in how many trees the row needs a branch that is not in the page: never grown, or left out. */
function countAbsent(paths) {
  const found = { ungrown: 0, "left out": 0 };
  for (const { ends } of paths) {
    const end = ends.find(({ absent }) => absent);
    if (end) found[end.absent]++;
  }
  return found;
}
