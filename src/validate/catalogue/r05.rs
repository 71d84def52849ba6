//! V-R05: one frame is honoured for its whole time, and ends by itself.

use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Observation, Record, Way};
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Trial};
use ground::time::Duration;
use ground::units::{Priority, Quanta};

pub const TEST: Test = Test {
    id: "V-R05",
    aliases: &["L04"],
    title: "one pause lasts for its time, and ends by itself",
    purpose: "A port stops for the time in the frame, counted in quanta of 512 bit times of its link, and \
              resumes without another frame.",
    clause: "802.3 31B.3.2, 802.1Q 36.1.3.2",
    topology: Topology::T2,
    procedure: "A flow on one lossless priority at line rate from A to B. B sends single pauses of 1 to \
                65535 quanta, each after the one before is over.",
    pass: "The line is silent for the time of the pause, within 5 %, or within 3 quanta and a frame if \
           that is more.",
    uncertainty: "Time stamps of the tester, and the frame that was being sent.",
    source: "sonic-mgmt L04",
    level: Level::Quick,
    run,
    line: line!(),
};

/// Length of the frames in bytes.
const SIZE: u32 = 1024;

/// Pause times.
const QUICK: &[u16] = &[1000, 16_384, 65_535];
const FULL: &[u16] = &[1, 10, 100, 1000, 16_384, 32_768, 65_535];

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    cx.lossless()?;
    let (values, times) = (cx.by_level(QUICK, FULL), cx.by_level(3, 100));
    for priority in cx.each_lossless() {
        for quanta in values {
            let pause = Quanta(*quanta).at(cx.setup.rate);
            let least = cx.setup.line_time(SIZE).saturating_mul(16) + cx.setup.stop_limit();
            let every = pause.saturating_mul(2) + least;
            let baseline = cx.setup.times.baseline;
            let traffic = baseline + every.saturating_mul(times + 1);
            let mut trial =
                Trial::new(format!("pauses of {quanta}"), traffic + cx.setup.times.drain);
            let flow = trial.flow(Flow::new((a, b), priority, Limit::Time(traffic)).size(SIZE));
            for n in 0..times {
                let at = baseline + every.saturating_mul(n);
                trial.pfc(b, cx.port(b).mac, &[(priority, Quanta(*quanta))], at);
            }
            let seen = cx.observe(&trial)?;
            cx.at_rest(&seen, &trial, &(baseline.div(4)..baseline))?;
            judge(cx, &seen, (flow, priority), Quanta(*quanta));
        }
    }
    Ok(())
}

fn judge(
    cx: &mut Context<'_>,
    seen: &Observation,
    (flow, priority): (FlowId, Priority),
    quanta: Quanta,
) {
    let [_, b] = cx.ports().expect("the test has checked it");
    let wanted = quanta.at(cx.setup.rate);
    let frames: Vec<&Record> = seen.of(flow, Way::Received).collect();
    let pauses: Vec<Duration> = seen.control_sent(b).map(|(record, _)| record.end).collect();
    let silences = pauses.iter().map(|at| silence(cx, &frames, *at, wanted));
    let silences: Vec<Duration> = silences.collect();
    let frame = cx.setup.line_time(SIZE);
    let least = Quanta(3).at(cx.setup.rate) + frame;
    let tolerance = (wanted.as_nanos_f64() * cx.setup.limits.pause).max(least.as_nanos_f64());
    let limits = Limits::around(wanted.as_nanos_f64(), tolerance);
    let u = seen.uncertainty.saturating_mul(2);
    for (name, value) in [("shortest", silences.iter().min()), ("longest", silences.iter().max())] {
        let what = format!("{name} silence of priority {priority} for {} quanta", quanta.0);
        cx.time(what, value.copied().unwrap_or_default(), limits, u);
    }
}

/// Returns the longest time without a frame that begins within the limit after a pause.
fn silence(cx: &Context<'_>, frames: &[&Record], at: Duration, wanted: Duration) -> Duration {
    let frame = cx.setup.line_time(SIZE);
    let from = at.saturating_sub(frame);
    let until = at + cx.setup.stop_limit() + frame + wanted.div(8);
    let start = frames.partition_point(|record| record.end < from);
    let pairs = frames[start.saturating_sub(1)..].windows(2);
    let near = pairs.take_while(|pair| pair[0].end <= until);
    let gaps = near.map(|pair| pair[1].begin.saturating_sub(pair[0].end));
    gaps.max().unwrap_or(Duration::MAX)
}
