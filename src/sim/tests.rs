//! The engine against times calculated by hand.

use super::teststar::incast;
use super::*;
use contracts::frame::Frame;
use ground::time::{Duration, Instant};

mod agents;
mod parts;
mod places;
pub(crate) mod secured;
mod timing;

/// All observations, as text.
#[derive(Default)]
struct Seen(Vec<(Instant, String)>);

impl Witness for Seen {
    fn arrived(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {
        self.0.push((at, format!("{} {}", direction.0, frame.wire_len())));
    }
    fn lost(&mut self, at: Instant, direction: Direction, _: &VirtualFrame, cause: Loss) {
        self.0.push((at, format!("{} {cause:?}", direction.0)));
    }
    fn noted(&mut self, at: Instant, node: NodeId, note: &Note) {
        if let Note::Dropped { .. } = note {
            self.0.push((at, format!("{node:?} {note:?}")));
        }
    }
}

fn run(plan: &NetworkPlan) -> Network<Seen> {
    let mut network = Network::new(plan, Seen::default()).unwrap();
    for ms in 1..50 {
        network.run_until(Instant::ZERO + Duration::from_millis(ms));
        if network.is_quiet() {
            break;
        }
    }
    network
}

#[test]
fn one_frame_takes_its_time_on_each_line() {
    let network = run(&incast(1, 1));
    // 8 bytes of preamble and 1,048 of frame at 80 ps each, 500 ns of cable; then the same without
    // the priority tag.
    let first = Instant::ZERO + Duration::from_picos(1056 * 80 + 500_000);
    let second = first + Duration::from_picos(1052 * 80 + 500_000);
    let expected = vec![(first, "1 1048".into()), (second, "2 1044".into())];
    assert_eq!(network.finish().0.0, expected);
}

#[test]
fn an_incast_loses_nothing_and_keeps_the_receiver_busy() {
    let mut network = run(&incast(4, 2_000));
    assert!(network.is_quiet());
    let NodeSnapshot { received, last } = received(&mut network, 5);
    assert_eq!(received, 8_000);
    // The receiver's line is never idle: 8,000 frames back to back behind the first.
    let line = Duration::from_picos(1064 * 80);
    let first = Duration::from_picos((1056 + 1052) * 80 + 2 * 500_000);
    assert_eq!(last, Instant::ZERO + first + line.saturating_mul(7_999));
    assert!(!network.finish().0.0.iter().any(|(_, what)| what.contains("Dropped")));
}

struct NodeSnapshot {
    received: u64,
    last: Instant,
}

fn snapshot(network: &mut Network<Seen>, node: u32) -> ::host::StationSnapshot {
    let now = network.now();
    let Node::Host(host) = network.nodes_mut().get_mut(NodeId(node)) else { panic!("no host") };
    host.snapshot(now)
}

/// Returns the number of flow frames that a host received.
fn sunk(network: &mut Network<Seen>, node: u32) -> u64 {
    snapshot(network, node).sinks.iter().map(|sink| sink.frames).sum()
}

/// Returns the frames that a host received, and the time of the last one.
fn received(network: &mut Network<Seen>, node: u32) -> NodeSnapshot {
    let received = sunk(network, node);
    let to = format!("{} 1044", 2 * (node - 1));
    let seen = &network.witness_mut().0;
    let last = seen.iter().rev().find(|(_, what)| *what == to).unwrap().0;
    NodeSnapshot { received, last }
}

#[test]
fn the_same_plan_gives_the_same_trace_and_no_order_of_nodes_matters() {
    let plan = incast(4, 500);
    let of = |plan: &NetworkPlan| {
        let network = run(plan);
        (network.trace_hash(), network.tally().frames)
    };
    let first = of(&plan);
    assert_eq!(first, of(&plan));
    assert_ne!(first.0, of(&incast(4, 501)).0);
}

#[test]
fn a_link_that_goes_down_takes_its_frames_along() {
    let mut plan = incast(1, 100);
    let at = Instant::ZERO + Duration::from_micros(2);
    let (down, up) = (FaultKind::Link { link: LinkId(0), up: false }, Duration::from_micros(1));
    plan.faults.push(Fault { at: at + up, kind: FaultKind::Link { link: LinkId(0), up: true } });
    plan.faults.push(Fault { at, kind: down });
    let mut network = run(&plan);
    assert!(network.is_quiet());
    let lost = network.tally().lost;
    assert!(lost > 0, "what is on a line of 500 ns is lost");
    assert_eq!(received(&mut network, 2).received + lost, 100);
}
