//! Words of changing bytes, and their contributions to checksums.

/// Up to eight changing bytes.
#[derive(Clone, Debug)]
pub(super) struct Word {
    /// Offset of its first byte.
    pub(super) at: usize,
    /// Number of bytes.
    pub(super) octets: usize,
    /// Bits that change; the last byte's are the lowest.
    pub(super) mask: u64,
    /// True if all bits change.
    pub(super) whole: bool,
    /// The checksums that cover it.
    pub(super) taps: Vec<Tap>,
}

/// Contribution of a word to a checksum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tap {
    /// Index of the checksum.
    pub(super) sum: usize,
    /// Bits of the word that it covers.
    pub(super) mask: u64,
    /// True if the word's last byte is the upper one of the checksum's 16 bits.
    pub(super) swap: bool,
}

impl Word {
    pub(super) fn new(at: usize, octets: usize, mask: u64, taps: Vec<Tap>) -> Self {
        Self { at, octets, mask, whole: mask == u64::MAX >> (64 - 8 * octets), taps }
    }

    /// Writes the changing bits; `value` must have no others set.
    #[inline]
    pub(super) fn put(&self, octets: &mut [u8], value: u64) {
        match (self.whole, &mut octets[self.at..self.at + self.octets]) {
            (true, [a, b]) => [*a, *b] = (value as u16).to_be_bytes(),
            (true, [a, b, c, d]) => [*a, *b, *c, *d] = (value as u32).to_be_bytes(),
            (_, out) => {
                let (value, mask) = (value.to_be_bytes(), self.mask.to_be_bytes());
                let first = 8 - self.octets;
                for (n, octet) in out.iter_mut().enumerate() {
                    *octet = *octet & !mask[first + n] | value[first + n];
                }
            }
        }
    }

    /// Returns the changing bits of a frame that holds them.
    #[inline]
    pub(super) fn value(&self, octets: &[u8]) -> u64 {
        let octets = &octets[self.at..self.at + self.octets];
        octets.iter().fold(0, |value, octet| value << 8 | u64::from(*octet)) & self.mask
    }

    /// Clears the changing bits.
    pub(super) fn clear(&self, octets: &mut [u8]) {
        self.put(octets, 0);
    }
}

impl Tap {
    /// Returns the word's contribution to the sum.
    #[inline]
    pub(super) const fn part_of(self, value: u64) -> u64 {
        let value = value & self.mask;
        let sum = (value >> 32) + (value & 0xffff_ffff);
        // Swapping the bytes of each word swaps the bytes of the sum (RFC 1071 2B).
        if self.swap { fold(sum).swap_bytes() as u64 } else { sum }
    }
}

/// Returns the sum of all 16-bit words of `sum`, in 16 bits.
#[inline(always)]
pub(super) const fn fold(sum: u64) -> u16 {
    // Each half is added to the other: the upper one is then their sum with the carry of the lower
    // one, the end-around carry of ones' complement addition.
    let sum = (sum.wrapping_add(sum.rotate_right(32)) >> 32) as u32;
    (sum.wrapping_add(sum.rotate_right(16)) >> 16) as u16
}
