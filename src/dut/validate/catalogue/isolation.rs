//! Isolation: what congestion of one port or priority does to the traffic of others (RFC 8239 5).

use super::congestion;
use crate::bench::TrialError;
use crate::judge::Limits;
use crate::observation::{Observation, Way};
use crate::test::{Context, Kind, Scope, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Port, Rate, Trial};
use ground::statistics::percentile;
use ground::time::Duration;
use ground::units::Priority;

/// Load of B: a little less than all, so that a sender in software keeps its rate.
const LOAD: f64 = 0.98;

/// Flows of a congested trial by their index: from A to C and to D, and from B to D.
const TO_C: FlowId = FlowId(0);

/// Returns a trial in which A sends a priority to C and to D at these shares of the line, and B to D at
/// line rate.
fn congested(
    cx: &Context<'_>,
    [a, b, c, d]: [Port; 4],
    priority: Priority,
    [to_c, to_d]: [f64; 2],
) -> Trial {
    let times = cx.setup.times;
    let mut trial = Trial::new("one of two ports is congested", times.hold + times.drain);
    for (ends, share) in [((a, c), to_c), ((a, d), to_d), ((b, d), LOAD)] {
        let flow = Flow::new(ends, priority, Limit::Time(times.hold));
        trial.flow(flow.rate(Rate::Line(share)));
    }
    trial
}

/// Checks that the device has paused a sender of a priority if no frame of it was lost.
///
/// # Errors
/// It has not, so there was no congestion to notice.
fn was_congested(
    cx: &Context<'_>,
    observed: &Observation,
    trial: &Trial,
    senders: &[Port],
    priority: Priority,
) -> Result<(), TrialError> {
    let own = |n: &usize| trial.flows[*n].priority == priority;
    let lost: u64 =
        (0..trial.flows.len()).filter(own).map(|n| observed.tally(FlowId(n)).lost()).sum();
    let paused = senders.iter().any(|port| congestion::stops(observed, *port, priority) > 0);
    // A loss is judged elsewhere, and shows the congestion as well as a pause.
    if lost > 0 || paused {
        return Ok(());
    }
    let names: Vec<_> = senders.iter().map(|port| cx.port(*port).name.clone()).collect();
    let what = format!(
        "the device did not pause priority {priority} at {}: there was no congestion in this time; \
         make `times.hold` longer",
        names.join(" or ")
    );
    Err(TrialError::Error(what))
}

pub(super) const HEAD_OF_LINE: Test = describe! {
    id: "V-I01",
    title: "head-of-line blocking within a priority",
    purpose: "With PFC a congested port holds back frames to other ports as well, and loses none.",
    clause: "802.1Q 36.1.1; RFC 2889 5.5, RFC 8239 5",
    procedure: "A sends one lossless priority to C and to D, 49 % of the line each, and B to D at line rate.",
    pass: "No frame is lost. The rate from A to C is recorded: back-pressure reduces it, which is no failure.",
    source: "RFC 2889 5.5, RFC 8239 5",
    run: head_of_line,
    aliases: &["RFC 8239 5"],
    topology: Topology::Th,
    uncertainty: "None: counts.",
    scope: Scope::Device,
};

/// Shares of the line from A to C and to D.
const EQUAL_SHARES: [f64; 2] = [0.49, 0.49];

fn head_of_line(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let ports @ [a, b, ..] = cx.ports::<4>()?;
    cx.lossless()?;
    for priority in cx.each_lossless() {
        let trial = congested(cx, ports, priority, EQUAL_SHARES);
        let observed = cx.observe(&trial)?;
        congestion::arrives(cx, &observed, &trial)?;
        was_congested(cx, &observed, &trial, &[a, b], priority)?;
        congestion::lossless(cx, &observed, &trial, priority);
        let hold = cx.setup.times.hold;
        // In the first half the buffer still fills up.
        let rate = cx.rate_of(&observed, &trial, TO_C, &(hold.div(2)..hold));
        let what = format!("rate of priority {priority} to the port without congestion");
        cx.policy(what, rate, "% of the intended", "802.1Q pauses a priority, not a flow");
    }
    Ok(())
}

