//! The life of a device: the settings and counts that outlast its openings, the steps that set it up and
//! start it, and its reopening under its number after its interface was removed and created again, while
//! all other ports continue.

use std::thread;
use std::time::{Duration, Instant};

use contracts::frame::{BURST, FCS_BYTES};
use contracts::port::CONTROL_FRAME_MAX;
use contracts::port::HardwarePfc;
use contracts::stats::PortStats;
use dpdk_sys as sys;
use secure::Secy;

use super::device::{self, Device};
use super::error::{self, Error, Logged};
use super::gate::Gate;
use super::pool::{Pool, PoolOptions};
use super::port::PortOptions;
use super::queues::{queues_behind, set_hardware_pfc};
use super::sockets;
use kernel::Interface;

/// Settings of a port.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    /// Ports as which it was started, each polled by one thread.
    pub(super) ports: u16,
    pub(super) rx_descriptors: u16,
    pub(super) tx_descriptors: u16,
    /// Receive and transmit queues.
    pub(super) queues: (u16, u16),
    /// PFC that the device does itself.
    pub(super) hardware_pfc: Option<HardwarePfc>,
    pub(super) mtu: u16,
    pub(super) rx_offloads: u64,
    /// Memory pool for received frames.
    pub(super) pool: Pool,
    pub(super) promiscuous: bool,
}

/// Setup for opening a device again, and the counts of its earlier openings.
#[derive(Debug, Default)]
pub(super) struct Life {
    /// None before the first start.
    pub(super) setup: Option<Setup>,
    /// True if it is detached, because it could not be opened again.
    pub(super) is_detached: bool,
    /// Counts of its earlier openings.
    pub(super) past: PortStats,
}

/// Limits of the device's queues.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) rx_descriptors: u16,
    pub(super) tx_descriptors: u16,
    /// Frames that can wait on the receiving side of the link.
    pub(super) rx_backlog: u32,
    /// Frames that can wait behind `tx_burst`.
    pub(super) tx_committed: u32,
    /// Longest frame, FCS included, for drivers that report no valid limit.
    max_frame: Option<u32>,
}

impl Limits {
    pub(super) fn of(device: &Device, options: &PortOptions) -> Result<Self, Error> {
        let (mut rx, mut tx) = (options.rx_descriptors, options.tx_descriptors);
        // SAFETY: both numbers are writable.
        let code = unsafe { sys::rte_eth_dev_adjust_nb_rx_tx_desc(device.id, &mut rx, &mut tx) };
        if code != 0 {
            return Err(device.error("fit its descriptors", code, Logged::default()));
        }
        let (rx_backlog, tx_committed, max_frame) =
            queues_behind(&device.driver, &device.spec, u32::from(rx), u32::from(tx));
        Ok(Self { rx_descriptors: rx, tx_descriptors: tx, rx_backlog, tx_committed, max_frame })
    }

    /// MTU that lets frames of `max_frame` bytes pass, or 0 to keep the driver's.
    pub(super) fn mtu(&self, device: &Device, max_frame: u32) -> Result<u16, Error> {
        let too_long = |limit: u32, more: &str| Error::Option {
            what: format!("{}: frames of {max_frame} octets", device.spec.full),
            why: format!("{} takes up to {limit}{more}", device.driver),
        };
        if let Some(limit) = self.max_frame {
            if max_frame > limit {
                return Err(too_long(limit, "; its frame size is an argument of the device"));
            }
            return Ok(0);
        }
        let info = device::info(device.id)
            .map_err(|code| device.error("ask for its limits", code, Logged::default()))?;
        // DPDK's rule for the bytes of a frame besides its payload.
        let overhead = if info.max_mtu != u16::MAX && info.max_rx_pktlen > info.max_mtu.into() {
            info.max_rx_pktlen - u32::from(info.max_mtu)
        } else {
            14 + FCS_BYTES
        };
        let limit = info.max_rx_pktlen.min(u32::from(info.max_mtu).saturating_add(overhead));
        if max_frame > limit {
            return Err(too_long(limit, ""));
        }
        let mtu = max_frame.saturating_sub(overhead).max(info.min_mtu.into());
        Ok(u16::try_from(mtu).unwrap_or(u16::MAX))
    }
}

/// Memory for control frames: as many as can wait to be sent, and two bursts more, for each port. A
/// device that is started again has it already.
pub(super) fn control_pool(device: &Device, limits: &Limits, ports: u16) -> Result<Pool, Error> {
    let waiting = limits.tx_committed.max(limits.tx_descriptors.into());
    let frames = (waiting + 2 * BURST as u32) * u32::from(ports);
    let name = format!("control{}x{frames}", device.id);
    if let Some(pool) = device.held(&name) {
        return Ok(pool);
    }
    // No caches: they could hold all of it out of reach.
    // The frames have room for MACsec protection, too.
    let max_frame = CONTROL_FRAME_MAX + Secy::OVERHEAD_MAX as u32;
    let options = PoolOptions { name, frames, max_frame, cache: 0 };
    Pool::for_sending(&device.eal, &options)
}

