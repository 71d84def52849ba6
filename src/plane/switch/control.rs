//! Control frames of the ports, outside the forwarding path: received and sent pauses, the storm
//! watchdog, and the link protocols, whose frames go to reserved addresses.

use super::Switch;
use ::pfc::{Demand, PauseVector, StormAction, StormEvent};
use contracts::frame::{Burst, Frame};
use contracts::port::Port;
use contracts::stats::DropReason;
use contracts::world::{Events, World};
use ground::time::Instant;
use ground::units::{PortId, PrioritySet, Quanta, TrafficClass};
use link::{Made, News, PortAgents};
use wire::mac_control::{self, FRAME_LEN};
use wire::{WireError, pause, pfc};

impl<W: World> Switch<W> {
    /// Handles a MAC control frame: it is obeyed or counted, and never forwarded (802.3 31.3).
    #[cold]
    pub(super) fn mac_control(&mut self, now: Instant, slot: usize, frame: &W::Frame) {
        let port = &mut self.ports[slot];
        let parsed = mac_control::Repr::parse(frame.head(), self.tables[port.id.index()].mac);
        let obeyed = match &parsed {
            Ok(pfc @ mac_control::Repr::Pfc(_)) => self.pfc_received(now, slot, &pfc.vector()),
            Ok(mac_control::Repr::Pause(pause)) => self.pause_received(now, slot, pause.time),
            Err(WireError::BadOpcode) => Err(DropReason::MacControlOpcode),
            Err(WireError::BadAddress) => Err(DropReason::MacControlAddress),
            Err(_) => Err(DropReason::MacControlShort),
        };
        match obeyed {
            Ok(()) => {
                let port = &mut self.ports[slot];
                port.counters.consumed += 1;
                self.awake.insert(slot);
                // Restarted by the next poll, as it arrived some time after `now`.
                port.undated = parsed.ok();
            }
            Err(reason) => self.count_drop(now, slot, None, reason),
        }
    }

    /// Restarts the last pause at `now`. The clock was read before the pause was received, so a
    /// thread preempted in between would resume that much too early; restarted one poll later, it
    /// resumes at most one poll late. No effect if no time passed between the two polls.
    #[cold]
    pub(super) fn date_again(&mut self, now: Instant, slot: usize) {
        let port = &mut self.ports[slot];
        if let Some(pause) = port.undated.take() {
            port.receiver.redate(now, &pause.vector());
        }
    }

    /// PFC: each enabled priority is paused, paused anew, or resumed (802.1Q 36.1.3.3).
    fn pfc_received(
        &mut self,
        now: Instant,
        slot: usize,
        vector: &PauseVector,
    ) -> Result<(), DropReason> {
        let port = &mut self.ports[slot];
        if !port.receiver.on_pfc(now, vector) {
            return Err(DropReason::PfcNotEnabled);
        }
        port.counters.pfc_rx_frames += 1;
        for p in vector.enabled.iter() {
            port.counters.priorities[p.index()].pfc_rx_frames += 1;
        }
        if port.watchdog.is_configured() {
            let tables = &self.tables[port.id.index()];
            // A resume is no sign of a storm.
            let pausing = vector.enabled.iter().filter(|p| vector.time[p.index()].0 > 0);
            // Isolated flows wait in the congesting class for the pauses of their original one.
            let classes = pausing.flat_map(|p| self.signals.classes_of(tables.class(p)));
            classes.for_each(|class| port.watchdog.on_pfc(now, class));
        }
        self.events.pause_obeyed(now, port.id, port.receiver.paused(now));
        Ok(())
    }

    /// PAUSE: the whole link is paused or resumed (802.3 31B.3.3).
    fn pause_received(
        &mut self,
        now: Instant,
        slot: usize,
        time: Quanta,
    ) -> Result<(), DropReason> {
        let port = &mut self.ports[slot];
        if !port.receiver.on_pause(now, time) {
            return Err(DropReason::PauseNotEnabled);
        }
        port.counters.pause_rx_frames += 1;
        self.events.pause_obeyed(now, port.id, port.receiver.paused(now));
        Ok(())
    }

    /// Sends the pauses that are due, before any data frame. One that cannot be sent now is built
    /// again next time, so that its times are correct when it leaves.
    #[inline]
    pub(super) fn send_pauses(&mut self, now: Instant, slot: usize) -> bool {
        let port = &mut self.ports[slot];
        let mut progressed = false;
        if !port.control.is_empty() {
            // One that the port refused before goes first: the peer obeys the latest that it receives.
            progressed = self.hand_control_to_port(slot);
        }
        let port = &mut self.ports[slot];
        if !port.up || !port.control.is_empty() || !port.link_free(now) {
            return progressed;
        }
        // Asked for only when the frame can be made, so that its times count from now.
        let own = port.sender.due(now);
        if own.is_none() && now < port.proxy_due {
            return progressed;
        }
        self.send_pause(now, slot, own.as_ref()) | progressed
    }

