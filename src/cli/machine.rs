//! Arguments of every command that starts DPDK.

use anyhow::Result;
use clap::{Args, ValueEnum};

#[cfg(feature = "dpdk")]
use crate::dpdk::Memory;
use crate::runtime::{CpuSet, Idle};

/// Action of a polling thread between two polls that found nothing to do.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum IdleArg {
    /// Polls again at once: the lowest latency, for a worker with its own CPU.
    Spin,
    /// Yields to other threads, unless the next deadline is near: for threads that share a CPU.
    Yield,
    /// Waits in the kernel for a frame after 20 ms without one: for a switch on interfaces.
    Wait,
}

impl From<IdleArg> for Idle {
    fn from(arg: IdleArg) -> Self {
        match arg {
            IdleArg::Spin => Self::Spin,
            IdleArg::Yield => Self::Yield,
            IdleArg::Wait => Self::Wait,
        }
    }
}

/// Use of the machine by DPDK and the polling threads.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "DPDK and threads")]
pub struct MachineArgs {
    /// Use ordinary pages even if hugepages are free; `demo` and labs always do.
    #[arg(long)]
    no_huge: bool,
    /// Action of idle polling threads. Default: spin, or yield if there are fewer CPUs than
    /// threads.
    #[arg(long, value_enum)]
    idle: Option<IdleArg>,
    /// CPUs of the polling threads, such as 2,4-7. Default: those that this process may use, but one.
    #[arg(long, value_name = "LIST")]
    cores: Option<CpuSet>,
}

impl MachineArgs {
    /// Equivalent of `--no-huge`.
    pub const fn ordinary_pages() -> Self {
        Self { no_huge: true, idle: None, cores: None }
    }

    /// Applies the settings of all threads of the process.
    ///
    /// # Errors
    /// A CPU that this process may not use.
    pub(super) fn apply(self) -> Result<()> {
        #[cfg(feature = "dpdk")]
        if let Some(idle) = self.idle {
            crate::runtime::Cores::set_idle(idle.into());
        }
        if let Some(cores) = self.cores {
            let wrong = |error| super::bad_input(anyhow::anyhow!("--cores {cores}: {error}"));
            crate::runtime::Cores::choose(cores).map_err(wrong)?;
        }
        Ok(())
    }

    /// Page type of DPDK's memory.
    #[cfg(feature = "dpdk")]
    pub(super) const fn memory(self) -> Memory {
        if self.no_huge { Memory::NoHuge } else { Memory::Auto }
    }
}
