//! Excuses: what may explain that a switch dropped a lossless frame, other than the switch.
//!
//! An excuse names its cause, its place, its priority and its time. It ends one round trip after its
//! cause, since by then every frame has arrived that the cause let through; only a group that has been
//! over its limit since the cause, and so still holds what came in then, keeps it open until it
//! resumes its peer, or until the longest pause is over: a switch that holds its peer back says so
//! again before. A drop with an excuse is not judged: it may have the cause that is named, and nothing
//! says that it would not have happened without it.
//!
//! One of them is lateness: the times during which a node had something to do and its processor was not free. A
//! planned stall and a processor that takes time are one thing to whatever waits for the node. Only the time that
//! was really lost counts, and only where it was lost: a stall in which nothing arrived delays nothing.

use super::facts::Facts;
use super::take;
use crate::{Direction, NodeId};
use ground::time::{Duration, Instant};
use ground::units::{Priority, PrioritySet, Quanta};
use serde::{Deserialize, Serialize};

/// Causes of a loss that are no fault of the switch that dropped the frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A pause was lost on its line by a fault of the lab.
    LostPause,
    /// The link went down or came up by a fault of the lab, and the peer forgot its pauses.
    Link,
    /// The switch stood still by a fault of the lab.
    Stall,
    /// A fault of the lab put a pause or a resumption on the line to the peer.
    ForgedPause,
    /// A fault of the lab put a frame on the line that no pause holds back.
    ForgedFrame,
    /// The switch's processor was busy when the frame arrived.
    Processor,
    /// The watchdog of the peer ignores pauses.
    Watchdog,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::LostPause,
        Self::Link,
        Self::Stall,
        Self::ForgedPause,
        Self::ForgedFrame,
        Self::Processor,
        Self::Watchdog,
    ];

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LostPause => "lost pause",
            Self::Link => "link down",
            Self::Stall => "stall",
            Self::ForgedPause => "forged pause",
            Self::ForgedFrame => "forged frame",
            Self::Processor => "busy processor",
            Self::Watchdog => "watchdog of the peer",
        }
    }

    /// True if it is a fault of the lab file, and not what a lab's switches do by configuration.
    pub const fn is_planned(self) -> bool {
        !matches!(self, Self::Processor | Self::Watchdog)
    }
}

/// Cause of some losses that are not judged.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Excuse {
    /// Cause of the loss.
    pub cause: Cause,
    /// True if it is a fault of the lab file.
    pub planned: bool,
    /// The port that dropped.
    pub place: String,
    /// The priority of what it dropped.
    pub priority: Priority,
    /// Time at which the cause happened or began.
    #[serde(rename = "from_ns")]
    pub from: Instant,
    /// End of the excuse; `None` if the group was still over its limit at the last drop.
    #[serde(rename = "until_ns")]
    pub until: Option<Instant>,
    /// The frames that were dropped.
    pub frames: u64,
}

/// Excused drops, by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ExcusedDrops([u64; Cause::ALL.len()]);

impl ExcusedDrops {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Each cause with the drops that it explains.
    pub fn by_cause(&self) -> impl Iterator<Item = (Cause, u64)> + use<> {
        Cause::ALL.into_iter().zip(self.0)
    }

    /// Counts a drop.
    pub(super) const fn count(&mut self, cause: Cause) {
        self.0[cause as usize] += 1;
    }

    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, more)| *sum += more);
    }
}

/// Number of excuses kept one by one; drops are counted by cause in any case.
const KEPT_MOST: usize = 256;

/// Open excuses of each port, and those that were used.
#[derive(Clone, Debug)]
pub(super) struct Excuses {
    open: Vec<Vec<Open>>,
    /// By port: the priorities of groups over their limits.
    over: Vec<PrioritySet>,
    /// By port: the longest time of a pause.
    longest: Vec<Duration>,
    pub(super) used: Vec<Excuse>,
    pub(super) drops: ExcusedDrops,
}

/// A cause at one port.
#[derive(Clone, Copy, Debug)]
struct Open {
    cause: Cause,
    priorities: PrioritySet,
    from: Instant,
    until: Instant,
    /// The priorities whose groups have been over their limits since the cause.
    held: PrioritySet,
}

/// Cause of a drop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) cause: Cause,
    pub(super) from: Instant,
    pub(super) until: Option<Instant>,
}

impl Excuses {
    pub(super) fn new(facts: &Facts) -> Self {
        Self {
            open: vec![vec![]; facts.ports.len()],
            over: vec![PrioritySet::EMPTY; facts.ports.len()],
            longest: facts.ports.iter().map(|port| Quanta::MAX.at(port.rate)).collect(),
            used: vec![],
            drops: ExcusedDrops::default(),
        }
    }

