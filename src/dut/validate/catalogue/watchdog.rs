//! The PFC watchdog: its times, and storms that it must let pass.
//!
//! The tests need a device whose watchdog drops ([`expected`]).

use super::{fill, storm};
use crate::bench::{Capability, TrialError};
use crate::counters::Counter;
use crate::judge::Limits;
use crate::observation::{Observation, Way};
use crate::setup::{Action, ExpectedWatchdog};
use crate::test::{Context, Level, Test};
use crate::trial::{
    Control, DETECTION, Flow, FlowId, Limit, LinkChange, Port, Rate, Setting, Trial, pfc_frame,
};
use ground::statistics::percentile;
use ground::time::Duration;
use ground::units::{PRIORITIES, Priority, PrioritySet, Quanta};

/// Frames' times for which A is held back before it resumes.
const HELD: u64 = 64;

/// A storm that was recorded, and its times.
pub(super) struct Storm {
    pub(super) observed: Observation,
    /// First pause.
    pub(super) begin: Duration,
    /// Last pause.
    pub(super) last: Duration,
    /// End of the last pause.
    pub(super) end: Duration,
    /// Time at which the tester, which obeys, sends the stormed priority again during the storm: the
    /// device has detected it and takes frames to drop them. `None` if it never does.
    pub(super) detected: Option<Duration>,
    /// Arrival of the first frame of the priority after the storm.
    pub(super) restored: Option<Duration>,
}

/// Returns the watchdog of a device that drops.
pub(super) fn expected(cx: &Context<'_>) -> Result<ExpectedWatchdog, TrialError> {
    let dog = cx.setup.expected.watchdog.ok_or_else(|| fill::missing("watchdog"))?;
    if dog.action != Action::Drop {
        let what = "expected.watchdog.action: forward; the times are seen where frames are dropped";
        return Err(TrialError::Missing(what.to_owned()));
    }
    Ok(dog)
}

/// Share of the line of all flows beside that of a storm.
const SHARE_BESIDE: f64 = 0.05;

/// Sends a lossless priority from A at 90 % of the line, and others at 5 % in all, into a storm at B for the
/// lossless one, which lasts for three detection times. Flow 0 is that of the lossless one, and the others follow.
pub(super) fn observe_storm(
    cx: &mut Context<'_>,
    dog: ExpectedWatchdog,
    priority: Priority,
    others: &[Priority],
) -> Result<Storm, TrialError> {
    let [a, b] = cx.ports()?;
    let pause = cx.setup.storm_pause();
    let share = SHARE_BESIDE / others.len().max(1) as f64;
    let start = rest(cx, interval(cx, share));
    let length = dog.detection.saturating_mul(3) + pause;
    let traffic = start + length + pause + dog.restoration.saturating_mul(3) + dog.poll;
    let mut trial = Trial::new("storm for the watchdog", traffic + cx.setup.times.drain);
    trial.storms = true;
    // At 90 % the device soon fills up and pauses A. That A may send again shows the detection.
    let others = others.iter().map(|other| (*other, share));
    for (priority, share) in core::iter::once((priority, 0.9)).chain(others) {
        let flow = Flow::new((a, b), priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(share)));
    }
    let set = PrioritySet::of(priority);
    storm::add(cx, &mut trial, b, set, &(start..start + length));
    let observed = cx.observe(&trial)?;
    cx.at_rest(&observed, &trial, &(start.div(4)..start))?;
    let sent: Vec<_> = observed.control_sent(b).map(|(record, _)| record.end).collect();
    let (Some(begin), Some(last)) = (sent.first().copied(), sent.last().copied()) else {
        return Err(TrialError::Error("the tester sent no pause".into()));
    };
    let end = last + pause;
    let detected = resumed(&observed, begin..end, cx.setup.line_time(1024));
    // Where A was never paused, no end of its pause could be seen.
    if detected.is_none() {
        fills(cx, &observed, a, priority, begin + dog.detection)?;
    }
    let restored = observed.of(FlowId(0), Way::Received).map(|r| r.end).find(|at| *at > end);
    Ok(Storm { observed, begin, last, end, detected, restored })
}

