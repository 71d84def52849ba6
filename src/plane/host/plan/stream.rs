//! Streams: flows of a traffic generator with arbitrary frames, sizes and pace, started and stopped
//! while the station runs.

mod check;

pub(super) use check::check_interfaces;

use core::net::{Ipv4Addr, Ipv6Addr};

use super::{Rate, Recording};
use crate::probe::FlowId;
use ground::time::{Duration, Instant};
use ground::units::{Mac, Priority, Quanta, Vid};

/// Maximum number of neighbours of a station. A choice: more than a lab has devices on one port,
/// and about 100 KB.
pub const NEIGHBOURS_MAX: usize = 1_024;

/// Traffic generator functions of a station. All are empty by default and cost nothing then.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TesterPlan {
    /// Streams to send, stopped until they are started.
    pub streams: Vec<StreamPlan>,
    /// Time at which all of them start automatically; `None` for never.
    pub start: Option<Instant>,
    /// Run number whose frames are counted for the flows; frames of other runs are counted
    /// separately.
    pub run: u8,
    /// Measurements of received streams, in addition to the sinks' counters.
    pub meter: Option<MeterPlan>,
    /// Delay from the last bit of a pause to obeying it, in quanta of 512 bit times (OTG
    /// `pfc_delay`). Default: 0, in the poll that receives it. The pause time still counts from
    /// arrival, and a resume is not delayed.
    pub pause_delay: Quanta,
    /// Interfaces with address resolution.
    pub interfaces: Vec<InterfacePlan>,
}

/// A stream: consecutive frames made from a template.
#[derive(Clone, PartialEq, Debug)]
pub struct StreamPlan {
    /// Stream number, carried by its probes if it has any.
    pub id: FlowId,
    /// Path of its frames through the station.
    pub path: Path,
    pub template: TemplatePlan,
    /// Frames to replay in a loop instead of the template, which must be empty then. `sizes` are
    /// those of the recording.
    pub recording: Option<Recording>,
    /// Frame lengths in bytes with FCS. Frames shorter than 64 are padded to 60 without FCS by the
    /// sending port, unless it supports runts.
    pub sizes: Sizes,
    /// Offered rate.
    pub pace: Pace,
    /// Automatic end.
    pub limit: Limit,
    /// Time from its start to its first frame.
    pub delay: Duration,
    /// Seed of its random sizes and fields.
    pub seed: u64,
}

/// Path of a stream's frames through its station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Path {
    /// As data of this priority (OTG `pfc_queue`): pauses of it stop the stream.
    Data(Priority),
    /// As MAC control frames: from reserved memory, ahead of all data, and never paused.
    Control,
}

/// Bytes of a stream's frames.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TemplatePlan {
    /// Headers, with the first value of every field and with the lengths and checksums of the
    /// shortest frame. The payload follows.
    pub headers: Vec<u8>,
    /// Fill pattern of the payload, from the end of the headers (the probe, if any, overwrites it).
    pub payload: Payload,
    /// Fields that change from frame to frame.
    pub edits: Vec<Edit>,
    /// Length fields that follow the frame's length.
    pub lengths: Vec<LengthField>,
    /// Checksums to update.
    pub checksums: Vec<Checksum>,
    /// Offset of the probe in the frame in bytes; `None` for frames without one.
    pub probe_at: Option<u16>,
    /// Run number in the probe.
    pub run: u8,
}

/// Fill pattern behind a stream's headers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Payload {
    /// Zeros.
    #[default]
    Zero,
    /// These bytes, followed by zeros or repeated.
    Fixed {
        /// At least one byte.
        octets: Vec<u8>,
        /// True if they are repeated up to the end.
        repeat: bool,
    },
    /// 00 01 02 .. ff 00 ..
    IncrementByte,
    /// ff fe .. 00 ff ..
    DecrementByte,
    /// 0000 0001 .. as 16-bit words.
    IncrementWord,
    /// ffff fffe .. as 16-bit words.
    DecrementWord,
}

impl Payload {
    /// Returns byte `n`.
    pub fn octet(&self, n: usize) -> u8 {
        // Patterns of words wrap around after 128 KiB, which is longer than any frame.
        let word = ((n / 2) as u16).to_be_bytes();
        match self {
            Self::Zero => 0,
            Self::Fixed { octets, repeat: true } => octets[n % octets.len()],
            Self::Fixed { octets, repeat: false } => octets.get(n).copied().unwrap_or(0),
            Self::IncrementByte => n as u8,
            Self::DecrementByte => !(n as u8),
            Self::IncrementWord => word[n % 2],
            Self::DecrementWord => !word[n % 2],
        }
    }
}

