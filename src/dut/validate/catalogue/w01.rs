//! V-W01: times of the PFC watchdog.

use super::watchdog;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use ground::time::Duration;

pub const TEST: Test = Test {
    id: "V-W01",
    aliases: &["pfcwd_timer_accuracy"],
    title: "the watchdog detects and restores in time",
    purpose: "A queue that is paused for too long is taken for stormed, and restored after the storm.",
    clause: "SONiC PFC watchdog; the times are the device's configuration",
    topology: Topology::T2,
    procedure: "A sends on one lossless priority to B, which pauses it for three detection times; 3 storms, \
                at level full 20. The device fills up and pauses A, until it drops what it holds: then A \
                may send again.",
    pass: "The median time until A sends again is the detection time, and that from the last pause to the \
           first frame at B the restoration time, up to a poll (`expected.watchdog`) and the \
           times to react more.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt pfcwd timer accuracy",
    level: Level::Quick,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let dog = watchdog::expected(cx)?;
    let [a, b] = cx.ports()?;
    let both = (cx.lossless()?, cx.lossy()?);
    let (mut detected, mut restored) = (Vec::new(), Vec::new());
    let mut u = Duration::ZERO;
    let storms = cx.by_level(3, 20);
    for _ in 0..storms {
        let storm = watchdog::storm(cx, (a, b), both, dog)?;
        u = u.max(storm.seen.uncertainty);
        detected.extend(storm.detected.map(|at| at.saturating_sub(storm.begin)));
        restored.extend(storm.restored.map(|at| at.saturating_sub(storm.last)));
    }
    let what = format!("of {storms} storms of priority {} detected", both.0);
    cx.judge(what, detected.len() as f64, Limits::exactly(f64::from(storms)), 0.0, "storms");
    let what = format!("of {storms} storms of priority {} restored", both.0);
    cx.judge(what, restored.len() as f64, Limits::exactly(f64::from(storms)), 0.0, "storms");
    let slack = watchdog::slack(cx, dog);
    for (name, mut times, wanted) in
        [("detection", detected, dog.detection), ("restoration", restored, dog.restoration)]
    {
        times.sort_unstable();
        let Some(median) = times.get(times.len() / 2) else { continue };
        let limits = Limits {
            at_least: Some(wanted.as_nanos_f64()),
            at_most: Some((wanted + slack).as_nanos_f64()),
        };
        cx.time(format!("median {name} time"), *median, limits, u);
    }
    Ok(())
}
