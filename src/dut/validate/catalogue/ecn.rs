//! The ECN curve of a queue: how many frames are marked at which length of the queue, and when.
//!
//! A queue is filled beyond Kmax while its port is paused, and let out ([`held_queue`]).

use super::{congestion, fill, storm};
use crate::bench::TrialError;
use crate::judge::Limits;
use crate::observation::{Observation, Record, Way, What};
use crate::setup::ExpectedEcn;
use crate::test::{Context, Test};
use crate::trial::{Control, Flow, FlowId, Limit, Obeys, Port, Rate, Trial, pfc_frame};
use ground::time::Duration;
use ground::units::{Bytes, Priority, PrioritySet, Quanta};
use wire::ip::Ecn;

/// Length of the frames in bytes.
const SIZE: u32 = 1024;

/// Frames beyond Kmax.
pub(super) const BEYOND: u64 = 10;

/// Returns the ECN curve of the lossless classes.
pub(super) fn expected(cx: &Context<'_>) -> Result<ExpectedEcn, TrialError> {
    cx.setup.expected.ecn.ok_or_else(|| fill::missing("ecn"))
}

/// Runs a part of a test for a priority with the curve: at level quick the first one of the file, at level full each.
///
/// # Errors
/// As the part, or the file names no priority.
pub(super) fn each_marked(
    cx: &mut Context<'_>,
    part: impl Fn(&mut Context<'_>, Priority) -> Result<(), TrialError>,
) -> Result<(), TrialError> {
    let Some(marked) = expected(cx)?.priorities else {
        let first = cx.lossless()?;
        part(cx, first)?;
        // The file does not tell which of the others have the curve, so nothing is said about them.
        let others = cx.setup.lossless.iter().filter(|other| *other != first);
        for other in others.take(cx.by_level(0, usize::MAX)) {
            let why = "expected.ecn.priorities is missing; add it to the file";
            cx.skip(format!("marks of priority {other}"), why);
        }
        return Ok(());
    };
    let marked: Vec<Priority> = marked.iter().take(cx.by_level(1, usize::MAX)).collect();
    if marked.is_empty() {
        return Err(TrialError::Missing("expected.ecn.priorities: it is empty".to_owned()));
    }
    cx.for_each("priority", &marked, part)
}

/// Returns the number of frames of a length that fill a queue beyond Kmax.
pub(super) fn queue_frames(ecn: ExpectedEcn, size: u32) -> u64 {
    ecn.kmax.0.div_ceil(size.into()) + BEYOND
}

/// Returns a trial in which `frames` frames of some flows from `a` wait in a queue for `b`, and are
/// let out at the end: the flows, of one priority and length, send in turns. `a` ignores pauses.
///
/// # Errors
/// As [`too_long`].
pub(super) fn held_queue(
    cx: &Context<'_>,
    a: Port,
    b: Port,
    flows: impl IntoIterator<Item = Flow>,
    frames: u64,
) -> Result<Trial, TrialError> {
    let mut trial = Trial::new("a full queue", Duration::ZERO);
    // The device pauses A before the queue is full, and A has to go on.
    trial.obeys.push((a, Obeys::Nothing));
    trial.flows.extend(flows);
    let share = trial.flows.len().max(1);
    let each = frames.div_ceil(share as u64);
    let size = trial.flows.iter().map(|flow| flow.size).max().unwrap_or(0);
    let line = cx.setup.line_time(size);
    let time = line.saturating_mul(2 * each * share as u64 + 64);
    let window = congestion::window(cx);
    let start = window.div(8);
    let mut set = PrioritySet::EMPTY;
    for (n, flow) in trial.flows.iter_mut().enumerate() {
        flow.rate = Rate::Line(0.5 / share as f64);
        flow.limit = Limit::Frames(each as u32);
        // Two frames' times of half of the line lie between two flows.
        flow.start = start + line.saturating_mul(2 * n as u64);
        set.insert(flow.priority);
    }
    // A storm in software is safe from gaps if it is one pause.
    let length = (start.div(2) + time).max(cx.setup.storm_pause());
    too_long(cx, length)?;
    storm::add(cx, &mut trial, b, set, &(start.div(2)..start.div(2) + length));
    trial.length = length + window.saturating_mul(2);
    Ok(trial)
}

/// Checks that a queue can be paused for a time.
///
/// # Errors
/// The watchdog of the device takes it for stormed.
pub(super) fn too_long(cx: &Context<'_>, time: Duration) -> Result<(), TrialError> {
    if time <= cx.setup.storm_max() {
        return Ok(());
    }
    let what = "expected.watchdog.detection: it is too short for a queue to fill beyond Kmax; lower \
                `expected.ecn.kmax`, or turn the watchdog off";
    Err(TrialError::Missing(what.to_owned()))
}

/// Runs such a trial.
///
/// # Errors
/// The device does not hold the frames, so their marks say nothing.
pub(super) fn observe_queue(
    cx: &mut Context<'_>,
    trial: &Trial,
) -> Result<Observation, TrialError> {
    let observed = cx.observe(trial)?;
    if (0..trial.flows.len()).any(|n| observed.tally(FlowId(n)).lost() > 0) {
        let what =
            "the device does not hold a queue of Kmax; lower `expected.ecn.kmax` and its own";
        return Err(TrialError::Missing(what.to_owned()));
    }
    Ok(observed)
}

/// Returns true if a frame arrived with CE.
const fn is_marked(record: &Record) -> bool {
    matches!(record.what, What::Data { ecn: Ecn::Ce, .. })
}

/// Returns the frames of a flow that arrived with CE, by time.
pub(super) fn marked(observed: &Observation, flow: FlowId) -> impl Iterator<Item = &Record> {
    observed.of(flow, Way::Received).filter(|record| is_marked(record))
}

pub(super) const CURVE: Test = describe! {
    id: "V-E01",
    title: "frames are marked by the ECN curve",
    purpose: "A queue marks nothing below Kmin, everything above Kmax, and linearly between.",
    clause: "RFC 3168 5; the curve is the device's configuration",
    procedure: "B pauses one priority of `expected.ecn.priorities`, at level full each, A fills its queue beyond \
                Kmax with ECT(0) frames, and B lets them out; as often as 20 times, at level full 200 times. \
                A frame was marked by the queue at its enqueuing or at its dequeuing, which the device's \
                marks tell.",
    pass: "No frame is marked below Kmin, each above Kmax, and between them as many as the line says, within \
           3 standard deviations.",
    source: "sonic-mgmt ECN_ACCURACY",
    run: curve,
    aliases: &["ECN_ACCURACY"],
    uncertainty: "Binomial.",
};

fn curve(cx: &mut Context<'_>) -> Result<(), TrialError> {
    each_marked(cx, curve_of)
}

fn curve_of(cx: &mut Context<'_>, priority: Priority) -> Result<(), TrialError> {
    let ecn = expected(cx)?;
    let [a, b] = cx.ports()?;
    let frames = queue_frames(ecn, SIZE);
    let runs = cx.by_level(20, 200);
    // By the number of bytes in the queue, from the front: marked frames, and all.
    let mut marks = vec![(0_u64, 0_u64); frames as usize];
    for n in 0..runs {
        let flow = Flow::new((a, b), priority, Limit::Frames(1)).size(SIZE).ecn(Ecn::Ect0);
        let mut trial = held_queue(cx, a, b, [flow], frames)?;
        trial.round = n;
        let observed = observe_queue(cx, &trial)?;
        for record in observed.of(FlowId(0), Way::Received) {
            let What::Data { sequence, .. } = record.what else { continue };
            if let Some((marked, all)) = marks.get_mut(sequence as usize) {
                *marked += u64::from(is_marked(record));
                *all += 1;
            }
        }
    }
    judge_curve(cx, &marks);
    Ok(())
}

/// Judges the marks of the frames, by their place in the queue. At enqueuing frame `n` saw the `n`
/// before it, at dequeuing the rest behind it: the last frames are marked, or the first.
fn judge_curve(cx: &mut Context<'_>, marks: &[(u64, u64)]) {
    let Some(ecn) = cx.setup.expected.ecn else { return };
    let half = marks.len() / 2;
    let sum = |part: &[(u64, u64)]| part.iter().map(|(marked, _)| marked).sum::<u64>();
    let at_dequeue = sum(&marks[..half]) > sum(&marks[half..]);
    let queue = |n: usize| {
        let frames = if at_dequeue { marks.len() - 1 - n } else { n + 1 };
        frames as f64 * f64::from(SIZE)
    };
    let (kmin, kmax) = (ecn.kmin.0 as f64, ecn.kmax.0 as f64);
    let size = f64::from(SIZE);
    let (mut below, mut above, mut between, mut mean, mut variance) = (0, 0, 0, 0.0, 0.0);
    for (n, (marked, all)) in marks.iter().enumerate() {
        let at = queue(n);
        // A frame at either end of the curve may be counted with or without itself.
        if at <= kmin - size {
            below += marked;
        } else if at > kmax + size {
            above += all - marked;
        } else if at > kmin + size && at < kmax - size {
            let p = ecn.pmax * (at - kmin) / (kmax - kmin);
            between += marked;
            mean += p * *all as f64;
            variance += p * (1.0 - p) * *all as f64;
        }
    }
    let place = if at_dequeue { "dequeuing" } else { "enqueuing" };
    cx.count(format!("marks below Kmin (at {place})"), below, Limits::exactly(0.0));
    cx.count("unmarked frames above Kmax", above, Limits::exactly(0.0));
    let limits = Limits::around(mean, 3.0 * variance.sqrt() + mean * 0.02 + 1.0);
    cx.judge("marks between Kmin and Kmax", between as f64, limits, 0.0, "frames");
}

pub(super) const AT_DEQUEUE: Test = describe! {
    id: "V-E02",
    title: "frames are marked when they leave the queue",
    purpose: "A mark tells of the queue behind a frame when it leaves, so that the sender hears of the \
              congestion one queuing time sooner than by a mark of its arrival.",
    clause: "RFC 3168 5; the place is the device's configuration",
    procedure: "B pauses one priority of `expected.ecn.priorities`, at level full each, A fills its queue beyond \
                Kmax with ECT(0) frames, and B lets them out.",
    pass: "The first frames arrive with CE and the last ones without. The other way round is marking at \
           enqueuing, which is recorded as policy.",
    source: "sonic-mgmt dequeue_ecn, SAI",
    run: at_dequeue,
    aliases: &["dequeue_ecn"],
    uncertainty: "None: counts.",
};

/// Number of the first frames, and of the last, at most.
const ENDS: u64 = 5;

fn at_dequeue(cx: &mut Context<'_>) -> Result<(), TrialError> {
    each_marked(cx, at_dequeue_of)
}

fn at_dequeue_of(cx: &mut Context<'_>, priority: Priority) -> Result<(), TrialError> {
    let ecn = expected(cx)?;
    let [a, b] = cx.ports()?;
    let flow = Flow::new((a, b), priority, Limit::Frames(1)).size(SIZE).ecn(Ecn::Ect0);
    let frames = queue_frames(ecn, SIZE);
    let trial = held_queue(cx, a, b, [flow], frames)?;
    let observed = observe_queue(cx, &trial)?;
    // A frame with Kmin behind it, or before it, may be marked.
    let ends = (ecn.kmin.0 / u64::from(SIZE)).clamp(1, ENDS);
    let (mut first, mut last) = (0, 0);
    for record in observed.of(FlowId(0), Way::Received).filter(|record| is_marked(record)) {
        let What::Data { sequence, .. } = record.what else { continue };
        first += u64::from(sequence < ends);
        last += u64::from(sequence >= frames - ends);
    }
    // The other way round: the queue before a frame has marked it.
    if first == 0 && last == ends {
        cx.policy("marks at enqueuing", last as f64, "", "RFC 3168 5 names no place");
        return Ok(());
    }
    let exactly = |wanted: u64| Limits::exactly(wanted as f64);
    cx.count(format!("marks of the first {ends} frames"), first, exactly(ends));
    cx.count(format!("marks of the last {ends} frames"), last, exactly(0));
    Ok(())
}

pub(super) const GROWING_MARKS: Test = describe! {
    id: "V-E07",
    title: "marks grow with the pause, and stop after it",
    purpose: "A queue that a pause holds marks more frames the longer the pause is, and none when it is \
              empty again.",
    clause: "RFC 3168 5, 802.1Q 36.1.3.2",
    procedure: "An ECT(0) flow of frames of 1350 bytes on one priority of `expected.ecn.priorities`, at level \
                full on each, at half of the line from A to B. B sends 3 pauses of one time, each after the \
                queue of the one before is empty; for 500, 9714 and 65000 quanta. At level full 10 pauses \
                each for 15 times.",
    pass: "Where a pause is too short for Kmin (`expected.ecn`), no frame arrives with CE. Else no longer \
           pause leads to fewer marks, within 3 standard deviations, and the longest to some. No frame \
           arrives with CE after the settling time, and none is lost. Pauses that the watchdog would take for \
           storms are left out.",
    source: "sonic-mgmt quanta variance; SNAPPI 13",
    run: growing_marks,
    aliases: &["quanta_variance"],
    uncertainty: "The square root of the number of marks; time stamps of the tester.",
};

/// Length of the frames in bytes.
const GROWING_SIZE: u32 = 1350;

/// Share of the line.
const SHARE: f64 = 0.5;

/// Pause times at level quick, and the step of those at level full.
const QUICK_QUANTA: &[u16] = &[500, 9714, 65_000];
const QUANTA_STEP: usize = 4607;

fn growing_marks(cx: &mut Context<'_>) -> Result<(), TrialError> {
    each_marked(cx, growing_marks_of)
}

fn growing_marks_of(cx: &mut Context<'_>, priority: Priority) -> Result<(), TrialError> {
    let ecn = expected(cx)?;
    cx.ports::<2>()?;
    let full: Vec<u16> = (500..=65_000).step_by(QUANTA_STEP).collect();
    let values = cx.by_level(QUICK_QUANTA, &full[..]).to_vec();
    // The longest pause so far that is long enough for Kmin, and its marks.
    let mut before: Option<(u16, u64)> = None;
    let mut last = None;
    for quanta in values {
        let pause = Quanta(quanta).at(cx.setup.rate);
        if pause >= cx.setup.storm_max() {
            break;
        }
        let marks = marks_of(cx, priority, Quanta(quanta))?;
        // The frame in front and the one behind the pause, and the time to react.
        let more = cx.setup.line_time(GROWING_SIZE).saturating_mul(4) + cx.setup.stop_limit();
        let bytes = |time: Duration| time.as_secs_f64() * cx.setup.share(SHARE, GROWING_SIZE) / 8.0;
        if bytes(pause + more) < ecn.kmin.0 as f64 {
            let what = format!("marks by pauses of {quanta} quanta, too short for Kmin");
            cx.count(what, marks, Limits::exactly(0.0));
        } else if let Some((shorter, fewer)) = before {
            // The variance of a difference of two counts is the sum of both, here twice the smaller one.
            let least = fewer as f64 - 3.0 * (2.0 * fewer as f64).sqrt();
            let what = format!("marks by pauses of {quanta} quanta, not fewer than of {shorter}");
            cx.count(what, marks, Limits::at_least(least.max(0.0)));
        }
        before = Some((quanta, marks));
        if bytes(pause) > ecn.kmax.0 as f64 {
            last = before;
        }
    }
    let Some((quanta, marks)) = last else {
        let what = "expected.watchdog.detection and expected.ecn.kmax: no pause is long enough for a queue \
                    of Kmax, and too short for the watchdog";
        return Err(TrialError::Missing(what.to_owned()));
    };
    cx.count(format!("marks by pauses of {quanta} quanta"), marks, Limits::at_least(1.0));
    Ok(())
}

/// Returns the number of marks by pauses of one time.
fn marks_of(cx: &mut Context<'_>, priority: Priority, quanta: Quanta) -> Result<u64, TrialError> {
    let [a, b] = cx.ports()?;
    let times = cx.setup.times;
    let pauses = cx.by_level(3, 10);
    let pause = quanta.at(cx.setup.rate);
    let frame = cx.setup.rate.time_for(Bytes(GROWING_SIZE.into()));
    // At half of the line a queue is empty again after the time in which it grew.
    let every = pause.saturating_mul(2) + frame.saturating_mul(64);
    let end = times.baseline + every.saturating_mul(pauses);
    let traffic = end + times.settle.saturating_mul(2);
    let mut trial = Trial::new(format!("pauses of {} quanta", quanta.0), traffic + times.drain);
    let flow = Flow::new((a, b), priority, Limit::Time(traffic)).size(GROWING_SIZE).ecn(Ecn::Ect0);
    let flow: FlowId = trial.flow(flow.rate(Rate::Line(SHARE)));
    let octets = pfc_frame(cx.port(b).mac, &[(priority, quanta)]);
    let (start, frames) = (times.baseline, pauses as u32);
    trial.control.push(Control { port: b, octets, start, every, frames });
    let observed = cx.observe(&trial)?;
    cx.at_rest(&observed, &trial, &(start.div(4)..start))?;
    let lost = observed.tally(flow).lost();
    cx.count(format!("lost frames of priority {priority}"), lost, Limits::exactly(0.0));
    let quiet: Duration = end + times.settle + observed.uncertainty;
    let late = marked(&observed, flow).filter(|record| record.begin > quiet).count() as u64;
    let what = format!("marks after the pauses of {} quanta", quanta.0);
    cx.count(what, late, Limits::exactly(0.0));
    Ok(marked(&observed, flow).count() as u64)
}
