//! Validation of a DUT file.

mod access;
mod macsec;
mod nic;
mod sfc;

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Dut;
use super::raw::{self, DutFile};
use crate::setup::{
    Calibration, Expected, ExpectedDcbx, ExpectedEcn, ExpectedWatchdog, FlowControl, Keep, Marking,
    Setup, TesterPort, Times, Tolerances, reaction_limit,
};
use crate::virtual_bench::Reports;
use config::quantity::{LinkRate, Ratio, Span};
use config::raw::{PhyName, Range};
use config::{Cx, Finding, Place, Warning, has_phy, read_text, tree};
use ground::time::Duration;
use ground::units::{
    BitsPerSec, Bytes, Dscp, Mac, PRIORITIES, Pcp, Priority, PrioritySet, Quanta, Vid,
};
use lab::raw::{Lab, Link, Star, Topology};
use sim::{NetworkPlan, NodeKind};

/// Default of the longest frame, as of a switch.
const MAX_FRAME: u64 = 1526;

/// Longest frame that the tester sends.
const FRAME_MAX: u64 = 16_384;

/// Largest exponent of a dynamic threshold, as in SAI.
const ALPHA_MAX: i8 = 8;

/// Ports that a test can use.
const PORTS_MAX: usize = 64;

pub(super) fn resolve(
    raw: &DutFile,
    at: &Place<'_>,
    file: &str,
) -> Result<(Dut, Vec<Warning>), Vec<Finding>> {
    let mut cx = Cx::of_file(file);
    let rate = raw.rate.0;
    let flow_control = raw.flow_control;
    let lossless = match flow_control {
        FlowControl::Pfc => PrioritySet(0b1_1000),
        FlowControl::Pause => PrioritySet::EMPTY,
    };
    let lossless = set(&mut cx, &at.key("lossless"), raw.lossless.as_deref(), lossless);
    if flow_control == FlowControl::Pause && lossless != PrioritySet::EMPTY {
        let what = "PAUSE stops all priorities, and none alone; leave it out, or `flow_control`";
        cx.error(&at.key("lossless"), what);
    }
    let others = PrioritySet(!lossless.0);
    let lossy = set(&mut cx, &at.key("lossy"), raw.lossy.as_deref(), others);
    if lossless.0 & lossy.0 != 0 {
        cx.error(&at.key("lossy"), "a priority is lossless or lossy, not both");
    }
    let max_at = at.key("max_frame");
    let max_frame = raw.max_frame.map_or(MAX_FRAME, |size| size.0);
    let max_frame = cx.ranged(&max_at, max_frame, (1024, FRAME_MAX), MAX_FRAME) as u32;
    let stem = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let nic = raw
        .nic
        .as_ref()
        .map(|said| nic::resolve(&mut cx, &at.key("nic"), said, (raw, lossless, lossy)));
    let mut setup = Setup {
        name: raw.name.clone().or(stem).unwrap_or_else(|| "DUT".to_owned()),
        version: raw.version.clone(),
        calibration: raw
            .calibration
            .as_ref()
            .map(|of| Calibration { cabling: of.cabling.clone(), latency: of.latency.0 }),
        ports: ports(&mut cx, at, raw),
        rate,
        flow_control,
        nic,
        lossless,
        lossy,
        marking: marking(&mut cx, &at.key("marking"), &raw.marking),
        max_frame,
        cable: span(raw.cable, Duration::from_nanos(100)),
        load: load(&mut cx, &at.key("load"), raw.load),
        expected: expected(&mut cx, &at.key("expected"), &raw.expected),
        limits: tolerances(&raw.tolerances, rate),
        times: times(raw, rate),
        seed: raw.seed.unwrap_or(1),
        keep: Keep::Nothing,
    };
    sfc::check(&mut cx, &at.key("expected").key("sfc"), &setup);
    macsec::resolve(&mut cx, at, raw, &mut setup);
    let mut lab = raw.device.as_ref().and_then(|device| lab(&mut cx, at, device, raw));
    if let (Some(lab), Some(device)) = (&mut lab, &raw.device) {
        lab.faults.extend(device.faults.iter().cloned());
    }
    if let Some(lab) = &lab {
        device(&mut cx, at, lab, (raw, &mut setup));
    }
    at_rest(&mut cx, at, &setup);
    let access = raw.adapter.as_ref().and_then(|adapter| {
        access::resolve(&mut cx, &at.key("adapter"), adapter, (raw.device.is_some(), &setup))
    });
    let reports = raw.device.as_ref().map_or_else(Reports::default, |device| Reports {
        wrong: device.reports.clone(),
        unknown: device.unknown.clone(),
        no_drops: device.no_drops,
    });
    let resets = raw.device.iter().flat_map(|device| &device.resets);
    let resets = resets.map(|(kind, span)| (*kind, span.0)).collect();
    let warnings = cx.finish()?;
    Ok((Dut { setup, lab, reports, resets, access }, warnings))
}

