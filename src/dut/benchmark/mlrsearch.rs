//! Multiple Loss Ratio search as draft-ietf-bmwg-mlrsearch describes it: finds the throughputs of
//! several goals in one search.
//!
//! [`Search`] is a machine without ports and clocks. It proposes a trial, records the result, and
//! proposes the next one, until each goal has a lower and an upper bound that are close enough, or
//! a reason why there are none. A binary search as RFC 2544 wants it is a search with one goal,
//! [`Goal::rfc2544`].
//!
//! The draft binds the classification of loads (`goal`) and the conditional throughput; the
//! order of trials is free. This search proceeds as follows:
//!
//! - The first trials are at the largest load and at the rates that the device forwarded.
//! - A goal is reached over easier targets: wide intervals from single short trials first, then
//!   narrower ones from more trials, the goal's own last.
//! - Within a target, the interval of the target before is halved, and the bound on the other side
//!   is confirmed. If that fails, the search steps away from the last bound, each time twice as far.
//! - Of the proposals of all goals, the smallest load is tried. A trial counts for all goals.

mod goal;
mod propose;

pub use goal::{BadGoal, Class, Goal};

use ground::time::Duration;
use serde::Serialize;

use goal::{Target, Tried, conditional};
use propose::{Bounds, Grid, History, Slot, propose};

/// Configuration of a search.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// At least one.
    pub goals: Vec<Goal>,
    /// Smallest load in frames/s, above 0.
    pub min_load: f64,
    /// Largest load in frames/s, at least `min_load`.
    pub max_load: f64,
    /// Number of easier targets before each goal, 0 to 8. Default of CSIT: 2.
    pub preceding_targets: u32,
    /// Limit of the sum of trial durations. Absent: none.
    pub search_duration: Option<Duration>,
    /// Duration of a trial at the largest load whose result is not counted, before all others. Absent:
    /// none.
    pub warmup: Option<Duration>,
}

/// The reason why a search is not begun.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum BadConfig {
    #[error("goals: at least one is needed")]
    NoGoal,
    #[error("goals[{0}].{1}")]
    Goal(usize, BadGoal),
    #[error("min_load, max_load: must be 0 < min_load <= max_load, not {0} and {1}")]
    Loads(f64, f64),
    #[error("preceding_targets: at most 8")]
    Preceding,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trial {
    /// Intended load in frames/s.
    pub load: f64,
    pub duration: Duration,
    slot: Slot,
}

/// Result of a trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Measured {
    /// Effective duration. A shorter one than proposed counts as proposed.
    pub duration: Duration,
    /// Frames that count for the loss ratio: the intended ones, or the offered ones where frames
    /// that were not sent shall not count as lost. Above 0.
    pub expected: u64,
    /// Received frames, at most `expected`.
    pub forwarded: u64,
}

/// The reason why a result is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadTrial {
    #[error("no frame was expected")]
    Nothing,
    #[error("{forwarded} frames were forwarded of {expected} expected")]
    TooMany { expected: u64, forwarded: u64 },
    #[error("the search has ended")]
    Ended,
}

/// A search for the throughputs of all goals.
#[derive(Clone, Debug)]
pub struct Search {
    grid: Grid,
    chains: Vec<Vec<Target>>,
    history: History,
    /// Trials so far.
    count: u64,
    /// Sum of their durations.
    spent: Duration,
    limit: Option<Duration>,
    /// The warm-up trial, until its result is recorded.
    warmup: Option<Duration>,
    /// Forwarding rate of the last trial, while it decides about the next.
    forwarding: Forwarding,
}

/// The first trials: at the largest load, at the rate forwarded then, and at the rate forwarded at
/// that one.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Forwarding {
    Largest,
    At(Slot, u8),
    Known,
}

/// Trials at forwarding rates.
const AT_FORWARDING: u8 = 2;

impl Search {
    /// # Errors
    /// A field of the configuration is out of range.
    pub fn new(config: &Config) -> Result<Self, BadConfig> {
        if config.goals.is_empty() {
            return Err(BadConfig::NoGoal);
        }
        for (n, goal) in config.goals.iter().enumerate() {
            goal.check().map_err(|bad| BadConfig::Goal(n, bad))?;
        }
        let (min, max) = (config.min_load, config.max_load);
        // Positive comparisons, so that a NaN is refused, too.
        if !(min > 0.0 && min <= max && max.is_finite()) {
            return Err(BadConfig::Loads(min, max));
        }
        // Widths of targets are shifted left by up to this number.
        if config.preceding_targets > 8 {
            return Err(BadConfig::Preceding);
        }
        let widths: Vec<_> = config.goals.iter().map(|goal| goal.width).collect();
        let grid = Grid::new(min, max, &widths);
        let chain = |g: &Goal| Target::chain(g, grid.steps(g.width), config.preceding_targets);
        Ok(Self {
            grid,
            chains: config.goals.iter().map(chain).collect(),
            history: History::new(),
            count: 0,
            spent: Duration::ZERO,
            limit: config.search_duration,
            warmup: config.warmup,
            forwarding: Forwarding::Largest,
        })
    }

