//! Multiple Loss Ratio search as draft-ietf-bmwg-mlrsearch describes it: finds the throughputs of
//! several goals in one search.
//!
//! [`Search`] is a machine without ports and clocks. It proposes a trial, is told the result, and
//! proposes the next one, until each goal has a lower and an upper bound that are close enough, or
//! a reason why there are none. A binary search as RFC 2544 wants it is a search with one goal,
//! [`Goal::rfc2544`].
//!
//! The draft binds the classification of loads (`classify`) and the conditional throughput; the
//! order of trials is free. This search proceeds as follows:
//!
//! - The first trials are at the largest load and at the rates that the device forwarded.
//! - A goal is reached over easier targets: wide intervals from single short trials first, then
//!   narrower ones from more trials, the goal's own last.
//! - Within a target, the interval of the target before is halved, and the bound on the other side
//!   is confirmed. If that fails, the search steps away from the last bound, each time twice as far.
//! - Of the proposals of all goals, the smallest load is tried. A trial counts for all goals.

mod classify;
mod goal;
mod grid;
mod propose;
mod result;
mod search;
#[cfg(test)]
mod tests;

pub use classify::Class;
pub use goal::{BadGoal, Goal};
pub use result::{Bound, GoalResult, Irregular};
pub use search::{BadTrial, Config, Measured, Search, Trial};
