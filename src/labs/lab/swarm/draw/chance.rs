//! Random numbers from one seed.

use ground::rand::Rng;
use ground::time::Duration;

/// A seeded random source.
pub(super) struct Chance(Rng);

impl Chance {
    pub(super) const fn new(seed: u64) -> Self {
        Self(Rng::new(seed))
    }

    /// Returns a 64-bit number.
    pub(super) const fn any(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number from `least` to `most`, uniformly.
    pub(super) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.next_u64() % (most - least + 1)
    }

    /// Returns a number from `least` (not 0) to `most`, uniform on a logarithmic scale.
    pub(super) fn scale(&mut self, least: u64, most: u64) -> u64 {
        let doublings = u64::from((most / least).ilog2());
        let n = least << self.between(0, doublings);
        self.between(n, (2 * n - 1).min(most).max(n)).min(most)
    }

    /// Returns true with a probability of `n` percent.
    pub(super) fn percent(&mut self, n: u64) -> bool {
        self.0.next_u64() % 100 < n
    }

    /// Returns one of the elements.
    pub(super) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[(self.0.next_u64() % of.len() as u64) as usize].clone()
    }

    /// Returns some of the elements, at least one, in their order.
    pub(super) fn some<T: Clone>(&mut self, of: &[T]) -> Vec<T> {
        let first = self.pick(of);
        let rest = of.to_vec();
        let mut chosen: Vec<T> = rest.into_iter().filter(|_| self.percent(50)).collect();
        if chosen.is_empty() {
            chosen.push(first);
        }
        chosen
    }

    /// Returns a time from `least` to `most` nanoseconds, uniform on a logarithmic scale.
    pub(super) fn span(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_nanos(self.scale(least, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_is_in_its_range_and_all_of_it_comes_up() {
        let mut chance = Chance::new(7);
        let drawn: Vec<u64> = (0..2_000).map(|_| chance.scale(3, 100)).collect();
        assert!(drawn.iter().all(|n| (3..=100).contains(n)));
        assert!(drawn.contains(&3) && drawn.contains(&100));
        let drawn: Vec<u64> = (0..100).map(|_| chance.between(5, 7)).collect();
        assert!([5, 6, 7].iter().all(|n| drawn.contains(n)));
        assert!((0..100).all(|_| !chance.some(&[1, 2, 3]).is_empty()));
    }
}
