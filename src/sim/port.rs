//! Ports of the virtual world.

use std::collections::VecDeque;

use super::defect::{Defect, Leak, Lines, Make, Stage};
use super::frame::VirtualFrame;
use super::guard::Guard;
use contracts::frame::{Burst, FCS_BYTES};
use contracts::port::{Port, PortCaps, Source, StampSource, Stamps};
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes};
use pfc::FlowControl;
use secure::{Secy, SecyChange, SecyError, SecyPlan};
use wire::ethernet;

/// A port whose other side is the network: it collects sent frames, and delivers arrived ones.
#[derive(Debug)]
pub struct VirtualPort {
    /// The only frame that has arrived; most often it is alone.
    alone: Option<VirtualFrame>,
    /// Frames that have arrived, if there are several.
    arrived: VecDeque<VirtualFrame>,
    /// The only frame that the node has sent, and all if there are several.
    sent_alone: Option<VirtualFrame>,
    sent: Vec<VirtualFrame>,
    guard: Option<Box<Guard>>,
    /// Plan of the guard, for defects.
    secy: Option<Box<SecyPlan>>,
    /// Length on the wire of control frames, if not their real one.
    control_len: Option<u32>,
    flow_control: FlowControl,
    defects: Option<Box<Stage<VirtualFrame>>>,
}

/// Memory of the virtual world for the frames of defects.
struct Memory;

impl Make<VirtualFrame> for Memory {
    fn control(&mut self, octets: &[u8]) -> Option<VirtualFrame> {
        Some(VirtualFrame::whole(octets))
    }

    fn damage(&mut self, frame: &mut VirtualFrame) {
        frame.damage();
        frame.spoilt = true;
    }
}

