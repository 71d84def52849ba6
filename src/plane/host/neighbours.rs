//! The interfaces of a station: they answer ARP requests, neighbour solicitations and pings for
//! their addresses, resolve their gateways, and send pings on request.
//!
//! - Frames that no flow claims are passed here; those of no interface are passed back.
//! - Where possible a reply reuses the request's frame: pings of any length are answered in place.
//! - Replies and requests wait in one queue of [`WAITING_MAX`]; when it is full further ones are
//!   refused and counted. They are sent as data: a pause of their priority stops them.
//! - Gateways are resolved with [`ASK_TRIES`] requests at intervals of [`ASK_EVERY`], then of
//!   [`ASK_SLOWLY`]. A known address is kept until a neighbour changes it or the link goes down.
//!
//! Interfaces join no multicast groups (MLD): a switch with snooping has to flood solicitations.

mod interface;
mod table;

pub use table::{
    ASK_EVERY, ASK_SLOWLY, ASK_TRIES, PING_EVERY, PING_TRIES, PINGS_MAX, Ping, PingError, PingState,
};

use core::net::{IpAddr, Ipv6Addr};
use std::collections::{BTreeMap, VecDeque};

use self::interface::{
    Interface, Message, PING_IDENTIFIER, ROOM, Vlans, echo_request, priority_of, question,
};
use self::table::{Asking, Table};
use super::plan::stream::InterfacePlan;
use contracts::frame::{FCS_BYTES, Frame};
use ground::time::Instant;
use ground::units::{Mac, Priority, PrioritySet};
use wire::ip::{self, Fragment};
use wire::{EtherType, arp, echo, ethernet, ipv6, neighbour, vlan};

/// Maximum number of queued replies and requests. A choice: two bursts.
pub const WAITING_MAX: usize = 64;

/// A neighbour that an interface resolves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Neighbour {
    pub interface: String,
    pub ip: IpAddr,
    /// Its Ethernet address, if known.
    pub mac: Option<Mac>,
}

/// Counters of interfaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NeighbourCounters {
    /// ARP requests and neighbour solicitations sent.
    pub asked: u64,
    /// Replies accepted, gratuitous ones included.
    pub replies: u64,
    /// ARP requests and neighbour solicitations answered.
    pub answered: u64,
    /// Pings answered.
    pub echoed: u64,
    /// Requests of others dropped because the queue was full.
    pub refused: u64,
}

/// Snapshot of a station's interfaces.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NeighbourSnapshot {
    pub counters: NeighbourCounters,
    /// Neighbours to resolve, and their known addresses.
    pub neighbours: Vec<Neighbour>,
    /// Pings, oldest first.
    pub pings: Vec<Ping>,
}

/// A queued frame.
#[derive(Debug)]
enum Waiting<F> {
    /// A received frame that was rewritten as the reply.
    Turned(F),
    /// A message for which no frame has been allocated yet.
    Made(Message),
}

/// The interfaces of a station.
#[derive(Debug)]
pub(super) struct Neighbours<F> {
    interfaces: Vec<Interface>,
    /// Interface that owns an address, by VLAN.
    own: BTreeMap<(Vlans, IpAddr), usize>,
    table: Table,
    pings: VecDeque<Asking>,
    pings_begun: u16,
    waiting: VecDeque<(Priority, Waiting<F>)>,
    /// Earliest deadline.
    next: Instant,
    counters: NeighbourCounters,
}

impl<F: Frame> Neighbours<F> {
    /// Creates the interfaces of validated plans.
    pub(super) fn new(plans: &[InterfacePlan]) -> Self {
        let interfaces: Vec<_> = plans.iter().map(Interface::new).collect();
        let (mut own, mut table) = (BTreeMap::new(), Table::default());
        for (n, interface) in interfaces.iter().enumerate() {
            for address in &interface.addresses {
                // Of two interfaces with one address in one VLAN the first answers.
                own.entry((interface.vlans(), address.ip)).or_insert(n);
                if let Some(gateway) = address.gateway {
                    let asked = table.ask(n, interface.vlans(), address.ip, gateway);
                    asked.expect("a checked plan has no more gateways than fit");
                }
            }
        }
        // The queue allocates at the start or never.
        let room = if interfaces.is_empty() { 0 } else { WAITING_MAX };
        Self {
            interfaces,
            own,
            next: table.next_deadline(),
            table,
            pings: VecDeque::new(),
            pings_begun: 0,
            waiting: VecDeque::with_capacity(room),
            counters: NeighbourCounters::default(),
        }
    }

