//! Distributes the traffic of an entry over its flows: sizes of messages and flows, the same for all or drawn from a
//! distribution, and collective operations, ring all-reduce and all-to-all.

use std::path::Path;

use super::ends::Pairs;
use super::parts::{Bound, Context, KindOf, Sent, Use, start, station, stream};
use super::workload::{Drawing, StationLine, is_listed};
use crate::cdf::{BadPoint, Cdf};
use crate::raw::{self, Bytes, Distribution, Pattern, Published};
use crate::resolve::graph;
use crate::{Collective, Workload};
use config::quantity::Span;
use config::{Cx, Place};
use ground::rand::Rng;
use ground::time::{Duration, Instant};
use sim::NodePlan;

/// An entry of the file, with the fields that its flows share.
pub(super) struct Entry<'a> {
    /// Number among the entries.
    pub(super) number: usize,
    pub(super) source: &'a graph::Source<'a>,
    pub(super) raw: &'a raw::Flow,
    pub(super) kind: &'a KindOf,
    /// Number of messages that may still be drawn.
    pub(super) messages: u64,
}

/// Returns the flows of an entry, and its description if it is a workload.
pub(super) fn traffic(
    cx: &mut Cx,
    entry: &Entry<'_>,
    pairs: &Pairs,
    context: &Context<'_, '_>,
    nodes: &mut [NodePlan],
) -> (Vec<Sent>, Option<Workload>) {
    let Entry { number, source, raw, kind, messages } = *entry;
    // One stream for the entry, drawn in the order of its flows: adding an entry changes no other.
    let mut amounts = Rng::new(stream(context.seed, Use::Amounts, number, 0));
    let mut bound = || match &kind.drawn {
        Some(sizes) => Bound::Bytes(sizes.next(&mut amounts)),
        None => kind.bound,
    };
    // Messages that are all equal stay a rule in the plan; only drawn ones are listed, which takes memory.
    let listed = kind.carrier.batch().filter(|batch| is_listed(batch, pairs));
    let chosen: Vec<(usize, usize)> = match (pairs, listed, kind.carrier.transport()) {
        (Pairs::Collective(hosts), ..) => {
            let bytes = match bound() {
                Bound::Bytes(bytes) => Some(bytes),
                _ => None,
            };
            return collective(cx, entry, hosts, bytes);
        }
        (_, Some(batch), Some(transport)) => {
            if raw.stagger.is_some_and(|Span(by)| by > Duration::ZERO) {
                let what = "messages of a workload have times of their own; leave it out";
                cx.error(&source.key("stagger"), what);
            }
            let start = start(raw, 0).since(Instant::ZERO);
            let (entry, room) = (number, messages);
            let drawing = Drawing { source, kind, batch, transport, context, entry, start, room };
            let line = |node: &usize| station(nodes, *node).map(|plan| StationLine::of(plan));
            let lines: Vec<Option<StationLine>> = context.graph.hosts.iter().map(line).collect();
            return drawing.draw(cx, pairs, &|host| lines[host]);
        }
        (Pairs::Given(pairs), ..) => pairs.clone(),
        (Pairs::Random { from, to }, ..) => {
            let mut receivers = Rng::new(stream(context.seed, Use::Receivers, number, 0));
            let mut pair = |from: &usize| {
                // `ends` has refused a sender that has no receiver but itself.
                let others: Vec<usize> = to.iter().copied().filter(|to| to != from).collect();
                (*from, others[receivers.below(others.len() as u64) as usize])
            };
            from.iter().map(&mut pair).collect()
        }
    };
    let flows: Vec<Sent> = chosen.into_iter().map(|ends| Sent::of(ends, bound())).collect();
    let bytes_of = |flow: &Sent| match flow.bound {
        Bound::Bytes(bytes) => bytes,
        _ => 0,
    };
    let workload = kind.drawn.as_ref().map(|sizes| Workload {
        name: String::new(),
        flows: 0..0,
        sizes: sizes.name(),
        mean_bytes: sizes.mean(),
        messages: flows.len() as u64,
        bytes: flows.iter().map(bytes_of).sum(),
        load: None,
        collective: None,
    });
    (flows, workload)
}

/// Validated sizes.
#[derive(Clone, Debug)]
pub(super) enum Sizes {
    /// The same for all, in bytes.
    Fixed(u64),
    /// Drawn from a distribution of this name.
    Drawn(String, Cdf),
}

impl Sizes {
    /// True if every message may have another size.
    pub(super) const fn is_drawn(&self) -> bool {
        matches!(self, Self::Drawn(..))
    }

    /// Returns the next size in bytes.
    pub(super) fn next(&self, rng: &mut Rng) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Drawn(_, cdf) => cdf.draw(rng),
        }
    }

    /// Returns the mean in bytes.
    pub(super) fn mean(&self) -> f64 {
        match self {
            Self::Fixed(bytes) => *bytes as f64,
            Self::Drawn(_, cdf) => cdf.mean(),
        }
    }

    /// Returns the mean number of packets of up to `payload` bytes.
    pub(super) fn mean_packets(&self, payload: u32) -> f64 {
        match self {
            Self::Fixed(bytes) => bytes.div_ceil(payload.max(1).into()) as f64,
            Self::Drawn(_, cdf) => cdf.mean_packets(payload),
        }
    }

    /// Returns the description in tables.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Fixed(bytes) => format!("{bytes} bytes"),
            Self::Drawn(name, _) => name.clone(),
        }
    }
}

