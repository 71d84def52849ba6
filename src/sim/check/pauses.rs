//! Pause legality: no frame of a priority starts while that is paused, calculated from the pauses
//! that arrived, in the clock of the node that has to obey them. Nor does a port send a pause under the
//! address of another.

use super::facts::Facts;
use super::finding::{Check, Extent, Finding, First};
use super::parsed::{EITHER, Request};
use super::passages::{Left, Passages};
use super::take;
use crate::{Direction, NodeId};
use ground::time::{Duration, Instant};
use ground::units::{Mac, PRIORITIES, Priority, PrioritySet};

/// Until when each priority of each port is paused.
#[derive(Clone, Debug)]
pub(super) struct Pauses {
    ports: Vec<Port>,
    /// Pauses that look illegal and may be of a watchdog that acts at the same time.
    suspects: Vec<Suspect>,
    first: First,
    obeyed: u64,
    /// Frames that started while a priority was paused that they may have.
    unknown: u64,
}

#[derive(Clone, Copy, Debug)]
struct Port {
    /// Priorities with an `until`, whether it is over or not.
    paused: u8,
    /// Classes that a watchdog lets ignore pauses now.
    ignoring: u8,
    /// From when on nothing may start, and until when, on the node's clock.
    from: [Instant; PRIORITIES],
    until: [Instant; PRIORITIES],
    /// Time at which the pause arrived, and the delay until a busy node read it.
    arrived: [Instant; PRIORITIES],
    late: [Duration; PRIORITIES],
}

#[derive(Clone, Copy, Debug)]
struct Suspect {
    at: Instant,
    port: Direction,
    priority: u8,
    /// The classes in which the frame may have been: bit n for class n.
    places: u8,
    left: Duration,
}

impl Pauses {
    pub(super) fn new(facts: &Facts) -> Self {
        let never = [Instant::ZERO; PRIORITIES];
        let late = [Duration::ZERO; PRIORITIES];
        let port = Port { paused: 0, ignoring: 0, from: never, until: never, arrived: never, late };
        Self {
            ports: vec![port; facts.ports.len()],
            suspects: vec![],
            first: First::default(),
            obeyed: 0,
            unknown: 0,
        }
    }

    /// Adds what another part has seen at its ports.
    pub(super) fn unite(&mut self, other: Self, theirs: &Facts) {
        take(&mut self.ports, other.ports, |n| theirs.has_port(Direction(n as u32)));
        self.suspects.extend(other.suspects);
        self.first.unite(other.first);
        self.obeyed += other.obeyed;
        self.unknown += other.unknown;
    }

    /// A MAC control frame arrived by `direction`, and counts from now on.
    #[cold]
    pub(super) fn arrived(
        &mut self,
        facts: &Facts,
        at: Instant,
        direction: Direction,
        ask: &Request,
    ) {
        let facts_of = facts.to(direction);
        let (named, _) = ask.sets();
        // PAUSE is ignored where PFC runs, and PFC where PAUSE runs.
        if matches!(ask, Request::Pause(_)) != facts_of.link_wide {
            return;
        }
        let local = facts.node(facts_of.node).clock.local(at);
        let port = &mut self.ports[direction.reverse().index()];
        for p in
            Priority::ALL.into_iter().filter(|p| named.contains(*p) && facts_of.obeys.contains(*p))
        {
            let time = ask.time(p.index()).at(facts_of.rate);
            // A refresh renews the end; the pause goes on from its beginning.
            if port.paused >> p.get() & 1 == 0 || port.until[p.index()] <= local {
                port.from[p.index()] = local.saturating_add(facts_of.lets);
            }
            port.until[p.index()] = local.saturating_add(time);
            (port.arrived[p.index()], port.late[p.index()]) = (at, Duration::ZERO);
            port.paused |= 1 << p.get();
        }
        self.obeyed += 1;
    }

    /// A MAC control frame from this address starts. A port that sends one puts its own address into it
    /// (802.3 31B.1 and 31D).
    #[cold]
    pub(super) fn control_sent(
        &mut self,
        facts: &Facts,
        time: Instant,
        direction: Direction,
        source: u64,
    ) {
        let port_facts = facts.from(direction);
        // A generator sends what it is told.
        let is_free =
            !facts.node(port_facts.node).is_switch && facts.node(port_facts.node).sends_ce;
        if source == port_facts.mac || is_free {
            return;
        }
        self.first.record_at(time, port_facts.node.index(), || {
            let [_, _, source @ ..] = source.to_be_bytes();
            let (name, source) = (&port_facts.name, Mac(source));
            format!("{name} sent a MAC control frame with the source address {source}, not its own")
        });
    }

