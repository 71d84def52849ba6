//! V-R05: one frame is honoured for its whole time, and ends by itself.

use super::{end, r16};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Observation, Record, Way};
use crate::setup::Times;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, LinkChange, Trial};
use ground::time::Duration;
use ground::units::{Priority, PrioritySet, Quanta};
use std::collections::HashMap;

pub const TEST: Test = Test {
    id: "V-R05",
    aliases: &["L04"],
    title: "one pause lasts for its time, and ends by itself",
    purpose: "A port stops for the time in the frame, counted in quanta of 512 bit times of its link, and \
              resumes without another frame.",
    clause: "802.3 31B.3.2, 802.1Q 36.1.3.2",
    topology: Topology::T2,
    procedure: "A flow on one lossless priority at line rate from A to B. B sends single pauses of 1 to \
                65535 quanta, each after the one before is over.",
    pass: "The line is silent for the time of the pause, within {pause}, or within 3 quanta and a frame if \
           that is more.",
    uncertainty: "Time stamps of the tester, and the frame that was being sent.",
    source: "sonic-mgmt L04",
    level: Level::Quick,
    run,
    line: line!(),
};

/// Length of the frames in bytes.
const SIZE: u32 = 1024;

/// Pause times.
const QUICK: &[u16] = &[1000, 16_384, 65_535];
const FULL: &[u16] = &[1, 10, 30, 100, 1000, 16_384, 32_768, 65_535];

pub(super) fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let (values, times) = (cx.by_level(QUICK, FULL), cx.by_level(3, 100));
    pauses(cx, values, times, Before::Nothing)
}

/// Event before the pauses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    Nothing,
    /// The link of B goes down and comes up.
    LinkFailure,
}

/// Judges single pauses of these values, a number of times each.
pub(super) fn pauses(
    cx: &mut Context<'_>,
    values: &[u16],
    times: u64,
    before: Before,
) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    cx.stopped()?;
    for priority in cx.each_stopped() {
        for quanta in values {
            let pause = Quanta(*quanta).at(cx.setup.rate);
            let least = cx.setup.line_time(SIZE).saturating_mul(16) + cx.setup.stop_limit();
            let every = pause.saturating_mul(2) + least;
            let Times { baseline, settle, drain, .. } = cx.setup.times;
            let start = match before {
                Before::Nothing => Duration::ZERO,
                Before::LinkFailure => settle.saturating_mul(4),
            };
            let traffic = baseline + every.saturating_mul(times + 1);
            let mut trial =
                Trial::new(format!("pauses of {quanta} quanta"), start + traffic + drain);
            if before == Before::LinkFailure {
                trial.links.push(LinkChange { port: b, at: settle, up: false });
                trial.links.push(LinkChange { port: b, at: settle.saturating_mul(2), up: true });
                trial.frame(b, r16::hello(cx.port(b).mac), settle.saturating_mul(3));
            }
            let flow = Flow::new((a, b), priority, Limit::Time(traffic)).size(SIZE).start(start);
            let flow = trial.flow(flow);
            let baseline = start + baseline;
            for n in 0..times {
                let at = baseline + every.saturating_mul(n);
                let set = PrioritySet::of(priority);
                trial.frame(b, cx.pause(b, set, Quanta(*quanta)), at);
            }
            let seen = cx.observe(&trial)?;
            let rest = start + cx.setup.times.baseline.div(4)..baseline;
            cx.at_rest(&seen, &trial, &rest)?;
            if cx.is_at_nic() {
                of_nic(cx, &seen, (flow, priority), Quanta(*quanta));
            } else {
                judge(cx, &seen, (flow, priority), Quanta(*quanta))?;
            }
        }
    }
    Ok(())
}

