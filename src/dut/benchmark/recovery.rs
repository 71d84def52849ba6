//! Recovery of a device: the time in which frames are lost after an overload has ended (RFC 2544, 26.5), and the
//! time without forwarding after a reset (26.6, RFC 6201).

use ground::time::Duration;
use serde::Serialize;
use tester::report::Report;
use validate::bench::{Capability, TrialError};
use validate::trial::{Flow, Limit, Rate, Reset, ResetKind, Trial};

use crate::rfc2544::ThroughputRow;
use crate::trial::Runner;

/// Load of the overload, relative to the throughput.
const OVERLOAD: f64 = 1.1;

/// Parts of the time after the step, each with its own frames.
const PARTS: u32 = 50;

/// Recovery for a frame size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct RecoveryRow {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Overload in percent of the line.
    pub overload_percent: f64,
    /// True if frames were lost in the overload: else there was none.
    pub overloaded: bool,
    /// Mean time from the step to the last lost frame, in microseconds; 0 if none was lost. Absent
    /// if frames were lost until the end.
    pub mean_us: Option<f64>,
    /// Largest error of it: the length of a part of the time, in microseconds.
    pub uncertainty_us: f64,
    pub repeats: u32,
}

/// Measures the recovery; `None` for a device that loses nothing at the largest load, which the tester
/// cannot overload.
pub(crate) fn from_overload(
    runner: &mut Runner<'_>,
    throughput: &ThroughputRow,
    rate: f64,
) -> Result<Option<RecoveryRow>, TrialError> {
    let (plan, size) = (runner.plan, throughput.size);
    if throughput.irregular.is_some() {
        runner.note("recovery: not run for sizes whose throughput has no upper bound: no overload");
        return Ok(None);
    }
    let line = plan.line_rate(0, size);
    // 110 % of the throughput, or the largest load that the tester sends (RFC 2544, 26.5).
    let overload = (OVERLOAD * rate / line).min(plan.max_share(size));
    let time = plan.recovery.duration;
    // A part has frames of every flow.
    let part = Duration::from_picos(time.as_picos() / u64::from(PARTS))
        .max(plan.frame_time(size).saturating_mul(20));
    let flows = plan.flows.len();
    let (mut sum, mut overloaded, mut endless) = (0.0, true, false);
    for _ in 0..plan.recovery.repeats {
        let what = format!("{size} bytes, recovery from {:.2} % of the line", overload * 100.0);
        let mut streams = runner.flows(size, overload, Duration::ZERO, Limit::Time(time));
        for n in 0..PARTS {
            let start = time + part.saturating_mul(n.into());
            streams.extend(runner.flows(size, overload / 2.0, start, Limit::Time(part)));
        }
        let counted = runner.measure(what, &streams)?;
        let lost = |n: usize| {
            let part = &counted.samples[n * flows..(n + 1) * flows];
            part.iter().any(|sample| sample.lost() > 0)
        };
        overloaded &= lost(0);
        // Parts count from 1, because the overload is the first group of samples: 0 is no loss after it.
        let last = (1..=PARTS).rev().find(|n| lost(*n as usize)).unwrap_or(0);
        endless |= last == PARTS;
        sum += f64::from(last) * part.as_secs_f64() * 1e6;
    }
    Ok(Some(RecoveryRow {
        size,
        overload_percent: overload * 100.0,
        overloaded,
        mean_us: (!endless).then(|| sum / f64::from(plan.recovery.repeats)),
        uncertainty_us: part.as_secs_f64() * 1e6,
        repeats: plan.recovery.repeats,
    }))
}

/// Part of the steady time after which the reset comes: what the device holds at the reset is not part of the
/// steady traffic.
const MARGIN: u64 = 10;

/// Parts of the traffic, each with its own frames: steady, before the reset, after it, and recovered.
const SPANS: usize = 4;

/// Time without forwarding after resets of a kind.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ResetRow {
    /// `hardware`, `software` or `power`.
    pub kind: ResetKind,
    /// Frame size in bytes, FCS included: the smallest.
    pub size: u32,
    /// Load in frames/s: the throughput.
    pub load: f64,
    /// Lost frames of all repetitions.
    pub lost: u64,
    /// Mean time without forwarding, in milliseconds: lost frames / rate. Absent if it is not judged.
    pub mean_ms: Option<f64>,
    /// Largest error of it by the frames' distance, in milliseconds.
    pub uncertainty_ms: f64,
    /// Mean time from the last frame before the reset to the first after it, in milliseconds. Virtual devices
    /// alone: there the time of the reset is known exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stamps_ms: Option<f64>,
    pub repeats: u32,
    /// Reason why the time is not judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_judged: Option<String>,
}

/// Result of a reset.
struct Outage {
    lost: u64,
    seconds: f64,
    stamps: Option<f64>,
    not_judged: Option<&'static str>,
}

/// Resets the device in all ways that the bench has, at a throughput of `load` frames/s.
pub(crate) fn from_reset(
    runner: &mut Runner<'_>,
    size: u32,
    load: f64,
) -> Result<Vec<ResetRow>, TrialError> {
    let kinds = ResetKind::ALL.into_iter().filter(|kind| runner.has(Capability::Reset(*kind)));
    let kinds: Vec<_> = kinds.collect();
    if kinds.is_empty() {
        let why = "the DUT file has no `adapter.command.resets`, or `virtual.resets`";
        runner.not_applicable("reset", why);
    }
    kinds.into_iter().map(|kind| measure(runner, size, load, kind)).collect()
}

