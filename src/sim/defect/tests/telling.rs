//! Defects in LLDP and in messages of Source Flow Control.

use super::*;
use crate::defect::Telling;
use wire::flow::FiveTuple;
use wire::ip::{Ecn, Protocol};
use wire::sfcm::{Form, Locator, PORT_DEFAULT, Repr, Sfcm};
use wire::{datagram, ethernet};

fn port(defect: Telling) -> Port {
    Port::with(Defect::Telling(defect))
}

/// An LLDPDU with its mandatory TLVs left out, an ETS configuration, and a PFC TLV of this string.
fn lldpdu(pfc: &[u8]) -> Vec<u8> {
    let mut octets = vec![1, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 9, 0x88, 0xcc];
    octets.extend([0xfe, 25, 0x00, 0x80, 0xc2, 0x09, 0, 0, 0, 0, 0]);
    octets.extend([50, 50, 0, 0, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0]);
    octets.extend([0xfe, 4 + pfc.len() as u8, 0x00, 0x80, 0xc2, 0x0b]);
    octets.extend(pfc);
    octets.extend([0, 0, 0, 0]);
    octets
}

fn octets(frames: &[VirtualFrame]) -> Vec<Vec<u8>> {
    frames.iter().map(|frame| frame.head().to_vec()).collect()
}

#[test]
fn a_short_tlv_is_read_beyond_its_end() {
    let short = lldpdu(&[0x08]);
    let arrived = port(Telling::ReadsBeyondTlv).receives(0, VirtualFrame::whole(&short));
    let mut longer = short;
    longer[14 + 27 + 1] = 6;
    assert_eq!(octets(&arrived), [longer]);
    for other in [lldpdu(&[0x08, 0x08]), vec![2; 60]] {
        let arrived = port(Telling::ReadsBeyondTlv).receives(0, VirtualFrame::whole(&other));
        assert_eq!(octets(&arrived), [other]);
    }
}

#[test]
fn both_dialects_are_told() {
    let own = lldpdu(&[0x08, 0x08]);
    let sent = port(Telling::BothDialects).sends(0, VirtualFrame::whole(&own));
    let [both] = &octets(&sent)[..] else { panic!("{sent:?}") };
    let end = own.len() - 4;
    assert_eq!(both[..end], own[..end]);
    assert_eq!(both[end..end + 6], [0xfe, 0x10, 0x00, 0x1b, 0x21, 0x02]);
    assert_eq!(both[end + 18..], own[end..]);
}

#[test]
fn shares_have_another_sum() {
    let own = lldpdu(&[0x08, 0x08]);
    let sent = port(Telling::WrongShares).sends(0, VirtualFrame::whole(&own));
    let mut wrong = own;
    wrong[14 + 11] = 51;
    assert_eq!(octets(&sent), [wrong]);
}

/// An SFCM to 10.0.0.1 about its flow to 10.0.0.2.
fn sfcm() -> Vec<u8> {
    let [host, to] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(core::net::IpAddr::from);
    let port = PORT_DEFAULT;
    let headers = datagram::Repr {
        src: to,
        dst: host,
        dscp: ground::units::Dscp::MIN,
        ecn: Ecn::NotEct,
        ttl: 64,
        src_port: port,
        dst_port: port,
    };
    let flow =
        FiveTuple { src: host, dst: to, protocol: Protocol::UDP, src_port: 1, dst_port: 4_791 };
    let message = Sfcm {
        form: Form::Simplified(flow),
        priority: Priority::ALL[3],
        dscp: ground::units::Dscp::MIN,
        pause: Duration::from_micros(9),
        locator: Locator::Incast,
        level: None,
    };
    let repr = Repr { headers, message };
    let mac = ground::units::Mac::default();
    let mut octets = vec![0; ethernet::HEADER_LEN + repr.buffer_len()];
    let header = ethernet::Repr { dst: mac, src: mac, ethertype: repr.ethertype() };
    header.emit(&mut octets).unwrap();
    repr.emit(&mut octets[ethernet::HEADER_LEN..]).unwrap();
    octets
}

fn read(octets: &[u8]) -> Result<String, String> {
    let packet = &octets[ethernet::HEADER_LEN..];
    let read = Repr::parse(wire::EtherType::IPV4, packet);
    read.map(|repr| repr.message.flow().unwrap().to_string()).map_err(|error| error.to_string())
}

#[test]
fn another_destination_is_told() {
    let own = sfcm();
    let sent = port(Telling::OtherFlow).sends(0, VirtualFrame::whole(&own));
    let flow = read(&octets(&sent)[0]).unwrap();
    assert_ne!(Ok(&flow), read(&own).as_ref(), "and the checksum is right");
    assert!(flow.contains("10.0.0.3"), "{flow}");
    let other = port(Telling::OtherFlow).sends(0, data(3, 1));
    assert_eq!(all_told(&other), ["data 3 1"]);
}

#[test]
fn any_flow_is_believed() {
    let own = sfcm();
    let mut forged = own.clone();
    let source = ethernet::HEADER_LEN + 38;
    forged[source + 3] = 9;
    let udp = ethernet::HEADER_LEN + 20;
    let [src, dst] = [[10, 0, 0, 2], [10, 0, 0, 1]].map(core::net::IpAddr::from);
    wire::udp::set_checksum(&mut forged[udp..], src, dst).unwrap();
    assert!(read(&forged).is_err());
    for arriving in [&forged, &own] {
        let arrived = port(Telling::AnyFlow).receives(0, VirtualFrame::whole(arriving));
        assert_eq!(octets(&arrived)[0], own);
    }
}
