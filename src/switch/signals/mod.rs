//! Congestion functions beside the forwarding path: isolation of congesting flows, and messages to
//! their sources or to the switch upstream.
//!
//! The forwarding path calls them in these places, each of which costs one comparison when idle:
//! - at ingress, to detect a received message ([`Filter`], [`Switch::ingest_message`]);
//! - before admission, to select the egress queue ([`Switch::place`]);
//! - at enqueue, to detect congestion ([`Switch::joins`]);
//! - at dequeue, to hold a queue that waits for another ([`Switch::held_classes`]), and to report
//!   the departure ([`Switch::leaves`]);
//! - at egress of a message, where the proxy may consume it, and before a pause is sent, where the
//!   proxy adds its priorities.
//!
//! A message is made at once from the frame that caused it, and enters forwarding as if the port
//! with the congested queue had received it ([`Switch::originate`]). Messages about messages are
//! never made, so one frame causes a bounded number of others.

mod adopt;
mod cim;
mod cim_in;
mod discovered;
mod draft;
mod filter;
mod isolate;
mod isolation_seen;
mod notify;
mod originate;
mod relay;
mod seen;
mod snapshot;
mod source_flow;

use super::Switch;
use super::classify::{Class, classify};
use super::plan::{CongestionPlan, SwitchPlan};
use super::port_state::Queued;
use congestion::Queue;
use congestion::isolation::{Hold, Isolation};
use contracts::frame::Frame;
use contracts::stats::CongestionSnapshot;
use contracts::world::World;
pub(super) use filter::Filter;
use ground::time::Instant;
use ground::units::{
    Bytes, PRIORITIES, PortId, Priority, PriorityGroup, PrioritySet, TrafficClass,
};
use notify::{Notifier, Quantizer};
use relay::Relay;
use seen::Seen;
use source_flow::SourceFlow;

/// Congestion machines of one worker.
pub(super) struct Signals {
    pub(super) filter: Filter,
    /// By port and traffic class: the queue length up to which no machine needs to see its frames.
    floors: Box<[u64]>,
    /// The active plan, with every managed object written since the start.
    plan: Box<CongestionPlan>,
    /// Number of ports of the switch.
    ports: usize,
    pub(super) isolation: Option<Box<Isolation>>,
    cims: Option<Box<cim::Cims>>,
    pub(super) sfc: Option<Box<SourceFlow>>,
    pub(super) relay: Option<Box<Relay>>,
    pub(super) notifier: Option<Box<Notifier>>,
    pub(super) quantizer: Option<Box<Quantizer>>,
    /// True while a message passes through forwarding; none is made about it.
    telling: bool,
    /// Counts at the last reset of the counters.
    base: Box<CongestionSnapshot>,
}

/// Placement of a frame at its egress port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub(super) class: TrafficClass,
    /// Condition for leaving the head of its queue.
    pub(super) hold: Hold,
    /// Group that accounts for the frame while it is below its limit, in preference to that of its
    /// priority.
    pub(super) group: Option<PriorityGroup>,
    /// True if CE was set on the frame.
    pub(super) marked: bool,
}

impl Signals {
    pub(super) fn new(plan: &SwitchPlan) -> Self {
        let ports = plan.ports.len();
        let mut signals = Self {
            filter: Filter::new(&plan.congestion),
            floors: vec![u64::MAX; ports * PRIORITIES].into_boxed_slice(),
            plan: Box::new(plan.congestion.clone()),
            ports,
            isolation: isolate::machine(plan),
            cims: plan.congestion.isolation.as_ref().map(|ci| Box::new(cim::Cims::new(plan, ci))),
            sfc: SourceFlow::new(plan),
            relay: Relay::new(plan),
            notifier: Notifier::new(plan),
            quantizer: Quantizer::new(plan),
            telling: false,
            base: Box::default(),
        };
        for n in 0..ports {
            let port = queue_of(n, TrafficClass::MIN).port;
            signals.set_locator(port, plan.congestion.locator(port));
        }
        signals.set_floors();
        signals
    }

