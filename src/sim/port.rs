//! Ports of the virtual world.

use std::collections::VecDeque;

use super::frame::VirtualFrame;
use super::guard::Guard;
#[cfg(any(test, feature = "rig"))]
use super::sabotage::{Sabotage, Saboteur};
use contracts::frame::Burst;
use contracts::port::{Port, PortCaps, Source, StampSource, Stamps};
use ground::time::Duration;
use ground::units::Bytes;
use secure::{Secy, SecyError, SecyPlan};

/// A port whose other side is the network: it collects sent frames, and delivers arrived ones.
#[derive(Debug)]
pub struct VirtualPort {
    arrived: VecDeque<VirtualFrame>,
    sent: Vec<VirtualFrame>,
    guard: Option<Box<Guard>>,
    /// Length on the wire of control frames, if not their real one.
    control_len: Option<u32>,
    #[cfg(any(test, feature = "rig"))]
    saboteur: Option<Saboteur>,
}

impl VirtualPort {
    /// Creates an empty port, with a `SecY` if there is a plan for one. `control_len` gives MAC
    /// control frames another length on the wire than their 64 bytes, for comparison with
    /// simulators that do.
    ///
    /// # Errors
    /// A contradiction in the plan.
    pub fn new(control_len: Option<u32>, secy: Option<&SecyPlan>) -> Result<Self, SecyError> {
        Ok(Self {
            arrived: VecDeque::new(),
            sent: Vec::new(),
            guard: secy.map(Guard::new).transpose()?.map(Box::new),
            control_len,
            #[cfg(any(test, feature = "rig"))]
            saboteur: None,
        })
    }

    /// Returns true if a frame at the end of its line is admitted. If its protection is not
    /// removed, it becomes the protected bytes.
    #[inline]
    pub(super) fn admits(&mut self, frame: &mut VirtualFrame) -> bool {
        match &mut self.guard {
            Some(guard) => guard.admits(frame),
            None => {
                frame.open();
                true
            }
        }
    }

    /// Delivers an admitted frame.
    pub(super) fn deliver(&mut self, mut frame: VirtualFrame) {
        frame.open();
        #[cfg(any(test, feature = "rig"))]
        if let Some(saboteur) = &mut self.saboteur {
            saboteur.rx(&mut frame);
        }
        self.arrived.push_back(frame);
    }

    /// Returns the number of arrived frames that the node has not read.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.arrived.len()
    }

    /// Iterates over those frames, in order.
    pub(super) fn arrived(&self) -> impl Iterator<Item = &VirtualFrame> {
        self.arrived.iter()
    }

    /// Makes the port misbehave.
    #[cfg(any(test, feature = "rig"))]
    pub fn sabotage(&mut self, what: Sabotage) {
        self.saboteur = Some(Saboteur::new(what));
    }

    /// Takes the frames that the node has sent, in order.
    pub(super) fn take_sent(&mut self) -> std::vec::Drain<'_, VirtualFrame> {
        #[cfg(any(test, feature = "rig"))]
        if let Some(saboteur) = &mut self.saboteur {
            saboteur.tx(&mut self.sent);
        }
        if let Some(guard) = &mut self.guard {
            self.sent.iter_mut().for_each(|frame| guard.seal(frame, false));
        }
        self.sent.drain(..)
    }
}

impl Port for VirtualPort {
    type Frame = VirtualFrame;

    #[inline]
    fn rx_burst(&mut self, out: &mut Burst<VirtualFrame>) {
        while !out.is_full() {
            let Some(frame) = self.arrived.pop_front() else { break };
            out.push(frame);
        }
    }

    #[inline]
    fn tx_burst(&mut self, out: &mut Burst<VirtualFrame>) {
        // A shaped port sends one frame at a time.
        if out.len() > 1 {
            self.sent.extend(out.drain(..));
        } else if let Some(frame) = out.pop() {
            self.sent.push(frame);
        }
    }

    fn control_frame(&mut self, octets: &[u8]) -> Option<VirtualFrame> {
        let mut frame = VirtualFrame::whole(octets);
        if let Some(len) = self.control_len.filter(|_| frame.is_control()) {
            frame.wire_len = len;
        }
        if let Some(guard) = self.guard.as_mut().filter(|guard| !guard.data) {
            guard.seal(&mut frame, true);
        }
        Some(frame)
    }

    fn caps(&self) -> &PortCaps {
        &PortCaps { link_rate: None, rx_backlog_max: Bytes(0), tx_committed_max: Bytes(0) }
    }

    fn stamps(&self) -> Stamps {
        Stamps {
            source: StampSource::Exact,
            resolution: Duration::from_picos(1),
            uncertainty: Duration::ZERO,
            serializes: true,
        }
    }

    fn secy(&self) -> Option<&Secy> {
        self.guard.as_ref().map(|guard| &guard.secy)
    }

    fn secy_mut(&mut self) -> Option<&mut Secy> {
        self.guard.as_mut().map(|guard| &mut guard.secy)
    }
}

impl Source for VirtualPort {
    #[inline]
    fn data_frame(&mut self, head: &[u8], wire_len: u32) -> Option<VirtualFrame> {
        Some(VirtualFrame::new(head, wire_len))
    }
}
