//! Link protocols of the ports: reception and transmission of frames to reserved addresses, outside
//! the forwarding path.

use super::Switch;
use contracts::frame::Frame;
use contracts::port::Port;
use contracts::stats::DropReason;
use contracts::world::World;
use ground::time::Instant;
use ground::units::PortId;
use link::{Made, News, PortAgents};

/// Maximum link-protocol frames sent in one poll. The rest waits for the next poll, so a peer that
/// floods requests delays nothing else.
const PER_POLL: usize = 4;

impl<W: World> Switch<W> {
    /// Handles a received link-protocol frame and transmits the reply at once: the turnaround of a
    /// measurement then covers only the frames ahead in its burst, not the whole poll.
    #[cold]
    pub(super) fn agent_frame(&mut self, now: Instant, at: usize, frame: &W::Frame) {
        let port = &mut self.ports[at];
        port.agents.iter().for_each(|agents| agents.fetch());
        let found = *port.found_at.get_or_insert_with(|| port.port.clock(now));
        let agents = port.agents.as_mut();
        let taken = agents.is_some_and(|a| a.receive(now, &mut port.port, found, frame));
        self.note_agents(at);
        if !taken {
            return self.count_drop(now, at, None, DropReason::ReservedAddress);
        }
        self.ports[at].counters.consumed += 1;
        self.awake.insert(at);
        self.send_agents_due(now, at);
    }

    /// Sends the link-protocol frames that are due, after pauses and before data.
    #[inline]
    pub(super) fn send_agents(&mut self, now: Instant, at: usize) -> bool {
        let port = &self.ports[at];
        if now < port.agents_due {
            return false;
        }
        port.agents.iter().for_each(|agents| agents.fetch());
        self.send_agents_due(now, at)
    }

    #[cold]
    fn send_agents_due(&mut self, now: Instant, at: usize) -> bool {
        let (mut progressed, mut left) = (false, PER_POLL);
        while self.ports[at].agents_due <= now && left > 0 {
            left -= 1;
            let port = &mut self.ports[at];
            let Some(agents) = &mut port.agents else { break };
            let free = port.shaper.as_ref().is_none_or(|s| s.ready(now));
            if !free || !port.control.is_empty() || !port.up {
                break;
            }
            match agents.send(now, &mut port.port) {
                Made::Frame(frame, dated) => {
                    port.occupy_link(now, frame.wire_len());
                    port.control.push(frame);
                    port.counters.originated += 1;
                    self.hand_control_to_port(at);
                    let port = &mut self.ports[at];
                    if let Some(agents) = &mut port.agents {
                        agents.handed_over(port.port.clock(now).since(dated));
                    }
                    progressed = true;
                }
                Made::Nothing => progressed = true,
                Made::NoMemory => left = 0,
            }
            self.note_agents(at);
        }
        progressed
    }

    /// Updates what is cached of the link protocols of a port, after each call that may change it: their
    /// deadline, and the set of ports with events.
    pub(super) fn note_agents(&mut self, at: usize) {
        let port = &mut self.ports[at];
        let agents = port.agents.as_ref();
        port.agents_due = agents.map_or(Instant::NEVER, |agents| agents.next_deadline());
        if agents.is_some_and(|agents| agents.has_news()) {
            self.with_news.insert(at);
        }
    }

    /// Reports a link change to the link protocols of a port.
    pub(super) fn tell_agents_link(&mut self, now: Instant, at: usize) {
        let port = &mut self.ports[at];
        if let Some(agents) = &mut port.agents {
            agents.set_link(now, port.up, Some(port.rate));
            self.note_agents(at);
        }
    }

    /// Announces the shutdown: in the next polls the ports withdraw what they advertised to their
    /// neighbours.
    #[cold]
    pub fn say_goodbye(&mut self, now: Instant) {
        for at in 0..self.ports.len() {
            if let Some(agents) = &mut self.ports[at].agents {
                agents.say_goodbye(now);
                self.note_agents(at);
                self.awake.insert(at);
            }
        }
    }

    /// Returns the next event of the link protocols of this worker's ports.
    pub fn next_news(&mut self) -> Option<(PortId, News)> {
        while let Some(at) = self.with_news.pop_from(0) {
            let port = &mut self.ports[at];
            let Some(agents) = &mut port.agents else { continue };
            let news = agents.next_news();
            if agents.has_news() {
                self.with_news.insert(at);
            }
            if let Some(news) = news {
                return Some((port.id, news));
            }
        }
        None
    }

    /// Returns true if an event is pending.
    #[must_use]
    pub fn has_news(&self) -> bool {
        !self.with_news.is_empty()
    }

    /// Returns the link protocols of a port if this worker owns it and it runs any.
    #[must_use]
    pub fn agents(&self, id: PortId) -> Option<&PortAgents> {
        self.ports[self.local(id)?].agents.as_deref()
    }

    /// Iterates over this worker's ports that run link protocols.
    pub fn agents_of_ports(&self) -> impl Iterator<Item = (PortId, &PortAgents)> {
        self.ports.iter().filter_map(|port| Some((port.id, port.agents.as_deref()?)))
    }
}
