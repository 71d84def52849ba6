//! Measurements of a port: when they begin, and which one counts for automatic headroom.

use super::PortAgents;
use super::news::{Failure, News};
use super::plan::{AutoPlan, Method, Preference, Statistic};
use discovery::{Methods, PeerState, Resolved};
use ground::time::{Duration, Instant};
use headroom::Formula;
use headroom::measure::InitiatePlan;

/// Wait before a port repeats a failed measurement by itself. It doubles with each failure in a row. A choice:
/// a machine that was busy when the link came up is often calm a little later.
pub(super) const RETRY_FIRST: Duration = Duration::from_secs(1);
/// Maximum number of these repetitions, the last one 17 minutes after the first failure. A choice: a peer that
/// never answers costs little.
pub(super) const RETRIES_MAX: u32 = 10;

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
    methods: Preference,
    /// Method of the current or the last measurement.
    method: Method,
    /// Methods that both ends offer, as far as the peer says.
    offered: Option<Methods>,
    statistic: Statistic,
    formula: Formula,
    /// Time to wait for DCBX, if it is enabled.
    wait: Option<Duration>,
    state: AutoState,
    /// Failures in a row since the link came up or a user asked for a measurement.
    failures: u32,
    /// Time of the next attempt in [`AutoState::Failed`]; NEVER after the last one.
    retry: Instant,
}

/// Measurement to begin, and the methods before it that cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Choice {
    pub(super) method: Method,
    /// Preferred method that the peer does not offer.
    pub(super) instead_of: Option<Method>,
}

impl Auto {
    pub(super) fn new(plan: &AutoPlan, dcbx: bool) -> Self {
        Self {
            methods: plan.methods,
            method: plan.methods.first(),
            offered: None,
            statistic: plan.statistic,
            formula: plan.formula,
            // Without DCBX the peer says nothing that would be worth waiting for.
            wait: dcbx.then_some(plan.wait),
            state: AutoState::Down,
            failures: 0,
            retry: Instant::NEVER,
        }
    }

    /// Selects methods and statistic for the next measurement.
    pub(super) const fn select(&mut self, methods: Preference, statistic: Statistic) {
        self.methods = methods;
        self.statistic = statistic;
    }

    pub(super) const fn method(&self) -> Method {
        self.method
    }

    pub(super) const fn state(&self) -> AutoState {
        self.state
    }

    pub(super) const fn statistic(&self) -> Statistic {
        self.statistic
    }

    pub(super) const fn formula(&self) -> Formula {
        self.formula
    }

    pub(super) fn is_measuring(&self, method: Method) -> bool {
        self.state == AutoState::Measuring && self.method == method
    }

    /// Returns true if a failure of the method concerns the headroom.
    pub(super) fn is_used(&self, method: Method) -> bool {
        self.method == method
    }

