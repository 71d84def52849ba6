//! Opens a device again under its number, after its interface was removed and created again, while
//! all other ports continue.

use std::thread;
use std::time::{Duration, Instant};

use super::control::PortStats;
use super::device::{self, Device};
use super::error::{Error, Logged};
use super::interface::Interface;
use super::port::{self, Setup};

/// Time for the polling thread to leave the driver: one poll, and preemption by the system.
const PATIENCE: Duration = Duration::from_secs(5);

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
        self.gate.shut();
        let start = Instant::now();
        while !self.gate.is_shut() {
            if start.elapsed() > PATIENCE {
                let reason = "its worker does not poll".into();
                return Err(self.failed("open it anew", reason));
            }
            thread::sleep(Duration::from_micros(100));
        }
        let mut life = self.life_mut();
        if !life.is_detached {
            life.past = self.by_driver(&life);
            // The gate keeps the polling thread out of the driver.
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
            return Err(self.failed("open it anew", "DPDK gives it another number".into()));
        }
        life.is_detached = false;
        self.kernel.attach(device::info(id).map_or(0, |info| info.if_index));
        if let Some(setup) = &life.setup {
            port::set_up(self, setup)?;
        }
        drop(life);
        self.gate.open();
        Ok(true)
    }

    fn failed(&self, step: &'static str, reason: String) -> Error {
        let device = self.spec.full.clone();
        Error::Device { device, step, reason, logged: Logged::default() }
    }
}