    /// Processes a frame that no flow claims. Returns it if no interface claims it either.
    pub(super) fn take(&mut self, now: Instant, frame: F, walk: &vlan::Walk) -> Option<F> {
        if self.interfaces.is_empty() {
            return Some(frame);
        }
        match walk.ethertype {
            EtherType::ARP => self.take_arp(now, frame, walk),
            EtherType::IPV4 | EtherType::IPV6 => self.take_ip(now, frame, walk),
            _ => Some(frame),
        }
    }

    fn take_arp(&mut self, now: Instant, mut frame: F, walk: &vlan::Walk) -> Option<F> {
        let head = frame.head_mut();
        let Ok(message) = arp::Repr::parse(&head[walk.l3..]) else { return Some(frame) };
        let vlans = Vlans::in_frame(head, walk);
        // A request tells its sender's address as well as a reply does (RFC 826).
        let learnt = self.learn(now, vlans, message.sender_ip.into(), message.sender_mac, true);
        let Some(&n) = self.own.get(&(vlans, message.target_ip.into())) else {
            return (!learnt).then_some(frame);
        };
        if let Some(answer) = message.answer(self.interfaces[n].mac) {
            answer.emit(&mut head[walk.l3..]).expect("the answer is as long as the question");
            readdress(head, answer.target_mac, answer.sender_mac);
            let sent = self.push(priority_in(walk), Waiting::Turned(frame));
            self.counters.answered += u64::from(sent);
            self.counters.refused += u64::from(!sent);
        }
        None
    }

    fn take_ip(&mut self, now: Instant, mut frame: F, walk: &vlan::Walk) -> Option<F> {
        let vlans = Vlans::in_frame(frame.head(), walk);
        if walk.ethertype == EtherType::IPV6 {
            if let Ok(message) = neighbour::Repr::parse(&frame.head()[walk.l3..]) {
                // The message has no source of its own: the packet's is needed for the answer.
                let src = ipv6::View::new(&frame.head()[walk.l3..]).map(|v| v.src());
                let src = src.unwrap_or(Ipv6Addr::UNSPECIFIED);
                let taken = self.on_neighbour(now, vlans, walk, src, &message);
                return (!taken).then_some(frame);
            }
        }
        let head = frame.head_mut();
        let Ok(view) = ip::View::new(walk.ethertype, &head[walk.l3..]) else { return Some(frame) };
        let (src, own) = (view.src(), self.own.get(&(vlans, view.dst())));
        // To its IP address but another MAC address a packet is flooded, not for this station.
        let Some(&n) = own.filter(|n| walk.dst == self.interfaces[**n].mac) else {
            return Some(frame);
        };
        // An answer would make the damage look as if it were sent.
        let damaged = matches!(&view, ip::View::V4(v4) if !v4.checksum_ok());
        let Some(upper) = view.upper().ok().filter(|u| !damaged && u.fragment == Fragment::Whole)
        else {
            return Some(frame);
        };
        if let Ok(reply) = echo::Repr::parse(upper.payload, src, view.dst()) {
            // A reply that no ping waits for is a frame without a flow.
            if reply.operation == echo::Operation::Reply {
                return (!self.on_reply(now, src, &reply)).then_some(frame);
            }
        }
        if echo::answer(walk.ethertype, &mut head[walk.l3..]).is_err() {
            return Some(frame);
        }
        readdress(head, walk.src, self.interfaces[n].mac);
        let sent = self.push(priority_in(walk), Waiting::Turned(frame));
        self.counters.echoed += u64::from(sent);
        self.counters.refused += u64::from(!sent);
        None
    }

