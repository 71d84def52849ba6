//! Generates random congestion settings of switches and hosts, and congestion messages without a cause: forged,
//! modified, truncated and replayed.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use super::Chance;
use super::profile::Drawn;
use crate::LabPlan;
use crate::raw::{Fault, FaultKind, Forge, Host, Profile, QcnWord, SfcWord, Short};
use config::quantity::{Ratio, Size, Span};
use config::raw::{
    Centiseconds, CongestionIsolation, FastCnp, FastCnpQueue, IsolationQueue, MessageLimit,
    PausePolicy, Qcn, QcnQueue, Range, Senders, Sfc, SfcProxy, SfcProxyAccept, SfcProxyCache,
    SfcQueue, SfcmForm,
};
use congestion::isolation::CimRepeat;
use congestion::proxy::Remember;
use congestion::sfc::{Count, Life};
use ground::time::Duration;
use ground::units::{Dscp, Mac, Priority, Vid};
use sim::{NodeId, NodeKind};
use wire::flow::FiveTuple;
use wire::ip::{Ecn, Protocol};
use wire::sfcm::{self, Form, Locator, Sfcm};
use wire::{EtherType, cim, cnm, datagram};

/// Most bytes of a frame that messages of the virtual world can quote, beside their headers.
const QUOTED_MOST: u64 = 80;

/// Adds congestion sections to a profile: at least one, and those that it requires.
pub(super) fn sections(chance: &mut Chance, drawn: &mut Drawn) {
    let sfc = chance.percent(60).then(|| sfc(chance, drawn));
    let isolation = chance.percent(30).then(|| isolation(chance, drawn)).flatten();
    let proxy = (sfc.is_some() && chance.percent(70)) || chance.percent(25);
    let proxy = proxy.then(|| proxied(chance));
    let fast_cnp = chance.percent(25).then(|| fast_cnp(chance, drawn));
    let qcn = chance.percent(25).then(|| qcn(chance, drawn));
    let profile = &mut drawn.profile;
    (profile.sfc, profile.congestion_isolation, profile.sfc_proxy) = (sfc, isolation, proxy);
    (profile.fast_cnp, profile.qcn) = (fast_cnp, qcn);
}

/// Lowers congestion thresholds that no queue of a buffer of this size reaches; such a profile is refused.
pub(super) fn limit_thresholds(profile: &mut Profile, Size(buffer): Size) {
    let limit = |size: &mut Option<Size>, most: u64| {
        if let Some(Size(size)) = size {
            *size = (*size).min(most);
        }
    };
    // The buffer has whole cells alone.
    let cell = profile.buffer.cell.map_or(256, |Size(cell)| cell);
    let most = buffer.saturating_sub(cell);
    for queue in profile.sfc.iter_mut().flat_map(|sfc| sfc.queues.values_mut()) {
        limit(&mut queue.threshold, most);
        limit(&mut queue.target, most);
    }
    for queue in profile.congestion_isolation.iter_mut().flat_map(|of| of.queues.values_mut()) {
        limit(&mut queue.threshold, most);
        limit(&mut queue.low, most);
    }
    for queue in profile.fast_cnp.iter_mut().flat_map(|of| of.queues.values_mut()) {
        limit(&mut queue.threshold, most);
    }
}

/// Generates a host's reactions to messages.
pub(super) fn reactions(chance: &mut Chance, host: &mut Host) {
    let pauses = [SfcWord::Flow, SfcWord::Flow, SfcWord::Priority, SfcWord::None];
    host.sfc = chance.percent(50).then(|| Short::Short(chance.pick(&pauses)));
    host.qcn = chance.percent(40).then_some(Short::Short(QcnWord::Standard));
}

/// Returns the monitored classes: some lossless ones, and perhaps a lossy one.
fn classes(chance: &mut Chance, drawn: &Drawn) -> Vec<u8> {
    let mut classes = chance.some(&drawn.lossless);
    if !drawn.lossy.is_empty() && chance.percent(20) {
        classes.push(chance.pick(&drawn.lossy));
    }
    classes
}

fn by_class<T>(classes: Vec<u8>, mut queue: impl FnMut(u8) -> T) -> BTreeMap<Range, T> {
    let key = |p: u8| Range { first: p.into(), last: p.into() };
    classes.into_iter().map(|p| (key(p), queue(p))).collect()
}

fn sfc(chance: &mut Chance, drawn: &Drawn) -> Sfc {
    let classes = classes(chance, drawn);
    let queues = by_class(classes, |_| {
        let threshold = chance.scale(500, 200_000);
        let target = chance.percent(60).then(|| Size(chance.between(0, threshold)));
        SfcQueue { threshold: Some(Size(threshold)), target, aqm: None }
    });
    let encapsulated = chance.percent(30);
    Sfc {
        transmit_priority: chance.percent(50).then(|| chance.between(0, 7) as u8),
        max_sfcm: chance.percent(50).then(|| chance.scale(1, 16) as u32),
        max_flow_life: chance.percent(50).then(|| life(chance)),
        queues,
        form: encapsulated.then_some(SfcmForm::Encapsulated),
        min_header_octets: encapsulated.then(|| chance.between(64, QUOTED_MOST) as u16),
        spacing: chance.percent(50).then(|| Span(chance.span(1, 100_000))),
        patience: chance.percent(30).then(|| Span(chance.span(1, 50_000))),
        octets_min: chance.percent(20).then(|| Size(chance.scale(1, 50_000))),
        pause_max: chance.percent(60).then(|| Span(chance.span(100, 1_000_000))),
        budget: chance.percent(30).then(|| limit(chance)),
        streams: chance.percent(50).then(|| chance.scale(1, 4_096) as u32),
        count: chance.percent(30).then_some(Count::PerStream),
        life: chance.percent(30).then_some(Life::SinceCreated),
        ..Sfc::default()
    }
}

