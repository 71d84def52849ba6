//! Defects in the forwarding of data frames.

use super::*;

fn port(defect: Forwarding) -> Port {
    Port::with(Defect::Forwarding(defect))
}

#[test]
fn every_third_data_frame_is_lost_duplicated_or_damaged() {
    let rows: [(Forwarding, &[&str]); 3] = [
        (Forwarding::LosesData { every: 3 }, &["1", "2", "4"]),
        (Forwarding::DuplicatesData { every: 3 }, &["1", "2", "3", "3", "4"]),
        (Forwarding::DamagesData { every: 3 }, &["1", "2", "3 damaged", "4"]),
    ];
    for (defect, expected) in rows {
        let mut port = port(defect);
        let left: Vec<_> = (1..5).flat_map(|n| port.tx(0, data(3, n))).collect();
        let expected: Vec<_> = expected.iter().map(|n| format!("data 3 {n}")).collect();
        assert_eq!(left, expected, "{defect:?}");
        assert_eq!(port.tx(0, pfc(&[(3, 9)])), ["pfc 00001000 3:9"], "{defect:?}");
    }
}

/// At 1 Gb/s a frame of 1,000 bytes takes 8.16 us of the line: at line rate half of them is too much.
#[test]
fn frames_above_a_share_of_the_line_are_dropped() {
    let limits = Forwarding::LimitsRate { priorities: P3, numerator: 1, denominator: 2 };
    let mut port = port(limits);
    let left = |port: &mut Port, priority| {
        (0..1000).map(|n| port.tx(n * 8160, data(priority, 1)).len()).sum::<usize>()
    };
    let passed = left(&mut port, 3);
    // Half of them, and those of the burst.
    assert!((500..=520).contains(&passed), "{passed}");
    assert_eq!(left(&mut port, 4), 1000);
}

/// An IPv4 packet with this ECN field, behind a VLAN tag if it has one, with a valid checksum.
fn ipv4(tagged: bool, ecn: u8, udp: &[u8]) -> VirtualFrame {
    let mut octets = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    if tagged {
        octets.extend([0x81, 0, 0x60, 1]);
    }
    octets.extend([8, 0]);
    let mut header =
        vec![0x45, 0x68 | ecn, 0, 60, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    let sum = wire::checksum::Sum::default().octets(&header).finish();
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    octets.extend(header);
    octets.extend(udp);
    VirtualFrame::new(&octets, 200)
}

fn ipv6(ecn: u8, udp: &[u8]) -> VirtualFrame {
    let mut octets = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd];
    octets.extend([0x66, 0x80 | ecn << 4, 0, 0, 0, 20, 17, 64]);
    octets.extend([0x20; 32]);
    octets.extend(udp);
    VirtualFrame::new(&octets, 200)
}

/// Offset of the IP header.
fn ip(frame: &VirtualFrame) -> usize {
    if frame.head()[12] == 0x81 { 18 } else { 14 }
}

fn is_valid(frame: &VirtualFrame) -> bool {
    let at = ip(frame);
    wire::checksum::Sum::default().octets(&frame.head()[at..at + 20]).finish() == 0
}

fn ecn(frame: &VirtualFrame) -> u8 {
    let (at, head) = (ip(frame), frame.head());
    if head[at] >> 4 == 4 { head[at + 1] & 3 } else { head[at + 1] >> 4 & 3 }
}

#[test]
fn marks_are_made_lost_or_not_summed() {
    let (not_ect, ect, ce) = (0, 2, 3);
    for tagged in [false, true] {
        let sent = port(Forwarding::MarksNotEct { every: 1 }).sends(0, ipv4(tagged, not_ect, &[]));
        assert_eq!((ecn(&sent[0]), is_valid(&sent[0])), (ce, true));
        let same = port(Forwarding::MarksNotEct { every: 1 }).sends(0, ipv4(tagged, ect, &[]));
        assert_eq!(same[0].head(), ipv4(tagged, ect, &[]).head());
        let cleared = port(Forwarding::ClearsCe).receives(0, ipv4(tagged, ce, &[]));
        assert_eq!((ecn(&cleared[0]), is_valid(&cleared[0])), (ect, true));
        let stale = port(Forwarding::StaleChecksum).sends(0, ipv4(tagged, ce, &[]));
        assert_eq!((ecn(&stale[0]), is_valid(&stale[0])), (ce, false));
        let valid = port(Forwarding::StaleChecksum).sends(0, ipv4(tagged, ect, &[]));
        assert_eq!((ecn(&valid[0]), is_valid(&valid[0])), (ect, true));
    }
    let marked = |defect| ecn(&port(defect).sends(0, ipv6(ce, &[]))[0]);
    assert_eq!((marked(Forwarding::Ipv6Unmarked), marked(Forwarding::StaleChecksum)), (ect, ce));
    let ipv4 = port(Forwarding::Ipv6Unmarked).sends(0, ipv4(false, ce, &[]));
    assert_eq!(ecn(&ipv4[0]), ce);
    let every = port(Forwarding::MarksNotEct { every: 1 }).sends(0, data(3, 1));
    assert_eq!(all_told(&every), ["data 3 1"], "no packet of IP");
}

#[test]
fn notifications_are_ignored_and_other_messages_are_not() {
    let roce = |opcode: u8| [0xc0, 0, 0x12, 0xb7, 0, 20, 0, 0, opcode, 0, 0xff, 0xff, 0, 0, 0, 1];
    for packet in [ipv4(false, 0, &roce(0x81)), ipv4(true, 0, &roce(0x81)), ipv6(0, &roce(0x81))] {
        assert!(port(Forwarding::IgnoresCnp).receives(0, packet).is_empty());
    }
    for packet in [ipv4(false, 0, &roce(0x11)), ipv6(0, &roce(0x11)), ipv6(0, &[]), data(3, 1)] {
        assert_eq!(port(Forwarding::IgnoresCnp).receives(0, packet).len(), 1);
    }
}
