//! Report of a lab's traffic generator, the same as that of `sluice gen`.

use super::ended::{Ended, station};
use crate::plan::LabPlan;
use crate::population::{HostCounts, Population};
use crate::world::World;
use ground::time::Instant;
use host::StationSnapshot;
use tester::report::{Report, Stamps};
use tester::figures::Seen;
use tester::standing;
use tester::tally::{is_control, report};
use tester::virtual_run::exact;

/// Returns the generator's report, if the lab has a generator.
pub(super) fn tester(plan: &LabPlan, ended: &Ended, nodes: &mut impl Population) -> Option<Report> {
    let tester = plan.tester.as_ref()?;
    let stations: Vec<StationSnapshot> = tester
        .hosts
        .iter()
        .map(|host| {
            let local = nodes.local(*host, ended.now);
            station(nodes, *host).whole(local)
        })
        .collect();
    let (start, now) = (Instant::ZERO, ended.now);
    let stamps = match ended.world {
        World::Virtual => exact(),
        World::Real => Stamps {
            source: "tsc",
            resolution_ns: 1.0,
            uncertainty_ns: ended.uncertainty.as_nanos_f64(),
        },
    };
    let mut report = report(Seen {
        plan: &tester.plan.ports,
        world: ended.world.name(),
        stamps,
        elapsed: Some(now.total_since(start)),
        stations: &stations,
        counted: None,
        ports: &standing::ports(&stations, &tester.rates, start, now),
        flows: &standing::flows(&tester.plan, &stations, start, now),
        warnings: Vec::new(),
        machine: None,
    });
    let plans = &tester.plan.flows;
    for ((flow, pending), plan) in report.flows.iter_mut().zip(&ended.pending_of_tester).zip(plans)
    {
        // A switch consumes pauses and forwards none, so they are not lost.
        if is_control(plan) {
            flow.loss_percent = 0.0;
            continue;
        }
        let queued = (*pending).min(flow.frames_tx.saturating_sub(flow.frames_rx));
        flow.queued_frames = Some(queued);
        if flow.frames_tx > 0 {
            let queued = 100.0 * queued as f64 / flow.frames_tx as f64;
            flow.loss_percent = (flow.loss_percent - queued).max(0.0);
        }
    }
    Some(report)
}
