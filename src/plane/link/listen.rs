//! Conversion of the state machines' results to the port's news.

use super::auto::{Auto, Choice};
use super::news::{Failure, Found, News, PeerReaction, ReactionSource};
use super::{Method, PortAgents, Statistic};
use discovery::Lldp;
use ground::time::{Duration, Instant};
use headroom::measure::Measurer;
use headroom::{Formula, Samples, measure, peer_delay};
use wire::headroom::Adjustment;

impl PortAgents {
    /// Collects the results of the state machines. A measurement may also have begun by itself.
    #[inline]
    pub(super) fn listen(&mut self, now: Instant) {
        if self.measurer.as_mut().is_some_and(|m| m.has_begun()) {
            self.handing_over = Duration::ZERO;
            self.tell(News::Measuring(Method::RoundTrip));
        }
        // Events of LLDP arise in its calls alone, which are rare.
        if self.lldp_called {
            self.listen_to_lldp(now);
        }
        while let Some(event) = self.measurer.as_mut().and_then(|m| m.next_event()) {
            self.measured(now, event);
        }
        while let Some(event) = self.peer_delay.as_mut().and_then(|p| p.next_event()) {
            self.path_measured(now, event);
        }
    }

    #[cold]
    fn listen_to_lldp(&mut self, now: Instant) {
        self.lldp_called = false;
        while let Some(event) = self.lldp.as_mut().and_then(|lldp| lldp.next_event()) {
            self.heard(now, event);
        }
    }

    /// Calls a function of LLDP, if the port runs it; its deadline and events may be others then.
    pub(super) fn with_lldp<R>(&mut self, call: impl FnOnce(&mut Lldp) -> R) -> Option<R> {
        let lldp = self.lldp.as_mut()?;
        let result = call(lldp);
        // Copied here, because LLDP's own memory is far from what messages of a measurement need.
        self.lldp_due = lldp.next_deadline();
        self.lldp_called = true;
        Some(result)
    }

    fn heard(&mut self, now: Instant, event: discovery::Event) {
        use discovery::Event;
        match event {
            Event::NeighbourNew(_)
            | Event::NeighbourChanged(_)
            | Event::NeighbourAged(_)
            | Event::NeighbourLeft(_) => self.tell(News::Neighbours),
            Event::Negotiated => self.negotiated(now),
            Event::Surroundings => self.surrounded(now),
        }
    }

    /// An end station derives its own level in the network, which needs only one port; the ports of
    /// a switch are given theirs.
    fn surrounded(&mut self, now: Instant) {
        let Some(lldp) = &self.lldp else { return };
        let surroundings = *lldp.surroundings();
        let advertised = self.place.as_mut().map(|place| {
            // An end station is a network of one port.
            place.hear(0, surroundings.place);
            place.advertised(0)
        });
        if let Some(topology) = advertised {
            self.with_lldp(|lldp| lldp.set_topology(now, topology));
        }
        self.tell(News::Surroundings(surroundings));
    }

    fn negotiated(&mut self, now: Instant) {
        let Some(resolved) = self.resolved().copied() else { return };
        self.tell(News::Negotiated(resolved));
        // A measurement that waited for the peer's capabilities begins now.
        let chosen = self.auto.as_mut().and_then(|auto| auto.negotiated(&resolved));
        self.choose(now, chosen);
    }

    /// Begins the chosen measurement, if any, and tells of methods that were not.
    pub(super) fn choose(&mut self, now: Instant, chosen: Option<Result<Choice, Failure>>) {
        match chosen {
            None => {}
            Some(Err(failure)) => self.tell(News::Failed(failure)),
            Some(Ok(Choice { method, instead_of })) => {
                if let Some(from) = instead_of {
                    self.tell(News::Switched { from, to: method, why: Failure::PeerCannot });
                }
                self.begin(now, method);
            }
        }
    }

    #[cold]
    fn measured(&mut self, now: Instant, event: measure::Event) {
        if let measure::Event::Failed { rounds, requests } = event {
            // A failure of the method that headroom does not use is shown in its counters only.
            if self.auto.as_ref().is_none_or(|auto| auto.is_used(Method::RoundTrip)) {
                let most = self.measurer.as_ref().and_then(|measurer| measurer.requests_max());
                // A peer that leaves most requests without an answer fails for that, however late they were sent.
                let answers = 2 * u32::from(rounds) >= requests;
                let failure = match answers && most.is_some_and(|most| requests < u32::from(most)) {
                    true => Failure::Late { rounds, requests },
                    false => Failure::NoAnswer { rounds, requests },
                };
                self.fail(now, failure);
            }
            return;
        }
        // A measurement that is complete has round trips; another event leaves nothing to report.
        let trips = self.measurer.as_ref().and_then(|measurer| measurer.round_trips());
        let (Some(trips), Some(delays)) = (trips, self.delays()) else { return };
        let sources = self.sources(trips.t1_by_software);
        let statistic = self.statistic();
        let found = Found {
            method: Method::RoundTrip,
            rounds: trips.count() as u16,
            delay: delays.figures(),
            chosen: statistic.of(&delays),
            sources,
            uncertainty: with_spread(self.uncertainty(sources), &delays, statistic),
            in_ring: self.in_ring(sources),
            peer_internal: None,
            peer_reaction: self.peer_reaction(trips.compensation),
            shims: (trips.shims.count() > 0).then(|| statistic.of(&trips.shims)),
            repeated: !self.asked,
        };
        self.found(found);
    }

