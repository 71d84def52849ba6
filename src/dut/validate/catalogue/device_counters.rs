//! Counters of the device: PFC frames, paused time, and the sums of data frames.
//!
//! Data frames beside control frames show that the ports are cabled and counted ([`control_trial`]).

use super::{congestion, storm};
use crate::bench::TrialError;
use crate::counters::{Counter, CounterPlace, Counters};
use crate::judge::Limits;
use crate::observation::{Observation, Way};
use crate::setup::XonCount;
use crate::test::{Context, Level, Scope, Test, Topology};
use crate::trial::{
    Control, Flow, FlowId, LEARNING, Limit, LinkChange, Obeys, Port, Rate, Trial, pause_frame,
    pfc_frame,
};
use ground::time::Duration;
use ground::units::{Priority, PrioritySet, Quanta};

/// Time of these pauses: the device is not stopped for long.
const SHORT: Quanta = Quanta(16);

/// Data frames of a trial.
const DATA: u32 = 100;

/// Interval of control frames: 10,000 frames per second.
const EVERY: Duration = Duration::from_micros(100);

/// Returns a trial in which B sends control frames with these contents and numbers one after the other, and
/// data frames of a lossy priority to A.
fn control_trial(
    cx: &Context<'_>,
    name: &str,
    frames: impl IntoIterator<Item = (Vec<u8>, u32)>,
    every: Duration,
) -> Result<Trial, TrialError> {
    let ([to, from], data) = (cx.ports()?, cx.lossy()?);
    // A quarter of a slow line, which has room for the data.
    let every = every.max(cx.setup.line_time(64).saturating_mul(4));
    let mut trial = Trial::new(name, Duration::ZERO);
    let mut start = cx.setup.times.baseline;
    let flow = Flow::new((from, to), data, Limit::Frames(DATA)).rate(Rate::Line(0.1));
    trial.flow(flow);
    for (octets, frames) in frames {
        trial.control.push(Control { port: from, octets, start, every, frames });
        start += every.saturating_mul(u64::from(frames));
    }
    trial.length = start + cx.setup.times.settle + cx.setup.times.drain;
    Ok(trial)
}

pub(super) const PFC_FRAMES: Test = describe! {
    id: "V-C01",
    title: "PFC frames are counted",
    purpose: "A port counts each PFC frame that it receives or sends, for the priorities that it names, and no \
              other frame as one.",
    clause: "802.1Q 12.23 (counts of PFC requests and indications); by priority as SAI does",
    procedure: "B sends frames that pause one priority each, 10 to 17 of them; as many that resume it; 10 that \
                pause all; 10 PAUSE frames; and 10,000 pauses of a lossless priority, at level full 1,000,000. \
                Data from B to A show that the port is the right one. At last B pauses a lossless priority until \
                the device pauses A, and the pauses that A receives are counted.",
    pass: "The device's counters of received PFC frames are the numbers sent, with those that resume as \
           `expected.xon` says; PAUSE is not in them. Of a priority without PFC at most the number sent is \
           counted. The counter of sent frames is the number that A received. Totals of a port, if the device has \
           them, are the numbers of frames: each is counted once, and one that resumes as well.",
    source: "sonic-mgmt pfc_counters, L15; sonic-buildimage issue 5540",
    run: pfc_frames,
    aliases: &["pfc_counters", "L15"],
    uncertainty: "None: counts.",
    level: Level::Quick,
    scope: Scope::Device,
};

/// Frames for priority 0; each other one gets one frame more than that before it.
const FRAMES: u32 = 10;

fn pfc_frames(cx: &mut Context<'_>) -> Result<(), TrialError> {
    cx.lossless()?;
    // Without a counter of received frames the other trials with them would show nothing.
    if each_priority(cx, "XOFF for each priority", SHORT)? {
        each_priority(cx, "XON for each priority", Quanta(0))?;
        together(cx)?;
        judge_pause(cx)?;
        judge_storm(cx)?;
    }
    judge_sent(cx)
}

/// Returns the number of frames for a priority.
fn frames_for(priority: Priority) -> u32 {
    FRAMES + u32::from(priority.get())
}

