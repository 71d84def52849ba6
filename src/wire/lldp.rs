//! LLDP frames (802.1AB-2016 clause 8): a sequence of TLVs, of which three are mandatory and come
//! first.
//!
//! [`View`] validates the whole sequence once, so that its accessors need no checks. [`Writer`]
//! builds a frame. TLVs of organizations are in [`super::dcbx`].

use core::fmt;

use super::{EtherType, WireError, ethernet, group};
use ground::units::Mac;

/// Maximum length of a TLV's string: its length field has nine bits (8.4.2).
pub const VALUE_MAX: usize = 511;
/// Maximum length of the identifier of a chassis or a port, and of a name or description.
pub const TEXT_MAX: usize = 255;

/// Type of a TLV, 0 to 127 (802.1AB-2016 Table 8-1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TlvType(pub u8);

impl TlvType {
    /// End of the LLDPDU.
    pub const END: Self = Self(0);
    /// Chassis ID; the first TLV.
    pub const CHASSIS: Self = Self(1);
    /// Port ID; the second.
    pub const PORT: Self = Self(2);
    /// Time to live in seconds; the third.
    pub const TTL: Self = Self(3);
    /// Port description.
    pub const PORT_DESCRIPTION: Self = Self(4);
    /// System name.
    pub const SYSTEM_NAME: Self = Self(5);
    /// System description.
    pub const SYSTEM_DESCRIPTION: Self = Self(6);
    /// System capabilities, supported and enabled.
    pub const CAPABILITIES: Self = Self(7);
    /// Management address of the system.
    pub const MANAGEMENT: Self = Self(8);
    /// TLV of an organization, identified by its first four octets.
    pub const ORGANIZATIONAL: Self = Self(127);
}

/// Subtype of a chassis ID by MAC address (Table 8-2).
pub const CHASSIS_MAC: u8 = 4;
/// Subtype of a port ID by MAC address (Table 8-3).
pub const PORT_MAC: u8 = 3;
/// Subtype of a port ID by interface name (Table 8-3).
pub const PORT_INTERFACE_NAME: u8 = 5;

/// The capabilities of a system (8.5.8, Table 8-4), one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Capabilities {
    /// Supported capabilities.
    pub supported: u16,
    /// Enabled capabilities.
    pub enabled: u16,
}

impl Capabilities {
    /// A MAC bridge.
    pub const BRIDGE: u16 = 1 << 2;
    /// A router.
    pub const ROUTER: u16 = 1 << 4;
    /// End station only.
    pub const STATION: u16 = 1 << 7;

    /// Parses the string of a capabilities TLV.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 4 bytes.
    pub fn parse(value: &[u8]) -> Result<Self, WireError> {
        let &[a, b, c, d] = value.first_chunk().ok_or(WireError::Truncated)?;
        let (supported, enabled) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        Ok(Self { supported, enabled })
    }

    /// Returns the string of a capabilities TLV.
    #[must_use]
    pub const fn octets(self) -> [u8; 4] {
        let ([a, b], [c, d]) = (self.supported.to_be_bytes(), self.enabled.to_be_bytes());
        [a, b, c, d]
    }
}

/// Identifier of a chassis or a port: its subtype, and 1 to 255 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Id<'a> {
    /// Table 8-2 for a chassis, Table 8-3 for a port.
    pub subtype: u8,
    /// The identifier.
    pub octets: &'a [u8],
}

impl<'a> Id<'a> {
    fn parse(value: &'a [u8]) -> Result<Self, WireError> {
        match value.split_first() {
            Some((&subtype, octets)) if (1..=TEXT_MAX).contains(&octets.len()) => {
                Ok(Self { subtype, octets })
            }
            _ => Err(WireError::BadLength),
        }
    }
}

/// One TLV: its type and its string of 0 to 511 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tlv<'a> {
    /// Type of the TLV.
    pub kind: TlvType,
    /// String of the TLV.
    pub value: &'a [u8],
}

/// Contents of a TLV of an organization (8.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Organizational<'a> {
    /// OUI of the organization.
    pub oui: [u8; 3],
    /// Subtype under the OUI.
    pub subtype: u8,
    /// String after the subtype.
    pub value: &'a [u8],
}

impl<'a> Tlv<'a> {
    /// Returns the contents of an organization's TLV that is long enough to be identified.
    #[must_use]
    pub fn organizational(&self) -> Option<Organizational<'a>> {
        let (&[a, b, c, subtype], value) = self.value.split_first_chunk()?;
        let named = Organizational { oui: [a, b, c], subtype, value };
        (self.kind == TlvType::ORGANIZATIONAL).then_some(named)
    }
}