pub(super) const OTHER_PRIORITIES: Test = describe! {
    id: "V-I02",
    title: "other priorities do not notice congestion",
    purpose: "Congestion of a lossless priority changes neither the rate nor the latency of another \
              priority to another port.",
    clause: "802.1Q 36.1.1; RFC 8239 5",
    procedure: "A sends one lossless priority to C at 5 % of the line and to D at 53 %, and another \
                priority to C at 40 %: the first lossy one, at level full each other lossless one, \
                too. Then the same, while B sends the first priority to D at line rate, so that \
                the device pauses it.",
    pass: "With congestion no frame is lost, no pause stops the other priority, it arrives at the rate at \
           which it is sent within {rate}, and the 99th percentile of its latency is at most twice that \
           without congestion.",
    source: "sonic-mgmt plans for oversubscription; RFC 8239 5",
    run: other_priorities,
    topology: Topology::Th,
    scope: Scope::Device,
};

/// Shares of the line from A: of the congested priority to C and to D, and of the other one to C.
const UNEQUAL_SHARES: [f64; 2] = [0.05, 0.53];
const OTHER_SHARE: f64 = 0.4;

/// Largest ratio of the latencies.
const LATENCY_RATIO: u64 = 2;

fn other_priorities(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let priority = cx.lossless()?;
    cx.ports::<4>()?;
    let others = cx.setup.lossless.iter().filter(|other| *other != priority);
    let mut others: Vec<_> = others.take(cx.by_level(0, usize::MAX)).collect();
    others.extend(cx.lossy().ok());
    if others.is_empty() {
        return Err(TrialError::Missing(
            "lossy: it is empty, and there is one lossless priority".into(),
        ));
    }
    for other in others {
        compare_latency(cx, priority, other)?;
    }
    Ok(())
}

fn compare_latency(
    cx: &mut Context<'_>,
    priority: Priority,
    other: Priority,
) -> Result<(), TrialError> {
    let ports = cx.ports()?;
    let [a, b, c, _] = ports;
    let hold = cx.setup.times.hold;
    let span = hold.div(4)..hold;
    let mut trial = congested(cx, ports, priority, UNEQUAL_SHARES);
    let flow = Flow::new((a, c), other, Limit::Time(hold)).rate(Rate::Line(OTHER_SHARE));
    let flow = trial.flow(flow);
    let mut calm = Trial { name: "no port is congested".to_owned(), ..trial.clone() };
    // All but the flow from B.
    calm.flows.retain(|flow| flow.from == a);
    let before = cx.observe(&calm)?;
    cx.at_rest(&before, &calm, &span)?;
    let baseline = latency(&before, FlowId(calm.flows.len() - 1), &span)?;
    let observed = cx.observe(&trial)?;
    congestion::arrives(cx, &observed, &trial)?;
    was_congested(cx, &observed, &trial, &[a, b], priority)?;
    congestion::lossless(cx, &observed, &trial, priority);
    congestion::lossless(cx, &observed, &trial, other);
    let pauses = congestion::pauses(&observed, a, other).len() as u64;
    cx.count(format!("pauses of priority {other}"), pauses, Limits::exactly(0.0));
    // After a pause the sender has more of the first priority than before, so the rate is that of what it
    // sends.
    let count = |way| observed.of(flow, way).filter(|r| span.contains(&r.end)).count() as f64;
    let (sent, arrived) = (count(Way::Sent), count(Way::Received));
    let seconds = span.end.saturating_sub(span.start).as_secs_f64();
    let u = (2.0 / sent + observed.uncertainty.as_secs_f64() * 2.0 / seconds) * 100.0;
    let limits = Limits::around(100.0, cx.setup.limits.rate * 100.0);
    cx.judge(
        format!("rate of priority {other}"),
        arrived / sent * 100.0,
        limits,
        u,
        "% of the sent",
    );
    // The latency at rest is uncertain, too, and counts `LATENCY_RATIO` times.
    let u = observed.uncertainty.saturating_mul(2)
        + before.uncertainty.saturating_mul(2 * LATENCY_RATIO);
    let most = baseline.saturating_mul(LATENCY_RATIO).as_nanos_f64();
    let what = format!("99th percentile of the latency of priority {other}");
    cx.time(what, latency(&observed, flow, &span)?, Limits::at_most(most), u);
    Ok(())
}

/// Returns the 99th percentile of the latency of a flow: from the last bit sent to the last bit received.
fn latency(
    observed: &Observation,
    flow: FlowId,
    span: &core::ops::Range<Duration>,
) -> Result<Duration, TrialError> {
    let mut all = observed.latencies(flow, span);
    all.sort_unstable();
    let none = || TrialError::Error("no frame of the other priority arrived".into());
    percentile(&all, 99).ok_or_else(none)
}

