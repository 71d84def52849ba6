//! Resolves a port for the data plane: the parameters of its link, from which headroom is calculated; frame to
//! priority, priority to group and queue, and VLANs; PFC, PAUSE and the storm watchdog.

use std::collections::BTreeMap;

use super::congestion::{Section, settings};
use super::cx::by_number;
use super::device::made_up_mac;
use super::queues::queues;
use super::{Cx, Place};
use crate::plan::DevicePlan;
use crate::quantity::Span;
use crate::raw::{self, Range, Refresh};
use contracts::frame::BURST;
use discovery::Role;
use ground::time::Duration;
use ground::units::{
    BitsPerSec, Bytes, PortId, Priority, PriorityGroup, PrioritySet, Quanta, TrafficClass, Vid,
};
use headroom::{DelayInputs, Extender, Fec, Interface, Phy, SoftwareTerms};
use pfc::{FlowControl, PfcPlan, WatchdogPlan, WatchdogPlans};
use switch::managed::At;
use switch::{ClassifyPlan, CongestionPlan, PortPlan, VlanMember, VlanPlan};

/// Default of the longest gap between polls, and of the response time of a software peer. A choice:
/// a core without other work nearly always keeps to it, and at 10 Gb/s 125 KB arrive within it.
const POLL_GAP_DEFAULT: Duration = Duration::from_micros(100);
/// Virtual devices do not always use the ring size that they are configured with.
const VIRTUAL_RING: u64 = 2048;

/// Resolves the parameters of the headroom of a port's lossless groups.
pub fn inputs(
    cx: &mut Cx,
    port_at: &Place<'_>,
    port: &raw::Port,
    device: &DevicePlan,
    who: &Who<'_>,
) -> (DelayInputs, SoftwareTerms) {
    let (place, raw) = (port_at.key("link"), &port.link);
    let mut link = DelayInputs::standard(interface(cx, &place, raw, who.rate, device.is_virtual));
    link.max_frame = Bytes(u64::from(who.max_frame));
    link.cable_m = match raw.length {
        Some(length) => u32::try_from(length.0.div_ceil(1_000)).unwrap_or(u32::MAX),
        None if device.is_virtual => 0,
        None => DelayInputs::CABLE_M,
    };
    // A virtual device leads to software, which reacts at its next poll; NICs meet the limit of 802.1Q.
    link.higher_layer = match raw.peer_response {
        Some(span) => span.0,
        None if device.is_virtual => POLL_GAP_DEFAULT,
        None => DelayInputs::HIGHER_LAYER,
    };
    let poll_gap = poll_gap(raw);
    for (field, span) in [("poll_gap", poll_gap), ("peer_response", link.higher_layer)] {
        if span > Duration::from_secs(1) {
            cx.error(&place.key(field), "is more than a second; no buffer holds that");
        }
    }
    let frames = u64::from(who.max_frame);
    let ring = u64::from(device.rx_descriptors);
    // Frames in the ring are not charged yet, so headroom includes all of them.
    let ring = if device.is_virtual { ring.max(VIRTUAL_RING) } else { ring };
    // A shaped port gives its device a frame after the previous one has left, so nothing
    // accumulates there. Otherwise the transmit ring fills, and a PFC frame waits behind it.
    // Besides the device's frames, one burst may be on its way to the device when the PFC frame
    // arrives.
    let committed = if who.shaped { 0 } else { u64::from(device.tx_descriptors) + BURST as u64 };
    let software = SoftwareTerms {
        rx_backlog: Bytes(ring * frames),
        tx_committed: Bytes(committed * frames),
        peer_committed: Bytes(raw.peer_committed.map_or(0, |s| s.0)),
        poll_gap,
    };
    (link, software)
}

