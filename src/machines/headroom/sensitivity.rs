//! Effect of an error of a measured delay on the headroom: the accuracy analysis of the P802.1Qdt
//! proposal (Qdt, S1), for any link and any error.

use serde::Serialize;

use super::delay::{Frames, bits_in};
use super::measured::Accuracy;
use ground::time::Duration;
use ground::units::BitsPerSec;

/// Effect of an error on a headroom.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Effect {
    /// Bits that the link carries in the time of the error, rounded up.
    pub bits: u64,
    /// The same in bytes, rounded up.
    pub bytes: u64,
    /// Cells that the headroom takes more with the error added; 0 if the last cell absorbs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cells: Option<u64>,
    /// Error in percent of the headroom.
    pub percent: f64,
    /// Error in the units that the proposal asks for.
    #[serde(flatten)]
    pub accuracy: Accuracy,
}

impl Effect {
    /// Returns the effect of `error` on a headroom of `headroom_bits` (1 or more) of a link of
    /// `rate` that carries `frames`, in a buffer with cells of `cell` bytes (1 or more).
    #[must_use]
    pub fn of(
        error: Duration,
        rate: BitsPerSec,
        frames: Frames,
        headroom_bits: u64,
        cell: Option<u32>,
    ) -> Self {
        assert!(headroom_bits > 0, "a headroom has at least one frame");
        let bits = bits_in(rate, error.as_picos());
        let cells = |cell: u32| {
            let of = |bits: u64| bits.div_ceil(8).div_ceil(u64::from(cell));
            of(headroom_bits + bits) - of(headroom_bits)
        };
        Self {
            bits,
            bytes: bits.div_ceil(8),
            cells: cell.map(cells),
            percent: bits as f64 / headroom_bits as f64 * 100.0,
            accuracy: Accuracy::of(error, rate, frames),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DelayInputs;
    use crate::models::ieee::{Inputs, estimate};

    const RATE: BitsPerSec = BitsPerSec::gbps(100);

    fn effect(metres: u64, error_ns: u64, cell: Option<u32>) -> Effect {
        let bits = estimate(&Inputs::new(RATE, metres * 1_000)).unwrap().bits();
        let frames = Frames::up_to(DelayInputs::MAX_FRAME);
        Effect::of(Duration::from_nanos(error_ns), RATE, frames, bits, cell)
    }

    /// All six rows of the table; the proposal gives its percentages with one digit.
    #[test]
    fn the_published_table_of_mismatches() {
        for (metres, error_ns, bytes, percent) in [
            (500, 10, 125, "0.1"),
            (500, 100, 1_250, "1"),
            (100, 10, 125, "0.3"),
            (100, 100, 1_250, "3"),
            (20, 10, 125, "0.4"),
            (20, 100, 1_250, "4"),
        ] {
            let effect = effect(metres, error_ns, None);
            let shown = match error_ns {
                10 => format!("{:.1}", effect.percent),
                _ => format!("{:.0}", effect.percent),
            };
            assert_eq!(
                (effect.bytes, shown.as_str()),
                (bytes, percent),
                "{metres} m {error_ns} ns"
            );
        }
    }

    #[test]
    fn an_error_takes_a_cell_only_if_the_last_one_has_no_room() {
        // 42096 bytes are 263.1 cells of 160: 144 bytes are free in the last one.
        assert_eq!(effect(100, 10, Some(160)).cells, Some(0));
        assert_eq!(effect(100, 11, Some(160)).cells, Some(0));
        assert_eq!(effect(100, 12, Some(160)).cells, Some(1));
        // 1250 bytes are 7.8 cells.
        assert_eq!(effect(100, 100, Some(160)).cells, Some(7));
        assert_eq!(effect(100, 0, Some(160)).cells, Some(0));
    }

    #[test]
    fn no_error_has_no_effect() {
        let none = effect(100, 0, None);
        assert_eq!((none.bits, none.bytes, none.percent), (0, 0, 0.0));
        assert_eq!((none.accuracy.quanta, none.cells), (0.0, None));
    }
}
