//! Benchmarks of traffic management: the burst hunt and the queue tests of RFC 7640.
//!
//! A burst comes from two ports at line rate, so that its receiver's queue takes half of it; where the first
//! flow of the plan leads to a slower port, it comes from that flow's sender alone.

use serde::Serialize;
use tester::report::Report;
use validate::bench::TrialError;
use validate::trial::{Flow, Limit, Port, Rate, Trial};

use ground::named;
use ground::units::{Priority, PrioritySet};

use crate::plan::Plan;
use crate::run::{Procedure, Run, tables};
use crate::table;
use crate::trial::{Latency, Runner, latency_of, pauses};

/// Step of a hunt, and the smallest burst, in bytes.
const STEP: u64 = 1_000;

/// Trials of a burst before it counts as too long, of devices behind real ports.
const VERIFIED: u32 = 2;

named! {
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Test {
        // One queue at a time.
        BurstHunt = "burst-hunt",
        // All queues at once.
        Queues = "queues",
    }
}

tables! {
    burst_hunt: HuntRow,
    queues: HuntRow,
}

/// The longest burst that a queue accepts, for a frame size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct HuntRow {
    /// Priority of the frames, and so their queue.
    pub priority: Priority,
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Burst of all senders to this queue without loss, and without a pause, in bytes (BSA); a multiple of
    /// `STEP`, 0 if the smallest one is lost.
    pub bytes: u64,
    /// The same burst in frames.
    pub frames: u64,
    /// Burst with which the hunt begins, in bytes, and if it is accepted.
    pub target: u64,
    pub target_accepted: bool,
    /// True if the longest burst that was tried is accepted.
    pub at_limit: bool,
    /// Frames that the next longer burst loses in this queue; 0 if another queue lost frames, or a pause
    /// ended it. Absent at the limit.
    pub lost_above: Option<u64>,
    /// True if that is a loss in any of the queues: a pause alone ends the hunt in a lossless one. Absent at the
    /// limit.
    pub loses_above: Option<bool>,
    /// Latency of the longest accepted burst (FILO); absent if there is none.
    pub latency: Option<Latency>,
    /// 99th percentile of its packet delay variation: the latency above the least.
    pub pdv_p99_ns: Option<f64>,
}

/// Senders and receiver of bursts, and the queues that they fill.
#[derive(Clone, Copy)]
struct Queues<'a> {
    ends: &'a [(Port, Port)],
    priorities: &'a [Priority],
}

/// Counters of a burst to a queue.
#[derive(Clone, Copy)]
struct Part {
    frames: u64,
    lost: u64,
    latency: Option<Latency>,
}

/// A burst to some queues.
struct Burst {
    /// By priority.
    parts: Vec<Part>,
    accepted: bool,
}

impl Procedure for Tables {
    const NAME: &'static str = "rfc7640";
    type Test = Test;
    const TESTS: &'static [(&'static str, Test)] = Test::NAMES;

    fn fill(&mut self, runner: &mut Runner<'_>, tests: &[Test]) -> Result<(), TrialError> {
        all(runner, tests, self)
    }

    fn text(run: &Run<Self>) -> String {
        table::rfc7640(run)
    }
}

fn all(runner: &mut Runner<'_>, tests: &[Test], tables: &mut Tables) -> Result<(), TrialError> {
    let setup = &runner.plan.setup;
    let priorities: Vec<Priority> = Priority::ALL
        .into_iter()
        .filter(|p| PrioritySet(setup.lossless.0 | setup.lossy.0).contains(*p))
        .collect();
    let Some(ends) = ends(runner.plan) else {
        let why = "they need 3 equal ports, or a slower receiver";
        runner.not_applicable("bursts", why);
        return Ok(());
    };
    for size in runner.plan.sizes.clone() {
        if tests.contains(&Test::BurstHunt) {
            for priority in &priorities {
                tables.burst_hunt.extend(hunt(
                    runner,
                    size,
                    Queues { ends: &ends, priorities: &[*priority] },
                )?);
                runner.row("burst_hunt");
            }
        }
        if tests.contains(&Test::Queues) {
            let all = Queues { ends: &ends, priorities: &priorities };
            tables.queues.extend(hunt(runner, size, all)?);
            // All queues were measured by the same trials.
            runner.rows("queues", priorities.len());
        }
    }
    Ok(())
}

/// Returns senders and receiver of bursts; `None` if no queue would fill.
fn ends(plan: &Plan) -> Option<Vec<(Port, Port)>> {
    let (from, to) = plan.flows[0];
    let rate = |port| plan.setup.port(port).rate;
    // One faster sender fills the queue by itself.
    if rate(from) > rate(to) {
        return Some(vec![(from, to)]);
    }
    let last = plan.equal_ports().checked_sub(1).filter(|last| *last >= 2)?;
    Some(vec![(Port(0), Port(last)), (Port(1), Port(last))])
}

