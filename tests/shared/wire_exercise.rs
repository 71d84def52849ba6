//! Passes arbitrary bytes to every parser and mutator and checks the properties that hold for all.
//!
//! The property tests and the fuzz targets both call [`exercise`]; a violated property is a panic.

use std::net::IpAddr;

use sluice::units::{Dscp, Mac, Priority};
use sluice::wire::dcbx::isolation::CongestionIsolation;
use sluice::wire::dcbx::source_flow::SourceFlowControl;
use sluice::wire::dcbx::topology::Topology;
use sluice::wire::headroom::{
    self, Compensation, Dialect, KindCodes, LengthField, PduLength, Piggyback, TimeUnit,
};
use sluice::wire::ip::{CeMark, Ecn, Hop};
use sluice::wire::{
    EtherType, arp, cim, cnm, cnp, datagram, dcbx, echo, ethernet, flow, icrc, ip, ipv4, ipv6,
    lldp, mac_control, macsec, neighbour, pause, pfc, ptp, roce, sfcm, tcp, udp, vlan,
};

/// Emits a header and checks that it parses to the same header.
macro_rules! round_trip {
    ($repr:expr, $parse:expr) => {
        if let Ok(repr) = $repr {
            let mut out = vec![0xa5; repr.buffer_len()];
            repr.emit(&mut out).expect("what was parsed can be emitted");
            assert_eq!($parse(&out), Ok(repr));
            assert!(!repr.to_string().is_empty());
        }
    };
}

/// Reads `octets` as every format.
pub fn exercise(octets: &[u8]) {
    layer_2(octets);
    measurements(octets);
    // For any addresses and EtherType, the network layer is parsed where it would be, and at the
    // start so that short inputs reach it too.
    for at in [0, 14, 18, 22] {
        if let Some(packet) = octets.get(at..) {
            layer_3(packet);
            congestion(packet);
            changes(packet);
        }
    }
    sealed(octets);
    protected(octets);
    classification(octets);
    discovery(octets);
    dcbx(octets);
}

fn layer_2(octets: &[u8]) {
    round_trip!(ethernet::Repr::parse(octets), ethernet::Repr::parse);
    round_trip!(vlan::Repr::parse(octets), vlan::Repr::parse);
    let port = Mac([2, 0, 0, 0, 0, 1]);
    round_trip!(pfc::Repr::parse(octets), pfc::Repr::parse);
    round_trip!(pause::Repr::parse(octets, port), |o: &[u8]| pause::Repr::parse(o, port));
    round_trip!(mac_control::Repr::parse(octets, port), |o: &[u8]| {
        mac_control::Repr::parse(o, port)
    });
    if let Ok(v) = pfc::View::new(octets) {
        let repr = pfc::Repr::parse(octets).expect("the view was made");
        for p in Priority::ALL {
            assert_eq!(repr.time(p), v.enabled().contains(p).then(|| v.time_field(p)));
        }
    }
    round_trip!(arp::Repr::parse(octets), arp::Repr::parse);
}

/// Both forms of the headroom measurement, in the plainest dialect and in its opposite.
fn measurements(octets: &[u8]) {
    let other = Dialect {
        kind: KindCodes::Numbers,
        length: LengthField::Rest,
        unit: TimeUnit::Picoseconds,
        piggyback: Piggyback::Response,
        ..Dialect::default()
    };
    let long = Dialect {
        length: LengthField::Fields,
        pdu: PduLength::padded(529).expect("in the table"),
        compensation: Compensation::InResponse,
        ..Dialect::default()
    };
    for dialect in [Dialect::default(), other, long] {
        if let Ok(repr) = headroom::Repr::parse(octets, &dialect) {
            let mut out = vec![0xa5; dialect.frame_len()];
            repr.emit(&mut out, &dialect).expect("what was parsed can be emitted");
            assert_eq!(headroom::Repr::parse(&out, &dialect), Ok(repr));
            assert!(!repr.to_string().is_empty());
        }
    }
    let spoken = |r: &ptp::Repr| !matches!(r.message.body, ptp::Body::Other(_));
    round_trip!(ptp::Repr::parse(octets).ok().filter(spoken).ok_or(()), ptp::Repr::parse);
}