/// Time that this end takes to obey a pause, and the same with the delay of its interface below the
/// timestamps: zero for a virtual device.
pub fn internal(
    link: &DelayInputs,
    software: &SoftwareTerms,
    is_virtual: bool,
) -> (Duration, Duration) {
    let interface = if is_virtual { Duration::ZERO } else { link.interface.delay() };
    // The pause is received by the next poll, and frames that the device has taken by then are still sent.
    let reaction = software.poll_gap + link.rate().time_for(software.tx_committed);
    (reaction, interface + reaction)
}

/// Longest time between two polls of a port.
fn poll_gap(raw: &raw::Link) -> Duration {
    raw.poll_gap.map_or(POLL_GAP_DEFAULT, |s| s.0)
}

/// Resolves the physical layer at both ends.
fn interface(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::Link,
    rate: BitsPerSec,
    is_virtual: bool,
) -> Interface {
    let named = NamedPhy { phy: raw.phy.unwrap_or_default(), fec: raw.fec.unwrap_or_default() };
    named_interface(cx, place, named, rate, is_virtual)
}

/// Returns true if there is a table of the PHY's delays at this rate.
pub fn has_phy(rate: BitsPerSec) -> bool {
    !matches!(Phy::of_rate(rate), Phy::Virtual(_))
}

/// A physical layer and its FEC by their names in a file.
#[derive(Clone, Copy, Debug)]
pub struct NamedPhy {
    pub phy: raw::PhyName,
    pub fec: Fec,
}

/// Resolves a physical layer and its FEC by their names; `auto` is the usual one of the link's rate, or none
/// for a virtual link.
pub fn named_interface(
    cx: &mut Cx,
    place: &Place<'_>,
    NamedPhy { phy, fec }: NamedPhy,
    rate: BitsPerSec,
    is_virtual: bool,
) -> Interface {
    // Frames of a virtual link pass in memory, so they have no delays of a PHY.
    let default = if is_virtual { Phy::Virtual(rate) } else { Phy::of_rate(rate) };
    if phy == raw::PhyName::Auto && !is_virtual && !has_phy(rate) {
        let what = format!(
            "there is no table of delays at {rate}: the PHYs count as 0, as does a response of the peer \
             that is not stated, so a real link needs more headroom; write `phy: none` if this is meant"
        );
        cx.warn(&place.key("phy"), what);
    }
    let phy = match phy {
        raw::PhyName::Auto => default,
        raw::PhyName::None => Phy::Virtual(rate),
        raw::PhyName::Base10R => Phy::Base10R,
        raw::PhyName::Base10T => Phy::Base10T,
        raw::PhyName::Base25R => Phy::Base25R,
        raw::PhyName::Base40R => Phy::Base40R,
        raw::PhyName::Base40Cr4 => Phy::Base40Cr4,
        raw::PhyName::Base100R => Phy::Base100R,
        raw::PhyName::Base100Cr10 => Phy::Base100Cr10,
        raw::PhyName::Base200R => Phy::Base200R,
        raw::PhyName::Base400R => Phy::Base400R,
        raw::PhyName::Base800R => Phy::Base800R,
        raw::PhyName::Base1600R => Phy::Base1600R,
    };
    if phy.rate() != rate {
        let what = format!("{phy} runs at {}, but the port's rate is {rate}", phy.rate());
        cx.error(&place.key("phy"), what);
        // With the delays of the right rate, later checks make sense.
        return Interface::plain(default);
    }
    Interface::new(phy, fec, Extender::None).unwrap_or_else(|e| {
        cx.error(&place.key("fec"), e.to_string());
        Interface::plain(phy)
    })
}

/// Default VLAN of a port (802.1Q 9.6: the default PVID).
pub const VID_DEFAULT: u16 = 1;