/// Frames of each of eight flows that share the load in a part of a test, at least: with fewer, shares and rates
/// say nothing. A choice.
const FRAMES_MIN: u64 = 8;

/// Bytes of the frames that most tests send.
const FRAME: u32 = 1024;

/// Refuses parts of tests so short, or a load so low, that nothing could be judged.
fn at_rest(cx: &mut Cx, at: &Place<'_>, setup: &Setup) {
    if setup.load <= 0.0 {
        return;
    }
    let least = setup.line_time(FRAME).saturating_mul(FRAMES_MIN * PRIORITIES as u64);
    let times = at.key("times");
    for (name, time) in [("baseline", setup.times.baseline), ("hold", setup.times.hold)] {
        let sent = time.as_picos() as f64 * setup.load;
        if time < least {
            let what = format!(
                "{time} has no room for {FRAMES_MIN} frames of each priority at {}; give {least} or more",
                setup.rate
            );
            cx.error(&times.key(name), what);
        } else if sent < least.as_picos() as f64 {
            let load = 100.0 * least.as_picos() as f64 / time.as_picos() as f64;
            let what = format!(
                "flows of all priorities would send fewer than {FRAMES_MIN} frames each in `times.{name}`, \
                 {time}; give {} % or more, or a longer time",
                load.ceil()
            );
            cx.error(&at.key("load"), what);
        }
    }
}

/// A little less than all by default, so that a sender in software keeps its rates.
fn load(cx: &mut Cx, at: &Place<'_>, said: Option<Ratio>) -> f64 {
    let load = said.map_or(0.98, |ratio| f64::from(ratio.0) / 1e6);
    if load <= 0.0 {
        cx.error(at, "it is 0%, so nothing would be sent; give a share above it");
    }
    load
}

fn span(said: Option<Span>, default: Duration) -> Duration {
    said.map_or(default, |span| span.0)
}

fn set(cx: &mut Cx, at: &Place<'_>, said: Option<&[u8]>, default: PrioritySet) -> PrioritySet {
    let Some(said) = said else { return default };
    let mut set = PrioritySet::EMPTY;
    for n in said {
        match Priority::new(*n) {
            Some(priority) => set.insert(priority),
            None => cx.error(at, format!("{n} is no priority; choose 0 to 7")),
        }
    }
    set
}

/// Returns the default name of port `n`: A, B .. Z, then P27 ..
fn letter(n: usize) -> String {
    match u8::try_from(n) {
        Ok(n) if n < 26 => char::from(b'A' + n).to_string(),
        _ => format!("P{}", n + 1),
    }
}

