//! Links between ports with MACsec: times, accepted frames, and rejected ones.

use proptest::prelude::*;

use super::*;
use crate::teststar::host;
use ::host::{Demand, FlowId, FlowPlan};
use ::secure::{An, SecyPlan};
use ::wire::mac_control::FRAME_LEN;
use contracts::memory::secy;
use contracts::port::Port;
use ground::units::*;
use switch::rig;

/// Protects pauses at both ends of a link, and data if `data`, with the changes of `edit`.
pub(crate) fn secure(
    plan: &mut NetworkPlan,
    link: usize,
    data: bool,
    edit: impl Fn(&mut SecyPlan),
) {
    let (a, b) = (2 * link as u8 + 1, 2 * link as u8 + 2);
    let ends = [plan.links[link].a, plan.links[link].b];
    for (end, (own, peer)) in ends.into_iter().zip([(a, b), (b, a)]) {
        let mut secy = secy(own, peer, data);
        edit(&mut secy);
        let place = match &mut plan.nodes[end.node.index()].kind {
            NodeKind::Switch(switch) => &mut switch.ports[end.port.index()].secy,
            NodeKind::Host(host) => &mut host.secy,
        };
        *place = Some(Box::new(secy));
    }
}

/// Shims of 300 and 200 ns.
pub(super) fn shims(secy: &mut SecyPlan) {
    (secy.tx_delay, secy.rx_delay) = (Duration::from_nanos(300), Duration::from_nanos(200));
}

fn counters(network: &mut Network<Seen>, node: u32) -> ::secure::SecySnapshot {
    *snapshot(network, node).secy.expect("it has a SecY")
}

#[test]
fn a_protected_frame_takes_longer_by_its_protection_and_the_shims() {
    let mut plan = incast(1, 1);
    secure(&mut plan, 0, true, shims);
    secure(&mut plan, 1, true, |_| {});
    let network = run(&plan);
    let first = Instant::ZERO + Duration::from_picos((1056 + 24) * 80 + 1_000_000);
    let second = first + Duration::from_picos((1052 + 24) * 80 + 500_000);
    let expected = vec![(first, "1 1048".into()), (second, "2 1044".into())];
    assert_eq!(network.finish().0.0, expected);
}

#[test]
fn a_protected_line_is_as_busy_as_it_can_be() {
    let mut plan = incast(4, 1_000);
    (0..5).for_each(|link| secure(&mut plan, link, true, |_| {}));
    let mut network = run(&plan);
    assert!(network.is_quiet());
    let NodeSnapshot { received, last } = received(&mut network, 5);
    assert_eq!(received, 4_000);
    let line = Duration::from_picos((1064 + 24) * 80);
    let first = Duration::from_picos((1056 + 1052 + 48) * 80 + 2 * 500_000);
    assert_eq!(last, Instant::ZERO + first + line.saturating_mul(3_999));
    assert_eq!(network.tally().lost, 0);
    let seen = counters(&mut network, 5);
    assert_eq!(seen.receive[0].unwrap().counters.in_pkts_ok, 4_000);
}

#[test]
fn a_protected_pause_is_obeyed_later_and_protects_as_well() {
    let run_of = |secured: bool| {
        let mut plan = incast(2, 3_000);
        if secured {
            (0..2).for_each(|link| secure(&mut plan, link, false, shims));
        }
        let mut network = run(&plan);
        assert_eq!(sunk(&mut network, 3), 6_000, "nothing is lost");
        let pause = if secured { "0 88" } else { "0 64" };
        let seen = &network.witness_mut().0;
        seen.iter().find(|(_, what)| what == pause).expect("a pause to the first host").0
    };
    let more = run_of(true).since(run_of(false));
    assert_eq!(more, Duration::from_picos(24 * 80 + 500_000));
}

