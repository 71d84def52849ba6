//! V-P03: a paused port still sends pauses.

use super::congestion;
use super::stop;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, Limit, Rate, Trial};
use ground::time::Duration;
use ground::units::PrioritySet;

pub const TEST: Test = Test {
    id: "V-P03",
    aliases: &[],
    title: "a paused port still sends pauses",
    purpose: "A pause stops data alone: a port that is paused sends PFC and PAUSE as if it were not, else two \
              ports that pause each other lose frames.",
    clause: "802.3 31B.3.3, 802.1Q 36.1.3.1",
    topology: Topology::T3,
    procedure: "Flows on one lossless priority, with `flow_control: pause` on any, from A and from B overload C, \
                at first with nothing else; then while A pauses that priority without a gap, with a flow from C \
                to A at 10 % of the line that waits there.",
    pass: "The first pause at A comes later with the storm than without it by one of the longest frames and \
           1 us at most.",
    uncertainty: "Time stamps of the tester, twice.",
    source: "inet-framework issue 69",
    level: Level::Full,
    run,
    line: line!(),
};

/// Share of the line of the flow that waits.
const SHARE: f64 = 0.1;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    let priority = cx.stopped()?;
    let hold = cx.setup.times.hold.min(cx.setup.storm_max());
    let plain = congestion::to_one(cx, (&[a, b], c), &[priority], 1.0);
    let mut paused: Trial = plain.clone();
    paused.name = "overload at a paused port".to_owned();
    paused.flow(Flow::new((c, a), priority, Limit::Time(hold)).rate(Rate::Line(SHARE)));
    let octets = cx.pause(a, PrioritySet::of(priority), stop::longest(cx));
    let pause = stop::longest(cx).at(cx.setup.rate);
    paused.repeat((a, pause), octets, pause.div(2), (Duration::ZERO, hold));
    let mut first = [Duration::ZERO; 2];
    let mut uncertainty = Duration::ZERO;
    for (trial, first) in [&plain, &paused].into_iter().zip(&mut first) {
        let seen = cx.observe(trial)?;
        congestion::arrives(cx, &seen, &plain)?;
        let Some(at) = cx.first_stop(&seen, a, priority) else {
            let what = format!("pauses of priority {priority} at {}", cx.port(a).name);
            cx.count(format!("{what} ({})", trial.name), 0, Limits::at_least(1.0));
            return Ok(());
        };
        *first = at;
        uncertainty += seen.uncertainty;
    }
    let [alone, stormed] = first;
    let most = cx.setup.line_time(cx.setup.max_frame) + Duration::from_micros(1);
    let later = stormed.as_nanos_f64() - alone.as_nanos_f64();
    let limits = Limits::at_most(most.as_nanos_f64());
    cx.judge("delay of the pause by a storm", later, limits, uncertainty.as_nanos_f64(), "ns");
    Ok(())
}
