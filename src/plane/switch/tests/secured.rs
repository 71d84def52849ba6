//! A switch with MACsec on its ports, in both directions.

use proptest::prelude::*;

use crate::SecyRefused;
use crate::rig::*;
use contracts::frame::{Burst, Frame};
use contracts::memory::{association, secy};
use contracts::port::{Port, Secured};
use ground::time::Duration;
use ground::units::*;
use schedule::LinePlan;
use secure::{An, SecyChange, SecyPlan};
use wire::mac_control::FRAME_LEN;

/// Three ports, of which port 0 protects pauses, and data if `data`; and the other end of its link.
fn lab(data: bool) -> (Lab, Secured<MemPort>) {
    let mut plan = plan(3);
    plan.ports[0].secy = Some(Box::new(secy(1, 2, data)));
    let peer = Secured::new(MemPort::endless(), Some(&secy(2, 1, data))).unwrap();
    let mut lab = Lab::new(&plan);
    // Host n is behind port n.
    for n in 0..3 {
        let octets = frame(host(9), host(n), None, 60);
        let octets = if n == 0 && data { by(&secy(2, 1, true), &octets) } else { octets };
        lab.inject(n.into(), &octets);
    }
    lab.poll_until_idle();
    lab.clear();
    (lab, peer)
}

/// Returns `octets` as sent on the line by a port with this plan.
fn by(plan: &SecyPlan, octets: &[u8]) -> Vec<u8> {
    let mut port = Secured::new(MemPort::endless(), Some(plan)).unwrap();
    seal(&mut port, octets)
}

/// Returns a frame as protected by a port.
fn seal(port: &mut Secured<MemPort>, octets: &[u8]) -> Vec<u8> {
    let mut out = Burst::new();
    out.push(port.control_frame(octets).unwrap());
    port.tx_burst(&mut out);
    let [frame] = port.port_mut().tx.drain(..).collect::<Vec<_>>().try_into().unwrap();
    frame.head().to_vec()
}

/// Returns a received frame as accepted by a port, if it is.
fn open(port: &mut Secured<MemPort>, octets: &[u8]) -> Option<Vec<u8>> {
    port.port_mut().rx.push_back(MemFrame::new(octets));
    let mut burst = Burst::new();
    port.rx_burst(&mut burst);
    burst.pop().map(|frame| frame.head().to_vec())
}

fn pause(quanta: u16) -> Vec<u8> {
    crate::rig::pause(host(0), Priority::ALL[3], quanta)
}

/// Returns true if port 0 sends frames of priority 3 now.
fn sends(lab: &mut Lab) -> bool {
    lab.deliver(1, &frame(host(0), host(1), Some((3, 0)), 100));
    !lab.sent(0).is_empty()
}

#[test]
fn only_a_fresh_and_protected_pause_pauses() {
    for data in [false, true] {
        let (mut lab, mut peer) = lab(data);
        if data {
            // The number of the frame by which the host was learnt.
            let _ = seal(&mut peer, &frame(host(9), host(0), None, 60));
        }
        assert!(sends(&mut lab));
        lab.inject(0, &pause(0xffff));
        assert!(sends(&mut lab), "a plain one does not");
        let sealed = seal(&mut peer, &pause(1_000));
        let mut forged = sealed.clone();
        *forged.last_mut().unwrap() ^= 1;
        lab.inject(0, &forged);
        assert!(sends(&mut lab), "a forged one does not");
        lab.inject(0, &sealed);
        assert!(!sends(&mut lab), "the true one does");
        // 1,000 quanta of 51.2 ns.
        lab.advance(Duration::from_micros(52));
        assert!(!lab.sent(0).is_empty());
        lab.inject(0, &sealed);
        assert!(sends(&mut lab), "and never again");

        let now = lab.now;
        let snapshot = lab.switch.snapshot(now);
        let port = &snapshot.ports[0];
        assert_eq!(port.counters.priorities[3].pfc_rx_frames, 1);
        let secy = port.secy.as_ref().unwrap();
        let channel = secy.receive[0].unwrap().counters;
        assert_eq!(secy.counters.in_pause_plain, 1);
        assert_eq!(channel.in_pkts_not_valid, 1);
        assert_eq!(channel.in_pkts_late + channel.in_pkts_replayed, 1);
        assert!(snapshot.ports[1].secy.is_none());
        lab.check();
    }
}

/// Fills the buffer with frames received by port 0, so that its peer has to pause.
fn congest(lab: &mut Lab, mut line: impl FnMut(&[u8]) -> Vec<u8>) {
    lab.port(1).room = 0;
    for _ in 0..200 {
        let octets = line(&frame(host(1), host(0), Some((3, 0)), 1_000));
        lab.inject(0, &octets);
    }
    lab.poll_until_idle();
}