#[test]
fn pauses_among_data_are_validated_in_the_order_of_their_last_bits() {
    // Hosts send data in both directions, and respond to pauses later than several frames take.
    let mut there = incast(2, 3_000);
    let back: Vec<FlowPlan> = (0..2)
        .map(|n| {
            let flow = &host(&mut there, n).flows[0];
            FlowPlan { id: FlowId(n as u32 + 900), src: flow.dst, dst: flow.src, ..flow.clone() }
        })
        .collect();
    for response in [0, 100, 614, 5_000] {
        let mut plan = incast(2, 3_000);
        host(&mut plan, 2).flows = back.clone();
        for link in 0..3 {
            secure(&mut plan, link, true, |_| {});
            let response = Duration::from_nanos(response);
            (plan.links[link].ab.response, plan.links[link].ba.response) = (response, response);
        }
        let mut network = run(&plan);
        assert!(network.is_quiet());
        assert_eq!(network.tally().lost, 0, "response {response}");
        let counters = counters(&mut network, 1).receive[0].unwrap().counters;
        let pauses = network.witness_mut().0.iter().filter(|(_, what)| what == "0 64");
        assert!(pauses.count() > 4, "pauses come among the data");
        assert_eq!(counters.in_pkts_late, 0, "response {response}: {counters:?}");
    }
}

#[test]
fn other_keys_lose_every_pause_and_so_does_no_secy() {
    for there in [true, false] {
        let mut plan = incast(2, 3_000);
        for link in 0..2 {
            secure(&mut plan, link, false, |_| {});
            host(&mut plan, link).secy = there.then(|| Box::new(secy(99, 98, false)));
        }
        let mut network = run(&plan);
        let dropped = network.witness_mut().0.iter().any(|(_, what)| what.contains("Dropped"));
        assert!(dropped, "nobody hears the switch");
        let lost = network.witness_mut().0.iter().filter(|(_, what)| what.ends_with("Secy"));
        assert_eq!(lost.count() > 0, there);
    }
}

/// A plain pause of priority 3, of the maximum time.
fn storm() -> Box<[u8]> {
    rig::pause(Mac([2, 0, 0, 0, 0, 7]), Priority::ALL[3], u16::MAX).into()
}

#[test]
fn forged_and_repeated_pauses_change_nothing() {
    let mut plan = incast(2, 3_000);
    (0..2).for_each(|link| secure(&mut plan, link, false, shims));
    let plain = {
        let mut network = run(&plan);
        assert_eq!(sunk(&mut network, 3), 6_000);
        received(&mut network, 3).last
    };
    let (mut forged, mut repeated) = (0, 0);
    for n in 1..300_u64 {
        let at = Instant::ZERO + Duration::from_nanos(n * 1_000);
        let direction = LinkId((n % 2) as u32).ab();
        let kind = if n % 3 == 0 {
            repeated += 1;
            FaultKind::Line(direction, LineFault::Replay { back: (n % 5) as u32 })
        } else {
            forged += 1;
            FaultKind::Line(direction, LineFault::Forge(storm()))
        };
        plan.faults.push(Fault { at, kind });
    }
    let mut network = run(&plan);
    assert_eq!(received(&mut network, 3).last, plain, "to the picosecond");
    let (mut refused, mut old) = (0, 0);
    for host in [1, 2] {
        let seen = counters(&mut network, host);
        refused += seen.counters.in_pause_plain;
        let channel = seen.receive[0].unwrap().counters;
        old += channel.in_pkts_late + channel.in_pkts_replayed;
        assert_eq!(channel.in_pkts_not_valid, 0);
    }
    assert_eq!(refused, forged);
    assert!(old > 0 && old <= repeated, "{old} of {repeated}; the first came before any pause");
}

/// An attack: true for the first host, time in nanoseconds, and kind.
type Attack = (bool, u64, Attempt);

#[derive(Clone, Debug)]
enum Attempt {
    /// A plain pause of all priorities, or of the link.
    Plain(bool),
    /// A frame protected by a key of the attacker, with this packet number.
    OtherKey(u32),
    /// Anything behind a SecTAG's EtherType.
    Noise(Vec<u8>),
    /// A replayed frame.
    Replay(u32),
}

