//! V-I04: equal senders get equal shares.

use super::congestion;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Observation, Way};
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{FlowId, Limit, Port, Trial};
use ground::units::Priority;

pub const TEST: Test = Test {
    id: "V-I04",
    aliases: &["m2o"],
    title: "equal senders get equal shares",
    purpose: "Senders of one lossless priority to one port share its line equally, and lose nothing.",
    clause: "802.1Q 36.1.1, 8.6.8",
    topology: Topology::Tn,
    procedure: "All ports but the last send one lossless priority to the last one at line \
                rate, and obey pauses.",
    pass: "No frame is lost. Each sender has its share of what arrives within {rate}, and Jain's fairness \
           index of the shares is at least 0.99.",
    uncertainty: "A frame of each flow at the ends of the interval, and what a sender sends between two \
                  pauses: the test is longer where that is more than half of the limit.",
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

/// Most times as long as `times.hold` that the senders send.
const LONGER_MAX: u64 = 16;

/// Rates of the senders in a part of a trial.
struct Shares {
    seen: Observation,
    trial: Trial,
    /// Bits per second, and an equal share of their sum.
    rates: Vec<f64>,
    equal: f64,
    /// Uncertainty of a rate in percent of the equal share.
    u: f64,
}

fn incast(cx: &mut Context<'_>, priority: Priority) -> Result<(), Trouble> {
    let (_, from) = cx.to_last()?;
    let most = cx.setup.limits.rate * 50.0;
    let mut shares = shares(cx, (&from, priority), 1)?;
    // A longer trial has the same pauses at its ends.
    let longer = (shares.u / most).ceil().min(LONGER_MAX as f64) as u64;
    if longer > 1 {
        shares = self::shares(cx, (&from, priority), longer)?;
    }
    let Shares { seen, trial, rates, equal, u } = shares;
    congestion::lossless(cx, &seen, &trial, priority);
    for (port, rate) in from.iter().zip(&rates) {
        let what = format!("rate of priority {priority} from {}", cx.port(*port).name);
        let limits = Limits::around(100.0, cx.setup.limits.rate * 100.0);
        cx.judge(what, rate / equal * 100.0, limits, u, "% of an equal share");
    }
    // The index of rates that differ by u from equal ones differs by less than u squared.
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    let jain = sum * sum / (from.len() as f64 * squares);
    let u = (u / 100.0) * (u / 100.0);
    let what = format!("Jain's fairness index of priority {priority}");
    cx.judge(what, jain, Limits::at_least(JAIN), u, "");
    Ok(())
}

/// Lets the senders send for some times the length of a stimulus, and returns their rates.
fn shares(
    cx: &mut Context<'_>,
    (from, priority): (&[Port], Priority),
    times: u64,
) -> Result<Shares, Trouble> {
    let (last, _) = cx.to_last()?;
    let hold = cx.setup.times.hold.saturating_mul(times);
    let mut trial = congestion::to_one(cx, (from, last), &[priority], LOAD);
    trial.flows.iter_mut().for_each(|flow| flow.limit = Limit::Time(hold));
    trial.length = hold + cx.setup.times.drain;
    let seen = cx.observe(&trial)?;
    congestion::arrives(cx, &seen, &trial)?;
    let span = hold.div(4)..hold;
    let rates: Vec<_> = (0..from.len()).map(|n| seen.rate_in(FlowId(n), &span)).collect();
    let equal = rates.iter().sum::<f64>() / from.len() as f64;
    let seconds = span.end.saturating_sub(span.start).as_secs_f64();
    let frame = f64::from(trial.flows[0].size) * 8.0;
    let cut = (0..from.len()).map(|n| burst(&seen, (from[n], priority), FlowId(n)));
    let cut = cut.max().unwrap_or(0) as f64 * frame;
    let ends = seen.uncertainty.as_secs_f64() * 2.0 / seconds;
    let u = ((frame + cut) / seconds / equal + ends) * 100.0;
    Ok(Shares { seen, trial, rates, equal, u })
}

/// Returns the most frames that a sender sent from one pause to the next: the ends of an interval cut this
/// many off.
fn burst(seen: &Observation, (port, priority): (Port, Priority), flow: FlowId) -> usize {
    let stops = congestion::pauses(seen, port, priority);
    let stops: Vec<_> = stops.iter().filter(|p| p.stops(priority)).map(|pause| pause.at).collect();
    let sent: Vec<_> = seen.of(flow, Way::Sent).map(|record| record.end).collect();
    let before = |at| sent.partition_point(|end| *end < at);
    stops.windows(2).map(|pair| before(pair[1]) - before(pair[0])).max().unwrap_or(0)
}
