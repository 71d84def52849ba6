//! The congestion isolation message of 802.1Qcz (49.4.3; Tables 47-2 and 47-4 of the available
//! draft): a bridge tells its upstream neighbour to isolate a flow, or to stop.
//!
//! It is sent over Ethernet (EtherType 89-A2) or in UDP over IPv4 or IPv6, with the same meaning.
//! Not all of the published layout was available; uncertain parts are in a [`Dialect`], so that
//! both interpretations can be used. Certainty of the fields: names, order and lengths are the
//! draft's; the EtherType 89-A2 is registered; the form over IPv6 is that over IPv4 with the other
//! header; the dialect is a guess.

use core::fmt;

use super::flow::FiveTuple;
use super::{EtherType, WireError, be16, datagram, headroom, mac_at, msdu};
use ground::named;
use ground::units::{Mac, Vid};

/// Bytes of the PDU in front of the MSDU.
pub const HEADER_LEN: usize = 17;
/// Minimum length of an encapsulated MSDU (Table 47-4).
pub const MSDU_MIN: usize = 48;
/// Maximum length of an encapsulated MSDU.
pub const MSDU_MAX: usize = 512;
/// Maximum message length after its EtherType.
pub const LEN_MAX: usize = datagram::HEADERS_MAX + HEADER_LEN + MSDU_MAX;

/// The version in the PDU, and in the byte before it. The draft has no number; drafts start at 0.
const VERSION: u8 = 0;
/// Subtype of isolation messages, different from [`headroom`]'s.
const SUBTYPE: u8 = 0;

/// Offsets of the fields of the PDU (Table 47-4, which counts from 1).
mod field {
    /// Version (4 bits), reserved (3), add or delete (1).
    pub(super) const FLAGS: usize = 0;
    /// Destination address of the congesting frame.
    pub(super) const DST: usize = 1;
    /// Its source address.
    pub(super) const SRC: usize = 7;
    /// Its VLAN identifier, 12 bits.
    pub(super) const VID: usize = 13;
    /// Length of the MSDU.
    pub(super) const LENGTH: usize = 15;
}

named! {
    /// Contents between the EtherType 89-A2 and the fields of the PDU.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum OctetThree {
        /// A byte of version and subtype, four bits each, as in the P802.1Qdt proposal for the shared
        /// EtherType. Subtype 0 is this message.
        #[default]
        Subtype = "subtype",
        /// None: the byte after the EtherType is the first of the PDU. A message to add then resembles
        /// one of subtype 1.
        Pdu = "pdu",
    }
}

named! {
    /// Meaning of the add/delete bit. The draft names the bit but not its values.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum AddBit {
        /// 1 adds, 0 deletes.
        #[default]
        Set = "set",
        /// 0 adds, 1 deletes.
        Clear = "clear",
    }
}

named! {
    /// Position of the VLAN identifier in its 16-bit field. The draft has the width and the position of
    /// the next field.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum VidBits {
        /// Lower 12 bits, as in a tag.
        #[default]
        Low = "low",
        /// Upper 12 bits, directly after the field before.
        High = "high",
    }
}

/// Encoding of the uncertain parts of the message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dialect {
    /// Byte after the EtherType.
    pub octet_three: OctetThree,
    /// The add/delete bit.
    pub add: AddBit,
    /// The VLAN identifier.
    pub vid: VidBits,
}

impl Dialect {
    /// Returns the number of bytes between the EtherType and the PDU.
    const fn subtype_len(self) -> usize {
        match self.octet_three {
            OctetThree::Subtype => 1,
            OctetThree::Pdu => 0,
        }
    }

    /// Returns the shift of the VLAN identifier in its field.
    const fn vid_shift(self) -> u32 {
        match self.vid {
            VidBits::Low => 0,
            VidBits::High => 4,
        }
    }

    /// Returns the add/delete bit of a message that adds.
    const fn add_bit(self) -> u8 {
        match self.add {
            AddBit::Set => 1,
            AddBit::Clear => 0,
        }
    }
}

