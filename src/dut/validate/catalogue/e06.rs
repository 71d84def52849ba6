//! V-E06: marks on the congested priority alone.

use super::{congestion, marks, stop};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{FlowId, Trial};
use ground::time::Duration;
use ground::units::{Bytes, Priority, PrioritySet};
use wire::ip::Ecn;

pub const TEST: Test = Test {
    id: "V-E06",
    aliases: &["marking_lossless_prio"],
    title: "marks on the congested priority alone",
    purpose: "A queue that is not congested marks nothing, while another one of its port is.",
    clause: "RFC 3168 5, 802.1Q 8.6.6",
    topology: Topology::T3,
    procedure: "ECT(0) flows on one lossless priority and on another from A and from B to C, each at 20 % of the \
                line; then the same while C pauses the lossless priority for the time in which twice Kmax \
                (`expected.ecn`) arrives. The other is lossless too if there are two. At last C pauses each lossless \
                priority without the curve, if `expected.ecn.priorities` tells which have it, beside the first one.",
    pass: "No frame arrives with CE at first. Then frames of the paused priority do, and none of the other \
           until the end of the pause; none of a priority without the curve does, and none of the first one \
           beside it until the end of the pause. No frame of a lossless priority is lost.",
    uncertainty: "None: counts.",
    source: "sonic-mgmt marking_lossless_prio",
    level: Level::Full,
    run,
    line: line!(),
};

/// Share of the line of each of four flows.
const SHARE: f64 = 0.2;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let ecn = marks::expected(cx)?;
    let [a, b, c] = cx.ports()?;
    let priority = cx.lossless()?;
    let other = match cx.setup.lossless.iter().nth(1) {
        Some(second) => second,
        None => cx.lossy()?,
    };
    let mut trial = congestion::to_one(cx, (&[a, b], c), &[priority, other], SHARE);
    trial.flows.iter_mut().for_each(|flow| flow.ecn = Ecn::Ect0);
    trial.name = "no congestion".to_owned();
    let all = Duration::MAX;
    judge(cx, &trial, &[(priority, false, all), (other, false, all)])?;
    // The time for a queue of twice Kmax.
    let filled = Bytes(2 * ecn.kmax.0).max(Bytes(1));
    let filled = cx.setup.rate.time_for(filled).as_secs_f64() / (2.0 * SHARE);
    let hold = Duration::from_nanos_f64(filled * 1e9).max(cx.setup.storm_pause());
    marks::too_long(cx, hold)?;
    trial.name = "one priority is congested".to_owned();
    let set = PrioritySet::of(priority);
    stop::add(cx, &mut trial, (c, set), (Duration::ZERO, hold));
    // The frames of a released priority may hold up others.
    judge(cx, &trial, &[(priority, true, hold), (other, false, hold)])?;
    let marked = ecn.priorities.unwrap_or(PrioritySet::ALL);
    let is_bare = |of: &Priority| *of != priority && !marked.contains(*of);
    for bare in cx.setup.lossless.iter().filter(is_bare) {
        let mut trial = congestion::to_one(cx, (&[a, b], c), &[bare, priority], SHARE);
        trial.flows.iter_mut().for_each(|flow| flow.ecn = Ecn::Ect0);
        trial.name = "a priority without ECN is congested".to_owned();
        stop::add(cx, &mut trial, (c, PrioritySet::of(bare)), (Duration::ZERO, hold));
        judge(cx, &trial, &[(bare, false, all), (priority, false, hold)])?;
    }
    Ok(())
}

/// Judges the marks of each priority: with congestion at least one, else none until its time.
fn judge(
    cx: &mut Context<'_>,
    trial: &Trial,
    priorities: &[(Priority, bool, Duration)],
) -> Result<(), Trouble> {
    let seen = cx.observe(trial)?;
    congestion::arrives(cx, &seen, trial)?;
    for (priority, is_congested, until) in priorities {
        let until = until.saturating_sub(seen.uncertainty);
        let flows = trial.flows.iter().enumerate().filter(|(_, flow)| flow.priority == *priority);
        let marked = flows.flat_map(|(n, _)| marks::marked(&seen, FlowId(n)));
        let marked = marked.filter(|record| *is_congested || record.end < until).count() as u64;
        let limits = if *is_congested { Limits::at_least(1.0) } else { Limits::exactly(0.0) };
        let what = format!("frames of priority {priority} that arrive with CE ({})", trial.name);
        cx.count(what, marked, limits);
        if cx.setup.lossless.contains(*priority) {
            congestion::lossless(cx, &seen, trial, *priority);
        }
    }
    Ok(())
}
