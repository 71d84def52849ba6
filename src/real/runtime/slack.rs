//! Slack that a plan needs for its workers.

use super::exchange::slack_cells;
use contracts::frame::BURST;
use ground::units::{Cells, Vid};
use switch::SwitchPlan;

/// Smallest `BufferPlan::slack` with which the workers of `plan` can never overdraw the shared
/// pool, where port n belongs to worker `owners[n]`; 0 for one worker.
///
/// Between two exchanges, that is in one poll, a worker takes a burst from each of its ports, and
/// each frame may be flooded: a charge for every other member of the largest VLAN.
#[must_use]
pub fn slack_for(plan: &SwitchPlan, owners: &[usize]) -> Cells {
    let workers = owners.iter().max().map_or(0, |most| most + 1);
    let ports = |worker| owners.iter().filter(|o| **o == worker).count();
    let ports = (0..workers).map(ports).max().unwrap_or(0);
    let frame = plan.buffer.cells_for(plan.max_frame);
    slack_cells(workers, ports * BURST * copies_max(plan), frame)
}

/// Most times that one frame can be charged.
fn copies_max(plan: &SwitchPlan) -> usize {
    let mut members = vec![0_usize; usize::from(Vid::MAX.get()) + 1];
    for port in &plan.ports {
        for member in &port.vlan.members {
            members[member.vid.index()] += 1;
        }
    }
    members.into_iter().max().unwrap_or(0).saturating_sub(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use switch::rig::plan;

    #[test]
    fn slack_covers_a_flooded_burst_of_every_port_of_all_workers_but_one() {
        let plan = plan(4);
        let frame = plan.buffer.cells_for(plan.max_frame).0;
        assert_eq!(slack_for(&plan, &[0, 0, 0, 0]), Cells(0));
        assert_eq!(slack_for(&plan, &[0, 1, 0, 1]), Cells(2 * 32 * 3 * frame));
        assert_eq!(slack_for(&plan, &[0, 1, 2, 0]), Cells(2 * 2 * 32 * 3 * frame));
    }
}
