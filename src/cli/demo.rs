//! `sluice demo`: shows the effect of PFC on real frames, on any machine.
//!
//! Several hosts send to one, more than its link carries, first without PFC and then with it: the two
//! variants of a lab, in the real world. Links are rings in memory, so it needs no NIC, no hugepages and
//! no root. Frames are real, and so is time (see `runtime::ClockSync` for the time that is excluded).
//!
//! The lab is `configs/labs/demo.yaml`, with the numbers of the arguments.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::machine::MachineArgs;
use super::run::run_all;
use super::{Format, bad_input, exit, stop_on_signals, terminal};
use crate::config::ConfigError;
use crate::config::quantity::{LinkRate, Ratio, Size, Span};
use crate::lab::raw::{Amount, Check, FlowDuration, FlowRate, FlowRateText, Lab};
use crate::lab::{FlowOutcome, LabFile, LabPlan, Options, Outcome, World};
use crate::report::{ComparedRun, Comparison};
use crate::time::Duration;
use crate::units::{BitsPerSec, Bytes};
use ::text::{Align, Table, count, delay, scaled};
use ground::statistics::Statistics;

/// Shows the effect of PFC on an overload, without a NIC.
#[derive(Args, Clone, Debug)]
pub struct DemoArgs {
    /// Number of hosts that send to one receiver.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(2..=7))]
    senders: u16,
    /// Rate of every link in bit/s, such as 1G or 400M.
    #[arg(long, default_value = "1G", value_parser = rate)]
    rate: BitsPerSec,
    /// Bytes per frame, FCS included.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(74..=9216))]
    size: u32,
    /// Sending time in each of the two runs, in seconds.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// Format of the result on standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    machine: MachineArgs,
}

/// Runs the demo and prints its result. Exit status 1 means that an expected effect was missing, 4
/// that it was interrupted or that the machine was too busy.
///
/// # Errors
/// DPDK does not start, memory is short, or the demo's time does not go on.
pub fn run(args: &DemoArgs) -> Result<ExitCode> {
    args.machine.apply()?;
    // Before DPDK starts, which takes a while: from here on a signal ends the demo in order.
    let stop = stop_on_signals()?;
    let plans = plans(args).map_err(bad_input)?;
    // Real time: a machine that is too slow for it has more time excluded.
    let options = Options { slow_down: Some(1), stop: Some(&stop), ..Options::default() };
    let mut runs = Vec::new();
    run_all(plans.iter(), World::Real, options, |run| {
        runs.push(ComparedRun::new(run.outcome, true))
    })?;
    let comparison = Comparison::new(World::Real.name(), runs, plans.len());
    match args.format {
        Format::Json => terminal::print_json(&comparison)?,
        Format::Table => terminal::print(text(args, &comparison, &program()))?,
    }
    Ok(exit(comparison.verdict))
}

/// Name by which this program was called.
fn program() -> String {
    std::env::args().next().unwrap_or_else(|| "sluice".into())
}

/// Parses the rate of a link.
fn rate(text: &str) -> Result<BitsPerSec, String> {
    let LinkRate(rate) = text.parse()?;
    match rate.get() {
        // At a higher rate a CPU is too slow for the frames, and there would be no overload.
        1_000_000..=100_000_000_000 => Ok(rate),
        _ => Err(format!("{text} is not from 1M to 100G")),
    }
}

const TEXT: &str = include_str!("../../configs/labs/demo.yaml");

/// Shared buffer, as the time in which a link carries as much ...
const SHARED: Duration = Duration::from_millis(4);
/// ... limited to this range, in bytes.
const SHARED_BYTES: [u64; 2] = [256 << 10, 4 << 20];
/// Buffer for reserved space and headroom of a port, in frames.
const PER_PORT: u64 = 16;
/// Load of all senders on the priority that is not protected, in percent of the receiver's link: more
/// than the half that it gets there, so that frames are lost.
const UNPROTECTED: u32 = 60;
/// One percent, as [`Ratio`] counts.
const PERCENT: u32 = 10_000;

