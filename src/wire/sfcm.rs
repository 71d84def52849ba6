//! The source flow control message of P802.1Qdw, in an encoding of ours: a switch requests a pause
//! from the source of a congesting flow.
//!
//! The source document (S0) has the contents of a message but neither version, subtype, units nor
//! layout, and no draft is public. This is version 0 of a draft of ours, all of it here. It is sent
//! in UDP over IPv4 or IPv6 to the source of the flow, with one port of the dynamic range on both
//! sides. All numbers are big-endian:
//!
//! | octet | field |
//! | --- | --- |
//! | 0 | version (4 bits), form (4 bits: 0 simplified, 1 encapsulated MSDU) |
//! | 1 | locator (2 bits: 0 unknown, 1 incast, 2 in-network), reserved (3 bits), PCP (3 bits) |
//! | 2 | DSCP (6 bits), reserved (2 bits) |
//! | 3 | level of the congested switch by Topology Recognition (802.1Qcz 49.5); 0 and 255 unknown |
//! | 4 to 7 | pause time in nanoseconds; 0 ends a pause |
//! | 8 to 9 | octets of what follows |
//! | 10 on | simplified: source address, destination address, protocol, reserved, source port, destination port; else the MSDU from its EtherType on |
//!
//! The pause is in nanoseconds because quanta depend on the link rate, and the sender does not know
//! the source's. Addresses are of the IP version that carries the message, so a simplified flow has
//! 14 bytes or 38.

use core::fmt;
use core::net::IpAddr;
use core::num::NonZeroU8;

use super::flow::FiveTuple;
use super::ip::Protocol;
use super::{EtherType, WireError, be16, datagram, msdu};
use ground::time::Duration;
use ground::units::{Dscp, Priority};

/// Supported version.
pub const VERSION: u8 = 0;
/// Length before the flow.
pub const HEADER_LEN: usize = 10;
/// Minimum length of an encapsulated MSDU: the default of sfcMinHeaderOctets.
pub const MSDU_MIN: usize = 64;
/// Maximum length of an encapsulated MSDU, that of CIM; the source document has none.
pub const MSDU_MAX: usize = 512;
/// Maximum message length after its EtherType.
pub const LEN_MAX: usize = datagram::HEADERS_MAX + HEADER_LEN + MSDU_MAX;
/// Lowest value of sfcmUDPPort: the dynamic ports (RFC 6335).
pub const PORT_MIN: u16 = 49_152;
/// Example of the source document for sfcmUDPPort.
pub const PORT_DEFAULT: u16 = 58_622;
/// Maximum pause of a message: 2^32 - 1 ns, about 4.3 s.
pub const PAUSE_MAX: Duration = Duration::from_nanos(u32::MAX as u64);

/// Forms of the flow.
const SIMPLIFIED: u8 = 0;
const ENCAPSULATED: u8 = 1;
/// Length of a simplified flow besides its two addresses.
const BESIDE_ADDRESSES: usize = 6;

/// Level of a switch by Topology Recognition, 1 next to servers, up to [`LEVEL_MAX`].
pub type Level = NonZeroU8;
/// Maximum level: 255 is unknown, as in the Topology Recognition TLV.
pub const LEVEL_MAX: u8 = 254;

/// Location of the congestion by the topology of the queue, as the source document requires.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Locator {
    /// The sender does not know its position in the network.
    #[default]
    Unknown = 0,
    /// At the edge, in the queue towards the destination: many-to-one traffic.
    Incast = 1,
    /// Upstream of the edge.
    InNetwork = 2,
}

impl Locator {
    /// Decodes the two bits. 3 is reserved, and decoded as unknown.
    const fn from_bits(bits: u8) -> Self {
        match bits {
            1 => Self::Incast,
            2 => Self::InNetwork,
            _ => Self::Unknown,
        }
    }
}

impl fmt::Display for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "unknown",
            Self::Incast => "incast",
            Self::InNetwork => "in-network",
        })
    }
}

/// Identification of the flow in a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form<'a> {
    /// Addresses, protocol and ports.
    Simplified(FiveTuple),
    /// Start of a frame's payload, EtherType first: 64 to 512 bytes ([`msdu::bounded`]).
    Encapsulated(&'a [u8]),
}

impl Form<'_> {
    /// Returns the length in bytes.
    const fn len(&self) -> usize {
        match self {
            Self::Simplified(flow) => match flow.dst {
                IpAddr::V4(_) => 2 * 4 + BESIDE_ADDRESSES,
                IpAddr::V6(_) => 2 * 16 + BESIDE_ADDRESSES,
            },
            Self::Encapsulated(msdu) => msdu.len(),
        }
    }
}

/// Contents of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sfcm<'a> {
    /// Flow.
    pub form: Form<'a>,
    /// Priority of its frames in the congested queue.
    pub priority: Priority,
    /// DSCP of its packets, by which a source without tags determines the priority.
    pub dscp: Dscp,
    /// Pause time, from 0 to [`PAUSE_MAX`]. Sent in whole nanoseconds, rounded down, since it must
    /// not exceed the time that the queue takes to drain.
    pub pause: Duration,
    /// Location of the congestion.
    pub locator: Locator,
    /// Level of the congested switch, if it is known. Servers, which have level 0, send no message.
    pub level: Option<Level>,
}

