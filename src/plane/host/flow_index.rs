//! Lookup of the flow that a message is about.

use core::net::IpAddr;
use core::ops::Range;

use crate::arrived::Arrived;
use crate::plan::stream::{Path, StreamPlan, TemplatePlan};
use crate::plan::{FlowId, Headers, StationPlan, Transport, TransportPlan};
use crate::source::Sources;
use ground::units::Mac;
use wire::flow::FiveTuple;
use wire::ip::Protocol;
use wire::{ethernet, msdu, roce};

/// The flows of a station by every identification in a message. Flows are numbered as in the plan:
/// `flows`, then `senders`, then streams.
#[derive(Debug)]
pub(crate) struct Index {
    /// Source MAC addresses of its frames, sorted.
    macs: Vec<Mac>,
    /// Source IP addresses of its flows and receivers, sorted.
    addresses: Vec<IpAddr>,
    /// Sorted. Several flows may share addresses and ports; only streams with constant ones are
    /// included.
    flows: Vec<(FiveTuple, u32)>,
    /// Sorted.
    ids: Vec<(FlowId, u32)>,
}

impl Index {
    /// Creates the index of a validated plan.
    pub(crate) fn new(plan: &StationPlan) -> Self {
        // In the order of the numbers by which `Sources` knows its flows.
        let open = plan.flows.iter().map(|f| (f.id, f.src, tuple_of_headers(&f.headers)));
        let answered = plan.senders.iter().map(|t| (t.id, t.src, Some(tuple_of_transport(t))));
        let streams = plan.tester.streams.iter().map(|s| (s.id, plan.mac, None));
        let mut index =
            Self { macs: vec![plan.mac], addresses: vec![], flows: vec![], ids: vec![] };
        for (n, (id, mac, tuple)) in (0..).zip(open.chain(answered).chain(streams)) {
            index.ids.push((id, n));
            index.macs.push(mac);
            index.flows.extend(tuple.map(|tuple| (tuple, n)));
        }
        index.addresses.extend(index.flows.iter().map(|(tuple, _)| tuple.src));
        // Acknowledgements are sent from these: messages about them are for this host, too.
        index.addresses.extend(plan.receivers.iter().map(|t| IpAddr::from(t.dst_ip)));
        index.ids.sort_unstable();
        index.sort();
        plan.tester.streams.iter().for_each(|stream| index.set_stream(stream));
        index
    }

    /// Replaces a stream's plan. Its old addresses stay those of the station.
    pub(crate) fn set_stream(&mut self, plan: &StreamPlan) {
        let Ok(place) = self.ids.binary_search_by_key(&plan.id, |(id, _)| *id) else { return };
        let n = self.ids[place].1;
        // Messages about the old addresses find the flow no more.
        self.flows.retain(|(_, of)| *of != n);
        // The control path is never paused, and a recording contains any number of flows.
        if plan.path == Path::Control || plan.recording.is_some() {
            return;
        }
        let Some(tuple) = FiveTuple::of_frame(&plan.template.headers) else { return };
        let src = plan.template.headers[6..12].try_into().expect("it has a header");
        self.macs.push(Mac(src));
        self.addresses.push(tuple.src);
        // A message about one of many addresses would pause all frames of the stream.
        if is_constant(&plan.template, tuple) {
            self.flows.push((tuple, n));
        }
        self.sort();
    }

    fn sort(&mut self) {
        self.macs.sort_unstable();
        self.macs.dedup();
        self.addresses.sort_unstable();
        self.addresses.dedup();
        self.flows.sort_unstable();
    }

    /// Returns true if frames of the station have this source address.
    #[inline]
    pub(crate) fn has_mac(&self, mac: Mac) -> bool {
        self.macs.binary_search(&mac).is_ok()
    }

    /// Returns true if packets of the station have this source address.
    pub(crate) fn has_address(&self, address: IpAddr) -> bool {
        self.addresses.binary_search(&address).is_ok()
    }

