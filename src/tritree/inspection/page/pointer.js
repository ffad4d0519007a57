// Toolbar, mouse and touch, and printing.

function foldThirds() {
  const button = document.getElementById("fold"), open = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", open);
  state.thirds = new Set(open ? nodes.keys() : []);
  redraw("0");
}
function unfoldAll() {
  const button = document.getElementById("unfold"), open = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", open);
  state.children = new Set(open ? nodes.keys() : []);
  if (!open) openFirst();
  redraw("0");
}
document.getElementById("fold").addEventListener("click", foldThirds);
document.getElementById("unfold").addEventListener("click", unfoldAll);
document.getElementById("fit").addEventListener("click", () => drawing.fit());
document.getElementById("larger").addEventListener("click", () => drawing.zoom(1.25));
document.getElementById("smaller").addEventListener("click", () => drawing.zoom(0.8));
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});

const area = document.getElementById("tree"), fingers = new Map();
let dragged = 0; // pixels since the pointer came down: small movements are still a click
area.addEventListener("wheel", (event) => {
  event.preventDefault();
  const { left, top } = area.getBoundingClientRect();
  drawing.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), event.clientX - left, event.clientY - top);
}, { passive: false });
area.addEventListener("pointerdown", (event) => {
  if (event.button) return;
  if (!fingers.size) dragged = 0;
  fingers.set(event.pointerId, event);
});
area.addEventListener("click", (event) => {
  if (dragged > 5) event.stopPropagation();
}, true);
window.addEventListener("pointermove", (event) => {
  const before = fingers.get(event.pointerId);
  if (!before) return;
  dragged += Math.hypot(event.clientX - before.clientX, event.clientY - before.clientY);
  if (fingers.size === 1) {
    drawing.move(event.clientX - before.clientX, event.clientY - before.clientY);
    area.classList.add("dragging");
  } else {
    const other = [...fingers.values()].find((finger) => finger.pointerId !== event.pointerId);
    const apart = (finger) => Math.hypot(finger.clientX - other.clientX, finger.clientY - other.clientY) || 1;
    const { left, top } = area.getBoundingClientRect();
    drawing.zoom(apart(event) / apart(before), (event.clientX + other.clientX) / 2 - left, (event.clientY + other.clientY) / 2 - top);
  }
  fingers.set(event.pointerId, event);
});
for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, (event) => {
  fingers.delete(event.pointerId);
  area.classList.remove("dragging");
});

// printing: the whole tree on one page
let screenView = null;
window.addEventListener("beforeprint", () => {
  if (!area.clientWidth) return; // another tab is open
  screenView = { ...drawing.view };
  const { left, top, width, height } = drawing.bounds();
  area.setAttribute("viewBox", `${left} ${top} ${width} ${height}`);
  drawing.view = { x: 0, y: 0, scale: 1 };
  drawing.onPaper = true;
  drawing.paintNow();
});
window.addEventListener("afterprint", () => {
  if (!screenView) return;
  area.removeAttribute("viewBox");
  drawing.view = screenView;
  screenView = null;
  drawing.onPaper = false;
  drawing.paintNow();
});
