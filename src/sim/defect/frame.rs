//! Bytes of the frames that defects read, and the pauses of a port by the frames that set them.

use ground::time::{Duration, Instant};
use ground::units::PRIORITIES;
use wire::checksum;

/// Offset of a MAC control frame's opcode.
const OPCODE: usize = 14;
pub(super) const OPCODE_PAUSE: u16 = 0x0001;
pub(super) const OPCODE_PFC: u16 = 0x0101;
/// Offset of PAUSE's time, and of PFC's enable vector.
pub(super) const PARAMETERS: usize = 16;
/// Offset of the enable vector's low octet.
pub(super) const VECTOR: usize = 17;
/// Offsets of the times.
pub(super) const TIMES: core::ops::Range<usize> = 18..34;
/// Length of a MAC control frame in bytes, without FCS.
pub(super) const CONTROL_LEN: usize = 60;

/// Bytes of a quantum.
pub(super) const QUANTUM_BYTES: u64 = 64;
/// Interval in which a pause without an end is repeated, in quanta: half of the longest pause.
pub(super) const REPEAT: u64 = 32_768;
/// Source address of frames that a defect makes: locally administered, of no device.
pub(super) const MADE_BY: [u8; 6] = [0x02, 0, 0, 0, 0xde, 0xfe];

/// Returns the opcode of a MAC control frame.
pub(super) fn opcode(head: &[u8]) -> Option<u16> {
    match head {
        [_, _, _, _, _, _, _, _, _, _, _, _, 0x88, 0x08, high, low, ..] => {
            Some(u16::from_be_bytes([*high, *low]))
        }
        _ => None,
    }
}

/// Makes it a frame of another opcode.
pub(super) fn set_opcode(head: &mut [u8], opcode: u16) {
    head[OPCODE..PARAMETERS].copy_from_slice(&opcode.to_be_bytes());
}

/// Returns true for a PFC frame with all eight times.
pub(super) fn is_pfc(head: &[u8]) -> bool {
    opcode(head) == Some(OPCODE_PFC) && head.len() >= TIMES.end
}

/// Returns the priorities that a PFC frame enables.
pub(super) fn enabled(head: &[u8]) -> u8 {
    head[VECTOR]
}

/// Returns the priorities that a PFC frame pauses.
pub(super) fn paused(head: &[u8]) -> u8 {
    let on = (0..PRIORITIES).filter(|p| head[VECTOR] >> p & 1 == 1 && time(head, *p) > 0);
    on.fold(0, |set, p| set | 1 << p)
}

/// Returns the priorities that a PFC frame resumes.
pub(super) fn resumed(head: &[u8]) -> u8 {
    enabled(head) & !paused(head)
}

/// Shifts a PFC frame to the next priorities.
pub(super) fn shift(head: &mut [u8]) {
    head[VECTOR] = head[VECTOR].rotate_left(1);
    // Each priority's time moves along: two bytes.
    head[TIMES].rotate_right(2);
}

/// Returns the time of a priority.
pub(super) fn time(head: &[u8], priority: usize) -> u16 {
    let at = TIMES.start + 2 * priority;
    u16::from_be_bytes([head[at], head[at + 1]])
}

/// Sets the time of a priority.
pub(super) fn set_time(head: &mut [u8], priority: usize, quanta: u16) {
    let at = TIMES.start + 2 * priority;
    head[at..at + 2].copy_from_slice(&quanta.to_be_bytes());
}

/// Removes priorities from a PFC frame.
pub(super) fn remove(head: &mut [u8], set: u8) {
    head[VECTOR] &= !set;
    (0..PRIORITIES).filter(|p| set >> p & 1 == 1).for_each(|p| set_time(head, p, 0));
}

/// Returns the octets of a PFC frame that pauses priorities.
pub(super) fn pause(source: [u8; 6], set: u8, quanta: u16) -> [u8; CONTROL_LEN] {
    let mut octets = [0; CONTROL_LEN];
    octets[..6].copy_from_slice(&[0x01, 0x80, 0xc2, 0, 0, 1]);
    octets[6..12].copy_from_slice(&source);
    octets[12..14].copy_from_slice(&[0x88, 0x08]);
    set_opcode(&mut octets, OPCODE_PFC);
    octets[VECTOR] = set;
    for p in (0..PRIORITIES).filter(|p| set >> p & 1 == 1) {
        set_time(&mut octets, p, quanta);
    }
    octets
}

/// Returns true for a PAUSE frame with its reserved octets.
pub(super) fn is_pause(head: &[u8]) -> bool {
    opcode(head) == Some(OPCODE_PAUSE) && head.len() >= TIMES.end
}

