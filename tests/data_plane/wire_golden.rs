//! Whole frames from other sources: read as the switch reads them, and emitted again byte for byte.

use sluice::units::{Dscp, Mac, Pcp, Priority, Quanta, Vid};
use sluice::wire::flow::FiveTuple;
use sluice::wire::ip::{CeMark, Ecn, Hop};
use sluice::wire::roce::{Opcode, U24};
use sluice::wire::vlan::{self, Tpid};
use sluice::wire::{
    EtherType, WireError, cim, cnp, ethernet, icrc, ip, mac_control, pause, pfc, ptp, roce, sfcm,
    udp,
};

/// A CNP as a ConnectX-4 Lx sent it, its ICRC calculated by the adapter.
const CNP: &str = "e41d2dab2bc27cfe90643b320800 45c2003c718c4000401191610a0011010a001201
    000012b700280000 8100ffff4000011800000000 00000000000000000000000000000000 82fd002a";

/// An unreliable SEND over IPv4 that scapy 2.5.0 built, ICRC included.
const SEND_IPV4: &str = "456a00382b1d40003f1123f2c0000201c6336407 c0de12b700243912
    2460ffff000002d380123456 6c6f73736c657373212100 00 0a833fc6";

/// The same over IPv6; scapy built the headers, and zlib's CRC-32 by the rule of InfiniBand Annex
/// A17 made the ICRC.
const SEND_IPV6: &str = "66aabcde0024113d20010db800000000000000000000000120010db8000000000000000000
    000002 c0de12b70024a533 2460ffff000002d380123456 6c6f73736c65737321210000 51541d9b";

/// PFC as scapy 2.5.0 builds it: priority 3 pauses for 65535 quanta, priority 4 resumes.
const PFC: &str = "0180c2000001 020000000005 8808 0101 0018 0000 0000 0000 ffff 0000 0000 0000 0000
    0000000000000000000000000000000000000000000000000000";

/// PAUSE as scapy 2.5.0 builds it, for 0x1234 quanta.
const PAUSE: &str = "0180c2000001 020000000005 8808 0001 1234 000000000000000000000000000000000000
    000000000000000000000000000000000000000000000000";

/// TCP within a customer tag within a service tag, as scapy 2.5.0 builds it.
const QINQ: &str = "020000000001020000000002 88a8b064 810060c8 0800
    45ba0028000700004006660d0a0000010a000002 9c4001bb000000000000000050022000dde40000";

/// A peer delay exchange between two ptp4l of linuxptp 3.1.1 over veth, software stamps.
const PDELAY_REQ: &str =
    "0180c200000e 02000000000b 88f7 0202 0036 00 00 0000 0000000000000000 00000000
    020000fffe00000b0001 0000 05 7f 00000000000000000000 00000000000000000000";
const PDELAY_RESP: &str =
    "0180c200000e 02000000000a 88f7 0302 0036 00 00 0200 0000000000000000 00000000
    020000fffe00000a0001 0000 05 7f 00006b021d0803b5b9d6 020000fffe00000b0001";
const PDELAY_FOLLOW_UP: &str =
    "0180c200000e 02000000000a 88f7 0a02 0036 00 00 0000 0000000000000000
    00000000 020000fffe00000a0001 0000 05 7f 00006b021d0803f2d1a3 020000fffe00000b0001";

/// An SFCM written by the layout of [`sfcm`], in headers of scapy 2.5.0 with its checksums: pause
/// priority 3 for 123456 ns, simplified.
const SFCM_IPV4: &str = "020000000001 020000000002 0800
    45e0003400004000401125cf0a0900010a000001 e4fee4fe0020dc06
    00436800 0001e240 000e 0a000001 0a000002 1100 c351 12b7";

/// The same over IPv6 with an encapsulated packet, for the longest time.
const SFCM_IPV6: &str = "020000000001 020000000002 86dd
    6e00000000521140fd000000000000000000000000000009fd000000000000000000000000000001
    e4fee4fe0052d2ee 01856800 ffffffff 0040 86dd
    6680000000161140fd000000000000000000000000000001fd000000000000000000000000000002
    c35112b700167e03 abababababababababababababab";

/// A CIM of the draft's Table 47-4 in headers of scapy 2.5.0, as Table 47-2 has them.
const CIM_IPV4: &str = "020000000001 020000000002 0800
    45c0005d00004000ff1166bb0a0900010a090002 c34fc34f00492eaf
    01 020000000009 020000000007 0123 0030 0800
    4500002e0001000009119dbc0a0000010a000002 00070009001ae29e abababababababababababababababababab";

fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|d| (d[0] << 4 | d[1]) as u8).collect()
}

fn mac(last: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, last])
}

