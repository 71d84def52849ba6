//! Converts the raw model to the validated plan: of a switch file, or of a switch of the virtual world, whose links
//! are known exactly and which has no devices, so that its headroom has no software terms.
//!
//! Each part adds defaults and checks values. It reports errors to [`Cx`] with their places and
//! continues with a harmless value, so that one run finds all errors. A plan is returned only if
//! there are none.

mod associations;
mod congestion;
mod cx;
mod device;
mod discovery;
mod groups;
mod lossless;
mod macsec;
mod port;
mod protocols;
mod queues;
mod routing;

pub use self::congestion::{Congestion, life, longest, seed as seed_congestion, senders, udp_port};
pub use self::cx::{Cx, Place};
pub use device::check_captures;
pub use groups::{HeadroomRule, ProfileChange, group_plan};
pub use macsec::{
    OWN, SecuredPort, check_whole, macsec as secy_plan, macsec_overhead, name_channels,
};
pub use port::{NamedPhy, has_phy, named_interface};
pub use protocols::{Context, ProtocolSections, UNNAMED, advertised_name, agents, late_host};
pub use queues::{ecn as ecn_plan, port_buffer};
pub use routing::learning;

use std::collections::BTreeMap;

use self::cx::Found;
use self::discovery::ets_of;
use super::plan::{DevicePlan, HeadroomCheck, Machine, SwitchFile};
use super::quantity::Size;
use super::tree::Node;
use super::written::Written;
use super::{Finding, Warning, raw};
use ::discovery::Role;
use buffer::BufferPlan;
use contracts::frame::BURST;
use device::MemoryUse;
use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes, Mac};
use groups::Rules;
use headroom::{DelayInputs, SoftwareTerms};
use port::Who;
use schedule::LinePlan;
use secure::SecyPlan;
use switch::{CongestionPlan, PortPlan, SwitchPlan};

/// Range of the longest frame that can be configured, FCS included, in bytes.
const FRAME_MIN: u64 = contracts::port::FRAME_MIN as u64;
const FRAME_MAX: u64 = contracts::port::FRAME_MAX as u64;
/// 1500 bytes of payload, 18 of addresses, type and FCS, and two VLAN tags.
const FRAME_DEFAULT: u64 = 1_526;

