//! Runs a lab in one of the worlds.

use super::error::RunError;
use super::plan::LabPlan;
#[cfg(feature = "dpdk")]
use super::real;
use super::verdict;
use super::virtual_run::{self, Options, Progress, Run, Tell};
use super::world::World;

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
        mut progress: impl FnMut(Progress),
    ) -> Result<Run, RunError> {
        self.run_here(plan, options, &mut progress)
    }

    /// Nothing is generic, so that the worlds are compiled here, for speed, and not in each crate that calls.
    fn run_here(
        &mut self,
        plan: &LabPlan,
        options: Options<'_>,
        progress: Tell<'_>,
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
