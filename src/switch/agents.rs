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
        let found = *port.found_at.get_or_insert_with(|| port.port.clock(now));
        let agents = port.agents.as_mut();
        let taken = agents.is_some_and(|a| a.receive(now, &mut port.port, found, frame));
        port.note_agents();
        if !taken {
            return self.count_drop(now, at, None, DropReason::ReservedAddress);
        }
        port.counters.consumed += 1;
        self.awake.insert(at);
        self.send_agents(now, at);
    }

    /// Sends the link-protocol frames that are due, after pauses and before data.
    #[inline]
    pub(super) fn send_agents(&mut self, now: Instant, at: usize) -> bool {
        now >= self.ports[at].agents_due && self.send_agents_due(now, at)
    }

    #[cold]
    fn send_agents_due(&mut self, now: Instant, at: usize) -> bool {
        let progressed = self.make_agents_frames(now, at);
        self.ports[at].note_agents();
        progressed
    }

    fn make_agents_frames(&mut self, now: Instant, at: usize) -> bool {
        let mut progressed = false;
        for _ in 0..PER_POLL {
            let port = &mut self.ports[at];
            let Some(agents) = &mut port.agents else { return progressed };
            let free = port.shaper.as_ref().is_none_or(|s| s.ready(now));
            if !agents.is_due(now) || !free || !port.control.is_empty() || !port.up {
                return progressed;
            }
            let (frame, dated) = match agents.send(now, &mut port.port) {
                Made::Frame(frame, dated) => (frame, dated),
                Made::Nothing => {
                    progressed = true;
                    continue;
                }
                Made::NoMemory => return progressed,
            };
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
        progressed
    }

    /// Reports a link change to the link protocols of a port.
    pub(super) fn tell_agents_link(&mut self, now: Instant, at: usize) {
        let port = &mut self.ports[at];
        if let Some(agents) = &mut port.agents {
            agents.set_link(now, port.up, Some(port.rate));
            port.note_agents();
        }
    }

    /// Announces the shutdown: in the next polls the ports withdraw what they advertised to their
    /// neighbours.
    #[cold]
    pub fn say_goodbye(&mut self, now: Instant) {
        for (at, port) in self.ports.iter_mut().enumerate() {
            if let Some(agents) = &mut port.agents {
                agents.say_goodbye(now);
                port.note_agents();
                self.awake.insert(at);
            }
        }
    }

    /// Returns the next event of the link protocols of this worker's ports.
    pub fn next_news(&mut self) -> Option<(PortId, News)> {
        self.ports.iter_mut().find_map(|port| {
            let news = port.agents.as_mut()?.next_news()?;
            Some((port.id, news))
        })
    }

    /// Returns true if an event is pending.
    #[must_use]
    pub fn has_news(&self) -> bool {
        self.ports.iter().any(|p| p.agents.as_ref().is_some_and(|a| a.has_news()))
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
