//! Machines that take the CPU from the tester, or from the device, in a trial.

use ground::time::Duration;
use ground::verdict::Verdict;
use serde_json::Value;
use tester::report::{DeviceCpu, Flow, Machine, Port, Report, Unattended};
use validate::bench::{Acknowledged, Bench, Capability, TrialError};
use validate::observation::{Observation, Way, What};
use validate::trial::{FlowId, Trial};
use validate::virtual_bench::VirtualBench;

use super::example;
use crate::baseline::{Comparison, Runs};
use crate::journal::Journal;
use crate::plan::{Plan, Soak};
use crate::rfc2544::Test;
use crate::testfolder::Folder;
use crate::{lossless, rfc2544, rfc2889, rfc7640, rfc8239, run, search, soak};

/// Procedures as values.
type Run = fn(&Plan, &mut dyn Bench) -> (Value, Option<TrialError>);

fn value<R: serde::Serialize>(
    (results, trouble): (R, Option<TrialError>),
) -> (Value, Option<TrialError>) {
    (serde_json::to_value(results).unwrap(), trouble)
}

const PROCEDURES: &[(&str, Run)] = &[
    ("throughput", |plan, bench| {
        value(run::run::<rfc2544::Tables>(plan, &[Test::Throughput], bench, &mut |_| true))
    }),
    ("loss", |plan, bench| {
        value(run::run::<rfc2544::Tables>(plan, &[Test::Loss], bench, &mut |_| true))
    }),
    ("mesh", |plan, bench| {
        value(run::run::<rfc2889::Tables>(plan, &[rfc2889::Test::Mesh], bench, &mut |_| true))
    }),
    ("errors", |plan, bench| {
        value(run::run::<rfc2889::Tables>(plan, &[rfc2889::Test::Errors], bench, &mut |_| true))
    }),
    ("burst hunt", |plan, bench| {
        value(run::run::<rfc7640::Tables>(plan, &[], bench, &mut |_| true))
    }),
    ("buffer", |plan, bench| {
        value(run::run::<rfc8239::Tables>(plan, &[rfc8239::Test::Buffer], bench, &mut |_| true))
    }),
    ("incast", |plan, bench| {
        value(run::run::<rfc8239::Tables>(plan, &[rfc8239::Test::Incast], bench, &mut |_| true))
    }),
    ("lossless", |plan, bench| {
        value(run::run::<lossless::Tables>(plan, &[], bench, &mut |_| true))
    }),
    ("soak", |plan, bench| value(run::run::<soak::Tables>(plan, &[], bench, &mut |_| true))),
    ("mlrsearch", |plan, bench| value(run::run::<search::Tables>(plan, &[], bench, &mut |_| true))),
];

/// A device in virtual time that loses frames, on a busy machine.
struct Busy {
    device: VirtualBench,
    /// Time that the tester's thread lost in each trial, in nanoseconds, and the device.
    ns: (f64, DeviceCpu),
    /// Frames of the first flow that are lost in each trial.
    lost: u64,
    trials: u64,
}

impl Busy {
    fn new(device: VirtualBench, ns: f64, device_cpu: DeviceCpu, lost: u64) -> Self {
        Self { device, ns: (ns, device_cpu), lost, trials: 0 }
    }

    fn disturb(&mut self, report: &mut Report) {
        self.trials += 1;
        let (preempted_ns, device) = self.ns;
        report.machine = Some(Machine { preempted_ns, ..Machine::default() });
        report.preempted_ports = vec!["p1".to_owned()];
        report.device = device;
        if let Some(flow) = report.flows.first_mut() {
            flow.frames_rx = flow.frames_rx.saturating_sub(self.lost);
        }
    }
}

impl Bench for Busy {
    fn run(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        let mut seen = self.device.run(trial)?;
        let mut report = Report::default();
        self.disturb(&mut report);
        seen.unattended = report.unattended();
        let mut left = self.lost;
        seen.records.retain(|record| {
            let of_first = matches!(record.what, What::Data { flow: FlowId(0), .. });
            let is_lost = left > 0 && of_first && record.way == Way::Received;
            left -= u64::from(is_lost);
            !is_lost
        });
        Ok(seen)
    }

