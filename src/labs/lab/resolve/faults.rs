//! Resolves faults: names to numbers, flaps to down and up events, forged and replayed frames to their times. A link
//! that several faults hold down comes up when none of them does any more.

use std::collections::BTreeMap;

use super::changes::{check_changes, ecn, group, object, scheduler};
use super::defects::defect;
use super::graph::Graph;
use super::links::{LinkSpec, errors};
use super::switches::{Profiles, Switches};
use crate::raw::{self, WhichName};
use config::quantity::Span;
use config::{Cx, Place};
use ground::time::{Duration, Instant};
use pfc::FlowControl;
use sim::{Direction, Fault, FaultKind, LineFault, LinkId, NodeId, NodeKind, NodePlan, Which};

/// Most flaps of a link, or copies of a forged frame, in one entry.
const FLAPS_MAX: u32 = 10_000;
/// Length of a forged frame in bytes: at least a header, at most the basic frame size (802.3
/// 3.2.7).
const FORGED: (usize, usize) = (14, 1_514);
/// Length of the shortest frame in bytes, without FCS.
const FRAME_MIN: usize = 60;
/// Default interval between forged frames.
const FORGED_EVERY: Duration = Duration::from_micros(1);

pub(super) fn faults(
    cx: &mut Cx,
    place: &Place<'_>,
    lab: &raw::Lab,
    context: &Context<'_, '_>,
) -> Vec<Fault> {
    let mut out = Faults::default();
    for (i, raw) in lab.faults.iter().enumerate() {
        fault(cx, &place.key("faults").index(i), raw, context, &mut out);
    }
    let Faults { faults: mut out, held } = out;
    held.keep_down(&mut out);
    check_changes(cx, &place.key("faults"), context, &out);
    out
}

/// The faults of a file.
#[derive(Default)]
struct Faults {
    faults: Vec<Fault>,
    held: Held,
}

fn fault(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::Fault,
    context: &Context<'_, '_>,
    out: &mut Faults,
) {
    let Some(kind) = &raw.kind else {
        let (names, last) = raw::FaultKind::NAMES.split_at(raw::FaultKind::NAMES.len() - 1);
        let (names, last) = (names.join("`, `"), last[0]);
        return cx.error(place, format!("needs exactly one of `{names}` and `{last}` beside `at`"));
    };
    if raw.at.is_none() && !matches!(kind, raw::FaultKind::Defect(_)) {
        cx.error(place, "`at` is missing; it has no default, so add `at: ...`");
    }
    // Only a defect may leave `at` out: a device has it from the start of the run.
    let when = raw.at.map_or(Instant::ZERO, |span| Instant::ZERO.saturating_add(span.0));
    let place = &place.key(kind.name());
    let Faults { faults, held } = out;
    let mut push = |time: Instant, kind| faults.push(Fault { at: time, kind });
    match kind {
        raw::FaultKind::LinkDown(name) | raw::FaultKind::LinkUp(name) => {
            let up = matches!(kind, raw::FaultKind::LinkUp(_));
            if let Some(link) = link(cx, place, context, name) {
                push(when, FaultKind::Link { link, up });
                held.change(link, when, up);
            }
        }
        raw::FaultKind::Flap(raw) => {
            let Some(link) = link(cx, &place.key("link"), context, &raw.link) else { return };
            for (from, until) in flap(cx, place, raw, when) {
                push(from, FaultKind::Link { link, up: false });
                push(until, FaultKind::Link { link, up: true });
                held.flap(link, from, until);
            }
        }
        raw::FaultKind::Lose(raw) => lose(cx, place, raw, context, |kind| push(when, kind)),
        raw::FaultKind::Errors(raw) => {
            let errors = errors(raw.errors());
            for direction in directions(cx, place, context, &raw.link, raw.from.as_deref()) {
                push(when, FaultKind::Line(direction, LineFault::Errors(errors)));
            }
        }
        raw::FaultKind::Forge(raw) => {
            let directions = directions(cx, place, context, &raw.link, raw.from.as_deref());
            let Some(octets) = forged(cx, place, raw) else { return };
            let times = attacks(cx, place, when, raw.times, raw.every);
            inject(times, &directions, &LineFault::Forge(octets), &mut push);
        }
        raw::FaultKind::Replay(raw) => {
            let directions = directions(cx, place, context, &raw.link, raw.from.as_deref());
            let recorded = (0, FaultKind::RECORDED - 1);
            let back = cx.ranged(&place.key("back"), raw.back.unwrap_or(0), recorded, 0);
            let times = attacks(cx, place, when, raw.times, raw.every);
            inject(times, &directions, &LineFault::Replay { back }, &mut push);
        }
        raw::FaultKind::Stall(raw) => {
            if let Some(node) = context.graph.find(cx, &place.key("node"), &raw.node) {
                push(when, FaultKind::Stall { node: NodeId(node as u32), span: raw.span.0 });
            }
        }
        raw::FaultKind::Ecn(raw) => ecn(cx, place, raw, context, |kind| push(when, kind)),
        raw::FaultKind::Group(raw) => group(cx, place, raw, context, |kind| push(when, kind)),
        raw::FaultKind::Scheduler(raw) => {
            scheduler(cx, place, raw, context, |kind| push(when, kind))
        }
        raw::FaultKind::Object(raw) => object(cx, place, raw, context, |kind| push(when, kind)),
        raw::FaultKind::Defect(raw) => defect(cx, place, raw, context, |kind| push(when, kind)),
    }
}

