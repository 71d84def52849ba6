//! V-S04: shares are of bytes, not of frames.

use super::shares;
use crate::bench::Trouble;
use crate::test::{Context, Level, Test, Topology};

pub const TEST: Test = Test {
    id: "V-S04",
    aliases: &[],
    title: "shares are counted in bytes",
    purpose: "A class of long frames gets no more than one of short frames of the same weight.",
    clause: "802.1Q 8.6.8.4",
    topology: Topology::T3,
    procedure: "As V-S01, with frames of 128 bytes in every second class, and the longest in the others.",
    pass: "Each class has its share of the bytes, without preambles and gaps, within {share}.",
    uncertainty: "A frame of each flow at the ends of the interval.",
    source: "own; NetSys/bess issue 717",
    level: Level::Full,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let shares = shares::weighted(cx)?;
    let [a, b, c] = cx.ports()?;
    let sizes = [128, cx.setup.max_frame];
    let (trial, seen) = shares::compete(cx, ([a, b], c), &shares, &sizes)?;
    let span = shares::steady(cx);
    shares::judge(cx, (&trial, &seen), &shares, &span);
    Ok(())
}
