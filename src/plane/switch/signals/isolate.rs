//! Congestion Isolation in the forwarding path (802.1Qcz).

use super::Signals;
use super::cim::CimPortCounters;
use crate::Switch;
use crate::classify::Tables;
use congestion::isolation::{Arrival, Hold, Isolation, Labels, Placement};
use congestion::{FlowKey, Queue};
use contracts::frame::Frame;
use contracts::world::World;
use ground::time::Instant;
use ground::units::{
    Bytes, Mac, PRIORITIES, PortId, Priority, PriorityGroup, PrioritySet, TrafficClass, Vid,
};
use pfc::WatchdogPlans;
use wire::msdu;

impl Signals {
    /// Returns the class that congesting flows of `class` are moved to.
    #[inline]
    fn congesting(&self, class: TrafficClass) -> Option<TrafficClass> {
        self.isolation.as_ref()?.plan().map.congesting(class)
    }

    /// Returns the classes that may hold frames classified to `class`.
    pub(crate) fn classes_of(
        &self,
        class: TrafficClass,
    ) -> impl Iterator<Item = TrafficClass> + use<> {
        [Some(class), self.congesting(class)].into_iter().flatten()
    }

    /// Returns the priorities whose frames may be in the queue of `class`, of a port with these
    /// tables.
    pub(crate) fn priorities_in(&self, class: TrafficClass, tables: &Tables) -> PrioritySet {
        let mut set = tables.priorities_of_class(class);
        for from in TrafficClass::ALL {
            if self.congesting(from) == Some(class) {
                set.0 |= tables.priorities_of_class(from).0;
            }
        }
        set
    }

    /// Returns the priority whose pauses stop the congesting class `to` of a port with these
    /// tables: the lowest priority mapped to that class. Its frames are also paused with their
    /// original priority.
    pub(crate) fn guard(&self, to: TrafficClass, tables: &Tables) -> Option<Priority> {
        let is_congesting = |from: TrafficClass| self.congesting(from) == Some(to);
        let own = tables.priorities_of_class(to).iter().next();
        // A class that takes no congesting flows needs no guard.
        own.filter(|_| TrafficClass::ALL.into_iter().any(is_congesting))
    }

    /// Returns the guard priorities of all congesting classes.
    pub(crate) fn guards(&self, tables: &Tables) -> PrioritySet {
        TrafficClass::ALL.into_iter().filter_map(|class| self.guard(class, tables)).collect()
    }

    /// Returns the watchdog plan of each queue. A congesting class without a plan gets that of its
    /// monitored class, because a storm that stops the one stops the other.
    pub(crate) fn watchdogs(&self, plans: &WatchdogPlans) -> WatchdogPlans {
        let mut all = *plans;
        for class in TrafficClass::ALL {
            if let Some(to) = self.congesting(class) {
                // A plan of its own takes precedence.
                all[to.index()] = all[to.index()].or(plans[class.index()]);
            }
        }
        all
    }

    /// Resets the counters of isolation to zero.
    pub(crate) fn clear_isolation_counters(&mut self) {
        if let Some(isolation) = &mut self.isolation {
            isolation.clear_counters();
        }
        if let Some(cims) = &mut self.cims {
            cims.counters.fill(CimPortCounters::default());
        }
    }
}

impl<W: World> Switch<W> {
    /// Returns the state of congestion isolation: plan, peers, flows and counters.
    pub fn isolation(&self) -> Option<&Isolation> {
        self.signals.isolation.as_deref()
    }

    /// Selects the queue of a frame for `class` of the port at `to`, and its hold there.
    #[inline]
    pub(crate) fn place(
        &mut self,
        now: Instant,
        ingress: PortId,
        to: usize,
        egress: PortId,
        class: TrafficClass,
        frame: &W::Frame,
    ) -> (TrafficClass, Hold) {
        let Some(isolation) = &self.signals.isolation else { return (class, Hold::NONE) };
        let queue = Queue { port: egress, class };
        // An empty stream table and a short queue decide nothing: most frames are not parsed.
        if !isolation.concerns(queue, Bytes(self.ports[to].scheduler.bytes(class))) {
            return (class, Hold::NONE);
        }
        self.place_known(now, ingress, to, queue, frame)
    }

    #[cold]
    fn place_known(
        &mut self,
        now: Instant,
        ingress: PortId,
        to: usize,
        queue: Queue,
        frame: &W::Frame,
    ) -> (TrafficClass, Hold) {
        let Some((key, labels)) = flow_of(frame.head(), self.tables[queue.port.index()].pvid())
        else {
            return (queue.class, Hold::NONE);
        };
        // All queues, because the machine weighs the monitored one against its congesting one.
        let scheduler = &self.ports[to].scheduler;
        let lengths: [Bytes; PRIORITIES] =
            TrafficClass::ALL.map(|class| Bytes(scheduler.bytes(class)));
        let arrival = Arrival { ingress, queue, key, labels };
        let isolation = self.signals.isolation.as_mut().expect("asked only where there is one");
        let Placement { class, hold, cim } = isolation.place(now, &arrival, &lengths);
        if let Some(order) = cim {
            self.send_cim(now, to, &order, frame);
        }
        (class, hold)
    }

