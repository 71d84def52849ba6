//! Generates congestion messages without a cause: forged, modified, truncated and replayed.

use std::net::Ipv4Addr;

use super::chance::Chance;
use crate::LabPlan;
use crate::raw::{Fault, FaultKind, Forge};
use config::quantity::Span;
use ground::time::Duration;
use ground::units::{Dscp, Mac, Priority, Vid};
use sim::{NodeId, NodeKind};
use wire::flow::FiveTuple;
use wire::ip::{Ecn, Protocol};
use wire::sfcm::{self, Form, Locator, Sfcm};
use wire::{EtherType, cim, cnm, datagram};

/// Bytes reserved for a message.
const ROOM: usize = 256;
/// Bytes of the MSDU that messages quote, all of which the virtual world keeps.
const MSDU: usize = 64;

/// Addresses of a host.
type Known = (Mac, Ipv4Addr);

/// Generates up to six forgeries on the links of a lab.
pub(super) fn forgeries(chance: &mut Chance, plan: &LabPlan) -> Vec<Fault> {
    let hosts = hosts(plan);
    let n = chance.between(1, 6);
    (0..n).map(|_| forgery(chance, plan, &hosts)).collect()
}

/// Returns the addresses of the hosts, from their flows or invented.
fn hosts(plan: &LabPlan) -> Vec<Known> {
    let nodes = plan.network.nodes.iter().enumerate();
    let known = nodes.filter_map(|(n, node)| {
        let NodeKind::Host(host) = &node.kind else { return None };
        let sent = host.senders.first().map(|sender| sender.src_ip);
        let got = host.receivers.first().map(|receiver| receiver.dst_ip);
        let made_up = Ipv4Addr::new(10, 99, 0, n as u8);
        Some((host.mac, sent.or(got).unwrap_or(made_up)))
    });
    known.collect()
}

fn forgery(chance: &mut Chance, plan: &LabPlan, hosts: &[Known]) -> Fault {
    let link = chance.pick(&plan.network.links);
    let end = if chance.percent(50) { link.a } else { link.b };
    let NodeId(from) = end.node;
    let octets = frame(chance, hosts, !has_circle(plan));
    let times = chance.percent(50).then(|| chance.scale(1, 200) as u32);
    let forge = Forge {
        link: link.name,
        from: Some(plan.network.nodes[from as usize].name().to_owned()),
        octets: octets.iter().map(|octet| format!("{octet:02x}")).collect(),
        times,
        every: times.map(|_| Span(chance.span(10, 20_000))),
    };
    Fault::new(Span(chance.span(1, 300_000)), FaultKind::Forge(forge))
}

/// True if switches form a loop. They are bridges without a spanning tree, so frames to unknown
/// addresses would loop for ever.
fn has_circle(plan: &LabPlan) -> bool {
    let network = &plan.network;
    let is_switch =
        |NodeId(n): NodeId| matches!(network.nodes[n as usize].kind, NodeKind::Switch(_));
    let switches = network.nodes.iter().filter(|n| matches!(n.kind, NodeKind::Switch(_))).count();
    let between = network.links.iter().filter(|l| is_switch(l.a.node) && is_switch(l.b.node));
    between.count() >= switches
}

/// Generates a frame that is more or less a message, to an existing host unless `to_nobody` is set.
fn frame(chance: &mut Chance, hosts: &[Known], to_nobody: bool) -> Vec<u8> {
    let (to, other) = (chance.pick(hosts), chance.pick(hosts));
    let src = if chance.percent(80) { other.0 } else { Mac([2, 0xbb, 0, 0, 0, 1]) };
    let nobody = chance.percent(10) && to_nobody;
    let dst = if nobody { Mac([2, 0xbb, 0, 0, 0, 2]) } else { to.0 };
    let mut body = [0; ROOM];
    let (ethertype, len) = match chance.between(0, 9) {
        0..=5 => sfcm(chance, to.1, other.1, &mut body),
        6..=7 => cim(chance, to, other, &mut body),
        _ => cnm(chance, to, other, &mut body),
    };
    let mut frame = [&dst.0[..], &src.0].concat();
    if chance.percent(30) {
        frame.extend([0x81, 0, (chance.between(0, 7) as u8) << 5, chance.between(0, 2) as u8]);
    }
    frame.extend(ethertype.0.to_be_bytes());
    frame.extend(&body[..len]);
    spoil(chance, &mut frame, if to_nobody { 0 } else { dst.0.len() });
    frame
}

/// Changes bytes of every third frame, from `first` on, and truncates others.
fn spoil(chance: &mut Chance, frame: &mut Vec<u8>, first: usize) {
    match chance.between(0, 5) {
        0..=1 => {
            for _ in 0..chance.between(1, 4) {
                let at = chance.between(first as u64, frame.len() as u64 - 1) as usize;
                frame[at] ^= 1 << chance.between(0, 7);
            }
        }
        2 => frame.truncate(chance.between(14, frame.len() as u64) as usize),
        _ => {}
    }
}

fn headers(chance: &mut Chance, from: Ipv4Addr, to: Ipv4Addr, port: u16) -> datagram::Repr {
    let dscp = Dscp::new(chance.between(0, 63) as u8).expect("six bits");
    let (src_port, dst_port) = (port, port);
    datagram::Repr {
        src: from.into(),
        dst: to.into(),
        dscp,
        ecn: Ecn::NotEct,
        ttl: 64,
        src_port,
        dst_port,
    }
}