/// Judges frames for one priority each. Returns false if no counter of them is known.
fn each_priority(cx: &mut Context<'_>, name: &str, time: Quanta) -> Result<bool, TrialError> {
    let [_, b] = cx.ports()?;
    let mac = cx.port(b).mac;
    // Another number for each priority: a device that counts for the wrong one is found.
    let each = Priority::ALL.map(|p| (pfc_frame(mac, &[(p, time)]), frames_for(p)));
    let trial = control_trial(cx, name, each, EVERY)?;
    let (_, counters) = cx.count_over(trial)?;
    for priority in Priority::ALL {
        let what = format!("counted {name}, priority {priority}");
        let sent = frames_for(priority);
        if time > Quanta(0) {
            judge_pfc(cx, &what, &counters, Counter::PfcRx.of(b, priority), sent);
        } else {
            judge_xon(cx, &what, &counters, b, priority);
        }
    }
    let mut lossless = cx.setup.lossless.iter();
    let of_priority = lossless.any(|p| counters.get(b, Some(p), Counter::PfcRx).is_some());
    Ok(of_priority || counters.get(b, None, Counter::PfcRxAll).is_some())
}

/// Judges frames for all priorities at once.
fn together(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [_, b] = cx.ports()?;
    let frame = pfc_frame(cx.port(b).mac, &Priority::ALL.map(|p| (p, SHORT)));
    let name = "XOFF for all priorities";
    let trial = control_trial(cx, name, [(frame, FRAMES)], EVERY)?;
    let (_, counters) = cx.count_over(trial)?;
    for priority in Priority::ALL {
        let what = format!("counted XOFF for all priorities, priority {priority}");
        judge_pfc(cx, &what, &counters, Counter::PfcRx.of(b, priority), FRAMES);
    }
    judge_total(cx, &counters, Counter::PfcRxAll.at(b), "XOFF for all priorities", FRAMES);
    Ok(())
}

/// Judges a total of a port; not every device has one.
fn judge_total(
    cx: &mut Context<'_>,
    counters: &Counters,
    total: CounterPlace,
    name: &str,
    frames: u32,
) {
    if counters.get(total.port, None, total.counter).is_some() {
        let what = format!("counted frames in total, {name}");
        let limits = Limits::exactly(f64::from(frames));
        cx.judge_counter(what, counters, total, limits);
    }
}

/// Judges a counter of PFC frames: exactly for a lossless priority.
fn judge_pfc(
    cx: &mut Context<'_>,
    what: &str,
    counters: &Counters,
    place: CounterPlace,
    sent: u32,
) {
    let CounterPlace { port, priority, counter } = place;
    let sent = f64::from(sent);
    let is_lossless = priority.is_some_and(|priority| cx.setup.lossless.contains(priority));
    // A priority without PFC need not have a counter.
    if !is_lossless && counters.get(port, priority, counter).is_none() {
        return;
    }
    let limits = if is_lossless { Limits::exactly(sent) } else { Limits::at_most(sent) };
    cx.judge_counter(what, counters, place, limits);
}

/// Judges frames that resume a priority, as the device documents them.
fn judge_xon(
    cx: &mut Context<'_>,
    what: &str,
    counters: &Counters,
    port: Port,
    priority: Priority,
) {
    let sent = frames_for(priority);
    let (in_all, apart) = match cx.setup.expected.xon {
        Some(XonCount::Counted) => (sent, None),
        // Frames that are counted apart are not in the count of all.
        Some(XonCount::Apart) => (0, Some(sent)),
        Some(XonCount::Ignored) => (0, None),
        None => {
            if let Some(n) = counters.get(port, Some(priority), Counter::PfcRx) {
                let clause = "`expected.xon` does not say if they are counted";
                cx.policy(what, n as f64, "", clause);
            }
            return;
        }
    };
    judge_pfc(cx, what, counters, Counter::PfcRx.of(port, priority), in_all);
    if let Some(sent) = apart {
        judge_pfc(
            cx,
            &format!("{what}, apart"),
            counters,
            Counter::PfcRxXon.of(port, priority),
            sent,
        );
    }
}

/// Judges that PAUSE is not counted as PFC.
fn judge_pause(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [_, b] = cx.ports()?;
    let frame = pause_frame(cx.port(b).mac, SHORT);
    let name = "PAUSE frames";
    let trial = control_trial(cx, name, [(frame, FRAMES)], EVERY)?;
    let (_, counters) = cx.count_over(trial)?;
    for priority in cx.setup.lossless.iter() {
        let what = format!("PAUSE frames counted as PFC of priority {priority}");
        judge_pfc(cx, &what, &counters, Counter::PfcRx.of(b, priority), 0);
    }
    judge_total(cx, &counters, Counter::PfcRxAll.at(b), "PAUSE frames", 0);
    if let Some(n) = counters.get(b, None, Counter::PauseRx) {
        let clause = "802.1Q 36.1.1 is silent about counting PAUSE where PFC is on";
        cx.policy("PAUSE frames counted as PAUSE", n as f64, "", clause);
    }
    Ok(())
}

