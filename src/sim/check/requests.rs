//! Pauses that switches owe their peers: sent in time, refreshed, and ended.
//!
//! A switch says when a group crosses its limit, and its lines show what it sent. The two may
//! differ for no longer than a pause may have to wait for the line: one frame of the longest kind.
//! While a pause is wanted it must never run out at the peer, so it has to be sent again in time.

use super::excuses::Lateness;
use super::facts::Facts;
use super::finding::{Check, Extent, Finding, First};
use super::parsed::Request;
use super::{excuses, take};
use crate::{Direction, LinkId};
use ground::time::{Duration, Instant};
use ground::units::{PRIORITIES, Priority, PrioritySet};
use ground::verdict::Verdict;

/// Inputs of the checks of pauses: the plan, and the frames that nodes lost to lateness.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'a> {
    pub(super) facts: &'a Facts,
    pub(super) lateness: &'a Lateness,
}

/// Pauses required and pauses sent, by port.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    ports: Vec<Port>,
    late: First,
    /// True if messages were forged: a proxy may then have received any request.
    forged: bool,
    /// Pauses that ended, and the longest of them.
    ended: u64,
    longest: Option<(Duration, Direction, usize)>,
}

#[derive(Clone, Copy, Debug)]
struct Port {
    down: bool,
    /// Priorities whose groups are over their limits, and since when.
    wanted: u8,
    over: [Instant; PRIORITIES],
    /// Priorities that the peer was asked to pause and not asked to resume.
    sent: u8,
    /// Since when the two differ, by priority; never where they do not.
    since: [Instant; PRIORITIES],
    /// Frames that the node had lost to lateness then, and the time of the last report of each pause.
    late_since: [Duration; PRIORITIES],
    late_last: [Duration; PRIORITIES],
    /// Bit of each priority for which a pause was due then, not a resumption.
    owes_pause: u8,
    /// Times of the first and the last frame of each pause, and its end by the last.
    first: [Instant; PRIORITIES],
    last: [Instant; PRIORITIES],
    time: [Duration; PRIORITIES],
}

impl Requests {
    pub(super) fn new(facts: &Facts) -> Self {
        let port = Port {
            down: false,
            wanted: 0,
            over: [Instant::ZERO; PRIORITIES],
            sent: 0,
            since: [Instant::NEVER; PRIORITIES],
            late_since: [Duration::ZERO; PRIORITIES],
            late_last: [Duration::ZERO; PRIORITIES],
            owes_pause: 0,
            first: [Instant::ZERO; PRIORITIES],
            last: [Instant::ZERO; PRIORITIES],
            time: [Duration::ZERO; PRIORITIES],
        };
        let ports = vec![port; facts.ports.len()];
        Self { ports, late: First::default(), forged: false, ended: 0, longest: None }
    }

    /// A group of a port crossed its limit.
    pub(super) fn crossed(
        &mut self,
        cx: Context<'_>,
        time: Instant,
        port: Direction,
        group: u8,
        xoff: bool,
    ) {
        let port_facts = cx.facts.from(port);
        let set = port_facts.of_group(group).0 & port_facts.asks.0;
        // What has expired by itself until now ends first.
        self.run_out(cx.facts, time, port);
        if !xoff {
            self.kept_up(cx, time, port, PrioritySet(set));
        }
        let state = &mut self.ports[port.index()];
        if xoff {
            PrioritySet(set & !state.wanted).iter().for_each(|p| state.over[p.index()] = time);
        }
        state.wanted = if xoff { state.wanted | set } else { state.wanted & !set };
        self.compare(cx, time, port);
    }

    /// A port pauses its peer for other priorities than before, as the facts say now. `over` are those
    /// whose groups are over their limits.
    pub(super) fn enabled(
        &mut self,
        cx: Context<'_>,
        time: Instant,
        port: Direction,
        over: PrioritySet,
    ) {
        self.run_out(cx.facts, time, port);
        self.kept_up(cx, time, port, PrioritySet::ALL);
        let target = over.0 & cx.facts.from(port).asks.0;
        let state = &mut self.ports[port.index()];
        PrioritySet(target & !state.wanted).iter().for_each(|p| state.over[p.index()] = time);
        state.wanted = target;
        self.compare(cx, time, port);
    }

    /// A MAC control frame starts.
    pub(super) fn sent(&mut self, cx: Context<'_>, time: Instant, port: Direction, ask: &Request) {
        let facts = cx.facts;
        let port_facts = facts.from(port);
        let late = cx.lateness.total(time, port_facts.node);
        let (named, paused) = ask.sets();
        self.run_out(facts, time, port);
        self.kept_up(cx, time, port, named);
        for p in named.iter() {
            let n = p.index();
            let state = &mut self.ports[port.index()];
            let was = state.sent >> n & 1 == 1;
            if paused.contains(p) {
                if !was {
                    state.first[n] = time;
                }
                state.sent |= 1 << n;
                state.last[n] = time;
                state.late_last[n] = late;
                state.time[n] = ask.time(n).at(port_facts.rate);
            } else if was {
                self.end(facts, time, port, n);
            }
        }
        self.compare(cx, time, port);
    }

