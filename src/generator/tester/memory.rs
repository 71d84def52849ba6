//! The memory that a test takes, calculated from its plan before any is taken.
//!
//! The bytes of a stream, a receiver, a connection and a port were measured
//! (`tests/real/gen_memory.rs` measures them again); those of frames, rings and captures follow from
//! their sizes. Latencies that spread over many octaves take more, as does the course of a long run.

use std::collections::BTreeMap;

use super::capture::CAPTURE_BYTES;
use super::plan::{FlowKind, Place, PortPlan, TestPlan};
use config::memory::{Need, sum_refusal};
use config::{ConfigError, Finding};
use ground::named;
use host::Spares;
use host::plan::stream::{Sizes, StreamPlan, Values};

/// Bytes of a stream at its sender and in the results.
const STREAM: u64 = 12 << 10;
/// Bytes of a receiver of a stream, before a frame has arrived, beside the frames with which it compares.
const RECEIVER: u64 = 6 << 10;
/// Bytes by which the distributions of a stream and of its receiver, and the results, grow with
/// their first frames.
const DISTRIBUTIONS: u64 = 20 << 10;
/// The same in the virtual world, where latencies are exact and so alike.
const DISTRIBUTIONS_EXACT: u64 = 8 << 10;
/// Bytes of a RoCEv2 connection at both ends and in the results, once hundreds of its messages have
/// been completed.
const CONNECTION: u64 = 72 << 10;
/// Bytes of a value in a list, in the plans and at the sender.
const VALUE: u64 = 64;
/// Bytes of a value in a list for each receiver that compares the frames.
const COMPARED_VALUE: u64 = 32;
/// Bytes of a queue of a port: its meters, the spare memory of its distributions, and its part of the
/// reports that are compared. Measured with 100 to 400 ports, each number in a process of its own.
const PORT: u64 = 72 << 10;
/// Bytes of a queue of a port's device beside its pool: its rings, and the frames reserved for MAC
/// control.
const DEVICE: u64 = 2_560 << 10;

/// Frames of a mempool for each queue of its ports: the queue in both directions, or both directions of
/// a pair, and the caches of the threads.
pub(super) const POOL_FRAMES: u32 = 8_191;
/// Minimum data room of a buffer, FCS included: the granularity of most NICs.
pub(super) const ROOM_MIN: u32 = 2_048;
/// Bytes of a frame beside its packet: two addresses, EtherType, two tags, FCS.
const FRAME_OVERHEAD: u32 = 14 + 2 * 4 + 4;
/// Bytes of a buffer beside its data room: DPDK's headers, and the space before a frame.
const BUFFER_OVERHEAD: u32 = 128 + 64 + 128;

/// The fields that decide on the memory.
const FIELDS: &str = "ports, flows";
const REMEDY: &str = "configure fewer `flows`, `ports` or `captures`, or run the test where there \
                      is more memory";

named! {
    /// World in which a test runs.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum World {
        /// On the ports at its locations.
        Real = "real",
        /// In exact virtual time, with a link of the ports' speed for every pair in memory.
        Virtual = "virtual",
    }
}

/// Returns the maximum frame length of each port in bytes, FCS included.
pub(super) fn longest(test: &TestPlan) -> Vec<u32> {
    let mut longest: Vec<u32> = test.ports.iter().map(|p| p.mtu + FRAME_OVERHEAD).collect();
    for flow in &test.flows {
        let size = match &flow.kind {
            FlowKind::Stream(stream) => stream.sizes.longest(),
            FlowKind::Roce(plan) => plan.longest(),
        };
        for port in flow.rx.iter().chain([&flow.tx]) {
            longest[*port] = longest[*port].max(size);
        }
    }
    // The two ends of a pair share their memory.
    let mut pairs: BTreeMap<&str, u32> = BTreeMap::new();
    for (port, longest) in test.ports.iter().zip(&longest) {
        if let Some(pair) = pair(port) {
            let of_pair = pairs.entry(pair).or_default();
            *of_pair = (*of_pair).max(*longest);
        }
    }
    let of_pair = |port: &PortPlan| pair(port).map(|pair| pairs[pair]);
    test.ports.iter().zip(&longest).map(|(port, n)| of_pair(port).unwrap_or(*n)).collect()
}

