//! Networks that stand still at the end, by frames that nobody sent and otherwise: never PASS.

use super::fixture::*;
use crate::check::{Check, Checkers, Finding};
use crate::defect::Sending;
use crate::*;
use contracts::frame::Frame;
use ground::time::Duration;
use ground::units::{PortId, Priority, PrioritySet};
use ground::verdict::Verdict;

const END: u64 = 1_000;

/// Runs a network, which holds frames at the end and moves none of them.
fn deadlock_of(plan: &NetworkPlan) -> Finding {
    let mut network = Network::new(plan, (Checkers::new(plan), Tape::default())).unwrap();
    network.run_until(at(END));
    let ((checkers, Tape(events)), mut nodes) = network.finish();
    let held = |n: u32| match nodes.get_mut(NodeId(n)) {
        Node::Switch(switch) => switch.held(),
        Node::Host(_) => 0,
    };
    let held: u64 = (0..plan.nodes.len() as u32).map(held).sum();
    let last = events.iter().rev().find_map(|event| match event {
        Event::Sent(at, _, frame, _) if frame.wire_len() > 500 => Some(*at),
        _ => None,
    });
    assert!(held > 0 && last.is_none_or(|last| last < at(END / 2)), "{held} held, {last:?}");
    of(&checkers.finish(at(END), &mut nodes), Check::Deadlock).clone()
}

/// A ring of three in which hosts send to the next if `load`, and frames that nobody sent come in beside
/// every host, to the one after the next, as `change` makes them.
fn forged(load: bool, change: impl Fn(&mut Vec<u8>)) -> NetworkPlan {
    let far = ring(3, 2, 10);
    let mut plan = ring(3, 1, if load { 3_000 } else { 1 });
    for host in 0..3 {
        let (_, mut frame) = data_frame(&far, |d| d == LinkId(3 + host).ba());
        change(&mut frame);
        for n in 0..1_500_u64 {
            let octets = frame.clone().into_boxed_slice();
            let direction = LinkId(3 + host).ba();
            let kind = FaultKind::Line(direction, LineFault::Forge(octets));
            plan.faults.push(fault(at(1) + Duration::from_nanos(85 * n), kind));
        }
    }
    plan
}

/// A change to a frame before it is forged.
type Change = dyn Fn(&mut Vec<u8>);

#[test]
fn a_deadlock_of_groups_filled_by_forged_frames_is_never_good() {
    let strange_source = |frame: &mut Vec<u8>| frame[6..12].copy_from_slice(&[2, 0xbb, 0, 0, 0, 1]);
    let other_dscp = |frame: &mut Vec<u8>| frame[15] = 26 << 2;
    let short = |frame: &mut Vec<u8>| frame.truncate(700);
    let tagged = |frame: &mut Vec<u8>| drop(frame.splice(12..12, [0x81, 0, 0x60, 0]));
    let as_it_is = |_: &mut Vec<u8>| ();
    let changes: [&Change; 5] = [&as_it_is, &strange_source, &other_dscp, &short, &tagged];
    for (n, change) in changes.into_iter().enumerate() {
        for load in [false, true] {
            let found = deadlock_of(&forged(load, change));
            assert_ne!(found.verdict, Verdict::Pass, "{n} {load}: {found:?}");
        }
    }
}

#[test]
fn a_deadlock_of_forged_frames_that_can_be_followed_fails() {
    let found = deadlock_of(&forged(false, |_| ()));
    assert_eq!(found.verdict, Verdict::Fail, "{found:?}");
}

#[test]
fn a_network_that_stands_still_at_the_end_is_never_good() {
    let mut plan = incast(3, 500);
    host(&mut plan, 3).pauses.push(storm(u16::MAX, 20, 100, 20));
    let found = deadlock_of(&plan);
    assert_eq!(found.verdict, Verdict::NotJudged, "{found:?}");
}

#[test]
fn a_switch_that_is_stalled_at_the_end_is_not_judged_while_hosts_send_into_it() {
    let verdict = |span: u64| {
        let mut plan = incast(3, 50_000);
        let span = Duration::from_micros(span);
        plan.faults.push(fault(at(50), FaultKind::Stall { node: NodeId(0), span }));
        let mut network = Network::new(&plan, Checkers::new(&plan)).unwrap();
        network.run_until(at(END));
        let (checkers, mut nodes) = network.finish();
        of(&checkers.finish(at(END), &mut nodes), Check::Deadlock).clone()
    };
    let found = verdict(5 * END);
    assert_eq!(found.verdict, Verdict::NotJudged, "{found:?}");
    assert!(found.detail.contains("s stands still since 50"), "{found:?}");
    assert_eq!(verdict(50).verdict, Verdict::Pass);
}