fn layer_3(packet: &[u8]) {
    if let Ok(repr) = ipv4::Repr::parse(packet) {
        let mut out = vec![0xa5; repr.buffer_len()];
        repr.emit(&mut out).expect("what was parsed can be emitted");
        assert_eq!(ipv4::Repr::parse(&out), Ok(repr));
        assert!(ipv4::View::new(&out).is_ok_and(|v| v.checksum_ok()));
    }
    round_trip!(ipv6::Repr::parse(packet), ipv6::Repr::parse);
    round_trip!(udp::Repr::parse(packet), udp::Repr::parse);
    round_trip!(tcp::Repr::parse(packet), tcp::Repr::parse);
    round_trip!(roce::Repr::parse(packet), roce::Repr::parse);
    for ethertype in [EtherType::IPV4, EtherType::IPV6] {
        round_trip!(cnp::Repr::parse(ethertype, packet), |o: &[u8]| {
            cnp::Repr::parse(ethertype, o)
        });
        if let Ok(v) = ip::View::new(ethertype, packet) {
            let upper = v.upper().map_or(0, |u| u.payload.len());
            assert!(upper <= packet.len() && upper <= v.total_len());
            if let Ok(udp) = udp::View::new(packet) {
                let _ = udp.checksum_ok(v.src(), v.dst());
            }
            answers(ethertype, packet, &v);
        }
    }
    let mut sealed = packet.to_vec();
    if icrc::seal(&mut sealed).is_ok() {
        assert_eq!(icrc::verify(&sealed), Ok(()));
    }
}

/// Congestion messages after every EtherType that they have, CIMs in the plainest dialect and in
/// its opposite.
fn congestion(packet: &[u8]) {
    let other = cim::Dialect {
        octet_three: cim::OctetThree::Pdu,
        add: cim::AddBit::Clear,
        vid: cim::VidBits::High,
    };
    for ethertype in
        [EtherType::IPV4, EtherType::IPV6, EtherType::CIM, EtherType::CNM, EtherType::CN_TAG]
    {
        round_trip!(sfcm::Repr::parse(ethertype, packet), |o| sfcm::Repr::parse(ethertype, o));
        round_trip!(cnm::Repr::parse(ethertype, packet), |o| cnm::Repr::parse(ethertype, o));
        for dialect in [cim::Dialect::default(), other] {
            if let Ok(repr) = cim::Repr::parse(ethertype, packet, &dialect) {
                let mut out = vec![0xa5; repr.buffer_len(&dialect)];
                repr.emit(&mut out, &dialect).expect("what was parsed can be emitted");
                assert_eq!(cim::Repr::parse(ethertype, &out, &dialect), Ok(repr));
                assert!(!repr.to_string().is_empty());
            }
        }
    }
}

/// Arbitrary bytes as an SFCM and as a CIM with valid checksums, which no mutation would guess.
fn sealed(octets: &[u8]) {
    // Offsets of the source of a simplified flow, and of an encapsulated one over IPv4.
    for at in [10, 24] {
        let Some(address) = octets.get(at..at + 4) else { continue };
        let dst = IpAddr::from([address[0], address[1], address[2], address[3]]);
        let (src_port, dst_port) = (sfcm::PORT_DEFAULT, sfcm::PORT_DEFAULT);
        let (dscp, ecn, ttl) = (Dscp::MIN, Ecn::NotEct, 64);
        let headers = datagram::Repr { src: dst, dst, dscp, ecn, ttl, src_port, dst_port };
        let mut packet = vec![0; headers.header_len()];
        packet.extend(octets);
        headers.emit(&mut packet).expect("a short datagram");
        congestion(&packet);
    }
}

