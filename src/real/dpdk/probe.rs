//! Capabilities of a device, tested where the driver's report is not enough.
//!
//! A probe opens the device, starts it, tests it, and closes it again. It sends one PFC frame that
//! pauses nothing, between devices that are back to back in this machine, and one PTP frame, which
//! no bridge forwards, on devices that advertise timestamps for it.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dpdk_sys as sys;

use super::control::MacControl;
use super::device;
use super::eal::Eal;
use super::error::{Error, strerror, string};
use super::pool::{Pool, PoolOptions};
use super::port::{DpdkPort, PortOptions, Started, Stopped};
use contracts::frame::{Burst, Frame};
use contracts::port::Link;
use contracts::port::Port;
use ground::units::Mac;

/// Time for a link to come up.
const LINK_WAIT: Duration = Duration::from_secs(3);

/// Time for a frame, or its timestamp, to come back.
const FRAME_WAIT: Duration = Duration::from_millis(200);

/// A PFC frame that names no priority: MAC control, opcode 0x0101 (IEEE 802.3 31D.3).
const PFC_OF_NOTHING: [u8; 18] =
    [0x01, 0x80, 0xc2, 0, 0, 0x01, 0x02, 0, 0, 0, 0, 0x01, 0x88, 0x08, 0x01, 0x01, 0, 0];

/// A PTP Sync message to the link's other end (IEEE 1588 Annex F, the address that is not
/// forwarded).
const PTP_SYNC: [u8; 16] =
    [0x01, 0x80, 0xc2, 0, 0, 0x0e, 0x02, 0, 0, 0, 0, 0x01, 0x88, 0xf7, 0x10, 0x02];

/// Reception of a MAC control frame by software.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// The frame that the named device sent was received.
    Seen(String),
    /// The frame that the named device sent was not received.
    Lost(String),
    /// Not tested, for this reason.
    NotTried(String),
}

/// Timestamps of the device, each tested: supported, or the reason why not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stamps {
    /// Of every received frame.
    pub rx_all: Result<(), String>,
    /// Of received PTP frames.
    pub rx_ptp: Result<(), String>,
    /// Of a sent frame, on request.
    pub tx: Result<(), String>,
    /// The device's clock can be read.
    pub clock: Result<(), String>,
}

/// Result of probing a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortProbe {
    /// EAL name with which it was opened.
    pub device: String,
    pub driver: String,
    /// True for a virtual device.
    pub is_virtual: bool,
    /// The kernel's network interface that it works on.
    pub interface: Option<String>,
    pub mac: Option<Mac>,
    /// State of the link after up to three seconds.
    pub link: Link,
    /// Receive and transmit queues; Sluice uses one of each.
    pub queues_max: (u16, u16),
    /// Longest frame with its FCS as the driver reports it; none if it reports no valid limit.
    pub max_frame: Option<u32>,
    /// Names of the receive offloads.
    pub rx_offloads: Vec<String>,
    /// Names of the transmit offloads.
    pub tx_offloads: Vec<String>,
    /// Handling of PAUSE and PFC frames.
    pub mac_control: MacControl,
    /// Result of the test with a PFC frame.
    pub arrival: Arrival,
    /// Number of priorities of its PFC, or the reason why it has none.
    pub hardware_pfc: Result<Option<u8>, String>,
    pub stamps: Stamps,
}

