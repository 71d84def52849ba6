//! The queues of drivers that are not the descriptors which DPDK sets up.

use super::device::{AF_PACKET_SLOT, Spec};
use crate::frame::{BURST, FCS_BYTES};

/// The frames that can wait on either side of the driver, and the longest frame, for drivers whose
/// queues are not the descriptors that DPDK sets up.
pub(super) fn queues_behind(
    driver: &str,
    spec: &Spec,
    rx: u32,
    tx: u32,
) -> (u32, u32, Option<u32>) {
    let or = |key, default| spec.number(key).unwrap_or(default);
    match driver {
        // A mapped ring of `framecnt` slots of `framesz` octets, of which the kernel takes up to 80
        // for its own header.
        "net_af_packet" => {
            let slots = or("framecnt", 512);
            (slots, slots, Some(or("framesz", AF_PACKET_SLOT).saturating_sub(80) + FCS_BYTES))
        }
        // The socket's rings are as long as the larger of ours and the library's default.
        "net_af_xdp" => (rx.max(2_048), tx.max(2_048), None),
        // Rings of 2^rsize slots in shared memory; longer frames take several slots.
        "net_memif" => {
            let slots = 1 << or("rsize", 10).min(14);
            (slots, slots, Some(u32::MAX))
        }
        // The kernel queues 500 frames for a reader, and takes what is written at once.
        "net_tap" => (500, BURST as u32, Some(u32::MAX)),
        // Frames are made, or read, when asked for; and gone when sent.
        "net_null" | "net_pcap" => (BURST as u32, BURST as u32, None),
        // The driver's own ring for `net_ring0`; a pair of ours brings its entries.
        "net_ring" => {
            let slots = or("entries", 1_024);
            (slots, slots, None)
        }
        // The peer chooses the ring's length; 1024 is the usual most.
        "net_vhost" => (rx.max(1_024), tx.max(1_024), None),
        "net_virtio_user" => {
            let slots = or("queue_size", 256);
            (rx.max(slots), tx.max(slots), None)
        }
        _ => (rx, tx, None),
    }
}
