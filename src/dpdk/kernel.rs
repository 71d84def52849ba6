//! The kernel's part in a device: the interface that it works on, and the frames that are lost there,
//! of which most drivers know nothing.
//!
//! A frame that the kernel or a ring shared with it had no room for never reaches the driver. The
//! count is taken where it is exact: at the driver's own socket, at the interface, or from the driver
//! where that knows. Where nobody counts, the result is nothing, and never 0.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::device::Spec;
use super::interface::Interface;
use super::sockets::{self, Promiscuity};

/// Source of the count of missed frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Counts {
    /// The driver, completely: a NIC's, or one on memory that is full for the sender as well.
    Driver,
    /// A packet socket its full ring, and the interface what it lost before.
    PacketRing,
    /// An XDP socket its full ring, the driver the lack of memory.
    XdpRing,
    /// The interface what its reader, which is the driver, left it no room to queue.
    TapQueue,
    /// libpcap what its ring had no room for, and the interface what it lost before.
    Capture,
    /// Nobody that can be asked.
    Nobody,
}

impl Counts {
    fn of(spec: &Spec) -> Self {
        let Some(driver) = spec.virtual_driver() else { return Self::Driver };
        match driver {
            "net_af_packet" | "eth_af_packet" => Self::PacketRing,
            "net_af_xdp" => Self::XdpRing,
            "net_tap" => Self::TapQueue,
            "net_pcap" | "eth_pcap" if spec.interface().is_some() => Self::Capture,
            // Frames come out of a file, of memory that refuses what it has no room for, or of
            // nowhere.
            "net_pcap" | "eth_pcap" | "eth_ring" | "net_null" | "eth_null" | "net_memif"
            | "net_vhost" | "eth_vhost" => Self::Driver,
            // With vhost-net a queue of the kernel stands before it, which tells nobody.
            "net_virtio_user" | "virtio_user" => {
                let path = spec.argument("path").unwrap_or_default();
                if path.starts_with("/dev/") { Self::Nobody } else { Self::Driver }
            }
            // The name of a pair of rings is behind the driver's.
            other if other.starts_with("net_ring") => Self::Driver,
            _ => Self::Nobody,
        }
    }
}

/// Counts of the kernel below a device, which its driver lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Lost {
    /// Frames that came and that the driver never saw.
    pub(super) rx: u64,
    /// Frames that the driver handed over and that did not leave.
    pub(super) tx: u64,
}

/// The kernel's part in one device.
#[derive(Debug)]
pub(super) struct KernelSide {
    counts: Counts,
    /// The interface that the device is opened on, by name; of `net_tap`, the one it makes.
    interface: Option<String>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The interface's number; nothing before the device is attached.
    index: Option<u32>,
    /// The driver's sockets.
    sockets: Vec<OwnedFd>,
    /// Counts of the interface when the device was attached to it.
    base: Lost,
    /// Its counts when it was last asked; it may be gone since.
    last: Option<Lost>,
    /// True if it was attached once.
    was_attached: bool,
    /// Counts of the interfaces that it was attached to before.
    past: Lost,
    /// Counts of rings: of those that are closed, and of those that start again when read.
    in_rings: u64,
    /// True if the driver's sockets were found.
    knows_rings: bool,
    promiscuity: Option<Promiscuity>,
    /// Keeps other processes off the interface.
    hold: Option<UnixDatagram>,
}

