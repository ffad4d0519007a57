// The trees of a what-if page. They are packed: splits and their texts once for all trees, and of each tree a list per
// field; all of it is deflated.

const ABSENT = new Map([[0, null], [-1, "ungrown"], [-2, "left out"]]);

async function readPacked() {
  const bytes = Uint8Array.from(atob(document.getElementById("trees").textContent), (character) => character.charCodeAt(0));
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(inflated).text());
}

/** Return the nodes of a packed tree, as a page of this tree alone has them. */
function unpackNodes(packed, splits) {
  const { names, value, rows, shown, strength } = packed, size = value.length / rows.length;
  const nodes = rows.map((_, n) => {
    const node = { name: String(names ? names[n] : n), rows: rows[n], shown: shown[n], strength: strength[n] / 100, split: null, depth: 0 };
    for (const branch of BRANCHES) node[branch] = packed[branch][n] > 0 ? n + packed[branch][n] : ABSENT.get(packed[branch][n]);
    node.value = value.slice(n * size, (n + 1) * size);
    return packed.split[n] < 0 ? node : Object.assign(node, splits[packed.split[n]]);
  });
  for (const node of nodes) // a child comes after its parent
    for (const branch of BRANCHES) if (typeof node[branch] === "number") nodes[node[branch]].depth = node.depth + (branch !== "third");
  return nodes;
}
