//! Faults of one link that overlap: it comes up when none of them holds it down any more.

use std::collections::BTreeMap;

use ground::time::Instant;
use sim::{Fault, FaultKind, LinkId};

/// Times at which the faults of a file hold links down, each from its begin to before its end.
#[derive(Default)]
pub(super) struct Held(BTreeMap<LinkId, Vec<(Instant, Instant)>>);

impl Held {
    /// A flap of a link.
    pub(super) fn flap(&mut self, link: LinkId, from: Instant, until: Instant) {
        self.0.entry(link).or_default().push((from, until));
    }

    /// Takes out of all faults those by which a link would come up while another one holds it down. A link
    /// that is taken down without a time is held until the next time that the file names for its coming up.
    pub(super) fn keep_down(mut self, faults: &mut Vec<Fault>, named: &[(LinkId, Instant, bool)]) {
        for (link, from, _) in named.iter().filter(|(.., up)| !up) {
            let ends = named.iter().filter(|(of, at, up)| *up && of == link && at > from);
            let until = ends.map(|(_, at, _)| *at).min().unwrap_or(Instant::NEVER);
            self.flap(*link, *from, until);
        }
        for times in self.0.values_mut() {
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
        let times = self.0.get(&link).map_or(&[][..], Vec::as_slice);
        let begun = times.partition_point(|(from, _)| *from <= at);
        begun.checked_sub(1).is_some_and(|last| times[last].1 > at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ground::time::Duration;

    /// Returns the times in microseconds at which link 0 comes up: by flaps (from, until), and named ones.
    fn ups(flaps: &[(u64, u64)], named: &[(u64, bool)]) -> Vec<u64> {
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
        named.iter().for_each(|(us, up)| push(*us, *up));
        let named: Vec<_> = named.iter().map(|(us, up)| (link, at(*us), *up)).collect();
        held.keep_down(&mut faults, &named);
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
