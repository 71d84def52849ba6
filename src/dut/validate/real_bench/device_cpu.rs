//! The CPU time that a device under test on this machine may have missed.

use std::fs;

use runtime::CpuAccount;
use tester::plan::{Location, Place};
use tester::report::DeviceCpu;

use crate::setup::Setup;

/// An account of a trial that began.
pub(super) struct Watch(Option<CpuAccount>);

impl Watch {
    /// Begins for a trial, at the far end of whose ports there is something other than the tester.
    pub(super) fn begin(setup: &Setup) -> Self {
        let is_here = setup.ports.iter().any(|port| leads_to_this_machine(&port.location));
        Self(is_here.then(CpuAccount::read))
    }

    /// Watches nothing.
    pub(super) const fn none() -> Self {
        Self(None)
    }

    /// Returns the CPU time that the device may have missed since the begin.
    pub(super) fn end(&self) -> DeviceCpu {
        let Self(Some(begin)) = self else { return DeviceCpu::Elsewhere };
        let waited = CpuAccount::read().since(begin);
        waited.map_or(DeviceCpu::Unknown, |time| DeviceCpu::Waited(time.as_nanos() as f64))
    }
}

/// True if the other side of a port is the kernel or a program of this machine: a ring, an interface without
/// hardware, a device of DPDK in software.
fn leads_to_this_machine(location: &str) -> bool {
    let Ok(location) = Location::parse(location) else { return false };
    match location.place {
        Place::Ring { .. } => true,
        Place::Interface(name) => !has_hardware(&name.to_string()),
        Place::Device(device) => {
            let mut arguments = device.split(',');
            let is_software = arguments.next().is_some_and(|name| name.starts_with("net_"));
            let interface = arguments.find_map(|argument| argument.strip_prefix("iface="));
            is_software && interface.is_none_or(|name| !has_hardware(name))
        }
    }
}

/// True if an interface of the kernel is a device with a driver.
fn has_hardware(interface: &str) -> bool {
    let mut parts = std::path::Path::new(interface).components();
    let is_name = parts.next().is_some() && parts.next().is_none();
    is_name && fs::exists(format!("/sys/class/net/{interface}/device")).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_on_this_machine_are_told_by_their_ports() {
        let here = ["ring:x.a", "iface:nothere0", "net_memif0,socket=x", "net_null0"];
        assert!(here.into_iter().all(leads_to_this_machine));
        assert!(!leads_to_this_machine("0000:3b:00.0"));
        assert!(!leads_to_this_machine("0000:3b:00.0?queues=2"));
    }
}
