//! Forwarding of a data frame: to one port, to all of its VLAN, or to the router (802.1Q 8.6.3).

use super::Switch;
use super::classify::{Meta, UNTAGGED};
use super::fdb::Key;
use super::ingress::Origin;
use super::shortcut::{Decision, Flow, leaves_as_it_came};
use super::tables::Tables;
use contracts::frame::Frame;
use contracts::stats::DropReason;
use contracts::world::{Handoff, World};
use ground::time::Instant;
use ground::units::{Pcp, PortId};
use wire::vlan::{self, TAG_LEN, Tpid};

impl<W: World> Switch<W> {
    /// Finds the egress port or ports of a frame and delivers it.
    #[inline]
    pub(super) fn forward(&mut self, now: Instant, at: usize, frame: W::Frame, meta: &Meta) {
        if !self.router.is_empty() && self.router.wants(meta) {
            return self.route(now, at, frame, meta);
        }
        if meta.is_to_group() {
            return self.flood(now, at, frame, meta);
        }
        match self.fdb.lookup(now, Key::from_parts(meta.vid, meta.dst)) {
            Some(egress) if egress == self.ports[at].id => {
                self.count_drop(now, at, Some(meta.priority), DropReason::SameSegment);
            }
            Some(egress) => self.unicast(now, at, frame, meta, egress),
            None => self.flood(now, at, frame, meta),
        }
    }

    /// Delivers a frame to its one egress port. If the frame leaves unmodified, the decision is
    /// cached for the next frames of its flow.
    #[inline]
    fn unicast(&mut self, now: Instant, at: usize, frame: W::Frame, meta: &Meta, egress: PortId) {
        let ingress = self.ports[at].id;
        let tables = &self.tables[ingress.index()];
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
                    let until = now.saturating_add(self.fdb.fresh_for());
                    let version = self.fdb.version();
                    self.ports[at].shortcuts.note(until, version, flow, decision);
                    return self.take_noted(now, at, frame, decision);
                }
            }
        }
        self.deliver(now, at, frame, meta, egress);
    }

    /// Sends a frame to every other port of its VLAN that is up. Each copy is charged separately,
    /// because each uses memory.
    #[cold]
    pub(super) fn flood(&mut self, now: Instant, at: usize, mut frame: W::Frame, meta: &Meta) {
        let ingress = self.ports[at].id;
        let mut last = None;
        for n in 0..self.tables.len() {
            let to = PortId::new(n as u16).expect("as many ports as there are identifiers");
            let wanted = to != ingress && self.tables[n].is_member(meta.vid);
            if !wanted || !self.handoff.is_up(to) {
                continue;
            }
            if let Some(before) = last.replace(to) {
                self.deliver_copy(now, at, &mut frame, meta, before);
            }
        }
        match last {
            Some(to) => self.deliver(now, at, frame, meta, to),
            None => self.count_drop(now, at, Some(meta.priority), DropReason::NoEgress),
        }
    }

    /// Delivers a copy of a frame that also goes to other ports.
    fn deliver_copy(
        &mut self,
        now: Instant,
        at: usize,
        frame: &mut W::Frame,
        meta: &Meta,
        to: PortId,
    ) {
        self.ports[at].counters.copied += 1;
        match frame.duplicate() {
            Some(copy) => self.deliver_as(now, at, copy, meta, to, Origin::Copy),
            None => self.count_drop(now, at, Some(meta.priority), DropReason::NoMemory),
        }
    }
}

/// Sets the C-tag that the egress port requires: none, the frame's VLAN, or the received one.
/// Returns false if there is no room for a tag.
#[inline]
pub(super) fn retag<F: Frame>(frame: &mut F, meta: &Meta, egress: &Tables) -> bool {
    let tag = (meta.tag != UNTAGGED).then_some(meta.tag);
    match (tag, egress.is_tagged(meta.vid)) {
        (None, false) => true,
        (Some(vid), true) if vid == meta.vid.get() => true,
        (Some(_), true) => {
            let tag = tag_of(frame.head(), meta);
            vlan::replace(frame.head_mut(), &tag).is_ok()
        }
        (Some(_), false) => vlan::remove(frame.head_mut()).is_ok() && frame.trim_front(TAG_LEN),
        (None, true) => {
            let tag = tag_of(&[], meta);
            frame.prepend(TAG_LEN) && vlan::insert(frame.head_mut(), &tag).is_ok()
        }
    }
}

/// Returns the tag for a frame: the PCP and DEI of its old one, or its priority if it had none.
fn tag_of(old: &[u8], meta: &Meta) -> vlan::Repr {
    let old = vlan::walk(old).ok().and_then(|walk| walk.outer);
    let pcp = Pcp::new(meta.priority.get()).expect("a priority is a code point");
    vlan::Repr {
        tpid: Tpid::C,
        pcp: old.map_or(pcp, |tag| tag.pcp),
        dei: old.is_some_and(|tag| tag.dei),
        vid: Some(meta.vid),
    }
}
