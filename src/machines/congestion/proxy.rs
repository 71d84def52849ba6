//! The top-of-rack proxy of Source Flow Control: converts messages to hosts that support only PFC
//! into pauses on those hosts' ports (802.1Q 5.11 j as proposed, P802.1Qdw).
//!
//! The caller passes every SFCM that is about to leave a port to [`Proxy::on_message`], the
//! position of the proposal's stream filter, and acts on the [`Outcome`]. Per port and poll it
//! sends the frame of [`Proxy::due`], passes the port's own PFC frames through [`Proxy::merge`],
//! and confirms every PFC frame that left with [`Proxy::on_sent`]. One proxy serves the ports of
//! one worker, since a message reaches it at its host's port.
//!
//! Guarantees, for any contents, number and repetition of messages:
//!
//! - A message from a port or address that the policy does not name is dropped, and not forwarded
//!   to another switch, which could not determine its origin any more.
//! - Within any span of time a host's priority is paused for at most the policy's credit plus its
//!   share of the span, plus a quantum per frame, because quanta are rounded up.
//! - Only a message with a time of 0 shortens a pause, by what was requested for its flow alone, as at
//!   a host that obeys messages ([`SharedPause`](crate::SharedPause)). It never resumes a priority that
//!   the port's own flow control pauses.
//! - Nothing allocates after [`Proxy::new`], and every message is counted by its outcome.

mod cache;
mod pauses;
mod plan;
#[cfg(test)]
mod tests;

use core::net::IpAddr;

use cache::Cache;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, PRIORITIES, PauseVector, PortId, Priority, PrioritySet};
use pauses::{Credit, Gate, Pauses};
use wire::flow::FiveTuple;

pub use cache::{CacheCounters, Cached};
pub use plan::{CachePlan, Kind, PausePolicy, PortPlan, ProxyPlan, Remember, Senders};

/// Contents of an SFCM, and the result of the switch's table lookups for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Ingress port; `None` if the switch generated the message, or checked its sender at ingress.
    pub ingress: Option<PortId>,
    /// Egress port; `None` if the switch has no route to the destination.
    pub egress: Option<PortId>,
    /// Source IP address: the data's destination, or the congested switch.
    pub sender: IpAddr,
    /// Destination IP address: the host that sends the data.
    pub host: IpAddr,
    /// The flow.
    pub flow: FiveTuple,
    /// Priority of the flow at the host.
    pub priority: Priority,
    /// Requested pause time. Zero ends what was requested for the flow.
    pub pause: Duration,
    /// True if the egress port's own flow control pauses the priority now.
    pub is_paused_by_port: bool,
}

/// Handling of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is forwarded: to another switch, or to a host that obeys it itself.
    Forward,
    /// It is consumed: the host's priority is paused until this time.
    Paused(Instant),
    /// It is consumed: what was requested for its flow has ended. The host's priority is paused until
    /// this time for other flows, or not at all.
    Resumed(Instant),
    /// It is consumed without effect.
    Refused(Refusal),
}

/// Reason for refusing a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The policy does not accept messages of this sender from this port.
    Sender,
    /// The switch has no route to the host's address.
    NotRouted,
    /// Egress and ingress port are the same: a host that requests its own pause, or a loop.
    Reflected,
    /// The flow's source is not the host that the message is sent to.
    OtherHost,
    /// PFC is not enabled for the priority on the host's port.
    NotProtected,
    /// It cannot be parsed. Its switch finds and counts these.
    Malformed,
    /// Messages for this port exceed the policy's rate.
    TooMany,
    /// The host's priority has used up the pause time that the policy allows.
    NoCredit,
}

impl Refusal {
    /// All values, in order of declaration.
    pub const ALL: [Self; 8] = [
        Self::Sender,
        Self::NotRouted,
        Self::Reflected,
        Self::OtherHost,
        Self::NotProtected,
        Self::Malformed,
        Self::TooMany,
        Self::NoCredit,
    ];
}

/// Counters for one port's host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortCounters {
    /// Messages that paused or resumed it, or would have if that were not its state already.
    pub accepted: u64,
    /// Accepted messages that ended or shortened a granted pause.
    pub resumed: u64,
    /// Accepted messages that did not change the granted pause.
    pub redundant: u64,
    /// Messages whose pause was shortened to the policy's maximum.
    pub cut_to_longest: u64,
    /// Messages and flows whose pause was shortened because credit ran out.
    pub cut_to_credit: u64,
    /// Flows that were paused at once because their destination was in the cache.
    pub by_cache: u64,
    /// Sum of granted pause times of all priorities, without what ended early.
    pub granted: Duration,
    /// Pauses that ended before a frame could be sent.
    pub missed: u64,
}

