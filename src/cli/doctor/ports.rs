//! Checks of a port in `sluice doctor`.

use super::Findings;
use super::Verdict::{Fail, Note, Ok as Good, Warn};
use crate::dpdk::{Arrival, Eal, MacControl, PortProbe, Stamps};

pub(super) fn examine(findings: &mut Findings<'_>, eal: &Eal, device: &str) {
    let probe = match PortProbe::of(eal, device) {
        Ok(probe) => probe,
        Err(err) => return findings.add("open", Fail, err.to_string()),
    };
    driver(findings, &probe);
    link(findings, &probe);
    frames(findings, &probe);
    mac_control(findings, &probe);
    arrival(findings, &probe);
    match &probe.hardware_pfc {
        Ok(Some(classes)) => findings.add(
            "hardware PFC",
            Good,
            format!("{classes} priorities; used where the configuration asks for it"),
        ),
        Ok(None) => findings.add(
            "hardware PFC",
            Note,
            "for an unknown number of priorities, so it cannot be used; Sluice does it".to_owned(),
        ),
        Err(why) => findings.add("hardware PFC", Note, format!("none, so in software ({why})")),
    }
    stamps(findings, &probe.stamps);
    offloads(findings, &probe);
    kernel(findings, &probe);
}

fn driver(findings: &mut Findings<'_>, probe: &PortProbe) {
    let kind = if probe.is_virtual { "virtual" } else { "NIC" };
    let mac = probe.mac.map_or("no MAC address".into(), |mac| mac.to_string());
    let (rx, tx) = probe.queues_max;
    findings.add(
        "driver",
        Good,
        format!(
            "{} ({kind}), {mac}, up to {rx} receive and {tx} transmit queues (one each is used)",
            probe.driver
        ),
    );
}

fn link(findings: &mut Findings<'_>, probe: &PortProbe) {
    if !probe.link.up {
        let advice = if probe.is_virtual {
            "its other end has not connected, or its interface is down (ip link set .. up)"
        } else {
            "check the cable and the other end"
        };
        return findings.advise("link", Warn, "down", advice);
    }
    if !probe.link.full_duplex && !probe.is_virtual {
        let advice =
            "PFC is for full duplex alone (IEEE 802.3 31D): check the other end's settings";
        return findings.advise("link", Fail, "up, half duplex", advice);
    }
    match probe.link.rate {
        Some(rate) if !probe.is_virtual => findings.add("link", Good, format!("up, {rate}")),
        _ => findings.advise(
            "link",
            Good,
            "up; a virtual device has no rate",
            "its configured rate is what Sluice shapes it to, and what pause quanta are counted in",
        ),
    }
}

fn frames(findings: &mut Findings<'_>, probe: &PortProbe) {
    match probe.max_frame {
        None => findings.add("longest frame", Good, "no limit but the frame pool's"),
        // An 802.1Q frame of full length with its FCS.
        Some(max) if max >= 1_522 => {
            findings.add("longest frame", Good, format!("{max} octets with FCS"));
        }
        Some(max) => findings.advise(
            "longest frame",
            Warn,
            format!("{max} octets with FCS"),
            "tagged frames of full length (1522) do not pass: set max_frame for the port",
        ),
    }
}

fn mac_control(findings: &mut Findings<'_>, probe: &PortProbe) {
    let check = "flow control";
    match &probe.mac_control {
        MacControl::Forwarded => findings.add(
            check,
            Good,
            "flow control of the device is off, and it passes MAC control frames (0x8808) up",
        ),
        MacControl::FlowControlOff => findings.advise(
            check,
            Warn,
            "flow control of the device is off, but it does not promise to pass MAC control frames up",
            "connect a peer that sends PFC and look whether pfc_rx_frames counts; if not, use \
             hardware PFC or another NIC",
        ),
        // Nothing below a virtual device could obey or swallow a pause.
        MacControl::NoSetting { is_virtual: true, .. } => {
            findings.add(check, Good, "a virtual device has no flow control");
        }
        MacControl::NoSetting { reason, .. } => findings.advise(
            check,
            Warn,
            format!("the driver cannot set it ({reason})"),
            "the NIC may swallow PFC: connect a peer that sends some and look whether \
             pfc_rx_frames counts",
        ),
    }
}

fn arrival(findings: &mut Findings<'_>, probe: &PortProbe) {
    let check = "PFC arrives";
    match &probe.arrival {
        Arrival::Seen(from) => findings.add(check, Good, format!("tried, sent by {from}")),
        Arrival::Lost(from) => findings.advise(
            check,
            Fail,
            format!("a PFC frame sent by {from} did not come in"),
            "without it the port cannot be paused: look for flow control or filters in between",
        ),
        Arrival::NotTried(why) => findings.add(check, Note, format!("not tried: {why}")),
    }
}

fn stamps(findings: &mut Findings<'_>, stamps: &Stamps) {
    let all = [
        ("all received", &stamps.rx_all),
        ("PTP received", &stamps.rx_ptp),
        ("sent on request", &stamps.tx),
        ("clock readable", &stamps.clock),
    ];
    let has: Vec<_> = all.iter().filter(|(_, can)| can.is_ok()).map(|(what, _)| *what).collect();
    let not: Vec<_> = all
        .iter()
        .filter_map(|(what, can)| can.as_ref().err().map(|why| format!("{what}: {why}")))
        .collect();
    // Everything works; a list of what does not would be empty.
    if not.is_empty() {
        return findings.add("timestamps", Good, has.join(", "));
    }
    let found = match has.as_slice() {
        [] => "none from the device; the TSC stands in, read next to the burst".to_string(),
        some => format!("{}; not {}", some.join(", "), not.join("; ")),
    };
    findings.add("timestamps", Note, found);
}

fn offloads(findings: &mut Findings<'_>, probe: &PortProbe) {
    let list = |names: &[String]| match names {
        [] => "none".to_string(),
        some => some.join(" "),
    };
    let found =
        format!("receive {}; transmit {}", list(&probe.rx_offloads), list(&probe.tx_offloads));
    findings.add("offloads", Good, format!("{found} (Sluice needs none)"));
}

/// Checks settings of the kernel that affect drivers on top of its interfaces.
fn kernel(findings: &mut Findings<'_>, probe: &PortProbe) {
    let Some(interface) = &probe.interface else { return };
    findings.advise(
        "kernel",
        Note,
        format!(
            "{interface} stays the kernel's: it may merge received segments into frames longer \
             than the port takes, leave check sums undone, and on a NIC obey PAUSE itself"
        ),
        format!(
            "ethtool -K {interface} gro off lro off (at a veth's other end also tx off tso off gso \
             off), ethtool -A {interface} rx off tx off, and take its addresses off"
        ),
    );
    if probe.driver == "net_af_packet" {
        findings.add(
            "802.1ad",
            Note,
            "this driver turns an outer 0x88a8 tag of a received frame into 0x8100",
        );
    }
}
