//! A resolved switch file: the plan for the data plane, and its devices, workers and EAL settings.

use std::net::SocketAddr;
use std::sync::Arc;

use super::Written;
use super::memory::{self, Need};
use super::raw::{Core, Hugepages};
use ground::time::Duration;
use ground::units::{BitsPerSec, Cells, PRIORITIES, PortId, PriorityGroup};
use headroom::{DelayInputs, Required, SoftwareTerms};
use switch::SwitchPlan;

/// Everything that a switch file configures.
#[derive(Clone, Debug)]
pub struct SwitchFile {
    /// Plan for the data plane.
    pub plan: SwitchPlan,
    /// Devices of the ports, one per port, indexed by [`PortId`].
    pub devices: Vec<DevicePlan>,
    /// Workers and the ports that they poll: at least one worker, and every port in exactly one.
    pub workers: Vec<WorkerPlan>,
    /// Settings of DPDK's environment abstraction layer (EAL).
    pub eal: EalPlan,
    /// Address of the Prometheus endpoint; None disables it.
    pub listen: Option<SocketAddr>,
    /// True if DPDK's telemetry socket is enabled.
    pub telemetry: bool,
    /// Number of mbufs in the data pool: enough that the buffer fills before the pool is empty.
    ///
    /// A cell is at least as long as the shortest frame, so the buffer holds at most one frame per
    /// cell. Added to that are the frames outside of the buffer: every receive and transmit
    /// descriptor, and two bursts per port (received, and to be sent).
    pub pool_frames: usize,
    /// Required and configured headroom of each lossless group, for reports.
    pub headroom: Vec<HeadroomCheck>,
    /// The file, to be written back with changes.
    pub written: Written,
}

/// Device of a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DevicePlan {
    /// An interface of the kernel (`iface:eth1`), or a device in EAL's terms: a PCI address or a virtual device with its
    /// arguments.
    pub device: String,
    /// True for a virtual device, which does not negotiate its link.
    pub is_virtual: bool,
    /// True if frames of one flow that leave together by an interface are handed over as one large segment.
    pub offload: bool,
    /// Frames in the receive ring; packets in that of an interface.
    pub rx_descriptors: u16,
    /// Frames in the transmit ring.
    pub tx_descriptors: u16,
    /// True if the NIC itself sends and obeys PFC.
    pub hardware_pfc: bool,
    /// Rate in the file, if any. A link that negotiates a higher rate than [`SwitchPlan`]'s has too
    /// little headroom.
    pub stated_rate: Option<BitsPerSec>,
}

impl DevicePlan {
    /// Name of the interface of the kernel that the port is, if it is one and no device of DPDK.
    pub fn interface(&self) -> Option<&str> {
        self.device.strip_prefix("iface:")
    }

    /// Largest number of receive and transmit queues: one each, and with hardware PFC one for each
    /// priority and one for the rest.
    pub const fn queues(&self) -> (usize, usize) {
        if self.hardware_pfc { (PRIORITIES + 1, PRIORITIES + 1) } else { (1, 1) }
    }
}

/// Default size of net_af_packet's slots, and of a block of slots (a page), in bytes.
const SLOT: u32 = 2_048;
const BLOCK: u32 = 4_096;
/// Bytes of a slot that the kernel's header takes, and the FCS, which is not stored in the slot.
const SLOT_HEADER: u32 = 80;
const SLOT_FCS: u32 = 4;
/// Default number of slots in a ring.
const SLOTS: u32 = 512;
/// Longest ring in bytes: the kernel counts them in 32 bits (packet_set_ring).
const RING_MAX: u64 = u32::MAX as u64;
/// Remedy for rings that are too long.
pub(super) const LESS_SLOTS: &str = "lower `framecnt`, or `framesz` and `blocksz`";
/// Alignment of slots in bytes (TPACKET_ALIGNMENT).
const SLOT_ALIGNMENT: u32 = 16;

impl DevicePlan {
    /// Longest frame in bytes, FCS included, that fits into the slots that the device shares with
    /// the kernel. None for devices without such slots.
    pub fn room(&self) -> Option<u32> {
        Some(self.slot("framesz", SLOT)?.saturating_sub(SLOT_HEADER) + SLOT_FCS)
    }

