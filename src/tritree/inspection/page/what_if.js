// The what-if page: one row, its prediction, the contributions of its columns, and the trees one by one.

const page = JSON.parse(document.getElementById("data").textContent);
const withMinus = (asText) => (number) => asText(number).replace("-", "−"); // as long as a plus sign
const asNumber = withMinus(formatLike(page.number));
const asValue = withMinus(page.classes && ["mean", "probability"].includes(page.link) ? asPercent : formatLike(page.value_number));
const asPrediction = page.classes ? asPercent : asNumber;
const form = new RowForm({ ...page, unused: "not used by the trees" }, () => follow());
const panel = new Panel(form, goTo);
const bars = new Bars(focusOnColumn);
let ensemble, packed, shownTree = null;

/** Show what the trees make of the row. */
function follow() {
  const paths = ensemble.follow(form.row), totals = ensemble.totals(paths), predicted = ensemble.predict(totals);
  const best = page.classes ? bestOf(predicted) : 0, k = explainedClass(best);
  const found = ensemble.explain(paths, totals, k);
  showPrediction(predicted, best, paths);
  showScale(found, predicted, k);
  bars.show(found, named, asValue);
  showMissing(found, k);
  document.getElementById("bars").dataset.value = JSON.stringify({ ...found, columns: Object.fromEntries(found.columns) });
  if (shownTree !== null) showTreePath(paths[shownTree]);
}

/** Return the class whose contributions are shown. */
function explainedClass(best) {
  const chosen = document.getElementById("class").value;
  return chosen === "" ? best : Number(chosen);
}

/** Return a column with its value. */
function named(j) {
  const { shown } = page.columns[j], cell = form.row[j];
  if (cell === null) return `${shown} is missing`;
  return cell === UNSEEN ? `${shown}, not seen in training` : `${shown} = ${form.shown(j)}`;
}

function focusOnColumn(j) {
  if (!form.cells.has(j)) document.getElementById("unused").open = true;
  setTimeout(() => form.cells.get(j)?.input.focus()); // a list that opens makes its inputs first
}

// ---- the prediction

function showPrediction(predicted, best, paths) {
  const box = document.getElementById("prediction");
  box.dataset.value = JSON.stringify(predicted);
  box.replaceChildren(html("div", { className: "from", textContent: "Prediction" }));
  box.append(html("div", { className: "value", textContent: page.classes ? page.classes[best] : asNumber(predicted[0]) }));
  if (page.classes) box.append(probabilityBars(predicted, page));
  for (const warning of absentNotes(paths)) box.append(html("p", { className: "warn" }, ...warning));
}

/** Return in how many trees the row needs a branch that nobody has, and in how many one that only predict has. */
function absentBranches(paths) {
  const { ungrown, "left out": leftOut } = countAbsent(paths), never = page.detached ? ungrown : 0;
  return { never, elsewhere: ungrown - never + leftOut };
}

/** Return notes on branches that the row needs and the page does not have. */
function absentNotes(paths) {
  const code = (textContent) => html("code", { textContent });
  const note = (count, ...text) => (count ? [[`In ${counted(count)} of ${counted(paths.length)} trees, the branch for these missing values `, ...text]] : []);
  const { never, elsewhere } = absentBranches(paths);
  return [
    ...note(never, "was never grown, so its node predicts, as in predict."),
    ...note(elsewhere, "is not in this page, so its node predicts here; predict uses the branch. Make this page again with such a row among ", code("rows"), ", or with a larger ", code("max_nodes"), "."),
  ];
}

// ---- what is missing

/** Show what the bars add up to, and how uncertain it is. */
function showScale({ base, value, std }, predicted, k) {
  const text = `${page.value_names[k]}: base value ${asValue(base)}, f(x) = ${asValue(value)}${std ? ` ± ${asValue(std)}` : ""}`;
  const meaning = ["mean", "identity", "probability"].includes(page.link) ? "" : `, prediction ${asPrediction(predicted[k])}`;
  document.getElementById("scale").textContent = text[0].toUpperCase() + text.slice(1) + meaning;
}

/** Show which columns are missing, and how much that leaves open. */
function showMissing({ value, std, columns }, k) {
  const lacking = page.columns.map((_, j) => j).filter((j) => form.row[j] === null && !page.columns[j].identifier);
  const box = document.getElementById("missing");
  clearTimeout(trying.timer);
  box.hidden = !lacking.length;
  if (!lacking.length) return;
  const used = lacking.filter((j) => columns.has(j)).sort((a, b) => columns.get(b).trees - columns.get(a).trees);
  const lines = used.slice(0, MOST_TRIED).map((j) => html("li", {}, html("b", { textContent: page.columns[j].shown }), html("span", { className: "open" })));
  box.replaceChildren(html("h2", { textContent: `Missing (${lacking.length})` }));
  if (std) box.append(html("p", { textContent: leftOpen(value, std, k) }));
  box.append(html("ul", {}, ...lines));
  const others = lacking.filter((j) => !used.slice(0, MOST_TRIED).includes(j)).map((j) => page.columns[j].shown);
  if (others.length) box.append(html("p", { className: "from", textContent: `Also missing, and used in fewer trees or in none: ${others.join(", ")}` }));
  tryValues(used.slice(0, MOST_TRIED), lines.map((line) => line.lastChild), k);
}

