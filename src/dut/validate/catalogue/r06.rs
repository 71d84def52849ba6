//! V-R06: time to react to a pause.

use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Record, Way};
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, Limit, Trial};
use ground::rand::Rng;
use ground::time::Duration;
use ground::units::{PrioritySet, Quanta};

pub const TEST: Test = Test {
    id: "V-R06",
    aliases: &[],
    title: "time to react to a pause",
    purpose: "A port has stopped a priority within the limit of its rate after the last bit of a pause.",
    clause: "802.3 31B.3.7",
    topology: Topology::T2,
    procedure: "A flow on one lossless priority at line rate from A to B. B sends single pauses at random \
                phases of the frames.",
    pass: "The last frame before the silence begins within the limit and the cable's delay.",
    uncertainty: "Time stamps of the tester.",
    source: "802.3 31B.3.7",
    level: Level::Quick,
    run,
    line: line!(),
};

/// Length of the frames in bytes.
const SIZE: u32 = 1024;

pub(super) fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    cx.stopped()?;
    let times = cx.by_level(20, 1000);
    for priority in cx.each_stopped() {
        let frame = cx.setup.line_time(SIZE);
        // A pause must be longer than the limit, so that the silence after it is seen.
        let quanta = Quanta(cx.setup.limits.reaction.0.saturating_mul(2).max(100));
        let pause = quanta.at(cx.setup.rate) + frame.saturating_mul(2);
        let every = pause.saturating_mul(3);
        let baseline = cx.setup.times.baseline;
        let traffic = baseline + every.saturating_mul(times + 1);
        let mut trial = Trial::new("pauses at random phases", traffic + cx.setup.times.drain);
        let flow = trial.flow(Flow::new((a, b), priority, Limit::Time(traffic)).size(SIZE));
        let mut rng = Rng::new(cx.setup.seed);
        for n in 0..times {
            let phase = Duration::from_picos(rng.next_u64() % frame.as_picos().max(1));
            let at = baseline + every.saturating_mul(n) + phase;
            trial.frame(b, cx.pause(b, PrioritySet::of(priority), quanta), at);
        }
        let seen = cx.observe(&trial)?;
        cx.at_rest(&seen, &trial, &(baseline.div(4)..baseline))?;
        let frames: Vec<&Record> = seen.of(flow, Way::Received).collect();
        let pauses: Vec<Duration> = seen.control_sent(b).map(|(record, _)| record.end).collect();
        let quiet = quanta.at(cx.setup.rate).div(2);
        // After a pause that does not end, later ones stop nothing.
        let last = frames.last().map_or(Duration::ZERO, |record| record.begin);
        let ended = pauses.partition_point(|at| *at + quiet < last);
        let obeyed = &pauses[..pauses.len().min(ended + 1)];
        if ended < pauses.len() {
            cx.cause(format!("pauses of priority {priority} without an end"), 1);
        }
        let mut reactions: Vec<Duration> =
            obeyed.iter().filter_map(|at| reaction(&frames, *at, (quiet, traffic))).collect();
        reactions.sort_unstable();
        let none = (obeyed.len() - reactions.len()) as u64;
        let what = format!("pauses of priority {priority} without a reaction");
        cx.count(what, none, Limits::exactly(0.0));
        let limits = Limits::at_most(cx.setup.stop_limit().as_nanos_f64());
        let at = |part: usize| reactions.get(reactions.len() * part / 100).copied();
        let values = [("median", at(50)), ("99 %", at(99)), ("longest", reactions.last().copied())];
        for (name, value) in values {
            let Some(value) = value else { continue };
            let what = format!("{name} reaction of priority {priority}");
            cx.time(what, value, limits, seen.uncertainty);
        }
    }
    Ok(())
}

/// Returns the time from a pause to the beginning of the last frame before the line was quiet; `None`
/// if it never was before the end of the traffic.
fn reaction(
    frames: &[&Record],
    at: Duration,
    (quiet, end): (Duration, Duration),
) -> Option<Duration> {
    let start = frames.partition_point(|record| record.begin < at);
    let mut last = at;
    for record in &frames[start..] {
        if record.begin.saturating_sub(last) >= quiet {
            return Some(last.saturating_sub(at));
        }
        last = record.begin;
    }
    (end.saturating_sub(last) >= quiet).then(|| last.saturating_sub(at))
}
