//! Excuses: each explains losses of its place, its priority and its time, and hides nothing else.

use super::fixture::*;
use crate::check::excuses::{self, Excuses};
use crate::check::facts::Facts;
use crate::check::{Cause, Check};
use crate::*;
use ground::time::{Duration, Instant};
use ground::units::*;
use ground::verdict::Verdict;
use switch::rig;

/// Four hosts blast at a fifth over one switch.
fn healthy() -> NetworkPlan {
    incast(4, 500)
}

/// A data frame of the first host to the fifth, of a priority.
fn data(dscp: u8) -> Box<[u8]> {
    let (_, mut octets) = data_frame(&healthy(), |d| d == LinkId(0).ba());
    octets[15] = dscp << 2;
    octets.into()
}

fn flap(link: u32, from: Instant, down_for: Duration) -> [Fault; 2] {
    let link = LinkId(link);
    let kind = |up| FaultKind::Link { link, up };
    [fault(from, kind(false)), fault(from + down_for, kind(true))]
}

/// Faults at port 0 that let more arrive than there is headroom for, from `us` microseconds on.
pub(super) fn causes(us: u64) -> Vec<(Cause, NetworkPlan)> {
    let ns = Duration::from_nanos;
    let faulty = |cause, faults: Vec<Fault>| {
        let mut plan = healthy();
        headroom(&mut plan, 250);
        plan.faults = faults;
        (cause, plan)
    };
    let lose =
        FaultKind::Line(LinkId(0).ab(), LineFault::Lose { which: Which::Control, frames: 1 });
    let stall = FaultKind::Stall { node: NodeId(0), span: Duration::from_micros(8) };
    let resume = rig::pause(Mac([2, 0, 0, 0, 0, 7]), P3, 0);
    let forged = data(24);
    let every = |direction: Direction, octets: &[u8]| {
        let forge = |n: u64| {
            fault(at(us) + ns(40 * n), FaultKind::Line(direction, LineFault::Forge(octets.into())))
        };
        (0..500).map(forge).collect()
    };
    let mut busy = faulty(Cause::Processor, vec![]);
    busy.1.nodes[0].cpu = CpuPlan { poll: ns(100 * us), frame: ns(50), byte: Duration::ZERO };
    vec![
        faulty(Cause::LostPause, vec![fault(at(us), lose)]),
        faulty(Cause::Link, flap(0, at(us), ns(300)).to_vec()),
        faulty(Cause::Stall, vec![fault(at(us), stall)]),
        faulty(Cause::ForgedPause, every(LinkId(0).ab(), &resume)),
        faulty(Cause::ForgedFrame, every(LinkId(0).ba(), &forged)),
        busy,
    ]
}

#[test]
fn a_loss_that_a_cause_explains_is_not_judged_and_never_passes() {
    let mut explained = std::collections::BTreeMap::new();
    for us in [0, 5, 8, 9, 10, 11, 12, 15, 20] {
        for (cause, plan) in causes(us) {
            let found = run(&plan, 400);
            let lossless = of(&found, Check::Lossless);
            assert_ne!(lossless.verdict, Verdict::Fail, "{cause:?} at {us}: {lossless:?}");
            let excused = lossless.excuses.iter().filter(|excuse| excuse.cause == cause);
            let excused: u64 = excused.map(|excuse| excuse.frames).sum();
            let lost = lossless.known.planned + lossless.known.unplanned;
            assert_eq!(lossless.verdict == Verdict::NotJudged, lost > 0, "{lossless:?}");
            assert!(lost >= excused);
            for check in [Check::Frames, Check::Cells] {
                let verdict = of(&found, check).verdict;
                assert!(verdict == Verdict::Pass || cause != Cause::LostPause, "{found:#?}");
            }
            *explained.entry(cause).or_insert(0) += excused;
        }
    }
    for (cause, frames) in explained {
        // A switch pauses again as soon as its link is up, and what was on the line is gone.
        assert!(frames > 0 || cause == Cause::Link, "{cause:?} never made a loss");
    }
}

#[test]
fn headroom_below_the_shortest_round_trip_has_no_excuse() {
    for (cause, mut plan) in causes(9) {
        headroom(&mut plan, 1);
        let found = run(&plan, 400);
        let lossless = of(&found, Check::Lossless);
        assert_eq!(lossless.verdict, Verdict::Fail, "{cause:?}: {lossless:?}");
    }
}

