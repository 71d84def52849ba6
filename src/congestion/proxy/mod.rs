//! The top-of-rack proxy of Source Flow Control: messages to hosts that know PFC alone become pauses on
//! those hosts' ports (802.1Q 5.11 j as proposed, P802.1Qdw).
//!
//! The caller asks [`Proxy::on_message`] about every SFCM that is about to leave a port, which is where
//! the proposal puts its stream filter, and does as the [`Outcome`] says. Per port and poll it then asks
//! [`Proxy::due`] for a frame of the proxy's own, passes what the port's own flow control wants to say
//! through [`Proxy::merge`], and confirms every PFC frame that left with [`Proxy::on_sent`]. One proxy
//! serves the ports of one worker, since a message meets it where its host's port is.
//!
//! What it guarantees, whatever messages say, however many there are and whenever they are repeated:
//!
//! - A message that came in from a port or address that the policy does not name goes nowhere, not even
//!   to another switch, which could not tell any more where it came from.
//! - Within any span of time a host's priority is paused for no longer than the policy's credit and its
//!   share of the span, plus a quantum per frame, because quanta are rounded up.
//! - A message never ends or shortens a pause: several points may be congested at once, and the one that
//!   drains first does not speak for the others.
//! - Nothing allocates after [`Proxy::new`], and every message is counted by what became of it.

mod cache;
mod credit;
mod pauses;
mod plan;
#[cfg(test)]
mod tests;

use core::net::IpAddr;

use crate::time::{Duration, Instant};
use crate::units::{BitsPerSec, PRIORITIES, PortId, Priority, PrioritySet, Quanta};
use cache::Cache;
use credit::{Credit, Gate};
use pauses::Pauses;

pub use cache::CacheCounters;
pub use plan::{CachePlan, Kind, PausePolicy, PortPlan, ProxyPlan, Remember, Senders};

/// What an SFCM and the switch's own tables say of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// The port that it came in by; nothing where the switch made it itself, or judged its sender where
    /// it came in.
    pub ingress: Option<PortId>,
    /// The port that it would leave by; nothing where the switch has no way to its destination.
    pub egress: Option<PortId>,
    /// The IP address that it came from: the data's destination, or the congested switch.
    pub sender: IpAddr,
    /// The IP address that it goes to: the host that sends the data.
    pub host: IpAddr,
    /// The source of the flow that it is about.
    pub flow_source: IpAddr,
    /// The destination of the flow that it is about, if it says so.
    pub flow_destination: Option<IpAddr>,
    /// The priority that the host sends the flow with.
    pub priority: Priority,
    /// How long the host is to pause it.
    pub pause: Duration,
}

/// What is to become of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It goes on as the packet that it is: to another switch, or to a host that obeys it itself.
    Forward,
    /// It ends here: the host's priority is paused until then.
    Paused(Instant),
    /// It ends here, and nothing follows.
    Refused(Refusal),
}

/// Why nothing follows from a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The policy does not accept messages of this sender from this port.
    Sender,
    /// The switch does not know the host's address.
    NotRouted,
    /// It would leave by the port that it came in by: a host that wants itself paused, or a loop.
    Reflected,
    /// It is about a flow of another host than the one that it goes to.
    OtherHost,
    /// PFC does not run for the priority on the host's port.
    NotProtected,
    /// It asks for a pause of no length.
    NoPause,
    /// More messages came for this port than the policy lets through.
    TooMany,
    /// The host's priority has used up all the pausing that the policy allows for now.
    NoCredit,
}

impl Refusal {
    /// All of them, in the order of their declaration.
    pub const ALL: [Self; 8] = [
        Self::Sender,
        Self::NotRouted,
        Self::Reflected,
        Self::OtherHost,
        Self::NotProtected,
        Self::NoPause,
        Self::TooMany,
        Self::NoCredit,
    ];
}

/// What one PFC frame says: the priorities that it names, and how long each is paused. 0 resumes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PauseTimes {
    /// The priorities that the frame is about.
    pub named: PrioritySet,
    /// The time vector, by priority; 0 for those not named.
    pub time: [Quanta; PRIORITIES],
}

/// What happened for one port's host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortCounters {
    /// Messages that paused it, or would have if it were not paused that long already.
    pub accepted: u64,
    /// Accepted messages that asked for nothing more than what had been granted.
    pub redundant: u64,
    /// Messages that asked for longer than the policy's longest pause and got that.
    pub cut_to_longest: u64,
    /// Messages and flows that got less than they asked for, because no more credit was left.
    pub cut_to_credit: u64,
    /// Flows that were paused at once because their destination was known to be congested.
    pub by_cache: u64,
    /// How long its priorities were granted to be paused, summed over them.
    pub granted: Duration,
    /// Pauses that were over before a frame could be sent.
    pub missed: u64,
}