impl Sfcm<'_> {
    /// Returns the flow, or `None` if the MSDU has no IP packet.
    #[must_use]
    pub fn flow(&self) -> Option<FiveTuple> {
        match self.form {
            Form::Simplified(flow) => Some(flow),
            Form::Encapsulated(msdu) => msdu::flow(msdu),
        }
    }
}

/// A message with its IP and UDP headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repr<'a> {
    /// Headers. The destination is the flow's source.
    pub headers: datagram::Repr,
    /// Contents of the message.
    pub message: Sfcm<'a>,
}

impl<'a> Repr<'a> {
    /// Parses a message from `packet`, which follows `ethertype`. The caller has identified it by
    /// its UDP port, and checks if its sender is permitted.
    ///
    /// # Errors
    /// As [`datagram::Repr::parse`]; [`WireError::Unsupported`] for ports that differ or are below
    /// [`PORT_MIN`], and for an MSDU without an IP packet; [`WireError::Truncated`] below the
    /// header or its length field; [`WireError::BadVersion`]; [`WireError::BadOpcode`] for an
    /// unknown form; [`WireError::BadLength`] for a length that does not match the form or the
    /// packet; [`WireError::BadAddress`] for a message whose destination is not the source of its
    /// flow, or not a single host; [`WireError::AboutItself`] for one about such messages.
    pub fn parse(ethertype: EtherType, packet: &'a [u8]) -> Result<Self, WireError> {
        let (headers, pdu) = datagram::Repr::parse(ethertype, packet)?;
        if !ports_ok(&headers) {
            return Err(WireError::Unsupported);
        }
        let (f, rest) = pdu.split_first_chunk::<HEADER_LEN>().ok_or(WireError::Truncated)?;
        if f[0] >> 4 != VERSION {
            return Err(WireError::BadVersion);
        }
        let len = usize::from(be16(f, 8));
        let octets = rest.get(..len).ok_or(WireError::Truncated)?;
        // Nothing follows the flow in this version; more bytes are of another layout.
        if rest.len() > len {
            return Err(WireError::BadLength);
        }
        let form = match f[0] & 0xf {
            SIMPLIFIED => Form::Simplified(simplified(octets, headers.dst)?),
            ENCAPSULATED if (MSDU_MIN..=MSDU_MAX).contains(&len) => Form::Encapsulated(octets),
            ENCAPSULATED => return Err(WireError::BadLength),
            _ => return Err(WireError::BadOpcode),
        };
        let message = Sfcm {
            form,
            priority: priority(f),
            dscp: super::ip::dscp_of(f[2]),
            pause: pause(f),
            locator: Locator::from_bits(f[1] >> 6),
            // 0 and 255 both mean that the level is not known.
            level: Level::new(f[3]).filter(|level| level.get() <= LEVEL_MAX),
        };
        let repr = Self { headers, message };
        repr.check()?;
        Ok(repr)
    }

    /// Checks the flow, for parsing and for writing.
    fn check(&self) -> Result<(), WireError> {
        let flow = self.message.flow().ok_or(WireError::Unsupported)?;
        // Messages about messages could be answered without end.
        if self.headers.carries(&flow) {
            return Err(WireError::AboutItself);
        }
        // Only the source of a flow may be asked to pause for it.
        if flow.src != self.headers.dst || !is_host(self.headers.dst) {
            return Err(WireError::BadAddress);
        }
        Ok(())
    }

    /// Returns the number of bytes that [`Repr::emit`] writes.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        self.headers.header_len() + HEADER_LEN + self.message.form.len()
    }

    /// Returns the EtherType that precedes the message.
    #[must_use]
    pub const fn ethertype(&self) -> EtherType {
        self.headers.ethertype()
    }

    /// Writes the packet at the front of `buf`, checksums included.
    ///
    /// # Errors
    /// [`WireError::OutOfRange`] for addresses of different versions, a pause above [`PAUSE_MAX`],
    /// a level above [`LEVEL_MAX`], or an MSDU of less than 64 bytes or more than 512; [`WireError::Unsupported`],
    /// [`WireError::BadAddress`] and [`WireError::AboutItself`] as in [`Repr::parse`];
    /// [`WireError::NoRoom`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<(), WireError> {
        let Sfcm { form, priority, dscp, pause, locator, level } = self.message;
        let pause = u32::try_from(pause.as_nanos()).map_err(|_| WireError::OutOfRange)?;
        if !ports_ok(&self.headers) {
            return Err(WireError::Unsupported);
        }
        let (code, fits) = match form {
            Form::Simplified(flow) => (SIMPLIFIED, flow.src.is_ipv4() == flow.dst.is_ipv4()),
            Form::Encapsulated(msdu) => (ENCAPSULATED, (MSDU_MIN..=MSDU_MAX).contains(&msdu.len())),
        };
        if !fits || level.is_some_and(|level| level.get() > LEVEL_MAX) {
            return Err(WireError::OutOfRange);
        }
        // The checks of the receiver, so that nothing is sent that it has to refuse.
        self.check()?;
        let out = buf.get_mut(..self.buffer_len()).ok_or(WireError::NoRoom)?;
        let pdu = &mut out[self.headers.header_len()..];
        pdu[0] = VERSION << 4 | code;
        pdu[1] = (locator as u8) << 6 | priority.get();
        pdu[2] = dscp.get() << 2;
        pdu[3] = level.map_or(0, Level::get);
        pdu[4..8].copy_from_slice(&pause.to_be_bytes());
        let len = form.len() as u16; // At most 512.
        pdu[8..HEADER_LEN].copy_from_slice(&len.to_be_bytes());
        match form {
            Form::Simplified(flow) => emit_simplified(&flow, &mut pdu[HEADER_LEN..]),
            Form::Encapsulated(msdu) => pdu[HEADER_LEN..].copy_from_slice(msdu),
        }
        self.headers.emit(out)
    }
}

