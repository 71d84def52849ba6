//! MACsec frames (802.1AE-2018 clause 9): addresses, SecTAG, secure data, integrity check value.
//!
//! Unlike the other formats this one needs the whole frame: the position of the ICV depends on the
//! end of the frame. Only the form is validated here (9.12), for the GCM suites, which change
//! either all that they encrypt or nothing; the SecY verifies authenticity.

use core::fmt;

use super::ethernet::MIN_FRAME;
use super::{EtherType, WireError, be16, be32, room};

/// Offset of the SecTAG: after the two addresses.
pub const TAG_OFFSET: usize = 12;

/// Bytes of a SecTAG without an SCI.
pub const TAG_LEN: usize = 8;

/// Bytes of an SCI.
pub const SCI_LEN: usize = 8;

/// Bytes of the integrity check value of every GCM suite (14.5).
pub const ICV_LEN: usize = 16;

/// Secure data of fewer bytes has its length in the SL field (9.7).
pub const SHORT: usize = 48;

/// Version bit, which is 0.
const V: u8 = 0x80;
/// End station: the SCI follows from the source address.
const ES: u8 = 0x40;
/// Explicit SCI.
const SC: u8 = 0x20;
/// Single copy broadcast of EPON.
const SCB: u8 = 0x10;
/// Encryption.
const E: u8 = 0x08;
/// Changed text.
const C: u8 = 0x04;
/// Association number.
const AN: u8 = 0x03;

/// A frame whose EtherType, SecTAG and length are consistent.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    frame: &'a [u8],
    tag: &'a [u8; TAG_LEN],
    secure_len: usize,
}

impl<'a> View<'a> {
    /// Parses a whole frame from its destination address on, without FCS. Padding that a MAC has to
    /// add, up to 60 bytes, is accepted after an ICV whose position is given by the short length.
    ///
    /// # Errors
    /// In this order: [`WireError::Truncated`] below 20 bytes, [`WireError::BadEthertype`],
    /// [`WireError::BadVersion`] for a set V bit, [`WireError::Unsupported`] for an SCI beside ES
    /// or SCB (9.12 d) and for different E and C (9.5: not of a GCM suite, or not for a SecY),
    /// [`WireError::BadLength`] for a short length above 47 or with its reserved bits set, for one
    /// that contradicts the frame's, and for less secure data than an EtherType or, without a short
    /// length, than 48 bytes.
    #[inline]
    pub fn new(frame: &'a [u8]) -> Result<Self, WireError> {
        let behind = frame.get(TAG_OFFSET..).ok_or(WireError::Truncated)?;
        let tag: &[u8; TAG_LEN] = behind.first_chunk().ok_or(WireError::Truncated)?;
        if EtherType(be16(tag, 0)) != EtherType::MACSEC {
            return Err(WireError::BadEthertype);
        }
        let (tci, short) = (tag[2], usize::from(tag[3]));
        if tci & V != 0 {
            return Err(WireError::BadVersion);
        }
        // ES and SCB derive the SCI from the source address, so an explicit one beside them is an error (9.12 d).
        let sci_twice = tci & SC != 0 && tci & (ES | SCB) != 0;
        // The GCM suites change all that they encrypt and nothing else, so both bits are equal (9.5).
        if sci_twice || (tci & E != 0) != (tci & C != 0) {
            return Err(WireError::Unsupported);
        }
        let around = front(tci) + ICV_LEN;
        let there = behind.len().checked_sub(around).ok_or(WireError::BadLength)?;
        let secure_len = if short == 0 { there } else { short };
        // 0 stands for 48 bytes or more; the least secure data is an EtherType (9.7).
        let fits = match short {
            0 => there >= SHORT,
            // A MAC pads a short frame behind the ICV.
            2..SHORT => short == there || short < there && frame.len() <= MIN_FRAME,
            _ => false,
        };
        if fits { Ok(Self { frame, tag, secure_len }) } else { Err(WireError::BadLength) }
    }

    /// Bytes of the SecTAG: 8, or 16 with an SCI.
    #[must_use]
    #[inline]
    pub const fn front(&self) -> usize {
        front(self.tag[2])
    }

    /// Returns the bytes of secure data, including the original EtherType. At least 2.
    #[must_use]
    #[inline]
    pub const fn secure_len(&self) -> usize {
        self.secure_len
    }

    /// Returns the bytes after the secure data: the ICV and any padding.
    #[must_use]
    #[inline]
    pub const fn back(&self) -> usize {
        self.frame.len() - TAG_OFFSET - self.front() - self.secure_len
    }