fn ports(cx: &mut Cx, at: &Place<'_>, raw: &DutFile) -> Vec<TesterPort> {
    let here = at.key("ports");
    if !(1..=PORTS_MAX).contains(&raw.ports.len()) {
        cx.error(&here, format!("{} ports; give 1 to {PORTS_MAX}", raw.ports.len()));
    }
    let (mut names, mut places) = (BTreeSet::new(), BTreeSet::new());
    let has_profile = raw.device.as_ref().is_some_and(|device| device.profile.is_some());
    let mut ports = Vec::new();
    for (n, port) in raw.ports.iter().take(PORTS_MAX).enumerate() {
        let here = here.index(n);
        let name = port.name.clone().unwrap_or_else(|| letter(n));
        let own = has_profile.then(|| format!("h{}", n + 1));
        let Some(location) = port.location.clone().or(own) else {
            cx.error(&here, "`location` is missing; add where the port is, such as `iface:eth1`");
            continue;
        };
        if !names.insert(name.clone()) {
            cx.error(
                &here.key("name"),
                format!("`{name}` is the name of another port; change one"),
            );
        }
        if !places.insert(location.clone()) {
            cx.error(&here.key("location"), format!("`{location}` is another port's; change one"));
        }
        let index = n as u8 + 1;
        ports.push(TesterPort {
            dut: port.dut.clone().unwrap_or_else(|| name.clone()),
            dut_mac: station(cx, &here.key("dut_mac"), port.dut_mac.as_deref()),
            name,
            location,
            rate: rate(cx, &here.key("rate"), raw, n),
            mac: mac(cx, &here.key("mac"), port.mac.as_deref(), index),
            ip: port.ip.unwrap_or(Ipv4Addr::new(198, 18, 0, index)),
            macsec: None,
        });
    }
    ports
}

/// Returns the rate of port `n`.
fn rate(cx: &mut Cx, at: &Place<'_>, raw: &DutFile, n: usize) -> BitsPerSec {
    let own = |port: &raw::Port| port.rate.map_or(raw.rate.0, |rate| rate.0);
    let (all, common) = (&raw.ports, raw.rate.0);
    let rate = own(&all[n]);
    if rate != common && n < 2 {
        cx.error(at, format!("the first two ports have the file's `rate`, {common}; put it last"));
    } else if rate == common && all[..n].iter().any(|port| own(port) != common) {
        cx.error(at, "it stands behind a port of another `rate`; put that one last");
    }
    rate
}

fn mac(cx: &mut Cx, at: &Place<'_>, said: Option<&str>, index: u8) -> Mac {
    station(cx, at, said).unwrap_or(Mac([0x02, 0x53, 0x4c, 0, 0, index]))
}

/// Returns the address of a single station, if there is one in the file.
fn station(cx: &mut Cx, at: &Place<'_>, said: Option<&str>) -> Option<Mac> {
    match said?.parse::<Mac>() {
        Ok(mac) if !mac.is_multicast() && mac != Mac::default() => Some(mac),
        Ok(mac) => {
            cx.error(at, format!("{mac} is no address of a single station"));
            None
        }
        Err(why) => {
            cx.error(at, why.to_string());
            None
        }
    }
}

fn marking(cx: &mut Cx, at: &Place<'_>, raw: &raw::Marking) -> Marking {
    if let Some(map) = &raw.pcp {
        if raw.dscp.is_some() {
            cx.error(&at.key("dscp"), "`pcp` is there too; leave out one of them");
        }
        let vlan = raw.vlan.unwrap_or(1);
        let vid = Vid::new(vlan).unwrap_or_else(|| {
            cx.error(&at.key("vlan"), format!("{vlan} is no VLAN; choose 1 to 4094"));
            Vid::MIN
        });
        let own = Priority::ALL.map(|p| Pcp::new(p.get()).expect("both are 0 to 7"));
        return Marking::Pcp(numbers(cx, &at.key("pcp"), map, own, Pcp::new), vid);
    }
    if raw.vlan.is_some() {
        cx.error(&at.key("vlan"), "frames are untagged without `pcp`; add `pcp: {}`");
    }
    let own = Priority::ALL.map(|p| Dscp::new(p.get() * 8).expect("64 is never reached"));
    let said = raw.dscp.clone().unwrap_or_default();
    Marking::Dscp(numbers(cx, &at.key("dscp"), &said, own, Dscp::new))
}

