// Traversal: the path of a row through the tree, as in the core. A cell is null (missing), UNSEEN (a category unseen in
// training), or a number: the value itself, the position of an ordered category, or the number of a category.

const UNSEEN = -2;
const BRANCHES = ["left", "right", "third"];
const otherSide = (side) => (side === "left" ? "right" : "left");

/** Return the side of a split on which a cell lies; null if it has no usable value. */
function sideOf(split, cell) {
  if (cell === null) return null;
  if (split.rule === "missing") return otherSide(split.missing_to);
  if (split.rule === "categories") {
    if (split.left.includes(cell)) return "left";
    return split.right.includes(cell) ? "right" : null;
  }
  return cell < split.threshold ? "left" : "right";
}

/** Return the branch of the first surrogate that is observed, with its column; null if none is. */
function askSurrogates(split, row) {
  for (const surrogate of split.surrogates) {
    const side = sideOf(surrogate, row[surrogate.column]);
    if (side === null) continue;
    return { branch: surrogate.below === "left" ? side : otherSide(side), by: surrogate.column };
  }
  return null;
}

/** Return the place of the group of evidence in which a cell lies; -1 if there is none. */
function groupOf(evidence, cell) {
  if (cell === null) return -1;
  if (evidence.categories) return evidence.categories.indexOf(cell);
  let group = 0;
  while (group < evidence.from.length && evidence.from[group] <= cell) ++group;
  return group;
}

/** Return the fraction of a row that goes left where it goes both ways, as the evidence says; 0 or 1 if the other part
 * is too small. `reached` of the row is in the node. */
function leftByEvidence(split, row, reached) {
  const most = 2 ** 60;
  let odds = split.left_fraction / (1 - split.left_fraction);
  for (const evidence of split.evidence) {
    const group = groupOf(evidence, row[evidence.column]);
    if (group < 0) continue;
    const left = evidence.group_left[group], share = evidence.left / evidence.rows;
    const ratio = (left + share) / (evidence.group_rows[group] - left + (1 - share)) * ((1 - share) / share);
    odds = Math.min(Math.max(odds * ratio, 1 / most), most);
  }
  const left = odds / (1 + odds);
  return reached * Math.min(left, 1 - left) < 0.125 ? Number(left >= 0.5) : left;
}

/** Return the parts of a row that goes both ways. */
function bothWays(split, row, reached, take) {
  if (split.evidence === null) return [take("both")];
  const left = split.evidence ? leftByEvidence(split, row, reached) : split.left_fraction;
  const parts = [take("left", left), take("right", 1 - left)];
  return split.evidence ? parts.filter((part) => part.fraction > 0) : parts;
}

/** Return the branches that a row takes at a split ("none" if it stays in the node): each with its fraction, and the
 * column that decides; "both" if the evidence is not known, so that the row stays. `reached` of it is in the node. */
function branchesTaken(split, row, reached = 1) {
  const cell = row[split.column];
  const take = (branch, fraction = 1, by = split.column, observed = false) => ({ branch, fraction, by, observed });
  const side = sideOf(split, cell);
  if (side !== null) return [take(side, 1, split.column, true)];
  const branch = cell === null ? split.missing_branch : split.unseen_branch;
  if (branch === "both") return bothWays(split, row, reached, take);
  if (branch !== "surrogates") return [take(branch)];
  const found = askSurrogates(split, row);
  return [found ? take(found.branch, 1, found.by) : take(split.larger_side)];
}

/** Return the steps of a row, the nodes where it ends (each with the fraction of the row), and its value. */
function traverse(nodes, row) {
  const steps = [], ends = [], stack = [[0, 1]];
  while (stack.length) {
    const [number, reached] = stack.pop();
    const node = nodes[number];
    if (node.split === null) {
      ends.push({ node: number, fraction: reached, absent: null });
      continue;
    }
    for (const { branch, fraction, by, observed } of branchesTaken(node.split, row, reached)) {
      const child = branch === "none" ? null : branch === "both" ? "ungrown" : node[branch], part = reached * fraction, grown = typeof child === "number";
      steps.push({ node: number, branch, to: grown ? child : null, fraction: part, by, observed });
      if (grown) stack.push([child, part]);
      else ends.push({ node: number, fraction: part, absent: child });
    }
  }
  const value = nodes[0].value.map((_, k) => ends.reduce((sum, end) => sum + end.fraction * nodes[end.node].value[k], 0));
  return { steps, ends, value };
}