/// Runs a part of a test for the lossless priorities of which one after the other has a storm.
///
/// # Errors
/// As the part, or there is no lossless priority.
pub(super) fn each_stormed(
    cx: &mut Context<'_>,
    part: impl Fn(&mut Context<'_>, Priority) -> Result<(), TrialError>,
) -> Result<(), TrialError> {
    cx.lossless()?;
    let stormed = cx.each_lossless();
    cx.for_each("storm of priority", &stormed, part)
}

/// Returns the queues that a storm of a priority must leave alone: at level quick the neighbour, else all others.
pub(super) fn spared(cx: &Context<'_>, stormed: Priority) -> Result<Vec<Priority>, TrialError> {
    Ok(cx.others(stormed, cx.neighbour(stormed)?))
}

/// Returns the interval of frames of a share of the line.
pub(super) fn interval(cx: &Context<'_>, share: f64) -> Duration {
    Duration::from_nanos_f64(cx.setup.line_time(storm::SIZE).as_nanos_f64() / share)
}

/// Frames of a flow at rest.
const AT_REST: u64 = 64;

/// Returns the time before a storm: at level full, where flows may be slow, one with frames enough of each.
pub(super) fn rest(cx: &Context<'_>, interval: Duration) -> Duration {
    cx.setup.times.baseline.max(cx.by_level(Duration::ZERO, interval.saturating_mul(AT_REST)))
}

/// Returns three detection times, or the time of 400 frames at a share of the line if that is longer,
/// so that its rate can be judged.
pub(super) fn judged_time(cx: &Context<'_>, dog: ExpectedWatchdog, share: f64) -> Duration {
    let frames = cx.setup.line_time(1024).as_nanos_f64() * 400.0 / share;
    dog.detection.saturating_mul(3).max(Duration::from_nanos_f64(frames))
}

/// Returns the time by which a detection or a restoration may be late: a poll, XON of the device,
/// the tester's reaction, and the frames between.
pub(super) fn slack(cx: &Context<'_>, dog: ExpectedWatchdog) -> Duration {
    let reaction = cx.setup.stop_limit().saturating_mul(2);
    dog.poll + reaction + cx.setup.line_time(1024).saturating_mul(4)
}

/// Checks that the device has paused `a` long enough before a time for the end of that to be seen.
///
/// # Errors
/// It has not.
fn fills(
    cx: &Context<'_>,
    observed: &Observation,
    a: Port,
    priority: Priority,
    until: Duration,
) -> Result<(), TrialError> {
    let held = cx.setup.line_time(1024).saturating_mul(2 * HELD);
    let first = cx.first_stop(observed, a, priority);
    if first.is_some_and(|at| at + held < until) {
        return Ok(());
    }
    let what = "expected.watchdog.detection: the device does not fill up and pause A in that time, so \
                its end is not seen";
    Err(TrialError::Missing(what.to_owned()))
}

/// Returns the time at which flow 0 is sent again in a span after it was held back.
fn resumed(
    observed: &Observation,
    span: core::ops::Range<Duration>,
    frame: Duration,
) -> Option<Duration> {
    let sent: Vec<_> =
        observed.of(FlowId(0), Way::Sent).filter(|r| span.contains(&r.begin)).collect();
    let held = frame.saturating_mul(HELD);
    // A was held back where two of its frames are far apart.
    let pairs = sent.windows(2).filter(|pair| pair[1].begin.saturating_sub(pair[0].end) > held);
    pairs.map(|pair| pair[1].begin).next()
}

pub(super) const IN_TIME: Test = describe! {
    id: "V-W01",
    title: "the watchdog detects and restores in time",
    purpose: "A queue that is paused for too long is taken for stormed, and restored after the storm.",
    clause: "SONiC PFC watchdog; the times are the device's configuration",
    procedure: "A sends on one lossless priority to B, which pauses it for three detection times; 3 storms, \
                at level full 20 for each lossless priority. The device fills up and pauses A, until it drops \
                what it holds: then A may send again.",
    pass: "The median time until A sends again is the detection time, and that from the last pause to the \
           first frame at B the restoration time, up to a poll (`expected.watchdog`) and the \
           times to react more.",
    source: "sonic-mgmt pfcwd timer accuracy",
    run: in_time,
    aliases: &["pfcwd_timer_accuracy"],
    level: Level::Quick,
};

fn in_time(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let dog = expected(cx)?;
    cx.ports::<2>()?;
    each_stormed(cx, |cx, priority| in_time_of(cx, dog, priority))
}

fn in_time_of(
    cx: &mut Context<'_>,
    dog: ExpectedWatchdog,
    priority: Priority,
) -> Result<(), TrialError> {
    let other = cx.lossy()?;
    let (mut detected, mut restored) = (Vec::new(), Vec::new());
    let mut u = Duration::ZERO;
    let storms = cx.by_level(3, 20);
    for _ in 0..storms {
        let storm = observe_storm(cx, dog, priority, &[other])?;
        u = u.max(storm.observed.uncertainty);
        detected.extend(storm.detected.map(|at| at.saturating_sub(storm.begin)));
        restored.extend(storm.restored.map(|at| at.saturating_sub(storm.last)));
    }
    let what = format!("of {storms} storms of priority {priority} detected");
    cx.judge(what, detected.len() as f64, Limits::exactly(f64::from(storms)), 0.0, "storms");
    let what = format!("of {storms} storms of priority {priority} restored");
    cx.judge(what, restored.len() as f64, Limits::exactly(f64::from(storms)), 0.0, "storms");
    let slack = slack(cx, dog);
    for (name, mut times, wanted) in
        [("detection", detected, dog.detection), ("restoration", restored, dog.restoration)]
    {
        times.sort_unstable();
        // Storms that were not detected are judged above.
        let Some(median) = percentile(&times, 50) else { continue };
        let limits = Limits {
            at_least: Some(wanted.as_nanos_f64()),
            at_most: Some((wanted + slack).as_nanos_f64()),
        };
        cx.time(format!("median {name} time"), median, limits, u);
    }
    Ok(())
}

pub(super) const SHORT_STORMS: Test = describe! {
    id: "V-W02",
    title: "the watchdog lets short storms pass",
    purpose: "A queue that sends between its pauses, or is paused for less than the detection time, is not \
              taken for stormed, however often.",
    clause: "SONiC PFC watchdog; the times are the device's configuration",
    procedure: "Flows on one lossless priority and on another, each at 5 % of the line, from A to B. B pauses \
                the lossless one for half of the detection time (`expected.watchdog`); then for 90 % of \
                the time in short pauses for 5 detection times, at level full 60; then in 5 storms, at \
                level full 15, of half of the detection time with a quarter of it between. At level full \
                each lossless priority is paused so, with flows on all others, which share the 5 %.",
    pass: "No frame is lost.",
    source: "sonic-mgmt pfcwd no-trigger and burst, L12",
    run: short_storms,
    aliases: &["pfcwd_no_trigger", "L12"],
    uncertainty: "None: counts.",
};

/// Share of the line of the flow, and of all others: less than what a queue sends that is paused for 90 % of the time.
const THROTTLED_SHARE: f64 = 0.05;

fn short_storms(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let dog = expected(cx)?;
    cx.ports::<2>()?;
    each_stormed(cx, |cx, priority| short_storms_of(cx, dog, priority))
}

fn short_storms_of(
    cx: &mut Context<'_>,
    dog: ExpectedWatchdog,
    priority: Priority,
) -> Result<(), TrialError> {
    let half = dog.detection.div(2);
    judge_harmless(cx, priority, "one short storm", half, |cx, trial, port| {
        add_storms(cx, trial, port, priority, dog, 1);
    })?;
    let long = dog.detection.saturating_mul(cx.by_level(5, 60));
    judge_harmless(cx, priority, "pauses for 90 % of the time", long, |cx, trial, port| {
        add_throttle(cx, trial, port, priority, long, dog);
    })?;
    let bursts = cx.by_level(5, 15);
    let long = dog.detection.saturating_mul(bursts);
    judge_harmless(cx, priority, "short storms", long, |cx, trial, port| {
        add_storms(cx, trial, port, priority, dog, bursts);
    })
}

/// Runs a trial with a stimulus of a length for a priority at the port of the receiver, and judges that nothing is
/// lost. The stimulus begins after the time of [`spared_rest`].
fn judge_harmless(
    cx: &mut Context<'_>,
    priority: Priority,
    name: &str,
    length: Duration,
    stimulus: impl Fn(&Context<'_>, &mut Trial, Port),
) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let others = spared(cx, priority)?;
    let times = cx.setup.times;
    let start = spared_rest(cx);
    let traffic = start + length + times.settle;
    let mut trial = Trial::new(name, traffic + times.drain);
    // Otherwise a trial that comes close to the detection time is refused.
    trial.storms = true;
    let share = THROTTLED_SHARE / others.len().max(1) as f64;
    let others = others.into_iter().map(|other| (other, share));
    for (priority, share) in core::iter::once((priority, THROTTLED_SHARE)).chain(others) {
        let flow = Flow::new((a, b), priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(share)));
    }
    stimulus(cx, &mut trial, b);
    let observed = cx.observe(&trial)?;
    cx.at_rest(&observed, &trial, &(start.div(4)..start))?;
    for (n, flow) in trial.flows.iter().enumerate() {
        let what = format!("lost frames of priority {} ({name})", flow.priority);
        cx.count(what, observed.tally(FlowId(n)).lost(), Limits::exactly(0.0));
    }
    Ok(())
}

