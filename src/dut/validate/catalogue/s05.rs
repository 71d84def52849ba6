//! V-S05: weights are changed under load.

use super::{congestion, shares};
use crate::bench::{Faculty, Trouble};
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Change, Flow, Limit, Rate, weight};
use ground::units::{PRIORITIES, Priority};

pub const TEST: Test = Test {
    id: "V-S05",
    aliases: &["DwrrWeightChange"],
    title: "weights are changed under load",
    purpose: "New weights of the traffic classes take effect while they are over, and no frame of a lossless \
              priority is lost by the change.",
    clause: "802.1Q 8.6.8.4, 12.21; SAI_SCHEDULER_ATTR_SCHEDULING_WEIGHT",
    topology: Topology::T3,
    procedure: "As V-S01, with a lossless priority at 20 % of the line if none is weighted. In the middle of \
                the traffic all weights at C become the largest one of them; if all are equal, the \
                first becomes three times as large.",
    pass: "Before the change each class has its old share of the bytes within {share}, and from the time \
           `times.settle` after it its new one. No frame of a lossless priority is lost.",
    uncertainty: "A frame of each flow at the ends of the interval.",
    source: "SAI DwrrWeightChange; sonic-buildimage issue 29255",
    level: Level::Full,
    run,
    line: line!(),
};

/// Share of the line of a lossless priority without a weight.
const LOSSLESS: f64 = 0.2;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let old = shares::weighted(cx)?;
    let [a, b, c] = cx.ports()?;
    if !cx.has(Faculty::Changes) {
        let what = "adapter is missing: the device's settings cannot be changed under load";
        return Err(Trouble::Missing(what.to_owned()));
    }
    let before = cx.setup.expected.weights.expect("`weighted` has checked it");
    let after = changed(before);
    let all: u32 = after.iter().sum();
    let of = |p: Priority| f64::from(after[p.index()]) / f64::from(all);
    let new: Vec<_> = old.iter().map(|(priority, _)| (*priority, of(*priority))).collect();
    let times = cx.setup.times;
    let (at, end) = (times.hold, times.hold.saturating_mul(2) + times.settle);
    // Each class is over with its old share and with its new one.
    let most = old.iter().zip(&new).map(|((p, old), (_, new))| (*p, old.max(*new)));
    let most: Vec<_> = most.collect();
    let sum: f64 = most.iter().map(|(_, share)| share).sum();
    let offered: Vec<_> = most.iter().map(|(p, share)| (*p, share / sum)).collect();
    let mut trial = shares::overload(cx, ([a, b], c), &offered, 1.0 - LOSSLESS);
    let is_weighted = |p: &Priority| before[p.index()] > 0;
    let lossless: Vec<_> = cx.setup.lossless.iter().collect();
    if let Some(first) = lossless.first().filter(|_| !lossless.iter().any(is_weighted)) {
        trial.flow(Flow::new((a, c), *first, Limit::Time(end)).rate(Rate::Line(LOSSLESS)));
    }
    trial.flows.iter_mut().for_each(|flow| flow.limit = Limit::Time(end));
    trial.length = end + times.drain;
    for (priority, _) in &old {
        let (value, restored) = (after[priority.index()], before[priority.index()]);
        let (value, restored) = (value.to_string(), restored.to_string());
        trial.changes.push(Change { at, port: c, name: weight(*priority), value, restored });
    }
    let seen = cx.observe(&trial)?;
    trial.name = "old weights".to_owned();
    shares::judge(cx, (&trial, &seen), &old, &(at.div(2)..at));
    trial.name = "new weights".to_owned();
    shares::judge(cx, (&trial, &seen), &new, &(at + times.settle..end));
    for priority in lossless {
        congestion::lossless(cx, &seen, &trial, priority);
    }
    Ok(())
}

/// Returns other weights of the same classes.
fn changed(before: [u32; PRIORITIES]) -> [u32; PRIORITIES] {
    let most = before.iter().copied().max().unwrap_or(1);
    let mut after = before.map(|weight| if weight > 0 { most } else { 0 });
    if after == before
        && let Some(first) = after.iter_mut().find(|weight| **weight > 0)
    {
        *first *= 3;
    }
    after
}