pub(super) const LOSSY_FLOOD: Test = describe! {
    id: "V-I03",
    title: "lossy frames flood, lossless ones are not lost",
    purpose: "Lossy traffic that fills the buffer drops frames of its own, and none of a lossless priority.",
    clause: "802.1Q 36.1.1, 8.6.7",
    procedure: "A and B send to C: 24 % of the line of a lossless and 36 % of a lossy priority each, then \
                25 % and 30 %.",
    pass: "No lossless frame is lost. The lossy priority has what the lossless one leaves of the line, within \
           1 %: with 25 % and 30 % one in six of its frames is lost.",
    source: "SNAPPI 05 and m2o_lossy of sonic-mgmt",
    run: lossy_flood,
    aliases: &["m2o_lossy"],
    topology: Topology::T3,
    uncertainty: "A frame of each flow at the ends of the interval.",
    scope: Scope::Device,
};

/// Shares of the line that each sender offers: lossless and lossy.
const LOADS: [(f64, f64); 2] = [(0.24, 0.36), (0.25, 0.30)];

fn lossy_flood(cx: &mut Context<'_>) -> Result<(), TrialError> {
    cx.lossless()?;
    let lossy = cx.lossy()?;
    for lossless in cx.each_lossless() {
        let mut dropped = 0;
        for loads in LOADS {
            dropped += flood(cx, lossless, lossy, loads)?;
        }
        // Without a drop the buffer was never full, and a lossless frame never in danger.
        if dropped == 0 {
            let what = format!(
                "no frame of lossy priority {lossy} was dropped: it does not flood the buffer in this \
                 time; make `times.hold` longer"
            );
            return Err(TrialError::Error(what));
        }
    }
    Ok(())
}

/// Returns the time of a flood: long enough to fill the buffer with a tenth of a line.
const fn flood_time(cx: &Context<'_>) -> Duration {
    cx.setup.times.hold.saturating_mul(2)
}

/// Returns the number of lossy frames that were dropped.
fn flood(
    cx: &mut Context<'_>,
    lossless: Priority,
    lossy: Priority,
    loads: (f64, f64),
) -> Result<u64, TrialError> {
    let [a, b, c] = cx.ports()?;
    let times = cx.setup.times;
    let hold = flood_time(cx);
    let (of_lossless, of_lossy) = loads;
    let name = format!("{:.0} % lossless, {:.0} % lossy", of_lossless * 200.0, of_lossy * 200.0);
    let mut trial = Trial::new(name, hold + times.drain);
    for from in [a, b] {
        for (priority, share) in [(lossless, of_lossless), (lossy, of_lossy)] {
            let flow = Flow::new((from, c), priority, Limit::Time(hold));
            // Of the receiver's line: without MACsec it takes more frames than those of senders that have it, and with
            // their shares a device would not have to pause.
            let share = share / cx.setup.own_share(c, 1.0, flow.size);
            trial.flow(flow.rate(Rate::Line(share)));
        }
    }
    let observed = cx.observe(&trial)?;
    congestion::arrives(cx, &observed, &trial)?;
    congestion::lossless(cx, &observed, &trial, lossless);
    judge_left(cx, &trial, &observed, lossless, lossy);
    Ok(flows_of(&trial, lossy).map(|flow| observed.tally(flow).lost()).sum())
}

/// Returns the flows of a priority.
fn flows_of(trial: &Trial, priority: Priority) -> impl Iterator<Item = FlowId> {
    let flows = trial.flows.iter().enumerate().filter(move |(_, flow)| flow.priority == priority);
    flows.map(|(n, _)| FlowId(n))
}

/// Judges the rate of the lossy priority against what the lossless one leaves.
fn judge_left(
    cx: &mut Context<'_>,
    trial: &Trial,
    observed: &Observation,
    lossless: Priority,
    lossy: Priority,
) {
    let hold = flood_time(cx);
    let span = hold.div(2)..hold;
    // The whole line of the receiver, which takes more frames than the others if they have MACsec and it has not.
    let Flow { to, size, .. } = trial.flows[0];
    let line = cx.setup.share(1.0, size) / cx.setup.own_share(to, 1.0, size);
    let rate =
        |priority| flows_of(trial, priority).map(|f| observed.rate_in(f, &span)).sum::<f64>();
    let share = |priority| rate(priority) / line * 100.0;
    // What the lossless one leaves is measured, as the device may pause it.
    let limits = Limits::around(100.0 - share(lossless), cx.setup.limits.share * 100.0);
    let seconds = span.end.saturating_sub(span.start).as_secs_f64();
    let ends = cx.setup.line_time(trial.flows[0].size).saturating_mul(2)
        + observed.uncertainty.saturating_mul(2);
    let u = ends.as_secs_f64() / seconds * 100.0;
    let name = &trial.name;
    cx.judge(format!("line of lossy priority {lossy} ({name})"), share(lossy), limits, u, "%");
    let sent: usize = flows_of(trial, lossy)
        .map(|f| observed.of(f, Way::Sent).filter(|r| span.contains(&r.end)).count())
        .sum();
    let lost: u64 = flows_of(trial, lossy).map(|f| observed.lost_in(f, &span)).sum();
    let what = format!("lost frames of lossy priority {lossy} ({name})");
    let clause = "a device drops none before its buffer is full";
    cx.policy(what, lost as f64 / sent.max(1) as f64 * 100.0, "%", clause);
}