    /// A data frame of `priority` starts; `class` is that in which it waited, where it is known.
    #[inline]
    pub(super) fn sent(
        &mut self,
        facts: &Facts,
        passages: &Passages,
        time: Instant,
        direction: Direction,
        left: Left,
    ) {
        let Left { priority, class } = left;
        let port = &mut self.ports[direction.index()];
        if priority == EITHER {
            self.unknown += u64::from(port.paused != 0);
            return;
        }
        if port.paused.checked_shr(priority.into()).unwrap_or(0) & 1 == 0 {
            return;
        }
        let p = usize::from(priority);
        let port_facts = facts.from(direction);
        let local = facts.node(port_facts.node).clock.local(time);
        // A generator's port may be configured to react late.
        if local < port.from[p] {
            return;
        }
        let left = port.until[p].since(local);
        if left == Duration::ZERO {
            port.paused &= !(1 << p);
            return;
        }
        // The frame has left the sums of what waits. A watchdog ignores the pauses of the priorities that
        // have its class now, so that their frames in former classes leave too.
        let own = class.map_or(0, |class| 1 << class);
        let places = own | passages.all_places(facts, direction, p);
        if port.ignoring & places == 0 {
            self.settle(facts, time);
            self.suspects.push(Suspect { at: time, port: direction, priority, places, left });
        }
    }

    /// Watchdogs speak after the poll in which they act: what was suspected before this time is
    /// known to be illegal now.
    #[cold]
    fn settle(&mut self, facts: &Facts, time: Instant) {
        self.suspects.retain(|suspect| {
            let Suspect { at: then, port, priority, left, .. } = *suspect;
            if then < time {
                self.first.record_at(then, facts.from(port).node.index(), || {
                    let name = &facts.from(port).name;
                    format!("{name} started a frame of priority {priority}, which is paused for {left} more")
                });
            }
            then >= time
        });
    }

    /// A watchdog found a storm on some classes of a port and ignores its pauses, or stopped.
    pub(super) fn storm(
        &mut self,
        facts: &Facts,
        time: Instant,
        port: Direction,
        class: u8,
        detected: bool,
    ) {
        self.settle(facts, time);
        let port_facts = facts.from(port);
        let state = &mut self.ports[port.index()];
        state.ignoring &= !(1 << class);
        if detected && port_facts.forwards >> class & 1 == 1 {
            state.ignoring |= 1 << class;
            self.suspects.retain(|s| s.port != port || s.places >> class & 1 == 0);
        }
    }

    /// A port obeys pauses of these priorities from now on, and those of all others end. Switches say so
    /// after the poll in which they change, and so after what they sent in it.
    pub(super) fn obeys(
        &mut self,
        facts: &Facts,
        time: Instant,
        port: Direction,
        priorities: PrioritySet,
    ) {
        self.settle(facts, time);
        self.ports[port.index()].paused &= priorities.0;
        self.suspects.retain(|s| s.port != port || priorities.0 >> s.priority & 1 == 1);
    }

    /// The link went down or came up: no pause outlives that.
    pub(super) fn link(&mut self, port: Direction) {
        self.ports[port.index()].paused = 0;
    }

    /// A node that was busy since `since` reads what has arrived at `at`.
    pub(super) fn read(&mut self, facts: &Facts, node: NodeId, since: Instant, time: Instant) {
        let clock = facts.node(node).clock;
        for direction in &facts.node(node).out {
            let port = &mut self.ports[direction.index()];
            for p in PrioritySet(port.paused).iter() {
                let arrived = port.arrived[p.index()];
                // Only pauses that the busy node could not read in time are obeyed late.
                if arrived >= since && arrived <= time {
                    port.late[p.index()] = clock.local(time).since(clock.local(arrived));
                }
            }
        }
    }

    /// True if a priority may not be sent by a port, as its node sees it: a pause that a busy node reads late
    /// lasts from then on.
    pub(super) fn is_paused(
        &self,
        facts: &Facts,
        passages: &Passages,
        time: Instant,
        port: Direction,
        p: usize,
    ) -> bool {
        let ignoring = self.ports[port.index()].ignoring;
        passages.all_places(facts, port, p) & !ignoring != 0 && self.lasts(facts, time, port, p)
    }

    /// As [`Self::is_paused`], as the switch itself decides it: a watchdog that ignores the pauses of a class
    /// ignores those of all priorities that may have frames there.
    pub(super) fn stops(&self, facts: &Facts, time: Instant, port: Direction, p: usize) -> bool {
        let ignoring = self.ports[port.index()].ignoring;
        facts.from(port).places_of(p) & ignoring == 0 && self.lasts(facts, time, port, p)
    }

    /// True if a pause of a priority is in force, whether it is obeyed or not.
    fn lasts(&self, facts: &Facts, time: Instant, port: Direction, p: usize) -> bool {
        let state = &self.ports[port.index()];
        let until = state.until[p].saturating_add(state.late[p]);
        state.paused >> p & 1 == 1
            && (state.from[p]..until).contains(&facts.node(facts.from(port).node).clock.local(time))
    }

    pub(super) fn finish(mut self, facts: &Facts) -> Finding {
        // No watchdog speaks after the end.
        self.settle(facts, Instant::NEVER);
        let (obeyed, unknown) = (self.obeyed, self.unknown);
        if self.first.is_none() && unknown > 0 {
            let why = format!(
                "{unknown} frames started while a priority was paused that they may have: they left without \
                 the tag that gave it to them"
            );
            return Finding::not_judged(Check::PauseLegality, why);
        }
        let extent = Extent { count: obeyed, without: "no pause arrived" };
        self.first.finding(Check::PauseLegality, extent, || {
            format!("{obeyed} pauses and resumptions arrived, and no frame started against them")
        })
    }
}
