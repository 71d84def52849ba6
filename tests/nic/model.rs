//! Models of NICs in the guest, and the binding of their functions to drivers of the kernel.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

const DEVICES: &str = "/sys/bus/pci/devices";

/// Time for a driver of the kernel to take or leave a device.
const BINDING: Duration = Duration::from_secs(20);

/// A model that QEMU emulates.
#[derive(Debug)]
pub struct Model {
    /// Name in results and on QEMU's command line.
    pub name: &'static str,
    id: &'static str,
    /// Drivers of DPDK and of the kernel for it.
    pub dpdk: &'static str,
    pub kernel: &'static str,
    /// Its treatment of frames that find a full ring.
    pub full_ring: FullRing,
    /// Rate of its line in configurations.
    pub rate: &'static str,
    /// Lines of the self-test that fail. igb: Debian's build of the driver claims stamps and gives none.
    pub fails: &'static [&'static str],
}

/// Treatment of frames that find a full ring, by the emulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FullRing {
    /// They are dropped, and counted as missed.
    Counts,
    /// They are dropped, and in no counter.
    DropsUncounted,
    /// They wait, and none is lost.
    Waits,
}

/// All models, in the order of their tests.
pub const MODELS: [Model; 4] = [
    Model {
        name: "igb",
        id: "0x8086:0x10c9",
        dpdk: "net_e1000_igb",
        kernel: "igb",
        full_ring: FullRing::DropsUncounted,
        rate: "1G",
        fails: &["rx_stamps", "tx_stamps"],
    },
    Model {
        name: "e1000e",
        id: "0x8086:0x10d3",
        dpdk: "net_e1000_em",
        kernel: "e1000e",
        full_ring: FullRing::Waits,
        rate: "1G",
        fails: &[],
    },
    Model {
        name: "vmxnet3",
        id: "0x15ad:0x07b0",
        dpdk: "net_vmxnet3",
        kernel: "vmxnet3",
        full_ring: FullRing::Counts,
        rate: "10G",
        fails: &[],
    },
    Model {
        name: "virtio",
        id: "0x1af4:0x1041",
        dpdk: "net_virtio",
        kernel: "virtio-pci",
        full_ring: FullRing::Waits,
        rate: "1G",
        fails: &[],
    },
];

/// Two functions of a model that are cabled back to back, by their PCI addresses.
#[derive(Debug)]
pub struct Pair {
    pub model: &'static Model,
    pub a: String,
    pub b: String,
}

impl Pair {
    /// Finds the pair of a model.
    pub fn of(name: &str) -> Result<Self> {
        let model = MODELS.iter().find(|model| model.name == name).context("no such model")?;
        let addresses = addresses()?.remove(model.id).unwrap_or_default();
        let [a, b] = <[String; 2]>::try_from(addresses)
            .map_err(|found| anyhow::anyhow!("not two functions of {name}: {found:?}"))?;
        Ok(Self { model, a, b })
    }
}

fn attribute(address: &str, name: &str) -> String {
    let path = Path::new(DEVICES).join(address).join(name);
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// Addresses of the network functions by vendor and device, in the order of the bus.
fn addresses() -> Result<BTreeMap<String, Vec<String>>> {
    let mut all: Vec<_> = fs::read_dir(DEVICES)?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|address| attribute(address, "class").starts_with("0x0200"))
        .collect();
    all.sort();
    let mut by_model = BTreeMap::<_, Vec<_>>::new();
    for address in all {
        let id = format!("{}:{}", attribute(&address, "vendor"), attribute(&address, "device"));
        by_model.entry(id).or_default().push(address);
    }
    Ok(by_model)
}

/// Returns the driver that a device is bound to.
pub fn driver(address: &str) -> Option<String> {
    let link = fs::read_link(Path::new(DEVICES).join(address).join("driver")).ok()?;
    Some(link.file_name()?.to_string_lossy().into_owned())
}

/// Binds a device to a driver of the kernel.
pub fn bind(address: &str, to: &str) -> Result<()> {
    let device = Path::new(DEVICES).join(address);
    if driver(address).as_deref() == Some(to) {
        return Ok(());
    }
    if driver(address).is_some() {
        fs::write(device.join("driver/unbind"), address).context("unbind")?;
    }
    fs::write(device.join("driver_override"), to).context("driver_override")?;
    fs::write("/sys/bus/pci/drivers_probe", address).with_context(|| format!("bind to {to}"))?;
    let started = Instant::now();
    while driver(address).as_deref() != Some(to) {
        ensure!(started.elapsed() < BINDING, "{to} does not take {address}");
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Returns the folder of the kernel's interface on a device.
pub fn interface(address: &str) -> Result<PathBuf> {
    let device = Path::new(DEVICES).join(address);
    let started = Instant::now();
    loop {
        // Virtio's interface belongs to a device below the one on the bus.
        for folder in [device.join("net"), device.join("virtio0/net"), device.join("virtio1/net")] {
            let mut found = fs::read_dir(folder).into_iter().flatten().flatten();
            if let Some(entry) = found.next() {
                return Ok(entry.path());
            }
        }
        ensure!(started.elapsed() < BINDING, "the kernel makes no interface on {address}");
        thread::sleep(Duration::from_millis(20));
    }
}
