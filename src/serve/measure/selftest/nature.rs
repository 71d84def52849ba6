//! Kind of a device, and of the machine that it is in.
//!
//! An emulated NIC has the identity of a physical one except for its PCI subsystem, and a NIC that
//! is passed through to a virtual machine has all of it. What neither identity proves is unknown.

use std::fs;
use std::path::Path;

use super::report::{Machine, Nature, Pci};

/// PCI subsystem that QEMU gives to devices without one of their own (`pci-ids.rst` of QEMU).
const QEMU_SUBSYSTEM: (&str, &str) = ("1af4", "1100");

/// Vendors of PCI devices that exist in virtual machines alone.
const PARAVIRTUAL: &[(&str, &str)] = &[
    ("1af4", "virtio"),
    ("15ad", "VMware"),
    ("1d0f", "Amazon"),
    ("1414", "Microsoft"),
    ("1ae0", "Google"),
];

/// Words in the names of drivers of virtual functions.
const FUNCTIONS: &[&str] = &["_vf", "iavf", "vfnic"];

/// A file of a folder such as `/sys`, without surrounding white space.
fn read(root: &Path, path: &str) -> Option<String> {
    let text = fs::read_to_string(root.join(path)).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The machine, by the files below `root`.
pub(super) fn machine(root: &Path) -> Machine {
    let cpu = read(root, "proc/cpuinfo");
    let field = |name: &str| {
        let line = cpu.as_deref()?.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let dmi =
        ["sys_vendor", "product_name"].map(|file| read(root, &format!("sys/class/dmi/id/{file}")));
    let dmi: Vec<_> = dmi.into_iter().flatten().collect();
    Machine {
        kernel: read(root, "proc/sys/kernel/osrelease"),
        architecture: std::env::consts::ARCH.into(),
        processor: field("model name"),
        // The flag is how x86 processors tell it; others have no common way.
        is_virtual: field("flags").map(|all| all.split_whitespace().any(|f| f == "hypervisor")),
        model: match dmi.is_empty() {
            true => "unknown: the machine has no DMI".into(),
            false => dmi.join(" "),
        },
    }
}

/// PCI identity of the device at an address.
pub(super) fn pci(root: &Path, address: &str) -> Option<Pci> {
    let folder = format!("sys/bus/pci/devices/{address}");
    let id = |file: &str| {
        read(root, &format!("{folder}/{file}")).map(|id| id.trim_start_matches("0x").to_owned())
    };
    Some(Pci {
        vendor: id("vendor")?,
        device: id("device")?,
        subsystem_vendor: id("subsystem_vendor")?,
        subsystem_device: id("subsystem_device")?,
    })
}

/// Kind of a device with this driver, and the evidence.
pub(super) fn nature(
    driver: &str,
    is_vdev: bool,
    interface: Option<&str>,
    pci: Option<&Pci>,
    machine: &Machine,
) -> (Nature, String) {
    // The most certain evidence comes first: a driver on an interface shows nothing of the NIC below it.
    if let Some(interface) = interface {
        return (Nature::KernelInterface, format!("the kernel's interface {interface}"));
    }
    if is_vdev {
        return (Nature::Memory, format!("a virtual device of DPDK ({driver})"));
    }
    let Some(pci) = pci else {
        return (Nature::Unknown, "its PCI identity cannot be read".into());
    };
    let ids = format!(
        "PCI {}:{}, subsystem {}:{}",
        pci.vendor, pci.device, pci.subsystem_vendor, pci.subsystem_device
    );
    let by_vendor = PARAVIRTUAL.iter().find(|(vendor, _)| *vendor == pci.vendor);
    if let Some((_, maker)) = by_vendor {
        return (Nature::Paravirtual, format!("{ids}: {maker}, for virtual machines"));
    }
    if (pci.subsystem_vendor.as_str(), pci.subsystem_device.as_str()) == QEMU_SUBSYSTEM {
        return (Nature::Emulated, format!("{ids}: the subsystem is QEMU's"));
    }
    let in_machine = machine.is_virtual == Some(true);
    // QEMU's e1000e and VMware's e1000: boards of Intel have a number, and Intel as their maker.
    if in_machine && (pci.subsystem_device == "0000" || pci.subsystem_vendor == "15ad") {
        let evidence = format!("{ids}: no board has this subsystem; {}", machine.model);
        return (Nature::Emulated, evidence);
    }
    // Only then the driver's name: an emulated device may use the driver of a real one.
    if FUNCTIONS.iter().any(|word| driver.contains(word)) {
        return (Nature::VirtualFunction, format!("{ids}, driver {driver}"));
    }
    match machine.is_virtual {
        Some(false) => (Nature::Physical, ids),
        Some(true) => (
            Nature::Unknown,
            format!(
                "{ids}; in a virtual machine ({}), so passed through or emulated",
                machine.model
            ),
        ),
        None => (Nature::Unknown, format!("{ids}; whether the machine is virtual is unknown")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine_of(is_virtual: Option<bool>) -> Machine {
        Machine {
            kernel: None,
            architecture: "x86_64".into(),
            processor: None,
            is_virtual,
            model: "QEMU Standard PC".into(),
        }
    }

    fn of(driver: &str, ids: [&str; 4], is_virtual: Option<bool>) -> Nature {
        let [vendor, device, subsystem_vendor, subsystem_device] = ids.map(String::from);
        let pci = Pci { vendor, device, subsystem_vendor, subsystem_device };
        nature(driver, false, None, Some(&pci), &machine_of(is_virtual)).0
    }

    #[test]
    fn an_emulated_nic_is_never_called_physical() {
        let igb = ["8086", "10c9", "1af4", "1100"];
        assert_eq!(of("net_e1000_igb", igb, Some(true)), Nature::Emulated);
        let e1000e = ["8086", "10d3", "8086", "0000"];
        assert_eq!(of("net_e1000_em", e1000e, Some(true)), Nature::Emulated);
        let vmxnet3 = ["15ad", "07b0", "15ad", "07b0"];
        assert_eq!(of("net_vmxnet3", vmxnet3, Some(true)), Nature::Paravirtual);
        let virtio = ["1af4", "1000", "1af4", "0001"];
        assert_eq!(of("net_virtio", virtio, Some(true)), Nature::Paravirtual);
        let board = ["8086", "1572", "8086", "0006"];
        assert_eq!(of("net_i40e", board, Some(false)), Nature::Physical);
        // Passed through, or an imitation that is not known here.
        assert_eq!(of("net_i40e", board, Some(true)), Nature::Unknown);
        assert_eq!(of("net_i40e", board, None), Nature::Unknown);
        assert_eq!(of("net_iavf", board, Some(true)), Nature::VirtualFunction);
    }

    #[test]
    fn devices_of_dpdk_are_memory_or_the_kernels() {
        let of = |driver, interface| nature(driver, true, interface, None, &machine_of(None)).0;
        assert_eq!(of("net_ring", None), Nature::Memory);
        assert_eq!(of("net_af_packet", Some("eth1")), Nature::KernelInterface);
        assert_eq!(of("net_memif", None), Nature::Memory);
        let lost = nature("net_x", false, None, None, &machine_of(Some(false)));
        assert_eq!(lost.0, Nature::Unknown, "without an identity nothing is physical");
    }

    #[test]
    fn a_machine_without_files_is_unknown() {
        let none = machine(Path::new("/nonexistent"));
        assert_eq!((none.kernel, none.is_virtual, none.processor), (None, None, None));
        assert!(none.model.starts_with("unknown"));
        let here = machine(Path::new("/"));
        assert!(here.kernel.is_some());
    }
}
