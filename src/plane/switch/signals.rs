//! Congestion functions beside the forwarding path: isolation of congesting flows, and messages to
//! their sources or to the switch upstream.
//!
//! The forwarding path calls them in these places, each of which costs one comparison when idle:
//! - at ingress, to detect a received message (`filter`, [`Switch::ingest_message`]);
//! - before the frames of a group join a long queue, to look up their flows ([`Switch::look_ahead`]);
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
//!
//! The machines are below the switch: [`Signals`] and the files of its fields do not know it.
//!
//! [`Switch::ingest_message`]: crate::Switch::ingest_message
//! [`Switch::look_ahead`]: crate::Switch::look_ahead
//! [`Switch::place`]: crate::Switch::place
//! [`Switch::joins`]: crate::Switch::joins
//! [`Switch::held_classes`]: crate::Switch::held_classes
//! [`Switch::leaves`]: crate::Switch::leaves
//! [`Switch::originate`]: crate::Switch::originate

mod cim;
mod detection;
mod filter;
mod isolate;
mod message;
mod notify;
mod proxying;
mod relay;
mod sections;
mod source_flow;

pub(super) use relay::Paused;

use crate::{AttachedKind, CongestionIsolationPlan, CongestionPlan, Switch, SwitchPlan};
use cim::Cims;
use congestion::Queue;
use congestion::isolation::Isolation;
use congestion::sfc::Ahead;
use contracts::stats::CongestionSnapshot;
use contracts::world::World;
use filter::Filter;
use ground::memory::fetch_item;
use ground::units::{PRIORITIES, PortId, Priority, PrioritySet, TrafficClass};
use notify::{Notifier, Quantizer};
use relay::Relay;
use source_flow::SourceFlow;
use wire::sfcm::{Level, Locator};

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
    cims: Option<Box<Cims>>,
    pub(super) sfc: Option<Box<SourceFlow>>,
    pub(super) relay: Option<Box<Relay>>,
    pub(super) notifier: Option<Box<Notifier>>,
    pub(super) quantizer: Option<Box<Quantizer>>,
    /// By port: the locator and the kind of neighbour, configured or discovered.
    locators: Box<[Locator]>,
    /// Level of the switch, if it is known.
    level: Option<Level>,
    attached: Box<[AttachedKind]>,
    /// True while a message passes through forwarding; none is made about it.
    telling: bool,
    /// Flows of frames that are about to join a queue, looked up together.
    ahead: Ahead,
    /// Counts at the last reset of the counters.
    base: Box<CongestionSnapshot>,
}

impl Signals {
    pub(super) fn new(plan: &SwitchPlan) -> Self {
        let ports = plan.ports.len();
        let mut signals = Self {
            filter: Filter::new(&plan.congestion),
            floors: vec![u64::MAX; ports * PRIORITIES].into_boxed_slice(),
            plan: Box::new(plan.congestion.clone()),
            ports,
            isolation: plan.congestion.isolation.as_ref().map(|ci| isolation(ci, ports)),
            cims: plan.congestion.isolation.as_ref().map(|ci| Box::new(Cims::new(plan, ci))),
            sfc: SourceFlow::new(plan),
            relay: Relay::new(plan),
            notifier: Notifier::new(plan),
            quantizer: Quantizer::new(plan),
            locators: vec![Locator::Unknown; ports].into_boxed_slice(),
            level: None,
            attached: vec![AttachedKind::default(); ports].into_boxed_slice(),
            telling: false,
            ahead: Ahead::default(),
            base: Box::default(),
        };
        for n in 0..ports {
            let port = Queue::of(n, TrafficClass::MIN).port;
            // By the plan, until discovery knows the neighbour.
            signals.set_locator(port, plan.congestion.locator(port));
            signals.attached[n] = plan.congestion.attached(port).kind;
        }
        signals.set_floors();
        signals
    }

    /// Returns true if the proxy acts for the host at a port.
    pub(super) fn acts_for(&self, port: PortId) -> bool {
        self.relay.as_ref().is_some_and(|relay| relay.proxy.pausable(port).is_some())
    }

    /// Recalculates the floor of every queue, after any machine's plan changed.
    pub(super) fn set_floors(&mut self) {
        let Self { sfc, notifier, quantizer, .. } = &*self;
        let floor = |n: usize| {
            let queue = Queue::of(n / PRIORITIES, TrafficClass::ALL[n % PRIORITIES]);
            let sfc = sfc.as_ref().map_or(u64::MAX, |sfc| sfc.point.floor(queue).0);
            let cnp =
                notifier.as_ref().map_or(u64::MAX, |notifier| notifier.machine.floor(queue).0);
            // QCN samples by received bytes, however short the queue is.
            let sampled = quantizer.as_ref().is_some_and(|quantizer| quantizer.has(queue));
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
        // A frame that finds an empty queue makes it as long as itself at most.
        Priority::ALL.into_iter().filter(|p| floor(p) >= u64::from(max_frame)).collect()
    }

    /// Brings that length into the caches.
    #[inline]
    pub(super) fn fetch_floor(&self, port: PortId, class: TrafficClass) {
        fetch_item(&self.floors, port.index() * PRIORITIES + class.index());
    }

    /// Returns the queue length up to which no machine needs to see its frames.
    #[inline]
    pub(super) fn floor(&self, port: PortId, class: TrafficClass) -> u64 {
        self.floors[port.index() * PRIORITIES + class.index()]
    }
}

/// Builds the isolation machine of a switch with this number of ports.
fn isolation(plan: &CongestionIsolationPlan, ports: usize) -> Box<Isolation> {
    let mut machine = Isolation::new(plan.machine, ports as u16).expect("a plan that was checked");
    set_watches(&mut machine, plan);
    for (port, peer) in &plan.peers {
        // Peers that LLDP finds are entered later, one by one.
        machine.set_peer(*port, Some(*peer)).expect("a plan that was checked");
    }
    Box::new(machine)
}

/// Sets the monitored queues of an isolation machine.
fn set_watches(machine: &mut Isolation, plan: &CongestionIsolationPlan) {
    for (n, watches) in plan.watches.iter().enumerate() {
        for (class, watch) in TrafficClass::ALL.into_iter().zip(watches) {
            if let Some(watch) = watch {
                machine.set_watch(Queue::of(n, class), *watch).expect("a plan that was checked");
            }
        }
    }
}

impl Signals {
    /// Counts since the start.
    fn counted(&self) -> CongestionSnapshot {
        CongestionSnapshot {
            sfc: self.sfc.as_ref().map(|sfc| sfc.snapshot(self.ports)),
            proxy: self.relay.as_ref().map(|relay| relay.snapshot(self.ports)),
            fast_cnp: self.notifier.as_ref().map(|notifier| notifier.snapshot()),
            qcn: self.quantizer.as_ref().map(|quantizer| quantizer.snapshot(self.ports)),
            // Isolation resets its counters itself, so it has no base.
            isolation: None,
        }
    }

    /// Resets the counters to zero.
    pub(crate) fn clear_counters(&mut self) {
        // The machines count on; results show the difference.
        *self.base = self.counted();
    }
}

impl<W: World> Switch<W> {
    /// Returns the congestion counters of this worker; `None` where no congestion function is
    /// configured.
    pub fn congestion_snapshot(&self) -> Option<Box<CongestionSnapshot>> {
        let signals = &self.signals;
        let counted =
            CongestionSnapshot { isolation: self.isolation_snapshot(), ..signals.counted() };
        (counted != CongestionSnapshot::default()).then(|| Box::new(counted.since(&signals.base)))
    }
}
