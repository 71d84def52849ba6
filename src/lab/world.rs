//! The two worlds, and the function that runs a lab in one of them.

use core::fmt;

use clap::ValueEnum;

use super::plan::LabPlan;
#[cfg(feature = "dpdk")]
use super::real::{self, RealError};
use super::record::CaptureError;
use super::verdict;
use super::virtual_run::{self, Options, Progress, Run};
use sim::NetworkError;

/// World in which a lab is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum World {
    /// Discrete-event simulation in exact time, with the real data plane.
    #[default]
    Virtual,
    /// DPDK ports and real frames.
    Real,
}

/// Reason why a lab could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The network plan contradicts itself.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A capture could not be written.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The lab cannot run on rings, or not on this machine.
    #[cfg(feature = "dpdk")]
    #[error(transparent)]
    Real(#[from] RealError),
    /// This build has no real world.
    #[cfg(not(feature = "dpdk"))]
    #[error("this build runs labs in the virtual world only; try `--world virtual`")]
    NoRealWorld,
}

impl RunError {
    /// True if the lab or the options are invalid, false for errors of the machine or this build.
    #[must_use]
    pub const fn is_bad_input(&self) -> bool {
        match self {
            Self::Network(_) | Self::Capture(_) => true,
            #[cfg(feature = "dpdk")]
            Self::Real(error) => error.is_bad_input(),
            #[cfg(not(feature = "dpdk"))]
            Self::NoRealWorld => false,
        }
    }
}

impl World {
    /// Returns the name in results and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Real => "real",
        }
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Runs labs in one world, one after the other.
#[derive(Debug)]
pub struct Runner {
    world: World,
    /// Started by the first lab of the real world, as DPDK starts once in a process.
    #[cfg(feature = "dpdk")]
    eal: Option<dpdk::Eal>,
}

impl Runner {
    /// Returns a runner for this world. Nothing is started yet.
    #[must_use]
    pub const fn new(world: World) -> Self {
        Self {
            world,
            #[cfg(feature = "dpdk")]
            eal: None,
        }
    }

    /// Runs a lab and returns its results. `progress` is called from time to time.
    ///
    /// # Errors
    /// Parts of the lab that this world cannot run, or files that cannot be written.
    pub fn run(
        &mut self,
        plan: &LabPlan,
        options: Options<'_>,
        progress: impl FnMut(Progress),
    ) -> Result<Run, RunError> {
        let mut run = match self.world {
            World::Virtual => virtual_run::run(plan, options, progress)?,
            #[cfg(feature = "dpdk")]
            World::Real => real::run_with(&mut self.eal, plan, options, progress)?,
            #[cfg(not(feature = "dpdk"))]
            World::Real => return Err(RunError::NoRealWorld),
        };
        if options.stopped() && !run.outcome.done && run.outcome.elapsed_ns < plan.duration {
            verdict::interrupted(plan, &mut run.outcome);
        }
        Ok(run)
    }
}

/// Runs one lab: see [`Runner::run`].
///
/// # Errors
/// As of [`Runner::run`].
pub fn run(
    plan: &LabPlan,
    world: World,
    options: Options<'_>,
    progress: impl FnMut(Progress),
) -> Result<Run, RunError> {
    Runner::new(world).run(plan, options, progress)
}
