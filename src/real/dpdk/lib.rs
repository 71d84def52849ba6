//! The real world: DPDK's ports, memory and clock behind the contracts of [`contracts::port`] and
//! [`contracts::frame`]. The only crate with unsafe code.
//!
//! Order of use: one [`Eal`] per process; a [`Pool`] of frames; ports opened by EAL name with
//! [`DpdkPort::open`] (or a back-to-back pair with [`ring_pair`]), configured, started, and polled
//! by one thread each, which has called [`Eal::register_worker`] for a share of the pools' caches.
//! Every object holds the objects that it depends on, so they may be dropped in any order; a pool
//! with frames in use is kept instead of freed.
//!
//! Receive and transmit callbacks (as `rte_pdump` sets them) are not run: registered threads
//! exclude the second process that would set them.

#![allow(unsafe_code)]

mod abilities;
mod binding;
mod clock;
mod control;
mod crypto;
mod device;
mod eal;
mod error;
mod gate;
mod hot;
mod kernel_side;
mod leftovers;
mod life;
mod mbuf;
mod memory;
mod pair;
mod pool;
mod port;
mod probe;
mod queues;
mod sockets;
mod source;
mod spec;
mod stamps;
mod telemetry;
#[cfg(test)]
#[path = "../../../tests/shared/testfolder.rs"]
mod testfolder;

/// Atomics of [`gate`]; its loom test replaces them by loom's.
mod sync {
    pub(super) use core::sync::atomic::{AtomicU8, Ordering};
}

pub use abilities::{Abilities, DriverCode, FlowControlSetting, RingLimits};
pub use clock::{ClockQuality, TscClock};
pub use contracts::port::{HardwarePfc, Link};
pub use contracts::stats::PortStats;
pub use control::{MacControl, PortControl, PortInfo};
pub use crypto::{CryptoDevice, ciphers};
pub use eal::{Eal, EalOptions, Memory, Worker, built_against, dpdk_version, own_prefix};
pub use error::{Error, Logged};
pub use kernel::{Interface, LinkEvents, Peer, Undone, undone_checksums};
pub use mbuf::Mbuf;
pub use pair::{RING_PAIRS_MAX, RingOptions, ring_pair};
pub use pool::{Pool, PoolOptions, give_back_memory};
pub use port::{DpdkPort, PortOptions, Started, Stopped};
pub use probe::{Arrival, PortProbe, Stamps};
pub use queues::QUEUES_MAX;
pub use source::SourcePort;
pub use spec::{is_pci_address, receive_room};
pub use stamps::{DeviceClock, StampField, StampQuality};
pub use telemetry::{TelemetryCommand, register_telemetry};
