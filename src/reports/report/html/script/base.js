// Numbers, colours and the shared state of the plots of a page.

/** A style sheet variable of the page, such as `--c0`. Kept until the theme changes. */
const theme = new Map();
const css = name => {
  if (!theme.has(name)) {
    theme.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  }
  return theme.get(name);
};
const lineColour = n => css(n < 0 ? "--ink" : `--c${n}`);

/** Elements are made here alone: text never becomes markup. */
const make = (tag, name, text = "") => {
  const element = document.createElement(tag);
  element.className = name;
  element.textContent = text;
  return element;
};

const trimmed = text => text.includes(".") ? text.replace(/\.?0+$/, "") : text;

/** The unit of an axis up to `max`; `units` are pairs of name and size, the largest first. */
const unitFor = (units, max) =>
  units.find(([, size]) => Math.abs(max) >= 2 * size) || units[units.length - 1];

/** A value with all its digits: times to the picosecond. */
const exact = (value, units) => {
  const [name, size] =
    units.find(([, size]) => Math.abs(value) >= size * 0.9999999) || units[units.length - 1];
  const fraction = units.length === 1 || units[units.length - 1][0] === "ns" ? 3 : 0;
  const digits = Math.min(12, Math.round(Math.log10(size)) + fraction);
  return `${trimmed((value / size).toFixed(digits))} ${name}`;
};

/** A label of an axis whose ticks are `step` apart, both in the unit of the axis. */
const label = (value, step) => {
  const digits = Math.max(0, Math.min(9, 1 - Math.floor(Math.log10(step) + 1e-9)));
  const text = trimmed(value.toFixed(digits));
  return text === "-0" ? "0" : text;
};

/** Positions, kept as whole thousandths: the first one, then each difference and how often it is. */
const positions = ([first, ...steps]) => {
  if (first === undefined) return [];
  const all = [first / 1000];
  let now = first;
  for (let n = 0; n < steps.length; n += 2) {
    for (let left = steps[n + 1]; left > 0; left--) all.push((now += steps[n]) / 1000);
  }
  return all;
};

/** Values, each with the number of times that it is repeated. */
const repeated = pairs => {
  const all = [];
  for (let n = 0; n < pairs.length; n += 2) {
    for (let left = pairs[n + 1]; left > 0; left--) all.push(pairs[n]);
  }
  return all;
};

/** The last place of `sorted` whose value is at most `value`; -1 if there is none. */
const lastUpTo = (sorted, value) => {
  let [low, high] = [-1, sorted.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (sorted[middle] <= value) low = middle; else high = middle - 1;
  }
  return low;
};

const nearest = (sorted, value) => {
  const before = Math.max(0, lastUpTo(sorted, value));
  const after = Math.min(sorted.length - 1, before + 1);
  return value - sorted[before] <= sorted[after] - value ? before : after;
};

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const pen = document.createElement("canvas").getContext("2d");
const widthOf = text => {
  pen.font = FONT;
  return pen.measureText(text).width;
};

/** Plots with one horizontal axis: they zoom together and share the cursor. */
class Group {
  constructor(key, from, to) {
    Object.assign(this, { key, full: [from, to], range: [from, to], views: [] });
  }

  zoom(low, high) {
    const [from, to] = this.full;
    low = Math.max(from, Math.min(low, high));
    high = Math.min(to, high);
    // Below this, the positions of a page have no more digits.
    if (!(high - low > Math.max((to - from) * 1e-9, 1e-6))) return;
    this.range = [low, high];
    const zoomed = low > from || high < to;
    for (const { plot, reset } of this.views) {
      plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      plot.setScale("x", { min: low, max: high });
      reset.hidden = !zoomed;
    }
  }

  reset() {
    this.zoom(...this.full);
  }
}

/** Names of hidden lines, by the plots that show and hide them together. */
const hiddenNames = new Map();
const hidden = ({ toggles }) => {
  if (!hiddenNames.has(toggles)) hiddenNames.set(toggles, new Set());
  return toggles ? hiddenNames.get(toggles) : new Set();
};

/** Shows or hides a line in its plot, or in all plots that belong together. */
const toggle = (view, name, shown) => {
  const { toggles } = view.spec;
  if (shown) hidden(view.spec).delete(name); else hidden(view.spec).add(name);
  const together = views.filter(other => toggles && other.spec.toggles === toggles);
  for (const other of toggles ? together : [view]) other.toggle(name, shown);
};

const views = [];
const groups = new Map();
const groupOf = (spec, unique) => {
  const key = spec.group || unique;
  if (!groups.has(key)) groups.set(key, new Group(key, spec.x.from, spec.x.end));
  return groups.get(key);
};
