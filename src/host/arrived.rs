//! What a frame that came in is: data of some flow, an answer to one, or neither.

use core::net::Ipv4Addr;

use super::plan::EndKey;
use super::probe::{Arrival, PROBE_ETHERTYPE, Probe};
use super::transport::receiver::Data;
use super::transport::sender::Answer;
use crate::wire::ip::{self, Ecn, Fragment, Protocol};
use crate::wire::roce::Opcode;
use crate::wire::{EtherType, aeth, cnp, reth, roce, segment, udp, vlan};

/// A frame, as a station sees it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arrived {
    /// Data with a probe, and what its transport says of it if it has one.
    Data(Arrival, Option<Data>),
    /// An answer, and which flow's it is.
    Answer(EndKey, Answer),
    /// Nothing that a station makes.
    Other,
}

impl Arrived {
    /// Reads a frame whose network header is at `walk.l3`.
    ///
    /// The ICRC of acknowledgements is not looked at: frames that were damaged have a wrong FCS, and
    /// it would cost more than all the rest of reading one.
    #[inline]
    pub(super) fn read(frame: &[u8], walk: &vlan::Walk) -> Self {
        let packet = &frame[walk.l3..];
        let found = if walk.ethertype == PROBE_ETHERTYPE {
            Probe::parse(packet).map(|probe| Self::Data(Arrival { probe, ecn: Ecn::NotEct }, None))
        } else {
            read_ip(walk.ethertype, packet)
        };
        found.unwrap_or(Self::Other)
    }
}

/// The probe in a frame, if it is one of a flow: for whoever watches a network from outside.
#[must_use]
pub fn probe_of(frame: &[u8]) -> Option<Probe> {
    let walk = vlan::walk(frame).ok()?;
    match Arrived::read(frame, &walk) {
        Arrived::Data(arrival, _) => Some(arrival.probe),
        Arrived::Answer(..) | Arrived::Other => None,
    }
}

#[inline]
fn read_ip(ethertype: EtherType, packet: &[u8]) -> Option<Arrived> {
    let ip = ip::View::new(ethertype, packet).ok()?;
    let upper = ip.upper().ok()?;
    if upper.fragment != Fragment::Whole {
        return None;
    }
    match upper.protocol {
        Protocol::UDP => {
            let datagram = udp::View::new(upper.payload).ok()?;
            let payload = datagram.payload();
            if datagram.dst_port() == roce::UDP_PORT {
                if let Ok(bth) = roce::View::new(payload) {
                    return read_roce(ethertype, packet, ip.ecn(), &bth);
                }
            }
            // A probe's magic is no BTH, so that flows without a transport may use any port.
            Probe::parse(payload).map(|probe| Arrived::Data(Arrival { probe, ecn: ip.ecn() }, None))
        }
        Protocol::TCP => {
            let ip::View::V4(v4) = &ip else { return None };
            read_tcp(v4.src(), ip.ecn(), upper.payload)
        }
        _ => None,
    }
}

#[inline]
fn read_roce(
    ethertype: EtherType,
    packet: &[u8],
    ecn: Ecn,
    bth: &roce::View<'_>,
) -> Option<Arrived> {
    let key = EndKey::queue_pair(bth.dest_qp());
    let payload = match bth.opcode() {
        Opcode::RC_SEND_FIRST
        | Opcode::RC_SEND_MIDDLE
        | Opcode::RC_SEND_LAST
        | Opcode::RC_SEND_ONLY
        | Opcode::RC_WRITE_MIDDLE
        | Opcode::RC_WRITE_LAST => bth.payload(),
        Opcode::RC_WRITE_FIRST | Opcode::RC_WRITE_ONLY => {
            reth::View::new(bth.payload()).ok()?.payload()
        }
        Opcode::RC_ACKNOWLEDGE => {
            let aeth = aeth::Repr::parse(bth.payload()).ok()?;
            return Some(Arrived::Answer(key, Answer::Roce { psn: bth.psn(), aeth }));
        }
        Opcode::CNP => {
            let right = cnp::Repr::parse(ethertype, packet).is_ok();
            return right.then_some(Arrived::Answer(key, Answer::Cnp));
        }
        _ => return None,
    };
    let probe = Probe::parse(payload)?;
    let data = Data::Roce {
        qp: bth.dest_qp(),
        psn: bth.psn(),
        ack_request: bth.ack_request(),
        marked: ecn == Ecn::Ce,
    };
    Some(Arrived::Data(Arrival { probe, ecn }, Some(data)))
}

#[inline]
fn read_tcp(peer: Ipv4Addr, ecn: Ecn, octets: &[u8]) -> Option<Arrived> {
    let tcp = segment::View::new(octets).ok()?;
    if let Some(probe) = Probe::parse(tcp.payload()) {
        let data = Data::Tcp { sequence: tcp.sequence() };
        return Some(Arrived::Data(Arrival { probe, ecn }, Some(data)));
    }
    let key = EndKey::ports(peer, tcp.src_port(), tcp.dst_port());
    let acknowledges = tcp.flags() & segment::flag::ACK != 0;
    acknowledges.then_some(Arrived::Answer(key, Answer::Tcp(tcp.acknowledgement())))
}
