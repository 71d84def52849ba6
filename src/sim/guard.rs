//! MACsec at a port of the virtual world.
//!
//! A frame on a line keeps its plain bytes, which witnesses and checkers read, and beside them the
//! bytes that are really on the line: those that the sender's `SecY` produced, with the same
//! machine and ciphers as on a real port. The receiver's `SecY` decides by those, and its output is
//! what its node receives. Of a long frame only the kept bytes are protected, which makes no
//! difference to anything that reads only those.
//!
//! If data is protected a frame's length stays the plain one, and its port's line adds the
//! overhead. If only MAC control is protected, its frames have their length on the line.

use super::frame::{Sealed, VirtualFrame};
use contracts::frame::Frame;
use secure::{Accepted, Secy, SecyError, SecyPlan};

/// The `SecY` of a port.
#[derive(Debug)]
pub(super) struct Guard {
    pub(super) secy: Secy,
    /// True if data is protected; if not, only MAC control may be.
    pub(super) data: bool,
    overhead: u32,
}

impl Guard {
    pub(super) fn new(plan: &SecyPlan) -> Result<Self, SecyError> {
        let (data, overhead) = (plan.protect_data, plan.overhead());
        Ok(Self { secy: Secy::new(plan)?, data, overhead })
    }

    /// Protects a frame that leaves, if required; `counted` adds the overhead to its length. A
    /// frame that cannot be protected is marked, and lost at the start of its line.
    pub(super) fn seal(&mut self, frame: &mut VirtualFrame, counted: bool) {
        if frame.sealed.is_some() || frame.refused || !self.secy.protects(frame.head()) {
            return;
        }
        let (front, plain) = (self.secy.front(), frame.head());
        let mut octets = vec![0; front + plain.len() + Secy::BACK].into_boxed_slice();
        octets[front..front + plain.len()].copy_from_slice(plain);
        if self.secy.protect(&mut octets).is_err() {
            frame.refused = true;
            return;
        }
        let overhead = self.overhead;
        let counted = if counted { overhead } else { 0 };
        frame.wire_len += counted;
        frame.sealed = Some(Box::new(Sealed { octets, overhead, counted, accepted: None }));
    }

    /// Returns true if a received frame is admitted; [`VirtualFrame::open`] then gives its content.
    pub(super) fn admits(&mut self, frame: &mut VirtualFrame) -> bool {
        const MACSEC: Option<&[u8]> = Some(&[0x88, 0xe5]);
        const MAC_CONTROL: Option<&[u8]> = Some(&[0x88, 0x08]);
        if let Some(sealed) = &mut frame.sealed {
            sealed.accepted = self.secy.accept(&mut sealed.octets).ok();
            return sealed.accepted.is_some();
        }
        let ethertype = frame.head().get(12..14);
        if ethertype == MACSEC {
            // Forged, or protected before it reached a node without a SecY.
            let mut octets: Box<[u8]> = frame.head().into();
            let accepted = self.secy.accept(&mut octets).ok();
            if let Some(Accepted { front, back }) = accepted {
                let counted = (front + back) as u32;
                let sealed = Sealed { octets, overhead: counted, counted, accepted };
                frame.sealed = Some(Box::new(sealed));
            }
            return accepted.is_some();
        }
        if !self.data && ethertype != MAC_CONTROL {
            return true;
        }
        let mut octets: Box<[u8]> = frame.head().into();
        self.secy.accept(&mut octets).is_ok()
    }
}
