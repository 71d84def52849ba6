//! A resolved lab, as tables and JSON show it.

use serde::Serialize;

use super::agents::AgentsView;
use super::calc;
use super::congestion::{CongestionView, senders_text};
use super::macsec::MacsecView;
use crate::headroom::SoftwareTerms;
use crate::host::{ReactionsPlan, SfcPause};
use crate::lab::{LinkView, Resolved};
use crate::sim::{NodeKind, NodePlan};
use crate::switch::{PortPlan, SwitchPlan};
use crate::units::BitsPerSec;

/// One lab. Sizes are in bytes, times in nanoseconds with fractions.
#[derive(Serialize)]
pub struct LabView {
    pub name: String,
    pub seed: u64,
    pub duration_ns: f64,
    pub until_done: bool,
    pub switches: Vec<SwitchRow>,
    pub hosts: Vec<String>,
    pub links: Vec<LinkRow>,
    pub flows: Vec<FlowRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentsRow>,
    /// Ports with MACsec.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub macsec: Vec<MacsecRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub congestion: Vec<CongestionRow>,
    /// Hosts that obey congestion messages of switches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reactions: Vec<ReactionsRow>,
    pub faults: usize,
    pub checks: Vec<String>,
}

#[derive(Serialize)]
pub struct SwitchRow {
    pub name: String,
    pub ports: usize,
    pub cut_through: bool,
    pub max_frame: u32,
    pub cell_bytes: u32,
    pub buffer_bytes: u64,
}

#[derive(Serialize)]
pub struct LinkRow {
    pub name: String,
    pub from: String,
    pub to: String,
    pub rate_bps: u64,
    /// From the start of a bit at one MAC to its arrival at the other.
    pub delay_ns: f64,
    pub delay_back_ns: f64,
    pub response_ns: f64,
    pub headroom: Vec<HeadroomRow>,
}

/// The headroom of a lossless group at one end of a link.
#[derive(Serialize)]
pub struct HeadroomRow {
    pub switch: String,
    pub group: usize,
    pub headroom_bytes: u64,
    pub headroom_required_bytes: u64,
    /// Terms of the required headroom.
    pub headroom_sum: String,
    /// Command that repeats the calculation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headroom_calc: Option<String>,
}

/// Link protocols of a port.
#[derive(Serialize)]
pub struct AgentsRow {
    /// `s1.to_h1`; for a host, its name.
    pub port: String,
    #[serde(flatten)]
    pub agents: AgentsView,
}

/// MACsec of a port.
#[derive(Serialize)]
pub struct MacsecRow {
    /// `s1.to_h1`; for a host, its name.
    pub port: String,
    #[serde(flatten)]
    pub macsec: MacsecView,
}

/// Congestion control of a switch. Its ports are named `s1.to_h1`.
#[derive(Serialize)]
pub struct CongestionRow {
    pub switch: String,
    #[serde(flatten)]
    pub view: CongestionView,
}

/// Reaction of a host to congestion messages of switches.
#[derive(Serialize)]
pub struct ReactionsRow {
    pub host: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sfc: Option<SfcReactionView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qcn: Option<ReactionPointView>,
}

/// Reaction to source flow control messages.
#[derive(Serialize)]
pub struct SfcReactionView {
    /// Paused object: the `flow`, or all of its `priority`.
    pub pauses: &'static str,
    pub udp_port: u16,
    pub longest_ns: f64,
    pub accepts: String,
}

/// QCN reaction point of each flow.
#[derive(Serialize)]
pub struct ReactionPointView {
    pub time_reset_ns: f64,
    pub byte_reset_bytes: u64,
    pub threshold: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bps: Option<u64>,
    pub active_bps: u64,
    pub hyper_bps: u64,
    pub gain: u8,
    pub keep_min_percent: u8,
    pub min_bps: u64,
    pub jitter_percent: u8,
}

#[derive(Serialize)]
pub struct FlowRow {
    pub name: String,
    pub from: String,
    pub to: String,
    pub priority: u8,
    pub lossless: bool,
    pub frame_bytes: u32,
}

impl LabView {
    pub fn new(lab: &Resolved) -> Self {
        let plan = &lab.plan;
        let nodes = &plan.network.nodes;
        let name = |n: crate::sim::NodeId| nodes[n.index()].name().to_owned();
        let is_host = |n: &&NodePlan| matches!(n.kind, NodeKind::Host(_));
        Self {
            name: plan.name.clone(),
            seed: plan.network.seed,
            duration_ns: plan.duration.as_nanos_f64(),
            until_done: plan.until_done,
            switches: nodes.iter().filter_map(switch_row).collect(),
            hosts: nodes.iter().filter(is_host).map(|n| n.name().to_owned()).collect(),
            links: lab.links().map(|link| link_row(&link, nodes)).collect(),
            flows: plan
                .flows
                .iter()
                .map(|f| FlowRow {
                    name: f.name.clone(),
                    from: name(f.from),
                    to: name(f.to),
                    priority: f.priority.get(),
                    lossless: f.lossless,
                    frame_bytes: f.frame_len,
                })
                .collect(),
            agents: nodes.iter().flat_map(agents_rows).collect(),
            macsec: nodes.iter().flat_map(macsec_rows).collect(),
            congestion: nodes.iter().filter_map(congestion_row).collect(),
            reactions: nodes.iter().filter_map(reactions_row).collect(),
            faults: plan.network.faults.len(),
            checks: plan.checks.iter().map(|c| c.name.clone()).collect(),
        }
    }
}

