//! The lossless profile: all ports but one send to the last, in a class with PFC.
//!
//! PFC turns loss into waiting, so one rate says little: a device can lose nothing at any load and
//! yet carry no more than its line. Two rates, the frames held back, and the pauses say more.
//!
//! A message says how long pauses delay traffic, senders that obey pauses late say how large the headroom is as time,
//! and the recovery how fast a sender has its rate again.

use std::borrow::Cow;

use ground::time::Duration;
use ground::units::{Bytes, PrioritySet, Quanta};
use serde::Serialize;
use validate::bench::TrialError;
use validate::trial::{Limit, Obeys, Port};

use crate::buffers::{Iteration, size_of};
use crate::mesh::Mesh;
use crate::mlrsearch::GoalResult;
use crate::plan::Plan;
use crate::rfc8239::{GROUP, Split, blocking};
use crate::run::{Procedure, Run};
use crate::trial::{Counted, Latency, Pauses, Runner, Sample, Stream};
use crate::{search, table};

/// Table of the profile.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Tables {
    pub rows: Vec<LosslessRow>,
    /// Pauses in the trials of the largest load, by port and priority.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<PauseRow>,
}

/// The profile for a frame size. The tester obeys pauses, but where it says otherwise.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LosslessRow {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    pub senders: usize,
    /// Highest load of each sender in percent of its line at which no sent frame is lost. Less than
    /// 100 is a fault of the headroom.
    pub no_loss_percent: Option<f64>,
    /// Highest load of each sender at which the device pauses none: what it carries without
    /// back-pressure.
    pub no_pause_percent: Option<f64>,
    /// All senders at the largest load.
    pub overload: Overload,
    /// Bytes that are buffered before the first pause, by a small oversubscription.
    pub xoff_bytes: Option<f64>,
    /// Bytes that are buffered before the first loss, with senders that ignore pauses.
    pub loss_bytes: Option<f64>,
    /// Longest response of senders to a pause at which no frame is lost, in nanoseconds: the headroom as time.
    /// Absent if senders that respond at once lose frames, or those that take the longest time lose none.
    pub response_ns: Option<f64>,
    /// Messages that all senders begin at once.
    pub message: Message,
    /// Return of a sender to its rate after the largest load.
    pub recovery: Recovery,
    /// Rate of a flow to a free port beside one to the congested port, in percent of the intended.
    pub uncongested_rate_percent: Option<f64>,
    /// Loss of that flow in percent.
    pub uncongested_loss_percent: Option<f64>,
}

/// A trial in which all senders send the largest load.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Overload {
    pub intended: u64,
    pub offered: u64,
    pub forwarded: u64,
    /// Intended frames that were not sent, because of pauses.
    pub held_back: u64,
    pub lost: u64,
    /// Forwarded frames in percent of what the receiver's line carries.
    pub goodput_percent: f64,
    /// Pauses of all senders.
    pub pauses: u64,
    /// Port whose priority was paused longest, and its time in percent of the trial.
    pub worst_sender: String,
    pub worst_paused_percent: f64,
    /// First bit in to last bit out, of offered frames: time at the sender is not in it.
    pub latency: Option<Latency>,
}

impl Procedure for Tables {
    const NAME: &'static str = "lossless";
    type Test = ();

    /// Returns the plan with a lossless priority.
    fn plan(plan: &Plan) -> Cow<'_, Plan> {
        let set: PrioritySet = plan.setup.lossless;
        // A priority of the file is kept if it is lossless.
        let own = set.iter().next().filter(|_| !set.contains(plan.priority));
        Cow::Owned(Plan { priority: own.unwrap_or(plan.priority), ..plan.clone() })
    }

    fn fill(&mut self, runner: &mut Runner<'_>, _: &[()]) -> Result<(), TrialError> {
        all(runner, self)
    }

    fn text(run: &Run<Self>) -> String {
        table::lossless(run)
    }
}

fn all(runner: &mut Runner<'_>, tables: &mut Tables) -> Result<(), TrialError> {
    if runner.plan.setup.lossless == PrioritySet::EMPTY {
        let what = "lossless: there is no priority with PFC; name one in the DUT file";
        return Err(TrialError::Missing(what.to_owned()));
    }
    if runner.plan.equal_ports() < 3 {
        let what = "ports: the lossless profile overloads one port by two others; add a third";
        return Err(TrialError::Missing(what.to_owned()));
    }
    for size in runner.plan.sizes.clone() {
        let (row, pauses) = profile(runner, size)?;
        tables.rows.push(row);
        runner.row("rows");
        runner.also("pauses", pauses.len());
        tables.pauses.extend(pauses);
    }
    Ok(())
}

