//! What the PFC watchdog does to a stormed queue, and leaves as it is at others.

use super::{storm, watchdog};
use crate::bench::TrialError;
use crate::counters::Counter;
use crate::judge::Limits;
use crate::observation::Way;
use crate::setup::ExpectedWatchdog;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Control, Flow, FlowId, Limit, Port, Rate, Trial};
use ground::time::Duration;
use ground::units::{Priority, PrioritySet, Quanta};
use wire::pfc;

/// Share of the line of each flow.
const SHARE: f64 = 0.05;

pub(super) const STORMED_QUEUE: Test = describe! {
    id: "V-W04",
    title: "the watchdog drops the stormed queue alone",
    purpose: "After the detection the stormed queue is dropped, so that the storm does not spread: other \
              queues go on, and no peer is paused for it.",
    clause: "SONiC PFC watchdog; the action is the device's configuration",
    procedure: "As V-W01, with one storm, and a flow on a lossy priority; at level full on each other one.",
    pass: "From the detection to the end of the storm no frame of the priority arrives, A receives no pause \
           for it, and after the restoration it flows again. No frame of another priority is lost.",
    source: "sonic-mgmt pfcwd actions; sonic-buildimage issues 26248, 8483, 9430",
    run: stormed_queue,
    aliases: &["pfcwd_actions"],
    level: Level::Quick,
};

fn stormed_queue(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let dog = watchdog::expected(cx)?;
    cx.ports::<2>()?;
    watchdog::each_stormed(cx, |cx, priority| stormed_queue_of(cx, dog, priority))
}

fn stormed_queue_of(
    cx: &mut Context<'_>,
    dog: ExpectedWatchdog,
    priority: Priority,
) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let others = cx.others(priority, cx.lossy()?);
    let storm = watchdog::observe_storm(cx, dog, priority, &others)?;
    let observed = &storm.observed;
    // A sends what the pause has held at its whole line. If MACsec makes the line to B the slower one, the restored queue
    // congests it, and a lossy priority may lose frames.
    let congests = cx.port(b).overhead() > cx.port(a).overhead();
    let lost = others.iter().enumerate().map(|(n, other)| {
        let flow = FlowId(n + 1);
        match congests && !cx.setup.lossless.contains(*other) {
            true => observed.lost_in(flow, &(Duration::ZERO..storm.end)),
            false => observed.tally(flow).lost(),
        }
    });
    let lost: Vec<u64> = lost.collect();
    let after =
        observed.of(FlowId(0), Way::Received).filter(|r| r.begin > storm.end).count() as u64;
    let Some(detected) = storm.detected else {
        let what = format!("storms of priority {priority} that the watchdog detected");
        cx.judge(what, 0.0, Limits::at_least(1.0), 0.0, "storms");
        return Ok(());
    };
    // Frames that were on their way at the detection may still arrive.
    let from = detected + cx.setup.stop_limit() + observed.uncertainty;
    let span = from..storm.end.saturating_sub(observed.uncertainty);
    let arrived = observed.began_in(FlowId(0), &span);
    let pauses =
        observed.pauses(a).filter(|p| span.contains(&p.at) && p.stops(priority)).count() as u64;
    let none = Limits::exactly(0.0);
    cx.count(format!("frames of stormed priority {priority} that arrive"), arrived, none);
    cx.count(format!("pauses of priority {priority} after the detection"), pauses, none);
    for (other, lost) in others.into_iter().zip(lost) {
        cx.count(format!("lost frames of priority {other}"), lost, none);
    }
    let what = format!("frames of priority {priority} after the storm");
    cx.count(what, after, Limits::at_least(1.0));
    Ok(())
}

pub(super) const OTHER_QUEUES: Test = describe! {
    id: "V-W05",
    title: "the watchdog leaves other queues and ports alone",
    purpose: "A storm on a queue of a port changes nothing for another queue of that port, nor for the same \
              priority at another one.",
    clause: "SONiC PFC watchdog",
    procedure: "B pauses one lossless priority for three detection times (`expected.watchdog`). Flows at 5 % of \
                the line: the priority from A to B, another one from A to B, which is lossless too if there \
                are two, and the priority from B to C. Then B pauses two lossless priorities for three detection \
                times, one of them for half of the restoration time more. At level full each lossless \
                priority has the storm, the other flows are those of all other priorities and to all other \
                ports, which share 5 %, and each two lossless priorities are paused.",
    pass: "Frames of the stormed queue are lost; of the other flows none, and during the storm they keep \
           their rates within {rate}. Of two stormed queues the second one is restored by its own last pause: no \
           frame of it arrives before the restoration time after that.",
    source: "sonic-mgmt pfcwd basic; sonic-buildimage issue 9432",
    run: other_queues,
    aliases: &["pfcwd_basic"],
    topology: Topology::T3,
};

