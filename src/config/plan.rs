//! A switch file resolved: the plan that the data plane trusts, and what runs it.

use std::net::SocketAddr;
use std::sync::Arc;

use super::memory::{self, Need};
use crate::headroom::{DelayInputs, Required, SoftwareTerms};
use crate::switch::SwitchPlan;
use crate::time::Duration;
use crate::units::{BitsPerSec, Cells, PortId, PriorityGroup};

/// Everything that a switch file decides.
#[derive(Clone, Debug)]
pub struct SwitchFile {
    /// What the data plane is told.
    pub plan: SwitchPlan,
    /// The devices behind the ports, one per port, by [`PortId`].
    pub devices: Vec<DevicePlan>,
    /// Who polls which ports, at least one worker; every port is in exactly one.
    pub workers: Vec<WorkerPlan>,
    /// How DPDK is started.
    pub eal: EalPlan,
    /// Where Prometheus may ask; nothing listens if this is nothing.
    pub listen: Option<SocketAddr>,
    /// Whether DPDK's telemetry socket is opened.
    pub telemetry: bool,
    /// How many frames the data pool has: enough that it never runs dry before the buffer is full.
    ///
    /// A cell is at least as long as the shortest frame, so the frames in the buffer are no more
    /// than its cells. On top come those that are outside of it: in every receive and transmit
    /// ring, and per port the bursts in hand (received, to be sent).
    pub pool_frames: usize,
    /// What each lossless group needs and has, for reports.
    pub headroom: Vec<HeadroomCheck>,
}

/// The device behind a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DevicePlan {
    /// The device in EAL's terms: a PCI address or a virtual device with its arguments.
    pub device: String,
    /// Whether it is virtual: it has no link to negotiate.
    pub is_virtual: bool,
    /// Frames in the receive ring.
    pub rx_descriptors: u16,
    /// Frames in the transmit ring.
    pub tx_descriptors: u16,
    /// Whether the NIC itself sends and obeys PFC.
    pub hardware_pfc: bool,
    /// The rate, if the file states it. A link that negotiates more than [`SwitchPlan`]'s rate has
    /// too little headroom.
    pub stated_rate: Option<BitsPerSec>,
}

/// A slot of net_af_packet whose arguments do not say, and a block of slots: a page.
const SLOT: u32 = 2_048;
const BLOCK: u32 = 4_096;
/// Bytes of a slot that the kernel uses, and the FCS, which is not in it.
const SLOT_HEADER: u32 = 80;
const SLOT_FCS: u32 = 4;
/// Slots of a ring whose arguments do not say.
const SLOTS: u32 = 512;
/// The longest ring that the kernel takes: it counts its bytes in 32 bits (packet_set_ring).
const RING_MAX: u64 = u32::MAX as u64;
/// The remedy for rings that are too long.
pub(super) const LESS_SLOTS: &str = "lower `framecnt`, or `framesz` and `blocksz`";
/// The kernel's demand (TPACKET_ALIGNMENT).
const SLOT_ALIGNMENT: u32 = 16;

impl DevicePlan {
    /// The longest frame, FCS included, for which the device's own memory is known to have room: that
    /// of slots which it shares with the kernel. Nothing where that is not known.
    #[must_use]
    pub fn room(&self) -> Option<u32> {
        Some(self.slot("framesz", SLOT)?.saturating_sub(SLOT_HEADER) + SLOT_FCS)
    }

    /// A number among the arguments of a net_af_packet.
    fn slot(&self, name: &str, default: u32) -> Option<u32> {
        let mut arguments = self.device.strip_prefix("net_af_packet")?.split(',').skip(1);
        let given = arguments.find_map(|argument| argument.strip_prefix(name)?.strip_prefix('='));
        given.map_or(Some(default), |n| n.parse().ok())
    }

