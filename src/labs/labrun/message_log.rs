//! Number of messages that senders keep one by one, for slowdowns and for programs.

use host::TransportPlan;
use sim::{NodeKind, NodePlan};

/// Messages of an unlimited flow: more than any run sends.
pub const ENDLESS: u64 = u32::MAX as u64;

/// Messages that are kept for slowdowns without `record.messages`.
const LOG_DEFAULT: u64 = 100_000;

/// Messages that are kept with it; see `record.messages` of lab files.
const LOG_MAX: u64 = 1_000_000;

/// Decides how many messages each sender keeps one by one: all that were drawn; those of flows with
/// a known number as long as there are few; with `every`, also those of others, up to a limit.
pub fn keep_messages(nodes: &mut [NodePlan], every: bool) {
    let known = |t: &TransportPlan| match &t.work.list {
        Some(list) => Some(list.messages().len() as u64),
        None => t.message.map(|m| m.count).filter(|count| *count < ENDLESS),
    };
    let senders = || {
        nodes.iter().filter_map(|node| match &node.kind {
            NodeKind::Host(station) => Some(&station.senders),
            NodeKind::Switch(_) => None,
        })
    };
    let flows = senders().map(Vec::len).sum::<usize>() as u64;
    let all = senders().flatten().filter_map(known).fold(0, u64::saturating_add);
    let few = all <= if every { LOG_MAX } else { LOG_DEFAULT };
    let share = LOG_MAX / flows.max(1);
    for node in nodes {
        let NodeKind::Host(station) = &mut node.kind else { continue };
        for sender in &mut station.senders {
            let listed = sender.work.list.is_some();
            let most = match known(sender) {
                Some(count) if few || listed => count,
                _ if every => share,
                _ => 0,
            };
            sender.work.log = most as usize;
        }
    }
}