/// Returns the plans of both variants, in the order of the file.
fn plans(args: &DemoArgs) -> Result<Vec<LabPlan>, ConfigError> {
    let file = LabFile::parse("demo", TEXT)?;
    let plan = |variant| Ok(file.plan(Some(variant), |lab| set(lab, args))?.0);
    file.variants().map(plan).collect()
}

/// Sets the fields that arguments choose.
fn set(lab: &mut Lab, args: &DemoArgs) {
    let (senders, size) = (u32::from(args.senders), Size(args.size.into()));
    lab.defaults.links.rate = Some(LinkRate(args.rate));
    lab.defaults.flows.size = Some(size);
    lab.defaults.flows.duration = Some(FlowDuration::Amount(Amount {
        seconds: Some(Span(Duration::from_secs(args.seconds))),
        ..Amount::default()
    }));
    let star = lab.topology.iter_mut().find_map(|topology| topology.star.as_mut());
    star.expect("the demo's lab is a star").hosts = senders + 1;
    // Shared among all senders, so that the sum at the receiver's link stays the same for any number.
    let unprotected = UNPROTECTED * PERCENT / senders;
    for (flow, share) in lab.flows.iter_mut().zip([100 * PERCENT - unprotected, unprotected]) {
        flow.rate = Some(FlowRate::Short(FlowRateText::Share(Ratio(share))));
    }
    let shared = args.rate.bytes_in(SHARED).0.clamp(SHARED_BYTES[0], SHARED_BYTES[1]);
    let buffer = shared + u64::from(senders + 1) * PER_PORT * size.0;
    // Time for a full buffer to drain after the last frame, and for the headroom that rings add.
    let drain = args.rate.time_for(Bytes(buffer)).saturating_mul(4);
    lab.duration = Some(Span(Duration::from_secs(args.seconds) + drain));
    for profile in lab.profiles.values_mut() {
        profile.max_frame = Some(size);
        profile.buffer.total = Some(Size(buffer));
        for group in profile.buffer.profiles.values_mut() {
            group.reserved = Some(Size(2 * size.0));
        }
    }
    // Half of what one flow gets of the receiver's link.
    let half = args.rate.get() as f64 / f64::from(senders) / 4.0;
    for check in lab.checks.iter_mut().flatten() {
        if let Check::Long(check) = check
            && let Some(value) = check.value.as_mut().filter(|v| v.path.ends_with("rx_bps"))
        {
            value.at_least = Some(half);
        }
    }
}

/// The variants' names, as columns and checks show them, in the order of the lab.
const NAMES: [&str; 2] = ["PFC off", "PFC on"];

/// The whole result, with suggestions for further runs.
fn text(args: &DemoArgs, comparison: &Comparison, program: &str) -> String {
    let outcomes: Vec<&Outcome> =
        comparison.runs.iter().filter_map(|run| run.outcome.as_ref()).collect();
    let mut out = format!("{}\n{}\n", scene(args), table(args, &outcomes));
    // Variants that did not run have no outcome, and end the pairs.
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
    let cell_of = |n: usize| outcomes.get(n).map_or_else(|| "-".into(), |outcome| cell(outcome));
    [format!("  {name}"), cell_of(0), cell_of(1)]
}

