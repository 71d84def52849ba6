//! What changes from frame to frame of a stream: the values of a field, and the frame lengths.

use crate::plan::stream::{Sizes, Values};
use ground::rand::Rng;

/// Values of one field in a cycle.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    kind: Kind,
    /// Value in the next frame.
    value: u128,
    /// Number of values of this cycle before it.
    place: u64,
    /// Values per cycle.
    count: u64,
}

#[derive(Clone, Debug)]
enum Kind {
    List(Box<[u128]>),
    /// Decrements are steps that wrap around.
    Steps {
        start: u128,
        step: u128,
    },
    Chance {
        min: u128,
        max: u128,
        seed: u64,
        rng: Rng,
    },
}

impl Cycle {
    /// Creates the values of a validated plan, not yet truncated to the field's width.
    pub(super) fn new(values: &Values) -> Self {
        let (kind, count) = match *values {
            Values::List(ref list) => (Kind::List(list[..].into()), list.len() as u64),
            Values::Increment { start, step, count } => (Kind::Steps { start, step }, count),
            Values::Decrement { start, step, count } => {
                (Kind::Steps { start, step: step.wrapping_neg() }, count)
            }
            Values::Random { min, max, count, seed } => {
                (Kind::Chance { min, max, seed, rng: Rng::new(seed) }, count)
            }
        };
        let mut cycle = Self { kind, value: 0, place: 0, count };
        cycle.restart();
        cycle
    }

    /// Creates them for [`Self::has`] alone: a list is in order, and cut to the field's width.
    pub(super) fn known(values: &Values, bits: u8) -> Self {
        let mut cycle = Self::new(values);
        if let Kind::List(list) = &mut cycle.kind {
            list.iter_mut().for_each(|value| *value &= u128::MAX >> (128 - u32::from(bits)));
            // For binary search: a receiver asks for each frame.
            list.sort_unstable();
        }
        cycle
    }

    /// Returns the value in the next frame.
    #[inline]
    pub(super) const fn value(&self) -> u128 {
        self.value
    }

    /// Restarts from the first value.
    pub(super) fn restart(&mut self) {
        self.place = 0;
        self.value = match &mut self.kind {
            Kind::List(list) => list[0],
            Kind::Steps { start, .. } => *start,
            Kind::Chance { min, max, seed, rng } => {
                *rng = Rng::new(*seed);
                draw(rng, *min, *max)
            }
        };
    }

    /// Returns true if the last `bits` bits of a value of [`Self::known`] are these.
    pub(super) fn has(&self, value: u128, bits: u8) -> bool {
        let cut = u128::MAX >> (128 - u32::from(bits));
        match self.kind {
            Kind::List(ref list) => list.binary_search(&value).is_ok(),
            Kind::Steps { start, step } => {
                // A decrement is a step that wraps around: its distance counts downwards.
                let is_up = (step as i128) >= 0;
                let way =
                    if is_up { value.wrapping_sub(start) } else { start.wrapping_sub(value) } & cut;
                match (step as i128).unsigned_abs() {
                    0 => way == 0,
                    // Steps beyond the width of the field wrap around in it: any value may be one.
                    step if step.checked_mul(self.count.into()).is_none_or(|all| all > cut) => true,
                    step => way % step == 0 && way / step < self.count.into(),
                }
            }
            Kind::Chance { min, max, .. } => max > cut || (min..=max).contains(&value),
        }
    }

    /// Returns the difference of neighbours among the next `n` values, modulo 2^64, if they are of one
    /// cycle and differ by constant steps.
    #[inline]
    pub(super) fn step_of(&self, n: usize) -> Option<u64> {
        // The step from the last value to the first is another one.
        let is_one_cycle = n as u64 <= self.count - self.place;
        match &self.kind {
            Kind::Steps { step, .. } if is_one_cycle => Some(*step as u64),
            _ => None,
        }
    }