/// A field whose value changes from frame to frame.
#[derive(Clone, PartialEq, Debug)]
pub struct Edit {
    /// Offset of the byte that contains its first bit.
    pub at: u16,
    /// Bits of that byte before it, 0 to 7.
    pub skip: u8,
    /// Its width in bits, 1 to 128.
    pub bits: u8,
    pub values: Values,
}

/// Values of a field, one per frame, repeated from the first after the last. Modulo 2^bits.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    /// These values, at least one.
    List(Vec<u128>),
    /// `start`, `start + step`, .. `count` values.
    Increment {
        start: u128,
        step: u128,
        /// At least 1.
        count: u64,
    },
    /// `start`, `start - step`, .. `count` values.
    Decrement {
        start: u128,
        step: u128,
        /// At least 1.
        count: u64,
    },
    /// `count` random values between `min` and `max`, both included, then the same again.
    Random {
        min: u128,
        max: u128,
        /// At least 1.
        count: u64,
        /// Seed of the random values, the only input: the same seed gives the same values.
        seed: u64,
    },
}

/// A 16-bit length field that covers the frame from some offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LengthField {
    /// Offset of the field.
    pub at: u16,
    /// Offset of the first byte covered; the last is the frame's end without FCS.
    pub from: u16,
}

/// An Internet checksum (RFC 1071).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checksum {
    /// Offset of the field, 16 bits.
    pub at: u16,
    pub over: Covered,
    /// True to send an incorrect value for negative tests: the correct one plus one.
    pub bad: bool,
}

/// Bytes that a checksum covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Covered {
    /// From the first offset up to and without the second: an IPv4 header.
    Header(u16, u16),
    /// From `from` to the frame's end, and the pseudo header of the IPv4 packet at `ip`.
    Payload4 {
        /// Offset of the IPv4 header.
        ip: u16,
        /// Offset of the UDP or TCP header.
        from: u16,
        /// True if 0 is sent as 0xffff: UDP.
        udp: bool,
    },
    /// As [`Covered::Payload4`] for IPv6.
    Payload6 {
        /// Offset of the IPv6 header.
        ip: u16,
        /// Offset of the UDP or TCP header.
        from: u16,
        /// True if 0 is sent as 0xffff: UDP.
        udp: bool,
    },
}

/// Frame lengths of a stream, in bytes with FCS.
#[derive(Clone, PartialEq, Debug)]
pub enum Sizes {
    /// One length.
    Fixed(u32),
    /// `start`, `start + step`, .. up to `end`, then from `start` again.
    Increment {
        start: u32,
        /// Upper bound.
        end: u32,
        /// At least 1.
        step: u32,
    },
    /// Random between these, both included.
    Random { min: u32, max: u32 },
    /// Random with these weights, each above 0.
    Weighted(Vec<(u32, f64)>),
}

/// Offered rate of a stream.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pace {
    /// Rate, applied to each frame's length. Exact to the picosecond: the rounding error of one
    /// interval is carried to a later one.
    pub rate: Rate,
    /// Minimum gap after a frame on the line, in bytes; 12 for Ethernet.
    pub gap: u32,
    /// Bursts, if any.
    pub burst: Option<Burst>,
}

/// Bursts of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Burst {
    /// Frames per burst, at least 1.
    pub frames: u32,
    /// Time from the end of a burst's last frame on the line to the start of the next burst's
    /// first.
    pub gap: Duration,
}

/// Automatic end of a stream; none by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limit {
    /// Number of frames.
    pub frames: Option<u64>,
    /// Time after its first frame was due.
    pub time: Option<Duration>,
}

/// Measurements of received frames.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MeterPlan {
    /// Expected streams with the priority of their frames, whose pauses must stop them. Each is
    /// also one of the station's `expects`.
    pub streams: Vec<(FlowId, Priority)>,
    /// Expected streams whose frames are compared with what was sent. A frame that differs counts as damaged,
    /// not as received. Each stream is also one of the station's `expects`.
    pub compared: Vec<StreamPlan>,
    /// Expected control streams, identified by the exact first bytes of their frames, because MAC
    /// control frames carry no probe.
    pub control: Vec<(FlowId, Vec<u8>)>,
}

/// An interface of a station: it answers ARP, neighbour discovery and ping, and resolves its
/// gateways.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InterfacePlan {
    /// Name in results (OTG: of the device's Ethernet).
    pub name: String,
    pub mac: Mac,
    /// VLANs, outermost first, with the priority of its frames.
    pub vlans: Vec<(Vid, u8)>,
    /// IPv4 addresses with prefix lengths and gateways.
    pub ipv4: Vec<(Ipv4Addr, u8, Option<Ipv4Addr>)>,
    /// IPv6 addresses with prefix lengths and gateways.
    pub ipv6: Vec<(Ipv6Addr, u8, Option<Ipv6Addr>)>,
}
