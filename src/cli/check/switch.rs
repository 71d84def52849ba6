//! A resolved switch, as tables and JSON show it, with the command line that repeats a group's headroom
//! calculation: `sluice headroom calc` with the link's parameters.

use super::render::{Json, object, ranges, some};
use super::{congestion, protocols};
use crate::buffer::{GroupKind, GroupPlan, SharedLimit};
use crate::config::quantity::{Length, LinkRate, Size, Span};
use crate::config::{Core, DevicePlan, HeadroomCheck, SwitchFile};
use crate::headroom::{DelayInputs, Extender, Fec, Phy, SoftwareTerms};
use crate::pfc::FlowControl;
use crate::runtime::Placement;
use crate::schedule::ClassPlan;
use crate::switch::managed::At;
use crate::switch::{CongestionPlan, PortPlan, SwitchPlan};
use crate::time::Duration;
use crate::units::{Cells, PRIORITIES, PrioritySet, share_of_parts};

/// Division of the buffer, in bytes.
pub struct Division {
    pub total: u64,
    pub reserved: u64,
    pub headroom: u64,
    pub slack: u64,
    pub shared: u64,
}

impl Division {
    pub fn new(plan: &SwitchPlan) -> Self {
        let sum = |cells: fn(&GroupPlan) -> Cells| {
            plan.buffer.groups.iter().flatten().map(|g| bytes(plan, cells(g))).sum()
        };
        let (total, slack) = (bytes(plan, plan.buffer.total), bytes(plan, plan.buffer.slack));
        // The resolved plan has checked that the parts fit, so the subtraction below cannot underflow.
        let (reserved, headroom): (u64, u64) = (sum(|g| g.reserved), sum(headroom));
        Self { total, reserved, headroom, slack, shared: total - reserved - headroom - slack }
    }
}

/// A priority group of a port in use or not.
pub struct Group<'a> {
    file: &'a SwitchFile,
    port: usize,
    pub index: usize,
    pub plan: &'a GroupPlan,
    pub check: Option<&'a HeadroomCheck>,
}

impl<'a> Group<'a> {
    /// Returns the groups of a port.
    pub fn all(file: &'a SwitchFile, port: usize) -> impl Iterator<Item = Self> {
        file.plan.buffer.groups[port].iter().enumerate().map(move |(index, plan)| {
            let is_of_group =
                |h: &&HeadroomCheck| h.port.index() == port && h.group.index() == index;
            Group { file, port, index, plan, check: file.headroom.iter().find(is_of_group) }
        })
    }

    pub fn priorities(&self) -> Vec<u8> {
        let classify = &self.file.plan.ports[self.port].classify;
        priorities(|p| classify.group[p].index() == self.index)
    }

    pub const fn lossless(&self) -> bool {
        matches!(self.plan.kind, GroupKind::Lossless { .. })
    }

    /// Returns the bytes of a number of cells.
    pub fn bytes(&self, cells: Cells) -> u64 {
        bytes(&self.file.plan, cells)
    }

    pub fn limit(&self) -> String {
        match self.plan.limit {
            SharedLimit::Static(cells) => format!("static_th {}", self.bytes(cells)),
            other => limit(other),
        }
    }

    /// Returns the largest use of the shared pool, in bytes, while no other group uses any. With
    /// alpha it is alpha times what is left, at alpha / (1 + alpha) of the pool.
    pub fn share(&self) -> u64 {
        let cell = u64::from(self.file.plan.buffer.cell_bytes);
        let pool = Division::new(&self.file.plan).shared / cell;
        let cells = match self.plan.limit {
            // A limit above the pool is not reached.
            SharedLimit::Static(Cells(n)) => u64::from(n).min(pool),
            SharedLimit::Unlimited => pool,
            // At rest: x = alpha * (pool - x), so x = alpha / (1 + alpha) of the pool.
            SharedLimit::Dynamic(alpha) => {
                let n = f64::from(alpha.exponent()).exp2();
                (pool as f64 * n / (1.0 + n)) as u64
            }
        };
        cells * cell
    }

    pub fn headroom(&self) -> u64 {
        self.bytes(headroom(self.plan))
    }

