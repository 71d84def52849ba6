//! Messages of Source Flow Control (SFCM): those of the device, and those that the tester sends.
//!
//! No draft with their layout is public; it is that of [`wire::sfcm`].

use core::net::{IpAddr, Ipv4Addr};

use super::fill::missing;
use crate::bench::Trouble;
use crate::observation::{Observation, Record, Way, What};
use crate::setup::{ExpectedProxy, ExpectedSfc, Marking, line_time};
use crate::test::Context;
use crate::trial::{Port, Trial};
use ground::time::Duration;
use ground::units::{Dscp, Pcp, Priority, PrioritySet};
use wire::flow::FiveTuple;
use wire::ip::{Ecn, Protocol};
use wire::sfcm::{Form, HEADER_LEN, Locator, Repr, Sfcm};
use wire::vlan::{self, Tpid};
use wire::{datagram, ethernet, udp};

/// Port of the flows that the tester's messages are about. A choice: RoCEv2's.
const FLOW_PORT: u16 = 4_791;

/// Returns the expectation, or the reason why a test is skipped.
pub(super) fn expected(cx: &Context<'_>) -> Result<ExpectedSfc, Trouble> {
    cx.setup.expected.sfc.ok_or_else(|| missing("sfc"))
}

/// Returns the UDP port of messages, and what is expected of the proxy.
pub(super) fn proxy(cx: &Context<'_>) -> Result<(u16, ExpectedProxy), Trouble> {
    let expected = expected(cx)?;
    let proxy = expected.proxy.ok_or_else(|| missing("sfc.proxy"))?;
    Ok((expected.udp_port, proxy))
}

/// A message that the tester sends.
#[derive(Clone, Copy)]
pub(super) struct Message {
    /// Port by which it is sent.
    pub(super) from: Port,
    /// Its source address, which is the destination of the flow.
    pub(super) sender: Ipv4Addr,
    /// Host that it is sent to.
    pub(super) to: Port,
    /// Source of the flow that it is about.
    pub(super) source: Ipv4Addr,
    pub(super) priority: Priority,
    pub(super) pause: Duration,
}

impl Message {
    /// Returns the octets from the destination address on, without FCS.
    pub(super) fn octets(&self, cx: &Context<'_>, udp_port: u16) -> Vec<u8> {
        let (from, to) = (cx.port(self.from), cx.port(self.to));
        let (src, dst) = (IpAddr::V4(self.sender), IpAddr::V4(to.ip));
        let dscp = |n| Dscp::new(n).expect("a class selector is below 64");
        let headers = datagram::Repr {
            src,
            dst,
            dscp: dscp(56),
            ecn: Ecn::NotEct,
            ttl: 64,
            src_port: udp_port,
            dst_port: udp_port,
        };
        let (src_port, dst_port) = (FLOW_PORT, FLOW_PORT);
        let flow = FiveTuple { src: dst, dst: src, protocol: Protocol::UDP, src_port, dst_port };
        let message = Sfcm {
            form: Form::Simplified(flow),
            priority: self.priority,
            dscp: match &cx.setup.marking {
                Marking::Dscp(map) => map[self.priority.index()],
                Marking::Pcp(..) => Dscp::MIN,
            },
            pause: self.pause,
            locator: Locator::Incast,
            level: None,
        };
        let repr = Repr { headers, message };
        let frame = ethernet::Repr { dst: to.mac, src: from.mac, ethertype: repr.ethertype() };
        let mut octets = vec![0; ethernet::HEADER_LEN + repr.buffer_len()];
        let fits = "a message of the tester fits";
        frame.emit(&mut octets).expect(fits);
        let (_, packet) = octets.split_at_mut(ethernet::HEADER_LEN);
        repr.emit(packet).expect(fits);
        // A message about the flow of another host cannot be made without this.
        let datagram = &mut packet[headers.header_len() - udp::HEADER_LEN..];
        let at = udp::HEADER_LEN + HEADER_LEN;
        datagram[at..at + 4].copy_from_slice(&self.source.octets());
        udp::set_checksum(datagram, src, dst).expect(fits);
        let highest = Pcp::new(7).expect("7 is the highest");
        tagged(&cx.setup.marking, highest, octets)
    }
}

/// Adds the tag of a marking by PCP.
pub(super) fn tagged(marking: &Marking, pcp: Pcp, octets: Vec<u8>) -> Vec<u8> {
    let Marking::Pcp(_, vid) = marking else { return octets };
    let tag = vlan::Repr { tpid: Tpid::C, pcp, dei: false, vid: Some(*vid) };
    let mut frame = vec![0; vlan::TAG_LEN];
    frame.extend(octets);
    vlan::insert(&mut frame, &tag).expect("there is room for a tag");
    frame
}