/// The proxy. See the module documentation.
#[derive(Debug)]
pub struct Proxy {
    ports: Box<[Port]>,
    fabric: Senders,
    hosts: Senders,
    policy: PausePolicy,
    cache: Option<Cache>,
    forwarded: u64,
    refused: [u64; Refusal::ALL.len()],
}

#[derive(Debug)]
struct Port {
    kind: Kind,
    protected: PrioritySet,
    gate: Gate,
    credit: [Credit; PRIORITIES],
    pauses: Pauses,
    counters: PortCounters,
}

impl Proxy {
    /// Creates a proxy without pauses. The plan must be sound. The seed prevents others from
    /// choosing addresses that collide in the cache.
    #[must_use]
    pub fn new(plan: &ProxyPlan, seed: u64) -> Self {
        assert!(plan.is_sound(), "a plan that was not checked");
        let port = |p: &PortPlan| Port {
            kind: p.kind,
            protected: p.protected,
            gate: Gate::default(),
            credit: [Credit::full(&plan.policy); PRIORITIES],
            pauses: Pauses::new(p.rate),
            counters: PortCounters::default(),
        };
        Self {
            ports: plan.ports.iter().map(port).collect(),
            fabric: plan.fabric.clone(),
            hosts: plan.hosts.clone(),
            policy: plan.policy,
            cache: plan.cache.map(|c| Cache::new(c, seed)),
            forwarded: 0,
            refused: [0; Refusal::ALL.len()],
        }
    }

    /// Handles an SFCM that is about to leave. Ports are those of the plan.
    pub fn on_message(&mut self, now: Instant, message: &Message) -> Outcome {
        let outcome = match self.judge(now, message) {
            Ok(None) => Outcome::Forward,
            Ok(Some(egress)) if message.pause == Duration::ZERO => {
                self.resume(now, egress, message)
            }
            Ok(Some(egress)) => self.pause(now, egress, message),
            Err(refusal) => Outcome::Refused(refusal),
        };
        match outcome {
            Outcome::Forward => self.forwarded += 1,
            Outcome::Paused(_) | Outcome::Resumed(_) => {}
            Outcome::Refused(why) => self.refused[why as usize] += 1,
        }
        outcome
    }

    /// Returns true if a message may be forwarded to an egress port of another worker, which cannot
    /// determine its ingress port any more. A refused one is counted here.
    pub fn admits(&mut self, ingress: PortId, sender: IpAddr) -> bool {
        let admitted = self.trusts(ingress, sender);
        self.refused[Refusal::Sender as usize] += u64::from(!admitted);
        admitted
    }

    /// Handles the first frame of a flow from the host at `ingress`. If its destination is in the
    /// cache the host is paused at once. Returns true if its pause was extended.
    pub fn on_flow(
        &mut self,
        now: Instant,
        ingress: PortId,
        destination: IpAddr,
        priority: Priority,
    ) -> bool {
        let Some(cache) = &mut self.cache else { return false };
        let port = &mut self.ports[ingress.index()];
        // A host that obeys messages is not paused for its flows to come.
        if !port.is_proxied() || !port.protected.contains(priority) {
            return false;
        }
        let Some(until) = cache.until(now, destination, priority) else { return false };
        let longer = port.grant(now, priority, None, until, &self.policy) == Grant::Longer;
        port.counters.by_cache += u64::from(longer);
        longer
    }

    /// Returns the frame that the proxy has to send: pauses to begin, to extend, or to renew.
    #[inline]
    #[must_use]
    pub fn due(&mut self, now: Instant, port: PortId) -> Option<PauseVector> {
        let port = &mut self.ports[port.index()];
        if now < port.pauses.next_deadline() {
            return None;
        }
        // The host was never paused by these, because no frame could be sent in time.
        port.counters.missed += port.pauses.forget_missed(now);
        port.pauses.due(now)
    }

