//! A port seen from the side: its counters, its link, its address; no frames.

use std::fmt;
use std::sync::Arc;

use dpdk_sys as sys;

use super::device::Device;
use super::error::{self, Error, Logged, strerror};
use super::life::Life;
use contracts::port::Link;
use contracts::stats::{NicCounters, PortStats};
use ground::units::{BitsPerSec, Mac};
use kernel::Interface;

/// Result of a port's setup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortInfo {
    /// Receive descriptors, as fitted to the device.
    pub rx_descriptors: u16,
    /// Transmit descriptors, as fitted to the device.
    pub tx_descriptors: u16,
    /// The longest frame in octets, FCS and tags included.
    pub max_frame: u32,
    /// The MTU that was set for it; 0 where the driver's own stands.
    pub mtu: u16,
    /// True if frames to any address are received.
    pub promiscuous: bool,
    /// Handling of PAUSE and PFC frames.
    pub mac_control: MacControl,
    /// Success if the device stamps received frames, else the reason; none if it was not requested.
    pub rx_stamps: Option<Result<(), String>>,
    /// Success, or the reason why sent frames have no timestamps, if they were requested. Drivers may take
    /// requests and give no timestamp.
    pub tx_stamps: Option<Result<(), String>>,
}

/// Handling of received MAC control frames (EtherType 0x8808): they have to reach software, and
/// the device's own flow control has to be off.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MacControl {
    /// The device passes them up, and has its own flow control off.
    Forwarded,
    /// The device has its own flow control off, but does not promise to pass them up.
    FlowControlOff,
    /// The driver has no such setting. On a virtual device there is no MAC that would take them
    /// (what a kernel's NIC below it does, `ethtool -a` tells); on a NIC it is not known.
    NoSetting {
        /// DPDK's reason.
        reason: String,
        /// True if the device is virtual.
        is_virtual: bool,
    },
}

impl fmt::Display for PortInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rx_descriptors, tx_descriptors, max_frame, mtu, .. } = self;
        write!(
            f,
            "{rx_descriptors} rx and {tx_descriptors} tx descriptors, frames up to {max_frame} B"
        )?;
        if *mtu > 0 {
            write!(f, ", MTU {mtu} set")?;
        }
        if !self.promiscuous {
            write!(f, ", not promiscuous")?;
        }
        write!(f, "; MAC control: {}", self.mac_control)?;
        for (what, stamps) in [("received", &self.rx_stamps), ("sent", &self.tx_stamps)] {
            match stamps {
                None => {}
                Some(Ok(())) => write!(f, "; {what} frames are stamped")?,
                Some(Err(why)) => write!(f, "; {what} frames are not stamped: {why}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for MacControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forwarded => {
                f.write_str("flow control off, MAC control frames are passed to software")
            }
            Self::FlowControlOff => {
                f.write_str("flow control off; the driver does not promise to pass them")
            }
            Self::NoSetting { reason, .. } => write!(f, "no setting ({reason})"),
        }
    }
}

impl MacControl {
    /// Asks the device to pass MAC control frames up and to leave flow control alone.
    pub(super) fn ask_for(device: &Device) -> Self {
        let mut conf = sys::rte_eth_fc_conf::default();
        let set = |conf: &mut sys::rte_eth_fc_conf| {
            // SAFETY: the port exists, and `conf` is readable.
            match unsafe { sys::rte_eth_dev_flow_ctrl_set(device.id, conf) } {
                0 => Ok(()),
                code => Err(code),
            }
        };
        let ask = || {
            // SAFETY: the port exists, and `conf` is writable.
            match unsafe { sys::rte_eth_dev_flow_ctrl_get(device.id, &mut conf) } {
                0 => {}
                code => return Err(code),
            }
            conf.mode = sys::RTE_ETH_FC_NONE;
            // Drivers such as net_e1000_igb and net_ixgbe refuse to change the negotiation of flow
            // control; it stays without effect, as the link then offers none.
            let as_read = conf.autoneg;
            let mut refused = 0;
            for (forward, result) in [(1, Self::Forwarded), (0, Self::FlowControlOff)] {
                for autoneg in [0, as_read] {
                    conf.autoneg = autoneg;
                    conf.mac_ctrl_frame_fwd = forward;
                    match set(&mut conf) {
                        Ok(()) => return Ok(result),
                        Err(code) => refused = code,
                    }
                }
            }
            Err(refused)
        };
        error::capture(ask).unwrap_or_else(|(code, _)| Self::NoSetting {
            reason: strerror(code),
            is_virtual: device.is_virtual,
        })
    }
}

