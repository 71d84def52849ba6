//! Relay of Source Flow Control messages where the switch is a proxy: messages to switches and to
//! hosts that obey them are forwarded, those to other hosts become pauses (P802.1Qdw, 5.11 j as
//! proposed).
//!
//! A message is parsed and its sender validated at ingress; the proxy of the worker that owns the
//! egress port then decides on it. The sender of messages that the switch made itself is not
//! validated.

use super::originate::packet;
use crate::Switch;
use crate::classify::Meta;
use crate::ingress::Origin;
use crate::plan::{AttachedKind, SfcProxyPlan, SwitchPlan};
use buffer::Charge;
use congestion::proxy::{Kind, Message, Outcome, PortPlan, Proxy, ProxyPlan, Refusal, Remember};
use congestion::streams::{CreateMask, STREAMS_MAX, Stream, StreamPlan, StreamTable};
use congestion::{FlowKey, Queue};
use contracts::frame::Frame;
use contracts::stats::{DropReason, ProxyCounters, ProxyPortCounters, ProxySnapshot};
use contracts::world::World;
use ground::time::Instant;
use ground::units::{BitsPerSec, PauseVector, PortId, PrioritySet, TrafficClass};
use pfc::FlowControl;
use wire::flow::FiveTuple;
use wire::ip::{self, Fragment, Protocol};
use wire::{EtherType, sfcm, udp, vlan};

/// The proxy of one worker, with counters that the proxy itself does not keep.
pub(crate) struct Relay {
    pub(super) proxy: Proxy,
    udp_port: u16,
    caches: bool,
    /// Known flows, for the policy that pauses a flow at its start for the whole time: a flow that
    /// continues must not be paused again. `None` under other policies.
    begun: Option<StreamTable<()>>,
    malformed: u64,
    /// By port: PFC frames sent for the proxy alone.
    pauses: Box<[u64]>,
}

