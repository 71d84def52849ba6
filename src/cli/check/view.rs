//! A resolved switch, as tables and JSON show it.

use serde::Serialize;

use super::agents::AgentsView;
use super::calc;
use super::congestion::CongestionView;
use super::macsec::MacsecView;
use crate::buffer::{GroupKind, GroupPlan, SharedLimit};
use crate::config::{HeadroomCheck, SwitchFile};
use crate::congestion::{EcnPlan, MarkAt, NotEct};
use crate::pfc::{FlowControl, StormAction, WatchdogPlan};
use crate::schedule::ClassPlan;
use crate::switch::{PortPlan, Trust};
use crate::units::{Cells, PrioritySet};

/// One switch. Sizes are in bytes, times in nanoseconds.
#[derive(Serialize)]
pub struct SwitchView {
    pub name: String,
    pub max_frame: u32,
    pub pool_frames: usize,
    pub buffer: BufferView,
    pub workers: Vec<WorkerView>,
    pub ports: Vec<PortView>,
    pub routes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<CongestionView>,
    pub prometheus: Option<String>,
}

/// Division of the buffer.
#[derive(Serialize)]
pub struct BufferView {
    pub cell_bytes: u32,
    pub total_bytes: u64,
    pub reserved_bytes: u64,
    pub headroom_bytes: u64,
    pub slack_bytes: u64,
    pub shared_bytes: u64,
}

#[derive(Serialize)]
pub struct WorkerView {
    pub core: Option<usize>,
    pub ports: Vec<String>,
}

#[derive(Serialize)]
pub struct PortView {
    pub name: String,
    pub device: String,
    pub mac: String,
    pub rate_bps: u64,
    pub shaped: bool,
    pub trust: &'static str,
    pub pvid: Option<u16>,
    pub untagged: Vec<u16>,
    pub tagged: Vec<u16>,
    pub flow_control: &'static str,
    pub send: Vec<u8>,
    pub obey: Vec<u8>,
    pub pause_ns: u64,
    pub refresh_ns: u64,
    pub groups: Vec<GroupView>,
    pub queues: Vec<QueueView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<AgentsView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macsec: Option<MacsecView>,
}

#[derive(Serialize)]
pub struct GroupView {
    pub group: usize,
    pub priorities: Vec<u8>,
    pub lossless: bool,
    pub reserved_bytes: u64,
    pub limit: String,
    /// Largest use of the shared pool while no other group uses any.
    pub share_bytes: u64,
    pub headroom_bytes: u64,
    pub headroom_required_bytes: u64,
    /// Terms of the required headroom.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub headroom_sum: String,
    /// Command that repeats the calculation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headroom_calc: Option<String>,
    pub xon_bytes: u64,
    pub xon_offset_bytes: u64,
}

#[derive(Serialize)]
pub struct QueueView {
    pub queue: usize,
    pub priorities: Vec<u8>,
    pub strict: bool,
    pub weight: u16,
    pub limit: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<EcnView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watchdog: Option<WatchdogView>,
}

#[derive(Serialize)]
pub struct EcnView {
    pub kmin_bytes: u64,
    pub kmax_bytes: u64,
    pub pmax: f64,
    pub at: &'static str,
    pub not_ect: &'static str,
}

#[derive(Serialize)]
pub struct WatchdogView {
    pub detection_ns: u64,
    pub restoration_ns: u64,
    pub action: &'static str,
}

