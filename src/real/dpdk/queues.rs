//! Queues of devices: their number, the frames that wait in those of drivers whose queues are not the
//! descriptors that DPDK sets up, and queues by priority for devices that do PFC themselves.
//!
//! A device that obeys PFC stops a queue. With one queue the pause of one priority would stop all of
//! them, so each priority has a transmit queue of its own, and control frames have one more, which
//! no pause stops. Towards the switch, each lossless priority has a receive queue whose filling lets
//! the device pause that priority alone, and all others share the first.
//!
//! A paused queue fills up. Frames that it does not take wait here, at most a burst for each
//! priority, so that they do not hold up those of other priorities; the switch schedules no further
//! frames of such a priority ([`Port::held`](contracts::port::Port::held)).

use core::ffi::{CStr, c_char};

use contracts::frame::{BURST, Burst, FCS_BYTES};
use dpdk_sys as sys;
use ground::units::{PRIORITIES, Priority, PrioritySet};

use super::device::{self, Device};
use super::error::{self, Error, Logged, strerror};
use super::hot;
use super::mbuf::Mbuf;
use super::spec::{AF_PACKET_SLOT, Spec};
use contracts::port::HardwarePfc;

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

/// Transmit queue of control frames, behind those of the priorities.
pub(super) const CONTROL_QUEUE: u8 = PRIORITIES as u8;
/// Number of transmit queues.
pub(super) const TX_QUEUES: u16 = PRIORITIES as u16 + 1;

/// Receive queue of a priority: those of `lossless` have one each, in their order.
fn rx_queue(lossless: PrioritySet, priority: Priority) -> u16 {
    let own = lossless.iter().position(|p| p == priority);
    own.map_or(0, |n| n as u16 + 1)
}

/// Number of receive queues.
pub(super) fn rx_queues(lossless: PrioritySet) -> u16 {
    lossless.iter().count() as u16 + 1
}

/// State of a port with queues by priority.
#[derive(Debug)]
pub(super) struct Classes {
    rx_queues: u16,
    /// Receive queue to poll next.
    next: u16,
    /// Frames that their queue did not take.
    waiting: [Burst<Mbuf>; PRIORITIES + 1],
    held: PrioritySet,
}

impl Classes {
    pub(super) fn new(lossless: PrioritySet) -> Self {
        Self {
            rx_queues: rx_queues(lossless),
            next: 0,
            waiting: core::array::from_fn(|_| Burst::new()),
            held: PrioritySet::EMPTY,
        }
    }

    /// Priorities whose queue is full.
    #[inline]
    pub(super) const fn held(&self) -> PrioritySet {
        self.held
    }

    /// Receives from the next queue that has frames.
    ///
    /// # Safety
    /// As [`hot::rx_burst`], for all receive queues of the port.
    pub(super) unsafe fn rx_burst(&mut self, port: u16, out: &mut Burst<Mbuf>) {
        for _ in 0..self.rx_queues {
            let queue = self.next;
            self.next = (self.next + 1) % self.rx_queues;
            // SAFETY: by contract.
            unsafe { hot::receive((port, queue), out) };
            if !out.is_empty() {
                return;
            }
        }
    }

    /// Takes frames from the front of `out`, as long as their queues have room here, and passes on
    /// what the device takes.
    ///
    /// # Safety
    /// As [`hot::tx_burst`], for all transmit queues of the port.
    pub(super) unsafe fn tx_burst(&mut self, port: u16, out: &mut Burst<Mbuf>) {
        let mut left = Burst::new();
        for frame in out.drain(..) {
            let waiting = &mut self.waiting[usize::from(frame.queue().min(CONTROL_QUEUE))];
            // Order is kept: behind a frame that stays, all stay.
            if !left.is_empty() || waiting.is_full() {
                left.push(frame);
            } else {
                waiting.push(frame);
            }
        }
        *out = left;
        // SAFETY: by contract.
        unsafe { self.pass_on(port) };
    }

    /// Passes on what waits.
    ///
    /// # Safety
    /// As [`hot::tx_burst`], for all transmit queues of the port.
    pub(super) unsafe fn pass_on(&mut self, port: u16) {
        let mut held = 0;
        for (queue, waiting) in self.waiting.iter_mut().enumerate() {
            if waiting.is_empty() {
                continue;
            }
            // SAFETY: by contract.
            unsafe { hot::send((port, queue as u16), waiting) };
            if !waiting.is_empty() && queue < PRIORITIES {
                held |= 1 << queue;
            }
        }
        self.held = PrioritySet(held);
    }
}

