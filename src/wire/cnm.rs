//! The congestion notification message of quantized congestion notification (802.1Q 33.3 and 33.4,
//! by 802.1Qau), and the CN-TAG in front of it.
//!
//! Certainty of the fields: none of the available pages has the table. Names, order and widths are
//! the published ones as recalled; they are consistent with the known length of 24 bytes before the
//! MSDU. Version 0 and both EtherTypes are certain; that the offset and delta count in units of 64
//! bytes ([`UNIT`]) and their signs, and that the priority is in the upper three bits of its field,
//! are the least certain.

use core::fmt;

use super::flow::FiveTuple;
use super::{EtherType, WireError, be16, mac_at, msdu};
use ground::units::{Bytes, Mac, Priority};

/// Bytes of the PDU in front of the MSDU.
pub const HEADER_LEN: usize = 24;
/// Maximum length of an MSDU in a message. May be 0.
pub const MSDU_MAX: usize = 64;
/// Unit of cnmQOffset and cnmQDelta.
pub const UNIT: Bytes = Bytes(64);
/// The largest quantized feedback: 6 bits.
pub const FEEDBACK_MAX: u8 = 0x3f;
/// Length of a CN-TAG after its EtherType: the flow, and the next EtherType.
pub const TAG_LEN: usize = 4;
/// Maximum message length after its EtherType.
pub const LEN_MAX: usize = TAG_LEN + HEADER_LEN + MSDU_MAX;

/// The version (33.4.1).
const VERSION: u8 = 0;

/// Offsets of the fields of the PDU.
mod field {
    /// Version (4 bits), reserved (6 bits), quantized feedback (6 bits).
    pub(super) const FEEDBACK: usize = 0;
    /// Congestion point identifier.
    pub(super) const CPID: usize = 2;
    /// Distance of the queue from its set point.
    pub(super) const Q_OFFSET: usize = 10;
    /// Change of the queue since the last sample.
    pub(super) const Q_DELTA: usize = 12;
    /// The priority of the congesting frame, in the upper three bits.
    pub(super) const PRIORITY: usize = 14;
    /// Its destination address.
    pub(super) const DST: usize = 16;
    /// Length of the MSDU.
    pub(super) const LENGTH: usize = 22;
}

/// Shift of the priority in the upper byte of its field.
const PRIORITY_SHIFT: u32 = 5;

/// A congestion point's identifier, unique in the network.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CpId(pub [u8; 8]);

impl CpId {
    /// Returns the congestion point of one queue of a port: the port's address, and a number of the
    /// queue.
    #[must_use]
    pub const fn of(mac: Mac, queue: u16) -> Self {
        let ([a, b, c, d, e, f], [g, h]) = (mac.0, queue.to_be_bytes());
        Self([a, b, c, d, e, f, g, h])
    }
}

impl fmt::Display for CpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

/// A message from the end of its EtherType on. Its destination is the congesting frame's source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repr<'a> {
    /// Flow identifier of the congesting frame's CN-TAG; `None` without a tag.
    pub flow_id: Option<u16>,
    /// Quantized feedback: 0 for none, 63 for the strongest. Range 0 to [`FEEDBACK_MAX`].
    pub feedback: u8,
    /// Congestion point that sends the message.
    pub cpid: CpId,
    /// Set point minus queue length, in units of [`UNIT`]: negative if the queue is too long.
    pub q_offset: i16,
    /// Queue length minus that of the last sample, in the same units: positive if it grows.
    pub q_delta: i16,
    /// The priority of the congesting frame.
    pub priority: Priority,
    /// Its destination address.
    pub dst: Mac,
    /// The start of its payload, EtherType first: up to 64 bytes.
    pub msdu: &'a [u8],
}