/// Resolves sizes. After an error they are one byte.
pub(super) fn sizes(cx: &mut Cx, place: &Place<'_>, raw: &Bytes) -> Sizes {
    let published = |which, name: &str| Sizes::Drawn(name.into(), Cdf::published(which));
    match raw {
        Bytes::Fixed(size) => {
            if size.0 == 0 {
                cx.error(place, "must be at least 1");
            }
            Sizes::Fixed(size.0)
        }
        Bytes::Published(Published::Websearch) => published(Published::Websearch, "websearch"),
        Bytes::Published(Published::Hadoop) => published(Published::Hadoop, "hadoop"),
        Bytes::Own(own) => own_sizes(cx, place, own),
    }
}

/// Reads a file of points; the error begins with its name.
fn read_sizes(path: &Path) -> Result<Cdf, String> {
    let (name, text) = config::read_text(path, "file of points").map_err(|e| e.to_string())?;
    let name = ground::printable::excerpt(&name);
    Cdf::parse(&text).map_err(|BadPoint { number, why }| format!("{name}:{number}: {why}"))
}

fn own_sizes(cx: &mut Cx, place: &Place<'_>, raw: &Distribution) -> Sizes {
    let (found, name) = match (&raw.cdf, &raw.points) {
        (None, Some(points)) => {
            let found = Cdf::of_points(points);
            (
                // Points are counted from 1 in messages, and from 0 in the file's list.
                found.map_err(|bad| (place.key("points").index(bad.number - 1), bad.why)),
                "points".into(),
            )
        }
        (Some(file), None) => {
            let place = place.key("cdf");
            let name = file.file_stem().map_or_else(|| "cdf".into(), |s| s.to_string_lossy());
            let name = ground::printable::excerpt(&name);
            (read_sizes(&cx.beside(file)).map_err(|why| (place, why)), name.into())
        }
        _ => {
            (Err((place.clone(), "needs exactly one of `cdf` and `points`".into())), String::new())
        }
    };
    match found {
        Ok(cdf) => Sizes::Drawn(name, cdf),
        Err((place, why)) => {
            cx.error(&place, why);
            Sizes::Fixed(1)
        }
    }
}

/// Returns the flows of a collective of `bytes` of data at each host, and its description.
fn collective(
    cx: &mut Cx,
    entry: &Entry<'_>,
    hosts: &[usize],
    bytes: Option<u64>,
) -> (Vec<Sent>, Option<Workload>) {
    let Entry { source, raw, kind, .. } = *entry;
    let none = (Vec::new(), None);
    let ring = raw.pattern == Some(Pattern::Ring);
    let name = if ring { "ring" } else { "exchange" };
    if !kind.carrier.is_answered() {
        let what = format!("`{name}` has to know what has arrived; take `roce` or `tcp`");
        cx.error(&source.key("transport"), what);
        return none;
    }
    if kind.carrier.batch().is_some() {
        let messages = source.key("transport").key(kind.carrier.key()).key("messages");
        cx.error(&messages, format!("`{name}` sets the messages itself; leave these out"));
        return none;
    }
    let Some(bytes) = bytes else {
        let what = format!("`{name}` needs the data of each host: `{{bytes: 1MB}}`");
        cx.error(&source.key("duration"), what);
        return none;
    };
    let n = hosts.len();
    // Rounded up: the last chunk of a collective may be shorter, and is sent as long as the others.
    let chunk = bytes.div_ceil(n as u64);
    // A ring all-reduce is a reduce-scatter and an all-gather of n - 1 steps each.
    let steps = if ring { 2 * (n as u64 - 1) } else { 1 };
    let one = |ends| Sent { times: steps, ..Sent::of(ends, Bound::Bytes(chunk)) };
    let flows: Vec<Sent> = if ring {
        let next = |i: usize| (i + 1) % n;
        // A host sends on what has arrived from the host before it, so its messages wait for that host's.
        let before = |i: usize| Some((i + n - 1) % n);
        let flow = |i| Sent { after: before(i), ..one((hosts[i], hosts[next(i)])) };
        (0..n).map(flow).collect()
    } else {
        let pairs = hosts.iter().flat_map(|f| hosts.iter().map(move |t| (*f, *t)));
        pairs.filter(|(f, t)| f != t).map(one).collect()
    };
    let messages = flows.len() as u64 * steps;
    let workload = Workload {
        name: String::new(),
        flows: 0..0,
        sizes: format!("{chunk} bytes"),
        mean_bytes: chunk as f64,
        messages,
        bytes: messages * chunk,
        load: None,
        collective: Some(Collective { pattern: name, hosts: n as u64, bytes, chunk, steps }),
    };
    (flows, Some(workload))
}
