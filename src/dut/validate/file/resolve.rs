//! Validation of a DUT file.

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::expectation::Classes;
use super::raw::{self, DutFile};
use super::{Dut, device, expectation};
use crate::setup::{
    Calibration, FlowControl, Keep, Marking, STORM_PAUSES, Setup, TesterPort, Times, Tolerances,
    reaction_limit,
};
use crate::virtual_bench::Reports;
use config::quantity::{Ratio, Span};
use config::raw::Range;
use config::{Cx, Finding, Place, Warning};
use ground::time::Duration;
use ground::units::{BitsPerSec, Dscp, Mac, PRIORITIES, Pcp, Priority, PrioritySet, Quanta, Vid};

/// Default of the longest frame, as of a switch.
const MAX_FRAME: u64 = 1526;

/// Longest frame that the tester sends.
const FRAME_MAX: u64 = 16_384;

/// Ports that a test can use.
const PORTS_MAX: usize = 64;

pub(super) fn resolve(
    raw: &DutFile,
    place: &Place<'_>,
    file: &str,
) -> Result<(Dut, Vec<Warning>), Vec<Finding>> {
    let mut cx = Cx::of_file(file);
    let rate = raw.rate.0;
    let classes = classes(&mut cx, place, raw);
    let max_place = place.key("max_frame");
    let max_frame = raw.max_frame.map_or(MAX_FRAME, |size| size.0);
    let max_frame = cx.ranged(&max_place, max_frame, (1024, FRAME_MAX), MAX_FRAME) as u32;
    let stem = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let nic = raw
        .nic
        .as_ref()
        .map(|given| expectation::nic(&mut cx, &place.key("nic"), given, raw, classes));
    let mut setup = Setup {
        name: raw.name.clone().or(stem).unwrap_or_else(|| "DUT".to_owned()),
        version: raw.version.clone(),
        calibration: raw
            .calibration
            .as_ref()
            .map(|raw| Calibration { cabling: raw.cabling.clone(), latency: raw.latency.0 }),
        ports: ports(&mut cx, place, raw),
        rate,
        flow_control: raw.flow_control,
        nic,
        lossless: classes.lossless,
        lossy: classes.lossy,
        marking: marking(&mut cx, &place.key("marking"), &raw.marking),
        max_frame,
        cable: span(raw.cable, Duration::from_nanos(100)),
        load: load(&mut cx, &place.key("load"), raw.load),
        expected: expectation::expected(&mut cx, &place.key("expected"), &raw.expected),
        limits: tolerances(&raw.tolerances, rate),
        times: times(raw, rate),
        seed: raw.seed.unwrap_or(1),
        keep: Keep::Nothing,
    };
    // Some checks need the set-up as a whole: the ports by their addresses, and those with MACsec.
    expectation::check_ecn(&mut cx, &place.key("expected").key("ecn"), &setup);
    expectation::check_sfc(&mut cx, &place.key("expected").key("sfc"), &setup);
    device::macsec(&mut cx, place, raw, &mut setup);
    let mut lab = raw.device.as_ref().and_then(|device| device::lab(&mut cx, place, device, raw));
    if let (Some(lab), Some(device)) = (&mut lab, &raw.device) {
        lab.faults.extend(device.faults.iter().cloned());
    }
    if let Some(lab) = &lab {
        device::device(&mut cx, place, lab, raw, &mut setup);
    }
    // Last, because the lab of a virtual device decides about times that the file leaves out.
    at_rest(&mut cx, place, &setup);
    watched(&mut cx, &place.key("expected").key("watchdog"), &setup);
    let access = raw.adapter.as_ref().and_then(|adapter| {
        super::access(&mut cx, &place.key("adapter"), adapter, raw.device.is_some(), &setup)
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

/// Returns the lossless and the lossy priorities.
fn classes(cx: &mut Cx, place: &Place<'_>, raw: &DutFile) -> Classes {
    // 3 and 4 are the lossless priorities of SONiC's defaults.
    let lossless = match raw.flow_control {
        FlowControl::Pfc => PrioritySet(0b1_1000),
        FlowControl::Pause => PrioritySet::EMPTY,
    };
    let lossless = set(cx, &place.key("lossless"), raw.lossless.as_deref(), lossless);
    if raw.flow_control == FlowControl::Pause && lossless != PrioritySet::EMPTY {
        let what = "PAUSE stops all priorities, and none alone; leave it out, or `flow_control`";
        cx.error(&place.key("lossless"), what);
    }
    // By default every priority is in one class or the other.
    let others = PrioritySet(!lossless.0);
    let lossy = set(cx, &place.key("lossy"), raw.lossy.as_deref(), others);
    if lossless.0 & lossy.0 != 0 {
        cx.error(&place.key("lossy"), "a priority is lossless or lossy, not both");
    }
    Classes { lossless, lossy }
}

/// Frames of each of eight flows that share the load in a part of a test, at least: with fewer, shares and rates
/// say nothing. A choice.
const FRAMES_MIN: u64 = 8;

/// Bytes of the frames that most tests send.
const FRAME: u32 = 1024;

/// Refuses parts of tests so short, or a load so low, that nothing could be judged.
fn at_rest(cx: &mut Cx, place: &Place<'_>, setup: &Setup) {
    // Such a load is reported already, and would be divided by.
    if setup.load <= 0.0 {
        return;
    }
    let least = setup.line_time(FRAME).saturating_mul(FRAMES_MIN * PRIORITIES as u64);
    let times = place.key("times");
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
            cx.error(&place.key("load"), what);
        }
    }
}

/// Refuses a watchdog whose times have no room for the pauses of a storm at this rate.
fn watched(cx: &mut Cx, place: &Place<'_>, setup: &Setup) {
    let Some(watchdog) = setup.expected.watchdog else { return };
    let least = setup.storm_pause_min().saturating_mul(STORM_PAUSES);
    let times = [("detection", watchdog.detection), ("restoration", watchdog.restoration)];
    for (name, time) in times.into_iter().filter(|(_, time)| *time < least) {
        let what = format!(
            "{time} is too short for a storm at {}: its pauses have to be longer than frames of {FRAME} bytes; \
             give {least} or more, or switch the watchdog off and leave out `watchdog`",
            setup.rate
        );
        cx.error(&place.key(name), what);
    }
}

/// A little less than all by default, so that a sender in software keeps its rates.
fn load(cx: &mut Cx, place: &Place<'_>, given: Option<Ratio>) -> f64 {
    let load = given.map_or(0.98, |ratio| f64::from(ratio.0) / 1e6);
    if load <= 0.0 {
        cx.error(place, "it is 0%, so nothing would be sent; give a share above it");
    }
    load
}

pub(crate) fn span(given: Option<Span>, default: Duration) -> Duration {
    given.map_or(default, |span| span.0)
}

pub(super) fn set(
    cx: &mut Cx,
    place: &Place<'_>,
    given: Option<&[u8]>,
    default: PrioritySet,
) -> PrioritySet {
    let Some(given) = given else { return default };
    let mut set = PrioritySet::EMPTY;
    for n in given {
        match Priority::new(*n) {
            Some(priority) => set.insert(priority),
            None => cx.error(place, format!("{n} is no priority; choose 0 to 7")),
        }
    }
    set
}

/// Returns the default name of port `n`: A, B .. Z, then P27 ..
pub(super) fn letter(n: usize) -> String {
    match u8::try_from(n) {
        Ok(n) if n < 26 => char::from(b'A' + n).to_string(),
        _ => format!("P{}", n + 1),
    }
}

fn ports(cx: &mut Cx, place: &Place<'_>, raw: &DutFile) -> Vec<TesterPort> {
    let here = place.key("ports");
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
        // At most 64 ports, so the number fits the last byte of both addresses.
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
fn rate(cx: &mut Cx, place: &Place<'_>, raw: &DutFile, n: usize) -> BitsPerSec {
    // Tests use the first ports as those of one rate, so others stand behind them.
    let own = |port: &raw::Port| port.rate.map_or(raw.rate.0, |rate| rate.0);
    let (all, common) = (&raw.ports, raw.rate.0);
    let rate = own(&all[n]);
    if rate != common && n < 2 {
        cx.error(
            place,
            format!("the first two ports have the file's `rate`, {common}; put it last"),
        );
    } else if rate == common && all[..n].iter().any(|port| own(port) != common) {
        cx.error(place, "it stands behind a port of another `rate`; put that one last");
    }
    rate
}

fn mac(cx: &mut Cx, place: &Place<'_>, given: Option<&str>, index: u8) -> Mac {
    station(cx, place, given).unwrap_or(Mac([0x02, 0x53, 0x4c, 0, 0, index]))
}

/// Returns the address of a single station, if there is one in the file.
fn station(cx: &mut Cx, place: &Place<'_>, given: Option<&str>) -> Option<Mac> {
    match given?.parse::<Mac>() {
        Ok(mac) if !mac.is_multicast() && mac != Mac::default() => Some(mac),
        Ok(mac) => {
            cx.error(place, format!("{mac} is no address of a single station"));
            None
        }
        Err(why) => {
            cx.error(place, why.to_string());
            None
        }
    }
}

fn marking(cx: &mut Cx, place: &Place<'_>, raw: &raw::Marking) -> Marking {
    if let Some(map) = &raw.pcp {
        if raw.dscp.is_some() {
            cx.error(&place.key("dscp"), "`pcp` is there too; leave out one of them");
        }
        let vlan = raw.vlan.unwrap_or(1);
        let vid = Vid::new(vlan).unwrap_or_else(|| {
            cx.error(&place.key("vlan"), format!("{vlan} is no VLAN; choose 1 to 4094"));
            Vid::MIN
        });
        let own = Priority::ALL.map(|p| Pcp::new(p.get()).expect("both are 0 to 7"));
        return Marking::Pcp(numbers(cx, &place.key("pcp"), map, own, Pcp::new), vid);
    }
    if raw.vlan.is_some() {
        cx.error(&place.key("vlan"), "frames are untagged without `pcp`; add `pcp: {}`");
    }
    // The class selectors: DSCP 0, 8, 16 and so on.
    let own = Priority::ALL.map(|p| Dscp::new(p.get() * 8).expect("64 is never reached"));
    let given = raw.dscp.clone().unwrap_or_default();
    Marking::Dscp(numbers(cx, &place.key("dscp"), &given, own, Dscp::new))
}

/// Returns a value for each priority.
fn numbers<T: Copy>(
    cx: &mut Cx,
    place: &Place<'_>,
    map: &BTreeMap<Range, u8>,
    mut values: [T; PRIORITIES],
    new: impl Fn(u8) -> Option<T>,
) -> [T; PRIORITIES] {
    for (priority, given) in by_priority(cx, place, map) {
        match new(given) {
            Some(value) => values[priority.index()] = value,
            None => cx.error(place, format!("{given} is out of range")),
        }
    }
    values
}

/// Returns the values of a map from priorities, or ranges of them.
pub(super) fn by_priority<T: Copy>(
    cx: &mut Cx,
    place: &Place<'_>,
    map: &BTreeMap<Range, T>,
) -> Vec<(Priority, T)> {
    let mut values = Vec::new();
    for (range, value) in map {
        for n in range.iter() {
            match u8::try_from(n).ok().and_then(Priority::new) {
                Some(priority) => values.push((priority, *value)),
                None => cx.error(place, format!("{n} is no priority; choose 0 to 7")),
            }
        }
    }
    values
}

fn tolerances(
    raw: &Tolerances<Option<Ratio>, Option<u16>, Option<Span>>,
    rate: BitsPerSec,
) -> Tolerances {
    let ratio = |given: Option<Ratio>, default| given.map_or(default, |r| f64::from(r.0) / 1e6);
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
