//! V-I03: a flood of lossy frames takes nothing from lossless ones.

use super::congestion;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Observation, Way};
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Rate, Trial};
use ground::time::Duration;
use ground::units::Priority;

pub const TEST: Test = Test {
    id: "V-I03",
    aliases: &["m2o_lossy"],
    title: "lossy frames flood, lossless ones are not lost",
    purpose: "Lossy traffic that fills the buffer drops frames of its own, and none of a lossless priority.",
    clause: "802.1Q 36.1.1, 8.6.7",
    topology: Topology::T3,
    procedure: "A and B send to C: 24 % of the line of a lossless and 36 % of a lossy priority each, then \
                25 % and 30 %.",
    pass: "No lossless frame is lost. The lossy priority has what the lossless one leaves of the line, within \
           1 %: with 25 % and 30 % one in six of its frames is lost.",
    uncertainty: "A frame of each flow at the ends of the interval.",
    source: "SNAPPI 05 and m2o_lossy of sonic-mgmt",
    level: Level::Full,
    run,
    line: line!(),
};

/// Shares of the line that each sender offers: lossless and lossy.
const LOADS: [(f64, f64); 2] = [(0.24, 0.36), (0.25, 0.30)];

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    cx.lossless()?;
    let lossy = cx.lossy()?;
    for lossless in cx.each_lossless() {
        let mut dropped = 0;
        for loads in LOADS {
            dropped += flood(cx, (lossless, lossy), loads)?;
        }
        if dropped == 0 {
            let what = format!(
                "no frame of lossy priority {lossy} was dropped: it does not flood the buffer in this \
                 time; make `times.hold` longer"
            );
            return Err(Trouble::Error(what));
        }
    }
    Ok(())
}

/// Returns the number of lossy frames that were dropped.
fn flood(
    cx: &mut Context<'_>,
    (lossless, lossy): (Priority, Priority),
    loads: (f64, f64),
) -> Result<u64, Trouble> {
    let [a, b, c] = cx.ports()?;
    let times = cx.setup.times;
    // Long enough to fill the buffer with a tenth of a line.
    let hold = times.hold.saturating_mul(2);
    let (of_lossless, of_lossy) = loads;
    let name = format!("{:.0} % lossless, {:.0} % lossy", of_lossless * 200.0, of_lossy * 200.0);
    let mut trial = Trial::new(name, hold + times.drain);
    for from in [a, b] {
        for (priority, share) in [(lossless, of_lossless), (lossy, of_lossy)] {
            let flow = Flow::new((from, c), priority, Limit::Time(hold));
            trial.flow(flow.rate(Rate::Line(share)));
        }
    }
    let seen = cx.observe(&trial)?;
    congestion::arrives(cx, &seen, &trial)?;
    congestion::lossless(cx, &seen, &trial, lossless);
    left(cx, (&trial, &seen), (lossless, lossy), hold);
    Ok(of(&trial, lossy).map(|flow| seen.tally(flow).lost()).sum())
}

/// Returns the flows of a priority.
fn of(trial: &Trial, priority: Priority) -> impl Iterator<Item = FlowId> {
    let flows = trial.flows.iter().enumerate().filter(move |(_, flow)| flow.priority == priority);
    flows.map(|(n, _)| FlowId(n))
}

/// Judges the rate of the lossy priority against what the lossless one leaves.
fn left(
    cx: &mut Context<'_>,
    (trial, seen): (&Trial, &Observation),
    (lossless, lossy): (Priority, Priority),
    hold: Duration,
) {
    let span = hold.div(2)..hold;
    let line = cx.setup.share(1.0, trial.flows[0].size);
    let rate = |priority| of(trial, priority).map(|f| seen.rate_in(f, &span)).sum::<f64>();
    let share = |priority| rate(priority) / line * 100.0;
    let limits = Limits::around(100.0 - share(lossless), cx.setup.limits.share * 100.0);
    let seconds = span.end.saturating_sub(span.start).as_secs_f64();
    let ends = cx.setup.line_time(trial.flows[0].size).saturating_mul(2)
        + seen.uncertainty.saturating_mul(2);
    let u = ends.as_secs_f64() / seconds * 100.0;
    let name = &trial.name;
    cx.judge(format!("line of lossy priority {lossy} ({name})"), share(lossy), limits, u, "%");
    let sent: usize = of(trial, lossy)
        .map(|f| seen.of(f, Way::Sent).filter(|r| span.contains(&r.end)).count())
        .sum();
    let lost: u64 = of(trial, lossy).map(|f| seen.lost_in(f, &span)).sum();
    let what = format!("lost frames of lossy priority {lossy} ({name})");
    let clause = "a device drops none before its buffer is full";
    cx.policy(what, lost as f64 / sent.max(1) as f64 * 100.0, "%", clause);
}
