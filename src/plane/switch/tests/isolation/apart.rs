//! Isolated flows are paused separately from the flows beside them, where their class has a
//! dedicated lossless priority, and nothing is lost if the peer does not support it.

use super::*;
use crate::Change;
use ::buffer::{GroupKind, SharedLimit};
use ::pfc::FlowControl;
use wire::pfc;

const OWN: Priority = Priority::ALL[3];
const GUARD: Priority = Priority::ALL[5];

/// Makes priority 5 lossless everywhere, too.
pub(super) fn guarded(plan: &mut SwitchPlan) {
    let both: PrioritySet = [OWN, GUARD].into_iter().collect();
    for (port, groups) in plan.ports.iter_mut().zip(&mut plan.buffer.groups) {
        port.pfc.mode = FlowControl::Pfc { send: both, obey: both };
        groups[5] = groups[3];
    }
}

fn lab(cim_type: CimType) -> Lab {
    let mut plan = isolating_switch();
    guarded(&mut plan);
    plan.buffer.total = Cells(5_000);
    let isolation = plan.congestion.isolation.as_mut().unwrap();
    isolation.peers = vec![(port(3), peer(cim_type))];
    learnt(&plan)
}

fn pause(priority: Priority, quanta: u16) -> Vec<u8> {
    crate::rig::pause(host(7), priority, quanta)
}

/// Returns the flows of the frames that left by port 3.
fn flows(lab: &mut Lab) -> Vec<u16> {
    lab.sent(3).iter().map(|octets| read(octets).0).collect()
}

#[test]
fn a_pause_of_the_congesting_class_stops_isolated_flows_alone() {
    let mut lab = lab(CimType::L2);
    lab.inject(3, &cims::cim_about(5, CimType::L2, host(7), true));
    lab.deliver(3, &pause(GUARD, 60_000));
    for number in 1..=3 {
        lab.inject(0, &packet(1, 5, number, 200));
        lab.inject(0, &packet(2, 6, number, 200));
    }
    lab.poll_until_idle();
    assert_eq!(flows(&mut lab), [6, 6, 6], "the others go on");
    assert_eq!(lab.switch.queue_bytes(port(3), CONGESTING), 3 * 204);
    // A pause of the original priority stops all of them.
    lab.inject(3, &pause(OWN, 60_000));
    lab.deliver(3, &pause(GUARD, 0));
    assert!(flows(&mut lab).is_empty());
    lab.deliver(3, &pause(OWN, 0));
    assert_eq!(flows(&mut lab), [5, 5, 5]);
    lab.check();
}

#[test]
fn a_congesting_flow_pauses_its_class_first_and_its_priority_if_the_peer_goes_on() {
    let mut lab = lab(CimType::L2);
    lab.port(3).room = 0;
    let mut number = 0;
    let mut paused = vec![];
    // A peer that ignores every pause, until all of the headroom is full.
    while paused.len() < 2 {
        number += 1;
        lab.deliver(0, &packet(1, 5, number, 1_000));
        for octets in lab.sent(0) {
            let Ok(repr) = pfc::Repr::parse(&octets) else { continue };
            let stops = |p: &Priority| repr.time(*p).is_some_and(|time| time > Quanta(0));
            let new = |p: &Priority| stops(p) && !paused.contains(p);
            let more: Vec<_> = [OWN, GUARD].into_iter().filter(new).collect();
            paused.extend(more);
        }
    }
    assert_eq!(paused, [GUARD, OWN]);
    assert!(lab.drops().is_empty());
    let usage =
        |lab: &Lab, group: usize| lab.switch.ledger().usage(port(0), PriorityGroup::ALL[group]);
    assert!(usage(&lab, 5).used.0 > 100 && usage(&lab, 3).used.0 > 100);
    // At most the frame that crossed the limit.
    assert!(usage(&lab, 5).headroom.0 <= 16, "{:?}", usage(&lab, 5));
    // All of the original priority's headroom is available for frames in flight.
    let GroupKind::Lossless { headroom, .. } = groups(200)[3].kind else { unreachable!() };
    for _ in 0..headroom.0 / 16 - 1 {
        number += 1;
        lab.inject(0, &packet(1, 5, number, 1_000));
    }
    lab.poll_until_idle();
    assert!(lab.drops().is_empty());
    lab.open(3);
    let left: Vec<_> = lab.sent(3).iter().map(|octets| read(octets).1).collect();
    assert_eq!(left, (1..=number).collect::<Vec<_>>());
    // Both are resumed.
    let resumed =
        lab.sent(0).iter().filter_map(|octets| pfc::Repr::parse(octets).ok()).next_back().unwrap();
    assert_eq!((resumed.time(OWN), resumed.time(GUARD)), (Some(Quanta(0)), Some(Quanta(0))));
    lab.check();
}