impl KernelSide {
    pub(super) fn new(spec: &Spec) -> Self {
        Self {
            counts: Counts::of(spec),
            interface: spec.interface().map(str::to_owned),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The interface as it is now; nothing where there is none, or none any more.
    pub(super) fn interface(&self) -> Option<Interface> {
        let index = self.state().index?;
        let now = Interface::numbered(index).ok().flatten()?;
        if now.link && self.counts == Counts::PacketRing {
            self.state().sockets.iter().for_each(sockets::clear_error);
        }
        Some(now)
    }

    /// True if the device works on an interface of the kernel, which has a link of its own.
    pub(super) const fn has_interface(&self) -> bool {
        self.interface.is_some() || matches!(self.counts, Counts::TapQueue)
    }

    /// True if the device works on an interface that others make and remove.
    pub(super) const fn is_external(&self) -> bool {
        self.interface.is_some()
    }

    /// Takes the interface for this process alone; who has it otherwise.
    pub(super) fn hold(&self) -> Result<(), String> {
        let Some(name) = &self.interface else { return Ok(()) };
        let Ok(Some(interface)) = Interface::named(name) else { return Ok(()) };
        match hold(interface.index) {
            Ok(socket) => {
                self.state().hold = Some(socket);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                Err(holder(interface.index).unwrap_or_else(|| "another process".into()))
            }
            // A system without such sockets has no such protection.
            Err(_) => Ok(()),
        }
    }

    /// Finds out what there is to count from, now that the driver has opened the device on the
    /// interface with this number (0: the driver does not say).
    pub(super) fn attach(&self, index: u32) {
        let by_name = || Interface::named(self.interface.as_deref()?).ok().flatten();
        let by_number = || Interface::numbered(index).ok().flatten();
        let found = if index == 0 { by_name() } else { by_number() };
        let mut state = self.state();
        let Some(interface) = found.filter(|_| self.has_interface()) else { return };
        state.index = Some(interface.index);
        state.base = lost(&interface);
        state.last = Some(state.base);
        state.was_attached = true;
        if self.counts == Counts::PacketRing {
            state.sockets = sockets::packet_rings(interface.index);
            state.knows_rings |= !state.sockets.is_empty();
        }
    }

    /// Lets go of everything of the device, which the driver has closed.
    pub(super) fn detach(&self) {
        let mut state = self.state();
        // Counted until now, whether the interface is still there or not.
        state.in_rings = state.in_rings(self.counts).unwrap_or(state.in_rings);
        let counted = state.at_interface().unwrap_or_default();
        state.sockets.clear();
        state.promiscuity = None;
        state.hold = None;
        state.index = None;
        state.last = None;
        state.past = counted;
    }

    /// Takes over the socket that the driver opened while its queues were set up; `before` are those
    /// that there were already.
    pub(super) fn adopt_xdp(&self, before: &[OwnedFd]) {
        let is_new = |fd: &OwnedFd| !before.iter().any(|old| sockets::is_same(old, fd));
        let mut state = self.state();
        state.sockets = sockets::xdp_sockets().into_iter().filter(is_new).collect();
        state.knows_rings |= !state.sockets.is_empty();
    }

    /// True if the driver opens its sockets while its queues are set up.
    pub(super) fn is_xdp(&self) -> bool {
        self.counts == Counts::XdpRing
    }

    /// Frames that the device missed, `by_driver` of them counted by its driver, and frames that
    /// were handed over and did not leave. Nothing where nobody counts.
    pub(super) fn lost(&self, by_driver: Option<u64>) -> (Option<u64>, u64) {
        let mut state = self.state();
        let at_interface = state.at_interface();
        let tx = at_interface.map_or(0, |lost| lost.tx);
        let sum = |parts: &[Option<u64>]| parts.iter().copied().sum::<Option<u64>>();
        let rx = at_interface.map(|lost| lost.rx);
        match self.counts {
            Counts::Driver => (by_driver, 0),
            Counts::Nobody => (None, 0),
            Counts::PacketRing | Counts::XdpRing => {
                let full = state.in_rings(self.counts);
                (sum(&[by_driver, full, rx]), tx)
            }
            Counts::TapQueue => (at_interface.map(|lost| lost.tx), 0),
            Counts::Capture => (sum(&[by_driver, rx]), tx),
        }
    }

    /// Sets the interface administratively up or down.
    pub(super) fn set_up(&self, up: bool) -> io::Result<()> {
        let index = self.state().index.ok_or(io::ErrorKind::NotFound)?;
        Interface::set_up(index, up)
    }

    /// Has the interface receive frames to any address; whether that was for the kernel to do.
    pub(super) fn set_promiscuous(&self, on: bool) -> io::Result<bool> {
        if !matches!(self.counts, Counts::PacketRing | Counts::XdpRing) {
            return Ok(false);
        }
        let mut state = self.state();
        let Some(index) = state.index else { return Ok(false) };
        state.promiscuity = if on { Some(Promiscuity::on(index)?) } else { None };
        Ok(true)
    }
}

impl State {
    /// Counts of rings since the device was first attached; nothing where its sockets were
    /// never found, or do not say.
    fn in_rings(&mut self, counts: Counts) -> Option<u64> {
        let sum = |count: fn(&OwnedFd) -> Option<u64>| self.sockets.iter().map(count).sum();
        let now: Option<u64> = match counts {
            Counts::PacketRing => {
                self.in_rings += sum(sockets::take_ring_drops)?;
                Some(0)
            }
            Counts::XdpRing => sum(sockets::xdp_ring_full),
            _ => None,
        };
        now.filter(|_| self.knows_rings).map(|now| self.in_rings + now)
    }

    /// Losses at the interface since the device was attached.
    fn at_interface(&mut self) -> Option<Lost> {
        let now = self.index.and_then(|index| Interface::numbered(index).ok().flatten());
        self.last = now.as_ref().map(lost).or(self.last);
        let Some(last) = self.last else { return self.was_attached.then_some(self.past) };
        Some(Lost {
            rx: self.past.rx + last.rx.saturating_sub(self.base.rx),
            tx: self.past.tx + last.tx.saturating_sub(self.base.tx),
        })
    }
}

fn lost(interface: &Interface) -> Lost {
    Lost { rx: interface.rx_lost, tx: interface.tx_dropped }
}

/// The name of the lock on an interface: of the abstract names, which belong to the network
/// namespace, as the interface does, and are free again when the process ends, however it ends.
fn lock_name(index: u32) -> String {
    format!("sluice/interface/{index}")
}

fn hold(index: u32) -> io::Result<UnixDatagram> {
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(lock_name(index))?)
}

/// The process that holds an interface, as far as it can be told.
fn holder(index: u32) -> Option<String> {
    let name = format!("@{}", lock_name(index));
    let sockets = fs::read_to_string("/proc/net/unix").ok()?;
    let line = sockets.lines().find(|line| line.ends_with(&name))?;
    let inode = format!("socket:[{}]", line.split_whitespace().nth(6)?);
    let has = |pid: &u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        files.map(|file| fs::read_link(file.path())).any(|link| link.is_ok_and(|l| l == *inode))
    };
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let pid = processes.filter_map(|p| p.file_name().to_str()?.parse().ok()).find(has)?;
    let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(format!("process {pid} ({})", command.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(device: &str) -> Counts {
        Counts::of(&Spec::parse(device).unwrap())
    }

    #[test]
    fn a_device_that_nobody_counts_for_says_so() {
        assert_eq!(counts("net_virtio_user0,path=/dev/vhost-net"), Counts::Nobody);
        assert_eq!(counts("net_bonding0,member=0000:03:00.0"), Counts::Nobody);
        let unknown =
            KernelSide::new(&Spec::parse("net_virtio_user0,path=/dev/vhost-net").unwrap());
        assert_eq!(unknown.lost(Some(7)), (None, 0));
        // An interface that was never seen counts nothing either.
        let unseen = KernelSide::new(&Spec::parse("net_af_packet0,iface=nosuch").unwrap());
        assert_eq!(unseen.lost(Some(0)), (None, 0));
    }

    #[test]
    fn what_is_lost_is_counted_where_it_is_lost() {
        assert_eq!(counts("net_af_packet0,iface=x"), Counts::PacketRing);
        assert_eq!(counts("net_af_xdp0,iface=x"), Counts::XdpRing);
        assert_eq!(counts("net_tap0"), Counts::TapQueue);
        assert_eq!(counts("net_pcap0,iface=x"), Counts::Capture);
        for device in
            ["0000:03:00.0", "net_pcap0,rx_pcap=x", "net_null0", "net_ring0", "net_ring_a0"]
        {
            assert_eq!(counts(device), Counts::Driver, "{device}");
        }
    }

    #[test]
    fn an_interface_is_held_by_one_and_free_again_after() {
        let first = hold(4_000_000_001).unwrap();
        assert_eq!(hold(4_000_000_001).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        let by = holder(4_000_000_001).unwrap();
        assert!(by.starts_with(&format!("process {} (", std::process::id())), "{by}");
        drop(first);
        let _again = hold(4_000_000_001).unwrap();
    }
}
