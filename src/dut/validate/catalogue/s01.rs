//! V-S01: shares of bandwidth.

use super::shares;
use crate::bench::Trouble;
use crate::test::{Context, Level, Test, Topology};

pub const TEST: Test = Test {
    id: "V-S01",
    aliases: &["37.1.1"],
    title: "bandwidth is shared by weight",
    purpose: "When weighted traffic classes have more to send than the line carries, each gets the share of its \
              weight.",
    clause: "802.1Q 8.6.8.4",
    topology: Topology::T3,
    procedure: "A sends a full line to C, each weighted priority at its share (`expected.weights`). So does B, \
                with three tenths of each share, and the lightest class for the rest: each class has more to \
                send than its share, and a device without a scheduler would give the lightest one too much.",
    pass: "Each class has its share of the bytes, without preambles and gaps, within {share}.",
    uncertainty: "A frame of each flow at the ends of the interval.",
    source: "UNH 37.1.1 to 37.1.4; sonic-mgmt issue 24993. 802.1Qaz itself allows 10 %.",
    level: Level::Quick,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let shares = shares::weighted(cx)?;
    let [a, b, c] = cx.ports()?;
    let (trial, seen) = shares::compete(cx, ([a, b], c), &shares, &[1024])?;
    let span = shares::steady(cx);
    shares::judge(cx, (&trial, &seen), &shares, &span);
    Ok(())
}
