//! A port with link protocols alone: it answers measurements, measures, advertises itself, and
//! carries no data.
//!
//! The owner calls [`AgentPort::poll`] as often as possible: a stamp is late by the time until the
//! next poll. A received frame is stamped after the poll that found it and a sent one before the
//! hand-over, so that a round trip is never too short. A frame that the port refuses is kept and
//! offered again, with its old stamp.

use contracts::frame::{Burst, Frame};
use contracts::port::Port;
use ground::time::Instant;
use link::{Made, News, PortAgents};
use wire::EtherType;

/// A port and its link protocols.
#[derive(Debug)]
pub struct AgentPort<P: Port> {
    port: P,
    agents: PortAgents,
    found: Burst<P::Frame>,
    /// At most one frame, which the port has refused so far.
    waiting: Burst<P::Frame>,
    /// Received frames that are for no link protocol.
    others: u64,
}

impl<P: Port> AgentPort<P> {
    /// Attaches link protocols to a port.
    pub fn new(port: P, agents: PortAgents) -> Self {
        let (found, waiting) = (Burst::new(), Burst::new());
        Self { port, agents, found, waiting, others: 0 }
    }

    /// Receives frames and sends those that are due. True if there were any.
    pub fn poll(&mut self, now: Instant) -> bool {
        self.port.rx_burst(&mut self.found);
        let received = !self.found.is_empty();
        if received {
            self.take_in(now);
        }
        self.send(now) || received
    }

    fn take_in(&mut self, now: Instant) {
        // After the burst that found them: a stamp of software is never too early.
        let found = self.port.clock(now);
        for frame in self.found.drain(..) {
            let head = frame.head();
            let kind = head.get(12..14).map_or(0, |of| u16::from_be_bytes([of[0], of[1]]));
            if PortAgents::speak(EtherType(kind)) {
                self.agents.receive(now, &mut self.port, found, &frame);
            } else {
                self.others += 1;
            }
        }
    }

    fn send(&mut self, now: Instant) -> bool {
        if !self.waiting.is_empty() {
            self.port.tx_burst(&mut self.waiting);
        }
        let mut sent = false;
        // One frame at a time: a frame behind a refused one would have an old stamp.
        while self.waiting.is_empty() && self.agents.is_due(now) {
            let (frame, dated) = match self.agents.send(now, &mut self.port) {
                Made::Frame(frame, dated) => (frame, dated),
                Made::Nothing => break,
                // Not idle: it is to be tried again at once.
                Made::NoMemory => return true,
            };
            sent = true;
            self.waiting.push(frame);
            self.port.tx_burst(&mut self.waiting);
            // The time between stamp and hand-over is the error of the stamp.
            self.agents.handed_over(self.port.clock(now).since(dated));
        }
        sent
    }

    /// Returns the oldest event.
    pub fn next_news(&mut self) -> Option<News> {
        self.agents.next_news()
    }

    #[must_use]
    pub const fn agents(&self) -> &PortAgents {
        &self.agents
    }

    pub const fn agents_mut(&mut self) -> &mut PortAgents {
        &mut self.agents
    }