/// Returns the time before pauses that are harmless, with frames of all priorities that there may be.
fn spared_rest(cx: &Context<'_>) -> Duration {
    rest(cx, interval(cx, THROTTLED_SHARE / PRIORITIES as f64))
}

/// Adds storms of half of the detection time, with a quarter of it between.
fn add_storms(
    cx: &Context<'_>,
    trial: &mut Trial,
    port: Port,
    priority: Priority,
    dog: ExpectedWatchdog,
    storms: u64,
) {
    let start = spared_rest(cx);
    let half = dog.detection.div(2);
    for n in 0..storms {
        let at = start + dog.detection.div(4).saturating_mul(3 * n);
        storm::add(cx, trial, port, PrioritySet::of(priority), &(at..at + half));
    }
}

/// Adds pauses for 90 % of a time, each shorter than half of the detection time.
fn add_throttle(
    cx: &Context<'_>,
    trial: &mut Trial,
    port: Port,
    priority: Priority,
    length: Duration,
    dog: ExpectedWatchdog,
) {
    let start = spared_rest(cx);
    let quantum = Quanta(1).at(cx.setup.rate).as_picos().max(1);
    let quanta = dog.detection.div(2).as_picos() / quantum;
    let quanta = Quanta(quanta.clamp(1, u64::from(u16::MAX)) as u16);
    // A pause and a ninth of it more: nine tenths of the time.
    let every = quanta.at(cx.setup.rate).saturating_mul(10).div(9);
    let frames = (length.as_picos() / every.as_picos().max(1)).max(1) as u32;
    let octets = pfc_frame(cx.port(port).mac, &[(priority, quanta)]);
    trial.control.push(Control { port, octets, start, every, frames });
}

