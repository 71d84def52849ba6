//! Opens a device again under its number, after its interface was removed and created again, while
//! all other ports continue.

use std::thread;
use std::time::{Duration, Instant};

use super::device::{self, Device};
use super::error::{Error, Logged};
use super::gate::Gate;
use super::interface::Interface;
use super::setup::set_up;

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
