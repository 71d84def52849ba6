//! The congestion isolation message of 802.1Qcz (49.4.3; Tables 47-2 and 47-4 of the draft that was
//! at hand): a bridge tells the one before it which flow to isolate, or that it may stop.
//!
//! It goes over Ethernet (EtherType 89-A2) or in UDP over IPv4 or IPv6, and means the same in each.
//! The published octets could not be seen everywhere; what is not certain is a [`Dialect`], so that
//! both readings can be spoken. How sure the fields are: names, order and lengths are the draft's;
//! that 89-A2 is the EtherType is in the registry; the form over IPv6 is that over IPv4 with the
//! other header; everything in the dialect is a guess.

use core::fmt;

use super::flow::FiveTuple;
use super::{EtherType, WireError, be16, datagram, headroom, mac_at, msdu};
use ground::units::{Mac, Vid};

/// Octets of the PDU in front of the MSDU.
pub const HEADER_LEN: usize = 17;
/// The least of an MSDU that a message encapsulates (Table 47-4).
pub const MSDU_MIN: usize = 48;
/// The most.
pub const MSDU_MAX: usize = 512;
/// Octets of the longest message behind its EtherType.
pub const LEN_MAX: usize = datagram::HEADERS_MAX + HEADER_LEN + MSDU_MAX;

/// The version in the PDU, and in the octet before it. The draft gives no number; drafts start at 0.
const VERSION: u8 = 0;
/// The subtype of isolation messages beside [`headroom`]'s.
const SUBTYPE: u8 = 0;

/// Where the fields of the PDU are (Table 47-4, which counts from 1).
mod field {
    /// Version (4 bits), reserved (3), add or delete (1).
    pub(super) const FLAGS: usize = 0;
    /// Destination address of the congesting frame.
    pub(super) const DST: usize = 1;
    /// Its source address.
    pub(super) const SRC: usize = 7;
    /// Its VLAN identifier, 12 bits.
    pub(super) const VID: usize = 13;
    /// Octets of the MSDU.
    pub(super) const LENGTH: usize = 15;
}

/// What stands between the EtherType 89-A2 and the fields of the PDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OctetThree {
    /// An octet of version and subtype, four bits each, as the P802.1Qdt proposal shows it for the
    /// EtherType that both share. Subtype 0 is this message.
    #[default]
    Subtype,
    /// Nothing: the octet behind the EtherType is the PDU's own first. A message to add then looks
    /// like one of subtype 1.
    Pdu,
}

/// Which value of the add/delete bit adds. The draft names the bit and not its values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AddBit {
    /// 1 adds, 0 deletes.
    #[default]
    Set,
    /// 0 adds, 1 deletes.
    Clear,
}

/// Which twelve of its field's sixteen bits are the VLAN identifier. The draft gives the width and
/// where the next field starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum VidBits {
    /// The lower ones, as in a tag.
    #[default]
    Low,
    /// The upper ones, which follow the field before.
    High,
}

/// How the parts of the message that are not certain are read and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dialect {
    /// The octet behind the EtherType.
    pub octet_three: OctetThree,
    /// The add/delete bit.
    pub add: AddBit,
    /// The VLAN identifier.
    pub vid: VidBits,
}

impl Dialect {
    /// Octets between the EtherType and the PDU.
    const fn subtype_len(self) -> usize {
        match self.octet_three {
            OctetThree::Subtype => 1,
            OctetThree::Pdu => 0,
        }
    }

    /// How far the VLAN identifier is from the lower end of its field.
    const fn vid_shift(self) -> u32 {
        match self.vid {
            VidBits::Low => 0,
            VidBits::High => 4,
        }
    }

    /// The add/delete bit of a message that adds.
    const fn add_bit(self) -> u8 {
        match self.add {
            AddBit::Set => 1,
            AddBit::Clear => 0,
        }
    }
}

/// What a message travels in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encapsulation {
    /// Ethernet alone.
    L2,
    /// UDP over IPv4 or IPv6, whose version is that of the addresses.
    Udp(datagram::Repr),
}

impl Encapsulation {
    /// Octets between EtherType and PDU.
    const fn header_len(&self, dialect: Dialect) -> usize {
        match self {
            Self::L2 => dialect.subtype_len(),
            Self::Udp(headers) => headers.header_len(),
        }
    }
}

