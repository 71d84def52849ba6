//! Abilities of a device as its driver claims them: nothing here is tried.

use core::ffi::{c_char, c_int};
use core::fmt;
use std::ffi::CStr;

use dpdk_sys as sys;

use super::control::PortControl;
use super::device;
use super::error::{self, strerror, string};
use super::probe::names;
use super::queues::queues_behind;

/// Longest text of a firmware version.
const FIRMWARE_MAX: usize = 128;

/// A refusal of a driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DriverCode {
    /// Error number, negative, such as -95.
    pub code: i32,
    /// Text of the number.
    pub text: String,
}

impl DriverCode {
    fn new(code: c_int) -> Self {
        Self { code, text: strerror(code) }
    }
}

impl fmt::Display for DriverCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.code, self.text)
    }
}

/// Numbers of descriptors that a driver accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RingLimits {
    pub min: u16,
    pub max: u16,
    /// The number is a multiple of it.
    pub align: u16,
}

/// Setting of the flow control of a device's MAC (PAUSE).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowControlSetting {
    /// True if the device obeys received pauses.
    pub obeys: bool,
    /// True if the device sends pauses.
    pub sends: bool,
    /// True if the link's ends negotiate it.
    pub autoneg: bool,
    /// True if MAC control frames are passed to software.
    pub forwards: bool,
}

/// Claims of a driver about its device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Abilities {
    /// Firmware version, or the driver's refusal.
    pub firmware: Result<String, DriverCode>,
    /// Names of the receive offloads.
    pub rx_offloads: Vec<String>,
    /// Names of the transmit offloads.
    pub tx_offloads: Vec<String>,
    /// Least and largest MTU in bytes; `None` without valid limits.
    pub mtu: Option<(u16, u16)>,
    /// Longest frame in bytes with its FCS; `None` without a valid limit.
    pub max_frame: Option<u32>,
    pub rx_rings: RingLimits,
    pub tx_rings: RingLimits,
    /// Receive and transmit queues.
    pub queues_max: (u16, u16),
    /// Flow control of the MAC as it is set now.
    pub flow_control: Result<FlowControlSetting, DriverCode>,
    /// Number of priorities of the device's PFC; `None` if the driver has it and does not say.
    pub hardware_pfc: Result<Option<u8>, DriverCode>,
}

impl PortControl {
    /// Asks the driver about its device. Settings of flow control are valid on a started port.
    pub fn abilities(&self) -> Abilities {
        let device = self.device_of();
        let _life = device.life();
        let info = device::info(device.id).unwrap_or_default();
        let (rx, tx) = (info.rx_desc_lim, info.tx_desc_lim);
        let limits = |lim: sys::rte_eth_desc_lim| RingLimits {
            min: lim.nb_min,
            max: lim.nb_max,
            align: lim.nb_align.max(1),
        };
        let behind = queues_behind(&device.driver, &device.spec, 0, 0).2;
        let max_frame = behind.unwrap_or(info.max_rx_pktlen);
        Abilities {
            firmware: firmware(device.id),
            rx_offloads: names(info.rx_offload_capa, |bit| {
                // SAFETY: takes any number, and returns a static string.
                unsafe { sys::rte_eth_dev_rx_offload_name(bit) }
            }),
            tx_offloads: names(info.tx_offload_capa, |bit| {
                // SAFETY: takes any number, and returns a static string.
                unsafe { sys::rte_eth_dev_tx_offload_name(bit) }
            }),
            mtu: Some((info.min_mtu, info.max_mtu)).filter(|(_, max)| *max != u16::MAX && *max > 0),
            max_frame: Some(max_frame).filter(|max| *max != u32::MAX && *max > 0),
            rx_rings: limits(rx),
            tx_rings: limits(tx),
            queues_max: (info.max_rx_queues, info.max_tx_queues),
            flow_control: flow_control(device.id),
            hardware_pfc: hardware_pfc(device.id),
        }
    }
}

/// Calls a function of DPDK without its log.
fn checked(call: impl FnOnce() -> c_int) -> Result<c_int, DriverCode> {
    let run = || match call() {
        code if code < 0 => Err(code),
        code => Ok(code),
    };
    error::capture(run).map_err(|(code, _)| DriverCode::new(code))
}

fn firmware(id: u16) -> Result<String, DriverCode> {
    let mut text: [c_char; FIRMWARE_MAX] = [0; FIRMWARE_MAX];
    // SAFETY: the port exists, and `text` has the length that is given.
    checked(|| unsafe { sys::rte_eth_dev_fw_version_get(id, text.as_mut_ptr(), FIRMWARE_MAX) })?;
    // A driver that truncates the text need not end it.
    text[FIRMWARE_MAX - 1] = 0;
    // SAFETY: the last byte is a zero.
    let text = unsafe { CStr::from_ptr(text.as_ptr()) };
    Ok(string(text.as_ptr()).trim().to_owned())
}

fn flow_control(id: u16) -> Result<FlowControlSetting, DriverCode> {
    let mut conf = sys::rte_eth_fc_conf::default();
    // SAFETY: the port exists, and `conf` is writable.
    checked(|| unsafe { sys::rte_eth_dev_flow_ctrl_get(id, &mut conf) })?;
    let both = conf.mode == sys::RTE_ETH_FC_FULL;
    Ok(FlowControlSetting {
        obeys: both || conf.mode == sys::RTE_ETH_FC_RX_PAUSE,
        sends: both || conf.mode == sys::RTE_ETH_FC_TX_PAUSE,
        autoneg: conf.autoneg != 0,
        forwards: conf.mac_ctrl_frame_fwd != 0,
    })
}

fn hardware_pfc(id: u16) -> Result<Option<u8>, DriverCode> {
    let mut info = sys::rte_eth_pfc_queue_info::default();
    // SAFETY: the port exists, and `info` is writable.
    checked(|| unsafe { sys::rte_eth_dev_priority_flow_ctrl_queue_info_get(id, &mut info) })?;
    Ok(Some(info.tc_max).filter(|classes| *classes > 0))
}