    /// Pauses of a proxy expire and are never resumed by a frame. Those of the port's own groups are
    /// refreshed by them and stay.
    fn run_out(&mut self, facts: &Facts, time: Instant, port: Direction) {
        if !facts.from(port).proxied {
            return;
        }
        let state = &self.ports[port.index()];
        for p in PrioritySet(state.sent & !state.wanted).iter() {
            let state = &self.ports[port.index()];
            let until = state.last[p.index()].saturating_add(state.time[p.index()]);
            if until <= time {
                self.end(facts, until, port, p.index());
            }
        }
    }

    /// A pause is over.
    fn end(&mut self, facts: &Facts, time: Instant, port: Direction, p: usize) {
        let state = &mut self.ports[port.index()];
        state.sent &= !(1 << p);
        let length = time.since(state.first[p]);
        self.ended += u64::from(counts(facts, port, p));
        self.ended_after(length, port, p);
    }

    /// Takes note of the length of a pause.
    fn ended_after(&mut self, length: Duration, port: Direction, p: usize) {
        // Of equal lengths the lower port and priority count, so that the order of parts does not.
        let is_longer = |(longest, of, n)| (longest, port, p) < (length, of, n);
        if self.longest.is_none_or(is_longer) {
            self.longest = Some((length, port, p));
        }
    }

    /// Adds what another part has seen at its ports.
    pub(super) fn unite(&mut self, other: Self, theirs: &Facts) {
        take(&mut self.ports, other.ports, |n| theirs.has_port(Direction(n as u32)));
        self.late.unite(other.late);
        self.forged |= other.forged;
        self.ended += other.ended;
        if let Some((length, port, p)) = other.longest {
            self.ended_after(length, port, p);
        }
    }

    /// None of these has run out at the peer while it was wanted, up to now.
    fn kept_up(&mut self, cx: Context<'_>, time: Instant, port: Direction, set: PrioritySet) {
        let facts = cx.facts;
        let (of, state) = (facts.from(port), &self.ports[port.index()]);
        let total = cx.lateness.total(time, of.node);
        let clock = facts.node(facts.to(port).node).clock;
        for p in PrioritySet(set.0 & state.wanted & state.sent).iter() {
            // By the clock of the peer, which counts the pause down.
            let held = clock.local(time).since(clock.local(state.last[p.index()]));
            let late = total - state.late_last[p.index()];
            let most = excuses::more(state.time[p.index()], late);
            // A proxy's pause may expire while the group's own pause waits for the line.
            let own =
                !of.proxied || time.since(state.over[p.index()]) > excuses::more(of.wait, late);
            if held > most && own {
                self.late.record_at(time, of.node.index(), || {
                    let name = &of.name;
                    format!(
                        "{name} needs {} paused and sent no pause for {held}; its pauses last {most}",
                        which(of.link_wide, p)
                    )
                });
            }
        }
    }

    /// Takes note of how long what is wanted and what was sent have differed.
    fn compare(&mut self, cx: Context<'_>, time: Instant, port: Direction) {
        let port_facts = cx.facts.from(port);
        let total = cx.lateness.total(time, port_facts.node);
        let state = &mut self.ports[port.index()];
        if state.down {
            return;
        }
        let target = match (port_facts.link_wide, state.wanted) {
            // PAUSE is of all priorities, whichever group wants it.
            (true, 1..) => u8::MAX,
            (_, wanted) => wanted,
        };
        // Pauses of the proxy alone owe no resumption.
        let sent = if port_facts.proxied { state.sent & target } else { state.sent };
        let differ = target ^ sent;
        for p in Priority::ALL {
            let bit = 1 << p.get();
            let since = &mut state.since[p.index()];
            if differ & bit != 0 {
                // The time runs from where the two began to differ.
                if *since == Instant::NEVER {
                    *since = time;
                    state.late_since[p.index()] = total;
                    state.owes_pause = state.owes_pause & !bit | target & bit;
                }
                continue;
            }
            let late = time.since(*since);
            *since = Instant::NEVER;
            let lost = total - state.late_since[p.index()];
            if late > excuses::more(port_facts.wait, lost) {
                let what = what(state.owes_pause & bit != 0);
                self.late.record_at(time, port_facts.node.index(), || {
                    let which = which(port_facts.link_wide, p);
                    format!("{} owed its peer a {what} of {which} for {late}", port_facts.name)
                });
            }
        }
    }

