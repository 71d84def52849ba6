// Replaces the drawings of the page by plots, those that are far away as soon as they come near.

const kinds = { lines: showLines, pauses: showPauses, heat: showHeat, sweep: showSweep };

const show = (host, unique) => {
  const spec = JSON.parse(host.querySelector("script.data").textContent);
  const live = make("div", "live");
  host.append(live);
  host.classList.add("on");
  try {
    const view = kinds[spec.kind](live, spec, unique);
    if (view.plot) views.push(view);
    let width = live.clientWidth;
    new ResizeObserver(() => {
      if (live.clientWidth === width || live.clientWidth === 0) return;
      width = live.clientWidth;
      if (view.resize) view.resize();
      else view.plot.setSize({ width, height: view.height() });
    }).observe(live);
  } catch (error) {
    // The drawing is still there.
    live.remove();
    host.classList.remove("on");
    throw error;
  }
};

const start = () => {
  for (const cards of document.querySelectorAll(".times")) cards.classList.add("on");
  const near = new IntersectionObserver(entries => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      show(target, `plot ${target.dataset.plot}`);
    }
  }, { rootMargin: "600px" });
  document.querySelectorAll(".plot").forEach((host, n) => {
    host.dataset.plot = n;
    near.observe(host);
  });
};

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  theme.clear();
  for (const { plot } of views) plot.redraw(false);
});

// For tests, and for readers with a console.
window.sluice = { views, groups };
start();
