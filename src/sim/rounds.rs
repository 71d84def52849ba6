//! Rounds of a network in parts: how far each part may run before mail is exchanged.

use super::partition::Partition;
use ground::time::{Duration, Instant};

/// State of the rounds of several parts.
#[derive(Debug)]
pub(super) struct Rounds {
    pub(super) partition: Partition,
    /// By part and part: least time from an event of one to an arrival at the other that follows from it.
    reach: Vec<Vec<Duration>>,
    /// By part: no event is earlier. Set before each round.
    pub(super) bounds: Vec<Instant>,
    /// Events of the last round.
    pub(super) events: u64,
    /// Rounds, and those of them that the executor ran.
    pub(super) run: (u64, u64),
}

impl Rounds {
    /// Creates the state before the first round. `delays` has the least delay of a line by part and part.
    pub(super) fn new(partition: Partition, mut delays: Vec<Vec<Duration>>) -> Self {
        close(&mut delays);
        let bounds = vec![Instant::ZERO; delays.len()];
        Self { partition, reach: delays, bounds, events: 0, run: (0, 0) }
    }

    /// Returns a time not later than the first arrival of mail at a part.
    pub(super) fn first_mail(&self, to: usize) -> Instant {
        let arrivals = self.bounds.iter().zip(&self.reach);
        let arrivals = arrivals.map(|(bound, reach)| bound.saturating_add(reach[to]));
        arrivals.fold(Instant::NEVER, Instant::min)
    }

    /// Makes parts run further than frames of other parts take: a planted bug.
    #[cfg(test)]
    pub(super) fn widen(&mut self) {
        self.reach.iter_mut().flatten().for_each(|reach| *reach = reach.saturating_mul(2));
    }
}

/// From the delays of single lines to those of the shortest ways, at the end of which a part may be where it
/// began. Lines inside of a part do not count.
fn close(reach: &mut [Vec<Duration>]) {
    let parts = reach.len();
    (0..parts).for_each(|n| reach[n][n] = Duration::MAX);
    for via in 0..parts {
        for from in 0..parts {
            for to in 0..parts {
                let by = reach[from][via].as_picos().saturating_add(reach[via][to].as_picos());
                reach[from][to] = reach[from][to].min(Duration::from_picos(by));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_way_may_lead_through_other_parts_and_back() {
        let of = |n| if n == 0 { Duration::MAX } else { Duration::from_nanos(n) };
        let mut reach: Vec<Vec<Duration>> =
            [[7, 5, 0], [3, 9, 1], [8, 0, 0]].iter().map(|row| row.map(of).to_vec()).collect();
        close(&mut reach);
        assert_eq!(reach[0], [of(8), of(5), of(6)]);
        assert_eq!(reach[1], [of(3), of(8), of(1)]);
        assert_eq!(reach[2], [of(8), of(13), of(14)]);
    }
}
