//! No loss on lossless priorities: no switch drops what it had to hold back, and nothing else takes a
//! frame.
//!
//! A drop for want of buffer fails the check, unless an [excuse](super::excuses) explains it; then it is
//! not judged. Nothing explains a drop in a group whose headroom is less than what arrives in the
//! shortest round trip of its link: it has to lose, whatever else happens.
//!
//! Frames that are lost in another way are counted by their cause ([`Other`]) and not judged here either:
//! [`KnownLosses`] says which of them a planned fault of the environment took. Only a `SecY` has no excuse.

use super::excuses::{self, Cause, ExcusedDrops, Excuses};
use super::facts::Facts;
use super::finding::{Check, Extent, Finding, First, KnownLosses};
use super::passages::Dropped;
use super::requests::Context;
use super::take;
use crate::{Direction, Loss, NodeId};
use contracts::stats::DropKind;
use ground::time::Instant;
use ground::units::PrioritySet;

/// Counts losses, by reason.
#[derive(Clone, Debug)]
pub(super) struct Lossless {
    excuses: Excuses,
    first_excused: First,
    first: First,
    /// True if any port has, or had, a lossless priority.
    any: bool,
    /// Frames of lossless priorities that were dropped for want of buffer.
    buffer: u64,
    /// Those that were lost in another way, by cause.
    others: [u64; Other::ALL.len()],
    /// By port: true while its link is down, and the time of its last change.
    links: Vec<(bool, Instant)>,
    /// By port: the classes in which its watchdog sees a storm.
    stormed: Vec<u8>,
    /// True once a frame of a lossless priority arrived at a switch.
    arrived: bool,
}

/// What lost a frame, other than want of buffer.
#[derive(Clone, Copy, Debug)]
enum Other {
    /// Errors of a line, or a loss that is planned for it.
    LineError,
    /// A link that was down or went down.
    Link,
    /// A watchdog, in a storm of pauses from the host at its port: hosts pause by plan alone.
    Storm,
    /// A watchdog that another switch paused, or one of a switch with a defect.
    Watchdog,
    /// Damage by its sender: a defect.
    Defect,
}

impl Other {
    const ALL: [Self; 5] = [Self::LineError, Self::Link, Self::Storm, Self::Watchdog, Self::Defect];

    /// Returns the cause in words.
    const fn name(self) -> &'static str {
        match self {
            Self::LineError => "line error",
            Self::Link => "link down",
            Self::Storm => "watchdog, in a storm of the host at its port",
            Self::Watchdog => "watchdog",
            Self::Defect => "damaged by the sender",
        }
    }

    /// True if it is a planned fault of the environment.
    const fn is_planned(self) -> bool {
        matches!(self, Self::LineError | Self::Link | Self::Storm)
    }
}

