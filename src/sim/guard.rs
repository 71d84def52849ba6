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

use super::defect::Securing;
use super::frame::{Sealed, VirtualFrame};
use contracts::frame::Frame;
use secure::{
    Accepted, An, Discard, Inspector, Lenience, SaFault, SaPlan, Sci, Secy, SecyChange, SecyError,
    SecyPlan,
};
use wire::macsec;

/// The `SecY` of a port.
#[derive(Debug)]
pub(super) struct Guard {
    pub(super) secy: Secy,
    /// True if data is protected; if not, only MAC control may be.
    pub(super) data: bool,
    overhead: u32,
    lax: Option<Box<Lax>>,
}

/// Checks that a defect leaves out.
#[derive(Debug)]
struct Lax {
    what: Vec<Securing>,
    /// All keys that the port has ever received with.
    keys: Inspector,
    /// True once packet numbers were near the end of their lower half.
    is_high: bool,
}

/// The lower 32 bits of a packet number are about to wrap from `HIGH` on. If one below `LOW` follows, they have
/// wrapped.
const HIGH: u32 = 0xffff_0000;
const LOW: u32 = 0x8000_0000;

impl Guard {
    pub(super) fn new(plan: &SecyPlan) -> Result<Self, SecyError> {
        let (data, overhead) = (plan.protect_data, plan.overhead());
        Ok(Self { secy: Secy::new(plan)?, data, overhead, lax: None })
    }

    /// Leaves out checks of received frames from now on. `plan` has the port's first keys.
    pub(super) fn leave_out(&mut self, what: Securing, plan: &SecyPlan) {
        let keys = || {
            let mut keys = Inspector::new(plan.suite, plan.confidentiality);
            for sc in &plan.receive {
                for (an, sa) in An::ALL.into_iter().zip(&sc.associations) {
                    if let Some(sa) = sa {
                        add(&mut keys, sc.sci, an, sa);
                    }
                }
            }
            Box::new(Lax { what: Vec::new(), keys, is_high: false })
        };
        self.lax.get_or_insert_with(keys).what.push(what);
    }

    /// Takes note of a change of keys.
    pub(super) fn rekeyed(&mut self, change: &SecyChange) {
        if let (Some(lax), SecyChange::InstallReceive { sci, an, sa }) = (&mut self.lax, change) {
            add(&mut lax.keys, *sci, *an, sa);
        }
    }

    /// Protects a frame that leaves, if required; `counted` adds the overhead to its length. A
    /// frame that cannot be protected is marked, and lost at the start of its line.
    pub(super) fn seal(&mut self, frame: &mut VirtualFrame, counted: bool) {
        // MAC control was protected when it was made, where nothing else is.
        if frame.sealed.is_some() || frame.refused || !self.secy.protects(frame.head()) {
            return;
        }
        let (front, plain) = (self.secy.front(), frame.head());
        let mut octets = vec![0; front + plain.len() + Secy::BACK].into_boxed_slice();
        octets[front..front + plain.len()].copy_from_slice(plain);
        if self.secy.protect(&mut octets).is_err() {
            // What has to be protected never leaves without.
            frame.refused = true;
            return;
        }
        let overhead = self.overhead;
        // Where data is protected the port's line adds the overhead of each frame by itself.
        let counted = if counted { overhead } else { 0 };
        frame.wire_len += counted;
        frame.sealed = Some(Box::new(Sealed { octets, overhead, counted, opened: None }));
    }

    /// Returns true if a received frame is admitted; [`VirtualFrame::open`] then gives its content.
    pub(super) fn admits(&mut self, frame: &mut VirtualFrame) -> bool {
        const MACSEC: Option<&[u8]> = Some(&[0x88, 0xe5]);
        const MAC_CONTROL: Option<&[u8]> = Some(&[0x88, 0x08]);
        if let Some(sealed) = &mut frame.sealed {
            sealed.opened = self.opened(&sealed.octets);
            return sealed.opened.is_some();
        }
        let ethertype = frame.head().get(12..14);
        if ethertype == MACSEC {
            // Forged, protected by a tester itself, or before it reached a node without a SecY.
            let octets: Box<[u8]> = frame.head().into();
            let opened = self.opened(&octets);
            let admitted = opened.is_some();
            if let Some(opened) = opened {
                let counted = (octets.len() - opened.len()) as u32;
                let opened = Some(opened);
                let sealed = Sealed { octets, overhead: counted, counted, opened };
                frame.sealed = Some(Box::new(sealed));
            }
            return admitted;
        }
        // Only MAC control has to be protected here, so plain data passes.
        if !self.data && ethertype != MAC_CONTROL {
            return true;
        }
        // A plain frame where protection is required: the `SecY` counts it, and its plan decides.
        let mut octets: Box<[u8]> = frame.head().into();
        self.secy.accept(&mut octets).is_ok()
    }

    /// Returns the content of a protected frame that is accepted.
    fn opened(&mut self, line: &[u8]) -> Option<Box<[u8]>> {
        let mut octets = line.to_vec();
        match self.secy.accept(&mut octets) {
            Ok(Accepted { front, back }) => {
                // The node gets the frame without the tag and the check value.
                octets.truncate(octets.len().saturating_sub(back));
                octets.drain(..front.min(octets.len()));
                // Every accepted frame is shown to the defect, which follows its packet numbers.
                let is_ignored = self.lax.as_mut().is_some_and(|lax| lax.ignores(line));
                (!is_ignored).then(|| octets.into())
            }
            Err(why) => {
                let octets = self.lax.as_ref()?.tolerates(why, line)?;
                Some(octets.into())
            }
        }
    }
}

impl Lax {
    /// Returns the content of a frame whose rejection a defect leaves out.
    fn tolerates(&self, why: Discard, line: &[u8]) -> Option<Vec<u8>> {
        let none = Lenience::default();
        self.what.iter().find_map(|what| match (what, why) {
            (Securing::ObeysReplays, Discard::Late | Discard::Replayed)
            | (Securing::ObeysForged, Discard::NotValid) => self.keys.reveal(line, none),
            (Securing::ObeysOldKeys, Discard::NoSa) => {
                self.keys.reveal(line, Lenience { any_an: true, ..none })
            }
            (Securing::ObeysOldKeys, Discard::NotValid) => Some(self.keys.open(line)?.octets),
            (Securing::ObeysAnyChannel, Discard::NoSa) => {
                self.keys.reveal(line, Lenience { any_channel: true, ..none })
            }
            _ => None,
        })
    }

    /// Returns true if a defect ignores an accepted frame.
    fn ignores(&mut self, line: &[u8]) -> bool {
        let Ok(view) = macsec::View::new(line) else { return false };
        self.is_high |= view.pn() >= HIGH;
        let rolled = self.is_high && view.pn() < LOW;
        rolled && self.what.contains(&Securing::IgnoresAfterRoll)
    }
}

/// Adds a key, which the port's `SecY` has accepted.
fn add(keys: &mut Inspector, sci: Sci, an: An, sa: &SaPlan) {
    let added: Result<(), SaFault> = keys.add(sci, an, sa);
    added.expect("the port accepted it");
}
