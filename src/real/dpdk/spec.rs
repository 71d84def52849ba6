//! The name of a device in a configuration, its arguments, and the resources that it uses.
//!
//! A name is a PCI address (`0000:03:00.0`) or a virtual device with its arguments
//! (`net_af_packet0,iface=veth0`). Every device, and every network interface, file or socket behind a
//! virtual one, has one user in the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::error::{Error, Logged};

/// Resources in use by this process, each with the name of the device that uses it.
static CLAIMS: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

/// Drivers of virtual devices that Sluice is tested with, for the text of an error.
pub(super) const VIRTUAL: &str = "net_af_packet, net_af_xdp, net_tap, net_memif, net_ring, net_pcap, \
                       net_null, net_virtio_user or net_vhost";

/// Bytes of a slot of net_af_packet's ring without the argument `framesz`.
pub(super) const AF_PACKET_SLOT: u32 = 2_048;

/// A device's name and arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Spec {
    /// The whole text as given (PCI addresses with their domain).
    pub(super) full: String,
    /// The part before the first comma.
    pub(super) name: String,
}

impl Spec {
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let (name, arguments) = text.split_once(',').unwrap_or((text, ""));
        if name.is_empty() || text.contains('\0') {
            return Err(Error::Option {
                what: format!("device `{text}`"),
                why: format!(
                    "a PCI address such as 0000:03:00.0, or a virtual device: {VIRTUAL}, a \
                     number, and arguments, such as net_af_packet0,iface=veth0"
                ),
            });
        }
        let name = match pci_address(name) {
            Some(address) => address,
            None => name.to_string(),
        };
        let comma = if arguments.is_empty() { "" } else { "," };
        Ok(Self { full: format!("{name}{comma}{arguments}"), name })
    }

    /// Driver name of a virtual device: the name without its number.
    pub(super) fn virtual_driver(&self) -> Option<&str> {
        if is_pci_address(&self.name) {
            return None;
        }
        // Only DPDK's names end in digits after these prefixes, so `net_af_packet0` gives its
        // driver.
        Some(self.name.trim_end_matches(|c: char| c.is_ascii_digit()))
    }

    /// Value of the argument `key`.
    pub(super) fn argument(&self, key: &str) -> Option<&str> {
        let arguments = self.full.split(',').skip(1);
        arguments.filter_map(|pair| pair.split_once('=')).find(|(k, _)| *k == key).map(|(_, v)| v)
    }

    /// Value of the argument `key` as a number.
    pub(super) fn number(&self, key: &str) -> Option<u32> {
        self.argument(key)?.parse().ok()
    }

    /// Error of a step of the device's setup.
    pub(super) fn failed(
        &self,
        step: &'static str,
        reason: impl Into<String>,
        logged: Logged,
    ) -> Error {
        Error::Device { device: self.full.clone(), step, reason: reason.into(), logged }
    }

    /// Network interface of the kernel that the device works on.
    pub(super) fn interface(&self) -> Option<&str> {
        match self.virtual_driver()? {
            "net_af_packet" | "eth_af_packet" | "net_af_xdp" => self.argument("iface"),
            "net_tap" => self.argument("remote"),
            "net_pcap" | "eth_pcap" => {
                ["iface", "rx_iface", "tx_iface"].iter().find_map(|key| self.argument(key))
            }
            _ => None,
        }
    }

    /// Resources that no other port of this process may use at the same time.
    fn resources(&self) -> Vec<String> {
        let mut resources = vec![format!("device {}", self.name)];
        if let Some(interface) = self.interface() {
            resources.push(format!("interface {interface}"));
        }
        // Both ends of a vhost or memif socket, and any number of readers of a capture file, are
        // valid uses; two of the same end are not.
        let driver = self.virtual_driver().unwrap_or_default();
        match driver {
            "net_vhost" | "eth_vhost" => {
                resources.extend(self.argument("iface").map(|path| format!("vhost socket {path}")))
            }
            "net_virtio_user" | "virtio_user" => resources
                .extend(self.argument("path").map(|path| format!("virtio_user socket {path}"))),
            "net_memif" => {
                let role = self.argument("role").unwrap_or("client");
                let socket = self.argument("socket").unwrap_or("/run/memif.sock");
                let id = self.argument("id").unwrap_or("0");
                resources.push(format!("memif {role} {id} of {socket}"));
            }
            "net_tap" => {
                resources.extend(self.argument("iface").map(|name| format!("tap interface {name}")))
            }
            "net_pcap" | "eth_pcap" => resources
                .extend(self.argument("tx_pcap").map(|path| format!("capture file {path}"))),
            _ => {}
        }
        resources
    }
}