    /// Merges the proxy's pauses into a frame of the port's own flow control, so that it ends no
    /// pause of the proxy's: the longer of both times, and all that is due here.
    #[must_use]
    pub fn merge(&self, now: Instant, port: PortId, own: PauseVector) -> PauseVector {
        self.ports[port.index()].pauses.merge(now, own)
    }

    /// Records a PFC frame that left by `port`, of any origin. The port's own flow control is given
    /// its frame as it was before [`Self::merge`].
    pub fn on_sent(&mut self, now: Instant, port: PortId, sent: &PauseVector) {
        self.ports[port.index()].pauses.on_sent(now, sent);
    }

    /// Returns the time at which [`Self::due`] has a frame for `port`: not later than now if it has
    /// one, NEVER if none is pending.
    #[inline]
    #[must_use]
    pub fn next_deadline(&self, port: PortId) -> Instant {
        self.ports[port.index()].pauses.next_deadline()
    }

    /// Returns the end of the pause of `priority` by messages alone for the host at `port`; in the
    /// past if it is not paused.
    #[must_use]
    pub fn until(&self, port: PortId, priority: Priority) -> Instant {
        self.ports[port.index()].pauses.until(priority)
    }

    /// Sets the link rate of `port`; the remaining pause times keep their number of bit times.
    pub fn set_rate(&mut self, now: Instant, port: PortId, rate: BitsPerSec) {
        self.ports[port.index()].pauses.set_rate(now, rate);
    }

    /// Handles link down of `port`. Its host has lost its pauses, and they are not repeated: if the
    /// congestion outlasts the outage, new messages arrive.
    pub fn on_link_down(&mut self, port: PortId) {
        self.ports[port.index()].pauses.forget(PrioritySet::ALL);
    }

    /// Sets the priorities of `port` with PFC. Pauses sent for others expire.
    pub fn set_protected(&mut self, port: PortId, protected: PrioritySet) {
        let port = &mut self.ports[port.index()];
        port.protected = protected;
        port.pauses.forget_wanted(PrioritySet(!protected.0));
    }

    /// Replaces the policy, which must be sound, and the permitted senders. Granted pauses stay
    /// granted.
    pub fn set_policy(&mut self, policy: PausePolicy, fabric: Senders, hosts: Senders) {
        assert!(policy.is_sound(), "a policy that was not checked");
        for port in &mut self.ports {
            // A lower credit holds at once, and a higher one is earned: a change must not grant time.
            port.credit.iter_mut().for_each(|credit| credit.limit(&policy));
        }
        (self.policy, self.fabric, self.hosts) = (policy, fabric, hosts);
    }

    /// Sets the kind of neighbour of `port`, as it was advertised.
    pub fn set_kind(&mut self, port: PortId, kind: Kind) {
        self.ports[port.index()].kind = kind;
    }

    /// Returns the priorities of `port` with PFC if the proxy acts for its host, else `None`.
    #[must_use]
    pub fn pausable(&self, port: PortId) -> Option<PrioritySet> {
        let port = &self.ports[port.index()];
        port.is_proxied().then_some(port.protected)
    }

    /// Returns the counters for the host at `port`.
    #[must_use]
    pub fn counters(&self, port: PortId) -> PortCounters {
        self.ports[port.index()].counters
    }

    /// Returns the number of messages refused for this reason.
    #[must_use]
    pub const fn refused(&self, why: Refusal) -> u64 {
        self.refused[why as usize]
    }

    /// Returns the number of forwarded messages.
    #[must_use]
    pub const fn forwarded(&self) -> u64 {
        self.forwarded
    }

    /// Returns the counters of the cache; all zero without one.
    #[must_use]
    pub fn cache_counters(&self) -> CacheCounters {
        self.cache.as_ref().map_or_else(CacheCounters::default, Cache::counters)
    }

    /// Returns the entries of the cache in at most `most` slots from slot `from` on.
    pub fn cached(&self, now: Instant, from: usize, most: usize) -> impl Iterator<Item = Cached> {
        self.cache.iter().flat_map(move |cache| cache.page(now, from, most))
    }

    /// Returns the number of slots of the cache, used or free.
    #[must_use]
    pub fn cache_places(&self) -> usize {
        self.cache.as_ref().map_or(0, Cache::places)
    }

    /// Returns true if messages of `sender` are accepted from `ingress`.
    fn trusts(&self, ingress: PortId, sender: IpAddr) -> bool {
        let senders = match self.ports[ingress.index()].kind {
            Kind::Fabric => &self.fabric,
            Kind::Host { .. } => &self.hosts,
        };
        senders.accept(sender)
    }

