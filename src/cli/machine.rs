//! Arguments of every command that starts DPDK.

use clap::Args;

#[cfg(feature = "dpdk")]
use crate::dpdk::Memory;
use crate::runtime::Idle;

/// Use of the machine by DPDK and by the threads that poll.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct MachineArgs {
    /// Use ordinary pages even where hugepages are free; `demo` and labs always do.
    #[arg(long)]
    no_huge: bool,
    /// Action of polling threads when there is nothing to do. Default: spin, or yield where there
    /// are fewer CPUs than threads.
    #[arg(long, value_enum)]
    idle: Option<Idle>,
}

impl MachineArgs {
    /// `--no-huge`.
    #[must_use]
    pub const fn ordinary_pages() -> Self {
        Self { no_huge: true, idle: None }
    }

    /// Sets what holds for all threads of the process.
    pub(super) fn apply(self) {
        #[cfg(feature = "dpdk")]
        if let Some(idle) = self.idle {
            crate::runtime::Cores::set_idle(idle);
        }
    }

    /// The pages that DPDK's memory is made of.
    #[cfg(feature = "dpdk")]
    pub(super) const fn memory(self) -> Memory {
        if self.no_huge { Memory::NoHuge } else { Memory::Auto }
    }
}
