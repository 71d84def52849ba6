//! A network whose frames are looked at through a pointer: one piece of code for every observer.
//!
//! [`Network`] is compiled again for each type of observer, which takes a compiler half a minute and
//! makes the engine of long runs as fast as it can be. Tests of devices and generators run for
//! microseconds of virtual time, so they share this one, which this crate contains.

use super::error::NetworkError;
use super::frame::VirtualFrame;
use super::ids::{Direction, End, NodeId};
use super::network::{Network, Refusal};
use super::node::Nodes;
use super::notes::Loss;
use super::plan::NetworkPlan;
use super::witness::Witness;
use ground::time::Instant;
use secure::SecyChange;

/// An observer of frames on lines. Calls are in the order of time; see [`Witness`].
pub trait FrameObserver: Send {
    /// A frame starts on a line, which it leaves at `end`.
    fn sent(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame, end: Instant);
    /// A frame has arrived and is given to the node.
    fn arrived(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame);
    /// A frame is lost on its way.
    fn lost(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame, cause: Loss);
}

struct Pointer<'o>(Option<&'o mut dyn FrameObserver>);

impl Witness for Pointer<'_> {
    const NOTES: bool = false;

    fn is_ordered(&self) -> bool {
        self.0.is_some()
    }

    fn sent(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame, end: Instant) {
        if let Some(observer) = &mut self.0 {
            observer.sent(at, direction, frame, end);
        }
    }

    fn arrived(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {
        if let Some(observer) = &mut self.0 {
            observer.arrived(at, direction, frame);
        }
    }

    fn lost(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame, cause: Loss) {
        if let Some(observer) = &mut self.0 {
            observer.lost(at, direction, frame, cause);
        }
    }
}

/// A running network with an observer of its frames, or none.
pub struct ObservedNetwork<'o>(Network<Pointer<'o>>);

impl<'o> ObservedNetwork<'o> {
    /// As [`Network::new`].
    ///
    /// # Errors
    /// A contradiction in the plan.
    pub fn new(
        plan: &NetworkPlan,
        observer: Option<&'o mut dyn FrameObserver>,
    ) -> Result<Self, NetworkError> {
        Network::new(plan, Pointer(observer)).map(Self)
    }

    /// As [`Network::run_until`].
    pub fn run_until(&mut self, limit: Instant) {
        self.0.run_until(limit);
    }

    /// As [`Network::restart`].
    ///
    /// # Errors
    /// A contradiction in the plan.
    pub fn restart(
        &mut self,
        switch: NodeId,
        plan: &NetworkPlan,
        until: Instant,
    ) -> Result<(), NetworkError> {
        self.0.restart(switch, plan, until)
    }

    /// As [`Network::change_secy`].
    ///
    /// # Errors
    /// The reason why the port refuses the change.
    pub fn change_secy(&mut self, end: End, change: &SecyChange) -> Result<(), String> {
        self.0.change_secy(end, change)
    }

    #[must_use]
    pub fn now(&self) -> Instant {
        self.0.now()
    }

    pub fn nodes_mut(&mut self) -> &mut Nodes {
        self.0.nodes_mut()
    }

    /// As [`Network::refusals`].
    #[must_use]
    pub fn refusals(&self) -> &[Refusal] {
        self.0.refusals()
    }
}
