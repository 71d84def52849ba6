//! Streams: flows of a traffic generator, whose frames may be anything, of any size, at any pace,
//! started and stopped while the station runs.

mod check;

use core::net::{Ipv4Addr, Ipv6Addr};

use super::{FlowId, Rate, Recording};
use crate::time::{Duration, Instant};
use crate::units::{Mac, Priority, Quanta, Vid};

/// What makes a station a traffic generator. All of it is empty by default and costs nothing then.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TesterPlan {
    /// The streams that it sends, stopped until they are started.
    pub streams: Vec<StreamPlan>,
    /// When all of them are started without being told; never if nothing is said.
    pub start: Option<Instant>,
    /// The run whose frames it counts for its flows; frames of others are counted apart.
    pub run: u8,
    /// What it counts of the streams that it receives, beside what every sink counts.
    pub meter: Option<MeterPlan>,
    /// From the last bit of a pause to obeying it, in quanta of 512 bit times (OTG `pfc_delay`).
    /// Default: 0, in the poll that receives it. What a pause asks for counts from its arrival all the
    /// same, and a resume does not wait.
    pub pause_delay: Quanta,
    /// The interfaces that it answers for and asks neighbours of.
    pub interfaces: Vec<InterfacePlan>,
}

/// A stream: frames made from a template, one after the other.
#[derive(Clone, PartialEq, Debug)]
pub struct StreamPlan {
    /// Its number; what its probes carry, if it has any.
    pub id: FlowId,
    /// The way its frames take through the station.
    pub path: Path,
    /// Its frames.
    pub template: TemplatePlan,
    /// Frames that it sends one after the other, and from the first again, instead of making any of
    /// its template, which then is empty. `sizes` are those of the recording.
    pub recording: Option<Recording>,
    /// How long each frame is, in octets with FCS. Frames shorter than 64 are padded to 60 without
    /// FCS by whoever sends them, unless the port can send runts.
    pub sizes: Sizes,
    /// How fast it is offered.
    pub pace: Pace,
    /// When it ends by itself.
    pub limit: Limit,
    /// From its start to its first frame.
    pub delay: Duration,
    /// Seeds what is drawn by chance in it: sizes and fields.
    pub seed: u64,
}

/// The way of a stream's frames through its station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Path {
    /// As data of this priority (OTG `pfc_queue`): pauses of it stop the stream.
    Data(Priority),
    /// As MAC control frames: from memory that data can never use up, ahead of all data, and
    /// stopped by nothing.
    Control,
}

/// The octets of a stream's frames.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TemplatePlan {
    /// The headers, with the first value of every field and all lengths and checksums as they are
    /// when the frame is the shortest; what follows is payload.
    pub headers: Vec<u8>,
    /// What the payload is filled with, from the end of the headers (the probe, if there is one, is
    /// written over it).
    pub payload: Payload,
    /// The fields that change from frame to frame.
    pub edits: Vec<Edit>,
    /// Length fields that follow the frame's length.
    pub lengths: Vec<LengthField>,
    /// Checksums to be kept right.
    pub checksums: Vec<Checksum>,
    /// Where the probe is, in octets from the frame's start; nothing for frames without one.
    pub probe_at: Option<u16>,
    /// The run that the probe names.
    pub run: u8,
}

/// What follows a stream's headers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Payload {
    /// Zeros.
    #[default]
    Zero,
    /// These octets, then zeros; or again and again.
    Fixed {
        /// The octets, at least one.
        octets: Vec<u8>,
        /// Whether they are repeated up to the end.
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

/// A field whose value changes from frame to frame.
#[derive(Clone, PartialEq, Debug)]
pub struct Edit {
    /// The octet, from the frame's start, in which its first bit is.
    pub at: u16,
    /// How many bits of that octet are in front of it, 0 to 7.
    pub skip: u8,
    /// Its width in bits, 1 to 128.
    pub bits: u8,
    /// What it is.
    pub values: Values,
}

/// The values of a field, one per frame, from the first again after the last. Modulo 2^bits.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    /// These, at least one.
    List(Vec<u128>),
    /// `start`, `start + step`, .. `count` of them.
    Increment {
        /// The first.
        start: u128,
        /// What is added each time.
        step: u128,
        /// How many there are, at least 1.
        count: u64,
    },
    /// `start`, `start - step`, .. `count` of them.
    Decrement {
        /// The first.
        start: u128,
        /// What is taken off each time.
        step: u128,
        /// How many there are, at least 1.
        count: u64,
    },
    /// Drawn between `min` and `max`, both included; `count` of them, then the same again.
    Random {
        /// The least.
        min: u128,
        /// The greatest.
        max: u128,
        /// How many are drawn before they repeat, at least 1.
        count: u64,
        /// Seeds the draw, together with nothing else: the same seed gives the same values.
        seed: u64,
    },
}