#[test]
fn an_excuse_ends_one_round_trip_after_its_cause_unless_the_group_stays_over_its_limit() {
    let facts = Facts::new(&healthy());
    let (port, other) = (LinkId(0).ab(), LinkId(1).ab());
    let of = |p: usize| PrioritySet::of(Priority::ALL[p]);
    let round = facts.round_trip(port);
    let ps = Duration::from_picos(1);
    let begin = at(10);
    for cause in [Cause::LostPause, Cause::Link, Cause::ForgedPause, Cause::ForgedFrame] {
        let mut excuses = Excuses::new(&facts);
        excuses.happened(&facts, begin, port, cause, of(3));
        assert!(excuses.find(begin + round, port, 3).is_some_and(|found| found.cause == cause));
        assert!(excuses.find(begin, other, 3).is_none() && excuses.find(begin, port, 4).is_none());
        assert!(excuses.find(begin + round + ps, port, 3).is_none());
        // Over its limit later: that has another reason.
        excuses.crossed(begin + ps, port, of(3), true);
        assert!(excuses.find(begin + round + ps, port, 3).is_none());
        // Over its limit at the cause, and as long as it stays there.
        let next = at(50);
        excuses.happened(&facts, next, port, cause, of(3));
        let late = next + round + round;
        assert!(excuses.find(late, port, 3).is_some_and(|found| found.until.is_none()));
        // A switch that holds its peer back says so again before its longest pause is over.
        let again = next + round + Quanta::MAX.at(facts.from(port).rate);
        assert!(excuses.find(again, port, 3).is_some());
        assert!(excuses.find(again + ps, port, 3).is_none());
        excuses.crossed(late, port, of(3), false);
        assert!(excuses.find(late, port, 3).is_none());
        excuses.crossed(late, port, of(3), true);
        assert!(excuses.find(late + ps, port, 3).is_none(), "it does not come back");
    }
}

#[test]
fn a_watchdog_that_ignores_pauses_explains_its_priority_until_a_round_trip_after_it_stops() {
    let facts = Facts::new(&healthy());
    let port = LinkId(0).ab();
    let of = |p: usize| PrioritySet::of(Priority::ALL[p]);
    let mut excuses = Excuses::new(&facts);
    excuses.began(at(10), port, Cause::Watchdog, of(3));
    excuses.began(at(10), port, Cause::Watchdog, of(5));
    assert!(excuses.find(at(900), port, 3).is_some() && excuses.find(at(900), port, 4).is_none());
    excuses.ended(&facts, at(900), port, Cause::Watchdog, of(3));
    let end = at(900) + facts.round_trip(port);
    assert!(excuses.find(end, port, 3).is_some());
    assert!(excuses.find(end + Duration::from_picos(1), port, 3).is_none());
    assert!(excuses.find(at(990), port, 5).is_some(), "the other goes on");
}

#[test]
fn a_lost_resumption_excuses_nothing() {
    let facts = Facts::new(&healthy());
    let mut excuses = Excuses::new(&facts);
    excuses.happened(&facts, at(10), LinkId(0).ab(), Cause::LostPause, PrioritySet::EMPTY);
    assert!((0..8).all(|p| excuses.find(at(10), LinkId(0).ab(), p).is_none()));
}

#[test]
fn what_fills_a_group_excuses_all_priorities_in_it_and_no_other_group() {
    for (group, allowed) in [(3, Verdict::NotJudged), (5, Verdict::Fail)] {
        let mut plan = healthy();
        the_switch(&mut plan).ports[0].classify.group[5] = PriorityGroup::ALL[group];
        // Both have no more than they need.
        headroom(&mut plan, 250);
        let groups = &mut the_switch(&mut plan).buffer.groups[0];
        groups[5] = groups[3];
        if group == 5 {
            // Frames of priority 3 are lost for another reason.
            headroom(&mut plan, 40);
        }
        let forged = data(40);
        for n in 0..500 {
            let octets = forged.clone();
            let kind = FaultKind::Line(LinkId(0).ba(), LineFault::Forge(octets));
            plan.faults.push(fault(at(1) + Duration::from_nanos(40 * n), kind));
        }
        let found = run(&plan, 400);
        let lossless = of(&found, Check::Lossless);
        assert_eq!(lossless.verdict, allowed, "group {group}: {lossless:?}");
    }
}

#[test]
fn a_cause_is_named_once_with_all_of_its_frames() {
    let causes = [("link down", true, 40), ("stall", true, 0), ("watchdog", false, 1)];
    let words = excuses::words(causes.into_iter().chain([("link down", true, 2)]));
    assert_eq!(words, "42 by a planned fault (link down), 1 by no fault of the lab (watchdog)");
    let apart = excuses::words([("watchdog", true, 1), ("watchdog", false, 2)]);
    assert_eq!(apart.matches("watchdog").count(), 2);
}
