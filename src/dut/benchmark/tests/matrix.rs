//! The matrix of benchmarks: each fault of a virtual device, beside each feature, by each procedure. Where frames of a
//! trial show the fault, the comparison with the same device without it is worse, or says that it does not judge.
//! Wrong testers on a good device are judged in the same way. Without a fault nothing is wrong.
//!
//! `SLUICE_MATRIX=all` runs all cells, in some minutes; else a part of them.

use std::collections::BTreeMap;
use std::fmt;
use std::thread;

use ground::time::Duration;
use ground::units::Priority;
use ground::verdict::Verdict;
use serde_json::{Value, json};
use tester::figures::Measured;
use tester::report::{Latency, Machine, Report};
use validate::bench::{Acknowledged, Bench, Capability, TrialError};
use validate::knobs::{Feature, Knob, features, knobs};
use validate::observation::Observation;
use validate::trial::{Obeys, Port, Rate, Trial};
use validate::virtual_bench::VirtualBench;

use crate::baseline::{Comparison, Runs};
use crate::plan::{Plan, Repeated, Soak};
use crate::{lossless, rfc2544, rfc2889, rfc7640, rfc8239, run, search, soak};

/// The test runs one cell in so many: some of each procedure, not each fault.
const SAMPLED: usize = 47;

/// Relative width of all searches.
const WIDTH: f64 = 0.01;

/// What the tester counts in a trial, apart from any procedure.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Counts {
    sent: f64,
    lost: f64,
    duplicates: f64,
    reordered: f64,
    damaged: f64,
    /// Sum over all frames, in nanoseconds.
    latency: f64,
    is_paused: bool,
}

impl Counts {
    fn of(trial: &Trial, report: &Report) -> Self {
        let mut counts = Self::default();
        for flow in report.flows.iter().take(trial.own_flows()) {
            counts.sent += flow.frames_tx as f64;
            counts.lost += flow.frames_tx.saturating_sub(flow.frames_rx) as f64;
            counts.duplicates += flow.duplicates as f64;
            counts.reordered += flow.reordered as f64;
            counts.damaged += flow.damaged as f64;
            let latency = |of: &Latency| of.mean_ns.ns() * of.frames as f64;
            counts.latency += flow.latency.as_ref().map_or(0.0, latency);
        }
        let mut priorities = report.ports.iter().flat_map(|port| &port.priorities);
        counts.is_paused = priorities.any(|priority| priority.transitions > 0);
        counts
    }

    /// Returns what is worse than without the fault by more than twice the width of the searches.
    fn harm(&self, good: &Self) -> Option<&'static str> {
        let is_more = |value: fn(&Self) -> f64| {
            let (now, before) = (value(self), value(good));
            let least = if before == 0.0 { 0.0 } else { WIDTH * good.sent };
            now > before * (1.0 + 2.0 * WIDTH) && now - before > least
        };
        // What an overloaded device holds back, and the latency of its buffer, are other figures.
        let is_free = good.lost + self.lost == 0.0 && !good.is_paused;
        let all = [
            ("lost", is_more(|of| of.lost)),
            ("held back", !good.is_paused && self.sent < good.sent * (1.0 - 2.0 * WIDTH)),
            ("twice", is_more(|of| of.duplicates)),
            ("out of order", is_more(|of| of.reordered)),
            ("damaged", is_more(|of| of.damaged)),
            ("late", is_free && !self.is_paused && is_more(|of| of.latency)),
        ];
        all.into_iter().find(|(_, is)| *is).map(|(what, _)| what)
    }
}

/// A tester that is wrong itself.
struct WrongTester {
    name: &'static str,
    /// Changes what is sent.
    before: fn(&mut Trial),
    /// Changes what is counted.
    after: fn(&mut Report),
}

impl WrongTester {
    const fn counting(name: &'static str, after: fn(&mut Report)) -> Self {
        Self { name, before: |_| (), after }
    }

    const fn sending(name: &'static str, before: fn(&mut Trial)) -> Self {
        Self { name, before, after: |_| () }
    }
}

