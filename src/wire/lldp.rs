//! LLDP frames (802.1AB-2016 clause 8): a chain of TLVs, of which three are mandatory and come first.
//!
//! [`View`] walks the whole chain once, so that what it hands out afterwards needs no check.
//! [`Writer`] puts a frame together. What organizations define is in [`super::dcbx`].

use core::fmt;

use super::{EtherType, WireError, ethernet, group};
use ground::units::Mac;

/// The longest string of bytes that a TLV can hold: its length has nine bits (8.4.2).
pub const VALUE_MAX: usize = 511;
/// The longest identifier of a chassis or a port, and the longest name or description.
pub const TEXT_MAX: usize = 255;

/// The type of a TLV, 0 to 127 (802.1AB-2016 Table 8-1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TlvType(pub u8);

impl TlvType {
    /// The end of the LLDPDU.
    pub const END: Self = Self(0);
    /// The chassis; the first TLV.
    pub const CHASSIS: Self = Self(1);
    /// The port; the second.
    pub const PORT: Self = Self(2);
    /// The time to live in seconds; the third.
    pub const TTL: Self = Self(3);
    /// A port's description.
    pub const PORT_DESCRIPTION: Self = Self(4);
    /// The system's name.
    pub const SYSTEM_NAME: Self = Self(5);
    /// The system's description.
    pub const SYSTEM_DESCRIPTION: Self = Self(6);
    /// What the system can do, and what of it is in use.
    pub const CAPABILITIES: Self = Self(7);
    /// An address by which the system is managed.
    pub const MANAGEMENT: Self = Self(8);
    /// A TLV of an organization, which its first four bytes name.
    pub const ORGANIZATIONAL: Self = Self(127);

    /// Whether 802.1AB defines it. Those from 9 to 126 are reserved.
    #[must_use]
    pub const fn is_known(self) -> bool {
        self.0 <= Self::MANAGEMENT.0 || self.0 == Self::ORGANIZATIONAL.0
    }
}

/// Subtypes of a chassis' identifier (Table 8-2) that are written here.
pub const CHASSIS_MAC: u8 = 4;
/// Subtype of a port's identifier by MAC address (Table 8-3).
pub const PORT_MAC: u8 = 3;
/// Subtype of a port's identifier by interface name (Table 8-3).
pub const PORT_INTERFACE_NAME: u8 = 5;

/// The capabilities of a system (8.5.8, Table 8-4), one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Capabilities {
    /// What it can be.
    pub supported: u16,
    /// What of that it is.
    pub enabled: u16,
}

impl Capabilities {
    /// A MAC bridge.
    pub const BRIDGE: u16 = 1 << 2;
    /// A router.
    pub const ROUTER: u16 = 1 << 4;
    /// An end station and nothing else.
    pub const STATION: u16 = 1 << 7;

    /// Reads the string of a capabilities TLV.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 4 bytes.
    pub fn parse(value: &[u8]) -> Result<Self, WireError> {
        let &[a, b, c, d] = value.first_chunk().ok_or(WireError::Truncated)?;
        let (supported, enabled) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        Ok(Self { supported, enabled })
    }

    /// The string of a capabilities TLV.
    #[must_use]
    pub const fn octets(self) -> [u8; 4] {
        let ([a, b], [c, d]) = (self.supported.to_be_bytes(), self.enabled.to_be_bytes());
        [a, b, c, d]
    }
}

/// The identifier of a chassis or a port: what kind it is, and 1 to 255 bytes.
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
    /// Its type.
    pub kind: TlvType,
    /// Its string.
    pub value: &'a [u8],
}

/// What a TLV of an organization holds (8.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Organizational<'a> {
    /// The organization.
    pub oui: [u8; 3],
    /// Which of its TLVs.
    pub subtype: u8,
    /// What follows.
    pub value: &'a [u8],
}

impl<'a> Tlv<'a> {
    /// What the TLV says if it is an organization's and long enough to name it.
    #[must_use]
    pub fn organizational(&self) -> Option<Organizational<'a>> {
        let (&[a, b, c, subtype], value) = self.value.split_first_chunk()?;
        let named = Organizational { oui: [a, b, c], subtype, value };
        (self.kind == TlvType::ORGANIZATIONAL).then_some(named)
    }
}

/// The first TLV in `octets` and what follows it.
fn split(octets: &[u8]) -> Result<(Tlv<'_>, &[u8]), WireError> {
    let (&[a, b], rest) = octets.split_first_chunk().ok_or(WireError::Truncated)?;
    let len = usize::from(a & 1) << 8 | usize::from(b);
    let (value, rest) = rest.split_at_checked(len).ok_or(WireError::Truncated)?;
    Ok((Tlv { kind: TlvType(a >> 1), value }, rest))
}

/// The TLVs behind the mandatory ones, up to the end of the LLDPDU.
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

/// An LLDP frame, from its destination address on, all of it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: ethernet::View<'a>,
    chassis: Id<'a>,
    port: Id<'a>,
    ttl: u16,
    optional: Tlvs<'a>,
}

