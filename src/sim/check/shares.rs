//! Fairness: what flows get of the network, at the hosts that they go to.

use std::collections::BTreeMap;

use super::finding::{Check, Finding};
use crate::{Direction, NetworkPlan, NodeKind, VirtualFrame, Witness};
use contracts::frame::Frame;
use ground::time::Instant;
use ground::verdict::Verdict;
use host::FlowId;
use host::probe::Arrival;
use wire::vlan;

/// Counts the octets of each flow's frames that arrive at hosts in a span of time. It reads every
/// frame that arrives at a host, and so is not one of [`Checkers`](super::Checkers).
#[derive(Debug)]
pub struct Shares {
    from: Instant,
    to: Instant,
    /// By direction: whether it ends at a host.
    at_host: Vec<bool>,
    octets: BTreeMap<FlowId, u64>,
}

impl Shares {
    /// Counts what arrives from `from` on and before `to`.
    pub fn new(plan: &NetworkPlan, from: Instant, to: Instant) -> Self {
        let is_host =
            |end: crate::End| matches!(plan.nodes[end.node.index()].kind, NodeKind::Host(_));
        // In the order of directions: from `a` to `b` first.
        let at_host = plan.links.iter().flat_map(|link| [is_host(link.b), is_host(link.a)]);
        Self { from, to, at_host: at_host.collect(), octets: BTreeMap::new() }
    }

    /// The octets of a flow's frames, FCS included.
    pub fn octets(&self, flow: FlowId) -> u64 {
        self.octets.get(&flow).copied().unwrap_or(0)
    }

    /// True if these flows got equal shares: none further from the mean than `tolerance` (0.01 is
    /// 1 %) of it.
    pub fn finding(&self, flows: &[FlowId], tolerance: f64) -> Finding {
        let shares: Vec<f64> = flows.iter().map(|flow| self.octets(*flow) as f64).collect();
        let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
        // Where nothing arrived no flow has its share: each is off by all of it.
        let off = |share: &f64| if mean > 0.0 { (share - mean).abs() / mean } else { 1.0 };
        let worst = flows.iter().zip(&shares).max_by(|a, b| off(a.1).total_cmp(&off(b.1)));
        let check = Check::Fairness;
        let Some((flow, share)) = worst else {
            return Finding::not_judged(check, "no flows".into());
        };
        let verdict = Verdict::of(off(share) <= tolerance);
        let detail = format!(
            "the mean of {} flows is {mean:.0} bytes; flow {} has {share:.0}, a deviation of \
             {:.3} %, {:.3} % allowed",
            shares.len(),
            flow.0,
            off(share) * 100.0,
            tolerance * 100.0,
        );
        Finding::new(check, verdict, detail)
    }
}

impl Witness for Shares {
    const NOTES: bool = false;

    fn is_ordered(&self) -> bool {
        false
    }

    #[inline]
    fn arrived(&mut self, time: Instant, direction: Direction, frame: &VirtualFrame) {
        if time < self.from || time >= self.to || !self.at_host[direction.index()] {
            return;
        }
        let Ok(walk) = vlan::walk(frame.head()) else { return };
        if let Some(arrival) = Arrival::find(frame.head(), &walk) {
            *self.octets.entry(arrival.probe.flow).or_default() += u64::from(frame.wire_len());
        }
    }
}