fn life(chance: &mut Chance) -> Centiseconds {
    Centiseconds(chance.span(1_000, 1_000_000_000))
}

fn limit(chance: &mut Chance) -> MessageLimit {
    let burst = Some(chance.scale(1, 64) as u32);
    MessageLimit { interval: Some(Span(chance.span(1, 100_000))), burst }
}

/// Generates isolation of one lossless class, if a class is free for isolated flows.
fn isolation(chance: &mut Chance, drawn: &Drawn) -> Option<CongestionIsolation> {
    let monitored = chance.pick(&drawn.lossless);
    // Isolated flows in a lossless class would share its pauses with the flows they were taken from.
    let free: Vec<u8> = (0..8).filter(|p| !drawn.lossless.contains(p)).collect();
    let to = (!free.is_empty()).then(|| chance.pick(&free))?;
    let queues = by_class(vec![monitored], |_| {
        let threshold = chance.scale(500, 100_000);
        let low = chance.percent(50).then(|| chance.between(0, threshold));
        let above = low.filter(|_| chance.percent(50)).map(|low| Size(low + threshold));
        let threshold = Some(Size(threshold));
        IsolationQueue { threshold, aqm: None, low: low.map(Size), cim_above: above }
    });
    Some(CongestionIsolation {
        isolate: by_class(vec![monitored], |_| to),
        max_flow_life: chance.percent(50).then(|| life(chance)),
        max_cim_tx: chance.percent(50).then(|| chance.between(0, 8) as u32),
        max_streams: chance.percent(50).then(|| chance.scale(1, 4_096) as u32),
        repeat: chance.percent(30).then_some(CimRepeat::Never),
        spacing: chance.percent(50).then(|| Span(chance.span(1, 100_000))),
        budget: chance.percent(30).then(|| limit(chance)),
        queues,
        ..CongestionIsolation::default()
    })
}

fn proxied(chance: &mut Chance) -> SfcProxy {
    let senders = |chance: &mut Chance| {
        let of = [Senders::Anybody, Senders::Anybody, Senders::Nobody];
        chance.percent(60).then(|| chance.pick(&of))
    };
    let longest = chance.scale(100, 1_000_000);
    let policy = PausePolicy {
        longest: Some(Span(ground::time::Duration::from_nanos(longest))),
        credit: Some(Span(chance.span(longest, 4 * longest))),
        share: Some(Ratio(chance.between(0, 75) as u32 * 10_000)),
        spacing: Some(Span(chance.span(10, 100_000))),
        burst: Some(chance.scale(1, 64) as u32),
    };
    let cache = chance.percent(40).then(|| SfcProxyCache {
        entries: Some(1 << chance.between(3, 12)),
        max_flow_life: chance.percent(50).then(|| life(chance)),
        remember: Some(chance.pick(&[Remember::Rest, Remember::Whole])),
    });
    SfcProxy {
        udp_port: None,
        accept: SfcProxyAccept { switches: senders(chance), hosts: senders(chance) },
        unknown: None,
        max_flow_life: None,
        policy: chance.percent(80).then_some(policy),
        cache,
    }
}

fn fast_cnp(chance: &mut Chance, drawn: &Drawn) -> FastCnp {
    let classes = classes(chance, drawn);
    let threshold = |chance: &mut Chance| Some(Size(chance.scale(500, 200_000)));
    FastCnp {
        queues: by_class(classes, |_| FastCnpQueue { threshold: threshold(chance), aqm: None }),
        spacing: chance.percent(50).then(|| Span(chance.span(100, 100_000))),
        flows: chance.percent(50).then(|| chance.scale(1, 4_096) as u32),
        priority: chance.percent(30).then(|| chance.between(0, 7) as u8),
        ..FastCnp::default()
    }
}

fn qcn(chance: &mut Chance, drawn: &Drawn) -> Qcn {
    let classes = classes(chance, drawn);
    let queues = by_class(classes, |_| QcnQueue {
        // With a set point below a few maximum frames, even a flow that is alone slows down, and
        // its messages do not complete in time.
        set_point: Some(Size(chance.scale(60_000, 400_000))),
        sample_base: Some(Size(chance.scale(1_000, 150_000))),
        ..QcnQueue::default()
    });
    Qcn { queues, ..Qcn::default() }
}

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
    // A tree of n switches has n - 1 links, so one more closes a loop.
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
    // Where frames could loop, the destination stays as it is: a changed one may be unknown.
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

fn forged_priority(chance: &mut Chance) -> Priority {
    chance.pick(&Priority::ALL)
}

/// Returns the start of a flow's frame: EtherType, IPv4 and UDP headers, without checksums, which
/// receivers of quoted frames do not check.
fn msdu(from: Ipv4Addr, to: Ipv4Addr) -> [u8; MSDU] {
    let mut out = [0; MSDU];
    // EtherType of IPv4; version and header length, DSCP, and a total length of 50.
    out[..6].copy_from_slice(&[0x08, 0x00, 0x45, 0, 0, 50]);
    (out[10], out[11]) = (64, Protocol::UDP.0);
    out[14..18].copy_from_slice(&from.octets());
    out[18..22].copy_from_slice(&to.octets());
    out[22..24].copy_from_slice(&49_152_u16.to_be_bytes());
    // RoCEv2's port: the flow that a message names is most likely one of RoCE.
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
        priority: forged_priority(chance),
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
        priority: forged_priority(chance),
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