fn measure(
    runner: &mut Runner<'_>,
    size: u32,
    load: f64,
    kind: ResetKind,
) -> Result<ResetRow, TrialError> {
    let repeats = runner.plan.reset.repeats;
    let mut all = Vec::new();
    for _ in 0..repeats {
        all.push(once(runner, size, load, kind)?);
    }
    runner.row("reset");
    let not_judged = all.iter().find_map(|outage| outage.not_judged).map(str::to_owned);
    let mean = |values: Vec<f64>| {
        let count = values.len() as f64;
        (values.len() == all.len()).then(|| values.iter().sum::<f64>() / count * 1e3)
    };
    let judged = not_judged.is_none();
    if let Some(why) = &not_judged {
        runner.note(format!("{} reset: not judged, {why}", kind.name()));
    }
    Ok(ResetRow {
        kind,
        size,
        load,
        lost: all.iter().map(|outage| outage.lost).sum(),
        mean_ms: mean(all.iter().map(|outage| outage.seconds).collect()).filter(|_| judged),
        // The link may go down anywhere between two frames.
        uncertainty_ms: 1e3 / load,
        stamps_ms: mean(all.iter().filter_map(|outage| outage.stamps).collect()).filter(|_| judged),
        repeats,
        not_judged,
    })
}

/// Resets the device once.
fn once(
    runner: &mut Runner<'_>,
    size: u32,
    load: f64,
    kind: ResetKind,
) -> Result<Outage, TrialError> {
    let plan = runner.plan;
    let share = (load / plan.line_rate(0, size)).min(1.0);
    let steady = plan.reset.steady;
    let margin = steady.div(MARGIN);
    let spans: [Duration; SPANS] = [steady, margin, plan.reset.longest, steady];
    let (mut trial, mut start) = (Trial::new("", Duration::ZERO), Duration::ZERO);
    for span in spans {
        for ends in &plan.flows {
            let flow = Flow::new(*ends, plan.priority, Limit::Time(span)).size(size);
            trial.flow(flow.rate(Rate::Line(share)).start(start));
        }
        start += span;
    }
    let name = kind.name();
    trial.name = format!("{size} bytes, {name} reset at {:.3} % of the line", share * 100.0);
    trial.length = start + plan.drain;
    trial.reset = Some(Reset { at: steady + margin, kind });
    let rates: f64 = (0..plan.flows.len()).map(|n| plan.line_rate(n, size) * share).sum();
    runner.attempts(&trial, plan.rest, |runner, report| outage(runner, &report, spans, rates))
}

/// Returns the time without forwarding of a trial whose parts have these lengths, at a rate of all flows.
fn outage(
    runner: &Runner<'_>,
    report: &Report,
    spans: [Duration; SPANS],
    rates: f64,
) -> Result<Outage, TrialError> {
    let flows = runner.plan.flows.len();
    let part = |n: usize| &report.flows[n * flows..(n + 1) * flows];
    let sent = |n: usize| part(n).iter().map(|flow| flow.frames_tx).sum::<u64>();
    let arrived = |n: usize| part(n).iter().map(|flow| flow.frames_rx).sum::<u64>();
    if sent(0) == 0 {
        return Err(TrialError::Error("the tester sent nothing".to_owned()));
    }
    // Frames that a port could not send while its link was down count, too: they were to be forwarded.
    let intended = |n: usize| ((rates * spans[n].as_secs_f64()) as u64).max(1);
    let missing = |n: usize| {
        let unsent = intended(n).saturating_sub(sent(n));
        // A difference within the pacing of the tester is no outage.
        let pacing = (runner.plan.width * intended(n) as f64).max(flows as f64);
        let unsent = if unsent as f64 > pacing { unsent } else { 0 };
        unsent + sent(n).saturating_sub(arrived(n))
    };
    // Before the reset the link is up, so frames that were not sent are the tester's fault.
    if missing(0) > sent(0).saturating_sub(arrived(0)) {
        return Err(TrialError::Disturbed(format!(
            "the tester sent {} frames of {} before the reset: the machine is busy, or too slow",
            sent(0),
            intended(0)
        )));
    }
    // The reset comes at the end of the second part: what the device held then is lost with it.
    let lost = missing(1) + missing(2);
    let not_judged = match (missing(0), missing(3), lost) {
        (1.., ..) => Some("frames were lost before the reset"),
        (_, 1.., _) => {
            Some("frames were lost until the end; make `reset.longest`, or `trial`, longer")
        }
        (_, _, 0) => {
            Some("no frame was lost: the reset does not stop forwarding, or did not happen")
        }
        _ => None,
    };
    let stamps = part(1)
        .iter()
        .zip(part(2))
        .map(|(before, after)| Some(after.first_rx_s? - before.last_rx_s?));
    // The longest of all flows.
    let stamps = stamps.collect::<Option<Vec<f64>>>().filter(|_| runner.is_exact());
    let stamps = stamps.map(|all| all.into_iter().fold(0.0, f64::max));
    Ok(Outage { lost, seconds: lost as f64 / rates, stamps, not_judged })
}