/// A port that is being resolved, with the properties that other parts need.
pub(super) struct Draft<'a> {
    pub raw: &'a raw::Port,
    pub place: Place<'a>,
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
/// `raw` is the file without defaults applied; `merged`, read from `root`, has `defaults` merged
/// into every port. `name` is the file's path, to which paths in it are relative.
///
/// # Errors
/// All errors, in the order of their lines.
pub(super) fn resolve(
    name: &str,
    raw: &raw::File,
    merged: &raw::File,
    root: &Node,
    machine: &Machine,
) -> Result<(SwitchFile, Vec<Warning>), Vec<Finding>> {
    let written = Written::new(name, root);
    let mut cx = Cx::of_file(name);
    let place = Place::root(root);
    let name = merged.switch.name.clone().unwrap_or_else(|| "sluice".into());
    let max_frame = max_frame(&mut cx, &place.key("switch"), merged.switch.max_frame);
    // Fields in `defaults` are checked where they stand: merged, the same mistake would be one of every port.
    device::check_defaults(&mut cx, &place.key("defaults"), raw.defaults.as_ref());
    let cell = groups::cell(&mut cx, &place.key("buffer"), &merged.buffer, groups::CELL_MIN);
    let (devices, names) = device::devices(&mut cx, &place, merged, machine);
    device::check_frames(&mut cx, &place.key("ports"), &devices, max_frame);
    let workers = device::workers(&mut cx, &place, merged, machine);
    // LLDP and Topology Recognition advertise what the switch is: with IP interfaces a router.
    let role = if merged.routing.interfaces.is_empty() { Role::Bridge } else { Role::Router };
    let mut drafts: Vec<Draft<'_>> = Vec::new();
    // More ports than DPDK can have were reported; a port's number has no room for all of them.
    for (index, raw) in merged.ports.iter().enumerate().take(machine.ports_max) {
        let device = &devices[index];
        let rate = raw.rate.map_or(RATE_DEFAULT, |r| r.0);
        let shaped = device::is_shaped(raw, device.is_virtual, device.interface().is_some());
        let (switch, name) = (name.as_str(), names[index].as_str());
        let who = Who { index, switch, name, rate, shaped, cell, max_frame, role };
        drafts.push(draft(&mut cx, place.key("ports").index(index), raw, device, &who));
    }
    // A worker polls all of its ports before the others learn what it charged to the buffer.
    let busiest = workers.iter().map(|w| w.ports.len()).max().unwrap_or(0);
    let rules = Rules {
        max_frame,
        cell,
        workers: workers.len(),
        frames_per_poll: busiest * BURST * copies_max(&drafts),
        headroom: HeadroomRule::Refuse,
        waivable: false,
    };
    let (buffer, headroom) = whole_buffer(&mut cx, &place, &merged.buffer, &mut drafts, rules);
    let congestion = signalling(&mut cx, &place, merged, &drafts, &buffer);
    let bridge = routing::bridge(&mut cx, &place.key("bridge"), &merged.bridge, &drafts);
    let routing = routing::routing(&mut cx, &place.key("routing"), &merged.routing, &drafts, &name);
    let listen = device::listen(&mut cx, &place.key("observe"), &merged.observe);
    let eal = device::eal(&mut cx, &place.key("eal"), &merged.eal);
    let pool_frames = device::pool_frames(&buffer, &devices);
    let needs = MemoryUse { frames: pool_frames, max_frame, devices: &devices, eal: &eal };
    device::memory(&mut cx, &place, machine, &needs);

    // A mistake in `defaults` is one at every port, and each of its messages names its port.
    cx.merge_alike(Found::default(), &names.iter().map(String::as_str).collect::<Vec<_>>());
    let warnings = cx.finish()?;
    let ports = drafts.into_iter().map(|d| d.plan).collect();
    let seed = merged.switch.seed;
    let plan = SwitchPlan { name, ports, buffer, bridge, routing, congestion, max_frame, seed };
    let telemetry = merged.observe.telemetry;
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

/// Resolves the longest frame, in the section at `place`.
fn max_frame(cx: &mut Cx, place: &Place<'_>, raw: Option<Size>) -> u32 {
    let longest = raw.map_or(FRAME_DEFAULT, |s| s.0);
    cx.ranged(&place.key("max_frame"), longest, (FRAME_MIN, FRAME_MAX), FRAME_DEFAULT) as u32
}

/// Resolves a port of a switch file up to its groups, which need all ports.
fn draft<'a>(
    cx: &mut Cx,
    place: Place<'a>,
    raw: &'a raw::Port,
    device: &DevicePlan,
    who: &Who<'_>,
) -> Draft<'a> {
    let mut plan = port::port(cx, &place, raw, who);
    let (link, software) = port::inputs(cx, &place, raw, device, who);
    if let Some(section) = raw.macsec.as_deref() {
        let here = place.key("macsec");
        let port = SecuredPort { mac: plan.mac, peer: false, role: who.role };
        let mut secy = secy_plan(cx, &here, section, port);
        name_channels(&mut secy, plan.mac, None);
        check_whole(cx, &here, &secy);
        check_secured_device(cx, &place, &secy, device, who.max_frame);
        plan.secy = Some(Box::new(secy));
    }
    // MACsec lengthens and delays the frames of the link, so it is a term of the round trip.
    let macsec = plan.secy.as_deref().map_or(link.macsec, macsec_overhead);
    let stated = DelayInputs { macsec, ..link };
    // Until the link is measured, headroom may start from another length than the stated one.
    let link = ProtocolSections::of(raw).assumed(stated);
    let (reaction, internal) = port::internal(&link, &software, device.is_virtual);
    let context = Context {
        names: (who.name, who.switch),
        // Number 0 is the system itself; ports count from 1.
        macs: (plan.mac, device::made_up_mac(who.switch, 0)),
        rate: who.rate,
        pfc: plan.pfc.mode,
        ets: ets_of(&plan),
        role: who.role,
        internal,
        reaction,
        link: Some((link, software, who.cell)),
        stated: Some(stated),
        secy: plan.secy.as_deref(),
    };
    plan.agents = agents(cx, &place, ProtocolSections::of(raw), &context);
    Draft { raw, place, plan, is_virtual: device.is_virtual, link: (link, software) }
}