/// Judges a long storm.
fn judge_storm(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [_, b] = cx.ports()?;
    let priority = cx.lossless()?;
    let frames = cx.by_level(10_000, 1_000_000);
    let octets = pfc_frame(cx.port(b).mac, &[(priority, SHORT)]);
    let name = "storm";
    let trial = control_trial(cx, name, [(octets, frames)], Duration::from_micros(10))?;
    let (_, counters) = cx.count_over(trial)?;
    let what = format!("counted pauses of priority {priority} in a storm");
    judge_pfc(cx, &what, &counters, Counter::PfcRx.of(b, priority), frames);
    judge_total(cx, &counters, Counter::PfcRxAll.at(b), "storm", frames);
    Ok(())
}

/// Judges the pauses that the device sends.
fn judge_sent(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let priority = cx.lossless()?;
    let times = cx.setup.times;
    let hold = times.hold.min(cx.setup.storm_max());
    let traffic = times.baseline + hold;
    let mut trial = Trial::new("pauses of the device", traffic + times.drain);
    let flow = Flow::new((a, b), priority, Limit::Time(traffic));
    trial.flow(flow.rate(Rate::Line(cx.setup.load)));
    trial.obeys.push((a, Obeys::Pfc(Quanta(0))));
    storm::add(
        cx,
        &mut trial,
        b,
        PrioritySet::of(priority),
        &(times.baseline..times.baseline + hold),
    );
    let (observed, counters) = cx.count_over(trial)?;
    let pauses = congestion::pauses(&observed, a, priority).len();
    let what = format!("counted pauses of priority {priority} that the device sends");
    // Without a pause any counter of zero would pass.
    if pauses == 0 {
        cx.skip(what, "the device does not fill up and pause A");
        return Ok(());
    }
    judge_pfc(cx, &what, &counters, Counter::PfcTx.of(a, priority), pauses as u32);
    let all = observed.pauses(a).count() as u32;
    judge_total(cx, &counters, Counter::PfcTxAll.at(a), "pauses of the device", all);
    Ok(())
}

pub(super) const NOT_DATA: Test = describe! {
    id: "V-C02",
    title: "PFC frames are not counted as data or as drops",
    purpose: "PFC frames that a port has obeyed are neither in its count of received data frames nor in that of \
              dropped ones.",
    clause: "802.3 31.3: MAC control frames are not passed to the MAC client",
    procedure: "B sends 500 pauses of each of the eight priorities, then 100 frames that resume all; at level \
                full 5,000 and 1,000. Before them it sends 100 data frames to A.",
    pass: "The device's count of received data frames is the number of data frames sent, and that of dropped \
           frames at most 10.",
    source: "sonic-mgmt issues 6638, 9775, 21223, 25741; sonic-buildimage issue 28764",
    run: not_data,
    aliases: &["pfc_not_in_rx_ok"],
    uncertainty: "None: counts.",
    level: Level::Quick,
    scope: Scope::Device,
};

/// Maximum number of dropped frames, of any other protocol.
const DROPPED_MAX: f64 = 10.0;

fn not_data(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [_, b] = cx.ports()?;
    let mac = cx.port(b).mac;
    let (pauses, resumes) = cx.by_level((500, 100), (5_000, 1_000));
    let each = Priority::ALL.map(|p| (pfc_frame(mac, &[(p, SHORT)]), pauses));
    let xon = (pfc_frame(mac, &Priority::ALL.map(|p| (p, Quanta(0)))), resumes);
    let frames = each.into_iter().chain([xon]);
    let trial = control_trial(cx, "PFC frames beside data", frames, EVERY)?;
    let (observed, counters) = cx.count_over(trial)?;
    // The frames by which the device learns addresses are data, too.
    let data = observed.tally(FlowId(0)).sent + u64::from(LEARNING);
    let limits = Limits::exactly(data as f64);
    cx.judge_counter("counted data frames at B", &counters, Counter::RxOk.at(b), limits);
    let limits = Limits::at_most(DROPPED_MAX);
    cx.judge_counter("counted drops at B", &counters, Counter::RxDrop.at(b), limits);
    Ok(())
}

