//! A port on which agents alone are run: it answers measurements, measures, speaks of itself, and
//! carries no data.
//!
//! Whoever owns it calls [`AgentPort::poll`] as often as it can: a stamp is late by what passes until
//! the port is looked at. What arrives is dated behind the look that found it and what leaves in
//! front of the hand-over, so that a round trip is never too short. What the port refuses is kept and
//! offered again, with the date that it has.

use crate::agents::{FRAME_MAX, News, PortAgents};
use crate::frame::{Burst, Frame};
use crate::port::Port;
use crate::time::Instant;
use crate::wire::EtherType;

/// A port, and its agents.
#[derive(Debug)]
pub struct AgentPort<P: Port> {
    port: P,
    agents: PortAgents,
    found: Burst<P::Frame>,
    /// At most one frame, which the port has refused so far.
    waiting: Burst<P::Frame>,
    /// Frames that were none of the agents'.
    others: u64,
}

impl<P: Port> AgentPort<P> {
    /// Puts agents on a port.
    pub fn new(port: P, agents: PortAgents) -> Self {
        let (found, waiting) = (Burst::new(), Burst::new());
        Self { port, agents, found, waiting, others: 0 }
    }

    /// Takes in what has arrived and sends what is due. Says whether there was any of that.
    pub fn poll(&mut self, now: Instant) -> bool {
        self.port.rx_burst(&mut self.found);
        let received = !self.found.is_empty();
        if received {
            self.take_in(now);
        }
        self.send(now) || received
    }

    fn take_in(&mut self, now: Instant) {
        let found = self.port.clock(now);
        for frame in self.found.drain(..) {
            let at = self.port.rx_stamp(&frame).unwrap_or(found);
            let head = frame.head();
            let kind = head.get(12..14).map_or(0, |of| u16::from_be_bytes([of[0], of[1]]));
            if PortAgents::speak(EtherType(kind)) {
                self.agents.on_frame(now, at, head);
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
        while self.waiting.is_empty() && self.agents.is_due(now) {
            if self.agents.begins() {
                self.port.refresh_clock();
                self.agents.set_stamps(self.port.stamps());
            }
            let mut octets = [0; FRAME_MAX];
            let clock = self.port.clock(now);
            let Some(len) = self.agents.take(now, clock, &mut octets) else { break };
            sent = true;
            let Some(frame) = self.port.control_frame(&octets[..len]) else {
                self.agents.not_sent();
                break;
            };
            self.waiting.push(frame);
            self.port.tx_burst(&mut self.waiting);
            self.agents.handed_over(self.port.clock(now).since(clock));
        }
        sent
    }

    /// The next thing that happened, the oldest first.
    pub fn next_news(&mut self) -> Option<News> {
        self.agents.next_news()
    }

    /// The agents.
    #[must_use]
    pub const fn agents(&self) -> &PortAgents {
        &self.agents
    }

    /// The agents, to tell them what to do.
    pub const fn agents_mut(&mut self) -> &mut PortAgents {
        &mut self.agents
    }

    /// How many frames came in that were none of the agents'.
    #[must_use]
    pub const fn others(&self) -> u64 {
        self.others
    }
}
