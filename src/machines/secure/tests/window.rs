//! The replay window against a set of all numbers that were accepted.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::association::{Age, Window};

/// Rules of 802.1AE for a packet number, and a record of those received.
struct Model {
    size: Option<u64>,
    floor: u64,
    taken: BTreeSet<u64>,
}

impl Model {
    fn lowest(&self) -> u64 {
        let next = self.taken.last().map_or(0, |last| last.saturating_add(1)).max(self.floor);
        self.floor.max(next.saturating_sub(self.size.unwrap_or(0)))
    }

    fn age(&self, pn: u64) -> Age {
        let again = self.taken.contains(&pn);
        let behind = pn < self.floor || self.taken.last().is_some_and(|&last| pn <= last);
        match self.size {
            None if behind => Age::Delayed,
            Some(_) if pn < self.lowest() => Age::Late,
            Some(_) if again => Age::Replayed,
            _ => Age::Fresh,
        }
    }
}

/// Steps to the next number, relative to the highest so far.
fn steps() -> impl Strategy<Value = Vec<i64>> {
    let step = prop_oneof![4 => -3..4_i64, 3 => -200..200_i64, 1 => -3000..3000_i64];
    proptest::collection::vec(step, 1..400)
}

proptest! {
    #[test]
    fn a_number_is_accepted_once_and_never_below_the_window(
        size in prop_oneof![
            Just(None), Just(Some(0)), (1..3_u32).prop_map(Some), (60..70_u32).prop_map(Some),
            (3..2000_u32).prop_map(Some),
        ],
        start in prop_oneof![1..200_u64, Just(u64::from(u32::MAX) - 100), Just(u64::MAX - 10_000)],
        steps in steps(),
        raises in proptest::collection::vec((0..400_usize, 0..300_u64), 0..3),
    ) {
        let mut window = Window::new(size, start);
        let mut model = Model { size: size.map(u64::from), floor: start, taken: BTreeSet::new() };
        let mut highest = start;
        for (at, step) in steps.into_iter().enumerate() {
            for (_, up) in raises.iter().filter(|raise| raise.0 == at) {
                let lowest = highest.saturating_sub(150).saturating_add(*up);
                window.raise(lowest);
                model.floor = model.floor.max(lowest);
            }
            let pn = highest.saturating_add_signed(step).max(1);
            prop_assert_eq!(window.lowest(), model.lowest());
            let age = window.age(pn);
            prop_assert_eq!(age, model.age(pn), "{} of {:?}", pn, model.taken);
            if matches!(age, Age::Fresh | Age::Delayed) {
                window.take(pn);
                model.taken.insert(pn);
                highest = highest.max(pn);
            }
        }
    }

    #[test]
    fn the_upper_half_is_recovered_within_half_of_the_lower_ones_range(
        lowest in 1..u64::MAX - (1 << 33), ahead in 0..1_u64 << 31
    ) {
        let window = Window::new(Some(0), lowest);
        prop_assert_eq!(window.recover((lowest + ahead) as u32), lowest + ahead);
    }
}

#[test]
fn the_last_number_there_is_comes_once() {
    for size in [Some(0), Some(1), Some(100)] {
        let mut window = Window::new(size, u64::MAX - 2);
        for pn in [u64::MAX - 2, u64::MAX - 1, u64::MAX] {
            assert_eq!(window.age(pn), Age::Fresh);
            window.take(pn);
            assert_ne!(window.age(pn), Age::Fresh);
        }
        assert_eq!(window.next(), None);
        assert_eq!(window.age(window.recover(5)), Age::Late, "nothing is behind it");
    }
}

#[test]
fn control_frames_are_in_order_whatever_the_window_is() {
    for size in [None, Some(0), Some(100)] {
        let mut window = Window::new(size, 1);
        window.take_control(50);
        assert_eq!(window.control_age(50), Age::Replayed);
        for pn in 1..50 {
            assert_eq!(window.control_age(pn), Age::Late, "{pn}");
        }
        window.take(60);
        let between = window.control_age(55);
        assert_eq!(between, window.age(55), "younger than the last one, older than data");
        assert_eq!(window.control_age(61), Age::Fresh);
    }
}
