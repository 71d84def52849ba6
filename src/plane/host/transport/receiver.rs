//! The receiving end of a flow: its machine, its acknowledgements, its counters.
//!
//! Acknowledgements are not queued one by one: the state to report is kept, and a frame reports the
//! state at the time it leaves. A waiting acknowledgement is so replaced by a newer one, and
//! nothing here grows however long a pause lasts.
//!
//! All receivers of a station share one queue of acknowledgements and CNPs: first in, first out among
//! those whose priority is not paused.

use std::collections::VecDeque;

use super::{roce, roce_frames, tcp, tcp_frames};
use crate::plan::{FlowId, Transport, TransportPlan};
use ground::time::Instant;
use ground::units::{PRIORITIES, Priority, PrioritySet};
use wire::aeth::Syndrome;
use wire::roce::U24;

/// Counters of a flow's receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiverCounters {
    pub id: FlowId,
    /// Bytes of its messages received in order.
    pub delivered: u64,
    /// Messages received completely.
    pub messages: u64,
    /// Packets received before.
    pub duplicates: u64,
    /// Packets received after a gap, kept or dropped.
    pub out_of_order: u64,
    /// Acknowledgements sent.
    pub acks: u64,
    /// Negative acknowledgements sent.
    pub naks: u64,
    /// Congestion notifications sent.
    pub cnps: u64,
    /// Arrival of the last byte of the last message; `None` before, and for endless data.
    pub finished: Option<Instant>,
}

/// Kinds of replies, queued separately.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AnswerKind {
    /// An acknowledgement, positive or negative.
    Ack,
    /// A congestion notification.
    Cnp,
}

/// Transport header of a received data frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Data {
    /// A RoCEv2 packet.
    Roce { qp: U24, psn: U24, ack_request: bool, marked: bool },
    /// A TCP segment.
    Tcp { sequence: u32 },
}

/// Result of sending a reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// A frame of this length was accepted; `more` if another one is pending.
    Sent { wire_len: u32, more: bool },
    /// Nothing was pending.
    Idle,
    /// There was no memory for a frame.
    NoMemory,
}

/// State by transport.
#[derive(Clone, Debug)]
enum Kind {
    Roce(Roce),
    Tcp(Tcp),
}

#[derive(Clone, Debug)]
struct Roce {
    machine: roce::Receiver,
    qp: U24,
    acks: Box<roce_frames::AckFrames>,
    cnp: Box<roce_frames::CnpFrame>,
    ack_due: bool,
    missing: Option<(u64, u64)>,
    cnp_due: bool,
}

#[derive(Clone, Debug)]
struct Tcp {
    machine: tcp::Receiver,
    acks: Box<tcp_frames::AckFrames>,
    /// True if more has arrived in order than was acknowledged.
    fresh: bool,
    /// Pending duplicate acknowledgements after that: the sender counts them.
    again: u32,
}

/// The receiving end of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    kind: Kind,
    ack_priority: Priority,
    cnp_priority: Priority,
    /// True if a reply of the kind is queued.
    ack_waits: bool,
    cnp_waits: bool,
    counters: ReceiverCounters,
}

impl Receiver {
    /// Creates the receiver of a validated plan.
    pub(crate) fn new(plan: &TransportPlan) -> Self {
        let (kind, ack, cnp) = match &plan.kind {
            Transport::Roce(r) => {
                let roce = Roce {
                    machine: roce::Receiver::new(plan, r),
                    qp: r.dst_qp,
                    acks: Box::new(roce_frames::AckFrames::new(plan, r)),
                    cnp: Box::new(roce_frames::CnpFrame::new(plan, r)),
                    ack_due: false,
                    missing: None,
                    cnp_due: false,
                };
                // CNPs have a marking of their own, so that data does not delay them.
                (Kind::Roce(roce), r.ack, r.cnp.priority)
            }
            Transport::TcpLike(t) => {
                let tcp = Tcp {
                    machine: tcp::Receiver::new(plan),
                    acks: Box::new(tcp_frames::AckFrames::new(plan, t)),
                    fresh: false,
                    again: 0,
                };
                (Kind::Tcp(tcp), t.ack, plan.priority)
            }
        };
        let counters = ReceiverCounters {
            id: plan.id,
            delivered: 0,
            messages: 0,
            duplicates: 0,
            out_of_order: 0,
            acks: 0,
            naks: 0,
            cnps: 0,
            finished: None,
        };
        Self {
            kind,
            ack_priority: ack.map_or(plan.priority, |m| m.priority),
            cnp_priority: cnp,
            ack_waits: false,
            cnp_waits: false,
            counters,
        }
    }

    /// Returns the priority that pauses replies of this kind.
    pub(crate) const fn priority(&self, kind: AnswerKind) -> Priority {
        match kind {
            AnswerKind::Ack => self.ack_priority,
            AnswerKind::Cnp => self.cnp_priority,
        }
    }

