//! No loss on lossless priorities: no switch drops what it had to hold back.
//!
//! Frames that planned faults take (on lines that fail, in queues of links that go down) and that a
//! watchdog drops is counted apart. A drop for want of buffer fails the check, unless an
//! [excuse](super::excuses) explains it; then it is not judged. Nothing explains a drop in a group
//! whose headroom is less than what arrives in the shortest round trip of its link: it has to lose,
//! whatever else happens.

use super::excuses::{self, Cause, ExcusedDrops, Excuses};
use super::facts::Facts;
use super::finding::{Check, Extent, Finding, First};
use super::lateness::Lateness;
use crate::{Direction, Loss};
use contracts::stats::{DropKind, DropReason};
use ground::time::Instant;
use ground::units::PrioritySet;
use ground::verdict::Verdict;

/// Counts losses, by reason.
#[derive(Clone, Debug)]
pub(super) struct Lossless {
    excuses: Excuses,
    first_excused: First,
    first: First,
    /// True if any port has, or had, a lossless priority.
    any: bool,
    /// Frames of lossless priorities: lost on lines, dropped because of links that went down, by
    /// watchdogs, for want of buffer.
    lines: u64,
    links: u64,
    watchdogs: u64,
    buffer: u64,
    /// True once a frame of a lossless priority arrived at a switch.
    arrived: bool,
}

impl Lossless {
    pub(super) fn new(facts: &Facts) -> Self {
        Self {
            excuses: Excuses::new(facts),
            first_excused: First::default(),
            first: First::default(),
            any: facts.ports.iter().any(|port| !port.lossless.is_empty()),
            lines: 0,
            links: 0,
            watchdogs: 0,
            buffer: 0,
            arrived: false,
        }
    }

    /// A data frame arrived at a switch; `is_lossless` finds out if its priority is lossless there.
    #[inline]
    pub(super) fn arrived(&mut self, is_lossless: impl FnOnce() -> bool) {
        if !self.arrived {
            self.arrived = is_lossless();
        }
    }

    /// A switch dropped a frame of `priority` that came in by (or was to leave by) `port`.
    pub(super) fn dropped(
        &mut self,
        (facts, lateness): (&Facts, &Lateness),
        at: Instant,
        port: Direction,
        (priority, reason): (u8, DropReason),
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
        let short = of.headroom[usize::from(of.group[usize::from(priority)])]
            < of.least_headroom(facts.to(port));
        let late = || excuses::explains(facts, at, port, lateness.last(at, of.node));
        let found = self.excuses.find(at, port, priority).or_else(late).filter(|_| !short);
        let what = || {
            let whose = whose.map_or_else(String::new, |(src, dst)| {
                format!(", from {} to {}", facts.who(src), facts.who(dst))
            });
            let (name, reason) = (&of.name, reason.name());
            format!("{name} dropped a frame of lossless priority {priority} as {reason}{whose}")
        };
        let place = of.node.index();
        let Some(found) = found else { return self.first.see_at(at, place, what) };
        self.excuses.used(facts, port, priority, found);
        self.first_excused.see_at(at, place, || {
            let from = found.from.since(Instant::ZERO);
            format!("{}; excuse: {} at {from}", what(), found.cause.name())
        });
    }

    /// Adds what another part has counted.
    pub(super) fn unite(&mut self, other: Self, theirs: &Facts) {
        self.excuses.unite(other.excuses, theirs);
        self.first_excused.unite(other.first_excused);
        self.first.unite(other.first);
        self.any |= other.any;
        self.lines += other.lines;
        self.links += other.links;
        self.watchdogs += other.watchdogs;
        self.buffer += other.buffer;
        self.arrived |= other.arrived;
    }

    /// A group of a port has other thresholds from now on, or its PFC other priorities.
    pub(super) fn changed(&mut self, facts: &Facts, port: Direction) {
        self.any |= !facts.from(port).lossless.is_empty();
    }

    /// A data frame of a lossless priority was lost on its line.
    pub(super) fn lost(&mut self, facts: &Facts, at: Instant, direction: Direction, cause: Loss) {
        self.lines += 1;
        match cause {
            Loss::Damaged | Loss::Fault | Loss::LinkDown => {}
            // No fault of a lab makes a frame that its SecY refuses.
            Loss::Secy => self.first.see(at, || {
                let name = &facts.from(direction).name;
                format!("MACsec lost a frame of a lossless priority on the line from {name}")
            }),
        }
    }