    /// Recalculates the floor of every queue, after any machine's plan changed.
    pub(super) fn set_floors(&mut self) {
        let Self { sfc, notifier, quantizer, .. } = &*self;
        let floor = |n: usize| {
            let queue = queue_of(n / PRIORITIES, TrafficClass::ALL[n % PRIORITIES]);
            let sfc = sfc.as_ref().map_or(u64::MAX, |sfc| sfc.point.floor(queue).0);
            let cnp = notifier.as_ref().map_or(u64::MAX, |of| of.machine.floor(queue).0);
            // QCN samples by received bytes, however short the queue is.
            let sampled = quantizer.as_ref().is_some_and(|of| of.has(queue));
            sfc.min(cnp).min(if sampled { 0 } else { u64::MAX })
        };
        self.floors = (0..self.floors.len()).map(floor).collect();
    }

    /// Returns the priorities of a port whose frames need not be examined when they find an empty
    /// queue.
    pub(super) fn unwatched(
        &self,
        port: PortId,
        class: impl Fn(Priority) -> TrafficClass,
        max_frame: u32,
    ) -> PrioritySet {
        let floor = |p: &Priority| self.floor(port, class(*p));
        Priority::ALL.into_iter().filter(|p| floor(p) >= u64::from(max_frame)).collect()
    }

    /// Returns the queue length up to which no machine needs to see its frames.
    #[inline]
    pub(super) fn floor(&self, port: PortId, class: TrafficClass) -> u64 {
        self.floors[port.index() * PRIORITIES + class.index()]
    }
}

impl<W: World> Switch<W> {
    /// Reports that an admitted frame is about to join the queue of `class` at the port at `to`,
    /// whose length becomes `length` bytes.
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
        if let Some(isolation) = &mut self.signals.isolation {
            isolation.on_enqueued(Queue { port, class }, item.hold);
        }
        if length > self.signals.floor(port, class) {
            self.congests(now, to, (class, priority), length, item);
        }
    }

    /// As [`Self::joins`], for a queue above its floor.
    #[cold]
    fn congests(
        &mut self,
        now: Instant,
        to: usize,
        of: (TrafficClass, Priority),
        length: u64,
        item: &Queued<W::Frame>,
    ) {
        if core::mem::replace(&mut self.signals.telling, true) {
            return;
        }
        let (head, octets) = (item.frame.head(), Bytes(item.frame.wire_len().into()));
        let length = Bytes(length);
        let queue = Queue { port: self.ports[to].id, class: of.0 };
        let Signals { sfc, notifier, quantizer, .. } = &self.signals;
        let picked = sfc.as_ref().is_some_and(|sfc| sfc.point.concerns(queue, length))
            || notifier.as_ref().is_some_and(|of| length > of.machine.floor(queue));
        let quantized = quantizer.is_some();
        if let Some(seen) = Some(head).filter(|_| picked).and_then(Seen::of) {
            self.tell_source(now, to, of, (length, octets), &seen);
            self.notify_source(now, to, of.0, length, &seen);
        }
        if quantized {
            self.quantize(now, to, of, (length, octets), head);
        }
        self.signals.telling = false;
    }

    /// Handles a received frame that the filter selected as a possible message.
    #[cold]
    pub(super) fn ingest_message(&mut self, now: Instant, at: usize, frame: W::Frame) {
        if self.hear_cim(now, at, &frame) {
            return;
        }
        let (port, wire_len) = (&self.ports[at], frame.wire_len());
        let tables = &self.tables[port.id.index()];
        let class = classify(tables, frame.head(), wire_len, self.max_frame);
        let (true, Class::Data(meta)) = (port.up, class) else {
            return self.ingest_unusual(now, at, frame);
        };
        let l3 = usize::from(meta.l3);
        if self.signals.filter.is_sfcm(meta.ethertype, &frame.head()[l3..]) {
            if let Some(frame) = self.ingest_sfcm(now, at, frame, &meta) {
                self.ingest_data(now, at, frame, &meta);
            }
            return;
        }
        if self.signals.filter.learns() {
            self.learn_queue_pair(now, frame.head(), l3, meta.ethertype);
        }
        self.ingest_known(now, at, frame);
    }
}

/// Returns the queue of a class at the port with this number.
fn queue_of(port: usize, class: TrafficClass) -> Queue {
    Queue { port: PortId::new(port as u16).expect("a port of the plan"), class }
}
