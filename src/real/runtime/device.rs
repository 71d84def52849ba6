//! The device of a port seen from other threads: its link, its counters, its address; no frames.

use contracts::port::Link;
use contracts::stats::PortStats;
use ground::units::Mac;
use kernel::{Interface, KernelControl};

/// A handle on the device of a port for threads that do not poll it.
#[derive(Clone, Debug)]
pub enum Device {
    /// An interface that the kernel drives.
    Kernel(KernelControl),
    /// A device of DPDK.
    #[cfg(feature = "dpdk")]
    Dpdk(dpdk::PortControl),
}

impl Device {
    /// The port, if it is an interface that the kernel drives.
    pub(crate) fn kernel(&self) -> Option<KernelControl> {
        match self {
            Self::Kernel(port) => Some(port.clone()),
            #[cfg(feature = "dpdk")]
            Self::Dpdk(_) => None,
        }
    }

    /// The link as it is now.
    #[must_use]
    pub fn link(&self) -> Link {
        match self {
            Self::Kernel(port) => port.link(),
            #[cfg(feature = "dpdk")]
            Self::Dpdk(port) => port.link(),
        }
    }

    /// Counters of the device and of the kernel's interface below it.
    #[must_use]
    pub fn stats(&self) -> PortStats {
        match self {
            Self::Kernel(port) => port.stats(),
            #[cfg(feature = "dpdk")]
            Self::Dpdk(port) => port.stats(),
        }
    }

    /// The device's own address, if it has one.
    #[must_use]
    pub fn mac(&self) -> Option<Mac> {
        match self {
            Self::Kernel(port) => port.mac(),
            #[cfg(feature = "dpdk")]
            Self::Dpdk(port) => port.mac(),
        }
    }

    /// The interface of the kernel that the device works on, as it is now.
    #[must_use]
    pub fn interface(&self) -> Option<Interface> {
        match self {
            Self::Kernel(port) => port.interface(),
            #[cfg(feature = "dpdk")]
            Self::Dpdk(port) => port.interface(),
        }
    }

    /// True if hosts behind the device have to finish checksums themselves: nobody does it here.
    #[must_use]
    pub const fn needs_checksums(&self) -> bool {
        match self {
            Self::Kernel(_) => false,
            #[cfg(feature = "dpdk")]
            Self::Dpdk(_) => true,
        }
    }

    /// Takes the link up or down.
    ///
    /// # Errors
    /// The reason why it cannot be, in words.
    pub fn set_link(&self, up: bool) -> Result<(), String> {
        match self {
            Self::Kernel(port) => {
                port.set_link(up).map_err(|error| format!("interface {}: {error}", port.name()))
            }
            #[cfg(feature = "dpdk")]
            Self::Dpdk(port) => port.set_link(up).map_err(|error| error.to_string()),
        }
    }

    /// True if the interface of the kernel that the device works on is gone.
    #[must_use]
    pub fn has_lost_interface(&self) -> bool {
        match self {
            Self::Kernel(port) => port.has_lost_interface(),
            #[cfg(feature = "dpdk")]
            Self::Dpdk(port) => port.has_lost_interface(),
        }
    }

    /// Opens the device again if an interface of its name exists again; returns whether it does. The
    /// thread that polls it goes on meanwhile.
    ///
    /// # Errors
    /// The reason, in words; it may be tried again.
    pub fn reopen(&self) -> Result<bool, String> {
        match self {
            Self::Kernel(port) => port.reopen().map_err(|error| error.to_string()),
            #[cfg(feature = "dpdk")]
            Self::Dpdk(port) => port.reopen().map_err(|error| error.to_string()),
        }
    }
}
