//! Messages of Source Flow Control that pass through the switch, where it is a proxy: to switches and to
//! hosts that obey them they go on, to other hosts they become pauses (P802.1Qdw, 5.11 j as proposed).
//!
//! A message is read whole and its sender judged where it comes in; the proxy of the worker that owns
//! the port by which it would leave then says what becomes of it. Those that the switch makes itself are
//! not judged by their sender.

use super::originate::packet;
use crate::buffer::Charge;
use crate::congestion::proxy::{
    Kind, Message, Outcome, PauseTimes, PortPlan, Proxy, ProxyPlan, Refusal, Remember,
};
use crate::congestion::streams::{CreateMask, STREAMS_MAX, Stream, StreamPlan, StreamTable};
use crate::congestion::{FlowKey, Queue};
use crate::frame::Frame;
use crate::pfc::FlowControl;
use crate::stats::{DropReason, ProxyCounters, ProxyPortCounters, ProxySnapshot};
use crate::switch::Switch;
use crate::switch::classify::Meta;
use crate::switch::plan::{AttachedKind, SfcProxyPlan, SwitchPlan};
use crate::time::Instant;
use crate::units::{BitsPerSec, PortId, PrioritySet, TrafficClass};
use crate::wire::flow::FiveTuple;
use crate::wire::ip::{self, Fragment, Protocol};
use crate::wire::{EtherType, sfcm, udp, vlan};
use crate::world::World;

/// The proxy of one worker, and what it does not count itself.
pub(in crate::switch) struct Relay {
    pub(super) proxy: Proxy,
    udp_port: u16,
    caches: bool,
    /// The flows that were seen, where each is paused for the whole time when it begins: what goes on
    /// must not be paused again and again. Nothing where it makes no difference.
    begun: Option<StreamTable<()>>,
    malformed: u64,
    /// By port: PFC frames that were sent for the proxy alone.
    pauses: Box<[u64]>,
}

/// The priorities that a port may pause.
fn protected(mode: FlowControl) -> PrioritySet {
    match mode {
        FlowControl::Pfc { send, .. } => send,
        FlowControl::Pause { .. } | FlowControl::Off => PrioritySet::EMPTY,
    }
}

/// What a port's neighbour is to the proxy.
pub(super) const fn kind(attached: AttachedKind) -> Kind {
    match attached {
        AttachedKind::Switch => Kind::Fabric,
        AttachedKind::Host | AttachedKind::Discovered => Kind::Host { reacts: false },
        AttachedKind::SfcHost => Kind::Host { reacts: true },
    }
}

impl Relay {
    /// The proxy of a plan.
    pub(super) fn new(plan: &SwitchPlan) -> Option<Box<Self>> {
        let of = plan.congestion.proxy.as_ref()?;
        let port = |(n, port): (usize, &crate::switch::plan::PortPlan)| {
            let attached = plan.congestion.ports.get(n).copied().unwrap_or_default();
            let protected = protected(port.pfc.mode);
            PortPlan { kind: kind(attached.kind), rate: port.rate, protected }
        };
        let proxy = ProxyPlan {
            ports: plan.ports.iter().enumerate().map(port).collect(),
            fabric: of.fabric.clone(),
            hosts: of.hosts.clone(),
            policy: of.policy,
            cache: of.cache,
        };
        Some(Box::new(Self {
            proxy: Proxy::new(&proxy, plan.seed),
            udp_port: of.udp_port,
            caches: of.cache.is_some(),
            begun: of.cache.filter(|cache| cache.remember == Remember::Whole).map(|cache| {
                let capacity = cache.entries.min(STREAMS_MAX);
                StreamTable::new(StreamPlan { capacity, life: cache.life, seed: plan.seed })
            }),
            malformed: 0,
            pauses: vec![0; plan.ports.len()].into_boxed_slice(),
        }))
    }

