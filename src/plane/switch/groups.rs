//! Neighbouring frames of a burst that share a cached decision, settled in one step.
//!
//! Most frames of a burst come from a few hosts and leave by one port with one priority. One pass
//! over the burst extracts the keys of their flows and looks them up; the frames at its front with
//! the same decision are then counted, charged to the buffer and staged together (as VPP's and
//! BESS's stages do). The result is that of one frame after the other. Where that is not certain
//! (the egress port is busy, a limit is near), it is one frame after the other.

use super::Switch;
use super::classify::{is_for_agents, is_usual_len};
use super::shortcut::{Decision, Flow, Layout, layout_of};
use super::staging::Run;
use contracts::frame::{Burst, Frame};
use contracts::world::{Events, World};
use ground::time::Instant;
use ground::units::Cells;

/// Next step for a received frame.
enum Way {
    /// It may be a congestion message.
    Message,
    /// There is a cached decision for its flow, with this number.
    Decided(Decision, u64),
    /// It has to be classified.
    Undecided,
}

/// Frames at the front of a burst that share a decision.
struct Group {
    decision: Decision,
    frames: usize,
    bytes: u64,
    /// Their length, if they have the same.
    wire_len: Option<u32>,
}

impl Group {
    /// Adds the frames of `rest` behind its first, which is the last one of this group and has `wire_len` bytes.
    fn extend(&mut self, rest: &Self, wire_len: u32) {
        self.frames += rest.frames - 1;
        self.bytes += rest.bytes - u64::from(wire_len);
        self.wire_len = self.wire_len.filter(|len| rest.wire_len == Some(*len));
    }
}

impl<W: World> Switch<W> {
    /// Processes the frames of one burst received by the port at `slot`, in order. Mostly all of it
    /// is one group.
    #[inline]
    pub(super) fn ingest_burst(&mut self, now: Instant, slot: usize, burst: &mut Burst<W::Frame>) {
        let Some(first) = burst.first() else { return };
        let way = self.way_of(now, slot, first);
        // A single frame shares its work with no other.
        if burst.len() == 1 {
            return self.ingest_single(now, slot, way, burst);
        }
        if let Way::Decided(decision, number) = way {
            let mut group = self.group(now, slot, decision, number, burst);
            // What ends a group is most often a message of a link protocol, which does not belong to the data.
            if group.frames < burst.len() {
                self.take_messages_out(now, slot, &mut group, number, burst);
            }
            if group.frames == burst.len() {
                self.ports[slot].counters.rx_bytes += group.bytes;
                // The usual case: all frames of the burst leave together, and none is looked at again.
                if let Some(run) = self.pass(now, slot, &group, burst) {
                    let to = usize::from(decision.to);
                    return self.ports[to].staged.push_burst(burst, run);
                }
                // Each frame joins a queue or is charged alone. Their flows are looked up together before.
                self.look_ahead(now, &decision, layout_of(number), group.bytes, burst);
                for (turn, frame) in burst.drain(..).enumerate() {
                    self.set_turn(turn);
                    self.take_shortcut(now, slot, frame, decision);
                }
                return self.looked_ahead();
            }
        // A message in front of the burst would hide the group behind it.
        } else if self.take_message_out(now, slot, 0, burst) {
            return self.ingest_burst(now, slot, burst);
        }
        self.ingest_groups(now, slot, way, burst);
    }

    /// Handles the messages of link protocols behind a group, which then goes on behind them. A message has no
    /// effect on frames of data, and is answered the sooner.
    #[cold]
    #[inline(never)]
    fn take_messages_out(
        &mut self,
        now: Instant,
        slot: usize,
        group: &mut Group,
        number: u64,
        burst: &mut Burst<W::Frame>,
    ) {
        while self.take_message_out(now, slot, group.frames, burst) {
            if group.frames == burst.len() {
                return;
            }
            // A scan begins with a frame whose decision is known, which is the last one of the group.
            let last = group.frames - 1;
            let rest = self.group(now, slot, group.decision, number, &burst[last..]);
            group.extend(&rest, burst[last].wire_len());
        }
    }