/// A 16-bit length field that says how long the frame is from some octet on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LengthField {
    /// Where the field is.
    pub at: u16,
    /// The first octet that it counts; it counts up to the frame's end without FCS.
    pub from: u16,
}

/// A checksum of the Internet's kind (RFC 1071).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checksum {
    /// Where it is, 16 bits.
    pub at: u16,
    /// What it covers.
    pub over: Covered,
    /// Whether it is to be wrong, for negative tests: what is sent is then the right one plus one.
    pub bad: bool,
}

/// What a checksum covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Covered {
    /// These octets of the frame, the first included, the last not: an IPv4 header.
    Header(u16, u16),
    /// From here to the frame's end, and the pseudo header of the IPv4 packet at `ip`.
    Payload4 {
        /// Where the IPv4 header is.
        ip: u16,
        /// Where the UDP or TCP header is.
        from: u16,
        /// Whether 0 is sent as 0xffff: UDP.
        udp: bool,
    },
    /// As [`Covered::Payload4`] for IPv6.
    Payload6 {
        /// Where the IPv6 header is.
        ip: u16,
        /// Where the UDP or TCP header is.
        from: u16,
        /// Whether 0 is sent as 0xffff: UDP.
        udp: bool,
    },
}

/// How long a stream's frames are, in octets with FCS.
#[derive(Clone, PartialEq, Debug)]
pub enum Sizes {
    /// All alike.
    Fixed(u32),
    /// `start`, `start + step`, .. up to `end`, then from `start` again.
    Increment {
        /// The first.
        start: u32,
        /// Not above this.
        end: u32,
        /// What is added each time, at least 1.
        step: u32,
    },
    /// Drawn between these, both included.
    Random {
        /// The least.
        min: u32,
        /// The greatest.
        max: u32,
    },
    /// Drawn with these weights, each above 0.
    Weighted(Vec<(u32, f64)>),
}

/// How fast a stream is offered.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pace {
    /// The rate, of each frame by its own length: the pace is kept to the picosecond, and what
    /// rounding takes off one interval is given to a later one, so that it does not add up.
    pub rate: Rate,
    /// The least gap behind a frame on the line, in octets; 12 is Ethernet's.
    pub gap: u32,
    /// Bursts, if it comes in such.
    pub burst: Option<Burst>,
}

/// Bursts of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Burst {
    /// Frames in each, at least 1.
    pub frames: u32,
    /// From the end of a burst's last frame on the line to the start of the next burst's first.
    pub gap: Duration,
}

/// When a stream ends by itself; never if nothing is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limit {
    /// After so many frames.
    pub frames: Option<u64>,
    /// So long after its first frame was due.
    pub time: Option<Duration>,
}

/// What a station measures of what it receives.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MeterPlan {
    /// The streams that it expects, and the priority that their frames belong to: whose pauses are
    /// to stop them. Each is also one of the station's `expects`.
    pub streams: Vec<(FlowId, Priority)>,
    /// Control streams that it expects to receive, by the exact first octets of their frames,
    /// because MAC control frames carry no probe.
    pub control: Vec<(FlowId, Vec<u8>)>,
}

/// An interface of a station: whom it answers for (ARP, neighbour discovery, ping) and whose
/// address it asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InterfacePlan {
    /// Its name in results (OTG: of the device's Ethernet).
    pub name: String,
    /// Its address.
    pub mac: Mac,
    /// Its VLANs, outermost first, with the priority of its frames there.
    pub vlans: Vec<(Vid, u8)>,
    /// IPv4 addresses with prefix lengths and gateways.
    pub ipv4: Vec<(Ipv4Addr, u8, Option<Ipv4Addr>)>,
    /// IPv6 addresses with prefix lengths and gateways.
    pub ipv6: Vec<(Ipv6Addr, u8, Option<Ipv6Addr>)>,
}