    /// Obeys another plan from now on; pauses that were granted stay granted.
    pub(super) fn adopt(&mut self, plan: &SfcProxyPlan) {
        self.udp_port = plan.udp_port;
        self.proxy.set_policy(plan.policy, plan.fabric.clone(), plan.hosts.clone());
    }

    /// Whether a flow that comes in by `port` is to be asked about. One for which there is no room is not.
    fn begins(&mut self, now: Instant, port: PortId, flow: FiveTuple) -> bool {
        let Some(begun) = &mut self.begun else { return self.caches };
        let (queue, key) = (Queue { port, class: TrafficClass::MIN }, FlowKey::Ip(flow));
        if let Some(place) = begun.find(queue, &key) {
            if !begun.is_over(now, place) {
                begun.touch(now, place);
                return false;
            }
            begun.remove(place);
        }
        let (mask, created) = (CreateMask::LOCAL, now);
        let stream = Stream { key, queue, created, mask, messages: 0, state: () };
        begun.insert(now, stream, |_| true).is_ok()
    }

    /// Whether a packet is a message by its UDP port, on both sides; if not it is data, however it
    /// looked to the filter.
    fn is_message(&self, ethertype: EtherType, packet: &[u8]) -> bool {
        let Ok(view) = ip::View::new(ethertype, packet) else { return false };
        let Ok(upper) = view.upper() else { return false };
        if upper.protocol != Protocol::UDP || upper.fragment != Fragment::Whole {
            return false;
        }
        let udp = udp::View::new(upper.payload);
        udp.is_ok_and(|udp| udp.dst_port() == self.udp_port && udp.src_port() == self.udp_port)
    }

    /// What was counted.
    pub(super) fn snapshot(&self, ports: usize) -> ProxySnapshot {
        let (proxy, cache) = (&self.proxy, self.proxy.cache_counters());
        let counters = ProxyCounters {
            forwarded: proxy.forwarded(),
            malformed: self.malformed,
            sender: proxy.refused(Refusal::Sender),
            not_routed: proxy.refused(Refusal::NotRouted),
            reflected: proxy.refused(Refusal::Reflected),
            other_host: proxy.refused(Refusal::OtherHost),
            not_protected: proxy.refused(Refusal::NotProtected),
            no_pause: proxy.refused(Refusal::NoPause),
            too_many: proxy.refused(Refusal::TooMany),
            no_credit: proxy.refused(Refusal::NoCredit),
            cache_created: cache.created,
            cache_updated: cache.updated,
            cache_full: cache.full,
            cache_hits: cache.hits,
        };
        let port = |n: usize| {
            let of = proxy.counters(PortId::new(n as u16).expect("a port of the plan"));
            ProxyPortCounters {
                accepted: of.accepted,
                redundant: of.redundant,
                cut_to_longest: of.cut_to_longest,
                cut_to_credit: of.cut_to_credit,
                by_cache: of.by_cache,
                granted_ns: of.granted.as_nanos(),
                missed: of.missed,
                pauses: self.pauses[n],
            }
        };
        ProxySnapshot { counters, ports: (0..ports).map(port).collect() }
    }
}

impl<W: World> Switch<W> {
    /// A frame came in that looks like a message of Source Flow Control. Gives it back if it is none.
    pub(super) fn ingest_sfcm(
        &mut self,
        now: Instant,
        at: usize,
        mut frame: W::Frame,
        meta: &Meta,
    ) -> Option<W::Frame> {
        let Some(relay) = &mut self.congested.relay else { return Some(frame) };
        if !relay.is_message(meta.ethertype, packet(&frame, meta)) {
            return Some(frame);
        }
        let Ok(read) = sfcm::Repr::parse(meta.ethertype, packet(&frame, meta)) else {
            relay.malformed += 1;
            self.count_drop(now, at, None, DropReason::SfcmMalformed);
            return None;
        };
        let ingress = self.ports[at].id;
        let message = message(&read, Some(ingress), None);
        if !relay.proxy.admits(ingress, message.sender) {
            self.count_drop(now, at, None, DropReason::SfcmRefused);
            return None;
        }
        match self.way(now, at, &mut frame, meta) {
            Ok((meta, egress)) => self.sfcm_leaves(now, at, Some(ingress), frame, &meta, egress),
            Err(reason) => {
                let egress = (reason == DropReason::SameSegment).then_some(ingress);
                self.refuse_sfcm(now, at, Message { egress, ..message });
            }
        }
        None
    }