    pub fn required(&self) -> u64 {
        self.check.map_or(0, |h| self.bytes(h.required.cells))
    }

    /// Returns the XON threshold and its offset from the limit.
    pub fn xon(&self) -> (u64, u64) {
        match self.plan.kind {
            GroupKind::Lossy => (0, 0),
            GroupKind::Lossless { xon, xon_offset, .. } => {
                (self.bytes(xon), self.bytes(xon_offset))
            }
        }
    }

    fn json(&self) -> Json {
        let cell = self.file.plan.buffer.cell_bytes;
        let (xon, xon_offset) = self.xon();
        object! {
            group: self.index,
            priorities: self.priorities(),
            lossless: self.lossless(),
            reserved_bytes: self.bytes(self.plan.reserved),
            limit: self.limit(),
            share_bytes: self.share(),
            headroom_bytes: self.headroom(),
            headroom_required_bytes: self.required(),
            headroom_sum: some(self.check.map(|h| h.required.sum.to_string())),
            headroom_calc: some(self.check.and_then(|h| calc_command(&h.link, &h.software, cell))),
            xon_bytes: xon,
            xon_offset_bytes: xon_offset,
        }
    }
}

/// Returns one switch. Sizes are in bytes, times in nanoseconds. `cpu` of a worker is left out for a switch of
/// another machine.
pub fn json(file: &SwitchFile, placement: Option<&Placement>) -> Json {
    let plan = &file.plan;
    let buffer = Division::new(plan);
    let ports = plan.ports.iter().enumerate().map(|(i, port)| port_json(file, i, port));
    let workers = file.workers.iter().enumerate().map(|(n, worker)| {
        object! {
            core: core(worker.core),
            // Absent for another machine, and null for a worker that is not pinned.
            cpu: some(placement.map(|placement| placement.cpus[n])),
            ports: names(plan, worker.ports.iter().map(|p| p.index())),
        }
    });
    object! {
        name: plan.name.clone(),
        max_frame: plan.max_frame,
        pool_frames: file.pool_frames,
        buffer: object! {
            cell_bytes: plan.buffer.cell_bytes,
            total_bytes: buffer.total,
            reserved_bytes: buffer.reserved,
            headroom_bytes: buffer.headroom,
            slack_bytes: buffer.slack,
            shared_bytes: buffer.shared,
        },
        workers: workers.collect::<Vec<_>>(),
        ports: ports.collect::<Vec<_>>(),
        routes: plan.routing.routes.len(),
        congestion: some(congestion(plan).map(|c| c.json())),
        prometheus: file.listen.map(|address| address.to_string()),
    }
}

fn core(core: Core) -> Json {
    match core {
        Core::Auto => "auto".into(),
        Core::None => "none".into(),
        Core::Number(cpu) => cpu.into(),
    }
}

pub fn congestion(plan: &SwitchPlan) -> Option<congestion::Switch<'_>> {
    congestion::Switch::new(&plan.congestion, names(plan, 0..plan.ports.len()))
}

pub fn names(plan: &SwitchPlan, ports: impl Iterator<Item = usize>) -> Vec<String> {
    ports.map(|port| plan.ports[port].name.clone()).collect()
}

fn bytes(plan: &SwitchPlan, cells: Cells) -> u64 {
    u64::from(cells.0) * u64::from(plan.buffer.cell_bytes)
}

const fn headroom(group: &GroupPlan) -> Cells {
    match group.kind {
        GroupKind::Lossless { headroom, .. } => headroom,
        GroupKind::Lossy => Cells(0),
    }
}

/// Priorities for which `is` holds.
fn priorities(is: impl Fn(usize) -> bool) -> Vec<u8> {
    (0..8).filter(|p| is(usize::from(*p))).collect()
}

/// Returns the kind of flow control, with the priorities of sent and of obeyed frames.
pub const fn flow_control(port: &PortPlan) -> (&'static str, PrioritySet, PrioritySet) {
    const fn all(on: bool) -> PrioritySet {
        if on { PrioritySet::ALL } else { PrioritySet::EMPTY }
    }
    match port.pfc.mode {
        FlowControl::Off => ("none", PrioritySet::EMPTY, PrioritySet::EMPTY),
        FlowControl::Pfc { send, obey } => ("pfc", send, obey),
        FlowControl::Pause { send, obey } => ("pause", all(send), all(obey)),
    }
}