impl Lossless {
    pub(super) fn new(facts: &Facts) -> Self {
        Self {
            excuses: Excuses::new(facts),
            first_excused: First::default(),
            first: First::default(),
            any: facts.ports.iter().any(|port| !port.lossless.is_empty()),
            buffer: 0,
            others: [0; Other::ALL.len()],
            links: vec![(false, Instant::ZERO); facts.ports.len()],
            stormed: vec![0; facts.ports.len()],
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
    pub(super) fn dropped(&mut self, cx: Context<'_>, dropped: Dropped, whose: Option<(u64, u64)>) {
        let Context { facts, lateness } = cx;
        let Dropped { at, port, reason, .. } = dropped;
        let Some(priority) = dropped.priority else { return };
        let port_facts = facts.from(port);
        if port_facts.lossless.0 >> priority & 1 == 0 {
            return;
        }
        match reason.kind() {
            // Want of buffer, which is judged below.
            DropKind::Congestion => {}
            DropKind::Watchdog if self.is_by_storm(facts, port_facts.node) => {
                return self.count(Other::Storm);
            }
            DropKind::Watchdog => return self.count(Other::Watchdog),
            DropKind::Link if self.is_by_link(cx, at, port_facts.node) => {
                return self.count(Other::Link);
            }
            DropKind::Link => {
                return self.first.record_at(at, port_facts.node.index(), || {
                    let (name, reason) = (&port_facts.name, reason.name());
                    format!("{name} dropped a frame of lossless priority {priority} as {reason}, and no link of it was down")
                });
            }
            DropKind::Frame | DropKind::Control => return,
        }
        self.buffer += 1;
        // Such a group has to lose in any round trip, so nothing else explains it.
        let short = port_facts.headroom[usize::from(port_facts.group[usize::from(priority)])]
            < port_facts.least_headroom(facts.to(port));
        let late = || excuses::explains(facts, at, port, lateness.last(at, port_facts.node));
        let found = self.excuses.find(at, port, priority).or_else(late).filter(|_| !short);
        let what = || {
            let whose = whose.map_or_else(String::new, |(src, dst)| {
                format!(", from {} to {}", facts.who(src), facts.who(dst))
            });
            let (name, reason) = (&port_facts.name, reason.name());
            format!("{name} dropped a frame of lossless priority {priority} as {reason}{whose}")
        };
        let place = port_facts.node.index();
        let Some(found) = found else { return self.first.record_at(at, place, what) };
        self.excuses.used(facts, port, priority, found);
        self.first_excused.record_at(at, place, || {
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
        self.buffer += other.buffer;
        self.others.iter_mut().zip(other.others).for_each(|(sum, more)| *sum += more);
        take(&mut self.links, other.links, |n| theirs.has_port(Direction(n as u32)));
        take(&mut self.stormed, other.stormed, |n| theirs.has_port(Direction(n as u32)));
        self.arrived |= other.arrived;
    }

    /// A group of a port has other thresholds from now on, or its PFC other priorities.
    pub(super) fn changed(&mut self, facts: &Facts, port: Direction) {
        self.any |= !facts.from(port).lossless.is_empty();
    }

    /// A data frame of a lossless priority was lost on its line.
    pub(super) fn lost(&mut self, facts: &Facts, time: Instant, direction: Direction, cause: Loss) {
        match cause {
            Loss::Damaged | Loss::Fault => self.count(Other::LineError),
            Loss::LinkDown => self.count(Other::Link),
            Loss::Defect => self.count(Other::Defect),
            // No fault of a lab makes a frame that its SecY refuses.
            Loss::Secy => self.first.record(time, || {
                let name = &facts.from(direction).name;
                format!("MACsec lost a frame of a lossless priority on the line from {name}")
            }),
        }
    }

    /// A pause of these priorities that a port sent was lost.
    pub(super) fn pause_lost(
        &mut self,
        facts: &Facts,
        time: Instant,
        port: Direction,
        priorities: PrioritySet,
        cause: Loss,
    ) {
        match cause {
            Loss::Damaged | Loss::Fault | Loss::LinkDown => {
                let priorities = of_groups(facts, port, priorities);
                self.excuses.happened(facts, time, port, Cause::LostPause, priorities);
            }
            // No fault of the environment: where a loss follows, it has no excuse.
            Loss::Secy | Loss::Defect => {}
        }
    }

    const fn count(&mut self, other: Other) {
        self.others[other as usize] += 1;
    }

    /// True if a link of a switch is down, or was until a round trip ago or while the switch was late.
    fn is_by_link(&self, cx: Context<'_>, time: Instant, node: NodeId) -> bool {
        let Context { facts, lateness } = cx;

        let late = lateness.last(time, node);
        facts.node(node).out.iter().any(|port| {
            let (down, last) = self.links[port.index()];
            // Zero stands for a link that never changed.
            let changed = last != Instant::ZERO;
            let recent = time <= last.saturating_add(facts.round_trip(*port));
            let late = || late.is_some_and(|(from, until)| from <= last && time <= until);
            down || changed && (recent || late())
        })
    }

    /// A watchdog sees a storm in a class of its port, or its end.
    pub(super) fn stormed(&mut self, port: Direction, class: u8, detected: bool) {
        let of = &mut self.stormed[port.index()];
        *of = *of & !(1 << class) | u8::from(detected) << class;
    }

    /// True if every storm that a switch sees now comes from a host, and none of its ports has a defect that
    /// may make it see one.
    fn is_by_storm(&self, facts: &Facts, node: NodeId) -> bool {
        let of = facts.node(node);
        let is_host = |port: &&Direction| !facts.node(facts.to(**port).node).is_switch;
        let mut stormed = of.out.iter().filter(|port| self.stormed[port.index()] != 0);
        // A defective port may report a storm where nothing paused it.
        !of.is_defective && stormed.all(|port| is_host(&port))
    }

    /// The link of a port went down or came up, and the peer forgot what it was told.
    pub(super) fn link(&mut self, facts: &Facts, time: Instant, port: Direction, up: bool) {
        self.links[port.index()] = (!up, time);
        self.excuses.happened(facts, time, port, Cause::Link, PrioritySet::ALL);
    }

    /// A data frame of a priority arrived at a port that no pause held back.
    pub(super) fn forged(&mut self, facts: &Facts, time: Instant, port: Direction, priority: u8) {
        // A value that is no priority gives the empty set.
        let of = PrioritySet(1_u8.checked_shl(priority.into()).unwrap_or(0));
        let of = of_groups(facts, port, of);
        self.excuses.happened(facts, time, port, Cause::ForgedFrame, of);
    }

    /// The peer of a port was told about these priorities in the port's name.
    pub(super) fn forged_pause(
        &mut self,
        facts: &Facts,
        time: Instant,
        port: Direction,
        named: PrioritySet,
    ) {
        let of = of_groups(facts, port, named);
        self.excuses.happened(facts, time, port, Cause::ForgedPause, of);
    }

    /// A group went over its limit, or resumes its peer.
    pub(super) fn crossed(
        &mut self,
        time: Instant,
        port: Direction,
        priorities: PrioritySet,
        xoff: bool,
    ) {
        self.excuses.crossed(time, port, priorities, xoff);
    }

    /// The priorities of a port whose groups are over their limits.
    pub(super) fn over(&self, port: Direction) -> PrioritySet {
        self.excuses.over(port)
    }

    /// The peer of a port ignores its pauses of these priorities from now on, or obeys them again.
    pub(super) fn ignored(
        &mut self,
        facts: &Facts,
        time: Instant,
        port: Direction,
        priorities: PrioritySet,
        ignored: bool,
    ) {
        let priorities = of_groups(facts, port, priorities);
        match ignored {
            true => self.excuses.began(time, port, Cause::Watchdog, priorities),
            false => self.excuses.ended(facts, time, port, Cause::Watchdog, priorities),
        }
    }

    /// Frames dropped for want of buffer that nothing explains, and the others by what does.
    pub(super) fn drops(&self) -> (u64, ExcusedDrops) {
        (self.buffer - self.excuses.drops.total(), self.excuses.drops)
    }

    pub(super) fn finish(self) -> Finding {
        let Self { excuses, first, first_excused, any, buffer, others, arrived, .. } = self;
        let without = "no frame of a lossless priority arrived at a switch";
        let extent = Extent { count: arrived.into(), without };
        let others = || Other::ALL.into_iter().zip(others).filter(|(_, n)| *n > 0);
        let excused = excuses.drops.by_cause().map(|(cause, n)| (cause.is_planned(), n));
        let mut known = KnownLosses::default();
        for (planned, n) in excused.chain(others().map(|(of, n)| (of.is_planned(), n))) {
            *(if planned { &mut known.planned } else { &mut known.unplanned }) += n;
        }
        let lost = known.planned + known.unplanned;
        // A cause may take frames on lines and explain drops, too.
        let causes = excuses.drops.by_cause().map(|(of, n)| (of.name(), of.is_planned(), n));
        let causes = causes.chain(others().map(|(of, n)| (of.name(), of.is_planned(), n)));
        let words = excuses::words(causes);
        let summary = || format!("{buffer} dropped for want of buffer, {lost} lost in another way");
        let mut finding = match (first.is_none(), lost) {
            (true, 0) if !any => {
                Finding::not_judged(Check::Lossless, "no priority is lossless".into())
            }
            (true, 0) | (false, _) => first.finding(Check::Lossless, extent, summary),
            (true, _) => {
                let detail = match first_excused.is_none() {
                    true => String::new(),
                    false => first_excused.finding(Check::Lossless, extent, summary).detail,
                };
                let of = if detail.is_empty() { "" } else { ": " };
                let what = format!("{lost} frames lost, {words}{of}{detail}");
                Finding::not_judged(Check::Lossless, what)
            }
        };
        finding.excuses = excuses.used;
        finding.known = known;
        finding
    }
}

/// The priorities whose frames are in the groups of these: what fills a group fills it for all of them.
fn of_groups(facts: &Facts, port: Direction, priorities: PrioritySet) -> PrioritySet {
    let of_port = facts.from(port);
    let groups = priorities.iter().map(|p| of_port.of_group(of_port.group[p.index()]));
    PrioritySet(groups.fold(0, |set, group| set | group.0))
}
