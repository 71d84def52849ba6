//! V-R09: zero times that change nothing.

use core::ops::Range;

use super::stop;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, Limit, Trial, pfc_frame};
use ground::rand::Rng;
use ground::time::Duration;
use ground::units::{Priority, Quanta};

pub const TEST: Test = Test {
    id: "V-R09",
    aliases: &[],
    title: "zero times that change nothing",
    purpose: "A time of zero for a priority that is not paused has no effect, and neither has \
              one for a priority whose bit in the vector is not set.",
    clause: "802.3 31D.3, 802.1Q 36.1.3.2",
    topology: Topology::T2,
    procedure: "A flow on one lossless priority at line rate from A to B. B resumes it, and all \
                priorities, while it flows; then pauses it, and sends zero times without its \
                bit: with an empty vector, and with the bits of all others.",
    pass: "While it flows no distance of two frames grows by more than a frame. While it is \
           paused no frame begins. No frame is lost.",
    uncertainty: "Time stamps of the tester.",
    source: "HLK TimeVectorZeroQuanta",
    level: Level::Full,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    cx.lossless()?;
    for priority in cx.each_lossless() {
        flowing(cx, priority)?;
        paused(cx, priority)?;
    }
    Ok(())
}

/// Judges zero times for a priority that flows.
fn flowing(cx: &mut Context<'_>, priority: Priority) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let (baseline, times) = (cx.setup.times.baseline, cx.by_level(20, 200));
    let frame = cx.setup.line_time(stop::SIZE);
    let every = frame.saturating_mul(20);
    let traffic = baseline + every.saturating_mul(times + 1);
    let mut trial = Trial::new("zero times while it flows", traffic + cx.setup.times.drain);
    let flow = trial.flow(Flow::new((a, b), priority, Limit::Time(traffic)));
    let mut rng = Rng::new(cx.setup.seed);
    let one = [(priority, Quanta(0))];
    let all = Priority::ALL.map(|p| (p, Quanta(0)));
    for n in 0..times {
        let named: &[_] = if n % 2 == 0 { &one } else { &all };
        let phase = Duration::from_picos(rng.next_u64() % frame.as_picos().max(1));
        let at = baseline + every.saturating_mul(n) + phase;
        trial.pfc(b, cx.port(b).mac, named, at);
    }
    let seen = cx.observe(&trial)?;
    let rest = baseline.div(4)..baseline;
    cx.at_rest(&seen, &trial, &rest)?;
    let begins = seen.begins(flow);
    let before = largest_step(&begins, &rest);
    let largest = largest_step(&begins, &(baseline..traffic));
    let what = format!("largest distance of frames of priority {priority} beside zero times");
    let limits = Limits::at_most((before + frame).as_nanos_f64());
    cx.time(what, largest, limits, seen.uncertainty.saturating_mul(2));
    cx.none_lost(&seen, (flow, priority));
    Ok(())
}

/// Returns the largest distance of two frames that begin one after the other in a span, and of the
/// last one from its end.
fn largest_step(begins: &[Duration], span: &Range<Duration>) -> Duration {
    let inside: Vec<Duration> = begins.iter().copied().filter(|b| span.contains(b)).collect();
    let steps = inside.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let last = inside.last().map_or(span.start, |last| *last);
    steps.chain([span.end.saturating_sub(last)]).max().unwrap_or_default()
}

/// Judges zero times without the bit of a priority that is paused.
fn paused(cx: &mut Context<'_>, priority: Priority) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let baseline = cx.setup.times.baseline;
    let window = Quanta::MAX.at(cx.setup.rate);
    let traffic = baseline + window + cx.setup.times.settle;
    let mut trial = Trial::new("zero times while it is paused", traffic + cx.setup.times.drain);
    let flow = trial.flow(Flow::new((a, b), priority, Limit::Time(traffic)));
    let mac = cx.port(b).mac;
    trial.pfc(b, mac, &[(priority, Quanta::MAX)], baseline);
    let others: Vec<_> = Priority::ALL.into_iter().filter(|p| *p != priority).collect();
    let others: Vec<_> = others.into_iter().map(|p| (p, Quanta(0))).collect();
    trial.frame(b, pfc_frame(mac, &[]), baseline + window.div(4));
    trial.frame(b, pfc_frame(mac, &others), baseline + window.div(2));
    let seen = cx.observe(&trial)?;
    cx.at_rest(&seen, &trial, &(baseline.div(4)..baseline))?;
    let Some((first, _)) = seen.control_sent(b).next() else {
        return Err(Trouble::Error("the tester sent no pause".into()));
    };
    // 802.3 allows 100 ppm for each clock.
    let until = first.end + window.saturating_sub(window.div(5_000));
    let held = first.end + cx.setup.stop_limit()..until;
    stop::none_began(cx, &seen, (flow, priority), &held);
    cx.none_lost(&seen, (flow, priority));
    Ok(())
}
