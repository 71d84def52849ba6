//! Warns of ties: flows whose frames arrive in the same order for the whole run.

use super::faults::Context;
use crate::LabFlow;
use buffer::{GroupKind, GroupPlan, SharedLimit};
use config::{Cx, Place};
use ground::units::{Cells, Priority};
use host::{FlowPlan, Rate};
use sim::{Direction, NodeKind};

/// Maximum number of flows that are compared.
const SENDERS_MAX: usize = 64;

/// An open-loop flow that may be in a tie.
struct Sender<'a> {
    flow: &'a LabFlow,
    /// Bits per second on its first line, with gap and preamble.
    bits: u128,
    drift_ppb: i32,
}

/// Warns of lossy flows of two hosts with one frame size and one rate that overload a line together and compete
/// for one limit of the buffer. Every place that is freed meets the same flow, so one of them may lose
/// everything, in every seed.
pub(super) fn warn_of_ties(
    cx: &mut Cx,
    place: &Place<'_>,
    network: &Context<'_, '_>,
    flows: &[LabFlow],
) {
    let senders = flows.iter().filter_map(|flow| network.sender(flow));
    let senders: Vec<_> = senders.take(SENDERS_MAX).collect();
    for (n, one) in senders.iter().enumerate() {
        // Clocks that drift apart break the tie: the order of arrival changes with every beat of the two.
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
            let is_overload =
                offered(&senders, *line, one.flow.priority) > u128::from(network.rate(*line));
            if !is_overload || !network.compete(one.flow, other.flow, *line) {
                continue;
            }
            let what = format!(
                "`{}` and `{}` have one rate and one frame size, and overload a lossy queue together: \
                 their frames arrive in the same order for the whole run, so one of them may lose all \
                 of them; give the hosts clocks that differ (`clock: {{drift: 20ppm}}`)",
                one.flow.name, other.flow.name
            );
            // One pair stands for all: an incast has thousands.
            return cx.warn(&place.key("flows"), what);
        }
    }
}

/// Returns the sum of the rates of a priority on a line.
fn offered(senders: &[Sender<'_>], line: Direction, priority: Priority) -> u128 {
    let there =
        senders.iter().filter(|s| s.flow.priority == priority && s.flow.way.contains(&line));
    there.map(|sender| sender.bits).sum()
}

impl Context<'_, '_> {
    fn sender<'a>(&'a self, flow: &'a LabFlow) -> Option<Sender<'a>> {
        let node = &self.nodes[flow.from.index()];
        let NodeKind::Host(station) = &node.kind else { return None };
        let plan = station.flows.iter().find(|plan| plan.id == flow.id)?;
        // Lossless frames wait and are not lost, and random ON times give no fixed order.
        if flow.lossless || station.on_off.iter().any(|on_off| on_off.flow == flow.id) {
            return None;
        }
        let bits = bits(plan, self.rate(*flow.way.first()?));
        Some(Sender { flow, bits, drift_ppb: node.clock.drift_ppb })
    }

    /// Returns the bits per second of a line.
    fn rate(&self, line: Direction) -> u64 {
        self.specs[self.graph.links[line.link().index()].kind].rate.get()
    }

    /// Returns the node and the port that send on a line.
    fn tail(&self, line: Direction) -> (usize, usize) {
        let link = &self.graph.links[line.link().index()];
        if line == line.link().ab() { link.a } else { link.b }
    }

    /// Whether two flows, whose paths meet in front of `line`, compete for one limit there: that of the egress
    /// queue, or the size of the pool. A dynamic threshold belongs to the group of one ingress port, and leaves
    /// each group an equal part of the pool.
    fn compete(&self, one: &LabFlow, other: &LabFlow, line: Direction) -> bool {
        let (node, output) = self.tail(line);
        let Some(switch) = &self.switches.plans[node] else { return false };
        let lossy = one.lossy_at.iter().find(|hop| hop.node.index() == node);
        let priority = lossy.map_or(one.priority, |hop| hop.priority).index();
        let group = |flow: &LabFlow| -> Option<GroupPlan> {
            let before = flow.way.iter().position(|own| *own == line)?.checked_sub(1)?;
            // The sender of the reverse direction is the receiver of the line before: the ingress port.
            let (_, input) = self.tail(flow.way[before].reverse());
            let group = switch.ports[input].classify.group[priority];
            Some(switch.buffer.groups[input][group.index()])
        };
        let (Some(one), Some(other)) = (group(one), group(other)) else { return false };
        if [one, other].iter().any(|group| group.kind != GroupKind::Lossy) {
            return false;
        }
        let egress = &switch.ports[output];
        let queue = egress.queue_limits[egress.classify.class[priority].index()];
        // A limit of the queue is one for both flows, whatever their groups are.
        queue != SharedLimit::Unlimited || fill(one.limit, other.limit, switch.buffer.total)
    }
}

/// Whether two groups can use all of a buffer together.
fn fill(one: SharedLimit, other: SharedLimit, total: Cells) -> bool {
    match (one, other) {
        (SharedLimit::Dynamic(_), _) | (_, SharedLimit::Dynamic(_)) => false,
        (SharedLimit::Static(one), SharedLimit::Static(other)) => {
            u64::from(one.0) + u64::from(other.0) > u64::from(total.0)
        }
        (SharedLimit::Unlimited, _) | (_, SharedLimit::Unlimited) => true,
    }
}

fn bits(plan: &FlowPlan, line: u64) -> u128 {
    let (size, line) = (u128::from(plan.size), u128::from(line));
    let whole = size + u128::from(contracts::frame::LINE_OVERHEAD_BYTES);
    match plan.rate {
        Rate::LineShare(ppm) => line * u128::from(ppm) / 1_000_000,
        // Bits of frames become bits of the line: the gap and the preamble take their part of it.
        Rate::FrameBits(rate) => u128::from(rate.get()) * whole / size.max(1),
        Rate::Frames(n) => u128::from(n) * whole * 8,
    }
}
