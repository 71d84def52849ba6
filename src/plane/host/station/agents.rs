//! Link protocols of a station's port: answers to measurements, discovery.

use super::Station;
use super::calm::Calm;
use crate::meter::Leaving;
use contracts::frame::Frame;
use contracts::port::Source;
use ground::time::Instant;
use link::{Made, PortAgents};
use wire::{group, vlan};

impl<P: Source> Station<P> {
    /// Returns the link protocols, if there are any.
    pub fn agents(&self) -> Option<&PortAgents> {
        self.agents.as_deref()
    }

    /// Returns the link protocols, for reading their events.
    pub fn agents_mut(&mut self) -> Option<&mut PortAgents> {
        self.calm = Calm::OVER;
        self.agents.as_deref_mut()
    }

    /// Passes a frame to the link protocols if it is theirs. Returns true if it was.
    #[inline]
    pub(super) fn is_for_agents(
        &mut self,
        now: Instant,
        frame: &P::Frame,
        walk: &vlan::Walk,
    ) -> bool {
        let Some(agents) = &mut self.agents else { return false };
        let theirs = walk.outer.is_none()
            && group::is_reserved(walk.dst)
            && PortAgents::speak(walk.ethertype);
        if !theirs {
            return false;
        }
        let found = *self.found_at.get_or_insert_with(|| self.port.clock(now));
        agents.receive(now, &mut self.port, found, frame)
    }

    /// Makes the link-protocol frames that are due. They precede data that the port has refused.
    pub(super) fn make_agents(&mut self, now: Instant) {
        while self.agents.as_ref().is_some_and(|a| a.is_due(now)) && self.shaper.ready(now) {
            let Self { agents, port, hand, .. } = self;
            let Some(agents) = agents.as_mut().filter(|_| !hand.is_full()) else { return };
            let (frame, dated) = match agents.send(now, port) {
                Made::Frame(frame, dated) => (frame, dated),
                Made::Nothing => continue,
                Made::NoMemory => {
                    self.retry = now + self.slot;
                    return;
                }
            };
            self.dated = self.dated.or(Some(dated));
            super::send::charge(&mut self.shaper, &mut self.counters, now, frame.wire_len());
            if let Some(meter) = &mut self.meter {
                meter.made_at(Leaving::Other, self.leading);
            }
            self.hand.insert(self.leading, frame);
            self.leading += 1;
        }
    }

    /// Reports to the link protocols that the port has accepted the timestamped frames.
    #[inline]
    pub(super) fn agents_handed_over(&mut self, now: Instant) {
        if let (Some(before), Some(agents)) = (self.dated, &mut self.agents) {
            agents.handed_over(self.port.clock(now).since(before));
            if self.leading == 0 {
                self.dated = None;
            }
        }
    }
}
