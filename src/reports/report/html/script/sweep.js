// The page of a study: one figure of all runs over one or two axes, as lines or as a map.

/** Three or four digits of a value with its unit. */
const short = (value, units) => {
  const [name, size] = units.find(([, size]) => Math.abs(value) >= size * 0.9995) || units[units.length - 1];
  const digits = value / size;
  const text = Math.abs(digits) >= 1000 ? digits.toFixed(0) : trimmed(digits.toPrecision(4));
  return name ? `${text} ${name}` : text;
};

/** The runs at one place of both axes: the median, the extremes, and the number of FAIL. */
class Cell {
  constructor() {
    Object.assign(this, { values: [], low: Infinity, high: -Infinity, runs: 0, failed: 0 });
  }

  add(value, verdict) {
    this.runs += 1;
    if (verdict === "f") this.failed += 1;
    if (value === null) return;
    this.values.push(value);
    this.low = Math.min(this.low, value);
    this.high = Math.max(this.high, value);
  }

  get known() {
    return this.values.length;
  }

  /** As tables of studies have it: of an even number the mean of the two in the middle. */
  get median() {
    if (!this.known) return null;
    const sorted = Float64Array.from(this.values).sort();
    return (sorted[(this.known - 1) >> 1] + sorted[this.known >> 1]) / 2;
  }
}

const choice = (name, options, chosen, change) => {
  const element = make("label", "", `${name} `);
  const select = make("select", "");
  options.forEach(([value, text]) => {
    const option = make("option", "", text);
    option.value = value;
    select.append(option);
  });
  select.value = String(chosen);
  select.addEventListener("change", () => change(Number(select.value)));
  element.append(select);
  return element;
};

/** Sums the runs up by their values on two axes; `fixed` has the value of every other axis, or -1. */
const cellsOf = (spec, { figure, across, by, fixed }) => {
  const wide = spec.axes[across].values.length;
  const high = by < 0 ? 1 : spec.axes[by].values.length;
  const cells = Array.from({ length: high }, () => Array.from({ length: wide }, () => new Cell()));
  const { column } = spec.figures[figure];
  for (let n = 0; n < column.length; n++) {
    const place = axis => spec.places[axis][n];
    if (fixed.some((value, axis) => value >= 0 && axis !== across && axis !== by && place(axis) !== value)) continue;
    cells[by < 0 ? 0 : place(by)][place(across)].add(column[n], spec.verdicts[n]);
  }
  return cells;
};

const cellText = (cell, units) => cell.median === null ? "–" : short(cell.median, units);

const cellTitle = (cell, units) => {
  const range = cell.known > 1 ? `, ${short(cell.low, units)} to ${short(cell.high, units)}` : "";
  return `${cell.runs} runs${range}${cell.failed ? `, ${cell.failed} FAIL` : ""}`;
};

const grid = (host, spec, state, cells) => {
  const { units } = spec.figures[state.figure];
  const medians = cells.flat().map(cell => cell.median).filter(median => median !== null);
  const [low, high] = [Math.min(...medians), Math.max(...medians)];
  const scroll = make("div", "scroll");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "table");
  const table = make("table", "grid");
  const heads = table.createTHead().insertRow();
  const names = state.by < 0 ? [""] : spec.axes[state.by].values;
  heads.append(make("th", "", state.by < 0 ? spec.axes[state.across].name : `${spec.axes[state.by].name} \\ ${spec.axes[state.across].name}`));
  for (const value of spec.axes[state.across].values) heads.append(make("th", "n", value));
  const body = table.createTBody();
  cells.forEach((row, n) => {
    const line = body.insertRow();
    line.append(make("th", "", names[n]));
    for (const cell of row) {
      const item = make("td", "n", cellText(cell, units));
      item.title = cellTitle(cell, units);
      if (cell.median !== null && high > low) {
        item.style.background = `color-mix(in srgb, var(--c0) ${Math.round(8 + 52 * (cell.median - low) / (high - low))}%, transparent)`;
      }
      if (cell.failed) item.append(make("span", "word fail", `FAIL ${cell.failed}/${cell.runs}`));
      line.append(item);
    }
  });
  scroll.append(table);
  host.append(scroll);
};