/// Resolves the priority maps of a port.
pub fn classify(cx: &mut Cx, place: &Place<'_>, raw: &raw::Port) -> ClassifyPlan {
    let maps_at = place.key("maps");
    let maps = &raw.maps;
    let default_at = place.key("default_priority");
    let default = cx.ranged(&default_at, raw.default_priority.unwrap_or(0), (0, 7), 0);
    // PAUSE stops the whole link, so all priorities share one group.
    let grouped: fn(u8) -> u8 = if raw.pause.is_some() { |_| 0 } else { |p| p };
    let mut map = |field: &str, section, default: fn(u8) -> u8, out: &mut [u8]| {
        fill(cx, &maps_at.key(field), section, default, out);
    };
    let (mut pcp, mut dscp, mut group, mut class) = ([0; 8], [0; 64], [0; 8], [0; 8]);
    map("pcp_to_priority", &maps.pcp_to_priority, |n| n, &mut pcp);
    map("dscp_to_priority", &maps.dscp_to_priority, |n| n >> 3, &mut dscp);
    map("priority_to_group", &maps.priority_to_group, grouped, &mut group);
    map("priority_to_queue", &maps.priority_to_queue, |n| n, &mut class);
    ClassifyPlan {
        trust: raw.trust.unwrap_or_default(),
        pcp: pcp.map(priority),
        dscp: dscp.map(priority),
        default: priority(default),
        group: group.map(|n| PriorityGroup::ALL[usize::from(n)]),
        class: class.map(|n| TrafficClass::ALL[usize::from(n)]),
    }
}

fn priority(n: u8) -> Priority {
    Priority::ALL[usize::from(n)]
}

/// Fills a map from its default and its entries; all values in the result are below 8.
fn fill(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &BTreeMap<Range, u8>,
    default: fn(u8) -> u8,
    out: &mut [u8],
) {
    for (n, slot) in (0..).zip(out.iter_mut()) {
        *slot = default(n);
    }
    for (n, (range, to)) in by_number(cx, place, raw, out.len() as u16 - 1) {
        let slot = &mut out[usize::from(n)];
        // A wrong entry leaves the default, so that the result always is below 8.
        *slot = cx.ranged(&place.key(&range.to_string()), *to, (0, 7), *slot);
    }
}

/// Resolves VLAN membership.
pub fn vlan(cx: &mut Cx, place: &Place<'_>, raw: &raw::Vlan) -> VlanPlan {
    let mut members: Vec<VlanMember> = Vec::new();
    for (field, list, tagged) in [("untagged", &raw.untagged, false), ("tagged", &raw.tagged, true)]
    {
        for (i, range) in list.iter().enumerate() {
            let here = place.key(field).index(i);
            for n in range.iter() {
                // One finding for a range is enough.
                let Some(vid) = vid(cx, &here, n) else { break };
                if members.iter().any(|m| m.vid == vid) {
                    cx.error(&here, format!("VLAN {vid} is given twice; tagged or untagged, once"));
                    break;
                }
                members.push(VlanMember { vid, tagged });
            }
        }
    }
    let pvid = match raw.pvid {
        // 0 is how a file says that untagged frames are refused.
        Some(0) => None,
        Some(n) => vid(cx, &place.key("pvid"), n),
        // A port without any VLAN is in the default one, so that plain files make a plain bridge.
        None if members.is_empty() => Vid::new(VID_DEFAULT),
        None => {
            let mut untagged = members.iter().filter(|m| !m.tagged);
            // What the port sends untagged on one VLAN it receives untagged on the same.
            let first = untagged.next().map(|m| m.vid);
            if untagged.next().is_some() {
                let what = "several untagged VLANs; `pvid` must say which one untagged frames \
                            come in on";
                cx.error(place, what);
            }
            first
        }
    };
    if let Some(vid) = pvid {
        // The PVID is a VLAN of the port, with untagged frames unless the file tags them.
        match members.iter().find(|m| m.vid == vid) {
            None => members.push(VlanMember { vid, tagged: false }),
            Some(m) if m.tagged => cx.warn(
                &place.key("pvid"),
                format!("untagged frames come in on VLAN {vid} but its frames leave tagged"),
            ),
            Some(_) => {}
        }
    }
    members.sort_by_key(|m| m.vid);
    VlanPlan { pvid, members }
}

