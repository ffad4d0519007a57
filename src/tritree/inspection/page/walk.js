// How a row goes through the tree. A cell is null (missing), UNSEEN (a category that training never saw), or a
// number: the value itself, the place in the order of ordered categories, or the number of a category.

const UNSEEN = -2;
const BRANCHES = ["left", "right", "third"];
const otherSide = (side) => (side === "left" ? "right" : "left");

/** Return the side of a split on which a cell lies; null if that is not known. */
function sideOf(split, cell) {
  if (cell === null) return null;
  if (split.rule === "missing") return otherSide(split.missing_to);
  if (split.rule === "categories") {
    if (split.left.includes(cell)) return "left";
    return split.right.includes(cell) ? "right" : null;
  }
  return cell < split.threshold ? "left" : "right";
}

/** Return where the first surrogate that knows the row sends it, with its column; null if none does. */
function askSurrogates(split, row) {
  for (const surrogate of split.surrogates) {
    const side = sideOf(surrogate, row[surrogate.column]);
    if (side === null) continue;
    const straight = surrogate.rule === "categories" || surrogate.below === "left";
    return { branch: straight ? side : otherSide(side), by: surrogate.column };
  }
  return null;
}

/** Return the branches that a row takes at a split: each with its share, and the column that decided. */
function waysOf(split, row) {
  const cell = row[split.column];
  const way = (branch, share = 1, by = split.column, known = false) => ({ branch, share, by, known });
  const side = sideOf(split, cell);
  if (side !== null) return [way(side, 1, split.column, true)];
  if (split.missing_to === "third") return [way("third")];
  if (split.missing_to === "both") return [way("left", split.share), way("right", 1 - split.share)];
  if (split.missing_to === "surrogates") {
    const found = askSurrogates(split, row);
    return [found ? way(found.branch, 1, found.by) : way(split.larger)];
  }
  return [way(cell === null ? split.missing_to : split.larger)];
}

/** Return the turns of a row, where it ends (each end with its weight), and its value. */
function walk(nodes, row) {
  const turns = [], ends = [], stack = [[0, 1]];
  while (stack.length) {
    const [number, weight] = stack.pop();
    const node = nodes[number];
    if (node.split === null) {
      ends.push({ node: number, weight, cut: null });
      continue;
    }
    for (const { branch, share, by, known } of waysOf(node.split, row)) {
      const child = node[branch], part = weight * share, grown = typeof child === "number";
      turns.push({ node: number, branch, to: grown ? child : null, weight: part, by, known });
      if (grown) stack.push([child, part]);
      else ends.push({ node: number, weight: part, cut: child });
    }
  }
  const value = nodes[0].value.map((_, k) => ends.reduce((sum, end) => sum + end.weight * nodes[end.node].value[k], 0));
  return { turns, ends, value };
}