impl Attempt {
    fn fault(&self, direction: Direction) -> FaultKind {
        let pause = storm();
        let octets = match self {
            Self::Plain(true) => pause,
            Self::Plain(false) => {
                let mut octets = pause;
                octets[14..].fill(0);
                octets[14..18].copy_from_slice(&[0, 1, 0xff, 0xff]);
                octets
            }
            Self::OtherKey(pn) => {
                let mut plan = secy(1, 2, false);
                let sa = contracts::memory::association(0x5a);
                let pn = u64::from((*pn).max(1));
                plan.transmit[0] = Some(::secure::SaPlan { pn, ..sa });
                let mut attacker = ::secure::Secy::new(&plan).unwrap();
                let mut octets = vec![0; 8 + FRAME_LEN + 16];
                octets[8..8 + FRAME_LEN].copy_from_slice(&pause);
                attacker.protect(&mut octets).unwrap();
                octets.into()
            }
            Self::Noise(noise) => {
                let mut octets = pause.to_vec();
                octets.extend_from_slice(&[0; 24]);
                octets[12..14].copy_from_slice(&[0x88, 0xe5]);
                octets[14..14 + noise.len()].copy_from_slice(noise);
                octets.into()
            }
            Self::Replay(back) => {
                return FaultKind::Line(direction, LineFault::Replay { back: *back });
            }
        };
        FaultKind::Line(direction, LineFault::Forge(octets))
    }
}

