//! Senders and receivers of flows.

use super::parts::{Context, Use, stream};
use crate::raw::{self, Chosen, Many, Pattern, RandomNames};
use crate::resolve::graph;
use config::{Cx, Place};
use ground::rand::Rng;
use host::FLOW_ID_MAX;

/// Pairs of host numbers of senders and receivers.
#[derive(Clone, Debug)]
pub(super) enum Pairs {
    /// One flow each.
    Given(Vec<(usize, usize)>),
    /// A receiver is drawn for each sender or message.
    Random { from: Vec<usize>, to: Vec<usize> },
    /// Hosts of a collective, in order.
    Collective(Vec<usize>),
}

impl Pairs {
    /// Returns one of the pairs; `None` without any.
    pub(super) fn first(&self) -> Option<(usize, usize)> {
        match self {
            Self::Given(pairs) => pairs.first().copied(),
            Self::Random { from, to } => {
                let sender = *from.first()?;
                to.iter().find(|to| **to != sender).map(|to| (sender, *to))
            }
            Self::Collective(hosts) => Some((*hosts.first()?, *hosts.get(1)?)),
        }
    }
}

/// Returns the host numbers of sender and receiver of each flow of an entry.
pub(super) fn ends(
    cx: &mut Cx,
    source: &graph::Source<'_>,
    raw: &raw::Flow,
    context: &Context<'_, '_>,
    room: usize,
    entry: usize,
) -> Pairs {
    let none = Pairs::Given(Vec::new());
    let (from_at, to_at) = (source.key("from"), source.key("to"));
    let from = hosts(cx, &from_at, raw.from.as_ref(), context, 2 * entry);
    if matches!(raw.pattern, Some(Pattern::Ring | Pattern::Exchange)) {
        if raw.to.is_some() {
            cx.error(&to_at, "a collective is among the hosts of `from`; leave out `to`");
        }
        // Before the receivers are resolved: without `to` they would be all hosts.
        if from.len() < 2 {
            cx.error(&from_at, "a collective has at least two hosts");
            return none;
        }
        return Pairs::Collective(from);
    }
    let to = hosts(cx, &to_at, raw.to.as_ref(), context, 2 * entry + 1);
    if from.is_empty() || to.is_empty() {
        return none;
    }
    let pairs: Vec<(usize, usize)> = match raw.pattern.unwrap_or_default() {
        // Checked before the pairs are made: 16,384 hosts would make 268 million. Those of a host with itself are
        // left out.
        Pattern::AllToAll if from.len() * to.len() > room + to.len().min(from.len()) => {
            let what = format!(
                "makes {} flows; a lab has up to {}",
                from.len() * to.len(),
                FLOW_ID_MAX + 1
            );
            cx.error(&source.own, what);
            return none;
        }
        Pattern::AllToAll => {
            let pairs = from.iter().flat_map(|f| to.iter().map(move |t| (*f, *t)));
            pairs.filter(|(f, t)| f != t).collect()
        }
        Pattern::Pairs if from.len() != to.len() => {
            let what = format!("{} senders and {} receivers are no pairs", from.len(), to.len());
            cx.error(&source.own, what);
            return none;
        }
        Pattern::Pairs => from.into_iter().zip(to).collect(),
        Pattern::Permutation if to.len() < from.len() || to.len() < 2 => {
            let (senders, receivers) = (from.len(), to.len());
            let what =
                format!("{receivers} receivers are too few for a permutation of {senders} senders");
            cx.error(&source.own, what);
            return none;
        }
        Pattern::Permutation => permutation(from, to, Rng::nth(context.seed, entry as u64)),
        Pattern::Random => return random(cx, source, from, to, context),
        Pattern::Ring | Pattern::Exchange => unreachable!("collectives have returned"),
    };
    if pairs.is_empty() || pairs.iter().any(|(f, t)| f == t) {
        cx.error(&source.own, "a host would send to itself; name others");
        return none;
    }
    if pairs.len() > room {
        cx.error(&source.own, format!("more than {} flows", FLOW_ID_MAX + 1));
        return none;
    }
    Pairs::Given(pairs)
}

