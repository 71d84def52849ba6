//! Loads on a logarithmic grid, so that halves of intervals are exact and goals share loads.

/// Index of a load on the grid: 0 is the largest load, each step is smaller by the same ratio.
pub(super) type Slot = u32;

/// The loads between a largest and a smallest one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Grid {
    max: f64,
    min: f64,
    /// Natural logarithm of the ratio of neighbours, above 0.
    step: f64,
    last: Slot,
}

/// Steps per width where the widths of the goals have no common one.
const FINE: f64 = 4.0;

impl Grid {
    /// A grid for intervals of relative `widths`, in frames/s.
    pub(super) fn new(min: f64, max: f64, widths: &[f64]) -> Self {
        let smallest = widths.iter().copied().fold(1.0, f64::min);
        let unit = log_width(smallest);
        let whole = |w: &f64| {
            let times = log_width(*w) / unit;
            (times - times.round()).abs() < 1e-9
        };
        let step = if widths.iter().all(whole) { unit } else { unit / FINE };
        let last = ((max / min).ln() / step).ceil() as Slot;
        Self { max, min, step, last }
    }

    /// Returns the index of the smallest load.
    pub(super) fn last(&self) -> Slot {
        self.last
    }

    /// Returns a load in frames/s.
    pub(super) fn load(&self, slot: Slot) -> f64 {
        if slot >= self.last { self.min } else { self.max * (-self.step * f64::from(slot)).exp() }
    }

    /// Returns the largest load that is not above `load`, or the smallest of all.
    pub(super) fn floor(&self, load: f64) -> Slot {
        if load >= self.max {
            return 0;
        }
        if load <= self.min {
            return self.last;
        }
        let slot = ((self.max / load).ln() / self.step).ceil() as Slot;
        // A rounding of the logarithm may hit the neighbour.
        let slot = if slot > 0 && self.load(slot - 1) <= load { slot - 1 } else { slot };
        slot.min(self.last)
    }

    /// Returns the steps within a relative width, at least 1.
    pub(super) fn steps(&self, width: f64) -> u32 {
        ((log_width(width) / self.step + 1e-9).floor() as u32).max(1)
    }
}

/// Returns the logarithm of the ratio of an interval's ends.
fn log_width(width: f64) -> f64 {
    -(1.0 - width).ln()
}