fn other_queues(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let dog = watchdog::expected(cx)?;
    cx.ports::<3>()?;
    watchdog::each_stormed(cx, |cx, priority| {
        judge_others(cx, dog, priority)?;
        judge_apart(cx, dog, priority)
    })
}

/// Judges that a storm of a priority changes nothing for other queues of the port, and for it at other ports.
fn judge_others(
    cx: &mut Context<'_>,
    dog: ExpectedWatchdog,
    priority: Priority,
) -> Result<(), TrialError> {
    let [a, b, c] = cx.ports()?;
    let others = watchdog::spared(cx, priority)?;
    let ports = match cx.level {
        Level::Quick => vec![c],
        Level::Full => (0..cx.setup.alike()).map(Port).filter(|port| *port != b).collect(),
    };
    let times = cx.setup.times;
    let share = SHARE / others.len().max(ports.len()) as f64;
    let start = watchdog::rest(cx, watchdog::interval(cx, share));
    let length = watchdog::judged_time(cx, dog, share);
    let traffic = start + length + times.settle;
    let mut trial = Trial::new("storm for one queue", traffic + times.drain);
    trial.storms = true;
    let beside = others.iter().map(|other| ((a, b), *other, share));
    let elsewhere = ports.iter().map(|to| ((b, *to), priority, share));
    let stormed = core::iter::once(((a, b), priority, SHARE));
    for (ends, priority, share) in stormed.chain(beside).chain(elsewhere) {
        let flow = Flow::new(ends, priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(share)));
    }
    storm::add(cx, &mut trial, b, PrioritySet::of(priority), &(start..start + length));
    let observed = cx.observe(&trial)?;
    cx.at_rest(&observed, &trial, &(start.div(4)..start))?;
    let stormed = observed.tally(FlowId(0)).lost();
    cx.count("lost frames of the stormed queue", stormed, Limits::at_least(1.0));
    let storm = start..start + length;
    for (n, flow) in trial.flows.iter().enumerate().skip(1) {
        // Those to B share the port with the storm, the others the priority.
        let which = match flow.to == b {
            true => format!("the other queue, of priority {}", flow.priority),
            false => format!("the other port, {}", cx.port(flow.to).name),
        };
        let lost = observed.tally(FlowId(n)).lost();
        cx.count(format!("lost frames of {which}"), lost, Limits::exactly(0.0));
        cx.rate(&observed, &trial, FlowId(n), &storm);
    }
    Ok(())
}

/// Judges that the restoration of a queue restores no other one.
fn judge_apart(
    cx: &mut Context<'_>,
    dog: ExpectedWatchdog,
    first: Priority,
) -> Result<(), TrialError> {
    let lossless = cx.setup.lossless.iter().filter(|other| *other != first);
    let others: Vec<Priority> = lossless.take(cx.by_level(1, usize::MAX)).collect();
    if others.is_empty() {
        cx.skip(RESTORED_LATER, "lossless: two priorities are needed");
    }
    others.into_iter().try_for_each(|second| judge_pair(cx, dog, first, second))
}

/// The queue of the part with two storms.
const RESTORED_LATER: &str = "a queue that is restored after another one";

/// Judges two storms. That of the second priority lasts longer.
fn judge_pair(
    cx: &mut Context<'_>,
    dog: ExpectedWatchdog,
    first: Priority,
    second: Priority,
) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let start = cx.setup.times.baseline;
    let length = dog.detection.saturating_mul(3);
    let more = dog.restoration.div(2);
    let traffic = start + length + more + dog.restoration.saturating_mul(2);
    let mut trial = Trial::new("storms for two queues", traffic + cx.setup.times.drain);
    trial.storms = true;
    for (priority, length) in [(first, length), (second, length + more)] {
        let flow = Flow::new((a, b), priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(SHARE)));
        storm::add(cx, &mut trial, b, PrioritySet::of(priority), &(start..start + length));
    }
    let observed = cx.observe(&trial)?;
    cx.at_rest(&observed, &trial, &(start.div(4)..start))?;
    let names = |octets: &[u8]| pfc::Repr::parse(octets).is_ok_and(|p| p.time(second).is_some());
    let last =
        observed.control_sent(b).filter(|(_, octets)| names(octets)).map(|(r, _)| r.end).last();
    let last = last.ok_or_else(|| TrialError::Error("the tester sent no pause".into()))?;
    // Frames that are sent before the detection are dropped with the queue.
    let restored = observed.of(FlowId(1), Way::Received).map(|r| r.end).find(|at| *at > last);
    let restored = restored.map_or(Duration::MAX, |at| at.saturating_sub(last));
    let limits = Limits::at_least(dog.restoration.as_nanos_f64());
    let what = format!("time until the first frame of {RESTORED_LATER}");
    cx.time(what, restored, limits, observed.uncertainty);
    Ok(())
}

