//! Builds the shortest frame of a stream, with its lengths and checksums.

use core::cmp::Reverse;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::draft::Draft;
use host::plan::stream::{Checksum, Covered, Payload, TemplatePlan};
use wire::checksum::Sum;
use wire::ip::Protocol;
use wire::{ipv4, ipv6};

impl Draft {
    /// Returns the template of a stream whose shortest frame has `len` bytes without FCS, at
    /// least the length of the headers.
    pub(super) fn finish(mut self, payload: Payload, len: usize, probe: bool) -> TemplatePlan {
        let headers = self.octets.len();
        let mut frame = self.octets.clone();
        frame.extend((0..len - headers).map(|n| payload.octet(n)));
        for field in &self.lengths {
            let counted = u16::try_from(len - usize::from(field.from)).unwrap_or(u16::MAX);
            put(&mut frame, field.at, counted);
        }
        self.checksums.sort_by_key(inner_first);
        for sum in &self.checksums {
            let right = checksum(&frame, sum);
            put(&mut frame, sum.at, if sum.bad { right.wrapping_add(1) } else { right });
        }
        self.octets.copy_from_slice(&frame[..headers]);
        TemplatePlan {
            probe_at: probe.then(|| self.end()),
            headers: self.octets,
            payload,
            edits: self.edits,
            lengths: self.lengths,
            checksums: self.checksums,
            run: 0,
        }
    }
}

/// Sorts checksums so that each comes behind those that it covers: a message may quote packets.
fn inner_first(sum: &Checksum) -> Reverse<u16> {
    match sum.over {
        Covered::Header(..) => Reverse(u16::MAX),
        Covered::Payload4 { from, .. } | Covered::Payload6 { from, .. } => Reverse(from),
    }
}

/// Writes 16 bits.
fn put(frame: &mut [u8], at: u16, value: u16) {
    frame[usize::from(at)..][..2].copy_from_slice(&value.to_be_bytes());
}

/// Returns the correct checksum of a frame.
fn checksum(frame: &[u8], sum: &Checksum) -> u16 {
    let mut frame = frame.to_vec();
    put(&mut frame, sum.at, 0);
    let (ip, from, udp) = match sum.over {
        Covered::Header(from, to) => {
            return Sum::default().octets(&frame[usize::from(from)..usize::from(to)]).finish();
        }
        Covered::Payload4 { ip, from, udp } => (addresses4(&frame, ip), from, udp),
        Covered::Payload6 { ip, from, udp } => (addresses6(&frame, ip), from, udp),
    };
    // The pseudo-header uses the checksum's own protocol, not that of the IP header, which may be
    // wrong on purpose.
    let (src, dst) = ip;
    let covered = &frame[usize::from(from)..];
    let len = u16::try_from(covered.len()).unwrap_or(u16::MAX);
    let protocol = if udp { Protocol::UDP.0 } else { Protocol::TCP.0 };
    let right = Sum::default().pseudo(src, dst, protocol, len).octets(covered).finish();
    if udp && right == 0 { 0xffff } else { right }
}

/// Returns source and destination of the IPv4 header at `ip`.
fn addresses4(frame: &[u8], ip: u16) -> (IpAddr, IpAddr) {
    let header = &frame[usize::from(ip)..][..ipv4::HEADER_LEN];
    let address = |at: usize| -> [u8; 4] { header[at..at + 4].try_into().expect("four octets") };
    (Ipv4Addr::from(address(12)).into(), Ipv4Addr::from(address(16)).into())
}

/// Returns source and destination of the IPv6 header at `ip`.
fn addresses6(frame: &[u8], ip: u16) -> (IpAddr, IpAddr) {
    let header = &frame[usize::from(ip)..][..ipv6::HEADER_LEN];
    let address = |at: usize| -> [u8; 16] { header[at..at + 16].try_into().expect("16 octets") };
    (Ipv6Addr::from(address(8)).into(), Ipv6Addr::from(address(24)).into())
}
