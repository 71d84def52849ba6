//! From a switch file to what DPDK and the workers start with.

use std::hash::{BuildHasher, RandomState};

use config::{DevicePlan, Hugepages, SwitchFile};
use dpdk::{EalOptions, HardwarePfc, Memory, PortOptions};
use runtime::Idle;
use runtime::real::{RealPort, RealSwitch, RealWorker};
use switch::{PortPlan, SwitchPlan};

use crate::{pin, socket};

/// Generates a random seed if the file has none: a known seed would allow an attacker to direct
/// flows to one slot of a hash table.
pub fn seed(plan: &mut SwitchPlan) {
    if plan.seed == 0 {
        // The system seeds the standard library's hash tables, too.
        plan.seed = RandomState::new().hash_one(plan.name.as_str());
        config::seed_congestion(&mut plan.congestion, plan.seed);
    }
}

/// Settings of EAL for a switch. `memory` overrides the file.
#[must_use]
pub fn eal_options(file: &SwitchFile, memory: Option<Memory>, what: &RealSwitch) -> EalOptions {
    let configured = match file.eal.hugepages {
        Hugepages::On => Memory::Hugepages,
        Hugepages::Off => Memory::NoHuge,
        Hugepages::Auto => Memory::Auto,
    };
    let options = EalOptions {
        memory: memory.unwrap_or(configured),
        memory_mib: file.eal.memory_mib.or_else(|| Some(what.memory_mib())),
        telemetry: file.telemetry,
        // Several switches on one machine each have a runtime directory.
        file_prefix: socket::file_name(&file.plan.name),
        extra: file.eal.args.clone(),
        ..EalOptions::default()
    };
    options.for_devices(file.devices.iter().map(|d| d.device.as_str()))
}

/// Ports, workers and frames of the switch in a file.
#[must_use]
pub fn real_switch(file: &SwitchFile, idle: Option<Idle>) -> RealSwitch {
    let gap = |n| file.headroom.iter().find(|h| h.port.index() == n).map(|h| h.poll_gap);
    let port = |(n, (device, port)): (usize, (&DevicePlan, &PortPlan))| RealPort {
        device: device.device.clone(),
        options: PortOptions {
            rx_descriptors: device.rx_descriptors,
            tx_descriptors: device.tx_descriptors,
            max_frame: Some(file.plan.max_frame),
            hardware_pfc: device
                .hardware_pfc
                .then(|| HardwarePfc { priorities: port.pfc.mode.pfc(), pause: port.pfc.quanta }),
            ..PortOptions::default()
        },
        rate_max: port.rate,
        poll_gap: gap(n),
    };
    RealSwitch {
        plan: file.plan.clone(),
        ports: file.devices.iter().zip(&file.plan.ports).enumerate().map(port).collect(),
        workers: file
            .workers
            .iter()
            .map(|w| RealWorker { pin: pin(w), ports: w.ports.clone() })
            .collect(),
        pool_frames: u32::try_from(file.pool_frames).unwrap_or(u32::MAX),
        idle,
    }
}
