// Pauses: a row for each port and priority, with the times of every pause and of the frames.

/** Picoseconds of gaps and lengths to times in nanoseconds. */
const spansOf = row => {
  let now = 0;
  return row.spans.map(([gap, length, paused, pauses]) => {
    const from = now + gap;
    now = from + length;
    return { from: from / 1000, to: now / 1000, paused: (paused === undefined ? length : paused) / 1000, pauses: pauses === undefined ? 1 : pauses };
  });
};

const framesOf = ({ at, kinds }) => positions(at).map((at, n) => ({ at, xoff: kinds[n] === "1" }));

/** Draws a triangle that points down for XOFF and up for XON; hollow if the frame leaves. */
const triangle = (ctx, x, y, size, xoff, hollow) => {
  const tip = xoff ? y + size : y - size;
  ctx.beginPath();
  ctx.moveTo(x - size * 0.7, y);
  ctx.lineTo(x + size * 0.7, y);
  ctx.lineTo(x, tip);
  ctx.closePath();
  ctx.strokeStyle = ctx.fillStyle = css(xoff ? "--bad" : "--good");
  if (hollow) ctx.stroke(); else ctx.fill();
};

const drawRow = (plot, row, top, height, wide) => {
  const { ctx, bbox } = plot;
  const scale = uPlot.pxRatio;
  const right = bbox.left + bbox.width;
  const x = at => plot.valToPos(at, "x", true);
  const [name, bar] = wide ? [0, height] : [14 * scale, height - 14 * scale];
  ctx.fillStyle = css("--ink");
  ctx.font = FONT.replace("12px", `${12 * scale}px`);
  ctx.textBaseline = "middle";
  ctx.textAlign = wide ? "right" : "left";
  const room = wide ? bbox.left - 8 * scale : bbox.width;
  let text = row.name;
  while (text.length > 2 && ctx.measureText(text).width > room) text = `…${text.slice(2)}`;
  ctx.fillText(text, wide ? bbox.left - 8 * scale : bbox.left + 3 * scale, top + (wide ? height / 2 : name / 2 + scale));
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, top, bbox.width, height);
  ctx.clip();
  const [y, tall] = [top + name + bar * 0.26, bar * 0.48];
  const last = lastUpTo(row.starts, plot.scales.x.max);
  for (let n = Math.max(0, lastUpTo(row.starts, plot.scales.x.min)); n <= last; n++) {
    const span = row.all[n];
    const [from, to] = [Math.max(bbox.left - 2, x(span.from)), Math.min(right + 2, x(span.to))];
    if (to < bbox.left) continue;
    const share = span.paused / Math.max(span.to - span.from, 1e-9);
    ctx.globalAlpha = Math.max(0.3, Math.min(0.85, share * 0.85));
    ctx.fillStyle = css("--pause");
    ctx.fillRect(from, y, Math.max(to - from, scale), tall);
  }
  ctx.globalAlpha = 1;
  ctx.lineWidth = scale;
  for (const [frames, hollow] of [[row.sent, true], [row.obeyed, false]]) {
    const seen = frames.filter(({ at }) => at >= plot.scales.x.min && at <= plot.scales.x.max);
    // Frames closer than this cover each other, and the bars: they come with the zoom.
    const size = seen.length * 11 * scale > bbox.width ? 2.2 : 4.5;
    for (const { at, xoff } of seen) {
      triangle(ctx, x(at), xoff ? top + name + 1.5 * scale : top + height - 1.5 * scale, size * scale, xoff, hollow);
    }
  }
  ctx.restore();
};

/** The text of what is at `x` in a row, `near` being the times that a pointer covers. */
const rowText = (row, x, near, units) => {
  const parts = [];
  const span = row.all[lastUpTo(row.starts, x + near)];
  if (span && span.to >= x - near) {
    const whole = `${exact(span.from, units)} to ${exact(span.to, units)}`;
    const long = exact(span.paused, units);
    parts.push(span.pauses === 1
      ? `paused from ${whole}, for ${long}`
      : `from ${whole}${span.pauses ? `, ${span.pauses} pauses` : ""}, paused for ${long} of it`);
  } else {
    parts.push("not paused");
  }
  for (const [frames, word] of [[row.sent, "sent"], [row.obeyed, "in force"]]) {
    const close = frames.filter(({ at }) => Math.abs(at - x) <= near);
    const best = close.sort((a, b) => Math.abs(a.at - x) - Math.abs(b.at - x))[0];
    if (best) parts.push(`${best.xoff ? "XOFF" : "XON"} ${word} at ${exact(best.at, units)}`);
  }
  return `${row.name}: ${parts.join("; ")}`;
};

const showPauses = (host, spec, unique) => {
  const rows = spec.rows.map(row => {
    const all = spansOf(row);
    return { name: row.name, all, starts: all.map(({ from }) => from), sent: framesOf(row.sent), obeyed: framesOf(row.obeyed) };
  });
  const tall = wide => wide ? 26 : 40;
  const rowAt = plot => {
    const height = plot.over.clientHeight / rows.length;
    const { top } = plot.cursor;
    return top >= 0 && plot.hot ? rows[Math.floor(top / height)] : undefined;
  };
  const view = frame(host, spec, {
    data: [[spec.x.from, spec.x.end], [null, null]],
    series: [{ show: false }],
    y: null,
    yRange: () => [0, 1],
    height: wide => tall(wide) * rows.length + 58,
    draw: plot => {
      const height = plot.bbox.height / rows.length;
      const wide = isWide(host);
      drawMarks(plot, spec.marks, false);
      rows.forEach((row, n) => {
        const top = plot.bbox.top + n * height;
        plot.ctx.fillStyle = css("--rule");
        if (n > 0) plot.ctx.fillRect(plot.bbox.left, top, plot.bbox.width, 1);
        drawRow(plot, row, top, height, wide);
      });
    },
    hover: (plot, x) => {
      if (x === null) return "";
      const row = rowAt(plot);
      const near = Math.abs(plot.posToVal(4, "x") - plot.posToVal(0, "x"));
      if (row) return rowText(row, x, near, spec.x.units);
      const paused = rows.filter(({ all, starts }) => {
        const span = all[lastUpTo(starts, x)];
        return span && span.to >= x;
      });
      const names = paused.length ? `paused: ${paused.map(({ name }) => name).join(", ")}` : "not paused";
      return `time ${exact(x, spec.x.units)}; ${names}`;
    },
  }, unique);
  // A cursor that comes from another plot is in no row.
  view.plot.over.addEventListener("mouseenter", () => { view.plot.hot = true; });
  view.plot.over.addEventListener("mousemove", () => { view.plot.hot = true; }, true);
  view.plot.over.addEventListener("mouseleave", () => { view.plot.hot = false; });
  return view;
};