pub(super) const EQUAL_SENDERS: Test = describe! {
    id: "V-I04",
    title: "equal senders get equal shares",
    purpose: "Senders of one lossless priority to one port share its line equally, and lose nothing.",
    clause: "802.1Q 36.1.1, 8.6.8",
    procedure: "All ports but the last send one lossless priority to the last one at line \
                rate, and obey pauses.",
    pass: "No frame is lost. Each sender has its share of what arrives within {rate}, and Jain's fairness \
           index of the shares is at least 0.99.",
    source: "Gaudi Congestion_Test; sonic-mgmt m2o",
    run: equal_senders,
    aliases: &["m2o"],
    topology: Topology::Tn,
    uncertainty: "A frame of each flow at the ends of the interval, and what a sender sends between two \
                  pauses: the test is longer where that is more than half of the limit.",
    scope: Scope::Device,
};

/// Least fairness index.
const JAIN: f64 = 0.99;

fn equal_senders(cx: &mut Context<'_>) -> Result<(), TrialError> {
    cx.lossless()?;
    for priority in cx.each_lossless() {
        incast(cx, priority)?;
    }
    Ok(())
}

/// Most times as long as `times.hold` that the senders send.
const LONGER_MAX: u64 = 16;

/// Rates of the senders in a part of a trial.
struct SenderShares {
    observed: Observation,
    trial: Trial,
    /// Bits per second, and an equal share of their sum.
    rates: Vec<f64>,
    equal: f64,
    /// Uncertainty of a rate in percent of the equal share.
    u: f64,
}

fn incast(cx: &mut Context<'_>, priority: Priority) -> Result<(), TrialError> {
    let (_, from) = cx.to_last()?;
    let most = cx.setup.limits.rate * 50.0;
    let mut shares = sender_shares(cx, &from, priority, 1)?;
    // A longer trial has the same pauses at its ends.
    let longer = (shares.u / most).ceil().min(LONGER_MAX as f64) as u64;
    if longer > 1 {
        shares = sender_shares(cx, &from, priority, longer)?;
    }
    let SenderShares { observed, trial, rates, equal, u } = shares;
    congestion::lossless(cx, &observed, &trial, priority);
    for (port, rate) in from.iter().zip(&rates) {
        let what = format!("rate of priority {priority} from {}", cx.port(*port).name);
        let limits = Limits::around(100.0, cx.setup.limits.rate * 100.0);
        cx.judge(what, rate / equal * 100.0, limits, u, "% of an equal share");
    }
    // The index of rates that differ by u from equal ones differs by less than u squared.
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    let jain = sum * sum / (from.len() as f64 * squares);
    let u = (u / 100.0) * (u / 100.0);
    let what = format!("Jain's fairness index of priority {priority}");
    cx.judge(what, jain, Limits::at_least(JAIN), u, "");
    Ok(())
}

/// Lets the senders send for some times the length of a stimulus, and returns their rates.
fn sender_shares(
    cx: &mut Context<'_>,
    from: &[Port],
    priority: Priority,
    times: u64,
) -> Result<SenderShares, TrialError> {
    let (last, _) = cx.to_last()?;
    let hold = cx.setup.times.hold.saturating_mul(times);
    let mut trial = congestion::to_one(cx, from, last, &[priority], LOAD);
    trial.flows.iter_mut().for_each(|flow| flow.limit = Limit::Time(hold));
    trial.length = hold + cx.setup.times.drain;
    let observed = cx.observe(&trial)?;
    congestion::arrives(cx, &observed, &trial)?;
    let span = hold.div(4)..hold;
    let rates: Vec<_> = (0..from.len()).map(|n| observed.rate_in(FlowId(n), &span)).collect();
    let equal = rates.iter().sum::<f64>() / from.len() as f64;
    let seconds = span.end.saturating_sub(span.start).as_secs_f64();
    let frame = f64::from(trial.flows[0].size) * 8.0;
    let cut = (0..from.len()).map(|n| burst(&observed, from[n], priority, FlowId(n)));
    let cut = cut.max().unwrap_or(0) as f64 * frame;
    let ends = observed.uncertainty.as_secs_f64() * 2.0 / seconds;
    let u = ((frame + cut) / seconds / equal + ends) * 100.0;
    Ok(SenderShares { observed, trial, rates, equal, u })
}