    /// A numeric argument of a net_af_packet device.
    fn slot(&self, name: &str, default: u32) -> Option<u32> {
        // Only this driver has rings of slots; for others there is nothing to check.
        let mut arguments = self.device.strip_prefix("net_af_packet")?.split(',').skip(1);
        let given = arguments.find_map(|argument| argument.strip_prefix(name)?.strip_prefix('='));
        given.map_or(Some(default), |n| n.parse().ok())
    }

    /// Reason why the device cannot be opened for frames of `max_frame` bytes, as far as its
    /// arguments show: the slots of net_af_packet's ring lie in blocks of whole pages.
    pub fn refusal(&self, max_frame: u32) -> Option<String> {
        let (slot, block) = (self.slot("framesz", SLOT)?, self.slot("blocksz", BLOCK)?);
        let room = self.room()?;
        if room < max_frame {
            // A power of two from a page on is a multiple of the page, as the size of a block has to be.
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
        // As the kernel itself would refuse it, but with a reason (packet_set_ring).
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

    /// Memory of one ring that net_af_packet shares with the kernel: whole blocks of slots.
    fn ring(&self) -> Option<Need> {
        let (slot, block) = (self.slot("framesz", SLOT)?, self.slot("blocksz", BLOCK)?);
        let slots = u64::from(self.slot("framecnt", SLOTS)?);
        // Slots do not cross blocks, so the rest of each block is lost.
        let per_block = u64::from(block.checked_div(slot)?);
        let blocks = slots.checked_div(per_block)?;
        Some(Need { count: blocks, of: "blocks of the ring (`framecnt`)", each: block.into() })
    }

    /// Kernel memory of the device: one ring per direction and queue.
    pub(super) fn kernel_memory(&self) -> Option<Need> {
        /// Octets of a slot for a large segment.
        const PACKET: u64 = 65 << 10;
        if self.interface().is_some() {
            let count = self.rx_descriptors.into();
            return Some(Need {
                count,
                of: "packets of the ring (`rx_descriptors`)",
                each: PACKET,
            });
        }
        let rings = 2 * u64::from(self.slot("qpairs", 1)?);
        Some(Need { count: rings, of: "rings (`qpairs`, `framecnt`)", each: self.ring()?.bytes() })
    }
}

/// A worker and its ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkerPlan {
    /// Core that the worker is pinned to. `auto` is resolved when the switch starts.
    pub core: Core,
    /// At least one port, in ascending order.
    pub ports: Vec<PortId>,
}

/// Settings of DPDK's environment abstraction layer (EAL).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EalPlan {
    /// Page type of DPDK's memory.
    pub hugepages: Hugepages,
    /// Memory to reserve in MiB, if the file sets it.
    pub memory_mib: Option<u32>,
    /// Additional EAL arguments.
    pub args: Vec<String>,
}

/// Required and configured headroom of one lossless group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeadroomCheck {
    pub port: PortId,
    pub group: PriorityGroup,
    /// Headroom that the round trip of the port's link requires.
    pub required: Arc<Required>,
    /// Link parameters from which it is calculated.
    pub link: DelayInputs,
    /// Delays that software adds.
    pub software: SoftwareTerms,
    /// Configured headroom.
    pub given: Cells,
    /// Longest gap between polls that the round trip includes.
    pub poll_gap: Duration,
}

/// Resources of a machine that limit a configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    /// Cores that workers can be pinned to; None disables the check (a file for another machine).
    pub cores: Option<Vec<usize>>,
    /// Largest number of ports.
    pub ports_max: usize,
    /// Memory in bytes that a new process can have, in hugepages or not; None disables the check.
    pub memory: Option<u64>,
    /// The part of it that is no hugepages, for what runs without DPDK; None disables the check.
    pub heap: Option<u64>,
    /// True if the capture files that ports receive from are on this machine, and are checked.
    pub files: bool,
}

impl Machine {
    /// Number of ports that DPDK is built for (`RTE_MAX_ETHPORTS`) by default, and in Debian and
    /// Ubuntu.
    pub const PORTS_MAX: usize = 32;

    /// A machine whose cores, memory and files are not checked.
    pub const fn any() -> Self {
        Self { cores: None, ports_max: Self::PORTS_MAX, memory: None, heap: None, files: false }
    }

    /// The machine of this process: the cores, the memory and the files that it may use.
    pub fn this() -> Self {
        let cores = core_affinity::get_core_ids().map(|ids| ids.iter().map(|c| c.id).collect());
        let (memory, heap) = (memory::available(), memory::heap_available());
        Self { cores, ports_max: Self::PORTS_MAX, memory, heap, files: true }
    }
}
