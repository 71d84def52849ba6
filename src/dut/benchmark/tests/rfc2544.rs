//! RFC 2544 and MLRsearch.

use ground::time::Duration;
use ground::units::BitsPerSec;
use tester::report::{Flow, Latency, Port, Report, Stamps};
use validate::bench::{Bench, TrialError};
use validate::observation::Observation;
use validate::trial::Trial;
use validate::virtual_bench::VirtualBench;

use super::example;
use crate::mlrsearch::Irregular;
use crate::plan::Plan;
use crate::rfc2544::{Tables, Test};
use crate::run::{self, Run};
use crate::search;
use crate::table;

/// Returns the plan of the switch with the slow port, and a bench.
fn slow_port() -> (Plan, VirtualBench) {
    example("benchmark/rfc2544.yaml")
}

fn run(plan: &Plan, tests: &[Test], bench: &mut dyn Bench) -> (Run<Tables>, Option<TrialError>) {
    run::run::<Tables>(plan, tests, bench, &mut |_| true)
}

/// Runs tests that must end well.
fn measured(plan: &Plan, tests: &[Test], bench: &mut dyn Bench) -> Run<Tables> {
    let (results, trouble) = run(plan, tests, bench);
    assert_eq!(trouble, None);
    results
}

/// Share of the sender's line that the slow port has.
const CAPACITY: f64 = 0.4;

/// Cells of the threshold at which the lossy group drops, and the bytes of a cell.
const BUFFER: (f64, u32) = (250.0, 208);

#[test]
fn throughput_and_buffer_of_a_known_device_are_found() {
    let (plan, mut bench) = slow_port();
    let results = measured(&plan, &[Test::Throughput, Test::BackToBack], &mut bench);
    assert_eq!(results.tables.throughput.len(), plan.sizes.len());
    assert_eq!(results.tables.back_to_back.len(), plan.sizes.len());
    for (row, burst) in results.tables.throughput.iter().zip(&results.tables.back_to_back) {
        let capacity = CAPACITY * row.line_frames_per_second;
        let (low, high) = (row.frames_per_second.unwrap(), row.loss_at.unwrap());
        assert_eq!(row.irregular, None);
        assert!(low <= capacity && capacity < high && high - low <= 0.005 * high + 1.0, "{row:?}");
        // The frames that stay in the buffer, after those that the slow port sends meanwhile.
        let stays = burst.mean * (1.0 - CAPACITY);
        let cells = f64::from(row.size.div_ceil(BUFFER.1)) * stays;
        // The last frame may need more cells than are left, and one is at the port.
        let margin = 2.0 * f64::from(row.size.div_ceil(BUFFER.1));
        assert!((cells - BUFFER.0).abs() <= margin, "{cells} cells of {}", row.size);
        // Corrected by the measured throughput, the burst's time is that of the buffer.
        let frames = burst.corrected_us * 1e-6 * row.line_frames_per_second;
        assert!((frames - stays).abs() <= 0.005 * burst.mean, "{burst:?}");
    }
}

#[test]
fn latency_has_the_time_of_the_frame_at_both_ends_in_it() {
    let (mut plan, mut bench) = slow_port();
    plan.sizes = vec![64, 1518];
    let results = measured(&plan, &[Test::Latency], &mut bench);
    let [short, long] = &results.tables.latency[..] else { panic!("two sizes") };
    for row in [short, long] {
        assert_eq!(row.lost, 0);
        let bits = f64::from(row.size) * 8.0;
        let (sent, received) = (bits / 100.0, bits / 40.0);
        let [lifo, fifo] = [row.store_and_forward_ns, row.bit_forwarding_ns].map(Option::unwrap);
        assert!((row.filo.mean_ns - fifo - received).abs() < 1e-6);
        assert!((fifo - lifo - sent).abs() < 1e-6);
    }
    // A store-and-forward device needs the same time for all sizes: what is between the frames.
    let [short, long] = [short, long].map(|row| row.store_and_forward_ns.unwrap());
    assert!((short - long).abs() < 1.0);
}