impl Device {
    /// Counts of its driver since it was first opened; zeroes where it does not count.
    pub(super) fn by_driver(&self, life: &Life) -> PortStats {
        let (mut s, past) = (sys::rte_eth_stats::default(), life.past);
        // SAFETY: `s` is writable; an unknown number is refused.
        if life.is_detached || unsafe { sys::rte_eth_stats_get(self.id, &mut s) } != 0 {
            return past;
        }
        PortStats {
            rx_frames: past.rx_frames + s.ipackets,
            tx_frames: past.tx_frames + s.opackets,
            nic: NicCounters {
                rx_missed: Some(past.nic.rx_missed.unwrap_or(0) + s.imissed),
                rx_errors: past.nic.rx_errors + s.ierrors,
                rx_no_memory: past.nic.rx_no_memory + s.rx_nombuf,
                tx_errors: past.nic.tx_errors + s.oerrors,
                tx_dropped: 0,
            },
        }
    }
}

/// A handle on a port for threads that do not poll it. The device stays attached while one exists.
#[derive(Clone, Debug)]
pub struct PortControl(Arc<Device>);

impl PortControl {
    pub(super) fn new(device: &Arc<Device>) -> Self {
        Self(device.clone())
    }

    pub(super) fn device_of(&self) -> &Device {
        &self.0
    }

    /// The EAL name the port was opened by.
    pub fn device(&self) -> &str {
        &self.0.spec.full
    }

    /// The device's own address, where it has one.
    pub fn mac(&self) -> Option<Mac> {
        let mut address = sys::rte_ether_addr::default();
        let _life = self.0.life();
        // SAFETY: the port exists, and `address` is writable.
        let code = unsafe { sys::rte_eth_macaddr_get(self.0.id, &mut address) };
        let mac = Mac(address.addr_bytes);
        (code == 0 && mac != Mac::default()).then_some(mac)
    }

    /// The link as it is now; down if the driver does not say, or the interface of the kernel that
    /// the device works on is gone or not operational.
    pub fn link(&self) -> Link {
        let (mut mbps, mut up, mut full_duplex) = (0, 0, 0);
        let _life = self.0.life();
        // SAFETY: the port exists, and the three are writable.
        unsafe { sys::sluice_link_get(self.0.id, &mut mbps, &mut up, &mut full_duplex) };
        Link {
            up: up != 0 && self.interface_link().unwrap_or(true),
            rate: BitsPerSec::new(u64::from(mbps) * 1_000_000),
            full_duplex: full_duplex != 0,
        }
    }

    /// True if the kernel's interface that the device works on is operational; nothing where there is
    /// no such interface. Drivers for them call their link up whatever happens to it.
    pub fn interface_link(&self) -> Option<bool> {
        let kernel = &self.0.kernel;
        kernel.has_interface().then(|| kernel.interface().is_some_and(|now| now.link))
    }

    /// True if the kernel's interface that the device works on has a carrier and is not operational
    /// yet: the kernel drops what it is given to send.
    pub fn is_activating(&self) -> bool {
        self.interface().is_some_and(|now| now.carrier && !now.link)
    }