/// Checks MACsec of a port against its device.
fn check_secured_device(
    cx: &mut Cx,
    place: &Place<'_>,
    plan: &SecyPlan,
    device: &DevicePlan,
    max_frame: u32,
) {
    let here = place.key("macsec");
    if device.hardware_pfc {
        let what = "the NIC itself sends and obeys PFC, and knows nothing of MACsec: leave it out where \
                    there is `macsec`";
        cx.error(&place.key("hardware_pfc"), what);
    }
    let longest = if plan.protect_data { max_frame + plan.overhead() } else { max_frame };
    if u64::from(longest) > FRAME_MAX {
        let what = format!(
            "the longest frame has {longest} octets with MACsec; `switch.max_frame` can be {} at most",
            FRAME_MAX - u64::from(plan.overhead())
        );
        cx.error(&here, what);
    } else if device.room().is_some_and(|room| longest > room && max_frame <= room) {
        // Frames that are too long without MACsec were reported with the device.
        let what = format!(
            "the longest frame has {longest} octets with MACsec, and the device's slots have room for \
             {}: lower `switch.max_frame` to {}, or give the device a larger `framesz`",
            device.room().unwrap_or_default(),
            device.room().unwrap_or_default() - plan.overhead()
        );
        cx.warn(&here, what);
    }
}

