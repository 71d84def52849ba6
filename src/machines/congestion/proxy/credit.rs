//! Bounds on a flood of messages: their number, and the total pause time.

use super::plan::PausePolicy;
use ground::time::{Duration, Instant};

/// Limits messages to a rate, with a burst after idle time (a leaky bucket stored as the time at
/// which it would be empty).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gate {
    empty_at: Instant,
}

impl Gate {
    /// Returns true if a message at `now` may pass, and counts it.
    pub(super) fn pass(&mut self, now: Instant, policy: &PausePolicy) -> bool {
        let room = policy.spacing.saturating_mul(u64::from(policy.burst - 1));
        if self.empty_at > now.saturating_add(room) {
            return false;
        }
        self.empty_at = self.empty_at.max(now).saturating_add(policy.spacing);
        true
    }
}

/// Pause time that one priority of one host has left. It grows with time up to the policy's credit;
/// each granted pause is subtracted.
///
/// So pauses granted within a span are at most the credit plus the share of the span. A pause that
/// began before the span was granted before it, but then credit grows by less than the pause
/// lasted, so the bound also holds for the time within the span.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credit {
    left: Duration,
    at: Instant,
}

impl Credit {
    /// Returns the policy's full credit.
    pub(super) const fn full(policy: &PausePolicy) -> Self {
        Self { left: policy.credit, at: Instant::ZERO }
    }

    /// Applies another policy: credit is at most what it was and at most the new policy's.
    pub(super) fn limit(&mut self, policy: &PausePolicy) {
        self.left = self.left.min(policy.credit);
    }

    /// Takes `wanted`, or all that is left.
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
