// Puts the page together: the drawing of the tree, and the panel with one row.

const drawing = new Drawing(tree, { select: (item) => choose(item), toggle });
const panel = new Panel(tree, { change: follow, focus: goTo });

function redraw(anchor) {
  drawing.show(itemsShown(), anchor);
}

/** Show the path and the prediction of a row. */
function follow(row) {
  const found = traverse(nodes, row);
  state.path = new Set(found.steps.map((step) => step.to).filter((to) => to !== null));
  panel.showPrediction(found);
  unfoldNeeded();
  redraw("0");
}

openFirst();
follow(panel.row);
drawing.begin();