/// Resolves the buffer of all ports, and the parts of their plans that depend on its size; checks the ports
/// against it. Returns the required and configured headroom of each lossless group, too.
fn whole_buffer(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::Buffer,
    drafts: &mut [Draft<'_>],
    rules: Rules,
) -> (BufferPlan, Vec<HeadroomCheck>) {
    let (buffer, headroom) = groups::buffer(cx, place, raw, drafts, rules);
    lossless::check(cx, drafts, &buffer);
    queues::shares(cx, drafts, &buffer);
    queues::check_against_buffer(cx, drafts, &buffer);
    (buffer, headroom)
}

/// Resolves congestion control of a switch file.
fn signalling(
    cx: &mut Cx,
    place: &Place<'_>,
    file: &raw::File,
    drafts: &[Draft<'_>],
    buffer: &BufferPlan,
) -> CongestionPlan {
    let raw = Congestion {
        sfc: file.sfc.as_ref(),
        isolation: file.congestion_isolation.as_ref(),
        proxy: file.sfc_proxy.as_ref(),
        fast_cnp: file.fast_cnp.as_ref(),
        qcn: file.qcn.as_ref(),
    };
    let mut plan = congestion::congestion(cx, place, &raw, drafts, buffer);
    congestion::check_proxy(cx, &raw, drafts);
    congestion::warn_of_hosts(cx, drafts);
    seed_congestion(&mut plan, file.switch.seed);
    plan
}

/// Largest number of ports that a frame is flooded to; each copy is charged to the buffer.
fn copies_max(drafts: &[Draft<'_>]) -> usize {
    let mut members: BTreeMap<_, usize> = BTreeMap::new();
    for vid in drafts.iter().flat_map(|d| d.plan.vlan.members.iter().map(|m| m.vid)) {
        *members.entry(vid).or_default() += 1;
    }
    // A frame is not flooded back to its port, but any frame is charged at least once.
    members.into_values().max().unwrap_or(0).saturating_sub(1).max(1)
}

/// Default rate of a port.
const RATE_DEFAULT: BitsPerSec = BitsPerSec::gbps(10);

/// A port and its link.
pub struct VirtualPort<'a> {
    /// Name in results.
    pub name: &'a str,
    /// Serialisation parameters of its link.
    pub line: LinePlan,
    /// Round trip of its link; the longest frame is filled in here.
    pub link: DelayInputs,
    /// Time that the switch takes to obey a pause at this port.
    pub response: Duration,
    /// MACsec section and its place.
    pub macsec: Option<(&'a raw::Macsec, Place<'a>)>,
}

/// A complete switch except for addresses and names.
pub struct VirtualSwitch {
    /// Ports, in the order given.
    pub ports: Vec<PortPlan>,
    pub buffer: BufferPlan,
    /// Longest frame in bytes.
    pub max_frame: u32,
    /// Required and configured headroom of each lossless group.
    pub headroom: Vec<HeadroomCheck>,
    /// Congestion control without seeds. Attachments of ports are those of `defaults`.
    pub congestion: CongestionPlan,
}

/// Sections of a switch: `max_frame`, `buffer`, `defaults`, and those about congestion.
pub struct VirtualSections<'a> {
    pub max_frame: Option<Size>,
    pub buffer: &'a raw::Buffer,
    pub defaults: &'a raw::Port,
    pub congestion: Congestion<'a>,
}

/// Resolves the sections of `raw`, which are all in `place`. Cells may be as small as one byte,
/// because the virtual world has no mbuf pool that could run out.
pub fn virtual_switch(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &VirtualSections<'_>,
    ports: &[VirtualPort<'_>],
    rule: HeadroomRule,
) -> VirtualSwitch {
    let before = cx.found();
    let VirtualSections { max_frame, buffer, defaults, congestion: _ } = *raw;
    let max_frame = self::max_frame(cx, place, max_frame);
    let cell = groups::cell(cx, &place.key("buffer"), buffer, 1);
    let port_at = place.key("defaults");
    let mut drafts = Vec::with_capacity(ports.len());
    for (index, p) in ports.iter().enumerate() {
        let rate = p.link.rate();
        let role = Role::Bridge;
        let (switch, name, shaped) = ("", p.name, true);
        let who = Who { index, switch, name, rate, shaped, cell, max_frame, role };
        let mut plan = port::port(cx, &port_at, defaults, &who);
        plan.schedule.line = p.line;
        let secured = SecuredPort { mac: OWN, peer: true, role };
        let secy = p.macsec.as_ref().map(|(raw, place)| secy_plan(cx, place, raw, secured));
        plan.secy = secy.map(Box::new);
        let max_frame = Bytes(max_frame.into());
        let macsec = plan.secy.as_deref().map(macsec_overhead).unwrap_or_default();
        let stated = DelayInputs { max_frame, macsec, ..p.link };
        let link = (ProtocolSections::of(defaults).assumed(stated), SoftwareTerms::default());
        let context = Context {
            // The lab gives names and addresses later; these are as long as the longest, for the check of the frame.
            names: (UNNAMED, UNNAMED),
            macs: (Mac::default(), Mac::default()),
            rate,
            pfc: plan.pfc.mode,
            ets: ets_of(&plan),
            role,
            // Timestamps are taken above all layers of the interface.
            internal: p.response,
            reaction: p.response,
            link: Some((link.0, link.1, cell)),
            stated: Some(stated),
            secy: plan.secy.as_deref(),
        };
        plan.agents = agents(cx, &port_at, ProtocolSections::of(defaults), &context);
        drafts.push(Draft { raw: defaults, place: port_at.clone(), plan, is_virtual: true, link });
    }
    let rules =
        // One worker charges the buffer itself, so nothing is kept free for what others have not reported.
        Rules { max_frame, cell, workers: 1, frames_per_poll: 0, headroom: rule, waivable: true };
    let (buffer, headroom) = whole_buffer(cx, place, buffer, &mut drafts, rules);
    let congestion = congestion::congestion(cx, place, &raw.congestion, &drafts, &buffer);
    congestion::warn_of_proxy(cx, place, &raw.congestion, &drafts);
    // Labs have many equal ports, which share the same few lines of the file.
    let names: Vec<&str> = ports.iter().map(|p| p.name).collect();
    cx.merge_alike(before, &names);
    VirtualSwitch {
        ports: drafts.into_iter().map(|d| d.plan).collect(),
        buffer,
        max_frame,
        headroom,
        congestion,
    }
}