pub(super) const EMPTY_QUEUE: Test = describe! {
    id: "V-W03",
    title: "a queue without frames is not stormed",
    purpose: "A peer that pauses a queue with nothing to send does no harm: it is not taken for a storm, and \
              frames that come later are held.",
    clause: "SONiC PFC watchdog; the rule is the device's",
    procedure: "B pauses one lossless priority, at level full each, without frames for 10 detection times \
                (`expected.watchdog`). Then A sends 10 frames, and B resumes after 0.4 detection times more.",
    pass: "All frames arrive, and the device has counted no storm of the queue. With \
           `expected.watchdog.idle` both are recorded as policy. Where the device's counters are not read, \
           that part is skipped.",
    source: "sonic-mgmt pfcwd no_traffic; sonic-swss issue 3036",
    run: empty_queue,
    aliases: &["pfcwd_no_traffic"],
    uncertainty: "None: counts.",
};

/// Frames before the storm, and late in it.
const FRAMES: u32 = 10;

fn empty_queue(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let dog = expected(cx)?;
    cx.ports::<2>()?;
    each_stormed(cx, |cx, priority| empty_queue_of(cx, dog, priority))
}

fn empty_queue_of(
    cx: &mut Context<'_>,
    dog: ExpectedWatchdog,
    priority: Priority,
) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let times = cx.setup.times;
    let start = times.baseline;
    let late = start + dog.detection.saturating_mul(10);
    // 10.4 detection times: the frames wait for 0.4 of one, so that they are no reason for a detection.
    let length = dog.detection.saturating_mul(52).div(5);
    let mut trial = Trial::new("storm for an empty queue", start + length + times.drain);
    trial.storms = true;
    let flow = Flow::new((a, b), priority, Limit::Frames(FRAMES)).rate(Rate::Line(0.1));
    let before = trial.flow(flow.clone().start(start.div(4)));
    let late = trial.flow(flow.start(late));
    storm::add(cx, &mut trial, b, PrioritySet::of(priority), &(start..start + length));
    let (observed, counters) = cx.observe_with(trial)?;
    // The frames before the storm show that the cables are right.
    if observed.of(before, Way::Received).count() == 0 {
        return Err(TrialError::Error(
            "no frame arrives before the storm; check the cables".into(),
        ));
    }
    let lost = observed.tally(late).lost();
    let what = format!("lost frames of priority {priority} after a storm for an empty queue");
    let storms = counters
        .as_ref()
        .map_err(Clone::clone)
        .and_then(|counters| cx.counter(counters, Counter::StormsDetected.of(b, priority)));
    let counted = format!("counted storms of priority {priority} for an empty queue");
    let none = Limits::exactly(0.0);
    if dog.idle {
        let clause = "expected.watchdog.idle: it takes empty queues for stormed";
        cx.policy(what, lost as f64, "", clause);
        if let Ok(storms) = storms {
            cx.policy(counted, storms as f64, "storms", clause);
        }
        return Ok(());
    }
    cx.count(what, lost, none);
    match storms {
        Ok(storms) => cx.judge(counted, storms as f64, none, 0.0, "storms"),
        Err(why) => cx.skip(counted, &why.to_string()),
    }
    Ok(())
}