fn priority(chance: &mut Chance) -> Priority {
    chance.pick(&Priority::ALL)
}

/// Returns the start of a flow's frame: EtherType, IPv4 and UDP headers, without checksums, which
/// receivers of quoted frames do not check.
fn msdu(from: Ipv4Addr, to: Ipv4Addr) -> [u8; MSDU] {
    let mut out = [0; MSDU];
    out[..6].copy_from_slice(&[0x08, 0x00, 0x45, 0, 0, 50]);
    (out[10], out[11]) = (64, Protocol::UDP.0);
    out[14..18].copy_from_slice(&from.octets());
    out[18..22].copy_from_slice(&to.octets());
    out[22..24].copy_from_slice(&49_152_u16.to_be_bytes());
    out[24..26].copy_from_slice(&4_791_u16.to_be_bytes());
    out[26..28].copy_from_slice(&30_u16.to_be_bytes());
    out
}

/// Generates an SFCM to `to` about its flow to `other`: of any length, for any priority, or about
/// messages.
fn sfcm(chance: &mut Chance, to: Ipv4Addr, other: Ipv4Addr, body: &mut [u8]) -> (EtherType, usize) {
    let port = sfcm::PORT_DEFAULT;
    let dst_port = 4_791;
    let flow = FiveTuple {
        src: to.into(),
        dst: other.into(),
        protocol: Protocol::UDP,
        src_port: 49_152,
        dst_port,
    };
    let quoted = msdu(to, other);
    let quotes = chance.percent(40);
    let form = if quotes { Form::Encapsulated(&quoted) } else { Form::Simplified(flow) };
    let pause = Duration::from_nanos(chance.scale(1, u32::MAX.into()));
    let message = Sfcm {
        form,
        priority: priority(chance),
        dscp: Dscp::new(chance.between(0, 63) as u8).expect("six bits"),
        pause: if chance.percent(5) { Duration::ZERO } else { pause },
        locator: chance.pick(&[Locator::Unknown, Locator::Incast, Locator::InNetwork]),
        level: None,
    };
    let repr = sfcm::Repr { headers: headers(chance, other, to, port), message };
    let whole = repr.emit(body).is_ok();
    let len = if whole { repr.buffer_len() } else { MSDU };
    if whole && chance.percent(10) {
        // A switch sends none about a message; it has no UDP checksum.
        let at = if quotes { 28 + sfcm::HEADER_LEN + 24 } else { len - 2 };
        body[at..at + 2].copy_from_slice(&port.to_be_bytes());
        body[26..28].fill(0);
    }
    (repr.ethertype(), len)
}

/// Generates a CIM that adds or deletes the flow from `from` to `to`.
fn cim(chance: &mut Chance, to: Known, from: Known, body: &mut [u8]) -> (EtherType, usize) {
    let quoted = msdu(from.1, to.1);
    let encapsulation = match chance.percent(70) {
        true => cim::Encapsulation::L2,
        false => cim::Encapsulation::Udp(headers(chance, to.1, from.1, 50_000)),
    };
    let repr = cim::Repr {
        encapsulation,
        add: chance.percent(80),
        dst: to.0,
        src: from.0,
        vid: chance.percent(50).then(|| Vid::new(1)).flatten(),
        msdu: &quoted,
    };
    let dialect = cim::Dialect::default();
    let len = repr.emit(body, &dialect).map_or(MSDU, |()| repr.buffer_len(&dialect));
    (repr.ethertype(), len)
}

/// Generates a CNM to the source of the flow from `from` to `to`.
fn cnm(chance: &mut Chance, to: Known, from: Known, body: &mut [u8]) -> (EtherType, usize) {
    let quoted = msdu(from.1, to.1);
    let repr = cnm::Repr {
        flow_id: chance.percent(20).then(|| chance.any() as u16),
        feedback: chance.between(0, 63) as u8,
        cpid: cnm::CpId::of(to.0, 3),
        q_offset: chance.any() as i16,
        q_delta: chance.any() as i16,
        priority: priority(chance),
        dst: to.0,
        msdu: &quoted,
    };
    let len = repr.emit(body).map_or(MSDU, |()| repr.buffer_len());
    (repr.ethertype(), len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::vlan;

    #[test]
    fn many_of_the_messages_are_whole_and_many_are_not() {
        let mut chance = Chance::new(7);
        let host = |n: u8| (Mac([2, 0, 0, 0, 0, n]), Ipv4Addr::new(10, 0, 0, n));
        let hosts = [host(1), host(2), host(3)];
        let (mut sfcms, mut cims, mut cnms, mut none) = (0, 0, 0, 0);
        for _ in 0..2_000 {
            let frame = frame(&mut chance, &hosts, true);
            assert!((14..=ROOM).contains(&frame.len()));
            let Ok(walk) = vlan::walk(&frame) else { continue };
            let packet = &frame[walk.l3..];
            match walk.ethertype {
                e if sfcm::Repr::parse(e, packet).is_ok() => sfcms += 1,
                e if cnm::Repr::parse(e, packet).is_ok() => cnms += 1,
                e if cim::Repr::parse(e, packet, &cim::Dialect::default()).is_ok() => cims += 1,
                _ => none += 1,
            }
        }
        println!("{sfcms} SFCMs, {cims} CIMs, {cnms} CNMs, {none} of nothing");
        assert!(sfcms > 400 && cims > 100 && cnms > 100 && none > 200);
    }
}