/// Splits off the first TLV in `octets`.
fn split(octets: &[u8]) -> Result<(Tlv<'_>, &[u8]), WireError> {
    let (&[a, b], rest) = octets.split_first_chunk().ok_or(WireError::Truncated)?;
    // Seven bits of type and nine of length (8.4).
    let len = usize::from(a & 1) << 8 | usize::from(b);
    let (value, rest) = rest.split_at_checked(len).ok_or(WireError::Truncated)?;
    Ok((Tlv { kind: TlvType(a >> 1), value }, rest))
}

/// Iterator over the TLVs after the mandatory ones, up to the end of the LLDPDU.
#[derive(Clone, Copy, Debug)]
pub struct Tlvs<'a>(&'a [u8]);

impl<'a> Iterator for Tlvs<'a> {
    type Item = Tlv<'a>;

    fn next(&mut self) -> Option<Tlv<'a>> {
        let (tlv, rest) = split(self.0).ok()?;
        self.0 = rest;
        (tlv.kind != TlvType::END).then_some(tlv)
    }
}

/// A complete LLDP frame, from its destination address on.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: ethernet::View<'a>,
    chassis: Id<'a>,
    port: Id<'a>,
    ttl: u16,
    optional: Tlvs<'a>,
}

impl<'a> View<'a> {
    /// Parses a frame from its destination address on. The end TLV may be missing at the end of the
    /// frame; bytes after it are padding.
    ///
    /// # Errors
    /// [`WireError::Truncated`] if a TLV exceeds the rest of the frame,
    /// [`WireError::BadEthertype`], [`WireError::BadOpcode`] where the first three TLVs are not
    /// chassis, port and time to live, or if one of those is repeated (9.2.7.7.1),
    /// [`WireError::BadLength`] for an identifier of no bytes or with more than 255, for a time to
    /// live below 2 bytes.
    pub fn new(frame: &'a [u8]) -> Result<Self, WireError> {
        let header = ethernet::View::new(frame)?;
        if header.ethertype() != EtherType::LLDP {
            return Err(WireError::BadEthertype);
        }
        // The three mandatory TLVs come first, in this order (clause 8).
        let (chassis, rest) = mandatory(header.payload(), TlvType::CHASSIS)?;
        let (port, rest) = mandatory(rest, TlvType::PORT)?;
        let (ttl, rest) = mandatory(rest, TlvType::TTL)?;
        let &ttl = ttl.first_chunk().ok_or(WireError::BadLength)?;
        let (chassis, port) = (Id::parse(chassis)?, Id::parse(port)?);
        // Once here, so that the iterator cannot fail.
        check_chain(rest)?;
        let ttl = u16::from_be_bytes(ttl);
        Ok(Self { header, chassis, port, ttl, optional: Tlvs(rest) })
    }

    /// Returns the TLVs after the mandatory ones.
    #[must_use]
    pub const fn optional(&self) -> Tlvs<'a> {
        self.optional
    }
}

/// Returns the string of the first TLV, which has to be a `kind`, and the bytes after it.
fn mandatory(octets: &[u8], kind: TlvType) -> Result<(&[u8], &[u8]), WireError> {
    let (tlv, rest) = split(octets)?;
    if tlv.kind == kind { Ok((tlv.value, rest)) } else { Err(WireError::BadOpcode) }
}

/// Checks that the TLVs in `octets` end with the frame, or before it by an end TLV.
fn check_chain(mut octets: &[u8]) -> Result<(), WireError> {
    while !octets.is_empty() {
        let (tlv, rest) = split(octets)?;
        match tlv.kind {
            // What follows is padding of the frame.
            TlvType::END => return Ok(()),
            TlvType::CHASSIS | TlvType::PORT | TlvType::TTL => return Err(WireError::BadOpcode),
            _ => octets = rest,
        }
    }
    Ok(())
}

fields! {
    /// Mandatory part of an LLDPDU.
    Repr<'a> of View as v {
        /// Destination address, which determines the bridges that the frame reaches.
        dst: Mac = v.header.dst(),
        /// Address of the sending port.
        src: Mac = v.header.src(),
        /// Chassis ID of the sender.
        chassis: Id<'a> = v.chassis,
        /// Port ID of the sender.
        port: Id<'a> = v.port,
        /// Time to live of the information in seconds; 0 revokes earlier information.
        ttl: u16 = v.ttl,
    }
}

impl<'a> Repr<'a> {
    /// Parses the mandatory part of a frame with a valid sequence of TLVs.
    ///
    /// # Errors
    /// As [`View::new`].
    pub fn parse(frame: &'a [u8]) -> Result<Self, WireError> {
        Ok(Self::of(&View::new(frame)?))
    }

