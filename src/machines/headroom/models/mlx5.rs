//! Headroom of a cable in the Linux driver of NVIDIA's (Mellanox's) ConnectX NICs.
//!
//! `xoff = (301 + 2.16 * metres) * Gb/s + 2.72 * MTU` bytes, a rate below 40G counted as 40G. The
//! formula is from the driver's comment and is calculated exactly here, rounded up at the end. The
//! driver itself divides integers at each step, and so its result is up to a byte per Gb/s lower;
//! that number is the figure `driver`.

use super::{Estimate, Exact, Model, ModelError, frame, length};
use ground::units::{BitsPerSec, Bytes};

/// Inputs of the formula.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inputs {
    /// Link rate.
    pub rate: BitsPerSec,
    /// Cable length, one way, in millimetres. At most 1000 km.
    pub length_mm: u64,
    /// MTU of the interface. 64 to 65535 bytes.
    pub mtu: Bytes,
    /// Receive buffer, to calculate its thresholds.
    pub buffer: Option<Buffer>,
}

/// A receive buffer of the NIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Buffer {
    /// Size of the buffer.
    pub size: Bytes,
    /// Maximum MTU of the interface; below 9216 counts as 9216.
    pub max_mtu: Bytes,
    /// Bytes per cell.
    pub cell: u32,
}

impl Inputs {
    /// Default MTU of an interface.
    pub const MTU: Bytes = Bytes(1_500);

    /// Returns a link with the default MTU, without a buffer.
    #[must_use]
    pub const fn new(rate: BitsPerSec, length_mm: u64) -> Self {
        Self { rate, length_mm, mtu: Self::MTU, buffer: None }
    }
}

impl Buffer {
    /// Default cell size in bytes.
    pub const CELL: u32 = 128;
    /// Lower bound of the maximum MTU.
    pub const MAX_MTU: Bytes = Bytes(9_216);
}

/// Minimum rate in the formula.
const SLOWEST: BitsPerSec = BitsPerSec::gbps(40);

/// Returns the result of the driver's integer arithmetic, with the cable in whole metres.
fn driver(mbps: u64, length_mm: u64, mtu: u64) -> u64 {
    (301 + 216 * length_mm.div_ceil(1_000) / 100) * mbps / 1_000 + 272 * mtu / 100
}

/// Calculates the headroom, the driver's own result, and with a buffer its thresholds.
///
/// # Errors
/// If an input is out of its range, or the buffer is too small for the headroom.
pub fn estimate(inputs: &Inputs) -> Result<Estimate, ModelError> {
    const SOURCE: &str = "Linux mlx5, port_buffer.c";
    let (mm, mtu) = (length(inputs.length_mm)?, frame("max-frame", inputs.mtu)?);
    let rate = inputs.rate.max(SLOWEST).get();
    // 2.16 bytes per metre and Gb/s: millimetres in 10^5, bit/s in 10^9.
    let scale = 100_000_u128 * 1_000_000_000;
    let mut sum = Exact::over(scale);
    sum.add("fixed, 301 B per Gb/s", 8 * 301 * 100_000 * u128::from(rate), SOURCE);
    sum.add("cable, 2.16 B per m and Gb/s", 8 * 216 * u128::from(mm) * u128::from(rate), SOURCE);
    sum.add("MTU x 2.72", 8 * 272 * u128::from(mtu) * (scale / 100), SOURCE);
    // The driver has the rate in Mb/s.
    let own = driver(rate / 1_000_000, mm, mtu);
    let mut estimate = Estimate {
        model: Model::Mlx5,
        formula: "(301 + 2.16 x metres) x Gb/s (40 at least) + 2.72 x MTU",
        terms: sum.terms,
        figures: vec![("driver", Bytes(own))],
    };
    if let Some(buffer) = inputs.buffer {
        let max_mtu = buffer.max_mtu.max(Buffer::MAX_MTU).0;
        let xoff = estimate.bytes().0;
        // XOFF is sent at the size less the headroom, and XON a longest frame below that (port_buffer.c).
        let needed = Bytes(xoff + max_mtu + u64::from(buffer.cell));
        let size = buffer.size;
        if size < needed {
            return Err(ModelError::Buffer { size, needed });
        }
        estimate.figures.push(("xoff_threshold", Bytes(size.0 - xoff)));
        estimate.figures.push(("xon_threshold", Bytes(size.0 - xoff - max_mtu)));
    }
    Ok(estimate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_links_count_as_40g_and_fractions_are_rounded_up() {
        let at = |gbps| estimate(&Inputs::new(BitsPerSec::gbps(gbps), 7_000)).unwrap();
        // (301 + 15.12) * 40 + 4080 = 16724.8; the driver has 15 for 15.12.
        assert_eq!((at(10).bytes(), at(40).bytes()), (Bytes(16_725), Bytes(16_725)));
        assert_eq!(at(25).figures, [("driver", Bytes(16_720))]);
    }

    #[test]
    fn thresholds_leave_the_headroom_and_a_longest_frame() {
        let of = |size| {
            let buffer = Buffer { size: Bytes(size), max_mtu: Bytes(1_500), cell: Buffer::CELL };
            let link = Inputs::new(BitsPerSec::gbps(100), 100_000);
            estimate(&Inputs { buffer: Some(buffer), ..link })
        };
        let least = 55_780 + 9_216 + 128;
        assert_eq!(of(least - 1).unwrap_err().field(), "buffer");
        let figures = of(least).unwrap().figures;
        let thresholds = [("xoff_threshold", Bytes(9_344)), ("xon_threshold", Bytes(128))];
        assert_eq!(figures[1..], thresholds);
    }
}
