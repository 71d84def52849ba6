//! The pages in a real browser: they fit a desk and a phone, zoom, show values, print, and need no
//! script.

mod devtools;

use std::fs;
use std::path::{Path, PathBuf};

use devtools::Browser;
use serde_json::{Value, json};
use sluice::report::{SweepAxis, SweepFigure, SweepPage, SweepRow, sweep_html};
use sluice::verdict::Verdict;

use crate::run::{self, Dir};

/// Windows of a desk and of a phone.
const DESK: (u32, u32) = (1280, 900);
const PHONE: (u32, u32) = (390, 844);

const MEASURE: &str = include_str!("browser/measure.js");

/// Makes a page by the program.
fn page(dir: &Dir, args: &[&str]) -> PathBuf {
    let path = dir.path("page.html");
    let output = run::sluice()
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(args)
        .arg("--report")
        .arg(&path)
        .output()
        .unwrap();
    assert!(path.exists(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    path
}

/// Opens a page at both widths, with a script and without, and asserts that all of it fits.
fn fits(name: &str, page: &Path, plots: usize) {
    let mut browser = Browser::start(name);
    let octets = fs::metadata(page).unwrap().len();
    assert!(octets < 1_500_000, "{name}: {octets} bytes");
    for (window, script) in [(DESK, true), (PHONE, true), (DESK, false), (PHONE, false)] {
        let off = json!({"value": !script});
        browser.call("Emulation.setScriptExecutionDisabled", off);
        browser.open(page, window);
        let seen = browser.evaluate(MEASURE);
        let place = format!("{name}, {} wide, script {script}", window.0);
        assert_eq!(seen["found"], json!([]), "{place}");
        assert_eq!(browser.complaints(), [""; 0], "{place}");
        let live = if script { seen["plots"].clone() } else { 0.into() };
        assert_eq!(seen["live"], live, "{place}");
        assert!(seen["plots"].as_u64() >= Some(plots as u64), "{place}: {seen}");
        let stills = browser.evaluate(
            "[...document.querySelectorAll('.still')].filter(e => e.getClientRects().length).length",
        );
        assert_eq!(stills, if script { 0.into() } else { seen["plots"].clone() }, "{place}");
    }
}

#[test]
fn the_page_of_a_lab_fits() {
    let dir = Dir::new("page-incast");
    fits("incast", &page(&dir, &["run", "configs/labs/incast.yaml"]), 5);
}

#[test]
fn the_page_of_many_queues_and_flows_fits() {
    let dir = Dir::new("page-leaf");
    fits("leaf", &page(&dir, &["run", "configs/labs/leaf-spine.yaml"]), 8);
}

#[test]
fn the_page_of_messages_fits() {
    let dir = Dir::new("page-roce");
    fits("roce", &page(&dir, &["run", "configs/labs/roce-dcqcn.yaml"]), 4);
}

#[test]
fn the_page_of_variants_fits() {
    let dir = Dir::new("page-variants");
    fits("variants", &page(&dir, &["run", "configs/labs/compare/victim.yaml"]), 4);
}

#[test]
fn the_page_of_an_exploration_fits() {
    let dir = Dir::new("page-explore");
    let args =
        ["explore", "configs/labs/roce-dcqcn.yaml", "--kmin", "20KB,100KB", "--kmax", "400KB"];
    fits("explore", &page(&dir, &args), 0);
}

#[test]
fn the_page_of_a_benchmark_fits() {
    let dir = Dir::new("page-benchmark");
    let dut = "rate: 100G\nports: [{}, {}]\nvirtual: {profile: {}}\nname: bridge\n";
    let dut = dir.write("dut.yaml", dut);
    let args = ["benchmark", "rfc2544", dut.to_str().unwrap(), "--only", "throughput"];
    fits("benchmark", &page(&dir, &args), 1);
}

#[test]
fn the_page_of_a_validation_fits() {
    let dir = Dir::new("page-validate");
    let args = ["validate", "configs/validate/virtual.yaml", "--level", "quick"];
    fits("validate", &page(&dir, &args), 20);
}

#[test]
fn the_page_of_a_generator_fits() {
    let dir = Dir::new("page-gen");
    fits("gen", &page(&dir, &["gen", "configs/gen/pfc-storm.yaml", "--world", "virtual"]), 2);
}

/// A study of two axes, three seeds and three figures, in which a corner fails.
fn study() -> String {
    let axis = |name: &str, values: &[&str], repeats| SweepAxis {
        name: name.into(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
        repeats,
    };
    let lengths = ["1m", "3m", "10m", "30m", "100m", "300m", "1km", "3km", "10km", "30km", "100km"];
    let axes = [
        axis("alpha", &["1/16", "1/8", "1/4", "1/2", "1", "2", "4"], false),
        axis("length", &lengths, false),
        axis("seed", &["1", "2", "3"], true),
    ];
    let figure = |name: &str, unit| SweepFigure { name: name.into(), unit };
    let figures =
        [figure("fct.p99_ns", "ns"), figure("headroom_peak_bytes", "B"), figure("rx_bps", "bit/s")];
    let mut rows = Vec::new();
    for place in (0..7 * 11 * 3).map(|n| vec![n / 33, n / 3 % 11, n % 3]) {
        let [alpha, length, seed] = [0, 1, 2].map(|n| place[n] as f64);
        let verdict = if alpha + length > 14.0 { Verdict::Fail } else { Verdict::Pass };
        let known = alpha > 0.0 || length < 9.0;
        let numbers =
            [1e5 * (1.0 + length + seed), 2e4 * 1.5_f64.powf(length), 1e11 / (1.0 + alpha)];
        let figures = numbers.iter().map(|number| known.then_some(*number)).collect();
        rows.push(SweepRow { place, verdict, figures });
    }
    sweep_html(&SweepPage {
        title: "leaf-spine",
        world: "virtual",
        verdict: Verdict::Fail,
        summary: &["a study".into()],
        axes: &axes,
        figures: &figures,
        rows: &rows,
        command: "sluice run study.yaml --report study.html",
    })
}

#[test]
fn the_page_of_a_study_fits() {
    let dir = Dir::new("page-study");
    fits("study", &dir.write("page.html", &study()), 1);
}

/// A sweep of twelve short runs, of which those with a long cable fail.
const SWEEP: &str = "\
name: tiny
topology: {star: {hosts: 3}}
duration: 100us
defaults: {links: {rate: 100G, length: 10m}}
flows: [{name: f, from: [h1, h2], to: h3, priority: 3, size: 1500}]
checks: [conservation, {value: {path: flows.f_h1.latency_ns.min, at_most: 4000}}]
sweep: {defaults.links.length: [10m, 2km], flows.f.size: 500..1500 step 500, seed: 1..2}
";

#[test]
fn the_page_of_a_sweep_fits_and_shows_its_runs() {
    let dir = Dir::new("page-sweep");
    let file = dir.write("tiny.yaml", SWEEP);
    let page = page(&dir, &["run", file.to_str().unwrap()]);
    fits("sweep", &page, 1);
    let mut browser = Browser::start("sweep-grid");
    browser.open(&page, DESK);
    browser.evaluate(MEASURE);
    let seen = browser.evaluate(
        "[...document.querySelectorAll('.live table.grid tr')].map(row =>
            [...row.cells].map(cell => cell.textContent))",
    );
    let rows = seen.as_array().unwrap();
    assert_eq!(rows.len(), 3, "{seen}");
    assert_eq!(rows[0], json!(["length \\ size", "500", "1000", "1500"]));
    let failed = |row: &Value| {
        row.as_array().unwrap().iter().filter(|c| c.as_str().unwrap().ends_with("FAIL 2/2")).count()
    };
    assert_eq!((failed(&rows[1]), failed(&rows[2])), (0, 3), "{seen}");
}

#[test]
fn the_figure_and_the_axes_of_a_study_are_chosen() {
    let dir = Dir::new("page-choices");
    let page = dir.write("page.html", &study());
    let mut browser = Browser::start("choices");
    for window in [DESK, PHONE] {
        browser.open(&page, window);
        browser.evaluate(MEASURE);
        let grid = "[...document.querySelectorAll('.live table.grid tbody tr')].map(row =>
            [...row.cells].map(cell => cell.textContent))";
        let seen = browser.evaluate(grid);
        assert_eq!(seen.as_array().unwrap().len(), 7, "alpha by length: {seen}");
        // The mean of the seeds: 1e5 times 1, 2 and 3.
        assert_eq!((&seen[1][0], &seen[1][1]), (&json!("1/8"), &json!("200 µs")));
        assert_eq!(seen[0][11], "–", "no run has it");
        assert_eq!(seen[6][11], "1.2 msFAIL 3/3");
        let choose = |name: &str, value: &str| {
            format!(
                "(() => {{ const label = [...document.querySelectorAll('.choices label')]
                    .find(label => label.textContent.startsWith('{name} '));
                const select = label.querySelector('select');
                select.value = [...select.options].find(o => o.textContent === '{value}').value;
                select.dispatchEvent(new Event('change')); }})()"
            )
        };
        browser.evaluate(&choose("Figure", "headroom_peak_bytes"));
        assert_eq!(browser.evaluate(grid)[1][1], "20 kB");
        for (name, value) in [("as", "lines"), ("and", "nothing else"), ("alpha", "1/4")] {
            browser.evaluate(&choose(name, value));
        }
        let lines = browser.evaluate(
            "sluice.views.map(({ plot }) => [plot.series.length, plot.data[0].length, plot.data[1][2]])",
        );
        assert_eq!(lines, json!([[4, 11, 45_000]]), "a line with its band, at the third length");
        assert_eq!(browser.evaluate(MEASURE)["found"], json!([]));
        assert_eq!(browser.complaints(), [""; 0]);
    }
}