    /// Returns the group of the port `ingress` that accounts for an isolated frame of `priority`
    /// while it is below its limit: that of the congesting class, so that its XOFF stops the
    /// congesting queue of the bridge upstream and not the flows beside it. `None` if that group or
    /// the frame's original group is lossy.
    ///
    /// A peer that does not isolate the flow keeps sending it in the original class. The flow's
    /// original group then admits the frames, with the headroom for them, so that nothing is lost
    /// whatever the peer does.
    #[cold]
    pub(crate) fn group_of_isolated(
        &self,
        ingress: PortId,
        priority: Priority,
    ) -> Option<PriorityGroup> {
        let tables = &self.tables[ingress.index()];
        let to = self.signals.congesting(tables.class(priority))?;
        let guard = self.signals.guard(to, tables)?;
        let lossy = |p: Priority| tables.lossy.contains(p);
        (!lossy(priority) && !lossy(guard)).then(|| tables.group(guard))
    }

    /// Returns the congesting classes of the port at `slot` whose guard priority is paused, one bit
    /// each.
    #[inline]
    pub(crate) fn guarded_classes(&self, slot: usize, paused: PrioritySet) -> u8 {
        let port = &self.ports[slot];
        // Mostly no guard is paused, which one comparison tells.
        if paused.0 & port.guards.0 == 0 {
            return 0;
        }
        let tables = &self.tables[port.id.index()];
        let stops = |class: &TrafficClass| {
            self.signals.guard(*class, tables).is_some_and(|guard| paused.contains(guard))
        };
        TrafficClass::ALL.iter().filter(|c| stops(c)).fold(0, |set, c| set | 1 << c.get())
    }

    /// Updates the guard priorities of all ports.
    pub(crate) fn note_guards(&mut self) {
        for port in &mut self.ports {
            port.guards = self.signals.guards(&self.tables[port.id.index()]);
        }
    }

    /// Returns true if a queued frame of the port at `slot` may have to wait for another queue.
    #[inline]
    pub(crate) fn has_holds(&self, slot: usize) -> bool {
        let isolation = self.signals.isolation.as_ref();
        isolation.is_some_and(|isolation| isolation.holds_any(self.ports[slot].id))
    }

    /// Returns the classes of the port at `slot` whose first frame waits for another queue, one bit
    /// each.
    #[inline]
    pub(crate) fn held_classes(&self, slot: usize) -> u8 {
        match &self.signals.isolation {
            Some(isolation) if isolation.holds_any(self.ports[slot].id) => {
                self.holds(slot, isolation)
            }
            _ => 0,
        }
    }

    #[cold]
    fn holds(&self, slot: usize, isolation: &Isolation) -> u8 {
        let port = &self.ports[slot];
        let mut held = 0;
        for class in TrafficClass::ALL {
            if let Some(first) = port.scheduler.first(&self.arena, class) {
                held |= u8::from(!isolation.may_leave(port.id, first.hold)) << class.get();
            }
        }
        held
    }

    /// Reports that a frame left a queue of the port at `slot`, sent or dropped.
    #[inline]
    pub(crate) fn leaves(&mut self, slot: usize, class: TrafficClass, hold: Hold) {
        if let Some(isolation) = &mut self.signals.isolation {
            isolation.on_dequeued(Queue { port: self.ports[slot].id, class }, hold);
        }
    }
}

/// Returns the flow of a frame, and its labels. A frame without an IP packet is keyed by its
/// addresses and its VLAN: that of its tag or, without one, the PVID of the egress port, so that
/// both ends of a link calculate the same key whichever of them tags the frame. `None` for a frame
/// that is too short.
fn flow_of(head: &[u8], pvid: Option<Vid>) -> Option<(FlowKey, Labels)> {
    let (dst, src) = (mac_at(head, 0)?, mac_at(head, 6)?);
    let (tag, msdu) = msdu::of_frame(head).ok()?;
    let vid = tag.and_then(|tag| tag.vid);
    let key = match msdu::flow(msdu) {
        Some(flow) => FlowKey::Ip(flow),
        None => FlowKey::L2 { dst, src, vid: vid.or(pvid) },
    };
    Some((key, Labels { dst, src, vid }))
}

pub(super) fn mac_at(head: &[u8], offset: usize) -> Option<Mac> {
    Some(Mac(*head.get(offset..)?.first_chunk()?))
}