/// Judges single pauses of traffic that need not fill the line: from the last bit of each to the next frame.
fn of_nic(
    cx: &mut Context<'_>,
    seen: &Observation,
    (flow, priority): (FlowId, Priority),
    quanta: Quanta,
) {
    // A frame that was not due in the pause says nothing about its end.
    if quanta.at(cx.setup.rate) < cx.interval(seen, flow).saturating_mul(2) + cx.setup.stop_limit()
    {
        return;
    }
    let [_, b] = cx.ports().expect("the test has checked it");
    let begins = seen.begins(flow);
    let after = |(record, _): (&Record, _)| {
        let next = end::resumed(cx, &begins, record.end);
        next.map_or(Duration::MAX, |next| next.saturating_sub(record.end))
    };
    let times: Vec<Duration> = seen.control_sent(b).map(after).collect();
    let limits = end::limits(cx, quanta, SIZE);
    let u = seen.uncertainty.saturating_mul(2);
    for (name, value) in [("shortest", times.iter().min()), ("longest", times.iter().max())] {
        let what = format!("{name} silence of priority {priority} for {} quanta", quanta.0);
        cx.time(what, value.copied().unwrap_or_default(), limits, u);
    }
}

fn judge(
    cx: &mut Context<'_>,
    seen: &Observation,
    (flow, priority): (FlowId, Priority),
    quanta: Quanta,
) -> Result<(), Trouble> {
    let [_, b] = cx.ports()?;
    let wanted = quanta.at(cx.setup.rate);
    let sent: HashMap<u64, Duration> =
        seen.of(flow, Way::Sent).filter_map(|r| Some((r.what.sequence()?, r.end))).collect();
    let frames: Vec<&Record> = seen.of(flow, Way::Received).collect();
    let pauses: Vec<Duration> = seen.control_sent(b).map(|(record, _)| record.end).collect();
    // A DUT whose own pause of A left it without a frame is silent for longer: the frame after the
    // silence has not waited.
    let delay = |record: &Record| {
        let sent = record.what.sequence().and_then(|sequence| sent.get(&sequence));
        sent.map(|sent| record.begin.saturating_sub(*sent))
    };
    let least = frames.iter().filter_map(|record| delay(record)).min().unwrap_or_default();
    let starved = |gap: Duration, next: Option<&Record>| {
        let waited = next.and_then(delay).map(|delay| delay.saturating_sub(least));
        gap > wanted && waited.is_some_and(|waited| waited < wanted.div(2))
    };
    let gaps = pauses.iter().map(|at| silence(cx, &frames, *at, wanted));
    let fed = gaps.filter(|(gap, next)| !starved(*gap, *next));
    let silences: Vec<Duration> = fed.map(|(gap, _)| gap).collect();
    if silences.is_empty() {
        // A pause may be too short to be seen beside the gaps of a tester in software.
        let what = format!("pauses of {} quanta for whose end a frame waited", quanta.0);
        cx.judge(what, 0.0, Limits::at_least(1.0), 1.0, "");
        return Ok(());
    }
    let frame = cx.setup.line_time(SIZE);
    let least = Quanta(3).at(cx.setup.rate) + frame;
    let tolerance = (wanted.as_nanos_f64() * cx.setup.limits.pause).max(least.as_nanos_f64());
    let limits = Limits::around(wanted.as_nanos_f64(), tolerance);
    let u = seen.uncertainty.saturating_mul(2);
    for (name, value) in [("shortest", silences.iter().min()), ("longest", silences.iter().max())] {
        let what = format!("{name} silence of priority {priority} for {} quanta", quanta.0);
        cx.time(what, value.copied().unwrap_or_default(), limits, u);
    }
    Ok(())
}

/// Returns the longest time without a frame that begins within the limit after a pause, and the frame
/// that ends it.
fn silence<'a>(
    cx: &Context<'_>,
    frames: &[&'a Record],
    at: Duration,
    wanted: Duration,
) -> (Duration, Option<&'a Record>) {
    let frame = cx.setup.line_time(SIZE);
    let from = at.saturating_sub(frame);
    let until = at + cx.setup.stop_limit() + frame + wanted.div(8);
    let start = frames.partition_point(|record| record.end < from);
    let pairs = frames[start.saturating_sub(1)..].windows(2);
    let near = pairs.take_while(|pair| pair[0].end <= until);
    let gaps = near.map(|pair| (pair[1].begin.saturating_sub(pair[0].end), Some(pair[1])));
    gaps.max_by_key(|(gap, _)| *gap).unwrap_or((Duration::MAX, None))
}