fn link(cx: &mut Cx, place: &Place<'_>, context: &Context<'_, '_>, name: &str) -> Option<LinkId> {
    context.graph.find_link(cx, place, name).map(|l| LinkId(l as u32))
}

/// Resolves one direction of a link, by the sending node, or both.
fn directions(
    cx: &mut Cx,
    place: &Place<'_>,
    context: &Context<'_, '_>,
    name: &str,
    from: Option<&str>,
) -> Vec<Direction> {
    let Some(id) = link(cx, &place.key("link"), context, name) else { return Vec::new() };
    let Some(from) = from else { return vec![id.ab(), id.ba()] };
    let graph = context.graph;
    let ends = &graph.links[id.index()];
    match graph.node(from) {
        Some(node) if node == ends.a.0 => vec![id.ab()],
        Some(node) if node == ends.b.0 => vec![id.ba()],
        _ => {
            let (a, b) = (&graph.nodes[ends.a.0].name, &graph.nodes[ends.b.0].name);
            let what = format!("`{from}` is not at link `{name}`; its ends are {a} and {b}");
            cx.error(&place.key("from"), what);
            Vec::new()
        }
    }
}

fn lose(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::LoseFault,
    context: &Context<'_, '_>,
    mut push: impl FnMut(FaultKind),
) {
    let which = match raw.which.unwrap_or_default() {
        WhichName::Any => Which::Any,
        WhichName::Pause => Which::Control,
        WhichName::Data => Which::Data,
    };
    for direction in directions(cx, place, context, &raw.link, raw.from.as_deref()) {
        push(FaultKind::Line(
            direction,
            LineFault::Lose { which, frames: raw.frames.unwrap_or(1) },
        ));
    }
}

/// Returns the times at which a link goes down and comes up.
fn flap(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::Flap,
    first: Instant,
) -> impl Iterator<Item = (Instant, Instant)> + use<> {
    let down_for = raw.down_for.0;
    let every = raw.every.map_or(down_for.saturating_mul(2), |s| s.0);
    let times = cx.ranged(&place.key("times"), raw.times.unwrap_or(1), (1, FLAPS_MAX), 1);
    if down_for == Duration::ZERO {
        cx.error(&place.key("down_for"), "must be above zero");
    }
    // With one flap there is no time between, so `every` does not matter.
    if times > 1 && every <= down_for {
        let what = format!("the link would not come up for {down_for} between; choose more");
        cx.error(&place.key("every"), what);
    }
    (0..u64::from(times)).map(move |n| {
        let down = first.saturating_add(every.saturating_mul(n));
        (down, down.saturating_add(down_for))
    })
}