pub(super) const RESTORED_QUEUE: Test = describe! {
    id: "V-W06",
    title: "a restored queue loses nothing, storm after storm",
    purpose: "After the restoration a queue is lossless again, and the next storm is detected as the first \
              one was.",
    clause: "SONiC PFC watchdog; the times are the device's configuration",
    procedure: "Flows on one lossless priority and on another at 5 % of the line from A to B. B pauses the \
                lossless one three times for two detection times, and waits for the restoration time \
                (`expected.watchdog`), in which it sends XON, and a detection time after each. At level full \
                each lossless priority has the storms, with flows on all others, which share the 5 %.",
    pass: "Frames of the stormed priority are lost in each storm, none that is sent from the restoration \
           on, and of another priority none at all.",
    source: "sonic-mgmt pfcwd; sonic-buildimage issue 5898",
    run: restored_queue,
    aliases: &["pfcwd_traffic_after_restore"],
};

/// XON frames after each storm, in the restoration time: none is a pause, so none delays its end.
const XON: u32 = 3;

/// Storms in a row.
const STORMS: u64 = 3;

fn restored_queue(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let dog = watchdog::expected(cx)?;
    cx.ports::<2>()?;
    watchdog::each_stormed(cx, |cx, priority| restored_queue_of(cx, dog, priority))
}

fn restored_queue_of(
    cx: &mut Context<'_>,
    dog: ExpectedWatchdog,
    priority: Priority,
) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let others = watchdog::spared(cx, priority)?;
    let share = SHARE / others.len().max(1) as f64;
    let times = cx.setup.times;
    let start = watchdog::rest(cx, watchdog::interval(cx, share));
    let length = dog.detection.saturating_mul(2);
    let restored = length + dog.restoration + watchdog::slack(cx, dog);
    // A detection time without a storm follows, in which nothing may be lost.
    let cycle = restored + dog.detection;
    let begin = |n: u64| start + cycle.saturating_mul(n);
    let traffic = begin(STORMS);
    let mut trial = Trial::new("storms in a row", traffic + times.drain);
    trial.storms = true;
    let beside = others.iter().map(|other| (*other, share));
    for (priority, share) in core::iter::once((priority, SHARE)).chain(beside) {
        let flow = Flow::new((a, b), priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(share)));
    }
    for n in 0..STORMS {
        let set = PrioritySet::of(priority);
        storm::add(cx, &mut trial, b, set, &(begin(n)..begin(n) + length));
        // XON in the restoration time is no pause, so it does not begin the time anew.
        let every = dog.restoration.div(4);
        let octets = cx.pause(b, set, Quanta(0));
        let start = begin(n) + length + every;
        trial.control.push(Control { port: b, octets, start, every, frames: XON });
    }
    let observed = cx.observe(&trial)?;
    cx.at_rest(&observed, &trial, &(start.div(4)..start))?;
    let u = observed.uncertainty;
    for n in 0..STORMS {
        let storm = begin(n)..begin(n) + length;
        let lost = observed.lost_in(FlowId(0), &storm);
        let number = n + 1;
        let what = format!("lost frames of priority {priority} in storm {number}");
        // Each storm has to be detected, and not the first one alone.
        cx.count(what, lost, Limits::at_least(1.0));
        // A margin at either end, as the times of frames are uncertain.
        let after = begin(n) + restored + u..begin(n + 1).saturating_sub(u);
        let late = observed.lost_in(FlowId(0), &after);
        let what = format!("lost frames of priority {priority} after storm {number}");
        cx.count(what, late, Limits::exactly(0.0));
    }
    for (n, other) in others.into_iter().enumerate() {
        let lost = observed.tally(FlowId(n + 1)).lost();
        cx.count(format!("lost frames of priority {other}"), lost, Limits::exactly(0.0));
    }
    Ok(())
}