    /// Builds one pause frame and gives it to the port: `own`, the demand of the port's groups,
    /// merged with that of the proxy, or that of the proxy alone.
    #[cold]
    fn send_pause(&mut self, now: Instant, slot: usize, own: Option<&Demand>) -> bool {
        let mut octets = [0; FRAME_LEN];
        let mac = self.tables[self.ports[slot].id.index()].mac;
        let vector = match own {
            Some(Demand::Pause(time)) => {
                let repr = pause::Repr::new(mac, *time);
                repr.emit(&mut octets).expect("a pause frame has its size");
                None
            }
            // Both in one frame: of a priority that both pause, a second frame would replace the first.
            Some(Demand::Pfc(vector)) => self.with_proxy(now, slot, Some(*vector)),
            None => match self.with_proxy(now, slot, None) {
                None => return false,
                vector => vector,
            },
        };
        if let Some(vector) = &vector {
            let mut repr = pfc::Repr::new(mac);
            vector.enabled.iter().for_each(|p| repr.set(p, vector.time[p.index()]));
            repr.emit(&mut octets).expect("a pause frame has its size");
        }
        let port = &mut self.ports[slot];
        // The demand stays open, and the frame is built anew in the next poll.
        let Some(frame) = port.port.control_frame(&octets) else { return false };
        port.occupy_link(now, frame.wire_len());
        port.control.push(frame);
        // Only now is the demand met: the frame exists, and precedes all data.
        if let Some(demand) = own {
            port.sender.on_sent(now, demand);
        }
        port.counters.originated += 1;
        // PAUSE has no priorities: it names all of them, and a time of 0 resumes all.
        let (named, paused) = match (&vector, own) {
            (Some(vector), _) => {
                port.counters.pfc_tx_frames += 1;
                let enabled = vector.enabled;
                enabled.iter().for_each(|p| port.counters.priorities[p.index()].pfc_tx_frames += 1);
                (enabled, vector.paused())
            }
            (None, demand) => {
                port.counters.pause_tx_frames += 1;
                let resumes = matches!(demand, Some(Demand::Pause(Quanta(0))));
                (PrioritySet::ALL, if resumes { PrioritySet::EMPTY } else { PrioritySet::ALL })
            }
        };
        self.events.pause_sent(now, port.id, named, paused);
        if let Some(vector) = &vector {
            self.proxy_sent(now, slot, vector, own.is_none());
        }
        self.hand_control_to_port(slot);
        true
    }

    /// Offers the waiting control frames to the port.
    pub(super) fn hand_control_to_port(&mut self, slot: usize) -> bool {
        let port = &mut self.ports[slot];
        let bytes = |control: &Burst<W::Frame>| -> u64 {
            control.iter().map(|frame| u64::from(frame.wire_len())).sum()
        };
        // A port accepts frames from the front, so what is gone is the difference.
        let (frames_before, bytes_before) = (port.control.len(), bytes(&port.control));
        port.port.tx_burst(&mut port.control);
        let taken = frames_before - port.control.len();
        port.counters.tx_frames += taken as u64;
        port.counters.tx_bytes += bytes_before - bytes(&port.control);
        taken > 0
    }

    /// Runs the watchdog on each queue, and acts on its events. Returns true if there was any:
    /// dropping a queue may resume a port that was already visited in this poll.
    #[inline]
    pub(super) fn watch(&mut self, now: Instant, slot: usize) -> bool {
        self.ports[slot].watchdog.is_configured() && self.watch_queues(now, slot)
    }

    fn watch_queues(&mut self, now: Instant, slot: usize) -> bool {
        let port = &mut self.ports[slot];
        let paused = port.receiver.paused(now);
        let guarded = self.guarded_classes(slot, paused);
        let port = &mut self.ports[slot];
        for class in TrafficClass::ALL {
            // A queue waits while the priority of its first frame is paused, whatever is behind it.
            let head = port.scheduler.head_priority(class);
            let stopped = |p| paused.contains(p) || guarded >> class.get() & 1 == 1;
            port.watchdog.on_queue(now, class, head.is_some_and(stopped));
        }
        let mut progressed = false;
        // One after the other, because an action changes queues and with them what is due.
        while let Some((class, event)) = self.ports[slot].watchdog.on_timeout(now) {
            self.storm(now, slot, class, event);
            progressed = true;
        }
        progressed
    }

    /// Handles a pause storm detected on a queue, or its end.
    pub(super) fn storm(
        &mut self,
        now: Instant,
        slot: usize,
        class: TrafficClass,
        event: StormEvent,
    ) {
        let port = &mut self.ports[slot];
        let detected = matches!(event, StormEvent::Detected(_));
        // A queue may hold several priorities, and results are by priority.
        let priorities = self.signals.priorities_in(class, &self.tables[port.id.index()]);
        for p in priorities.iter() {
            let counters = &mut port.counters.priorities[p.index()];
            counters.storms_detected += u64::from(detected);
            counters.storms_restored += u64::from(!detected);
        }
        self.events.storm(now, port.id, class, detected);
        if event == StormEvent::Detected(StormAction::Drop) {
            self.flush_queue(now, slot, class, DropReason::Watchdog);
        }
    }
}