/// Rewrites a PAUSE frame as PFC of all priorities.
pub(super) fn as_pfc(head: &mut [u8]) {
    let quanta = u16::from_be_bytes([head[PARAMETERS], head[VECTOR]]);
    let source = head[6..12].try_into().unwrap_or(MADE_BY);
    head[..TIMES.end].copy_from_slice(&pause(source, u8::MAX, quanta)[..TIMES.end]);
}

/// Rewrites a PFC frame as PAUSE with the time of its first priority. Its addresses stay.
pub(super) fn as_pause(head: &mut [u8]) {
    // All priorities had the time of the PAUSE, so any that the defect left has it.
    let first = head[VECTOR].trailing_zeros() as usize;
    let quanta = if first < PRIORITIES { time(head, first) } else { 0 };
    set_opcode(head, OPCODE_PAUSE);
    head[PARAMETERS..TIMES.start].copy_from_slice(&quanta.to_be_bytes());
    head[TIMES].fill(0);
}

/// Returns the offset of the packet behind the VLAN tags, and its type.
fn packet(head: &[u8]) -> Option<(usize, u16)> {
    let mut at = 12;
    loop {
        let ethertype = u16::from_be_bytes([*head.get(at)?, *head.get(at + 1)?]);
        at += 2;
        match ethertype {
            // Tags may be stacked.
            0x8100 | 0x88a8 => at += 2,
            _ => return Some((at, ethertype)),
        }
    }
}

/// Returns the priority of a data frame: of its VLAN tag, else the upper three bits of its DSCP,
/// else 0.
pub(super) fn priority(head: &[u8]) -> usize {
    if matches!(head.get(12..14), Some([0x81, 0x00] | [0x88, 0xa8])) {
        return head.get(14).map_or(0, |tci| usize::from(tci >> 5));
    }
    traffic_class(head).map_or(0, |class| usize::from(class >> 5))
}

/// Returns DSCP and ECN of an IP packet.
fn traffic_class(head: &[u8]) -> Option<u8> {
    match packet(head)? {
        (at, 0x0800) => head.get(at + 1).copied(),
        (at, 0x86dd) => Some(*head.get(at)? << 4 | *head.get(at + 1)? >> 4),
        _ => None,
    }
}

/// Returns true for an IPv6 packet.
pub(super) fn is_ipv6(head: &[u8]) -> bool {
    matches!(packet(head), Some((_, 0x86dd)))
}

/// Returns the ECN field of an IP packet.
pub(super) fn ecn(head: &[u8]) -> Option<u8> {
    traffic_class(head).map(|class| class & 3)
}