    /// Returns the host's port of a message, `None` if it is forwarded, or the reason for refusing
    /// it. Checks that use up the policy's credit come last, so that invalid messages use none.
    fn judge(&mut self, now: Instant, message: &Message) -> Result<Option<PortId>, Refusal> {
        if message.ingress.is_some_and(|ingress| !self.trusts(ingress, message.sender)) {
            return Err(Refusal::Sender);
        }
        let egress = message.egress.ok_or(Refusal::NotRouted)?;
        // A host that asks for its own pause, or a loop of routes.
        if Some(egress) == message.ingress {
            return Err(Refusal::Reflected);
        }
        let port = &mut self.ports[egress.index()];
        if !port.is_proxied() {
            return Ok(None);
        }
        // The pause would stop a host that does not send the flow.
        if message.flow.src != message.host {
            return Err(Refusal::OtherHost);
        }
        if !port.protected.contains(message.priority) {
            return Err(Refusal::NotProtected);
        }
        if !port.gate.pass(now, &self.policy) {
            return Err(Refusal::TooMany);
        }
        Ok(Some(egress))
    }

    /// Pauses for as long as the policy allows, and records the destination for other flows, even
    /// if this host's credit is used up: other hosts have theirs.
    fn pause(&mut self, now: Instant, egress: PortId, message: &Message) -> Outcome {
        let port = &mut self.ports[egress.index()];
        // The cache gets the requested pause within the limit, and not the part that this host's credit allows.
        let asked = message.pause.min(self.policy.longest);
        let until = now.saturating_add(asked);
        let flow = Some(message.flow);
        let grant = port.grant(now, message.priority, flow, until, &self.policy);
        if let Some(cache) = &mut self.cache {
            cache.remember(now, message.flow.dst, message.priority, asked);
        }
        if grant == Grant::Nothing {
            return Outcome::Refused(Refusal::NoCredit);
        }
        port.counters.accepted += 1;
        port.counters.cut_to_longest += u64::from(asked < message.pause);
        port.counters.redundant += u64::from(grant == Grant::Known);
        Outcome::Paused(port.pauses.until(message.priority))
    }

    /// Ends what was requested for a flow. Used credit is not given back, and the cache keeps the
    /// destination, which may be congested for other flows.
    fn resume(&mut self, now: Instant, egress: PortId, message: &Message) -> Outcome {
        let port = &mut self.ports[egress.index()];
        let before = port.pauses.until(message.priority);
        port.pauses.shorten(now, message.priority, message.flow, !message.is_paused_by_port);
        let until = port.pauses.until(message.priority);
        // What lies in the past was granted and used.
        let ended = before.since(until.max(now));
        port.counters.accepted += 1;
        port.counters.granted = port.counters.granted.saturating_sub(ended);
        *match ended {
            Duration::ZERO => &mut port.counters.redundant,
            _ => &mut port.counters.resumed,
        } += 1;
        Outcome::Resumed(until)
    }
}

/// Result of a pause request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Grant {
    /// The pause was extended.
    Longer,
    /// The priority was already paused for as long.
    Known,
    /// The pause would have to be extended, but no credit is left.
    Nothing,
}

impl Port {
    /// Returns true if the proxy acts for the host at this port.
    const fn is_proxied(&self) -> bool {
        matches!(self.kind, Kind::Host { reacts: false })
    }

    /// Pauses a priority until `until`, or as long as credit allows, for a flow if it is known.
    fn grant(
        &mut self,
        now: Instant,
        priority: Priority,
        flow: Option<FiveTuple>,
        until: Instant,
        policy: &PausePolicy,
    ) -> Grant {
        // Only the extension costs credit: requests that overlap pause the host once.
        let from = self.pauses.until(priority).max(now);
        let more = until.since(from);
        if more == Duration::ZERO {
            self.pauses.request(priority, flow, until);
            return Grant::Known;
        }
        let granted = self.credit[priority.index()].take(now, more, policy);
        self.counters.cut_to_credit += u64::from(granted < more);
        self.pauses.request(priority, flow, from.saturating_add(granted));
        if granted == Duration::ZERO {
            return Grant::Nothing;
        }
        self.counters.granted += granted;
        Grant::Longer
    }
}
