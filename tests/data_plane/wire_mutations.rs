//! No input makes a parser panic, and accepted input can be emitted again.

use proptest::prelude::*;

use crate::wire_exercise::exercise;
use crate::wire_frames::{
    self, KINDS, LINK_KINDS, Rng,
    wire_congestion::{CONGESTION_KINDS, congestion_frame},
};

/// A frame of the `n`th kind of all.
fn frame(n: usize, rng: &mut Rng) -> Vec<u8> {
    if let Some(kind) = KINDS.get(n) {
        return wire_frames::frame(kind, rng);
    }
    let n = n - KINDS.len();
    match LINK_KINDS.get(n) {
        Some(kind) => wire_frames::link_frame(kind, rng),
        None => congestion_frame(CONGESTION_KINDS[n - LINK_KINDS.len()], rng),
    }
}

/// Number of kinds.
const ALL: usize = KINDS.len() + LINK_KINDS.len() + CONGESTION_KINDS.len();

/// Changes, removes, doubles or appends a few bytes.
fn mutate(frame: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..1 + rng.below(4) {
        let at = rng.below(frame.len() + 1);
        match rng.below(5) {
            0 => frame.truncate(at),
            1 => frame.splice(at..at, rng.octets(4)).for_each(drop),
            2 => drop(frame.drain(at..(at + 1 + rng.below(4)).min(frame.len()).max(at))),
            // Extreme values exercise the handling of lengths and counts.
            3 => frame.iter_mut().skip(at).take(1).for_each(|o| *o = [0, 0xff][at % 2]),
            _ => frame.iter_mut().skip(at).take(1).for_each(|o| *o ^= 1 << (at % 8)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn random_octets_are_read_without_a_panic(octets in prop::collection::vec(any::<u8>(), 0..200)) {
        exercise(&octets);
    }

    #[test]
    fn frames_of_every_kind_and_their_mutations_are_read_without_a_panic(seed in any::<u64>()) {
        let mut rng = Rng(seed);
        let mut frame = frame(rng.below(ALL), &mut rng);
        exercise(&frame);
        mutate(&mut frame, &mut rng);
        exercise(&frame);
    }
}

#[test]
fn every_kind_cut_at_every_octet_is_read_without_a_panic() {
    for kind in 0..ALL {
        let frame = frame(kind, &mut Rng(kind as u64));
        for n in 0..=frame.len() {
            exercise(&frame[..n]);
        }
    }
}
