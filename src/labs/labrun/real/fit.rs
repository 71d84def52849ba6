//! Fits a lab to links that are rings: removes the parts that rings do not support, adds those that
//! they need, and reports both.

use super::error::RealError;
use super::judged::Judged;
use super::load::Load;
use super::rings::Rings;
use super::shortfall::{self, Shortfall};
use crate::plan::LabPlan;
use buffer::{GroupKind, GroupPlan};
use contracts::frame::BURST;
use dpdk::RING_PAIRS_MAX;
use ground::time::Instant;
use ground::units::{Cells, PortId};
use host::StationPlan;
use secure::Secy;
use sim::{
    ClockPlan, CpuPlan, DirectionPlan, End, FaultKind, LinkPlan, NetworkPlan, NodeId, NodeKind,
};
use switch::{Change, SwitchPlan};
use text::{count, scaled};

/// Largest frame memory. A choice: half of the memory that DPDK reserves without hugepages. A host
/// that finds no free frame waits, and the results report it.
const POOL_BYTES_MAX: u64 = 256 << 20;

/// Memory of a frame in addition to its data in bytes: DPDK's headers and headroom.
const FRAME_OVERHEAD: u64 = 320;

/// Largest number of bytes that VLAN tags and MACsec add to a frame.
const TAGS: u32 = 8 + Secy::OVERHEAD_MAX as u32;

/// A lab that can run on rings.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The lab without the parts that rings do not support.
    pub plan: LabPlan,
    pub rings: Rings,
    pub load: Load,
    pub shortfalls: Vec<Shortfall>,
    pub judged: Judged,
    /// Most frames that exist at one time.
    pub frames: u32,
    /// Longest frame, tags included.
    pub max_frame: u32,
}

impl Fit {
    /// Fits a lab.
    ///
    /// # Errors
    /// Parts of the lab that make it impossible to run on rings.
    pub fn new(plan: &LabPlan) -> Result<Self, RealError> {
        plan.network.check()?;
        let links = plan.network.links.len();
        if links > RING_PAIRS_MAX {
            return Err(RealError::Links { links, most: RING_PAIRS_MAX });
        }
        let rings = Rings::new(&plan.network);
        let mut shortfalls = shortfall::of_plan(plan, &rings);
        if rings.outruns_pauses(&plan.network) {
            shortfalls.push(Shortfall::new(
                "profiles.defaults.pfc.quanta",
                "some pauses are so short that they may run out before they are renewed",
            ));
        }
        let judged = Judged::new(plan, &rings);
        let mut plan = plan.clone();
        strip(&mut plan);
        shape(&mut plan.network, &rings);
        shortfalls.extend(raise_headroom(&mut plan.network, &rings)?);
        let (load, max_frame) = (Load::new(&plan.network), rings.longest + TAGS);
        let frames = frames(&plan.network, &rings);
        let most = POOL_BYTES_MAX / (u64::from(max_frame) + FRAME_OVERHEAD);
        if frames > most {
            shortfalls.push(Shortfall::new(
                "profiles.buffer.total",
                format!(
                    "buffers and rings hold up to {} frames, there is memory for {}; a host that \
                     finds none sends later",
                    count(frames),
                    count(most)
                ),
            ));
        }
        let frames = frames.min(most) as u32;
        Ok(Self { plan, rings, load, shortfalls, judged, frames, max_frame })
    }

    /// Reports that the lab runs in slow motion.
    pub fn slowed_down(&mut self, times: u64, threads: usize) {
        if times == 1 {
            return;
        }
        let fastest = self.plan.network.links.iter().map(|l| l.rate.get()).max().unwrap_or(0);
        let real = fastest as f64 / times as f64;
        let instead = format!(
            "time runs {} times slower than on the clock on the wall, so that {threads} cores carry \
             the lab: a link of {} takes {}; all times and rates are the lab's own",
            count(times),
            scaled(fastest as f64, "b/s"),
            scaled(real, "b/s")
        );
        self.shortfalls.insert(0, Shortfall::new("links.rate", instead));
    }
}

/// Removes the parts that rings do not support.
fn strip(plan: &mut LabPlan) {
    let network = &mut plan.network;
    for node in &mut network.nodes {
        let clock = core::mem::take(&mut node.clock);
        if let NodeKind::Host(host) = &mut node.kind {
            retime(host, &clock);
        }
        if let NodeKind::Switch(switch) = &mut node.kind {
            switch.ports.iter_mut().flat_map(|p| &mut p.agents).for_each(|a| a.auto = None);
        }
        (node.cpu, node.cut_through, node.control_len) = (CpuPlan::default(), false, None);
    }
    for link in &mut network.links {
        (link.ab, link.ba) = (DirectionPlan::default(), DirectionPlan::default());
    }
    network.faults.retain(|fault| !fault.kind.is_of_line());
    (network.shuffle, network.sample_every) = (None, None);
    plan.record.pcapng.clear();
}

