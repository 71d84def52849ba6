//! The checkers on protected networks: they see what is on the lines, and what is let through.

use super::fixture::*;
use crate::check::Check;
use crate::tests::secured::secure;
use crate::*;
use ground::time::Duration;
use ground::units::*;
use ground::verdict::Verdict;
use switch::rig;

fn protected(data: bool) -> NetworkPlan {
    let mut plan = incast(4, 500);
    (0..5).for_each(|link| {
        secure(&mut plan, link, data, |secy| {
            (secy.tx_delay, secy.rx_delay) = (Duration::from_nanos(40), Duration::from_nanos(30));
        });
    });
    plan
}

/// Attackers at both ends of all links.
fn attacked(mut plan: NetworkPlan) -> NetworkPlan {
    let octets = rig::pause(Mac([2, 0, 0, 0, 0, 7]), P3, u16::MAX);
    for n in 1..200_u64 {
        let direction = Direction((n * 7 % 10) as u32);
        let kind = match n % 2 {
            0 => FaultKind::Line(direction, LineFault::Forge(octets.as_slice().into())),
            _ => FaultKind::Line(direction, LineFault::Replay { back: (n % 4) as u32 }),
        };
        plan.faults.push(fault(at(0) + Duration::from_nanos(731 * n), kind));
    }
    plan
}

#[test]
fn protected_networks_pass_every_check_attacked_or_not() {
    for data in [false, true] {
        all_good(&run(&protected(data), 400));
        all_good(&run(&attacked(protected(data)), 400));
    }
}

/// Frames that the receiver has after 400 us.
fn received(plan: &NetworkPlan) -> u64 {
    let mut network = Network::new(plan, ()).unwrap();
    network.run_until(at(400));
    let Node::Host(host) = network.nodes_mut().get_mut(NodeId(5)) else { panic!() };
    host.counters().rx_frames
}

#[test]
fn the_attack_holds_up_those_who_obey_plain_pauses() {
    assert_eq!(received(&attacked(protected(false))), 2_000);
    assert_eq!(received(&incast(4, 500)), 2_000);
    assert!(received(&attacked(incast(4, 500))) < 2_000);
}

#[test]
fn a_frame_that_a_secy_swallows_ends_under_its_name() {
    let mut plan = protected(true);
    // The receiver has other keys than the switch thinks: all that it is sent is lost.
    host(&mut plan, 4).secy = Some(Box::new(contracts::memory::secy(99, 98, true)));
    let findings = run(&plan, 400);
    assert_eq!(of(&findings, Check::Frames).verdict, Verdict::Pass, "{findings:#?}");
    objects(&findings, Check::Lossless, &["MACsec lost a frame", "s:p4"]);
}
