//! Queues of devices: their number, and the frames that wait in those of drivers whose queues are
//! not the descriptors that DPDK sets up.

use super::device::{self, Device};
use super::error::{Error, Logged};
use super::spec::{AF_PACKET_SLOT, Spec};
use contracts::frame::{BURST, FCS_BYTES};

/// Most queues of a port in each direction. A choice: more than the CPUs that serve one port.
pub const QUEUES_MAX: usize = 16;

/// Refuses more queues than a device has in either direction.
pub(super) fn check_number(device: &Device, queues: u16) -> Result<(), Error> {
    let what = || format!("{}: {queues} queues", device.spec.full);
    if queues == 0 || usize::from(queues) > QUEUES_MAX {
        let why = format!("a port has 1 to {QUEUES_MAX}");
        return Err(Error::Option { what: what(), why });
    }
    if queues == 1 {
        return Ok(());
    }
    let info = device::info(device.id)
        .map_err(|code| device.error("ask for its queues", code, Logged::default()))?;
    let (rx, tx) = (info.max_rx_queues, info.max_tx_queues);
    if rx.min(tx) >= queues {
        return Ok(());
    }
    let remedy = match device.driver.as_str() {
        "net_af_packet" => format!("; `qpairs={queues}` in its arguments gives it more"),
        "net_pcap" => "; it has one for each `rx_pcap` and `tx_pcap` in its arguments".to_owned(),
        _ => String::new(),
    };
    let why = format!("the device has {rx} to receive and {tx} to send{remedy}");
    Err(Error::Option { what: what(), why })
}

/// Refuses buffers that the device cannot use, or would use in part, so that a frame of `max_frame` bytes
/// would be in several. `room` is that of the pool's buffers in bytes.
pub(super) fn check_buffers(device: &Device, room: u32, max_frame: u32) -> Result<(), Error> {
    let driver = &device.driver;
    let why = match driver.as_str() {
        // Its descriptors have 14 bits for the length, of which the driver writes the low ones.
        "net_vmxnet3" if room > 16_383 => format!(
            "{driver} takes buffers of less than 16 KiB, and this pool's have {room} octets; make the \
             longest frame at most 15360"
        ),
        _ => match whole_buffer(driver, room) {
            Some(limit) if max_frame > limit => format!(
                "{driver} takes up to {limit}: its buffers have 2, 4, 8 or 16 KiB, and those of {room} \
                 octets count as the next smaller"
            ),
            _ => return Ok(()),
        },
    };
    Err(Error::Option { what: format!("{}: frames of {max_frame} octets", device.spec.full), why })
}

/// Bytes of a buffer with this room that a device uses, if that is not all of it.
fn whole_buffer(driver: &str, room: u32) -> Option<u32> {
    // Its register has powers of two alone (82574 datasheet, RCTL.BSIZE).
    (driver == "net_e1000_em" && room > 0).then(|| 1 << room.ilog2().min(14))
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_counts_as_the_sizes_that_the_device_knows() {
        let of = |room| whole_buffer("net_e1000_em", room);
        assert_eq!(
            [2_048, 3_072, 9_216, 16_384, 17_408].map(of),
            [2_048, 2_048, 8_192, 16_384, 16_384].map(Some)
        );
        assert_eq!(whole_buffer("net_e1000_igb", 9_216), None);
    }
}
