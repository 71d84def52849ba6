//! V-I04: equal senders get equal shares.

use super::congestion;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{FlowId, Port};
use ground::units::Priority;

pub const TEST: Test = Test {
    id: "V-I04",
    aliases: &["m2o"],
    title: "equal senders get equal shares",
    purpose: "Senders of one lossless priority to one port share its line equally, and lose nothing.",
    clause: "802.1Q 36.1.1, 8.6.8",
    topology: Topology::Tn,
    procedure: "All ports of the file but the last send one lossless priority to the last one at line \
                rate, and obey pauses.",
    pass: "No frame is lost. Each sender has its share of what arrives within 2 %, and Jain's fairness \
           index of the shares is at least 0.99.",
    uncertainty: "A frame of each flow at the ends of the interval.",
    source: "Gaudi Congestion_Test; sonic-mgmt m2o",
    level: Level::Full,
    run,
    line: line!(),
};

/// Share of the line that a sender offers: a little less than all, so that a sender in software keeps its
/// rate.
const LOAD: f64 = 0.98;

/// Least fairness index.
const JAIN: f64 = 0.99;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    cx.lossless()?;
    for priority in cx.each_lossless() {
        incast(cx, priority)?;
    }
    Ok(())
}

fn incast(cx: &mut Context<'_>, priority: Priority) -> Result<(), Trouble> {
    let last = cx.setup.ports.len() - 1;
    let from: Vec<_> = (0..last).map(Port).collect();
    let trial = congestion::to_one(cx, (&from, Port(last)), &[priority], LOAD);
    let seen = cx.observe(&trial)?;
    congestion::arrives(cx, &seen, &trial)?;
    congestion::lossless(cx, &seen, &trial, priority);
    let hold = cx.setup.times.hold;
    let span = hold.div(4)..hold;
    let rates: Vec<_> = (0..last).map(|n| seen.rate_in(FlowId(n), &span)).collect();
    let sum: f64 = rates.iter().sum();
    let seconds = span.end.saturating_sub(span.start).as_secs_f64();
    let frame = f64::from(trial.flows[0].size) * 8.0 / seconds;
    let ends = seen.uncertainty.as_secs_f64() * 2.0 / seconds;
    let equal = sum / last as f64;
    let u = (frame / equal + ends) * 100.0;
    for (port, rate) in from.iter().zip(&rates) {
        let what = format!("rate of priority {priority} from {}", cx.port(*port).name);
        let limits = Limits::around(100.0, cx.setup.limits.rate * 100.0);
        cx.judge(what, rate / equal * 100.0, limits, u, "% of an equal share");
    }
    // The index of rates that differ by u from equal ones differs by less than u squared.
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    let jain = sum * sum / (last as f64 * squares);
    let u = (u / 100.0) * (u / 100.0);
    let what = format!("Jain's fairness index of priority {priority}");
    cx.judge(what, jain, Limits::at_least(JAIN), u, "");
    Ok(())
}
