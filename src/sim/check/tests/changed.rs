//! Groups that are changed while the network runs: the checkers go by what holds at the time.

use super::agreed::OFF;
use super::excuses::causes;
use super::fixture::*;
use crate::check::Check;
use crate::*;
use buffer::{GroupKind, GroupPlan};
use ground::time::Duration;
use ground::units::*;
use ground::verdict::Verdict;
use switch::Change;

/// Group 3 of the first port of the switch, with other headroom.
fn group(plan: &NetworkPlan, cells: u32) -> GroupPlan {
    let mut plan = plan.clone();
    headroom(&mut plan, cells);
    the_switch(&mut plan).buffer.groups[0][3]
}

/// The group becomes as `group`, `us` microseconds after the start.
fn change(us: u64, group: GroupPlan) -> Fault {
    let (port, of) = (PortId::MIN, PriorityGroup::ALL[3]);
    changed(at(us), Change::Group { port, group: of, plan: group })
}

#[test]
fn headroom_that_is_taken_away_has_no_excuse() {
    for (cause, mut plan) in causes(9) {
        plan.faults.push(change(1, group(&plan, 1)));
        let found = run(&plan, 400);
        let lossless = of(&found, Check::Lossless);
        assert_eq!(lossless.verdict, Verdict::Fail, "{cause:?}: {lossless:?}");
    }
}

#[test]
fn headroom_that_is_given_in_time_is_what_counts_and_too_late_excuses_nothing() {
    for (cause, enough) in causes(9) {
        let after = group(&enough, 250);
        let mut plan = enough.clone();
        headroom(&mut plan, 1);
        let early = change(1, after);
        let run_with = |fault: Fault| {
            let mut plan = plan.clone();
            plan.faults.push(fault);
            run(&plan, 400)
        };
        let found = run_with(early);
        let lossless = of(&found, Check::Lossless);
        assert_ne!(lossless.verdict, Verdict::Fail, "{cause:?}: {lossless:?}");
        let found = run_with(change(300, after));
        let lossless = of(&found, Check::Lossless);
        assert_eq!(lossless.verdict, Verdict::Fail, "{cause:?}: {lossless:?}");
    }
}

#[test]
fn a_group_is_lossless_from_the_change_on_and_until_it() {
    let plan = incast(4, 500);
    let lossy = GroupPlan { kind: GroupKind::Lossy, ..group(&plan, 0) };
    let verdict = |before: GroupPlan, us: u64, after: GroupPlan| {
        let mut plan = plan.clone();
        the_switch(&mut plan).buffer.groups[0][3] = before;
        plan.faults.push(change(us, after));
        // The host at the port obeys nothing, so what can be lost is lost.
        let mut deaf = plan.clone();
        host(&mut deaf, 0).flow_control = OFF;
        of(&judged(&plan, &deaf, 400), Check::Lossless).verdict
    };
    let lossless = group(&plan, 400);
    assert_eq!(verdict(lossless, 1, lossy), Verdict::Pass, "lossy before it drops");
    assert_eq!(verdict(lossy, 1, lossless), Verdict::Fail, "lossless before it drops");
    assert_eq!(verdict(lossless, 390, lossy), Verdict::Fail, "lossy after it has dropped");
}

#[test]
fn a_change_that_is_refused_for_what_is_held_is_made_as_soon_as_it_can_be() {
    let mut plan = incast(4, 500);
    // In the middle of a pause, when headroom is in use.
    plan.faults.push(change(12, group(&plan, 1)));
    let events = events(&plan, 400);
    let made = events.iter().find_map(|event| match event {
        Event::Noted(at, _, Note::Regrouped { headroom, .. }) => Some((*at, *headroom)),
        _ => None,
    });
    let (made, cells) = made.expect("the change is made");
    assert_eq!(cells, Some(Cells(1)));
    assert!(made > at(12) && made.since(at(12)) < Duration::from_micros(100), "{made:?}");
}
