// The frame of every plot: axes, cursor, zoom, and the line of text above it.

/** Hosts narrower than this have no room for names beside the plot. */
const WIDE = 640;
/** Width left of plots with a common axis, so that they are exactly above each other. */
const GUTTER = [54, 128];
const isWide = host => host.clientWidth >= WIDE;

/** Formats the ticks of an axis in the unit that suits the visible end. */
const ticks = (plot, axis, units, marks, step) => {
  const { min, max } = plot.scales[axis];
  const [, size] = unitFor(units, Math.max(Math.abs(min), Math.abs(max)));
  return marks.map(mark => mark === null ? "" : label(mark / size, (step || 1) / size));
};

const titled = (plot, axis, { what, units }) => {
  const { min, max } = plot.scales[axis];
  const [name] = unitFor(units, Math.max(Math.abs(min || 0), Math.abs(max || 0)));
  return name ? `${what} (${name})` : what;
};

/** Logarithmic ticks: 1, 2 and 5 times powers of ten where there is room, else the powers. */
const logTicks = (low, high, room) => {
  const all = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const times of [1, 2, 5]) all.push(times * 10 ** power);
  }
  const seen = all.filter(tick => tick >= low * 0.999999 && tick <= high * 1.000001);
  const powers = seen.filter(tick => Math.abs(Math.log10(tick) % 1) < 1e-6);
  if (seen.length <= room || powers.length < 2) return seen.slice(0, Math.max(room, 2));
  const every = Math.ceil(powers.length / Math.max(room, 2));
  return powers.filter((_, n) => n % every === 0);
};

/** The width inside of a plot's axes, before its first layout too. */
const inner = plot => plot.width - 90;

/** The horizontal axis: as many labels as fit beside each other. */
const xAxis = x => ({
  font: FONT,
  labelFont: FONT,
  stroke: () => css("--soft"),
  grid: { show: false },
  ticks: { stroke: () => css("--rule"), size: 5, width: 1 },
  border: { show: true, stroke: () => css("--soft"), width: 1 },
  gap: 4,
  size: 26,
  labelSize: 20,
  labelGap: 0,
  label: plot => x.log || x.labels ? x.what : titled(plot, "x", x),
  space: (plot, _, min, max, length) => {
    if (x.log || x.labels) return 40;
    const [, size] = unitFor(x.units, max);
    // A step of a tenth of the axis has the most digits that labels will have.
    const digits = label(max / size, (max - min) / size / 10);
    return Math.min(length / 2, widthOf(`${digits}00`) + 18);
  },
  filter: (_, marks) => marks,
  splits: x.labels ? (plot, _, min, max) => {
    const room = Math.max(...x.labels.map(widthOf)) + 14;
    const every = Math.ceil(room * (max - min) / inner(plot));
    return x.labels.map((_, n) => n).filter(n => n % every === 0 && n >= min && n <= max);
  } : x.log ? (plot, _, min, max) =>
    logTicks(min, max, Math.floor(inner(plot) / (widthOf("500 µs") + 14))) : undefined,
  values: (plot, marks, _axis, _space, step) => x.labels ? marks.map(mark => x.labels[mark]) : x.log
    ? marks.map(mark => exact(mark, x.units))
    : ticks(plot, "x", x.units, marks, step),
});

/** The vertical axis of a quantity; without one, only its space. */
const yAxis = (y, gutter) => ({
  font: FONT,
  labelFont: FONT,
  stroke: () => css("--soft"),
  grid: { show: Boolean(y), stroke: () => css("--rule"), width: 1 },
  ticks: { show: false },
  border: { show: true, stroke: () => css("--soft"), width: 1 },
  gap: 6,
  size: () => y ? gutter() - 18 : gutter(),
  labelSize: y ? 18 : 0,
  labelGap: 0,
  label: y ? plot => titled(plot, "y", y) : undefined,
  space: 32,
  splits: y ? undefined : () => [],
  values: y ? (plot, marks, _axis, _space, step) => ticks(plot, "y", y.units, marks, step) : () => [],
});

/** Lets a finger on the plot act as a mouse: sideways it zooms, up and down the page scrolls. */
const touchable = over => {
  over.style.touchAction = "pan-y";
  const as = (type, event, target) => target.dispatchEvent(new MouseEvent(type, {
    bubbles: true, clientX: event.clientX, clientY: event.clientY, movementX: 1,
  }));
  const finger = event => event.pointerType === "touch";
  over.addEventListener("pointerdown", event => {
    if (!finger(event)) return;
    as("mousemove", event, over);
    as("mousedown", event, over);
  });
  over.addEventListener("pointermove", event => finger(event) && as("mousemove", event, over));
  for (const type of ["pointerup", "pointercancel"]) {
    over.addEventListener(type, event => finger(event) && as("mouseup", event, document));
  }
};

