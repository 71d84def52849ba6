//! Which flow of the station a message is about.

use core::net::IpAddr;
use core::ops::Range;

use crate::host::arrived::Arrived;
use crate::host::plan::stream::{Path, StreamPlan, TemplatePlan};
use crate::host::plan::{FlowId, Headers, StationPlan, Transport, TransportPlan};
use crate::units::Mac;
use crate::wire::flow::FiveTuple;
use crate::wire::ip::Protocol;
use crate::wire::{ethernet, msdu, roce};

/// The flows of a station by all that a message may call them. Flows are numbered as in the plan:
/// `flows`, then `senders`, then streams.
#[derive(Debug)]
pub(super) struct Index {
    /// The addresses that its frames come from, in order.
    macs: Vec<Mac>,
    /// Likewise, of flows, and those that its receivers answer from.
    addresses: Vec<IpAddr>,
    /// In order. Several flows may share addresses and ports; streams are here whose frames have the
    /// same ones all the time.
    flows: Vec<(FiveTuple, u32)>,
    /// In order.
    ids: Vec<(FlowId, u32)>,
}

impl Index {
    /// The flows of a checked plan.
    pub(super) fn new(plan: &StationPlan) -> Self {
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
        index.addresses.extend(plan.receivers.iter().map(|t| IpAddr::from(t.dst_ip)));
        index.ids.sort_unstable();
        index.sort();
        plan.tester.streams.iter().for_each(|stream| index.set_stream(stream));
        index
    }

    /// A stream's frames are those of another plan from now on. The addresses that it had stay those of
    /// the station.
    pub(super) fn set_stream(&mut self, plan: &StreamPlan) {
        let Ok(place) = self.ids.binary_search_by_key(&plan.id, |(id, _)| *id) else { return };
        let n = self.ids[place].1;
        self.flows.retain(|(_, of)| *of != n);
        // Nothing stops what is on the control path, and a recording is of any number of flows.
        if plan.path == Path::Control || plan.recording.is_some() {
            return;
        }
        let Some(tuple) = FiveTuple::of_frame(&plan.template.headers) else { return };
        let src = plan.template.headers[6..12].try_into().expect("it has a header");
        self.macs.push(Mac(src));
        self.addresses.push(tuple.src);
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

    /// Whether frames of the station come from this address.
    #[inline]
    pub(super) fn has_mac(&self, mac: Mac) -> bool {
        self.macs.binary_search(&mac).is_ok()
    }

    /// Whether packets of the station come from this address.
    pub(super) fn has_address(&self, address: IpAddr) -> bool {
        self.addresses.binary_search(&address).is_ok()
    }

    /// The places in [`Self::at`] of the flows with these addresses and ports.
    pub(super) fn places(&self, tuple: &FiveTuple) -> Range<usize> {
        let start = self.flows.partition_point(|(t, _)| t < tuple);
        let len = self.flows[start..].iter().take_while(|(t, _)| t == tuple).count();
        start..start + len
    }

    /// The flow at a place.
    pub(super) fn at(&self, place: usize) -> usize {
        self.flows[place].1 as usize
    }

    fn by_id(&self, id: FlowId) -> Option<usize> {
        let place = self.ids.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(self.ids[place].1 as usize)
    }

    /// The flow of a frame of which `msdu` is the start: by its probe, as far as that is at hand, else
    /// by its addresses and ports, else by the number that the frame's CN-TAG had.
    pub(super) fn of_frame(&self, msdu: &[u8], tag: Option<u16>) -> Option<usize> {
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

/// Whether all frames of a template have the addresses and ports of the first: they are still there
/// when every bit that may change has.
fn is_constant(template: &TemplatePlan, tuple: FiveTuple) -> bool {
    let mut headers = template.headers.clone();
    for edit in &template.edits {
        let first = usize::from(edit.at) * 8 + usize::from(edit.skip);
        for bit in first..first + usize::from(edit.bits) {
            if let Some(octet) = headers.get_mut(bit / 8) {
                *octet ^= 0x80 >> (bit % 8);
            }
        }
    }
    FiveTuple::of_frame(&headers) == Some(tuple)
}

// The source address is the second one of an Ethernet header.
const _: () = assert!(ethernet::HEADER_LEN == 14);