/// Exclusive use of a device's resources, until it is dropped.
#[derive(Debug)]
pub(super) struct Claim(Vec<String>);

impl Claim {
    pub(super) fn take(spec: &Spec) -> Result<Self, Error> {
        let mut claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
        let resources = spec.resources();
        if let Some(by) = resources.iter().find_map(|resource| claims.get(resource)) {
            return Err(Error::InUse { device: spec.full.clone(), by: by.clone() });
        }
        claims.extend(resources.iter().map(|resource| (resource.clone(), spec.full.clone())));
        Ok(Self(resources))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
        for resource in &self.0 {
            claims.remove(resource);
        }
    }
}

/// Bytes for which every receive buffer of this device must have room, regardless of the configured
/// longest frame; 0 if the driver demands nothing. net_af_packet demands room for a whole slot of
/// its ring (`framesz`).
pub fn receive_room(device: &str) -> u32 {
    /// Kernel's header at the start of a slot, which the driver subtracts before it compares.
    const SLOT_HEADER: u32 = 32;
    match Spec::parse(device) {
        Ok(spec) if spec.virtual_driver() == Some("net_af_packet") => {
            let slot = spec.number("framesz").unwrap_or(AF_PACKET_SLOT);
            slot.saturating_sub(SLOT_HEADER)
        }
        _ => 0,
    }
}

/// True if `name` is a PCI address, with or without its domain.
pub fn is_pci_address(name: &str) -> bool {
    pci_address(name).is_some()
}

/// The PCI address `name` in DPDK's form: `0000:03:00.0`.
pub(super) fn pci_address(name: &str) -> Option<String> {
    let (rest, function) = name.rsplit_once('.')?;
    let mut parts = rest.rsplit(':');
    let device = u8::from_str_radix(parts.next()?, 16).ok()?;
    let bus = u8::from_str_radix(parts.next()?, 16).ok()?;
    let domain = parts.next().map_or(Some(0), |d| u32::from_str_radix(d, 16).ok())?;
    let function: u8 = function.parse().ok()?;
    let fits = parts.next().is_none() && device < 32 && function < 8;
    fits.then(|| format!("{domain:04x}:{bus:02x}:{device:02x}.{function}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pci_addresses_are_told_from_virtual_devices() {
        assert_eq!(pci_address("03:00.1").as_deref(), Some("0000:03:00.1"));
        assert_eq!(pci_address("0001:AF:1f.7").as_deref(), Some("0001:af:1f.7"));
        for other in ["net_null0", "03:00", "03:20.0", "03:00.8", "0:0:03:00.0", "net:0.0", ""] {
            assert!(pci_address(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_virtual_device_names_its_driver_and_arguments() {
        let spec = Spec::parse("net_af_packet12,iface=veth0,framecnt=1024").unwrap();
        assert_eq!(spec.virtual_driver(), Some("net_af_packet"));
        assert_eq!(spec.interface(), Some("veth0"));
        assert_eq!(spec.number("framecnt"), Some(1024));
        assert!(Spec::parse("").is_err() && Spec::parse(",iface=x").is_err());
    }

    #[test]
    fn a_ring_of_packet_slots_wants_room_for_a_slot() {
        assert_eq!(receive_room("net_af_packet0,iface=x"), 2_016);
        assert_eq!(receive_room("net_af_packet0,iface=x,framesz=16384"), 16_352);
        assert_eq!(receive_room("net_null0"), 0);
        assert_eq!(receive_room("0000:03:00.0"), 0);
    }

    #[test]
    fn two_ports_on_one_thing_are_refused_by_its_name() {
        let open = |text: &str| Claim::take(&Spec::parse(text).unwrap());
        let first = open("net_af_packet7,iface=claim0").unwrap();
        let Err(Error::InUse { by, .. }) = open("net_af_xdp7,iface=claim0") else {
            panic!("one interface, two ports");
        };
        assert_eq!(by, "net_af_packet7,iface=claim0");
        drop(first);
        let _again = open("net_af_xdp7,iface=claim0").unwrap();
        // The two ends of one memif may be two ports.
        let _server = open("net_memif7,role=server,socket=/tmp/claim").unwrap();
        let _client = open("net_memif8,role=client,socket=/tmp/claim").unwrap();
        assert!(open("net_memif9,role=client,socket=/tmp/claim").is_err());
    }
}