fn switch_of(node: &NodePlan) -> Option<&SwitchPlan> {
    match &node.kind {
        NodeKind::Switch(plan) => Some(plan),
        NodeKind::Host(_) => None,
    }
}

fn switch_row(node: &NodePlan) -> Option<SwitchRow> {
    let plan = switch_of(node)?;
    let cell_bytes = plan.buffer.cell_bytes;
    Some(SwitchRow {
        name: plan.name.clone(),
        ports: plan.ports.len(),
        cut_through: node.cut_through,
        max_frame: plan.max_frame,
        cell_bytes,
        buffer_bytes: u64::from(plan.buffer.total.0) * u64::from(cell_bytes),
    })
}

fn agents_rows(node: &NodePlan) -> Vec<AgentsRow> {
    let row = |port, plan| AgentsRow { port, agents: AgentsView::new(plan) };
    match &node.kind {
        NodeKind::Switch(switch) => {
            let name = |port: &PortPlan| format!("{}.{}", switch.name, port.name);
            let ports = switch.ports.iter();
            ports.filter_map(|p| Some(row(name(p), p.agents.as_ref()?))).collect()
        }
        NodeKind::Host(host) => {
            host.agents.iter().map(|plan| row(host.name.clone(), plan)).collect()
        }
    }
}

fn macsec_rows(node: &NodePlan) -> Vec<MacsecRow> {
    let row = |port, plan| MacsecRow { port, macsec: MacsecView::new(plan) };
    match &node.kind {
        NodeKind::Switch(switch) => {
            let name = |port: &PortPlan| format!("{}.{}", switch.name, port.name);
            let ports = switch.ports.iter();
            ports.filter_map(|p| Some(row(name(p), p.secy.as_deref()?))).collect()
        }
        NodeKind::Host(host) => host.secy.iter().map(|plan| row(host.name.clone(), plan)).collect(),
    }
}

fn congestion_row(node: &NodePlan) -> Option<CongestionRow> {
    let plan = switch_of(node)?;
    let name = |port: &PortPlan| format!("{}.{}", plan.name, port.name);
    let names: Vec<String> = plan.ports.iter().map(name).collect();
    let view = CongestionView::new(&plan.congestion, &names)?;
    Some(CongestionRow { switch: plan.name.clone(), view })
}

fn reactions_row(node: &NodePlan) -> Option<ReactionsRow> {
    let NodeKind::Host(station) = &node.kind else { return None };
    let ReactionsPlan { sfc, qcn } = &station.reactions;
    let sfc = sfc.as_ref().map(|sfc| SfcReactionView {
        pauses: match sfc.pause {
            SfcPause::Flow => "flow",
            SfcPause::Priority => "priority",
        },
        udp_port: sfc.udp_port,
        longest_ns: sfc.longest.as_nanos_f64(),
        accepts: senders_text(&sfc.senders),
    });
    let qcn = qcn.as_ref().map(|qcn| ReactionPointView {
        time_reset_ns: qcn.time_reset.as_nanos_f64(),
        byte_reset_bytes: qcn.byte_reset.0,
        threshold: qcn.threshold,
        max_bps: qcn.max_rate.map(BitsPerSec::get),
        active_bps: qcn.active.get(),
        hyper_bps: qcn.hyper.get(),
        gain: qcn.gain,
        keep_min_percent: qcn.keep_min,
        min_bps: qcn.min_rate.get(),
        jitter_percent: qcn.jitter,
    });
    let any = sfc.is_some() || qcn.is_some();
    any.then(|| ReactionsRow { host: station.name.clone(), sfc, qcn })
}

fn link_row(view: &LinkView<'_>, nodes: &[NodePlan]) -> LinkRow {
    let link = view.link;
    let headroom = view.headroom.iter().map(|h| {
        let node = &nodes[h.node.index()];
        let cell_bytes = switch_of(node).map_or(0, |s| s.buffer.cell_bytes);
        let cell = u64::from(cell_bytes);
        HeadroomRow {
            switch: node.name().to_owned(),
            group: h.group.index(),
            headroom_bytes: u64::from(h.given.0) * cell,
            headroom_required_bytes: u64::from(h.required.cells.0) * cell,
            headroom_sum: h.required.sum.to_string(),
            headroom_calc: calc::command(&h.link, &SoftwareTerms::default(), cell_bytes),
        }
    });
    LinkRow {
        name: link.name.clone(),
        from: nodes[link.a.node.index()].name().to_owned(),
        to: nodes[link.b.node.index()].name().to_owned(),
        rate_bps: link.rate.get(),
        delay_ns: link.ab.delay.as_nanos_f64(),
        delay_back_ns: link.ba.delay.as_nanos_f64(),
        response_ns: link.ab.response.max(link.ba.response).as_nanos_f64(),
        headroom: headroom.collect(),
    }
}