/// Returns the number of queues of a port.
fn queues(port: &PortPlan) -> u64 {
    port.location.queues.into()
}

/// Returns the name of a port's pair in memory.
fn pair(port: &PortPlan) -> Option<&str> {
    match &port.location.place {
        Place::Ring { pair, .. } => Some(pair),
        Place::Interface(_) | Place::Device(_) => None,
    }
}

/// The rings that a kernel interface shares with the kernel: bytes of a slot and of a block of
/// slots, and the slots of each ring. Slots hold the longest frame.
pub(super) const fn interface_rings(longest: u32) -> (u32, u32, u32) {
    /// Bytes of a slot beside the frame: the kernel's header, less the FCS.
    const SLOT_OVERHEAD: u32 = 80 - 4;
    if longest + SLOT_OVERHEAD <= 2_048 { (2_048, 4_096, 2_048) } else { (16_384, 16_384, 512) }
}

/// The memory of the ports' devices, for the ports of a test that `is` selects.
fn devices(test: &TestPlan, is: impl Fn(&PortPlan) -> bool) -> Vec<Need> {
    // Number of pools by the length of their frames, of interfaces by the length of their rings.
    let (mut pools, mut rings) = (BTreeMap::<u32, u64>::new(), BTreeMap::<u32, u64>::new());
    let mut pairs = BTreeMap::new();
    for (port, longest) in test.ports.iter().zip(longest(test)).filter(|(port, _)| is(port)) {
        let room = longest.max(ROOM_MIN).next_multiple_of(1_024) + BUFFER_OVERHEAD;
        match &port.location.place {
            Place::Ring { pair, .. } => {
                // The two ends of a pair share a pool, which is counted once.
                pairs.insert(pair, (room, queues(port)));
            }
            Place::Interface(_) => {
                *pools.entry(room).or_default() += queues(port);
                let (slot, _, slots) = interface_rings(longest);
                // One ring for each direction.
                *rings.entry(slot * slots).or_default() += 2 * queues(port);
            }
            Place::Device(_) => *pools.entry(room).or_default() += queues(port),
        }
    }
    pairs.into_values().for_each(|(room, queues)| *pools.entry(room).or_default() += queues);
    let frames = u64::from(POOL_FRAMES);
    let pools = pools.into_iter().map(|(room, n)| Need {
        count: n * frames,
        of: "frames of the `ports`' pools",
        each: room.into(),
    });
    let rings = rings.into_iter().map(|(bytes, n)| Need {
        count: n,
        of: "rings of interfaces",
        each: bytes.into(),
    });
    let devices = test.ports.iter().filter(|port| is(port)).map(queues).sum();
    let devices = Need { count: devices, of: "devices of `ports`", each: DEVICE };
    [devices].into_iter().chain(pools).chain(rings).collect()
}

/// Returns the number of values in the lists of a stream.
fn values(stream: &StreamPlan) -> u64 {
    let weights = match &stream.sizes {
        Sizes::Weighted(weights) => weights.len(),
        Sizes::Fixed(_) | Sizes::Increment { .. } | Sizes::Random { .. } => 0,
    };
    let of = |values: &Values| match values {
        Values::List(list) => list.len(),
        Values::Increment { .. } | Values::Decrement { .. } | Values::Random { .. } => 0,
    };
    let lists = stream.template.edits.iter().map(|edit| of(&edit.values));
    (weights + lists.sum::<usize>()) as u64
}