    /// Processes data. Returns false for data of another transport or queue pair.
    #[inline]
    pub(crate) fn on_data(&mut self, now: Instant, data: &Data) -> bool {
        match (&mut self.kind, data) {
            (Kind::Roce(roce), Data::Roce { qp, psn, ack_request, marked }) if *qp == roce.qp => {
                let reply = roce.machine.on_data(now, *psn, *ack_request, *marked);
                roce.ack_due |= reply.ack;
                roce.cnp_due |= reply.cnp;
                if let Some((from, to)) = reply.missing {
                    // One NAK for all gaps since the last: what of it has arrived is left out when it leaves.
                    let (first, last) = roce.missing.unwrap_or((from, to));
                    roce.missing = Some((first.min(from), last.max(to)));
                }
                if self.counters.finished.is_none() && roce.machine.is_complete() {
                    self.counters.finished = Some(now);
                }
                true
            }
            (Kind::Tcp(tcp), Data::Tcp { sequence }) => {
                if tcp.machine.on_data(*sequence) {
                    // Progress replaces duplicates that were not sent yet.
                    (tcp.fresh, tcp.again) = (true, 0);
                    if self.counters.finished.is_none() && tcp.machine.is_complete() {
                        self.counters.finished = Some(now);
                    }
                } else {
                    tcp.again = tcp.again.saturating_add(1);
                }
                true
            }
            (Kind::Roce(_) | Kind::Tcp(_), _) => false,
        }
    }

    /// Returns the number of messages received completely.
    pub(crate) const fn messages(&self) -> u64 {
        match &self.kind {
            Kind::Roce(roce) => roce.machine.messages,
            Kind::Tcp(tcp) => tcp.machine.messages(),
        }
    }

    /// Returns true if a reply of this kind is pending and not queued; marks it as queued.
    #[inline]
    pub(crate) fn asks_for_turn(&mut self, kind: AnswerKind) -> bool {
        let (due, waits) = match (&self.kind, kind) {
            (Kind::Roce(r), AnswerKind::Ack) => {
                (r.ack_due || r.missing.is_some(), &mut self.ack_waits)
            }
            (Kind::Roce(r), AnswerKind::Cnp) => (r.cnp_due, &mut self.cnp_waits),
            (Kind::Tcp(t), AnswerKind::Ack) => (t.fresh || t.again > 0, &mut self.ack_waits),
            (Kind::Tcp(_), AnswerKind::Cnp) => return false,
        };
        let asks = due && !*waits;
        // One place in the queue per kind, however often it becomes due.
        *waits |= due;
        asks
    }

    /// Sends a reply of this kind: `give` receives the whole frame and its length and returns true
    /// if it accepted them.
    #[inline]
    pub(crate) fn answer(
        &mut self,
        kind: AnswerKind,
        give: impl FnOnce(&[u8], u32) -> bool,
    ) -> Turn {
        let c = &mut self.counters;
        let turn = match (&mut self.kind, kind) {
            (Kind::Roce(roce), AnswerKind::Ack) => roce.acknowledge(c, give),
            (Kind::Roce(roce), AnswerKind::Cnp) => {
                let (octets, wire_len) = roce.cnp.octets();
                if give(octets, wire_len) {
                    roce.cnp_due = false;
                    c.cnps += 1;
                    Turn::Sent { wire_len, more: false }
                } else {
                    Turn::NoMemory
                }
            }
            (Kind::Tcp(tcp), _) => tcp.acknowledge(c, give),
        };
        if let Turn::Sent { more: false, .. } | Turn::Idle = turn {
            match kind {
                AnswerKind::Ack => self.ack_waits = false,
                AnswerKind::Cnp => self.cnp_waits = false,
            }
        }
        turn
    }

    pub(crate) fn counters(&self) -> ReceiverCounters {
        let (delivered, messages, duplicates, out_of_order) = match &self.kind {
            Kind::Roce(Roce { machine: m, .. }) => {
                (m.delivered(), m.messages, m.duplicates, m.out_of_order)
            }
            Kind::Tcp(Tcp { machine: m, .. }) => {
                (m.delivered(), m.messages(), m.duplicates, m.out_of_order)
            }
        };
        ReceiverCounters { delivered, messages, duplicates, out_of_order, ..self.counters }
    }
}

impl Roce {
    /// Sends a NAK for a gap, else an acknowledgement.
    #[inline]
    fn acknowledge(
        &mut self,
        c: &mut ReceiverCounters,
        give: impl FnOnce(&[u8], u32) -> bool,
    ) -> Turn {
        let nak = self.missing.and_then(|(from, to)| self.machine.refuse(from, to));
        if let Some((psn, msn)) = nak {
            let (octets, wire_len) = self.acks.stamp(Syndrome::SEQUENCE_ERROR, psn, msn);
            if !give(octets, wire_len) {
                return Turn::NoMemory;
            }
            c.naks += 1;
            self.missing = None;
            // With go-back-N a NAK acknowledges all before it.
            self.ack_due &= !self.machine.nak_acknowledges();
            return Turn::Sent { wire_len, more: self.ack_due };
        }
        self.missing = None;
        if !self.ack_due {
            return Turn::Idle;
        }
        let (psn, msn) = self.machine.acknowledge();
        let (octets, wire_len) = self.acks.stamp(Syndrome::ACK, psn, msn);
        if !give(octets, wire_len) {
            return Turn::NoMemory;
        }
        c.acks += 1;
        self.ack_due = false;
        Turn::Sent { wire_len, more: false }
    }
}

