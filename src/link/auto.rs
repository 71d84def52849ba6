//! Automatic headroom of a port: when to measure, and which measurement counts.

use super::news::Failure;
use super::plan::{AutoPlan, Method, Statistic};
use discovery::{PeerState, Resolved};
use ground::time::{Duration, Instant};

/// State of a port's automatic headroom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AutoState {
    /// The link is down.
    Down,
    /// Waits for the peer's DCBX, at most until this time.
    Waiting(Instant),
    /// Measures the link.
    Measuring,
    /// The link was measured.
    Found,
    /// The measurement had no result, or the peer does not support it.
    Failed,
}

/// State machine of one port's automatic headroom.
#[derive(Debug)]
pub(super) struct Auto {
    method: Method,
    statistic: Statistic,
    /// Time to wait for DCBX, if it is enabled.
    wait: Option<Duration>,
    state: AutoState,
}

impl Auto {
    pub(super) fn new(plan: &AutoPlan, dcbx: bool) -> Self {
        Self {
            method: plan.method,
            statistic: plan.statistic,
            wait: dcbx.then_some(plan.wait),
            state: AutoState::Down,
        }
    }

    pub(super) const fn state(&self) -> AutoState {
        self.state
    }

    pub(super) const fn statistic(&self) -> Statistic {
        self.statistic
    }

    pub(super) fn is_measuring(&self, method: Method) -> bool {
        self.state == AutoState::Measuring && self.method == method
    }

    /// The link came up. Returns the measurement to begin at once.
    pub(super) fn link_up(&mut self, now: Instant) -> Option<Method> {
        match self.wait {
            Some(wait) => {
                self.state = AutoState::Waiting(now.saturating_add(wait));
                None
            }
            None => Some(self.again()),
        }
    }

    pub(super) const fn link_down(&mut self) {
        self.state = AutoState::Down;
    }

    /// Starts a measurement from any state.
    pub(super) const fn again(&mut self) -> Method {
        self.state = AutoState::Measuring;
        self.method
    }

    /// The peer advertised its capabilities. Returns the measurement to begin, if it waited for
    /// them. A method that the peer does not mention is tried.
    pub(super) fn negotiated(&mut self, resolved: &Resolved) -> Result<Option<Method>, Failure> {
        if !matches!(self.state, AutoState::Waiting(_)) || resolved.state != PeerState::Present {
            return Ok(None);
        }
        let can = resolved.methods.is_none_or(|methods| match self.method {
            Method::RoundTrip => methods.round_trip,
            Method::PeerDelay => methods.ptp,
        });
        if !can {
            self.state = AutoState::Failed;
            return Err(Failure::PeerCannot);
        }
        Ok(Some(self.again()))
    }

    pub(super) fn on_timeout(&mut self, now: Instant) -> Option<Method> {
        match self.state {
            AutoState::Waiting(until) if until <= now => Some(self.again()),
            _ => None,
        }
    }

    pub(super) const fn next_deadline(&self) -> Instant {
        match self.state {
            AutoState::Waiting(until) => until,
            _ => Instant::NEVER,
        }
    }

    /// A measurement completed. Returns true if the headroom follows it, also for one that repeats
    /// automatically.
    pub(super) fn found(&mut self, method: Method) -> bool {
        let ours = method == self.method && !matches!(self.state, AutoState::Waiting(_));
        if ours {
            self.state = AutoState::Found;
        }
        ours
    }

    pub(super) const fn failed(&mut self) {
        self.state = AutoState::Failed;
    }
}