/// Encapsulation of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encapsulation {
    /// Ethernet alone.
    L2,
    /// UDP over IPv4 or IPv6, whose version is that of the addresses.
    Udp(datagram::Repr),
}

impl Encapsulation {
    /// Returns the number of bytes between EtherType and PDU.
    const fn header_len(&self, dialect: Dialect) -> usize {
        match self {
            Self::L2 => dialect.subtype_len(),
            Self::Udp(headers) => headers.header_len(),
        }
    }
}

/// A message from the end of its EtherType on; the caller adds the Ethernet header and a tag with
/// the message's priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repr<'a> {
    /// Encapsulation of the message.
    pub encapsulation: Encapsulation,
    /// True to isolate the flow, false to stop.
    pub add: bool,
    /// Destination address of the congesting frame.
    pub dst: Mac,
    /// Its source address.
    pub src: Mac,
    /// Its VLAN, or `None` without one.
    pub vid: Option<Vid>,
    /// The start of its payload, EtherType first: 48 to 512 bytes ([`msdu::bounded`]).
    pub msdu: &'a [u8],
}

impl<'a> Repr<'a> {
    /// Parses the payload of `ethertype`. Over IP the caller has identified the message by its UDP
    /// port.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below the header and 48 bytes, or its length field;
    /// [`WireError::BadEthertype`]; [`WireError::BadVersion`]; [`WireError::BadOpcode`] for another
    /// subtype of 89-A2; [`WireError::BadLength`] for an MSDU of less than 48 bytes or more than
    /// 512; [`WireError::ReservedVid`]; [`WireError::AboutItself`] for a message about a message;
    /// over IP also as [`datagram::Repr::parse`].
    pub fn parse(
        ethertype: EtherType,
        octets: &'a [u8],
        dialect: &Dialect,
    ) -> Result<Self, WireError> {
        let (encapsulation, pdu) = match ethertype {
            EtherType::CIM => (Encapsulation::L2, pdu_of(octets, *dialect)?),
            _ => {
                let (headers, payload) = datagram::Repr::parse(ethertype, octets)?;
                (Encapsulation::Udp(headers), payload)
            }
        };
        let (f, rest) = pdu.split_first_chunk::<HEADER_LEN>().ok_or(WireError::Truncated)?;
        if f[field::FLAGS] >> 4 != VERSION {
            return Err(WireError::BadVersion);
        }
        let len = usize::from(be16(f, field::LENGTH));
        // Table 47-4 has 48 to 512 bytes; the least of them still includes the ports over IPv6.
        if !(MSDU_MIN..=MSDU_MAX).contains(&len) {
            return Err(WireError::BadLength);
        }
        let msdu = rest.get(..len).ok_or(WireError::Truncated)?;
        // 0 is the VID of frames without a VLAN of their own, and 4095 is reserved (802.1Q 9.6).
        let vid = match be16(f, field::VID) >> dialect.vid_shift() & VID_BITS {
            0 => None,
            n => Some(Vid::new(n).ok_or(WireError::ReservedVid)?),
        };
        // The three bits between version and add/delete are reserved, and ignored.
        let add = f[field::FLAGS] & 1 == dialect.add_bit();
        let (dst, src) = (mac_at(f, field::DST), mac_at(f, field::SRC));
        let repr = Self { encapsulation, add, dst, src, vid, msdu };
        // Neither obeyed nor sent, so that two bridges cannot answer each other without end.
        if repr.is_about_itself() { Err(WireError::AboutItself) } else { Ok(repr) }
    }

    /// Returns the flow of the congesting frame, or `None` if it is not an IP packet.
    #[must_use]
    pub fn flow(&self) -> Option<FiveTuple> {
        msdu::flow(self.msdu)
    }

    /// Returns true if the congesting frame is such a message: the same EtherType, or the same
    /// port. Bridges that answered one with another would loop.
    fn is_about_itself(&self) -> bool {
        match self.encapsulation {
            Encapsulation::L2 => {
                msdu::network(self.msdu).is_some_and(|(ethertype, _)| ethertype == EtherType::CIM)
            }
            Encapsulation::Udp(headers) => self.flow().is_some_and(|flow| headers.carries(&flow)),
        }
    }

