//! V-W05: the PFC watchdog leaves other queues and ports alone.

use super::{stop, watchdog};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Rate, Trial};
use ground::units::PrioritySet;

pub const TEST: Test = Test {
    id: "V-W05",
    aliases: &["pfcwd_basic"],
    title: "the watchdog leaves other queues and ports alone",
    purpose: "A storm on a queue of a port changes nothing for another queue of that port, nor for the same \
              priority at another one.",
    clause: "SONiC PFC watchdog",
    topology: Topology::T3,
    procedure: "B pauses one lossless priority for three detection times (`expected.watchdog`). Flows at 5 % of \
                the line: the priority from A to B, another one from A to B, which is lossless too if there \
                are two, and the priority from B to C.",
    pass: "Frames of the stormed queue are lost; of the other flows none, and during the storm they keep \
           their rates within 2 %.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt pfcwd basic; sonic-buildimage issue 9432",
    level: Level::Full,
    run,
    line: line!(),
};

/// Share of the line of each flow.
const SHARE: f64 = 0.05;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let dog = watchdog::expected(cx)?;
    let [a, b, c] = cx.ports()?;
    let (priority, other) = (cx.lossless()?, watchdog::other(cx)?);
    let times = cx.setup.times;
    let start = times.baseline;
    let length = watchdog::judged(cx, dog, SHARE);
    let traffic = start + length + times.settle;
    let mut trial = Trial::new("storm for one queue", traffic + times.drain);
    for (ends, priority) in [((a, b), priority), ((a, b), other), ((b, c), priority)] {
        let flow = Flow::new(ends, priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(SHARE)));
    }
    stop::add(cx, &mut trial, (b, PrioritySet::of(priority)), (start, length));
    let seen = cx.observe(&trial)?;
    cx.at_rest(&seen, &trial, &(start.div(4)..start))?;
    let stormed = seen.tally(FlowId(0)).lost();
    cx.count("lost frames of the stormed queue", stormed, Limits::at_least(1.0));
    let storm = start..start + length;
    for (n, which) in [(1, "the other queue"), (2, "the other port")] {
        let lost = seen.tally(FlowId(n)).lost();
        cx.count(format!("lost frames of {which}"), lost, Limits::exactly(0.0));
        cx.rate(&seen, &trial, FlowId(n), &storm);
    }
    Ok(())
}