    /// Returns the indexes for [`Self::at`] of the flows with these addresses and ports.
    pub(crate) fn places(&self, tuple: &FiveTuple) -> Range<usize> {
        // Sorted, so flows with one tuple are neighbours.
        let start = self.flows.partition_point(|(t, _)| t < tuple);
        let len = self.flows[start..].iter().take_while(|(t, _)| t == tuple).count();
        start..start + len
    }

    /// Returns the flow at an index.
    pub(crate) fn at(&self, place: usize) -> usize {
        self.flows[place].1 as usize
    }

    /// Gives the RoCEv2 flows with these addresses and ports another source port, if `may` permits it.
    /// Returns false if there is none.
    pub(crate) fn reroute(
        &mut self,
        tuple: &FiveTuple,
        sources: &mut Sources,
        mut may: impl FnMut(usize) -> bool,
    ) -> bool {
        let mut found = false;
        let places = self.places(tuple);
        for (tuple, n) in &mut self.flows[places] {
            let n = *n as usize;
            let Some(port) = Some(n).filter(|n| may(*n)).and_then(|n| sources.reroute(n)) else {
                continue;
            };
            // The next message about the flow names its new port.
            tuple.src_port = port;
            found = true;
        }
        if found {
            self.flows.sort_unstable();
        }
        found
    }

    fn by_id(&self, id: FlowId) -> Option<usize> {
        let place = self.ids.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(self.ids[place].1 as usize)
    }

    /// Finds the flow of a frame that starts with `msdu`: by its probe, if that is quoted, else by
    /// its addresses and ports, else by the flow identifier of its CN-TAG.
    pub(crate) fn of_frame(&self, msdu: &[u8], tag: Option<u16>) -> Option<usize> {
        let probe =
            msdu::network(msdu).and_then(|(ethertype, packet)| {
                match Arrived::read_packet(ethertype, packet) {
                    Arrived::Data(arrival, _) => self.by_id(arrival.probe.flow),
                    Arrived::Answer(..) | Arrived::Other => None,
                }
            });
        let by_tuple = || {
            let places = self.places(&msdu::flow(msdu)?);
            (!places.is_empty()).then(|| self.at(places.start))
        };
        let by_tag = || self.by_id(FlowId(tag?.into()));
        probe.or_else(by_tuple).or_else(by_tag)
    }
}

fn tuple_of_headers(headers: &Headers) -> Option<FiveTuple> {
    let (src, dst, src_port, dst_port) = match headers {
        Headers::Ethernet => return None,
        Headers::Udp4(u) => (u.src.into(), u.dst.into(), u.src_port, u.dst_port),
        Headers::Udp6(u) => (u.src.into(), u.dst.into(), u.src_port, u.dst_port),
    };
    Some(FiveTuple { src, dst, protocol: Protocol::UDP, src_port, dst_port })
}

fn tuple_of_transport(plan: &TransportPlan) -> FiveTuple {
    let (protocol, src_port, dst_port) = match &plan.kind {
        Transport::Roce(roce) => (Protocol::UDP, roce.src_port, roce::UDP_PORT),
        Transport::TcpLike(tcp) => (Protocol::TCP, tcp.src_port, tcp.dst_port),
    };
    FiveTuple { src: plan.src_ip.into(), dst: plan.dst_ip.into(), protocol, src_port, dst_port }
}

/// Returns true if all frames of a template have the addresses and ports of the first: inverting
/// every bit that may change does not change them.
fn is_constant(template: &TemplatePlan, tuple: FiveTuple) -> bool {
    let mut headers = template.headers.clone();
    for edit in &template.edits {
        let first = usize::from(edit.at) * 8 + usize::from(edit.skip);
        for bit in first..first + usize::from(edit.bits) {
            if let Some(octet) = headers.get_mut(bit / 8) {
                // Bits are numbered from the most significant one of a byte.
                *octet ^= 0x80 >> (bit % 8);
            }
        }
    }
    FiveTuple::of_frame(&headers) == Some(tuple)
}

// The source address is the second one of an Ethernet header.
const _: () = assert!(ethernet::HEADER_LEN == 14);