    /// Handles the frame at this place of a burst, if it is there and a message of a link protocol. Returns true
    /// if it was.
    fn take_message_out(
        &mut self,
        now: Instant,
        slot: usize,
        place: usize,
        burst: &mut Burst<W::Frame>,
    ) -> bool {
        let (max_frame, filter) = (self.max_frame, &self.signals.filter);
        let port = &mut self.ports[slot];
        let taken = burst.get(place).is_some_and(|frame| {
            let head = frame.head();
            is_for_agents(head, frame.wire_len(), max_frame) && !filter.wants(head)
        });
        // Any other port has to count it as dropped, which the path of unusual frames does.
        let taken = taken && port.up && port.agents.is_some();
        if taken {
            let frame = burst.remove(place);
            port.counters.rx_bytes += u64::from(frame.wire_len());
            self.agent_frame(now, slot, &frame);
        }
        taken
    }

    /// Processes a burst of one frame, which is no group.
    #[inline(always)]
    fn ingest_single(&mut self, now: Instant, slot: usize, way: Way, burst: &mut Burst<W::Frame>) {
        let frame = burst.pop().expect("a burst of one");
        self.ports[slot].counters.rx_bytes += u64::from(frame.wire_len());
        match way {
            Way::Decided(decision, _) => self.take_shortcut(now, slot, frame, decision),
            Way::Message => self.ingest_message(now, slot, frame),
            Way::Undecided => self.ingest_undecided(now, slot, frame),
        }
    }

    /// Processes a burst of several groups; `way` is that of its first frame.
    #[inline(never)]
    fn ingest_groups(
        &mut self,
        now: Instant,
        slot: usize,
        mut way: Way,
        burst: &mut Burst<W::Frame>,
    ) {
        // By value: what remains is a slice again, of which the next group is the front.
        let mut frames = core::mem::take(burst).into_iter();
        loop {
            if let Way::Decided(decision, number) = way {
                let group = self.group(now, slot, decision, number, frames.as_slice());
                self.ports[slot].counters.rx_bytes += group.bytes;
                let run = self.pass(now, slot, &group, frames.as_slice());
                if let Some(run) = run {
                    let members = frames.by_ref().take(group.frames);
                    self.ports[usize::from(decision.to)].staged.push_all(members, run);
                } else {
                    let members = &frames.as_slice()[..group.frames];
                    self.look_ahead(now, &decision, layout_of(number), group.bytes, members);
                    for (turn, frame) in frames.by_ref().take(group.frames).enumerate() {
                        self.set_turn(turn);
                        self.take_shortcut(now, slot, frame, decision);
                    }
                    self.looked_ahead();
                }
            } else {
                let frame = frames.next().expect("its way was found");
                self.ports[slot].counters.rx_bytes += u64::from(frame.wire_len());
                match way {
                    Way::Message => self.ingest_message(now, slot, frame),
                    Way::Undecided | Way::Decided(..) => self.ingest_undecided(now, slot, frame),
                }
            }
            let Some(next) = frames.as_slice().first() else { return };
            way = self.way_of(now, slot, next);
        }
    }

    #[inline(always)]
    fn way_of(&self, now: Instant, slot: usize, frame: &W::Frame) -> Way {
        if self.signals.filter.wants(frame.head()) {
            return Way::Message;
        }
        let decided = self.decided(now, slot, frame);
        decided.map_or(Way::Undecided, |(decision, number)| Way::Decided(decision, number))
    }

    /// Returns the group of the first frame, whose decision is known.
    #[inline(always)]
    fn group(
        &self,
        now: Instant,
        slot: usize,
        decision: Decision,
        number: u64,
        frames: &[W::Frame],
    ) -> Group {
        // Decided once per group, so that the scan has no test for messages where there are none.
        if self.signals.filter.is_on() {
            return self.group_without_messages(now, slot, decision, number, frames);
        }
        self.scan(now, slot, decision, number, frames, |_| false)
    }