    /// The proxy counts why a message goes nowhere.
    fn refuse_sfcm(&mut self, now: Instant, at: usize, message: Message) {
        if let Some(relay) = &mut self.congested.relay {
            relay.proxy.on_message(now, &message);
        }
        self.count_drop(now, at, None, DropReason::SfcmRefused);
    }

    /// A message of Source Flow Control is about to leave by `egress`. It came in by `ingress`, unless
    /// the switch made it.
    pub(super) fn sfcm_leaves(
        &mut self,
        now: Instant,
        at: usize,
        ingress: Option<PortId>,
        frame: W::Frame,
        meta: &Meta,
        egress: PortId,
    ) {
        // Another worker's proxy is asked by that worker.
        let outcome = match self.local(egress) {
            Some(to) => self.ask_proxy(now, ingress, to, &frame, meta.ethertype, meta.l3.into()),
            None => Outcome::Forward,
        };
        match outcome {
            Outcome::Forward => {
                if ingress.is_some() {
                    self.note_received(now, at, frame.wire_len(), meta);
                }
                self.deliver(now, at, frame, meta, egress);
            }
            Outcome::Paused(_) => self.ports[at].counters.consumed += 1,
            Outcome::Refused(_) => self.count_drop(now, at, None, DropReason::SfcmRefused),
        }
    }

    /// A message of Source Flow Control came from another worker, and would leave by the port at `to`.
    /// Gives it back with what it holds, if it goes on.
    #[cold]
    pub(in crate::switch) fn accept_message(
        &mut self,
        now: Instant,
        to: usize,
        frame: W::Frame,
        charge: Charge,
        ingress: PortId,
    ) -> Option<(W::Frame, Charge)> {
        let walk = vlan::walk(frame.head()).ok();
        let outcome = match (&self.congested.relay, walk) {
            (Some(relay), Some(walk))
                if relay.is_message(walk.ethertype, &frame.head()[walk.l3..]) =>
            {
                self.ask_proxy(now, None, to, &frame, walk.ethertype, walk.l3)
            }
            _ => Outcome::Forward,
        };
        match outcome {
            Outcome::Forward => return Some((frame, charge)),
            Outcome::Paused(_) => self.ports[to].counters.consumed += 1,
            Outcome::Refused(_) => self.count_drop(now, to, None, DropReason::SfcmRefused),
        }
        self.release(now, charge, ingress);
        None
    }

    /// What the proxy of this worker makes of a message that would leave by the port at `to`.
    fn ask_proxy(
        &mut self,
        now: Instant,
        ingress: Option<PortId>,
        to: usize,
        frame: &W::Frame,
        ethertype: EtherType,
        l3: usize,
    ) -> Outcome {
        let Some(relay) = &mut self.congested.relay else { return Outcome::Forward };
        let Ok(read) = sfcm::Repr::parse(ethertype, &frame.head()[l3..]) else {
            // It was read before it came here; what cannot be read again says nothing.
            return Outcome::Refused(Refusal::NoPause);
        };
        let id = self.ports[to].id;
        let message = message(&read, ingress, Some(id));
        let known = relay.proxy.cache_counters().created;
        let outcome = relay.proxy.on_message(now, &message);
        if relay.proxy.cache_counters().created > known {
            // The next frame of each flow is looked at again, as if it were the first.
            self.fdb.invalidate();
        }
        if matches!(outcome, Outcome::Paused(_)) {
            self.note_proxy(to);
        }
        outcome
    }