    /// Adds what another part knows of its ports.
    pub(super) fn unite(&mut self, other: Self, theirs: &Facts) {
        let has = |n: usize| theirs.has_port(Direction(n as u32));
        take(&mut self.open, other.open, has);
        take(&mut self.over, other.over, has);
        self.used.extend(other.used);
        self.used.truncate(KEPT_MOST);
        self.drops.add(&other.drops);
    }

    /// Something happened to these priorities of a port.
    pub(super) fn happened(
        &mut self,
        facts: &Facts,
        time: Instant,
        port: Direction,
        cause: Cause,
        priorities: PrioritySet,
    ) {
        self.lasts(time, port, cause, priorities, time.saturating_add(facts.round_trip(port)));
    }

    /// Something began that ends at [`Self::ended`].
    pub(super) fn began(
        &mut self,
        time: Instant,
        port: Direction,
        cause: Cause,
        priorities: PrioritySet,
    ) {
        self.lasts(time, port, cause, priorities, Instant::NEVER);
    }

    fn lasts(
        &mut self,
        time: Instant,
        port: Direction,
        cause: Cause,
        of: PrioritySet,
        until: Instant,
    ) {
        let priorities = PrioritySet(of.0 & PrioritySet::ALL.0);
        if priorities.is_empty() {
            return;
        }
        // A group that is over its limit now keeps what came because of the cause.
        let held = PrioritySet(priorities.0 & self.over[port.index()].0);
        let open = &mut self.open[port.index()];
        // What is over explains nothing more, and the list stays short.
        open.retain(|open| open.until >= time || !open.held.is_empty());
        open.push(Open { cause, priorities, from: time, until, held });
    }

    /// Ends a cause at a port: frames that it let through arrive for one more round trip.
    pub(super) fn ended(
        &mut self,
        facts: &Facts,
        time: Instant,
        port: Direction,
        cause: Cause,
        priorities: PrioritySet,
    ) {
        let over = self.over[port.index()];
        for open in &mut self.open[port.index()] {
            // The cause may have begun at other priorities of this port, too, which go on.
            if open.cause == cause && open.priorities == priorities && open.until == Instant::NEVER
            {
                open.until = time.saturating_add(facts.round_trip(port));
                open.held = PrioritySet(priorities.0 & over.0);
            }
        }
    }

    /// A group went over its limit, or resumes its peer.
    pub(super) fn crossed(
        &mut self,
        time: Instant,
        port: Direction,
        priorities: PrioritySet,
        xoff: bool,
    ) {
        let over = &mut self.over[port.index()].0;
        *over = if xoff { *over | priorities.0 } else { *over & !priorities.0 };
        for open in &mut self.open[port.index()] {
            if !xoff {
                open.held.0 &= !priorities.0;
            } else if open.from == time {
                // A switch speaks after the poll in which it pauses, and so after what met the pause.
                open.held.0 |= priorities.0 & open.priorities.0;
            }
        }
    }

    /// The priorities of a port whose groups are over their limits.
    pub(super) fn over(&self, port: Direction) -> PrioritySet {
        self.over[port.index()]
    }

    /// The earliest cause that explains a drop now, if any.
    pub(super) fn find(&self, time: Instant, port: Direction, priority: u8) -> Option<Found> {
        let has = |set: PrioritySet| set.0 >> priority & 1 == 1;
        let longest = self.longest[port.index()];
        let is_held = |open: &Open| has(open.held) && time <= open.until.saturating_add(longest);
        let explains = |open: &&Open| has(open.priorities) && (time <= open.until || is_held(open));
        let Open { cause, from, until, .. } = *self.open[port.index()].iter().find(explains)?;
        // Past its end it is open for as long as the group is over its limit.
        let until = (time <= until && until != Instant::NEVER).then_some(until);
        Some(Found { cause, from, until })
    }

    /// A drop was explained.
    pub(super) fn used(&mut self, facts: &Facts, port: Direction, priority: u8, found: Found) {
        self.drops.count(found.cause);
        let port_facts = facts.from(port);
        let same = |e: &&mut Excuse| {
            (e.cause, e.from, e.priority.get()) == (found.cause, found.from, priority)
                && e.place == port_facts.name
        };
        // Drops with one cause follow each other, so the last excuse is the likeliest.
        if let Some(excuse) = self.used.iter_mut().rev().find(same) {
            excuse.frames += 1;
            excuse.until = found.until;
        } else if self.used.len() < KEPT_MOST {
            self.used.push(Excuse {
                cause: found.cause,
                planned: found.cause.is_planned(),
                place: port_facts.name.clone(),
                priority: Priority::ALL[usize::from(priority)],
                from: found.from,
                until: found.until,
                frames: 1,
            });
        }
    }
}