impl<'a> Repr<'a> {
    /// Parses the payload of `ethertype`, a CN-TAG's or the message's.
    ///
    /// # Errors
    /// [`WireError::BadEthertype`], also for a CN-TAG with another payload (a tagged data frame);
    /// [`WireError::Truncated`] below the header or its length field; [`WireError::BadVersion`];
    /// [`WireError::BadLength`] for an MSDU of more than 64 bytes; [`WireError::AboutItself`].
    pub fn parse(ethertype: EtherType, octets: &'a [u8]) -> Result<Self, WireError> {
        let (flow_id, ethertype, pdu) = match ethertype {
            EtherType::CN_TAG => {
                let (tag, rest) =
                    octets.split_first_chunk::<TAG_LEN>().ok_or(WireError::Truncated)?;
                // The tag is that of the congesting frame, by which the reaction point finds the flow (802.1Q 33.1).
                (Some(be16(tag, 0)), EtherType(be16(tag, 2)), rest)
            }
            other => (None, other, octets),
        };
        if ethertype != EtherType::CNM {
            return Err(WireError::BadEthertype);
        }
        let (f, rest) = pdu.split_first_chunk::<HEADER_LEN>().ok_or(WireError::Truncated)?;
        if f[field::FEEDBACK] >> 4 != VERSION {
            return Err(WireError::BadVersion);
        }
        let len = usize::from(be16(f, field::LENGTH));
        if len > MSDU_MAX {
            return Err(WireError::BadLength);
        }
        let repr = Self {
            flow_id,
            // The upper two bits of this byte belong to the reserved field.
            feedback: f[field::FEEDBACK + 1] & FEEDBACK_MAX,
            cpid: CpId(core::array::from_fn(|i| f[field::CPID + i])),
            // Both are two's complement, in units of 64 bytes.
            q_offset: be16(f, field::Q_OFFSET) as i16,
            q_delta: be16(f, field::Q_DELTA) as i16,
            priority: Priority::ALL[usize::from(f[field::PRIORITY] >> PRIORITY_SHIFT)],
            dst: mac_at(f, field::DST),
            msdu: rest.get(..len).ok_or(WireError::Truncated)?,
        };
        // Two congestion points could answer each other's messages without end.
        if repr.is_about_itself() { Err(WireError::AboutItself) } else { Ok(repr) }
    }

    /// Returns the flow of the congesting frame, or `None` if the MSDU does not include it.
    #[must_use]
    pub fn flow(&self) -> Option<FiveTuple> {
        msdu::flow(self.msdu)
    }

    /// Returns true if the congesting frame is such a message.
    fn is_about_itself(&self) -> bool {
        msdu::network(self.msdu).is_some_and(|(ethertype, _)| ethertype == EtherType::CNM)
    }

    /// Returns the number of bytes that [`Repr::emit`] writes.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        let tag = if self.flow_id.is_some() { TAG_LEN } else { 0 };
        tag + HEADER_LEN + self.msdu.len()
    }

    /// Returns the EtherType that precedes the message.
    #[must_use]
    pub const fn ethertype(&self) -> EtherType {
        if self.flow_id.is_some() { EtherType::CN_TAG } else { EtherType::CNM }
    }

    /// Writes the message at the front of `buf`; the caller pads short frames.
    ///
    /// # Errors
    /// [`WireError::OutOfRange`] for a feedback above 63 or an MSDU of more than 64 bytes,
    /// [`WireError::AboutItself`], [`WireError::NoRoom`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<(), WireError> {
        if self.feedback > FEEDBACK_MAX || self.msdu.len() > MSDU_MAX {
            return Err(WireError::OutOfRange);
        }
        if self.is_about_itself() {
            return Err(WireError::AboutItself);
        }
        let mut pdu = buf.get_mut(..self.buffer_len()).ok_or(WireError::NoRoom)?;
        if let Some(flow_id) = self.flow_id {
            let (tag, rest) = pdu.split_at_mut(TAG_LEN);
            tag[..2].copy_from_slice(&flow_id.to_be_bytes());
            tag[2..].copy_from_slice(&EtherType::CNM.0.to_be_bytes());
            pdu = rest;
        }
        pdu[field::FEEDBACK] = VERSION << 4;
        pdu[field::FEEDBACK + 1] = self.feedback;
        pdu[field::CPID..field::Q_OFFSET].copy_from_slice(&self.cpid.0);
        pdu[field::Q_OFFSET..field::Q_DELTA].copy_from_slice(&self.q_offset.to_be_bytes());
        pdu[field::Q_DELTA..field::PRIORITY].copy_from_slice(&self.q_delta.to_be_bytes());
        pdu[field::PRIORITY] = self.priority.get() << PRIORITY_SHIFT;
        // The rest of the 16-bit field is reserved.
        pdu[field::PRIORITY + 1] = 0;
        pdu[field::DST..field::LENGTH].copy_from_slice(&self.dst.0);
        let len = (self.msdu.len() as u16).to_be_bytes(); // At most 64, checked above.
        pdu[field::LENGTH..HEADER_LEN].copy_from_slice(&len);
        pdu[HEADER_LEN..].copy_from_slice(self.msdu);
        Ok(())
    }
}

impl fmt::Display for Repr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { feedback, cpid, q_offset, q_delta, priority, dst, .. } = self;
        write!(f, "CNM {cpid} feedback {feedback} offset {q_offset} delta {q_delta}")?;
        write!(f, " priority {priority} to {dst}")
    }
}

#[cfg(test)]
mod tests;