/// Returns a value for each priority.
fn numbers<T: Copy>(
    cx: &mut Cx,
    at: &Place<'_>,
    map: &BTreeMap<Range, u8>,
    mut values: [T; PRIORITIES],
    new: impl Fn(u8) -> Option<T>,
) -> [T; PRIORITIES] {
    for (priority, said) in by_priority(cx, at, map) {
        match new(said) {
            Some(value) => values[priority.index()] = value,
            None => cx.error(at, format!("{said} is out of range")),
        }
    }
    values
}

/// Returns the values of a map from priorities, or ranges of them.
fn by_priority<T: Copy>(
    cx: &mut Cx,
    at: &Place<'_>,
    map: &BTreeMap<Range, T>,
) -> Vec<(Priority, T)> {
    let mut values = Vec::new();
    for (range, value) in map {
        for n in range.iter() {
            match u8::try_from(n).ok().and_then(Priority::new) {
                Some(priority) => values.push((priority, *value)),
                None => cx.error(at, format!("{n} is no priority; choose 0 to 7")),
            }
        }
    }
    values
}

/// Returns the priorities of the values of a field.
fn priorities<T>(
    cx: &mut Cx,
    at: &Place<'_>,
    map: Option<&BTreeMap<Range, u8>>,
    new: impl Fn(u8) -> Option<T>,
) -> Option<Vec<(T, Priority)>> {
    let mut values = Vec::new();
    for (range, said) in map? {
        let priority = Priority::new(*said);
        if priority.is_none() {
            cx.error(at, format!("{said} is no priority; choose 0 to 7"));
        }
        for n in range.iter() {
            match u8::try_from(n).ok().and_then(&new) {
                Some(value) => values.extend(priority.map(|priority| (value, priority))),
                None => cx.error(at, format!("{n} is out of range")),
            }
        }
    }
    // A map without values says no more than none.
    Some(values).filter(|values| !values.is_empty())
}

