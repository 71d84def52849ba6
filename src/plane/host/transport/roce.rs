//! RoCEv2: a reliable connection between two queue pairs. The requester has the next packet to send and
//! handles replies; the responder receives packets in order and replies to them.

use crate::histogram::Spares;
use crate::plan::{IN_FLIGHT_MAX, Recovery, RocePlan, TransportPlan};
use crate::transport::Bits;
use crate::transport::cut::{Completed, Cut, Place};
use congestion::CnpGate;
use ground::time::{Duration, Instant};
use wire::aeth::{NakCode, Syndrome};
use wire::roce::U24;

/// The next packet of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Packet {
    pub(crate) place: Place,
    /// Sequence number on the wire.
    pub(crate) psn: U24,
    /// True if it ends its message.
    pub(crate) last: bool,
    /// Bytes of payload.
    pub(crate) payload: u32,
    /// Bytes of its message, for its RETH.
    pub(crate) message: u64,
    /// True for a retransmission.
    pub(crate) repeated: bool,
    /// True if the receiver must acknowledge it at once.
    pub(crate) ack_request: bool,
}

/// Packets to retransmit, with selective repeat.
#[derive(Clone, Debug)]
struct Lost {
    packets: Bits,
    count: u64,
    /// No packet before this one is in the set.
    from: u64,
}

/// The sending end of a flow, without its frames and its pace.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    cut: Cut,
    /// Sequence number of packet 0.
    first_psn: u64,
    /// Maximum packets in flight.
    window: u64,
    total: u64,
    timeout: Duration,
    /// First unacknowledged packet.
    una: u64,
    /// Next packet to send that is not in `lost`.
    next: Place,
    /// Highest packet sent plus one.
    high: u64,
    lost: Option<Lost>,
    /// True if the next packet requests an acknowledgement: the first of a retransmission.
    ask: bool,
    /// Time for [`Self::on_timeout`]; NEVER while everything is acknowledged.
    pub(crate) timer: Instant,
    pub(crate) completions: Completed,
}

impl Sender {
    pub(crate) fn new(plan: &TransportPlan, roce: &RocePlan, spares: &Spares) -> Self {
        let cut = Cut::new(plan);
        // In whole packets, rounded down.
        let window = roce.window.map_or(IN_FLIGHT_MAX, |w| w.0 / u64::from(cut.full()));
        let lost = || Lost { packets: Bits::new(), count: 0, from: 0 };
        Self {
            first_psn: roce.first_psn.get().into(),
            window: window.min(IN_FLIGHT_MAX),
            total: cut.total(),
            timeout: roce.timeout,
            una: 0,
            next: cut.place(0),
            high: 0,
            lost: (roce.recovery == Recovery::SelectiveRepeat).then(lost),
            ask: false,
            timer: Instant::NEVER,
            completions: Completed::new(&cut, plan.work.log, spares),
            cut,
        }
    }

    /// Returns the time at which the next packet may be sent, pace aside; NEVER before an
    /// acknowledgement or a timeout.
    #[inline]
    pub(crate) fn ready_at(&self) -> Instant {
        if self.lost.as_ref().is_some_and(|l| l.count > 0) {
            return Instant::ZERO;
        }
        let Place { index, message, within } = self.next;
        if index >= self.una + self.window || index >= self.total {
            return Instant::NEVER;
        }
        if within == 0 { self.cut.due(message) } else { Instant::ZERO }
    }

    /// Returns the next packet. Requires that [`Self::ready_at`] has come.
    #[inline]
    pub(crate) fn next(&self) -> Packet {
        let place = match &self.lost {
            Some(lost) if lost.count > 0 => self.cut.place(lost.first(self.una, self.high)),
            _ => self.next,
        };
        let (index, last) = (place.index, self.cut.is_last(place));
        // Nothing follows before an acknowledgement, so it is asked for.
        let closes = index + 1 == self.una + self.window;
        let repeated = index < self.high;
        Packet {
            place,
            psn: U24::wrapping(self.first_psn + index),
            last,
            payload: self.cut.payload(place),
            message: self.cut.bytes_of(place.message),
            repeated,
            ack_request: last || closes || self.ask || (repeated && self.lost.is_some()),
        }
    }

