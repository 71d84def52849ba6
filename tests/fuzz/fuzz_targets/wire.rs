//! Arbitrary bytes, to every parser and mutator of the wire formats.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../shared/wire_exercise.rs"]
mod wire_exercise;

fuzz_target!(|octets: &[u8]| wire_exercise::exercise(octets));