/// Returns the hosts of random pairs, if each sender has a receiver beside itself.
fn random(
    cx: &mut Cx,
    source: &graph::Source<'_>,
    from: Vec<usize>,
    to: Vec<usize>,
    context: &Context<'_, '_>,
) -> Pairs {
    if let Some(alone) = from.iter().find(|from| to.iter().all(|to| to == *from)) {
        let name = &context.graph.nodes[context.graph.hosts[*alone]].name;
        cx.error(&source.own, format!("`{name}` has no receiver but itself; name others"));
        return Pairs::Given(Vec::new());
    }
    Pairs::Random { from, to }
}

/// Returns the numbers of the named hosts; without names, of all hosts but the generator's. `end` is
/// the number of this end among all of the lab.
fn hosts(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: Option<&Chosen>,
    context: &Context<'_, '_>,
    end: usize,
) -> Vec<usize> {
    match raw {
        None => all(context),
        Some(Chosen::Listed(Many(list))) => listed(cx, place, list, context),
        Some(Chosen::Random(random)) => some_of(cx, place, random, context, end),
    }
}

/// Returns the numbers of all hosts but the generator's.
fn all(context: &Context<'_, '_>) -> Vec<usize> {
    (0..context.graph.hosts.len()).filter(|host| !context.is_tester(*host)).collect()
}

fn listed(
    cx: &mut Cx,
    place: &Place<'_>,
    list: &[String],
    context: &Context<'_, '_>,
) -> Vec<usize> {
    let graph = context.graph;
    if let [one] = list {
        if one == "all" {
            return all(context);
        }
    }
    if list.is_empty() {
        cx.error(place, "names no host; write `all`, a host or a list of hosts");
    }
    let mut out: Vec<usize> = Vec::new();
    let mut taken = vec![false; graph.hosts.len()];
    for (i, text) in list.iter().enumerate() {
        let here = if list.len() == 1 { place.clone() } else { place.index(i) };
        for name in graph::expand(cx, &here, text) {
            // The first of a range that does not exist stands for those behind it.
            let Some(node) = graph.find_host(cx, &here, &name) else { break };
            let number = graph.host_number(node);
            if context.is_tester(number) {
                let what = format!("`{name}` is a port of `otg`; write its flows there");
                cx.error(&here, what);
            }
            if taken[number] {
                cx.error(&here, format!("`{name}` is named twice"));
            }
            taken[number] = true;
            out.push(number);
        }
    }
    out
}

/// Returns some of several hosts at random, in the order of the list.
fn some_of(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &RandomNames,
    context: &Context<'_, '_>,
    end: usize,
) -> Vec<usize> {
    let candidates = match &raw.of {
        None => all(context),
        Some(Many(list)) => listed(cx, &place.key("of"), list, context),
    };
    let count = raw.random as usize;
    if count == 0 || count > candidates.len() {
        if !candidates.is_empty() {
            let what =
                format!("{count} of {} hosts; choose 1 to {}", candidates.len(), candidates.len());
            cx.error(&place.key("random"), what);
        }
        return Vec::new();
    }
    // A Fisher-Yates shuffle that stops after `count` draws.
    let mut rng = Rng::new(stream(context.seed, Use::Hosts, end, 0));
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    for i in 0..count {
        order.swap(i, i + rng.below((candidates.len() - i) as u64) as usize);
    }
    order.truncate(count);
    order.sort_unstable();
    order.into_iter().map(|i| candidates[i]).collect()
}

/// Pairs every sender with one receiver, no receiver twice and no host with itself.
fn permutation(from: Vec<usize>, mut to: Vec<usize>, seed: u64) -> Vec<(usize, usize)> {
    let mut rng = Rng::new(seed);
    let mut below = |n: usize| ((rng.next_u16() as usize) << 16 | rng.next_u16() as usize) % n;
    for i in (1..to.len()).rev() {
        to.swap(i, below(i + 1));
    }
    // A host that drew itself swaps with its neighbour, whose new receiver is not the neighbour
    // either.
    for i in 0..from.len() {
        if from[i] == to[i] {
            let next = (i + 1) % to.len();
            to.swap(i, next);
        }
    }
    from.into_iter().zip(to).collect()
}
