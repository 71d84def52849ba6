//! The headroom measurement message of the P802.1Qdt proposals (EtherType 89-A2, subtype 1).
//!
//! A request carries the time at which it was sent; a response gives it back, with the times at
//! which the request was received and the response sent. One frame may carry a response and a
//! request of its sender's. Every frame is padded to the shortest that there is, so a measurement
//! takes as long on the line as the PFC frame that it stands for.
//!
//! No published text fixes every octet. What the proposal leaves open is a [`Dialect`], so that both
//! readings can be spoken, or a named constant here.

use core::fmt;

use super::{EtherType, WireError, be16, ethernet, group, mac_at, room};
use ground::time::{Duration, Instant};
use ground::units::Mac;

/// Where measurement messages go. The proposal names no address; what is measured is one link, so
/// it is the one that no bridge forwards, as for LLDP and PTP's peer delay.
pub const DESTINATION: Mac = group::NEAREST_BRIDGE;

/// The version in both version fields. The proposal gives none; drafts start at 0.
const VERSION: u8 = 0;
/// The subtype of measurement messages; 0 is a congestion isolation message.
pub(super) const SUBTYPE: u8 = 1;

/// Where the fields are, from the destination address on (Qdt, S4).
mod field {
    /// Version and subtype, four bits each.
    pub(super) const SUBTYPE: usize = 14;
    /// The version in the upper four bits, reserved bits, and the kind. That the kind has the lower
    /// two bits is this project's reading: the proposal names the field without widths.
    pub(super) const KIND: usize = 15;
    /// The length of the PDU.
    pub(super) const LENGTH: usize = 16;
    /// When the request was sent.
    pub(super) const T1: usize = 17;
    /// When it was received.
    pub(super) const T2: usize = 25;
    /// When the response was sent.
    pub(super) const T3: usize = 33;
    /// The number of the request; between `T3` and this is t4, which is the receiver's own.
    pub(super) const PSN: usize = 49;
    /// The t1 of what is piggybacked.
    pub(super) const P_T1: usize = 50;
    /// The number of what is piggybacked.
    pub(super) const P_PSN: usize = 58;
}

/// The bits of the kind field.
const KIND_BITS: u8 = 0b11;
/// Octets of the PDU up to the PSN.
const PLAIN: u8 = 35;
/// Octets of the PDU with something piggybacked.
const PIGGYBACKED: u8 = 44;
/// Octets of the PDU up to the length field and with it, which [`LengthField::Rest`] leaves out.
const BEFORE_REST: u8 = 2;

/// How a message says what it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum KindCodes {
    /// Two flags: bit 0 for a request, bit 1 for a response, both for both. The proposal names the
    /// three kinds and neither the field's width nor its values; flags are this project's reading.
    #[default]
    Flags,
    /// Numbers in the order in which the proposal names them: request 0, response 1, both 2.
    Numbers,
}

/// What the length field counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LengthField {
    /// The whole PDU, its first octet included: 35, or 44 with a piggybacked request.
    #[default]
    Whole,
    /// What follows the field itself: 33 or 42.
    Rest,
}

/// What the 64-bit times of a message count. The proposal says neither unit nor epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TimeUnit {
    /// Nanoseconds.
    #[default]
    Nanoseconds,
    /// Picoseconds, which are exact in the virtual world.
    Picoseconds,
}

/// Which of the two messages in a frame of both is the one that rides in `p_t1` and `p_PSN`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Piggyback {
    /// The request: `t1` to `t3` and the PSN are those of the response, as in a lone response.
    #[default]
    Request,
    /// The response: `t1` and the PSN are those of the sender's own request, `p_t1` and `p_PSN` give
    /// back those of the request that is answered, and `t2` and `t3` are its times all the same.
    Response,
}

/// How the parts of the message that the proposal leaves open are read and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dialect {
    /// The kind of message.
    pub kind: KindCodes,
    /// The length field.
    pub length: LengthField,
    /// The times.
    pub unit: TimeUnit,
    /// What rides in a frame of both.
    pub piggyback: Piggyback,
}

impl TimeUnit {
    /// How long one is, in picoseconds.
    const fn picos(self) -> u64 {
        match self {
            Self::Nanoseconds => 1_000,
            Self::Picoseconds => 1,
        }
    }
}

impl Dialect {
    /// A point in time as messages have it, modulo 2^64: what is left below the unit is cut off.
    #[must_use]
    pub const fn stamp(self, at: Instant) -> u64 {
        (at.as_picos() / self.unit.picos() as u128) as u64
    }

    /// The span between two times of a message, [`Duration::MAX`] where it is longer than that.
    #[must_use]
    pub const fn span(self, units: u64) -> Duration {
        self.resolution().saturating_mul(units)
    }

    /// The least difference between two times of a message.
    #[must_use]
    pub const fn resolution(self) -> Duration {
        Duration::from_picos(self.unit.picos())
    }

    /// The code of a message in the kind field.
    const fn code(self, message: &Message) -> u8 {
        match (self.kind, message) {
            (KindCodes::Flags, Message::Request(_)) => 1,
            (KindCodes::Flags, Message::Response(_)) => 2,
            (KindCodes::Flags, Message::Both { .. }) => 3,
            (KindCodes::Numbers, Message::Request(_)) => 0,
            (KindCodes::Numbers, Message::Response(_)) => 1,
            (KindCodes::Numbers, Message::Both { .. }) => 2,
        }
    }

