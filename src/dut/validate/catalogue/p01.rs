//! V-P01: PAUSE stops all priorities, and no longer than its time.

use super::{congestion, r04, r05, r06, stop};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::Way;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, Limit, Trial};
use ground::time::Duration;
use ground::units::{PrioritySet, Quanta};

pub const TEST: Test = Test {
    id: "V-P01",
    aliases: &[],
    title: "PAUSE stops all, for its time, and zero resumes",
    purpose: "A port with 802.3x flow control stops all traffic within the limit for the time in a PAUSE \
              frame, and resumes by itself or by a time of zero.",
    clause: "802.3 31B.3.2, 31B.3.3, 31B.3.7",
    topology: Topology::T2,
    procedure: "Only with `flow_control: pause`. PAUSE without a gap at B against flows on all priorities; then \
                V-R04, V-R05 and V-R06 with PAUSE instead of PFC on one priority; then a PAUSE of the \
                longest time and one of zero right behind it.",
    pass: "No frame begins against the PAUSE, and none is lost. As V-R04, V-R05 and V-R06. The PAUSE that is taken \
           back stops the line for no more than the resume time (1 ms), nor half of its own.",
    uncertainty: "Time stamps of the tester, and the frame that was being sent.",
    source: "HLK TxFlowControl; UNH 802.3 clause 31 Annex 31B",
    level: Level::Quick,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    cx.stopped()?;
    let all = cx.priorities();
    let storm = stop::storm(cx, (a, b), all, stop::SIZE);
    let seen = cx.observe(&storm.trial)?;
    stop::judge(cx, &storm, &seen, (b, all))?;
    r04::run(cx)?;
    r05::run(cx)?;
    r06::run(cx)?;
    cancelled(cx)
}

/// Judges a pause of the longest time that is taken back at once. It may stop the line until the frame
/// of zero has its effect, which may be later than that of the pause.
fn cancelled(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let priority = cx.stopped()?;
    let times = cx.setup.times;
    let window = congestion::window(cx);
    let start = times.baseline;
    let traffic = start + window;
    let mut trial = Trial::new("PAUSE taken back at once", traffic + times.drain);
    let flow = trial.flow(Flow::new((a, b), priority, Limit::Time(traffic)));
    let set = PrioritySet::of(priority);
    trial.frame(b, cx.pause(b, set, Quanta::MAX), start);
    trial.frame(b, cx.pause(b, set, Quanta(0)), start + cx.setup.line_time(64).saturating_mul(2));
    let seen = cx.observe(&trial)?;
    cx.at_rest(&seen, &trial, &(start.div(4)..start))?;
    let frames: Vec<_> = seen.of(flow, Way::Received).filter(|r| r.end > start).collect();
    let gaps = frames.windows(2).map(|pair| pair[1].begin.saturating_sub(pair[0].end));
    let most = cx.setup.limits.resume.min(window.div(2));
    let limits = Limits::at_most(most.as_nanos_f64());
    let longest = gaps.max().unwrap_or(Duration::MAX);
    let u = seen.uncertainty.saturating_mul(2);
    cx.time("longest silence after a PAUSE that is taken back", longest, limits, u);
    let lost = seen.tally(flow).lost();
    cx.count("lost frames after a PAUSE that is taken back", lost, Limits::exactly(0.0));
    Ok(())
}