    /// The statistic that headroom uses; where none is automatic, the default.
    fn statistic(&self) -> Statistic {
        self.auto.as_ref().map(Auto::statistic).unwrap_or_default()
    }

    /// Delays of the last complete measurement, in the reading that headroom uses.
    pub(super) fn delays(&self) -> Option<Samples> {
        let trips = self.measurer.as_ref()?.round_trips()?;
        Some(match self.auto.as_ref().map(Auto::formula) {
            Some(Formula::Short) => trips.elapsed(),
            Some(Formula::Full) | None => trips.round_trip(),
        })
    }

    /// The peer's reaction as it says itself: in a response, or else by DCBX.
    fn peer_reaction(&self, response: Option<Adjustment>) -> Option<PeerReaction> {
        let peer = self.resolved().and_then(|resolved| resolved.peer);
        let internal = peer.and_then(|peer| peer.internal_delay).and_then(Adjustment::at_least);
        [
            (response, ReactionSource::Response),
            (peer.and_then(|peer| peer.compensation), ReactionSource::Compensation),
            (internal, ReactionSource::InternalDelay),
        ]
        .into_iter()
        .find_map(|(time, from)| Some(PeerReaction { time: time?, from }))
    }

    fn path_measured(&mut self, now: Instant, event: peer_delay::Event) {
        let Some(peer_delay) = &self.peer_delay else { return };
        let estimate = match event {
            peer_delay::Event::Done => peer_delay.estimate(),
            peer_delay::Event::Failed { .. } => {
                if self.auto.as_ref().is_some_and(|auto| auto.is_measuring(Method::PeerDelay)) {
                    self.fail(now, Failure::NoPeerDelay);
                }
                return;
            }
        };
        let Some(path) = estimate else { return };
        let sources = self.path_sources(peer_delay.t1_by_software());
        let found = Found {
            method: Method::PeerDelay,
            rounds: path.count() as u16,
            delay: path.figures(),
            chosen: self.statistic().of(path),
            sources,
            uncertainty: with_spread(self.uncertainty(sources), path, self.statistic()),
            in_ring: self.in_ring(sources),
            peer_internal: self.resolved().and_then(|r| r.peer?.internal_delay),
            peer_reaction: None,
            shims: None,
            repeated: !self.asked,
        };
        // The next set begins at once, and a running round trip has its own first frame.
        if !self.measurer.as_ref().is_some_and(|m| m.is_running()) {
            self.handing_over = Duration::ZERO;
        }
        self.found(found);
    }

    /// A measurement completed. If headroom uses the other method, the result is only shown.
    fn found(&mut self, found: Found) {
        let method = found.method;
        self.results[method as usize] = Some(found);
        // Kept for display in any case; headroom follows one method at a time.
        let is_used = match &mut self.auto {
            None => method == Method::RoundTrip,
            Some(auto) => auto.found(method),
        };
        if is_used {
            self.asked = false;
            self.tell(News::Found(found));
        }
    }

    /// A measurement failed: the next method is tried, if there is one.
    fn fail(&mut self, now: Instant, why: Failure) {
        let Some(auto) = &mut self.auto else { return self.tell(News::Failed(why)) };
        let from = auto.method();
        match auto.failed() {
            None => {
                // A measurement that repeats by plan will try again without help.
                let period = self.measurer.as_ref().and_then(Measurer::period);
                let wait = auto.retry(now, period);
                self.tell(News::Failed(why));
                wait.into_iter().for_each(|wait| self.tell(News::Again(wait)));
            }
            Some(to) => {
                self.tell(News::Switched { from, to, why });
                self.begin(now, to);
            }
        }
    }

    /// Returns the oldest event, each once.
    pub fn next_news(&mut self) -> Option<News> {
        let oldest = self.has_news.then(|| self.news.remove(0));
        self.has_news = self.has_news && !self.news.is_empty();
        oldest
    }

    /// True if there are events that were not read.
    #[inline]
    pub const fn has_news(&self) -> bool {
        self.has_news
    }

    pub(super) fn tell(&mut self, news: News) {
        self.has_news = true;
        if self.news.try_push(news).is_err() {
            self.counters.news_lost += 1;
        }
    }
}

/// Returns the uncertainty of the chosen delay, whose stamps have errors of up to `stamps`. A link has one delay:
/// where the measured ones differ by more than these errors allow, stamps are wrong or frames wait, and any of the
/// delays may be the true one.
fn with_spread(stamps: Duration, delays: &Samples, statistic: Statistic) -> Duration {
    if delays.max().saturating_sub(delays.min()) <= stamps.saturating_mul(2) {
        return stamps;
    }
    let chosen = statistic.of(delays);
    stamps + chosen.saturating_sub(delays.min()).max(delays.max().saturating_sub(chosen))
}
