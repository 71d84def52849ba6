//! The bench of a DUT file: a virtual device, or one behind real ports.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;

use super::machine::MachineArgs;
use lab::World;
use lab::raw::Lab;
use validate::bench::Bench;
use validate::file::{Access, Dut};
use validate::setup::Setup;
use validate::virtual_bench::{Reports, VirtualBench};

/// Returns the bench; `world` is that of a virtual device. It ends its trials early once `stop` is set.
///
/// # Errors
/// DPDK cannot be started.
pub(super) fn bench(
    dut: Dut,
    world: World,
    machine: MachineArgs,
    stop: &Arc<AtomicBool>,
) -> Result<Box<dyn Bench>> {
    let Dut { setup, lab, reports, resets, access } = dut;
    match (lab, world) {
        (Some(lab), World::Real) => in_process((setup, lab, reports), machine, stop),
        (Some(lab), World::Virtual) => {
            Ok(Box::new(VirtualBench::new(setup, lab).reporting(reports).resetting(resets)))
        }
        (None, _) => real(setup, access, machine, stop),
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
            Access::Ctl(path) => Box::new(super::adapter::Ctl::new(path)),
            Access::Command(commands) => Box::new(Command::new(commands, setup.lossless)),
        }
    });
    let bench = validate::real_bench::RealBench::new(setup, eal, adapter, Arc::clone(stop))?;
    Ok(Box::new(bench))
}

/// Ports in memory need no rights and no hugepages, as those of a lab.
#[cfg(feature = "dpdk")]
fn in_process(
    device: (Setup, Lab, Reports),
    machine: MachineArgs,
    stop: &Arc<AtomicBool>,
) -> Result<Box<dyn Bench>> {
    machine.apply()?;
    let eal = lab::real::eal_options();
    let ((setup, lab, reports), stop) = (device, Arc::clone(stop));
    let bench = validate::real_bench::RealBench::in_process(setup, lab, reports, eal, stop)?;
    Ok(Box::new(bench))
}

#[cfg(not(feature = "dpdk"))]
fn in_process(
    _: (Setup, Lab, Reports),
    _: MachineArgs,
    _: &Arc<AtomicBool>,
) -> Result<Box<dyn Bench>> {
    Err(anyhow::anyhow!("--world real: this program was built without DPDK, so it has no ports"))
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