    fn run_on_cable(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        self.device.run_on_cable(trial)
    }

    fn count(&mut self, trial: &Trial) -> Result<Report, TrialError> {
        let mut report = self.device.count(trial)?;
        self.disturb(&mut report);
        Ok(report)
    }

    fn acknowledged(&mut self, trial: &Trial) -> Result<(Report, Vec<Acknowledged>), TrialError> {
        let (mut report, of) = self.device.acknowledged(trial)?;
        self.disturb(&mut report);
        Ok((report, of))
    }

    fn has(&self, capability: Capability) -> bool {
        self.device.has(capability)
    }

    fn world(&self) -> &'static str {
        self.device.world()
    }
}

fn short(plan: Plan) -> Plan {
    let interval = plan.trial.div(4);
    let soak = Soak { load: 0.3, duration: interval.saturating_mul(2), interval };
    Plan { sizes: vec![512], soak, ..plan }
}

/// Every procedure, and each of the three ways in which a trial is counted.
#[test]
fn a_loss_that_a_lost_cpu_may_explain_makes_every_procedure_inconclusive() {
    for (name, run) in PROCEDURES {
        for ns in [(1e9, DeviceCpu::Elsewhere), (0.0, DeviceCpu::Waited(1e9))] {
            let file = match *name {
                "buffer" | "incast" => "benchmark/rfc8239.yaml",
                "lossless" => "benchmark/lossless.yaml",
                _ => "benchmark/rfc2544.yaml",
            };
            let (plan, device) = example(file);
            let mut bench = Busy::new(device, ns.0, ns.1, 1);
            let (results, trouble) = run(&short(plan), &mut bench);
            let Some(TrialError::Disturbed(why)) = trouble else {
                panic!("{name}, {ns:?}: {trouble:?}\n{results:#}")
            };
            let who = match ns.1 {
                DeviceCpu::Waited(_) => "the device on this machine had no CPU for up to 1000 ms",
                _ => "the tester's thread of port p1 had no CPU for 1000 ms",
            };
            assert!(why.contains(who), "{name}: {why}");
            assert_eq!(results["ended"], Value::from(why), "{name}");
            assert!(bench.trials >= 3, "{name}: a disturbed trial is repeated");
        }
    }
}

#[test]
fn a_trial_without_loss_is_good_whatever_the_machine_did() {
    let (plan, mut device) = example("validate/virtual.yaml");
    let plan = Plan { sizes: vec![512], ..plan };
    let (_, throughput) = PROCEDURES[0];
    let quiet = throughput(&plan, &mut device);
    assert_eq!(quiet.1, None);
    let mut busy = Busy::new(device, 1e9, DeviceCpu::Waited(1e9), 0);
    assert_eq!(throughput(&plan, &mut busy), quiet);
    // A clock that waits for the threads loses nothing with them.
    let lost = Report {
        machine: Some(Machine { preempted_ns: 1e9, longest_gap_ns: 1e9, excluded: true }),
        ..Report::default()
    };
    assert_eq!(lost.unattended(), Unattended::default());
}

#[test]
fn a_machine_that_does_not_tell_is_noted() {
    let (plan, device) = example("validate/virtual.yaml");
    let plan = Plan { sizes: vec![512], ..plan };
    let mut bench = Busy::new(device, 0.0, DeviceCpu::Unknown, 0);
    let (results, trouble) = PROCEDURES[0].1(&plan, &mut bench);
    assert_eq!(trouble, None);
    assert!(results["notes"].to_string().contains("unknown"), "{results:#}");
}

/// A real device whose trials end as it is told.
struct Scripted<F> {
    plan: Plan,
    /// Returns the lost frames and the preempted time in nanoseconds of a trial, by its share of the line.
    lost: F,
    trials: u64,
}

impl<F: FnMut(f64, u64) -> (u64, f64)> Bench for Scripted<F> {
    fn run(&mut self, _: &Trial) -> Result<Observation, TrialError> {
        unreachable!("only counters are read")
    }