/// Longest text of a driver about a refused rule.
const WHY_MAX: usize = 160;

/// Checks that the device has PFC for these priorities, and `rx` receive and `tx` transmit queues.
pub(super) fn check_hardware_pfc(
    device: &Device,
    pfc: &HardwarePfc,
    rx: u16,
    tx: u16,
) -> Result<(), Error> {
    let mut offers = sys::rte_eth_pfc_queue_info::default();
    let ask = || {
        // SAFETY: the port exists, and `offers` is writable.
        match unsafe { sys::rte_eth_dev_priority_flow_ctrl_queue_info_get(device.id, &mut offers) }
        {
            0 => Ok(()),
            code => Err(code),
        }
    };
    error::capture(ask)
        .map_err(|(code, logged)| refusal(device, format!("{}{logged}", strerror(code))))?;
    let highest = pfc.priorities.iter().last().map_or(0, |priority| priority.get());
    if offers.tc_max == 0 {
        let why = "its driver does not say for how many priorities it has PFC";
        return Err(refusal(device, why.into()));
    }
    if offers.tc_max <= highest {
        let why = format!("it has PFC for the priorities below {}", offers.tc_max);
        return Err(refusal(device, why));
    }
    let (rx_max, tx_max) = device::info(device.id)
        .map(|info| (info.max_rx_queues, info.max_tx_queues))
        .map_err(|code| refusal(device, strerror(code)))?;
    if rx_max < rx || tx_max < tx {
        let why = format!(
            "{rx} receive and {tx} transmit queues are needed, a queue for each priority, and it has \
             {rx_max} and {tx_max}"
        );
        return Err(refusal(device, why));
    }
    Ok(())
}

/// Enables the device's PFC on a started port: frames of each priority arrive in its receive queue,
/// whose filling pauses the priority, and a pause of the priority stops its transmit queue.
pub(super) fn set_hardware_pfc(device: &Device, pfc: &HardwarePfc) -> Result<(), Error> {
    for priority in pfc.priorities.iter() {
        let queue = rx_queue(pfc.priorities, priority);
        steer(device, priority.get(), queue)?;
        let mut conf =
            sys::rte_eth_pfc_queue_conf { mode: sys::RTE_ETH_FC_FULL, ..Default::default() };
        conf.rx_pause.tc = priority.get();
        conf.rx_pause.tx_qid = priority.get().into();
        conf.tx_pause.tc = priority.get();
        conf.tx_pause.rx_qid = queue;
        conf.tx_pause.pause_time = pfc.pause.0;
        let set = || {
            // SAFETY: the port exists, and `conf` is readable.
            match unsafe {
                sys::rte_eth_dev_priority_flow_ctrl_queue_configure(device.id, &mut conf)
            } {
                0 => Ok(()),
                code => Err(code),
            }
        };
        error::capture(set)
            .map_err(|(code, logged)| refusal(device, format!("{}{logged}", strerror(code))))?;
    }
    Ok(())
}

/// Lets the device put the frames of a priority into their receive queue.
fn steer(device: &Device, pcp: u8, queue: u16) -> Result<(), Error> {
    let mut why: [c_char; WHY_MAX] = [0; WHY_MAX];
    // SAFETY: the port is started with this queue, and `why` has the length that is given.
    let code =
        unsafe { sys::sluice_steer_priority(device.id, pcp, queue, why.as_mut_ptr(), WHY_MAX) };
    if code == 0 {
        return Ok(());
    }
    // SAFETY: the text ends with a zero within the array, whatever it is.
    let why = unsafe { CStr::from_ptr(why.as_ptr()) }.to_string_lossy().into_owned();
    let text = if why.is_empty() { strerror(code) } else { why };
    Err(refusal(device, format!("it cannot put priority {pcp} into a separate queue: {text}")))
}

fn refusal(device: &Device, reason: String) -> Error {
    Error::NoHardwarePfc { device: device.spec.full.clone(), driver: device.driver.clone(), reason }
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

    #[test]
    fn lossless_priorities_have_a_receive_queue_each_and_others_share_the_first() {
        let lossless = PrioritySet(0b0101_1000);
        let queues = Priority::ALL.map(|priority| rx_queue(lossless, priority));
        assert_eq!(queues, [0, 0, 0, 1, 2, 0, 3, 0]);
        assert_eq!((rx_queues(lossless), rx_queues(PrioritySet::EMPTY)), (4, 1));
    }
}
