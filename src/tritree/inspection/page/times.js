// How the values of a column are entered and shown. Dates, times of day and durations are microseconds.

const DAY = 86400e6, HOUR = 3600e6, MINUTE = 60e6, SECOND = 1e6;
const UNITS = [[DAY, "days"], [HOUR, "hours"], [MINUTE, "minutes"], [SECOND, "seconds"], [1e3, "milliseconds"], [1, "microseconds"]];

const isoText = (value) => new Date(Math.round(value / 1e3)).toISOString();

/** Return how many characters of an ISO time are shown, given the unit of the values. */
const timeDigits = (resolution) => (resolution >= MINUTE ? 5 : resolution >= SECOND ? 8 : 12);

/** Return the properties of the input of a column, and the functions between its text and numbers. */
function entryOf(column) {
  const { time } = column;
  if (!time) return { properties: { type: "number", step: "any" }, toText: String, toNumber: Number };
  const step = Math.max(time.resolution / SECOND, 0.001);
  if (time.kind === "times of day") {
    const digits = timeDigits(time.resolution);
    return {
      properties: { type: "time", step: Math.min(step, 60) },
      toText: (value) => isoText(value).slice(11, 11 + digits),
      toNumber: (text) => Date.parse(`1970-01-01T${text}Z`) * 1e3,
    };
  }
  if (time.kind === "durations") {
    const [unit, name] = UNITS.find(([unit]) => unit <= time.resolution);
    return {
      properties: { type: "number", step: "any" }, unit: name,
      toText: (value) => String(value / unit), toNumber: (text) => Number(text) * unit,
    };
  }
  const isDay = time.resolution >= DAY, length = isDay ? 10 : 11 + timeDigits(time.resolution);
  return {
    properties: isDay ? { type: "date" } : { type: "datetime-local", step: Math.min(step, 60) },
    unit: time.time_zone ? "UTC" : undefined,
    toText: (value) => isoText(value).slice(0, length),
    toNumber: (text) => Date.parse(isDay ? `${text}T00:00Z` : `${text}Z`) * 1e3,
  };
}
