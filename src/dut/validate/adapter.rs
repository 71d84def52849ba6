//! Access to a device beside its ports: reads its counters and changes its settings.
//!
//! A device has some of these counters, others not: one that it does not have is unknown, never 0. The
//! counters of a trial are differences over all of it, the frames by which the device learns the tester's
//! addresses included ([`crate::trial::LEARNING`] of each port). A [`crate::bench::Bench`] on real ports
//! reads them with an [`Adapter`]; the virtual one reads those of the virtual device.

mod command;
mod own;

pub(crate) use command::has;
pub use command::{Command, Commands, TIMEOUT};
pub use own::{of_snapshot, of_summary};

use crate::bench::Trouble;
use crate::counters::Counters;
use crate::trial::ResetKind;
use ground::time::Duration;

/// An action on a device, which runs beside the traffic.
pub type Action = Box<dyn FnOnce() -> Result<(), Trouble> + Send>;

/// Access to a device beside its ports.
pub trait Adapter {
    /// Returns the time after traffic until the counters are current.
    fn settle(&self) -> Duration;

    /// Reads the counters of these ports of the device, by their names.
    ///
    /// # Errors
    /// The device does not answer, or not as it should.
    fn read(&mut self, ports: &[&str]) -> Result<Counters, Trouble>;

    /// Sets counters and maxima to zero, if the device can.
    ///
    /// # Errors
    /// The device does not answer.
    fn clear(&mut self) -> Result<(), Trouble>;

    /// Returns true if it can read counters. Default: it can.
    fn can_read(&self) -> bool {
        true
    }

    /// Reads the version of the device; `None` if it is unknown. Default: unknown.
    ///
    /// # Errors
    /// The device does not answer.
    fn version(&mut self) -> Result<Option<String>, Trouble> {
        Ok(None)
    }

    /// Returns true if it can read the memory that the device uses. Default: it cannot.
    fn can_read_memory(&self) -> bool {
        false
    }

    /// Reads the memory that the device uses, in bytes; `None` if it is unknown. Default: unknown.
    ///
    /// # Errors
    /// The device does not answer, or not with a number.
    fn memory(&mut self) -> Result<Option<u64>, Trouble> {
        Ok(None)
    }

    /// Returns an action that resets the device in this way, and ends when that is begun; `None` if there is
    /// none. Default: none.
    fn reset(&self, _: ResetKind) -> Option<Action> {
        None
    }

    /// Returns true if it can change settings.
    fn can_set(&self) -> bool;

    /// Gives a setting of a port of the device a value; both by their names in files
    /// ([`crate::trial::Setting`]).
    ///
    /// # Errors
    /// The device refuses, or does not answer.
    fn set(&mut self, port: &str, name: &str, value: &str) -> Result<(), Trouble>;
}
