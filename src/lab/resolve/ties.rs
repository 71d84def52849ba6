//! Warns of ties: flows whose frames arrive in the same order for the whole run.

use crate::LabFlow;
use config::{Cx, Place};
use ground::units::Priority;
use host::{FlowPlan, Rate};
use sim::{LinkId, NodeKind, NodePlan};

use super::graph::Graph;
use super::links::LinkSpec;

/// Maximum number of flows that are compared.
const SENDERS_MAX: usize = 64;

/// An open-loop flow that may be in a tie.
struct Sender<'a> {
    flow: &'a LabFlow,
    /// Bits per second on its first line, with gap and preamble.
    bits: u128,
    drift_ppb: i32,
}

/// Warns of lossy flows of two hosts with one frame size and one rate that overload a line together. Every place
/// in the queue that is freed meets the same flow, so one of them may lose everything, in every seed.
pub(super) fn warn(
    cx: &mut Cx,
    at: &Place<'_>,
    (graph, specs): (&Graph<'_>, &[LinkSpec]),
    flows: &[LabFlow],
    nodes: &[NodePlan],
) {
    let senders = flows.iter().filter_map(|flow| sender(flow, graph, specs, nodes));
    let senders: Vec<_> = senders.take(SENDERS_MAX).collect();
    for (n, one) in senders.iter().enumerate() {
        let tied = |other: &&Sender<'_>| {
            other.flow.from != one.flow.from
                && other.flow.frame_len == one.flow.frame_len
                && other.flow.priority == one.flow.priority
                && (other.bits, other.drift_ppb) == (one.bits, one.drift_ppb)
        };
        for other in senders[n + 1..].iter().filter(tied) {
            let Some(line) = one.flow.way.iter().find(|line| other.flow.way.contains(line)) else {
                continue;
            };
            let rate = specs[graph.links[line.link().index()].kind].rate;
            if offered(&senders, *line, one.flow.priority) <= u128::from(rate.get()) {
                continue;
            }
            let what = format!(
                "`{}` and `{}` have one rate and one frame size, and overload a lossy queue together: \
                 their frames arrive in the same order for the whole run, so one of them may lose all \
                 of them; give the hosts clocks that differ (`clock: {{drift: 20ppm}}`)",
                one.flow.name, other.flow.name
            );
            // One pair stands for all: an incast has thousands.
            return cx.warn(&at.key("flows"), what);
        }
    }
}

/// Returns the sum of the rates of a priority on a line.
fn offered(senders: &[Sender<'_>], line: sim::Direction, priority: Priority) -> u128 {
    let there =
        senders.iter().filter(|s| s.flow.priority == priority && s.flow.way.contains(&line));
    there.map(|sender| sender.bits).sum()
}

fn sender<'a>(
    flow: &'a LabFlow,
    graph: &Graph<'_>,
    specs: &[LinkSpec],
    nodes: &[NodePlan],
) -> Option<Sender<'a>> {
    let node = &nodes[flow.from.index()];
    let NodeKind::Host(station) = &node.kind else { return None };
    let plan = station.flows.iter().find(|plan| plan.id == flow.id)?;
    if flow.lossless || station.on_off.iter().any(|on_off| on_off.flow == flow.id) {
        return None;
    }
    let link: LinkId = flow.way.first()?.link();
    let line = specs[graph.links[link.index()].kind].rate.get();
    Some(Sender { flow, bits: bits(plan, line), drift_ppb: node.clock.drift_ppb })
}

fn bits(plan: &FlowPlan, line: u64) -> u128 {
    let (size, line) = (u128::from(plan.size), u128::from(line));
    let whole = size + u128::from(contracts::frame::LINE_OVERHEAD_BYTES);
    match plan.rate {
        Rate::LineShare(ppm) => line * u128::from(ppm) / 1_000_000,
        Rate::FrameBits(rate) => u128::from(rate.get()) * whole / size.max(1),
        Rate::Frames(n) => u128::from(n) * whole * 8,
    }
}
