//! The proxy for Source Flow Control messages: its plan, the flows that it knows, and its counters.
//!
//! Its SFC stream table has the flows that received messages named, each for at most sfcMaxFlowLife.
//! "A congesting flow entry, created by the receipt of a SFCM" can remain no longer, so no pause that
//! its messages request outlasts it.

use crate::{AttachedKind, SfcProxyPlan, SwitchPlan, UnknownHost};
use congestion::proxy::{Kind, Outcome, PortPlan, Proxy, ProxyPlan, Refusal, Remember};
use congestion::streams::{CreateMask, Place, STREAMS_MAX, Stream, StreamPlan, StreamTable};
use congestion::{FlowKey, Named, Queue, SourceMap};
use contracts::stats::{ProxyCounters, ProxyPortCounters, ProxySnapshot};
use ground::time::{Duration, Instant};
use ground::units::{PortId, Priority, PrioritySet, TrafficClass};
use pfc::FlowControl;
use wire::flow::FiveTuple;
use wire::ip::{self, Fragment, Protocol};
use wire::sfcm::Locator;
use wire::{EtherType, udp};

/// The proxy of one worker, with counters that the proxy itself does not keep.
pub(crate) struct Relay {
    pub(super) proxy: Proxy,
    udp_port: u16,
    pub(super) unknown: UnknownHost,
    pub(super) caches: bool,
    /// Known flows, for the policy that pauses a flow at its start for the whole time: a flow that
    /// continues must not be paused again. `None` under other policies.
    begun: Option<StreamTable<()>>,
    /// Flows that messages named.
    pub(super) heard: Heard,
    pub(super) malformed: u64,
    /// Messages whose priority is another one by the maps of the host's port.
    disagreed: u64,
    /// Messages that paused a host whose locator says incast, and in-network.
    incast: u64,
    in_network: u64,
    /// By port: PFC frames sent for the proxy alone.
    pub(super) pauses: Box<[u64]>,
}

/// Returns the priorities that a port may pause.
pub(super) fn protected(mode: FlowControl) -> PrioritySet {
    match mode {
        FlowControl::Pfc { send, .. } => send,
        FlowControl::Pause { .. } | FlowControl::Off => PrioritySet::EMPTY,
    }
}

/// Translates the kind of a port's neighbour for the proxy.
pub(super) const fn kind(attached: AttachedKind) -> Kind {
    match attached {
        AttachedKind::Switch => Kind::Fabric,
        AttachedKind::Host | AttachedKind::Discovered => Kind::Host { reacts: false },
        AttachedKind::SfcHost => Kind::Host { reacts: true },
    }
}

impl Relay {
    pub(super) fn new(plan: &SwitchPlan) -> Option<Box<Self>> {
        let section = plan.congestion.proxy.as_ref()?;
        let port = |(n, port): (usize, &crate::PortPlan)| {
            let attached = plan.congestion.ports.get(n).copied().unwrap_or_default();
            let protected = protected(port.pfc.mode);
            PortPlan { kind: kind(attached.kind), rate: port.rate, protected }
        };
        let proxy = ProxyPlan {
            ports: plan.ports.iter().enumerate().map(port).collect(),
            fabric: section.fabric.clone(),
            hosts: section.hosts.clone(),
            policy: section.policy,
            cache: section.cache,
        };
        Some(Box::new(Self {
            proxy: Proxy::new(&proxy, plan.seed),
            udp_port: section.udp_port,
            unknown: section.unknown,
            heard: Heard::new(section.max_flow_life, plan.seed),
            caches: section.cache.is_some(),
            begun: section.cache.filter(|cache| cache.remember == Remember::Whole).map(|cache| {
                let capacity = cache.entries.min(STREAMS_MAX);
                StreamTable::new(StreamPlan { capacity, life: cache.life, seed: plan.seed })
            }),
            malformed: 0,
            disagreed: 0,
            incast: 0,
            in_network: 0,
            pauses: vec![0; plan.ports.len()].into_boxed_slice(),
        }))
    }

    /// Applies another plan; granted pauses stay.
    pub(super) fn adopt(&mut self, plan: &SfcProxyPlan) {
        (self.udp_port, self.unknown) = (plan.udp_port, plan.unknown);
        self.heard.set_life(plan.max_flow_life);
        self.proxy.set_policy(plan.policy, plan.fabric.clone(), plan.hosts.clone());
    }

    /// Returns true if the proxy is to be asked about a flow that comes in by `port`. False if the
    /// table has no room for the flow.
    pub(super) fn begins(&mut self, now: Instant, port: PortId, flow: FiveTuple) -> bool {
        // Where a cached pause shrinks with time, asking again for a known flow does no harm.
        let Some(begun) = &mut self.begun else { return self.caches };
        let (queue, key) = (Queue { port, class: TrafficClass::MIN }, FlowKey::Ip(flow));
        if let Some(place) = begun.find(queue, &key) {
            if !begun.is_over(now, place) {
                // Its life counts from its last frame: a flow that pauses for long begins anew.
                begun.touch(now, place);
                return false;
            }
            begun.remove(place);
        }
        let (mask, created) = (CreateMask::LOCAL, now);
        let stream = Stream { key, queue, created, mask, messages: 0, state: () };
        begun.insert(now, stream, |_| true).is_ok()
    }

    /// Counts a message that paused a host by its locator.
    pub(super) fn locate(&mut self, locator: Locator) {
        self.incast += u64::from(locator == Locator::Incast);
        self.in_network += u64::from(locator == Locator::InNetwork);
    }

