//! Search of the first value that holds, among values in order, by bisection.

use std::collections::BTreeMap;

use ground::verdict::Verdict;

/// Values that were tried, and the edge between those that hold and those that do not.
///
/// Values are numbered from the wanted end: the least value for a search of the least, the largest for one
/// of the largest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Edge {
    /// Verdicts of all values that were tried; PASS for one that holds.
    pub(super) tried: BTreeMap<u64, Verdict>,
    /// The first value that holds; `None` if even the last one does not.
    pub(super) first: Option<u64>,
}

impl Edge {
    /// Returns the last value before [`Self::first`], which does not hold; the last of all if none does.
    pub(super) fn before(&self) -> Option<u64> {
        match self.first {
            Some(first) => first.checked_sub(1),
            None => self.tried.keys().next_back().copied(),
        }
    }

    /// Returns a value that holds before one that does not: bisection found an edge, but not the only one.
    pub(super) fn contradiction(&self) -> Option<(u64, u64)> {
        let held = |(_, verdict): &(&u64, &Verdict)| **verdict == Verdict::Pass;
        let first = self.tried.iter().find(held).map(|(n, _)| *n)?;
        let last = self.tried.iter().rev().find(|one| !held(one)).map(|(n, _)| *n)?;
        (first < last).then_some((first, last))
    }
}

/// Finds the first of `len` values that holds, `len` at least 1. `holds` tries a value; its error, or
/// `None` if it was interrupted, ends the search.
///
/// Bisection needs no value that holds before one that does not. This cannot be known from the values that
/// it tries, so up to four others are tried: the neighbour and the middle on both sides of the edge. An edge
/// that they contradict is returned with them.
pub(super) fn find<E>(
    len: u64,
    mut holds: impl FnMut(u64) -> Result<Option<Verdict>, E>,
) -> Result<Option<Edge>, E> {
    let mut edge = Edge { tried: BTreeMap::new(), first: None };
    let mut stopped = false;
    let mut test = |edge: &mut Edge, n: u64| -> Result<bool, E> {
        if let Some(known) = edge.tried.get(&n) {
            return Ok(*known == Verdict::Pass);
        }
        // After an interruption nothing is tried any more; the answer does not matter, as the edge is not returned.
        if stopped {
            return Ok(false);
        }
        let Some(verdict) = holds(n)? else {
            stopped = true;
            return Ok(false);
        };
        edge.tried.insert(n, verdict);
        Ok(verdict == Verdict::Pass)
    };
    // The far end first: if even it does not hold there is no edge, and one run has told that.
    let last = len - 1;
    if test(&mut edge, last)? {
        let (mut no, mut yes) = (0, last);
        if test(&mut edge, 0)? {
            yes = 0;
        }
        // Invariant: `yes` holds; `no` does not, unless `yes` is 0 and the loop does not run.
        while yes > no + 1 {
            let middle = no + (yes - no) / 2;
            if test(&mut edge, middle)? { yes = middle } else { no = middle }
        }
        edge.first = Some(yes);
        // Values that bisection has not tried: a failure behind the edge, or a success before it, contradicts it.
        let after = [yes.saturating_add(1).min(last), yes + (last - yes) / 2];
        let before = [yes.saturating_sub(2), yes.saturating_sub(1) / 2];
        for probe in after.into_iter().chain(before) {
            test(&mut edge, probe)?;
        }
    } else {
        // One probe in the middle, as a single failure at the end proves little where values do not have the order.
        test(&mut edge, last / 2)?;
    }
    Ok((!stopped).then_some(edge))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn verdict(holds: bool) -> Verdict {
        if holds { Verdict::Pass } else { Verdict::Fail }
    }

    fn found(len: u64, holds: impl Fn(u64) -> bool) -> Edge {
        find::<()>(len, |n| Ok(Some(verdict(holds(n))))).unwrap().unwrap()
    }

    #[test]
    fn ends_and_single_values_are_found() {
        assert_eq!(found(1, |_| true).first, Some(0));
        assert_eq!((found(1, |_| false).first, found(1, |_| false).before()), (None, Some(0)));
        assert_eq!((found(9, |_| true).first, found(9, |_| true).before()), (Some(0), None));
        let none = found(9, |_| false);
        assert_eq!((none.first, none.before(), none.contradiction()), (None, Some(8), None));
    }

    #[test]
    fn what_is_not_judged_does_not_hold() {
        let judged = |n| if n < 5 { Verdict::NotJudged } else { Verdict::Pass };
        let edge = find::<()>(10, |n| Ok(Some(judged(n)))).unwrap().unwrap();
        assert_eq!((edge.first, edge.tried[&4]), (Some(5), Verdict::NotJudged));
    }

    #[test]
    fn a_value_out_of_order_is_a_contradiction() {
        // Holds from 60 on, and at 29, which bisection alone does not try.
        let edge = found(100, |n| n >= 60 || n == 29);
        assert_eq!((edge.first, edge.contradiction()), (Some(60), Some((29, 59))));
        // All hold but the last: nothing is found, and the middle contradicts.
        let edge = found(100, |n| n < 99);
        assert_eq!((edge.first, edge.contradiction()), (None, Some((49, 99))));
    }

    #[test]
    fn an_error_and_an_interruption_end_it() {
        let (mut n, mut failing) = (0, 0);
        assert_eq!(
            find(100, |_| {
                failing += 1;
                if failing == 3 { Err("planted") } else { Ok(Some(Verdict::Pass)) }
            }),
            Err("planted")
        );
        let edge = find::<()>(100, |_| {
            n += 1;
            Ok((n < 4).then_some(verdict(n % 2 == 1)))
        });
        assert_eq!((edge, n), (Ok(None), 4));
    }

    proptest! {
        #[test]
        fn the_edge_is_found_in_few_steps(len in 1_u64..100_000, edge in 0_u64..100_001) {
            let mut tries = 0;
            let edge = edge.min(len);
            let found = find::<()>(len, |n| {
                tries += 1;
                Ok(Some(verdict(n >= edge)))
            }).unwrap().unwrap();
            prop_assert_eq!(found.first, (edge < len).then_some(edge));
            prop_assert_eq!(found.contradiction(), None);
            prop_assert_eq!(found.before(), edge.checked_sub(1));
            prop_assert!(tries <= 2 + len.ilog2() + 1 + 4, "{tries} of {len}");
        }
    }
}
