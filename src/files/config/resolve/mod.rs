//! Converts the raw model to the validated plan.
//!
//! Each part adds defaults and checks values. It reports errors to [`Cx`] with their places and
//! continues with a harmless value, so that one run finds all errors. A plan is returned only if
//! there are none.

mod agents;
mod classify;
mod congestion;
mod cx;
mod device;
mod flow;
mod groups;
mod limits;
mod link;
mod lossless;
mod macsec;
mod queues;
mod routing;
mod virtual_switch;

use std::collections::BTreeMap;

pub use self::congestion::{Congestion, life, longest, seed as seed_congestion, senders, udp_port};
pub use self::cx::{Cx, Place};
pub use self::link::{has_phy, named_interface};
use agents::ets_of;
pub use agents::{Context, Said, UNNAMED, agents, late_host, told};
pub use groups::{HeadroomRule, group_plan};
pub use macsec::{
    OWN, SecuredPort, check_whole, macsec as secy_plan, macsec_overhead, name_channels,
};
pub use queues::{ecn as ecn_plan, port_buffer};
pub use routing::learning;
pub use virtual_switch::{VirtualPort, VirtualSaid, VirtualSwitch, virtual_switch};

use super::plan::{DevicePlan, Machine, SwitchFile};
use super::quantity::Size;
use super::raw;
use super::tree::Node;
use super::written::Written;
use super::{Finding, Warning};
use contracts::frame::BURST;
use discovery::Role;
use ground::units::BitsPerSec;
use headroom::{DelayInputs, SoftwareTerms};
use secure::SecyPlan;
use switch::{PortPlan, SwitchPlan};

/// Range of the longest frame that can be configured, FCS included, in bytes.
const FRAME_MIN: u64 = contracts::port::FRAME_MIN as u64;
const FRAME_MAX: u64 = contracts::port::FRAME_MAX as u64;
/// 1500 bytes of payload, 18 of addresses, type and FCS, and two VLAN tags.
const FRAME_DEFAULT: u64 = 1_526;

/// A port that is being resolved, with the properties that other parts need.
pub(super) struct Draft<'a> {
    pub raw: &'a raw::Port,
    pub at: Place<'a>,
    pub plan: PortPlan,
    pub is_virtual: bool,
    /// Parameters of the headroom of its lossless groups.
    pub link: (DelayInputs, SoftwareTerms),
}

impl Draft<'_> {
    /// True if the headroom of its lossless groups is automatic (measured).
    fn finds_headroom(&self) -> bool {
        self.plan.agents.as_ref().is_some_and(|agents| agents.auto.is_some())
    }
}