impl Tcp {
    #[inline]
    fn acknowledge(
        &mut self,
        c: &mut ReceiverCounters,
        give: impl FnOnce(&[u8], u32) -> bool,
    ) -> Turn {
        if !self.fresh && self.again == 0 {
            return Turn::Idle;
        }
        let (octets, wire_len) = self.acks.stamp(self.machine.acknowledgement());
        if !give(octets, wire_len) {
            return Turn::NoMemory;
        }
        c.acks += 1;
        // The first one tells of progress; only those behind it are duplicates.
        self.again -= u32::from(!self.fresh);
        self.fresh = false;
        Turn::Sent { wire_len, more: self.again > 0 }
    }
}

/// An entry: its serial number, the receiver, and the kind.
type Ticket = (u64, u32, AnswerKind);

/// All receivers of a station that send acknowledgements.
#[derive(Debug)]
pub(crate) struct Answers {
    receivers: Vec<Receiver>,
    /// By priority. A receiver has at most one entry per kind, so none ever grows.
    turns: [VecDeque<Ticket>; PRIORITIES],
    /// Priorities with queued entries.
    waiting: PrioritySet,
    asked: u64,
}

impl Answers {
    /// Creates the receivers of validated plans.
    pub(crate) fn new(plans: &[TransportPlan]) -> Self {
        let mut turns: [VecDeque<Ticket>; PRIORITIES] = Default::default();
        let receivers: Vec<_> = plans.iter().map(Receiver::new).collect();
        for (n, ring) in turns.iter_mut().enumerate() {
            let kinds = [AnswerKind::Ack, AnswerKind::Cnp];
            // Both kinds may have one priority.
            let has = |r: &Receiver| kinds.iter().filter(|k| r.priority(**k).index() == n).count();
            ring.reserve_exact(receivers.iter().map(has).sum());
        }
        Self { receivers, turns, waiting: PrioritySet::EMPTY, asked: 0 }
    }

    /// Restarts receiver `i`. An entry that it had queued before sends nothing.
    pub(crate) fn restart(&mut self, i: usize, plan: &TransportPlan) {
        self.receivers[i] = Receiver::new(plan);
    }

    /// Processes data for receiver `i`. Returns false if it belongs to another flow.
    #[inline]
    pub(crate) fn on_data(&mut self, now: Instant, i: usize, data: &Data) -> bool {
        let receiver = &mut self.receivers[i];
        if !receiver.on_data(now, data) {
            return false;
        }
        for kind in [AnswerKind::Ack, AnswerKind::Cnp] {
            if receiver.asks_for_turn(kind) {
                let p = receiver.priority(kind);
                self.turns[p.index()].push_back((self.asked, i as u32, kind));
                self.waiting.insert(p);
                self.asked += 1;
            }
        }
        true
    }

    /// Returns the number of messages that receiver `i` has received completely.
    pub(crate) fn messages(&self, i: usize) -> u64 {
        self.receivers[i].messages()
    }

    /// Returns true if a queued entry may be sent now.
    #[inline]
    pub(crate) const fn ready(&self, paused: PrioritySet) -> bool {
        self.waiting.0 & !paused.0 != 0
    }

    /// Returns true if nothing is queued.
    pub(crate) const fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Sends the next entry among priorities that are not paused: `give` receives the whole frame
    /// and its length and returns true if it accepted them. Requires [`Self::ready`].
    #[inline]
    pub(crate) fn next(
        &mut self,
        paused: PrioritySet,
        give: impl FnOnce(&[u8], u32) -> bool,
    ) -> Turn {
        let free = PrioritySet(self.waiting.0 & !paused.0);
        // The oldest entry of all priorities that may send.
        let front = |p: &Priority| self.turns[p.index()][0].0;
        let p = free.iter().min_by_key(front).expect("somebody is waiting");
        let ring = &mut self.turns[p.index()];
        let (_, i, kind) = ring[0];
        let turn = self.receivers[i as usize].answer(kind, give);
        // It keeps its place, and is tried again.
        if turn == Turn::NoMemory {
            return turn;
        }
        ring.pop_front();
        if let Turn::Sent { more: true, .. } = turn {
            ring.push_back((self.asked, i, kind));
            self.asked += 1;
        }
        if ring.is_empty() {
            self.waiting.remove(p);
        }
        turn
    }

    /// Iterates over the receivers' counters, in the order of the plans.
    pub(crate) fn counters(&self) -> impl Iterator<Item = ReceiverCounters> {
        self.receivers.iter().map(Receiver::counters)
    }
}
