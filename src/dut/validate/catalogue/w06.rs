//! V-W06: after a storm all is as before.

use super::{stop, watchdog};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Control, Flow, FlowId, Limit, Rate, Trial};
use ground::units::{PrioritySet, Quanta};

pub const TEST: Test = Test {
    id: "V-W06",
    aliases: &["pfcwd_traffic_after_restore"],
    title: "a restored queue loses nothing, storm after storm",
    purpose: "After the restoration a queue is lossless again, and the next storm is detected as the first \
              one was.",
    clause: "SONiC PFC watchdog; the times are the device's configuration",
    topology: Topology::T2,
    procedure: "Flows on one lossless priority and on another at 5 % of the line from A to B. B pauses the \
                lossless one three times for two detection times, and waits for the restoration time \
                (`expected.watchdog`), in which it sends XON, and a detection time after each.",
    pass: "Frames of the stormed priority are lost in each storm, none that is sent from the restoration \
           on, and of the other priority none at all.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt pfcwd; sonic-buildimage issue 5898",
    level: Level::Full,
    run,
    line: line!(),
};

/// Share of the line of each flow.
const SHARE: f64 = 0.05;

/// XON frames after each storm, in the restoration time: none is a pause, so none delays its end.
const XON: u32 = 3;

/// Storms in a row.
const STORMS: u64 = 3;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let dog = watchdog::expected(cx)?;
    let [a, b] = cx.ports()?;
    let (priority, other) = (cx.lossless()?, watchdog::other(cx)?);
    let times = cx.setup.times;
    let length = dog.detection.saturating_mul(2);
    let restored = length + dog.restoration + watchdog::slack(cx, dog);
    let cycle = restored + dog.detection;
    let begin = |n: u64| times.baseline + cycle.saturating_mul(n);
    let traffic = begin(STORMS);
    let mut trial = Trial::new("storms in a row", traffic + times.drain);
    trial.storms = true;
    for priority in [priority, other] {
        let flow = Flow::new((a, b), priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(SHARE)));
    }
    for n in 0..STORMS {
        let set = PrioritySet::of(priority);
        stop::add(cx, &mut trial, (b, set), (begin(n), length));
        let every = dog.restoration.div(4);
        let octets = cx.pause(b, set, Quanta(0));
        let start = begin(n) + length + every;
        trial.control.push(Control { port: b, octets, start, every, frames: XON });
    }
    let seen = cx.observe(&trial)?;
    let start = times.baseline;
    cx.at_rest(&seen, &trial, &(start.div(4)..start))?;
    let u = seen.uncertainty;
    for n in 0..STORMS {
        let storm = begin(n)..begin(n) + length;
        let lost = seen.lost_in(FlowId(0), &storm);
        let number = n + 1;
        let what = format!("lost frames of priority {priority} in storm {number}");
        cx.count(what, lost, Limits::at_least(1.0));
        let after = begin(n) + restored + u..begin(n + 1).saturating_sub(u);
        let late = seen.lost_in(FlowId(0), &after);
        let what = format!("lost frames of priority {priority} after storm {number}");
        cx.count(what, late, Limits::exactly(0.0));
    }
    let lost = seen.tally(FlowId(1)).lost();
    cx.count(format!("lost frames of priority {other}"), lost, Limits::exactly(0.0));
    Ok(())
}