fn expected(cx: &mut Cx, at: &Place<'_>, raw: &raw::Expected) -> Expected {
    let weights = raw.weights.as_ref().map(|map| {
        let mut weights = [0; PRIORITIES];
        for (priority, weight) in by_priority(cx, &at.key("weights"), map) {
            weights[priority.index()] = weight;
        }
        weights
    });
    let none = PrioritySet::EMPTY;
    let strict = raw.strict.as_deref().map(|said| set(cx, &at.key("strict"), Some(said), none));
    let both = |p: &Priority| weights.is_some_and(|all: [u32; PRIORITIES]| all[p.index()] > 0);
    if let Some(priority) = strict.unwrap_or(none).iter().find(both) {
        let what = format!("priority {priority} has a weight, too; a class is strict or weighted");
        cx.error(&at.key("strict"), what);
    }
    let vlan = raw.vlan.and_then(|vlan| {
        let vid = Vid::new(vlan);
        if vid.is_none() {
            cx.error(&at.key("vlan"), format!("{vlan} is no VLAN; choose 1 to 4094"));
        }
        vid
    });
    let ecn = raw.ecn.as_ref().map(|ecn| {
        if ecn.kmin > ecn.kmax {
            cx.error(&at.key("ecn"), "`kmin` is above `kmax`; swap them");
        }
        let pmax = f64::from(ecn.pmax.0) / 1e6;
        let said = ecn.priorities.as_deref();
        let priorities = said.map(|said| set(cx, &at.key("ecn"), Some(said), none));
        ExpectedEcn { kmin: Bytes(ecn.kmin.0), kmax: Bytes(ecn.kmax.0), pmax, priorities }
    });
    let sfc = raw.sfc.map(|raw| sfc::resolve(cx, &at.key("sfc"), &raw));
    let watchdog = raw.watchdog.map(|watchdog| ExpectedWatchdog {
        detection: watchdog.detection.0,
        restoration: watchdog.restoration.0,
        poll: watchdog.poll.0,
        action: watchdog.action,
        idle: watchdog.idle,
    });
    let dcbx = raw.dcbx.map(|dcbx| ExpectedDcbx {
        willing: dcbx.willing,
        precedence: dcbx.precedence,
        interval: span(dcbx.interval, Duration::from_secs(30)),
    });
    let bytes = |size: Option<config::quantity::Size>| size.map(|size| Bytes(size.0));
    if let Some(n) = raw.dynamic_th {
        if !(-ALPHA_MAX..=ALPHA_MAX).contains(&n) {
            let what = format!("{n} is out of range; choose -{ALPHA_MAX} to {ALPHA_MAX}");
            cx.error(&at.key("dynamic_th"), what);
        }
        if raw.xoff.is_some() {
            cx.error(&at.key("xoff"), "`dynamic_th` is there too; leave out one of them");
        }
    }
    Expected {
        xoff: bytes(raw.xoff),
        headroom: bytes(raw.headroom),
        xon_offset: bytes(raw.xon_offset),
        dynamic_th: raw.dynamic_th,
        shared: bytes(raw.shared),
        cell: bytes(raw.cell),
        weights,
        strict,
        dscp_map: priorities(cx, &at.key("dscp_map"), raw.dscp_map.as_ref(), Dscp::new),
        pcp_map: priorities(cx, &at.key("pcp_map"), raw.pcp_map.as_ref(), Pcp::new),
        ring: raw.ring,
        expiry_only: raw.expiry_only,
        vlan,
        ecn,
        watchdog,
        dcbx,
        sfc,
        xon: raw.xon,
    }
}

fn tolerances(
    raw: &Tolerances<Option<Ratio>, Option<u16>, Option<Span>>,
    rate: BitsPerSec,
) -> Tolerances {
    let ratio = |said: Option<Ratio>, default| said.map_or(default, |r| f64::from(r.0) / 1e6);
    Tolerances {
        rate: ratio(raw.rate, Tolerances::RATE),
        share: ratio(raw.share, Tolerances::SHARE),
        pause: ratio(raw.pause, Tolerances::PAUSE),
        reaction: raw.reaction.map_or(reaction_limit(rate), Quanta),
        resume: span(raw.resume, Duration::from_millis(1)),
    }
}

fn times(raw: &DutFile, rate: BitsPerSec) -> Times {
    let own = if raw.device.is_some() { Times::of_virtual(rate) } else { Times::of_real(rate) };
    Times {
        baseline: span(raw.times.baseline, own.baseline),
        hold: span(raw.times.hold, own.hold),
        settle: span(raw.times.settle, own.settle),
        drain: span(raw.times.drain, own.drain),
    }
}

