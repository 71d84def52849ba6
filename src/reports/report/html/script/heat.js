// Heat maps: many queues, links or flows over time, the largest value of each interval as a shade.

const showHeat = (host, spec, unique) => {
  const rows = spec.rows.map(({ name, cells }) => ({ name, cells: repeated(cells) }));
  const { columns, max } = spec;
  const width = (spec.x.end - spec.x.from) / columns;
  const column = x => Math.floor((x - spec.x.from) / width);
  const tall = Math.max(4, Math.min(16, Math.floor(460 / rows.length)));
  const view = frame(host, spec, {
    data: [[spec.x.from, spec.x.end], [null, null]],
    series: [{ show: false }],
    y: null,
    yRange: () => [0, 1],
    height: () => tall * rows.length + 58,
    draw: plot => {
      const { ctx, bbox } = plot;
      const scale = uPlot.pxRatio;
      const height = bbox.height / rows.length;
      const [first, last] = [column(plot.scales.x.min), Math.min(columns - 1, column(plot.scales.x.max))];
      const x = n => plot.valToPos(spec.x.from + n * width, "x", true);
      // Labels need this height each.
      const every = Math.ceil(13 * scale / height);
      ctx.font = FONT.replace("12px", `${11 * scale}px`);
      ctx.textAlign = "right";
      ctx.textBaseline = "middle";
      rows.forEach((row, n) => {
        const top = bbox.top + n * height;
        if (isWide(host) && n % every === 0) {
          let text = row.name;
          while (text.length > 2 && ctx.measureText(text).width > bbox.left - 8 * scale) text = `…${text.slice(2)}`;
          ctx.fillStyle = css("--ink");
          ctx.fillText(text, bbox.left - 6 * scale, top + height / 2);
        }
        ctx.save();
        ctx.beginPath();
        ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
        ctx.clip();
        ctx.fillStyle = css(spec.shade);
        for (let at = Math.max(0, first); at <= last; at++) {
          if (!row.cells[at]) continue;
          ctx.globalAlpha = 0.12 + 0.88 * row.cells[at] / max;
          ctx.fillRect(x(at), top, Math.max(x(at + 1) - x(at), scale), Math.max(height - (tall > 6 ? scale : 0), 1));
        }
        ctx.restore();
      });
      drawMarks(plot, spec.marks, false);
    },
    hover: (plot, x) => {
      if (x === null) return "";
      const row = plot.hot && rows[Math.floor(plot.cursor.top / plot.over.clientHeight * rows.length)];
      const at = Math.min(columns - 1, Math.max(0, column(x)));
      const [from, to] = [spec.x.from + at * width, spec.x.from + (at + 1) * width].map(t => Math.round(t * 1000) / 1000);
      const span = `${exact(from, spec.x.units)} to ${exact(to, spec.x.units)}`;
      return row ? `${row.name}: at most ${exact(row.cells[at], spec.units)}, ${span}` : span;
    },
  }, unique);
  view.plot.over.addEventListener("mousemove", () => { view.plot.hot = true; }, true);
  view.plot.over.addEventListener("mouseleave", () => { view.plot.hot = false; });
  return view;
};