#[test]
fn a_captured_cnp_is_read_and_made_again() {
    let frame = octets(CNP);
    let walk = vlan::walk(&frame).unwrap();
    let packet = &frame[walk.l3..];
    let repr = cnp::Repr::parse(walk.ethertype, packet).unwrap();
    assert_eq!((repr.dscp.get(), repr.ecn, repr.ttl), (48, Ecn::Ect0, 64));
    assert_eq!(repr.to_string(), "10.0.17.1 > 10.0.18.1 CNP qp 280 dscp 48");

    let mut again = vec![0xff; frame.len()];
    let header = ethernet::Repr { dst: walk.dst, src: walk.src, ethertype: repr.ethertype() };
    header.emit(&mut again).unwrap();
    repr.emit(&mut again[ethernet::HEADER_LEN..]).unwrap();
    assert_eq!(again, frame);
}

#[test]
fn a_cnp_with_a_fault_is_none() {
    let packet = octets(CNP).split_off(ethernet::HEADER_LEN);
    for (at, octet, error) in [
        (59, 0x2b, WireError::BadChecksum), // ICRC
        (40, 0x01, WireError::BadChecksum), // a reserved octet that the ICRC covers
        (11, 0x62, WireError::BadChecksum), // IPv4 checksum
        (28, 0x82, WireError::BadOpcode),
        (32, 0x00, WireError::BadOpcode),   // BECN
        (23, 0xb8, WireError::Unsupported), // UDP port
        (25, 0x27, WireError::BadLength),
    ] {
        let mut bad = packet.clone();
        bad[at] = octet;
        assert_eq!(cnp::Repr::parse(EtherType::IPV4, &bad), Err(error), "octet {at}");
    }
}

#[test]
fn the_icrc_of_other_implementations_is_ours() {
    let cnp = octets(CNP).split_off(ethernet::HEADER_LEN);
    for mut packet in [octets(SEND_IPV4), octets(SEND_IPV6), cnp] {
        let field = packet.len() - icrc::LEN;
        assert_eq!(icrc::verify(&packet), Ok(()));
        assert_eq!(icrc::compute(&packet).unwrap(), packet[field..]);
        let want = packet.clone();
        packet[field..].fill(0);
        assert_eq!(icrc::verify(&packet), Err(WireError::BadChecksum));
        icrc::seal(&mut packet).unwrap();
        assert_eq!(packet, want);
    }
}

#[test]
fn a_roce_packet_may_be_marked_and_routed_and_keeps_its_checksums() {
    for (ethertype, packet) in [(EtherType::IPV4, SEND_IPV4), (EtherType::IPV6, SEND_IPV6)] {
        let mut packet = octets(packet);
        let ttl = ip::View::new(ethertype, &packet).unwrap().ttl();
        assert_eq!(ip::mark_ce(ethertype, &mut packet), CeMark::Marked);
        assert_eq!(ip::decrement_ttl(ethertype, &mut packet), Hop::Alive(ttl - 1));
        assert_eq!(icrc::verify(&packet), Ok(()));
        let view = ip::View::new(ethertype, &packet).unwrap();
        assert_eq!((view.ecn(), view.dscp()), (Ecn::Ce, Dscp::new(26).unwrap()));
        if let ip::View::V4(v) = view {
            assert!(v.checksum_ok());
        }
        let datagram = udp::View::new(view.upper().unwrap().payload).unwrap();
        assert_eq!(datagram.checksum_ok(view.src(), view.dst()), Ok(true));
        let bth = roce::Repr::parse(datagram.payload()).unwrap();
        let psn = U24::new(0x12_3456).unwrap();
        let plain = roce::Repr::new(Opcode::UC_SEND_ONLY, U24::new(0x2d3).unwrap(), psn);
        let want = roce::Repr { migrated: true, pad_count: 2, ack_request: true, ..plain };
        assert_eq!(bth, want);
    }
}

#[test]
fn pfc_is_read_and_made_again() {
    let mut repr = pfc::Repr::new(mac(5));
    repr.set(Priority::new(3).unwrap(), Quanta::MAX);
    repr.set(Priority::new(4).unwrap(), Quanta(0));
    let frame = octets(PFC);
    assert_eq!(frame.len(), 60);
    assert_eq!(mac_control::Repr::parse(&frame, mac(9)), Ok(mac_control::Repr::Pfc(repr)));
    let mut again = [0xff; 60];
    repr.emit(&mut again).unwrap();
    assert_eq!(again[..], frame);
}

