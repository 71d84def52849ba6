//! Kernel drivers that PCI devices are bound to, as sysfs shows them. They are read before DPDK sees a
//! device: some of its drivers take a device from a kernel driver that is using it.

use std::fs;
use std::path::Path;

use super::spec::pci_address;

const DEVICES: &str = "/sys/bus/pci/devices";

/// Switch of the kernel's vfio for devices without an IOMMU.
const NO_IOMMU: &str = "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode";

/// Drivers that share their device with DPDK: it sends and receives beside them.
const SHARED: [&str; 3] = ["mlx4_core", "mlx5_core", "mana"];

/// Drivers that give a device to a process and translate no addresses.
const UNTRANSLATED: [&str; 2] = ["uio_pci_generic", "igb_uio"];

const VFIO: &str = "vfio-pci";

/// Driver that a PCI device is bound to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Binding {
    /// There is no such device.
    Absent,
    /// No driver has it.
    Unbound,
    /// DPDK may use it.
    Usable {
        /// True if the device uses physical addresses, because no IOMMU translates.
        physical: bool,
    },
    /// This driver of the kernel uses it.
    Kernel(String),
}

impl Binding {
    /// Reads the binding of a device; `address` is in DPDK's form (`0000:03:00.0`).
    pub(super) fn of(address: &str) -> Self {
        let no_iommu = || fs::read_to_string(NO_IOMMU).is_ok_and(|text| text.trim() == "Y");
        Self::below(Path::new(DEVICES), address, no_iommu)
    }

    fn below(devices: &Path, address: &str, no_iommu: impl FnOnce() -> bool) -> Self {
        let device = devices.join(address);
        if !device.exists() {
            return Self::Absent;
        }
        // The link exists only while a driver is bound.
        let Ok(link) = fs::read_link(device.join("driver")) else { return Self::Unbound };
        let driver = link.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match driver.as_str() {
            // VFIO without an IOMMU translates nothing.
            VFIO => Self::Usable { physical: no_iommu() },
            name if SHARED.contains(&name) => Self::Usable { physical: false },
            name if UNTRANSLATED.contains(&name) => Self::Usable { physical: true },
            _ => Self::Kernel(driver),
        }
    }
}

/// PCI devices that EAL starts with.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Allowed {
    /// Those that DPDK may use, with their arguments.
    pub(super) devices: Vec<String>,
    /// The first that needs physical addresses, if any.
    pub(super) physical: Option<String>,
}

impl Allowed {
    /// Selects those of `devices` that DPDK may use, by their `binding`. EAL probes all devices that it
    /// is started with, so those of the kernel must not be among them.
    pub(super) fn of(devices: &[String], binding: impl Fn(&str) -> Binding) -> Self {
        let mut allowed = Self::default();
        for device in devices {
            let name = device.split(',').next().unwrap_or_default();
            // Virtual devices are not on the bus.
            let Some(address) = pci_address(name) else { continue };
            if let Binding::Usable { physical } = binding(&address) {
                allowed.devices.push(device.clone());
                if physical {
                    allowed.physical.get_or_insert(address);
                }
            }
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testfolder::Folder;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_device_is_usable_by_its_driver() {
        let folder = Folder::new("binding");
        for (address, driver) in [
            ("0000:01:00.0", "igb"),
            ("0000:02:00.0", "uio_pci_generic"),
            ("0000:03:00.0", "vfio-pci"),
            ("0000:04:00.0", "mlx5_core"),
            ("0000:05:00.0", "igb_uio"),
        ] {
            fs::create_dir(folder.at(address)).unwrap();
            let link = format!("../../../bus/pci/drivers/{driver}");
            symlink(link, folder.at(address).join("driver")).unwrap();
        }
        fs::create_dir(folder.at("0000:06:00.0")).unwrap();
        let of = |address| Binding::below(&folder.0, address, || false);
        assert_eq!(of("0000:01:00.0"), Binding::Kernel("igb".into()));
        assert_eq!(of("0000:02:00.0"), Binding::Usable { physical: true });
        assert_eq!(of("0000:03:00.0"), Binding::Usable { physical: false });
        assert_eq!(of("0000:04:00.0"), Binding::Usable { physical: false });
        assert_eq!(of("0000:05:00.0"), Binding::Usable { physical: true });
        assert_eq!(of("0000:06:00.0"), Binding::Unbound);
        assert_eq!(of("0000:07:00.0"), Binding::Absent);
        let without = Binding::below(&folder.0, "0000:03:00.0", || true);
        assert_eq!(without, Binding::Usable { physical: true });
    }

    #[test]
    fn dpdk_starts_with_the_devices_that_it_may_use_alone() {
        let binding = |address: &str| match address {
            "0000:01:00.0" => Binding::Kernel("igb".into()),
            "0000:02:00.0" => Binding::Usable { physical: true },
            "0000:03:00.0" => Binding::Usable { physical: false },
            _ => Binding::Absent,
        };
        let of = |devices: &[&str]| {
            let devices: Vec<_> = devices.iter().map(|&device| device.to_owned()).collect();
            Allowed::of(&devices, binding)
        };
        assert_eq!(of(&["0000:01:00.0", "09:00.0"]), Allowed::default());
        let kept = of(&["01:00.0", "03:00.0,x=1"]);
        assert_eq!(kept, Allowed { devices: vec!["03:00.0,x=1".into()], physical: None });
        let physical = of(&["03:00.0", "02:00.0"]).physical;
        assert_eq!(physical.as_deref(), Some("0000:02:00.0"));
    }
}