pub(super) const NO_STORM: Test = describe! {
    id: "V-W08",
    title: "neither XON nor a link failure is a storm",
    purpose: "A watchdog does not count frames that resume, and forgets the pause of a link that failed.",
    clause: "SONiC PFC watchdog; 802.1Q 36.1.2",
    procedure: "A flow on one lossless priority at 20 % of the line from A to B. B sends 100 PFC frames with a \
                time of zero, at level full 1000, for three detection times (`expected.watchdog`). Then B \
                pauses the priority, and its link goes down after half of a detection time, and comes back \
                a detection time later without a storm. At last the detection time of the device's port is \
                doubled while it runs, and B pauses the priority for 1.5 and for 4 of the old ones. At level \
                full the same for each lossless priority.",
    pass: "The XON frames cost no frame, and the flow keeps its rate within {rate}. From the settling time after \
           the link is back no frame is lost for two detection times. With the doubled time the shorter \
           storm costs no frame, and the longer one does. Where the tester cannot take its link down, or has \
           no access to the device's settings, that part is skipped.",
    source: "sonic-mgmt issue 21223; sonic-swss issues 1586, 4581, 842",
    run: no_storm,
    aliases: &["pfcwd_xon", "pfcwd_port_flap"],
};

/// Share of the line.
const FLOW_SHARE: f64 = 0.2;

fn no_storm(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let dog = expected(cx)?;
    cx.ports::<2>()?;
    each_stormed(cx, |cx, priority| {
        judge_xon(cx, dog, priority)?;
        skip_missing(cx, "link failure in a storm", |cx| judge_link_failure(cx, dog, priority))?;
        skip_missing(cx, "another detection time", |cx| judge_doubled(cx, dog, priority))
    })
}

