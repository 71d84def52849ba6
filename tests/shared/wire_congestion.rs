//! Frames with congestion messages: SFCM, CIM and CNM.

use sluice::time::Duration;
use sluice::units::{Dscp, Priority, Vid};
use sluice::wire::flow::FiveTuple;
use sluice::wire::ip::{Ecn, Protocol};
use sluice::wire::sfcm::{self, Form, Locator, Sfcm};
use sluice::wire::{EtherType, cim, cnm, datagram, ethernet, msdu, vlan};

use super::{Rng, frame, tag};

/// The formats that [`congestion_frame`] makes.
pub const CONGESTION_KINDS: [&str; 9] =
    ["sfcm4", "sfcm6", "sfcm4-msdu", "sfcm6-msdu", "cim", "cim4", "cim6", "cnm", "cnm-tagged"];

/// UDP port of the CIMs: peers agree on one, so any unassigned port is valid.
pub const CIM_PORT: u16 = 49_999;

/// A whole frame of one of [`CONGESTION_KINDS`], padded to 60 bytes, sometimes with a tag.
pub fn congestion_frame(kind: &str, rng: &mut Rng) -> Vec<u8> {
    let v6 = kind.contains('6');
    let (ethertype, packet) = match kind {
        "sfcm4" | "sfcm6" => sfcm_packet(rng, v6, false),
        "sfcm4-msdu" | "sfcm6-msdu" => sfcm_packet(rng, v6, true),
        "cim" => cim_packet(rng, None),
        "cim4" | "cim6" => {
            let headers = headers(rng, v6, CIM_PORT);
            cim_packet(rng, Some(headers))
        }
        "cnm" | "cnm-tagged" => cnm_packet(rng, kind == "cnm-tagged"),
        _ => panic!("no such kind: {kind}"),
    };
    let header = ethernet::Repr { dst: rng.mac(), src: rng.mac(), ethertype };
    let mut out = vec![0; header.buffer_len()];
    header.emit(&mut out).unwrap();
    out.extend(packet);
    out.resize(out.len().max(ethernet::MIN_FRAME), 0);
    if rng.bool() {
        out.splice(..0, [0; vlan::TAG_LEN]);
        vlan::insert(&mut out, &tag(rng)).unwrap();
    }
    out
}

fn headers(rng: &mut Rng, v6: bool, port: u16) -> datagram::Repr {
    datagram::Repr {
        src: rng.address(v6),
        dst: rng.address(v6),
        dscp: Dscp::new(rng.below(64) as u8).unwrap(),
        ecn: Ecn::NotEct,
        ttl: 64 + rng.below(192) as u8,
        src_port: port,
        dst_port: port,
    }
}

/// The congesting frame: any kind of IP packet that carries data.
fn congesting(rng: &mut Rng) -> Vec<u8> {
    let data = [
        "ipv4-udp",
        "ipv4-tcp",
        "ipv4-options",
        "ipv6-udp",
        "ipv6-tcp",
        "ipv6-extension",
        "roce-ipv4",
        "roce-ipv6",
    ];
    frame(data[rng.below(data.len())], rng)
}

fn priority(rng: &mut Rng) -> Priority {
    Priority::ALL[rng.below(8)]
}

/// A UDP packet of `flow` after its EtherType.
fn msdu_of(flow: &FiveTuple, rng: &mut Rng) -> Vec<u8> {
    let inner = datagram::Repr {
        src: flow.src,
        dst: flow.dst,
        dscp: Dscp::MIN,
        ecn: Ecn::Ect0,
        ttl: 64,
        src_port: flow.src_port,
        dst_port: flow.dst_port,
    };
    let payload = 40 + rng.below(600);
    let mut packet = vec![0; inner.header_len()];
    packet.extend(rng.octets(payload));
    inner.emit(&mut packet).unwrap();
    let mut out = Vec::new();
    if rng.bool() {
        // An inner tag.
        out.extend([0x81, 0, 0x60, 7]);
    }
    out.extend(inner.ethertype().0.to_be_bytes());
    out.extend(packet);
    out
}

fn sfcm_packet(rng: &mut Rng, v6: bool, encapsulated: bool) -> (EtherType, Vec<u8>) {
    let headers = headers(rng, v6, sfcm::PORT_DEFAULT);
    let flow = FiveTuple {
        src: headers.dst,
        dst: rng.address(v6),
        protocol: if encapsulated || rng.bool() { Protocol::UDP } else { Protocol::TCP },
        src_port: rng.next() as u16,
        dst_port: rng.below(50_000) as u16,
    };
    let (octets, mut padded) = (msdu_of(&flow, rng), [0; sfcm::MSDU_MIN]);
    let message = Sfcm {
        form: if encapsulated {
            let max = sfcm::MSDU_MIN + rng.below(sfcm::MSDU_MAX - sfcm::MSDU_MIN + 1);
            Form::Encapsulated(msdu::bounded(&octets, max, &mut padded))
        } else {
            Form::Simplified(flow)
        },
        priority: priority(rng),
        dscp: Dscp::new(rng.below(64) as u8).unwrap(),
        pause: Duration::from_nanos(rng.next() as u32 as u64),
        locator: [Locator::Unknown, Locator::Incast, Locator::InNetwork][rng.below(3)],
        level: sfcm::Level::new(rng.below(sfcm::LEVEL_MAX.into()) as u8),
    };
    let repr = sfcm::Repr { headers, message };
    let mut out = vec![0xff; repr.buffer_len()];
    repr.emit(&mut out).unwrap();
    (repr.ethertype(), out)
}

fn cim_packet(rng: &mut Rng, headers: Option<datagram::Repr>) -> (EtherType, Vec<u8>) {
    let (frame, mut padded) = (congesting(rng), [0; cim::MSDU_MIN]);
    let (outer, octets) = msdu::of_frame(&frame).unwrap();
    let max = cim::MSDU_MIN + rng.below(cim::MSDU_MAX - cim::MSDU_MIN + 1);
    let repr = cim::Repr {
        encapsulation: headers.map_or(cim::Encapsulation::L2, cim::Encapsulation::Udp),
        add: rng.bool(),
        dst: rng.mac(),
        src: rng.mac(),
        vid: outer.and_then(|tag| tag.vid).or(Vid::new(1)),
        msdu: msdu::bounded(octets, max, &mut padded),
    };
    let dialect = cim::Dialect::default();
    let mut out = vec![0xff; repr.buffer_len(&dialect)];
    repr.emit(&mut out, &dialect).unwrap();
    (repr.ethertype(), out)
}

fn cnm_packet(rng: &mut Rng, tagged: bool) -> (EtherType, Vec<u8>) {
    let frame = congesting(rng);
    let (_, octets) = msdu::of_frame(&frame).unwrap();
    let repr = cnm::Repr {
        flow_id: tagged.then(|| rng.next() as u16),
        feedback: rng.below(64) as u8,
        cpid: cnm::CpId::of(rng.mac(), rng.next() as u16),
        q_offset: rng.next() as i16,
        q_delta: rng.next() as i16,
        priority: priority(rng),
        dst: rng.mac(),
        msdu: &octets[..octets.len().min(rng.below(cnm::MSDU_MAX + 1))],
    };
    let mut out = vec![0xff; repr.buffer_len()];
    repr.emit(&mut out).unwrap();
    (repr.ethertype(), out)
}
