//! Networks that stand still at the end, by frames that nobody sent and otherwise: never PASS.

use super::fixture::*;
use crate::check::{Check, Checkers, Finding};
use crate::*;
use contracts::frame::Frame;
use ground::time::Duration;
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
