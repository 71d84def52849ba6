//! The Internet checksum (RFC 1071), its pseudo headers, and its update in place (RFC 1624).

use core::net::IpAddr;

/// A running ones' complement sum of big-endian 16-bit words.
///
/// Holds the sum of at most 2^32 words, which is more than any packet has.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Sum(u64);

impl Sum {
    /// Adds one word.
    #[must_use]
    #[inline]
    pub const fn word(self, word: u16) -> Self {
        Self(self.0 + word as u64)
    }

    /// Adds bytes. An odd number is padded with a zero byte, so only the last call may pass one.
    #[must_use]
    #[inline]
    pub fn octets(self, octets: &[u8]) -> Self {
        let mut sum = self.0;
        let mut quads = octets.chunks_exact(4);
        for q in &mut quads {
            // A 32-bit word counts as the sum of its halves: 2^16 is 1 in this arithmetic.
            sum += u64::from(u32::from_be_bytes([q[0], q[1], q[2], q[3]]));
        }
        let mut last = [0; 4];
        let rest = quads.remainder();
        last[..rest.len()].copy_from_slice(rest);
        Self(sum + u64::from(u32::from_be_bytes(last)))
    }

    /// Adds the pseudo header of an upper layer of `len` bytes between two addresses of one
    /// version (RFC 768 for IPv4, RFC 8200 8.1 for IPv6: the words are the same).
    #[must_use]
    #[inline]
    pub fn pseudo(self, src: IpAddr, dst: IpAddr, protocol: u8, len: u16) -> Self {
        self.address(src).address(dst).word(u16::from(protocol)).word(len)
    }

    /// Adds an address.
    #[inline]
    fn address(self, address: IpAddr) -> Self {
        match address {
            IpAddr::V4(a) => self.octets(&a.octets()),
            IpAddr::V6(a) => self.octets(&a.octets()),
        }
    }

    /// Returns the checksum: the complement of the sum. It is 0 over data that includes a correct
    /// checksum.
    #[must_use]
    #[inline]
    pub const fn finish(self) -> u16 {
        let mut sum = self.0;
        // Adds the carries back in (RFC 1071); a `u64` needs a few rounds at most.
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }
}

/// Returns the checksum after one 16-bit word that it covers changed from `old` to `new` (RFC 1624,
/// eqn. 3).
///
/// A correct checksum stays correct and a wrong one stays wrong, so a router may use it without
/// verification.
#[must_use]
#[inline]
pub const fn update(checksum: u16, old: u16, new: u16) -> u16 {
    // HC' = ~(~HC + ~m + m'). The form of RFC 1141 may give the other one of the two zeros.
    Sum(0).word(!checksum).word(!old).word(new).finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_example_of_rfc_1071_holds() {
        let octets = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::default().octets(&octets).finish(), !0xddf2);
        assert_eq!(Sum::default().octets(&octets[..3]).finish(), !0xf201);
    }

    #[test]
    fn the_example_of_rfc_1624_gives_plus_zero() {
        assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    proptest! {
        #[test]
        fn an_update_equals_a_recomputation(
            mut words in prop::collection::vec(any::<u16>(), 1..20),
            at in any::<prop::sample::Index>(),
            new in 1_u16..,
        ) {
            let sum = |w: &[u16]| w.iter().fold(Sum::default(), |s, w| s.word(*w)).finish();
            let at = at.index(words.len());
            let (before, old) = (sum(&words), words[at]);
            words[at] = new;
            prop_assert_eq!(update(before, old, new), sum(&words));
        }
    }
}
