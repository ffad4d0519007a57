// The view of one tree: its drawing, and the path of the row through it.

const drawing = new Drawing({ select: (item) => choose(item), toggle });

function redraw(anchor) {
  drawing.show(itemsShown(), anchor);
}

/** Draw the path of a row. */
function showRoute({ steps }) {
  state.path = new Set(steps.map((step) => step.to).filter((to) => to !== null));
  unfoldNeeded();
  redraw("0");
}
