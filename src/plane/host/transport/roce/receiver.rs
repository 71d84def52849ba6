//! The responder of a reliable connection: packets received in order, and the replies to them.

use crate::plan::{IN_FLIGHT_MAX, Recovery, RocePlan, TransportPlan};
use crate::transport::bits::Bits;
use crate::transport::cut::Cut;
use congestion::CnpGate;
use ground::time::Instant;
use wire::roce::U24;

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
    pub(crate) fn refuse(&mut self, (from, to): (u64, u64)) -> Option<(U24, U24)> {
        let psn = U24::wrapping(self.first_psn + from.max(self.expected));
        if self.early.is_some() {
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