/// Returns the bytes of a forged frame, padded to the shortest length.
fn forged(cx: &mut Cx, place: &Place<'_>, raw: &raw::Forge) -> Option<Box<[u8]>> {
    let place = place.key("octets");
    let Some(mut octets) = unhex(&raw.octets) else {
        cx.error(&place, "must be hexadecimal, two digits for each octet");
        return None;
    };
    if !(FORGED.0..=FORGED.1).contains(&octets.len()) {
        let what = format!("{} octets; {} to {}", octets.len(), FORGED.0, FORGED.1);
        cx.error(&place, what);
        return None;
    }
    // Padded as a sender pads: 64 bytes with the FCS are the shortest frame.
    octets.resize(octets.len().max(FRAME_MIN), 0);
    Some(octets.into_boxed_slice())
}

/// Adds a fault of lines at each of these times, in each of these directions.
fn inject(
    times: impl Iterator<Item = Instant>,
    directions: &[Direction],
    fault: &LineFault,
    push: &mut impl FnMut(Instant, FaultKind),
) {
    for time in times {
        for direction in directions {
            push(time, FaultKind::Line(*direction, fault.clone()));
        }
    }
}

/// Returns the arrival times of the copies of a frame.
fn attacks(
    cx: &mut Cx,
    place: &Place<'_>,
    first: Instant,
    times: Option<u32>,
    every: Option<Span>,
) -> impl Iterator<Item = Instant> + use<> {
    let times = cx.ranged(&place.key("times"), times.unwrap_or(1), (1, FLAPS_MAX), 1);
    let every = every.map_or(FORGED_EVERY, |s| s.0);
    (0..u64::from(times)).map(move |n| first.saturating_add(every.saturating_mul(n)))
}

/// Decodes hexadecimal digits; `None` if there is any other character.
fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    let octet = |pair: &[u8]| match pair {
        [a, b] => {
            let digit = |d: u8| char::from(d).to_digit(16);
            // `from_str_radix` would accept a sign.
            Some((digit(*a)? << 4 | digit(*b)?) as u8)
        }
        _ => None,
    };
    digits.map(octet).collect()
}

/// Context of all faults, and the network of the flows.
pub(super) struct Context<'r, 'g> {
    pub graph: &'r Graph<'g>,
    pub specs: &'r [LinkSpec],
    pub switches: &'r Switches,
    pub profiles: &'r Profiles<'g>,
    pub nodes: &'r [NodePlan],
}

impl Context<'_, '_> {
    /// Returns true if a port of a node has 802.3x PAUSE.
    pub(super) fn is_link_wide(&self, node: usize, port: usize) -> bool {
        let switch = self.switches.plans[node].as_ref();
        let mode = match (switch, &self.nodes[node].kind) {
            (Some(switch), _) => switch.ports[port].pfc.mode,
            (None, NodeKind::Host(host)) => host.flow_control,
            (None, NodeKind::Switch(_)) => return false,
        };
        matches!(mode, FlowControl::Pause { .. })
    }
}

/// The faults of a file that hold links down.
#[derive(Default)]
struct Held {
    /// By link: times from the begin of a fault to before its end.
    times: BTreeMap<LinkId, Vec<(Instant, Instant)>>,
    /// Entries of the file that take a link down, or up, and leave it so.
    changes: Vec<LinkChange>,
}

/// An entry `link_down` or `link_up`.
struct LinkChange {
    link: LinkId,
    time: Instant,
    up: bool,
}

impl Held {
    /// Adds a flap of a link.
    fn flap(&mut self, link: LinkId, from: Instant, until: Instant) {
        self.times.entry(link).or_default().push((from, until));
    }

    /// Adds an entry that takes a link down, or up.
    fn change(&mut self, link: LinkId, time: Instant, up: bool) {
        self.changes.push(LinkChange { link, time, up });
    }

