//! V-S02: shares that a class does not use are lent.

use super::{shares, stop};
use crate::bench::Trouble;
use crate::observation::Way;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Rate};
use ground::units::{Priority, PrioritySet};

pub const TEST: Test = Test {
    id: "V-S02",
    aliases: &["37.1.5"],
    title: "shares that a class does not use are lent",
    purpose: "Bandwidth that a class does not use goes to the others by their weights: of a class without \
              frames, of one with less than its share, and of one that is paused.",
    clause: "802.1Q 8.6.8.4, 36.1.3.2",
    topology: Topology::T3,
    procedure: "As V-S01, in three kinds of trials. The heaviest class (at level full each class) sends \
                nothing; it sends half of its share; a lossless priority sends 30 % of the line, or \
                its share if it is weighted, and C pauses it.",
    pass: "The other classes share the rest of the bytes by their weights within {share}, and C's line is busy \
           for at least 99 % of the time.",
    uncertainty: "A frame of each flow at the ends of the interval.",
    source: "UNH 37.1.5; sonic-mgmt fluctuating traffic",
    level: Level::Full,
    run,
    line: line!(),
};

/// Share of the line of a paused priority without a weight.
const PAUSED: f64 = 0.3;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let all = shares::weighted(cx)?;
    cx.ports::<3>()?;
    let mut idle = all.clone();
    idle.sort_by(|one, other| other.1.total_cmp(&one.1));
    idle.truncate(cx.by_level(1, idle.len()));
    for one in idle {
        for used in [0.0, 0.5] {
            partly(cx, &all, one, used)?;
        }
    }
    paused(cx, &all)
}

/// A class that sends `used` of its share, 0 to 1.
fn partly(
    cx: &mut Context<'_>,
    all: &[(Priority, f64)],
    (priority, share): (Priority, f64),
    used: f64,
) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    let own = share * used;
    let mut rest = shares::rest(all, priority, 1.0 - own);
    let mut trial = shares::uneven(cx, ([a, b], c), &shares::rest(all, priority, 1.0), 1.0 - own);
    if used > 0.0 {
        let flow = Flow::new((a, c), priority, Limit::Time(cx.setup.times.hold));
        trial.flow(flow.rate(Rate::Line(own)));
        rest.push((priority, own));
    }
    trial.name = format!("priority {priority} uses {:.0} % of its share", used * 100.0);
    let seen = cx.observe(&trial)?;
    let span = shares::steady(cx);
    shares::judge(cx, (&trial, &seen), &rest, &span);
    shares::busy(cx, (&trial, &seen), &span);
    Ok(())
}

/// A class that is paused while it has frames.
fn paused(cx: &mut Context<'_>, all: &[(Priority, f64)]) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    let is_weighted = |p: &Priority| all.iter().any(|(priority, _)| priority == p);
    let mut lossless = cx.setup.lossless.iter();
    let Some(priority) = lossless.find(is_weighted).or_else(|| cx.setup.lossless()) else {
        cx.skip("a paused class", "lossless: it is empty");
        return Ok(());
    };
    let others = shares::rest(all, priority, 1.0);
    if others.len() < 2 {
        cx.skip("a paused class", "expected.weights: two classes beside it are needed");
        return Ok(());
    }
    let own = all.iter().find(|(p, _)| *p == priority).map_or(PAUSED, |(_, share)| *share);
    let mut trial = shares::uneven(cx, ([a, b], c), &others, 1.0 - own);
    let hold = cx.setup.times.hold;
    let flow = Flow::new((a, c), priority, Limit::Time(hold));
    trial.flow(flow.rate(Rate::Line(own)));
    let length = hold.div(2).min(cx.setup.storm_max());
    let start = hold.saturating_sub(length);
    stop::add(cx, &mut trial, (c, PrioritySet::of(priority)), (start, length));
    trial.name = format!("priority {priority} is paused");
    let seen = cx.observe(&trial)?;
    let flow = FlowId(trial.flows.len() - 1);
    if !seen.of(flow, Way::Sent).any(|record| record.begin > start) {
        let what = format!("no frame of priority {priority} was sent into the pause");
        return Err(Trouble::Error(what));
    }
    let held = stop::held_for(cx, &seen, c, length)?;
    // The others have their new shares after a while.
    let span = held.start + length.div(8)..held.end.min(hold);
    stop::none_began(cx, &seen, (flow, priority), &span);
    shares::judge(cx, (&trial, &seen), &others, &span);
    shares::busy(cx, (&trial, &seen), &span);
    Ok(())
}
