//! No loss on lossless priorities: no switch drops what it had to hold back.
//!
//! What planned faults take (frames on lines that fail, queues of links that go down, what a
//! watchdog drops) is counted apart. A drop for want of buffer is excused where a planned fault is
//! its reason: the pause was lost on its way, the link was down and its pauses were forgotten, or
//! the switch stood still when the pause was due.

use super::facts::Facts;
use super::finding::{Check, Finding, First, Verdict};
use crate::sim::{Direction, Loss};
use crate::stats::DropReason;
use crate::time::Instant;

/// Counts losses, by reason.
#[derive(Debug)]
pub(super) struct Lossless {
    /// By port: whether a fault has met its pauses since it last had none to want.
    excused: Vec<bool>,
    first_excused: First,
    first: First,
    /// Frames of lossless priorities: lost on lines, dropped because of links that went down, by
    /// watchdogs, for want of buffer.
    lines: u64,
    links: u64,
    watchdogs: u64,
    buffer: u64,
}

impl Lossless {
    pub(super) fn new(facts: &Facts) -> Self {
        Self {
            excused: vec![false; facts.ports.len()],
            first_excused: First::default(),
            first: First::default(),
            lines: 0,
            links: 0,
            watchdogs: 0,
            buffer: 0,
        }
    }

    /// A switch dropped a frame of `priority` that came in by (or was to leave by) `port`.
    pub(super) fn dropped(
        &mut self,
        facts: &Facts,
        at: Instant,
        port: Direction,
        priority: u8,
        reason: DropReason,
        whose: Option<(u64, u64)>,
    ) {
        use DropReason as R;
        let of = facts.from(port);
        if of.lossless.0 >> priority & 1 == 0 {
            return;
        }
        match reason {
            R::SharedLimit
            | R::HeadroomFull
            | R::QueueLimit
            | R::RedNotEct
            | R::NoMemory
            | R::HandoffFull => {}
            R::Watchdog => return self.watchdogs += 1,
            R::LinkDown | R::EgressDown | R::Flushed => return self.links += 1,
            // No switch can forward these, however empty it is.
            R::Runt
            | R::Oversize
            | R::TruncatedTag
            | R::ReservedVid
            | R::GroupSource
            | R::MacControlOpcode
            | R::MacControlShort
            | R::MacControlAddress
            | R::MacControlTagged
            | R::PauseNotEnabled
            | R::PfcNotEnabled
            | R::ReservedAddress
            | R::IngressVlan
            | R::SameSegment
            | R::NoEgress
            | R::IpMalformed
            | R::TtlExpired
            | R::NoRoute
            | R::NoNeighbour
            | R::RouterNotSpoken
            | R::NoTagRoom => return,
        }
        self.buffer += 1;
        let stood_still = facts.node(of.node).stalls.iter().any(|stall| *stall <= at);
        let excused = self.excused[port.index()] || stood_still;
        let first = if excused { &mut self.first_excused } else { &mut self.first };
        first.see(at, || {
            let whose = whose.map_or_else(String::new, |(src, dst)| {
                format!(", from {} to {}", facts.who(src), facts.who(dst))
            });
            let name = &of.name;
            format!(
                "{name} dropped a frame of lossless priority {priority} as {}{whose}",
                reason.name()
            )
        });
    }

    /// A data frame of a lossless priority was lost on its line.
    pub(super) fn lost(&mut self, _: Loss) {
        self.lines += 1;
    }

    /// A pause that a port sent was lost, or its link went down or came up.
    pub(super) fn excuse(&mut self, port: Direction) {
        self.excused[port.index()] = true;
    }

    /// A port wants nothing paused any more: what happens from now on has other reasons.
    pub(super) fn relieved(&mut self, port: Direction) {
        self.excused[port.index()] = false;
    }

    pub(super) fn finish(self) -> Finding {
        let Self { first, first_excused, lines, links, watchdogs, buffer, .. } = self;
        let seen = || {
            format!(
                "{buffer} dropped for want of buffer, {lines} lost on lines, {links} with links \
                 that went down, {watchdogs} by watchdogs"
            )
        };
        if first.is_none() {
            first_excused.finding_as(Check::Lossless, Verdict::Excused, seen)
        } else {
            first.finding(Check::Lossless, seen)
        }
    }
}