/// Arbitrary bytes as a frame that MACsec protects, with their actual short length and the one in
/// the SecTAG.
fn protected(octets: &[u8]) {
    let mut frame = octets.to_vec();
    if frame.len() > macsec::TAG_OFFSET + macsec::TAG_LEN {
        frame[12..14].copy_from_slice(&EtherType::MACSEC.0.to_be_bytes());
    }
    let fitting = frame.get(14).map(|tci| {
        let front = if tci & 0x20 == 0 { 8 } else { 16 };
        let secure = frame.len().saturating_sub(macsec::TAG_OFFSET + front + macsec::ICV_LEN);
        if secure < macsec::SHORT { secure as u8 } else { 0 }
    });
    for short in [None, fitting] {
        if let (Some(short), Some(at)) = (short, frame.get_mut(15)) {
            *at = short;
        }
        let Ok(v) = macsec::View::new(&frame) else { continue };
        let whole = macsec::TAG_OFFSET + v.front() + v.secure_len() + v.back();
        assert_eq!(whole, frame.len());
        let repr = macsec::Repr::parse(&frame).expect("the view was made");
        assert!(!repr.to_string().is_empty());
        assert_eq!((repr.channel, repr.pn, repr.an), (v.channel(), v.pn(), v.an()));
        let mut again = frame.clone();
        repr.emit(&mut again[macsec::TAG_OFFSET..]).expect("what was parsed can be emitted");
        assert_eq!(macsec::Repr::parse(&again), Ok(repr));
    }
}

/// Echoes and neighbour messages, and the answer to a packet.
fn answers(ethertype: EtherType, packet: &[u8], v: &ip::View<'_>) {
    let (src, dst) = (v.src(), v.dst());
    let upper = v.upper().map_or(&[][..], |u| u.payload);
    if let Ok(repr) = echo::Repr::parse(upper, src, dst) {
        let mut out = vec![0xa5; repr.buffer_len()];
        repr.emit(src, dst, &mut out).expect("what was parsed can be emitted");
        assert_eq!(echo::Repr::parse(&out, src, dst), Ok(repr));
        assert!(!repr.to_string().is_empty());
    }
    let mut turned = packet.to_vec();
    if echo::answer(ethertype, &mut turned).is_err() {
        assert_eq!(turned, packet);
    } else {
        let answer = ip::View::new(ethertype, &turned).expect("an answer is a packet, too");
        assert_eq!((answer.src(), answer.dst(), answer.ttl()), (dst, src, echo::ANSWER_TTL));
    }
    if let Ok(repr) = neighbour::Repr::parse(packet) {
        let (IpAddr::V6(src), IpAddr::V6(dst)) = (src, dst) else { panic!("it was IPv6") };
        let mut out = vec![0xa5; repr.buffer_len()];
        repr.emit(src, dst, &mut out).expect("what was parsed can be emitted");
        assert_eq!(neighbour::Repr::parse(&out), Ok(repr));
        assert!(!repr.to_string().is_empty());
    }
}

/// Changes a packet in place and checks that only the field and its checksum changed.
fn changes(packet: &[u8]) {
    for ethertype in [EtherType::IPV4, EtherType::IPV6] {
        let mut changed = packet.to_vec();
        let before = ip::View::new(ethertype, packet).ok().map(|v| (v.ecn(), v.ttl()));
        let checksum_ok = ipv4::View::new(packet).map(|v| v.checksum_ok());
        let mark = ip::mark_ce(ethertype, &mut changed);
        assert_eq!(mark == CeMark::NotIp, before.is_none());
        if mark != CeMark::Marked {
            assert_eq!(changed, packet);
        }
        let hop = ip::decrement_ttl(ethertype, &mut changed);
        let after = ip::View::new(ethertype, &changed).ok();
        match (before, after) {
            (Some((ecn, ttl)), Some(v)) => {
                let want = if ecn == Ecn::NotEct { ecn } else { Ecn::Ce };
                assert_eq!(v.ecn(), want);
                match hop {
                    Hop::Alive(left) => assert_eq!((left, v.ttl()), (ttl - 1, ttl - 1)),
                    Hop::Expired => assert!(ttl < 2 && v.ttl() == ttl),
                    Hop::NotIp => panic!("it was IP"),
                }
            }
            (None, None) => assert_eq!(hop, Hop::NotIp),
            _ => panic!("a change made or unmade an IP packet"),
        }
        if ethertype == EtherType::IPV4 {
            assert_eq!(ipv4::View::new(&changed).map(|v| v.checksum_ok()), checksum_ok);
        }
        if let Ok(mut v) = ipv6::ViewMut::new(&mut changed) {
            v.set_dscp_ecn(Dscp::MAX, Ecn::Ect1);
            assert_eq!(ipv6::View::new(&changed).map(|v| v.dscp()), Ok(Dscp::MAX));
        }
    }
}

