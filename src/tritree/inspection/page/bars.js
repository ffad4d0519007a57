// Contributions as bars from the base value to f(x), the largest first: red raises the prediction, blue lowers it.

const MOST_BARS = 14;
const moves = () => !matchMedia("(prefers-reduced-motion: reduce)").matches;

class Bars {
  constructor(select) {
    this.list = document.getElementById("bars");
    this.select = select; // what to call with a column
    this.lines = new Map();
    this.all = false;
    document.getElementById("all-bars").addEventListener("click", () => ((this.all = !this.all), this.show(...this.last)));
  }

  /** Show the contributions of columns, each with its name and value in words. */
  show({ base, value, columns }, nameOf, asText) {
    this.last = [{ base, value, columns }, nameOf, asText];
    const ranked = [...columns].map(([j, { change, trees }]) => ({ key: j, name: nameOf(j), change, trees }));
    ranked.sort((a, b) => Math.abs(b.change) - Math.abs(a.change) || a.key - b.key);
    const most = this.all ? Infinity : MOST_BARS, rest = ranked.slice(most);
    const bars = ranked.slice(0, most);
    if (rest.length) bars.push({ key: "rest", name: `${rest.length} other column${rest.length === 1 ? "" : "s"}`, change: sum(rest.map(({ change }) => change)) });
    const button = document.getElementById("all-bars");
    button.hidden = ranked.length <= MOST_BARS;
    button.textContent = this.all ? "Show the largest" : `Show all ${ranked.length} columns`;
    this.draw([{ key: "base", name: "base value", at: base, text: asText(base) }, ...bars, { key: "value", name: "f(x)", at: value, text: asText(value) }], base, asText);
  }

  draw(items, base, asText) {
    let at = base;
    for (const item of items) {
      if (item.change === undefined) item.from = item.to = item.at;
      else ((item.from = at), (item.to = at += item.change), (item.text = withSign(item.change, asText) || "0"));
    }
    const [low, high] = extremes(items.flatMap(({ from, to }) => [from, to])), width = high - low || 1;
    const place = (number) => 2 + (96 * (number - low)) / width;
    const before = new Map([...this.lines].map(([key, { line }]) => [key, line.offsetTop]));
    items.forEach((item, i) => {
      const { line, bar, name, number } = this.line(item);
      const left = place(Math.min(item.from, item.to));
      line.className = item.change === undefined ? "mark" : item.text === "0" ? "" : item.change > 0 ? "up" : "down";
      Object.assign(bar.style, { left: `${left}%`, width: `${place(Math.max(item.from, item.to)) - left}%` });
      line.style.setProperty("--end", `${place(item.to)}%`);
      name.textContent = name.title = item.name;
      if (item.trees) line.title = `used in ${counted(item.trees)} trees`;
      number.textContent = item.text;
      if (this.list.children[i] !== line) this.list.insertBefore(line, this.list.children[i] ?? null);
    });
    const keys = new Set(items.map(({ key }) => key));
    for (const [key, { line }] of this.lines) if (!keys.has(key)) (line.remove(), this.lines.delete(key));
    if (moves()) this.slide(before);
  }

  /** Let lines that have changed their places slide there. */
  slide(before) {
    for (const [key, { line }] of this.lines) {
      const shift = before.get(key) - line.offsetTop;
      if (shift) line.animate([{ transform: `translateY(${shift}px)` }, { transform: "none" }], { duration: 180, easing: "ease-out" });
    }
  }

  /** Return the elements of an item, made when it is first shown. */
  line({ key }) {
    if (this.lines.has(key)) return this.lines.get(key);
    const isColumn = typeof key === "number";
    const name = isColumn ? html("button", { type: "button", className: "name" }) : html("span", { className: "name" });
    if (isColumn) name.addEventListener("click", () => this.select(key));
    const bar = html("div", { className: "bar" }), number = html("span", { className: "number" });
    const parts = { name, bar, number, line: html("li", {}, name, html("div", { className: "track", "aria-hidden": "true" }, bar), number) };
    parts.line.dataset.key = key;
    this.lines.set(key, parts);
    return parts;
  }
}
