//! Settings and counts of a device that outlast its openings.

use super::pool::Pool;
use super::port::HardwarePfc;
use contracts::stats::NicCounters;

/// Settings of a port.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    /// Ports as which it was started, each polled by one thread.
    pub(super) ports: u16,
    pub(super) rx_descriptors: u16,
    pub(super) tx_descriptors: u16,
    /// Receive and transmit queues.
    pub(super) queues: (u16, u16),
    /// PFC that the device does itself.
    pub(super) hardware_pfc: Option<HardwarePfc>,
    pub(super) mtu: u16,
    pub(super) rx_offloads: u64,
    /// Memory pool for received frames.
    pub(super) pool: Pool,
    pub(super) promiscuous: bool,
}

/// Counters of a device since it was first opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortStats {
    /// Frames received.
    pub rx_frames: u64,
    /// Frames sent.
    pub tx_frames: u64,
    /// Frames lost.
    pub nic: NicCounters,
}

/// Setup for opening a device again, and the counts of its earlier openings.
#[derive(Debug, Default)]
pub(super) struct Life {
    /// None before the first start.
    pub(super) setup: Option<Setup>,
    /// True if it is detached, because it could not be opened again.
    pub(super) is_detached: bool,
    /// Counts of its earlier openings.
    pub(super) past: PortStats,
}
