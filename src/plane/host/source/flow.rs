//! One flow of a station: what it is, when it is due, and the periods in which it sends, if not always.

use super::open_loop::OpenLoop;
use crate::plan::{FlowId, OnOffPlan};
use crate::stream::Stream;
use crate::transport::sender::Sender;
use congestion::qcn::{ReactionPlan, ReactionPoint};
use ground::rand::Rng;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Mac};

#[derive(Debug)]
pub(super) enum Kind {
    OpenLoop(Box<OpenLoop>),
    Sender(Box<Sender>),
    Stream(Box<Stream>),
}

#[derive(Debug)]
pub(super) struct Flow {
    pub(super) kind: Kind,
    /// Lane of the flow.
    pub(super) lane: usize,
    /// Index in the lane.
    pub(super) place: usize,
    /// End of the last pause by messages, past or not; nothing is due before.
    pub(super) held: Instant,
    /// Periods in which it sends, if not always.
    pub(super) on_off: Option<Box<OnOff>>,
}

/// Factory of reaction points for the flows of a station.
#[derive(Clone, Copy, Debug)]
pub(super) struct Points {
    pub(super) plan: Option<ReactionPlan>,
    pub(super) mac: Mac,
}

impl Points {
    /// Creates the reaction point of a flow, if configured, with a seed unique to the flow.
    pub(super) fn of(&self, id: FlowId, line: BitsPerSec) -> Option<ReactionPoint> {
        // A station's address has 48 bits and a flow's number 16, so no two flows of a network share a seed.
        let seed = self.mac.to_u64() << 16 ^ u64::from(id.0);
        self.plan.map(|plan| ReactionPoint::new(plan, line, seed))
    }
}

impl Kind {
    /// Returns the time at which the next frame is due; NEVER if none is.
    #[inline]
    pub(super) fn next_at(&self) -> Instant {
        match self {
            Self::OpenLoop(flow) => flow.next_at(),
            Self::Sender(sender) => sender.next_at(),
            Self::Stream(stream) => stream.next_at(),
        }
    }

    /// Sends nothing before `at`.
    pub(super) fn defer(&mut self, time: Instant) {
        match self {
            Self::OpenLoop(flow) => flow.defer(time),
            Self::Sender(sender) => sender.defer(time),
            // A stream has bursts of its own.
            Self::Stream(_) => {}
        }
    }
}

impl Flow {
    /// Stops sending.
    pub(super) fn end(&mut self) {
        match &mut self.kind {
            Kind::OpenLoop(flow) => flow.end(),
            Kind::Sender(sender) => sender.end(),
            Kind::Stream(stream) => stream.stop(),
        }
    }

    /// As [`Self::end`], at the stop time.
    pub(super) fn time_is_over(&mut self, now: Instant) {
        match &mut self.kind {
            Kind::Stream(stream) => stream.end_if_over(now),
            // A stream may be paused, in which case its stop time moves.
            Kind::OpenLoop(_) | Kind::Sender(_) => self.end(),
        }
    }

    /// Returns the time for [`Self::on_timeout`].
    #[inline]
    pub(super) fn deadline(&self) -> Instant {
        match &self.kind {
            Kind::OpenLoop(flow) => flow.deadline(),
            Kind::Sender(sender) => sender.deadline(),
            Kind::Stream(_) => Instant::NEVER,
        }
    }

    /// Handles the deadline; may be called early.
    pub(super) fn on_timeout(&mut self, now: Instant) {
        match &mut self.kind {
            Kind::OpenLoop(flow) => flow.on_timeout(now),
            Kind::Sender(sender) => sender.on_timeout(now),
            Kind::Stream(_) => {}
        }
    }

    pub(super) fn stop(&self) -> Instant {
        match &self.kind {
            Kind::OpenLoop(flow) => flow.stop(),
            Kind::Sender(sender) => sender.stop(),
            Kind::Stream(stream) => stream.stops_at(),
        }
    }
}

/// ON and OFF periods of one flow, one after the other.
#[derive(Debug)]
pub(super) struct OnOff {
    on: Duration,
    off: Duration,
    random: Option<Rng>,
    /// Current ON period: its start, and the time at which it is over.
    start: Instant,
    end: Instant,
}

impl OnOff {
    /// Creates the periods of a validated plan; the first ON period begins at `start`.
    pub(super) fn new(plan: &OnOffPlan, start: Instant) -> Self {
        let OnOffPlan { on, off, random, .. } = *plan;
        let mut periods = Self { on, off, random: random.map(Rng::new), start, end: start };
        periods.end = start.saturating_add(periods.length(on));
        periods
    }

    /// Returns the first time from `at` on that is in an ON period. Later calls have no earlier
    /// times.
    #[inline]
    pub(super) fn first_on(&mut self, time: Instant) -> Instant {
        // Periods go on for ever, and the loop would, too.
        if time == Instant::NEVER {
            return time;
        }
        while time >= self.end {
            // In turn and in order, so that random lengths depend on the seed and not on the polls.
            self.start = self.end.saturating_add(self.length(self.off));
            self.end = self.start.saturating_add(self.length(self.on));
        }
        time.max(self.start)
    }

    /// Returns the length of the next period: fixed, or exponentially distributed.
    fn length(&mut self, mean: Duration) -> Duration {
        let length = match &mut self.random {
            Some(rng) => rng.exponential(mean),
            None => mean,
        };
        // A random length may round to 0, which would never end the loop above.
        length.max(Duration::from_picos(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::FlowId;
    use crate::testtimes::{at, us};

    fn plan(random: Option<u64>) -> OnOffPlan {
        OnOffPlan { flow: FlowId(0), on: us(2), off: us(8), random }
    }

    #[test]
    fn fixed_periods_follow_one_another_from_the_start_on() {
        let mut periods = OnOff::new(&plan(None), at(5));
        // Before its start nothing is due, and nothing is due in the eight after two.
        for (asked, first) in [(0, 5), (5, 5), (6, 6), (7, 15), (16, 16), (17, 25), (63, 65)] {
            assert_eq!(periods.first_on(at(asked)), at(first), "{asked}");
        }
        assert_eq!(periods.first_on(Instant::NEVER), Instant::NEVER);
    }

    #[test]
    fn random_periods_have_their_means_and_are_those_of_the_seed() {
        let run = |seed| {
            let mut periods = OnOff::new(&plan(Some(seed)), Instant::ZERO);
            let (mut on, mut count) = (Duration::ZERO, 0);
            while periods.end < Instant::ZERO + Duration::from_millis(100) {
                on += periods.end.since(periods.start);
                count += 1;
                periods.first_on(periods.end);
            }
            (on, count)
        };
        let seed = 7;
        let (on, count) = run(seed);
        assert_eq!(run(seed), (on, count));
        assert_ne!(run(seed + 1), (on, count));
        // 10,000 periods of 10 us: five standard deviations of both sums are below 6 %.
        let share = on.as_secs_f64() / 0.1;
        assert!((0.188..0.212).contains(&share), "seed {seed}: {share}");
        assert!((9_400..10_600).contains(&count), "seed {seed}: {count}");
    }
}
