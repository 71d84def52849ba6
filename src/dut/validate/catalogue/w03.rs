//! V-W03: a queue without frames is not stormed.

use super::{stop, watchdog};
use crate::bench::Trouble;
use crate::counters::Counter;
use crate::judge::Limits;
use crate::observation::Way;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, Limit, Rate, Trial};
use ground::units::PrioritySet;

pub const TEST: Test = Test {
    id: "V-W03",
    aliases: &["pfcwd_no_traffic"],
    title: "a queue without frames is not stormed",
    purpose: "A peer that pauses a queue with nothing to send does no harm: it is not taken for a storm, and \
              frames that come later are held.",
    clause: "SONiC PFC watchdog; the rule is the device's",
    topology: Topology::T2,
    procedure: "B pauses one lossless priority without frames for 10 detection times (`expected.watchdog`). \
                Then A sends 10 frames, and B resumes after 0.4 detection times more.",
    pass: "All frames arrive, and the device has counted no storm of the queue. With \
           `expected.watchdog.idle` both are recorded as policy. Where the device's counters are not read, \
           that part is skipped.",
    uncertainty: "None: counts.",
    source: "sonic-mgmt pfcwd no_traffic; sonic-swss issue 3036",
    level: Level::Full,
    run,
    line: line!(),
};

/// Frames before the storm, and late in it.
const FRAMES: u32 = 10;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let dog = watchdog::expected(cx)?;
    let [a, b] = cx.ports()?;
    let priority = cx.lossless()?;
    let times = cx.setup.times;
    let start = times.baseline;
    let late = start + dog.detection.saturating_mul(10);
    let length = dog.detection.saturating_mul(52).div(5);
    let mut trial = Trial::new("storm for an empty queue", start + length + times.drain);
    trial.storms = true;
    let flow = Flow::new((a, b), priority, Limit::Frames(FRAMES)).rate(Rate::Line(0.1));
    let before = trial.flow(flow.clone().start(start.div(4)));
    let late = trial.flow(flow.start(late));
    stop::add(cx, &mut trial, (b, PrioritySet::of(priority)), (start, length));
    let (seen, counters) = cx.observe_with(trial)?;
    if seen.of(before, Way::Received).count() == 0 {
        return Err(Trouble::Error("no frame arrives before the storm; check the cables".into()));
    }
    let lost = seen.tally(late).lost();
    let what = format!("lost frames of priority {priority} after a storm for an empty queue");
    let storms = counters
        .as_ref()
        .map_err(Clone::clone)
        .and_then(|counters| cx.counter(counters, (b, Some(priority)), Counter::StormsDetected));
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
