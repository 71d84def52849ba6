//! Clocks, processors, cut-through ports, and random errors.

use super::*;
use crate::teststar::{host, the_switch};
use ground::rand::Rng;
use ground::units::BitsPerSec;

/// Returns the time at which a host's only frame arrives at the receiver.
fn first_arrival(plan: &NetworkPlan, node: u32) -> Instant {
    received(&mut run(plan), node).last
}

fn at_picos(ps: u64) -> Instant {
    Instant::from_picos(ps.into())
}

#[test]
fn a_fast_clock_sends_its_frames_closer_together() {
    let mut plan = incast(1, 10_000);
    // The switch has to keep up with a host that is 100 ppm too fast.
    for node in &mut plan.nodes {
        node.clock.drift_ppb = 100_000;
        node.clock.offset = Duration::from_millis(7);
    }
    let NodeSnapshot { received, last } = received(&mut run(&plan), 2);
    assert_eq!(received, 10_000);
    // The receiver's line is that of the switch: 1,064 bytes for each frame after the first.
    let exact = (1056 + 1052) * 80 + 2 * 500_000 + 9_999 * 1068 * 80;
    let off = (last.as_picos() as f64 / exact as f64 - 1.0) * 1e6;
    assert!((-100.2..-99.0).contains(&off), "{off} ppm off");
}

#[test]
fn a_cut_through_port_passes_a_frame_on_when_its_header_is_there() {
    let mut plan = incast(1, 1);
    plan.nodes[0].cut_through = true;
    // 64 bytes and the preamble and gap that the line includes, then the cable; on the second line
    // the whole frame without its tag, because the host waits for the end.
    let start = (64 + 20) * 80 + 500_000;
    assert_eq!(first_arrival(&plan, 2), at_picos(start + 1052 * 80 + 500_000));
}

#[test]
fn a_cut_through_port_waits_for_a_slow_line_to_bring_enough() {
    let mut plan = incast(1, 1);
    plan.nodes[0].cut_through = true;
    let slow = BitsPerSec::gbps(25);
    plan.links[0].rate = slow;
    the_switch(&mut plan).ports[0].rate = slow;
    host(&mut plan, 0).rate = slow;
    // The last bit arrives 1,068 x 320 ps after the first starts; the fast line needs a quarter of
    // that, so the frame may start when three quarters are there.
    let start = 1068 * (320 - 80) + 500_000;
    assert_eq!(first_arrival(&plan, 2), at_picos(start + 1052 * 80 + 500_000));
}

#[test]
fn a_processor_that_is_busy_looks_later() {
    let mut plan = incast(1, 2);
    plan.nodes[0].cpu = CpuPlan {
        poll: Duration::from_nanos(100),
        frame: Duration::from_nanos(50),
        byte: Duration::from_picos(10),
    };
    let mut network = run(&plan);
    let first = 1056 * 80 + 500_000;
    // The second frame arrives while the first is processed, and waits for the rest of that time.
    let busy = first + 150_000 + 1048 * 10;
    let second = busy + 1052 * 80 + 500_000;
    assert_eq!(received(&mut network, 2).last, at_picos(second));
}

#[test]
fn a_pause_is_obeyed_as_late_as_its_receiver_responds() {
    let arrival = |response: u64| {
        let mut plan = incast(2, 3_000);
        for link in &mut plan.links {
            link.ba.response = Duration::from_nanos(response);
            link.ab.response = Duration::from_nanos(response);
        }
        let network = run(&plan);
        let seen = network.finish().0.0;
        seen.iter().find(|(_, what)| *what == "0 64").expect("a pause to the first host").0
    };
    assert_eq!(arrival(614).since(arrival(0)), Duration::from_nanos(614));
}

#[test]
fn whatever_order_ties_have_nothing_is_lost_and_everything_arrives() {
    let plain = run(&incast(4, 500));
    let mut traces = vec![plain.trace_hash()];
    for seed in 1..=8 {
        let mut plan = incast(4, 500);
        plan.shuffle = Some(seed);
        let mut network = run(&plan);
        assert!(network.is_quiet());
        assert_eq!(received(&mut network, 5).received, 2_000, "seed {seed}");
        traces.push(network.trace_hash());
    }
    traces.sort_unstable();
    traces.dedup();
    assert!(traces.len() > 4, "the order is really drawn: {traces:x?}");
}

#[test]
fn frames_are_lost_as_often_as_the_link_loses_them() {
    let mut plan = incast(1, 20_000);
    // One in a hundred, and one bit in a million: about 0.83 % of frames of 8,384 bits.
    plan.links[0].ba.errors = ErrorPlan { bit: u64::MAX / 1_000_000, frame: u64::MAX / 100 };
    let mut network = run(&plan);
    let lost = network.tally().lost;
    assert_eq!(received(&mut network, 2).received + lost, 20_000);
    let expected = 20_000.0 * (0.01 + 0.99 * (1.0 - (1.0 - 1e-6_f64).powi(8384)));
    assert!((lost as f64 - expected).abs() < 4.0 * expected.sqrt(), "{lost} of {expected:.0}");
}

#[test]
fn any_division_of_a_run_into_steps_gives_the_same_trace() {
    let plan = incast(4, 300);
    let whole = run(&plan).trace_hash();
    let mut rng = Rng::new(7);
    let mut network = Network::new(&plan, ()).unwrap();
    let mut until = Instant::ZERO;
    while !network.is_quiet() {
        until += Duration::from_picos(rng.next_u64() % 2_000_000);
        network.run_until(until);
    }
    assert_eq!(network.trace_hash(), whole);
}

#[test]
#[should_panic(expected = "a frame arrives in the past")]
fn a_window_longer_than_a_line_is_noticed() {
    let mut network = Network::new(&incast(4, 300), ()).unwrap();
    network.widen_windows();
    network.run_until(Instant::ZERO + Duration::from_millis(1));
}

#[test]
fn the_trace_is_this_one_on_every_machine_and_in_every_profile() {
    let network = run(&incast(4, 500));
    assert_eq!(format!("{:016x}", network.trace_hash()), GOLDEN, "see the comment of GOLDEN");
}

/// Trace hash of a reference network. It changes with the time, order or bytes of any frame, so
/// with the data plane, the hosts or the engine. Explain a change before updating it.
const GOLDEN: &str = "79b3e32e0aafc75a";
