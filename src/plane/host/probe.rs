//! The probe in every frame of a flow: flow, sequence number and sending time. Fields in bytes:
//! magic `SLU` (3), run (1), flow (2), sequence (6), time in picoseconds (6), all big-endian.
//!
//! The run separates the frames of one configuration from those of an earlier one that a device may
//! still hold: a receiver counts frames of another run separately. It is a number modulo 256, so a
//! frame would have to be held for 256 configurations to be mistaken for a new one. Run 0 is
//! written as `I`, the byte at that place before probes had runs, so the frames of labs and their
//! trace hashes stay the same.
//!
//! A 64-byte frame leaves eighteen bytes behind the headers of Ethernet, IPv4 and UDP. They hold
//! the numbers modulo 2^48. A sequence number repeats after 21 days at 150 million frames per
//! second. A time repeats after 281 s: the reader takes the one closest to its clock, which is
//! right for latencies, and clocks ahead, of less than 140 s.

use ground::time::{Duration, Instant};
use wire::ip::{self, Ecn};
use wire::{EtherType, vlan};

/// Maximum flow number. Every sink has a table up to its highest expected number; the bound, which
/// is a choice, keeps that table small.
pub const FLOW_ID_MAX: u32 = 65_535;

/// The number of a flow, unique in a lab. Range 0 to [`FLOW_ID_MAX`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowId(pub u32);

/// Bytes of a probe.
pub const PROBE_LEN: usize = 18;

/// Local experimental EtherType 1 (802 9.2.3), for probes without IP.
pub const PROBE_ETHERTYPE: EtherType = EtherType(0x88b5);

/// First bytes of a probe.
const MAGIC: [u8; 3] = *b"SLU";

/// The same as a number whose lowest byte is the first.
const MAGIC_NUMBER: u32 = u32::from_le_bytes([MAGIC[0], MAGIC[1], MAGIC[2], 0]);

/// Byte of run 0.
const RUN_0: u8 = b'I';

/// Offset of the sequence number, which the time follows.
pub(super) const SEQUENCE_AT: usize = 6;

/// Modulus of sequence numbers and times.
pub const MODULUS: u64 = 1 << 48;

/// A time in a probe: picoseconds modulo [`MODULUS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stamp(u64);

/// A probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probe {
    /// Run in which it was sent.
    pub run: u8,
    pub flow: FlowId,
    /// Number of the frame in its flow, from 0, modulo [`MODULUS`].
    pub sequence: u64,
    /// Time at which the frame was given to the port, on the sender's clock.
    pub sent: Stamp,
}

/// A received frame with a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    pub probe: Probe,
    /// Received ECN code point; not ECT without IP.
    pub ecn: Ecn,
}

impl Stamp {
    /// Returns the stamp of a time.
    #[inline]
    pub const fn of(time: Instant) -> Self {
        Self(time.as_picos() as u64 % MODULUS)
    }

    /// Returns the picoseconds in the probe.
    #[inline]
    pub(super) const fn value(self) -> u64 {
        self.0
    }

    /// Returns the time of the stamp: of all possible ones the closest to `now`. It may be ahead of
    /// it.
    #[inline]
    pub const fn near(self, now: Instant) -> Instant {
        match now.as_picos().checked_add_signed(self.ahead(now) as i128) {
            Some(ps) => Instant::from_picos(ps),
            // No frame was sent before the start of the world.
            None => Instant::from_picos(self.0 as u128),
        }
    }

    /// Returns the time from [`Stamp::near`] to `now`; `None` if that is ahead.
    #[inline]
    pub(super) const fn age(self, now: Instant) -> Option<Duration> {
        let behind = -self.ahead(now);
        // Ahead of the clock, or from before the start of the world.
        if behind < 0 || now.as_picos() < behind as u128 {
            return None;
        }
        Some(Duration::from_picos(behind as u64))
    }

    /// As [`Self::age`], for a clock whose limit is known; `None` also for the longest age.
    #[inline(always)]
    pub(super) const fn usual_age(self, clock: &Clock) -> Option<Duration> {
        // A stamp that is ahead wraps to an age beyond the limit, so one comparison finds both.
        let age = (clock.at.as_picos() as u64).wrapping_sub(self.0) % MODULUS;
        if age > clock.longest { None } else { Some(Duration::from_picos(age)) }
    }

    /// Returns the signed difference to `now` modulo 2^48.
    #[inline]
    const fn ahead(self, now: Instant) -> i64 {
        // 48 bits are moved to the top and back: the sign of the difference modulo 2^48.
        (self.0.wrapping_sub(now.as_picos() as u64) << 16) as i64 >> 16
    }
}

/// A time of arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub(super) at: Instant,
    /// Longest age in picoseconds that a frame can have: not ahead, and not from before the start of
    /// the world.
    longest: u64,
}

impl Clock {
    #[inline(always)]
    pub(super) const fn new(time: Instant) -> Self {
        let (picos, half) = (time.as_picos(), MODULUS / 2 - 1);
        Self { at: time, longest: if picos > half as u128 { half } else { picos as u64 } }
    }
}

/// Returns the first four bytes of a probe, of which the first is the lowest.
#[inline(always)]
const fn mark(probe: &[u8; PROBE_LEN]) -> u32 {
    u32::from_le_bytes([probe[0], probe[1], probe[2], probe[3]])
}

impl Probe {
    /// Creates the probe of a frame sent at `now`.
    #[inline]
    pub const fn new(flow: FlowId, sequence: u64, now: Instant) -> Self {
        Self { run: 0, flow, sequence: sequence % MODULUS, sent: Stamp::of(now) }
    }

