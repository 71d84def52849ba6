//! V-X04: a pause is renewed in time.

use super::congestion;
use super::stop;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::Way;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, Limit, Trial};
use ground::units::PrioritySet;

pub const TEST: Test = Test {
    id: "V-X04",
    aliases: &[],
    title: "a pause is renewed before it ends",
    purpose: "A port that stays out of buffer renews its pauses before they expire at the peer.",
    clause: "802.1Q 36.1.3.1",
    topology: Topology::T2,
    procedure: "A flow on one lossless priority at line rate from A to B. B pauses it for longer than a \
                pause lasts, so that the device fills up and pauses A. A obeys.",
    pass: "From the first pause on, A receives the next one within the time of a pause less the limit, \
           sends nothing of the priority meanwhile, and no frame is lost.",
    uncertainty: "Time stamps of the tester.",
    source: "own; gaps in storms of public testers",
    level: Level::Full,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    cx.lossless()?;
    for priority in cx.each_lossless() {
        let (times, window) = (cx.setup.times, congestion::window(cx));
        let hold = times.hold.max(window.saturating_mul(4)).min(cx.setup.storm_max());
        let traffic = times.baseline + hold + times.settle;
        let mut trial = Trial::new("storm until the device is full", traffic + times.drain);
        let flow = trial.flow(Flow::new((a, b), priority, Limit::Time(traffic)));
        let from = times.baseline;
        let set = PrioritySet::of(priority);
        trial.storm((b, cx.port(b).mac, cx.setup.rate), set, (from, from + hold));
        let seen = cx.observe(&trial)?;
        cx.at_rest(&seen, &trial, &(times.baseline.div(4)..times.baseline))?;
        let held = stop::held(cx, &seen, b)?;
        let pauses = congestion::pauses(&seen, a, priority);
        let pauses: Vec<_> = pauses.into_iter().filter(|p| p.stops(priority)).collect();
        let name = &cx.port(a).name.clone();
        let count = pauses.iter().filter(|pause| pause.at < held.end).count() as u64;
        cx.count(format!("pauses of priority {priority} at {name}"), count, Limits::at_least(2.0));
        let Some(first) = pauses.first() else { continue };
        let gap = congestion::largest_gap(&pauses, held.end).unwrap_or_default();
        let most = window.saturating_sub(cx.setup.stop_limit());
        let limits = Limits::at_most(most.as_nanos_f64());
        cx.time(format!("largest gap between pauses at {name}"), gap, limits, seen.uncertainty);
        let after = first.at + cx.setup.stop_limit();
        let during = seen.of(flow, Way::Sent).filter(|r| r.begin > after && r.end < held.end);
        let sent = during.count() as u64;
        cx.count(
            format!("frames of priority {priority} sent by {name}"),
            sent,
            Limits::exactly(0.0),
        );
        congestion::lossless(cx, &seen, &trial, priority);
    }
    Ok(())
}
