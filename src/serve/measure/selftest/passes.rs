//! Steps that pass frames between the two ends: MAC control, addresses, sizes, tags, counters.

use contracts::frame::{BURST, Burst};
use contracts::port::Port;
use dpdk::{Abilities, DpdkPort, PortOptions};

use super::bench::{End, FRAME_LONGEST, Pair, Passed};
use super::frames::{self, Maker, SERVICE_TAGS, TAGS};
use super::judge::{self, Counted, Overrun, Parts};
use super::report::Line;
use super::{Context, options};
use ground::units::Quanta;

/// Frames of each kind.
const EACH: usize = 8;

/// Sizes that every Ethernet port has to pass, FCS included.
const SIZES: [u32; 9] = [64, 65, 127, 128, 256, 512, 1_024, 1_280, 1_518];

/// Frames of a jumbo packet of 9,000 bytes, FCS included.
const JUMBO: u32 = 9_018;

/// Frames that are sent to a port that is not polled: more than the receive rings of all drivers.
const OVERRUN: u64 = 4_096;

/// Names of the checks of this file, for when they cannot be made.
pub(super) const CHECKS: &[&str] = &[
    "mac_control",
    "promiscuous",
    "multicast",
    "frame_sizes",
    "vlan_tags",
    "service_tags",
    "counters",
    "missed",
];

fn to(name: &str, passed: Passed) -> (String, Passed) {
    (name.to_owned(), passed)
}

/// All steps with ports at their usual settings.
pub(super) fn usual(context: &Context<'_>, pair: &mut Pair) -> Vec<Line> {
    let counters = counters(pair);
    let missed = overrun(pair, context.is_emulated);
    let mut lines = vec![mac_control(pair, context)];
    lines.extend(addresses(pair, context));
    lines.push(sizes(pair));
    lines.extend(tags(pair));
    lines.extend([counters, missed]);
    lines
}

fn mac_control(pair: &mut Pair, context: &Context<'_>) -> Line {
    let make = |one: fn(u8) -> Vec<u8>| (0..EACH as u8).map(one).collect::<Vec<_>>();
    let kinds = [
        ("PFC", make(frames::pfc_of_nothing)),
        ("PAUSE of 0 quanta", make(|n| frames::pause(n, Quanta(0)))),
        ("opcode 0x7fff", make(frames::unassigned)),
    ];
    let parts: Vec<_> =
        kinds.iter().map(|(name, frames)| to(name, pair.pass(End::Port, frames))).collect();
    let claimed = context.forwards.clone();
    let remedy = "Sluice cannot be paused through this port: look for flow control or filters of \
                  the NIC, and for a bridge in between";
    judge::passed("mac_control", claimed, &parts, remedy)
}

fn addresses(pair: &mut Pair, context: &Context<'_>) -> [Line; 2] {
    let (port, peer) = pair.macs();
    let [unicast, multicast, broadcast] = Maker::new(port, peer).addressed(EACH);
    // Towards the tested port alone: its filters are in question, not those of the peer.
    let mut pass = |(name, frames): (&str, Vec<Vec<u8>>)| to(name, pair.pass(End::Port, &frames));
    let unicast = [pass(unicast)];
    let groups = [pass(multicast), pass(broadcast)];
    let claimed = Some(if context.promiscuous { "on" } else { "not supported" }.to_owned());
    let remedy = "A switch has to receive frames to all addresses";
    [
        judge::passed("promiscuous", claimed, &unicast, remedy),
        judge::passed("multicast", None, &groups, remedy),
    ]
}

/// Frames of each size in both directions.
fn sizes(pair: &mut Pair) -> Line {
    let parts =
        both_ways(pair, |maker| SIZES.iter().flat_map(|size| maker.plain(*size, 2)).collect());
    let remedy = "Is the MTU of both ends at least 1500?";
    judge::passed("frame_sizes", Some("64 to 1518 bytes".into()), &parts, remedy)
}

