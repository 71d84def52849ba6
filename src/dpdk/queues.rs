//! Queues of drivers whose queues are not the descriptors that DPDK sets up.

use super::spec::{AF_PACKET_SLOT, Spec};
use contracts::frame::{BURST, FCS_BYTES};

/// Frames that can wait on the receive and on the transmit side of the driver, and the longest
/// frame, for drivers whose queues are not the descriptors that DPDK sets up.
pub(super) fn queues_behind(
    driver: &str,
    spec: &Spec,
    rx: u32,
    tx: u32,
) -> (u32, u32, Option<u32>) {
    let or = |key, default| spec.number(key).unwrap_or(default);
    match driver {
        // A mapped ring of `framecnt` slots of `framesz` bytes, of which the kernel takes up to 80
        // for its header.
        "net_af_packet" => {
            let slots = or("framecnt", 512);
            (slots, slots, Some(or("framesz", AF_PACKET_SLOT).saturating_sub(80) + FCS_BYTES))
        }
        // The socket's rings have the larger of the configured length and the library's default.
        "net_af_xdp" => (rx.max(2_048), tx.max(2_048), None),
        // Rings of 2^rsize slots in shared memory; longer frames take several slots.
        "net_memif" => {
            let slots = 1 << or("rsize", 10).min(14);
            (slots, slots, Some(u32::MAX))
        }
        // The kernel queues 500 frames for a reader, and takes written frames at once.
        "net_tap" => (500, BURST as u32, Some(u32::MAX)),
        // Frames are generated, or read, on receive; and gone when sent.
        "net_null" | "net_pcap" => (BURST as u32, BURST as u32, None),
        // The driver's ring for `net_ring0`; a pair of Sluice names its entries.
        "net_ring" => {
            let slots = or("entries", 1_024);
            (slots, slots, None)
        }
        // The peer chooses the ring's length; 1024 is the usual maximum.
        "net_vhost" => (rx.max(1_024), tx.max(1_024), None),
        "net_virtio_user" => {
            let slots = or("queue_size", 256);
            (rx.max(slots), tx.max(slots), None)
        }
        _ => (rx, tx, None),
    }
}