#[test]
fn the_peer_delay_of_ptp4l_is_read_and_made_again() {
    let (asks, answers) = (mac(0x0b), mac(0x0a));
    let requesting = ptp::PortIdentity::of(asks);
    let time = |nanos| ptp::Timestamp { seconds: 0x6b02_1d08, nanos };
    let (receipt, origin) = (time(0x03b5_b9d6), time(0x03f2_d1a3));
    for (hex, src, two_step, body) in [
        (PDELAY_REQ, asks, false, ptp::Body::PdelayReq),
        (PDELAY_RESP, answers, true, ptp::Body::PdelayResp { receipt, requesting }),
        (PDELAY_FOLLOW_UP, answers, false, ptp::Body::PdelayRespFollowUp { origin, requesting }),
    ] {
        let message = ptp::Message {
            major_sdo_id: 0,
            minor_sdo_id: 0,
            domain: 0,
            two_step,
            correction: ptp::Correction(0),
            source: ptp::PortIdentity::of(src),
            sequence: 0,
            body,
        };
        let repr = ptp::Repr { src, dst: ptp::DESTINATION, message };
        let mut want = octets(hex);
        assert_eq!(ptp::Repr::parse(&want), Ok(repr));
        let mut out = [0xff; 68];
        repr.emit(&mut out).unwrap();
        want[15] = 0x12; // linuxptp 3.1.1 speaks 1588-2008, which has no minor version.
        assert_eq!(out[..], want);
    }
}

/// Whole frame of `packet`.
fn framed(walk: &vlan::Walk, packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; ethernet::HEADER_LEN];
    let header = ethernet::Repr { dst: walk.dst, src: walk.src, ethertype: walk.ethertype };
    header.emit(&mut frame).unwrap();
    frame.extend(packet);
    frame
}

#[test]
fn messages_to_a_source_are_read_and_made_again() {
    for (hex, said) in [
        (
            SFCM_IPV4,
            "SFCM from 10.9.0.1 pause 123456 ns priority 3 dscp 26 incast \
             udp 10.0.0.1 port 50001 > 10.0.0.2 port 4791",
        ),
        (
            SFCM_IPV6,
            "SFCM from fd00::9 pause 4294967295 ns priority 5 dscp 26 in-network \
             udp fd00::1 port 50001 > fd00::2 port 4791",
        ),
    ] {
        let frame = octets(hex);
        let walk = vlan::walk(&frame).unwrap();
        let repr = sfcm::Repr::parse(walk.ethertype, &frame[walk.l3..]).unwrap();
        assert_eq!(repr.to_string(), said);
        assert_eq!(repr.headers.dscp.get(), 56);
        let mut packet = vec![0xff; repr.buffer_len()];
        repr.emit(&mut packet).unwrap();
        assert_eq!(framed(&walk, &packet), frame);
    }
}

#[test]
fn an_isolation_message_is_read_and_made_again() {
    let frame = octets(CIM_IPV4);
    let walk = vlan::walk(&frame).unwrap();
    let dialect = cim::Dialect::default();
    let repr = cim::Repr::parse(walk.ethertype, &frame[walk.l3..], &dialect).unwrap();
    assert_eq!(
        repr.to_string(),
        "CIM add 02:00:00:00:00:07 > 02:00:00:00:00:09 vid 291 \
         udp 10.0.0.1 port 7 > 10.0.0.2 port 9"
    );
    let mut packet = vec![0xff; repr.buffer_len(&dialect)];
    repr.emit(&mut packet, &dialect).unwrap();
    assert_eq!(framed(&walk, &packet), frame);
}

#[test]
fn pause_is_read_and_made_again() {
    let repr = pause::Repr::new(mac(5), Quanta(0x1234));
    let frame = octets(PAUSE);
    assert_eq!(frame.len(), 60);
    assert_eq!(mac_control::Repr::parse(&frame, mac(9)), Ok(mac_control::Repr::Pause(repr)));
    let mut again = [0xff; 60];
    repr.emit(&mut again).unwrap();
    assert_eq!(again[..], frame);
}

#[test]
fn a_doubly_tagged_frame_is_classified_by_its_service_tag() {
    let frame = octets(QINQ);
    let walk = vlan::walk(&frame).unwrap();
    let outer =
        vlan::Repr { tpid: Tpid::S, pcp: Pcp::new(5).unwrap(), dei: true, vid: Vid::new(100) };
    assert_eq!((walk.outer, walk.tags, walk.l3), (Some(outer), 2, 22));
    assert_eq!((walk.dst, walk.src, walk.ethertype), (mac(1), mac(2), EtherType::IPV4));
    let view = ip::View::new(walk.ethertype, &frame[walk.l3..]).unwrap();
    assert_eq!((view.dscp().get(), view.ecn()), (46, Ecn::Ect0));
    let tuple = FiveTuple::of(&view);
    assert_eq!(tuple.to_string(), "tcp 10.0.0.1 port 40000 > 10.0.0.2 port 443");
    assert_eq!(FiveTuple::of_frame(&frame), Some(tuple));
}