/// Returns the priorities that a port may pause.
fn protected(mode: FlowControl) -> PrioritySet {
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
        let of = plan.congestion.proxy.as_ref()?;
        let port = |(n, port): (usize, &crate::plan::PortPlan)| {
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

    /// Applies another plan; granted pauses stay.
    pub(super) fn adopt(&mut self, plan: &SfcProxyPlan) {
        self.udp_port = plan.udp_port;
        self.proxy.set_policy(plan.policy, plan.fabric.clone(), plan.hosts.clone());
    }

    /// Returns true if the proxy is to be asked about a flow that comes in by `port`. False if the
    /// table has no room for the flow.
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

    /// Returns true if both UDP ports of a packet are those of messages; if not the frame is data.
    fn is_message(&self, ethertype: EtherType, packet: &[u8]) -> bool {
        let Ok(view) = ip::View::new(ethertype, packet) else { return false };
        let Ok(upper) = view.upper() else { return false };
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
    /// Handles a received frame that may be a Source Flow Control message. Returns it if it is not.
    pub(super) fn ingest_sfcm(
        &mut self,
        now: Instant,
        at: usize,
        mut frame: W::Frame,
        meta: &Meta,
    ) -> Option<W::Frame> {
        let Some(relay) = &mut self.signals.relay else { return Some(frame) };
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

    /// Drops a message; the proxy counts the reason.
    fn refuse_sfcm(&mut self, now: Instant, at: usize, message: Message) {
        if let Some(relay) = &mut self.signals.relay {
            relay.proxy.on_message(now, &message);
        }
        self.count_drop(now, at, None, DropReason::SfcmRefused);
    }

    /// Handles a Source Flow Control message about to leave by `egress`. `ingress` is `None` for
    /// one that the switch made.
    pub(super) fn sfcm_leaves(
        &mut self,
        now: Instant,
        at: usize,
        ingress: Option<PortId>,
        frame: W::Frame,
        meta: &Meta,
        egress: PortId,
    ) {
        // For a port of another worker that worker asks its proxy.
        let outcome = match self.local(egress) {
            Some(to) => self.ask_proxy(now, ingress, to, &frame, meta.ethertype, meta.l3.into()),
            None => Outcome::Forward,
        };
        match outcome {
            Outcome::Forward => {
                if ingress.is_some() {
                    self.note_received(now, at, frame.wire_len(), meta);
                }
                let origin = if ingress.is_some() { Origin::Line } else { Origin::Message };
                self.deliver_as(now, at, frame, meta, egress, origin);
            }
            Outcome::Paused(_) => self.ports[at].counters.consumed += 1,
            Outcome::Refused(_) => self.count_drop(now, at, None, DropReason::SfcmRefused),
        }
    }

    /// Handles a Source Flow Control message from another worker, about to leave by the port at
    /// `to`. Returns it with its charge if it is to be forwarded.
    #[cold]
    pub(crate) fn accept_message(
        &mut self,
        now: Instant,
        to: usize,
        frame: W::Frame,
        charge: Charge,
        ingress: PortId,
    ) -> Option<(W::Frame, Charge)> {
        let walk = vlan::walk(frame.head()).ok();
        let outcome = match (&self.signals.relay, walk) {
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

    /// Returns the proxy's decision on a message that would leave by the port at `to`.
    fn ask_proxy(
        &mut self,
        now: Instant,
        ingress: Option<PortId>,
        to: usize,
        frame: &W::Frame,
        ethertype: EtherType,
        l3: usize,
    ) -> Outcome {
        let Some(relay) = &mut self.signals.relay else { return Outcome::Forward };
        let Ok(read) = sfcm::Repr::parse(ethertype, &frame.head()[l3..]) else {
            // The message was parsed before; one that no longer parses causes no pause.
            return Outcome::Refused(Refusal::NoPause);
        };
        let id = self.ports[to].id;
        let message = message(&read, ingress, Some(id));
        let known = relay.proxy.cache_counters().created;
        let outcome = relay.proxy.on_message(now, &message);
        if relay.proxy.cache_counters().created > known {
            // The next frame of each flow is examined again, as if it were the first.
            self.fdb.invalidate();
        }
        if matches!(outcome, Outcome::Paused(_)) {
            self.note_proxy(to);
        }
        outcome
    }

    /// Handles the first frame of a flow from the host at the port at `at` (first ever, or after a
    /// long gap): the flow is paused at once if its destination is known to be congested.
    #[inline]
    pub(crate) fn flow_begins(&mut self, now: Instant, at: usize, frame: &W::Frame, meta: &Meta) {
        let Some(relay) = &mut self.signals.relay else { return };
        if !relay.caches {
            return;
        }
        let Ok(view) = ip::View::new(meta.ethertype, packet(frame, meta)) else { return };
        let (flow, id) = (FiveTuple::of(&view), self.ports[at].id);
        if relay.begins(now, id, flow) && relay.proxy.on_flow(now, id, flow.dst, meta.priority) {
            self.note_proxy(at);
        }
    }

    /// Updates the proxy's deadline of the port at `at`.
    pub(crate) fn note_proxy(&mut self, at: usize) {
        let port = &mut self.ports[at];
        let relay = self.signals.relay.as_ref();
        port.proxy_due = relay.map_or(Instant::NEVER, |r| r.proxy.next_deadline(port.id));
        self.awake.insert(at);
    }

    /// Merges the proxy's priorities into the pause frame `own` of the port at `at`. `None` if
    /// there is no `own` and the proxy has nothing to send.
    pub(crate) fn with_proxy(
        &mut self,
        now: Instant,
        at: usize,
        own: Option<PauseVector>,
    ) -> Option<PauseVector> {
        let id = self.ports[at].id;
        let Some(relay) = &mut self.signals.relay else { return own };
        let said = match own {
            Some(own) => Some(relay.proxy.merge(now, id, own)),
            None => relay.proxy.due(now, id),
        };
        if said.is_none() {
            self.note_proxy(at);
        }
        said
    }

    /// Reports that a PFC frame left by the port at `at`; `alone` if only the proxy caused it.
    pub(crate) fn proxy_sent(&mut self, now: Instant, at: usize, said: &PauseVector, alone: bool) {
        let id = self.ports[at].id;
        if let Some(relay) = &mut self.signals.relay {
            relay.proxy.on_sent(now, id, said);
            relay.pauses[id.index()] += u64::from(alone);
            self.note_proxy(at);
        }
    }

    /// Reports a new link rate of the port at `at`.
    pub(crate) fn proxy_rate(&mut self, now: Instant, at: usize, rate: BitsPerSec) {
        let id = self.ports[at].id;
        if let Some(relay) = &mut self.signals.relay {
            relay.proxy.set_rate(now, id, rate);
            self.note_proxy(at);
        }
    }

    /// Reports that the link of the port at `at` went down.
    pub(crate) fn proxy_link_down(&mut self, at: usize) {
        let id = self.ports[at].id;
        if let Some(relay) = &mut self.signals.relay {
            relay.proxy.on_link_down(id);
            self.note_proxy(at);
        }
    }

    /// Reports a new set of PFC priorities of the port at `at`.
    pub(crate) fn proxy_mode(&mut self, at: usize, mode: FlowControl) {
        let id = self.ports[at].id;
        if let Some(relay) = &mut self.signals.relay {
            relay.proxy.set_protected(id, protected(mode));
            self.note_proxy(at);
        }
    }
}

/// Translates a message for the proxy.
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