    /// Advances by `n` values for which [`Self::step_of`] is known.
    #[inline]
    pub(super) fn advance_many(&mut self, n: usize) {
        let Some(but_one) = n.checked_sub(1) else { return };
        let Kind::Steps { step, .. } = &self.kind else { unreachable!("it has steps") };
        // The last step may begin the next cycle, which `advance` does.
        self.value = self.value.wrapping_add(step.wrapping_mul(but_one as u128));
        self.place += but_one as u64;
        self.advance();
    }

    /// Advances to the next value.
    #[inline(always)]
    pub(super) fn advance(&mut self) {
        self.place += 1;
        match &self.kind {
            Kind::Steps { step, .. } if self.place < self.count => {
                self.value = self.value.wrapping_add(*step);
            }
            _ => self.go_on(),
        }
    }

    /// Calculates the value at the current place, or restarts.
    #[inline(never)]
    fn go_on(&mut self) {
        if self.place == self.count {
            self.restart();
            return;
        }
        match &mut self.kind {
            Kind::List(list) => self.value = list[self.place as usize],
            Kind::Steps { step, .. } => self.value = self.value.wrapping_add(*step),
            Kind::Chance { min, max, rng, .. } => self.value = draw(rng, *min, *max),
        }
    }
}

/// Returns a random number from `min` to `max`. Ranges of up to 2^64 are uniform to 1 in 2^64, by
/// the upper half of a product; wider ones use a remainder, which slightly prefers the first
/// numbers.
#[inline]
pub(super) fn draw(rng: &mut Rng, min: u128, max: u128) -> u128 {
    let span = max - min;
    if span < u128::from(u64::MAX) {
        return min + ((u128::from(rng.next_u64()) * (span + 1)) >> 64);
    }
    let wide = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
    min + span.checked_add(1).map_or(wide, |n| wide % n)
}

/// Sequence of frame lengths, in bytes with FCS.
#[derive(Clone, Debug)]
pub(super) struct Lengths {
    kind: LengthKind,
    /// Length of the next frame.
    size: u32,
    seed: u64,
    rng: Rng,
}

#[derive(Clone, Debug)]
enum LengthKind {
    Fixed(u32),
    Increment {
        start: u32,
        end: u32,
        step: u32,
    },
    Random {
        min: u32,
        max: u32,
    },
    /// Each size with the upper bound of its range of 64-bit random numbers; the last has the rest.
    Weighted(Box<[(u32, u64)]>),
}

impl Lengths {
    /// Creates the sequence of a validated plan.
    pub(super) fn new(sizes: &Sizes, seed: u64) -> Self {
        let kind = match *sizes {
            Sizes::Fixed(size) => LengthKind::Fixed(size),
            Sizes::Increment { start, end, step } => LengthKind::Increment { start, end, step },
            Sizes::Random { min, max } => LengthKind::Random { min, max },
            Sizes::Weighted(ref pairs) => LengthKind::Weighted(parts(pairs)),
        };
        let mut lengths = Self { kind, size: 0, seed, rng: Rng::new(seed) };
        lengths.restart();
        lengths
    }

    /// Returns the length of the next frame.
    #[inline]
    pub(super) const fn size(&self) -> u32 {
        self.size
    }

    /// Returns true if all frames have one length.
    #[inline]
    pub(super) const fn is_fixed(&self) -> bool {
        matches!(self.kind, LengthKind::Fixed(_))
    }

    /// Restarts the sequence.
    pub(super) fn restart(&mut self) {
        // A restarted stream sends the same lengths again.
        self.rng = Rng::new(self.seed);
        self.size = match self.kind {
            LengthKind::Increment { start, .. } => start,
            _ => self.drawn(),
        };
    }

    /// Advances to the next frame.
    #[inline]
    pub(super) fn advance(&mut self) {
        match self.kind {
            LengthKind::Fixed(_) => {}
            LengthKind::Increment { start, end, step } => {
                let next = self.size.saturating_add(step);
                self.size = if next > end { start } else { next };
            }
            LengthKind::Random { .. } | LengthKind::Weighted(_) => self.size = self.drawn(),
        }
    }