fn profile(runner: &mut Runner<'_>, size: u32) -> Result<(LosslessRow, Vec<PauseRow>), TrialError> {
    let ports = runner.plan.equal_ports();
    let line = runner.plan.line_rate(0, size);
    let percent = |result: &GoalResult| result.lower.map(|bound| bound.load / line * 100.0);
    let no_loss = rate(runner, size, |counted| {
        let sum = counted.sum();
        (sum.offered, sum.forwarded)
    })?;
    let no_pause = rate(runner, size, |counted| {
        let sum = counted.sum();
        // A pause that the tester made up for is one, too.
        // One frame less than intended, so that the search takes the trial for one with loss.
        let forwarded = sum.forwarded.min(sum.intended - u64::from(sum.paused));
        (sum.intended, forwarded)
    })?;
    let (overload, pauses) = overload(runner, size)?;
    let one = Iteration::port(0, ports);
    let xoff = size_of(runner, size, &one, false)?;
    let loss = size_of(runner, size, &one, true)?;
    let beside = match ports {
        0..GROUP => None,
        _ => Some(blocking(runner, size, GROUP, 0, Split::Halves)?),
    };
    let row = LosslessRow {
        size,
        senders: ports - 1,
        no_loss_percent: percent(&no_loss),
        no_pause_percent: percent(&no_pause),
        response_ns: response(runner, size)?,
        message: message(runner, size)?,
        recovery: recovery(runner, size)?,
        overload,
        xoff_bytes: (!xoff.at_limit).then_some(xoff.bytes),
        loss_bytes: (!loss.at_limit).then_some(loss.bytes),
        uncongested_rate_percent: beside.and_then(|row| row.uncongested_rate_percent),
        uncongested_loss_percent: beside.and_then(|row| row.uncongested_loss_percent),
    };
    Ok((row, pauses))
}

/// Searches for a rate of each sender; `judge` returns the frames that count, and the good ones.
fn rate(
    runner: &mut Runner<'_>,
    size: u32,
    judge: impl Fn(&Counted) -> (u64, u64),
) -> Result<GoalResult, TrialError> {
    let plan = runner.plan;
    let line = plan.line_rate(0, size);
    let (result, _) = search::rfc2544(runner, plan.max_rate(size), |runner, trial| {
        let limit = Limit::Time(trial.duration);
        let counted = incast(runner, size, trial.load / line, limit)?;
        Ok(judge(&counted))
    })?;
    Ok(result)
}

/// Sends from all ports but the last to that one.
fn incast(
    runner: &mut Runner<'_>,
    size: u32,
    load: f64,
    limit: Limit,
) -> Result<Counted, TrialError> {
    let plan = runner.plan;
    let streams = Mesh::Partial(plan.equal_ports() - 1).streams(plan, size, load, limit);
    runner.measure(format!("{size} bytes, incast, {:.3} % of the line", load * 100.0), &streams)
}

pub(crate) fn overload(
    runner: &mut Runner<'_>,
    size: u32,
) -> Result<(Overload, Vec<PauseRow>), TrialError> {
    let plan = runner.plan;
    let counted = incast(runner, size, plan.max_share(size), Limit::Time(plan.trial))?;
    let sum = counted.sum();
    let seconds = plan.trial.as_secs_f64();
    let senders = plan.equal_ports() - 1;
    let all = counted.pauses[..senders].iter().enumerate();
    let worst = all.max_by(|(_, a), (_, b)| a.paused_ns.total_cmp(&b.paused_ns));
    let (worst, paused) = worst.expect("there is a sender");
    let rows = pause_rows(plan, size, &counted);
    let overload = Overload {
        intended: sum.intended,
        offered: sum.offered,
        forwarded: sum.forwarded,
        // What pauses kept at the senders is neither lost nor carried.
        held_back: sum.intended - sum.offered,
        lost: sum.lost(),
        goodput_percent: sum.forwarded as f64 / (plan.line_rate(0, size) * seconds) * 100.0,
        pauses: counted.pauses[..senders].iter().map(|p| p.pauses).sum(),
        worst_sender: plan.setup.ports[worst].name.clone(),
        worst_paused_percent: paused.paused_ns / (seconds * 1e9) * 100.0,
        latency: sum.latency,
    };
    Ok((overload, rows))
}

