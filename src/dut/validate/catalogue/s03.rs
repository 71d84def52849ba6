//! V-S03: strict classes are served first.

use super::shares;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, Limit, Rate};
use ground::units::Priority;

pub const TEST: Test = Test {
    id: "V-S03",
    aliases: &["37.1.6", "37.1.7", "DP-1.5", "DP-1.10"],
    title: "strict classes are served first",
    purpose: "A strict class, lossless or lossy, gets all that it sends, and the weighted ones share the \
              rest.",
    clause: "802.1Q 8.6.8.1, 8.6.8.4",
    topology: Topology::T3,
    procedure: "A sends a strict priority (`expected.strict`) to C at 30 % of the line, then at 90 %; B \
                sends all weighted ones at line rate together. At level quick with the first \
                strict priority that is lossless and the first that is lossy, at level full with each. Then A \
                and B send two strict lossy priorities, if there are two, at 70 % each.",
    pass: "No frame of the strict priority is lost, and no pause stops it. It and the weighted classes \
           have their shares of the bytes within {share}: the strict one what it sends, the others the rest by \
           their weights. Of two strict priorities the higher one has all that it sends, and the lower one the \
           rest.",
    uncertainty: "A frame of each flow at the ends of the interval.",
    source: "UNH 37.1.6, 37.1.7; featureprofiles DP-1.5, DP-1.10",
    level: Level::Full,
    run,
    line: line!(),
};

/// Shares of the line that a strict priority sends.
const LOADS: [f64; 2] = [0.3, 0.9];

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let weighted = shares::weighted(cx)?;
    cx.ports::<3>()?;
    for priority in strict(cx)? {
        for load in LOADS {
            compete(cx, &weighted, (priority, load))?;
        }
    }
    order(cx)
}

/// Share of the line that each of two strict priorities sends.
const EACH: f64 = 0.7;

/// Judges that the higher one of two strict priorities is served first (802.1Q 8.6.8.1). They are lossy, as a
/// lossless one would be paused.
fn order(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    let strict = cx.setup.expected.strict.unwrap_or_default();
    let mut lossy = cx.setup.lossy.iter().filter(|priority| strict.contains(*priority));
    // With fewer than two of them there is no order.
    let (Some(low), Some(high)) = (lossy.next(), lossy.next()) else { return Ok(()) };
    let mut trial = shares::offered(cx, (b, c), &[], 1.0);
    let flow = |port, priority| {
        Flow::new((port, c), priority, Limit::Time(cx.setup.times.hold)).rate(Rate::Line(EACH))
    };
    let first = trial.flow(flow(a, high));
    trial.flow(flow(b, low));
    trial.name = format!("strict priority {high} above {low}");
    let seen = cx.observe(&trial)?;
    let span = shares::steady(cx);
    shares::judge(cx, (&trial, &seen), &[(high, EACH), (low, 1.0 - EACH)], &span);
    let lost = seen.tally(first).lost();
    cx.count(format!("lost frames of {}", trial.name), lost, Limits::exactly(0.0));
    Ok(())
}

/// Returns the strict priorities to try.
fn strict(cx: &Context<'_>) -> Result<Vec<Priority>, Trouble> {
    let missing = "expected.strict is missing; add it to the file";
    let all = cx.setup.expected.strict.ok_or_else(|| Trouble::Missing(missing.to_owned()))?;
    let most = cx.by_level(1, usize::MAX);
    let of = |set: ground::units::PrioritySet| set.iter().filter(|p| all.contains(*p)).take(most);
    let strict: Vec<Priority> = of(cx.setup.lossless).chain(of(cx.setup.lossy)).collect();
    if strict.is_empty() {
        let what = "expected.strict has no priority of `lossless` or `lossy`: no class is strict";
        return Err(Trouble::Missing(what.to_owned()));
    }
    Ok(strict)
}

fn compete(
    cx: &mut Context<'_>,
    weighted: &[(Priority, f64)],
    (priority, load): (Priority, f64),
) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    let mut trial = shares::offered(cx, (b, c), weighted, 1.0);
    let flow = Flow::new((a, c), priority, Limit::Time(cx.setup.times.hold));
    let flow = trial.flow(flow.rate(Rate::Line(load)));
    trial.name = format!("strict priority {priority} at {:.0} %", load * 100.0);
    let seen = cx.observe(&trial)?;
    let mut shares: Vec<_> = weighted.iter().map(|(p, share)| (*p, share * (1.0 - load))).collect();
    shares.push((priority, load));
    let span = shares::steady(cx);
    shares::judge(cx, (&trial, &seen), &shares, &span);
    shares::busy(cx, (&trial, &seen), &span);
    let none = Limits::exactly(0.0);
    let lost = seen.tally(flow).lost();
    cx.count(format!("lost frames of strict priority {priority}"), lost, none);
    let pauses = seen.pauses(a).filter(|pause| pause.stops(priority)).count() as u64;
    cx.count(format!("pauses of strict priority {priority}"), pauses, none);
    Ok(())
}