    /// A frame came from the host at the port at `at`, of a flow that was not seen before or lately: it
    /// is paused at once if its destination is known to be congested.
    #[inline]
    pub(in crate::switch) fn flow_begins(
        &mut self,
        now: Instant,
        at: usize,
        frame: &W::Frame,
        meta: &Meta,
    ) {
        let Some(relay) = &mut self.congested.relay else { return };
        if !relay.caches {
            return;
        }
        let Ok(view) = ip::View::new(meta.ethertype, packet(frame, meta)) else { return };
        let (flow, id) = (FiveTuple::of(&view), self.ports[at].id);
        if relay.begins(now, id, flow) && relay.proxy.on_flow(now, id, flow.dst, meta.priority) {
            self.note_proxy(at);
        }
    }

    /// The proxy has something else to say at the port at `at`, or later, or nothing any more.
    pub(in crate::switch) fn note_proxy(&mut self, at: usize) {
        let port = &mut self.ports[at];
        let relay = self.congested.relay.as_ref();
        port.proxy_due = relay.map_or(Instant::NEVER, |r| r.proxy.next_deadline(port.id));
        self.awake.insert(at);
    }

    /// What a pause frame of the port at `at` says, with what the proxy adds to `own`; nothing if it is
    /// the proxy's turn and it has nothing to say after all.
    pub(in crate::switch) fn with_proxy(
        &mut self,
        now: Instant,
        at: usize,
        own: Option<PauseTimes>,
    ) -> Option<PauseTimes> {
        let id = self.ports[at].id;
        let Some(relay) = &mut self.congested.relay else { return own };
        let said = match own {
            Some(own) => Some(relay.proxy.merge(now, id, own)),
            None => relay.proxy.due(now, id),
        };
        if said.is_none() {
            self.note_proxy(at);
        }
        said
    }

    /// A PFC frame left by the port at `at`; `alone` if it was the proxy's.
    pub(in crate::switch) fn proxy_sent(
        &mut self,
        now: Instant,
        at: usize,
        said: &PauseTimes,
        alone: bool,
    ) {
        let id = self.ports[at].id;
        if let Some(relay) = &mut self.congested.relay {
            relay.proxy.on_sent(now, id, said);
            relay.pauses[id.index()] += u64::from(alone);
            self.note_proxy(at);
        }
    }

    /// The link of the port at `at` has another rate.
    pub(in crate::switch) fn proxy_rate(&mut self, now: Instant, at: usize, rate: BitsPerSec) {
        let id = self.ports[at].id;
        if let Some(relay) = &mut self.congested.relay {
            relay.proxy.set_rate(now, id, rate);
            self.note_proxy(at);
        }
    }

    /// The link of the port at `at` went down.
    pub(in crate::switch) fn proxy_link_down(&mut self, at: usize) {
        let id = self.ports[at].id;
        if let Some(relay) = &mut self.congested.relay {
            relay.proxy.on_link_down(id);
            self.note_proxy(at);
        }
    }

    /// PFC runs for other priorities of the port at `at`.
    pub(in crate::switch) fn proxy_mode(&mut self, at: usize, mode: FlowControl) {
        let id = self.ports[at].id;
        if let Some(relay) = &mut self.congested.relay {
            relay.proxy.set_protected(id, protected(mode));
            self.note_proxy(at);
        }
    }
}

/// A message as the proxy wants it.
fn message(read: &sfcm::Repr<'_>, ingress: Option<PortId>, egress: Option<PortId>) -> Message {
    let flow = read.message.flow().expect("what was parsed says which flow it is about");
    Message {
        ingress,
        egress,
        sender: read.headers.src,
        host: read.headers.dst,
        flow_source: flow.src,
        flow_destination: Some(flow.dst),
        priority: read.message.priority,
        pause: read.message.pause,
    }
}