/// Returns the lab of a virtual device.
fn lab(cx: &mut Cx, at: &Place<'_>, device: &raw::Virtual, raw: &DutFile) -> Option<Lab> {
    let at = at.key("virtual");
    match (&device.profile, &device.lab, &device.file) {
        (Some(profile), None, None) => {
            let star = Star { hosts: raw.ports.len() as u32 };
            let mut lab = Lab {
                topology: Some(Topology { star: Some(star), ..Topology::default() }),
                ..Lab::default()
            };
            lab.profiles.insert("dut".to_owned(), (**profile).clone());
            // A virtual device needs no PHY where there is no table of its delays.
            let phy = |rate| (!has_phy(rate)).then_some(PhyName::None);
            lab.defaults.links.rate = Some(LinkRate(raw.rate.0));
            lab.defaults.links.phy = phy(raw.rate.0);
            let others = raw.ports.iter().enumerate().filter(|(_, port)| port.rate.is_some());
            lab.links.extend(others.map(|(n, port)| Link {
                from: Some(format!("h{}", n + 1)),
                to: Some("s1".to_owned()),
                rate: port.rate,
                phy: port.rate.and_then(|LinkRate(rate)| phy(rate)),
                ..Link::default()
            }));
            Some(lab)
        }
        (None, Some(lab), None) => Some((**lab).clone()),
        (None, None, Some(file)) => {
            let read = read_text(file, "lab file").and_then(|(name, text)| {
                let one = |finding| config::ConfigError::one(&name, finding);
                let root = tree::read(&text, "the file is empty").map_err(one)?;
                lab::raw::read(&root).map_err(one)
            });
            read.map_err(|error| cx.error(&at.key("file"), error.to_string())).ok()
        }
        _ => {
            cx.error(&at, "a virtual device is exactly one of `profile`, `lab` and `file`");
            None
        }
    }
}

/// Sets the addresses of a virtual device's ports that are not in the file.
fn addresses(network: &NetworkPlan, setup: &mut Setup) {
    for port in setup.ports.iter_mut().filter(|port| port.dut_mac.is_none()) {
        let host = network.nodes.iter().position(|node| node.name() == port.location);
        let ends = network.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
        let mut ends = ends.filter(|(end, _)| Some(end.node.index()) == host);
        port.dut_mac =
            ends.next().and_then(|(_, far)| match &network.nodes[far.node.index()].kind {
                NodeKind::Switch(switch) => Some(switch.ports.get(far.port.index())?.mac),
                NodeKind::Host(_) => None,
            });
    }
}

/// Sets what is known of a virtual device and not in the file: the addresses of its ports, the delay of its
/// links, and the times in which its buffer is full and empty again.
fn device(cx: &mut Cx, root: &Place<'_>, lab: &Lab, (raw, setup): (&DutFile, &mut Setup)) {
    let at = &root.key("virtual");
    let network = match lab::resolve_raw(lab) {
        Ok((plan, _)) => plan.network,
        Err(error) => {
            error.findings.iter().for_each(|f| cx.error(at, format!("{}: {}", f.path, f.what)));
            return;
        }
    };
    if raw.cable.is_some() {
        let what = "the links of a virtual device have their own delay; leave it out, or give the links of \
                    `virtual.lab` a length";
        cx.error(&root.key("cable"), what);
    }
    macsec::named(cx, at, &network, setup);
    addresses(&network, setup);
    if raw.cable.is_none() {
        // The interfaces of another rate have another delay.
        let common = network.links.iter().filter(|link| link.rate == setup.rate);
        let both = common.map(|link| link.ab.delay + link.ba.delay);
        setup.cable = both.max().unwrap_or_default();
    }
    let longest = network.nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::Switch(plan) => Some(plan.max_frame),
        NodeKind::Host(_) => None,
    });
    let longest = longest.min().filter(|longest| setup.max_frame > *longest);
    if let (Some(longest), None) = (longest, raw.max_frame) {
        setup.max_frame = longest;
    } else if let Some(longest) = longest {
        let what = format!(
            "the virtual device forwards frames of up to {longest} octets; give it this `max_frame`, too, or \
             lower this one"
        );
        cx.error(&root.key("max_frame"), what);
    }
    let buffers = network.nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::Switch(plan) => {
            Some(u64::from(plan.buffer.total.0) * u64::from(plan.buffer.cell_bytes))
        }
        NodeKind::Host(_) => None,
    });
    let full = setup.slowest().time_for(Bytes(buffers.max().unwrap_or(0))).saturating_mul(2);
    if raw.times.hold.is_none() {
        setup.times.hold = setup.times.hold.max(full);
    }
    if raw.times.drain.is_none() {
        setup.times.drain = setup.times.drain.max(full);
    }
}