impl PortProbe {
    /// Probes the device with this EAL name.
    ///
    /// # Errors
    /// As [`DpdkPort::open`] and [`DpdkPort::start`].
    pub fn of(eal: &Eal, device: &str) -> Result<Self, Error> {
        // A driver that does not return all frames when it closes keeps its pool's name taken.
        static PROBES: AtomicU32 = AtomicU32::new(0);
        let name = format!("probe{}", PROBES.fetch_add(1, Ordering::Relaxed));
        let options = PoolOptions { name, frames: 8_191, ..Default::default() };
        let pool = Pool::new(eal, &options)?;
        let port = DpdkPort::open(eal, device)?;
        let info = device::info(port.id()).unwrap_or_default();
        let (port, rx_all) = try_rx_stamps(port, &info, &pool)?;
        let mut port = port.start(&PortOptions::default(), &pool)?;
        let link = wait_for_link(&port);
        let mut stamps = try_ptp_stamps(&mut port, &pool, link.up);
        stamps.rx_all = rx_all;
        let arrival = try_mac_control(eal, &mut port, &pool);
        Ok(Self {
            device: port.device().into(),
            driver: port.driver().into(),
            is_virtual: port.is_virtual(),
            interface: port.spec().interface().map(String::from),
            mac: port.mac(),
            link,
            queues_max: (info.max_rx_queues, info.max_tx_queues),
            max_frame: longest_frame(&port, &info),
            rx_offloads: names(info.rx_offload_capa, |bit| {
                // SAFETY: takes any number, and returns a static string.
                unsafe { sys::rte_eth_dev_rx_offload_name(bit) }
            }),
            tx_offloads: names(info.tx_offload_capa, |bit| {
                // SAFETY: takes any number, and returns a static string.
                unsafe { sys::rte_eth_dev_tx_offload_name(bit) }
            }),
            mac_control: port.info().mac_control.clone(),
            arrival,
            hardware_pfc: port.control().hardware_pfc_classes().map_err(|err| match err {
                Error::Device { reason, .. } => reason,
                other => other.to_string(),
            }),
            stamps,
        })
    }
}

/// Starts the port with timestamps on every received frame, if it offers them.
fn try_rx_stamps(
    port: DpdkPort<Stopped>,
    info: &sys::rte_eth_dev_info,
    pool: &Pool,
) -> Result<(DpdkPort<Stopped>, Result<(), String>), Error> {
    let offload = u64::from(sys::RTE_ETH_RX_OFFLOAD_TIMESTAMP);
    if info.rx_offload_capa & offload == 0 {
        return Ok((port, Err("the driver does not offer it".into())));
    }
    let (eal, device) = (pool.eal().clone(), port.device().to_string());
    match port.start_with(&PortOptions::default(), pool, 1, offload) {
        Ok(mut started) => Ok((started.swap_remove(0).stop(), Ok(()))),
        Err(err) => Ok((DpdkPort::open(&eal, &device)?, Err(err.to_string()))),
    }
}