#[test]
fn a_queue_that_a_host_pauses_to_the_end_is_not_judged_while_others_move() {
    let verdict = |pauses: u64| {
        // Two hosts send to the last, which pauses them, and one to another host, all for the whole run.
        let mut plan = incast(3, 50_000);
        host(&mut plan, 3).pauses.push(storm(u16::MAX, 20, 100, pauses));
        *host(&mut plan, 0) = station(0, &[1], 50_000, &[]);
        *host(&mut plan, 1) = station(1, &[3], 50_000, &[0]);
        let mut network = Network::new(&plan, Checkers::new(&plan)).unwrap();
        network.run_until(at(END));
        let (checkers, mut nodes) = network.finish();
        of(&checkers.finish(at(END), &mut nodes), Check::Deadlock).clone()
    };
    let found = verdict(20);
    assert_eq!(found.verdict, Verdict::NotJudged, "{found:?}");
    assert!(found.detail.contains("has sent nothing since"), "{found:?}");
    assert_eq!(verdict(1).verdict, Verdict::Pass);
}

/// Adds pauses of priority 3 that nobody sent, on a line of the ring, every 300 us from this time in microseconds on.
fn forge_pauses(plan: &mut NetworkPlan, direction: Direction, quanta: u16, from: u64) {
    let mut octets = vec![1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 7, 0x88, 8, 1, 1, 0, 8];
    octets.resize(60, 0);
    octets[24..26].copy_from_slice(&quanta.to_be_bytes());
    for time in (from..END).step_by(300) {
        let kind = FaultKind::Line(direction, LineFault::Forge(octets.clone().into()));
        plan.faults.push(fault(at(time), kind));
    }
}

/// Has a switch pause the one behind it without end, although no group wants it.
pub(super) fn pauses_for_ever(plan: &mut NetworkPlan, switch: u32) {
    let end = End { node: NodeId(switch), port: PortId::new(2).unwrap() };
    let defect = Sending::ForEver { priorities: PrioritySet::of(Priority::ALL[3]) }.into();
    plan.faults.push(fault(at(5), FaultKind::Defect { end, defect }));
}

#[test]
fn a_network_that_forged_pauses_hold_up_is_not_judged() {
    let mut plan = ring(3, 1, 1_000);
    // As of s1, to the port of s0 that sends to it.
    forge_pauses(&mut plan, LinkId(0).ba(), u16::MAX, 5);
    let found = deadlock_of(&plan);
    assert_eq!(found.verdict, Verdict::NotJudged, "{found:?}");
    assert!(found.detail.contains("forged pauses hold up s0:p1"), "{found:?}");
}

/// What waits for a switch that is held up stands still for the same reason.
#[test]
fn queues_that_wait_for_one_with_forged_pauses_are_not_judged() {
    // Two switches further: s0 waits for s1, which is held up.
    let mut plan = ring(4, 2, 1_000);
    for host in 1..4 {
        plan.nodes[4 + host].kind = NodeKind::Host(station(host as u8, &[], 0, &[]));
    }
    forge_pauses(&mut plan, LinkId(1).ba(), u16::MAX, 5);
    let found = deadlock_of(&plan);
    assert_eq!(found.verdict, Verdict::NotJudged, "{found:?}");
    assert!(found.detail.contains("forged pauses hold up s1:p1"), "{found:?}");
}

#[test]
fn a_circle_of_queues_fails_beside_forged_pauses() {
    for direction in [LinkId(0).ba(), LinkId(0).ab(), LinkId(3).ba()] {
        let mut plan = ring(3, 2, 2_000);
        // The circle closes before.
        forge_pauses(&mut plan, direction, u16::MAX, 400);
        let found = deadlock_of(&plan);
        assert_eq!(found.verdict, Verdict::Fail, "{found:?}");
    }
}

#[test]
fn a_switch_whose_defect_holds_frames_up_fails_beside_forged_pauses_elsewhere() {
    for quanta in [100, u16::MAX] {
        let mut plan = ring(3, 1, 1_000);
        pauses_for_ever(&mut plan, 1);
        forge_pauses(&mut plan, LinkId(1).ba(), quanta, 5);
        let found = deadlock_of(&plan);
        assert_eq!(found.verdict, Verdict::Fail, "{quanta}: {found:?}");
    }
}
