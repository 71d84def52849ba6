//! Time series with bounded memory: when full, every second sample is removed and the sampling
//! interval doubles.

use std::collections::BTreeMap;

use crate::LabPlan;
use crate::plan::ends;
use ground::time::{Duration, Instant};
use ground::units::{PRIORITIES, PortId, Priority, PriorityGroup, TrafficClass};
use sim::{Network, Node, NodeId, NodeKind, Nodes, Witness};
use switch::{PortPlan, SwitchPlan};

/// Most samples that are kept, unless a run has other options.
pub const MOMENTS_MAX: usize = 1_000;

/// Most series of each kind that are kept; those with the lowest peaks are removed first.
pub const SERIES_MAX: usize = 512;

/// Initial sampling interval, unless the lab sets it: a few frames at 100 Gb/s.
const FIRST_STEP: Duration = Duration::from_nanos(250);

/// Place of a series: a queue or group of a switch port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    pub node: NodeId,
    pub port: PortId,
    /// Traffic class or priority group, 0 to 7.
    pub index: u8,
}

/// Occupancy in bytes at every sample.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Series {
    /// One value for each sample; `u32::MAX` if above.
    pub octets: Vec<u32>,
    /// Highest value, removed samples included.
    pub peak: u32,
}

/// Series of one kind, by place.
pub type SeriesSet = BTreeMap<Place, Series>;

/// Samples at regular times.
#[derive(Clone, Debug)]
pub struct Looks {
    /// Times of the samples.
    pub moments: Vec<Instant>,
    /// Bytes in each egress queue that was not empty at some sample.
    pub queues: SeriesSet,
    /// Bytes that ingress groups hold in the buffer, reserve and headroom included.
    pub groups: SeriesSet,
    /// Frames marked CE that a port had sent by then, by priority; only of ports and priorities with marks.
    pub marks: BTreeMap<Place, Vec<u64>>,
    /// Bytes of each flow that had arrived by then, in the order of the lab.
    pub arrived: Vec<Vec<u64>>,
    /// Number of removed series.
    pub left_out: usize,
    step: Duration,
    next: Instant,
    /// Most samples.
    most: usize,
    /// By flow: receiving host, and index among its sinks.
    sinks: Vec<(NodeId, usize)>,
    switches: Vec<Switch>,
}

/// Queues and groups of a switch that are sampled.
#[derive(Clone, Debug)]
struct Switch {
    node: NodeId,
    /// By port: bit masks of the classes and the groups that any priority uses.
    ports: Vec<[u8; 2]>,
}

impl Switch {
    fn new(node: NodeId, plan: &SwitchPlan) -> Self {
        let bits = |index: &dyn Fn(usize) -> usize| {
            (0..PRIORITIES).fold(0u8, |set, p| set | 1 << index(p))
        };
        let port = |p: &PortPlan| {
            let classify = &p.classify;
            [bits(&|p| classify.class[p].index()), bits(&|p| classify.group[p].index())]
        };
        Self { node, ports: plan.ports.iter().map(port).collect() }
    }
}

impl Looks {
    /// Returns an empty record of at most `most` samples.
    pub fn new(plan: &LabPlan, most: usize) -> Self {
        let nodes = (0u32..).map(NodeId).zip(&plan.network.nodes);
        let switches = nodes.filter_map(|(id, node)| match &node.kind {
            NodeKind::Switch(plan) => Some(Switch::new(id, plan)),
            NodeKind::Host(_) => None,
        });
        Self {
            moments: Vec::new(),
            queues: SeriesSet::new(),
            groups: SeriesSet::new(),
            marks: BTreeMap::new(),
            arrived: vec![Vec::new(); plan.flows.len()],
            left_out: 0,
            // Fine at first: a short run gets many samples, and a long one thins them.
            step: plan.record.sample_every.unwrap_or(FIRST_STEP).max(Duration::from_picos(1)),
            next: Instant::ZERO,
            most: most.max(2),
            sinks: ends(plan).iter().map(|ends| (ends.to, ends.sink)).collect(),
            switches: switches.collect(),
        }
    }

    /// Returns the time of the next sample.
    pub const fn next(&self) -> Instant {
        self.next
    }

    /// Samples the nodes.
    pub fn look<W: Witness>(&mut self, network: &mut Network<W>) {
        let at = network.now();
        if self.moments.len() >= self.most {
            // Thinned before the new sample: kept ones stay at equal distances of the doubled step.
            self.halve();
        }
        let seen = self.moments.len();
        self.moments.push(at);
        self.next = at + self.step;
        let nodes = network.nodes_mut();
        self.look_at_switches(nodes, seen);
        for (arrived, (node, sink)) in self.arrived.iter_mut().zip(&self.sinks) {
            let Node::Host(station) = nodes.get_mut(*node) else { continue };
            arrived.push(station.sinks().nth(*sink).map_or(0, |sink| sink.bytes));
        }
        for set in [&mut self.queues, &mut self.groups] {
            for series in set.values_mut() {
                // A queue or group that this sample did not find is empty.
                series.octets.resize(seen + 1, 0);
            }
            self.left_out += trim(set);
        }
    }

