// The tree as SVG. Only what is visible is in the document, and only boxes when zoomed out, so that thousands of nodes
// move smoothly.

const SVG = "http://www.w3.org/2000/svg";
const BELOW = 28; // space below a box for the pill that unfolds its children
const FAR = 0.38; // below this scale text is illegible,
const READABLE = 0.65; // and from here on it is easy to read

/** Return an SVG element with attributes and children; texts are never read as markup. */
function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const wholeNumbers = new Intl.NumberFormat("en-US"); // created once, because that takes longer than formatting a thousand numbers
const counted = (number) => wholeNumbers.format(number);
const countedRows = (number) => `${counted(number)} row${number === 1 ? "" : "s"}`;

const pen = document.createElement("canvas").getContext("2d");
/** Return a text truncated to a width in pixels. */
function fitted(text, width, weight = 400, size = 12) {
  pen.font = `${weight} ${size}px system-ui, sans-serif`;
  if (pen.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(text.slice(0, middle) + "…").width <= width) low = middle;
    else high = middle - 1;
  }
  return text.slice(0, low).replace(/[\s,…]+$/, "") + "…";
}

/** Return the outline of bars, one per fraction, within a rectangle. */
function barsPath(fractions, x, y, width, height) {
  const most = Math.max(...fractions) || 1, step = width / fractions.length;
  return fractions.map((fraction, i) => {
    const tall = (fraction / most) * height;
    return `M${(x + i * step).toFixed(1)} ${y + height}v${(-tall).toFixed(1)}h${(step - 1).toFixed(1)}v${tall.toFixed(1)}z`;
  }).join("");
}

class Drawing {
  constructor(on) {
    this.tree = null; // the tree that is drawn
    this.on = on; // what to call: select(item), toggle(item, "children" | "third")
    this.svg = document.getElementById("tree");
    this.world = document.getElementById("world");
    this.view = { x: 0, y: 0, scale: 1 };
    this.items = [];
    this.elements = new Map();
    this.edges = {}; // as they are drawn
    new ResizeObserver(() => this.paint()).observe(this.svg);
  }

  /** Show other items, or the same ones at other places; `anchor` stays where it is on the screen. */
  show(items, anchor) {
    const before = anchor && this.item(anchor);
    arrange(items);
    this.items = items;
    for (const item of items) item.y = item.level * (BOX.height + GAP.y);
    const after = before && this.item(anchor);
    if (after) {
      this.view.x += (before.x - after.x) * this.view.scale;
      this.view.y += (before.y - after.y) * this.view.scale;
    }
    this.clear();
    this.paint();
  }

  /** Take out all elements; the focus comes back to the current node with the next ones. */
  clear() {
    this.refocus ||= document.getElementById("nodes").contains(document.activeElement);
    for (const element of this.elements.values()) element.remove();
    this.elements.clear();
  }

  item(key) {
    return this.items.find((item) => item.key === key);
  }

  bounds() {
    const half = BOX.width / 2 + 12;
    const [left] = extremes(this.items.map((item) => item.x - half));
    const [, right] = extremes(this.items.map((item) => item.x + half + (item.hasPill ? PILL : 0)));
    const [top, bottom] = extremes(this.items.map((item) => item.y));
    return { left, top: top - 12, width: right - left, height: bottom - top + BOX.height + 44 };
  }

  /** Bring all of the tree into sight, but not larger than life. */
  fit() {
    const { left, top, width, height } = this.bounds();
    const { clientWidth: w, clientHeight: h } = this.svg;
    const scale = Math.min(1, w / width, h / height) || 1;
    this.view = { scale, x: (w - width * scale) / 2 - left * scale, y: Math.max(0, (h - height * scale) / 4) - top * scale };
    this.paint();
  }

  /** Show all of the tree if it can be read then, or else its beginning. */
  begin() {
    this.fit();
    if (this.view.scale >= READABLE) return;
    this.view = { scale: READABLE, x: this.svg.clientWidth / 2, y: 16 };
    this.paint();
  }

  /** Bring an item into sight. */
  reveal(key) {
    const item = this.item(key);
    if (!item) return;
    const { view } = this, { clientWidth: w, clientHeight: h } = this.svg;
    if (view.scale < 0.6) view.scale = 0.8;
    const x = item.x * view.scale + view.x, y = item.y * view.scale + view.y, margin = 100 * view.scale;
    if (x < margin || x > w - margin) view.x += w / 2 - x;
    if (y < 20 || y > h - 2 * margin) view.y += h / 3 - y;
    this.paint();
  }

