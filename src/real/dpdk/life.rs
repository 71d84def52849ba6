//! The life of a device: the settings and counts that outlast its openings, the steps that set it up and
//! start it, and its reopening under its number after its interface was removed and created again, while
//! all other ports continue.

use std::thread;
use std::time::{Duration, Instant};

use contracts::stats::NicCounters;
use dpdk_sys as sys;

use super::device::{self, Device};
use super::error::{self, Error, Logged};
use super::gate::Gate;
use super::interface::Interface;
use super::pool::Pool;
use super::port::HardwarePfc;
use super::queues::set_hardware_pfc;
use super::sockets;

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

/// Counters of a device since it was first opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortStats {
    /// Frames received.
    pub rx_frames: u64,
    /// Frames sent.
    pub tx_frames: u64,
    /// Frames lost.
    pub nic: NicCounters,
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