/// The proxy. See the module's head.
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
    /// A proxy that has paused nobody. The plan is sound. The seed keeps others from choosing addresses
    /// that meet in one place of the cache.
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

    /// An SFCM is about to leave. Ports are those of the plan.
    pub fn on_message(&mut self, now: Instant, message: &Message) -> Outcome {
        let outcome = match self.judge(now, message) {
            Ok(None) => Outcome::Forward,
            Ok(Some(egress)) => self.pause(now, egress, message),
            Err(refusal) => Outcome::Refused(refusal),
        };
        match outcome {
            Outcome::Forward => self.forwarded += 1,
            Outcome::Paused(_) => {}
            Outcome::Refused(why) => self.refused[why as usize] += 1,
        }
        outcome
    }

    /// A message came in that leaves by a port of another worker, which cannot know any more where it
    /// came from: whether it may. One that may not is counted here.
    pub fn admits(&mut self, ingress: PortId, sender: IpAddr) -> bool {
        let admitted = self.trusts(ingress, sender);
        self.refused[Refusal::Sender as usize] += u64::from(!admitted);
        admitted
    }

    /// The first frame of a flow came from the host at `ingress`. If its destination is known to be
    /// congested the host is paused at once; gives whether it is paused for longer now.
    pub fn on_flow(
        &mut self,
        now: Instant,
        ingress: PortId,
        destination: IpAddr,
        priority: Priority,
    ) -> bool {
        let Some(cache) = &mut self.cache else { return false };
        let port = &mut self.ports[ingress.index()];
        if !port.is_proxied() || !port.protected.contains(priority) {
            return false;
        }
        let Some(until) = cache.until(now, destination, priority) else { return false };
        let longer = port.grant(now, priority, until, &self.policy) == Grant::Longer;
        port.counters.by_cache += u64::from(longer);
        longer
    }

    /// The frame that the proxy has to send by itself: pauses to begin, to lengthen, or to renew.
    #[inline]
    #[must_use]
    pub fn due(&mut self, now: Instant, port: PortId) -> Option<PauseTimes> {
        let port = &mut self.ports[port.index()];
        if now < port.pauses.next_deadline() {
            return None;
        }
        port.counters.missed += port.pauses.forget_missed(now);
        port.pauses.due(now)
    }

    /// What a frame that the port's own flow control is about to send has to say so that it ends no
    /// pause of the proxy's: of both times the longer one, and all that is due here besides.
    #[must_use]
    pub fn merge(&self, now: Instant, port: PortId, own: PauseTimes) -> PauseTimes {
        self.ports[port.index()].pauses.merge(now, own)
    }

    /// A PFC frame left by `port`, whosever it was. The port's own flow control is told of its own
    /// frame as it was before [`Self::merge`].
    pub fn on_sent(&mut self, now: Instant, port: PortId, sent: &PauseTimes) {
        self.ports[port.index()].pauses.on_sent(now, sent);
    }

    /// When [`Self::due`] has something for `port`; not later than now if it has it already, NEVER
    /// while nothing is left to say.
    #[inline]
    #[must_use]
    pub fn next_deadline(&self, port: PortId) -> Instant {
        self.ports[port.index()].pauses.next_deadline()
    }

    /// Until when the host at `port` is to pause `priority`, by messages alone; in the past where it
    /// need not.
    #[must_use]
    pub fn until(&self, port: PortId, priority: Priority) -> Instant {
        self.ports[port.index()].pauses.until(priority)
    }

    /// The link of `port` has another rate: what is left of pauses is that many bit times of it.
    pub fn set_rate(&mut self, now: Instant, port: PortId, rate: BitsPerSec) {
        self.ports[port.index()].pauses.set_rate(now, rate);
    }

    /// The link of `port` went down. Its host has forgotten its pauses, and they are not asked for
    /// again: if the congestion outlasts the link, new messages say so.
    pub fn on_link_down(&mut self, port: PortId) {
        self.ports[port.index()].pauses.forget(PrioritySet::ALL);
    }

    /// PFC runs for these priorities of `port` from now on. What was told for others runs out by itself.
    pub fn set_protected(&mut self, port: PortId, protected: PrioritySet) {
        let port = &mut self.ports[port.index()];
        port.protected = protected;
        port.pauses.forget_wanted(PrioritySet(!protected.0));
    }

    /// Another policy, which is sound, and whose messages are accepted from now on. Pauses that were
    /// granted stay granted.
    pub fn set_policy(&mut self, policy: PausePolicy, fabric: Senders, hosts: Senders) {
        assert!(policy.is_sound(), "a policy that was not checked");
        for port in &mut self.ports {
            port.credit.iter_mut().for_each(|credit| credit.limit(&policy));
        }
        (self.policy, self.fabric, self.hosts) = (policy, fabric, hosts);
    }

    /// What is at the other end of `port`, as its neighbour told since.
    pub fn set_kind(&mut self, port: PortId, kind: Kind) {
        self.ports[port.index()].kind = kind;
    }

    /// What happened for the host at `port`.
    #[must_use]
    pub fn counters(&self, port: PortId) -> PortCounters {
        self.ports[port.index()].counters
    }

    /// How many messages were refused for this reason.
    #[must_use]
    pub const fn refused(&self, why: Refusal) -> u64 {
        self.refused[why as usize]
    }

    /// How many messages went on as they were.
    #[must_use]
    pub const fn forwarded(&self) -> u64 {
        self.forwarded
    }

    /// What happened in the cache; nothing where there is none.
    #[must_use]
    pub fn cache_counters(&self) -> CacheCounters {
        self.cache.as_ref().map_or_else(CacheCounters::default, Cache::counters)
    }

    /// Whether messages of `sender` are accepted from `ingress`.
    fn trusts(&self, ingress: PortId, sender: IpAddr) -> bool {
        let senders = match self.ports[ingress.index()].kind {
            Kind::Fabric => &self.fabric,
            Kind::Host { .. } => &self.hosts,
        };
        senders.accept(sender)
    }

    /// The host's port that a message is for, nothing if it goes on, or why it ends here. What costs
    /// the policy something comes last, so that what is wrong anyway uses nothing up.
    fn judge(&mut self, now: Instant, message: &Message) -> Result<Option<PortId>, Refusal> {
        if message.ingress.is_some_and(|ingress| !self.trusts(ingress, message.sender)) {
            return Err(Refusal::Sender);
        }
        let egress = message.egress.ok_or(Refusal::NotRouted)?;
        if Some(egress) == message.ingress {
            return Err(Refusal::Reflected);
        }
        let port = &mut self.ports[egress.index()];
        if !port.is_proxied() {
            return Ok(None);
        }
        if message.flow_source != message.host {
            return Err(Refusal::OtherHost);
        }
        if !port.protected.contains(message.priority) {
            return Err(Refusal::NotProtected);
        }
        if message.pause == Duration::ZERO {
            return Err(Refusal::NoPause);
        }
        if !port.gate.pass(now, &self.policy) {
            return Err(Refusal::TooMany);
        }
        Ok(Some(egress))
    }

    /// Pauses as long as the policy allows, and remembers the destination for other flows. A
    /// destination is remembered even when this host's credit is used up: others have theirs.
    fn pause(&mut self, now: Instant, egress: PortId, message: &Message) -> Outcome {
        let port = &mut self.ports[egress.index()];
        let asked = message.pause.min(self.policy.longest);
        let until = now.saturating_add(asked);
        let grant = port.grant(now, message.priority, until, &self.policy);
        if let (Some(cache), Some(to)) = (&mut self.cache, message.flow_destination) {
            cache.remember(now, to, message.priority, asked);
        }
        if grant == Grant::Nothing {
            return Outcome::Refused(Refusal::NoCredit);
        }
        port.counters.accepted += 1;
        port.counters.cut_to_longest += u64::from(asked < message.pause);
        port.counters.redundant += u64::from(grant == Grant::Known);
        Outcome::Paused(port.pauses.until(message.priority))
    }
}

/// What asking for a pause came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Grant {
    /// The priority is paused for longer than before.
    Longer,
    /// It was paused that long already.
    Known,
    /// It would have to be paused for longer, and no credit is left for that.
    Nothing,
}

impl Port {
    /// Whether the proxy speaks for the host here.
    const fn is_proxied(&self) -> bool {
        matches!(self.kind, Kind::Host { reacts: false })
    }

    /// Pauses `priority` until `until`, or as near to it as credit allows.
    fn grant(
        &mut self,
        now: Instant,
        priority: Priority,
        until: Instant,
        policy: &PausePolicy,
    ) -> Grant {
        let from = self.pauses.until(priority).max(now);
        let more = until.since(from);
        if more == Duration::ZERO {
            return Grant::Known;
        }
        let granted = self.credit[priority.index()].take(now, more, policy);
        self.counters.cut_to_credit += u64::from(granted < more);
        if granted == Duration::ZERO {
            return Grant::Nothing;
        }
        self.counters.granted += granted;
        self.pauses.lengthen(priority, from.saturating_add(granted));
        Grant::Longer
    }
}
