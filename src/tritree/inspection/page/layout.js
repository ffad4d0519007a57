// Layout of the boxes: children one level below their node, the third branch to its right at the same height.

const BOX = { width: 152, height: 66 };
const GAP = { x: 16, y: 62, third: 78 };
const PILL = 72; // space to the right of a box for a folded third branch

/** Set the centre x and the level of each item, given the items top down, each with its shown children. */
function arrange(items) {
  for (let i = items.length - 1; i >= 0; i--) items[i].block = blockOf(items[i]);
  for (const item of items) {
    if (!item.above) Object.assign(item, { x: 0, level: 0 });
    for (const [child, shift] of item.block.shifts) {
      child.x = item.x + shift;
      child.level = item.level + (child.branch === "third" ? 0 : 1);
    }
  }
}

/** Return the outline of an item and its descendants, level by level, and the shifts of its children. */
function blockOf(item) {
  const { left, right, third } = item.children;
  const half = BOX.width / 2;
  let outline = [[-half, half + (item.hasPill ? PILL : 0)]];
  const shifts = [];
  if (left && right) {
    const apart = distance(left.block.outline, right.block.outline, GAP.x);
    shifts.push([left, -apart / 2], [right, apart / 2]);
    const below = merged(shifted(left.block.outline, -apart / 2), shifted(right.block.outline, apart / 2));
    outline = outline.concat(below);
  }
  if (third) {
    const apart = Math.max(distance(outline, third.block.outline, GAP.x), BOX.width + GAP.third);
    shifts.push([third, apart]);
    outline = merged(outline, shifted(third.block.outline, apart));
  }
  return { outline, shifts };
}

const shifted = (outline, by) => outline.map(([from, to]) => [from + by, to + by]);

/** Return the shift that puts the second outline to the right of the first. */
function distance(first, second, gap) {
  let apart = 0;
  for (let i = 0; i < Math.min(first.length, second.length); i++)
    apart = Math.max(apart, first[i][1] - second[i][0] + gap);
  return apart;
}

function merged(first, second) {
  const longer = first.length > second.length ? first : second;
  return longer.map((_, i) => {
    if (!first[i] || !second[i]) return first[i] || second[i];
    return [Math.min(first[i][0], second[i][0]), Math.max(first[i][1], second[i][1])];
  });
}
