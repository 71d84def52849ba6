//! PFC that two ends agree on while the network runs: the checkers go by what holds at the time.

use super::fixture::*;
use crate::check::{Check, Finding};
use crate::*;
use buffer::{GroupKind, GroupPlan};
use ground::units::*;
use ground::verdict::Verdict;
use pfc::FlowControl;
use switch::Change;

pub(super) const fn pfc(set: u8) -> FlowControl {
    FlowControl::Pfc { send: PrioritySet(set), obey: PrioritySet(set) }
}

/// The modes of PFC after two ends agreed, and before or without.
pub(super) const ON: FlowControl = pfc(0b1000);
pub(super) const OFF: FlowControl = pfc(0);

/// Has every port of the switch go from one mode to another after a microsecond, as DCBX does it.
pub(super) fn agree(plan: &mut NetworkPlan, from: FlowControl, to: FlowControl) {
    for n in 0..the_switch(plan).ports.len() {
        let (port, group) = (PortId::new(n as u16).unwrap(), PriorityGroup::ALL[3]);
        let lossless = the_switch(plan).buffer.groups[n][3];
        let lossy = GroupPlan { kind: GroupKind::Lossy, ..lossless };
        let of = |mode| if mode == OFF { lossy } else { lossless };
        the_switch(plan).ports[n].pfc.mode = from;
        the_switch(plan).buffer.groups[n][3] = of(from);
        plan.faults.push(changed(at(1), Change::Pfc { port, mode: to }));
        plan.faults.push(changed(at(1), Change::Group { port, group, plan: of(to) }));
    }
}

/// Four hosts blast at a fifth, which pauses the switch for 46 us now and then. PFC of all ports is as
/// `from` says and after a microsecond as `to` says.
fn network(from: FlowControl, to: FlowControl) -> NetworkPlan {
    let mut plan = incast(4, 500);
    host(&mut plan, 4).pauses.push(storm(9_000, 10, 60, 3));
    agree(&mut plan, from, to);
    plan
}

/// Findings of a run in which the first host obeys no pause, if `deaf`.
fn found(plan: &NetworkPlan, deaf: bool) -> Vec<Finding> {
    let mut run = plan.clone();
    if deaf {
        host(&mut run, 0).flow_control = OFF;
    }
    judged(plan, &run, 400)
}

#[test]
fn what_is_agreed_on_is_judged_from_then_on() {
    for from in [ON, OFF] {
        let good = found(&network(from, ON), false);
        for check in [Check::Lossless, Check::PauseLegality, Check::PausesSent, Check::IdleLines] {
            assert_eq!(of(&good, check).verdict, Verdict::Pass, "{from:?}: {good:#?}");
        }
        let bad = found(&network(from, ON), true);
        for check in [Check::Lossless, Check::PauseLegality] {
            // The host is known to obey from the start, whatever the switch agrees on.
            assert_eq!(of(&bad, check).verdict, Verdict::Fail, "{from:?}: {bad:#?}");
        }
    }
}

#[test]
fn what_is_agreed_to_do_without_is_not_judged_any_more() {
    for from in [ON, OFF] {
        let found = found(&network(from, OFF), false);
        for check in [Check::Lossless, Check::PauseLegality, Check::PausesSent, Check::IdleLines] {
            assert_ne!(of(&found, check).verdict, Verdict::Fail, "{from:?}: {found:#?}");
        }
        let lossless = of(&found, Check::Lossless);
        assert_eq!(lossless.verdict == Verdict::NotJudged, from == OFF, "{lossless:?}");
    }
}

#[test]
fn a_pause_that_is_held_when_pfc_ends_is_resumed() {
    let mut plan = network(ON, OFF);
    // In the middle of the receiver's first pause, when all groups are over their limits.
    plan.faults.iter_mut().for_each(|fault| fault.at = at(30));
    let events = events(&plan, 60);
    for port in 0..4 {
        let last = events.iter().rev().find_map(|event| match event {
            Event::Noted(at, _, Note::PauseSent { port: of, paused, .. }) if of.index() == port => {
                Some((*at, *paused))
            }
            _ => None,
        });
        let (last, paused) = last.expect("every port pauses its host");
        assert!(paused.is_empty() && last >= at(30) && last < at(31), "{port}: {last:?}");
    }
    let found = found(&plan, false);
    assert_eq!(of(&found, Check::PausesSent).verdict, Verdict::Pass, "{found:#?}");
}

#[test]
fn a_priority_that_joins_a_group_over_its_limit_is_paused_with_it() {
    // Group 3 has priorities 3 and 5, and PFC runs for 3 until it runs for both.
    let mut plan = network(ON, ON);
    plan.faults.clear();
    for n in 0..5 {
        the_switch(&mut plan).ports[n].classify.group[5] = PriorityGroup::ALL[3];
        let change = Change::Pfc { port: PortId::new(n as u16).unwrap(), mode: pfc(0b10_1000) };
        plan.faults.push(changed(at(30), change));
    }
    let events = events(&plan, 31);
    for port in 0..4 {
        let paused = events.iter().any(|event| match event {
            Event::Noted(_, _, Note::PauseSent { port: of, paused, .. }) => {
                of.index() == port && *paused == PrioritySet(0b10_1000)
            }
            _ => false,
        });
        assert!(paused, "port {port} does not pause priority 5");
    }
    let good = found(&plan, false);
    assert_eq!(of(&good, Check::PausesSent).verdict, Verdict::Pass, "{good:#?}");
}