/// Sets a port up and starts it; true if it receives frames to any address.
pub(super) fn set_up(device: &Device, setup: &Setup) -> Result<bool, Error> {
    let (id, mtu, rx_offloads) = (device.id, setup.mtu, setup.rx_offloads);
    // SAFETY: the port exists.
    let socket = unsafe { sys::rte_eth_dev_socket_id(id) } as u32;
    step(device, "configure it", || {
        let (rx, tx) = setup.queues;
        // SAFETY: the port exists and is stopped.
        unsafe {
            sys::sluice_port_configure(id, rx, tx, mtu, rx_offloads, (setup.ports > 1).into())
        }
    })?;
    let xdp = device.kernel.is_xdp().then(sockets::xdp_sockets);
    for queue in 0..setup.queues.0 {
        step(device, "set its receive queue up", || {
            let (n, pool) = (setup.rx_descriptors, setup.pool.as_ptr());
            let conf = receive_conf(id, n);
            // SAFETY: the port is configured for this queue; the device holds the pool until it
            // closes.
            unsafe { sys::rte_eth_rx_queue_setup(id, queue, n, socket, &conf, pool) }
        })?;
    }
    if let Some(before) = xdp {
        device.kernel.adopt_xdp(&before);
    }
    for queue in 0..setup.queues.1 {
        step(device, "set its transmit queue up", || {
            let n = setup.tx_descriptors;
            // SAFETY: the port is configured for this queue.
            unsafe { sys::rte_eth_tx_queue_setup(id, queue, n, socket, core::ptr::null()) }
        })?;
    }
    step(device, "start it", || {
        // SAFETY: the port is configured with all its queues.
        unsafe { sys::rte_eth_dev_start(id) }
    })?;
    if let Some(pfc) = &setup.hardware_pfc {
        set_hardware_pfc(device, pfc).inspect_err(|_| device.stop())?;
    }
    Ok(setup.promiscuous && promiscuous(device)?)
}

/// The driver's own settings of a receive queue of `n` descriptors, which it returns to the device in
/// time: net_e1000_igb returns 33 at once, so that a ring of 32 would stop for ever.
fn receive_conf(id: u16, n: u16) -> sys::rte_eth_rxconf {
    let mut conf = device::info(id).unwrap_or_default().default_rxconf;
    if conf.rx_free_thresh > n / 2 {
        conf.rx_free_thresh = n / 4;
    }
    conf
}

fn step(
    device: &Device,
    what: &'static str,
    f: impl FnOnce() -> core::ffi::c_int,
) -> Result<(), Error> {
    let run = || match f() {
        code if code < 0 => Err(code),
        _ => Ok(()),
    };
    error::capture(run).map_err(|(code, logged)| device.error(what, code, logged))
}

/// Enables promiscuous reception; false if the driver does not support it.
fn promiscuous(device: &Device) -> Result<bool, Error> {
    // The driver would set the interface's flag, which stays when the process is killed.
    if device.kernel.set_promiscuous(true).unwrap_or(false) {
        return Ok(true);
    }
    // SAFETY: the port exists.
    let set = || match unsafe { sys::rte_eth_promiscuous_enable(device.id) } {
        0 => Ok(true),
        code if code == -libc::ENOTSUP => Ok(false),
        code => Err(code),
    };
    let make = "receive frames to any address";
    error::capture(set).map_err(|(code, logged)| device.error(make, code, logged))
}

/// Time for the polling threads to leave the driver: one poll, and preemption by the system.
const PATIENCE: Duration = Duration::from_secs(5);

/// Step of which errors are reported.
const ANEW: &str = "open it anew";

impl Device {
    /// True if the interface that it was opened on is gone.
    pub(super) fn has_lost_interface(&self) -> bool {
        self.kernel.is_external() && self.kernel.interface().is_none()
    }

    /// Opens it again if an interface of its name exists again; returns whether it does.
    pub(super) fn reopen(&self) -> Result<bool, Error> {
        let name = self.spec.interface().unwrap_or_default();
        if !matches!(Interface::named(name), Ok(Some(_))) {
            return Ok(false);
        }
        let ports = self.life().setup.as_ref().map_or(1, |setup| setup.ports);
        let gates = &self.gates[..ports.into()];
        gates.iter().for_each(Gate::shut);
        let start = Instant::now();
        while !gates.iter().all(Gate::is_shut) {
            if start.elapsed() > PATIENCE {
                return Err(self.spec.failed(ANEW, "its worker does not poll", Logged::default()));
            }
            thread::sleep(Duration::from_micros(100));
        }
        let mut life = self.life_mut();
        if !life.is_detached {
            life.past = self.by_driver(&life);
            // The gates keep the polling threads out of the driver.
            self.stop();
            self.detach();
            self.kernel.detach();
            life.is_detached = true;
        }
        self.kernel.hold().map_err(|by| Error::Taken { device: self.spec.full.clone(), by })?;
        let id = self.spec.attach(&self.eal)?;
        if id != self.id {
            // Its old number has another owner, and the polling thread knows no other.
            device::close(id);
            let reason = "DPDK gives it another number";
            return Err(self.spec.failed(ANEW, reason, Logged::default()));
        }
        life.is_detached = false;
        self.kernel.attach(device::info(id).map_or(0, |info| info.if_index));
        if let Some(setup) = &life.setup {
            set_up(self, setup)?;
        }
        drop(life);
        gates.iter().for_each(Gate::open);
        Ok(true)
    }
}