    /// Returns the priority at the host behind `port` that a message names, by the maps of that
    /// port. Where the proxy does not act for the host it is the message's.
    pub(super) fn priority(&mut self, port: PortId, map: &SourceMap, named: Named) -> Priority {
        // The maps are of use only where this proxy sends the pauses.
        let Some(usable) = self.proxy.pausable(port) else { return named.priority };
        let priority = map.priority(named, usable);
        self.disagreed += u64::from(priority != named.priority);
        priority
    }

    /// Returns true if both UDP ports of a packet are those of messages; if not the frame is data.
    pub(super) fn is_message(&self, ethertype: EtherType, packet: &[u8]) -> bool {
        let Ok(view) = ip::View::new(ethertype, packet) else { return false };
        let Ok(upper) = view.upper() else { return false };
        // A fragment cannot be read in full, so it is data.
        if upper.protocol != Protocol::UDP || upper.fragment != Fragment::Whole {
            return false;
        }
        let udp = udp::View::new(upper.payload);
        udp.is_ok_and(|udp| udp.dst_port() == self.udp_port && udp.src_port() == self.udp_port)
    }

    pub(super) fn snapshot(&self, ports: usize) -> ProxySnapshot {
        let (proxy, cache) = (&self.proxy, self.proxy.cache_counters());
        let counters = ProxyCounters {
            forwarded: proxy.forwarded(),
            malformed: self.malformed,
            incast: self.incast,
            in_network: self.in_network,
            disagreed: self.disagreed,
            sender: proxy.refused(Refusal::Sender),
            not_routed: proxy.refused(Refusal::NotRouted),
            reflected: proxy.refused(Refusal::Reflected),
            other_host: proxy.refused(Refusal::OtherHost),
            not_protected: proxy.refused(Refusal::NotProtected),
            too_many: proxy.refused(Refusal::TooMany),
            no_credit: proxy.refused(Refusal::NoCredit),
            cache_created: cache.created,
            cache_updated: cache.updated,
            cache_full: cache.full,
            cache_hits: cache.hits,
        };
        let port = |n: usize| {
            let counters = proxy.counters(PortId::new(n as u16).expect("a port of the plan"));
            ProxyPortCounters {
                accepted: counters.accepted,
                resumed: counters.resumed,
                redundant: counters.redundant,
                cut_to_longest: counters.cut_to_longest,
                cut_to_credit: counters.cut_to_credit,
                by_cache: counters.by_cache,
                granted_ns: counters.granted.as_nanos(),
                missed: counters.missed,
                pauses: self.pauses[n],
            }
        };
        ProxySnapshot { counters, ports: (0..ports).map(port).collect() }
    }
}

/// Capacity of the table. A choice; the table of the points has the same default.
const FLOWS: usize = 4_096;

/// A flow that messages named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paused {
    /// Priority at the host.
    pub(crate) priority: Priority,
    /// End of the pause that the last message got.
    pub(crate) until: Instant,
}

/// The flows, by the port of the host that sends them.
pub(crate) struct Heard {
    flows: StreamTable<Paused>,
    life: Duration,
}

impl Heard {
    pub(super) fn new(life: Duration, seed: u64) -> Self {
        Self { flows: StreamTable::new(StreamPlan { capacity: FLOWS, life, seed }), life }
    }

    /// Sets the lifetime, also of existing entries.
    pub(super) fn set_life(&mut self, life: Duration) {
        self.flows.set_life(life);
        self.life = life;
    }

    /// Returns the time that the entry of a flow may remain: all of it if there is none.
    pub(super) fn left(&self, now: Instant, port: PortId, flow: FiveTuple) -> Duration {
        // An entry that is over stays in the table until its place is needed.
        let place = self.find(port, flow).filter(|place| !self.flows.is_over(now, *place));
        let age = place.map_or(Duration::ZERO, |place| now.since(self.flows.get(place).created));
        self.life.saturating_sub(age)
    }

    /// Records the message about a flow if it paused or resumed the flow's host. A full table records no more
    /// flows; their pauses do not depend on it.
    pub(super) fn on_outcome(
        &mut self,
        now: Instant,
        port: PortId,
        flow: FiveTuple,
        priority: Priority,
        outcome: Outcome,
    ) {
        let (until, creates) = match outcome {
            Outcome::Paused(until) => (until, true),
            // A resume ends a pause and needs no entry of its own.
            Outcome::Resumed(_) => (now, false),
            Outcome::Forward | Outcome::Refused(_) => return,
        };
        let state = Paused { priority, until };
        if let Some(place) = self.find(port, flow) {
            if !self.flows.is_over(now, place) {
                let stream = self.flows.get_mut(place);
                // `created` stays: the life of an entry counts from its first message.
                stream.messages = stream.messages.saturating_add(1);
                stream.state = state;
                return;
            }
            self.flows.remove(place);
        }
        if !creates {
            return;
        }
        let (queue, key) = (queue(port), FlowKey::Ip(flow));
        let stream = Stream { key, queue, created: now, mask: CreateMask::CIM, messages: 1, state };
        // The counters of the table tell of refusals.
        let _ = self.flows.insert(now, stream, |_| true);
    }

    /// Returns the flows in at most `most` slots from slot `from` on, each with its slot number.
    pub(crate) fn page(
        &self,
        from: usize,
        most: usize,
    ) -> impl Iterator<Item = (u32, &Stream<Paused>)> {
        self.flows.page(from, most)
    }

    pub(crate) fn places(&self) -> usize {
        self.flows.places()
    }

    fn find(&self, port: PortId, flow: FiveTuple) -> Option<Place> {
        self.flows.find(queue(port), &FlowKey::Ip(flow))
    }
}

/// Returns the key of a host's port. Entries are of flows, whatever their priority.
const fn queue(port: PortId) -> Queue {
    Queue { port, class: TrafficClass::MIN }
}
