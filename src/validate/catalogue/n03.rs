//! V-N03: a NIC answers marks, and slows down when it is asked to.

use super::nic;
use super::roce::{self, Heard};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Observation, Way, What};
use crate::setup::QueuePair;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Control, Flow, Limit, Port, Trial};
use ground::time::Duration;
use ground::units::Priority;
use wire::ip::Ecn;

pub const TEST: Test = Test {
    id: "V-N03",
    aliases: &[],
    title: "ECN slows a NIC down before PFC has to",
    purpose: "A NIC with RoCEv2 notifies the sender of packets that are marked CE, and sends slower when it \
              is notified itself.",
    clause: "InfiniBand A17.9.3; RFC 3168",
    topology: Topology::T1,
    procedure: "The tester is the peer of a queue pair of the NIC. It sends congestion notifications (CNPs) \
                for the pair's data, one each 50 us; then data to it, all marked CE, one frame each 10 us; \
                then the same data without marks.",
    pass: "In the second half of the notifications the rate of the priority is at least 2 % below that at \
           rest. Marks are answered by CNPs, no more than marks; data without marks by none. The NIC pauses \
           the priority at no time.",
    uncertainty: "Time stamps of the tester for the rate; none for counts.",
    source: "Keysight ai-ml-testing RoCEv2.md",
    level: Level::Full,
    run,
    line: line!(),
};

/// Interval of notifications: the least of most NICs.
const NOTIFY: Duration = Duration::from_micros(50);

/// Interval of data.
const DATA: Duration = Duration::from_micros(10);

/// Most frames of each trial.
const MOST: u64 = 100_000;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let told = nic::told(cx)?;
    let sends: Vec<Priority> = told.sends.iter().collect();
    let ports = (0..cx.setup.alike()).map(Port);
    for port in ports.take(cx.by_level(1, usize::MAX)) {
        let Some(pair) = told.queue_pairs.get(port.0).copied() else {
            let what = format!("nic.queue_pairs: that at port {} is missing", cx.port(port).name);
            return Err(Trouble::Missing(what));
        };
        let traffic = nic::wait(cx, port)?;
        let heard = roce::heard(cx, &traffic, (port, &sends))?;
        slows(cx, port, (heard, pair))?;
        answers(cx, port, (heard, pair), Ecn::Ce)?;
        answers(cx, port, (heard, pair), Ecn::Ect0)?;
    }
    Ok(())
}

/// Returns the number of frames of a stimulus.
fn frames(cx: &Context<'_>, every: Duration) -> u32 {
    (cx.setup.times.hold.as_picos() / every.as_picos()).clamp(1, MOST) as u32
}

/// Judges the rate of a NIC that is notified.
fn slows(
    cx: &mut Context<'_>,
    port: Port,
    (heard, pair): (Heard, QueuePair),
) -> Result<(), Trouble> {
    let (start, frames) = (cx.setup.times.baseline, frames(cx, NOTIFY));
    let end = start + NOTIFY.saturating_mul(u64::from(frames));
    let length = end + cx.setup.times.settle;
    let mut trial = Trial::new("notifications", length);
    let priority = heard.priority;
    let flow = trial.flow(Flow::new((port, port), priority, Limit::Time(length)));
    let octets = heard.notification(cx, port, pair.sends);
    trial.control.push(Control { port, octets, start, every: NOTIFY, frames });
    let seen = cx.observe(&trial)?;
    cx.at_rest(&seen, &trial, &(start.div(4)..start))?;
    let half = start + end.saturating_sub(start).div(2)..end;
    let (value, u) = cx.of_rest(&seen, flow, &half);
    let what = format!("rate of priority {priority} when notified, of that at rest");
    let most = 100.0 - cx.setup.limits.rate * 100.0;
    cx.judge(what, value, Limits::at_most(most), u, "%");
    unpaused(cx, &seen, (port, priority), "notified");
    Ok(())
}

/// Judges the answers to data with or without marks.
fn answers(
    cx: &mut Context<'_>,
    port: Port,
    (heard, pair): (Heard, QueuePair),
    ecn: Ecn,
) -> Result<(), Trouble> {
    let frames = frames(cx, DATA);
    let (start, name) = match ecn {
        Ecn::Ce => (cx.setup.times.baseline, "data with marks"),
        _ => (cx.setup.times.baseline, "data without marks"),
    };
    let end = start + DATA.saturating_mul(u64::from(frames));
    let mut trial = Trial::new(name, end + cx.setup.times.settle);
    let octets = heard.data(cx, port, (pair.receives, ecn));
    trial.control.push(Control { port, octets: octets.clone(), start, every: DATA, frames });
    let seen = cx.observe(&Trial { whole: true, ..trial })?;
    let is_own = |what: &What| matches!(what, What::Other(sent) if octets.starts_with(sent));
    let sent = seen.records.iter().filter(|r| r.way == Way::Sent && is_own(&r.what)).count() as f64;
    let malformed = roce::notifications(&seen, port).filter(|(_, is_right)| !is_right).count();
    let all = roce::notifications(&seen, port).count();
    let limits = match ecn {
        Ecn::Ce => Limits { at_least: Some(1.0), at_most: Some(sent) },
        _ => Limits::exactly(0.0),
    };
    cx.count(format!("CNPs for {frames} frames of {name}"), all as u64, limits);
    cx.count(format!("malformed CNPs for {name}"), malformed as u64, Limits::exactly(0.0));
    unpaused(cx, &seen, (port, heard.priority), name);
    Ok(())
}

/// Judges that the NIC does not pause its peer.
fn unpaused(
    cx: &mut Context<'_>,
    seen: &Observation,
    (port, priority): (Port, Priority),
    when: &str,
) {
    let pauses = seen.pauses(port).filter(|pause| pause.stops(priority)).count();
    let what = format!("pauses of priority {priority} by the NIC, {when}");
    cx.count(what, pauses as u64, Limits::exactly(0.0));
}
