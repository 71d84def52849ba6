//! Flows with acknowledgements: RoCEv2 queue pairs, and TCP-like senders.
//!
//! The machines (`roce`, `tcp`) handle packet numbers, with time as an argument; they build no
//! frames and can be driven by anything. `sender` and [`receiver`] build the frames, `pace` limits
//! a flow's rate, `cut` maps packets to the bytes of messages. Here are the parts that both
//! transports share: sets of packets in a window, and the first headers of frames.

mod cut;
mod pace;
pub(super) mod receiver;
mod roce;
mod roce_frames;
pub(super) mod sender;
mod tcp;
mod tcp_frames;
#[cfg(test)]
mod tests;

pub use cut::{Completion, Completions};
pub use receiver::ReceiverCounters;
pub use sender::SenderCounters;

use core::net::Ipv4Addr;

use crate::plan::{IN_FLIGHT_MAX, Marking, Tag, TransportPlan, Udp};
use crate::probe::PROBE_LEN;
use crate::template::{ROOM, ipv4_header, layer2};
use ground::units::{Dscp, Mac, Pcp};
use wire::ip::{Ecn, Protocol};
use wire::{EtherType, ethernet, ipv4};

const WORDS: usize = (IN_FLIGHT_MAX / 64) as usize;

/// Packets of one window of [`IN_FLIGHT_MAX`]. The caller must keep to one window at a time:
/// numbers that far apart share a bit.
#[derive(Clone, Debug)]
struct Bits(Box<[u64; WORDS]>);

const fn bit(index: u64) -> (usize, u64) {
    // A ring of words: the window is a power of two, so this needs no division.
    ((index % IN_FLIGHT_MAX / 64) as usize, 1 << (index % 64))
}

impl Bits {
    fn new() -> Self {
        Self(Box::new([0; WORDS]))
    }

    /// Returns true if `index` is in the set.
    #[inline]
    fn has(&self, index: u64) -> bool {
        let (word, mask) = bit(index);
        self.0[word] & mask != 0
    }

    /// Adds `index`; returns true if it is new.
    #[inline]
    fn put(&mut self, index: u64) -> bool {
        let (word, mask) = bit(index);
        let new = self.0[word] & mask == 0;
        self.0[word] |= mask;
        new
    }

    /// Removes `index`; returns true if it was in the set.
    #[inline]
    fn take(&mut self, index: u64) -> bool {
        let (word, mask) = bit(index);
        let had = self.0[word] & mask != 0;
        self.0[word] &= !mask;
        had
    }
}

/// Minimum accessible bytes of a frame ([`contracts::frame::Frame::head`]): all headers and the probe
/// are within them, and short frames are whole.
const HEAD: usize = 128;

/// The first headers of a flow's frames in one direction.
#[derive(Clone, Debug)]
struct Headers {
    dst: Mac,
    src: Mac,
    tag: Option<Tag>,
    ip: Udp<Ipv4Addr>,
}

impl Headers {
    /// Creates those of data, with the UDP ports of the flow if it has any.
    const fn of_data(plan: &TransportPlan, src_port: u16, dst_port: u16) -> Self {
        let (dscp, ecn) = (plan.dscp, plan.ecn);
        let (src, dst) = (plan.src_ip, plan.dst_ip);
        let ip = Udp { src, dst, src_port, dst_port, dscp, ecn };
        Self { dst: plan.dst, src: plan.src, tag: plan.tag, ip }
    }

    /// Creates those of acknowledgements, in the reverse direction and marked by `marking`, or as
    /// the data.
    fn of_answers(
        plan: &TransportPlan,
        marking: Option<Marking>,
        src_port: u16,
        dst_port: u16,
        ecn: Ecn,
    ) -> Self {
        // Without a marking of their own replies go as the data does.
        let dscp = marking.map_or(plan.dscp, |m| m.dscp);
        let tag = plan.tag.map(|tag| match marking {
            Some(m) => Tag { pcp: Pcp::new(m.priority.get()).expect("both are 0 to 7"), ..tag },
            None => tag,
        });
        let ip = Udp { src: plan.dst_ip, dst: plan.src_ip, src_port, dst_port, dscp, ecn };
        Self { dst: plan.src, src: plan.dst, tag, ip }
    }

    /// Writes the Ethernet header; returns the offset of the IP header.
    fn emit_ethernet(&self, head: &mut [u8; HEAD]) -> usize {
        layer2(self.dst, self.src, self.tag, EtherType::IPV4, head)
    }

    /// Writes the IP header of a packet with `payload_len` bytes behind it.
    fn emit_ip(&self, out: &mut [u8], protocol: Protocol, payload_len: usize) {
        let header = ipv4_header(&self.ip, protocol, payload_len as u16);
        header.emit(out).expect(ROOM);
    }

    /// Returns addresses, ports and marking.
    const fn ip(&self) -> &Udp<Ipv4Addr> {
        &self.ip
    }

    /// Sets the UDP source port.
    const fn set_src_port(&mut self, port: u16) {
        self.ip.src_port = port;
    }

    const fn dscp(&self) -> Dscp {
        self.ip.dscp
    }
}

/// Returns the length in bytes of a frame with a whole IP packet of `ip_len` bytes at `l3`, without
/// FCS.
const fn padded(l3: usize, ip_len: usize) -> usize {
    let len = l3 + ip_len;
    if len < ethernet::MIN_FRAME { ethernet::MIN_FRAME } else { len }
}

const _: () = assert!(
    ethernet::HEADER_LEN + 4 + ipv4::HEADER_LEN + 8 + 12 + 16 + 4 + PROBE_LEN <= HEAD,
    "tag, UDP, BTH, RETH, immediate data and probe fit"
);