    /// Records that the packet of [`Self::next`] was sent.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Instant, packet: &Packet) {
        self.ask = false;
        let index = packet.place.index;
        if index == self.next.index {
            self.next = self.cut.after(self.next);
        } else if let Some(lost) = &mut self.lost {
            // The first of the lost ones; the next one has not been sent yet and cannot be lost.
            assert!(lost.packets.take(index), "a packet that is neither next nor lost");
            lost.count -= 1;
            lost.from = index + 1;
        }
        self.high = self.high.max(index + 1);
        // It runs for the first unacknowledged packet, not for the last one sent.
        if self.timer == Instant::NEVER {
            self.timer = now.saturating_add(self.timeout);
        }
    }

    /// Processes an acknowledgement, with the sequence number of its BTH and the content of its
    /// AETH. Invalid and late ones are ignored.
    #[inline]
    pub(crate) fn on_answer(&mut self, now: Instant, psn: U24, syndrome: Syndrome, msn: U24) {
        match syndrome {
            Syndrome::Ack { .. } => {
                // The acknowledged number may be the one before the first.
                if let Some(upto) = self.index(psn.next()) {
                    self.acknowledge(now, upto);
                }
            }
            Syndrome::Nak(NakCode::SequenceError) => self.on_nak(now, psn, msn),
            // Not expected, because receivers do not run out of buffers and all flows are
            // permitted.
            Syndrome::NotReady { .. } | Syndrome::Nak(_) => {}
        }
    }

    fn on_nak(&mut self, now: Instant, psn: U24, msn: U24) {
        let Some(missing) = self.index(psn) else { return };
        let Some(lost) = &mut self.lost else {
            // Everything before the missing packet has arrived (IBA 9.7.5.2.2).
            if missing >= self.una && missing < self.high {
                self.acknowledge(now, missing);
                self.rewind(missing);
                self.restart(now);
            }
            return;
        };
        // With selective repeat the MSN field holds the PSN after the gap.
        let end = msn.unwrap_near(self.first_psn + missing);
        let end = end.and_then(|n| n.checked_sub(self.first_psn));
        let end = end.unwrap_or(missing).min(self.high);
        for index in missing.max(self.una)..end {
            lost.count += u64::from(lost.packets.put(index));
            lost.from = lost.from.min(index);
        }
        self.restart(now);
    }

    /// Handles the timer: once it has expired, unacknowledged packets are sent again. Returns true
    /// if it had.
    pub(crate) fn on_timeout(&mut self, now: Instant) -> bool {
        if now < self.timer {
            return false;
        }
        match &mut self.lost {
            None => self.rewind(self.una),
            Some(lost) => {
                for index in self.una..self.high {
                    lost.count += u64::from(lost.packets.put(index));
                }
                lost.from = self.una;
                self.ask = true;
            }
        }
        self.restart(now);
        true
    }

    /// Makes the first `upto` messages due now, if they wait for another flow.
    pub(crate) fn release(&mut self, now: Instant, upto: u64) {
        self.cut.release(now, upto);
    }

    /// Returns true if everything is acknowledged.
    pub(crate) const fn is_done(&self) -> bool {
        self.una == self.total
    }

    /// Returns the acknowledged bytes of messages.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.cut.delivered_by(self.una)
    }

    /// Returns the number of the packet with this sequence number, near the first unacknowledged
    /// one.
    #[inline]
    fn index(&self, psn: U24) -> Option<u64> {
        psn.unwrap_near(self.first_psn + self.una)?.checked_sub(self.first_psn)
    }

    /// Records that everything before packet `upto` has arrived.
    #[inline]
    fn acknowledge(&mut self, now: Instant, upto: u64) {
        // An old acknowledgement, or one of packets that were never sent.
        if upto <= self.una || upto > self.high {
            return;
        }
        if let Some(lost) = self.lost.as_mut().filter(|l| l.count > 0) {
            for index in self.una..upto {
                lost.count -= u64::from(lost.packets.take(index));
            }
            lost.from = lost.from.max(upto);
        }
        self.una = upto;
        if self.next.index < upto {
            // After going back: packets that have arrived need not be sent again.
            self.next = self.cut.place(upto);
        }
        self.completions.advance(&self.cut, now, upto);
        self.restart(now);
    }

    /// Goes back to packet `index`.
    fn rewind(&mut self, index: u64) {
        self.next = self.cut.place(index);
        self.ask = true;
    }

    /// Restarts the timer for the first unacknowledged packet.
    #[inline]
    fn restart(&mut self, now: Instant) {
        let flying = self.una < self.high;
        self.timer = if flying { now.saturating_add(self.timeout) } else { Instant::NEVER };
    }
}

impl Lost {
    /// Returns the first packet of the set, which must have one from `una` up to `end`.
    fn first(&self, una: u64, end: u64) -> u64 {
        (self.from.max(una)..end).find(|index| self.packets.has(*index)).expect("one is in the set")
    }
}

/// Replies to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Reply {
    /// An acknowledgement of all packets received in order.
    pub(crate) ack: bool,
    /// The missing packets: the first, and the one after the last.
    pub(crate) missing: Option<(u64, u64)>,
    /// A congestion notification.
    pub(crate) cnp: bool,
}

/// The receiving end of a flow, without its frames.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    cut: Cut,
    first_psn: u64,
    ack_every: u32,
    /// Next expected packet: all before it have arrived.
    expected: u64,
    /// With selective repeat: packets received after a gap.
    early: Option<Bits>,
    /// Highest packet seen plus one.
    high: u64,
    /// True if a NAK for `expected` was sent.
    nak_sent: bool,
    since_ack: u32,
    /// Number of messages received completely.
    pub(crate) messages: u64,
    gate: Option<CnpGate>,
    /// Number of packets received before, and of those received after a gap.
    pub(crate) duplicates: u64,
    pub(crate) out_of_order: u64,
}

