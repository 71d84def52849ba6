//! The mutation matrix: every check, by every planted bug, by every excuse that is active at another
//! place, at another time or for another priority. Each combination has to FAIL, but for those in which
//! the check cannot see what it judges ([`elsewhere::is_blind`]): they are not judged, and never PASS.
//!
//! [`bugs::rows`] and [`bugs::not_judged`] match on [`Check`], so a check without bugs does not compile.

mod bugs;
mod elsewhere;

use super::fixture::*;
use crate::check::{Check, Checkers, Finding, Shares};
use crate::*;
use ground::time::Instant;
use ground::verdict::Verdict;

/// The least number of bugs of a check.
const LEAST: usize = 5;

/// The witness of the matrix: the checkers, which are shown what `seen` makes of events.
struct Watch {
    checkers: Checkers,
    shares: Shares,
    seen: Seen,
    count: [u64; 4],
}

/// The events shown in place of one, by the counts so far.
type Seen = fn(&mut [u64; 4], Event) -> Vec<Event>;

/// A network in which nothing is wrong, and the bugs that are planted in it.
struct Row {
    plan: fn() -> NetworkPlan,
    /// Microseconds that it runs.
    us: u64,
    bugs: Vec<Bug>,
}

/// Something that is done wrong.
struct Bug {
    name: &'static str,
    /// Part of the network that the checkers know.
    known: fn(&mut NetworkPlan),
    /// Part of the network that they do not know.
    plan: fn(&mut NetworkPlan),
    built: fn(&mut Network<Watch>),
    seen: Seen,
    /// Part of what the check says about it.
    says: &'static [&'static str],
}

impl Bug {
    /// Nothing wrong.
    const NONE: Self = Self {
        name: "none",
        known: |_| (),
        plan: |_| (),
        built: |_| (),
        seen: |_, e| vec![e],
        says: &[],
    };

    const fn says(self, says: &'static [&'static str]) -> Self {
        Self { says, ..self }
    }

    const fn plan(name: &'static str, plan: fn(&mut NetworkPlan)) -> Self {
        Self { name, plan, ..Self::NONE }
    }

    const fn built(name: &'static str, built: fn(&mut Network<Watch>)) -> Self {
        Self { name, built, ..Self::NONE }
    }

    const fn seen(name: &'static str, seen: Seen) -> Self {
        Self { name, seen, ..Self::NONE }
    }

    const fn known(name: &'static str, known: fn(&mut NetworkPlan)) -> Self {
        Self { name, known, ..Self::NONE }
    }
}

impl See for Watch {
    fn see(&mut self, event: Event) {
        for event in (self.seen)(&mut self.count, event) {
            event.show(&mut self.checkers);
            event.show(&mut self.shares);
        }
    }
    fn sample(&mut self, at: Instant, nodes: &mut Nodes) {
        self.checkers.sampled(at, nodes);
    }
}

/// The finding of a check with a bug and an excuse.
fn finding(check: Check, row: &Row, bug: &Bug, excuse: impl Fn(&mut NetworkPlan)) -> Finding {
    let mut plan = (row.plan)();
    (bug.known)(&mut plan);
    excuse(&mut plan);
    let (from, to) = bugs::WINDOW;
    let (checkers, shares) = (Checkers::new(&plan), Shares::new(&plan, at(from), at(to)));
    let watch = Watch { checkers, shares, seen: bug.seen, count: [0; 4] };
    (bug.plan)(&mut plan);
    let mut network = Network::new(&plan, watch).unwrap();
    (bug.built)(&mut network);
    network.run_until(at(row.us));
    let (Watch { checkers, shares, .. }, mut nodes) = network.finish();
    if check == Check::Fairness {
        return shares.finding(&bugs::EQUAL, bugs::TOLERANCE);
    }
    of(&checkers.finish(at(row.us), &mut nodes), check).clone()
}

/// A row of the matrix: each bug of a check by each excuse.
fn every_bug_is_seen(check: Check) {
    let rows = bugs::rows(check);
    let planted: usize = rows.iter().map(|row| row.bugs.len()).sum();
    assert!(planted >= LEAST, "{check:?} has {planted} planted bugs");
    for row in &rows {
        let found = finding(check, row, &Bug::NONE, |_| ());
        assert_eq!(found.verdict, Verdict::Pass, "{check:?}: {found:?}");
        for bug in &row.bugs {
            let found = finding(check, row, bug, |_| ());
            let said = bug.says.iter().all(|words| found.detail.contains(words));
            assert!(said, "{check:?}: {}: {found:?}", bug.name);
        }
        for excuse in elsewhere::all(&(row.plan)()) {
            let found = finding(check, row, &Bug::NONE, &excuse.plant);
            assert_ne!(found.verdict, Verdict::Fail, "{check:?} with {}: {found:?}", excuse.name);
            for bug in &row.bugs {
                let found = finding(check, row, bug, &excuse.plant);
                let (name, with) = (bug.name, excuse.name);
                let blind = elsewhere::is_blind(check, &excuse);
                let allowed =
                    found.verdict == Verdict::Fail || blind && found.verdict == Verdict::NotJudged;
                assert!(allowed, "{check:?}: {name} with {with}: {found:?}");
            }
        }
    }
}

macro_rules! rows {
    ($($test:ident: $check:ident,)*) => {
        $(#[test]
        fn $test() {
            every_bug_is_seen(Check::$check);
        })*

        #[test]
        fn every_check_has_a_row() {
            assert_eq!(Check::ALL, [$(Check::$check),*]);
        }
    };
}

rows! {
    every_bug_in_frames_is_seen: Frames,
    every_bug_in_cells_is_seen: Cells,
    every_bug_that_loses_is_seen: Lossless,
    every_bug_in_obeying_pauses_is_seen: PauseLegality,
    every_bug_in_telling_pauses_is_seen: PausesSent,
    every_pause_without_end_is_seen: PausesEnd,
    every_deadlock_is_seen: Deadlock,
    every_idle_line_is_seen: IdleLines,
    every_bug_in_marking_is_seen: EcnBeforePfc,
    every_wrong_mark_is_seen: Marks,
    every_unequal_share_is_seen: Fairness,
}

#[test]
fn every_check_says_so_where_there_is_nothing_to_judge() {
    for check in Check::ALL {
        let (row, flows) = bugs::not_judged(check);
        let found = match check {
            Check::Fairness => Shares::new(&(row.plan)(), at(0), at(9)).finding(flows, 0.1),
            _ => finding(check, &row, &Bug::NONE, |_| ()),
        };
        assert_eq!(found.verdict, Verdict::NotJudged, "{found:?}");
    }
}
