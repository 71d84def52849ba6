//! Classification of a load for a goal, and its conditional throughput: the two calculations of the
//! draft that every implementation shares (sections "Load Classification" and "Conditional
//! Throughput").

use ground::time::Duration;

use super::goal::Target;

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
    if left > 0.0 { 0.0 } else { forwarded }
}

/// Picoseconds as a number, exact below 2.5 hours.
fn picos(duration: Duration) -> f64 {
    duration.as_picos() as f64
}