/// Bits of a quantum of a pause.
const QUANTUM_BITS: f64 = 512.0;

/// Returns the longest response to a pause without loss, in nanoseconds, to the time of a frame; `None` if the
/// shortest loses frames, or the longest does not.
pub(crate) fn response(runner: &mut Runner<'_>, size: u32) -> Result<Option<f64>, TrialError> {
    let plan = runner.plan;
    let quantum_ns = QUANTUM_BITS / plan.setup.rate.get() as f64 * 1e9;
    // A frame in flight ends after the pause, so a finer step than its time shows nothing.
    let step = (plan.frame_time(size).as_nanos_f64() / quantum_ns).max(1.0) as u16;
    if !is_lossless(runner, size, 0)? {
        runner.note("response: not measured, senders that respond at once lose frames");
        return Ok(None);
    }
    if is_lossless(runner, size, u16::MAX)? {
        runner.note("response: not measured, senders that take the longest time lose nothing");
        return Ok(None);
    }
    let (mut good, mut bad) = (0, u16::MAX);
    while bad - good > step {
        let middle = good.midpoint(bad);
        *(if is_lossless(runner, size, middle)? { &mut good } else { &mut bad }) = middle;
    }
    Ok(Some(f64::from(good) * quantum_ns))
}

/// True if all senders at the largest load lose nothing, although they stop these quanta after a pause.
fn is_lossless(runner: &mut Runner<'_>, size: u32, late: u16) -> Result<bool, TrialError> {
    let plan = runner.plan;
    let senders = plan.equal_ports() - 1;
    let (load, limit) = (plan.max_share(size), Limit::Time(plan.trial));
    let streams = Mesh::Partial(senders).streams(plan, size, load, limit);
    let obeys: Vec<_> = (0..senders).map(|n| (Port(n), Obeys::Pfc(Quanta(late)))).collect();
    let name = format!("{size} bytes, senders late by {late} quanta");
    Ok(runner.measure_with(name, &streams, &obeys)?.sum().lost() == 0)
}

/// Bytes of a message. A choice: more than most buffers hold of a port.
const MESSAGE_BYTES: u32 = 1_000_000;

/// Completion of messages of 1 MB that all senders begin at the same time, at their largest load.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Message {
    /// Frames of each message.
    pub frames: u32,
    /// Time from the first bit sent to the last bit of all messages received, in microseconds; absent if frames
    /// were lost.
    pub completion_us: Option<f64>,
    /// The least possible: the time of all frames on the receiver's line.
    pub least_us: f64,
}

pub(crate) fn message(runner: &mut Runner<'_>, size: u32) -> Result<Message, TrialError> {
    let plan = runner.plan;
    let senders = plan.equal_ports() - 1;
    let frames = MESSAGE_BYTES.div_ceil(size);
    let load = plan.max_share(size);
    let streams = Mesh::Partial(senders).streams(plan, size, load, Limit::Frames(frames));
    let name = format!("{size} bytes, messages of {frames} frames");
    let counted = runner.measure(name, &streams)?;
    let sum = counted.sum();
    // A message that was still in the device at the end of the trial is not lost, but not complete either.
    let whole = sum.lost() == 0 && sum.forwarded == u64::from(frames) * senders as u64;
    let first = counted.arrivals.iter().flatten().map(|(first, _)| *first).reduce(f64::min);
    let last = counted.arrivals.iter().flatten().map(|(_, last)| *last).reduce(f64::max);
    // The first frame to arrive has waited for none, so that its latency is the least.
    let begin = first.zip(sum.latency).map(|(first, latency)| first - latency.min_ns / 1e9);
    let completion = begin.zip(last).filter(|_| whole).map(|(begin, last)| (last - begin) * 1e6);
    if completion.is_none() {
        runner.note("message: not measured, frames were lost, or `drain` is too short");
    }
    let least_us = f64::from(frames) * senders as f64 / plan.line_rate(0, size) * 1e6;
    Ok(Message { frames, completion_us: completion, least_us })
}

/// Pauses of a priority that a port of the tester received in a trial.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PauseRow {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    pub port: String,
    pub priority: u8,
    /// Received pauses, those that renew another included.
    pub received: u64,
    /// Received frames that end a pause (XON).
    pub resumes: u64,
    /// Transitions from running to paused.
    pub pauses: u64,
    /// Time in which the priority was paused, in percent of the trial.
    pub paused_percent: f64,
}

