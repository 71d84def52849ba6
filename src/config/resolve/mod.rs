//! Converts the raw model to the validated plan.
//!
//! Each part adds defaults and checks values. It reports errors to [`Cx`] with their places and
//! continues with a harmless value, so that one run finds all errors. A plan is returned only if
//! there are none.

mod agents;
mod classify;
mod congestion;
mod device;
mod flow;
mod groups;
mod link;
mod lossless;
mod macsec;
mod queues;
mod routing;
mod virtual_switch;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

pub use self::congestion::{Congestion, longest, seed as seed_congestion, senders, udp_port};
pub use self::link::named_interface;
use agents::ets_of;
pub use agents::{Around, Said, UNNAMED, agents, late_host, told};
pub use groups::{HeadroomRule, group_plan};
pub use macsec::{OWN, SecuredPort, check_whole, macsec as secy_plan, name_channels, shield};
pub use queues::ecn as ecn_plan;
pub use virtual_switch::{VirtualPort, VirtualSaid, VirtualSwitch, virtual_switch};

use super::plan::{DevicePlan, Machine, SwitchFile};
use super::quantity::Size;
use super::raw::{self, Range};
use super::tree::{Kind, Node};
use super::{Finding, Mark, Warning};
use contracts::frame::BURST;
use discovery::Role;
use ground::printable::excerpt;
use ground::units::{BitsPerSec, Mac};
use headroom::{DelayInputs, SoftwareTerms};
use secure::SecyPlan;
use switch::{PortPlan, SwitchPlan};

/// Range of the longest frame that can be configured, FCS included, in bytes.
const FRAME_MIN: u64 = 64;
const FRAME_MAX: u64 = 16_384;
/// 1500 bytes of payload, 18 of addresses, type and FCS, and two VLAN tags.
const FRAME_DEFAULT: u64 = 1_526;

/// A field and its place; for a field that is not in the file, the place of its section.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    node: Option<&'a Node>,
    mark: Option<Mark>,
    path: String,
}

impl<'a> Place<'a> {
    pub fn root(node: &'a Node) -> Self {
        Self { node: Some(node), mark: Some(node.mark), path: String::new() }
    }

    /// An empty place, for findings that are reported elsewhere or have no file.
    pub const fn nowhere() -> Self {
        Self { node: None, mark: None, path: String::new() }
    }

    /// True if this is a mapping with that field.
    pub fn has(&self, name: &str) -> bool {
        self.node.is_some_and(|n| n.get(name).is_some())
    }

    /// Place of a field of this mapping.
    pub fn key(&self, name: &str) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        let node = self.node.and_then(|n| n.get(name));
        let mark = node.map(|n| n.mark).or(self.mark);
        Self { node, mark, path: format!("{}{dot}{name}", self.path) }
    }

    /// Creates a finding at this place.
    pub fn finding(&self, what: impl Into<String>) -> Finding {
        Finding::new(self.mark, &self.path, &what.into())
    }

    /// Place of an item of this list.
    pub fn index(&self, i: usize) -> Self {
        let node = match self.node.map(|n| &n.kind) {
            Some(Kind::Seq(items)) => items.get(i),
            _ => None,
        };
        let mark = node.map(|n| n.mark).or(self.mark);
        Self { node, mark, path: format!("{}[{i}]", self.path) }
    }
}

/// Collects errors and warnings.
#[derive(Default)]
pub struct Cx {
    errors: Vec<Finding>,
    warnings: Vec<Warning>,
    /// Folder of the file; relative paths in it start there.
    folder: PathBuf,
}

impl Cx {
    /// Creates a context for the file of that name.
    pub fn of_file(name: &str) -> Self {
        let folder = Path::new(name).parent().unwrap_or(Path::new(""));
        Self { folder: folder.to_owned(), ..Self::default() }
    }

    pub fn error(&mut self, at: &Place<'_>, what: impl Into<String>) {
        push(&mut self.errors, at, what.into());
    }

    pub fn warn(&mut self, at: &Place<'_>, what: impl Into<String>) {
        push(&mut self.warnings, at, what.into());
    }