/// Returns a trial with messages of the same contents, and a time after the last one in which a pause of
/// `rest` ends.
pub(super) fn trial(
    (name, from): (&str, Port),
    octets: Vec<u8>,
    (frames, every): (u32, Duration),
    rest: Duration,
) -> Trial {
    let start = every.max(Duration::from_micros(1));
    let length = start + every.saturating_mul(u64::from(frames)) + rest;
    let mut trial = Trial::new(name, length);
    let control = crate::trial::Control { port: from, octets, start, every, frames };
    trial.control.push(control);
    trial
}

/// Returns the spans in which PFC of the device stops a priority at a port without a break: each from the
/// last bit of a frame to the end of its time, or of the one that renews or replaces it.
pub(super) fn paused(
    cx: &Context<'_>,
    seen: &Observation,
    (port, priority): (Port, Priority),
) -> Vec<(Duration, Duration)> {
    let rate = cx.port(port).rate;
    let mut spans: Vec<(Duration, Duration)> = Vec::new();
    for pause in seen.pauses(port) {
        let Some(time) = pause.frame.time(priority) else { continue };
        let until = pause.at + time.at(rate);
        match spans.last_mut().filter(|(_, end)| pause.at <= *end) {
            Some((_, end)) => *end = until,
            None => spans.push((pause.at, until)),
        }
    }
    spans
}

/// Returns the time in which a priority is stopped at a port.
pub(super) fn total(spans: &[(Duration, Duration)]) -> Duration {
    spans.iter().fold(Duration::ZERO, |sum, (from, to)| sum + to.saturating_sub(*from))
}

/// Returns the numbers of PFC frames that stop something else than `set` at `port`, or anything at another
/// port.
pub(super) fn others(
    cx: &Context<'_>,
    seen: &Observation,
    (port, set): (Port, PrioritySet),
) -> u64 {
    let stops = |at: Port, set: PrioritySet| {
        let any = |pause: &crate::observation::Pause| set.iter().any(|p| pause.stops(p));
        seen.pauses(at).filter(any).count() as u64
    };
    let each = (0..cx.setup.ports.len()).map(Port);
    each.map(|at| stops(at, if at == port { PrioritySet(!set.0) } else { PrioritySet::ALL })).sum()
}

/// Returns the time by which a frame of the device may be late without any traffic: it waits for one
/// frame, and is sent.
pub(super) fn latency(cx: &Context<'_>, port: Port) -> Duration {
    line_time(cx.port(port).rate, cx.setup.max_frame) + cx.setup.cable
}

/// A message that the tester received.
pub(super) struct Received<'a> {
    pub(super) record: &'a Record,
    /// Destination address of the frame.
    pub(super) to: [u8; 6],
    /// The message, or its fault.
    pub(super) read: Result<Repr<'a>, String>,
    /// True if reserved bits are not zero.
    pub(super) reserved: bool,
}

/// Returns the messages that a port received: datagrams to the UDP port of messages, complete or not.
pub(super) fn received(
    seen: &Observation,
    port: Port,
    udp_port: u16,
) -> impl Iterator<Item = Received<'_>> {
    seen.records.iter().filter_map(move |record| match &record.what {
        What::Other(octets) if record.port == port && record.way == Way::Received => {
            read(record, octets, udp_port)
        }
        _ => None,
    })
}

fn read<'a>(record: &'a Record, octets: &'a [u8], udp_port: u16) -> Option<Received<'a>> {
    let walk = vlan::walk(octets).ok()?;
    let packet = octets.get(walk.l3..)?;
    let view = wire::ip::View::new(walk.ethertype, packet).ok()?;
    let upper = view.upper().ok()?;
    if upper.protocol != Protocol::UDP {
        return None;
    }
    let datagram = udp::View::new(upper.payload).ok()?;
    if datagram.dst_port() != udp_port {
        return None;
    }
    let parsed = Repr::parse(walk.ethertype, packet).map_err(|error| error.to_string());
    let pdu = datagram.payload();
    let bits = |at: usize, mask: u8| pdu.get(at).is_some_and(|octet| octet & mask != 0);
    let is_simple = matches!(&parsed, Ok(repr) if matches!(repr.message.form, Form::Simplified(_)));
    // Behind the addresses of a simplified flow is its protocol, and a reserved octet.
    let behind = if view.src().is_ipv4() { 8 } else { 32 };
    let in_flow = is_simple && bits(HEADER_LEN + behind + 1, 0xff);
    let reserved = bits(1, 0x38) || bits(2, 0x03) || in_flow;
    let to = *octets.first_chunk()?;
    Some(Received { record, to, read: parsed, reserved })
}
