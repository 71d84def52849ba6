//! Next load for a goal: the free part of the draft. Loads are on a logarithmic grid, so that halves of intervals
//! are exact and goals share loads.

use std::collections::BTreeMap;

use crate::mlrsearch::goal::{Class, Target, Tried, classify};

/// Index of a load on the grid: 0 is the largest load, each step is smaller by the same ratio.
pub(super) type Slot = u32;

/// The loads between a largest and a smallest one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Grid {
    max: f64,
    min: f64,
    /// Natural logarithm of the ratio of neighbours, above 0.
    step: f64,
    last: Slot,
}

/// Steps per width where the widths of the goals have no common one.
const FINE: f64 = 4.0;

impl Grid {
    /// A grid for intervals of relative `widths`, in frames/s.
    pub(super) fn new(min: f64, max: f64, widths: &[f64]) -> Self {
        let smallest = widths.iter().copied().fold(1.0, f64::min);
        let unit = log_width(smallest);
        let whole = |w: &f64| {
            let times = log_width(*w) / unit;
            (times - times.round()).abs() < 1e-9
        };
        // If all widths are multiples of the smallest, its step serves all goals, which then share their trials.
        let step = if widths.iter().all(whole) { unit } else { unit / FINE };
        let last = ((max / min).ln() / step).ceil() as Slot;
        Self { max, min, step, last }
    }

    /// Returns the index of the smallest load.
    pub(super) fn last(&self) -> Slot {
        self.last
    }

    /// Returns a load in frames/s.
    pub(super) fn load(&self, slot: Slot) -> f64 {
        // The last step may be shorter than the others, so that the smallest load is exact.
        if slot >= self.last { self.min } else { self.max * (-self.step * f64::from(slot)).exp() }
    }

    /// Returns the largest load that is not above `load`, or the smallest of all.
    pub(super) fn floor(&self, load: f64) -> Slot {
        if load >= self.max {
            return 0;
        }
        if load <= self.min {
            return self.last;
        }
        let slot = ((self.max / load).ln() / self.step).ceil() as Slot;
        // A rounding of the logarithm may hit the neighbour.
        let slot = if slot > 0 && self.load(slot - 1) <= load { slot - 1 } else { slot };
        slot.min(self.last)
    }

    /// Returns the steps within a relative width, at least 1.
    pub(super) fn steps(&self, width: f64) -> u32 {
        // A quotient that rounding has put just below a whole number is that number.
        ((log_width(width) / self.step + 1e-9).floor() as u32).max(1)
    }
}

/// Returns the logarithm of the ratio of an interval's ends.
fn log_width(width: f64) -> f64 {
    -(1.0 - width).ln()
}

/// Trials at a load, and the number of the last of them.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Tally {
    pub trials: Vec<Tried>,
    pub last: u64,
}

/// All trials of a search, by load.
pub(super) type History = BTreeMap<Slot, Tally>;

/// Bounds of a throughput; a larger load has a smaller slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Bounds {
    /// Largest load below `upper` that is a lower bound.
    pub lower: Option<Slot>,
    /// Smallest load that is an upper bound.
    pub upper: Option<Slot>,
}

impl Bounds {
    /// Returns the bounds that a history gives for a target.
    pub(super) fn from_history(target: &Target, history: &History) -> Self {
        let class = |tally: &Tally| classify(target, &tally.trials);
        let upper = history.iter().rev().find(|(_, t)| class(t) == Class::Upper).map(|(s, _)| *s);
        // A load without loss above one with loss is no bound: the device does not carry all loads up to it.
        let below = upper.map_or(0, |slot| slot + 1);
        let lower = history.range(below..).find(|(_, t)| class(t) == Class::Lower).map(|(s, _)| *s);
        Self { lower, upper }
    }

    /// Returns true if no further trial can bring the bounds closer than a target wants them: the
    /// interval is narrow enough, or an end of the range of loads is reached.
    pub(super) fn settled(self, target: &Target, last: Slot) -> bool {
        match (self.lower, self.upper) {
            (_, Some(upper)) if upper == last => true,
            (Some(0), None) => true,
            (Some(lower), Some(upper)) => lower - upper <= target.width,
            _ => false,
        }
    }
}

/// Loads at which the easier targets of a goal may mislead before they are not asked any more.
const MISLED: usize = 4;

