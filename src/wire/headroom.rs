//! The headroom measurement message of the P802.1Qdt proposals (EtherType 89-A2, subtype 1).
//!
//! A request carries its transmit time; a response returns it, with the time at which the request
//! was received and the response sent. One frame may carry a response and a request of its sender.
//! Every frame is padded to the minimum size, so a measurement takes as long on the line as the PFC
//! frame that it represents.
//!
//! No published text has the complete layout. Parts that the proposal leaves open are in a
//! [`Dialect`], so that both interpretations can be used, or in a named constant here.

mod dialect;

pub use dialect::{
    Compensation, Dialect, KindCodes, LengthField, PduLength, Piggyback, Readings, TimeUnit,
};

use core::fmt;

use super::{EtherType, WireError, be16, ethernet, group, mac_at};
use ground::time::Duration;
use ground::units::Mac;

/// Destination of measurement messages. The proposal has no address; since a single link is
/// measured, it is the one that no bridge forwards, as for LLDP and PTP's peer delay.
pub const DESTINATION: Mac = group::NEAREST_BRIDGE;

/// The version in both version fields. The proposal has none; drafts start at 0.
const VERSION: u8 = 0;
/// The subtype of measurement messages; 0 is a congestion isolation message.
pub(super) const SUBTYPE: u8 = 1;

/// Offsets of the fields, from the destination address on (Qdt, S4).
mod field {
    /// Version and subtype, four bits each.
    pub(super) const SUBTYPE: usize = 14;
    /// The version in the upper four bits, reserved bits, and the kind. That the kind is in the
    /// lower two bits is our interpretation: the proposal names the field without widths.
    pub(super) const KIND: usize = 15;
    /// Length of the PDU.
    pub(super) const LENGTH: usize = 16;
    /// Transmit time of the request.
    pub(super) const T1: usize = 17;
    /// Receive time of the request.
    pub(super) const T2: usize = 25;
    /// Transmit time of the response.
    pub(super) const T3: usize = 33;
    /// Sequence number of the request; between `T3` and this is t4, which is set by the receiver.
    pub(super) const PSN: usize = 49;
    /// t1 of the piggybacked message.
    pub(super) const P_T1: usize = 50;
    /// Sequence number of the piggybacked message.
    pub(super) const P_PSN: usize = 58;
    /// Compensation of the responder.
    pub(super) const COMPENSATION: usize = 59;
}

/// Bytes of a frame before the PDU.
const BEFORE_PDU: usize = field::KIND;
/// The bits of the kind field.
const KIND_BITS: u8 = 0b11;
/// Length of the PDU up to the PSN.
const PLAIN: u8 = 35;
/// Length of the PDU with a piggybacked message.
const PIGGYBACKED: u8 = 44;
/// Length of the PDU with the compensation of the responder.
const COMPENSATED: u8 = 48;
/// Code of a response without a compensation.
const NO_COMPENSATION: i32 = i32::MIN;

/// Returns true for the numbers of requests that are protected by MACsec where a port measures its delay,
/// like their responses. A choice.
#[must_use]
pub const fn is_protected(psn: u8) -> bool {
    psn % 2 == 1
}

/// Returns the sequence number in a frame without tags that is a measurement message by its type and
/// subtype; nothing else is checked.
#[must_use]
pub fn number_of(frame: &[u8]) -> Option<u8> {
    let of_type = frame.get(12..14)? == EtherType::CIM.0.to_be_bytes().as_slice();
    let is_message = of_type && frame.get(field::SUBTYPE)? & 0xf == SUBTYPE;
    frame.get(field::PSN).copied().filter(|_| is_message)
}

/// A request for a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Transmit time by the sender's clock, in the unit of the dialect.
    pub t1: u64,
    /// Sequence number, returned by the response.
    pub psn: u8,
}

/// The response to a request. The proposal's t4, its receive time, is sent as 0 and ignored, since
/// only its receiver can set it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Response {
    /// t1 of the request.
    pub t1: u64,
    /// Receive time of the request, by the responder's clock.
    pub t2: u64,
    /// Transmit time of the response, by the responder's clock.
    pub t3: u64,
    /// Sequence number of the request.
    pub psn: u8,
    /// Time from the last bit of a pause to its last frame start at the responder (HD of the
    /// proposal), with its adjustment; only a dialect with [`Compensation::InResponse`] has it.
    pub compensation: Option<Adjustment>,
}

/// A signed time, in whole nanoseconds on the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Adjustment(i32);

impl Adjustment {
    /// Maximum size, either way.
    pub const MAX: Duration = Duration::from_nanos(i32::MAX as u64);