pub(super) const ALL_QUEUES: Test = describe! {
    id: "V-W07",
    title: "storms on all queues stay detected until they end",
    purpose: "A watchdog detects a storm on every lossless priority of every port, and does not restore a \
              queue while its storm goes on.",
    clause: "SONiC PFC watchdog",
    procedure: "Flows on each lossless priority from A to B and to C, each at 2 % of the line. B and C pause all \
                lossless priorities for 5 detection and restoration times (`expected.watchdog`), at level \
                full 2,000, with a frame in an eighth of the detection time: 20 minutes for SONiC's defaults, 200 ms \
                and 400 ms.",
    pass: "From the detection time on every frame that is sent in the storm is lost, and A is not paused: a \
           frame that arrives later was held by a queue that was restored in the storm. The device has \
           counted one storm of each queue. Where its counters are not read, that part is skipped.",
    source: "sonic-mgmt pfcwd_all_port_storm; sonic-buildimage issue 29203",
    run: all_queues,
    aliases: &["pfcwd_all_port_storm"],
    topology: Topology::T3,
};

/// Share of the line of each flow.
const ALL_QUEUES_SHARE: f64 = 0.02;

/// Returns the interval of the frames of a flow: so long that a long storm is recorded, and so short that
/// each queue has a frame all the time.
fn interval(cx: &Context<'_>, dog: ExpectedWatchdog) -> Duration {
    let short = watchdog::interval(cx, ALL_QUEUES_SHARE);
    cx.by_level(short, short.max(dog.detection.div(8)))
}

fn all_queues(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let dog = watchdog::expected(cx)?;
    let [a, b, c] = cx.ports()?;
    cx.lossless()?;
    let (times, interval) = (cx.setup.times, interval(cx, dog));
    let share = cx.setup.line_time(storm::SIZE).as_nanos_f64() / interval.as_nanos_f64();
    let start = watchdog::rest(cx, interval);
    let length = (dog.detection + dog.restoration).saturating_mul(cx.by_level(5, 2000));
    let traffic = start + length;
    let mut trial = Trial::new("storms for all queues", traffic + times.drain);
    trial.storms = true;
    for to in [b, c] {
        for priority in cx.setup.lossless.iter() {
            let flow = Flow::new((a, to), priority, Limit::Time(traffic));
            trial.flow(flow.rate(Rate::Line(share)));
        }
        storm::add(cx, &mut trial, to, cx.setup.lossless, &(start..start + length));
    }
    let (observed, counters) = cx.observe_with(trial.clone())?;
    cx.at_rest(&observed, &trial, &(start.div(4)..start))?;
    let detected = start + dog.detection + watchdog::slack(cx, dog) + observed.uncertainty;
    let ends = [b, c].map(|port| observed.control_sent(port).map(|(record, _)| record.end).last());
    // What is judged ends with the storm that ends first.
    let Some(end) = ends.into_iter().flatten().min() else {
        return Err(TrialError::Error("the tester sent no pause".into()));
    };
    let span = detected..end.saturating_sub(observed.uncertainty);
    for (n, flow) in trial.flows.iter().enumerate() {
        let sent =
            observed.of(FlowId(n), Way::Sent).filter(|r| span.contains(&r.end)).count() as u64;
        let lost = observed.lost_in(FlowId(n), &span);
        let queue = format!("priority {} at {}", flow.priority, cx.port(flow.to).name);
        cx.count(format!("lost frames of {queue} in the storm"), lost, Limits::at_least(1.0));
        let what = format!("frames of {queue} from the storm that arrive");
        // A frame that arrives was held by a queue that was restored in the storm.
        cx.count(what, sent - lost, Limits::exactly(0.0));
    }
    let pauses = observed.pauses(a).filter(|pause| span.contains(&pause.at));
    let pauses = pauses.filter(|p| cx.setup.lossless.iter().any(|priority| p.stops(priority)));
    let pauses = pauses.count() as u64;
    cx.count("pauses at A after the detection", pauses, Limits::exactly(0.0));
    for flow in &trial.flows {
        let (port, priority) = (flow.to, flow.priority);
        let what = format!("counted storms of priority {priority} at {}", cx.port(port).name);
        match &counters {
            Ok(counters) => {
                let storms = Counter::StormsDetected.of(port, priority);
                cx.judge_counter(what, counters, storms, Limits::exactly(1.0));
            }
            Err(why) => cx.skip(what, &why.to_string()),
        }
    }
    Ok(())
}