/// Two ports send a part of their lines to one: they collide, and less at a lower load.
#[test]
fn latency_falls_with_the_load() {
    let (mut plan, mut bench) = slow_port();
    plan.sizes = vec![512];
    let [a, b, c] = [0, 1, 2].map(validate::trial::Port);
    plan.flows = vec![(a, c), (b, c)];
    let results = measured(&plan, &[Test::LatencyByLoad], &mut bench);
    let shares: Vec<_> =
        results.tables.latency_by_load.iter().map(|row| row.share_percent).collect();
    assert_eq!(shares, [100, 90, 50, 10]);
    let means: Vec<_> = results.tables.latency_by_load.iter().map(|row| row.filo.mean_ns).collect();
    assert!(means[0] > means[3] && means.windows(2).all(|pair| pair[0] >= pair[1]), "{means:?}");
    assert!(results.tables.latency_by_load.iter().all(|row| row.lost == 0 && row.size == 512));
    let rate = results.tables.throughput[0].frames_per_second.unwrap();
    assert!((results.tables.latency_by_load[3].load - rate / 10.0).abs() < 1e-6);
    let text = table::rfc2544(&results);
    assert!(text.contains("load in % of the throughput"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
}

/// Behind ports in software a frame takes no time on the line, and a short latency is only known to
/// be below the resolution of the stamps.
#[test]
fn latencies_that_ports_do_not_show_are_unknown() {
    let mut plan = quick(slow_port().0);
    plan.width = 0.5;
    let sent = (plan.line_rate(0, 64) * plan.trial.as_secs_f64()) as u64;
    let stamps = Stamps { source: "tsc", resolution_ns: 1.0, uncertainty_ns: 800.0 };
    let time = stamps.measured(5.0);
    let latency = Latency {
        frames: sent,
        min_ns: time,
        mean_ns: time,
        p50_ns: time,
        p99_ns: time,
        p999_ns: time,
        max_ns: stamps.measured(9000.0),
        distribution: None,
    };
    // Ports of 100 Mb/s, on which a frame of 64 bytes would take 5 us.
    for port in &mut plan.setup.ports {
        port.rate = BitsPerSec::new(100_000_000).unwrap();
    }
    let mut bench = Told(|| {
        let mut report = report(sent, sent);
        report.stamps = stamps.clone();
        report.flows[0].latency = Some(latency.clone());
        Ok(report)
    });
    let results = measured(&plan, &[Test::Latency], &mut bench);
    let row = results.tables.latency[0];
    assert_eq!((row.store_and_forward_ns, row.bit_forwarding_ns), (None, None));
    assert_eq!((row.filo.min_ns, row.filo.max_ns), (800.0, 9000.0));
    assert!(results.notes[0].contains("LIFO and FIFO are unknown"), "{:?}", results.notes);
    let text = table::rfc2544(&results);
    assert!(
        text.contains("64    <0.800  <0.800  <0.800  <0.800  9.000         -         -     0"),
        "{text}"
    );
}

#[test]
fn a_loss_curve_is_that_of_the_capacity() {
    let (mut plan, mut bench) = slow_port();
    plan.sizes = vec![512];
    let results = measured(&plan, &[Test::Loss], &mut bench);
    let points = &results.tables.loss[0].points;
    assert_eq!(points.len(), 8, "to 40 and 30 %, both without loss");
    // The buffer holds a part of the frames of a trial.
    let held = BUFFER.0 / 3.0 / (plan.line_rate(0, 512) * plan.trial.as_secs_f64()) * 100.0;
    for point in points {
        let share = (1.0 - CAPACITY * 100.0 / point.load_percent).max(0.0) * 100.0;
        let error = share - point.loss_percent;
        assert!((0.0..=held * 100.0 / point.load_percent + 0.01).contains(&error), "{point:?}");
        assert_eq!(point.held_back, 0);
    }
}

#[test]
fn recovery_takes_as_long_as_the_full_buffer_drops_frames() {
    let (mut plan, mut bench) = slow_port();
    plan.sizes = vec![512];
    let results = measured(&plan, &[Test::Recovery], &mut bench);
    let row = &results.tables.recovery[0];
    assert!(row.overloaded && row.mean_us.unwrap() <= row.uncertainty_us, "{row:?}");
}

#[test]
fn a_device_without_loss_has_no_burst_and_no_recovery() {
    let (plan, mut bench) = example("validate/virtual.yaml");
    let plan = Plan { sizes: vec![1518], ..plan };
    let results = measured(&plan, &[], &mut bench);
    let row = &results.tables.throughput[0];
    assert!(row.is_line_rate() && row.irregular == Some(Irregular::AtMaximum) && row.trials == 1);
    assert!(results.tables.back_to_back.is_empty() && results.tables.recovery.is_empty());
    let notes = results.notes.join("\n");
    assert!(notes.contains("back-to-back: not run") && notes.contains("recovery: not run"));
}

/// A device with PFC loses nothing and holds the tester back. RFC 2544's throughput is what it
/// carries without that.
#[test]
fn frames_that_were_held_back_are_not_forwarded() {
    let (mut plan, mut bench) = slow_port();
    plan.priority = plan.setup.lossless.iter().next().unwrap();
    plan.sizes = vec![1518];
    let results = measured(&plan, &[Test::Throughput, Test::Loss], &mut bench);
    let row = &results.tables.throughput[0];
    let capacity = CAPACITY * row.line_frames_per_second;
    assert!(row.frames_per_second.unwrap() < 1.02 * capacity, "{row:?}");
    let full = results.tables.loss[0].points[0];
    assert!(full.lost == 0 && full.held_back > 0 && full.loss_percent > 50.0, "{full:?}");
}

/// A bench whose trials end as it is told.
struct Told<F>(F);

impl<F: FnMut() -> Result<Report, TrialError>> Bench for Told<F> {
    fn run(&mut self, _: &Trial) -> Result<Observation, TrialError> {
        unreachable!("only counters are read")
    }

    fn run_on_cable(&mut self, _: &Trial) -> Result<Observation, TrialError> {
        unreachable!("only counters are read")
    }

    fn count(&mut self, _: &Trial) -> Result<Report, TrialError> {
        (self.0)()
    }

    fn world(&self) -> &'static str {
        "real"
    }
}

/// A report of one flow.
fn report(frames_tx: u64, frames_rx: u64) -> Report {
    let flows = vec![Flow { frames_tx, frames_rx, ..Flow::default() }];
    Report { ports: vec![Port::default()], flows, ..Report::default() }
}

fn quick(plan: Plan) -> Plan {
    Plan { rest: Duration::ZERO, sizes: vec![64], ..plan }
}

#[test]
fn a_tester_that_is_too_slow_measures_nothing() {
    let plan = quick(slow_port().0);
    let mut bench = Told(|| Ok(report(1000, 1000)));
    let (results, trouble) = run(&plan, &[], &mut bench);
    let Some(TrialError::Disturbed(why)) = trouble else { panic!("{trouble:?}") };
    assert!(why.contains("too slow") && why.contains("max_load"), "{why}");
    assert!(results.tables.throughput.is_empty() && results.ended == Some(why));
    let text = table::rfc2544(&results);
    assert!(text.starts_with("ended early: ") && text.ends_with("\n3 trials\n"), "{text}");
}

#[test]
fn a_tester_that_sends_nothing_measures_nothing() {
    let plan = quick(slow_port().0);
    let (_, trouble) = run(&plan, &[], &mut Told(|| Ok(report(0, 0))));
    assert_eq!(trouble, Some(TrialError::Error("the tester sent nothing".to_owned())));
}

#[test]
fn a_disturbed_trial_is_repeated_a_few_times() {
    let plan = quick(slow_port().0);
    let disturbed = || Err(TrialError::Disturbed("preempted".to_owned()));
    let mut calls = 0;
    let mut bench = Told(|| {
        calls += 1;
        disturbed()
    });
    let (results, trouble) = run(&plan, &[Test::Throughput], &mut bench);
    assert_eq!(trouble, disturbed().err());
    assert_eq!((calls, results.trials), (3, 3));
}

#[test]
fn an_ended_run_keeps_its_rows() {
    let (plan, mut bench) = slow_port();
    let mut left = 7;
    let (results, trouble) =
        run::run::<Tables>(&plan, &[Test::Throughput], &mut bench, &mut |_| {
            left -= 1;
            left > 0
        });
    assert_eq!(trouble, Some(TrialError::Interrupted));
    assert_eq!(
        (results.tables.throughput.len(), results.ended.as_deref()),
        (1, Some("interrupted"))
    );
}

#[test]
fn a_search_with_several_goals_says_which_it_ended() {
    let (plan, mut bench) = example("benchmark/mlrsearch.yaml");
    let (results, trouble) = run::run::<search::Tables>(&plan, &[], &mut bench, &mut |_| true);
    assert_eq!((trouble, results.tables.rows.len()), (None, 3));
    for row in &results.tables.rows {
        assert_eq!(row.result.irregular, None, "{row:?}");
        let (lower, upper) = (row.result.lower.unwrap(), row.result.upper.unwrap());
        assert!(upper.load - lower.load <= 0.005 * upper.load + 1.0);
        // The buffer takes up to 1 % of the frames of a trial of 1 ms.
        let share = lower.load / row.line_frames_per_second;
        assert!((0.39..0.41).contains(&share), "{row:?}");
    }
    let text = table::mlrsearch(&results);
    assert!(text.contains("NDR") && text.lines().all(|line| line.len() <= 80), "{text}");
}

#[test]
fn tables_fit_a_terminal() {
    let (mut plan, mut bench) = slow_port();
    plan.sizes = vec![1518];
    let text = table::rfc2544(&measured(&plan, &[], &mut bench));
    for title in ["Throughput", "Latency", "Frame loss rate", "Back-to-back", "System recovery"] {
        assert!(text.contains(title), "{title} in\n{text}");
    }
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
}
