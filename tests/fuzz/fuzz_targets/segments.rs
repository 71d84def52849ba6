//! Any packet with any offload header is refused, or cut into frames of which none is longer than it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sluice::kernel::{Cut, HEADER_LEN, Offload};

fuzz_target!(|octets: &[u8]| {
    let Some((header, packet)) = octets.split_first_chunk::<HEADER_LEN>() else { return };
    let Ok(offload) = Offload::parse(header) else { return };
    let Ok(mut cut) = Cut::new(packet, &offload) else { return };
    let mut frames = 0;
    while let Some(len) = cut.next_len() {
        assert!(len <= packet.len());
        cut.write(packet, &mut vec![0; len]);
        frames += 1;
    }
    assert!(frames <= packet.len());
});