    fn run_on_cable(&mut self, _: &Trial) -> Result<Observation, TrialError> {
        unreachable!("only counters are read")
    }

    fn count(&mut self, trial: &Trial) -> Result<Report, TrialError> {
        self.trials += 1;
        let flow = &trial.flows[0];
        let sent = flow.intended(&self.plan.setup);
        let share = flow.frames_per_second(&self.plan.setup) / self.plan.line_rate(0, flow.size);
        let (lost, preempted_ns) = (self.lost)(share, sent);
        let counts = Flow { frames_tx: sent, frames_rx: sent - lost.min(sent), ..Flow::default() };
        Ok(Report {
            ports: vec![Port::default()],
            flows: vec![counts],
            machine: Some(Machine { preempted_ns, ..Machine::default() }),
            ..Report::default()
        })
    }

    fn world(&self) -> &'static str {
        "real"
    }
}

/// Part of the line that the scripted device carries.
const CAPACITY: f64 = 0.6;

/// Returns the number of frames that the device loses in a trial.
fn beyond(share: f64, sent: u64) -> u64 {
    (sent as f64 * (1.0 - CAPACITY / share).max(0.0)).ceil() as u64
}

fn scripted<F: FnMut(f64, u64) -> (u64, f64)>(lost: F) -> Scripted<F> {
    let (plan, _) = example("benchmark/rfc2544.yaml");
    let trial = Duration::from_millis(100);
    let plan = Plan { sizes: vec![64], rest: Duration::ZERO, width: 0.02, trial, ..plan };
    Scripted { plan, lost, trials: 0 }
}

/// A device that loses one frame of `one_of` in the first `trials` below its capacity, on a machine that takes
/// `ns` nanoseconds of each trial away.
fn glitches(mut trials: u64, one_of: u64, ns: f64) -> Scripted<impl FnMut(f64, u64) -> (u64, f64)> {
    scripted(move |share, sent| {
        let is_glitch = trials > 0 && share < CAPACITY * 1.01;
        trials -= u64::from(is_glitch);
        (if is_glitch { sent / one_of } else { beyond(share, sent) }, ns)
    })
}

fn throughput<F: FnMut(f64, u64) -> (u64, f64)>(
    bench: &mut Scripted<F>,
) -> (Option<f64>, Option<TrialError>) {
    let plan = bench.plan.clone();
    let (results, trouble) =
        run::run::<rfc2544::Tables>(&plan, &[Test::Throughput], bench, &mut |_| true);
    let row = results.tables.throughput.first();
    (row.and_then(|row| Some(row.frames_per_second? / row.line_frames_per_second)), trouble)
}

#[test]
fn a_capacity_is_found_beside_disturbances_that_do_not_explain_the_loss() {
    let is_found =
        |share: Option<f64>| share.is_some_and(|s| (CAPACITY * 0.97..=CAPACITY).contains(&s));
    let (share, trouble) = throughput(&mut scripted(|share, sent| (beyond(share, sent), 0.0)));
    assert!(trouble.is_none() && is_found(share), "{share:?}, {trouble:?}");
    // A thousandth of the time, and at least a fiftieth of the frames in all trials but near the capacity.
    let near = |share: f64| (share / CAPACITY - 1.0).abs() < 0.01;
    let mut bench =
        scripted(|share, sent| (beyond(share, sent), if near(share) { 0.0 } else { 1e5 }));
    let (share, trouble) = throughput(&mut bench);
    assert!(trouble.is_none() && is_found(share), "{share:?}, {trouble:?}");
}

/// Threads lose half a percent of their time in every trial, which is less than the width of the search.
#[test]
fn a_small_doubt_near_the_limit_is_cleared_by_a_higher_load() {
    let (share, trouble) = throughput(&mut scripted(|share, sent| (beyond(share, sent), 5e5)));
    assert_eq!(trouble, None);
    assert!((CAPACITY * 0.97..=CAPACITY * 1.001).contains(&share.unwrap()), "{share:?}");
}