    /// What the length field of a PDU of `octets` says.
    const fn length(self, octets: u8) -> u8 {
        match self.length {
            LengthField::Whole => octets,
            LengthField::Rest => octets - BEFORE_REST,
        }
    }
}

/// A request for a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// When it was sent, by its sender's clock, in the unit of the dialect.
    pub t1: u64,
    /// Its number, which the response repeats.
    pub psn: u8,
}

/// The response to a request. The proposal's t4 travels as 0 and is ignored: it is when this was
/// received, which its receiver knows alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Response {
    /// The t1 of the request.
    pub t1: u64,
    /// When the request was received, by the responder's clock.
    pub t2: u64,
    /// When this was sent, by the responder's clock.
    pub t3: u64,
    /// The number of the request.
    pub psn: u8,
}

/// What one frame says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message {
    /// Req.
    Request(Request),
    /// Resp.
    Response(Response),
    /// Resp+Req: an answer, and a request of the sender's own.
    Both {
        /// The answer.
        response: Response,
        /// The sender's request.
        request: Request,
    },
}

impl Message {
    /// The request in it.
    #[must_use]
    pub const fn request(&self) -> Option<Request> {
        match *self {
            Self::Request(request) | Self::Both { request, .. } => Some(request),
            Self::Response(_) => None,
        }
    }

    /// The response in it.
    #[must_use]
    pub const fn response(&self) -> Option<Response> {
        match *self {
            Self::Response(response) | Self::Both { response, .. } => Some(response),
            Self::Request(_) => None,
        }
    }

    /// Octets of the PDU.
    const fn octets(&self) -> u8 {
        match self {
            Self::Request(_) | Self::Response(_) => PLAIN,
            Self::Both { .. } => PIGGYBACKED,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Response { t1, t2, t3, psn }) = self.response() {
            write!(f, "resp {psn} t1 {t1} t2 {t2} t3 {t3}")?;
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

/// A whole frame with a measurement message, untagged, without FCS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repr {
    /// The port that sends it.
    pub src: Mac,
    /// Where it goes: [`DESTINATION`], unless a peer wants another. Not checked when read.
    pub dst: Mac,
    /// What it says.
    pub message: Message,
}

impl Repr {
    /// Reads a frame from its destination address on.
    ///
    /// # Errors
    /// In this order: [`WireError::Truncated`] below 60 octets, [`WireError::BadEthertype`],
    /// [`WireError::BadVersion`] for an outer version but 0, [`WireError::BadOpcode`] for another
    /// subtype (0 is a congestion isolation message), [`WireError::BadVersion`] for an inner version
    /// but 0, [`WireError::BadOpcode`] for a kind that the dialect does not have, and
    /// [`WireError::BadLength`] for a length that is not the kind's.
    pub fn parse(frame: &[u8], dialect: &Dialect) -> Result<Self, WireError> {
        let f: &[u8; ethernet::MIN_FRAME] = frame.first_chunk().ok_or(WireError::Truncated)?;
        if EtherType(be16(f, 12)) != EtherType::CIM {
            return Err(WireError::BadEthertype);
        }
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
        let (t1, psn) = (time(f, field::T1), f[field::PSN]);
        let (p_t1, p_psn) = (time(f, field::P_T1), f[field::P_PSN]);
        let (t2, t3) = (time(f, field::T2), time(f, field::T3));
        let both = match dialect.piggyback {
            Piggyback::Request => Message::Both {
                response: Response { t1, t2, t3, psn },
                request: Request { t1: p_t1, psn: p_psn },
            },
            Piggyback::Response => Message::Both {
                response: Response { t1: p_t1, t2, t3, psn: p_psn },
                request: Request { t1, psn },
            },
        };
        let kinds = [
            Message::Request(Request { t1, psn }),
            Message::Response(Response { t1, t2, t3, psn }),
            both,
        ];
        let code = f[field::KIND] & KIND_BITS;
        let message = kinds.into_iter().find(|m| dialect.code(m) == code);
        let message = message.ok_or(WireError::BadOpcode)?;
        if f[field::LENGTH] != dialect.length(message.octets()) {
            return Err(WireError::BadLength);
        }
        Ok(Self { dst: mac_at(f, 0), src: mac_at(f, 6), message })
    }

    /// Octets that [`Repr::emit`] writes: 60, padding included.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        ethernet::MIN_FRAME
    }

    /// Writes the whole padded frame at the front of `buf`.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] below 60 octets.
    pub fn emit(&self, buf: &mut [u8], dialect: &Dialect) -> Result<(), WireError> {
        let out: &mut [u8; ethernet::MIN_FRAME] = room(buf)?;
        *out = [0; ethernet::MIN_FRAME];
        out[..6].copy_from_slice(&self.dst.0);
        out[6..12].copy_from_slice(&self.src.0);
        out[12..14].copy_from_slice(&EtherType::CIM.0.to_be_bytes());
        out[field::SUBTYPE] = VERSION << 4 | SUBTYPE;
        out[field::KIND] = VERSION << 4 | dialect.code(&self.message);
        out[field::LENGTH] = dialect.length(self.message.octets());
        let mut put = |at: usize, t: u64| out[at..at + 8].copy_from_slice(&t.to_be_bytes());
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
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} headroom {}", self.src, self.message)
    }
}

/// The 64-bit time at `at`.
fn time(frame: &[u8; ethernet::MIN_FRAME], at: usize) -> u64 {
    u64::from_be_bytes(core::array::from_fn(|i| frame[at + i]))
}

#[cfg(test)]
mod tests;