/// Checks that a number is a valid VLAN ID.
pub fn vid(cx: &mut Cx, place: &Place<'_>, n: u16) -> Option<Vid> {
    let vid = Vid::new(n);
    if vid.is_none() {
        cx.error(
            place,
            format!("VLAN {n} cannot be used; choose 1 to 4094 (0 and 4095 are reserved)"),
        );
    }
    vid
}

/// Lossless priorities of SONiC and of most RoCE networks.
const LOSSLESS_DEFAULT: [u8; 2] = [3, 4];

/// Resolves the flow control of a port.
pub fn pfc(cx: &mut Cx, place: &Place<'_>, raw: &raw::Port, rate: BitsPerSec) -> PfcPlan {
    match (&raw.pfc, &raw.pause) {
        (Some(_), Some(_)) => {
            let what = "PFC and PAUSE cannot be used on one port (802.1Q 36.1.1, 802.3 31D.1); \
                        take one of `pfc` and `pause` out";
            cx.error(&place.key("pause"), what);
            timed(cx, place, FlowControl::Off, PauseTimes::default(), rate)
        }
        (Some(pfc), None) => {
            let place = place.key("pfc");
            // `send` and `obey` replace the common list for one direction.
            let both = pfc.enable.as_deref().unwrap_or(&LOSSLESS_DEFAULT);
            let both = priorities(cx, &place.key("enable"), both);
            let mut part = |field, list: &Option<Vec<u8>>| {
                list.as_deref().map_or(both, |l| priorities(cx, &place.key(field), l))
            };
            let (send, obey) = (part("send", &pfc.send), part("obey", &pfc.obey));
            let times = PauseTimes { quanta: pfc.quanta, refresh: pfc.refresh };
            timed(cx, &place, FlowControl::Pfc { send, obey }, times, rate)
        }
        (None, Some(p)) => {
            let (send, obey) = (p.send.unwrap_or(true), p.obey.unwrap_or(true));
            let mode = FlowControl::Pause { send, obey };
            let times = PauseTimes { quanta: p.quanta, refresh: p.refresh };
            timed(cx, &place.key("pause"), mode, times, rate)
        }
        (None, None) => timed(cx, place, FlowControl::Off, PauseTimes::default(), rate),
    }
}

/// Converts a list of priorities to a set.
fn priorities(cx: &mut Cx, place: &Place<'_>, list: &[u8]) -> PrioritySet {
    let mut set = PrioritySet::EMPTY;
    for (i, n) in list.iter().enumerate() {
        match Priority::new(*n) {
            None => {
                cx.error(&place.index(i), format!("priority {n} does not exist; choose 0 to 7"))
            }
            Some(p) if set.contains(p) => {
                cx.error(&place.index(i), format!("priority {n} is given twice; once is enough"));
            }
            Some(p) => set.insert(p),
        }
    }
    set
}

/// The times in a section about pauses.
#[derive(Clone, Copy, Default)]
struct PauseTimes {
    quanta: Option<u16>,
    refresh: Refresh,
}

/// Resolves the pause time and its refresh.
fn timed(
    cx: &mut Cx,
    place: &Place<'_>,
    mode: FlowControl,
    times: PauseTimes,
    rate: BitsPerSec,
) -> PfcPlan {
    let quanta = times.quanta.unwrap_or(Quanta::MAX.0);
    let quanta = Quanta(cx.ranged(&place.key("quanta"), quanta, (1, u16::MAX), u16::MAX));
    let pause = quanta.at(rate);
    // Half of the pause leaves time for a refresh that is late.
    let refresh = match times.refresh {
        Refresh::Auto => pause.div(2),
        Refresh::After(Span(d)) => {
            if d >= pause || d == Duration::ZERO {
                let what = format!(
                    "a refresh after {d} is of no use: {} quanta at {rate} last {pause}; choose \
                     something in between, such as {} or auto",
                    quanta.0,
                    pause.div(2)
                );
                cx.error(&place.key("refresh"), what);
            }
            d
        }
    };
    PfcPlan { mode, quanta, refresh }
}

