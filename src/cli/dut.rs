//! The bench of a DUT file: a virtual device, or one behind real ports.

#[cfg(feature = "dpdk")]
mod ctl;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;

use super::machine::MachineArgs;
use validate::bench::Bench;
use validate::file::{Access, Dut};
use validate::setup::Setup;
use validate::virtual_bench::VirtualBench;

/// Returns the bench. It ends its trials early once `stop` is set.
///
/// # Errors
/// DPDK cannot be started.
pub(super) fn bench(
    dut: Dut,
    machine: MachineArgs,
    stop: &Arc<AtomicBool>,
) -> Result<Box<dyn Bench>> {
    let Dut { setup, lab, reports, resets, access } = dut;
    match lab {
        Some(lab) => {
            Ok(Box::new(VirtualBench::new(setup, lab).reporting(reports).resetting(resets)))
        }
        None => real(setup, access, machine, stop),
    }
}

#[cfg(feature = "dpdk")]
fn real(
    setup: Setup,
    access: Option<Access>,
    machine: MachineArgs,
    stop: &Arc<AtomicBool>,
) -> Result<Box<dyn Bench>> {
    use validate::adapter::{Adapter, Command};
    machine.apply()?;
    let eal = super::generate::eal_options(machine);
    let adapter = access.map(|access| -> Box<dyn Adapter> {
        match access {
            Access::Ctl(path) => Box::new(ctl::Ctl::new(path)),
            Access::Command(commands) => Box::new(Command::new(commands)),
        }
    });
    let bench = validate::real_bench::RealBench::new(setup, eal, adapter, Arc::clone(stop))?;
    Ok(Box::new(bench))
}

#[cfg(not(feature = "dpdk"))]
fn real(
    _: Setup,
    _: Option<Access>,
    _: MachineArgs,
    _: &Arc<AtomicBool>,
) -> Result<Box<dyn Bench>> {
    Err(anyhow::anyhow!(
        "this program was built without DPDK, so it has no real ports; add `virtual`"
    ))
}
