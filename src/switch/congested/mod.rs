//! What happens beside the way of a frame whose flow congests the switch: it is isolated, and its
//! source or the switch upstream is told.
//!
//! The way of a frame asks here in five places, each of which costs a comparison where nothing is to
//! be done:
//! - at ingress, whether a frame is a message of somebody ([`Filter`], [`Switch::ingest_message`]);
//! - before it is admitted, to which queue of its egress port it goes ([`Switch::place`]);
//! - when it joins that queue, whether anybody is to be told ([`Switch::joins`]);
//! - before it leaves, whether its queue has to wait for another ([`Switch::held_classes`]), and then
//!   that it did ([`Switch::leaves`]);
//! - where a message leaves a port, whether the proxy keeps it, and before a pause is sent, what the
//!   proxy has to add.
//!
//! Messages are made of the frame that gave cause for them, at once, and enter forwarding as if the port
//! had received them whose queue is congested ([`Switch::originate`]). Messages about messages are never
//! made, so one frame causes a bounded number of others.

mod adopt;
mod cim;
mod cim_in;
mod discovered;
mod filter;
mod isolate;
mod originate;

use super::Switch;
use super::plan::{CongestionPlan, SwitchPlan};
use super::port_state::Queued;
use crate::congestion::isolation::{Hold, Isolation};
use crate::congestion::{Detect, Queue};
use crate::frame::Frame;
use crate::time::Instant;
use crate::units::{Bytes, PRIORITIES, PortId, Priority, PrioritySet, TrafficClass};
use crate::world::World;
pub(super) use filter::Filter;

/// The machines of one worker.
pub(super) struct Congested {
    pub(super) filter: Filter,
    /// By port and traffic class: nobody has to be told while a queue is not longer than this.
    floors: Box<[u64]>,
    /// What the machines obey, with every managed object that was written since the start.
    plan: Box<CongestionPlan>,
    pub(super) isolation: Option<Box<Isolation>>,
    cims: Option<Box<cim::Cims>>,
}

/// Where a frame goes at its egress port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub(super) class: TrafficClass,
    /// What it waits for at the head of its queue.
    pub(super) hold: Hold,
    /// Whether CE was set on it.
    pub(super) marked: bool,
}

impl Congested {
    pub(super) fn new(plan: &SwitchPlan) -> Self {
        Self {
            filter: Filter::new(&plan.congestion),
            floors: floors(&plan.congestion, plan.ports.len() * PRIORITIES),
            plan: Box::new(plan.congestion.clone()),
            isolation: isolate::machine(plan),
            cims: plan.congestion.isolation.as_ref().map(|ci| Box::new(cim::Cims::new(plan, ci))),
        }
    }

    /// The priorities of a port whose frames nobody looks at as long as they find an empty queue.
    pub(super) fn unwatched(
        &self,
        port: PortId,
        class: impl Fn(Priority) -> TrafficClass,
        max_frame: u32,
    ) -> PrioritySet {
        let floor = |p: &Priority| self.floor(port, class(*p));
        Priority::ALL.into_iter().filter(|p| floor(p) >= u64::from(max_frame)).collect()
    }

    /// The length that a queue may have before anybody looks at its frames.
    #[inline]
    pub(super) fn floor(&self, port: PortId, class: TrafficClass) -> u64 {
        self.floors[port.index() * PRIORITIES + class.index()]
    }
}

/// By port and traffic class, the length that a queue may have before anybody looks at its frames.
fn floors(congestion: &CongestionPlan, queues: usize) -> Box<[u64]> {
    let mut floors = vec![u64::MAX; queues];
    let mut lower = |by_port: &[[Option<Bytes>; PRIORITIES]]| {
        for (floor, at) in floors.iter_mut().zip(by_port.iter().flatten()) {
            *floor = at.map_or(*floor, |at| at.0.min(*floor));
        }
    };
    if let Some(sfc) = &congestion.sfc {
        let of = |monitors: &[Option<crate::congestion::sfc::Monitor>; PRIORITIES]| {
            monitors.map(|monitor| monitor.map(|m| m.detect.floor()))
        };
        lower(&sfc.monitors.iter().map(of).collect::<Vec<_>>());
    }
    if let Some(cnp) = &congestion.fast_cnp {
        let of = |detect: &[Option<Detect>; PRIORITIES]| detect.map(|d| d.map(|d| d.floor()));
        lower(&cnp.detect.iter().map(of).collect::<Vec<_>>());
    }
    if let Some(qcn) = &congestion.qcn {
        // Samples are counted in octets that came, however short the queue is.
        let of = |points: &[Option<crate::congestion::qcn::PointPlan>; PRIORITIES]| {
            points.map(|point| point.map(|_| Bytes(0)))
        };
        lower(&qcn.points.iter().map(of).collect::<Vec<_>>());
    }
    floors.into_boxed_slice()
}

impl<W: World> Switch<W> {
    /// A frame that was admitted is about to join the queue of `class` at the port at `to`, which then
    /// has `length` octets.
    #[inline]
    pub(super) fn joins(
        &mut self,
        now: Instant,
        to: usize,
        (class, priority): (TrafficClass, Priority),
        length: u64,
        item: &Queued<W::Frame>,
    ) {
        let port = self.ports[to].id;
        if let Some(isolation) = &mut self.congested.isolation {
            isolation.on_enqueued(Queue { port, class }, item.hold);
        }
        if length > self.congested.floor(port, class) {
            self.congests(now, to, (class, priority), length, item);
        }
    }

    /// As [`Self::joins`], for a queue that is longer than somebody wants.
    #[cold]
    fn congests(
        &mut self,
        _now: Instant,
        _to: usize,
        _of: (TrafficClass, Priority),
        _length: u64,
        item: &Queued<W::Frame>,
    ) {
        let _ = item.frame.head();
    }

    /// A message of somebody came in.
    #[cold]
    pub(super) fn ingest_message(&mut self, now: Instant, at: usize, frame: W::Frame) {
        if !self.hear_cim(now, at, &frame) {
            self.ingest_unusual(now, at, frame);
        }
    }
}
