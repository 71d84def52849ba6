//! The peer delay messages of PTP over Ethernet (IEEE 1588-2019 clause 13, Annex E; IEEE 802.1AS
//! clause 11 has the same): Pdelay_Req, Pdelay_Resp and Pdelay_Resp_Follow_Up.
//!
//! Other PTP messages are parsed up to their header and returned as [`Body::Other`]. TLVs after a
//! message are not parsed.

use core::fmt;

use super::{EtherType, WireError, be16, ethernet, group, mac_at, room};
use ground::time::Instant;
use ground::units::Mac;

/// Destination of peer delay messages (1588 E.3): no bridge forwards it.
pub const DESTINATION: Mac = group::NEAREST_BRIDGE;

/// `versionPTP`: 1588-2008, 1588-2019, 802.1AS.
const VERSION: u8 = 2;
/// `minorVersionPTP` of 1588-2019 and 802.1AS-2020; older nodes ignore it.
const MINOR_VERSION: u8 = 1;

/// Bytes of the common header (1588 13.3.1).
const HEADER: usize = 34;
/// Length of each of the three messages.
const MESSAGE: usize = HEADER + 20;
/// Length of a frame with one of them.
pub const FRAME: usize = ethernet::HEADER_LEN + MESSAGE;

/// `twoStepFlag`, in the first byte of the flag field (1588 Table 37).
const TWO_STEP: u8 = 0x02;
/// `controlField` of peer delay messages (1588 Table 42).
const CONTROL: u8 = 5;
/// `logMessageInterval` without an interval (1588 Table 43).
const NO_INTERVAL: u8 = 0x7f;

/// Message types (1588 Table 36).
mod kind {
    pub(super) const PDELAY_REQ: u8 = 0x2;
    pub(super) const PDELAY_RESP: u8 = 0x3;
    pub(super) const PDELAY_RESP_FOLLOW_UP: u8 = 0xa;
}

/// Offsets of the fields of the header, from the destination address on.
mod field {
    use super::{HEADER, ethernet};

    const PTP: usize = ethernet::HEADER_LEN;
    pub(super) const KIND: usize = PTP;
    pub(super) const VERSION: usize = PTP + 1;
    pub(super) const LENGTH: usize = PTP + 2;
    pub(super) const DOMAIN: usize = PTP + 4;
    pub(super) const MINOR_SDO: usize = PTP + 5;
    pub(super) const FLAGS: usize = PTP + 6;
    pub(super) const CORRECTION: usize = PTP + 8;
    pub(super) const SOURCE: usize = PTP + 20;
    pub(super) const SEQUENCE: usize = PTP + 30;
    pub(super) const CONTROL: usize = PTP + 32;
    pub(super) const INTERVAL: usize = PTP + 33;
    pub(super) const TIMESTAMP: usize = PTP + HEADER;
    pub(super) const REQUESTING: usize = PTP + HEADER + 10;
}

/// A port of a PTP instance (1588 5.3.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct PortIdentity {
    /// Clock identity, an EUI-64.
    pub clock: [u8; 8],
    /// Port number, from 1.
    pub port: u16,
}

impl PortIdentity {
    /// Returns the first port of the clock with the identity of `mac` (1588 7.5.2.2.2, with FF-FE
    /// inserted as most devices do).
    #[must_use]
    pub const fn of(mac: Mac) -> Self {
        let [a, b, c, d, e, f] = mac.0;
        Self { clock: [a, b, c, 0xff, 0xfe, d, e, f], port: 1 }
    }

    fn read(octets: [u8; 10]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j] = octets;
        Self { clock: [a, b, c, d, e, f, g, h], port: u16::from_be_bytes([i, j]) }
    }

    fn octets(self) -> [u8; 10] {
        let ([a, b, c, d, e, f, g, h], [i, j]) = (self.clock, self.port.to_be_bytes());
        [a, b, c, d, e, f, g, h, i, j]
    }
}

impl fmt::Display for PortIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for octet in self.clock {
            write!(f, "{octet:02x}")?;
        }
        write!(f, "-{}", self.port)
    }
}

/// A time in a message: whole nanoseconds since the epoch of its sender's clock.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Timestamp {
    /// Seconds, 48 bits.
    pub seconds: u64,
    /// Nanoseconds, below 10^9; not validated when received.
    pub nanos: u32,
}

impl Timestamp {
    /// Splits a timestamp into whole nanoseconds and a correction.
    #[must_use]
    pub const fn split(time: Instant) -> (Self, Correction) {
        let ps = time.as_picos();
        let (seconds, rest) = (ps / 1_000_000_000_000, ps % 1_000_000_000_000);
        // What a timestamp in nanoseconds cannot hold is in the correction (1588 13.3.2.9).
        let left = Correction::of_picos((rest % 1_000) as i64);
        (Self { seconds: seconds as u64, nanos: (rest / 1_000) as u32 }, left)
    }

