(() => {
"use strict";
// A click on the head of a column sorts its table by it, once more the other way round.
const key = (row, column) => {
  const value = row.cells[column].dataset.value;
  return value === undefined ? row.cells[column].textContent : Number(value);
};
const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));

const sort = (table, head, column) => {
  const up = head.getAttribute("aria-sort") !== "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const body = table.tBodies[0];
  const rows = [...body.rows].sort((a, b) => (up ? 1 : -1) * compare(key(a, column), key(b, column)));
  body.append(...rows);
};

for (const table of document.querySelectorAll("table")) {
  if (table.tBodies[0].rows.length < 2) continue;
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Sort";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(table, head, column));
    head.append(button);
  });
}
// what is folded is printed, too
addEventListener("beforeprint", () => { for (const part of document.querySelectorAll("details")) part.open = true; });
})();