const curves = (host, spec, state, cells, unique) => {
  const figure = spec.figures[state.figure];
  const values = spec.axes[state.across].values;
  const several = cells.some(row => row.some(cell => cell.known > 1));
  const lines = cells.map((row, n) => {
    const of = pick => row.map(cell => cell.known ? pick(cell) : null);
    const band = several ? { low: of(cell => cell.low), high: of(cell => cell.high) } : {};
    const name = state.by < 0 ? "" : `${spec.axes[state.by].name} ${spec.axes[state.by].values[n]}`;
    return { name, colour: n % 8, steps: false, x: 0, ys: of(cell => cell.median), ...band };
  });
  const rings = cells.flatMap(row => row.flatMap((cell, n) => cell.failed && cell.known ? [[n, cell.median]] : []));
  return showLines(host, {
    kind: "lines",
    group: "",
    toggles: "",
    x: { what: spec.axes[state.across].name, units: [["", 1]], from: -0.3, end: values.length - 0.7, dots: true, labels: values },
    y: { what: figure.name, units: figure.units, max: null },
    xs: [[0, 1000, values.length - 1]],
    lines,
    marks: [],
    rings,
  }, unique);
};

const showSweep = (host, spec, unique) => {
  const state = { ...spec.chosen, fixed: spec.axes.map(() => -1), map: spec.chosen.by >= 0 };
  const head = make("div", "choices");
  const area = make("div", "");
  const note = make("p", "small soft");
  host.append(head, area, note);
  const view = { spec, resize: () => view.lines && view.lines.plot.setSize({ width: area.clientWidth, height: view.lines.height() }) };
  let drawn = 0;
  const draw = () => {
    if (view.lines) {
      views.splice(views.indexOf(view.lines), 1);
      groups.delete(view.lines.group.key);
      view.lines.plot.destroy();
      view.lines = null;
    }
    area.replaceChildren();
    head.replaceChildren();
    const set = name => value => {
      state[name] = value;
      if (name === "across" && state.by === value) state.by = -1;
      if (name === "by" && state.across === value) state.across = spec.axes.findIndex((_, n) => n !== value);
      draw();
    };
    const axes = spec.axes.map(({ name }, n) => [n, name]);
    head.append(
      choice("Figure", spec.figures.map(({ name }, n) => [n, name]), state.figure, set("figure")),
      choice("over", axes, state.across, set("across")),
    );
    if (axes.length > 1) head.append(choice("and", [[-1, "nothing else"], ...axes], state.by, set("by")));
    head.append(choice("as", [[0, "lines"], [1, "map"]], Number(state.map), value => {
      state.map = value === 1;
      draw();
    }));
    spec.axes.forEach(({ name, values }, n) => {
      if (n === state.across || n === state.by || values.length < 2) return;
      head.append(choice(name, [[-1, "all"], ...values.map((value, at) => [at, value])], state.fixed[n], value => {
        state.fixed[n] = value;
        draw();
      }));
    });
    const cells = cellsOf(spec, state);
    const most = Math.max(...cells.flat().map(({ runs }) => runs));
    note.textContent = `${most > 1 ? `Means of up to ${most} runs${state.map ? "" : ", with a band from the least to the largest"}. ` : ""}${
      state.map ? "The darker, the larger." : "Red rings: a run failed a check. Values of the axis are at equal distances."}`;
    if (state.map) grid(area, spec, state, cells);
    else {
      view.lines = curves(area, spec, state, cells, `${unique} ${drawn += 1}`);
      views.push(view.lines);
    }
  };
  draw();
  return view;
};