    /// Returns the number of bytes that [`Repr::emit`] writes.
    #[must_use]
    pub const fn buffer_len(&self, dialect: &Dialect) -> usize {
        self.encapsulation.header_len(*dialect) + HEADER_LEN + self.msdu.len()
    }

    /// Returns the EtherType that precedes the message.
    #[must_use]
    pub const fn ethertype(&self) -> EtherType {
        match &self.encapsulation {
            Encapsulation::L2 => EtherType::CIM,
            Encapsulation::Udp(headers) => headers.ethertype(),
        }
    }

    /// Writes the message at the front of `buf`, checksums included. Over Ethernet it is never
    /// shorter than the minimum frame.
    ///
    /// # Errors
    /// [`WireError::OutOfRange`] for an MSDU of less than 48 bytes or more than 512, or addresses
    /// of different versions; [`WireError::AboutItself`]; [`WireError::NoRoom`].
    pub fn emit(&self, buf: &mut [u8], dialect: &Dialect) -> Result<(), WireError> {
        if !(MSDU_MIN..=MSDU_MAX).contains(&self.msdu.len()) {
            return Err(WireError::OutOfRange);
        }
        if self.is_about_itself() {
            return Err(WireError::AboutItself);
        }
        let out = buf.get_mut(..self.buffer_len(dialect)).ok_or(WireError::NoRoom)?;
        let (header, pdu) = out.split_at_mut(self.encapsulation.header_len(*dialect));
        // There is one bit: the value that does not add deletes.
        let delete = 1 - dialect.add_bit();
        let vid = self.vid.map_or(0, Vid::get) << dialect.vid_shift();
        pdu[field::FLAGS] = VERSION << 4 | if self.add { dialect.add_bit() } else { delete };
        pdu[field::DST..field::SRC].copy_from_slice(&self.dst.0);
        pdu[field::SRC..field::VID].copy_from_slice(&self.src.0);
        pdu[field::VID..field::LENGTH].copy_from_slice(&vid.to_be_bytes());
        let len = (self.msdu.len() as u16).to_be_bytes(); // At most 512, checked above.
        pdu[field::LENGTH..HEADER_LEN].copy_from_slice(&len);
        pdu[HEADER_LEN..].copy_from_slice(self.msdu);
        match self.encapsulation {
            // One byte, or none in a dialect without a subtype.
            Encapsulation::L2 => header.fill(VERSION << 4 | SUBTYPE),
            Encapsulation::Udp(headers) => headers.emit(out)?,
        }
        Ok(())
    }
}

/// The bits of a VLAN identifier.
const VID_BITS: u16 = 0x0fff;

/// Returns the PDU after the EtherType 89-A2.
fn pdu_of(octets: &[u8], dialect: Dialect) -> Result<&[u8], WireError> {
    if dialect.octet_three == OctetThree::Pdu {
        return Ok(octets);
    }
    let (first, pdu) = octets.split_first().ok_or(WireError::Truncated)?;
    if first >> 4 != VERSION {
        return Err(WireError::BadVersion);
    }
    // Other subtypes of 89-A2 are other protocols; 1 is the headroom measurement.
    if first & 0xf == SUBTYPE { Ok(pdu) } else { Err(WireError::BadOpcode) }
}

impl fmt::Display for Repr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, vid) = (if self.add { "add" } else { "delete" }, self.vid.map_or(0, Vid::get));
        write!(f, "CIM {what} {} > {} vid {vid}", self.src, self.dst)?;
        match self.flow() {
            Some(flow) => write!(f, " {flow}"),
            None => Ok(()),
        }
    }
}

// The subtype distinguishes the two messages of 89-A2.
const _: () = assert!(SUBTYPE != headroom::SUBTYPE);

#[cfg(test)]
mod tests;
