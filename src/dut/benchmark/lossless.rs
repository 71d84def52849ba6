//! The lossless profile: all ports but one send to the last, in a class with PFC.
//!
//! PFC turns loss into waiting, so one rate says little: a device can lose nothing at any load and
//! yet carry no more than its line. Two rates, the frames held back, and the pauses say more.

mod late;
mod message;
mod pauses;
mod recovery;

use ground::units::PrioritySet;
use serde::Serialize;
use validate::bench::{Bench, Trouble};
use validate::trial::Limit;

use crate::mesh::Mesh;
use crate::mlrsearch::GoalResult;
use crate::plan::Plan;
use crate::rfc8239::buffer::{self, Iteration};
use crate::rfc8239::{Split, holb};
use crate::run::Run;
use crate::search;
use crate::trial::{Counted, Latency, Runner};

pub use message::Message;
pub use pauses::PauseRow;
pub use recovery::Recovery;

/// Ports of the test of head-of-line blocking.
const GROUP: usize = 4;

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

/// Runs the profile.
///
/// `progress` is called before each trial with its description, and ends the run by returning false.
pub fn run(
    plan: &Plan,
    bench: &mut dyn Bench,
    progress: &mut dyn FnMut(&str) -> bool,
) -> (Run<Tables>, Option<Trouble>) {
    let plan = in_class(plan);
    Run::of(Runner::new(&plan, bench, progress), all)
}

/// Returns the plan with a lossless priority.
fn in_class(plan: &Plan) -> Plan {
    let set: PrioritySet = plan.setup.lossless;
    let own = set.iter().next().filter(|_| !set.contains(plan.priority));
    Plan { priority: own.unwrap_or(plan.priority), ..plan.clone() }
}

fn all(runner: &mut Runner<'_>, tables: &mut Tables) -> Result<(), Trouble> {
    if runner.plan.setup.lossless == PrioritySet::EMPTY {
        let what = "lossless: there is no priority with PFC; name one in the DUT file";
        return Err(Trouble::Missing(what.to_owned()));
    }
    if runner.plan.equal_ports() < 3 {
        let what = "ports: the lossless profile overloads one port by two others; add a third";
        return Err(Trouble::Missing(what.to_owned()));
    }
    for size in runner.plan.sizes.clone() {
        let (row, pauses) = of_size(runner, size)?;
        tables.rows.push(row);
        runner.row("rows");
        runner.also("pauses", pauses.len());
        tables.pauses.extend(pauses);
    }
    Ok(())
}

fn of_size(runner: &mut Runner<'_>, size: u32) -> Result<(LosslessRow, Vec<PauseRow>), Trouble> {
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
        let forwarded = sum.forwarded.min(sum.intended - u64::from(sum.paused));
        (sum.intended, forwarded)
    })?;
    let (overload, pauses) = overload(runner, size)?;
    let one = Iteration::port(0, ports);
    let xoff = buffer::size_of(runner, (size, &one), false)?;
    let loss = buffer::size_of(runner, (size, &one), true)?;
    let beside = match ports {
        0..GROUP => None,
        _ => Some(holb::measure(runner, size, (GROUP, 0), Split::Halves)?),
    };
    let row = LosslessRow {
        size,
        senders: ports - 1,
        no_loss_percent: percent(&no_loss),
        no_pause_percent: percent(&no_pause),
        response_ns: late::response(runner, size)?,
        message: message::measure(runner, size)?,
        recovery: recovery::measure(runner, size)?,
        overload,
        xoff_bytes: (!xoff.at_limit).then_some(xoff.bytes),
        loss_bytes: (!loss.at_limit).then_some(loss.bytes),
        uncongested_rate_percent: beside.map(|row| row.uncongested_rate_percent),
        uncongested_loss_percent: beside.map(|row| row.uncongested_loss_percent),
    };
    Ok((row, pauses))
}

/// Searches for a rate of each sender; `judge` returns the frames that count, and the good ones.
fn rate(
    runner: &mut Runner<'_>,
    size: u32,
    judge: impl Fn(&Counted) -> (u64, u64),
) -> Result<GoalResult, Trouble> {
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
fn incast(runner: &mut Runner<'_>, size: u32, load: f64, limit: Limit) -> Result<Counted, Trouble> {
    let plan = runner.plan;
    let streams = Mesh::Partial(plan.equal_ports() - 1).streams(plan, size, load, limit);
    runner.measure(format!("{size} bytes, incast, {:.3} % of the line", load * 100.0), &streams)
}

fn overload(runner: &mut Runner<'_>, size: u32) -> Result<(Overload, Vec<PauseRow>), Trouble> {
    let plan = runner.plan;
    let counted = incast(runner, size, plan.max_share(size), Limit::Time(plan.trial))?;
    let sum = counted.sum();
    let seconds = plan.trial.as_secs_f64();
    let senders = plan.equal_ports() - 1;
    let of = counted.pauses[..senders].iter().enumerate();
    let worst = of.max_by(|(_, a), (_, b)| a.paused_ns.total_cmp(&b.paused_ns));
    let (worst, paused) = worst.expect("there is a sender");
    let rows = pauses::rows(plan, size, &counted);
    let overload = Overload {
        intended: sum.intended,
        offered: sum.offered,
        forwarded: sum.forwarded,
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

#[cfg(test)]
mod tests;