impl SwitchView {
    pub fn new(file: &SwitchFile) -> Self {
        let plan = &file.plan;
        let bytes = |c: u64| c * u64::from(plan.buffer.cell_bytes);
        let groups = || plan.buffer.groups.iter().flatten();
        let reserved: u64 = groups().map(|g| u64::from(g.reserved.0)).sum();
        let headroom: u64 = groups().map(|g| u64::from(headroom(g).0)).sum();
        let slack = u64::from(plan.buffer.slack.0);
        let total = u64::from(plan.buffer.total.0);
        let pool = total - reserved - headroom - slack;
        let names: Vec<String> = plan.ports.iter().map(|port| port.name.clone()).collect();
        let port = |(i, port): (usize, &PortPlan)| {
            let checks = file.headroom.iter().filter(|h| h.port.index() == i);
            let mut view = port_view(port, &file.devices[i].device);
            view.groups = group_views(
                port,
                &plan.buffer.groups[i],
                (pool, plan.buffer.cell_bytes),
                &bytes,
                checks,
            );
            view
        };
        Self {
            name: plan.name.clone(),
            max_frame: plan.max_frame,
            pool_frames: file.pool_frames,
            buffer: BufferView {
                cell_bytes: plan.buffer.cell_bytes,
                total_bytes: bytes(total),
                reserved_bytes: bytes(reserved),
                headroom_bytes: bytes(headroom),
                slack_bytes: bytes(slack),
                shared_bytes: bytes(pool),
            },
            workers: file
                .workers
                .iter()
                .map(|w| WorkerView {
                    core: w.core,
                    ports: w.ports.iter().map(|p| plan.ports[p.index()].name.clone()).collect(),
                })
                .collect(),
            ports: plan.ports.iter().enumerate().map(port).collect(),
            routes: plan.routing.routes.len(),
            congestion: CongestionView::new(&plan.congestion, &names),
            prometheus: file.listen.map(|a| a.to_string()),
        }
    }
}

fn headroom(group: &GroupPlan) -> Cells {
    match group.kind {
        GroupKind::Lossless { headroom, .. } => headroom,
        GroupKind::Lossy => Cells(0),
    }
}

fn numbers(set: PrioritySet) -> Vec<u8> {
    set.iter().map(|p| p.get()).collect()
}

/// Priorities for which `is` holds.
fn priorities(is: impl Fn(usize) -> bool) -> Vec<u8> {
    (0..8).filter(|p| is(usize::from(*p))).collect()
}

fn port_view(port: &PortPlan, device: &str) -> PortView {
    let (flow_control, send, obey) = match port.pfc.mode {
        FlowControl::Off => ("none", PrioritySet::EMPTY, PrioritySet::EMPTY),
        FlowControl::Pfc { send, obey } => ("pfc", send, obey),
        FlowControl::Pause { send, obey } => {
            let all = |on| if on { PrioritySet::ALL } else { PrioritySet::EMPTY };
            ("pause", all(send), all(obey))
        }
    };
    let members = |tagged| {
        let of = port.vlan.members.iter().filter(|m| m.tagged == tagged);
        of.map(|m| m.vid.get()).collect()
    };
    PortView {
        name: port.name.clone(),
        device: device.to_owned(),
        mac: port.mac.to_string(),
        rate_bps: port.rate.get(),
        shaped: port.shaped,
        trust: match port.classify.trust {
            Trust::Pcp => "pcp",
            Trust::Dscp => "dscp",
            Trust::PcpThenDscp => "pcp_then_dscp",
            Trust::DscpThenPcp => "dscp_then_pcp",
            Trust::Port => "port",
        },
        pvid: port.vlan.pvid.map(|v| v.get()),
        untagged: members(false),
        tagged: members(true),
        flow_control,
        send: numbers(send),
        obey: numbers(obey),
        pause_ns: port.pfc.quanta.at(port.rate).as_nanos(),
        refresh_ns: port.pfc.refresh.as_nanos(),
        groups: Vec::new(),
        queues: (0..8).map(|n| queue_view(port, n)).collect(),
        agents: port.agents.as_ref().map(AgentsView::new),
        macsec: port.secy.as_deref().map(MacsecView::new),
    }
}