    /// Takes the link up or down; of an interface of the kernel, the interface, so that its peer
    /// loses the carrier.
    ///
    /// # Errors
    /// [`Error::Device`] when the driver, or this process, cannot.
    pub fn set_link(&self, up: bool) -> Result<(), Error> {
        let step = if up { "take its link up" } else { "take its link down" };
        if self.0.kernel.has_interface() {
            return self
                .0
                .kernel
                .set_up(up)
                .map_err(|error| self.0.spec.failed(step, error.to_string(), Logged::default()));
        }
        let _life = self.0.life();
        let set = || {
            let code = if up {
                // SAFETY: the port exists.
                unsafe { sys::rte_eth_dev_set_link_up(self.0.id) }
            } else {
                // SAFETY: the port exists.
                unsafe { sys::rte_eth_dev_set_link_down(self.0.id) }
            };
            if code == 0 { Ok(()) } else { Err(code) }
        };
        error::capture(set).map_err(|(code, logged)| self.0.error(step, code, logged))
    }

    /// The interface of the kernel that the device works on, as it is now.
    pub fn interface(&self) -> Option<Interface> {
        self.0.kernel.interface()
    }

    /// True if the interface of the kernel that the device works on is gone.
    pub fn has_lost_interface(&self) -> bool {
        self.0.has_lost_interface()
    }

    /// Opens the device again if an interface of its name exists again; returns whether it does. The
    /// thread that polls it goes on, and finds nothing to receive meanwhile.
    ///
    /// # Errors
    /// As [`DpdkPort::open`](super::DpdkPort::open); it may be tried again.
    pub fn reopen(&self) -> Result<bool, Error> {
        self.0.reopen()
    }

    /// The device's own counters and the kernel's of its interface; zeroes if the driver has none.
    pub fn stats(&self) -> PortStats {
        let mut stats = self.0.by_driver(&self.0.life());
        // The driver first: where it reads a counter that starts again when read, the kernel's part
        // is what came since.
        let (rx_missed, tx_dropped) = self.0.kernel.lost(stats.nic.rx_missed, stats.tx_frames);
        stats.nic = NicCounters { rx_missed, tx_dropped, ..stats.nic };
        stats
    }

    /// Tries the device's hardware PFC without changing it: how many priorities it can pause, `None` if its
    /// driver does not say.
    ///
    /// # Errors
    /// [`Error::Device`] when the driver has none.
    pub fn hardware_pfc_classes(&self) -> Result<Option<u8>, Error> {
        let mut info = sys::rte_eth_pfc_queue_info::default();
        let _life = self.0.life();
        // SAFETY: the port exists, and `info` is writable.
        let code =
            unsafe { sys::rte_eth_dev_priority_flow_ctrl_queue_info_get(self.0.id, &mut info) };
        match code {
            0 => Ok(Some(info.tc_max).filter(|classes| *classes > 0)),
            code => Err(self.0.error("name its PFC abilities", code, Logged::default())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setup_is_told_in_words() {
        let mut info = PortInfo {
            rx_descriptors: 1_024,
            tx_descriptors: 128,
            max_frame: 1_526,
            mtu: 0,
            promiscuous: true,
            mac_control: MacControl::NoSetting { reason: "not supported".into(), is_virtual: true },
            rx_stamps: None,
            tx_stamps: None,
        };
        let said = "1024 rx and 128 tx descriptors, frames up to 1526 B; MAC control: no setting (not supported)";
        assert_eq!(info.to_string(), said);
        info.mac_control = MacControl::Forwarded;
        (info.mtu, info.promiscuous) = (1_508, false);
        (info.rx_stamps, info.tx_stamps) = (Some(Ok(())), Some(Err("no timer".into())));
        let said = "1024 rx and 128 tx descriptors, frames up to 1526 B, MTU 1508 set, not promiscuous; MAC \
                    control: flow control off, MAC control frames are passed to software; received frames are stamped; sent \
                    frames are not stamped: no timer";
        assert_eq!(info.to_string(), said);
    }
}
