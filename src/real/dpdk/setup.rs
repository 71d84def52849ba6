//! The steps that set a port up and start it.

use dpdk_sys as sys;

use super::device::{self, Device};
use super::error::Error;
use super::hardware_pfc::set_hardware_pfc;
use super::life::Setup;
use super::{log, sockets};

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
    log::capture(run).map_err(|(code, logged)| device.error(what, code, logged))
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
    log::capture(set).map_err(|(code, logged)| device.error(make, code, logged))
}
