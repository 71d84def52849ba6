//! RoCEv2's RDMA extended transport header, RETH (InfiniBand Architecture 9.3.2): destination of
//! the data of an RDMA WRITE, after the BTH of its first packet.

use core::fmt;

use super::{WireError, be32, room};

/// Bytes of the header.
pub const RETH_LEN: usize = 16;

/// The header of an RDMA WRITE's first packet.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    reth: &'a [u8; RETH_LEN],
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Parses the payload of the first packet's BTH.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 16 bytes.
    #[inline]
    pub fn new(octets: &'a [u8]) -> Result<Self, WireError> {
        let (reth, payload) = octets.split_first_chunk::<RETH_LEN>().ok_or(WireError::Truncated)?;
        Ok(Self { reth, payload })
    }

    /// Returns the bytes after the header, ICRC included.
    #[must_use]
    #[inline]
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

fields! {
    /// The header of an RDMA WRITE's first packet.
    Repr of View as v, RETH_LEN {
        /// Start address in the responder's memory.
        virtual_address: u64 = u64::from(be32(v.reth, 0)) << 32 | u64::from(be32(v.reth, 4)),
        /// Key of that memory.
        r_key: u32 = be32(v.reth, 8),
        /// Length of the whole message in bytes.
        dma_len: u32 = be32(v.reth, 12),
    }
}

impl Repr {
    /// Writes the header at the front of `buf`.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] below 16 bytes.
    pub fn emit(&self, buf: &mut [u8]) -> Result<(), WireError> {
        let out: &mut [u8; RETH_LEN] = room(buf)?;
        out[..8].copy_from_slice(&self.virtual_address.to_be_bytes());
        out[8..12].copy_from_slice(&self.r_key.to_be_bytes());
        out[12..].copy_from_slice(&self.dma_len.to_be_bytes());
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { virtual_address, r_key, dma_len } = self;
        write!(f, "write {dma_len} octets at {virtual_address:#x} key {r_key:#x}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests;

    #[test]
    fn golden_bytes() {
        let repr = Repr { virtual_address: 0x0102_0304_0506_0708, r_key: 0xa0b, dma_len: 4096 };
        let octets = [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0x0a, 0x0b, 0, 0, 0x10, 0];
        tests::hold(&repr, &octets, Repr::parse, Repr::emit);
        assert_eq!(repr.to_string(), "write 4096 octets at 0x102030405060708 key 0xa0b");
    }

    proptest! {
        #[test]
        fn what_parses_is_emitted_as_it_was(octets in any::<[u8; RETH_LEN]>()) {
            let mut out = [0; RETH_LEN];
            Repr::parse(&octets).unwrap().emit(&mut out).unwrap();
            prop_assert_eq!(out, octets);
        }
    }
}
