//! The demo's result as a table.

use super::DemoArgs;
use crate::host::LatencyFigures;
use crate::lab::{FlowOutcome, Outcome};
use crate::report::Comparison;
use crate::time::Duration;
use ::text::{Align, Table, count, delay, scaled};

/// The variants' names, as columns and checks show them, in the order of the lab.
const NAMES: [&str; 2] = ["PFC off", "PFC on"];

/// The whole result, with suggestions for further runs.
pub(super) fn text(args: &DemoArgs, comparison: &Comparison, program: &str) -> String {
    let outcomes: Vec<&Outcome> =
        comparison.runs.iter().filter_map(|run| run.outcome.as_ref()).collect();
    let mut out = format!("{}\n{}\n", scene(args), table(args, &outcomes));
    let checks = || {
        NAMES.iter().zip(&outcomes).flat_map(|(name, o)| o.checks.iter().map(move |c| (name, c)))
    };
    for (name, check) in checks() {
        out += &format!("{:<12}  {name}: {}\n", check.verdict, check.name);
        if !check.verdict.is_pass() {
            out += &format!("{:<12}  {}\n", "", check.detail);
        }
    }
    let verdicts = checks().map(|(_, check)| check.verdict);
    out += &format!("{}\n", comparison.verdict.summary_of(verdicts));
    if outcomes.len() < NAMES.len() || outcomes.iter().any(|outcome| outcome.interrupted) {
        out += "The demo was interrupted, so it shows the results until then.\n";
    }
    out + "\nTry next:\n" + &next(program)
}

/// Suggestions for further commands.
fn next(program: &str) -> String {
    let lab = format!(
        "  {program} run configs/labs/incast.yaml           100 Gb/s, in exact virtual time\n"
    );
    if cfg!(not(feature = "instruments")) {
        return lab
            + "  ./dev build    the whole program: switch, generator, validate, benchmark\n";
    }
    lab + &format!(
        "  {program} check configs/switch/tor4.yaml         a rack switch, checked to be lossless\n  \
         sudo {program} switch configs/switch/bump.yaml   a bump in the wire, for real hosts\n"
    )
}

/// Parameters of the runs.
fn scene(args: &DemoArgs) -> String {
    format!(
        "{} hosts send to one through a switch, {} s with PFC off and {} s with PFC on.\n\
         Every link carries {}, every frame has {} bytes.\n",
        args.senders,
        args.seconds,
        args.seconds,
        scaled(args.rate.get() as f64, "b/s"),
        args.size
    )
}

fn table(args: &DemoArgs, outcomes: &[&Outcome]) -> Table {
    let [off, on] = NAMES;
    let mut t = Table::new([("", Align::Left), (off, Align::Right), (on, Align::Right)]);
    for (name, priority) in [("priority 3, lossless with PFC", 3), ("priority 0, lossy", 0)] {
        t.row([name.into(), String::new(), String::new()]);
        of_priority(&mut t, outcomes, priority);
    }
    t.row(["switch".into(), String::new(), String::new()]);
    let mut row =
        |name: &str, cell: &dyn Fn(&Outcome) -> String| t.row(cells(name, outcomes, cell));
    row("pauses sent", &|o| count(o.pauses.xoffs));
    row("pauses obeyed by the hosts", &|o| count(o.pauses.received_xoffs));
    let all = f64::from(args.senders) * args.seconds as f64;
    row("senders paused, of the time", &|o| {
        format!("{:.0} %", 100.0 * o.pauses.paused_ns.as_secs_f64() / all)
    });
    row("shared buffer in bytes, peak", &|o| {
        count(o.switches().map(|s| s.shared_pool.peak_bytes).sum())
    });
    row("headroom of a port, peak", &|o| {
        let ports = o.switches().flat_map(|s| &s.ports).map(|p| &p.summary.port.counters);
        count(ports.flat_map(|c| &c.priorities).map(|p| p.headroom_peak_bytes).max().unwrap_or(0))
    });
    row("excluded: CPU preempted", &|o| {
        o.real.as_ref().map_or_else(|| "-".into(), |real| delay(real.stalled_ns.as_nanos_f64()))
    });
    t
}

/// A row with one cell per run; a dash for a run that did not take place.
fn cells(name: &str, outcomes: &[&Outcome], cell: &dyn Fn(&Outcome) -> String) -> [String; 3] {
    let of = |n: usize| outcomes.get(n).map_or_else(|| "-".into(), |outcome| cell(outcome));
    [format!("  {name}"), of(0), of(1)]
}

/// Rows of the flows of one priority.
fn of_priority(t: &mut Table, outcomes: &[&Outcome], priority: u8) {
    let mut row = |name: &str, cell: &dyn Fn(&[&FlowOutcome]) -> String| {
        let of = |o: &Outcome| {
            cell(&o.flows.iter().filter(|flow| flow.priority == priority).collect::<Vec<_>>())
        };
        t.row(cells(name, outcomes, &of));
    };
    row("frames sent", &|f| count(f.iter().map(|f| f.tx_frames).sum()));
    row("frames delivered", &|f| count(f.iter().map(|f| f.rx_frames).sum()));
    row("frames lost", &|f| count(f.iter().map(|f| f.loss_frames).sum()));
    row("throughput", &|f| scaled(f.iter().map(|f| f.rx_bps).sum(), "b/s"));
    let worst = |f: &[&FlowOutcome], of: fn(&LatencyFigures) -> Duration| {
        let all = f.iter().filter_map(|flow| flow.latency_ns.as_ref());
        all.map(of).max().map_or_else(|| "-".into(), |d| delay(d.as_nanos_f64()))
    };
    row("latency p50, of the slowest flow", &|f| worst(f, |l| l.p50));
    row("latency p99, of the slowest flow", &|f| worst(f, |l| l.p99));
    row("latency max", &|f| worst(f, |l| l.max));
}