/// Sets the shapers' bursts so that ports catch up after the longest gap between polls.
fn shape(network: &mut NetworkPlan, rings: &Rings) {
    for node in &mut network.nodes {
        match &mut node.kind {
            NodeKind::Switch(switch) => {
                for port in &mut switch.ports {
                    port.schedule.shaper_burst = rings.shaper_burst(port.rate);
                }
            }
            NodeKind::Host(host) => {
                host.shaper_burst = rings.shaper_burst(host.rate);
                host.backlog = host.backlog.max(rings.step.saturating_mul(2));
            }
        }
    }
}

/// Converts the times in a host's plan from its clock to the common clock.
fn retime(host: &mut StationPlan, clock: &ClockPlan) {
    let to = |at: &mut Instant| *at = clock.network(*at);
    for flow in &mut host.flows {
        to(&mut flow.start);
        to(&mut flow.stop);
    }
    for sender in &mut host.senders {
        to(&mut sender.start);
        to(&mut sender.stop);
    }
    host.pauses.iter_mut().for_each(|pause| to(&mut pause.start));
    host.tester.start.iter_mut().for_each(to);
}

/// Gives every lossless group that pauses its peer the headroom that rings need. The buffer grows
/// by the same amount, so that all other limits are as planned.
fn raise_headroom(
    network: &mut NetworkPlan,
    rings: &Rings,
) -> Result<Option<Shortfall>, RealError> {
    let NetworkPlan { nodes, links, faults, .. } = network;
    let (mut raised, mut least, mut most) = (0, u64::MAX, 0);
    for (n, node) in nodes.iter_mut().enumerate() {
        let NodeKind::Switch(switch) = &mut node.kind else { continue };
        let id = NodeId(n as u32);
        let needed = |switch: &SwitchPlan, port: usize| {
            let end = End { node: id, port: PortId::new(port as u16)? };
            let link: &LinkPlan = links.iter().find(|l| l.a == end || l.b == end)?;
            let pauses = !switch.ports[port].pfc.mode.sends().is_empty();
            pauses.then(|| rings.headroom(link, switch.buffer.cell_bytes))
        };
        let mut more = 0_u64;
        for port in 0..switch.ports.len() {
            let Some(needed) = needed(switch, port) else { continue };
            let cell = u64::from(switch.buffer.cell_bytes);
            for group in &mut switch.buffer.groups[port] {
                let by = raise(group, needed);
                if by > 0 {
                    let was = u64::from(needed.0 - by) * cell;
                    (least, most) = (least.min(was), most.max(was));
                    (raised, more) = (raised + 1, more + u64::from(by));
                }
            }
            for fault in faults.iter_mut() {
                if let FaultKind::Change { node, change: Change::Group { port: at, plan, .. } } =
                    &mut fault.kind
                {
                    if (*node, at.index()) == (id, port) {
                        raise(plan, needed);
                    }
                }
            }
        }
        let total = u64::from(switch.buffer.total.0) + more;
        let name = || switch.name.clone();
        switch.buffer.total =
            Cells(u32::try_from(total).map_err(|_| RealError::Buffer { node: name() })?);
    }
    let say = || {
        let from = match least == most {
            true => count(most),
            false => format!("{} to {}", count(least), count(most)),
        };
        Shortfall::new(
            "profiles.buffer.profiles.lossless.xoff",
            format!(
                "a ring holds {} frames and its ends are polled {} apart, so {raised} lossless \
                 groups get headroom for that instead of {from} octets, and the buffer grows by it",
                rings.entries, rings.span
            ),
        )
    };
    Ok((raised > 0).then(say))
}

/// Raises the headroom of a lossless group, and returns the added cells.
fn raise(plan: &mut GroupPlan, needed: Cells) -> u32 {
    let GroupKind::Lossless { headroom, .. } = &mut plan.kind else { return 0 };
    let by = needed.0.saturating_sub(headroom.0);
    headroom.0 += by;
    by
}

/// Returns the most frames that can exist at one time: the capacity of all buffers, full rings, and
/// bursts in progress; at most the number of frames that are ever sent.
fn frames(network: &NetworkPlan, rings: &Rings) -> u64 {
    let mut held = 0;
    let mut sent = Some(0_u64);
    for node in &network.nodes {
        match &node.kind {
            NodeKind::Switch(plan) => {
                let cells = u64::from(plan.buffer.total.0);
                held += cells / u64::from(plan.buffer.cells_for(rings.shortest).0);
            }
            NodeKind::Host(host) => {
                let of = |sum: Option<u64>, flow: Option<u64>| sum?.checked_add(flow?);
                sent = host.flows.iter().fold(sent, |sum, flow| of(sum, flow.frames));
                let streams = host.tester.streams.iter();
                sent = streams.fold(sent, |sum, stream| of(sum, stream.limit.frames));
                sent = sent.filter(|_| host.senders.is_empty());
            }
        }
    }
    let hands = network.links.len() as u64 * 2 * u64::from(rings.entries + 8 * BURST as u32);
    held.min(sent.unwrap_or(u64::MAX)) + hands
}