pub(super) const PAUSED_TIME: Test = describe! {
    id: "V-C03",
    title: "paused time is counted in time",
    purpose: "The counter of the time for which a priority was paused is a time, whatever the rate of the link.",
    clause: "802.1Q 36.1.3.2 and 802.3 31D.3 (a pause ends after its time); the counter as SAI's",
    procedure: "As V-R13: B pauses a lossless priority for 10, 25, 50, 75 and 90 % of the time (one pause in \
                70,000 quanta), while A sends on it at 5 % of the line. 100 pauses each, at level full 1,000, as \
                far as `times.hold` is long enough.",
    pass: "The device's counter of paused time is the sum of the pauses within 5 %.",
    source: "sonic-mgmt issue 27667; sonic-swss issue 1586",
    run: paused_time,
    aliases: &["pfc_duration_counter"],
    uncertainty: "None: the pauses do not overlap, so their lengths are those that they name.",
    level: Level::Quick,
    scope: Scope::Device,
};

/// Share of the line of the paused flow.
const PAUSED_SHARE: f64 = 0.05;

/// Largest deviation, as a fraction.
const DEVIATION: f64 = 0.05;

fn paused_time(cx: &mut Context<'_>) -> Result<(), TrialError> {
    cx.lossless()?;
    for priority in cx.each_lossless() {
        // One that is unknown after a trial is so after the others.
        for duty in storm::DUTIES {
            if !judge_duty(cx, priority, duty)? {
                break;
            }
        }
    }
    Ok(())
}

/// Judges one part of the time. Returns false if the counter is unknown.
fn judge_duty(cx: &mut Context<'_>, priority: Priority, duty: u64) -> Result<bool, TrialError> {
    let [a, b] = cx.ports()?;
    let times = cx.setup.times;
    let every = Quanta(1).at(cx.setup.rate).saturating_mul(storm::period(cx));
    let fits = times.hold.as_picos() / every.as_picos().max(1);
    let periods = fits.clamp(2, cx.by_level(100, 1000));
    let start = times.baseline;
    let traffic = start + every.saturating_mul(periods);
    let mut trial = Trial::new(format!("paused for {duty} %"), traffic + times.drain);
    let flow = Flow::new((a, b), priority, Limit::Time(traffic));
    trial.flow(flow.rate(Rate::Line(PAUSED_SHARE)));
    let quanta = Quanta((storm::period(cx) * duty / 100) as u16);
    let octets = pfc_frame(cx.port(b).mac, &[(priority, quanta)]);
    trial.control.push(Control { port: b, octets, start, every, frames: periods as u32 });
    let (_, counters) = cx.count_over(trial)?;
    let wanted = quanta.at(cx.setup.rate).saturating_mul(periods).as_nanos_f64();
    let limits = Limits::around(wanted, wanted * DEVIATION);
    let what = format!("counted time of priority {priority}, paused for {duty} %");
    cx.judge_counter(what, &counters, Counter::Paused.of(b, priority), limits);
    Ok(counters.get(b, Some(priority), Counter::Paused).is_some())
}

pub(super) const EVERY_FRAME: Test = describe! {
    id: "V-C04",
    title: "every frame is counted, and a link failure clears nothing",
    purpose: "Each frame that a device receives is sent, or dropped under a reason that it counts.",
    clause: "RFC 2863 (ifInDiscards, ifOutDiscards): dropped frames are counted",
    procedure: "A and B send at 60 % of the line each to C on a lossy priority, and as much on a lossless one. \
                Then A sends 1,000 frames to B, its link fails for the settling time, and it sends 1,000 \
                more.",
    pass: "Of the overload: the sum of the device's drops by reason is the number of frames that were sent and \
           did not arrive; the frames received from A and B, with or without dropped ones, and those \
           sent to C are counted. The device still counts the frames from before the link failure. Where the \
           tester cannot take its link down, that part is skipped.",
    source: "sonic-mgmt issue 14205; conservation of frames",
    run: every_frame,
    aliases: &["conservation"],
    topology: Topology::T3,
    uncertainty: "None: counts. Copies of the frames by which the device learns addresses may be in those sent \
                  to C.",
    scope: Scope::Device,
};

/// Share of the line of each flow of the overload.
const OVERLOAD_SHARE: f64 = 0.6;

/// Frames before the link failure, and after it.
const LINK_FRAMES: u32 = 1000;

fn every_frame(cx: &mut Context<'_>) -> Result<(), TrialError> {
    judge_overload(cx)?;
    match judge_link_failure(cx) {
        Err(TrialError::Missing(why)) => {
            cx.skip("counters after a link failure", &why);
            Ok(())
        }
        other => other,
    }
}

