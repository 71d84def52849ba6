//! V-Q01: the device's messages.

use core::net::IpAddr;

use super::sfc::{self, Received};
use super::{congestion, fill};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Observation, Record, Way};
use crate::setup::Marking;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{FlowId, Port};
use ground::time::Duration;
use ground::units::{Bytes, Priority};
use wire::flow::FiveTuple;

pub const TEST: Test = Test {
    id: "V-Q01",
    aliases: &[],
    title: "messages name the flow that congests, and a time",
    purpose: "A queue that is congested tells the sources of its frames to pause, for no longer than the queue \
              takes to drain, and without congestion no message is sent.",
    clause: "P802.1Qdw, 8.6.6 as proposed; layout: version 0 of this program, none is public",
    topology: Topology::T3,
    procedure: "A and B send to C at 40 % of the line each, then at 75 %, and ignore the messages.",
    pass: "No message at 40 %. At 75 % A and B receive messages, and C none. Each is complete, with reserved bits \
           of zero, to the source of a flow of this port, with the flow's addresses, ports, priority and DSCP. \
           Its time is at most what the line takes for the bytes that are in the device above `target`.",
    uncertainty: "What was in the device is known but for the frames on the cables: the tester sees neither when a \
                  frame joined the queue nor when a message left. Time stamps of the tester, four times.",
    source: "P802.1Qdw, slides of January 2022",
    level: Level::Full,
    run,
    line: line!(),
};

/// Share of the line of each of two senders, without and with congestion.
const CALM: f64 = 0.4;
const OVERLOAD: f64 = 0.75;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let udp_port = sfc::expected(cx)?.udp_port;
    let target = target(cx)?;
    let [a, b, c] = cx.ports()?;
    for priority in cx.each_lossless() {
        let mut calm = congestion::to_one(cx, (&[a, b], c), &[priority], CALM);
        calm.whole = true;
        let seen = cx.observe(&calm)?;
        congestion::arrives(cx, &seen, &calm)?;
        let count = |port| sfc::received(&seen, port, udp_port).count() as u64;
        let what = format!("messages about priority {priority} without congestion");
        cx.count(what, [a, b, c].map(count).iter().sum(), Limits::exactly(0.0));

        let mut trial = congestion::to_one(cx, (&[a, b], c), &[priority], OVERLOAD);
        trial.whole = true;
        trial.keep = true;
        let seen = cx.observe(&trial)?;
        congestion::arrives(cx, &seen, &trial)?;
        for (n, port) in [a, b].into_iter().enumerate() {
            judge(cx, &seen, (FlowId(n), port, c), (priority, target))?;
        }
        let stray = sfc::received(&seen, c, udp_port).count() as u64;
        let what = format!("messages to {}, which sends nothing", cx.port(c).name);
        cx.count(what, stray, Limits::exactly(0.0));
    }
    Ok(())
}

/// Returns the length to which the queue is to be drained.
fn target(cx: &Context<'_>) -> Result<Bytes, Trouble> {
    sfc::expected(cx)?.target.ok_or_else(|| fill::missing("sfc.target"))
}