/// Runs a part of the test, which is skipped if something is missing.
fn skip_missing(
    cx: &mut Context<'_>,
    name: &str,
    part: impl Fn(&mut Context<'_>) -> Result<(), TrialError>,
) -> Result<(), TrialError> {
    match part(cx) {
        Err(TrialError::Missing(why)) => {
            cx.skip(name, &why);
            Ok(())
        }
        other => other,
    }
}

/// Judges storms with twice the detection time.
fn judge_doubled(
    cx: &mut Context<'_>,
    dog: ExpectedWatchdog,
    priority: Priority,
) -> Result<(), TrialError> {
    if !cx.has(Capability::Settings) {
        let what = "adapter is missing, or changes no settings; add it to the file";
        return Err(TrialError::Missing(what.to_owned()));
    }
    let [a, b] = cx.ports()?;
    let times = cx.setup.times;
    let start = times.baseline;
    let half = dog.detection.div(2);
    // 1.5 and 4 of the old detection times are below and above the doubled one.
    let (short, long) = (half.saturating_mul(3), half.saturating_mul(8) + dog.poll);
    for (which, length) in [("shorter", short), ("longer", long)] {
        let traffic = start + length;
        let name = format!("{which} storm with twice the detection time");
        let drain = times.drain + dog.restoration.saturating_mul(2);
        let mut trial = Trial::new(&name, traffic + drain);
        trial.storms = true;
        let flow = Flow::new((a, b), priority, Limit::Time(traffic)).rate(Rate::Line(FLOW_SHARE));
        let flow = trial.flow(flow);
        storm::add(cx, &mut trial, b, PrioritySet::of(priority), &(start..start + length));
        trial.settings.push(Setting {
            port: b,
            name: DETECTION,
            value: dog.detection.saturating_mul(2).to_string(),
            restored: dog.detection.to_string(),
        });
        let observed = cx.observe(&trial)?;
        cx.at_rest(&observed, &trial, &(start.div(4)..start))?;
        let lost = observed.tally(flow).lost();
        let limits = if length == short { Limits::exactly(0.0) } else { Limits::at_least(1.0) };
        cx.count(format!("lost frames of priority {priority} ({name})"), lost, limits);
    }
    Ok(())
}

/// Judges XON frames alone.
fn judge_xon(
    cx: &mut Context<'_>,
    dog: ExpectedWatchdog,
    priority: Priority,
) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let times = cx.setup.times;
    let frames = cx.by_level(100, 1000);
    let length = judged_time(cx, dog, FLOW_SHARE);
    let start = times.baseline;
    let traffic = start + length + times.settle;
    let mut trial = Trial::new("XON alone", traffic + times.drain);
    trial.storms = true;
    let flow = Flow::new((a, b), priority, Limit::Time(traffic)).rate(Rate::Line(FLOW_SHARE));
    let flow = trial.flow(flow);
    let octets = pfc_frame(cx.port(b).mac, &[(priority, Quanta(0))]);
    // Evenly over three detection times: a watchdog that counts XON as a pause sees one all the time.
    let every = length.div(u64::from(frames));
    trial.control.push(Control { port: b, octets, start, every, frames });
    let observed = cx.observe(&trial)?;
    cx.at_rest(&observed, &trial, &(start.div(4)..start))?;
    cx.rate(&observed, &trial, flow, &(start..start + length));
    let lost = observed.tally(flow).lost();
    let what = format!("lost frames of priority {priority} with {frames} XON");
    cx.count(what, lost, Limits::exactly(0.0));
    Ok(())
}

/// Judges a link failure in a storm.
fn judge_link_failure(
    cx: &mut Context<'_>,
    dog: ExpectedWatchdog,
    priority: Priority,
) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let times = cx.setup.times;
    let start = times.baseline;
    let half = dog.detection.div(2);
    let (down, up) = (start + half, start + half + dog.detection);
    let judged = up + times.settle;
    let traffic = judged + dog.detection.saturating_mul(2);
    let mut trial = Trial::new("link failure in a storm", traffic + times.drain);
    trial.storms = true;
    let flow = Flow::new((a, b), priority, Limit::Time(traffic)).rate(Rate::Line(FLOW_SHARE));
    let flow: FlowId = trial.flow(flow);
    storm::add(cx, &mut trial, b, PrioritySet::of(priority), &(start..start + half));
    trial.links.push(LinkChange { port: b, at: down, up: false });
    trial.links.push(LinkChange { port: b, at: up, up: true });
    trial.frame(b, storm::hello(cx.port(b).mac), up + times.settle.div(2));
    // A device may flood while it does not know the address of B.
    let observed = cx.observe(&trial)?.only(&[a, b]);
    cx.at_rest(&observed, &trial, &(start.div(4)..start))?;
    let lost = observed.lost_in(flow, &(judged + observed.uncertainty..traffic));
    let what = format!("lost frames of priority {priority} after a link failure");
    cx.count(what, lost, Limits::exactly(0.0));
    Ok(())
}
