// Returns what does not fit in the page, as sentences. The tests evaluate it at several widths.
(async () => {
  const found = [];
  // Without a script no frame calls back, and nothing changes.
  const rest = () => window.sluice
    ? new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))) : undefined;
  for (const details of document.querySelectorAll("details")) details.open = true;
  // Plots are made when they come near.
  for (let y = 0; y < document.documentElement.scrollHeight; y += innerHeight) {
    scrollTo(0, y);
    await rest();
  }
  scrollTo(0, 0);
  await rest();
  await rest();
  const name = element => {
    const of = element.closest("figure, section");
    const title = of && of.querySelector("h2, summary");
    return `${element.tagName}.${element.getAttribute("class") || ""} of ${title ? title.textContent.slice(0, 40) : "the page"}`;
  };
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) found.push(`the page is ${page.scrollWidth} wide of ${page.clientWidth}`);
  const visible = element => element.getClientRects().length > 0;
  for (const element of document.querySelectorAll("main, main *")) {
    if (!visible(element) || element.closest("svg, .uplot")) continue;
    const scrolls = element.parentElement.closest(".scroll, pre");
    const box = element.getBoundingClientRect();
    if (!scrolls && (box.left < -1 || box.right > page.clientWidth + 1)) {
      found.push(`${name(element)} reaches from ${box.left} to ${box.right}`);
    }
    const style = getComputedStyle(element);
    const wide = element.scrollWidth > element.clientWidth + 1;
    if (wide && element.clientWidth > 0 && style.overflowX === "visible" && style.display !== "inline" && !scrolls) {
      found.push(`${name(element)} has ${element.scrollWidth} in ${element.clientWidth}`);
    }
    if (wide && element.matches(".scroll")) {
      if (style.overflowX !== "auto" || !style.backgroundImage.includes("gradient")) found.push(`${name(element)} does not show that it scrolls`);
      if (element.tabIndex < 0) found.push(`${name(element)} cannot be scrolled with keys`);
    }
  }
  const apart = (boxes, of) => {
    boxes.forEach((a, n) => boxes.slice(n + 1).forEach(b => {
      const [width, height] = [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
      if (width > 1 && height > 2) found.push(`${of}: "${a.text}" and "${b.text}" overlap by ${width.toFixed(1)} x ${height.toFixed(1)}`);
    }));
  };
  let labels = 0;
  for (const svg of [...document.querySelectorAll("svg")].filter(visible)) {
    const outer = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll("text")].map(text => {
      const { left, right, top, bottom } = text.getBoundingClientRect();
      // The box of a line of text is higher than its letters.
      const inner = (bottom - top) * 0.15;
      return { left, right, top: top + inner, bottom: bottom - inner, text: [...text.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join("") };
    });
    labels += boxes.length;
    apart(boxes, name(svg));
    for (const box of boxes) {
      if (box.left < outer.left - 1 || box.right > outer.right + 1) found.push(`${name(svg)}: "${box.text}" is cut off`);
    }
  }
  // The labels of a canvas have no elements: these are the library's own splits and values.
  const views = window.sluice ? sluice.views : [];
  for (const { plot, area } of views.filter(view => visible(view.area))) {
    const { width } = area.getBoundingClientRect();
    if (Math.abs(plot.width - width) > 1) found.push(`${name(area)}: the plot is ${plot.width} wide of ${width}`);
    plot.axes.forEach((axis, n) => {
      if (!axis._splits || !axis._values) return;
      plot.ctx.font = axis.font[0];
      const boxes = axis._splits.map((at, i) => {
        const text = String(axis._values[i] ?? "");
        const long = plot.ctx.measureText(text).width / uPlot.pxRatio;
        const x = plot.over.offsetLeft + plot.valToPos(at, "x");
        const y = plot.valToPos(at, n === 0 ? "x" : "y");
        return n === 0
          ? { left: x - long / 2, right: x + long / 2, top: 0, bottom: 12, text }
          : { left: plot.over.offsetLeft - 6 - long, right: plot.over.offsetLeft - 6, top: y - 6, bottom: y + 6, text };
      }).filter(({ text }) => text !== "");
      labels += boxes.length;
      apart(boxes, `axis ${n} of ${name(area)}`);
      for (const box of boxes) {
        if (box.left < -0.5 || box.right > width + 0.5) found.push(`axis ${n} of ${name(area)}: "${box.text}" is cut off`);
      }
      if (n === 0 && boxes.length < 2) found.push(`axis ${n} of ${name(area)} has ${boxes.length} labels`);
    });
  }
  return { found, labels, plots: document.querySelectorAll(".plot").length, live: document.querySelectorAll(".plot.on").length };
})()
