//! Conversion of the state machines' results to the port's news.

use super::auto::Auto;
use super::news::{Failure, Found, News, Spread};
use super::{Method, PortAgents};
use ground::time::{Duration, Instant};
use headroom::{measure, peer_delay};

impl PortAgents {
    /// Collects the results of the state machines. A measurement may also have begun by itself.
    pub(super) fn listen(&mut self, now: Instant) {
        let started = self.measurer.as_ref().map_or(0, |m| m.counters().started);
        if started != self.started {
            self.started = started;
            self.handing_over = Duration::ZERO;
            self.tell(News::Measuring(Method::RoundTrip));
        }
        while let Some(event) = self.lldp.as_mut().and_then(|lldp| lldp.next_event()) {
            self.heard(now, event);
        }
        while let Some(event) = self.measurer.as_mut().and_then(|m| m.next_event()) {
            self.measured(event);
        }
        while let Some(event) = self.peer_delay.as_mut().and_then(|p| p.next_event()) {
            self.path_measured(event);
        }
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
        let Some(lldp) = &mut self.lldp else { return };
        let surroundings = *lldp.surroundings();
        if let Some(place) = &mut self.place {
            place.hear(0, surroundings.place);
            lldp.set_topology(now, place.advertised(0));
        }
        self.tell(News::Surroundings(surroundings));
    }

    fn negotiated(&mut self, now: Instant) {
        let Some(resolved) = self.resolved().copied() else { return };
        self.tell(News::Negotiated(resolved));
        match self.auto.as_mut().map(|auto| auto.negotiated(&resolved)) {
            Some(Ok(method)) => self.begin(now, method),
            Some(Err(failure)) => self.tell(News::Failed(failure)),
            None => {}
        }
    }

    fn measured(&mut self, event: measure::Event) {
        let Some(measurer) = &self.measurer else { return };
        let (Some(trips), measure::Event::Done) = (measurer.round_trips(), event) else {
            if let measure::Event::Failed { rounds, requests } = event {
                self.fail(Failure::NoAnswer { rounds, requests });
            }
            return;
        };
        let found = Found {
            method: Method::RoundTrip,
            rounds: trips.round_trip.count() as u16,
            delay: Spread::of(&trips.round_trip, self.auto.as_ref().map(Auto::statistic)),
            stamps: self.stamps.source,
            uncertainty: self.uncertainty(),
            peer_internal: None,
        };
        self.found(found, Method::RoundTrip);
    }

    fn path_measured(&mut self, event: peer_delay::Event) {
        let Some(peer_delay) = &self.peer_delay else { return };
        let estimate = match event {
            peer_delay::Event::Done => peer_delay.estimate(),
            peer_delay::Event::Failed { .. } => {
                if self.auto.as_ref().is_some_and(|auto| auto.is_measuring(Method::PeerDelay)) {
                    self.fail(Failure::NoPeerDelay);
                }
                return;
            }
        };
        let Some(path) = estimate else { return };
        let found = Found {
            method: Method::PeerDelay,
            rounds: path.count() as u16,
            delay: Spread::of(path, self.auto.as_ref().map(Auto::statistic)),
            stamps: self.stamps.source,
            uncertainty: self.uncertainty(),
            peer_internal: self.resolved().and_then(|r| r.peer?.internal_delay),
        };
        self.found(found, Method::PeerDelay);
    }

    /// A measurement completed. If headroom uses the other method, the result is only shown.
    fn found(&mut self, found: Found, method: Method) {
        let is_used = match &mut self.auto {
            None => method == Method::RoundTrip,
            Some(auto) => auto.found(method),
        };
        if is_used {
            self.tell(News::Found(found));
        }
    }

    fn fail(&mut self, failure: Failure) {
        if let Some(auto) = &mut self.auto {
            auto.failed();
        }
        self.tell(News::Failed(failure));
    }

    /// Uncertainty of a measured delay: the port's clocks, the unit of the messages at both ends,
    /// and the longest time to hand a frame over.
    pub(super) fn uncertainty(&self) -> Duration {
        let step = self.stamps.resolution + self.dialect.span(1);
        step.saturating_mul(2) + self.stamps.uncertainty + self.handing_over
    }

    pub(super) fn tell(&mut self, news: News) {
        if self.news.try_push(news).is_err() {
            self.counters.news_lost += 1;
        }
    }
}