    /// Returns `value` if it is in `range`; otherwise reports an error and returns `instead`.
    pub fn ranged<T>(&mut self, at: &Place<'_>, value: T, range: (T, T), instead: T) -> T
    where
        T: PartialOrd + std::fmt::Display,
    {
        if value >= range.0 && value <= range.1 {
            return value;
        }
        self.error(at, format!("{value} is out of range; choose {} to {}", range.0, range.1));
        instead
    }

    /// Returns the warnings, or the errors if there are any, in the order of their lines.
    pub fn finish(mut self) -> Result<Vec<Warning>, Vec<Finding>> {
        let found = if self.errors.is_empty() { &mut self.warnings } else { &mut self.errors };
        found.sort_by_key(|f| f.mark);
        if self.errors.is_empty() { Ok(self.warnings) } else { Err(self.errors) }
    }

    /// Merges the findings since `before` that differ only in one of these port names; the first
    /// one stays.
    fn merge_alike(&mut self, before: (usize, usize), names: &[&str]) {
        let names: HashSet<&str> = names.iter().copied().collect();
        let bare = |what: &str| {
            let parts = what.split_once("port ").and_then(|(a, b)| Some((a, b.split_once(' ')?)));
            match parts {
                Some((before, (name, rest))) if names.contains(name) => format!("{before}{rest}"),
                _ => what.to_owned(),
            }
        };
        for (list, from) in [(&mut self.errors, before.0), (&mut self.warnings, before.1)] {
            let mut seen = HashSet::new();
            let new = list.split_off(from);
            let first = |f: &Finding| seen.insert((f.mark, f.path.clone(), bare(&f.what)));
            list.extend(new.into_iter().filter(first));
        }
    }

    /// Number of errors so far.
    pub fn count(&self) -> usize {
        self.errors.len()
    }

    /// Parses the MAC address of a station. All zeros is valid, because null devices have it.
    fn mac(&mut self, at: &Place<'_>, text: &str) -> Option<Mac> {
        match text.parse::<Mac>() {
            Ok(mac) if mac.is_multicast() => {
                self.error(at, format!("{mac} is no address of a single station"));
                None
            }
            Ok(mac) => Some(mac),
            Err(why) => {
                self.error(at, format!("`{}`: {why}", excerpt(text)));
                None
            }
        }
    }
}

/// Adds a finding unless it is already there: an error in `defaults` occurs at every port.
fn push(list: &mut Vec<Finding>, at: &Place<'_>, what: String) {
    let finding = at.finding(what);
    if !list.iter().any(|f| f.mark == finding.mark && f.what == finding.what) {
        list.push(finding);
    }
}

/// Expands a map with numbers and ranges as keys; single numbers have precedence over ranges.
/// Reports numbers above `max` and numbers in two ranges.
fn by_number<'m, T>(
    cx: &mut Cx,
    at: &Place<'_>,
    map: &'m BTreeMap<Range, T>,
    max: u16,
) -> BTreeMap<u16, (Range, &'m T)> {
    let mut out: BTreeMap<u16, (Range, &T)> = BTreeMap::new();
    for (range, value) in map {
        let here = at.key(&range.to_string());
        if range.last > max {
            cx.error(&here, format!("{range} is out of range; choose 0 to {max}"));
            continue;
        }
        for n in range.iter() {
            match out.get(&n) {
                Some((other, _)) if other.is_single() => {}
                Some((other, _)) if !range.is_single() => {
                    cx.error(&here, format!("{other} and {range} both claim {n}"));
                    break;
                }
                _ => {
                    out.insert(n, (*range, value));
                }
            }
        }
    }
    out
}

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
/// `written` is the file without defaults applied; `meant`, read from `root`, has `defaults` merged
/// into every port. `name` is the file's path, to which paths in it are relative.
///
/// # Errors
/// All errors, in the order of their lines.
pub(super) fn resolve(
    name: &str,
    (written, meant): (&raw::File, &raw::File),
    root: &Node,
    machine: &Machine,
) -> Result<(SwitchFile, Vec<Warning>), Vec<Finding>> {
    let mut cx = Cx::of_file(name);
    let at = Place::root(root);
    let name = meant.switch.name.clone().unwrap_or_else(|| "sluice".into());
    let max_frame = meant.switch.max_frame.map_or(FRAME_DEFAULT, |s| s.0);
    let frames = (FRAME_MIN, FRAME_MAX);
    let frame_at = at.key("switch").key("max_frame");
    let max_frame = cx.ranged(&frame_at, max_frame, frames, FRAME_DEFAULT) as u32;

    device::check_defaults(&mut cx, &at.key("defaults"), written.defaults.as_ref());
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
        let shield = plan.secy.as_deref().map_or(link.shield, shield);
        let stated = DelayInputs { shield, ..link };
        let link = (Said::of(raw).assumed(stated), software);
        let internal = link::internal(&link, is_virtual);
        let around = Around {
            names: (&names[i], &name),
            macs: (plan.mac, device::made_up_mac(&name, 0)),
            rate,
            pfc: plan.pfc.mode,
            ets: ets_of(&plan),
            role,
            internal,
            link: Some((link.0, link.1, cell)),
            stated: Some(stated),
            secy: plan.secy.as_deref(),
        };
        plan.agents = agents(&mut cx, &at, Said::of(raw), &around);
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

    let warnings = cx.finish()?;
    let ports = drafts.into_iter().map(|d| d.plan).collect();
    let seed = meant.switch.seed;
    let plan = SwitchPlan { name, ports, buffer, bridge, routing, congestion, max_frame, seed };
    let telemetry = meant.observe.telemetry;
    let file = SwitchFile { plan, devices, workers, eal, listen, telemetry, pool_frames, headroom };
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
