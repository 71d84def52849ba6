//! Stars as labs.

use crate::{FlowSignals, LabFlow, LabPlan, Record};
use ground::time::Duration;
use host::{FlowId, StationPlan};
use sim::teststar::{self, LOSSLESS};
use sim::{NodeId, NodeKind};
use switch::SwitchPlan;

/// Parts that a test may change.
pub(super) struct Parts<'a> {
    pub(super) switch: &'a mut SwitchPlan,
    pub(super) receiver: &'a mut StationPlan,
}

pub(super) fn parts(plan: &mut LabPlan) -> Parts<'_> {
    let [first, .., last] = &mut plan.network.nodes[..] else { unreachable!() };
    let NodeKind::Switch(switch) = &mut first.kind else { unreachable!() };
    let NodeKind::Host(receiver) = &mut last.kind else { unreachable!() };
    Parts { switch, receiver }
}

/// Returns a lab with `senders` hosts at one switch, all sending `frames` frames to another host at
/// line rate.
pub(super) fn incast(senders: u8, frames: u64) -> LabPlan {
    let flow = |n: u8| LabFlow {
        name: format!("f{n}"),
        id: FlowId(n.into()),
        from: NodeId(u32::from(n) + 1),
        to: NodeId(u32::from(senders) + 1),
        priority: LOSSLESS,
        lossless: true,
        lossy_at: Vec::new(),
        signals: FlowSignals::default(),
        victim: false,
        way: Vec::new(),
        frame_len: 1048,
        payload_len: 1026,
    };
    LabPlan {
        tester: None,
        name: "star".into(),
        variant: None,
        network: teststar::incast(senders, frames),
        flows: (0..senders).map(flow).collect(),
        workloads: Vec::new(),
        duration: Duration::from_millis(50),
        until_done: true,
        measure_from: Duration::ZERO,
        measure_to: None,
        checks: vec![],
        record: Record::default(),
    }
}
