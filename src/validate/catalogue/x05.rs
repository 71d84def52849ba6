//! V-X05: all congested priorities are paused.

use super::congestion;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};

pub const TEST: Test = Test {
    id: "V-X05",
    aliases: &[],
    title: "all congested priorities are paused",
    purpose: "A port that runs out of buffer for several priorities pauses each of them.",
    clause: "802.1Q 36.1.3.1",
    topology: Topology::T3,
    procedure: "Flows on two lossless priorities from A and from B to C, each at 40 % of the line.",
    pass: "No frame is lost. Each priority is paused at least once if it is over, and no priority more \
           than twice as often as the other if both are.",
    uncertainty: "None: counts.",
    source: "sonic-mgmt issue 20075",
    level: Level::Full,
    run,
    line: line!(),
};

/// Share of the line of each of four flows.
const SHARE: f64 = 0.4;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    let two: Vec<_> = cx.setup.lossless.iter().take(2).collect();
    if two.len() < 2 {
        return Err(Trouble::Missing("lossless: two priorities are needed".into()));
    }
    let trial = congestion::to_one(cx, (&[a, b], c), &two, SHARE);
    let seen = cx.observe(&trial)?;
    congestion::arrives(cx, &seen, &trial)?;
    let mut counts = Vec::new();
    for priority in two {
        congestion::lossless(cx, &seen, &trial, priority);
        let stops = [a, b].map(|port| seen.pauses(port).filter(|p| p.stops(priority)).count());
        counts.push((priority, stops.iter().sum::<usize>() as u64));
    }
    // A strict priority is never over while the one below it takes what is left.
    let over = counts.iter().filter(|(_, n)| *n > 0).count() as u64;
    cx.judge("paused priorities", over as f64, Limits::at_least(1.0), 0.0, "priorities");
    if let [(_, x), (_, y)] = counts[..] {
        if x > 0 && y > 0 {
            let ratio = x.max(y) as f64 / x.min(y) as f64;
            cx.judge("pauses of one for one of the other", ratio, Limits::at_most(2.0), 0.0, "");
        }
    }
    Ok(())
}
