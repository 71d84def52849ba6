//! ARP for IPv4 over Ethernet (RFC 826): a routing switch answers for its addresses and resolves
//! its neighbours'.

use core::fmt;
use core::net::Ipv4Addr;

use super::{EtherType, WireError, be16, ethernet, ipv4_at, mac_at, room};
use ground::units::Mac;

/// Bytes of the message.
pub const MESSAGE_LEN: usize = 28;

/// The constant start of a message: Ethernet, IPv4, address lengths 6 and 4.
const FRONT: [u8; 6] = [0x00, 0x01, 0x08, 0x00, 6, 4];

/// Operation of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u16)]
pub enum Operation {
    /// Requests the owner of the target address.
    Request = 1,
    /// Names the owner of the sender address.
    Reply = 2,
}

/// An ARP message for IPv4 over Ethernet.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    message: &'a [u8; MESSAGE_LEN],
    operation: Operation,
}

impl<'a> View<'a> {
    /// Parses the payload of EtherType 0x0806.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 28 bytes, [`WireError::Unsupported`] for another link or
    /// network than Ethernet and IPv4, [`WireError::BadOpcode`] for neither request nor reply.
    #[inline]
    pub fn new(octets: &'a [u8]) -> Result<Self, WireError> {
        let message: &[u8; MESSAGE_LEN] = octets.first_chunk().ok_or(WireError::Truncated)?;
        if message[..6] != FRONT {
            return Err(WireError::Unsupported);
        }
        let operation = match be16(message, 6) {
            1 => Operation::Request,
            2 => Operation::Reply,
            _ => return Err(WireError::BadOpcode),
        };
        Ok(Self { message, operation })
    }
}

fields! {
    /// An ARP message.
    Repr of View as v, MESSAGE_LEN {
        /// Request or reply.
        operation: Operation = v.operation,
        /// The sender's Ethernet address.
        sender_mac: Mac = mac_at(v.message, 8),
        /// The sender's IPv4 address.
        sender_ip: Ipv4Addr = ipv4_at(v.message, 14),
        /// The target's Ethernet address, meaningless in a request, and by custom all zero there.
        target_mac: Mac = mac_at(v.message, 18),
        /// The target's IPv4 address.
        target_ip: Ipv4Addr = ipv4_at(v.message, 24),
    }
}

impl Repr {
    /// Returns the request by `mac` and `ip` for the owner of `target`.
    #[must_use]
    pub const fn request(mac: Mac, ip: Ipv4Addr, target: Ipv4Addr) -> Self {
        Self {
            operation: Operation::Request,
            sender_mac: mac,
            sender_ip: ip,
            // Not known yet, and ignored by receivers (RFC 826).
            target_mac: Mac([0; 6]),
            target_ip: target,
        }
    }

    /// Returns the reply of `mac`, the owner of the target address, or `None` if this message is a
    /// reply.
    #[must_use]
    pub fn answer(&self, mac: Mac) -> Option<Self> {
        (self.operation == Operation::Request).then_some(Self {
            operation: Operation::Reply,
            sender_mac: mac,
            sender_ip: self.target_ip,
            target_mac: self.sender_mac,
            target_ip: self.sender_ip,
        })
    }

    /// Writes the message at the front of `buf`.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] below 28 bytes.
    pub fn emit(&self, buf: &mut [u8]) -> Result<(), WireError> {
        let out: &mut [u8; MESSAGE_LEN] = room(buf)?;
        out[..6].copy_from_slice(&FRONT);
        out[6..8].copy_from_slice(&(self.operation as u16).to_be_bytes());
        out[8..14].copy_from_slice(&self.sender_mac.0);
        out[14..18].copy_from_slice(&self.sender_ip.octets());
        out[18..24].copy_from_slice(&self.target_mac.0);
        out[24..].copy_from_slice(&self.target_ip.octets());
        Ok(())
    }