/// Returns the most frames that a sender sent from one pause to the next: the ends of an interval cut this
/// many off.
fn burst(observed: &Observation, port: Port, priority: Priority, flow: FlowId) -> usize {
    let stops = congestion::pauses(observed, port, priority);
    let stops: Vec<_> = stops.iter().filter(|p| p.stops(priority)).map(|pause| pause.at).collect();
    let sent: Vec<_> = observed.of(flow, Way::Sent).map(|record| record.end).collect();
    let before = |at| sent.partition_point(|end| *end < at);
    stops.windows(2).map(|pair| before(pair[1]) - before(pair[0])).max().unwrap_or(0)
}

pub(super) const RING: Test = describe! {
    id: "V-I05",
    title: "a ring of paused ports does not end in a deadlock",
    purpose: "Where pauses depend on each other in a ring, frames go on, or the watchdog frees them.",
    clause: "802.1Q 36.1.1, which leaves deadlocks to the operator; SONiC PFC watchdog",
    procedure: "Each of the three ports of a ring (`expected.ring`) sends one lossless priority at line rate \
                to the port before it, so that its frames take two of the three links: for four \
                times `times.hold`, or eight times the watchdog's detection and restoration if that is \
                longer.",
    pass: "In each quarter of the traffic frames of each flow arrive. No frame is lost; with a watchdog the \
           lost ones are recorded instead.",
    source: "sonic-mgmt L10; draft-calabria-bmwg-ai-fabric-training-bench",
    run: ring,
    aliases: &["L10"],
    topology: Topology::Tr,
    uncertainty: "None: counts.",
    kind: Kind::Ring,
    scope: Scope::Device,
    described: |setup| setup.expected.ring,
};

fn ring(cx: &mut Context<'_>) -> Result<(), TrialError> {
    cx.lossless()?;
    if !cx.setup.expected.ring {
        let what = "expected.ring is missing: the ports have to be at a ring of switches";
        return Err(TrialError::Missing(what.to_owned()));
    }
    for priority in cx.each_lossless() {
        judge_ring(cx, priority)?;
    }
    Ok(())
}

/// Returns the length of the traffic.
fn ring_length(cx: &Context<'_>) -> Duration {
    let dog = cx.setup.expected.watchdog;
    let dog = dog.map_or(Duration::ZERO, |dog| dog.detection + dog.restoration + dog.poll);
    cx.setup.times.hold.saturating_mul(4).max(dog.saturating_mul(8))
}

fn judge_ring(cx: &mut Context<'_>, priority: Priority) -> Result<(), TrialError> {
    let ports @ [a, b, c] = cx.ports::<3>()?;
    let length = ring_length(cx);
    let mut trial = Trial::new("a ring", length + cx.setup.times.drain);
    // Each flow takes two of the three links, so that each link waits for the next one.
    for ends in [(a, c), (b, a), (c, b)] {
        let flow = Flow::new(ends, priority, Limit::Time(length));
        trial.flow(flow.rate(Rate::Line(LOAD)));
    }
    let observed = cx.observe(&trial)?;
    congestion::arrives(cx, &observed, &trial)?;
    if ports.iter().any(|port| congestion::stops(&observed, *port, priority) == 0) {
        let what = "the device did not pause each port: these are not at a ring, or its frames go \
                    around in the other direction";
        return Err(TrialError::Error(what.to_owned()));
    }
    for (n, port) in ports.iter().enumerate() {
        let flow = FlowId(n);
        let name = cx.port(*port).name.clone();
        let quarter = |n: u64| length.div(4).saturating_mul(n)..length.div(4).saturating_mul(n + 1);
        // In a deadlock a quarter has no frame at all.
        let least = (0..4).map(|n| observed.began_in(flow, &quarter(n))).min().unwrap_or(0);
        let what = format!("frames of priority {priority} from {name} in a quarter of the time");
        cx.count(what, least, Limits::at_least(1.0));
        let what = format!("lost frames of priority {priority} from {name}");
        let lost = observed.tally(flow).lost();
        // A watchdog may drop what is in a deadlock, as its last resort.
        match cx.setup.expected.watchdog {
            None => cx.count(what, lost, Limits::exactly(0.0)),
            Some(_) => cx.policy(what, lost as f64, "", "a watchdog drops to end a deadlock"),
        }
    }
    Ok(())
}
