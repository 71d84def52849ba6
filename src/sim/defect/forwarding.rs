//! Defects in the forwarding of data frames.

use super::frame::{ecn, is_cnp, is_ipv6, opcode, set_ecn};
use super::stage::{Act, Context};
use contracts::frame::Frame;

/// Values of the ECN field (RFC 3168).
const NOT_ECT: u8 = 0;
const ECT_0: u8 = 2;
const CE: u8 = 3;

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
}

/// The state of such a defect.
#[derive(Debug)]
pub(super) struct State {
    what: Forwarding,
    seen: u64,
}

impl State {
    pub(super) const fn new(what: Forwarding) -> Self {
        Self { what, seen: 0 }
    }

    fn every(&mut self, n: u32) -> bool {
        self.seen += 1;
        self.seen % u64::from(n) == 0
    }
}

impl<F: Frame> Act<F> for State {
    fn tx(&mut self, cx: &mut Context<'_, F>, mut frame: F) {
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
                    set_ecn(frame.head_mut(), ECT_0, true);
                    set_ecn(frame.head_mut(), CE, false);
                }
            }
            Forwarding::Ipv6Unmarked => {
                if marked && is_ipv6(frame.head()) {
                    set_ecn(frame.head_mut(), ECT_0, true);
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
            | Forwarding::StaleChecksum
            | Forwarding::Ipv6Unmarked => {}
        }
        cx.out.node.push(frame);
    }
}
