//! Defects in the forwarding of data frames, and of the buffer.
//!
//! The port observes when memory of the buffer is lost; the engine takes it from the switch.

use super::frame::{
    QUANTUM_BYTES, ecn, enabled, is_cnp, is_ipv6, is_pfc, opcode, paused, priority, set_ecn,
};
use super::stage::{Act, Context};
use contracts::frame::{Frame, LINE_OVERHEAD_BYTES};
use ground::time::Instant;
use ground::units::PrioritySet;

/// Values of the ECN field (RFC 3168).
const NOT_ECT: u8 = 0;
const ECT_0: u8 = 2;
const CE: u8 = 3;

/// Frames of a limited rate may be early by this time, in quanta: 16 KB.
const BURST: u64 = 256;

/// A defect in the forwarding of data frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forwarding {
    /// One data frame in `every` is never sent.
    LosesData { every: u32 },
    /// One data frame in `every` is sent twice.
    DuplicatesData { every: u32 },
    /// One data frame in `every` is sent with a wrong FCS.
    DamagesData { every: u32 },
    /// One packet in `every` that does not support ECN is marked.
    MarksNotEct { every: u32 },
    /// Marks of packets that arrive are lost.
    ClearsCe,
    /// The checksum of an IPv4 header stays as it was without a mark.
    StaleChecksum,
    /// IPv6 packets leave without a mark.
    Ipv6Unmarked,
    /// Congestion notification packets are ignored.
    IgnoresCnp,
    /// Frames of these priorities above a share of the line, `numerator` / `denominator`, are dropped: a
    /// scheduler that lends nothing.
    LimitsRate { priorities: PrioritySet, numerator: u16, denominator: u16 },
}

/// The state of such a defect.
#[derive(Debug)]
pub(super) struct State {
    what: Forwarding,
    count: u64,
    /// Time at which the next frame of a limited rate is due.
    due: Instant,
}

impl State {
    pub(super) const fn new(what: Forwarding) -> Self {
        Self { what, count: 0, due: Instant::ZERO }
    }

    fn every(&mut self, n: u32) -> bool {
        self.count += 1;
        self.count % u64::from(n) == 0
    }
}

impl State {
    /// Returns true if a frame is within a share of the line, and counts it then: a leaky bucket of
    /// [`BURST`].
    fn conforms<F: Frame>(
        &mut self,
        cx: &Context<'_, F>,
        frame: &F,
        numerator: u16,
        denominator: u16,
    ) -> bool {
        let burst = cx.quantum.saturating_mul(BURST);
        if self.due > cx.now.saturating_add(burst) {
            return false;
        }
        let bytes = u64::from(frame.wire_len() + LINE_OVERHEAD_BYTES);
        let line = cx.quantum.saturating_mul(bytes).div(QUANTUM_BYTES);
        let own = line.saturating_mul(denominator.into()).div(numerator.into());
        // An idle time gives no credit beyond the burst.
        self.due = self.due.max(cx.now).saturating_add(own);
        true
    }
}

impl<F: Frame> Act<F> for State {
    fn tx(&mut self, cx: &mut Context<'_, F>, mut frame: F) {
        // MAC control passes: these defects are of data.
        if opcode(frame.head()).is_some() {
            return cx.out.line.push(frame);
        }
        let marked = ecn(frame.head()) == Some(CE);
        match self.what {
            Forwarding::LosesData { every } => {
                if self.every(every) {
                    return;
                }
            }
            Forwarding::DuplicatesData { every } => {
                if self.every(every) {
                    cx.out.line.extend(frame.duplicate());
                }
            }
            Forwarding::DamagesData { every } => {
                if self.every(every) {
                    cx.make.damage(&mut frame);
                }
            }
            Forwarding::MarksNotEct { every } => {
                if ecn(frame.head()) == Some(NOT_ECT) && self.every(every) {
                    set_ecn(frame.head_mut(), CE, true);
                }
            }
            Forwarding::StaleChecksum => {
                if marked && !is_ipv6(frame.head()) {
                    // The mark is taken back with its change of the checksum, and set again without.
                    set_ecn(frame.head_mut(), ECT_0, true);
                    set_ecn(frame.head_mut(), CE, false);
                }
            }
            Forwarding::Ipv6Unmarked => {
                if marked && is_ipv6(frame.head()) {
                    set_ecn(frame.head_mut(), ECT_0, true);
                }
            }
            Forwarding::LimitsRate { priorities, numerator, denominator } => {
                let priority = priority(frame.head());
                let is_limited = priorities.0 >> priority & 1 == 1;
                if is_limited && !self.conforms(cx, &frame, numerator, denominator) {
                    return;
                }
            }
            Forwarding::ClearsCe | Forwarding::IgnoresCnp => {}
        }
        cx.out.line.push(frame);
    }

    fn rx(&mut self, cx: &mut Context<'_, F>, mut frame: F) {
        match self.what {
            Forwarding::ClearsCe => {
                if ecn(frame.head()) == Some(CE) {
                    set_ecn(frame.head_mut(), ECT_0, true);
                }
            }
            Forwarding::IgnoresCnp => {
                if is_cnp(frame.head()) {
                    return;
                }
            }
            Forwarding::LosesData { .. }
            | Forwarding::DuplicatesData { .. }
            | Forwarding::DamagesData { .. }
            | Forwarding::MarksNotEct { .. }
            | Forwarding::LimitsRate { .. }
            | Forwarding::StaleChecksum
            | Forwarding::Ipv6Unmarked => {}
        }
        cx.out.node.push(frame);
    }
}

/// A defect of the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Storing {
    /// Cells of the headroom of some priorities are lost with each pause that the port has resumed.
    LeaksHeadroom { cells: u32, priorities: PrioritySet },
}

/// The state of such a defect.
#[derive(Debug)]
pub(super) struct Leaking {
    what: Storing,
    /// Priorities that the port pauses.
    paused: u8,
}

impl Leaking {
    pub(super) const fn new(what: Storing) -> Self {
        Self { what, paused: 0 }
    }
}

impl<F: Frame> Act<F> for Leaking {
    fn tx(&mut self, cx: &mut Context<'_, F>, frame: F) {
        if is_pfc(frame.head()) {
            let Storing::LeaksHeadroom { cells, priorities } = self.what;
            let (named, now) = (enabled(frame.head()), paused(frame.head()));
            // A priority that the frame does not name stays as it was.
            let resumed = self.paused & named & !now;
            self.paused = self.paused & !named | now;
            let resumed = PrioritySet(resumed & priorities.0);
            cx.out.leaks.extend(resumed.iter().map(|priority| (priority, cells)));
        }
        cx.out.line.push(frame);
    }
}