    /// A link went down, and its peers forget every pause; or it came up.
    pub(super) fn link(&mut self, cx: Context<'_>, time: Instant, link: LinkId, up: bool) {
        for port in [link.ab(), link.ba()] {
            if !up {
                self.kept_up(cx, time, port, PrioritySet::ALL);
                let sent = self.ports[port.index()].sent;
                let facts = cx.facts;
                PrioritySet(sent).iter().for_each(|p| self.end(facts, time, port, p.index()));
            }
            let state = &mut self.ports[port.index()];
            state.down = !up;
            state.since = [Instant::NEVER; PRIORITIES];
            self.compare(cx, time, port);
        }
    }

    /// A frame was forged.
    pub(super) fn forged(&mut self) {
        self.forged = true;
    }

    /// True if a port requires a priority to be paused now.
    pub(super) fn wants(&self, port: Direction, p: usize) -> bool {
        self.ports[port.index()].wanted >> p & 1 == 1
    }

    /// Since when a port has asked its peer to pause a priority; never if it has not.
    pub(super) fn since(&self, port: Direction, p: usize) -> Instant {
        let state = &self.ports[port.index()];
        if state.sent >> p & 1 == 1 { state.first[p] } else { Instant::NEVER }
    }

    /// Returns the findings about pauses that were sent and about those that ended.
    pub(super) fn finish(mut self, cx: Context<'_>, now: Instant) -> [Finding; 2] {
        let facts = cx.facts;
        let (mut open, mut by_forgery) = (First::default(), First::default());
        let sent = |port: Direction| {
            let paused = PrioritySet(self.ports[port.index()].sent);
            paused.iter().filter(|p| counts(facts, port, p.index())).count() as u64
        };
        let begun = self.ended + facts.directions().map(sent).sum::<u64>();
        let extent = Extent { count: begun, without: "no pause was sent" };
        for port in facts.directions() {
            self.kept_up(cx, now, port, PrioritySet::ALL);
            let port_facts = facts.from(port);
            let state = self.ports[port.index()];
            for p in Priority::ALL {
                let n = p.index();
                let late = now.since(state.since[n]);
                let lost = cx.lateness.total(now, port_facts.node) - state.late_since[n];
                if late > excuses::more(port_facts.wait, lost) {
                    let what = what(state.owes_pause >> n & 1 == 1);
                    self.late.record(now, || {
                        let which = which(port_facts.link_wide, p);
                        format!("{} owes its peer a {what} of {which} for {late}", port_facts.name)
                    });
                }
                if state.sent >> n & 1 == 0 {
                    continue;
                }
                // A pause that was never resumed still ends at the peer, at the latest then.
                let until = state.last[n]
                    + port_facts.wait
                    + port_facts.delay
                    + port_facts.response
                    + state.time[n];
                // A proxy's pause ends by itself, at a time that a forger may choose within its policy.
                let by_proxy = self.forged && port_facts.proxied && state.wanted >> n & 1 == 0;
                if until < now {
                    self.end(facts, until, port, n);
                    continue;
                }
                let since = state.first[n].since(Instant::ZERO);
                let what = || {
                    format!(
                        "{} has {} paused since {since}",
                        port_facts.name,
                        which(port_facts.link_wide, p)
                    )
                };
                if by_proxy { by_forgery.record(now, what) } else { open.record(now, what) }
            }
        }
        let Self { late, ended, longest, .. } = self;
        let longest = longest.map_or_else(String::new, |(length, port, p)| {
            let port_facts = facts.from(port);
            let p = Priority::ALL[p];
            format!(
                ", the longest after {length}: {} {}",
                port_facts.name,
                which(port_facts.link_wide, p)
            )
        });
        let summary = || format!("{ended} pauses ended{longest}");
        let ends = match open.is_none() {
            // A forger can keep a proxy's pause alive, which is no fault of the switch.
            true => by_forgery.finding_as(Check::PausesEnd, Verdict::NotJudged, extent, summary),
            false => open.finding(Check::PausesEnd, extent, summary),
        };
        [
            late.finding(Check::PausesSent, extent, || {
                format!("{begun} pauses were sent and refreshed in time")
            }),
            ends,
        ]
    }
}

/// True if the pause of a priority is one of its own: 802.3x PAUSE is one of all priorities.
fn counts(facts: &Facts, port: Direction, p: usize) -> bool {
    p == 0 || !facts.from(port).link_wide
}

/// The words for what a pause is about.
fn which(link_wide: bool, p: Priority) -> String {
    if link_wide { "all priorities".into() } else { format!("priority {p}") }
}

const fn what(pause: bool) -> &'static str {
    if pause { "pause" } else { "resumption" }
}