    /// The reason why the device cannot be opened for frames of `max_frame`, as far as its arguments
    /// tell: the slots of net_af_packet's ring, which lie in blocks of whole pages.
    #[must_use]
    pub fn refusal(&self, max_frame: u32) -> Option<String> {
        let (slot, block) = (self.slot("framesz", SLOT)?, self.slot("blocksz", BLOCK)?);
        let room = self.room()?;
        if room < max_frame {
            let needed = (max_frame + SLOT_HEADER - SLOT_FCS).next_power_of_two();
            return Some(format!(
                "its slots have room for frames of {room} bytes, and `switch.max_frame` is \
                 {max_frame}: add `framesz={needed},blocksz={}`, or lower it to {room}",
                needed.max(BLOCK)
            ));
        }
        if slot % SLOT_ALIGNMENT != 0 {
            return Some(format!("framesz={slot} is no multiple of {SLOT_ALIGNMENT}"));
        }
        if block == 0 || block % BLOCK != 0 {
            return Some(format!("blocksz={block} is no multiple of a page, {BLOCK} bytes"));
        }
        if slot > block {
            let needed = slot.next_power_of_two().max(BLOCK);
            return Some(format!(
                "a slot of {slot} bytes does not fit into a block of {block}: add `blocksz={needed}`"
            ));
        }
        let ring = self.ring()?;
        (ring.bytes() > RING_MAX)
            .then(|| ring.refusal(RING_MAX, "that the kernel takes", LESS_SLOTS))
    }

    /// One of the rings that a net_af_packet shares with the kernel: whole blocks of slots.
    fn ring(&self) -> Option<Need> {
        let (slot, block) = (self.slot("framesz", SLOT)?, self.slot("blocksz", BLOCK)?);
        let slots = u64::from(self.slot("framecnt", SLOTS)?);
        let per_block = u64::from(block.checked_div(slot)?);
        let blocks = slots.checked_div(per_block)?;
        Some(Need { count: blocks, of: "blocks of the ring (`framecnt`)", each: block.into() })
    }

    /// The memory that the kernel sets aside for the device: a ring for each direction of each queue.
    pub(super) fn kernel_memory(&self) -> Option<Need> {
        let rings = 2 * u64::from(self.slot("qpairs", 1)?);
        Some(Need { count: rings, of: "rings (`qpairs`, `framecnt`)", each: self.ring()?.bytes() })
    }
}

/// A worker and its ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkerPlan {
    /// The core it is pinned to, or nothing: it runs where the system puts it.
    pub core: Option<usize>,
    /// Its ports, lowest first, at least one.
    pub ports: Vec<PortId>,
}

/// How DPDK is started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EalPlan {
    /// Which pages its memory is made of.
    pub hugepages: Hugepages,
    /// Memory to set aside in MiB, if the file states it.
    pub memory_mib: Option<u32>,
    /// More arguments.
    pub args: Vec<String>,
}

/// Which pages DPDK's memory is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hugepages {
    /// Huge pages where enough are free, else ordinary ones.
    Auto,
    /// Huge pages, or an error.
    On,
    /// Ordinary pages.
    Off,
}

/// What one lossless group needs to lose nothing, and what it has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeadroomCheck {
    /// The port.
    pub port: PortId,
    /// The group.
    pub group: PriorityGroup,
    /// What the round trip of the port's link asks for.
    pub required: Arc<Required>,
    /// The link, which it is calculated from.
    pub link: DelayInputs,
    /// Terms that software adds.
    pub software: SoftwareTerms,
    /// What the plan gives.
    pub given: Cells,
    /// The longest gap between polls that is in the round trip.
    pub poll_gap: Duration,
}

/// What the machine has that a file may ask for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    /// The cores that workers can be pinned to, or nothing where that is not to be checked (a file
    /// for another machine).
    pub cores: Option<Vec<usize>>,
    /// How many ports there can be.
    pub ports_max: usize,
    /// The memory in bytes that a new process can have, or nothing where that is not to be checked.
    pub memory: Option<u64>,
}

impl Machine {
    /// How many ports DPDK is built for (`RTE_MAX_ETHPORTS`), in Debian and Ubuntu and by default.
    pub const PORTS_MAX: usize = 32;

    /// Any machine: cores are not checked.
    #[must_use]
    pub const fn any() -> Self {
        Self { cores: None, ports_max: Self::PORTS_MAX, memory: None }
    }

    /// The machine that this process runs on: the cores and the memory that it may use.
    #[must_use]
    pub fn this() -> Self {
        let cores = core_affinity::get_core_ids().map(|ids| ids.iter().map(|c| c.id).collect());
        Self { cores, ports_max: Self::PORTS_MAX, memory: memory::available() }
    }
}
