//! Protected ports: frames sent and delivered, and their order, for any behaviour of the device.

use proptest::prelude::*;

use super::{Port, Secured};
use crate::frame::{BURST, Burst, Frame};
use crate::memory::{MemFrame, MemPort, association, frame, secy};
use ground::units::{Mac, Priority, Quanta};
use secure::{An, SecyChange, SecyPlan};
use wire::mac_control::FRAME_LEN;
use wire::pfc;

type Guarded = Secured<MemPort>;

/// The address of host `n`.
fn host(n: u8) -> Mac {
    Mac([2, 0, 0, 0, 1, n])
}

fn guarded(plan: &SecyPlan) -> Guarded {
    Secured::new(MemPort::endless(), Some(plan)).unwrap()
}

/// Returns two ends of a link that protect MAC control, and data if `data`.
fn pair(data: bool) -> (Guarded, Guarded) {
    (guarded(&secy(1, 2, data)), guarded(&secy(2, 1, data)))
}

/// Returns a PFC frame that pauses priority 3 for `quanta` quanta.
fn pause(quanta: u16) -> [u8; FRAME_LEN] {
    let mut repr = pfc::Repr::new(host(1));
    repr.set(Priority::ALL[3], Quanta(quanta));
    let mut octets = [0; FRAME_LEN];
    repr.emit(&mut octets).unwrap();
    octets
}

fn data(n: u16) -> Vec<u8> {
    let mut octets = frame(host(1), host(2), None, 60 + usize::from(n % 200));
    octets[14..16].copy_from_slice(&n.to_be_bytes());
    octets
}

/// Offers these frames; returns the number of those not accepted.
fn offer(port: &mut Guarded, frames: &[Vec<u8>]) -> usize {
    let mut out: Burst<MemFrame> = frames.iter().map(|octets| MemFrame::new(octets)).collect();
    port.tx_burst(&mut out);
    out.len()
}

/// Returns the frames on the line behind a port.
fn line(port: &mut Guarded) -> Vec<Vec<u8>> {
    port.port_mut().tx.drain(..).map(|frame| frame.head().to_vec()).collect()
}

/// Returns the frames of these that a port delivers, read until there are no more.
fn read(port: &mut Guarded, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    port.port_mut().rx.extend(frames.iter().map(|octets| MemFrame::new(octets)));
    let mut read = vec![];
    loop {
        let mut burst = Burst::new();
        port.rx_burst(&mut burst);
        if burst.is_empty() {
            return read;
        }
        read.extend(burst.iter().map(|frame| frame.head().to_vec()));
    }
}

#[test]
fn a_pause_leaves_inside_a_protected_frame_to_the_address_of_pauses() {
    for protects_data in [false, true] {
        let (mut a, mut b) = pair(protects_data);
        let mut out = Burst::new();
        out.push(a.control_frame(&pause(100)).unwrap());
        a.tx_burst(&mut out);
        let [on_line] = line(&mut a).try_into().unwrap();
        assert_eq!(on_line[..6], [1, 0x80, 0xc2, 0, 0, 1]);
        assert_eq!(on_line[6..12], host(1).0);
        assert_eq!(on_line[12..14], [0x88, 0xe5]);
        assert_eq!(on_line.len(), FRAME_LEN + 24);
        assert!(!on_line.windows(4).any(|octets| octets == [0x88, 0x08, 0x01, 0x01]));
        assert_eq!(read(&mut b, &[on_line]), [pause(100).to_vec()]);
    }
}

#[test]
fn a_pause_says_how_long_it_is_where_data_is_not_protected() {
    let (mut a, _) = pair(false);
    assert_eq!(a.control_frame(&pause(1)).unwrap().wire_len(), 64 + 24);
    let (mut a, _) = pair(true);
    assert_eq!(a.control_frame(&pause(1)).unwrap().wire_len(), 64, "each frame's line has it");
}

#[test]
fn with_pauses_alone_data_is_left_alone() {
    let (mut a, mut b) = pair(false);
    let frames: Vec<_> = (0..20).map(data).collect();
    assert_eq!(offer(&mut a, &frames), 0);
    let on_line = line(&mut a);
    assert_eq!(on_line, frames);
    assert_eq!(read(&mut b, &on_line), frames);
    assert_eq!(a.secy().unwrap().snapshot().counters.out_pkts_untagged, 20);
}

#[test]
fn plain_forged_and_repeated_pauses_get_nowhere_and_are_counted() {
    let (mut a, mut b) = pair(false);
    let mut out = Burst::new();
    out.push(a.control_frame(&pause(100)).unwrap());
    a.tx_burst(&mut out);
    let [good] = line(&mut a).try_into().unwrap();
    let mut forged = good.clone();
    forged[30] ^= 1;
    let mut strange = good.clone();
    strange[14] |= 1;
    let plain = pause(0xffff).to_vec();
    let came = [&data(1), &plain, &forged, &data(2), &strange, &good, &good, &data(3)];
    let came = came.map(Clone::clone);
    assert_eq!(read(&mut b, &came), [data(1), data(2), pause(100).to_vec(), data(3)]);
    let snapshot = b.secy().unwrap().snapshot();
    assert_eq!(snapshot.counters.in_pause_plain, 1);
    assert_eq!(snapshot.counters.in_pkts_no_sa_error, 1);
    let channel = snapshot.receive[0].unwrap().counters;
    assert_eq!((channel.in_pkts_ok, channel.in_pkts_not_valid), (1, 1));
    assert_eq!(channel.in_pkts_late + channel.in_pkts_replayed, 1);
    assert_eq!(b.lost().received, 4);
}

