//! PFC by the device: each priority pauses, and is paused for, a queue of its own.

use core::ffi::{CStr, c_char};

use dpdk_sys as sys;

use super::classes::rx_queue;
use super::device::{self, Device};
use super::error::{Error, strerror};
use super::log;
use super::port::HardwarePfc;

/// Longest text of a driver about a refused rule.
const WHY_MAX: usize = 160;

/// Checks that the device has PFC for these priorities, and this many queues each way.
pub(super) fn check_hardware_pfc(
    device: &Device,
    pfc: &HardwarePfc,
    (rx, tx): (u16, u16),
) -> Result<(), Error> {
    let mut offers = sys::rte_eth_pfc_queue_info::default();
    let ask = || {
        // SAFETY: the port exists, and `offers` is writable.
        match unsafe { sys::rte_eth_dev_priority_flow_ctrl_queue_info_get(device.id, &mut offers) }
        {
            0 => Ok(()),
            code => Err(code),
        }
    };
    log::capture(ask)
        .map_err(|(code, logged)| refusal(device, format!("{}{logged}", strerror(code))))?;
    let highest = pfc.priorities.iter().last().map_or(0, |priority| priority.get());
    if offers.tc_max == 0 {
        let why = "its driver does not say for how many priorities it has PFC";
        return Err(refusal(device, why.into()));
    }
    if offers.tc_max <= highest {
        let why = format!("it has PFC for the priorities below {}", offers.tc_max);
        return Err(refusal(device, why));
    }
    let (rx_max, tx_max) = device::info(device.id)
        .map(|info| (info.max_rx_queues, info.max_tx_queues))
        .map_err(|code| refusal(device, strerror(code)))?;
    if rx_max < rx || tx_max < tx {
        let why = format!(
            "{rx} receive and {tx} transmit queues are needed, a queue for each priority, and it has \
             {rx_max} and {tx_max}"
        );
        return Err(refusal(device, why));
    }
    Ok(())
}

/// Enables the device's PFC on a started port: frames of each priority arrive in its receive queue,
/// whose filling pauses the priority, and a pause of the priority stops its transmit queue.
pub(super) fn set_hardware_pfc(device: &Device, pfc: &HardwarePfc) -> Result<(), Error> {
    for priority in pfc.priorities.iter() {
        let queue = rx_queue(pfc.priorities, priority);
        steer(device, priority.get(), queue)?;
        let mut conf =
            sys::rte_eth_pfc_queue_conf { mode: sys::RTE_ETH_FC_FULL, ..Default::default() };
        conf.rx_pause.tc = priority.get();
        conf.rx_pause.tx_qid = priority.get().into();
        conf.tx_pause.tc = priority.get();
        conf.tx_pause.rx_qid = queue;
        conf.tx_pause.pause_time = pfc.pause.0;
        let set = || {
            // SAFETY: the port exists, and `conf` is readable.
            match unsafe {
                sys::rte_eth_dev_priority_flow_ctrl_queue_configure(device.id, &mut conf)
            } {
                0 => Ok(()),
                code => Err(code),
            }
        };
        log::capture(set)
            .map_err(|(code, logged)| refusal(device, format!("{}{logged}", strerror(code))))?;
    }
    Ok(())
}

/// Lets the device put the frames of a priority into their receive queue.
fn steer(device: &Device, pcp: u8, queue: u16) -> Result<(), Error> {
    let mut why: [c_char; WHY_MAX] = [0; WHY_MAX];
    // SAFETY: the port is started with this queue, and `why` has the length that is given.
    let code =
        unsafe { sys::sluice_steer_priority(device.id, pcp, queue, why.as_mut_ptr(), WHY_MAX) };
    if code == 0 {
        return Ok(());
    }
    // SAFETY: the text ends with a zero within the array, whatever it is.
    let why = unsafe { CStr::from_ptr(why.as_ptr()) }.to_string_lossy().into_owned();
    let text = if why.is_empty() { strerror(code) } else { why };
    Err(refusal(device, format!("it cannot put priority {pcp} into a separate queue: {text}")))
}

fn refusal(device: &Device, reason: String) -> Error {
    Error::NoHardwarePfc { device: device.spec.full.clone(), driver: device.driver.clone(), reason }
}