/// Centre of the plot of this kind, and its edges.
fn over(browser: &mut Browser, kind: &str) -> [f64; 4] {
    let found = browser.evaluate(&format!(
        "(() => {{ const of = sluice.views.find(view => view.spec.kind === '{kind}' && view.spec.group);
            of.area.scrollIntoView({{ block: 'center' }});
            const box = of.plot.over.getBoundingClientRect();
            return [box.left, box.top, box.width, box.height]; }})()"
    ));
    [0, 1, 2, 3].map(|n| found[n].as_f64().unwrap())
}

fn ranges(browser: &mut Browser) -> Vec<(f64, f64)> {
    let found = browser.evaluate(
        "sluice.views.filter(view => view.spec.group === 'run')
            .map(({ plot }) => [plot.scales.x.min, plot.scales.x.max])",
    );
    let pair = |of: &Value| (of[0].as_f64().unwrap(), of[1].as_f64().unwrap());
    found.as_array().unwrap().iter().map(pair).collect()
}

#[test]
fn all_plots_of_a_run_zoom_and_show_values_together() {
    let dir = Dir::new("page-zoom");
    let page = page(&dir, &["run", "configs/labs/incast.yaml"]);
    let mut browser = Browser::start("zoom");
    browser.open(&page, DESK);
    browser.evaluate(MEASURE);
    let whole = ranges(&mut browser);
    assert!(whole.len() >= 4 && whole.iter().all(|range| *range == whole[0]), "{whole:?}");

    let [left, top, width, height] = over(&mut browser, "lines");
    let at = |part: f64| (left + width * part, top + height / 2.0);
    browser.drag(at(0.1), at(0.2));
    let near = ranges(&mut browser);
    let (low, high) = near[0];
    assert!(near.iter().all(|range| *range == near[0]), "one axis: {near:?}");
    let end = whole[0].1;
    let close = |value: f64, part: f64| (value / end - part).abs() < 0.01;
    assert!(close(low, 0.1) && close(high, 0.2), "{low} to {high} of {end}");
    let seen = browser.evaluate(MEASURE);
    assert_eq!(seen["found"], json!([]), "labels of a zoomed axis");

    // The cursor of one plot is the cursor of all.
    let [left, top, width, height] = over(&mut browser, "lines");
    browser.mouse("mouseMoved", (left + width * 0.5, top + height / 2.0), 0);
    let cursors = browser.evaluate(
        "sluice.views.filter(view => view.spec.group === 'run').map(({ plot }) => plot.cursor.left)",
    );
    let middle = |left: &Value| (left.as_f64().unwrap() - width / 2.0).abs() < 2.0;
    assert!(cursors.as_array().unwrap().iter().all(middle), "{cursors} of {width}");
    let values = browser.evaluate(
        "[...document.querySelectorAll('.times .legend.live .value')].map(e => e.textContent)",
    );
    let values: Vec<&str> =
        values.as_array().unwrap().iter().map(|value| value.as_str().unwrap()).collect();
    let with = |unit: &str| values.iter().filter(|value| value.ends_with(unit)).count();
    assert!(with("B") >= 2 && with("b/s") >= 2, "{values:?}");

    // Pauses have their exact times: to the picosecond, as they are in the data of the page.
    let [left, top, width, height] = over(&mut browser, "pauses");
    browser.mouse("mouseMoved", (left + width * 0.5, top + height / 16.0), 0);
    let text = browser.evaluate("document.querySelector('.times .plot:has(.area) .read output') && \
        sluice.views.find(view => view.spec.kind === 'pauses').area.parentElement.querySelector('output').textContent");
    let text = text.as_str().unwrap();
    assert!(text.contains("p3: paused from ") && text.contains(" µs, for "), "{text}");
    let from = text.split("from ").nth(1).unwrap().split(' ').next().unwrap();
    let picos = (from.parse::<f64>().unwrap() * 1e6).round();
    let known = browser.evaluate(&format!(
        "sluice.views.find(view => view.spec.kind === 'pauses').spec.rows[0].spans
            .reduce(([now, hit], [gap, length]) =>
                [now + gap + length, hit || now + gap === {picos}], [0, false])[1]"
    ));
    assert_eq!(known, true, "{text}: {picos} ps");
    let frames = browser.evaluate(
        "sluice.views.find(view => view.spec.kind === 'pauses').spec.rows.map(row =>
            [row.sent.kinds, row.obeyed.kinds])",
    );
    for row in frames.as_array().unwrap() {
        for kinds in [&row[0], &row[1]] {
            let kinds = kinds.as_str().unwrap();
            assert!(kinds.contains('1') && kinds.contains('0'), "XOFF and XON: {frames}");
        }
    }

    browser.double_click((left + width * 0.5, top + height * 0.5));
    assert_eq!(ranges(&mut browser), whole, "a double click resets");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_variant_is_hidden_in_all_plots_and_a_theme_is_followed() {
    let dir = Dir::new("page-toggle");
    let page = page(&dir, &["run", "configs/labs/compare/victim.yaml"]);
    let mut browser = Browser::start("toggle");
    browser.open(&page, DESK);
    browser.evaluate(MEASURE);
    let shown = "sluice.views.map(({ plot }) => plot.series.filter(s => s.label === 'qcn' && s.show).length)";
    let count =
        |seen: &Value| seen.as_array().unwrap().iter().filter_map(Value::as_u64).sum::<u64>();
    let before = count(&browser.evaluate(shown));
    assert!(before >= 4, "queues, pauses, rates and completion times: {before}");
    let click = "[...document.querySelectorAll('.legend.live button')].find(b => b.textContent.startsWith('qcn')).click()";
    browser.evaluate(click);
    assert_eq!(count(&browser.evaluate(shown)), 0);
    browser.evaluate(click);
    assert_eq!(count(&browser.evaluate(shown)), before);

    // Colours of the middle of a canvas.
    let ink = "(() => { const { plot } = sluice.views[0]; return plot.axes[0].stroke(); })()";
    let light = browser.evaluate(ink);
    browser.theme("dark");
    browser
        .evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
    assert_ne!(browser.evaluate(ink), light, "axes have the ink of the theme");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn paper_has_the_drawings() {
    let dir = Dir::new("page-print");
    let page = page(&dir, &["run", "configs/labs/incast.yaml"]);
    let mut browser = Browser::start("print");
    browser.open(&page, DESK);
    browser.evaluate(MEASURE);
    browser.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    let seen = browser.evaluate(
        "['.still', '.live'].map(name => [...document.querySelectorAll(name)]
            .filter(e => e.getClientRects().length).length)",
    );
    assert!(seen[0].as_u64() >= Some(5) && seen[1] == 0, "{seen}");
}