/// Returns the VLANs of which a port is a tagged or untagged member.
pub fn vlans(port: &PortPlan, tagged: bool) -> Vec<u16> {
    let members = port.vlan.members.iter().filter(|m| m.tagged == tagged);
    members.map(|m| m.vid.get()).collect()
}

fn port_json(file: &SwitchFile, index: usize, port: &PortPlan) -> Json {
    let (flow_control, send, obey) = flow_control(port);
    object! {
        name: port.name.clone(),
        device: file.devices[index].device.clone(),
        mac: port.mac,
        rate_bps: port.rate,
        shaped: port.shaped,
        hardware_pfc: some(hardware_pfc(&file.devices[index], port)),
        trust: port.classify.trust.name(),
        pvid: port.vlan.pvid.map(|v| v.get()),
        untagged: vlans(port, false),
        tagged: vlans(port, true),
        flow_control: flow_control,
        send: send,
        obey: obey,
        pause_ns: port.pfc.quanta.at(port.rate).as_nanos(),
        refresh_ns: port.pfc.refresh.as_nanos(),
        groups: Group::all(file, index).map(|g| g.json()).collect::<Vec<_>>(),
        queues: (0..PRIORITIES).map(|n| queue_json(port, n)).collect::<Vec<_>>(),
        agents: some(port.agents.as_ref().map(protocols::json)),
        macsec: some(port.secy.as_deref().map(protocols::macsec_json)),
    }
}

/// Returns the priorities of an egress queue.
pub fn queue_priorities(port: &PortPlan, n: usize) -> Vec<u8> {
    priorities(|p| port.classify.class[p].index() == n)
}

pub fn limit(limit: SharedLimit) -> String {
    match limit {
        SharedLimit::Static(Cells(cells)) => format!("static_th {cells} cells"),
        SharedLimit::Dynamic(alpha) => format!("dynamic_th {}", alpha.exponent()),
        SharedLimit::Unlimited => "unlimited".into(),
    }
}

/// Queues of a device that does PFC itself: each priority has a transmit queue, control frames have
/// one, and each priority with PFC has a receive queue beside the one of all others.
fn hardware_pfc(device: &DevicePlan, port: &PortPlan) -> Option<Json> {
    let priorities = port.pfc.mode.pfc();
    device.hardware_pfc.then(|| {
        object! {
            priorities: priorities,
            // The additional one is for all priorities without PFC.
            receive_queues: priorities.iter().count() + 1,
            transmit_queues: device.queues().1,
        }
    })
}

fn queue_json(port: &PortPlan, n: usize) -> Json {
    let (strict, weight) = match port.schedule.classes[n] {
        // A strict queue has no weight; 0 is no weight of DWRR.
        ClassPlan::Strict => (true, 0),
        ClassPlan::Dwrr { weight } => (false, weight),
    };
    let ecn = port.ecn[n].as_ref().map(|ecn| {
        object! {
            kmin_bytes: ecn.kmin,
            kmax_bytes: ecn.kmax,
            pmax: share_of_parts(ecn.pmax),
            at: ecn.at.name(),
            not_ect: ecn.not_ect.name(),
        }
    });
    let watchdog = port.watchdog[n].map(|dog| {
        let plan = CongestionPlan { watchdog: Some(vec![Some(dog)]), ..CongestionPlan::default() };
        // Rounded up: a watchdog that acts at once is none with a time of 0.
        let whole = |time: Duration| time.as_picos().div_ceil(1_000).into();
        let objects = congestion::settings(&plan, At::default(), "watchdog.", whole);
        objects.and(object! { action: dog.action.name() })
    });
    object! {
        queue: n,
        priorities: queue_priorities(port, n),
        strict: strict,
        weight: weight,
        limit: limit(port.queue_limits[n]),
        ecn: some(ecn),
        watchdog: some(watchdog),
    }
}

/// Formats a set of priorities, `none` if it is empty.
pub fn set(priorities: PrioritySet) -> String {
    if priorities == PrioritySet::EMPTY {
        return "none".into();
    }
    ranges(priorities.iter().map(|p| p.get()))
}