const TESTERS: &[WrongTester] = &[
    WrongTester::sending("offers a tenth less", |trial| {
        for flow in &mut trial.flows {
            if let Rate::Line(share) = &mut flow.rate {
                *share *= 0.9;
            }
        }
    }),
    WrongTester::sending("obeys no pause", |trial| {
        trial.obeys = (0..4).map(|n| (Port(n), Obeys::Nothing)).collect();
    }),
    WrongTester::counting("counts no frame that it sends", |report| {
        report.flows.iter_mut().for_each(|flow| flow.frames_tx = 0);
    }),
    WrongTester::counting("counts frames twice", |report| {
        report.flows.iter_mut().for_each(|flow| flow.frames_rx *= 2);
    }),
    WrongTester::counting("misses one frame in fifty", |report| {
        report.flows.iter_mut().for_each(|flow| flow.frames_rx -= flow.frames_rx / 50);
    }),
    WrongTester::counting("misses frames without a CPU", |report| {
        report.flows.iter_mut().for_each(|flow| flow.frames_rx -= flow.frames_rx / 50);
        report.machine = Some(Machine { preempted_ns: 1e6, ..Machine::default() });
    }),
    WrongTester::counting("counts no pause", |report| {
        report.ports.iter_mut().for_each(|port| port.priorities.clear());
    }),
    WrongTester::counting("stamps arrivals late", |report| {
        for latency in report.flows.iter_mut().filter_map(|flow| flow.latency.as_mut()) {
            let late = |of: Measured| Measured::new(of.ns() + 1e4, 0.0);
            (latency.min_ns, latency.mean_ns) = (late(latency.min_ns), late(latency.mean_ns));
            (latency.p99_ns, latency.max_ns) = (late(latency.p99_ns), late(latency.max_ns));
        }
    }),
];

/// A device, and what the tester counted by trial.
struct Watched<'a> {
    device: VirtualBench,
    tester: Option<&'a WrongTester>,
    trials: BTreeMap<String, Counts>,
}

impl Bench for Watched<'_> {
    fn run(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        self.device.run(trial)
    }

    fn run_on_cable(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        self.device.run_on_cable(trial)
    }

    fn count(&mut self, trial: &Trial) -> Result<Report, TrialError> {
        self.acknowledged(trial).map(|(report, _)| report)
    }

    fn acknowledged(&mut self, trial: &Trial) -> Result<(Report, Vec<Acknowledged>), TrialError> {
        let mut sent = trial.clone();
        if let Some(tester) = self.tester {
            (tester.before)(&mut sent);
        }
        let (mut report, acknowledged) = self.device.acknowledged(&sent)?;
        if let Some(tester) = self.tester {
            (tester.after)(&mut report);
        }
        self.trials.insert(trial.name.clone(), Counts::of(trial, &report));
        Ok((report, acknowledged))
    }

    fn has(&self, capability: Capability) -> bool {
        self.device.has(capability)
    }

    fn world(&self) -> &'static str {
        self.device.world()
    }
}