impl VirtualPort {
    /// Creates an empty port, with a `SecY` if there is a plan for one. `control_len` gives MAC
    /// control frames another length on the wire than their 64 bytes, for comparison with
    /// simulators that do. Defects go by the flow control.
    ///
    /// # Errors
    /// A contradiction in the plan.
    pub fn new(
        control_len: Option<u32>,
        secy: Option<&SecyPlan>,
        flow_control: FlowControl,
    ) -> Result<Self, SecyError> {
        Ok(Self {
            alone: None,
            arrived: VecDeque::new(),
            sent_alone: None,
            sent: Vec::new(),
            guard: secy.map(Guard::new).transpose()?.map(Box::new),
            secy: secy.cloned().map(Box::new),
            control_len,
            flow_control,
            defects: None,
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

    /// Delivers an admitted frame at the network's time `at`.
    #[inline]
    pub(super) fn deliver(&mut self, time: Instant, mut frame: VirtualFrame) {
        frame.open();
        // Every frame comes here, and hardly any port has a defect.
        let Some(defects) = &mut self.defects else { return self.receive(frame) };
        let mut arrived = vec![frame];
        defects.rx(time, &mut arrived, &mut Memory);
        arrived.into_iter().for_each(|frame| self.receive(frame));
    }

    /// Returns the number of arrived frames that the node has not read.
    pub fn waiting(&self) -> usize {
        self.arrived.len() + usize::from(self.alone.is_some())
    }

    /// Iterates over those frames, in order.
    pub(super) fn arrived(&self) -> impl Iterator<Item = &VirtualFrame> {
        self.alone.iter().chain(&self.arrived)
    }

    /// Adds a defect of the device at this port, which has a line of this rate.
    pub(super) fn add_defect(&mut self, defect: Defect, rate: BitsPerSec) {
        if let (Defect::Securing(what), Some(guard), Some(plan)) =
            (defect, &mut self.guard, &self.secy)
        {
            guard.leave_out(what, plan);
        }
        let stage = || Box::new(Stage::new(rate, self.flow_control));
        self.defects.get_or_insert_with(stage).add(defect);
    }

    /// Takes over the defects of a port of the same device before its reset.
    pub(super) fn keep_defects(&mut self, before: &mut Self) {
        self.defects = before.defects.take();
    }

    /// Tells its defects that the link went down or came up.
    pub(super) fn link_changed(&mut self, time: Instant, up: bool) {
        if let Some(defects) = &mut self.defects {
            defects.link(time, up, &mut Memory);
        }
    }

    /// Tells its defects that a key was changed.
    pub(super) fn rekeyed(&mut self, time: Instant, change: &SecyChange) {
        if let Some(guard) = &mut self.guard {
            guard.rekeyed(change);
        }
        if let Some(defects) = &mut self.defects {
            defects.rekeyed(time, &mut Memory);
        }
    }

    /// Lets defects act whose time has come, and delivers the frames that the node receives because
    /// of them; returns their number and bytes.
    pub(super) fn defects_due(&mut self, time: Instant) -> (u64, u64) {
        let Some(defects) = &mut self.defects else { return (0, 0) };
        defects.due(time, &mut Memory);
        let node = defects.take_for_node();
        let bytes = node.iter().map(|frame| u64::from(frame.wire_len)).sum();
        let frames = node.len() as u64;
        node.into_iter().for_each(|frame| self.receive(frame));
        (frames, bytes)
    }

    /// Adds a frame to those that the node is to read.
    #[inline]
    pub(super) fn receive(&mut self, frame: VirtualFrame) {
        if self.alone.is_none() && self.arrived.is_empty() {
            self.alone = Some(frame);
        } else {
            self.arrived.push_back(frame);
        }
    }

    /// Takes the frames that defects have made for lines, those for this port's protected, and
    /// returns the time of their next action; `None` without defects.
    pub(super) fn take_aside(&mut self, time: Instant) -> Option<(Lines<VirtualFrame>, Instant)> {
        let defects = self.defects.as_mut()?;
        // Frames for the node are delivered by the defect's event, now if there are any.
        let next = if defects.has_news() { time } else { defects.next_at().max(time) };
        let mut lines = defects.take_for_lines();
        lines.line.iter_mut().for_each(|frame| self.protect(frame));
        Some((lines, next))
    }

    /// Takes the losses of the node's buffer by defects.
    pub(super) fn take_leaks(&mut self) -> Vec<Leak> {
        self.defects.as_mut().map_or_else(Vec::new, |defects| defects.take_leaks())
    }

    /// Returns the number of frames that its defects send or deliver later.
    pub(super) fn held(&self) -> usize {
        self.defects.as_ref().map_or(0, |defects| defects.held())
    }

    /// Protects a frame that leaves, if required.
    pub(super) fn protect(&mut self, frame: &mut VirtualFrame) {
        if let Some(guard) = &mut self.guard {
            guard.seal(frame, false);
        }
    }

    /// Prepares the frames that the node has sent for their lines, at the network's time `at`.
    #[inline]
    pub(super) fn finish_sent(&mut self, time: Instant) {
        if self.defects.is_some() || self.guard.is_some() {
            self.change_sent(time);
        }
    }

    #[inline(never)]
    fn change_sent(&mut self, time: Instant) {
        self.sent.extend(self.sent_alone.take());
        if let Some(defects) = &mut self.defects {
            defects.tx(time, &mut self.sent, &mut Memory);
        }
        if let Some(guard) = &mut self.guard {
            self.sent.iter_mut().for_each(|frame| guard.seal(frame, false));
        }
    }

    /// Takes the next of these frames, in order.
    #[inline]
    pub(super) fn next_sent(&mut self) -> Option<VirtualFrame> {
        match self.sent_alone.take() {
            // There are hardly ever more than two, so moving the rest is cheap.
            None if !self.sent.is_empty() => Some(self.sent.remove(0)),
            alone => alone,
        }
    }
}

impl Port for VirtualPort {
    type Frame = VirtualFrame;

    #[inline]
    fn rx_burst(&mut self, out: &mut Burst<VirtualFrame>) {
        // It is the oldest, as others are queued only behind it.
        if self.alone.is_some() && !out.is_full() {
            out.extend(self.alone.take());
        }
        while !out.is_full() {
            let Some(frame) = self.arrived.pop_front() else { break };
            out.push(frame);
        }
    }

    #[inline]
    fn tx_burst(&mut self, out: &mut Burst<VirtualFrame>) {
        // A shaped port sends one frame at a time.
        if out.len() == 1 && self.sent_alone.is_none() && self.sent.is_empty() {
            self.sent_alone = out.pop();
        } else {
            self.sent.extend(self.sent_alone.take());
            self.sent.extend(out.drain(..));
        }
    }

    fn control_frame(&mut self, octets: &[u8]) -> Option<VirtualFrame> {
        let mut frame = VirtualFrame::whole(octets);
        if let Some(len) = self.control_len.filter(|_| frame.is_control()) {
            frame.wire_len = len;
        }
        // The port's shaper has to know the length on the line, which a line adds only where data is protected.
        if let Some(guard) = self.guard.as_mut().filter(|guard| !guard.data) {
            guard.seal(&mut frame, true);
        }
        Some(frame)
    }

    fn caps(&self) -> &PortCaps {
        // What the port is given is on the line at once: nothing is committed behind it.
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

    /// As a ring: a tester tries what a receiver does with runts.
    fn frame_min(&self) -> u32 {
        ethernet::HEADER_LEN as u32 + FCS_BYTES
    }
}