fn wait_for_link(port: &DpdkPort<Started>) -> Link {
    let deadline = Instant::now() + LINK_WAIT;
    loop {
        let link = port.link();
        if link.up || port.is_virtual() || Instant::now() > deadline {
            return link;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Enables IEEE 1588, reads the clock, and requests the timestamp of a frame it sends.
fn try_ptp_stamps(port: &mut DpdkPort<Started>, pool: &Pool, link_up: bool) -> Stamps {
    let id = port.id();
    let result = |code| if code == 0 { Ok(()) } else { Err(strerror(code)) };
    let mut time = sys::timespec::default();
    // SAFETY: the port is started.
    let rx_ptp = result(unsafe { sys::rte_eth_timesync_enable(id) });
    // SAFETY: the port is started, and `time` is writable.
    let clock = result(unsafe { sys::rte_eth_timesync_read_time(id, &mut time) });
    let tx = match (&rx_ptp, link_up) {
        (Err(why), _) => Err(why.clone()),
        (Ok(()), false) => Err("not tried, because the link is down".into()),
        (Ok(()), true) => stamp_of_sent_frame(port, pool),
    };
    // SAFETY: the port is started.
    unsafe { sys::rte_eth_timesync_disable(id) };
    Stamps { rx_all: Ok(()), rx_ptp, tx, clock }
}

fn stamp_of_sent_frame(port: &mut DpdkPort<Started>, pool: &Pool) -> Result<(), String> {
    let mut octets = [0; 60];
    octets[..PTP_SYNC.len()].copy_from_slice(&PTP_SYNC);
    let mut frame = pool.frame(&octets).ok_or("no memory for a frame")?;
    frame.set_flags(sys::RTE_MBUF_F_TX_IEEE1588_TMST);
    let mut burst: Burst<_> = [frame].into_iter().collect();
    port.tx_burst(&mut burst);
    let deadline = Instant::now() + FRAME_WAIT;
    let mut time = sys::timespec::default();
    loop {
        // SAFETY: the port is started, and `time` is writable.
        let code = unsafe { sys::rte_eth_timesync_read_tx_timestamp(port.id(), &mut time) };
        if code == 0 {
            return Ok(());
        }
        if Instant::now() > deadline {
            // Without an error the frame was sent, but without its timestamp: drivers of a DPDK
            // built without RTE_LIBRTE_IEEE1588 do so.
            return Err(format!("the frame was sent, but no stamp came ({})", strerror(code)));
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Sends a PFC frame to the port from the device at its other end, if Sluice may use it.
fn try_mac_control(eal: &Eal, port: &mut DpdkPort<Started>, pool: &Pool) -> Arrival {
    match port.driver() {
        // One ring connects the port to itself.
        "net_ring" => {
            let name = port.device().to_string();
            send_pfc(port);
            arrival(port, name)
        }
        "net_af_packet" | "net_af_xdp" | "net_pcap" => {
            match veth_peer(port.spec().interface().unwrap_or_default()) {
                Some(peer) => from_interface(eal, port, pool, &peer),
                None => Arrival::NotTried("the other end of its interface is not here".into()),
            }
        }
        // Frames that the kernel sends to its side of a tap are received by the port.
        "net_tap" => match device::info(port.id()).ok().and_then(|info| by_index(info.if_index)) {
            Some(tap) => from_interface(eal, port, pool, &tap),
            None => Arrival::NotTried("the kernel's side of it is not here".into()),
        },
        "net_null" => Arrival::NotTried("what is sent to it is gone".into()),
        _ => Arrival::NotTried("nothing at its other end can be asked to send one".into()),
    }
}

fn from_interface(eal: &Eal, port: &mut DpdkPort<Started>, pool: &Pool, peer: &str) -> Arrival {
    let device = format!("net_af_packet{},iface={peer}", 1_000 + port.id());
    let opened = DpdkPort::open(eal, &device);
    match opened.and_then(|other| other.start(&PortOptions::default(), pool)) {
        Ok(mut other) => {
            send_pfc(&mut other);
            arrival(port, peer.into())
        }
        Err(err) => Arrival::NotTried(err.to_string()),
    }
}

fn send_pfc(port: &mut DpdkPort<Started>) {
    let mut octets = [0; 60];
    octets[..PFC_OF_NOTHING.len()].copy_from_slice(&PFC_OF_NOTHING);
    let mut burst: Burst<_> = port.control_frame(&octets).into_iter().collect();
    port.tx_burst(&mut burst);
}

fn arrival(port: &mut DpdkPort<Started>, from: String) -> Arrival {
    let deadline = Instant::now() + FRAME_WAIT;
    let mut burst = Burst::new();
    while Instant::now() < deadline {
        port.rx_burst(&mut burst);
        if burst.drain(..).any(|frame| frame.head().starts_with(&PFC_OF_NOTHING)) {
            return Arrival::Seen(from);
        }
    }
    Arrival::Lost(from)
}

/// Interface at the other end of a veth pair, if it is in this network namespace: each of the two
/// names the other's index.
fn veth_peer(interface: &str) -> Option<String> {
    let (index, peer_index) = (number(interface, "ifindex")?, number(interface, "iflink")?);
    let peer = by_index(peer_index).filter(|peer| peer != interface)?;
    (number(&peer, "iflink") == Some(index)).then_some(peer)
}

/// Name of the interface with this index, in this network namespace.
fn by_index(index: u32) -> Option<String> {
    let all = fs::read_dir("/sys/class/net").ok()?;
    let mut names = all.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.find(|name| number(name, "ifindex") == Some(index))
}

/// A numeric attribute of an interface in sysfs.
fn number(interface: &str, file: &str) -> Option<u32> {
    let text = fs::read_to_string(format!("/sys/class/net/{interface}/{file}")).ok()?;
    text.trim().parse().ok()
}

/// Longest frame, if the driver reports a valid limit.
fn longest_frame(port: &DpdkPort<Started>, info: &sys::rte_eth_dev_info) -> Option<u32> {
    if let Some(limit) = port.frame_limit() {
        return Some(limit).filter(|&limit| limit != u32::MAX);
    }
    Some(info.max_rx_pktlen).filter(|&limit| limit != u32::MAX && limit != 0)
}

/// Names of the bits that are set.
pub(super) fn names(bits: u64, name: impl Fn(u64) -> *const core::ffi::c_char) -> Vec<String> {
    (0..64).map(|n| 1 << n).filter(|bit| bits & bit != 0).map(|bit| string(name(bit))).collect()
}