/// Judges the messages that a sender received.
fn judge(
    cx: &mut Context<'_>,
    seen: &Observation,
    (flow, port, to): (FlowId, Port, Port),
    (priority, target): (Priority, Bytes),
) -> Result<(), Trouble> {
    let udp_port = sfc::expected(cx)?.udp_port;
    let name = cx.port(port).name.clone();
    let sent = seen.of(flow, Way::Sent).next();
    let Some(own) = sent.and_then(|record| FiveTuple::of_frame(&record.head)) else {
        return Err(Trouble::Error(format!("the frames from {name} were not recorded")));
    };
    let backlog = Backlog::new(seen, to);
    let (mut count, mut faults, mut longest) = (0, Vec::new(), None::<(Duration, Duration)>);
    for message in sfc::received(seen, port, udp_port) {
        count += 1;
        let wrong = examine(cx, &message, (port, &own, priority));
        if let Some(first) = wrong.first() {
            cx.mark(message.record, first);
        }
        faults.extend(wrong);
        let Ok(repr) = &message.read else { continue };
        let allowed = backlog.drain(cx, message.record.end, (port, to), target);
        let pause = repr.message.pause;
        let excess =
            |(pause, allowed): (Duration, Duration)| pause.as_nanos_f64() - allowed.as_nanos_f64();
        if longest.is_none_or(|longest| excess((pause, allowed)) > excess(longest)) {
            longest = Some((pause, allowed));
        }
    }
    cx.count(format!("messages to {name}"), count, Limits::at_least(1.0));
    let (number, text) = (faults.len() as u64, list(faults));
    cx.count(format!("faults of the messages to {name}{text}"), number, Limits::exactly(0.0));
    if let Some((pause, allowed)) = longest {
        // Both senders and the receiver may be off.
        let u = seen.uncertainty.saturating_mul(4);
        let limits = Limits::at_most(allowed.as_nanos_f64());
        cx.time(format!("pause that {name} is asked for"), pause, limits, u);
    }
    Ok(())
}

/// Returns faults in a few words, each once.
fn list(mut faults: Vec<String>) -> String {
    faults.sort_unstable();
    faults.dedup();
    if faults.is_empty() { String::new() } else { format!(" ({})", faults.join("; ")) }
}

/// Returns what is wrong with a message.
fn examine(
    cx: &Context<'_>,
    message: &Received<'_>,
    (port, own, priority): (Port, &FiveTuple, Priority),
) -> Vec<String> {
    let repr = match &message.read {
        Ok(repr) => repr,
        Err(error) => return vec![format!("it cannot be read: {error}")],
    };
    let port = cx.port(port);
    let mut faults = Vec::new();
    let mut fault = |is_wrong: bool, what: String| faults.extend(is_wrong.then_some(what));
    fault(message.reserved, "reserved bits are set".to_owned());
    fault(message.to != port.mac.0, "its frame is to another address".to_owned());
    fault(repr.headers.dst != IpAddr::V4(port.ip), format!("its destination is not {}", port.ip));
    if let Some(flow) = repr.message.flow() {
        fault(flow != *own, format!("it is about {flow}, not {own}"));
    }
    let said = repr.message.priority;
    fault(said != priority, format!("priority {said}, not {priority}"));
    let dscp = match &cx.setup.marking {
        Marking::Dscp(map) => map[priority.index()].get(),
        Marking::Pcp(..) => 0,
    };
    let said = repr.message.dscp.get();
    fault(said != dscp, format!("DSCP {said}, not {dscp}"));
    faults
}

/// Bytes on their way from the senders to a port, by time.
struct Backlog {
    sent: Vec<(Duration, u64)>,
    arrived: Vec<(Duration, u64)>,
}

impl Backlog {
    fn new(seen: &Observation, to: Port) -> Self {
        let of = |way: Way| {
            let is_data = |record: &&Record| record.what.sequence().is_some();
            let mine = seen.records.iter().filter(|record| record.way == way).filter(is_data);
            let mine = mine.filter(|record| way == Way::Sent || record.port == to);
            let mut sum = 0;
            let mut all = Vec::new();
            for record in mine {
                sum += u64::from(record.len);
                all.push((record.end, sum));
            }
            all
        };
        Self { sent: of(Way::Sent), arrived: of(Way::Received) }
    }

    /// Returns the time in which the line drains all that may have been in the device when it sent a message
    /// that arrived at `at`, down to `target`.
    fn drain(
        &self,
        cx: &Context<'_>,
        at: Duration,
        (port, to): (Port, Port),
        target: Bytes,
    ) -> Duration {
        let until = |sums: &[(Duration, u64)], at: Duration| {
            let n = sums.partition_point(|(end, _)| *end <= at);
            n.checked_sub(1).map_or(0, |last| sums[last].1)
        };
        let before = at.saturating_sub(sfc::latency(cx, port));
        let inside = until(&self.sent, at).saturating_sub(until(&self.arrived, before));
        cx.port(to).rate.time_for(Bytes(inside.saturating_sub(target.0)))
    }
}