/// The memory of a test's flows and ports, devices excluded, with receivers that have grown by
/// `grown` bytes.
fn stations(test: &TestPlan, grown: u64) -> [Need; 6] {
    let (mut streams, mut connections, mut receivers, mut listed) = (0, 0, 0, 0);
    let mut compared = 0;
    for flow in &test.flows {
        match &flow.kind {
            FlowKind::Stream(stream) => {
                streams += 1;
                // Every queue expects every flow.
                let queues: u64 = flow.rx.iter().map(|rx| queues(&test.ports[*rx])).sum();
                receivers += queues;
                compared += queues * self::compared(stream);
                listed += values(stream);
            }
            FlowKind::Roce(_) => connections += 1,
        }
    }
    [
        Need { count: streams, of: "`flows`", each: STREAM },
        Need { count: receivers, of: "receivers of `flows`", each: RECEIVER + grown },
        Need { count: connections, of: "RoCEv2 connections", each: CONNECTION },
        Need { count: listed, of: "`values` of fields", each: VALUE },
        Need { count: test.ports.iter().map(queues).sum(), of: "`ports`", each: PORT },
        Need { count: compared, of: "bytes of frames that receivers compare", each: 1 },
    ]
}

/// Returns the bytes with which a receiver of a stream compares its frames: the longest frame, and room for one that
/// arrives; for frames of various lengths the sums of each checksum up to each length; listed values.
fn compared(stream: &StreamPlan) -> u64 {
    let sums = match stream.sizes {
        _ if stream.template.probe_at.is_none() => return 0,
        Sizes::Fixed(_) => 0,
        _ => 4 * stream.template.checksums.len() as u64,
    };
    (2 + sums) * u64::from(stream.sizes.longest()) + COMPARED_VALUE * values(stream)
}

/// The spare memory for message times at the ports that send RoCEv2 connections, in the real world.
fn spares(test: &TestPlan) -> Need {
    let mut sent = BTreeMap::new();
    for flow in test.flows.iter().filter(|flow| matches!(flow.kind, FlowKind::Roce(_))) {
        *sent.entry(flow.tx).or_default() += 1;
    }
    let pages = sent.into_values().map(|n| host::message_spares(n) / Spares::PAGE_BYTES).sum();
    Need { count: pages, of: "spare pages of message times", each: Spares::PAGE_BYTES }
}

/// The memory that the parts of a test need.
fn needs(test: &TestPlan, world: World) -> Vec<Need> {
    // The virtual world has neither devices nor captures.
    if world == World::Virtual {
        return stations(test, DISTRIBUTIONS_EXACT).to_vec();
    }
    let captures = test.ports.iter().filter(|port| port.capture.is_some()).count() as u64;
    let captures = Need { count: captures, of: "`captures`", each: CAPTURE_BYTES as u64 };
    let devices = devices(test, |_| true);
    let all = stations(test, DISTRIBUTIONS).into_iter().chain(devices);
    all.chain([spares(test), captures]).collect()
}

fn sum(needs: impl IntoIterator<Item = Need>) -> u64 {
    needs.into_iter().map(Need::bytes).fold(0, u64::saturating_add)
}

/// The bytes that a test takes beside its plan, captures and first frames included.
pub fn memory_needed(test: &TestPlan, world: World) -> u64 {
    sum(needs(test, world))
}

/// The bytes that a running test gives back before `next` begins, or hands to it: those of its
/// flows, and of the devices at places that both have. `received` is true if it has run.
pub fn memory_returned(running: &TestPlan, next: &TestPlan, received: bool) -> u64 {
    let in_next = |port: &PortPlan| {
        next.ports.iter().any(|other| other.location.place == port.location.place)
    };
    // Distributions grow with the first frames, and before that give nothing back.
    let grown = if received { DISTRIBUTIONS } else { 0 };
    let flows = sum(stations(running, grown).into_iter().chain([spares(running)]));
    flows.saturating_add(sum(devices(running, in_next)))
}

/// Returns the refusal of a test that needs more than `available` bytes; nothing is refused where
/// that is not known.
pub fn memory_finding(test: &TestPlan, world: World, available: Option<u64>) -> Option<Finding> {
    let refusal = sum_refusal(&needs(test, world), available?, REMEDY)?;
    Some(Finding::new(None, FIELDS, &refusal))
}

/// The same for the test of a file.
///
/// # Errors
/// The fields, the sum and the remedy.
pub fn refuse_memory(
    file: &str,
    test: &TestPlan,
    world: World,
    available: Option<u64>,
) -> Result<(), ConfigError> {
    memory_finding(test, world, available).map_or(Ok(()), |f| Err(ConfigError::one(file, f)))
}

#[cfg(test)]
mod tests;