    /// Returns the trial to run next; `None` if the search has ended.
    #[must_use]
    pub fn next(&self) -> Option<Trial> {
        if self.is_out_of_time() {
            return None;
        }
        if let Some(duration) = self.warmup {
            return Some(Trial { load: self.grid.load(0), duration, slot: 0 });
        }
        let last = self.grid.last();
        let proposals = self.chains.iter().filter_map(|chain| propose(chain, &self.history, last));
        // The smallest load, and of its trials the longest.
        let (slot, target) = proposals.max_by_key(|(slot, target)| (*slot, target.duration))?;
        // As long as the longest first target, so that a first trial is a full-length one for every goal.
        let first = self.chains.iter().map(|chain| chain[0].duration).max();
        let (slot, duration) = match self.forwarding {
            Forwarding::Largest => (0, first?),
            Forwarding::At(slot, _) => (slot, first?),
            Forwarding::Known => (slot, target.duration),
        };
        Some(Trial { load: self.grid.load(slot), duration, slot })
    }

    /// Takes the result of the trial that [`Self::next`] proposed.
    ///
    /// # Errors
    /// The result cannot be one of that trial.
    pub fn record(&mut self, measured: Measured) -> Result<(), BadTrial> {
        let trial = self.next().ok_or(BadTrial::Ended)?;
        let Measured { duration, expected, forwarded } = measured;
        if expected == 0 {
            return Err(BadTrial::Nothing);
        }
        if forwarded > expected {
            return Err(BadTrial::TooMany { expected, forwarded });
        }
        // A full-length trial must not become a short one, which the classification weighs differently.
        let duration = duration.max(trial.duration);
        // The warm-up counts for the time of the search, but not for its result.
        self.spent += duration;
        if self.warmup.take().is_some() {
            return Ok(());
        }
        let loss_ratio = (expected - forwarded) as f64 / expected as f64;
        let tally = self.history.entry(trial.slot).or_default();
        tally.trials.push(Tried { duration, loss_ratio });
        tally.last = self.count;
        self.count += 1;
        self.forwarding = self.follow(trial.slot, loss_ratio);
        Ok(())
    }

    /// Returns the next state of the first trials after one at `slot`.
    fn follow(&self, slot: Slot, loss_ratio: f64) -> Forwarding {
        let done = match self.forwarding {
            Forwarding::Largest => 0,
            Forwarding::At(_, done) => done,
            Forwarding::Known => return Forwarding::Known,
        };
        // A device that drops the excess alone forwards about its throughput.
        let next = self.grid.floor(self.grid.load(slot) * (1.0 - loss_ratio));
        // Without loss this is the same load again, from which nothing new is learnt.
        if done == AT_FORWARDING || self.history.contains_key(&next) {
            return Forwarding::Known;
        }
        Forwarding::At(next, done + 1)
    }

    /// Returns the number of trials so far, without the warm-up.
    #[must_use]
    pub fn trials(&self) -> u64 {
        self.count
    }

    /// Returns the results of the goals, in the order of the configuration. Before the end they are
    /// those of an interrupted search.
    #[must_use]
    pub fn results(&self) -> Vec<GoalResult> {
        let over = self.is_out_of_time().then_some(Irregular::OutOfTime);
        let result = |chain: &Vec<Target>| {
            let goal = chain.last().expect("a chain ends with its goal");
            GoalResult::new(goal, &self.history, &self.grid, over)
        };
        self.chains.iter().map(result).collect()
    }

    fn is_out_of_time(&self) -> bool {
        self.limit.is_some_and(|limit| self.spent >= limit)
    }
}

/// A bound of the throughput.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Bound {
    /// Intended load in frames/s.
    pub load: f64,
    /// Conditional throughput in frames/s: the forwarding rate in all but the worst trials that the
    /// goal's exceed ratio allows. 0 if there are too few full-length trials for it.
    pub conditional_throughput: f64,
    /// Number of trials at this load.
    pub trials: usize,
    /// Sum of their durations, in picoseconds.
    #[serde(rename = "trial_time_ps")]
    pub trial_time: u64,
}

/// The reason why a goal has no two close bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Irregular {
    /// The smallest load is an upper bound.
    AtMinimum,
    /// The largest load is a lower bound.
    AtMaximum,
    /// The time for the search is used up.
    OutOfTime,
    /// The search was ended before the last trial.
    Interrupted,
}

/// Result for a goal (draft section "Goal Result").
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GoalResult {
    /// Relevant lower bound, whose conditional throughput is the result.
    pub lower: Option<Bound>,
    /// Relevant upper bound.
    pub upper: Option<Bound>,
    /// Absent for a regular result: both bounds are there, and closer than the goal's width.
    pub irregular: Option<Irregular>,
}

impl GoalResult {
    /// Returns the result that a history gives. `over` is the reason if the search ended early.
    fn new(target: &Target, history: &History, grid: &Grid, over: Option<Irregular>) -> Self {
        let Bounds { lower, upper } = Bounds::from_history(target, history);
        // The loads end there, so a second bound cannot be found in these two cases.
        let irregular = match (lower, upper) {
            (_, Some(upper)) if upper == grid.last() => Some(Irregular::AtMinimum),
            (Some(0), None) => Some(Irregular::AtMaximum),
            (Some(lower), Some(upper)) if lower - upper <= target.width => None,
            _ => Some(over.unwrap_or(Irregular::Interrupted)),
        };
        let bound = |slot: Slot| {
            let trials = &history[&slot].trials;
            let load = grid.load(slot);
            let time = trials.iter().map(|t| t.duration).fold(Duration::ZERO, |a, b| a + b);
            Bound {
                load,
                conditional_throughput: load * conditional(target, trials),
                trials: trials.len(),
                trial_time: time.as_picos(),
            }
        };
        Self { lower: lower.map(bound), upper: upper.map(bound), irregular }
    }
}

#[cfg(test)]
mod tests;