  /** Return whether an element that lies over the tree lies over an item. */
  isBehind(key, { offsetLeft: left, offsetTop: top, offsetWidth, offsetHeight }) {
    const item = this.item(key), { scale } = this.view;
    if (!item) return false;
    const x = item.x * scale + this.view.x, y = item.y * scale + this.view.y, half = (BOX.width / 2) * scale;
    return x + half > left && x - half < left + offsetWidth && y + (BOX.height + BELOW) * scale > top && y < top + offsetHeight;
  }

  /** Move an item up until it ends there. */
  lift(key, bottom) {
    const item = this.item(key), { scale } = this.view;
    this.move(0, bottom - (item.y + BOX.height + BELOW) * scale - this.view.y);
  }

  zoom(factor, x = this.svg.clientWidth / 2, y = this.svg.clientHeight / 2) {
    const { view } = this;
    const scale = Math.min(3, Math.max(0.02, view.scale * factor));
    view.x = x - ((x - view.x) * scale) / view.scale;
    view.y = y - ((y - view.y) * scale) / view.scale;
    view.scale = scale;
    this.paint();
  }

  move(dx, dy) {
    this.view.x += dx;
    this.view.y += dy;
    this.paint();
  }

  /** Paint once before the next frame, however often it is called. */
  paint() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.paintNow();
    });
  }

  /** Put into the document what is in sight, and take out what is not. */
  paintNow() {
    const { x, y, scale } = this.view, everything = this.onPaper;
    this.world.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
    const { clientWidth: w, clientHeight: h } = this.svg, margin = 150;
    const sight = everything
      ? { left: -Infinity, right: Infinity, top: -Infinity, bottom: Infinity }
      : { left: (-x - margin) / scale, right: (w - x + margin) / scale, top: (-y - margin) / scale, bottom: (h - y + margin) / scale };
    const far = scale < FAR && !everything;
    this.svg.classList.toggle("far", far);
    this.drawEdges(sight);
    if (far !== this.far) {
      this.clear();
      this.far = far;
    }
    const seen = new Set(), fresh = [];
    for (const item of this.items) {
      const inside = item.x > sight.left && item.x < sight.right && item.y > sight.top - BOX.height && item.y < sight.bottom;
      if (!inside && !item.current) continue;
      seen.add(item.key);
      if (this.elements.has(item.key)) continue;
      const element = this.element(item, far);
      this.elements.set(item.key, element);
      fresh.push(element);
    }
    for (const [key, element] of this.elements)
      if (!seen.has(key)) {
        element.remove();
        this.elements.delete(key);
      }
    document.getElementById("nodes").append(...fresh);
    if (!this.refocus) return;
    this.refocus = false;
    const current = this.items.find((item) => item.current);
    if (current && document.activeElement === document.body) this.elements.get(current.key).focus({ preventScroll: true });
  }

  /** Draw the edges within sight; long dotted lines are cut there, because each of their dots takes time. */
  drawEdges({ left, right, top, bottom }) {
    const paths = { solid: "", dotted: "", taken: "", "third-taken": "" };
    const inside = (x) => Math.min(right, Math.max(left, x));
    for (const item of this.items) {
      const { above } = item, third = item.branch === "third";
      if (!above || Math.max(above.x, item.x) < left || Math.min(above.x, item.x) > right) continue;
      if (item.y + BOX.height < top || above.y > bottom) continue;
      if (third) {
        const y = item.y + BOX.height / 2;
        paths[item.on ? "third-taken" : "dotted"] += `M${inside(above.x + BOX.width / 2)} ${y}H${inside(item.x - BOX.width / 2)}`;
      } else {
        const begin = above.y + BOX.height, bend = (begin + item.y) / 2;
        paths[item.on ? "taken" : "solid"] += `M${above.x} ${begin}C${above.x} ${bend} ${item.x} ${bend} ${item.x} ${item.y}`;
      }
    }
    for (const [id, d] of Object.entries(paths))
      if (this.edges[id] !== d) document.getElementById(id).setAttribute("d", (this.edges[id] = d));
  }

  /** Return the condition of the branch to an item: above a child; left of a third branch, where it folds it. */
  condition(item) {
    if (item.branch === "third") return this.pill(item.above, "third", "missing ◂", -GAP.third / 2, BOX.height / 2, 70, item.rule);
    const text = fitted(item.condition, BOX.width + 6, item.on ? 600 : 400, 11.5);
    return svg("text", { class: "condition", x: BOX.width / 2, y: -7 }, text, svg("title", {}, item.rule));
  }

  element(item, far) {
    const { width, height } = BOX, x = item.x - width / 2, { y } = item;
    const names = ["node", item.on && "on", item.found && "found", item.chosen && "chosen", item.placeholder && "placeholder"];
    const g = svg("g", {
      class: names.filter(Boolean).join(" "), role: "treeitem",
      tabindex: item.current ? 0 : -1, "aria-level": item.level + 1, "aria-label": item.label, "data-key": item.key,
      "aria-selected": Boolean(item.chosen),
    });
    if (item.canOpen) g.setAttribute("aria-expanded", Boolean(item.children.left || item.children.third));
    // from afar there are thousands, and corners and coordinates of their own would take most of the time of a frame
    const box = svg("rect", { class: "box", width, height, ...(far ? { x, y } : { rx: 8 }) });
    if (!far) g.setAttribute("transform", `translate(${x} ${y})`);
    if (!item.placeholder) box.style.fill = this.fill(item.node);
    g.append(box);
    g.addEventListener("click", () => this.on.select(item));
    g.addEventListener("dblclick", () => this.on.toggle(item, "children"));
    if (far) return g;
    if (item.above) g.append(this.condition(item));
    if (item.placeholder) g.append(svg("text", { x: width / 2, y: height / 2 + 4, "text-anchor": "middle" }, item.placeholder));
    else this.fillBox(g, item);
    g.append(svg("title", {}, item.label));
    if (item.below) g.append(this.pill(item, "children", `▾ ${item.below}`, width / 2, height + 13, 20 + 8 * String(item.below).length, `${item.below} nodes below are folded`));
    if (item.hasPill) g.append(this.pill(item, "third", item.pill, width + 6 + 32, height / 2, 64, item.pillTitle));
    return g;
  }

  fillBox(g, { node }) {
    const { width, height } = BOX, rows = countedRows(node.rows);
    g.append(svg("text", { class: "rows", x: width - 8, y: 17 }, rows));
    pen.font = "400 12px system-ui, sans-serif";
    const room = width - 24 - pen.measureText(rows).width;
    g.append(svg("text", { class: "value", x: 8, y: 17 }, fitted(this.tree.classes ? this.tree.classes[bestOf(node.value)] : node.shown, room, 700)));
    const bottom = node.split ? 44 : 58;
    this.glyph(g, node, { x: 8, y: 24, width: width - 16, height: bottom - 24 });
    if (node.split) g.append(svg("text", { class: "column", x: 8, y: 59 }, fitted(`${this.tree.columns[node.split.column].shown} ?`, width - 16, 500)));
  }

  /** Draw the distribution of the target, or the class probabilities. */
  glyph(g, node, { x, y, width, height }) {
    if (!this.tree.classes) {
      if (node.distribution) g.append(svg("path", { class: "bar", d: barsPath(node.distribution, x, y, width, height) }));
      return;
    }
    let at = x;
    node.value.forEach((p, k) => {
      if (p <= 0) return;
      const bar = svg("rect", { x: at, y: y + height / 2 - 6, width: p * width, height: 12 });
      bar.style.fill = this.tree.colours[k];
      at += p * width;
      g.append(bar);
    });
  }

  pill(item, what, text, x, y, width, title) {
    const g = svg("g", { class: `pill ${what}${item.hasPill || what !== "third" ? "" : " open"}`, transform: `translate(${x} ${y})` },
      svg("rect", { x: -width / 2, y: -9, width, height: 18, rx: 9 }),
      svg("text", { y: 4 }, fitted(text, width - 8, 400, 11)),
      svg("title", {}, title));
    g.addEventListener("click", (event) => {
      event.stopPropagation();
      this.on.toggle(item, what);
    });
    g.addEventListener("dblclick", (event) => event.stopPropagation());
    return g;
  }

  fill(node) {
    const colour = this.tree.classes ? this.tree.colours[bestOf(node.value)] : "var(--high)";
    return `color-mix(in oklab, ${colour} ${Math.round(100 * node.strength)}%, var(--low))`;
  }
}

/** Return the least and the greatest of some numbers. */
const extremes = (numbers) => numbers.reduce(([low, high], n) => [Math.min(low, n), Math.max(high, n)], [Infinity, -Infinity]);

/** Return the number of the most probable class, the first of equals. */
const bestOf = (value) => value.reduce((best, share, k) => (share > value[best] ? k : best), 0);
