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
use crate::congestion::Queue;
use crate::congestion::isolation::{Hold, Isolation};
use crate::frame::Frame;
use crate::stats::CongestionSnapshot;
use crate::time::Instant;
use crate::units::{Bytes, PRIORITIES, PortId, Priority, PriorityGroup, PrioritySet, TrafficClass};
use crate::world::World;
pub(super) use filter::Filter;
use notify::{Notifier, Quantizer};
use relay::Relay;
use seen::Seen;
use source_flow::SourceFlow;

/// The machines of one worker.
pub(super) struct Congested {
    pub(super) filter: Filter,
    /// By port and traffic class: nobody has to be told while a queue is not longer than this.
    floors: Box<[u64]>,
    /// What the machines obey, with every managed object that was written since the start.
    plan: Box<CongestionPlan>,
    /// How many ports the switch has.
    ports: usize,
    pub(super) isolation: Option<Box<Isolation>>,
    cims: Option<Box<cim::Cims>>,
    pub(super) sfc: Option<Box<SourceFlow>>,
    pub(super) relay: Option<Box<Relay>>,
    pub(super) notifier: Option<Box<Notifier>>,
    pub(super) quantizer: Option<Box<Quantizer>>,
    /// Whether a message is on its way through forwarding, about which none is made.
    telling: bool,
    /// What had been counted when counters were cleared last.
    base: Box<CongestionSnapshot>,
}

/// Where a frame goes at its egress port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub(super) class: TrafficClass,
    /// What it waits for at the head of its queue.
    pub(super) hold: Hold,
    /// The group that accounts for it if that has room, before the one of its priority.
    pub(super) group: Option<PriorityGroup>,
    /// Whether CE was set on it.
    pub(super) marked: bool,
}

impl Congested {
    pub(super) fn new(plan: &SwitchPlan) -> Self {
        let ports = plan.ports.len();
        let mut congested = Self {
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
            congested.set_locator(port, plan.congestion.locator(port));
        }
        congested.set_floors();
        congested
    }

    /// Takes note of which queues are looked at from which length on, after any machine's plan changed.
    pub(super) fn set_floors(&mut self) {
        let Self { sfc, notifier, quantizer, .. } = &*self;
        let floor = |n: usize| {
            let queue = queue_of(n / PRIORITIES, TrafficClass::ALL[n % PRIORITIES]);
            let sfc = sfc.as_ref().map_or(u64::MAX, |sfc| sfc.point.floor(queue).0);
            let cnp = notifier.as_ref().map_or(u64::MAX, |of| of.machine.floor(queue).0);
            // Samples are counted in octets that came, however short the queue is.
            let sampled = quantizer.as_ref().is_some_and(|of| of.has(queue));
            sfc.min(cnp).min(if sampled { 0 } else { u64::MAX })
        };
        self.floors = (0..self.floors.len()).map(floor).collect();
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
        now: Instant,
        to: usize,
        of: (TrafficClass, Priority),
        length: u64,
        item: &Queued<W::Frame>,
    ) {
        if core::mem::replace(&mut self.congested.telling, true) {
            return;
        }
        let (head, octets) = (item.frame.head(), Bytes(item.frame.wire_len().into()));
        let length = Bytes(length);
        let queue = Queue { port: self.ports[to].id, class: of.0 };
        let Congested { sfc, notifier, quantizer, .. } = &self.congested;
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
        self.congested.telling = false;
    }

    /// A message of somebody came in, or what looks like one.
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
        if self.congested.filter.is_sfcm(meta.ethertype, &frame.head()[l3..]) {
            if let Some(frame) = self.ingest_sfcm(now, at, frame, &meta) {
                self.ingest_data(now, at, frame, &meta);
            }
            return;
        }
        if self.congested.filter.learns() {
            self.learn_queue_pair(now, frame.head(), l3, meta.ethertype);
        }
        self.ingest_known(now, at, frame);
    }
}

/// The queue of a class at the port with this number.
fn queue_of(port: usize, class: TrafficClass) -> Queue {
    Queue { port: PortId::new(port as u16).expect("a port of the plan"), class }
}
