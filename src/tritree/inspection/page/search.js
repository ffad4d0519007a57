// Search for columns, categories, classes and node numbers.

const search = document.getElementById("search");
/** Return the texts of a node that are searched: names, values and categories, not the words between them. */
const searchedTexts = ({ name, shown, split, full }) => (split ? [name, shown, full.left, full.right, ...split.surrogates.map((other) => columns[other.column].name)] : [name, shown]);
let searchable;

/** Search in another tree. */
function prepareSearch() {
  searchable = nodes.map((node) => searchedTexts(node).join("\n").toLowerCase());
  search.value = "";
  document.getElementById("found").textContent = "";
}

function find() {
  const text = search.value.trim().toLowerCase(), isNamed = (n) => nodes[n].name === text;
  state.found = text ? [...nodes.keys()].filter((n) => searchable[n].includes(text)).sort((a, b) => isNamed(b) - isNamed(a)) : [];
  state.hits = new Set(state.found);
  state.at = -1;
  state.searched.clear();
  document.getElementById("found").textContent = text ? `${state.found.length} found` : "";
  redraw("0");
}

/** Go to the next node found, unfolding what hides it. */
function findNext(step) {
  if (!state.found.length) return;
  state.at = (state.at + step + state.found.length) % state.found.length;
  const number = state.found[state.at];
  state.searched.clear();
  unfoldNeeded();
  for (let here = number; here !== undefined; here = nodes[here].above) state.searched.add(here);
  document.getElementById("found").textContent = `${state.at + 1} of ${state.found.length}`;
  goTo(number);
}

search.addEventListener("input", find);
search.addEventListener("keydown", (event) => {
  if (event.key === "Enter") findNext(event.shiftKey ? -1 : 1);
  if (event.key !== "Escape") return;
  keepSearched();
  search.value = "";
  find();
  search.blur();
  drawing.refocus = true;
});
