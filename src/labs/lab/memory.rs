//! The memory that the virtual world takes for a lab, calculated from its plan before any is taken.
//!
//! The bytes of a port, a host, a switch and a flow were measured (`tests/virtual/lab_memory.rs` measures them
//! again); those of address tables follow from their size. Frames come on top of it as queues fill, as
//! does what is recorded for plots.

use super::LabPlan;
use config::memory::{Need, sum_refusal};
use config::{ConfigError, Finding};
use sim::NodeKind;

/// Bytes of a port of a switch: its queues, counters and the line that leaves it.
const PORT: u64 = 58 << 10;
/// Bytes of a host with its port.
const HOST: u64 = 18 << 10;
/// Bytes of a switch without its ports.
const SWITCH: u64 = 20 << 10;
/// Bytes of an address in a table of a switch, which has two slots for each.
const ADDRESS: u64 = 32;
/// Bytes of a flow at its sender and its receiver, and in the results.
const FLOW: u64 = 12 << 10;
/// Bytes of the completion times of a flow of several messages, before one has been completed.
const COMPLETIONS: u64 = 3 << 10;

/// Bytes of a message of a workload: in its list, and in the tables of both ends.
const LISTED: u64 = 96;
/// Bytes of a message that is kept, at its sender and in the results.
const KEPT: u64 = 112;

/// The fields that decide on the memory.
const FIELDS: &str = "topology, nodes, flows";
const REMEDY: &str = "have fewer switches, hosts or flows, or run it where there is more memory";

/// The memory that the parts of a lab need.
fn needs(plan: &LabPlan) -> [Need; 8] {
    let (mut ports, mut switches, mut addresses, mut several) = (0, 0, 0_u64, 0);
    let (mut kept, mut listed) = (0, 0);
    for node in &plan.network.nodes {
        match &node.kind {
            NodeKind::Switch(switch) => {
                switches += 1;
                ports += switch.ports.len() as u64;
                // Tables are powers of two, so that a hash needs no division.
                addresses += switch.bridge.table_size.next_power_of_two() as u64;
            }
            NodeKind::Host(host) => {
                several += host.senders.iter().filter(|sender| sender.has_several()).count() as u64;
                for sender in &host.senders {
                    kept += sender.work.log as u64;
                    listed += sender.work.list.as_ref().map_or(0, |l| l.messages().len() as u64);
                }
            }
        }
    }
    let hosts = plan.network.nodes.len() as u64 - switches;
    let flows = plan.flows.len() + plan.tester_flows().count();
    [
        Need { count: ports, of: "ports of switches", each: PORT },
        Need { count: switches, of: "switches", each: SWITCH },
        Need { count: addresses, of: "addresses in tables", each: ADDRESS },
        Need { count: hosts, of: "hosts", each: HOST },
        Need { count: flows as u64, of: "flows", each: FLOW },
        Need { count: several, of: "flows of several messages", each: COMPLETIONS },
        Need { count: listed, of: "messages of workloads", each: LISTED },
        Need { count: kept, of: "messages that are kept", each: KEPT },
    ]
}

/// The bytes that the virtual world takes for a lab before a frame is sent.
pub fn memory_needed(plan: &LabPlan) -> u64 {
    needs(plan).into_iter().map(Need::bytes).fold(0, u64::saturating_add)
}

/// Refuses a lab that needs more than `available` bytes; nothing is refused where that is not known.
///
/// # Errors
/// The fields, the sum and the remedy.
pub fn refuse_memory(
    file: &str,
    plan: &LabPlan,
    available: Option<u64>,
) -> Result<(), ConfigError> {
    let refusal = available.and_then(|limit| sum_refusal(&needs(plan), limit, REMEDY));
    let Some(refusal) = refusal else { return Ok(()) };
    Err(ConfigError::one(file, Finding::new(None, FIELDS, &refusal)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    const FILE: &str = "name: x\nduration: 1us\ntopology: {leaf_spine: {leaves: 4, spines: 2, \
                        hosts_per_leaf: 8}}\nflows: [{name: f, pattern: permutation, size: 1000, \
                        duration: {bytes: 1KB}}]\n";

    #[test]
    fn a_lab_beyond_the_memory_is_refused_with_the_sum_the_fields_and_the_remedy() {
        let (plan, _) = parse("x.yaml", FILE).unwrap();
        let needed = memory_needed(&plan);
        // 4 leaves with 10 ports and 2 spines with 4.
        assert!(needed > 48 * PORT + 32 * HOST + 32 * FLOW, "{needed}");
        assert_eq!(refuse_memory("x.yaml", &plan, Some(needed)), Ok(()));
        assert_eq!(refuse_memory("x.yaml", &plan, None), Ok(()));
        let refused = refuse_memory("x.yaml", &plan, Some(needed - 1)).unwrap_err().to_string();
        for part in [
            "x.yaml: topology, nodes, flows: 48 ports of switches x 59392 bytes + 6 switches x 20480 bytes + ",
            " addresses in tables x 32 bytes + 32 hosts x 18432 bytes + 32 flows x 12288 bytes = ",
            " that are available here: have fewer switches, hosts or flows",
        ] {
            assert!(refused.contains(part), "{part}\nis not in\n{refused}");
        }
    }
}
