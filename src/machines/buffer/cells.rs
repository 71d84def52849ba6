//! Conversion of bytes to cells without a division.

/// Divides by a cell size that is fixed at start, rounding up: one multiplication per frame.
///
/// `ceil(len / cell) = floor(n / cell)` with `n = len + cell - 1`. With `m = ceil(2^63 / cell)` and
/// `e = m * cell - 2^63 < cell`, `floor(n * m / 2^63)` is exact while `n * e < 2^63`; here
/// `n < 2^33` and `e < 2^17`, so it is exact for every `u32` length.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellSize {
    reciprocal: u64,
    bytes: u32,
}

impl CellSize {
    /// Maximum cell size in bytes.
    pub(super) const MAX_BYTES: u32 = 1 << 16;

    /// Creates a cell size of 1 to [`Self::MAX_BYTES`] bytes; `None` for any other size.
    pub(super) const fn new(bytes: u32) -> Option<Self> {
        if bytes == 0 || bytes > Self::MAX_BYTES {
            return None;
        }
        Some(Self { reciprocal: (1_u64 << 63).div_ceil(bytes as u64), bytes })
    }

    /// Returns the bytes per cell.
    pub(super) const fn bytes(self) -> u32 {
        self.bytes
    }

    /// Returns the cells of a frame of `len` bytes, at least one.
    #[inline]
    pub(super) const fn cells_for(self, len: u32) -> u32 {
        let len = if len == 0 { 1 } else { len };
        let n = len as u64 + self.bytes as u64 - 1;
        // Doubling `n` replaces the shift by 63 with taking the upper half of the product.
        (((2 * n) as u128 * self.reciprocal as u128) >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_out_of_range_are_refused() {
        assert!(CellSize::new(0).is_none() && CellSize::new(CellSize::MAX_BYTES + 1).is_none());
    }

    #[test]
    fn every_frame_length_is_exact() {
        for bytes in [1, 2, 3, 7, 64, 80, 96, 144, 176, 192, 208, 254, 256, 1248, 65_535, 65_536] {
            let cell = CellSize::new(bytes).unwrap();
            for len in 1..=65_535 {
                assert_eq!(cell.cells_for(len), len.div_ceil(bytes), "{len} B in {bytes} B cells");
            }
            assert_eq!(cell.cells_for(0), 1);
        }
    }

    proptest! {
        #[test]
        fn every_length_is_exact(bytes in 1..=CellSize::MAX_BYTES, len in 1..=u32::MAX) {
            let cell = CellSize::new(bytes).unwrap();
            prop_assert_eq!(cell.cells_for(len), len.div_ceil(bytes));
            let whole = (len / bytes) * bytes;
            prop_assert_eq!(cell.cells_for(whole.max(1)), whole.max(1).div_ceil(bytes));
        }
    }
}