/// Returns the pauses of all senders in their own priority, and all others that any port received.
fn pause_rows(plan: &Plan, size: u32, counted: &Counted) -> Vec<PauseRow> {
    let row = |port: usize, priority: ground::units::Priority, pauses: &Pauses| PauseRow {
        size,
        port: plan.setup.ports[port].name.clone(),
        priority: priority.get(),
        received: pauses.received,
        resumes: pauses.resumes,
        pauses: pauses.pauses,
        paused_percent: pauses.paused_ns / (plan.trial.as_secs_f64() * 1e9) * 100.0,
    };
    let senders = plan.equal_ports() - 1;
    let own = counted.pauses.iter().enumerate();
    // Senders have a row even without pauses; the receiver has one only if it was paused.
    let own = own.filter(|(n, pauses)| *n < senders || **pauses != Pauses::default());
    let own = own.map(|(n, pauses)| row(n, plan.priority, pauses));
    let others = counted.others.iter();
    own.chain(others.map(|(n, priority, pauses)| row(*n, *priority, pauses))).collect()
}

/// Parts of the time after the overload, each with its own frames.
const PARTS: u32 = 50;

/// Least frames of a part: one of them is well below the loss of rate that counts.
const PART_FRAMES: u64 = 100;

/// Share of its rate from which on a sender has recovered.
const RECOVERED: f64 = 0.98;

/// Quanta of the longest pause, twice: a device that never sends XON needs that long.
const LONGEST_QUANTA: u64 = 2 * 65_535;

/// Recovery of the first sender: all senders have the largest load, then it alone has half of that.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Recovery {
    /// Time from the end of the overload until it sends 98 % of its rate, in microseconds. Absent if it was not
    /// paused, or did not recover.
    pub mean_us: Option<f64>,
    /// Time until the last lost frame (RFC 2544, 26.5); 0 if none was lost. Absent as the other.
    pub to_last_lost_us: Option<f64>,
    /// Largest error of both: the length of a part of the time.
    pub uncertainty_us: f64,
}

pub(crate) fn recovery(runner: &mut Runner<'_>, size: u32) -> Result<Recovery, TrialError> {
    let plan = runner.plan;
    let senders = plan.equal_ports() - 1;
    let load = plan.max_share(size);
    let time = plan.recovery.duration;
    let rate = plan.setup.rate;
    let longest = rate.time_for(Bytes(LONGEST_QUANTA * 512 / 8)).div(u64::from(PARTS));
    let frames = plan.frame_time(size).saturating_mul(2 * PART_FRAMES);
    // All parts together last as long as the longest pause twice, and each has enough frames to count a rate.
    let part = longest.max(Duration::from_picos((frames.as_picos() as f64 / load) as u64));
    let mut streams = Mesh::Partial(senders).streams(plan, size, load, Limit::Time(time));
    let ends = (Port(0), Port(senders));
    for n in 0..PARTS {
        let (start, limit) = (time + part.saturating_mul(n.into()), Limit::Time(part));
        // Half of the load: alone the sender congests nothing, so it is held back by old pauses only.
        streams.push(Stream { ends, size, share: load / 2.0, start, limit });
    }
    let counted = runner.measure(format!("{size} bytes, recovery of a paused sender"), &streams)?;
    let after = &counted.samples[senders..];
    // Parts are numbered from 1, so that the number of the last one is the time until its end.
    let last =
        |is: &dyn Fn(&Sample) -> bool| after.iter().rposition(is).map_or(0, |n| n as u32 + 1);
    let slow = last(&|part| (part.offered as f64) < RECOVERED * part.intended as f64);
    let lost = last(&|part| part.lost() > 0);
    let uncertainty_us = part.as_secs_f64() * 1e6;
    let paused = counted.pauses.first().is_some_and(|sender| sender.pauses > 0);
    let why = match (paused, slow.max(lost) == PARTS) {
        (false, _) => "the sender was not paused in the overload",
        (true, true) => "the sender did not recover in two longest pauses",
        (true, false) => {
            let us = |parts: u32| Some(f64::from(parts) * uncertainty_us);
            return Ok(Recovery { mean_us: us(slow), to_last_lost_us: us(lost), uncertainty_us });
        }
    };
    runner.note(format!("recovery: not judged, {why}"));
    Ok(Recovery { uncertainty_us, ..Recovery::default() })
}
