//! Faults of one link that overlap: it comes up when none of them holds it down any more.

use std::collections::BTreeMap;

use ground::time::Instant;
use sim::{Fault, FaultKind, LinkId};

/// The faults of a file that hold links down.
#[derive(Default)]
pub(super) struct Held {
    /// By link: times from the begin of a fault to before its end.
    times: BTreeMap<LinkId, Vec<(Instant, Instant)>>,
    /// Entries of the file that take a link down, or up, and leave it so.
    changes: Vec<LinkChange>,
}

/// An entry `link_down` or `link_up`.
struct LinkChange {
    link: LinkId,
    at: Instant,
    up: bool,
}

impl Held {
    /// Adds a flap of a link.
    pub(super) fn flap(&mut self, link: LinkId, from: Instant, until: Instant) {
        self.times.entry(link).or_default().push((from, until));
    }

    /// Adds an entry that takes a link down, or up.
    pub(super) fn change(&mut self, link: LinkId, at: Instant, up: bool) {
        self.changes.push(LinkChange { link, at, up });
    }

    /// Takes out of all faults those by which a link would come up while another one holds it down. An entry
    /// `link_down` holds its link until the next `link_up` of it.
    pub(super) fn keep_down(mut self, faults: &mut Vec<Fault>) {
        let changes = core::mem::take(&mut self.changes);
        for down in changes.iter().filter(|change| !change.up) {
            let ends = changes.iter().filter(|c| c.up && c.link == down.link && c.at > down.at);
            let until = ends.map(|change| change.at).min().unwrap_or(Instant::NEVER);
            self.flap(down.link, down.at, until);
        }
        for times in self.times.values_mut() {
            times.sort_unstable();
            // From here on the end of each is the last one of all that began before.
            let mut last = Instant::ZERO;
            for (_, until) in times {
                last = last.max(*until);
                *until = last;
            }
        }
        faults.retain(|fault| match fault.kind {
            FaultKind::Link { link, up: true } => !self.is_down(link, fault.at),
            _ => true,
        });
    }

    fn is_down(&self, link: LinkId, at: Instant) -> bool {
        let times = self.times.get(&link).map_or(&[][..], Vec::as_slice);
        let begun = times.partition_point(|(from, _)| *from <= at);
        begun.checked_sub(1).is_some_and(|last| times[last].1 > at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ground::time::Duration;

    /// Returns the times in microseconds at which link 0 comes up: by flaps (from, until), and by changes
    /// (at, up).
    fn ups(flaps: &[(u64, u64)], changes: &[(u64, bool)]) -> Vec<u64> {
        let at = |us: u64| Instant::ZERO + Duration::from_micros(us);
        let (link, mut held, mut faults) = (LinkId(0), Held::default(), Vec::new());
        let mut push = |us, up| {
            faults.push(Fault { at: at(us), kind: FaultKind::Link { link, up } });
        };
        for (from, until) in flaps {
            held.flap(link, at(*from), at(*until));
            push(*from, false);
            push(*until, true);
        }
        for (us, up) in changes {
            push(*us, *up);
            held.change(link, at(*us), *up);
        }
        held.keep_down(&mut faults);
        let up = |fault: &Fault| fault.kind == FaultKind::Link { link, up: true };
        let times = faults.iter().filter(|f| up(f)).map(|f| f.at.since(Instant::ZERO));
        times.map(|time| time.as_picos() / 1_000_000).collect()
    }

    #[test]
    fn a_link_comes_up_when_nothing_holds_it_down() {
        assert_eq!(ups(&[(100, 300), (110, 120)], &[]), [300]);
        assert_eq!(ups(&[(110, 120), (100, 300)], &[]), [300]);
        assert_eq!(ups(&[(100, 200), (150, 250)], &[]), [250]);
        // One that begins as the other ends goes on; the order of the file says nothing.
        assert_eq!(ups(&[(100, 200), (200, 250)], &[]), [250]);
        assert_eq!(ups(&[(200, 250), (100, 200)], &[]), [250]);
        assert_eq!(ups(&[(100, 200), (201, 250)], &[]), [200, 250]);
        assert_eq!(ups(&[(100, 200)], &[(150, false)]), [0; 0]);
        assert_eq!(ups(&[(100, 200)], &[(150, false), (180, true)]), [200]);
        assert_eq!(ups(&[(100, 200)], &[(150, false), (300, true)]), [300]);
        assert_eq!(ups(&[], &[(1, false), (2, true), (3, false), (4, true)]), [2, 4]);
        // Coming up ends no flap.
        assert_eq!(ups(&[(100, 200)], &[(150, true)]), [200]);
    }
}