    /// Creates a value, which must not exceed [`Adjustment::MAX`] either way.
    #[must_use]
    pub const fn from_nanos(nanos: i32) -> Option<Self> {
        if nanos == NO_COMPENSATION { None } else { Some(Self(nanos)) }
    }

    /// Creates a positive value, rounded up to nanoseconds, to be safe.
    #[must_use]
    pub fn at_least(span: Duration) -> Option<Self> {
        i32::try_from(span.as_picos().div_ceil(1_000)).ok().map(Self)
    }

    /// Returns the value in nanoseconds.
    #[must_use]
    pub const fn nanos(self) -> i32 {
        self.0
    }

    /// Returns the sum, limited to what a message can carry.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        let sum = self.0.saturating_add(other.0);
        // The least number means that there is no compensation.
        Self(if sum == NO_COMPENSATION { -i32::MAX } else { sum })
    }
}

impl fmt::Display for Adjustment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = Duration::from_nanos(self.0.unsigned_abs().into());
        write!(f, "{}{size}", if self.0 < 0 { "-" } else { "" })
    }
}

/// Contents of one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message {
    /// Req.
    Request(Request),
    /// Resp.
    Response(Response),
    /// Resp+Req: a response, and a request of its sender.
    Both {
        /// Response.
        response: Response,
        /// Request of the sender.
        request: Request,
    },
}

impl Message {
    /// Returns the request, if any.
    #[must_use]
    pub const fn request(&self) -> Option<Request> {
        match *self {
            Self::Request(request) | Self::Both { request, .. } => Some(request),
            Self::Response(_) => None,
        }
    }

    /// Returns the response, if any.
    #[must_use]
    pub const fn response(&self) -> Option<Response> {
        match *self {
            Self::Response(response) | Self::Both { response, .. } => Some(response),
            Self::Request(_) => None,
        }
    }

    const fn kind(&self) -> Kind {
        match self {
            Self::Request(_) => Kind::Request,
            Self::Response(_) => Kind::Response,
            Self::Both { .. } => Kind::Both,
        }
    }
}

/// Kind of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Request,
    Response,
    Both,
}

impl Kind {
    /// Returns the length of the fields of the PDU.
    const fn octets(self, compensation: Compensation) -> u8 {
        match (self, compensation) {
            (Self::Response | Self::Both, Compensation::InResponse) => COMPENSATED,
            (Self::Request | Self::Response, _) => PLAIN,
            (Self::Both, Compensation::Absent) => PIGGYBACKED,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Response { t1, t2, t3, psn, compensation }) = self.response() {
            write!(f, "resp {psn} t1 {t1} t2 {t2} t3 {t3}")?;
            if let Some(compensation) = compensation {
                write!(f, " compensation {compensation}")?;
            }
        }
        if let Message::Both { .. } = self {
            f.write_str(", ")?;
        }
        if let Some(Request { t1, psn }) = self.request() {
            write!(f, "req {psn} t1 {t1}")?;
        }
        Ok(())
    }
}

/// An untagged frame with a measurement message, without FCS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repr {
    /// Address of the sending port.
    pub src: Mac,
    /// Destination: [`DESTINATION`], unless a peer requires another. Not checked when parsed.
    pub dst: Mac,
    /// Contents of the frame.
    pub message: Message,
}

