//! Senders and receivers of flows.

use super::parts::Context;
use crate::raw::{self, Many, Pattern};
use crate::resolve::graph;
use config::{Cx, Place};
use ground::rand::Rng;
use host::FLOW_ID_MAX;

/// Returns the host numbers of sender and receiver of each flow of an entry.
pub(super) fn ends(
    cx: &mut Cx,
    at: &graph::Source<'_>,
    said: &raw::Flow,
    context: &Context<'_, '_>,
    room: usize,
    entry: usize,
) -> Vec<(usize, usize)> {
    let (from_at, to_at) = (at.key("from"), at.key("to"));
    let from = hosts(cx, &from_at, said.from.as_ref(), context);
    let to = hosts(cx, &to_at, said.to.as_ref(), context);
    if from.is_empty() || to.is_empty() {
        return Vec::new();
    }
    let pairs: Vec<(usize, usize)> = match said.pattern.unwrap_or_default() {
        Pattern::AllToAll if from.len() * to.len() > room + to.len().min(from.len()) => {
            let what = format!(
                "comes to {} flows; a lab has up to {}",
                from.len() * to.len(),
                FLOW_ID_MAX + 1
            );
            cx.error(&at.own, what);
            return Vec::new();
        }
        Pattern::AllToAll => {
            let pairs = from.iter().flat_map(|f| to.iter().map(move |t| (*f, *t)));
            pairs.filter(|(f, t)| f != t).collect()
        }
        Pattern::Pairs if from.len() != to.len() => {
            let what = format!("{} senders and {} receivers are no pairs", from.len(), to.len());
            cx.error(&at.own, what);
            return Vec::new();
        }
        Pattern::Pairs => from.into_iter().zip(to).collect(),
        Pattern::Permutation => {
            if to.len() < from.len() || to.len() < 2 {
                let what = format!(
                    "{} receivers are too few for a permutation of {} senders",
                    to.len(),
                    from.len()
                );
                cx.error(&at.own, what);
                return Vec::new();
            }
            permutation(from, to, Rng::nth(context.seed, entry as u64))
        }
    };
    if pairs.is_empty() || pairs.iter().any(|(f, t)| f == t) {
        cx.error(&at.own, "a host would send to itself; name others");
        return Vec::new();
    }
    if pairs.len() > room {
        cx.error(&at.own, format!("more than {} flows", FLOW_ID_MAX + 1));
        return Vec::new();
    }
    pairs
}

/// Returns the numbers of the named hosts; without names, of all hosts but the generator's.
fn hosts(
    cx: &mut Cx,
    at: &Place<'_>,
    said: Option<&Many<String>>,
    context: &Context<'_, '_>,
) -> Vec<usize> {
    let graph = context.graph;
    let all = || (0..graph.hosts.len()).filter(|host| !context.is_tester(*host)).collect();
    let Some(Many(list)) = said else { return all() };
    if let [one] = list.as_slice() {
        if one == "all" {
            return all();
        }
    }
    if list.is_empty() {
        cx.error(at, "names no host; write `all`, a host or a list of hosts");
    }
    let mut out: Vec<usize> = Vec::new();
    for (i, name) in list.iter().enumerate() {
        let here = if list.len() == 1 { at.clone() } else { at.index(i) };
        let Some(node) = graph.find_host(cx, &here, name) else { continue };
        let number = graph.host_number(node);
        if context.is_tester(number) {
            let what = format!("`{name}` is a port of `otg`; write its flows there");
            cx.error(&here, what);
        }
        if out.contains(&number) {
            cx.error(&here, format!("`{name}` is named twice"));
        }
        out.push(number);
    }
    out
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
