//! The interface between a test and the world in which its trials run.

use crate::observation::Observation;
use crate::trial::{Port, ResetKind, Trial};
use ground::time::Duration;
use tester::report::Report;

/// World of a virtual device in exact time.
pub const VIRTUAL: &str = "virtual";

/// World of a device behind real ports.
pub const REAL: &str = "real";

/// World of a virtual device in real time, on ports in memory.
pub const RINGS: &str = "rings";

/// The reason why a test ends early.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TrialError {
    /// The tester or the set-up cannot be trusted.
    #[error("{0}")]
    Error(String),
    /// The machine disturbed the measurement.
    #[error("{0}")]
    Disturbed(String),
    /// Something that the test needs is missing.
    #[error("{0}")]
    Missing(String),
    /// The user ended the run.
    #[error("interrupted")]
    Interrupted,
}

/// A capability that only some benches have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Capability {
    /// Frames shorter than 64 bytes are sent without padding.
    ShortFrames,
    /// Frames are sent with a wrong FCS.
    WrongFcs,
    /// Frames are sent with a gap that is shorter than 96 bits.
    ShortGap,
    /// Connections with acknowledgements run beside the flows.
    Stateful,
    /// Counters of the device are read.
    Counters,
    /// Settings of the device are changed.
    Settings,
    /// Settings of the device are changed while traffic runs.
    Changes,
    /// MACsec keys of the device are changed while traffic runs.
    Keys,
    /// The memory that the device uses is read.
    Memory,
    /// The device is reset in this way while traffic runs and is counted.
    Reset(ResetKind),
}

/// Counters of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Acknowledged {
    /// Acknowledged payload in bytes.
    pub bytes: u64,
    /// Data frames, those that were sent again included.
    pub frames: u64,
    /// Frames that were sent again.
    pub retransmitted: u64,
    pub timeouts: u64,
}

/// A DUT and the tester's ports around it.
pub trait Bench {
    /// Runs a trial from a DUT at rest, and leaves it unpaused.
    ///
    /// # Errors
    /// The trial could not be run as it is.
    fn run(&mut self, trial: &Trial) -> Result<Observation, TrialError>;

    /// Runs a trial on a cable between the first two ports instead of the DUT: the tester's check of
    /// itself.
    ///
    /// # Errors
    /// The trial could not be run as it is.
    fn run_on_cable(&mut self, trial: &Trial) -> Result<Observation, TrialError>;

    /// Runs a trial of any length as [`Self::run`] does, and returns the tester's counters, with
    /// latencies, instead of a record of each frame. Default: an error.
    ///
    /// # Errors
    /// The trial could not be run as it is.
    fn count(&mut self, _: &Trial) -> Result<Report, TrialError> {
        Err(TrialError::Error("this bench records frames, and does not count them".to_owned()))
    }

    /// Runs a trial as [`Self::count`] does, and returns what each of its connections sent, too. Default: an
    /// error.
    ///
    /// # Errors
    /// The trial could not be run as it is.
    fn acknowledged(&mut self, _: &Trial) -> Result<(Report, Vec<Acknowledged>), TrialError> {
        Err(TrialError::Missing("the ports of the tester have no connections".to_owned()))
    }

    /// Returns the number of frames of a trial with one flow that the tester carries by itself, whatever
    /// the DUT does with them. Default: `None`, for a tester without limits.
    ///
    /// # Errors
    /// The trial could not be run.
    fn limit(&mut self, _: &Trial) -> Result<Option<u64>, TrialError> {
        Ok(None)
    }

    /// Returns the version of the device; `None` if it is unknown. Default: unknown.
    ///
    /// # Errors
    /// The device does not answer.
    fn version(&mut self) -> Result<Option<String>, TrialError> {
        Ok(None)
    }

    /// Returns the memory that the device uses, in bytes; `None` if it is unknown. Default: unknown.
    ///
    /// # Errors
    /// The device does not answer, or not with a number.
    fn memory(&mut self) -> Result<Option<u64>, TrialError> {
        Ok(None)
    }

    /// Returns true if the bench has a capability. Default: none.
    fn has(&self, _: Capability) -> bool {
        false
    }

    /// Sets the seed of the next trials, of benches that have one. Default: none.
    fn reseed(&mut self, _: u64) {}

    /// Returns the first of some packet numbers for frames that a test protects at a port with MACsec, behind
    /// all that the port has used. Default: 1, for ports without MACsec.
    fn packet_numbers(&mut self, _port: Port, _frames: u32) -> u64 {
        1
    }

    /// Leaves the device alone for a time between two trials. Default: none, for a device that begins each
    /// trial at rest.
    fn rest(&mut self, _: Duration) {}

    /// Returns what the tester lacks for exact times and full rates, and what else is to be known of the trials so
    /// far, a sentence each. Default: nothing.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the name of the world: [`VIRTUAL`], [`REAL`], or [`RINGS`].
    fn world(&self) -> &'static str;
}