/// Resolves a file.
///
/// `said` is the file without defaults applied; `meant`, read from `root`, has `defaults` merged
/// into every port. `name` is the file's path, to which paths in it are relative.
///
/// # Errors
/// All errors, in the order of their lines.
pub(super) fn resolve(
    name: &str,
    (said, meant): (&raw::File, &raw::File),
    root: &Node,
    machine: &Machine,
) -> Result<(SwitchFile, Vec<Warning>), Vec<Finding>> {
    let written = Written::new(name, root);
    let mut cx = Cx::of_file(name);
    let at = Place::root(root);
    let name = meant.switch.name.clone().unwrap_or_else(|| "sluice".into());
    let max_frame = meant.switch.max_frame.map_or(FRAME_DEFAULT, |s| s.0);
    let frames = (FRAME_MIN, FRAME_MAX);
    let frame_at = at.key("switch").key("max_frame");
    let max_frame = cx.ranged(&frame_at, max_frame, frames, FRAME_DEFAULT) as u32;

    device::check_defaults(&mut cx, &at.key("defaults"), said.defaults.as_ref());
    let cell = groups::cell(&mut cx, &at.key("buffer"), &meant.buffer, groups::CELL_MIN);
    let (devices, names) = device::devices(&mut cx, &at, meant, machine);
    for (i, device) in devices.iter().enumerate() {
        if let Some(why) = device.refusal(max_frame) {
            cx.error(&at.key("ports").index(i).key("device"), why);
        }
    }
    let workers = device::workers(&mut cx, &at, meant, machine);
    let role = if meant.routing.interfaces.is_empty() { Role::Bridge } else { Role::Router };
    let mut drafts: Vec<Draft<'_>> = Vec::new();
    for (i, raw) in meant.ports.iter().enumerate().take(machine.ports_max) {
        let at = at.key("ports").index(i);
        let is_virtual = devices[i].is_virtual;
        let (rate, shaped) =
            (raw.rate.map_or(RATE_DEFAULT, |r| r.0), device::is_shaped(raw, is_virtual));
        let who = Who { index: i, switch: &name, name: &names[i], rate, shaped, cell };
        let mut plan = port(&mut cx, &at, raw, &who);
        let (link, software) = link::inputs(&mut cx, &at, raw, (&plan, &devices[i]), max_frame);
        plan.secy = secured(&mut cx, &at, raw, (&plan, &devices[i], role), max_frame);
        let macsec = plan.secy.as_deref().map_or(link.macsec, macsec_overhead);
        let stated = DelayInputs { macsec, ..link };
        let link = (Said::of(raw).assumed(stated), software);
        let (reaction, internal) = link::internal(&link, is_virtual);
        let context = Context {
            names: (&names[i], &name),
            macs: (plan.mac, device::made_up_mac(&name, 0)),
            rate,
            pfc: plan.pfc.mode,
            ets: ets_of(&plan),
            role,
            internal,
            reaction,
            link: Some((link.0, link.1, cell)),
            stated: Some(stated),
            secy: plan.secy.as_deref(),
        };
        plan.agents = agents(&mut cx, &at, Said::of(raw), &context);
        drafts.push(Draft { raw, at, plan, is_virtual, link });
    }
    let busiest = workers.iter().map(|w| w.ports.len()).max().unwrap_or(0);
    let frames_per_poll = busiest * BURST * copies_max(&drafts);
    let rules = groups::Rules {
        max_frame,
        cell,
        workers: workers.len(),
        frames_per_poll,
        headroom: HeadroomRule::Refuse,
        waivable: false,
    };
    let (buffer, headroom) = groups::buffer(&mut cx, &at, &meant.buffer, &drafts, rules);
    lossless::check(&mut cx, &drafts, &buffer);
    queues::shares(&mut cx, &mut drafts, &buffer);
    queues::check_against_buffer(&mut cx, &drafts, &buffer);
    let said = Congestion {
        sfc: meant.sfc.as_ref(),
        isolation: meant.congestion_isolation.as_ref(),
        proxy: meant.sfc_proxy.as_ref(),
        fast_cnp: meant.fast_cnp.as_ref(),
        qcn: meant.qcn.as_ref(),
    };
    let mut congestion = congestion::congestion(&mut cx, &at, &said, &drafts, &buffer);
    congestion::check_proxy(&mut cx, &said, &drafts);
    congestion::warn_of_hosts(&mut cx, &drafts);
    seed_congestion(&mut congestion, meant.switch.seed);
    let bridge = routing::bridge(&mut cx, &at.key("bridge"), &meant.bridge, &drafts);
    let routing = routing::routing(&mut cx, &at.key("routing"), &meant.routing, &drafts, &name);
    let observe_at = at.key("observe").key("prometheus");
    let listen = device::listen(&mut cx, &observe_at, meant.observe.prometheus.as_deref());
    let eal = device::eal(&mut cx, &at.key("eal"), &meant.eal);
    let pool_frames = device::pool_frames(&buffer, &devices);
    device::memory(&mut cx, &at, machine, (pool_frames, max_frame), (&devices, &eal));

    cx.merge_alike((0, 0), &names.iter().map(String::as_str).collect::<Vec<_>>());
    let warnings = cx.finish()?;
    let ports = drafts.into_iter().map(|d| d.plan).collect();
    let seed = meant.switch.seed;
    let plan = SwitchPlan { name, ports, buffer, bridge, routing, congestion, max_frame, seed };
    let telemetry = meant.observe.telemetry;
    let file = SwitchFile {
        plan,
        devices,
        workers,
        eal,
        listen,
        telemetry,
        pool_frames,
        headroom,
        written,
    };
    Ok((file, warnings))
}

