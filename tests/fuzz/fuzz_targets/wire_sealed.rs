//! Any octets as an IP packet with its checksum and ICRC put right, which no fuzzer would guess:
//! the way to what lies behind them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sluice::wire::checksum::Sum;
use sluice::wire::{icrc, ipv4};

#[path = "../../support/wire_exercise.rs"]
mod wire_exercise;

fuzz_target!(|octets: &[u8]| {
    let mut packet = octets.to_vec();
    if let Ok(header_len) = ipv4::View::new(&packet).map(|v| v.header_len()) {
        packet[10..12].fill(0);
        let sum = Sum::default().octets(&packet[..header_len]).finish();
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    // What is no RoCEv2 packet has no ICRC to put right, and is tried as it is.
    let _ = icrc::seal(&mut packet);
    wire_exercise::exercise(&packet);
});