    /// Received frames that are for no link protocol.
    #[must_use]
    pub const fn others(&self) -> u64 {
        self.others
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ground::time::Duration;
    use ground::units::{BitsPerSec, Mac};
    use headroom::measure::{InitiatePlan, MeasurePlan};
    use link::{AgentsPlan, Found};
    use switch::rig::{MemFrame, MemPort};
    use wire::headroom::{Dialect, TimeUnit};

    /// Delay of a frame from one port to the other.
    const DELAY: Duration = Duration::from_nanos(700);

    fn end(n: u8, initiates: bool) -> AgentPort<MemPort> {
        let initiate = InitiatePlan { rounds: 20, ..InitiatePlan::DEFAULT };
        let dialect = Dialect { unit: TimeUnit::Picoseconds, ..Dialect::default() };
        let plan = AgentsPlan {
            mac: Mac([2, 0, 0, 0, 0, n]),
            rate: BitsPerSec::gbps(100),
            lldp: None,
            dcbx: None,
            measure: Some(MeasurePlan {
                respond: true,
                initiate: initiates.then_some(initiate),
                dialect,
                compensation: None,
            }),
            peer_delay: None,
            auto: None,
        };
        let port = MemPort {
            rx: [].into(),
            tx: vec![],
            room: usize::MAX,
            control: usize::MAX,
            held: ground::units::PrioritySet::EMPTY,
        };
        let agents = PortAgents::new(&plan, port.stamps());
        AgentPort::new(port, agents)
    }

    /// Polls both ends every `step` until the first has measured; frames take [`DELAY`] to the
    /// other. `before` is called before every poll of the first.
    fn run(
        ends: &mut [AgentPort<MemPort>; 2],
        step: Duration,
        mut before: impl FnMut(&mut MemPort),
    ) -> Found {
        let mut now = Instant::from_picos(1_000_000);
        let mut line: Vec<(Instant, usize, MemFrame)> = Vec::new();
        ends.iter_mut().for_each(|end| end.agents_mut().set_link(now, true, None));
        for _ in 0..1_000_000 {
            let arrived = line.partition_point(|(at, ..)| *at <= now);
            for (_, to, frame) in line.drain(..arrived) {
                ends[to].port.rx.push_back(frame);
            }
            before(&mut ends[0].port);
            for (n, end) in ends.iter_mut().enumerate() {
                end.poll(now);
                line.extend(end.port.tx.drain(..).map(|frame| (now + DELAY, 1 - n, frame)));
            }
            while let Some(news) = ends[0].next_news() {
                if let News::Found(found) = news {
                    return found;
                }
            }
            now += step;
        }
        panic!("it never came to an end");
    }

    #[test]
    fn a_round_trip_is_the_line_both_ways_and_never_less_however_rarely_ports_are_polled() {
        for step in [100, 700, 1_300, 90_000] {
            let mut ends = [end(1, true), end(2, false)];
            let found = run(&mut ends, Duration::from_nanos(step), |_| ());
            let least = DELAY.saturating_mul(2);
            assert!(found.delay.min >= least, "{} by polls every {step} ns", found.delay.min);
            // A frame waits at each end for at most one poll.
            let most = least + Duration::from_nanos(2 * step);
            assert!(found.delay.max <= most, "{} by polls every {step} ns", found.delay.max);
            assert_eq!(ends[0].others() + ends[1].others(), 0);
        }
    }

    #[test]
    fn what_the_port_refuses_is_offered_again_with_its_date() {
        let mut ends = [end(1, true), end(2, false)];
        let mut polls = 0;
        // The ring is full for 9 of 10 polls, 1 us, which adds that delay to some frames.
        let step = Duration::from_nanos(100);
        let found = run(&mut ends, step, |port| {
            polls += 1;
            port.room = usize::from(polls % 10 == 0);
        });
        let (least, most) =
            (DELAY.saturating_mul(2), DELAY.saturating_mul(2) + step.saturating_mul(12));
        assert!(found.delay.min >= least && found.delay.max > least, "{:?}", found.delay);
        assert!(found.delay.max <= most, "{:?}", found.delay);
        let counters = ends[0].agents().measurer().unwrap().counters();
        assert_eq!((counters.requests_sent, counters.round_trips), (20, 20));
    }

    #[test]
    fn frames_of_others_are_counted_and_disturb_nothing() {
        let mut ends = [end(1, true), end(2, false)];
        let mut octets = [0; 60];
        octets[12..14].copy_from_slice(&[0x08, 0x00]);
        let found = run(&mut ends, Duration::from_nanos(100), |port| {
            // A frame without a header, and a data packet.
            port.rx.extend([MemFrame::new(&octets[..5]), MemFrame::new(&octets)]);
        });
        assert_eq!(found.rounds, 20);
        assert!(ends[0].others() > 20);
    }
}