    /// A pause of these priorities that a port sent was lost.
    pub(super) fn pause_lost(
        &mut self,
        facts: &Facts,
        at: Instant,
        port: Direction,
        (of, cause): (PrioritySet, Loss),
    ) {
        match cause {
            Loss::Damaged | Loss::Fault | Loss::LinkDown => {
                let of = of_groups(facts, port, of);
                self.excuses.happened(facts, at, port, (Cause::LostPause, of));
            }
            // No fault of the lab: where a loss follows, it has no excuse.
            Loss::Secy => {}
        }
    }

    /// The link of a port went down or came up, and the peer forgot what it was told.
    pub(super) fn link(&mut self, facts: &Facts, at: Instant, port: Direction) {
        self.excuses.happened(facts, at, port, (Cause::Link, PrioritySet::ALL));
    }

    /// A data frame of a priority arrived at a port that no pause held back.
    pub(super) fn forged(&mut self, facts: &Facts, at: Instant, port: Direction, priority: u8) {
        let of = PrioritySet(1_u8.checked_shl(priority.into()).unwrap_or(0));
        let of = of_groups(facts, port, of);
        self.excuses.happened(facts, at, port, (Cause::ForgedFrame, of));
    }

    /// The peer of a port was told about these priorities in the port's name.
    pub(super) fn forged_pause(
        &mut self,
        facts: &Facts,
        at: Instant,
        port: Direction,
        named: PrioritySet,
    ) {
        let of = of_groups(facts, port, named);
        self.excuses.happened(facts, at, port, (Cause::ForgedPause, of));
    }

    /// A group went over its limit, or resumes its peer.
    pub(super) fn crossed(&mut self, at: Instant, port: Direction, of: PrioritySet, xoff: bool) {
        self.excuses.crossed(at, port, of, xoff);
    }

    /// The priorities of a port whose groups are over their limits.
    pub(super) fn over(&self, port: Direction) -> PrioritySet {
        self.excuses.over(port)
    }

    /// The peer of a port ignores its pauses of these priorities from now on, or obeys them again.
    pub(super) fn ignored(
        &mut self,
        facts: &Facts,
        at: Instant,
        port: Direction,
        (of, ignored): (PrioritySet, bool),
    ) {
        let of = of_groups(facts, port, of);
        match ignored {
            true => self.excuses.began(at, port, (Cause::Watchdog, of)),
            false => self.excuses.ended(facts, at, port, (Cause::Watchdog, of)),
        }
    }

    /// Frames dropped for want of buffer that nothing explains, and the others by what does.
    pub(super) fn drops(&self) -> (u64, ExcusedDrops) {
        (self.buffer - self.excuses.drops.total(), self.excuses.drops)
    }

    pub(super) fn finish(self) -> Finding {
        let Self { excuses, first, first_excused, any, lines, links, watchdogs, buffer, arrived } =
            self;
        let without = "no frame of a lossless priority arrived at a switch";
        let extent = Extent { count: arrived.into(), without };
        let seen = || {
            format!(
                "{buffer} dropped for want of buffer, {lines} lost on lines, {links} with links \
                 that went down, {watchdogs} by watchdogs"
            )
        };
        let words = excuses.words();
        let mut finding = match (first.is_none(), first_excused.is_none()) {
            (true, true) if !any => {
                Finding::not_judged(Check::Lossless, "no priority is lossless".into())
            }
            (true, false) => {
                let mut finding =
                    first_excused.finding_as(Check::Lossless, Verdict::NotJudged, extent, seen);
                finding.detail = format!("{words}: {}", finding.detail);
                finding
            }
            _ => first.finding(Check::Lossless, extent, seen),
        };
        finding.excuses = excuses.used;
        finding
    }
}

/// The priorities whose frames are in the groups of these: what fills a group fills it for all of them.
fn of_groups(facts: &Facts, port: Direction, of: PrioritySet) -> PrioritySet {
    let of_port = facts.from(port);
    let groups = of.iter().map(|p| of_port.of_group(of_port.group[p.index()]));
    PrioritySet(groups.fold(0, |set, group| set | group.0))
}
