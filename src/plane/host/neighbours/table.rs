//! Neighbours that interfaces resolve, and their known addresses.

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
        (interface, vlans): (usize, Vlans),
        src: IpAddr,
        ip: IpAddr,
    ) -> Option<usize> {
        let same = |a: &Ask| a.interface == interface && a.ip == ip;
        if let Some(place) = self.asks.iter().position(same) {
            return Some(place);
        }
        if self.asks.len() == NEIGHBOURS_MAX {
            return None;
        }
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