impl Receiver {
    pub(crate) fn new(plan: &TransportPlan, roce: &RocePlan) -> Self {
        Self {
            cut: Cut::new(plan),
            first_psn: roce.first_psn.get().into(),
            ack_every: roce.ack_every,
            expected: 0,
            early: (roce.recovery == Recovery::SelectiveRepeat).then(Bits::new),
            high: 0,
            nak_sent: false,
            since_ack: 0,
            messages: 0,
            gate: roce.cnp_interval.map(CnpGate::new),
            duplicates: 0,
            out_of_order: 0,
        }
    }

    /// Processes a packet with the fields of its BTH; `marked` for CE.
    #[inline]
    pub(crate) fn on_data(
        &mut self,
        now: Instant,
        psn: U24,
        ack_request: bool,
        marked: bool,
    ) -> Reply {
        let cnp = marked && self.gate.as_mut().is_some_and(|g| g.on_marked(now));
        // 24 bits, near the expected packet: the window is far smaller than half of their range.
        let index = psn.unwrap_near(self.first_psn + self.expected);
        let index = index.and_then(|n| n.checked_sub(self.first_psn));
        match index {
            Some(index) if index == self.expected => {
                let filled = self.in_order();
                let ack = ack_request || filled || self.since_ack >= self.ack_every;
                Reply { ack, missing: None, cnp }
            }
            Some(index) if index > self.expected => Reply { cnp, ..self.ahead(index, ack_request) },
            _ => {
                self.duplicates += 1;
                Reply { ack: ack_request, missing: None, cnp }
            }
        }
    }

    /// Accepts the expected packet, and those that waited for it. Returns true if there were any.
    #[inline]
    fn in_order(&mut self) -> bool {
        let mut filled = false;
        self.expected += 1;
        self.since_ack += 1;
        self.nak_sent = false;
        // Only behind a gap can packets be waiting.
        if self.expected < self.high {
            while self.early.as_mut().is_some_and(|early| early.take(self.expected)) {
                self.expected += 1;
                filled = true;
            }
        }
        self.high = self.high.max(self.expected);
        while self.expected >= self.cut.end_of(self.messages) {
            self.messages += 1;
        }
        filled
    }

    /// Processes a packet after a gap.
    fn ahead(&mut self, index: u64, ack_request: bool) -> Reply {
        let Some(early) = self.early.as_mut().filter(|_| index < self.expected + IN_FLIGHT_MAX)
        else {
            // It is dropped, and one NAK per gap is enough (IBA 9.7.5.2.2).
            self.out_of_order += 1;
            let missing = (!self.nak_sent).then_some((self.expected, index));
            self.nak_sent = true;
            return Reply { missing, ..Reply::default() };
        };
        if !early.put(index) {
            self.duplicates += 1;
            return Reply { ack: ack_request, ..Reply::default() };
        }
        self.out_of_order += 1;
        // Packets before `high` were reported missing with an earlier gap.
        let gap = self.high.max(self.expected);
        self.high = self.high.max(index + 1);
        Reply { ack: ack_request, missing: (index > gap).then_some((gap, index)), cnp: false }
    }

    /// Returns the sequence number and the message count of an acknowledgement that is about to be
    /// sent.
    #[inline]
    pub(crate) fn acknowledge(&mut self) -> (U24, U24) {
        self.since_ack = 0;
        let last = (self.first_psn + self.expected).wrapping_sub(1);
        (U24::wrapping(last), U24::wrapping(self.messages))
    }

    /// Returns the same for a NAK, or `None` if the missing packets have arrived meanwhile.
    pub(crate) fn refuse(&mut self, from: u64, to: u64) -> Option<(U24, U24)> {
        let psn = U24::wrapping(self.first_psn + from.max(self.expected));
        if self.early.is_some() {
            // Some of the gap may have arrived since: the NAK names what is still missing.
            return (to > self.expected).then(|| (psn, U24::wrapping(self.first_psn + to)));
        }
        if from < self.expected {
            return None;
        }
        self.since_ack = 0;
        Some((psn, U24::wrapping(self.messages)))
    }

    /// Returns true if a NAK also acknowledges all packets before the missing one.
    pub(crate) const fn nak_acknowledges(&self) -> bool {
        self.early.is_none()
    }

    /// Returns true if all messages have arrived.
    pub(crate) fn is_complete(&self) -> bool {
        self.expected == self.cut.total()
    }

    /// Returns the bytes of messages received in order.
    pub(crate) fn delivered(&self) -> u64 {
        self.cut.delivered_by(self.expected)
    }
}