#[test]
fn frames_behind_a_burst_that_is_refused_are_read_in_the_same_call() {
    let (_, mut b) = pair(false);
    let plain = vec![pause(1).to_vec(); BURST];
    let came: Vec<_> = plain.into_iter().chain([data(1)]).collect();
    b.port_mut().rx.extend(came.iter().map(|octets| MemFrame::new(octets)));
    let mut burst = Burst::new();
    b.rx_burst(&mut burst);
    assert_eq!(burst.len(), 1);
}

#[test]
fn what_cannot_be_protected_never_leaves() {
    let gone = SecyChange::RemoveTransmit(An::ALL[0]);
    let (mut a, _) = pair(true);
    a.secy_mut().unwrap().change(&gone).unwrap();
    assert_eq!(offer(&mut a, &[data(1), pause(1).to_vec()]), 0);
    // EAPOL bypasses the SecY, and so does LLDP as configured.
    let mut eapol = data(2);
    eapol[12..14].copy_from_slice(&[0x88, 0x8e]);
    let mut lldp = data(3);
    lldp[12..14].copy_from_slice(&[0x88, 0xcc]);
    assert_eq!(offer(&mut a, &[eapol.clone(), lldp.clone()]), 0);
    assert_eq!(line(&mut a), [eapol, lldp]);
    assert_eq!((a.lost().sent, a.secy().unwrap().snapshot().counters.out_pkts_no_sa), (2, 2));

    let (mut a, _) = pair(false);
    a.secy_mut().unwrap().change(&gone).unwrap();
    assert!(a.control_frame(&pause(1)).is_none() && a.control_frame(&pause(1)).is_none());
    assert_eq!(a.secy().unwrap().snapshot().counters.out_pkts_no_sa, 1, "asked again, not anew");
    let sa = association(9);
    let given = SecyChange::InstallTransmit { an: An::ALL[1], sa };
    a.secy_mut().unwrap().change(&given).unwrap();
    a.secy_mut().unwrap().change(&SecyChange::UseTransmit(An::ALL[1])).unwrap();
    assert!(a.control_frame(&pause(1)).is_some());
}

#[test]
fn without_a_secy_a_port_is_what_it_was() {
    let mut port = Secured::new(MemPort::endless(), None).unwrap();
    assert_eq!(offer(&mut port, &[data(1)]), 0);
    assert_eq!(line(&mut port), [data(1)]);
    let mut tagged = data(2);
    tagged[12..14].copy_from_slice(&[0x88, 0xe5]);
    assert_eq!(read(&mut port, &[tagged.clone(), pause(1).to_vec()]), [tagged, pause(1).to_vec()]);
    assert!(port.secy().is_none() && port.waiting() == 0);
}

/// Returns the packet number of a protected frame.
fn number(octets: &[u8]) -> u32 {
    u32::from_be_bytes(octets[16..20].try_into().unwrap())
}

proptest! {
    // A device that accepts any number at any time costs no frame and no number, and strict replay
    // protection at the other end accepts every frame.
    #[test]
    fn whatever_the_device_takes_all_arrives_in_order_under_consecutive_numbers(
        turns in prop::collection::vec((0_usize..6, 0_usize..8, any::<bool>()), 1..60),
    ) {
        let (mut a, mut b) = pair(true);
        let (mut hand, mut said, mut on_line) = (Burst::<MemFrame>::new(), vec![], vec![]);
        let mut n = 0;
        for (make, room, receives) in turns {
            a.port_mut().room = room;
            for _ in 0..make.min(hand.remaining_capacity()) {
                n += 1;
                let octets = if n % 5 == 0 { pause(n).to_vec() } else { data(n) };
                said.push(octets.clone());
                hand.push(MemFrame::new(&octets));
            }
            a.tx_burst(&mut hand);
            if receives {
                prop_assert!(read(&mut a, &[]).is_empty());
            }
            on_line.extend(line(&mut a));
        }
        a.port_mut().room = usize::MAX;
        a.tx_burst(&mut hand);
        prop_assert!(hand.is_empty(), "what waited went first, and then the rest");
        on_line.extend(line(&mut a));
        prop_assert_eq!(a.waiting(), 0);
        let numbers: Vec<_> = on_line.iter().map(|octets| number(octets)).collect();
        prop_assert_eq!(numbers, (1..=u32::from(n)).collect::<Vec<_>>());
        prop_assert_eq!(read(&mut b, &on_line), said);
    }

    // With pauses alone the caller keeps them in order; those that the device does not accept stay
    // with the caller, and are protected once.
    #[test]
    fn pauses_that_the_device_does_not_take_are_protected_once(
        rooms in prop::collection::vec(0_usize..4, 1..40),
    ) {
        let (mut a, mut b) = pair(false);
        let (mut hand, mut on_line) = (Burst::<MemFrame>::new(), vec![]);
        for (n, room) in (0..).zip(rooms) {
            a.port_mut().room = room;
            if !hand.is_full() {
                hand.push(if n % 3 == 0 { MemFrame::new(&data(n)) } else { a.control_frame(&pause(n)).unwrap() });
            }
            a.tx_burst(&mut hand);
            on_line.extend(line(&mut a));
        }
        a.port_mut().room = usize::MAX;
        a.tx_burst(&mut hand);
        on_line.extend(line(&mut a));
        let pauses: Vec<_> = on_line.iter().filter(|octets| octets[12..14] == [0x88, 0xe5]).collect();
        let numbers: Vec<_> = pauses.iter().map(|octets| number(octets)).collect();
        prop_assert_eq!(numbers, (1..=pauses.len() as u32).collect::<Vec<_>>());
        prop_assert_eq!(read(&mut b, &on_line).len(), on_line.len());
    }
}
