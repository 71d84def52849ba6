//! Distributes the traffic of an entry over its flows.

use super::collective::collective;
use super::ends::Pairs;
use super::parts::{Bound, Context, KindOf, Sent, Use, start, station, stream};
use super::workload::{Drawing, StationLine, is_listed, room};
use crate::Workload;
use crate::raw;
use crate::resolve::graph;
use config::Cx;
use config::quantity::Span;
use ground::rand::Rng;
use ground::time::{Duration, Instant};
use host::StationPlan;
use sim::NodePlan;

/// Returns the flows of an entry, and its description if it is a workload.
pub(super) fn traffic(
    cx: &mut Cx,
    (at, said, kind): (&graph::Source<'_>, &raw::Flow, &KindOf),
    pairs: &Pairs,
    context: &Context<'_, '_>,
    (entry, before): (usize, &[Workload]),
    nodes: &mut [NodePlan],
) -> (Vec<Sent>, Option<Workload>) {
    let mut amounts = Rng::new(stream(context.seed, Use::Amounts, entry, 0));
    let mut bound = || match &kind.drawn {
        Some(sizes) => Bound::Bytes(sizes.next(&mut amounts)),
        None => kind.bound,
    };
    let listed = kind.carrier.batch().filter(|batch| is_listed(batch, pairs));
    let chosen: Vec<(usize, usize)> = match (pairs, listed, kind.carrier.transport()) {
        (Pairs::Collective(hosts), ..) => {
            let bytes = match bound() {
                Bound::Bytes(bytes) => Some(bytes),
                _ => None,
            };
            return collective(cx, at, said, kind, hosts, bytes);
        }
        (_, Some(batch), Some(transport)) => {
            if said.stagger.is_some_and(|Span(by)| by > Duration::ZERO) {
                let what = "messages of a workload have times of their own; leave it out";
                cx.error(&at.key("stagger"), what);
            }
            let start = start(said, 0).since(Instant::ZERO);
            let room = room(before);
            let drawing = Drawing { at, kind, batch, transport, context, entry, start, room };
            let lines: Vec<Option<StationLine>> = context
                .graph
                .hosts
                .iter()
                .map(|node| {
                    station(nodes, *node).map(|plan: &mut StationPlan| StationLine::of(plan))
                })
                .collect();
            return drawing.draw(cx, pairs, &|host| lines[host]);
        }
        (Pairs::Given(pairs), ..) => pairs.clone(),
        (Pairs::Random { from, to }, ..) => {
            let mut receivers = Rng::new(stream(context.seed, Use::Receivers, entry, 0));
            let mut pair = |from: &usize| {
                let others: Vec<usize> = to.iter().copied().filter(|to| to != from).collect();
                (*from, others[receivers.below(others.len() as u64) as usize])
            };
            from.iter().map(&mut pair).collect()
        }
    };
    let flows: Vec<Sent> = chosen.into_iter().map(|ends| Sent::of(ends, bound())).collect();
    let of = |flow: &Sent| match flow.bound {
        Bound::Bytes(bytes) => bytes,
        _ => 0,
    };
    let workload = kind.drawn.as_ref().map(|sizes| Workload {
        name: String::new(),
        flows: 0..0,
        sizes: sizes.name(),
        mean_bytes: sizes.mean(),
        messages: flows.len() as u64,
        bytes: flows.iter().map(of).sum(),
        load: None,
        collective: None,
    });
    (flows, workload)
}