    /// Returns the time in picoseconds, or `None` with a billion nanoseconds or more.
    #[must_use]
    pub const fn picos(self) -> Option<i128> {
        if self.nanos >= 1_000_000_000 {
            return None;
        }
        Some(self.seconds as i128 * 1_000_000_000_000 + self.nanos as i128 * 1_000)
    }

    fn read(octets: [u8; 10]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j] = octets;
        Self {
            seconds: u64::from_be_bytes([0, 0, a, b, c, d, e, f]),
            nanos: u32::from_be_bytes([g, h, i, j]),
        }
    }

    fn octets(self) -> [u8; 10] {
        let ([_, _, a, b, c, d, e, f], [g, h, i, j]) =
            (self.seconds.to_be_bytes(), self.nanos.to_be_bytes());
        [a, b, c, d, e, f, g, h, i, j]
    }
}

/// `correctionField`: nanoseconds times 2^16, signed (1588 13.3.2.9).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Correction(pub i64);

impl Correction {
    /// Converts picoseconds, rounded to the nearest unit of the field. Within 2 hours.
    #[must_use]
    pub const fn of_picos(ps: i64) -> Self {
        // Half a unit away from zero, because the division truncates towards it.
        let scaled = ps as i128 * 65_536;
        let half = if scaled < 0 { -500 } else { 500 };
        Self(((scaled + half) / 1_000) as i64)
    }

    /// Returns the correction in picoseconds, rounded to the nearest.
    #[must_use]
    pub const fn picos(self) -> i128 {
        let scaled = self.0 as i128 * 1_000;
        let half = if scaled < 0 { -32_768 } else { 32_768 };
        (scaled + half) / 65_536
    }

    /// Returns the sum, limited to the maximum of the field, which means that the correction is too
    /// large.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the negated correction.
    #[must_use]
    pub const fn negative(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

/// Contents of a message after its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Body {
    /// Requests the peer delay.
    PdelayReq,
    /// Response.
    PdelayResp {
        /// Receive time of the request; 0 from responders that put their turnaround into the
        /// correction.
        receipt: Timestamp,
        /// Port that sent the request.
        requesting: PortIdentity,
    },
    /// Follow-up with the transmit time of the response.
    PdelayRespFollowUp {
        /// Transmit time of the response; 0 from responders that put their turnaround into the
        /// correction.
        origin: Timestamp,
        /// Port that sent the request.
        requesting: PortIdentity,
    },
    /// Another message of PTP, by its type.
    Other(u8),
}

/// A message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// `majorSdoId`: 0 for IEEE 1588, 1 for IEEE 802.1AS. 0 to 15.
    pub major_sdo_id: u8,
    /// `minorSdoId`.
    pub minor_sdo_id: u8,
    /// Domain number.
    pub domain: u8,
    /// True if a Follow_Up follows.
    pub two_step: bool,
    /// Correction of the times.
    pub correction: Correction,
    /// Sending port.
    pub source: PortIdentity,
    /// Sequence number; answers have that of the request.
    pub sequence: u16,
    /// Contents after the header.
    pub body: Body,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.body {
            Body::PdelayReq => f.write_str("Pdelay_Req")?,
            Body::PdelayResp { .. } => f.write_str("Pdelay_Resp")?,
            Body::PdelayRespFollowUp { .. } => f.write_str("Pdelay_Resp_Follow_Up")?,
            Body::Other(kind) => write!(f, "PTP type {kind:#x}")?,
        }
        write!(f, " {} from {} domain {}", self.sequence, self.source, self.domain)
    }
}

/// An untagged frame with a PTP message, without FCS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repr {
    /// Address of the sending port.
    pub src: Mac,
    /// Destination: [`DESTINATION`] for peer delay. Not checked when parsed.
    pub dst: Mac,
    /// PTP message.
    pub message: Message,
}