fn both_ways(
    pair: &mut Pair,
    mut make: impl FnMut(&mut Maker) -> Vec<Vec<u8>>,
) -> Vec<(String, Passed)> {
    let (port, peer) = pair.macs();
    // Both sets are made before the first frame is sent, each with numbers of its own.
    let received = make(&mut Maker::new(port, peer));
    let sent = make(&mut Maker::new(peer, port));
    vec![to("received", pair.pass(End::Port, &received)), to("sent", pair.pass(End::Peer, &sent))]
}

fn tags(pair: &mut Pair) -> [Line; 2] {
    let mut pass_with = |tags: &[(&str, &[u8])], longest: u32| {
        let mut parts = Vec::new();
        for (name, tag) in tags {
            for (way, passed) in both_ways(pair, |maker| {
                let mut all = maker.with_tags(tag, 68, 4);
                all.extend(maker.with_tags(tag, longest, 2));
                all
            }) {
                parts.push((format!("{name} {way}"), passed));
            }
        }
        parts
    };
    let tags: Vec<_> = pass_with(TAGS, 1_522);
    // Two tags must pass, but not in a frame that is longer than a tagged one.
    let service = pass_with(SERVICE_TAGS, 1_518);
    let remedy = "A VLAN offload removes or changes tags: switch it off (ethtool -K .. rxvlan off \
                  txvlan off where the kernel has the interface)";
    [
        judge::passed("vlan_tags", Some("the VLAN offloads are off".into()), &tags, remedy),
        judge::passed("service_tags", None, &service, remedy),
    ]
}

/// Frames in both directions, by the driver's counters and by software.
fn counters(pair: &mut Pair) -> Line {
    if pair.peer.is_none() {
        return Line::not_tried("counters", None, "needs a peer");
    }
    let (port_mac, peer_mac) = pair.macs();
    let before = pair.port.stats();
    let rx = pair.pass(End::Port, &Maker::new(port_mac, peer_mac).plain(64, 200));
    let tx = pair.pass(End::Peer, &Maker::new(peer_mac, port_mac).plain(64, 200));
    // Frames that arrived after the last expected one were counted by the device, too.
    let more = pair.settle().0;
    let after = pair.port.stats();
    let all = [
        Counted {
            what: "received",
            counter: after.rx_frames.saturating_sub(before.rx_frames),
            actual: rx.received + more,
        },
        Counted {
            what: "sent",
            counter: after.tx_frames.saturating_sub(before.tx_frames),
            actual: tx.taken,
        },
    ];
    judge::counted("counters", &all)
}

/// Sends more frames than the port's ring holds, while it is not polled.
fn overrun(pair: &mut Pair, is_emulated: bool) -> Line {
    let (port_mac, peer_mac) = pair.macs();
    let Some(peer) = &mut pair.peer else {
        return Line::not_tried("missed", None, "needs a peer");
    };
    let (before, peer_before) = (pair.port.stats(), peer.stats());
    let octets = Maker::new(port_mac, peer_mac).plain(64, 1).remove(0);
    let (mut staged, mut back) = (Burst::new(), Burst::new());
    let mut overrun = Overrun { is_emulated, ..Overrun::default() };
    let started = std::time::Instant::now();
    // The time limit is for a peer whose ring refuses all frames while the port is not polled.
    while overrun.taken < OVERRUN && started.elapsed() < super::WINDOW * 5 {
        if !pair.pool.fill(&mut staged, BURST, &octets) && staged.is_empty() {
            break;
        }
        let offered = staged.len();
        peer.tx_burst(&mut staged);
        overrun.taken += (offered - staged.len()) as u64;
        peer.rx_burst(&mut back);
        back.clear();
    }
    staged.clear();
    // Frames that are still in the peer's ring leave before the port is polled.
    std::thread::sleep(super::WINDOW);
    // What the peer's own device dropped never was on the link.
    let dropped = peer.stats().nic.tx_dropped - peer_before.nic.tx_dropped;
    overrun.taken = overrun.taken.saturating_sub(dropped);
    overrun.received = pair.settle().0;
    let after = pair.port.stats().nic;
    let nic = before.nic;
    overrun.missed = after.rx_missed.zip(nic.rx_missed).map(|(now, then)| now - then);
    overrun.refused = (after.rx_no_memory - nic.rx_no_memory) + (after.rx_errors - nic.rx_errors);
    judge::missed("missed", &overrun)
}