/** Return what the standard deviation of the sum means for the prediction. */
function leftOpen(value, std, k) {
  const text = `The missing values leave ${page.value_names[k]} a standard deviation of ${asValue(std)}`;
  if (page.link === "softmax") return `${text}.`;
  const inverse = page.link === "log" ? Math.exp : (total) => 1 / (1 + Math.exp(-total));
  return `${text}: within it, the prediction is between ${asPrediction(inverse(value - std))} and ${asPrediction(inverse(value + std))}.`;
}

const MOST_TRIED = 8; // columns whose values are tried
const trying = { timer: 0 };

/** Show the predictions for values that missing columns may have, one column after the other. */
function tryValues([j, ...others], [place, ...places], k) {
  if (j === undefined) return;
  trying.timer = setTimeout(() => {
    const { tried } = page.columns[j], row = [...form.row];
    let short = 0; // values that need a branch that only predict has
    const found = tried.map((value) => {
      row[j] = value;
      const paths = ensemble.follow(row);
      short += absentBranches(paths).elsewhere > 0;
      return ensemble.predict(ensemble.totals(paths))[page.classes ? k : 0];
    });
    place.textContent = found.length ? `: ${textOfTried(found, k)}${textOfShort(short, tried.length)}` : "";
    place.dataset.value = JSON.stringify({ found, short });
    tryValues(others, places, k);
  }, 60);
}

/** Return between which limits the predictions for the values tried are. */
function textOfTried(found, k) {
  const [low, high] = extremes(found).map(asPrediction), what = `the prediction${page.classes ? ` of ${page.classes[k]}` : ""}`;
  return low === high ? `for all values tried, ${what} is ${low}` : `if it were known, ${what} could be between ${low} and ${high}, for the values tried`;
}

/** Return how many of the values tried are predicted in another way by predict. */
function textOfShort(short, n) {
  return short ? `; ${short === n ? "all" : `${short} of ${n}`} of them need branches that are not in this page, so predict may go beyond` : "";
}

// ---- the trees

/** Show one of the trees. */
function showTree(number) {
  shownTree = Math.min(Math.max(Math.round(number) || 0, 0), ensemble.trees.length - 1);
  for (const id of ["tree-number", "tree-slider"]) document.getElementById(id).value = shownTree;
  const { title } = packed.trees[shownTree];
  openTree({ ...page, title, nodes: ensemble.trees[shownTree], classes: ensemble.isMean ? page.classes : null });
  document.getElementById("title").textContent = title;
  document.querySelector("#why h2").textContent = `Path in tree ${shownTree}`;
  showTreePath(traverse(nodes, form.row));
  drawing.begin();
}

function showTreePath(found) {
  panel.showPath(found);
  showRoute(found);
}

const TABS = ["what-if", "trees"];

function openTab(name) {
  document.body.dataset.tab = name;
  for (const other of TABS) {
    const tab = document.getElementById(`tab-${other}`);
    tab.setAttribute("aria-selected", other === name);
    tab.tabIndex = other === name ? 0 : -1;
  }
  document.getElementById("title").textContent = page.title;
  if (name === "trees") showTree(Number(document.getElementById("tree-number").value));
  else shownTree = null;
}

function prepareTabs() {
  const last = ensemble.trees.length - 1;
  document.getElementById("of-trees").textContent = `(0 to ${counted(last)})`;
  for (const id of ["tree-number", "tree-slider"]) {
    const input = document.getElementById(id);
    input.max = last;
    input.addEventListener("input", () => input.value !== "" && showTree(Number(input.value)));
  }
  document.getElementById("tree-slider").hidden = !last;
  for (const name of TABS) document.getElementById(`tab-${name}`).addEventListener("click", () => openTab(name));
  document.querySelector(".tabs").addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const other = TABS.find((name) => name !== document.body.dataset.tab);
    openTab(other);
    document.getElementById(`tab-${other}`).focus();
  });
}

function prepareClasses() {
  if (!page.classes) return;
  const select = document.getElementById("class"), isBinary = page.classes.length === 2;
  if (!isBinary) select.append(html("option", { value: "", textContent: "the predicted class" }));
  select.append(...page.classes.map((textContent, k) => html("option", { value: k, textContent })));
  if (isBinary) select.value = 1;
  select.addEventListener("change", follow);
  document.getElementById("explained").hidden = false;
}

async function start() {
  packed = await readPacked();
  ensemble = new Ensemble(page, packed.trees.map((tree) => unpackNodes(tree, packed.splits)));
  prepareTabs();
  prepareClasses();
  openTab("what-if");
  follow();
}

start().catch((error) => {
  document.getElementById("prediction").textContent = "This page needs a browser of 2024 or later.";
  throw error;
});
