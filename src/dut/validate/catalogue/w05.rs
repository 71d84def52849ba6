//! V-W05: the PFC watchdog leaves other queues and ports alone.

use super::{stop, watchdog};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::Way;
use crate::setup::ExpectedWatchdog;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Rate, Trial};
use ground::time::Duration;
use ground::units::PrioritySet;
use wire::pfc;

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
                are two, and the priority from B to C. Then B pauses two lossless priorities for three detection \
                times, one of them for half of the restoration time more.",
    pass: "Frames of the stormed queue are lost; of the other flows none, and during the storm they keep \
           their rates within {rate}. Of two stormed queues the second one is restored by its own last pause: no \
           frame of it arrives before the restoration time after that.",
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
    trial.storms = true;
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
    apart(cx, dog)
}

/// Judges that the restoration of a queue restores no other one.
fn apart(cx: &mut Context<'_>, dog: ExpectedWatchdog) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let what = "a queue that is restored after another one";
    let mut lossless = cx.setup.lossless.iter();
    let (Some(first), Some(second)) = (lossless.next(), lossless.next()) else {
        cx.skip(what, "lossless: two priorities are needed");
        return Ok(());
    };
    let start = cx.setup.times.baseline;
    let length = dog.detection.saturating_mul(3);
    let more = dog.restoration.div(2);
    let traffic = start + length + more + dog.restoration.saturating_mul(2);
    let mut trial = Trial::new("storms for two queues", traffic + cx.setup.times.drain);
    trial.storms = true;
    for (priority, length) in [(first, length), (second, length + more)] {
        let flow = Flow::new((a, b), priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(SHARE)));
        stop::add(cx, &mut trial, (b, PrioritySet::of(priority)), (start, length));
    }
    let seen = cx.observe(&trial)?;
    cx.at_rest(&seen, &trial, &(start.div(4)..start))?;
    let names = |octets: &[u8]| pfc::Repr::parse(octets).is_ok_and(|p| p.time(second).is_some());
    let last = seen.control_sent(b).filter(|(_, octets)| names(octets)).map(|(r, _)| r.end).last();
    let last = last.ok_or_else(|| Trouble::Error("the tester sent no pause".into()))?;
    // Frames that are sent before the detection are dropped with the queue.
    let restored = seen.of(FlowId(1), Way::Received).map(|r| r.end).find(|at| *at > last);
    let restored = restored.map_or(Duration::MAX, |at| at.saturating_sub(last));
    let limits = Limits::at_least(dog.restoration.as_nanos_f64());
    cx.time(format!("time until the first frame of {what}"), restored, limits, seen.uncertainty);
    Ok(())
}
