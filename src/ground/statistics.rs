//! Statistics of measured values: the figures that results show of them, and the one rule of their percentiles.
//!
//! A percentile is that of the nearest rank: the smallest value that at least so many percent of the values do not
//! exceed. It is one of the values, and no number between two of them.

use serde::{Deserialize, Serialize};

/// Figures of measured values. The JSON is that of the measurements of a link; other results write forms of their own,
/// whose names are older than this type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Statistics<T> {
    /// Number of values.
    #[serde(skip)]
    pub count: u64,
    /// Least value.
    pub min: T,
    /// Mean, rounded as its owner says.
    pub mean: T,
    /// Median.
    pub p50: T,
    /// 90th percentile.
    pub p90: T,
    /// 99th percentile.
    pub p99: T,
    /// 99.9th percentile.
    #[serde(skip)]
    pub p999: T,
    /// Largest value.
    pub max: T,
}

impl<T: Copy> Statistics<T> {
    /// Returns the figures of values in ascending order with this mean; `None` without values.
    #[must_use]
    pub fn of(ascending: &[T], mean: T) -> Option<Self> {
        Some(Self {
            count: ascending.len() as u64,
            min: *ascending.first()?,
            mean,
            p50: percentile(ascending, 50)?,
            p90: percentile(ascending, 90)?,
            p99: percentile(ascending, 99)?,
            p999: nearest_rank(ascending, 999, 1_000)?,
            max: *ascending.last()?,
        })
    }

    /// Returns the same figures in another unit or type.
    #[must_use]
    pub fn map<U>(&self, convert: impl Fn(T) -> U) -> Statistics<U> {
        Statistics {
            count: self.count,
            min: convert(self.min),
            mean: convert(self.mean),
            p50: convert(self.p50),
            p90: convert(self.p90),
            p99: convert(self.p99),
            p999: convert(self.p999),
            max: convert(self.max),
        }
    }
}

/// Returns a percentile, 0 to 100, of values in ascending order; `None` without values.
#[must_use]
pub fn percentile<T: Copy>(ascending: &[T], percent: usize) -> Option<T> {
    nearest_rank(ascending, percent, 100)
}

fn nearest_rank<T: Copy>(ascending: &[T], part: usize, whole: usize) -> Option<T> {
    // Ranks count from 1, and that of a part of 0 is the first.
    let rank = (ascending.len() * part).div_ceil(whole).max(1);
    ascending.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_nearest_rank() {
        let hundred: Vec<u32> = (1..=100).collect();
        for n in 1..=100 {
            assert_eq!(percentile(&hundred, n), Some(n as u32));
        }
        let at = |percent| percentile(&[10, 20, 30], percent);
        assert_eq!([0, 33, 34, 66, 67, 100].map(at), [10, 10, 20, 20, 30, 30].map(Some));
        assert_eq!(percentile(&[] as &[u32], 50), None);
    }

    #[test]
    fn figures_are_those_of_all_values_in_every_unit() {
        let thousand: Vec<u32> = (1..=1_000).collect();
        let found = Statistics::of(&thousand, 501).unwrap();
        let of = |s: Statistics<u32>| [s.min, s.mean, s.p50, s.p90, s.p99, s.p999, s.max];
        assert_eq!((found.count, of(found)), (1_000, [1, 501, 500, 900, 990, 999, 1_000]));
        let doubled = found.map(|value| value * 2);
        assert_eq!((doubled.count, of(doubled)), (1_000, of(found).map(|value| value * 2)));
        assert_eq!(Statistics::of(&[] as &[u32], 0), None);
        let one = Statistics::of(&[7_u32], 7).unwrap();
        assert_eq!(
            serde_json::to_string(&one).unwrap(),
            r#"{"min":7,"mean":7,"p50":7,"p90":7,"p99":7,"max":7}"#
        );
    }
}