    /// Writes a whole untagged frame of [`ethernet::MIN_FRAME`] bytes at the front of `buf`: from
    /// the sender, a request to the broadcast address and a reply to its target.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] below 60 bytes.
    pub fn emit_frame(&self, buf: &mut [u8]) -> Result<(), WireError> {
        let out: &mut [u8; ethernet::MIN_FRAME] = room(buf)?;
        let dst = match self.operation {
            // The owner is not known, so every station of the link must get the question.
            Operation::Request => Mac::BROADCAST,
            Operation::Reply => self.target_mac,
        };
        let header = ethernet::Repr { dst, src: self.sender_mac, ethertype: EtherType::ARP };
        header.emit(out)?;
        let rest = &mut out[ethernet::HEADER_LEN..];
        self.emit(rest)?;
        // The padding must not show what the buffer held before.
        rest[MESSAGE_LEN..].fill(0);
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operation {
            Operation::Request => write!(f, "who has {} tell {}", self.target_ip, self.sender_ip),
            Operation::Reply => write!(f, "{} is at {}", self.sender_ip, self.sender_mac),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests;

    const GOLDEN: [u8; 28] = [
        0x00, 0x01, 0x08, 0x00, 0x06, 0x04, 0x00, 0x01, 0x02, 0, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0,
        0, 0, 0, 10, 0, 0, 254,
    ];

    fn golden() -> Repr {
        let ip = |last| Ipv4Addr::new(10, 0, 0, last);
        Repr::request(Mac([2, 0, 0, 0, 0, 1]), ip(1), ip(254))
    }

    #[test]
    fn golden_bytes() {
        tests::hold(&golden(), &GOLDEN, Repr::parse, Repr::emit);
        assert_eq!(golden().to_string(), "who has 10.0.0.254 tell 10.0.0.1");
        for n in 0..60 {
            assert_eq!(golden().emit_frame(&mut [0; 60][..n]), Err(WireError::NoRoom));
        }
    }

    #[test]
    fn other_networks_and_operations_are_refused() {
        for at in 0..6 {
            let mut bad = GOLDEN;
            bad[at] ^= 1;
            assert_eq!(Repr::parse(&bad), Err(WireError::Unsupported));
        }
        let mut bad = GOLDEN;
        bad[7] = 3;
        assert_eq!(Repr::parse(&bad), Err(WireError::BadOpcode));
    }

    #[test]
    fn a_request_is_answered_to_its_sender_and_a_reply_not_at_all() {
        let mine = Mac([2, 0, 0, 0, 0, 0xfe]);
        let reply = golden().answer(mine).unwrap();
        assert_eq!(reply.to_string(), "10.0.0.254 is at 02:00:00:00:00:fe");
        assert_eq!(reply.answer(mine), None);
        let mut frame = [0xff; 64];
        reply.emit_frame(&mut frame).unwrap();
        let header = ethernet::Repr::parse(&frame).unwrap();
        assert_eq!((header.dst, header.src), (golden().sender_mac, mine));
        assert_eq!(Repr::parse(&frame[14..]), Ok(reply));
        assert_eq!((&frame[42..60], frame[60]), (&[0; 18][..], 0xff));
        golden().emit_frame(&mut frame).unwrap();
        assert_eq!(ethernet::Repr::parse(&frame).unwrap().dst, Mac::BROADCAST);
    }

    proptest! {
        #[test]
        fn what_is_emitted_parses_to_the_same(
            reply in any::<bool>(),
            (sender_mac, target_mac) in any::<([u8; 6], [u8; 6])>(),
            (sender_ip, target_ip) in any::<(u32, u32)>(),
        ) {
            let repr = Repr {
                operation: if reply { Operation::Reply } else { Operation::Request },
                sender_mac: Mac(sender_mac),
                sender_ip: sender_ip.into(),
                target_mac: Mac(target_mac),
                target_ip: target_ip.into(),
            };
            tests::round(&repr, MESSAGE_LEN, Repr::parse, Repr::emit);
        }
    }
}