    /// Processes a solicitation or an advertisement. Returns false if it concerns no interface
    /// here.
    fn on_neighbour(
        &mut self,
        now: Instant,
        vlans: Vlans,
        walk: &vlan::Walk,
        src: Ipv6Addr,
        message: &neighbour::Repr,
    ) -> bool {
        let target = message.target;
        // Without the override flag a known address stays (RFC 4861 7.2.5).
        if let neighbour::Kind::Advertisement { overrides, .. } = message.kind {
            let mac = message.link_layer;
            return mac.is_some_and(|mac| self.learn(now, vlans, target.into(), mac, overrides));
        }
        if let Some(mac) = message.link_layer {
            self.learn(now, vlans, src.into(), mac, true);
        }
        let Some(&n) = self.own.get(&(vlans, target.into())) else { return false };
        let interface = &self.interfaces[n];
        // A sender without an address is answered by multicast (RFC 4861 7.2.4).
        let nobody = src.is_unspecified();
        let (dst, mac) = if nobody {
            (neighbour::ALL_NODES, neighbour::group_mac(neighbour::ALL_NODES))
        } else {
            (src, message.link_layer.unwrap_or(walk.src))
        };
        let kind =
            neighbour::Kind::Advertisement { router: false, solicited: !nobody, overrides: true };
        let answer = neighbour::Repr { kind, target, link_layer: Some(interface.mac) };
        let message = interface.frame(mac, EtherType::IPV6, answer.buffer_len(), |out| {
            answer.emit(target, dst, out).expect(ROOM);
        });
        let sent = self.push(interface.priority(), Waiting::Made(message));
        self.counters.answered += u64::from(sent);
        self.counters.refused += u64::from(!sent);
        true
    }

    /// Records the address of a neighbour.
    fn learn(&mut self, now: Instant, vlans: Vlans, ip: IpAddr, mac: Mac, replace: bool) -> bool {
        let learnt = self.table.learn(vlans, ip, mac, replace);
        if learnt {
            self.counters.replies += 1;
            // Pings that waited for it are due at once.
            for asking in &mut self.pings {
                // One that was sent before waits for its reply, not for an address.
                let waits = asking.ping.state == PingState::Waiting && asking.sent.is_none();
                if waits && self.table.mac(asking.by).is_some() {
                    asking.due = now;
                    self.next = self.next.min(now);
                }
            }
        }
        learnt
    }

    /// Processes an echo reply. Returns false if no ping waits for it.
    fn on_reply(&mut self, now: Instant, src: IpAddr, reply: &echo::Repr<'_>) -> bool {
        let number = |a: &&mut Asking| a.ping.number == reply.sequence;
        reply.identifier == PING_IDENTIFIER
            && self.pings.iter_mut().find(number).is_some_and(|a| a.on_reply(now, src))
    }

    /// Appends an entry to the queue; returns false if it is full.
    fn push(&mut self, priority: Priority, what: Waiting<F>) -> bool {
        // A peer that floods requests gets no more memory than this.
        let room = self.waiting.len() < WAITING_MAX;
        if room {
            self.waiting.push_back((priority, what));
        }
        room
    }

    /// Queues a ping for the next poll.
    pub(super) fn ping(&mut self, interface: &str, dst: IpAddr) -> Result<u16, PingError> {
        let name = || interface.to_owned();
        let n = self.interfaces.iter().position(|i| i.name == interface);
        let n = n.ok_or_else(|| PingError::NoInterface(name()))?;
        let route = self.interfaces[n].route(dst);
        let (src, hop) = route.ok_or_else(|| PingError::NoRoute(name(), dst))?;
        if self.pings.len() == PINGS_MAX {
            // The oldest ping that is over makes room; one that waits never does.
            let over = self.pings.iter().position(|a| a.ping.state != PingState::Waiting);
            self.pings.remove(over.ok_or(PingError::Busy)?);
        }
        let vlans = self.interfaces[n].vlans();
        let by = self.table.ask(n, vlans, src, hop).ok_or(PingError::Busy)?;
        let number = self.pings_begun;
        self.pings_begun = number.wrapping_add(1);
        let ping = Ping { number, interface: name(), dst, state: PingState::Waiting };
        // At the next poll, which knows the time.
        let due = Instant::ZERO;
        self.pings.push_back(Asking { ping, interface: n, src, by, tries: 0, sent: None, due });
        self.next = Instant::ZERO;
        Ok(number)
    }

    /// Sends the requests that are due, as far as there is room.
    pub(super) fn on_timeout(&mut self, now: Instant) {
        if now < self.next {
            return;
        }
        while self.waiting.len() < WAITING_MAX {
            let Some(place) = self.table.due(now) else { break };
            // Its turn may also end: the address is known by now.
            if self.table.turn(now, place) {
                let ask = self.table.at(place);
                let interface = &self.interfaces[ask.interface];
                let message = question(interface, ask.src, ask.ip);
                let priority = interface.priority();
                self.push(priority, Waiting::Made(message));
                self.counters.asked += 1;
            }
        }
        for n in 0..self.pings.len() {
            if self.pings[n].due <= now && self.waiting.len() < WAITING_MAX {
                self.ping_turn(now, n);
            }
        }
        let pings = self.pings.iter().map(|a| a.due).min().unwrap_or(Instant::NEVER);
        self.next = self.table.next_deadline().min(pings);
    }

