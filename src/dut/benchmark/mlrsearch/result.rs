//! Results of a search.

use ground::time::Duration;
use serde::Serialize;

use super::classify::conditional;
use super::goal::Target;
use super::grid::{Grid, Slot};
use super::propose::{Bounds, History};

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
    pub(super) fn of(
        target: &Target,
        history: &History,
        grid: &Grid,
        over: Option<Irregular>,
    ) -> Self {
        let Bounds { lower, upper } = Bounds::of(target, history);
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