/// The same threads, and single frames that are lost far below the limit for a while.
#[test]
fn a_small_doubt_far_below_the_limit_is_inconclusive() {
    let (share, trouble) = throughput(&mut glitches(9, 1000, 5e5));
    assert!(matches!(trouble, Some(TrialError::Disturbed(_))) && share.is_none(), "{share:?}");
}

#[test]
fn a_disturbed_trial_is_repeated_and_then_counts() {
    let mut left = 2;
    let mut bench = scripted(|share, sent| {
        if left == 0 || share > CAPACITY {
            return (beyond(share, sent), 0.0);
        }
        left -= 1;
        // 10 ms of 100.
        (sent / 20, 1e7)
    });
    let (share, trouble) = throughput(&mut bench);
    assert_eq!(trouble, None);
    assert!(share.unwrap() > CAPACITY * 0.97, "{share:?}");
}

/// Loss in two trials below the capacity, without any sign of a disturbance.
#[test]
fn trials_at_the_same_rate_that_disagree_are_inconclusive() {
    let (share, trouble) = throughput(&mut glitches(2, 4, 0.0));
    let Some(TrialError::Disturbed(why)) = trouble else { panic!("{share:?}, {trouble:?}") };
    assert!(why.contains("trials at the same rate disagree"), "{why}");
    assert_eq!(share, None, "a throughput that is too low is not reported");
}

#[test]
fn what_is_inconclusive_is_no_regression() {
    let of = |ended: Option<&str>, rate: Option<f64>| {
        let [procedure, dut, world] = ["rfc2544", "a", "virtual"].map(str::to_owned);
        let rows: Vec<_> = rate
            .iter()
            .map(|rate| serde_json::json!({"size": 64, "frames_per_second": rate}))
            .collect();
        let loss = serde_json::json!([{"size": 64, "points": []}]);
        let run = serde_json::json!({"throughput": rows, "other": loss});
        let parameters = Some([].into());
        let ended = ended.map(str::to_owned);
        Runs { procedure, dut, world, seed: 1, parameters, runs: vec![run], ended }
    };
    let verdict = |before: &Runs, now: &Runs| Comparison::of(before, now, &[], 0.01).verdict();
    let whole = of(None, Some(100.0));
    assert_eq!(verdict(&whole, &of(None, Some(100.0))), Verdict::Pass);
    assert_eq!(verdict(&whole, &of(None, Some(90.0))), Verdict::Fail);
    assert_eq!(verdict(&whole, &of(Some("no CPU"), None)), Verdict::Inconclusive);
    assert_eq!(verdict(&of(Some("no CPU"), None), &whole), Verdict::Inconclusive);
    assert_eq!(verdict(&of(Some("no CPU"), Some(100.0)), &whole), Verdict::Inconclusive);
}

#[test]
fn a_search_that_is_disturbed_leaves_no_row() {
    let (plan, device) = example("benchmark/mlrsearch.yaml");
    let mut bench = Busy::new(device, 1e9, DeviceCpu::Elsewhere, 1);
    let (results, trouble) = run::run::<search::Tables>(&plan, &[], &mut bench, &mut |_| true);
    assert!(matches!(trouble, Some(TrialError::Disturbed(_))), "{trouble:?}");
    assert!(results.tables.rows.is_empty(), "{:?}", results.tables.rows);
}

/// The trials of a file are judged as they were: a disturbed one does not count after an interruption.
#[test]
fn a_journal_keeps_the_disturbance_of_its_trials() {
    let dir = Folder::new("disturbed");
    let path = dir.at("trials");
    let (plan, device) = example("benchmark/rfc2544.yaml");
    let plan = short(plan);
    let mut bench = Busy::new(device, 1e9, DeviceCpu::Waited(2e9), 1);
    let mut run = || {
        let mut journal = Journal::open(&path, "rfc2544", &plan, "", &mut bench).unwrap();
        let (_, trouble) = PROCEDURES[0].1(&plan, &mut journal);
        trouble
    };
    let first = run();
    assert!(matches!(first, Some(TrialError::Disturbed(_))), "{first:?}");
    assert_eq!(run(), first);
    assert_eq!(bench.trials, 3, "no trial is run again");
}
