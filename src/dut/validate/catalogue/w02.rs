//! V-W02: the PFC watchdog lets short storms pass.

use super::{stop, watchdog};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::setup::ExpectedWatchdog;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Control, Flow, FlowId, Limit, Port, Rate, Trial, pfc_frame};
use ground::time::Duration;
use ground::units::{Priority, PrioritySet, Quanta};

pub const TEST: Test = Test {
    id: "V-W02",
    aliases: &["pfcwd_no_trigger", "L12"],
    title: "the watchdog lets short storms pass",
    purpose: "A queue that sends between its pauses, or is paused for less than the detection time, is not \
              taken for stormed, however often.",
    clause: "SONiC PFC watchdog; the times are the device's configuration",
    topology: Topology::T2,
    procedure: "Flows on one lossless priority and on another, each at 5 % of the line, from A to B. B pauses \
                the lossless one for half of the detection time (`expected.watchdog`); then for 90 % of \
                the time in short pauses for 5 detection times, at level full 60; then in 5 storms, at \
                level full 15, of half of the detection time with a quarter of it between.",
    pass: "No frame is lost.",
    uncertainty: "None: counts.",
    source: "sonic-mgmt pfcwd no-trigger and burst, L12",
    level: Level::Full,
    run,
    line: line!(),
};

/// Share of the line of each flow: less than what a queue sends that is paused for 90 % of the time.
const SHARE: f64 = 0.05;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let dog = watchdog::expected(cx)?;
    cx.ports::<2>()?;
    let half = dog.detection.div(2);
    observe(cx, ("one short storm", half), |cx, trial, priority, start| {
        storms(cx, trial, priority, (start, dog, 1));
    })?;
    let long = dog.detection.saturating_mul(cx.by_level(5, 60));
    observe(cx, ("pauses for 90 % of the time", long), |cx, trial, priority, start| {
        throttle(cx, trial, priority, (start, long, dog));
    })?;
    let bursts = cx.by_level(5, 15);
    let long = dog.detection.saturating_mul(bursts);
    observe(cx, ("short storms", long), |cx, trial, priority, start| {
        storms(cx, trial, priority, (start, dog, bursts));
    })
}

/// Runs a trial with a stimulus of a length, and judges that nothing is lost.
fn observe(
    cx: &mut Context<'_>,
    (name, length): (&str, Duration),
    stimulus: impl Fn(&Context<'_>, &mut Trial, Priority, Duration),
) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let both = [cx.lossless()?, watchdog::other(cx)?];
    let times = cx.setup.times;
    let start = times.baseline;
    let traffic = start + length + times.settle;
    let mut trial = Trial::new(name, traffic + times.drain);
    trial.storms = true;
    for priority in both {
        let flow = Flow::new((a, b), priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(SHARE)));
    }
    stimulus(cx, &mut trial, both[0], start);
    let seen = cx.observe(&trial)?;
    cx.at_rest(&seen, &trial, &(start.div(4)..start))?;
    for (n, priority) in both.into_iter().enumerate() {
        let what = format!("lost frames of priority {priority} ({name})");
        cx.count(what, seen.tally(FlowId(n)).lost(), Limits::exactly(0.0));
    }
    Ok(())
}

/// Adds storms of half of the detection time, with a quarter of it between.
fn storms(
    cx: &Context<'_>,
    trial: &mut Trial,
    priority: Priority,
    (start, dog, storms): (Duration, ExpectedWatchdog, u64),
) {
    let b = Port(1);
    let half = dog.detection.div(2);
    for n in 0..storms {
        let at = start + dog.detection.div(4).saturating_mul(3 * n);
        stop::add(cx, trial, (b, PrioritySet::of(priority)), (at, half));
    }
}

/// Adds pauses for 90 % of a time, each shorter than half of the detection time.
fn throttle(
    cx: &Context<'_>,
    trial: &mut Trial,
    priority: Priority,
    (start, length, dog): (Duration, Duration, ExpectedWatchdog),
) {
    let port = Port(1);
    let quantum = Quanta(1).at(cx.setup.rate).as_picos().max(1);
    let quanta = dog.detection.div(2).as_picos() / quantum;
    let quanta = Quanta(quanta.clamp(1, u64::from(u16::MAX)) as u16);
    let every = quanta.at(cx.setup.rate).saturating_mul(10).div(9);
    let frames = (length.as_picos() / every.as_picos().max(1)).max(1) as u32;
    let octets = pfc_frame(cx.port(port).mac, &[(priority, quanta)]);
    trial.control.push(Control { port, octets, start, every, frames });
}
