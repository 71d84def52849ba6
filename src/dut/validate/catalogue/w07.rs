//! V-W07: one detection of each queue until the end of the storm.

use super::{stop, watchdog};
use crate::bench::Trouble;
use crate::counters::Counter;
use crate::judge::Limits;
use crate::observation::Way;
use crate::setup::ExpectedWatchdog;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Rate, Trial};
use ground::time::Duration;

pub const TEST: Test = Test {
    id: "V-W07",
    aliases: &["pfcwd_all_port_storm"],
    title: "storms on all queues stay detected until they end",
    purpose: "A watchdog detects a storm on every lossless priority of every port, and does not restore a \
              queue while its storm goes on.",
    clause: "SONiC PFC watchdog",
    topology: Topology::T3,
    procedure: "Flows on each lossless priority from A to B and to C, each at 2 % of the line. B and C pause all \
                lossless priorities for 5 detection and restoration times (`expected.watchdog`), at level \
                full 2,000, with a frame in an eighth of the detection time: 20 minutes for SONiC's defaults, 200 ms \
                and 400 ms.",
    pass: "From the detection time on every frame that is sent in the storm is lost, and A is not paused: a \
           frame that arrives later was held by a queue that was restored in the storm. The device has \
           counted one storm of each queue. Where its counters are not read, that part is skipped.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt pfcwd_all_port_storm; sonic-buildimage issue 29203",
    level: Level::Full,
    run,
    line: line!(),
};

/// Share of the line of each flow.
const SHARE: f64 = 0.02;

/// Frames of a flow at rest.
const AT_REST: u64 = 64;

/// Returns the interval of the frames of a flow: so long that a long storm is recorded, and so short that
/// each queue has a frame all the time.
fn interval(cx: &Context<'_>, dog: ExpectedWatchdog) -> Duration {
    let line = cx.setup.line_time(stop::SIZE);
    let short = Duration::from_nanos_f64(line.as_nanos_f64() / SHARE);
    cx.by_level(short, short.max(dog.detection.div(8)))
}

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let dog = watchdog::expected(cx)?;
    let [a, b, c] = cx.ports()?;
    cx.lossless()?;
    let (times, interval) = (cx.setup.times, interval(cx, dog));
    let share = cx.setup.line_time(stop::SIZE).as_nanos_f64() / interval.as_nanos_f64();
    let start = times.baseline.max(cx.by_level(Duration::ZERO, interval.saturating_mul(AT_REST)));
    let length = (dog.detection + dog.restoration).saturating_mul(cx.by_level(5, 2000));
    let traffic = start + length;
    let mut trial = Trial::new("storms for all queues", traffic + times.drain);
    trial.storms = true;
    for to in [b, c] {
        for priority in cx.setup.lossless.iter() {
            let flow = Flow::new((a, to), priority, Limit::Time(traffic));
            trial.flow(flow.rate(Rate::Line(share)));
        }
        stop::add(cx, &mut trial, (to, cx.setup.lossless), (start, length));
    }
    let (seen, counters) = cx.observe_with(trial.clone())?;
    cx.at_rest(&seen, &trial, &(start.div(4)..start))?;
    let detected = start + dog.detection + watchdog::slack(cx, dog) + seen.uncertainty;
    let ends = [b, c].map(|port| seen.control_sent(port).map(|(record, _)| record.end).last());
    let Some(end) = ends.into_iter().flatten().min() else {
        return Err(Trouble::Error("the tester sent no pause".into()));
    };
    let span = detected..end.saturating_sub(seen.uncertainty);
    for (n, flow) in trial.flows.iter().enumerate() {
        let sent = seen.of(FlowId(n), Way::Sent).filter(|r| span.contains(&r.end)).count() as u64;
        let lost = seen.lost_in(FlowId(n), &span);
        let of = format!("priority {} at {}", flow.priority, cx.port(flow.to).name);
        cx.count(format!("lost frames of {of} in the storm"), lost, Limits::at_least(1.0));
        let what = format!("frames of {of} from the storm that arrive");
        cx.count(what, sent - lost, Limits::exactly(0.0));
    }
    let pauses = seen.pauses(a).filter(|pause| span.contains(&pause.at));
    let pauses = pauses.filter(|p| cx.setup.lossless.iter().any(|priority| p.stops(priority)));
    let pauses = pauses.count() as u64;
    cx.count("pauses at A after the detection", pauses, Limits::exactly(0.0));
    for flow in &trial.flows {
        let (port, priority) = (flow.to, flow.priority);
        let what = format!("counted storms of priority {priority} at {}", cx.port(port).name);
        match &counters {
            Ok(counters) => {
                let storms = ((port, Some(priority)), Counter::StormsDetected);
                cx.judge_counter(what, counters, storms, Limits::exactly(1.0));
            }
            Err(why) => cx.skip(what, &why.to_string()),
        }
    }
    Ok(())
}
