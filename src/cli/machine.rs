//! Arguments of every command that starts DPDK.

use clap::Args;

#[cfg(feature = "dpdk")]
use crate::dpdk::Memory;
use crate::runtime::Idle;

/// Use of the machine by DPDK and the polling threads.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct MachineArgs {
    /// Use ordinary pages even if hugepages are free; `demo` and labs always do.
    #[arg(long)]
    no_huge: bool,
    /// Action of idle polling threads. Default: spin, or yield if there are fewer CPUs than
    /// threads.
    #[arg(long, value_enum)]
    idle: Option<Idle>,
}

impl MachineArgs {
    /// Equivalent of `--no-huge`.
    #[must_use]
    pub const fn ordinary_pages() -> Self {
        Self { no_huge: true, idle: None }
    }

    /// Applies the settings of all threads of the process.
    pub(super) fn apply(self) {
        #[cfg(feature = "dpdk")]
        if let Some(idle) = self.idle {
            crate::runtime::Cores::set_idle(idle);
        }
    }

    /// Page type of DPDK's memory.
    #[cfg(feature = "dpdk")]
    pub(super) const fn memory(self) -> Memory {
        if self.no_huge { Memory::NoHuge } else { Memory::Auto }
    }
}