/// Returns causes in words, each once with all of its frames: `3 by a planned fault (lost pause), 1 by no
/// fault of the lab (busy processor)`. A cause is its name and whether it is planned.
pub(super) fn words(causes: impl IntoIterator<Item = (&'static str, bool, u64)>) -> String {
    let mut sums: Vec<(&str, bool, u64)> = Vec::new();
    for (name, planned, n) in causes.into_iter().filter(|(.., n)| *n > 0) {
        match sums.iter_mut().find(|sum| (sum.0, sum.1) == (name, planned)) {
            Some(sum) => sum.2 += n,
            None => sums.push((name, planned, n)),
        }
    }
    let word = |(name, planned, n)| match planned {
        true => format!("{n} by a planned fault ({name})"),
        false => format!("{n} by no fault of the lab ({name})"),
    };
    sums.into_iter().map(word).collect::<Vec<_>>().join(", ")
}

/// End of the time in which lateness explains losses: when all that arrived in it has been seen and every
/// frame that was sent before the late pause was obeyed has arrived.
pub(super) fn explains(
    facts: &Facts,
    time: Instant,
    port: Direction,
    window: Option<(Instant, Instant)>,
) -> Option<Found> {
    let (from, until) = window?;
    let port_facts = facts.from(port);
    let end = until.saturating_add(facts.round_trip(port));
    let stalled = |(begin, over): &(Instant, Instant)| *begin <= until && from <= *over;
    // A busy processor may be late at the same time; the stall is what the lab file says.
    let planned = facts.node(port_facts.node).stalls.iter().any(stalled);
    let cause = if planned { Cause::Stall } else { Cause::Processor };
    (from <= time && time <= end).then_some(Found { cause, from, until: Some(end) })
}

/// True if a time is over by another: used where both are durations since the same moment.
pub(super) const fn more(a: Duration, b: Duration) -> Duration {
    Duration::from_picos(a.as_picos().saturating_add(b.as_picos()))
}

/// Time that every node lost.
#[derive(Clone, Debug)]
pub(super) struct Lateness {
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// Since when something waits for the processor.
    since: Option<Instant>,
    /// All that was lost before that.
    total: Duration,
    /// The last time something waited.
    last: Option<(Instant, Instant)>,
}

impl Lateness {
    pub(super) fn new(facts: &Facts) -> Self {
        Self { nodes: vec![Node::default(); facts.nodes.len()] }
    }

    /// A node has something to do, and is polled later. Nothing but its plan makes that so: where
    /// that has no stall now and no processor that takes time, it is a bug and no excuse.
    pub(super) fn held_up(&mut self, facts: &Facts, time: Instant, node: NodeId) {
        let plan = facts.node(node);
        let stalled = plan.stalls.iter().any(|(from, until)| (*from..*until).contains(&time));
        if plan.takes_time || stalled {
            // The first event that waits begins it; later ones wait along.
            self.nodes[node.index()].since.get_or_insert(time);
        }
    }

    /// Adds the times of another part's nodes.
    pub(super) fn unite(&mut self, other: Self, theirs: &Facts) {
        take(&mut self.nodes, other.nodes, |n| theirs.has_node(n));
    }

    /// It is polled.
    pub(super) fn caught_up(&mut self, time: Instant, node: NodeId) {
        let node = &mut self.nodes[node.index()];
        let Some(since) = node.since.take() else { return };
        node.total += time.since(since);
        node.last = Some((since, time));
    }

    /// Since when something waits for a node, if anything does.
    pub(super) fn since(&self, node: NodeId) -> Option<Instant> {
        self.nodes[node.index()].since
    }

    /// All that a node has lost by `at`.
    pub(super) fn total(&self, time: Instant, node: NodeId) -> Duration {
        let Node { since, total, .. } = self.nodes[node.index()];
        total + since.map_or(Duration::ZERO, |since| time.since(since))
    }

    /// True if something waits for a node now, or waited for the poll that it makes at `at`.
    pub(super) fn is_late(&self, time: Instant, node: NodeId) -> bool {
        let Node { since, last, .. } = self.nodes[node.index()];
        since.is_some() || last.is_some_and(|(_, until)| until == time)
    }

    /// The last time that something waited for a node, up to `at`.
    pub(super) fn last(&self, time: Instant, node: NodeId) -> Option<(Instant, Instant)> {
        let Node { since, last, .. } = self.nodes[node.index()];
        since.map(|since| (since, time)).or(last)
    }
}