/// Returns the load that a goal wants to try next and the target it is for, or `None` if its last
/// target is settled.
///
/// Easier targets save trials where the device does the same at each trial. They cost trials where
/// it loses frames now and then: each time a few good trials promise a load that many trials do not
/// keep, the search would go on beside it. So they are left out where that happened too often.
pub(super) fn propose<'a>(
    chain: &'a [Target],
    history: &History,
    last: Slot,
) -> Option<(Slot, &'a Target)> {
    let misled = history.values().filter(|t| misleads(chain, t)).take(MISLED).count();
    // Only the goal itself is left.
    let chain = if misled == MISLED { &chain[chain.len() - 1..] } else { chain };
    let mut before = Bounds::default();
    for target in chain {
        let bounds = Bounds::from_history(target, history);
        if !bounds.settled(target, last) {
            return Some((Step { target, history, bounds, before, last }.next(), target));
        }
        before = bounds;
    }
    None
}

/// Returns true if a target decides otherwise about a load than an easier one, or itself, did after
/// some of its trials.
fn misleads(chain: &[Target], tally: &Tally) -> bool {
    let before = |easier: &[Target], class: Class| {
        // The trials of a load in their order, without the last: what each target said along the way.
        let is = |n: usize| easier.iter().any(|t| classify(t, &tally.trials[..n]) == class);
        (1..tally.trials.len()).any(is)
    };
    chain.iter().enumerate().any(|(n, target)| match classify(target, &tally.trials) {
        Class::Lower => before(&chain[..=n], Class::Upper),
        Class::Upper => before(&chain[..=n], Class::Lower),
        Class::Undecided => false,
    })
}

/// A decision about the next load.
struct Step<'a> {
    target: &'a Target,
    history: &'a History,
    bounds: Bounds,
    /// Bounds of the target before.
    before: Bounds,
    last: Slot,
}

impl Step<'_> {
    /// Returns the next load: one inside of the expected interval if that is too wide, else a bound
    /// of it that this target has not confirmed, or a load beyond the only bound.
    fn next(&self) -> Slot {
        match self.expected() {
            Bounds { lower: None, upper: None } => 0,
            Bounds { lower: Some(lower), upper: None } => match self.bounds.lower {
                Some(_) => self.above(lower, 0),
                None => lower,
            },
            Bounds { lower: None, upper: Some(upper) } => match self.bounds.upper {
                Some(_) => self.below(upper, self.last),
                None => upper,
            },
            Bounds { lower: Some(lower), upper: Some(upper) } => {
                if lower - upper > self.target.width {
                    let middle = self.middle(lower, upper);
                    // Away from the bound that was tried last, but no further than the middle.
                    if self.history[&lower].last > self.history[&upper].last {
                        self.above(lower, upper).max(middle)
                    } else {
                        self.below(upper, lower).min(middle)
                    }
                } else if self.bounds.lower != Some(lower) {
                    lower
                } else {
                    upper
                }
            }
        }
    }

    /// Returns the closest bounds of this target and of the one before, without those of the latter
    /// that this target contradicts.
    fn expected(&self) -> Bounds {
        let Bounds { lower, upper } = self.bounds;
        let before_lower = self.before.lower.filter(|slot| upper.is_none_or(|upper| *slot > upper));
        let before_upper = self.before.upper.filter(|slot| lower.is_none_or(|lower| *slot < lower));
        let lower = lower.into_iter().chain(before_lower).min();
        let upper = upper.into_iter().chain(before_upper).max();
        Bounds { lower, upper }
    }

    /// Returns a load that cuts an interval into about equal parts, one of them a multiple of the
    /// wanted width.
    fn middle(&self, lower: Slot, upper: Slot) -> Slot {
        let width = self.target.width;
        // In whole widths, so that the halves of the halves end at the width exactly.
        let pieces = (lower - upper).div_ceil(width);
        lower - (pieces / 2) * width
    }

    /// Returns a load above a lower bound: one width away, or twice as far as the bound is from the
    /// lower bound below it.
    fn above(&self, lower: Slot, end: Slot) -> Slot {
        let is_lower = |t: &Tally| classify(self.target, &t.trials) == Class::Lower;
        // Slots count downwards from the largest load, so a step up is a subtraction.
        let below = self.history.range(lower + 1..).find(|(_, t)| is_lower(t));
        let step = below.map_or(self.target.width, |(slot, _)| 2 * (slot - lower));
        lower.saturating_sub(step.max(self.target.width)).max(end)
    }

    /// Returns a load below an upper bound, as [`Self::above`] does.
    fn below(&self, upper: Slot, end: Slot) -> Slot {
        let is_upper = |t: &Tally| classify(self.target, &t.trials) == Class::Upper;
        let above = self.history.range(..upper).rev().find(|(_, t)| is_upper(t));
        let step = above.map_or(self.target.width, |(slot, _)| 2 * (upper - slot));
        upper.saturating_add(step.max(self.target.width)).min(end)
    }
}