    /// Returns the same probe in run `run`; the default is 0.
    #[must_use]
    pub const fn in_run(self, run: u8) -> Self {
        Self { run, ..self }
    }

    /// Parses a probe at the front of `octets`; `None` if there is none.
    #[inline(always)]
    pub fn parse(octets: &[u8]) -> Option<Self> {
        let probe = octets.first_chunk()?;
        let mark = mark(probe);
        (mark & 0xff_ffff == MAGIC_NUMBER).then(|| Self::numbers(probe, (mark >> 24) as u8))
    }

    /// As [`Self::parse`], for probes of run `run` alone.
    #[inline(always)]
    pub(super) fn parse_run(octets: &[u8; PROBE_LEN], run: u8) -> Option<Self> {
        // Magic and run are compared as one number.
        let last = RUN_0.wrapping_add(run);
        let is_of_run = mark(octets) == MAGIC_NUMBER | (last as u32) << 24;
        is_of_run.then(|| Self::numbers(octets, last))
    }

    /// Reads the numbers of a probe whose fourth byte is `last`.
    #[inline(always)]
    fn numbers(probe: &[u8; PROBE_LEN], last: u8) -> Self {
        // Flow (2 bytes) and sequence number (6) in one load.
        let [_, _, _, _, numbers @ .., _, _, _, _, _, _] = *probe;
        let numbers = u64::from_be_bytes(numbers);
        // The last bytes of the sequence number are read along with the time.
        let [_, _, _, _, _, _, _, _, _, _, sent @ ..] = *probe;
        Self {
            run: last.wrapping_sub(RUN_0),
            flow: FlowId((numbers >> 48) as u32),
            sequence: numbers % MODULUS,
            sent: Stamp(u64::from_be_bytes(sent) % MODULUS),
        }
    }

    /// Returns the bytes of the probe.
    #[inline]
    pub fn octets(&self) -> [u8; PROBE_LEN] {
        let numbers = u64::from(self.flow.0) << 48 | self.sequence;
        let mut out = [0; PROBE_LEN];
        out[..3].copy_from_slice(&MAGIC);
        out[3] = RUN_0.wrapping_add(self.run);
        out[4..12].copy_from_slice(&numbers.to_be_bytes());
        out[12..16].copy_from_slice(&((self.sent.0 >> 16) as u32).to_be_bytes());
        out[16..].copy_from_slice(&(self.sent.0 as u16).to_be_bytes());
        out
    }
}

const _: () = assert!(FLOW_ID_MAX <= u16::MAX as u32, "a flow's number has 16 bits");

impl Arrival {
    /// Finds the first probe anywhere behind the Ethernet header of a frame: for streams, whose
    /// headers may be of any kind and incorrect on purpose. It has to be within the accessible
    /// bytes (see [`contracts::frame::Frame::head`]).
    pub fn search(frame: &[u8], walk: &vlan::Walk) -> Option<Self> {
        let packet = frame.get(walk.l3..)?;
        let at = packet.windows(MAGIC.len()).position(|octets| octets == MAGIC)?;
        let probe = Probe::parse(&packet[at..])?;
        // A stream's headers need not be those of a valid packet.
        let ecn = ip::View::new(walk.ethertype, packet).map_or(Ecn::NotEct, |ip| ip.ecn());
        Some(Self { probe, ecn })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Maximum clock difference: a little less than half the modulus.
    const FAR: i64 = (MODULUS / 2) as i64 - 1;

    proptest! {
        #[test]
        fn flow_number_and_time_arrive_as_they_were_sent(
            flow in 0..=FLOW_ID_MAX, sequence in 0..MODULUS,
            sent in 0..1_u128 << 67, ahead in -FAR..=FAR,
        ) {
            let probe = Probe::new(FlowId(flow), sequence, Instant::from_picos(sent));
            let read = Probe::parse(&probe.octets()).unwrap();
            prop_assert_eq!(read, probe);
            let run = flow as u8;
            let octets = probe.in_run(run).octets();
            prop_assert_eq!(Probe::parse_run(&octets, run), Some(probe.in_run(run)));
            prop_assert_eq!(Probe::parse_run(&octets, run.wrapping_add(1)), None);
            prop_assert_eq!((read.flow, read.sequence), (FlowId(flow), sequence));
            let now = Instant::from_picos(sent.saturating_add_signed(ahead.into()));
            let sent = Instant::from_picos(sent);
            prop_assert_eq!(read.sent.near(now), sent);
            let age = (sent <= now).then(|| now.since(sent));
            prop_assert_eq!(read.sent.age(now), age);
            prop_assert_eq!(read.sent.usual_age(&Clock::new(now)), age);
        }
    }

    #[test]
    fn a_probe_is_laid_out_as_its_format_says() {
        let probe =
            Probe::new(FlowId(0x0102), 0x0304_0506_0708, Instant::from_picos(0xff_0a0b_0c0d_0e0f))
                .in_run(2);
        let octets = *b"SLUK\x01\x02\x03\x04\x05\x06\x07\x08\x0a\x0b\x0c\x0d\x0e\x0f";
        assert_eq!(probe.octets(), octets);
        for n in 0..PROBE_LEN {
            assert_eq!(Probe::parse(&octets[..n]), None);
        }
        assert_eq!(
            Probe::parse(b"SLVI\x01\x02\x03\x04\x05\x06\x07\x08\x0a\x0b\x0c\x0d\x0e\x0f"),
            None
        );
    }

    #[test]
    fn nothing_was_sent_before_the_start_of_the_world() {
        let late = Probe::new(FlowId(0), 0, Instant::from_picos((MODULUS - 1).into())).sent;
        assert_eq!(late.near(Instant::ZERO), Instant::from_picos((MODULUS - 1).into()));
    }
}