/// Maximum link-protocol frames sent in one poll. The rest waits for the next poll, so a peer that
/// floods requests delays nothing else.
const PER_POLL: usize = 4;

impl<W: World> Switch<W> {
    /// Handles a received link-protocol frame and transmits the reply at once: the turnaround of a
    /// measurement then covers only the frames ahead in its burst, not the whole poll.
    #[cold]
    pub(super) fn agent_frame(&mut self, now: Instant, slot: usize, frame: &W::Frame) {
        let port = &mut self.ports[slot];
        port.agents.iter().for_each(|agents| agents.fetch());
        // One reading per burst: a later date makes a measured delay longer, which is the safe side.
        let found = *port.found_at.get_or_insert_with(|| port.port.clock(now));
        let agents = port.agents.as_mut();
        let taken = agents.is_some_and(|a| a.receive(now, &mut port.port, found, frame));
        self.note_agents(slot);
        if !taken {
            return self.count_drop(now, slot, None, DropReason::ReservedAddress);
        }
        self.ports[slot].counters.consumed += 1;
        self.awake.insert(slot);
        self.send_agents_due(now, slot);
    }

    /// Sends the link-protocol frames that are due, after pauses and before data.
    #[inline]
    pub(super) fn send_agents(&mut self, now: Instant, slot: usize) -> bool {
        let port = &self.ports[slot];
        if now < port.agents_due {
            return false;
        }
        port.agents.iter().for_each(|agents| agents.fetch());
        self.send_agents_due(now, slot)
    }

    #[cold]
    fn send_agents_due(&mut self, now: Instant, slot: usize) -> bool {
        let (mut progressed, mut left) = (false, PER_POLL);
        while self.ports[slot].agents_due <= now && left > 0 {
            left -= 1;
            let port = &mut self.ports[slot];
            let Some(agents) = &mut port.agents else { break };
            let free = port.shaper.as_ref().is_none_or(|s| s.ready(now));
            // Behind pauses that wait, which must not be overtaken.
            if !free || !port.control.is_empty() || !port.up {
                break;
            }
            match agents.send(now, &mut port.port) {
                Made::Frame(frame, dated) => {
                    port.occupy_link(now, frame.wire_len());
                    port.control.push(frame);
                    port.counters.originated += 1;
                    self.hand_control_to_port(slot);
                    let port = &mut self.ports[slot];
                    if let Some(agents) = &mut port.agents {
                        // The frame was stamped before: the time that its hand-over took is the error of the stamp.
                        agents.handed_over(port.port.clock(now).since(dated));
                    }
                    progressed = true;
                }
                Made::Nothing => progressed = true,
                // Memory for control frames does not come back within a poll.
                Made::NoMemory => left = 0,
            }
            self.note_agents(slot);
        }
        progressed
    }

    /// Updates what is cached of the link protocols of a port, after each call that may change it: their
    /// deadline, and the set of ports with events.
    pub(super) fn note_agents(&mut self, slot: usize) {
        let port = &mut self.ports[slot];
        let agents = port.agents.as_ref();
        port.agents_due = agents.map_or(Instant::NEVER, |agents| agents.next_deadline());
        if agents.is_some_and(|agents| agents.has_news()) {
            self.unread.insert(slot);
        }
    }

    /// Reports a link change to the link protocols of a port.
    pub(super) fn tell_agents_link(&mut self, now: Instant, slot: usize) {
        let port = &mut self.ports[slot];
        if let Some(agents) = &mut port.agents {
            agents.set_link(now, port.up, Some(port.rate));
            self.note_agents(slot);
        }
    }

    /// Announces the shutdown: in the next polls the ports withdraw what they advertised to their
    /// neighbours.
    #[cold]
    pub fn say_goodbye(&mut self, now: Instant) {
        for slot in 0..self.ports.len() {
            if let Some(agents) = &mut self.ports[slot].agents {
                agents.say_goodbye(now);
                self.note_agents(slot);
                self.awake.insert(slot);
            }
        }
    }

    /// Returns the next event of the link protocols of this worker's ports.
    pub fn next_news(&mut self) -> Option<(PortId, News)> {
        while let Some(slot) = self.unread.pop_from(0) {
            let port = &mut self.ports[slot];
            let Some(agents) = &mut port.agents else { continue };
            let news = agents.next_news();
            if agents.has_news() {
                self.unread.insert(slot);
            }
            if let Some(news) = news {
                return Some((port.id, news));
            }
        }
        None
    }

    /// Returns true if an event is pending.
    pub fn has_news(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Returns the link protocols of a port if this worker owns it and it runs any.
    pub fn agents(&self, id: PortId) -> Option<&PortAgents> {
        self.ports[self.local(id)?].agents.as_deref()
    }

    /// Iterates over this worker's ports that run link protocols.
    pub fn agents_of_ports(&self) -> impl Iterator<Item = (PortId, &PortAgents)> {
        self.ports.iter().filter_map(|port| Some((port.id, port.agents.as_deref()?)))
    }
}
