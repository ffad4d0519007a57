// Arrow keys and shortcuts.

/** Return the node that an arrow key leads to, as drawn: third branches follow their node to the right. */
function neighbour(key) {
  const node = nodes[state.chosen], kin = (number) => (typeof number === "number" ? number : undefined);
  const thirdOf = (number) => (number !== undefined && thirdOpen(number) ? kin(nodes[number].third) : undefined);
  if (key === "ArrowDown") return node.split ? kin(node.left) ?? kin(node.right) : undefined;
  if (key === "ArrowRight" && thirdOf(node.number) !== undefined) return node.third;
  if (key === "ArrowLeft" && node.branch === "third") return node.above;
  let head = node;
  while (head.branch === "third") head = nodes[head.above];
  if (head.above === undefined) return undefined;
  if (key === "ArrowUp") return head.above;
  if (key === "ArrowRight") return head.branch === "left" ? kin(nodes[head.above].right) : undefined;
  let last = head.branch === "right" ? kin(nodes[head.above].left) : undefined;
  while (thirdOf(last) !== undefined) last = thirdOf(last);
  return last;
}

function focusOn(number) {
  if (number === undefined) return;
  goTo(number);
  drawing.paintNow();
  drawing.elements.get(String(number))?.focus({ preventScroll: true });
}

document.getElementById("tree").addEventListener("keydown", (event) => {
  const item = { key: String(state.chosen), node: nodes[state.chosen] };
  if (event.key === "ArrowDown" && item.node.split && !isOpen(state.chosen)) toggle(item, "children");
  if (event.key.startsWith("Arrow")) focusOn(neighbour(event.key));
  else if (event.key === "Enter" || event.key === " ") (toggle(item, "children"), focusOn(state.chosen));
  else if (event.key === "m") (toggle(item, "third"), focusOn(state.chosen));
  else return;
  event.preventDefault();
});
document.addEventListener("keydown", (event) => {
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (!document.getElementById("tree").clientWidth) return; // another tab is open
  const keys = { "/": () => search.focus(), "+": () => drawing.zoom(1.25), "=": () => drawing.zoom(1.25), "-": () => drawing.zoom(0.8), f: () => drawing.fit(), F: () => drawing.fit(), M: foldThirds, U: unfoldAll, Escape: hideCard };
  if (!keys[event.key]) return;
  keys[event.key]();
  event.preventDefault();
});
