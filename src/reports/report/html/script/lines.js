// Lines over time or over a parameter: through samples, or in steps for states.

/** One list of positions for all lines; a line has no value where another one has its points. */
const aligned = lines => {
  const tables = lines.map(line => [line.xs, line.ys, ...(line.low ? [line.low, line.high] : [])]);
  return tables.length > 1 ? uPlot.join(tables) : tables[0];
};

/** The names of the lines: each one shows its value at the cursor, and hides its line. */
const legend = (host, view, lines) => {
  const list = make("ul", "legend live");
  const values = [];
  lines.forEach(line => {
    const item = make("li", "");
    const button = make("button", "");
    const swatch = make("i", "");
    const value = make("span", "value");
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    swatch.style.background = line.colour < 0 ? "var(--ink)" : `var(--c${line.colour})`;
    if (line.name) button.append(swatch);
    button.append(make("span", "name", line.name), value);
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      toggle(view, line.name, shown);
    });
    item.append(button);
    list.append(item);
    values.push(value);
    line.button = button;
  });
  host.append(list);
  return values;
};

const showLines = (host, spec, unique) => {
  const lines = spec.lines.map(line => ({ ...line, xs: positions(spec.xs[line.x]) }));
  const data = aligned(lines);
  let column = 0;
  const series = [];
  const bands = [];
  for (const line of lines) {
    line.column = ++column;
    const stroke = () => lineColour(line.colour);
    series.push({
      label: line.name,
      stroke,
      width: 1.6,
      spanGaps: true,
      paths: line.steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
      points: { show: Boolean(spec.x.dots), size: 6, fill: stroke },
    });
    if (line.low) {
      const edge = { stroke: "transparent", spanGaps: true, points: { show: false } };
      series.push({ ...edge }, { ...edge });
      bands.push({ series: [column + 2, column + 1], fill: () => `color-mix(in srgb, ${lineColour(line.colour)} ${20 / Math.sqrt(lines.length)}%, transparent)` });
      column += 2;
    }
  }
  const owner = [];
  for (const line of lines) {
    owner[line.column] = line;
    if (line.low) owner[line.column + 1] = owner[line.column + 2] = null;
  }
  const place = (line, x) => line.steps ? lastUpTo(line.xs, x) : nearest(line.xs, x);
  const dots = new Map(data[0].map((x, n) => [x, n]));
  let values = [];
  const view = frame(host, spec, {
    data,
    series,
    bands,
    y: spec.y,
    yRange: (_, _min, max) => spec.y.max ? [0, spec.y.max] : [0, max > 0 ? max * 1.08 : 1],
    height: wide => wide ? 250 : 220,
    draw: plot => {
      drawMarks(plot, spec.marks, true);
      for (const [x, y] of spec.rings || []) {
        plot.ctx.beginPath();
        plot.ctx.arc(plot.valToPos(x, "x", true), plot.valToPos(y, "y", true), 7 * uPlot.pxRatio, 0, 2 * Math.PI);
        plot.ctx.strokeStyle = css("--bad");
        plot.ctx.lineWidth = 2 * uPlot.pxRatio;
        plot.ctx.stroke();
      }
    },
    dataIdx: (_, n, _closest, x) => {
      const line = owner[n];
      const at = line ? place(line, x) : -1;
      return at < 0 ? null : dots.get(line.xs[at]);
    },
    hover: (_, x) => {
      lines.forEach((line, n) => {
        const at = x === null ? -1 : place(line, x);
        const known = at >= 0 && line.ys[at] !== null && !(line.steps && x > line.xs[line.xs.length - 1]);
        const range = known && line.low ? ` (${exact(line.low[at], spec.y.units)} to ${exact(line.high[at], spec.y.units)})` : "";
        values[n].textContent = known ? exact(line.ys[at], spec.y.units) + range : "";
      });
      if (x === null) return "";
      // Over a parameter, only its values have results.
      const shown = spec.x.dots ? data[0][nearest(data[0], x)] : x;
      return `${spec.x.what} ${spec.x.labels ? spec.x.labels[shown] : exact(shown, spec.x.units)}`;
    },
    toggle: (plot, name, shown) => {
      for (const line of lines.filter(line => line.name === name)) {
        plot.setSeries(line.column, { show: shown });
        if (line.low) for (const more of [1, 2]) plot.setSeries(line.column + more, { show: shown });
        line.button.setAttribute("aria-pressed", String(shown));
      }
    },
  }, unique);
  values = legend(host, view, lines);
  for (const name of hidden(spec)) view.toggle(name, false);
  return view;
};