#[test]
fn a_lossy_class_has_no_pause_of_its_own() {
    let mut lab = lab(CimType::L2);
    for n in 0..4 {
        let plan = groups(200)[5];
        let group = PriorityGroup::ALL[5];
        lab.switch.apply(lab.now, Change::Group { port: port(n), group, plan }).unwrap();
    }
    lab.port(3).room = 0;
    lab.deliver_all(0, (1..=60).map(|number| packet(1, 5, number, 1_000)));
    assert!(lab.switch.queue_bytes(port(3), CONGESTING) > 0);
    assert_eq!(lab.switch.ledger().usage(port(0), PriorityGroup::ALL[5]).used.0, 0);
    lab.open(3);
    lab.check();
}

#[test]
fn isolated_frames_have_the_limit_of_the_class_that_they_came_for() {
    for (limited, dropped) in [(5, false), (3, true)] {
        let mut plan = isolating_switch();
        plan.ports[3].queue_limits[limited] = SharedLimit::Static(Cells(4));
        let isolation = plan.congestion.isolation.as_mut().unwrap();
        isolation.peers = vec![(port(3), peer(CimType::L2))];
        let mut lab = learnt(&plan);
        lab.inject(3, &cims::cim_about(5, CimType::L2, host(7), true));
        lab.deliver(3, &pause(OWN, 60_000));
        lab.deliver_all(0, (1..=20).map(|number| packet(1, 5, number, 200)));
        let queued = lab.switch.queue_bytes(port(3), CONGESTING);
        assert!(queued > 0 && lab.drops().iter().any(|(why, _)| *why == "queue_limit") == dropped);
        lab.check();
    }
}

/// The groups of port 0 that the frames in a queue of port 3 are charged to, in order, each once.
fn charged(lab: &Lab, class: TrafficClass) -> Vec<u8> {
    let mut groups = vec![];
    lab.switch.visit_charged(port(3), class, |ingress, group| {
        assert_eq!(ingress, port(0));
        groups.push(group.get());
    });
    groups.dedup();
    groups
}

#[test]
fn isolated_frames_fill_the_group_of_the_guard_and_wait_for_its_pauses_and_for_the_queue_ahead() {
    let mut lab = lab(CimType::L2);
    assert_eq!(lab.switch.blockers(port(3), CONGESTING), None);
    lab.deliver(3, &pause(OWN, 60_000));
    // The first ones join the monitored queue, until it is so long that the flow is isolated.
    lab.deliver_all(0, (1..=42).map(|number| packet(1, 5, number, 1_000)));
    let blockers = |lab: &Lab, class| lab.switch.blockers(port(3), class).unwrap();
    let (monitored, isolated) = (blockers(&lab, MONITORED), blockers(&lab, CONGESTING));
    assert_eq!((monitored.priorities, monitored.behind), (PrioritySet::of(OWN), None));
    let both: PrioritySet = [OWN, GUARD].into_iter().collect();
    assert_eq!((isolated.priorities, isolated.behind), (both, Some(MONITORED)));
    assert_eq!(charged(&lab, MONITORED), [3]);
    // Over its limit, the group of the guard takes no more: the one of the priority does.
    assert_eq!(charged(&lab, CONGESTING)[0], 5);
    lab.deliver(3, &pause(OWN, 0));
    assert_eq!(lab.switch.blockers(port(3), MONITORED), None);
    lab.check();
}