/// Rows of the flows of one priority.
fn of_priority(t: &mut Table, outcomes: &[&Outcome], priority: u8) {
    let mut row = |name: &str, cell: &dyn Fn(&[&FlowOutcome]) -> String| {
        let of_flows = |o: &Outcome| {
            cell(&o.flows.iter().filter(|flow| flow.priority == priority).collect::<Vec<_>>())
        };
        t.row(cells(name, outcomes, &of_flows));
    };
    row("frames sent", &|f| count(f.iter().map(|f| f.tx_frames).sum()));
    row("frames delivered", &|f| count(f.iter().map(|f| f.rx_frames).sum()));
    row("frames lost", &|f| count(f.iter().map(|f| f.loss_frames).sum()));
    row("throughput", &|f| scaled(f.iter().map(|f| f.rx_bps).sum(), "b/s"));
    // Of several flows the worst one: a mean would hide it.
    let worst = |f: &[&FlowOutcome], figure: fn(&Statistics<Duration>) -> Duration| {
        let all = f.iter().filter_map(|flow| flow.latency_ns.as_ref());
        all.map(figure).max().map_or_else(|| "-".into(), |d| delay(d.as_nanos_f64()))
    };
    row("latency p50, of the slowest flow", &|f| worst(f, |l| l.p50));
    row("latency p99, of the slowest flow", &|f| worst(f, |l| l.p99));
    row("latency max", &|f| worst(f, |l| l.max));
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use clap::Parser;
    use proptest::prelude::*;

    use super::*;
    use crate::lab;
    use crate::verdict::Verdict;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: DemoArgs,
    }

    fn args(senders: u16, rate_mbps: u64, size: u32) -> DemoArgs {
        let rate = format!("{rate_mbps}M");
        let (senders, size) = (senders.to_string(), size.to_string());
        let line = ["demo", "--senders", &senders, "--rate", &rate, "--size", &size];
        Line::parse_from(line).args
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn every_choice_of_arguments_is_a_lab(
            senders in 2_u16..=7, size in 74_u32..=9216, mbps in 1_u64..=100_000
        ) {
            let plans = plans(&args(senders, mbps, size)).unwrap();
            prop_assert_eq!(plans.len(), 2);
            for plan in plans {
                prop_assert_eq!(plan.network.links.len(), usize::from(senders) + 1);
                prop_assert_eq!(plan.network.links[0].rate.get(), mbps * 1_000_000);
                prop_assert!(plan.network.check().is_ok());
            }
        }
    }

    #[test]
    fn both_variants_pass_in_the_virtual_world_whatever_the_arguments() {
        for (senders, mbps, size) in [(2, 1_000, 1_024), (7, 100, 9_216), (3, 10, 74)] {
            let mut args = args(senders, mbps, size);
            args.seconds = 1;
            for plan in plans(&args).unwrap() {
                let run = lab::run(&plan, World::Virtual, Options::default(), |_| {}).unwrap();
                assert_eq!(run.outcome.verdict, Verdict::Pass, "{:?}", run.outcome.checks);
            }
        }
    }

    #[test]
    fn an_interrupted_demo_says_so_and_does_not_pass() {
        let args = args(2, 1_000, 1_024);
        let plans = plans(&args).unwrap();
        let stop = AtomicBool::new(true);
        let options = Options { stop: Some(&stop), ..Options::default() };
        let run = lab::run(&plans[0], World::Virtual, options, |_| {}).unwrap();
        let runs = vec![ComparedRun::new(run.outcome, true)];
        let comparison = Comparison::new("virtual", runs, plans.len());
        assert_eq!(comparison.verdict, Verdict::Inconclusive);
        let text = text(&args, &comparison, "sluice");
        assert!(text.contains("INCONCLUSIVE: ") && text.contains("interrupted"), "{text}");
        assert!(!text.contains("PASS: "), "{text}");
    }

    #[test]
    fn runs_that_are_missing_make_a_comparison_inconclusive() {
        let mut args = args(2, 1_000, 1_024);
        args.seconds = 1;
        let plans = plans(&args).unwrap();
        let run = lab::run(&plans[0], World::Virtual, Options::default(), |_| {}).unwrap();
        let runs = vec![ComparedRun::new(run.outcome, false)];
        let of = |planned| Comparison::new("virtual", runs.clone(), planned).verdict;
        assert_eq!((of(1), of(2)), (Verdict::Pass, Verdict::Inconclusive));
    }

    #[test]
    fn pfc_that_does_not_work_fails() {
        let mut args = args(2, 1_000, 1_024);
        args.seconds = 1;
        let file = LabFile::parse("demo", TEXT).unwrap();
        let deaf = |lab: &mut Lab| {
            set(lab, &args);
            lab.defaults.hosts.obey = Some(crate::lab::raw::Obey::None);
        };
        let (plan, _) = file.plan(Some("pfc-on"), deaf).unwrap();
        let run = lab::run(&plan, World::Virtual, Options::default(), |_| {}).unwrap();
        assert_eq!(run.outcome.verdict, Verdict::Fail, "{:?}", run.outcome.checks);
    }
}