impl<'a> View<'a> {
    /// Takes a frame from its destination address on. The end TLV may be missing where the frame
    /// ends; what follows it is padding.
    ///
    /// # Errors
    /// [`WireError::Truncated`] where a TLV is longer than what is left of the frame,
    /// [`WireError::BadEthertype`], [`WireError::BadOpcode`] where the first three TLVs are not
    /// chassis, port and time to live, or one of those comes twice (9.2.7.7.1),
    /// [`WireError::BadLength`] for an identifier without bytes or with more than 255, for a time
    /// to live below 2 bytes.
    pub fn new(frame: &'a [u8]) -> Result<Self, WireError> {
        let header = ethernet::View::new(frame)?;
        if header.ethertype() != EtherType::LLDP {
            return Err(WireError::BadEthertype);
        }
        let (chassis, rest) = mandatory(header.payload(), TlvType::CHASSIS)?;
        let (port, rest) = mandatory(rest, TlvType::PORT)?;
        let (ttl, rest) = mandatory(rest, TlvType::TTL)?;
        let &ttl = ttl.first_chunk().ok_or(WireError::BadLength)?;
        let (chassis, port) = (Id::parse(chassis)?, Id::parse(port)?);
        check_chain(rest)?;
        let ttl = u16::from_be_bytes(ttl);
        Ok(Self { header, chassis, port, ttl, optional: Tlvs(rest) })
    }

    /// The destination address: which bridges it reaches.
    #[must_use]
    pub const fn dst(&self) -> Mac {
        self.header.dst()
    }

    /// The address of the port that sent it.
    #[must_use]
    pub const fn src(&self) -> Mac {
        self.header.src()
    }

    /// The sender's chassis.
    #[must_use]
    pub const fn chassis(&self) -> Id<'a> {
        self.chassis
    }

    /// The sender's port.
    #[must_use]
    pub const fn port(&self) -> Id<'a> {
        self.port
    }

    /// For how many seconds what it says is true; 0 takes back what was said before.
    #[must_use]
    pub const fn ttl(&self) -> u16 {
        self.ttl
    }

    /// The TLVs behind the mandatory ones.
    #[must_use]
    pub const fn optional(&self) -> Tlvs<'a> {
        self.optional
    }
}

/// The string of the first TLV, which has to be a `kind`.
fn mandatory(octets: &[u8], kind: TlvType) -> Result<(&[u8], &[u8]), WireError> {
    let (tlv, rest) = split(octets)?;
    if tlv.kind == kind { Ok((tlv.value, rest)) } else { Err(WireError::BadOpcode) }
}

/// Whether the TLVs in `octets` end where the frame does, or before it by an end TLV.
fn check_chain(mut octets: &[u8]) -> Result<(), WireError> {
    while !octets.is_empty() {
        let (tlv, rest) = split(octets)?;
        match tlv.kind {
            TlvType::END => return Ok(()),
            TlvType::CHASSIS | TlvType::PORT | TlvType::TTL => return Err(WireError::BadOpcode),
            _ => octets = rest,
        }
    }
    Ok(())
}

/// What every LLDPDU begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repr<'a> {
    /// The destination address.
    pub dst: Mac,
    /// The address of the sending port.
    pub src: Mac,
    /// The sender's chassis.
    pub chassis: Id<'a>,
    /// The sender's port.
    pub port: Id<'a>,
    /// For how many seconds what follows is true.
    pub ttl: u16,
}

impl<'a> Repr<'a> {
    /// Reads the beginning of a frame whose chain of TLVs is whole.
    ///
    /// # Errors
    /// As [`View::new`].
    pub fn parse(frame: &'a [u8]) -> Result<Self, WireError> {
        let v = View::new(frame)?;
        Ok(Self { dst: v.dst(), src: v.src(), chassis: v.chassis, port: v.port, ttl: v.ttl })
    }

    /// Bytes of a frame that says no more than this.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        let ids = self.chassis.octets.len() + self.port.octets.len();
        let len = ethernet::HEADER_LEN + 3 + 3 + ids + 4 + 2;
        if len > ethernet::MIN_FRAME { len } else { ethernet::MIN_FRAME }
    }

    /// Writes a whole frame that says no more than this.
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
    /// An address as an address, anything else as text with what cannot be printed escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.octets.first_chunk() {
            // MAC addresses have the subtypes 4 of a chassis and 3 of a port; where another
            // identifier of those numbers has six bytes, reading it so is readable too.
            Some(&mac)
                if self.octets.len() == 6 && matches!(self.subtype, PORT_MAC | CHASSIS_MAC) =>
            {
                Mac(mac).fmt(f)
            }
            _ => self.octets.escape_ascii().fmt(f),
        }
    }
}

/// A frame that is being put together.
#[derive(Debug)]
pub struct Writer<'b> {
    buf: &'b mut [u8],
    len: usize,
}

impl<'b> Writer<'b> {
    /// Begins a frame at the front of `buf`.
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
    /// As [`Writer::tlv`], with four bytes of the string taken by the organization's name.
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

    /// Ends the frame, padded to 60 bytes, and says how long it is.
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

/// Where LLDPDUs of the nearest bridge are sent (7.1, Table 7-1).
pub const DESTINATION: Mac = group::NEAREST_BRIDGE;

#[cfg(test)]
mod tests;