    /// As [`Self::group`], where frames may be messages.
    #[inline(never)]
    fn group_without_messages(
        &self,
        now: Instant,
        slot: usize,
        decision: Decision,
        number: u64,
        frames: &[W::Frame],
    ) -> Group {
        let filter = &self.signals.filter;
        // Frames of one decision have their headers in the same places.
        match layout_of(number) {
            Layout::Other => {
                self.scan(now, slot, decision, number, frames, |head| filter.wants(head))
            }
            Layout::Ipv4 => {
                self.scan(now, slot, decision, number, frames, |head| filter.wants_at(14, head))
            }
            Layout::TaggedIpv4 => {
                self.scan(now, slot, decision, number, frames, |head| filter.wants_at(18, head))
            }
        }
    }

    /// Returns the group of the first frame, which ends before a frame that `wants` names.
    #[inline(always)]
    fn scan(
        &self,
        now: Instant,
        slot: usize,
        decision: Decision,
        number: u64,
        frames: &[W::Frame],
        wants: impl Fn(&[u8]) -> bool,
    ) -> Group {
        let shortcuts = &self.ports[slot].shortcuts;
        let slots = shortcuts.slots();
        let (version, max_frame) = (self.fdb.version(), self.max_frame);
        let first = frames[0].wire_len();
        let (mut bytes, mut unequal, mut count) = (u64::from(first), 0, 1);
        for frame in &frames[1..] {
            let (head, wire_len) = (frame.head(), frame.wire_len());
            let Some(flow) = Flow::of(head) else { break };
            let agrees = slots.agrees(now, version, flow, number)
                || shortcuts.agrees_beside(now, version, head, number);
            if !agrees || !is_usual_len(wire_len, max_frame) || wants(head) {
                break;
            }
            bytes += u64::from(wire_len);
            // Without a branch for each frame.
            unequal |= wire_len ^ first;
            count += 1;
        }
        let wire_len = (unequal == 0).then_some(first);
        Group { decision, frames: count, bytes, wire_len }
    }

    /// Counts a group that passes its queue by, as [`Self::forward_cached`] does each of its frames,
    /// and charges it to the buffer; its frames are to be staged at the egress port then. `None`,
    /// without effect, if they have to be forwarded one by one.
    #[inline(always)]
    fn pass(
        &mut self,
        now: Instant,
        slot: usize,
        group: &Group,
        frames: &[W::Frame],
    ) -> Option<Run> {
        let Decision { egress, to, priority, group: priority_group, lossy } = group.decision;
        #[cfg(test)]
        if self.one_by_one {
            return None;
        }
        let (to, ingress) = (usize::from(to), self.ports[slot].id);
        let frames = &frames[..group.frames];
        let port = &mut self.ports[to];
        // A part of the group would have to wait in the queue, where each frame is placed and marked alone.
        if frames.len() > port.staged.room() || !port.is_idle_for(now, priority) {
            return None;
        }
        let mut charge = None;
        if !(port.straight && lossy) {
            let cells = match group.wire_len {
                // Cells are rounded up for each frame, so the sum of bytes would be too few.
                Some(len) => self.ledger.cells_for(len).0 * frames.len() as u32,
                None => frames.iter().map(|f| self.ledger.cells_for(f.wire_len()).0).sum(),
            };
            // All or none: near a limit one of the frames crosses it, and only single charges find out which.
            charge = Some(self.ledger.admit_all(ingress, priority_group, Cells(cells))?);
        }
        self.awake.insert(to);
        let counters = &mut self.ports[slot].counters.priorities[priority.index()];
        counters.rx_frames += frames.len() as u64;
        counters.rx_bytes += group.bytes;
        let lens = frames.iter().map(Frame::wire_len);
        self.events.received_all(now, ingress, priority, lens.clone());
        self.events.sent_all(now, egress, priority, lens);
        let frames = frames.len() as u32;
        Some(Run { charge, ingress, priority, frames, bytes: group.bytes })
    }
}
