//! Arbitrary bytes as an IP packet with its checksum and ICRC corrected, which no fuzzer would
//! guess, to reach the code after those checks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sluice::wire::checksum::Sum;
use sluice::wire::{icrc, ipv4};

#[path = "../../shared/wire_exercise.rs"]
mod wire_exercise;

fuzz_target!(|octets: &[u8]| {
    let mut packet = octets.to_vec();
    if let Ok(header_len) = ipv4::View::new(&packet).map(|v| v.header_len()) {
        packet[10..12].fill(0);
        let sum = Sum::default().octets(&packet[..header_len]).finish();
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    // A packet that is not RoCEv2 has no ICRC to correct, and is parsed unchanged.
    let _ = icrc::seal(&mut packet);
    wire_exercise::exercise(&packet);
});
