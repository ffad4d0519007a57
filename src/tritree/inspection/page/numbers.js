// Numbers and probabilities as text and bars.

const asPercent = (fraction) => `${(100 * fraction).toFixed(1)}%`;

/** Return how numbers are written that look like a sample: with as many decimals, or with an exponent. */
function formatLike(sample) {
  if (/\de/.test(sample)) return (number) => (number === 0 ? "0" : number.toExponential(3).replace("e+", "e"));
  const decimals = (sample.split(".")[1] || "").replace(/\D.*/, "").length;
  const format = new Intl.NumberFormat("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals, signDisplay: "negative" });
  return (number) => format.format(number);
}

/** Return a contribution with its sign; nothing if it rounds to zero. */
function withSign(number, asText) {
  const size = asText(Math.abs(number));
  return size === asText(0) ? "" : `${number > 0 ? "+" : "−"}${size}`;
}

/** Return the probabilities of the classes as bars, the largest first. */
function probabilityBars(value, { classes, colours }) {
  const ranked = value.map((p, k) => [p, k]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, 8);
  const lines = ranked.map(([p, k]) => {
    const fill = html("div", { className: "fill" });
    fill.style.width = `${100 * p}%`;
    fill.style.background = colours[k];
    return [html("span", { className: "name", textContent: classes[k], title: classes[k] }), html("div", { className: "track" }, fill),
      html("span", { className: "number", textContent: asPercent(p) })];
  });
  const others = classes.length - ranked.length, remainder = ranked.reduce((rest, [p]) => rest - p, 1);
  if (others) lines.push([html("span", { className: "rest", textContent: `${others} other class${others === 1 ? "" : "es"}` }),
    html("span", { className: "number", textContent: asPercent(Math.max(0, remainder)) })]);
  return html("div", { className: "probabilities" }, ...lines.flat());
}
