//! Search goals, the easier targets before them, and the classification of a load for a target.
//!
//! The classification and the conditional throughput are the two calculations of the draft that every
//! implementation shares (sections "Load Classification" and "Conditional Throughput").

use ground::time::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// The search goal of draft-ietf-bmwg-mlrsearch, section "Search Goal". As the sections of a plan, it is a section of
// a benchmark file, too, in which each value is an option.

/// A goal of MLRsearch.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Goal<T = Duration, S = f64> {
    /// Largest loss of a good trial, below 100 %. Default: `0%`.
    pub loss_ratio: S,
    /// Largest share of trial time with a higher loss, below 100 %. Default: `50%`.
    pub exceed_ratio: S,
    /// Relative width of the interval at the end. Default: `0.5%`.
    pub width: S,
    /// Duration of the first trials. Default: `1s`; for a virtual device the time of 2 MB at the
    /// rate.
    pub initial_duration: T,
    /// Shortest full-length trial. Default: as `initial_duration`.
    pub final_duration: T,
    /// Sum of full-length trials that decides about a load. Default: 21 times `final_duration`.
    pub duration_sum: T,
}

/// The reason why a goal cannot be searched for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadGoal {
    #[error("loss_ratio: must be at least 0 and below 1")]
    LossRatio,
    #[error("exceed_ratio: must be at least 0 and below 1")]
    ExceedRatio,
    #[error("width: must be above 0 and below 1")]
    Width,
    #[error("initial_duration: must be above 0 and at most the final duration")]
    Initial,
    #[error("duration_sum: must be at least the final duration")]
    Sum,
}

impl Goal {
    /// Throughput of RFC 2544, section 26.1: one trial without a lost frame decides.
    #[must_use]
    pub const fn rfc2544(trial: Duration, width: f64) -> Self {
        Self {
            loss_ratio: 0.0,
            exceed_ratio: 0.0,
            width,
            initial_duration: trial,
            final_duration: trial,
            duration_sum: trial,
        }
    }

    /// # Errors
    /// A field is out of range.
    pub fn check(&self) -> Result<(), BadGoal> {
        // 1 is excluded: the classification divides by one minus the exceed ratio.
        let share = |x: f64| (0.0..1.0).contains(&x);
        let bad = [
            (share(self.loss_ratio), BadGoal::LossRatio),
            (share(self.exceed_ratio), BadGoal::ExceedRatio),
            (share(self.width) && self.width > 0.0, BadGoal::Width),
            (
                self.initial_duration > Duration::ZERO
                    && self.initial_duration <= self.final_duration,
                BadGoal::Initial,
            ),
            (self.duration_sum >= self.final_duration, BadGoal::Sum),
        ];
        bad.into_iter().find(|(good, _)| !good).map_or(Ok(()), |(_, bad)| Err(bad))
    }
}

/// A step on the way to a goal: the goal with a wider interval and less trial time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Target {
    pub loss_ratio: f64,
    pub exceed_ratio: f64,
    /// Width in steps of the grid of loads.
    pub width: u32,
    /// Shortest duration of a full-length trial, and the duration of this target's trials.
    pub duration: Duration,
    pub duration_sum: Duration,
}

impl Target {
    /// Returns the targets of a goal, the goal itself last. Durations grow geometrically; widths
    /// halve, down to `width` steps of the grid.
    pub(super) fn chain(goal: &Goal, width: u32, preceding: u32) -> Vec<Self> {
        // A single trial decides about a load for the first target.
        let first_sum = goal.initial_duration;
        (0..=preceding)
            .map(|n| Self {
                loss_ratio: goal.loss_ratio,
                exceed_ratio: goal.exceed_ratio,
                width: width << (preceding - n),
                duration: between(goal.initial_duration, goal.final_duration, n, preceding),
                duration_sum: between(first_sum, goal.duration_sum, n, preceding),
            })
            .collect()
    }
}

/// Returns the `n`th of `steps` geometric steps between two durations.
fn between(from: Duration, to: Duration, n: u32, steps: u32) -> Duration {
    // Exact at the end: the rounding of the power must not change the goal itself.
    if n == steps {
        return to;
    }
    let (low, high) = (from.as_picos() as f64, to.as_picos() as f64);
    let share = f64::from(n) / f64::from(steps);
    Duration::from_picos((low * (high / low).powf(share)).round() as u64)
}

/// Meaning of a load's trials for a goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// The load is a lower bound of the throughput: the goal is met.
    Lower,
    /// The load is an upper bound: the goal is not met.
    Upper,
    /// More trials can lead to either.
    Undecided,
}

/// A trial at a load, as the classification needs it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Tried {
    /// Effective duration: that for which the device forwarded, with overheads if the user counts
    /// these.
    pub duration: Duration,
    /// Share of the intended frames that were not forwarded, 0 to 1.
    pub loss_ratio: f64,
}

/// Classifies a load by its trials.
pub(super) fn classify(target: &Target, trials: &[Tried]) -> Class {
    let (mut full_low, mut full_high, mut short_low, mut short_high) = (0.0, 0.0, 0.0, 0.0);
    for trial in trials {
        let low = trial.loss_ratio <= target.loss_ratio;
        *match (trial.duration >= target.duration, low) {
            (true, true) => &mut full_low,
            (true, false) => &mut full_high,
            (false, true) => &mut short_low,
            (false, false) => &mut short_high,
        } += picos(trial.duration);
    }
    let ratio = target.exceed_ratio;
    // Short trials with high loss count, unless as many short ones with low loss balance them.
    let balanced = short_low * ratio / (1.0 - ratio);
    let high: f64 = full_high + f64::max(0.0, short_high - balanced);
    // The time that is missing to the sum may turn out either way: lossy in the pessimistic case, good in the
    // optimistic one. A load is decided as soon as both agree.
    let whole = f64::max(full_low + high, picos(target.duration_sum));
    let allowed = whole * ratio;
    let pessimistic = whole - full_low <= allowed;
    let optimistic = high <= allowed;
    match (pessimistic, optimistic) {
        (true, true) => Class::Lower,
        (false, false) => Class::Upper,
        _ => Class::Undecided,
    }
}

/// Returns the conditional throughput as a share of the load: what is forwarded in all but the
/// allowed share of the trial time. 0 if the full-length trials are too short in sum.
pub(super) fn conditional(target: &Target, trials: &[Tried]) -> f64 {
    let mut full: Vec<_> = trials.iter().filter(|t| t.duration >= target.duration).collect();
    // From the best trial on: the worst of the share that must be kept is the result.
    full.sort_by(|a, b| a.loss_ratio.total_cmp(&b.loss_ratio));
    let sum: f64 = full.iter().map(|t| picos(t.duration)).sum();
    let mut left = f64::max(sum, picos(target.duration_sum)) * (1.0 - target.exceed_ratio);
    let mut forwarded = 1.0;
    for trial in full {
        if left <= 0.0 {
            break;
        }
        forwarded = 1.0 - trial.loss_ratio;
        left -= picos(trial.duration);
    }
    // Trials that are missing to the sum count as if they had forwarded nothing.
    if left > 0.0 { 0.0 } else { forwarded }
}

/// Picoseconds as a number, exact below 2.5 hours.
fn picos(duration: Duration) -> f64 {
    duration.as_picos() as f64
}