    /// The link came up. Returns the measurement to begin at once.
    pub(super) fn link_up(&mut self, now: Instant) -> Option<Result<Choice, Failure>> {
        // The peer may be another one.
        self.offered = None;
        self.failures = 0;
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

    /// Starts a measurement from any state, by the first method that both ends offer. A method that
    /// the peer does not mention is tried.
    pub(super) fn again(&mut self) -> Result<Choice, Failure> {
        let Some(method) = self.methods.iter().find(|method| self.is_offered(*method)) else {
            // The peer said that it cannot, which time does not change.
            (self.state, self.retry) = (AutoState::Failed, Instant::NEVER);
            return Err(Failure::PeerCannot);
        };
        self.state = AutoState::Measuring;
        self.method = method;
        let first = self.methods.first();
        Ok(Choice { method, instead_of: (first != method).then_some(first) })
    }

    fn is_offered(&self, method: Method) -> bool {
        // A peer without the TLV may be able to measure all the same.
        self.offered.is_none_or(|offered| match method {
            Method::RoundTrip => offered.round_trip,
            Method::PeerDelay => offered.ptp,
        })
    }

    /// The peer advertised its capabilities. Returns the measurement to begin, if it waited for
    /// them.
    pub(super) fn negotiated(&mut self, resolved: &Resolved) -> Option<Result<Choice, Failure>> {
        // With several peers on the link nothing is agreed.
        if resolved.state != PeerState::Present {
            return None;
        }
        self.offered = resolved.methods;
        matches!(self.state, AutoState::Waiting(_)).then(|| self.again())
    }

    pub(super) fn on_timeout(&mut self, now: Instant) -> Option<Result<Choice, Failure>> {
        match self.state {
            AutoState::Waiting(_) | AutoState::Failed if self.next_deadline() <= now => {
                Some(self.again())
            }
            _ => None,
        }
    }

    pub(super) const fn next_deadline(&self) -> Instant {
        match self.state {
            AutoState::Waiting(until) => until,
            AutoState::Failed => self.retry,
            _ => Instant::NEVER,
        }
    }

    /// A measurement completed. Returns true if the headroom follows it, also for one that repeats
    /// automatically: it is by the method in use, or by a preferred one that works again.
    pub(super) fn found(&mut self, method: Method) -> bool {
        // The method in use is the second choice, and the first one has a result again.
        let preferred = self.methods.after(method) == Some(self.method);
        let ours =
            (method == self.method || preferred) && !matches!(self.state, AutoState::Waiting(_));
        if ours {
            (self.state, self.failures) = (AutoState::Found, 0);
            self.method = method;
        }
        ours
    }

    /// The measurement failed. Returns the method to try next, if any.
    pub(super) fn failed(&mut self) -> Option<Method> {
        let next = self.methods.after(self.method).filter(|method| self.is_offered(*method));
        match next {
            Some(method) => {
                self.method = method;
                self.state = AutoState::Measuring;
            }
            None => self.state = AutoState::Failed,
        }
        next
    }

    /// Returns the time from a failure at `now` to the next attempt, if there is one. Round trips repeat
    /// themselves only after a `period`; PTP's peer delay does so at once, and needs no attempt.
    pub(super) fn retry(&mut self, now: Instant, period: Option<Duration>) -> Option<Duration> {
        self.retry = Instant::NEVER;
        if !self.methods.has(Method::RoundTrip) {
            return None;
        }
        // 1, 2, 4, .. seconds.
        let wait = RETRY_FIRST.saturating_mul(1 << self.failures);
        // A measurement that repeats anyway before that needs no attempt of its own.
        if self.failures == RETRIES_MAX || period.is_some_and(|period| period <= wait) {
            return period;
        }
        self.failures += 1;
        self.retry = now.saturating_add(wait);
        Some(wait)
    }
}

impl PortAgents {
    /// True if the port starts measurements while its link is up.
    pub const fn can_measure(&self) -> bool {
        self.initiates || self.auto.is_some()
    }

    /// Starts a measurement now, on a user's request. False if this port cannot measure or its link
    /// is down.
    pub fn measure_now(&mut self, now: Instant) -> bool {
        let can = self.up && self.can_measure();
        if can {
            match &mut self.auto {
                Some(auto) => {
                    // A user's request starts the series again.
                    auto.failures = 0;
                    let chosen = auto.again();
                    self.choose(now, Some(chosen));
                }
                None => self.measure(now),
            }
        }
        can
    }

    /// Sets the parameters of measurements. Other parameters of requests and responses start a
    /// running measurement again; methods and statistic are those of the next result.
    pub fn set_measurement(
        &mut self,
        now: Instant,
        initiate: Option<InitiatePlan>,
        auto: Option<(Preference, Statistic)>,
    ) {
        if let (Some(measurer), Some(initiate)) = (&mut self.measurer, initiate) {
            measurer.set_initiate(now, initiate);
        }
        if let (Some(own), Some((methods, statistic))) = (&mut self.auto, auto) {
            own.select(methods, statistic);
        }
        self.listen(now);
    }

    /// Starts the measurement from which the headroom is derived.
    pub(super) fn begin(&mut self, now: Instant, method: Method) {
        self.asked = true;
        match method {
            Method::RoundTrip => self.measure(now),
            Method::PeerDelay => {
                self.tell(News::Measuring(Method::PeerDelay));
                self.handing_over = Duration::ZERO;
                self.departures.path_arrivals = None;
                if let Some(peer_delay) = &mut self.peer_delay {
                    peer_delay.start(now);
                }
            }
        }
    }

    pub(super) fn measure(&mut self, now: Instant) {
        self.asked = true;
        if let Some(measurer) = &mut self.measurer {
            measurer.start(now);
            self.listen(now);
        }
    }
}