/// A message from behind its EtherType on; the Ethernet header, and a tag with the priority that it
/// is sent with, are the caller's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repr<'a> {
    /// What it travels in.
    pub encapsulation: Encapsulation,
    /// Whether the flow is to be isolated, or to be so no longer.
    pub add: bool,
    /// Destination address of the congesting frame.
    pub dst: Mac,
    /// Its source address.
    pub src: Mac,
    /// Its VLAN, or nothing for one that has none.
    pub vid: Option<Vid>,
    /// The start of its payload, EtherType first: 48 to 512 octets ([`msdu::bounded`]).
    pub msdu: &'a [u8],
}

impl<'a> Repr<'a> {
    /// Reads what follows `ethertype`. Over IP the caller has found the message by its UDP port.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below the header and 48 octets, or below what the length says;
    /// [`WireError::BadEthertype`]; [`WireError::BadVersion`]; [`WireError::BadOpcode`] for another
    /// subtype of 89-A2; [`WireError::BadLength`] for an MSDU of less than 48 octets or more than
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
        if !(MSDU_MIN..=MSDU_MAX).contains(&len) {
            return Err(WireError::BadLength);
        }
        let msdu = rest.get(..len).ok_or(WireError::Truncated)?;
        let vid = match be16(f, field::VID) >> dialect.vid_shift() & VID_BITS {
            0 => None,
            n => Some(Vid::new(n).ok_or(WireError::ReservedVid)?),
        };
        let add = f[field::FLAGS] & 1 == dialect.add_bit();
        let (dst, src) = (mac_at(f, field::DST), mac_at(f, field::SRC));
        let repr = Self { encapsulation, add, dst, src, vid, msdu };
        if repr.is_about_itself() { Err(WireError::AboutItself) } else { Ok(repr) }
    }

    /// The flow of the congesting frame, or nothing where that is no IP packet.
    #[must_use]
    pub fn flow(&self) -> Option<FiveTuple> {
        msdu::flow(self.msdu)
    }

    /// Whether the congesting frame is such a message: of the same EtherType, or to the same port.
    /// Bridges that answered one with another could keep each other busy.
    fn is_about_itself(&self) -> bool {
        match self.encapsulation {
            Encapsulation::L2 => {
                msdu::network(self.msdu).is_some_and(|(ethertype, _)| ethertype == EtherType::CIM)
            }
            Encapsulation::Udp(headers) => self.flow().is_some_and(|flow| headers.carries(&flow)),
        }
    }

    /// Octets that [`Repr::emit`] writes.
    #[must_use]
    pub const fn buffer_len(&self, dialect: &Dialect) -> usize {
        self.encapsulation.header_len(*dialect) + HEADER_LEN + self.msdu.len()
    }

    /// The EtherType that the message goes behind.
    #[must_use]
    pub const fn ethertype(&self) -> EtherType {
        match &self.encapsulation {
            Encapsulation::L2 => EtherType::CIM,
            Encapsulation::Udp(headers) => headers.ethertype(),
        }
    }

    /// Writes the message at the front of `buf`, checksums included. Over Ethernet it is never
    /// shorter than a frame must be.
    ///
    /// # Errors
    /// [`WireError::OutOfRange`] for an MSDU of less than 48 octets or more than 512, or addresses
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
        let delete = 1 - dialect.add_bit();
        let vid = self.vid.map_or(0, Vid::get) << dialect.vid_shift();
        pdu[field::FLAGS] = VERSION << 4 | if self.add { dialect.add_bit() } else { delete };
        pdu[field::DST..field::SRC].copy_from_slice(&self.dst.0);
        pdu[field::SRC..field::VID].copy_from_slice(&self.src.0);
        pdu[field::VID..field::LENGTH].copy_from_slice(&vid.to_be_bytes());
        let len = (self.msdu.len() as u16).to_be_bytes(); // At most 512, as was checked.
        pdu[field::LENGTH..HEADER_LEN].copy_from_slice(&len);
        pdu[HEADER_LEN..].copy_from_slice(self.msdu);
        match self.encapsulation {
            Encapsulation::L2 => header.fill(VERSION << 4 | SUBTYPE),
            Encapsulation::Udp(headers) => headers.emit(out)?,
        }
        Ok(())
    }
}

/// The bits of a VLAN identifier.
const VID_BITS: u16 = 0x0fff;

/// The PDU behind the EtherType 89-A2.
fn pdu_of(octets: &[u8], dialect: Dialect) -> Result<&[u8], WireError> {
    if dialect.octet_three == OctetThree::Pdu {
        return Ok(octets);
    }
    let (first, pdu) = octets.split_first().ok_or(WireError::Truncated)?;
    if first >> 4 != VERSION {
        return Err(WireError::BadVersion);
    }
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

// Both messages of 89-A2 are told apart by the subtype.
const _: () = assert!(SUBTYPE != headroom::SUBTYPE);

#[cfg(test)]
mod tests;
