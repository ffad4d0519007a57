// The page of a tree: the drawing of the tree, and the panel with one row.

const page = JSON.parse(document.getElementById("data").textContent);
const form = new RowForm({ ...page, unused: "not used by the tree" }, follow);
const panel = new Panel(form, goTo);

/** Show the path and the prediction of a row. */
function follow(row) {
  const found = traverse(nodes, row);
  panel.showPrediction(found);
  showRoute(found);
}

openTree(page);
follow(form.row);
drawing.begin();