/// A procedure with the class of its frames: true for a lossless one.
type Procedure = (&'static str, bool, fn(&Plan, &mut dyn Bench) -> (Value, Option<TrialError>));

fn measure<P: run::Procedure>(plan: &Plan, bench: &mut dyn Bench) -> (Value, Option<TrialError>) {
    let (results, trouble) = run::run::<P>(plan, &[], bench, &mut |_| true);
    (run::to_json(&results).unwrap(), trouble)
}

const PROCEDURES: &[Procedure] = &[
    ("rfc2544", false, measure::<rfc2544::Tables>),
    ("rfc2544, lossless", true, measure::<rfc2544::Tables>),
    ("rfc2889", false, measure::<rfc2889::Tables>),
    ("rfc2889, lossless", true, measure::<rfc2889::Tables>),
    ("rfc7640", false, measure::<rfc7640::Tables>),
    ("rfc8239", false, measure::<rfc8239::Tables>),
    ("rfc8239, lossless", true, measure::<rfc8239::Tables>),
    ("lossless", true, measure::<lossless::Tables>),
    ("soak", false, measure::<soak::Tables>),
    ("soak, lossless", true, measure::<soak::Tables>),
    ("mlrsearch", false, measure::<search::Tables>),
    ("mlrsearch, lossless", true, measure::<search::Tables>),
];

/// A run of a procedure.
struct Completed {
    runs: Runs,
    trouble: Option<TrialError>,
    trials: BTreeMap<String, Counts>,
}

/// Runs a procedure on the device of a file; `None` if the file is refused, so that no device has both.
fn measured(file: &str, tester: Option<&WrongTester>, procedure: &Procedure) -> Option<Completed> {
    let (dut, _) = validate::file::parse("device", file).ok()?;
    let mut plan = Plan::with_defaults(&dut, Some(Duration::from_micros(100)));
    let (_, is_lossless, measure) = procedure;
    let class = if *is_lossless { plan.setup.lossless } else { plan.setup.lossy };
    plan.priority = class.iter().next().unwrap_or(Priority::ALL[0]);
    (plan.sizes, plan.width) = (vec![512], WIDTH);
    // Long enough for all frames that the device holds.
    plan.drain = Duration::from_micros(300);
    let once = Repeated { duration: plan.trial, repeats: 1 };
    (plan.latency, plan.back_to_back, plan.recovery) = (once, once, once);
    plan.soak = Soak { load: 0.5, duration: plan.trial.saturating_mul(3), interval: plan.trial };
    plan.learning.addresses = 64;
    // Two to one, so that there is a throughput below the line.
    if plan.setup.ports.len() > 2 {
        plan.flows = vec![(Port(0), Port(2)), (Port(1), Port(2))];
    }
    let device = VirtualBench::new(dut.setup, dut.lab?).resetting(dut.resets);
    let mut bench = Watched { device, tester, trials: BTreeMap::new() };
    let (run, trouble) = measure(&plan, &mut bench);
    let runs = Runs {
        procedure: procedure.0.to_owned(),
        dut: String::new(),
        world: bench.world().to_owned(),
        seed: plan.setup.seed,
        parameters: Some([].into()),
        runs: vec![run],
        ended: trouble.as_ref().map(ToString::to_string),
    };
    Some(Completed { runs, trouble, trials: bench.trials })
}

/// What is wrong in a cell.
#[derive(Clone, Copy)]
enum Planted<'a> {
    Fault(&'a Knob),
    Tester(&'a WrongTester),
}

/// A good device with a feature, and a procedure, beside which cells are.
#[derive(Clone, Copy)]
struct Column<'a> {
    feature: Option<&'a Feature>,
    device: &'a str,
    procedure: &'a Procedure,
}

impl fmt::Display for Column<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let feature = self.feature.map_or("no feature", |feature| &feature.name);
        write!(f, "{}, beside {feature} ({})", self.procedure.0, self.device)
    }
}

/// Number of cells by what they say.
#[derive(Debug, Default)]
struct Found {
    good: usize,
    fail: usize,
    not_judged: usize,
    /// No frame shows what is planted, or no device has it beside the feature.
    without_effect: usize,
    wrong: Vec<String>,
}

impl Column<'_> {
    /// Runs the good device, and each planted thing.
    fn run(&self, planted: &[Planted<'_>]) -> Found {
        let mut found = Found::default();
        let bare = Knob {
            change: json!({}),
            told: Value::Null,
            values: Vec::new(),
            device: self.device.to_owned(),
            ..knobs().unwrap()[0].clone()
        };
        let file = bare.file_beside(self.feature, None);
        let Some(good) = measured(&file, None, self.procedure) else {
            found.without_effect += planted.len();
            return found;
        };
        found.good += 1;
        found.wrong.extend(self.good(&good));
        for planted in planted {
            let (name, bad) = match planted {
                Planted::Fault(knob) => {
                    let bad = knob.file_beside(self.feature, knob.values.first());
                    (&knob.fault[..], measured(&bad, None, self.procedure))
                }
                Planted::Tester(tester) => {
                    (tester.name, measured(&file, Some(tester), self.procedure))
                }
            };
            // A device without the fault that the file tells otherwise is another one.
            let told = match planted {
                Planted::Fault(knob) if !knob.told.is_null() => {
                    let told = Knob { change: json!({}), ..(*knob).clone() };
                    measured(&told.file_beside(self.feature, None), None, self.procedure)
                }
                _ => None,
            };
            let good = told.as_ref().unwrap_or(&good);
            match bad.map(|bad| (Comparison::of(&good.runs, &bad.runs, &[], WIDTH).verdict(), bad))
            {
                None => found.without_effect += 1,
                Some((Verdict::Fail, _)) => found.fail += 1,
                Some((Verdict::Inconclusive | Verdict::NotJudged, _)) => found.not_judged += 1,
                Some((Verdict::Pass, bad)) => {
                    let mut both = bad.trials.iter().filter_map(|(trial, counts)| {
                        let what = counts.harm(good.trials.get(trial)?)?;
                        let is_none = match what {
                            // MLRsearch has no latencies.
                            "late" => self.procedure.0.starts_with("mlrsearch"),
                            // The longest response that this device bears differs by less than the search's width.
                            "lost" => {
                                name == "XON is sent at another level"
                                    && trial.contains("senders late by")
                            }
                            _ => false,
                        };
                        (!is_none).then_some((trial, what))
                    });
                    match both.next() {
                        None => found.without_effect += 1,
                        Some((trial, what)) => {
                            found.wrong.push(format!("{name}: {self}: {what} in {trial}"));
                        }
                    }
                }
            }
        }
        found
    }

    /// Returns what is wrong about a run of a good device: it is complete, or the procedure needs what the device
    /// does not have.
    fn good(&self, good: &Completed) -> Option<String> {
        match &good.trouble {
            None | Some(TrialError::Missing(_)) => {
                let verdict = Comparison::of(&good.runs, &good.runs, &[], WIDTH).verdict();
                // Without a table nothing was measured, and nothing can be compared.
                (verdict == Verdict::Fail).then(|| format!("{self}: {verdict:?} with itself"))
            }
            Some(trouble) => Some(format!("{self}: without a fault: {trouble}")),
        }
    }
}