impl fmt::Display for Repr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sfcm { priority, dscp, pause, locator, level, .. } = self.message;
        let nanos = pause.as_nanos();
        write!(f, "SFCM from {} pause {nanos} ns priority {priority}", self.headers.src)?;
        write!(f, " dscp {dscp} {locator}")?;
        if let Some(level) = level {
            write!(f, " level {level}")?;
        }
        match self.message.flow() {
            Some(flow) => write!(f, " {flow}"),
            None => Ok(()),
        }
    }
}

/// Returns the priority and the pause time of a PDU of this version whose other fields are not checked,
/// for the sender of messages that are invalid on purpose.
#[must_use]
pub fn peek(pdu: &[u8]) -> Option<(Priority, Duration)> {
    let f = pdu.first_chunk::<HEADER_LEN>().filter(|f| f[0] >> 4 == VERSION)?;
    Some((priority(f), pause(f)))
}

fn priority(f: &[u8; HEADER_LEN]) -> Priority {
    Priority::ALL[usize::from(f[1] & 0b111)]
}

fn pause(f: &[u8; HEADER_LEN]) -> Duration {
    Duration::from_nanos(u32::from_be_bytes([f[4], f[5], f[6], f[7]]).into())
}

/// Returns true if both ports are equal and in the dynamic range.
const fn ports_ok(headers: &datagram::Repr) -> bool {
    headers.src_port == headers.dst_port && headers.dst_port >= PORT_MIN
}

/// Returns true if an address can be that of one host, and so the source of a flow.
const fn is_host(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(a) => !(a.is_multicast() || a.is_unspecified() || a.is_broadcast()),
        IpAddr::V6(a) => !(a.is_multicast() || a.is_unspecified()),
    }
}

/// Parses a simplified flow whose addresses are of the version of `like`.
fn simplified(octets: &[u8], like: IpAddr) -> Result<FiveTuple, WireError> {
    // The flow's source is the destination of the packet, so both are of one version.
    let (src, dst, rest) = match like {
        IpAddr::V4(_) => {
            let (src, rest) = octets.split_first_chunk::<4>().ok_or(WireError::BadLength)?;
            let (dst, rest) = rest.split_first_chunk::<4>().ok_or(WireError::BadLength)?;
            (IpAddr::from(*src), IpAddr::from(*dst), rest)
        }
        IpAddr::V6(_) => {
            let (src, rest) = octets.split_first_chunk::<16>().ok_or(WireError::BadLength)?;
            let (dst, rest) = rest.split_first_chunk::<16>().ok_or(WireError::BadLength)?;
            (IpAddr::from(*src), IpAddr::from(*dst), rest)
        }
    };
    let rest: &[u8; BESIDE_ADDRESSES] = rest.try_into().map_err(|_| WireError::BadLength)?;
    let (src_port, dst_port) = (be16(rest, 2), be16(rest, 4));
    Ok(FiveTuple { src, dst, protocol: Protocol(rest[0]), src_port, dst_port })
}

/// Writes a simplified flow, which fills `out`.
fn emit_simplified(flow: &FiveTuple, out: &mut [u8]) {
    let (addresses, rest) = out.split_at_mut(out.len() - BESIDE_ADDRESSES);
    let (src, dst) = addresses.split_at_mut(addresses.len() / 2);
    for (address, out) in [(flow.src, src), (flow.dst, dst)] {
        match address {
            IpAddr::V4(a) => out.copy_from_slice(&a.octets()),
            IpAddr::V6(a) => out.copy_from_slice(&a.octets()),
        }
    }
    rest[..2].copy_from_slice(&[flow.protocol.0, 0]);
    rest[2..4].copy_from_slice(&flow.src_port.to_be_bytes());
    rest[4..].copy_from_slice(&flow.dst_port.to_be_bytes());
}

#[cfg(test)]
mod tests;
