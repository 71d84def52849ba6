//! Forwarding of a data frame: to one port, to all of its VLAN, or to the router (802.1Q 8.6.3).
//!
//! Where several ports lead to an address at equal cost (ECMP), a hash of the frame's flow selects
//! one, so that the frames of a flow stay in order. The hash is of the addresses, the protocol and the
//! ports of an IP packet, and of the MAC addresses of other frames. It has a seed per switch: with the
//! same hash everywhere, the flows that one switch sends to the next would all have one remainder
//! there, and take one path.

use std::collections::HashMap;
use std::net::IpAddr;

use super::Switch;
use super::admit::Origin;
use super::classify::Meta;
use super::fdb::Key;
use super::shortcut::{Decision, Flow, leaves_as_it_came};
use crate::BridgePlan;
use contracts::frame::Frame;
use contracts::stats::DropReason;
use contracts::world::{Handoff, World};
use ground::rand::Rng;
use ground::time::Instant;
use ground::units::{Mac, PortId, Vid};
use wire::flow::FiveTuple;

impl<W: World> Switch<W> {
    /// Finds the egress port or ports of a frame and delivers it.
    #[inline]
    pub(super) fn forward(&mut self, now: Instant, slot: usize, frame: W::Frame, meta: &Meta) {
        if !self.router.is_empty() && self.router.wants(meta) {
            return self.route(now, slot, frame, meta);
        }
        if meta.is_to_group() {
            return self.flood(now, slot, frame, meta);
        }
        match self.fdb.lookup(now, Key::from_parts(meta.vid, meta.dst)) {
            // The destination is on the segment that the frame came from, and has received it there.
            Some(egress) if egress == self.ports[slot].id => {
                self.count_drop(now, slot, Some(meta.priority), DropReason::SameSegment);
            }
            Some(egress) => match self.spread_over(&frame, meta) {
                Some(egress) => self.deliver(now, slot, frame, meta, egress, Origin::Line),
                None => self.unicast(now, slot, frame, meta, egress),
            },
            None => self.flood(now, slot, frame, meta),
        }
    }

    /// Returns the port of a frame that has several of equal cost. It is not cached: the flows of the
    /// cache have no ports of UDP and TCP.
    #[inline]
    fn spread_over(&self, frame: &W::Frame, meta: &Meta) -> Option<PortId> {
        if self.spread.is_empty() {
            return None;
        }
        self.spread.port(meta, frame.head(), |port| self.handoff.is_up(port))
    }

    /// Delivers a frame to its one egress port. If the frame leaves unmodified, the decision is
    /// cached for the next frames of its flow.
    #[inline]
    fn unicast(&mut self, now: Instant, slot: usize, frame: W::Frame, meta: &Meta, egress: PortId) {
        let ingress = self.ports[slot].id;
        let tables = &self.tables[ingress.index()];
        // Only a decision that needs no other tag and no other worker is cached: the frame is then never written to.
        let as_it_came = leaves_as_it_came(meta, self.tables[egress.index()].is_tagged(meta.vid));
        if let Some(to) = self.index[egress.index()] {
            let owned_and_up = self.ports[usize::from(to)].up;
            if as_it_came && owned_and_up {
                if let Some(flow) = Flow::of(frame.head()) {
                    let decision = Decision {
                        egress,
                        to,
                        priority: meta.priority,
                        group: tables.group(meta.priority),
                        lossy: tables.lossy.contains(meta.priority),
                    };
                    // For so long the table would not refresh the source address either.
                    let until = now.saturating_add(self.fdb.fresh_for());
                    let version = self.fdb.version();
                    self.ports[slot].shortcuts.note(until, version, flow, decision);
                    return self.forward_cached(now, slot, ingress, frame, decision);
                }
            }
        }
        self.deliver(now, slot, frame, meta, egress, Origin::Line);
    }

    /// Sends a frame to every other port of its VLAN that is up. Each copy is charged separately,
    /// because each uses memory.
    #[cold]
    pub(super) fn flood(&mut self, now: Instant, slot: usize, mut frame: W::Frame, meta: &Meta) {
        let ingress = self.ports[slot].id;
        let mut last = None;
        for n in 0..self.tables.len() {
            let to = PortId::new(n as u16).expect("as many ports as there are identifiers");
            let wanted = to != ingress && self.tables[n].is_member(meta.vid);
            if !wanted || !self.handoff.is_up(to) {
                continue;
            }
            // One port behind, so that the last one gets the frame itself and not a copy.
            if let Some(before) = last.replace(to) {
                self.deliver_copy(now, slot, &mut frame, meta, before);
            }
        }
        match last {
            Some(to) => self.deliver(now, slot, frame, meta, to, Origin::Line),
            None => self.count_drop(now, slot, Some(meta.priority), DropReason::NoEgress),
        }
    }

    /// Delivers a copy of a frame that also goes to other ports.
    fn deliver_copy(
        &mut self,
        now: Instant,
        slot: usize,
        frame: &mut W::Frame,
        meta: &Meta,
        to: PortId,
    ) {
        self.ports[slot].counters.copied += 1;
        match frame.duplicate() {
            Some(copy) => self.deliver(now, slot, copy, meta, to, Origin::Copy),
            None => self.count_drop(now, slot, Some(meta.priority), DropReason::NoMemory),
        }
    }
}

/// Separates the seed of the hash from others derived from a switch's seed.
const SEED: u64 = 0x6563_6d70_0000_0000;

/// The paths of equal cost of a switch; empty where frames to an address leave by one port.
#[derive(Debug)]
pub(super) struct Spread {
    ports: HashMap<(Vid, Mac), Box<[PortId]>>,
    seed: u64,
}

impl Spread {
    pub(super) fn new(plan: &BridgePlan, seed: u64) -> Self {
        let entry = |e: &crate::SpreadEntry| ((e.vid, e.mac), e.ports.clone().into());
        Self { ports: plan.spread.iter().map(entry).collect(), seed: seed ^ SEED }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }

    /// Returns the port of this frame among those that are up; `None` if its address has no paths of
    /// equal cost, or none of them is up.
    pub(super) fn port(
        &self,
        meta: &Meta,
        head: &[u8],
        is_up: impl Fn(PortId) -> bool,
    ) -> Option<PortId> {
        let ports = self.ports.get(&(meta.vid, meta.dst()))?;
        // The remainder is taken among the ports that are up: when one fails, no flow is sent to it.
        let up = || ports.iter().copied().filter(|port| is_up(*port));
        let count = up().count() as u64;
        let hash = self.hash(meta, head) >> 32;
        up().nth(hash.checked_rem(count)? as usize)
    }

    fn hash(&self, meta: &Meta, head: &[u8]) -> u64 {
        let mix = |hash, value| Rng::nth(hash ^ value, 1);
        let words = |address| match address {
            IpAddr::V4(address) => [0, u32::from(address).into()],
            IpAddr::V6(address) => {
                let bits = u128::from(address);
                [(bits >> 64) as u64, bits as u64]
            }
        };
        // Frames without IP have no flow but their addresses.
        let Some(flow) = FiveTuple::of_frame(head) else {
            return [meta.src, meta.dst].into_iter().fold(self.seed, mix);
        };
        let ports = u64::from(flow.src_port) << 16 | u64::from(flow.dst_port);
        let rest = u64::from(flow.protocol.0) << 32 | ports;
        // The third pair has the shape of an address, so that all of them are mixed by one loop.
        [words(flow.src), words(flow.dst), [rest, 0]].into_iter().flatten().fold(self.seed, mix)
    }
}