/// Searches for the longest burst to each of some queues at once: from the target upwards if it is accepted,
/// else between the smallest burst and the target.
fn hunt(
    runner: &mut Runner<'_>,
    size: u32,
    queues: Queues<'_>,
) -> Result<Vec<HuntRow>, TrialError> {
    let plan = runner.plan;
    let line = plan.line_rate(0, size) * plan.trial.as_secs_f64() * f64::from(size);
    // In steps, to one queue of those that share the line.
    let most = ((line / queues.priorities.len() as f64) as u64 / STEP).max(1);
    let target = plan.burst_target.div_ceil(STEP).clamp(1, most);
    let mut best = burst(runner, size, target, queues)?;
    let target_accepted = best.accepted;
    let (mut good, mut bad, mut above) = (target, most + 1, None);
    if target_accepted {
        // Doubling finds an upper bound in few trials, however far from the target the queue's limit is.
        let mut next = target.saturating_mul(2).min(most);
        while good < most {
            let tried = burst(runner, size, next, queues)?;
            if !tried.accepted {
                (bad, above) = (next, Some(tried));
                break;
            }
            (good, best) = (next, tried);
            next = next.saturating_mul(2).min(most);
        }
    } else {
        // A burst of nothing is accepted without a trial, and has no latency.
        (good, bad) = (0, target);
        above = Some(best);
        best = Burst { parts: Vec::new(), accepted: true };
    }
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        let tried = burst(runner, size, middle, queues)?;
        match tried.accepted {
            true => (good, best) = (middle, tried),
            false => (bad, above) = (middle, Some(tried)),
        }
    }
    let row = |(n, priority): (usize, &Priority)| {
        let accepted = best.parts.get(n);
        let latency = accepted.and_then(|part| part.latency);
        HuntRow {
            priority: *priority,
            size,
            bytes: good * STEP,
            frames: accepted.map_or(0, |part| part.frames),
            target: target * STEP,
            target_accepted,
            at_limit: good == most,
            lost_above: above.as_ref().map(|burst| burst.parts[n].lost),
            loses_above: above.as_ref().map(|burst| burst.parts.iter().any(|part| part.lost > 0)),
            latency,
            pdv_p99_ns: latency.map(|latency| latency.p99_ns - latency.min_ns),
        }
    };
    Ok(queues.priorities.iter().enumerate().map(row).collect())
}

/// Sends a burst of a number of steps to each queue, again if a device behind real ports loses some of it.
fn burst(
    runner: &mut Runner<'_>,
    size: u32,
    steps: u64,
    queues: Queues<'_>,
) -> Result<Burst, TrialError> {
    let (plan, Queues { ends, priorities }) = (runner.plan, queues);
    // Rounded up to whole frames of every sender, so a burst is never shorter than its name says.
    let each = (steps * STEP).div_ceil(u64::from(size) * ends.len() as u64);
    let each = u32::try_from(each).unwrap_or(u32::MAX);
    let share = 1.0 / priorities.len() as f64;
    let line = plan.line_rate(0, size) * share;
    let time = ground::time::Duration::from_picos((f64::from(each) / line * 1e12) as u64);
    let names = priorities.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let name = format!("{size} bytes, a burst of {} bytes to queues {names}", steps * STEP);
    let mut trial = Trial::new(name, time + plan.drain);
    for priority in priorities {
        for ends in ends {
            let flow = Flow::new(*ends, *priority, Limit::Frames(each)).size(size);
            trial.flow(flow.rate(Rate::Line(share)));
        }
    }
    let mut attempt = 1;
    loop {
        let found = runner.attempts(&trial, plan.rest, |_, report| read(&report, each, queues))?;
        // A loss may come from outside of the device; a virtual one does the same again.
        if found.accepted || runner.is_exact() || attempt == VERIFIED {
            return Ok(found);
        }
        attempt += 1;
    }
}

/// Returns what arrived of a burst of `each` frames of every sender to every queue.
fn read(
    report: &Report,
    each: u32,
    Queues { ends, priorities }: Queues<'_>,
) -> Result<Burst, TrialError> {
    let mut parts = Vec::new();
    // In the order of the trial: all senders of a queue, one queue after the other. Learning flows stand behind.
    for flows in report.flows.chunks(ends.len()).take(priorities.len()) {
        let sent: u64 = flows.iter().map(|flow| flow.frames_tx).sum();
        let wanted = u64::from(each) * ends.len() as u64;
        if sent < wanted {
            let what = format!("the tester sent {sent} frames of a burst of {wanted}");
            return Err(TrialError::Disturbed(what));
        }
        let arrived: u64 = flows.iter().map(|flow| flow.frames_rx).sum();
        let latency =
            |flow: &tester::report::Flow| Some((flow.frames_rx as f64, latency_of(flow, report)?));
        let latencies: Vec<_> = flows.iter().filter_map(latency).collect();
        let latency = Latency::of_all(&latencies);
        parts.push(Part { frames: sent, lost: sent - arrived.min(sent), latency });
    }
    let is_paused = ends.iter().any(|(from, _)| {
        let port = report.ports.get(from.0);
        priorities.iter().any(|p| port.is_some_and(|port| pauses(port, *p).pauses > 0))
    });
    let accepted = !is_paused && parts.iter().all(|part| part.lost == 0);
    Ok(Burst { parts, accepted })
}
