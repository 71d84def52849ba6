//! MACsec at a port of the virtual world.
//!
//! A frame on a line keeps its plain octets, which witnesses and checkers read, and has beside them
//! what is really on the line: the octets that the sender's `SecY` made of them, by the same machine
//! and with the same ciphers as on a real port. The receiver's `SecY` decides by those, and what comes
//! out of them is what its node gets. Of a long frame the octets that are kept are protected, which
//! makes no difference to anybody who does not look at the others.
//!
//! Where data is protected a frame's own length stays what it is, and its port's line knows that each
//! takes more of it. Where MAC control alone is, its frames are as long as they are on the line.

use super::frame::VirtualFrame;
use crate::frame::Frame;
use crate::secure::{Accepted, Secy, SecyError, SecyPlan};

/// The `SecY` of a port.
#[derive(Debug)]
pub(super) struct Guard {
    pub(super) secy: Secy,
    /// Whether data is protected; if not, MAC control alone may be.
    pub(super) data: bool,
    overhead: u32,
}

/// What is on the line of a protected frame.
#[derive(Clone, Debug)]
pub(super) struct Sealed {
    /// From the destination on, with SecTAG and check value.
    octets: Box<[u8]>,
    /// What is on the line besides the plain frame, and what of that is in the frame's length.
    overhead: u32,
    counted: u32,
    /// What its receiver's `SecY` took off, if it was accepted.
    accepted: Option<Accepted>,
}

impl Sealed {
    /// What is on the line, as far as it is kept.
    pub(super) fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// What protection adds to the frame's length as that stands.
    pub(super) const fn uncounted(&self) -> u32 {
        self.overhead - self.counted
    }
}

impl Guard {
    pub(super) fn new(plan: &SecyPlan) -> Result<Self, SecyError> {
        let (data, overhead) = (plan.protect_data, plan.overhead());
        Ok(Self { secy: Secy::new(plan)?, data, overhead })
    }

    /// Protects a frame that leaves, if it is to be; `counted` to have its length say so. One that
    /// cannot be is marked, and gets no further than the beginning of its line.
    pub(super) fn seal(&mut self, frame: &mut VirtualFrame, counted: bool) {
        if frame.sealed.is_some() || frame.is_refused() || !self.secy.protects(frame.head()) {
            return;
        }
        let (front, plain) = (self.secy.front(), frame.head());
        let mut octets = vec![0; front + plain.len() + Secy::BACK].into_boxed_slice();
        octets[front..front + plain.len()].copy_from_slice(plain);
        if self.secy.protect(&mut octets).is_err() {
            return frame.refuse();
        }
        let overhead = self.overhead;
        let counted = if counted { overhead } else { 0 };
        frame.lengthen(counted);
        frame.sealed = Some(Box::new(Sealed { octets, overhead, counted, accepted: None }));
    }

    /// Whether a frame that comes in is let through. What it is then is seen once it is opened.
    pub(super) fn admits(&mut self, frame: &mut VirtualFrame) -> bool {
        const MACSEC: Option<&[u8]> = Some(&[0x88, 0xe5]);
        const MAC_CONTROL: Option<&[u8]> = Some(&[0x88, 0x08]);
        if let Some(sealed) = &mut frame.sealed {
            sealed.accepted = self.secy.accept(&mut sealed.octets).ok();
            return sealed.accepted.is_some();
        }
        let ethertype = frame.head().get(12..14);
        if ethertype == MACSEC {
            // As it stands: forged, or protected before it came to a node that has no SecY.
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

impl VirtualFrame {
    /// Makes a protected frame what its receiver's node gets: what came out of it, or where nobody
    /// opened it, what was on the line.
    pub(super) fn open(&mut self) {
        let Some(sealed) = self.sealed.take() else { return };
        let Sealed { octets, overhead, counted, accepted } = *sealed;
        match accepted {
            Some(Accepted { front, back }) => {
                let inner = octets.len().saturating_sub(back);
                self.shorten(counted);
                self.replace(octets.get(front..inner).unwrap_or_default());
            }
            None => {
                self.lengthen(overhead - counted);
                self.replace(&octets);
            }
        }
    }
}
