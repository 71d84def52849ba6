//! What bounds a flood: how many messages, and how much pausing in all.

use super::plan::PausePolicy;
use crate::time::{Duration, Instant};

/// Lets messages through up to a rate, with a burst after rest (a leaky bucket kept as the one time at
/// which it would be empty).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gate {
    empty_at: Instant,
}

impl Gate {
    /// Whether a message that comes now may pass.
    pub(super) fn pass(&mut self, now: Instant, policy: &PausePolicy) -> bool {
        let room = policy.spacing.saturating_mul(u64::from(policy.burst - 1));
        if self.empty_at > now.saturating_add(room) {
            return false;
        }
        self.empty_at = self.empty_at.max(now).saturating_add(policy.spacing);
        true
    }
}

/// How much pausing one priority of one host has left. It grows with time, never past the policy's
/// credit, and what is granted comes off it.
///
/// So pauses granted within a span are at most the credit and the share of the span. A pause that
/// began before the span had been granted before it, but then credit grows less than the pause ran, so
/// the same holds for the time that lies within the span.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credit {
    left: Duration,
    at: Instant,
}

impl Credit {
    /// All that the policy gives after long rest.
    pub(super) const fn full(policy: &PausePolicy) -> Self {
        Self { left: policy.credit, at: Instant::ZERO }
    }

    /// What there is under another policy: no more than before, and no more than that gives.
    pub(super) fn limit(&mut self, policy: &PausePolicy) {
        self.left = self.left.min(policy.credit);
    }

    /// Takes `wanted`, or what there is of it.
    pub(super) fn take(
        &mut self,
        now: Instant,
        wanted: Duration,
        policy: &PausePolicy,
    ) -> Duration {
        let rested = u128::from(now.since(self.at).as_picos()) * u128::from(policy.share);
        let grown = rested / u128::from(PausePolicy::SHARE_ONE);
        let missing = policy.credit - self.left;
        let grown = Duration::from_picos(grown.min(u128::from(missing.as_picos())) as u64);
        self.at = self.at.max(now);
        self.left += grown;
        let granted = wanted.min(self.left);
        self.left = self.left - granted;
        granted
    }
}