/// Sets the ECN field of an IP packet, and adjusts an IPv4 header's checksum unless it is to be
/// left as it was.
pub(super) fn set_ecn(head: &mut [u8], ecn: u8, adjusts: bool) {
    let Some((at, ethertype)) = packet(head) else { return };
    if ethertype == 0x86dd {
        // The traffic class lies across two bytes, behind the version: its last bits are in the second.
        head[at + 1] = head[at + 1] & !0x30 | ecn << 4;
        return;
    }
    let word = |head: &[u8], at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let before = word(head, at);
    head[at + 1] = head[at + 1] & !3 | ecn;
    if adjusts {
        let sum = checksum::update(word(head, at + 10), before, word(head, at));
        head[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Returns true for a congestion notification packet: of `RoCEv2`, with opcode 0x81.
pub(super) fn is_cnp(head: &[u8]) -> bool {
    let Some((at, ethertype)) = packet(head) else { return false };
    let (protocol, len) = match ethertype {
        0x0800 => (at + 9, head.get(at).map_or(0, |octet| usize::from(octet & 15) * 4)),
        0x86dd => (at + 6, 40),
        _ => return false,
    };
    let udp = at + len;
    // UDP to the port of RoCEv2, and the opcode behind the UDP header.
    head.get(protocol) == Some(&17)
        && head.get(udp + 2..udp + 4) == Some(&4_791_u16.to_be_bytes())
        && head.get(udp + 8) == Some(&0x81)
}

/// Offsets in an SFCM of the simplified form in IPv4.
pub(super) struct Sfcm {
    /// Destination address of the packet.
    pub(super) host: usize,
    /// UDP checksum.
    pub(super) checksum: usize,
    /// Source address of the flow; its destination address is behind it.
    pub(super) flow: usize,
}

/// Returns the offsets of an SFCM: UDP with one port of the dynamic range on both sides (RFC 6335), and
/// a message of version 0.
pub(super) fn sfcm(head: &[u8]) -> Option<Sfcm> {
    let (offset, 0x0800) = packet(head)? else { return None };
    // The header length of IPv4 is in words of four bytes.
    let udp = offset + usize::from(head.get(offset)? & 15) * 4;
    let (flow, checksum) = (udp + 18, udp + 6);
    let word =
        |offset: usize| Some(u16::from_be_bytes([*head.get(offset)?, *head.get(offset + 1)?]));
    let (src_port, dst_port) = (word(udp)?, word(udp + 2)?);
    let is_message =
        head.get(offset + 9) == Some(&17) && src_port == dst_port && dst_port >= 49_152;
    let is_simple = head.get(udp + 8) == Some(&0) && head.len() >= flow + 14;
    (is_message && is_simple).then_some(Sfcm { host: offset + 16, checksum, flow })
}

/// Sets two octets that a checksum at another place covers.
pub(super) fn set_word(head: &mut [u8], offset: usize, value: u16, sum_at: usize) {
    let word = |head: &[u8], offset: usize| u16::from_be_bytes([head[offset], head[offset + 1]]);
    let sum = checksum::update(word(head, sum_at), word(head, offset), value);
    head[offset..offset + 2].copy_from_slice(&value.to_be_bytes());
    head[sum_at..sum_at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Scales all times of a PFC frame.
pub(super) fn scale(head: &mut [u8], numerator: u16, denominator: u16) {
    let times = head[TIMES].chunks_exact_mut(2);
    times.for_each(|time| scale_one(time, numerator, denominator));
}

/// Scales one time: rounded down, and at most the longest.
pub(super) fn scale_one(time: &mut [u8], numerator: u16, denominator: u16) {
    let quanta = u32::from(u16::from_be_bytes([time[0], time[1]]));
    let scaled = quanta * u32::from(numerator) / u32::from(denominator);
    time.copy_from_slice(&u16::try_from(scaled).unwrap_or(u16::MAX).to_be_bytes());
}

/// Pauses that a port has received, by priority.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pauses {
    since: [Instant; PRIORITIES],
    until: [Instant; PRIORITIES],
}

impl Pauses {
    pub(super) const fn new() -> Self {
        Self { since: [Instant::ZERO; PRIORITIES], until: [Instant::ZERO; PRIORITIES] }
    }

    /// Takes note of a MAC control frame.
    pub(super) fn take(&mut self, head: &[u8], now: Instant, quantum: Duration) {
        if is_pfc(head) {
            for p in (0..PRIORITIES).filter(|p| head[VECTOR] >> p & 1 == 1) {
                self.set(p, now, quantum.saturating_mul(time(head, p).into()));
            }
        }
    }

    /// Pauses a priority for a time, or resumes it.
    pub(super) fn set(&mut self, priority: usize, now: Instant, span: Duration) {
        // A refresh moves the end of a pause and not its beginning.
        if !self.holds(priority, now) {
            self.since[priority] = now;
        }
        self.until[priority] = now.saturating_add(span);
    }

    /// Returns true if a priority is paused.
    pub(super) fn holds(&self, priority: usize, now: Instant) -> bool {
        self.until[priority] > now
    }

    /// Returns the end of a priority's pause, which may have passed.
    pub(super) const fn until(&self, priority: usize) -> Instant {
        self.until[priority]
    }

    /// Returns the time for which a priority has been paused without a gap.
    pub(super) fn held_for(&self, priority: usize, now: Instant) -> Option<Duration> {
        self.holds(priority, now).then(|| now.since(self.since[priority]))
    }

    /// Returns the paused priorities.
    pub(super) fn set_of(&self, now: Instant) -> u8 {
        (0..PRIORITIES).filter(|p| self.holds(*p, now)).fold(0, |set, p| set | 1 << p)
    }

    /// Removes the priorities from a PFC frame that would be paused beside `most` others, and takes
    /// note of the rest.
    pub(super) fn admit(&mut self, head: &mut [u8], most: u8, now: Instant, quantum: Duration) {
        for p in 0..PRIORITIES {
            let asks = head[VECTOR] >> p & 1 == 1 && time(head, p) > 0;
            // A refresh of the priority itself takes no other place.
            let others = (self.set_of(now) & !(1 << p)).count_ones();
            if asks && others >= u32::from(most) {
                remove(head, 1 << p);
            } else if head[VECTOR] >> p & 1 == 1 {
                self.set(p, now, quantum.saturating_mul(time(head, p).into()));
            }
        }
    }
}