fn attempt() -> impl Strategy<Value = Attempt> {
    prop_oneof![
        any::<bool>().prop_map(Attempt::Plain),
        any::<u32>().prop_map(Attempt::OtherKey),
        prop::collection::vec(any::<u8>(), 0..70).prop_map(Attempt::Noise),
        (0_u32..8).prop_map(Attempt::Replay),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    // All arrivals and their times are the same to the picosecond.
    #[test]
    fn no_attack_on_protected_pauses_changes_when_anything_arrives(
        attacks in prop::collection::vec((any::<bool>(), 0_u64..80_000, attempt()), 1..120),
    ) {
        let mut plan = incast(2, 600);
        (0..2).for_each(|link| secure(&mut plan, link, false, shims));
        let quiet = run(&plan).finish().0.0;
        prop_assert!(quiet.iter().filter(|(_, what)| what == "0 88").count() > 0, "it pauses");
        let attacks: Vec<Attack> = attacks;
        for (first, ns, attempt) in &attacks {
            let direction = LinkId(u32::from(*first)).ab();
            let at = Instant::ZERO + Duration::from_nanos(*ns);
            plan.faults.push(Fault { at, kind: attempt.fault(direction) });
        }
        let attacked = run(&plan).finish().0.0;
        let differs = core::iter::zip(&attacked, &quiet).find(|(a, q)| a != q);
        prop_assert_eq!(differs, None);
        prop_assert_eq!(attacked.len(), quiet.len());
    }
}

#[test]
fn a_sender_without_numbers_left_sends_nothing_protected() {
    let mut plan = incast(1, 0);
    secure(&mut plan, 0, false, |secy| {
        secy.transmit[An::ALL[0].index()].as_mut().unwrap().pn = u64::from(u32::MAX) - 1;
        secy.receive[0].associations[0].as_mut().unwrap().pn = u64::from(u32::MAX) - 1;
    });
    host(&mut plan, 0).pauses.push(::host::PausePlan {
        ask: Demand::pfc(PrioritySet::of(Priority::ALL[3]), Quanta(10)),
        start: Instant::ZERO,
        every: Duration::from_micros(1),
        frames: 5,
    });
    let mut network = run(&plan);
    let sender = counters(&mut network, 1);
    assert_eq!(sender.counters.out_pn_exhausted, 3);
    let seen = &network.witness_mut().0;
    assert_eq!(seen.iter().filter(|(_, what)| what == "1 88").count(), 2);
    assert_eq!(seen.iter().filter(|(_, what)| what == "1 Secy").count(), 3);
}

#[test]
fn hosts_may_protect_data_across_a_switch_that_knows_nothing_of_it() {
    let mut plan = incast(1, 100);
    for (n, (own, peer)) in [(0, (1, 2)), (1, (2, 1))] {
        host(&mut plan, n).secy = Some(Box::new(secy(own, peer, true)));
    }
    let mut network = run(&plan);
    assert_eq!(sunk(&mut network, 2), 100);
    assert_eq!(counters(&mut network, 2).receive[0].unwrap().counters.in_pkts_ok, 100);
    let seen = &network.witness_mut().0;
    assert!(seen.iter().any(|(_, what)| what == "1 1072"), "the switch has it as it is");
}

/// A listener on a line: records bytes and lengths.
#[derive(Default)]
struct Listener(Vec<(Vec<u8>, u32)>);

impl Witness for Listener {
    fn sent(&mut self, _: Instant, _: Direction, frame: &VirtualFrame, _: Instant) {
        let (octets, len) = frame.on_line();
        self.0.push((octets.into(), len));
    }
}

#[test]
fn who_listens_to_a_line_sees_what_is_protected_and_no_more() {
    let mut plan = incast(2, 3_000);
    secure(&mut plan, 0, true, |_| {});
    secure(&mut plan, 1, false, |_| {});
    let mut network = Network::new(&plan, Listener::default()).unwrap();
    network.run_until(Instant::ZERO + Duration::from_millis(1));
    let seen = network.finish().0.0;
    let of = |len: u32| seen.iter().filter(move |(_, l)| *l == len).map(|(octets, _)| octets);
    // Data of the first host, and pauses for both: all of these are whole.
    assert_eq!(of(1072).count(), 3_000);
    assert!(of(1072).all(|octets| octets[12..14] == [0x88, 0xe5]));
    assert!(of(88).count() > 2 && of(64).count() == 0);
    for octets in of(88) {
        assert_eq!((octets.len(), &octets[12..14]), (84, &[0x88, 0xe5][..]));
        assert!(!octets.windows(4).any(|octets| octets == [0x88, 0x08, 1, 1]));
    }
}

#[test]
fn keys_may_be_looked_at_and_changed_in_a_running_network() {
    let mut plan = incast(1, 10);
    secure(&mut plan, 0, true, |_| {});
    let mut network = run(&plan);
    let Node::Switch(switch) = network.nodes_mut().get_mut(NodeId(0)) else { panic!() };
    let secy = switch.port_mut(PortId::MIN).unwrap().secy().expect("port 0 is protected");
    assert_eq!(secy.snapshot().receive[0].unwrap().counters.in_pkts_ok, 10);
}

/// A guard that leaves out one check admits what its SecY rejects for that alone.
#[test]
fn a_defect_leaves_out_one_check() {
    use crate::defect::{Defect, Securing};
    use ::secure::{Sci, SecyChange};
    use contracts::port::Port as _;

    let (own, peer) = (secy(1, 2, true), secy(2, 1, true));
    let pause = rig::pause(peer.sci.mac, Priority::ALL[3], 9);
    // A frame of the peer as it is on the line, after a change of its plan.
    let sealed = |change: &dyn Fn(&mut SecyPlan)| {
        let mut plan = peer.clone();
        change(&mut plan);
        let mut secy = ::secure::Secy::new(&plan).unwrap();
        let front = secy.front();
        let mut room = vec![0; front + pause.len() + ::secure::Secy::BACK];
        room[front..front + pause.len()].copy_from_slice(&pause);
        secy.protect(&mut room).unwrap();
        room
    };
    let valid = sealed(&|_| {});
    let later = |plan: &mut SecyPlan| plan.transmit.iter_mut().flatten().for_each(|sa| sa.pn = 5);
    let mut forged = sealed(&later);
    *forged.last_mut().unwrap() ^= 1;
    let foreign = sealed(&|plan| {
        plan.sci = Sci { port: 9, ..plan.sci };
        plan.sci_form = ::secure::SciForm::Explicit;
    });
    let unknown = sealed(&|plan| {
        plan.transmit.swap(0, 2);
        plan.encoding = An::ALL[2];
    });
    let kinds = [
        Securing::ObeysReplays,
        Securing::ObeysForged,
        Securing::ObeysOldKeys,
        Securing::ObeysAnyChannel,
    ];
    for kind in kinds {
        let mut port = VirtualPort::new(None, Some(&own), pfc::FlowControl::Off).unwrap();
        port.add_defect(Defect::Securing(kind), BitsPerSec::gbps(100));
        let mut admits = |octets: &[u8]| port.admits(&mut VirtualFrame::whole(octets));
        assert!(admits(&valid));
        let rejected = [&valid, &forged, &unknown, &foreign];
        for (other, octets) in kinds.iter().zip(rejected) {
            assert_eq!(admits(octets), *other == kind, "{kind:?} and a frame of {other:?}");
        }
        // A key that is gone is an old one; a device that mixes up channels finds it, too.
        if kind == Securing::ObeysAnyChannel {
            continue;
        }
        let change = SecyChange::RemoveReceive { sci: peer.sci, an: An::ALL[0] };
        port.secy_mut().unwrap().change(&change).unwrap();
        let admitted = port.admits(&mut VirtualFrame::whole(&valid));
        assert_eq!(admitted, kind == Securing::ObeysOldKeys, "{kind:?}");
    }
}
