//! The receiving end of a TCP-like flow: each segment is acknowledged at once.

use crate::plan::{IN_FLIGHT_MAX, TransportPlan};
use crate::transport::bits::Bits;
use crate::transport::cut::{Cut, Place};

/// The receiving end of a flow, without its frames.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    cut: Cut,
    /// Next expected segment, and the number of its first byte.
    expected: Place,
    octet: u64,
    /// Segments received after a gap.
    early: Bits,
    /// Number of those.
    waiting: u64,
    /// Number of segments received before, and of those received after a gap.
    pub(crate) duplicates: u64,
    pub(crate) out_of_order: u64,
}

impl Receiver {
    pub(crate) fn new(plan: &TransportPlan) -> Self {
        let cut = Cut::new(plan);
        Self {
            expected: cut.place(0),
            octet: 0,
            early: Bits::new(),
            waiting: 0,
            duplicates: 0,
            out_of_order: 0,
            cut,
        }
    }

    /// Processes a segment. Returns true if more has arrived in order than before; else its
    /// acknowledgement is a duplicate.
    #[inline]
    pub(crate) fn on_data(&mut self, sequence: u32) -> bool {
        match sequence.wrapping_sub(self.octet as u32) {
            0 => {
                self.step();
                while self.waiting > 0 && self.early.take(self.expected.index) {
                    self.waiting -= 1;
                    self.step();
                }
                true
            }
            ahead if ahead < 1 << 31 => {
                let index = self.cut.starting_at(self.octet + u64::from(ahead));
                let near = index.filter(|i| *i < self.expected.index + IN_FLIGHT_MAX);
                match near.map(|index| self.early.put(index)) {
                    Some(true) => {
                        self.waiting += 1;
                        self.out_of_order += 1;
                    }
                    Some(false) => self.duplicates += 1,
                    None => {} // No segment of this flow starts there.
                }
                false
            }
            _ => {
                self.duplicates += 1;
                false
            }
        }
    }

    #[inline]
    fn step(&mut self) {
        self.octet += u64::from(self.cut.payload(self.expected));
        self.expected = self.cut.after(self.expected);
    }

    /// Returns the number of the next expected byte.
    #[inline]
    pub(crate) const fn acknowledgement(&self) -> u32 {
        self.octet as u32
    }

    /// Returns true if all messages have arrived.
    pub(crate) fn is_complete(&self) -> bool {
        self.expected.index == self.cut.total()
    }

    /// Returns the bytes of messages received in order.
    pub(crate) fn delivered(&self) -> u64 {
        self.cut.delivered_by(self.expected.index)
    }

    /// Returns the number of messages received completely.
    pub(crate) const fn messages(&self) -> u64 {
        self.expected.message
    }
}