    /// Returns the first two octets of the secure data: the original EtherType, if it is readable.
    #[must_use]
    #[inline]
    pub fn inner(&self) -> EtherType {
        let offset = TAG_OFFSET + self.front();
        EtherType(u16::from_be_bytes([self.frame[offset], self.frame[offset + 1]]))
    }
}

/// Bytes of the SecTAG with these control bits.
#[inline]
const fn front(tci: u8) -> usize {
    if tci & SC != 0 { TAG_LEN + SCI_LEN } else { TAG_LEN }
}

/// Identification of the channel in a frame (9.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Channel {
    /// None: the channel of the only peer.
    Implied,
    /// Explicit SCI.
    Sci([u8; SCI_LEN]),
    /// Source address, port 00-01 (ES).
    EndStation,
    /// Source address, port 00-00 (SCB).
    SingleCopy,
}

fields! {
    /// A SecTAG.
    Repr of View as v {
        /// Identification of the channel.
        channel: Channel = match v.tag[2] {
            tci if tci & SC != 0 => match v.frame[TAG_OFFSET + TAG_LEN..].first_chunk() {
                Some(sci) => Channel::Sci(*sci),
                None => unreachable!("the constructor counted the SCI"),
            },
            tci if tci & SCB != 0 => Channel::SingleCopy,
            tci if tci & ES != 0 => Channel::EndStation,
            _ => Channel::Implied,
        },
        /// True if the secure data is encrypted, completely or after an offset.
        encrypted: bool = v.tag[2] & E != 0,
        /// Association number. Range 0 to 3.
        an: u8 = v.tag[2] & AN,
        /// Bytes of secure data if there are fewer than 48, else 0 (9.7). Range 0 and 2 to 47.
        short_len: u8 = v.tag[3],
        /// Packet number, or its lower half. 0 only in frames of XPN suites.
        pn: u32 = be32(v.tag, 4),
    }
}

impl Repr {
    /// Parses the SecTAG of a whole frame.
    ///
    /// # Errors
    /// As [`View::new`].
    #[inline]
    pub fn parse(frame: &[u8]) -> Result<Self, WireError> {
        Ok(Self::of(&View::new(frame)?))
    }

    /// Returns the number of bytes that [`Repr::emit`] writes: 8, or 16 with an SCI.
    #[must_use]
    #[inline]
    pub const fn buffer_len(&self) -> usize {
        match self.channel {
            Channel::Sci(_) => TAG_LEN + SCI_LEN,
            _ => TAG_LEN,
        }
    }

    /// Writes the SecTAG at the front of `buf`, from its EtherType on.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] below [`Repr::buffer_len`] bytes, [`WireError::OutOfRange`] for an
    /// association above 3 or an invalid short length.
    #[inline]
    pub fn emit(&self, buf: &mut [u8]) -> Result<(), WireError> {
        // SL is 0 for 48 bytes or more, and else 2 to 47 (9.7).
        if self.an > AN || usize::from(self.short_len) >= SHORT || self.short_len == 1 {
            return Err(WireError::OutOfRange);
        }
        let (bits, sci) = match self.channel {
            Channel::Implied => (0, None),
            Channel::Sci(sci) => (SC, Some(sci)),
            Channel::EndStation => (ES, None),
            Channel::SingleCopy => (SCB, None),
        };
        let coded = if self.encrypted { E | C } else { 0 };
        let [e0, e1] = EtherType::MACSEC.0.to_be_bytes();
        let [p0, p1, p2, p3] = self.pn.to_be_bytes();
        let tag = [e0, e1, bits | coded | self.an, self.short_len, p0, p1, p2, p3];
        if let Some(sci) = sci {
            let out: &mut [u8; TAG_LEN + SCI_LEN] = room(buf)?;
            out[TAG_LEN..].copy_from_slice(&sci);
        }
        *room(buf)? = tag;
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MACsec an {} pn {}", self.an, self.pn)?;
        match self.channel {
            Channel::Implied => {}
            Channel::EndStation => write!(f, " es")?,
            Channel::SingleCopy => write!(f, " scb")?,
            Channel::Sci([a, b, c, d, e, g, port @ ..]) => {
                let port = u16::from_be_bytes(port);
                write!(f, " sci {a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}/{port}")?;
            }
        }
        if self.short_len != 0 {
            write!(f, " sl {}", self.short_len)?;
        }
        f.write_str(if self.encrypted { " encrypted" } else { " integrity" })
    }
}

#[cfg(test)]
mod tests;