    /// Returns the length of a frame with the mandatory part only.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        let ids = self.chassis.octets.len() + self.port.octets.len();
        // Two identifiers with header and subtype, the time to live, the end.
        let len = ethernet::HEADER_LEN + 3 + 3 + ids + 4 + 2;
        if len > ethernet::MIN_FRAME { len } else { ethernet::MIN_FRAME }
    }

    /// Writes a whole frame with the mandatory part only.
    ///
    /// # Errors
    /// As [`Writer::new`] and [`Writer::finish`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<(), WireError> {
        Writer::new(buf, self)?.finish().map(drop)
    }
}

impl fmt::Display for Repr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { src, chassis, port, ttl, .. } = self;
        write!(f, "{src} LLDP chassis {chassis} port {port} for {ttl} s")
    }
}

impl fmt::Display for Id<'_> {
    /// Writes an address as such, other identifiers as text with unprintable bytes escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.octets.first_chunk() {
            // MAC addresses have the subtypes 4 of a chassis and 3 of a port; another identifier of
            // those numbers with six octets is readable in this form too.
            Some(&mac)
                if self.octets.len() == 6 && matches!(self.subtype, PORT_MAC | CHASSIS_MAC) =>
            {
                Mac(mac).fmt(f)
            }
            _ => self.octets.escape_ascii().fmt(f),
        }
    }
}

/// A frame under construction.
#[derive(Debug)]
pub struct Writer<'b> {
    buf: &'b mut [u8],
    len: usize,
}

impl<'b> Writer<'b> {
    /// Starts a frame at the front of `buf`.
    ///
    /// # Errors
    /// [`WireError::NoRoom`], [`WireError::OutOfRange`] for an identifier without bytes or with
    /// more than 255.
    pub fn new(buf: &'b mut [u8], head: &Repr<'_>) -> Result<Self, WireError> {
        let header = ethernet::Repr { dst: head.dst, src: head.src, ethertype: EtherType::LLDP };
        header.emit(buf)?;
        let mut writer = Self { buf, len: ethernet::HEADER_LEN };
        for (kind, id) in [(TlvType::CHASSIS, head.chassis), (TlvType::PORT, head.port)] {
            if !(1..=TEXT_MAX).contains(&id.octets.len()) {
                return Err(WireError::OutOfRange);
            }
            writer.parts(kind, &[&[id.subtype], id.octets])?;
        }
        writer.tlv(TlvType::TTL, &head.ttl.to_be_bytes())?;
        Ok(writer)
    }

    /// Adds a TLV.
    ///
    /// # Errors
    /// [`WireError::NoRoom`], [`WireError::OutOfRange`] for a string of more than 511 bytes.
    pub fn tlv(&mut self, kind: TlvType, value: &[u8]) -> Result<(), WireError> {
        self.parts(kind, &[value])
    }

    /// Adds a TLV of an organization.
    ///
    /// # Errors
    /// As [`Writer::tlv`], with four bytes of the string used by OUI and subtype.
    pub fn organizational(
        &mut self,
        oui: [u8; 3],
        subtype: u8,
        value: &[u8],
    ) -> Result<(), WireError> {
        self.parts(TlvType::ORGANIZATIONAL, &[&oui, &[subtype], value])
    }

    fn parts(&mut self, kind: TlvType, parts: &[&[u8]]) -> Result<(), WireError> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        if len > VALUE_MAX || kind.0 > TlvType::ORGANIZATIONAL.0 {
            return Err(WireError::OutOfRange);
        }
        // The length is at most 511, which its nine bits hold.
        let header = u16::from(kind.0) << 9 | len as u16;
        let out = self.buf.get_mut(self.len..self.len + 2 + len).ok_or(WireError::NoRoom)?;
        let (front, mut rest) = out.split_at_mut(2);
        front.copy_from_slice(&header.to_be_bytes());
        for part in parts {
            let (here, behind) = rest.split_at_mut(part.len());
            here.copy_from_slice(part);
            rest = behind;
        }
        self.len += 2 + len;
        Ok(())
    }

    /// Ends the frame, padded to 60 bytes, and returns its length.
    ///
    /// # Errors
    /// [`WireError::NoRoom`].
    pub fn finish(mut self) -> Result<usize, WireError> {
        self.tlv(TlvType::END, &[])?;
        if let Some(padding) = ethernet::MIN_FRAME.checked_sub(self.len) {
            let end = self.len + padding;
            self.buf.get_mut(self.len..end).ok_or(WireError::NoRoom)?.fill(0);
            self.len = end;
        }
        Ok(self.len)
    }
}

/// Destination of LLDPDUs to the nearest bridge (7.1, Table 7-1).
pub const DESTINATION: Mac = group::NEAREST_BRIDGE;

#[cfg(test)]
mod tests;