/// Returns the command that gives the same headroom to the byte. None if the link has a parameter
/// without an option in `calc` (another line overhead, or a delay that is not a length).
pub fn calc_command(link: &DelayInputs, software: &SoftwareTerms, cell: u32) -> Option<String> {
    let standard = DelayInputs::standard(link.interface);
    // `calc` has no option for it.
    if link.line_overhead != standard.line_overhead {
        return None;
    }
    let (length, per_metre) = length(link)?;
    let mut out = format!(
        "sluice headroom calc --model ieee --rate {} --length {length} --max-frame {} --cell {cell}",
        LinkRate(link.rate()),
        Size(link.max_frame.0),
    );
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            out += &format!(" --{name} {value}");
            // A flag without a value would leave a space at the end.
            out.truncate(out.trim_end().len());
        }
    };
    let span = |span: Duration| Span(span).to_string();
    let usual = u64::from(DelayInputs::PS_PER_METRE);
    option("delay-per-metre", (per_metre != usual).then(|| span(Duration::from_picos(per_metre))));
    let interface = link.interface;
    let phy = match interface.phy() {
        Phy::Virtual(_) => Some("none".to_owned()),
        phy => (phy != Phy::of_rate(link.rate())).then(|| phy.to_string()),
    };
    // Only what differs from the defaults of `calc`, so that the command stays readable.
    option("phy", phy);
    option("fec", (interface.fec() != Fec::None).then(|| interface.fec().to_string()));
    let extender = (interface.extender() != Extender::None).then(|| interface.extender());
    option("extender", extender.map(|e| e.to_string().to_lowercase()));
    let reaction = link.higher_layer;
    option("reaction-delay", (reaction != standard.higher_layer).then(|| span(reaction)));
    macsec_options(link, &mut option)?;
    let some = |n: u64| (n > 0).then(|| Size(n).to_string());
    // One alone would count by itself, and here the smaller of both counts, also one of 0.
    let is_polled = software.poll_gap > Duration::ZERO || software.rx_backlog.0 > 0;
    option("poll-gap", is_polled.then(|| span(software.poll_gap)));
    option("rx-backlog", is_polled.then(|| Size(software.rx_backlog.0).to_string()));
    option("tx-committed", some(software.tx_committed.0));
    option("peer-committed", some(software.peer_committed.0));
    Some(out)
}

/// Expresses the cable as a length and picoseconds per metre, within the ranges of `calc`.
fn length(link: &DelayInputs) -> Option<(Length, u64)> {
    // Within these limits `calc` accepts the delay per metre as it is.
    let (metres, each) = (u64::from(link.cable_m), u64::from(link.cable_ps_per_m));
    if (3_300..=100_000).contains(&each) || metres == 0 {
        let each = if metres == 0 { DelayInputs::PS_PER_METRE.into() } else { each };
        return Some((Length(metres * 1_000), each));
    }
    // A delay is stored as one metre; express it as whole millimetres of 5 or 4 ps each.
    let ps = metres.checked_mul(each)?;
    let per_mm = [5, 4].into_iter().find(|n| ps % n == 0)?;
    Some((Length(ps / per_mm), per_mm * 1_000))
}

/// Options of the MACsec overhead, if `calc` has them.
fn macsec_options(link: &DelayInputs, option: &mut impl FnMut(&str, Option<String>)) -> Option<()> {
    let macsec = link.macsec;
    let (data, pfc) = (macsec.data_octets, macsec.pfc_octets);
    if data == 0 && pfc == 0 && macsec.data_delay + macsec.pfc_delay == Duration::ZERO {
        return Some(());
    }
    // `calc` has one delay for both, so other combinations cannot be expressed.
    let pays = if pfc > 0 { macsec.data_delay } else { Duration::ZERO };
    let known = matches!(data, 24 | 32) && (pfc == 0 || pfc == data) && macsec.pfc_delay == pays;
    if !known {
        return None;
    }
    option("macsec", Some(data.to_string()));
    option("macsec-pfc", (pfc > 0).then(String::new));
    let shim = macsec.data_delay;
    option("shim-delay", (shim > Duration::ZERO).then(|| Span(shim).to_string()));
    Some(())
}