/// Returns the frames that were sent and that arrived, of all flows from a port; of all ports if it is
/// `None`.
fn sent_and_received(observed: &Observation, trial: &Trial, from: Option<Port>) -> (u64, u64) {
    let is_from = |flow: &Flow| from.is_none_or(|from| flow.from == from);
    let ids = (0..trial.flows.len()).filter(|n| is_from(&trial.flows[*n])).map(FlowId);
    let count = |id, way| observed.of(id, way).count() as u64;
    ids.map(|id| (count(id, Way::Sent), count(id, Way::Received)))
        .fold((0, 0), |(s, r), (sent, received)| (s + sent, r + received))
}

/// Judges the sums of an overload.
fn judge_overload(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b, c] = cx.ports()?;
    let times = cx.setup.times;
    let mut trial = Trial::new("overload", times.hold + times.drain);
    for from in [a, b] {
        for priority in [cx.lossy()?, cx.lossless()?] {
            let flow = Flow::new((from, c), priority, Limit::Time(times.hold));
            trial.flow(flow.rate(Rate::Line(OVERLOAD_SHARE)));
        }
    }
    let (observed, counters) = cx.count_over(trial.clone())?;
    let (sent, received) = sent_and_received(&observed, &trial, None);
    let lost = sent - received;
    if lost == 0 {
        let what =
            "no frame of the overload is lost, so no drop can be counted; lengthen `times.hold`";
        return Err(TrialError::Error(what.to_owned()));
    }
    // Of a frame that arrives late in the drain others may follow, and the sums would not be whole.
    let last =
        observed.records.iter().filter(|r| r.way == Way::Received && r.what.sequence().is_some());
    if last.map(|record| record.end).max().is_some_and(|end| end > times.hold + times.drain.div(2))
    {
        let what = "times.drain: the device still sends what it held; lengthen it";
        return Err(TrialError::Error(what.to_owned()));
    }
    let what = "counted drops of all reasons";
    match counters.dropped() {
        Some(dropped) => cx.count(what, dropped, Limits::exactly(lost as f64)),
        None => cx.skip(what, "adapter: the device's counters of drops by reason are unknown"),
    }
    let learning = u64::from(LEARNING);
    for port in [a, b] {
        let (sent, received) = sent_and_received(&observed, &trial, Some(port));
        // A device may count dropped frames as received, or leave them out.
        let limits = Limits {
            at_least: Some((received + learning) as f64),
            at_most: Some((sent + learning) as f64),
        };
        let what = format!("counted data frames from {}", cx.port(port).name);
        cx.judge_counter(what, &counters, Counter::RxOk.at(port), limits);
    }
    // A frame that is learnt from is flooded to all ports but its own.
    let copies = learning * (cx.setup.ports.len() as u64 - 1);
    let limits =
        Limits { at_least: Some(received as f64), at_most: Some((received + copies) as f64) };
    cx.judge_counter("counted data frames to C", &counters, Counter::TxOk.at(c), limits);
    Ok(())
}

/// Judges that counters survive a link failure.
fn judge_link_failure(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let priority = cx.lossless()?;
    let times = cx.setup.times;
    let span = cx.setup.line_time(1024).saturating_mul(u64::from(LINK_FRAMES) * 5);
    let down = times.baseline + span + times.settle;
    let up = down + times.settle;
    let hello = up + times.settle;
    let again = hello + times.settle;
    let mut trial = Trial::new("link failure", again + span + times.drain);
    // The same number on either side of the failure: a counter that was cleared has half.
    for start in [times.baseline, again] {
        let flow = Flow::new((a, b), priority, Limit::Frames(LINK_FRAMES)).rate(Rate::Line(0.2));
        trial.flow(flow.start(start));
    }
    trial.links.push(LinkChange { port: a, at: down, up: false });
    trial.links.push(LinkChange { port: a, at: up, up: true });
    trial.frame(a, storm::hello(cx.port(a).mac), hello);
    let (observed, counters) = cx.count_over(trial)?;
    // The learning frames and the frame after the failure are data too.
    let sent: u64 = [0, 1].map(|n| observed.tally(FlowId(n)).sent).iter().sum();
    let wanted = sent + u64::from(LEARNING) + 1;
    let limits = Limits::exactly(wanted as f64);
    let what = "counted data frames from A before and after a link failure";
    cx.judge_counter(what, &counters, Counter::RxOk.at(a), limits);
    Ok(())
}