    fn drawn(&mut self) -> u32 {
        match &self.kind {
            LengthKind::Fixed(size) => *size,
            LengthKind::Increment { start, .. } => *start,
            LengthKind::Random { min, max } => {
                draw(&mut self.rng, u128::from(*min), u128::from(*max)) as u32
            }
            LengthKind::Weighted(parts) => {
                let drawn = self.rng.next_u64();
                // The rounding of the bounds must not leave a number without a size.
                let last = parts.len() - 1;
                let at = parts[..last].partition_point(|(_, end)| *end <= drawn);
                parts[at].0
            }
        }
    }
}

/// Converts weights to ranges of 64-bit random numbers.
fn parts(pairs: &[(u32, f64)]) -> Box<[(u32, u64)]> {
    let total: f64 = pairs.iter().map(|(_, weight)| weight).sum();
    let mut before = 0.0;
    let end = |(size, weight): &(u32, f64)| {
        before += weight;
        // The conversion saturates where rounding would exceed the maximum.
        (*size, (before / total * 2_f64.powi(64)) as u64)
    };
    pairs.iter().map(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(values: &Values, n: usize) -> Vec<u128> {
        let mut cycle = Cycle::new(values);
        let next = || {
            let value = cycle.value();
            cycle.advance();
            value
        };
        std::iter::repeat_with(next).take(n).collect()
    }

    #[test]
    fn what_is_drawn_repeats_with_its_count_and_its_seed_and_stays_in_its_range() {
        let chance = |min, max, seed| Values::Random { min, max, count: 50, seed };
        for (min, max) in [(3, 9), (0, u128::MAX), (5, 5), (1 << 70, 1 << 90)] {
            let values = take(&chance(min, max, 1), 120);
            assert_eq!(values[..50], values[50..100]);
            assert!(values.iter().all(|v| (min..=max).contains(v)), "{min} to {max}");
            assert_eq!(values, take(&chance(min, max, 1), 120));
            assert_eq!(values == take(&chance(min, max, 2), 120), min == max);
        }
        let mut seen: Vec<_> = take(&chance(3, 9, 1), 50);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [3, 4, 5, 6, 7, 8, 9]);
    }

    fn take_lengths(sizes: &Sizes, seed: u64, n: usize) -> Vec<u32> {
        let mut lengths = Lengths::new(sizes, seed);
        let next = || {
            let size = lengths.size();
            lengths.advance();
            size
        };
        std::iter::repeat_with(next).take(n).collect()
    }

    #[test]
    fn lengths_go_up_in_steps_and_start_again() {
        let sizes = Sizes::Increment { start: 64, end: 128, step: 30 };
        assert_eq!(take_lengths(&sizes, 0, 5), [64, 94, 124, 64, 94]);
        assert_eq!(take_lengths(&Sizes::Fixed(99), 0, 2), [99, 99]);
    }

    #[test]
    fn drawn_lengths_have_their_weights_and_repeat_with_the_seed() {
        let mix = Sizes::Weighted(vec![(64, 7.0), (570, 4.0), (1518, 1.0)]);
        let drawn = take_lengths(&mix, 5, 120_000);
        for (size, share) in [(64, 7.0), (570, 4.0), (1518, 1.0)] {
            let n = drawn.iter().filter(|s| **s == size).count() as f64;
            let expected: f64 = share * 10_000.0;
            assert!((n - expected).abs() < 4.0 * expected.sqrt(), "{n} of {size}, seed 5");
        }
        assert_eq!(drawn, take_lengths(&mix, 5, 120_000));
        assert_ne!(drawn, take_lengths(&mix, 6, 120_000));
        let range = take_lengths(&Sizes::Random { min: 64, max: 67 }, 5, 200);
        assert!((64..=67).all(|size| range.contains(&size)), "{range:?}");
        assert!(range.iter().all(|size| (64..=67).contains(size)));
    }
}