/// Returns all cells: each fault and each wrong tester by each procedure, and each fault beside each feature by the
/// procedures in turn.
fn cells<'a>(knobs: &'a [Knob], features: &'a [Feature]) -> Vec<(Column<'a>, Planted<'a>)> {
    let mut cells = Vec::new();
    // A NIC forwards nothing, and a ring floods frames without end.
    let knobs = || knobs.iter().filter(|knob| !["nic", "ring"].contains(&&knob.device[..]));
    for procedure in PROCEDURES {
        let column = |device| Column { feature: None, device, procedure };
        cells.extend(knobs().map(|knob| (column(&knob.device), Planted::Fault(knob))));
        cells.extend(TESTERS.iter().map(|tester| (column("virtual"), Planted::Tester(tester))));
    }
    for (n, feature) in features.iter().enumerate() {
        let own = knobs().filter(|knob| feature.devices.contains(&knob.device));
        cells.extend(own.enumerate().map(|(m, knob)| {
            let procedure = &PROCEDURES[(n + m) % PROCEDURES.len()];
            (
                Column { feature: Some(feature), device: &knob.device, procedure },
                Planted::Fault(knob),
            )
        }));
    }
    cells
}

#[test]
fn no_fault_and_no_wrong_tester_passes_where_frames_show_it() {
    let is_whole = std::env::var("SLUICE_MATRIX").is_ok_and(|value| value == "all");
    let knobs = knobs().unwrap();
    let features = features(&knobs).unwrap();
    let step = if is_whole { 1 } else { SAMPLED };
    // One run of the good device serves all cells of a column.
    let mut columns: BTreeMap<String, (Column<'_>, Vec<Planted<'_>>)> = BTreeMap::new();
    for (column, planted) in cells(&knobs, &features).into_iter().step_by(step) {
        columns.entry(column.to_string()).or_insert((column, Vec::new())).1.push(planted);
    }
    let columns: Vec<_> = columns.into_values().collect();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let found: Vec<Found> = thread::scope(|scope| {
        let parts = columns.chunks(columns.len().div_ceil(threads));
        let run = |part: &[(Column<'_>, Vec<Planted<'_>>)]| -> Vec<Found> {
            part.iter().map(|(column, planted)| column.run(planted)).collect()
        };
        let parts: Vec<_> = parts.map(|part| scope.spawn(move || run(part))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    let sum = |count: fn(&Found) -> usize| found.iter().map(count).sum::<usize>();
    let (fail, not_judged) = (sum(|found| found.fail), sum(|found| found.not_judged));
    let (good, without_effect) = (sum(|found| found.good), sum(|found| found.without_effect));
    println!("{good} good, {fail} fail, {not_judged} not judged, {without_effect} without effect");
    let wrong: Vec<_> = found.iter().flat_map(|found| &found.wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(good > 0 && fail > not_judged, "{fail} fail, {not_judged} are not judged");
}