fn group_views<'a>(
    port: &PortPlan,
    groups: &[GroupPlan],
    (pool, cell): (u64, u32),
    bytes: &impl Fn(u64) -> u64,
    checks: impl Iterator<Item = &'a HeadroomCheck> + Clone,
) -> Vec<GroupView> {
    let view = |(g, plan): (usize, &GroupPlan)| {
        let check = checks.clone().find(|h| h.group.index() == g);
        let (lossless, xon, offset) = match plan.kind {
            GroupKind::Lossy => (false, 0, 0),
            GroupKind::Lossless { xon, xon_offset, .. } => (true, xon.0, xon_offset.0),
        };
        GroupView {
            group: g,
            priorities: priorities(|p| port.classify.group[p].index() == g),
            lossless,
            reserved_bytes: bytes(plan.reserved.0.into()),
            limit: limit(plan.limit, bytes),
            share_bytes: bytes(share(plan.limit, pool)),
            headroom_bytes: bytes(headroom(plan).0.into()),
            headroom_required_bytes: bytes(check.map_or(0, |h| h.required.cells.0.into())),
            headroom_sum: check.map_or(String::new(), |h| h.required.sum.to_string()),
            headroom_calc: check.and_then(|h| calc::command(&h.link, &h.software, cell)),
            xon_bytes: bytes(xon.into()),
            xon_offset_bytes: bytes(offset.into()),
        }
    };
    groups.iter().enumerate().map(view).collect()
}

/// Largest part of a pool that one group alone can use. With alpha it stops when its use is alpha
/// times what is left, at alpha / (1 + alpha) of the pool.
fn share(limit: SharedLimit, pool: u64) -> u64 {
    match limit {
        SharedLimit::Static(Cells(n)) => u64::from(n).min(pool),
        SharedLimit::Unlimited => pool,
        SharedLimit::Dynamic(alpha) => {
            let n = f64::from(alpha.exponent()).exp2();
            (pool as f64 * n / (1.0 + n)) as u64
        }
    }
}

fn limit(limit: SharedLimit, bytes: &impl Fn(u64) -> u64) -> String {
    match limit {
        SharedLimit::Static(Cells(n)) => format!("static_th {}", bytes(n.into())),
        SharedLimit::Dynamic(alpha) => format!("dynamic_th {}", alpha.exponent()),
        SharedLimit::Unlimited => "unlimited".into(),
    }
}

fn queue_view(port: &PortPlan, n: usize) -> QueueView {
    let (strict, weight) = match port.schedule.classes[n] {
        ClassPlan::Strict => (true, 0),
        ClassPlan::Dwrr { weight } => (false, weight),
    };
    QueueView {
        queue: n,
        priorities: priorities(|p| port.classify.class[p].index() == n),
        strict,
        weight,
        limit: match port.queue_limits[n] {
            SharedLimit::Static(Cells(cells)) => format!("static_th {cells} cells"),
            other => limit(other, &|n| n),
        },
        ecn: port.ecn[n].as_ref().map(ecn_view),
        watchdog: port.watchdog[n].as_ref().map(watchdog_view),
    }
}

fn ecn_view(ecn: &EcnPlan) -> EcnView {
    EcnView {
        kmin_bytes: ecn.kmin.0,
        kmax_bytes: ecn.kmax.0,
        pmax: f64::from(ecn.pmax) / 65_536.0,
        at: match ecn.at {
            MarkAt::Enqueue => "enqueue",
            MarkAt::Dequeue => "dequeue",
        },
        not_ect: match ecn.not_ect {
            NotEct::Pass => "pass",
            NotEct::Drop => "drop",
        },
    }
}

fn watchdog_view(dog: &WatchdogPlan) -> WatchdogView {
    WatchdogView {
        detection_ns: dog.detection.as_nanos(),
        restoration_ns: dog.restoration.as_nanos(),
        action: match dog.action {
            StormAction::Drop => "drop",
            StormAction::Forward => "forward",
            StormAction::Alert => "alert",
        },
    }
}
