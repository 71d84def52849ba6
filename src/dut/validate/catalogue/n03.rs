//! V-N03: a NIC answers marks, and slows down when it is asked to.

use super::nic;
use super::roce::{self, Heard};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Observation, Way, What};
use crate::setup::QueuePair;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Control, Flow, Limit, Port, Trial};
use contracts::frame::FCS_BYTES;
use ground::time::Duration;
use ground::units::Priority;
use std::collections::BTreeSet;
use wire::ip::Ecn;

pub const TEST: Test = Test {
    id: "V-N03",
    aliases: &[],
    title: "ECN slows a NIC down before PFC has to",
    purpose: "A NIC with RoCEv2 notifies the sender of packets that are marked CE, and sends slower when it \
              is notified itself.",
    clause: "InfiniBand A17.9.3; RFC 3168",
    topology: Topology::T1,
    procedure: "The tester is the peer of the queue pairs of the NIC in the file, best three at a port. For one \
                pair after the other it sends congestion notifications (CNPs) for the pair's data, one each \
                50 us. Then all pairs get data at once, together up to 90 % of the line, all of it marked CE; \
                then one pair after the other alone is marked; then none.",
    pass: "In the second half of the notifications the rate of the priority is at least 2 % below that at \
           rest, with each pair. Marks are answered by CNPs, no more than marks, to as many queue pairs of the \
           tester as have marks; data without marks by none. The NIC pauses the priority at no time.",
    uncertainty: "Time stamps of the tester for the rate; none for counts.",
    source: "Keysight ai-ml-testing RoCEv2.md",
    level: Level::Full,
    run,
    line: line!(),
};

/// Interval of notifications: the least of most NICs.
const NOTIFY: Duration = Duration::from_micros(50);

/// Shortest interval of the data of a pair.
const DATA: Duration = Duration::from_micros(1);

/// Share of the line that the data of all pairs takes at most: none is lost before the NIC.
const SHARE: u64 = 90;

/// Most frames of each trial.
const MOST: u64 = 100_000;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let told = nic::told(cx)?;
    let sends: Vec<Priority> = told.sends.iter().collect();
    let ports = (0..cx.setup.alike()).map(Port);
    for port in ports.take(cx.by_level(1, usize::MAX)) {
        let pairs = told.queue_pairs.get(port.0).filter(|pairs| !pairs.is_empty());
        let Some(pairs) = pairs else {
            let what = format!("nic.queue_pairs: that at port {} is missing", cx.port(port).name);
            return Err(Trouble::Missing(what));
        };
        let traffic = nic::wait(cx, port)?;
        let heard = roce::heard(cx, &traffic, (port, &sends))?;
        for pair in pairs {
            slows(cx, port, (heard, *pair))?;
        }
        let all: Vec<usize> = (0..pairs.len()).collect();
        answers(cx, port, (heard, pairs), &all)?;
        for one in all.iter().filter(|_| pairs.len() > 1) {
            answers(cx, port, (heard, pairs), &[*one])?;
        }
        answers(cx, port, (heard, pairs), &[])?;
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
    let number = pair.sends.get();
    let mut trial = Trial::new(format!("notifications of queue pair {number}"), length);
    let priority = heard.priority;
    let flow = trial.flow(Flow::new((port, port), priority, Limit::Time(length)));
    let octets = heard.notification(cx, port, pair.sends);
    trial.control.push(Control { port, octets, start, every: NOTIFY, frames });
    let seen = cx.observe(&trial)?;
    cx.at_rest(&seen, &trial, &(start.div(4)..start))?;
    let half = start + end.saturating_sub(start).div(2)..end;
    let (value, u) = cx.of_rest(&seen, flow, &half);
    let what = format!(
        "rate of priority {priority} when queue pair {number} is notified, of that at rest"
    );
    let most = 100.0 - cx.setup.limits.rate * 100.0;
    cx.judge(what, value, Limits::at_most(most), u, "%");
    unpaused(cx, &seen, (port, priority), "notified");
    Ok(())
}

/// Judges the answers to data of all pairs, of which some are marked.
fn answers(
    cx: &mut Context<'_>,
    port: Port,
    (heard, pairs): (Heard, &[QueuePair]),
    marked: &[usize],
) -> Result<(), Trouble> {
    let name = match marked {
        [] => "data without marks".to_owned(),
        [one] => format!("data marked to queue pair {}", pairs[*one].receives.get()),
        all => format!("data marked to {} queue pairs", all.len()),
    };
    let octets: Vec<Vec<u8>> = pairs
        .iter()
        .enumerate()
        .map(|(n, pair)| {
            let ecn = if marked.contains(&n) { Ecn::Ce } else { Ecn::Ect0 };
            heard.data(cx, port, (pair.receives, ecn))
        })
        .collect();
    let all: u64 = octets.iter().map(|octets| line(cx, octets).as_picos()).sum();
    let every = Duration::from_picos(all * 100 / SHARE).max(DATA);
    let frames = frames(cx, every);
    let start = cx.setup.times.baseline;
    let end = start + every.saturating_mul(u64::from(frames));
    let mut trial = Trial::new(&name, end + cx.setup.times.settle);
    let mut at = start;
    for octets in &octets {
        let octets = octets.clone();
        at += line(cx, &octets);
        trial.control.push(Control { port, octets, start: at, every, frames });
    }
    let seen = cx.observe(&Trial { whole: true, ..trial })?;
    let marks = marked.iter().map(|n| sent(&seen, &octets[*n])).sum::<usize>();
    let all: Vec<_> = roce::notifications(&seen, port).collect();
    let malformed = all.iter().filter(|(.., is_right)| !is_right).count();
    let pairs: BTreeSet<u32> = all.iter().map(|(_, pair, _)| pair.get()).collect();
    let limits = match marked {
        [] => Limits::exactly(0.0),
        _ => Limits { at_least: Some(marked.len() as f64), at_most: Some(marks as f64) },
    };
    cx.count(format!("CNPs for {marks} marks, {name}"), all.len() as u64, limits);
    let what = format!("queue pairs that get CNPs, {name}");
    cx.count(what, pairs.len() as u64, Limits::exactly(marked.len() as f64));
    cx.count(format!("malformed CNPs, {name}"), malformed as u64, Limits::exactly(0.0));
    unpaused(cx, &seen, (port, heard.priority), &name);
    Ok(())
}

/// Returns the time of a frame without FCS on the line.
fn line(cx: &Context<'_>, octets: &[u8]) -> Duration {
    cx.setup.line_time(octets.len() as u32 + FCS_BYTES)
}

/// Returns the number of frames of these bytes that the tester sent.
fn sent(seen: &Observation, octets: &[u8]) -> usize {
    let is_own = |what: &What| matches!(what, What::Other(sent) if octets.starts_with(sent));
    seen.records.iter().filter(|r| r.way == Way::Sent && is_own(&r.what)).count()
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