    /// Takes out of all faults those by which a link would come up while another one holds it down. An entry
    /// `link_down` holds its link until the next `link_up` of it; of two at one time the file's order decides.
    fn keep_down(mut self, faults: &mut Vec<Fault>) {
        let changes = core::mem::take(&mut self.changes);
        for (place, down) in changes.iter().enumerate().filter(|(_, change)| !change.up) {
            let ups = changes.iter().enumerate().filter(|(_, c)| c.up && c.link == down.link);
            let later = ups.filter(|(n, up)| (up.time, *n) > (down.time, place));
            let until = later.map(|(_, up)| up.time).min().unwrap_or(Instant::NEVER);
            self.flap(down.link, down.time, until);
        }
        for times in self.times.values_mut() {
            // Sorted by the begin, so that one binary search finds all that began before a time.
            times.sort_unstable();
            // From here on the end of each is the last one of all that began before.
            let mut last = Instant::ZERO;
            for (_, until) in times {
                last = last.max(*until);
                *until = last;
            }
        }
        // Down events stay: a link that is down already ignores them.
        faults.retain(|fault| match fault.kind {
            FaultKind::Link { link, up: true } => !self.is_down(link, fault.at),
            _ => true,
        });
    }

    fn is_down(&self, link: LinkId, time: Instant) -> bool {
        let times = self.times.get(&link).map_or(&[][..], Vec::as_slice);
        let begun = times.partition_point(|(from, _)| *from <= time);
        // The end is exclusive: a link comes up at the picosecond at which the last fault lets go of it.
        begun.checked_sub(1).is_some_and(|last| times[last].1 > time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ground::time::Duration;

    /// Returns the times in microseconds at which link 0 comes up: by flaps (from, until), and by changes
    /// (at, up).
    fn ups(flaps: &[(u64, u64)], changes: &[(u64, bool)]) -> Vec<u64> {
        let at = |us: u64| Instant::ZERO + Duration::from_micros(us);
        let (link, mut held, mut faults) = (LinkId(0), Held::default(), Vec::new());
        let mut push = |us, up| {
            faults.push(Fault { at: at(us), kind: FaultKind::Link { link, up } });
        };
        for (from, until) in flaps {
            held.flap(link, at(*from), at(*until));
            push(*from, false);
            push(*until, true);
        }
        for (us, up) in changes {
            push(*us, *up);
            held.change(link, at(*us), *up);
        }
        held.keep_down(&mut faults);
        let up = |fault: &Fault| fault.kind == FaultKind::Link { link, up: true };
        let times = faults.iter().filter(|f| up(f)).map(|f| f.at.since(Instant::ZERO));
        times.map(|time| time.as_picos() / 1_000_000).collect()
    }

    #[test]
    fn a_link_comes_up_when_nothing_holds_it_down() {
        assert_eq!(ups(&[(100, 300), (110, 120)], &[]), [300]);
        assert_eq!(ups(&[(110, 120), (100, 300)], &[]), [300]);
        assert_eq!(ups(&[(100, 200), (150, 250)], &[]), [250]);
        // One that begins as the other ends goes on; the order of the file says nothing.
        assert_eq!(ups(&[(100, 200), (200, 250)], &[]), [250]);
        assert_eq!(ups(&[(200, 250), (100, 200)], &[]), [250]);
        assert_eq!(ups(&[(100, 200), (201, 250)], &[]), [200, 250]);
        assert_eq!(ups(&[(100, 200)], &[(150, false)]), [0; 0]);
        assert_eq!(ups(&[(100, 200)], &[(150, false), (180, true)]), [200]);
        assert_eq!(ups(&[(100, 200)], &[(150, false), (300, true)]), [300]);
        assert_eq!(ups(&[], &[(1, false), (2, true), (3, false), (4, true)]), [2, 4]);
        assert_eq!(ups(&[], &[(1, false), (1, true)]), [1]);
        assert_eq!(ups(&[], &[(1, true), (1, false)]), [0; 0]);
        assert_eq!(ups(&[], &[(1, true), (1, false), (2, true)]), [2]);
        // Coming up ends no flap.
        assert_eq!(ups(&[(100, 200)], &[(150, true)]), [200]);
    }
}