/// Resolves the storm watchdog of a port.
fn watchdog(cx: &mut Cx, place: &Place<'_>, raw: &raw::Watchdog, rate: BitsPerSec) -> WatchdogPlan {
    let default = Some(vec![Some(WatchdogPlan::DEFAULT)]);
    let mut plan = CongestionPlan { watchdog: default, ..CongestionPlan::default() };
    settings(cx, Section { place, name: "watchdog" }, raw, &mut plan, At::default());
    let mut plan = plan.port_watchdog(PortId::MIN).expect("the only port has one");
    plan.action = raw.action.unwrap_or(plan.action);
    // A file may have longer times than a client can write, and other words for none.
    plan.detection = raw.detection.map_or(plan.detection, |s| s.0);
    let detection = plan.detection;
    plan.restoration = raw.restoration.map_or(detection.saturating_mul(2), |s| s.0);
    for (field, span) in [("detection", detection), ("restoration", plan.restoration)] {
        if span == Duration::ZERO {
            cx.error(&place.key(field), "must be above zero; SONiC takes 100ms and more");
        }
    }
    // A peer may ask for the longest pause in a single frame without being in a storm.
    let longest = Quanta::MAX.at(rate);
    if detection < longest {
        let what = format!(
            "{detection} is less than the longest pause one frame can ask for ({longest} at \
             {rate}), so a single pause may count as a storm"
        );
        cx.warn(&place.key("detection"), what);
    }
    plan
}

/// Gives a watchdog to every queue that obeys PFC.
fn watched_queues(
    cx: &mut Cx,
    place: &Place<'_>,
    plan: WatchdogPlan,
    pfc: &PfcPlan,
    classify: &ClassifyPlan,
) -> WatchdogPlans {
    let mut plans: WatchdogPlans = [None; 8];
    let FlowControl::Pfc { obey, .. } = pfc.mode else {
        cx.warn(place, "this port does not obey PFC, so there is nothing to watch");
        return plans;
    };
    // Storms stop queues, so the plans are by queue: priorities that share one share its watchdog.
    for p in obey.iter() {
        plans[classify.class[p.index()].index()] = Some(plan);
    }
    plans
}

/// Identity of a port, and the properties of its switch that it needs.
pub struct Who<'a> {
    pub index: usize,
    pub switch: &'a str,
    pub name: &'a str,
    pub rate: BitsPerSec,
    pub shaped: bool,
    pub cell: u32,
    pub max_frame: u32,
    pub role: Role,
}

pub fn port(cx: &mut Cx, place: &Place<'_>, raw: &raw::Port, who: &Who<'_>) -> PortPlan {
    let rate = who.rate;
    let mac = raw.mac.as_deref().and_then(|m| cx.mac(&place.key("mac"), m));
    let pfc = pfc(cx, place, raw, rate);
    let classify = classify(cx, place, raw);
    let queues = queues(cx, &place.key("queues"), raw, rate, who.cell);
    let watchdogs = raw.watchdog.as_ref().map(|raw| {
        let place = place.key("watchdog");
        let plan = watchdog(cx, &place, raw, rate);
        watched_queues(cx, &place, plan, &pfc, &classify)
    });
    PortPlan {
        name: who.name.to_owned(),
        mac: mac.unwrap_or_else(|| made_up_mac(who.switch, who.index as u16 + 1)),
        rate,
        shaped: who.shaped,
        vlan: vlan(cx, &place.key("vlan"), &raw.vlan),
        classify,
        pfc,
        watchdog: watchdogs.unwrap_or([None; 8]),
        schedule: queues.schedule,
        ecn: queues.ecn,
        queue_limits: queues.limits,
        agents: None,
        secy: None,
    }
}