/** Keys on a focused plot: arrows move, plus and minus zoom, 0 and Escape reset. */
const keyed = (area, group) => {
  area.tabIndex = 0;
  area.addEventListener("keydown", event => {
    const [low, high] = group.range;
    const [width, middle] = [high - low, (low + high) / 2];
    const act = {
      ArrowLeft: () => group.zoom(Math.max(group.full[0], low - width / 4), Math.max(group.full[0] + width, high - width / 4)),
      ArrowRight: () => group.zoom(Math.min(group.full[1] - width, low + width / 4), Math.min(group.full[1], high + width / 4)),
      "+": () => group.zoom(middle - width / 4, middle + width / 4),
      "-": () => group.zoom(middle - width, middle + width),
      0: () => group.reset(),
      Escape: () => group.reset(),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
};

/**
 * Makes a plot in `host`. `part` gives `data`, `series`, `y`, `yRange`, `height(wide)`, and optionally
 * `draw(plot)`, `hover(plot, x)`, which returns the text of the cursor, and `dataIdx`.
 */
const frame = (host, spec, part, unique) => {
  const group = groupOf(spec, unique);
  const head = make("div", "read");
  const text = make("output", "");
  const reset = make("button", "reset", "Reset zoom");
  reset.type = "button";
  reset.hidden = group.range[0] === group.full[0] && group.range[1] === group.full[1];
  reset.addEventListener("click", () => group.reset());
  const hint = matchMedia("(pointer: coarse)").matches
    ? "Drag sideways to zoom, tap twice to reset" : "Drag to zoom, double click to reset";
  text.textContent = hint;
  head.append(text, reset);
  const area = make("div", "area");
  host.append(head, area);
  const gutter = () => spec.group ? GUTTER[Number(isWide(host))] : 64;
  const view = { spec, group, reset, area, height: () => part.height(isWide(host)) };
  const hovered = plot => {
    const { left } = plot.cursor;
    const x = left >= 0 ? plot.posToVal(left, "x") : null;
    const found = part.hover(plot, x);
    text.textContent = x === null ? hint : found;
  };
  const plot = new uPlot({
    width: Math.max(host.clientWidth, 200),
    height: view.height(),
    padding: [10, 22, 0, 0],
    legend: { show: false },
    scales: {
      x: { time: false, distr: spec.x.log ? 3 : 1, range: () => group.range },
      y: { range: part.yRange },
    },
    axes: [xAxis(spec.x), yAxis(part.y, gutter)],
    series: [{}, ...part.series],
    bands: part.bands || [],
    cursor: {
      y: false,
      dataIdx: part.dataIdx,
      points: { show: Boolean(part.y), size: 7 },
      drag: { x: true, y: false, setScale: false, dist: 5 },
      bind: { dblclick: () => () => { group.reset(); return null; } },
      sync: {
        key: group.key,
        scales: ["x", null],
        setSeries: false,
        filters: { pub: type => type === "mousemove" || type === "mouseleave" },
      },
    },
    hooks: {
      draw: part.draw ? [plot => {
        // The library remembers its own pen.
        plot.ctx.save();
        part.draw(plot);
        plot.ctx.restore();
      }] : [],
      setCursor: [hovered],
      setSelect: [plot => {
        const { left, width } = plot.select;
        if (width > 0) group.zoom(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
      }],
    },
  }, part.data, area);
  view.plot = plot;
  view.toggle = part.toggle && ((name, shown) => part.toggle(plot, name, shown));
  group.views.push(view);
  touchable(plot.over);
  keyed(area, group);
  return view;
};

/** Draws the marked moments above a plot, with their words below each other where there is room. */
const drawMarks = (plot, marks, words) => {
  const { ctx, bbox } = plot;
  const scale = uPlot.pxRatio;
  ctx.save();
  ctx.font = FONT.replace("12px", `${12 * scale}px`);
  ctx.textBaseline = "top";
  marks.forEach(([at, word], n) => {
    const x = plot.valToPos(at, "x", true);
    if (x < bbox.left - 1 || x > bbox.left + bbox.width + 1) return;
    ctx.strokeStyle = css("--soft");
    ctx.lineWidth = scale;
    ctx.setLineDash([5 * scale, 4 * scale]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    if (!words) return;
    const right = x + ctx.measureText(word).width + 6 * scale < bbox.left + bbox.width;
    ctx.fillStyle = css("--ink");
    ctx.textAlign = right ? "left" : "right";
    ctx.fillText(word, x + (right ? 5 : -5) * scale, bbox.top + (2 + 15 * n) * scale);
  });
  ctx.restore();
};
