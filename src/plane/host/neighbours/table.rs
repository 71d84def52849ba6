//! Requests of interfaces that wait for answers: neighbours that they resolve, with their known
//! addresses, and pings that a station sends on request.

use core::net::IpAddr;
use std::collections::BTreeMap;

use super::interface::Vlans;
use crate::plan::stream::NEIGHBOURS_MAX;
use ground::time::{Duration, Instant};
use ground::units::Mac;

/// Interval between the first requests (RFC 4861 section 10 and RFC 1122 2.3.2.1: one second).
pub const ASK_EVERY: Duration = Duration::from_millis(1_000);

/// Number of requests at that interval (RFC 4861 section 10, MAX_MULTICAST_SOLICIT).
pub const ASK_TRIES: u32 = 3;

/// Interval of later requests. A choice: a neighbour that comes up late is found without
/// intervention.
pub const ASK_SLOWLY: Duration = Duration::from_millis(5_000);

/// A neighbour that an interface resolves.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) interface: usize,
    pub(super) ip: IpAddr,
    /// Source address of the requests.
    pub(super) src: IpAddr,
    /// Index in `known`.
    known: usize,
    tries: u32,
    due: Instant,
}

/// Neighbours to resolve, and known addresses by VLAN.
#[derive(Debug, Default)]
pub(super) struct Table {
    asks: Vec<Ask>,
    known: Vec<Option<Mac>>,
    places: BTreeMap<(Vlans, IpAddr), usize>,
}

impl Table {
    /// Adds a neighbour `ip` for an interface with address `src`; returns its index. `None` if
    /// there are [`NEIGHBOURS_MAX`] already.
    pub(super) fn ask(
        &mut self,
        interface: usize,
        vlans: Vlans,
        src: IpAddr,
        ip: IpAddr,
    ) -> Option<usize> {
        // Several addresses of an interface may have one gateway.
        let same = |a: &Ask| a.interface == interface && a.ip == ip;
        if let Some(place) = self.asks.iter().position(same) {
            return Some(place);
        }
        if self.asks.len() == NEIGHBOURS_MAX {
            return None;
        }
        // Interfaces in one VLAN share what is known of a neighbour.
        let known = *self.places.entry((vlans, ip)).or_insert_with(|| {
            self.known.push(None);
            self.known.len() - 1
        });
        self.asks.push(Ask { interface, ip, src, known, tries: 0, due: Instant::ZERO });
        Some(self.asks.len() - 1)
    }

    /// Returns the Ethernet address of a neighbour, if known.
    pub(super) fn mac(&self, place: usize) -> Option<Mac> {
        self.known[self.asks[place].known]
    }

    /// Records the address of `ip` in these VLANs. Returns false if no interface resolves it, or if
    /// another address is known that must not be replaced.
    pub(super) fn learn(&mut self, vlans: Vlans, ip: IpAddr, mac: Mac, replace: bool) -> bool {
        let Some(place) = self.places.get(&(vlans, ip)) else { return false };
        let known = &mut self.known[*place];
        // A group address is no neighbour's: packets to it would reach many.
        if mac.is_multicast() || known.is_some_and(|old| old != mac && !replace) {
            return false;
        }
        *known = Some(mac);
        true
    }

    /// Returns the first request that is due. Each interface sends at least one request, from which
    /// the neighbour learns its address.
    pub(super) fn due(&self, now: Instant) -> Option<usize> {
        self.asks.iter().position(|a| a.due <= now)
    }

    pub(super) fn at(&self, place: usize) -> &Ask {
        &self.asks[place]
    }

    /// Handles a request that is due: schedules the next one, and returns true if it is to be sent.
    pub(super) fn turn(&mut self, now: Instant, place: usize) -> bool {
        let ask = &mut self.asks[place];
        // The first request is sent in any case: by it the neighbour learns this end.
        if ask.tries > 0 && self.known[ask.known].is_some() {
            ask.due = Instant::NEVER;
            return false;
        }
        ask.tries = ask.tries.saturating_add(1);
        let wait = if ask.tries < ASK_TRIES { ASK_EVERY } else { ASK_SLOWLY };
        ask.due = now.saturating_add(wait);
        true
    }

    /// Returns the time of the next request.
    pub(super) fn next_deadline(&self) -> Instant {
        self.asks.iter().map(|a| a.due).min().unwrap_or(Instant::NEVER)
    }

    /// Clears the known addresses, and starts resolving again.
    pub(super) fn forget(&mut self) {
        self.known.fill(None);
        for ask in &mut self.asks {
            (ask.tries, ask.due) = (0, Instant::ZERO);
        }
    }

    /// Iterates over interfaces, neighbours and known addresses.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, IpAddr, Option<Mac>)> {
        self.asks.iter().map(|a| (a.interface, a.ip, self.known[a.known]))
    }
}

/// Maximum number of pings kept, completed ones included.
pub const PINGS_MAX: usize = 64;

/// Interval between the requests of a ping. A choice, the same as ping's.
pub const PING_EVERY: Duration = Duration::from_millis(1_000);

/// Requests of a ping before it is lost. A choice.
pub const PING_TRIES: u32 = 3;

/// State of a ping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PingState {
    /// No reply yet.
    Waiting,
    /// Answered, with the round-trip time.
    Answered(Duration),
    /// No reply to [`PING_TRIES`] requests.
    Lost,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ping {
    /// Number of the ping; the station's pings are numbered from 0.
    pub number: u16,
    pub interface: String,
    pub dst: IpAddr,
    pub state: PingState,
}

/// Reason for not sending a ping.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PingError {
    #[error("there is no interface {0}")]
    NoInterface(String),
    /// The interface has no address of that IP version, or no route to the destination.
    #[error("interface {0} has no address on the link of {1}, and no gateway that leads there")]
    NoRoute(String, IpAddr),
    /// All kept pings are still waiting, or there are too many neighbours.
    #[error("{PINGS_MAX} pings are waiting for answers, or too many neighbours are known")]
    Busy,
}

/// A ping with its internal state.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) ping: Ping,
    pub(super) interface: usize,
    /// Source address.
    pub(super) src: IpAddr,
    /// Index of the next hop in the table.
    pub(super) by: usize,
    /// Requests made, including those without a resolved next hop.
    pub(super) tries: u32,
    /// Time of the last request sent.
    pub(super) sent: Option<Instant>,
    /// Time of the next request, or of giving up.
    pub(super) due: Instant,
}

impl Asking {
    /// Handles a reply with this ping's number from `src`. Returns true if the ping waited for it.
    pub(super) fn on_reply(&mut self, now: Instant, src: IpAddr) -> bool {
        // A reply before any request belongs to another ping.
        let Some(sent) = self.sent else { return false };
        if self.ping.state != PingState::Waiting || src != self.ping.dst {
            return false;
        }
        self.ping.state = PingState::Answered(now.since(sent));
        self.due = Instant::NEVER;
        true
    }
}
