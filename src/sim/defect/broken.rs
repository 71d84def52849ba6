//! A port with defects, in any world.

use core::fmt;
use std::collections::VecDeque;

use super::{Defect, Forwarding, Holding, Make, Obeying, Part, Sending, Stage};
use contracts::frame::Burst;
use contracts::port::{Port, PortCaps, Stamps};
use ground::time::Instant;
use ground::units::BitsPerSec;
use pfc::FlowControl;
use secure::Secy;

/// A port of a device with defects between it and the line. It needs a port whose clock runs, or the time of
/// each poll ([`Self::at`]), and to be polled for received frames as long as it sends.
#[derive(Debug)]
pub struct Broken<P: Port> {
    port: P,
    /// Time of the poll.
    now: Instant,
    stage: Stage<P::Frame>,
    arrived: VecDeque<P::Frame>,
    leaving: VecDeque<P::Frame>,
}

/// A defect that needs more than one port has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{0:?} needs what a virtual device alone has: other ports, links, wrong frames, MACsec, a buffer"
)]
pub struct NotHere(pub Defect);

/// Memory of a port for the frames of defects.
struct Memory<'a, P>(&'a mut P);

impl<P: Port> Make<P::Frame> for Memory<'_, P> {
    fn control(&mut self, octets: &[u8]) -> Option<P::Frame> {
        self.0.control_frame(octets)
    }

    /// The device writes the FCS, so no defect that damages frames is added.
    fn damage(&mut self, _: &mut P::Frame) {}
}

impl<P: Port<Frame: fmt::Debug + Send + 'static>> Broken<P> {
    /// Creates a port without a defect, at a line of this rate.
    pub fn over(port: P, rate: BitsPerSec, flow_control: FlowControl) -> Self {
        let (arrived, leaving) = (VecDeque::new(), VecDeque::new());
        Self { port, now: Instant::ZERO, stage: Stage::new(rate, flow_control), arrived, leaving }
    }

    /// Sets the time of the next poll, by which a port without a clock goes.
    pub const fn at(&mut self, now: Instant) {
        self.now = now;
    }

    /// Returns the port, without its defects.
    pub fn into_port(self) -> P {
        self.port
    }

    /// Adds a defect next to the line.
    ///
    /// # Errors
    /// [`NotHere`].
    pub fn add(&mut self, defect: impl Into<Defect>) -> Result<(), NotHere> {
        let defect = defect.into();
        // Without `_`, so that a new defect is decided upon here.
        let is_here = match defect {
            Defect::Obeying(what) => !matches!(
                what,
                Obeying::IgnoresAfterFlap
                    | Obeying::StuckAfterFlap
                    | Obeying::ForwardsControl
                    | Obeying::ResumesOtherPorts
            ),
            Defect::Sending(what) => {
                !matches!(what, Sending::OtherPorts | Sending::Malformed(Part::Padding | Part::Fcs))
            }
            Defect::Holding(what) => {
                !matches!(what, Holding::ReleasesAfterFlap { .. } | Holding::PausesUpstream { .. })
            }
            Defect::Forwarding(what) => !matches!(what, Forwarding::DamagesData { .. }),
            Defect::Telling(_) => true,
            Defect::Securing(_) | Defect::Storing(_) => false,
        };
        if !is_here {
            return Err(NotHere(defect));
        }
        self.stage.add(defect);
        Ok(())
    }

    /// Returns the time by the port's clock, if it has one, or of the poll.
    fn now(&self) -> Instant {
        self.port.clock(self.now)
    }

    /// Sends what waits, as far as the port takes it.
    fn flush(&mut self) {
        self.leaving.extend(self.stage.take_for_lines().line);
        while !self.leaving.is_empty() {
            let mut burst = Burst::new();
            while !burst.is_full() {
                let Some(frame) = self.leaving.pop_front() else { break };
                burst.push(frame);
            }
            self.port.tx_burst(&mut burst);
            let is_full = !burst.is_empty();
            // What the port did not take goes back to the front, in its order.
            burst.drain(..).rev().for_each(|frame| self.leaving.push_front(frame));
            if is_full {
                break;
            }
        }
    }
}

impl<P: Port<Frame: fmt::Debug + Send + 'static>> Port for Broken<P> {
    type Frame = P::Frame;

    fn rx_burst(&mut self, out: &mut Burst<P::Frame>) {
        self.port.rx_burst(out);
        let now = self.now();
        let mut arrived: Vec<P::Frame> = out.drain(..).collect();
        let memory = &mut Memory(&mut self.port);
        self.stage.rx(now, &mut arrived, memory);
        // No event wakes a port of another world, so a poll for received frames lets the defects act.
        self.stage.due(now, memory);
        self.arrived.extend(arrived);
        self.arrived.extend(self.stage.take_for_node());
        self.flush();
        while !out.is_full() {
            let Some(frame) = self.arrived.pop_front() else { break };
            out.push(frame);
        }
    }

    fn tx_burst(&mut self, out: &mut Burst<P::Frame>) {
        self.flush();
        // Frames behind those that wait are not taken.
        if !self.leaving.is_empty() {
            return;
        }
        let now = self.now();
        let mut sent: Vec<P::Frame> = out.drain(..).collect();
        self.stage.tx(now, &mut sent, &mut Memory(&mut self.port));
        self.leaving.extend(sent);
        self.flush();
    }

    fn control_frame(&mut self, octets: &[u8]) -> Option<P::Frame> {
        self.port.control_frame(octets)
    }

    fn message_frame(&mut self, octets: &[u8]) -> Option<P::Frame> {
        self.port.message_frame(octets)
    }

    fn caps(&self) -> &PortCaps {
        self.port.caps()
    }

    fn rx_stamp(&self, frame: &P::Frame) -> Option<Instant> {
        self.port.rx_stamp(frame)
    }

    fn stamp_when_sent(&mut self, frame: &mut P::Frame) -> bool {
        self.port.stamp_when_sent(frame)
    }

    fn sent_stamp(&mut self) -> Option<Instant> {
        self.port.sent_stamp()
    }

    fn clock(&self, now: Instant) -> Instant {
        self.port.clock(now)
    }

    fn refresh_clock(&mut self) {
        self.port.refresh_clock();
    }

    fn pass_on(&mut self) {
        self.flush();
        self.port.pass_on();
    }

    fn secy(&self) -> Option<&Secy> {
        self.port.secy()
    }

    fn secy_mut(&mut self) -> Option<&mut Secy> {
        self.port.secy_mut()
    }

    fn stamps(&self) -> Stamps {
        self.port.stamps()
    }
}