    fn look_at_switches(&mut self, nodes: &mut Nodes, seen: usize) {
        for Switch { node, ports } in &self.switches {
            let Node::Switch(switch) = nodes.get_mut(*node) else { continue };
            let ports_of = (0..ports.len() as u16).filter_map(PortId::new);
            for place in ports_of.flat_map(|port| {
                Priority::ALL.map(|p| Place { node: *node, port, index: p.index() as u8 })
            }) {
                let priority = Priority::ALL[usize::from(place.index)];
                let marked = switch.ecn_marked(place.port, priority);
                if marked > 0 {
                    let all = self.marks.entry(place).or_default();
                    // A port that begins to mark had none in all samples before.
                    all.resize(seen, 0);
                    all.push(marked);
                }
            }
            // Series of an empty switch get their zeros in `look`, all at once.
            if switch.held() == 0 {
                continue;
            }
            let cell = u64::from(switch.ledger().cell_bytes());
            for (port, [classes, groups]) in (0u16..).zip(ports) {
                let port = PortId::new(port).expect("a switch's ports have ids");
                for p in Priority::ALL {
                    let index = p.index() as u8;
                    let place = Place { node: *node, port, index };
                    if classes >> index & 1 == 1 {
                        let class = TrafficClass::ALL[p.index()];
                        put(&mut self.queues, place, switch.queue_bytes(port, class), seen);
                    }
                    if groups >> index & 1 == 1 {
                        let use_ = switch.ledger().usage(port, PriorityGroup::ALL[p.index()]);
                        let cells = u64::from(use_.used.0) + u64::from(use_.headroom.0);
                        put(&mut self.groups, place, cells * cell, seen);
                    }
                }
            }
        }
    }

    /// Removes every second sample.
    fn halve(&mut self) {
        thin(&mut self.moments);
        for series in self.queues.values_mut().chain(self.groups.values_mut()) {
            thin(&mut series.octets);
        }
        self.arrived.iter_mut().chain(self.marks.values_mut()).for_each(thin);
        self.step = self.step.saturating_mul(2);
    }
}

/// Keeps the second of every two.
fn thin<T>(of: &mut Vec<T>) {
    let mut keep = true;
    of.retain(|_| {
        keep = !keep;
        keep
    });
}

/// Adds a value; a series begins with its first non-zero value.
#[inline]
fn put(set: &mut SeriesSet, place: Place, octets: u64, seen: usize) {
    if octets == 0 {
        return;
    }
    // 32 bits halve the memory; a queue of 4 GiB is beyond any plot.
    let octets = u32::try_from(octets).unwrap_or(u32::MAX);
    let series = set.entry(place).or_insert(Series { octets: Vec::new(), peak: 0 });
    series.octets.resize(seen, 0);
    series.octets.push(octets);
    series.peak = series.peak.max(octets);
}

/// Removes the lowest series if there are twice too many; returns the number removed.
fn trim(set: &mut SeriesSet) -> usize {
    if set.len() <= 2 * SERIES_MAX {
        return 0;
    }
    let mut peaks: Vec<u32> = set.values().map(|series| series.peak).collect();
    let excess = set.len() - SERIES_MAX;
    let (lower, &mut middle, _) = peaks.select_nth_unstable(excess);
    // Of series with the same peak only as many go as have to.
    let mut equal = lower.iter().filter(|peak| **peak == middle).count();
    set.retain(|_, series| {
        let goes = series.peak < middle || (series.peak == middle && equal > 0);
        equal -= usize::from(goes && series.peak == middle);
        !goes
    });
    excess
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(n: u16) -> Place {
        Place { node: NodeId(n.into()), port: PortId::MIN, index: 3 }
    }

    #[test]
    fn what_is_let_go_is_the_lowest_and_all_else_is_kept() {
        let mut set = SeriesSet::new();
        let most = 2 * SERIES_MAX as u16;
        for n in 0..most {
            // Several of them are equal.
            put(&mut set, place(n), u64::from(n / 3 + 1), 0);
        }
        assert_eq!(trim(&mut set), 0, "there is room");
        put(&mut set, place(most), 1, 0);
        assert_eq!(trim(&mut set), SERIES_MAX + 1);
        assert_eq!(set.len(), SERIES_MAX);
        assert!(set.keys().all(|place| place.node >= NodeId(SERIES_MAX as u32)));
    }

    #[test]
    fn a_series_that_begins_late_was_nothing_before() {
        let mut set = SeriesSet::new();
        put(&mut set, place(1), 0, 2);
        assert!(set.is_empty(), "nothing begins no series");
        put(&mut set, place(1), 7, 3);
        put(&mut set, place(1), u64::MAX, 4);
        let series = &set[&place(1)];
        assert_eq!((&series.octets[..], series.peak), (&[0, 0, 0, 7, u32::MAX][..], u32::MAX));
    }

    #[test]
    fn halving_keeps_the_later_of_two() {
        let mut of: Vec<u32> = (0..10).collect();
        thin(&mut of);
        assert_eq!(of, [1, 3, 5, 7, 9]);
    }
}
