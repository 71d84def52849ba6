//! No loss on lossless priorities: no switch drops what it had to hold back.
//!
//! What planned faults take (frames on lines that fail, queues of links that go down, what a
//! watchdog drops) is counted apart. A drop for want of buffer is excused where a planned fault is
//! its reason: the pause was lost on its way, the link was down and its pauses were forgotten, the
//! peer's watchdog ignores pauses, or the switch stood still or was busy when the pause was due
//! (headroom is reckoned for switches that are neither), or frames were forged.

use super::facts::Facts;
use super::finding::{Check, Finding, First};
use crate::sim::{Direction, Loss};
use crate::stats::{DropKind, DropReason};
use crate::time::{Duration, Instant};
use crate::units::PrioritySet;
use crate::verdict::Verdict;

/// Counts losses, by reason.
#[derive(Debug)]
pub(super) struct Lossless {
    /// By port: the priorities whose pauses a fault has met since they were last not wanted, and
    /// whether its peer ignores them.
    excused: Vec<PrioritySet>,
    ignored: Vec<bool>,
    /// Whether a frame was forged: one to nobody is flooded, and copies have no headroom.
    flooded: bool,
    first_excused: First,
    first: First,
    /// Frames of lossless priorities: lost on lines, dropped because of links that went down, by
    /// watchdogs, for want of buffer.
    lines: u64,
    links: u64,
    watchdogs: u64,
    buffer: u64,
    /// Those of the last that are excused.
    excused_drops: u64,
}

impl Lossless {
    pub(super) fn new(facts: &Facts) -> Self {
        Self {
            excused: vec![PrioritySet::EMPTY; facts.ports.len()],
            ignored: vec![false; facts.ports.len()],
            flooded: false,
            first_excused: First::default(),
            first: First::default(),
            lines: 0,
            links: 0,
            watchdogs: 0,
            buffer: 0,
            excused_drops: 0,
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
        let of = facts.from(port);
        if of.lossless.0 >> priority & 1 == 0 {
            return;
        }
        match reason.kind() {
            DropKind::Congestion => {}
            DropKind::Watchdog => return self.watchdogs += 1,
            DropKind::Link => return self.links += 1,
            DropKind::Frame | DropKind::Control => return,
        }
        self.buffer += 1;
        let node = facts.node(of.node);
        let round = facts.round_trip(port);
        let stalled = |(from, until): &(Instant, Instant)| *from <= at && at <= *until + round;
        let busy = node.slack == Duration::MAX || node.stalls.iter().any(stalled);
        let met = self.excused[port.index()].0 >> priority & 1 == 1;
        let copy = self.flooded && reason == DropReason::SharedLimit;
        let excused = met || self.ignored[port.index()] || busy || copy;
        self.excused_drops += u64::from(excused);
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

    /// A pause of these priorities that a port sent was lost, or its link went down or came up.
    pub(super) fn excuse(&mut self, port: Direction, of: PrioritySet) {
        self.excused[port.index()].0 |= of.0;
    }

    /// A frame arrived at a port that no pause held back, so no headroom was made for it; nor for its
    /// copies, wherever they go.
    pub(super) fn forged(&mut self, port: Direction) {
        self.excuse(port, PrioritySet::ALL);
        self.flooded = true;
    }

    /// A port wants these paused no more: what happens to them from now on has other reasons.
    pub(super) fn relieved(&mut self, port: Direction, of: PrioritySet) {
        self.excused[port.index()].0 &= !of.0;
    }

    /// The peer of a port ignores its pauses from now on, or obeys them again.
    pub(super) fn ignored(&mut self, port: Direction, ignored: bool) {
        self.ignored[port.index()] = ignored;
        // What is on its way when it obeys again comes too.
        self.excused[port.index()] = PrioritySet::ALL;
    }

    /// Frames dropped for want of buffer that no fault explains, and those that one does.
    pub(super) const fn drops(&self) -> (u64, u64) {
        (self.buffer - self.excused_drops, self.excused_drops)
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
            first_excused.finding_as(Check::Lossless, Verdict::NotJudged, seen)
        } else {
            first.finding(Check::Lossless, seen)
        }
    }
}
