//! V-W04: the watchdog drops the stormed queue alone.

use super::watchdog;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::Way;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::FlowId;

pub const TEST: Test = Test {
    id: "V-W04",
    aliases: &["pfcwd_actions"],
    title: "the watchdog drops the stormed queue alone",
    purpose: "After the detection the stormed queue is dropped, so that the storm does not spread: other \
              queues go on, and no peer is paused for it.",
    clause: "SONiC PFC watchdog; the action is the device's configuration",
    topology: Topology::T2,
    procedure: "As V-W01, with a flow on another priority.",
    pass: "From the detection to the end of the storm no frame of the priority arrives, A receives no pause \
           for it, and after the restoration it flows again. No frame of the other priority is lost.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt pfcwd actions; sonic-buildimage issues 26248, 8483, 9430",
    level: Level::Quick,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let dog = watchdog::expected(cx)?;
    let [a, b] = cx.ports()?;
    let (priority, other) = (cx.lossless()?, cx.lossy()?);
    let storm = watchdog::storm(cx, (a, b), (priority, other), dog)?;
    let seen = &storm.seen;
    let lost = seen.tally(FlowId(1)).lost();
    let after = seen.of(FlowId(0), Way::Received).filter(|r| r.begin > storm.end).count() as u64;
    let Some(detected) = storm.detected else {
        let what = format!("storms of priority {priority} that the watchdog detected");
        cx.judge(what, 0.0, Limits::at_least(1.0), 0.0, "storms");
        return Ok(());
    };
    let from = detected + cx.setup.stop_limit() + seen.uncertainty;
    let span = from..storm.end.saturating_sub(seen.uncertainty);
    let arrived = seen.began_in(FlowId(0), &span);
    let pauses =
        seen.pauses(a).filter(|p| span.contains(&p.at) && p.stops(priority)).count() as u64;
    let none = Limits::exactly(0.0);
    cx.count(format!("frames of stormed priority {priority} that arrive"), arrived, none);
    cx.count(format!("pauses of priority {priority} after the detection"), pauses, none);
    cx.count(format!("lost frames of priority {other}"), lost, none);
    let what = format!("frames of priority {priority} after the storm");
    cx.count(what, after, Limits::at_least(1.0));
    Ok(())
}
