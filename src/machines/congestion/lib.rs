//! Congestion control: ECN marking in switches and DCQCN's two ends in hosts; detection of
//! congesting flows, their isolation (802.1Qcz) and pausing at their source (P802.1Qdw), by a proxy
//! for hosts with PFC only; and Quantized Congestion Notification, for comparison.
//!
//! [`Limit`] bounds the messages that they send.

#![warn(missing_docs)]

mod dcqcn;
mod detect;
pub mod fast_cnp;
mod flow_key;
pub mod isolation;
pub mod proxy;
pub mod qcn;
pub mod sfc;
mod source;
pub mod streams;
#[cfg(test)]
mod tests;

pub use dcqcn::{CnpGate, Dcqcn, DcqcnPlan};
pub use detect::{Detect, EcnPlan, MarkAt, NotEct, Queue, Verdict, marks};
pub use flow_key::FlowKey;
pub use source::{Named, SharedPause, SourceMap, Trusted};

use ground::time::{Duration, Instant};

/// Parameters of a message limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LimitPlan {
    /// Interval between messages in the long run. Zero: no limit.
    pub interval: Duration,
    /// Maximum number of messages at once after a long silence. Not zero.
    pub burst: u32,
}

/// State of a message limit: the virtual scheduling form of the generic cell rate algorithm (ITU-T
/// I.371), which needs no timer, so the frequency of calls does not matter.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    plan: LimitPlan,
    /// Time by which a message may precede its scheduled time.
    early: Duration,
    /// Scheduled time of the next message at the mean rate.
    due: Instant,
    /// Time from which the next message may pass: `due` less `early`.
    opens: Instant,
}

impl Limit {
    /// Creates a limit with its full burst available.
    ///
    /// # Panics
    /// If the burst is zero: no message would ever pass.
    #[must_use]
    pub fn new(plan: LimitPlan) -> Self {
        assert!(plan.burst > 0, "a limit that lets nothing pass");
        // A burst of n may be n - 1 intervals ahead of its schedule: the tolerance of the algorithm.
        let early = plan.interval.saturating_mul(u64::from(plan.burst - 1));
        Self { plan, early, due: Instant::ZERO, opens: Instant::ZERO }
    }

    /// Returns true if a message may pass at `now`.
    #[inline]
    #[must_use]
    pub fn would_pass(&self, now: Instant) -> bool {
        now >= self.opens
    }

    /// Returns true, and counts the message, if it may pass at `now`.
    pub fn pass(&mut self, now: Instant) -> bool {
        // What does not pass leaves the schedule as it is, so that attempts cost nothing.
        if !self.would_pass(now) {
            return false;
        }
        // Silence earns no more than the burst: the schedule never lies in the past.
        self.due = self.due.max(now).saturating_add(self.plan.interval);
        self.opens = self.due.saturating_sub(self.early);
        true
    }
}
