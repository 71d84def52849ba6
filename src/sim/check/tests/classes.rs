//! Priorities that get other traffic classes while the network runs, as by DCBX's ETS: the checkers go
//! by the classes in which frames are.

use super::fixture::{self, *};
use crate::check::{Check, Finding};
use crate::*;
use ::host::{Demand, FlowId, Headers, PausePlan};
use ground::time::{Duration, Instant};
use ground::units::*;
use ground::verdict::Verdict;
use pfc::{FlowControl, StormAction, WatchdogPlan};
use switch::Change;

/// A class for each priority, and class 2 for priorities 2 and 3.
const APART: [TrafficClass; PRIORITIES] = TrafficClass::ALL;
const IN_ONE: [TrafficClass; PRIORITIES] = {
    let mut map = APART;
    map[3] = map[2];
    map
};

/// Four hosts blast at a fifth from `start` on, which pauses priority 3 for 46 us now and then; the
/// first host sends priority 2, too. The switch goes from one map of classes to another at `changed`.
fn network(
    (from, to): ([TrafficClass; PRIORITIES], [TrafficClass; PRIORITIES]),
    (start, changed): (Instant, Instant),
) -> NetworkPlan {
    let mut plan = incast(4, 300);
    for n in 0..4 {
        host(&mut plan, n).flows[0].start = start;
    }
    let mut other = host(&mut plan, 0).flows[0].clone();
    let Headers::Udp4(udp) = &mut other.headers else { panic!("flows are of UDP") };
    udp.dscp = Dscp::new(16).unwrap();
    (other.id, other.priority) = (FlowId(7), Priority::ALL[2]);
    other.frames = Some(3_000);
    host(&mut plan, 0).flows.push(other);
    host(&mut plan, 4).expects.push(FlowId(7));
    host(&mut plan, 4).pauses.push(storm(9_000, 10, 60, 3));
    for n in 0..5 {
        the_switch(&mut plan).ports[n].classify.class = from;
        let (port, classes) =
            (PortId::new(n as u16).unwrap(), the_switch(&mut plan).ports[n].schedule.classes);
        plan.faults.push(fixture::changed(changed, Change::Ets { port, classes, map: to }));
    }
    plan
}

/// Priorities that get a class each before there is traffic.
pub(super) fn separated() -> NetworkPlan {
    network((IN_ONE, APART), (at(2), at(1)))
}

/// Has the changes of classes in a plan keep both in one.
pub(super) fn in_one(plan: &mut NetworkPlan) {
    for fault in &mut plan.faults {
        if let FaultKind::Change { change: Change::Ets { map, .. }, .. } = &mut fault.kind {
            *map = IN_ONE;
        }
    }
}

/// Shows a change of classes as one to a class each.
pub(super) fn told_apart(event: Event) -> Vec<Event> {
    vec![match event {
        Event::Noted(at, node, Note::ClassesChanged { port, .. }) => {
            Event::Noted(at, node, Note::ClassesChanged { port, map: APART })
        }
        event => event,
    }]
}

fn found(plan: &NetworkPlan) -> Vec<Finding> {
    run(plan, 400)
}

#[test]
fn a_queue_that_a_priority_joined_may_wait_for_its_pauses() {
    let findings = found(&network((APART, IN_ONE), (at(2), at(1))));
    assert_eq!(of(&findings, Check::IdleLines).verdict, Verdict::Pass, "{findings:#?}");
}

/// Frames of the former class wait at the time of the change, in the middle of a pause and before it.
#[test]
fn frames_that_wait_are_judged_in_the_class_that_they_are_in() {
    for maps in [(APART, IN_ONE), (IN_ONE, APART)] {
        for changed in [5, 30, 58, 75] {
            let findings = found(&network(maps, (at(0), at(changed))));
            for finding in &findings {
                assert_ne!(finding.verdict, Verdict::Fail, "at {changed}: {findings:#?}");
            }
            for check in [Check::Frames, Check::PauseLegality, Check::IdleLines] {
                assert_eq!(of(&findings, check).verdict, Verdict::Pass, "{changed}: {findings:#?}");
            }
        }
    }
}

/// A switch whose watchdog ignores pauses of class 2 from 25 us on, for priority 2 is paused since 5 us;
/// priority 3 is paused from 60 us on, and now and then after that.
fn stormed(
    maps: ([TrafficClass; PRIORITIES], [TrafficClass; PRIORITIES]),
    changed: u64,
) -> NetworkPlan {
    let mut plan = network(maps, (at(2), at(changed)));
    let p2 = PrioritySet::of(Priority::ALL[2]);
    let port = &mut the_switch(&mut plan).ports[4];
    port.watchdog[2] = Some(WatchdogPlan {
        enabled: true,
        detection: Duration::from_micros(20),
        restoration: Duration::from_micros(500),
        action: StormAction::Forward,
    });
    obey(&mut plan, PrioritySet(p2.0 | PrioritySet::of(P3).0));
    let pauses = &mut host(&mut plan, 4).pauses;
    pauses[0].start = at(60);
    let ask = Demand::pfc(p2, Quanta(40_000));
    pauses.push(PausePlan { ask, ..storm(0, 5, 100, 4) });
    plan
}

/// Has the port to the receiver obey pauses of these priorities.
fn obey(plan: &mut NetworkPlan, obey: PrioritySet) {
    let port = &mut the_switch(plan).ports[4];
    let FlowControl::Pfc { send, .. } = port.pfc.mode else { panic!("ports use PFC") };
    port.pfc.mode = FlowControl::Pfc { send, obey };
}

/// A storm on a class excuses what is sent against pauses by the priorities that have frames there, and
/// none that left it before.
#[test]
fn a_storm_on_the_former_class_of_a_priority_excuses_nothing_once_its_frames_are_gone() {
    let plan = stormed((IN_ONE, APART), 1);
    let findings = found(&plan);
    assert_eq!(of(&findings, Check::PauseLegality).verdict, Verdict::Pass, "{findings:#?}");
    let mut ignores = plan.clone();
    obey(&mut ignores, PrioritySet::of(Priority::ALL[2]));
    let findings = judged(&plan, &ignores, 400);
    objects(&findings, Check::PauseLegality, &["s:p4 started a frame of priority 3"]);
}

#[test]
fn a_storm_on_a_class_excuses_frames_that_wait_there_for_the_priority_that_left_it() {
    for maps in [(APART, IN_ONE), (IN_ONE, APART)] {
        for changed in [30, 58, 75, 90] {
            let findings = found(&stormed(maps, changed));
            for finding in &findings {
                assert_ne!(finding.verdict, Verdict::Fail, "{maps:?} at {changed}: {findings:#?}");
            }
        }
    }
}