    /// Sends the next request of a ping that is due, or declares the ping lost.
    fn ping_turn(&mut self, now: Instant, n: usize) {
        let asking = &mut self.pings[n];
        if asking.tries == PING_TRIES {
            (asking.ping.state, asking.due) = (PingState::Lost, Instant::NEVER);
            return;
        }
        asking.tries += 1;
        asking.due = now.saturating_add(PING_EVERY);
        // The try counts: a gateway that never answers makes the ping lost as well.
        let Some(mac) = self.table.mac(asking.by) else { return };
        asking.sent = Some(now);
        let interface = &self.interfaces[asking.interface];
        let message = echo_request(interface, mac, asking);
        let priority = interface.priority();
        self.push(priority, Waiting::Made(message));
    }

    /// Returns true if a queued frame may be sent now.
    #[inline]
    pub(super) fn ready(&self, paused: PrioritySet) -> bool {
        !self.waiting.is_empty() && self.first(paused).is_some()
    }

    fn first(&self, paused: PrioritySet) -> Option<usize> {
        // A paused priority does not hold the others.
        self.waiting.iter().position(|(p, _)| !paused.contains(*p))
    }

    /// Returns the next frame to send; `make` allocates it from its bytes and its length where
    /// needed. `None` if nothing is ready, or `make` has no memory.
    pub(super) fn next(
        &mut self,
        paused: PrioritySet,
        make: impl FnOnce(&[u8], u32) -> Option<F>,
    ) -> Option<F> {
        let n = self.first(paused)?;
        if let Waiting::Made(octets) = &self.waiting[n].1 {
            // Messages are shorter than the shortest frame.
            let len = octets.len().max(ethernet::MIN_FRAME) as u32 + FCS_BYTES;
            let frame = make(octets, len)?;
            self.waiting.remove(n);
            return Some(frame);
        }
        match self.waiting.remove(n) {
            Some((_, Waiting::Turned(frame))) => Some(frame),
            _ => unreachable!("it was looked at above"),
        }
    }

    /// Returns the time of the next request. Queued frames are not included, and while they fill
    /// the queue nothing else is due.
    pub(super) fn next_deadline(&self) -> Instant {
        if self.waiting.len() < WAITING_MAX { self.next } else { Instant::NEVER }
    }

    /// Returns true if no frame is queued.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Handles a link that went down: known addresses and queued frames are dropped. Returns the
    /// number of dropped frames.
    pub(super) fn forget(&mut self) -> usize {
        let lost = self.waiting.len();
        self.waiting.clear();
        self.table.forget();
        self.next = Instant::ZERO;
        lost
    }

    /// Iterates over the interfaces' neighbours and their known addresses.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, IpAddr, Option<Mac>)> {
        self.table.iter().map(|(n, ip, mac)| (&*self.interfaces[n].name, ip, mac))
    }

    /// Iterates over the pings, oldest first.
    pub(super) fn pings(&self) -> impl Iterator<Item = &Ping> {
        self.pings.iter().map(|a| &a.ping)
    }

    pub(super) fn counters(&self) -> &NeighbourCounters {
        &self.counters
    }

    pub(super) fn snapshot(&self) -> NeighbourSnapshot {
        let neighbours = self.iter().map(|(interface, ip, mac)| Neighbour {
            interface: interface.into(),
            ip,
            mac,
        });
        NeighbourSnapshot {
            counters: self.counters,
            neighbours: neighbours.collect(),
            pings: self.pings().cloned().collect(),
        }
    }
}

/// Returns the priority of a request, and so of its reply.
fn priority_in(walk: &vlan::Walk) -> Priority {
    walk.outer.map_or(Priority::MIN, |tag| priority_of(tag.pcp))
}

/// Overwrites the addresses of a frame.
fn readdress(head: &mut [u8], dst: Mac, src: Mac) {
    head[..6].copy_from_slice(&dst.0);
    head[6..12].copy_from_slice(&src.0);
}
