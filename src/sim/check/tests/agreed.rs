//! PFC that two ends agree on while the network runs: the checkers go by what holds at the time.

use super::excuses::with_bug;
use super::fixture::*;
use crate::check::{Check, Finding};
use crate::*;
use buffer::{GroupKind, GroupPlan};
use ground::time::Duration;
use ground::units::*;
use ground::verdict::Verdict;
use host::{PauseAsk, PausePlan};
use pfc::FlowControl;
use switch::{Change, SwitchPlan};

const fn pfc(set: u8) -> FlowControl {
    FlowControl::Pfc { send: PrioritySet(set), obey: PrioritySet(set) }
}

const ON: FlowControl = pfc(0b1000);
const OFF: FlowControl = pfc(0);

fn the_switch(plan: &mut NetworkPlan) -> &mut SwitchPlan {
    let NodeKind::Switch(switch) = &mut plan.nodes[0].kind else { panic!("node 0 is a switch") };
    switch
}

/// Four hosts blast at a fifth, which pauses the switch for 46 us now and then. PFC of all ports is as
/// `from` says and after a microsecond as `to` says.
fn network(from: FlowControl, to: FlowControl) -> NetworkPlan {
    let mut plan = incast(4, 500);
    let NodeKind::Host(receiver) = &mut plan.nodes[5].kind else { panic!("node 5 is a host") };
    receiver.pauses.push(PausePlan {
        ask: PauseAsk::pfc(PrioritySet::of(P3), Quanta(9_000)),
        start: at(10),
        every: Duration::from_micros(60),
        frames: 3,
    });
    for n in 0..5 {
        let (port, group) = (PortId::new(n).unwrap(), PriorityGroup::ALL[3]);
        let lossless = the_switch(&mut plan).buffer.groups[usize::from(n)][3];
        let lossy = GroupPlan { kind: GroupKind::Lossy, ..lossless };
        let of = |mode| if mode == OFF { lossy } else { lossless };
        let switch = the_switch(&mut plan);
        switch.ports[usize::from(n)].pfc.mode = from;
        switch.buffer.groups[usize::from(n)][3] = of(from);
        for change in [Change::Pfc { port, mode: to }, Change::Group { port, group, plan: of(to) }]
        {
            plan.faults
                .push(Fault { at: at(1), kind: FaultKind::Change { node: NodeId(0), change } });
        }
    }
    plan
}

/// Findings of a run in which the first host obeys no pause, if `deaf`.
fn found(plan: &NetworkPlan, deaf: bool) -> Vec<Finding> {
    with_bug(
        plan,
        |_| (),
        |plan| {
            let NodeKind::Host(host) = &mut plan.nodes[1].kind else { panic!("node 1 is a host") };
            if deaf {
                host.flow_control = OFF;
            }
        },
    )
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
    let mut network = Network::new(&plan, Tape::default()).unwrap();
    network.run_until(at(60));
    let (Tape(events), _) = network.finish();
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
        plan.faults.push(Fault { at: at(30), kind: FaultKind::Change { node: NodeId(0), change } });
    }
    let mut network = Network::new(&plan, Tape::default()).unwrap();
    network.run_until(at(31));
    let (Tape(events), _) = network.finish();
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