/// Resolves the SecY of a port, if it has one, and checks it against the port's device.
fn secured(
    cx: &mut Cx,
    at: &Place<'_>,
    raw: &raw::Port,
    (port, device, role): (&PortPlan, &DevicePlan, Role),
    max_frame: u32,
) -> Option<Box<SecyPlan>> {
    let said = raw.macsec.as_deref()?;
    let here = at.key("macsec");
    let mut plan = secy_plan(cx, &here, said, SecuredPort { mac: port.mac, peer: false, role });
    name_channels(&mut plan, port.mac, None);
    check_whole(cx, &here, &plan);
    if device.hardware_pfc {
        let what = "the NIC itself sends and obeys PFC, and knows nothing of MACsec: leave it out where \
                    there is `macsec`";
        cx.error(&at.key("hardware_pfc"), what);
    }
    let longest = if plan.protect_data { max_frame + plan.overhead() } else { max_frame };
    if u64::from(longest) > FRAME_MAX {
        let what = format!(
            "the longest frame has {longest} octets with MACsec; `switch.max_frame` can be {} at most",
            FRAME_MAX - u64::from(plan.overhead())
        );
        cx.error(&here, what);
    } else if device.room().is_some_and(|room| longest > room && max_frame <= room) {
        let what = format!(
            "the longest frame has {longest} octets with MACsec, and the device's slots have room for \
             {}: lower `switch.max_frame` to {}, or give the device a larger `framesz`",
            device.room().unwrap_or_default(),
            device.room().unwrap_or_default() - plan.overhead()
        );
        cx.warn(&here, what);
    }
    Some(Box::new(plan))
}

/// Largest number of ports that a frame is flooded to; each copy is charged to the buffer.
fn copies_max(drafts: &[Draft<'_>]) -> usize {
    let mut members: BTreeMap<_, usize> = BTreeMap::new();
    for vid in drafts.iter().flat_map(|d| d.plan.vlan.members.iter().map(|m| m.vid)) {
        *members.entry(vid).or_default() += 1;
    }
    members.into_values().max().unwrap_or(0).saturating_sub(1).max(1)
}

/// Default rate of a port.
const RATE_DEFAULT: BitsPerSec = BitsPerSec::gbps(10);

/// Identity of a port.
struct Who<'a> {
    index: usize,
    switch: &'a str,
    name: &'a str,
    rate: BitsPerSec,
    shaped: bool,
    cell: u32,
}

fn port(cx: &mut Cx, at: &Place<'_>, raw: &raw::Port, who: &Who<'_>) -> PortPlan {
    let rate = who.rate;
    let mac = raw.mac.as_deref().and_then(|m| cx.mac(&at.key("mac"), m));
    let pfc = flow::pfc(cx, at, raw, rate);
    let classify = classify::classify(cx, at, raw);
    let queues = queues::queues(cx, &at.key("queues"), raw, rate, who.cell);
    let watchdog = flow::watchdog(cx, at, raw, &pfc, &classify, rate);
    PortPlan {
        name: who.name.to_owned(),
        mac: mac.unwrap_or_else(|| device::made_up_mac(who.switch, who.index as u16 + 1)),
        rate,
        shaped: who.shaped,
        vlan: classify::vlan(cx, &at.key("vlan"), &raw.vlan),
        classify,
        pfc,
        watchdog,
        schedule: queues.schedule,
        ecn: queues.ecn,
        queue_limits: queues.limits,
        agents: None,
        secy: None,
    }
}