#[test]
fn a_finger_zooms() {
    let dir = Dir::new("page-touch");
    let page = page(&dir, &["run", "configs/labs/incast.yaml"]);
    let mut browser = Browser::start("touch");
    browser.call("Emulation.setTouchEmulationEnabled", json!({"enabled": true}));
    browser.open(&page, PHONE);
    browser.evaluate(MEASURE);
    let whole = ranges(&mut browser);
    let [left, top, width, height] = over(&mut browser, "lines");
    let touch = |browser: &mut Browser, kind: &str, part: f64| {
        let points = json!([{"x": left + width * part, "y": top + height / 2.0}]);
        let points = if kind == "touchEnd" { json!([]) } else { points };
        browser.call("Input.dispatchTouchEvent", json!({"type": kind, "touchPoints": points}));
    };
    touch(&mut browser, "touchStart", 0.2);
    for step in 1..=10 {
        touch(&mut browser, "touchMove", 0.2 + 0.04 * f64::from(step));
    }
    touch(&mut browser, "touchEnd", 0.6);
    let near = ranges(&mut browser);
    assert!(near[0].0 > whole[0].0 && near[0].1 < whole[0].1, "{near:?}");
    browser.evaluate("document.querySelector('.times .reset').click()");
    assert_eq!(ranges(&mut browser), whole);
}