/// Largest frame that is worth trying: jumbo where the driver and the kernel's interface allow it.
///
/// # Errors
/// The reason why no jumbo frame is tried.
fn jumbo_reason(abilities: &Abilities, interface: Option<&str>) -> Result<(), String> {
    if let Some(max) = abilities.max_frame.filter(|max| *max < JUMBO) {
        return Err(format!("the driver takes frames of up to {max} bytes"));
    }
    // An MTU is the payload: 14 bytes of header and 4 of FCS come on top.
    if let Some((_, max)) = abilities.mtu.filter(|(_, max)| u32::from(*max) + 18 < JUMBO) {
        return Err(format!("the driver takes an MTU of up to {max} bytes"));
    }
    let Some(interface) = interface else { return Ok(()) };
    // Not by /sys, which may show another network namespace than that of this process.
    let mtu = std::fs::read_to_string(format!("/proc/sys/net/ipv6/conf/{interface}/mtu"));
    let mtu = mtu.ok().and_then(|text| text.trim().parse::<u32>().ok());
    match mtu.filter(|mtu| mtu + 18 < JUMBO) {
        Some(mtu) => Err(format!(
            "the interface's MTU is {mtu}: ip link set dev {interface} mtu 9000, at both ends"
        )),
        None => Ok(()),
    }
}

/// Passes frames of 9,018 bytes.
pub(super) fn jumbo(context: &mut Context<'_>) -> Line {
    let abilities = &context.abilities;
    let claimed = abilities
        .mtu
        .map(|(_, max)| format!("MTU up to {max} bytes"))
        .or(abilities.max_frame.map(|max| format!("frames up to {max} bytes")))
        .or(Some("no limit".into()));
    if !context.bench.has_peer() {
        return Line::not_tried("jumbo", claimed, "needs a peer");
    }
    for (abilities, interface) in [
        (Some(&context.abilities), context.interface.as_deref()),
        (context.peer_abilities.as_ref(), context.peer_interface.as_deref()),
    ] {
        let reason = abilities.map_or(Ok(()), |abilities| jumbo_reason(abilities, interface));
        if let Err(why) = reason {
            return Line::not_tried("jumbo", claimed, why);
        }
    }
    let long = PortOptions { max_frame: Some(FRAME_LONGEST), ..options(context.bench.clock) };
    let mut pair = match context.bench.start(&long, &long) {
        Ok(pair) => pair,
        Err(refused) if refused.end == End::Peer => {
            let why = format!("the peer does not start with it: {}", refused.why);
            return Line::not_tried("jumbo", claimed, why);
        }
        Err(refused) => {
            return Line::fails("jumbo", claimed, "start with an MTU for it", refused.why);
        }
    };
    let mut parts = both_ways(&mut pair, |maker| maker.plain(JUMBO, EACH));
    // Short frames again: a device that was set up for long ones must still pass them.
    let again = both_ways(&mut pair, |maker| maker.plain(64, EACH));
    parts.extend(again.into_iter().map(|(way, passed)| (format!("64 bytes {way}"), passed)));
    context.bench.give_back(pair);
    let parts: &Parts = &parts;
    judge::passed("jumbo", claimed, parts, "Is the MTU of both ends at least 9000?")
}

/// Passes a few frames in both directions; `None` without a peer.
pub(super) fn few(pair: &mut Pair) -> Option<Passed> {
    pair.peer.as_ref()?;
    let mut sum = Passed::default();
    for (_, passed) in both_ways(pair, |maker| maker.plain(128, 2 * EACH)) {
        sum.offered += passed.offered;
        sum.taken += passed.taken;
        sum.intact += passed.intact;
        sum.received += passed.received;
    }
    Some(sum)
}

/// The link rate that a device with a wire negotiated, in b/s.
pub(super) fn link_rate(port: &DpdkPort) -> Option<u64> {
    port.caps().link_rate.map(|rate| rate.get())
}