impl Repr {
    /// Parses a frame from its destination address on.
    ///
    /// # Errors
    /// In this order: [`WireError::Truncated`] below 60 bytes (63 with a compensation), [`WireError::BadEthertype`],
    /// [`WireError::BadVersion`] for an outer version but 0, [`WireError::BadOpcode`] for another
    /// subtype (0 is a congestion isolation message), [`WireError::BadVersion`] for an inner version
    /// but 0, [`WireError::BadOpcode`] for a kind that the dialect does not have, and
    /// [`WireError::BadLength`] for a length that is not the kind's.
    #[inline]
    pub fn parse(frame: &[u8], dialect: &Dialect) -> Result<Self, WireError> {
        let f: &[u8; ethernet::MIN_FRAME] = frame.first_chunk().ok_or(WireError::Truncated)?;
        let compensation = match dialect.compensation {
            Compensation::Absent => None,
            Compensation::InResponse => {
                let octets = frame.get(field::COMPENSATION..field::COMPENSATION + 4);
                let octets = octets.and_then(|o| o.first_chunk()).ok_or(WireError::Truncated)?;
                Adjustment::from_nanos(i32::from_be_bytes(*octets))
            }
        };
        if EtherType(be16(f, 12)) != EtherType::CIM {
            return Err(WireError::BadEthertype);
        }
        // The byte behind the EtherType is common to all messages of 89-A2; the PDU has another version.
        let (version, subtype) = (f[field::SUBTYPE] >> 4, f[field::SUBTYPE] & 0xf);
        if version != VERSION {
            return Err(WireError::BadVersion);
        }
        if subtype != SUBTYPE {
            return Err(WireError::BadOpcode);
        }
        if f[field::KIND] >> 4 != VERSION {
            return Err(WireError::BadVersion);
        }
        let kind = dialect.kind_of(f[field::KIND] & KIND_BITS).ok_or(WireError::BadOpcode)?;
        if dialect.length(kind) != Some(f[field::LENGTH]) {
            return Err(WireError::BadLength);
        }
        // t1 and PSN come first. A message of both kinds has a second pair, p_t1 and p_PSN, whose owner the proposal
        // leaves open.
        let own = (time(f, field::T1), f[field::PSN]);
        let piggybacked = || (time(f, field::P_T1), f[field::P_PSN]);
        let request = |(t1, psn)| Request { t1, psn };
        let response = |(t1, psn)| {
            let (t2, t3) = (time(f, field::T2), time(f, field::T3));
            Response { t1, t2, t3, psn, compensation }
        };
        let message = match (kind, dialect.piggyback) {
            (Kind::Request, _) => Message::Request(request(own)),
            (Kind::Response, _) => Message::Response(response(own)),
            (Kind::Both, Piggyback::Request) => {
                Message::Both { response: response(own), request: request(piggybacked()) }
            }
            (Kind::Both, Piggyback::Response) => {
                Message::Both { response: response(piggybacked()), request: request(own) }
            }
        };
        Ok(Self { dst: mac_at(f, 0), src: mac_at(f, 6), message })
    }

    /// Writes the whole padded frame at the front of `buf`, of [`Dialect::frame_len`] bytes.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] if `buf` is shorter, [`WireError::OutOfRange`] if the PDU is padded to
    /// more than the length field of the dialect can state.
    #[inline]
    pub fn emit(&self, buf: &mut [u8], dialect: &Dialect) -> Result<(), WireError> {
        let length = dialect.length(self.message.kind()).ok_or(WireError::OutOfRange)?;
        let out = buf.get_mut(..dialect.frame_len()).ok_or(WireError::NoRoom)?;
        // t4 and the padding are sent as 0: only the receiver can set t4.
        out.fill(0);
        out[..6].copy_from_slice(&self.dst.0);
        out[6..12].copy_from_slice(&self.src.0);
        out[12..14].copy_from_slice(&EtherType::CIM.0.to_be_bytes());
        out[field::SUBTYPE] = VERSION << 4 | SUBTYPE;
        out[field::KIND] = VERSION << 4 | dialect.code(self.message.kind());
        out[field::LENGTH] = length;
        let mut put =
            |offset: usize, t: u64| out[offset..offset + 8].copy_from_slice(&t.to_be_bytes());
        let ((t1, psn), piggyback) = match (self.message, dialect.piggyback) {
            (Message::Request(r), _) => ((r.t1, r.psn), None),
            (Message::Response(r), _) => ((r.t1, r.psn), None),
            (Message::Both { response: r, request: q }, Piggyback::Request) => {
                ((r.t1, r.psn), Some((q.t1, q.psn)))
            }
            (Message::Both { response: r, request: q }, Piggyback::Response) => {
                ((q.t1, q.psn), Some((r.t1, r.psn)))
            }
        };
        put(field::T1, t1);
        if let Some(r) = self.message.response() {
            put(field::T2, r.t2);
            put(field::T3, r.t3);
        }
        let (p_t1, p_psn) = piggyback.unwrap_or_default();
        put(field::P_T1, p_t1);
        out[field::PSN] = psn;
        out[field::P_PSN] = p_psn;
        if let (Some(r), Compensation::InResponse) = (self.message.response(), dialect.compensation)
        {
            let nanos = r.compensation.map_or(NO_COMPENSATION, Adjustment::nanos);
            out[field::COMPENSATION..field::COMPENSATION + 4].copy_from_slice(&nanos.to_be_bytes());
        }
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} headroom {}", self.src, self.message)
    }
}

/// Returns the 64-bit time at offset `offset`.
#[inline(always)]
fn time(frame: &[u8; ethernet::MIN_FRAME], offset: usize) -> u64 {
    u64::from_be_bytes(*frame[offset..].first_chunk().expect("a time within the fields"))
}

#[cfg(test)]
mod tests;