impl Repr {
    /// Parses a frame from its destination address on.
    ///
    /// # Errors
    /// In this order: [`WireError::Truncated`] if the header is incomplete,
    /// [`WireError::BadEthertype`], [`WireError::BadVersion`] for another major version than 2, and
    /// for the three peer delay messages [`WireError::BadLength`] if the length field is below the
    /// minimum and [`WireError::Truncated`] if the message is.
    pub fn parse(frame: &[u8]) -> Result<Self, WireError> {
        let header: &[u8; ethernet::HEADER_LEN + HEADER] =
            frame.first_chunk().ok_or(WireError::Truncated)?;
        if EtherType(be16(header, 12)) != EtherType::PTP {
            return Err(WireError::BadEthertype);
        }
        // The upper four bits are the minor version, which does not change the format.
        if header[field::VERSION] & 0xf != VERSION {
            return Err(WireError::BadVersion);
        }
        let kind = header[field::KIND] & 0xf;
        let correction = core::array::from_fn(|i| header[field::CORRECTION + i]);
        let message = Message {
            major_sdo_id: header[field::KIND] >> 4,
            minor_sdo_id: header[field::MINOR_SDO],
            domain: header[field::DOMAIN],
            two_step: header[field::FLAGS] & TWO_STEP != 0,
            correction: Correction(i64::from_be_bytes(correction)),
            source: PortIdentity::read(ten(header, field::SOURCE)),
            sequence: be16(header, field::SEQUENCE),
            body: body(kind, usize::from(be16(header, field::LENGTH)), frame)?,
        };
        Ok(Self { dst: mac_at(header, 0), src: mac_at(header, 6), message })
    }

    /// Returns the number of bytes that [`Repr::emit`] writes: 68.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        FRAME
    }

    /// Writes the whole frame at the front of `buf`.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] below 68 bytes, [`WireError::Unsupported`] for [`Body::Other`], and
    /// [`WireError::OutOfRange`] for an `sdoId` above 15 or seconds of more than 48 bits.
    pub fn emit(&self, buf: &mut [u8]) -> Result<(), WireError> {
        let m = &self.message;
        let (kind, time, requesting) = match m.body {
            Body::PdelayReq => (kind::PDELAY_REQ, Timestamp::default(), PortIdentity::default()),
            Body::PdelayResp { receipt, requesting } => (kind::PDELAY_RESP, receipt, requesting),
            Body::PdelayRespFollowUp { origin, requesting } => {
                (kind::PDELAY_RESP_FOLLOW_UP, origin, requesting)
            }
            Body::Other(_) => return Err(WireError::Unsupported),
        };
        if m.major_sdo_id > 0xf || time.seconds >> 48 != 0 {
            return Err(WireError::OutOfRange);
        }
        let out: &mut [u8; FRAME] = room(buf)?;
        // Reserved fields are 0, and so are the last ten bytes of a request.
        *out = [0; FRAME];
        out[..6].copy_from_slice(&self.dst.0);
        out[6..12].copy_from_slice(&self.src.0);
        out[12..14].copy_from_slice(&EtherType::PTP.0.to_be_bytes());
        out[field::KIND] = m.major_sdo_id << 4 | kind;
        out[field::VERSION] = MINOR_VERSION << 4 | VERSION;
        // 54, so the upper byte of the length stays 0.
        out[field::LENGTH + 1] = MESSAGE as u8;
        out[field::DOMAIN] = m.domain;
        out[field::MINOR_SDO] = m.minor_sdo_id;
        out[field::FLAGS] = if m.two_step { TWO_STEP } else { 0 };
        out[field::CORRECTION..][..8].copy_from_slice(&m.correction.0.to_be_bytes());
        out[field::SOURCE..][..10].copy_from_slice(&m.source.octets());
        out[field::SEQUENCE..][..2].copy_from_slice(&m.sequence.to_be_bytes());
        out[field::CONTROL] = CONTROL;
        out[field::INTERVAL] = NO_INTERVAL;
        out[field::TIMESTAMP..][..10].copy_from_slice(&time.octets());
        out[field::REQUESTING..][..10].copy_from_slice(&requesting.octets());
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.src, self.message)
    }
}

/// Parses the contents of a message of type `kind` whose length field is `length`.
fn body(kind: u8, length: usize, frame: &[u8]) -> Result<Body, WireError> {
    if !matches!(kind, kind::PDELAY_REQ | kind::PDELAY_RESP | kind::PDELAY_RESP_FOLLOW_UP) {
        return Ok(Body::Other(kind));
    }
    // TLVs may follow, so a longer message is valid.
    if length < MESSAGE {
        return Err(WireError::BadLength);
    }
    let frame: &[u8; FRAME] = frame.first_chunk().ok_or(WireError::Truncated)?;
    let time = Timestamp::read(ten(frame, field::TIMESTAMP));
    let requesting = PortIdentity::read(ten(frame, field::REQUESTING));
    Ok(match kind {
        kind::PDELAY_REQ => Body::PdelayReq,
        kind::PDELAY_RESP => Body::PdelayResp { receipt: time, requesting },
        _ => Body::PdelayRespFollowUp { origin: time, requesting },
    })
}

/// Returns the ten bytes at `offset`.
fn ten<const N: usize>(octets: &[u8; N], offset: usize) -> [u8; 10] {
    core::array::from_fn(|i| octets[offset + i])
}

#[cfg(test)]
mod tests;