/// LLDP, and the content of its TLVs.
fn discovery(frame: &[u8]) {
    round_trip!(lldp::Repr::parse(frame), lldp::Repr::parse);
    let Ok(view) = lldp::View::new(frame) else { return };
    for tlv in view.optional() {
        assert!(tlv.value.len() <= lldp::VALUE_MAX);
        dcbx(tlv.organizational().map_or(tlv.value, |org| org.value));
    }
}

/// As [`round_trip`], for formats without padding that have a length.
macro_rules! round_trip_tlv {
    ($parse:expr, $octets:expr) => {
        if let Ok(repr) = $parse($octets) {
            let mut out = [0xa5; 600];
            let len = repr.emit(&mut out).expect("what was parsed can be emitted");
            assert_eq!((len, $parse(&out[..len])), (repr.buffer_len(), Ok(repr)));
            assert!(!repr.to_string().is_empty());
        }
    };
}

/// Arbitrary bytes as every TLV of 802.1.
fn dcbx(value: &[u8]) {
    round_trip_tlv!(dcbx::ets::Configuration::parse, value);
    round_trip_tlv!(dcbx::ets::Recommendation::parse, value);
    round_trip_tlv!(dcbx::pfc::Configuration::parse, value);
    round_trip_tlv!(dcbx::pfc::Information::parse, value);
    round_trip_tlv!(CongestionIsolation::parse, value);
    round_trip_tlv!(Topology::parse, value);
    round_trip_tlv!(SourceFlowControl::parse, value);
    if let Ok(entries) = dcbx::application::parse(value) {
        let all: Vec<_> = entries.take(dcbx::application::ENTRIES_MAX).collect();
        let mut out = [0xa5; 600];
        let len = dcbx::application::emit(&all, &mut out).expect("what was parsed can be emitted");
        let again = dcbx::application::parse(&out[..len]).expect("what was emitted can be parsed");
        assert!(again.eq(all));
    }
}

/// The path of the switch's classifier, and tags added and removed.
fn classification(frame: &[u8]) {
    let Ok(walk) = vlan::walk(frame) else { return };
    assert!(walk.l3 <= frame.len() && walk.tags <= vlan::MAX_TAGS);
    assert_eq!(walk.outer.is_some(), walk.tags > 0);
    let is_ip = ip::View::new(walk.ethertype, &frame[walk.l3..]).is_ok();
    let tuple = flow::FiveTuple::of_frame(frame);
    assert_eq!(tuple.is_some(), is_ip);
    if let Some(tuple) = tuple {
        assert!(!tuple.to_string().is_empty());
    }
    let mut marked = frame.to_vec();
    assert_eq!(ip::mark_ce_in_frame(&mut marked) == CeMark::NotIp, !is_ip);

    let tag = vlan::Repr::parse(&[0x88, 0xa8, 0x60, 0x05]).expect("a tag");
    let mut tagged = [&[0; vlan::TAG_LEN], frame].concat();
    vlan::insert(&mut tagged, &tag).expect("a frame with addresses");
    assert_eq!(vlan::walk(&tagged).map(|w| w.outer), Ok(Some(tag)));
    vlan::remove(&mut tagged).expect("the tag just put on");
    assert_eq!(&tagged[vlan::TAG_LEN..], frame);
    if let Some(outer) = walk.outer {
        let mut replaced = frame.to_vec();
        vlan::replace(&mut replaced, &tag).expect("a tagged frame");
        vlan::replace(&mut replaced, &outer).expect("a tagged frame");
        assert_eq!(replaced, frame);
    }
}
