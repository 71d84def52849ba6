//! Whom interfaces ask for, and what they were told.

use core::net::IpAddr;
use std::collections::BTreeMap;

use super::interface::Vlans;
use crate::time::{Duration, Instant};
use crate::units::Mac;

/// How many neighbours a station asks for at most. A choice: more than a lab has devices on one
/// port, and some 100 KB.
pub const NEIGHBOURS_MAX: usize = 1_024;

/// From one question to the next (RFC 4861 section 10 and RFC 1122 2.3.2.1: a second).
pub const ASK_EVERY: Duration = Duration::from_millis(1_000);

/// After so many questions without an answer the next ones come slowly (RFC 4861 section 10,
/// MAX_MULTICAST_SOLICIT).
pub const ASK_TRIES: u32 = 3;

/// From one question to the next of those: a choice, so that a neighbour that comes up late is
/// found without anybody's doing.
pub const ASK_SLOWLY: Duration = Duration::from_millis(5_000);

/// A neighbour that an interface asks for.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) interface: usize,
    pub(super) ip: IpAddr,
    /// The address that it asks from.
    pub(super) src: IpAddr,
    /// The place of what is known.
    known: usize,
    tries: u32,
    due: Instant,
}

/// What interfaces ask for, and what is known in each VLAN.
#[derive(Debug, Default)]
pub(super) struct Table {
    asks: Vec<Ask>,
    known: Vec<Option<Mac>>,
    places: BTreeMap<(Vlans, IpAddr), usize>,
}

impl Table {
    /// Lets an interface ask for `ip` from its own address `src`, and gives the question's place.
    /// Nothing when there are [`NEIGHBOURS_MAX`] already.
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

    /// The Ethernet address at a place, if it is known.
    pub(super) fn mac(&self, place: usize) -> Option<Mac> {
        self.known[self.asks[place].known]
    }

    /// Somebody in these VLANs says that `ip` is at `mac`. False when nobody asks for it, or when
    /// another address is known that this one is not to replace.
    pub(super) fn told(&mut self, vlans: Vlans, ip: IpAddr, mac: Mac, replace: bool) -> bool {
        let Some(place) = self.places.get(&(vlans, ip)) else { return false };
        let known = &mut self.known[*place];
        if mac.is_multicast() || known.is_some_and(|old| old != mac && !replace) {
            return false;
        }
        *known = Some(mac);
        true
    }

    /// The first question that is due. Each interface asks at least once, as whoever it asks learns
    /// of it by that.
    pub(super) fn due(&self, now: Instant) -> Option<usize> {
        self.asks.iter().position(|a| a.due <= now)
    }

    /// The question at a place.
    pub(super) fn at(&self, place: usize) -> &Ask {
        &self.asks[place]
    }

    /// A question that is due is dealt with: says whether it is to be asked, and when next.
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

    /// When the next question is due.
    pub(super) fn next_deadline(&self) -> Instant {
        self.asks.iter().map(|a| a.due).min().unwrap_or(Instant::NEVER)
    }

    /// Forgets what is known, and asks anew.
    pub(super) fn forget(&mut self) {
        self.known.fill(None);
        for ask in &mut self.asks {
            (ask.tries, ask.due) = (0, Instant::ZERO);
        }
    }

    /// Who is asked for by whom, and what is known.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, IpAddr, Option<Mac>)> {
        self.asks.iter().map(|a| (a.interface, a.ip, self.known[a.known]))
    }
}
