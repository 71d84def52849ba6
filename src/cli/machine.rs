//! Arguments of every command that starts DPDK.

use clap::{Args, ValueEnum};

#[cfg(feature = "dpdk")]
use crate::dpdk::Memory;
use crate::runtime::Idle;

/// Action of a polling thread between two polls that found nothing to do.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum IdleArg {
    /// Polls again at once: the lowest latency, for a worker with its own CPU.
    Spin,
    /// Yields to other threads, unless the next deadline is near: for threads that share a CPU.
    Yield,
}

impl From<IdleArg> for Idle {
    fn from(arg: IdleArg) -> Self {
        match arg {
            IdleArg::Spin => Self::Spin,
            IdleArg::Yield => Self::Yield,
        }
    }
}

/// Use of the machine by DPDK and the polling threads.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct MachineArgs {
    /// Use ordinary pages even if hugepages are free; `demo` and labs always do.
    #[arg(long)]
    no_huge: bool,
    /// Action of idle polling threads. Default: spin, or yield if there are fewer CPUs than
    /// threads.
    #[arg(long, value_enum)]
    idle: Option<IdleArg>,
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
            crate::runtime::Cores::set_idle(idle.into());
        }
    }

    /// Page type of DPDK's memory.
    #[cfg(feature = "dpdk")]
    pub(super) const fn memory(self) -> Memory {
        if self.no_huge { Memory::NoHuge } else { Memory::Auto }
    }
}