#[test]
fn a_pause_of_the_switch_leaves_protected_and_its_peer_understands_it() {
    for data in [false, true] {
        let (mut lab, mut peer) = lab(data);
        if data {
            let _ = seal(&mut peer, &frame(host(9), host(0), None, 60));
        }
        congest(&mut lab, |octets| if data { seal(&mut peer, octets) } else { octets.to_vec() });
        let sent = lab.sent(0);
        assert!(!sent.is_empty(), "a pause is due");
        for octets in &sent {
            assert_eq!(octets[..6], [1, 0x80, 0xc2, 0, 0, 1]);
            assert_eq!(octets[12..14], [0x88, 0xe5]);
            let inner = open(&mut peer, octets).expect("the peer accepts it");
            assert_eq!((inner.len(), &inner[12..16]), (FRAME_LEN, &[0x88, 0x08, 1, 1][..]));
        }
        lab.check();
    }
}

#[test]
fn a_pause_takes_its_whole_length_of_a_shaped_line() {
    // PFC only: the pause frame is longer. With data: every frame is longer on the line.
    for data in [false, true] {
        let mut plan = plan(2);
        plan.ports[0].secy = Some(Box::new(secy(1, 2, data)));
        plan.ports[0].shaped = true;
        plan.ports[0].rate = BitsPerSec::gbps(10);
        assert_eq!(plan.ports[0].protected_line().overhead, if data { 44 } else { 20 });
        assert_eq!(plan.ports[1].protected_line(), LinePlan::ETHERNET);
        let mut lab: Lab = Lab::new(&plan);
        let mut peer = Secured::new(MemPort::endless(), Some(&secy(2, 1, data))).unwrap();
        lab.deliver(1, &frame(host(9), host(1), None, 60));
        let _ = lab.sent(0);
        lab.advance(Duration::from_micros(1));
        congest(&mut lab, |octets| if data { seal(&mut peer, octets) } else { octets.to_vec() });
        assert_eq!(lab.sent(0).len(), 1);
        lab.inject(1, &frame(host(0), host(1), None, 100));
        let free = lab.poll_until_idle().since(lab.now);
        assert_eq!(free, Duration::from_picos((64 + 24 + 20) * 800), "{data}");
    }
}

#[test]
fn keys_are_changed_while_frames_pass() {
    let (mut lab, mut peer) = lab(true);
    let an = An::ALL[1];
    let install = SecyChange::InstallTransmit { an, sa: association(50) };
    lab.switch.change_secy(port(0), &install).unwrap();
    lab.switch.change_secy(port(0), &SecyChange::UseTransmit(an)).unwrap();
    lab.deliver(1, &frame(host(0), host(1), None, 100));
    let sent = lab.sent(0);
    assert_eq!(sent[0][14] & 3, 1, "the association's number");
    assert!(open(&mut peer, &sent[0]).is_none(), "the peer has no such key yet");
    let sci = secy(1, 2, true).sci;
    let sa = association(50);
    peer.secy_mut().unwrap().change(&SecyChange::InstallReceive { sci, an, sa }).unwrap();
    assert!(open(&mut peer, &sent[0]).is_some());
    let refused = lab.switch.change_secy(port(1), &SecyChange::UseTransmit(an));
    assert_eq!(refused, Err(SecyRefused::NoSecy(port(1))));
}

proptest! {
    // A device that refuses costs nothing: the ledger is credited for what the port has accepted,
    // nothing is lost or sent twice, and the peer, which demands strict order, accepts all.
    #[test]
    fn a_device_that_refuses_costs_no_frame_and_no_number(
        rooms in prop::collection::vec(0_usize..12, 1..40),
    ) {
        let (mut lab, mut peer) = lab(true);
        let mut arrived = 0;
        let mut read = |lab: &mut Lab| {
            let sent = lab.sent(0);
            sent.iter().filter(|octets| open(&mut peer, octets).is_some()).count()
        };
        for (n, room) in rooms.iter().enumerate() {
            lab.port(0).room = *room;
            for k in 0..n % 9 {
                let pcp = [0, 3][k % 2];
                lab.inject(1, &frame(host(0), host(1), Some((pcp, 0)), 60 + 10 * k));
            }
            lab.advance(Duration::from_nanos(100));
            arrived += read(&mut lab);
            lab.check();
        }
        lab.port(0).room = usize::MAX;
        lab.advance(Duration::from_nanos(100));
        lab.advance(Duration::from_nanos(100));
        arrived += read(&mut lab);
        let injected: usize = (0..rooms.len()).map(|n| n % 9).sum();
        prop_assert_eq!(arrived, injected);
        prop_assert_eq!(lab.switch.held(), 0);
        prop_assert_eq!(lab.switch.port_mut(port(0)).unwrap().waiting(), 0);
        lab.check();
    }
}
