//! Generates a random lab from a seed.
//!
//! All random values are written into the lab, so that the lab alone determines its run and can be
//! shrunk piece by piece. Loads are small: a lab takes milliseconds.

mod congestion;
mod disturbances;
mod network;
mod profile;
mod special;

use crate::raw::{
    Amount, Cpu, Defaults, EqualCost, FlowDuration, Host, HostEntry, Lab, Members, Nodes, Short,
    Switch, TransportLong,
};
use crate::{LabPlan, resolve_raw};
use buffer::GroupKind;
use config::ConfigError;
use config::quantity::{Size, Span};
use config::raw::{Lossless, Shared};
use ground::rand::Rng;
use ground::time::Duration;
use schedule::Line;
use sim::NodeKind;

/// Time for the retransmission timeouts of a connection, each twice as long as the one before: a
/// dozen in a row.
const RECOVERIES: Duration = Duration::from_secs(10);

/// Separates the random numbers of congestion settings from all others.
const ABOUT_CONGESTION: u64 = 0x5fc0_5fc0_5fc0_5fc0;

/// Separates the random numbers of MACsec from all others.
const ABOUT_MACSEC: u64 = 0x88e5_88e5_88e5_88e5;

/// Separates the random numbers of fat trees from all others.
const ABOUT_TREES: u64 = 0xfa77_fa77_fa77_fa77;

/// Separates the random numbers of second profiles and changes from all others.
const ABOUT_CHANGES: u64 = 0xc4a9_6e5d_c4a9_6e5d;

/// Separates the random numbers of paths and slow links from all others.
const ABOUT_PATHS: u64 = 0xecc9_5107_ecc9_5107;

/// Separates the random numbers of defects from all others.
const ABOUT_DEFECTS: u64 = 0xdefe_c75d_defe_c75d;

/// Part of the frames of flows that a lab with a slow link has.
const SLOW_PART: u64 = 20;

/// Separates labs with additional promises from all others.
const ABOUT_ORDER: u64 = 0x04de_704d_e704_de70;

/// Longest time for which forged messages can delay traffic: each pause is at most a host's limit
/// of 1 ms, and there are up to six times 200.
const FORGED_LONGEST: Duration = Duration::from_secs(2);

/// Name of the first profile of every lab.
const PROFILE: &str = "drawn";

/// Generates a lab.
///
/// # Errors
/// Invalid fields of the generated lab; an error is a bug of the generator.
pub(super) fn lab(seed: u64) -> Result<Lab, ConfigError> {
    let mut lab = healthy(seed)?;
    let defects = &mut Chance::new(seed ^ ABOUT_DEFECTS);
    if defects.percent(13) {
        let lossless = lab.profiles.get(PROFILE).and_then(|profile| profile.defaults.pfc.as_ref());
        let lossless = lossless.and_then(|pfc| pfc.enable.clone());
        // Without PFC the profile has PAUSE, which stops all priorities.
        let lossless = lossless.unwrap_or_else(|| (0..8).collect());
        let defect = disturbances::defect(defects, &lab, &lossless);
        lab.faults.push(defect);
    }
    Ok(lab)
}

/// Generates a lab without a defect.
fn healthy(seed: u64) -> Result<Lab, ConfigError> {
    // Each subject draws from a stream of its own: a new one leaves the labs of old seeds as they were.
    let order = &mut Chance::new(seed ^ ABOUT_ORDER);
    if order.percent(6) {
        return special::orderly(order, seed);
    }
    let chance = &mut Chance::new(seed);
    let trees = &mut Chance::new(seed ^ ABOUT_TREES);
    let tree = trees.percent(6).then_some(trees);
    let mut shape = network::shape(chance, tree);
    let paths = &mut Chance::new(seed ^ ABOUT_PATHS);
    let spread = paths.percent(30) && shape.switches > 1;
    let slow = paths.percent(6);
    if slow {
        shape.slow_down(paths);
    }
    let mut drawn = profile::profile(chance, shape.slowest);
    let hosts = shape.host_names();
    // 802.3x PAUSE instead of PFC, for all priorities of a link.
    let link_wide = drawn.profile.defaults.pause.is_some();
    let mut lab = Lab {
        name: Some(format!("swarm-{seed}")),
        seed: chance.any(),
        shuffle: chance.percent(30).then(|| chance.any()),
        until_done: true,
        duration: Some(Span(Duration::from_secs(1))),
        flows: network::flows(chance, &hosts, &drawn),
        routes: core::mem::take(&mut shape.routes),
        equal_cost: spread.then_some(EqualCost::Flow),
        ..Lab::default()
    };
    if slow {
        fewer_frames(&mut lab);
    }
    lab.defaults = Defaults { switches: switches(chance), ..Defaults::default() };
    if slow || lab.defaults.switches.cpu.is_some() {
        profile::slow(&mut drawn.profile.defaults);
    }
    profile::agents(&mut Chance::new(!seed), &mut drawn.profile.defaults);
    // These use separate random numbers, too.
    let congested = &mut Chance::new(seed ^ ABOUT_CONGESTION);
    let reacts = congested.percent(35);
    if reacts {
        congestion::sections(congested, &mut drawn);
    }
    lab.nodes = nodes(chance, &shape, &hosts);
    if reacts {
        react(congested, &mut lab.nodes);
    }
    if chance.percent(if drawn.watchdog { 70 } else { 10 }) {
        let storm = network::storm(chance, &drawn, link_wide);
        let name = chance.pick(&hosts);
        entry(&mut lab.nodes, &name).storms = Some(vec![storm]);
    }
    if chance.percent(45) {
        let switches = (1..=shape.switches).map(|n| format!("s{n}"));
        let nodes: Vec<String> = switches.chain(hosts).collect();
        lab.faults = disturbances::faults(chance, &mut shape.links, &nodes);
    }
    protect(seed, &mut lab, &mut shape);
    lab.links = core::mem::take(&mut shape.links);
    lab.profiles.insert(PROFILE.into(), drawn.profile.clone());
    change(seed, &mut lab, &drawn, &shape);
    finish(chance, &mut lab)?;
    if congested.percent(if reacts { 60 } else { 5 }) {
        forge(congested, &mut lab)?;
    }
    Ok(lab)
}

/// Adds forged messages about congestion, and the time for which they may delay traffic.
fn forge(chance: &mut Chance, lab: &mut Lab) -> Result<(), ConfigError> {
    // Forged messages name the addresses of the lab's hosts, which only the plan has.
    let (plan, _) = resolve_raw(lab)?;
    lab.faults.extend(congestion::forgeries(chance, &plan));
    if let Some(Span(duration)) = &mut lab.duration {
        *duration += FORGED_LONGEST;
    }
    Ok(())
}

/// Reduces the traffic of a lab with a slow link, which would take too long otherwise.
fn fewer_frames(lab: &mut Lab) {
    for flow in &mut lab.flows {
        if let Some(FlowDuration::Amount(Amount { frames: Some(n), .. })) = &mut flow.duration {
            *n = n.div_ceil(SLOW_PART);
        }
    }
}

/// Lets hosts react to congestion messages.
fn react(chance: &mut Chance, nodes: &mut Nodes) {
    let Members::List(hosts) = &mut nodes.hosts else { unreachable!("drawn as a list") };
    for host in hosts {
        let Short::Long(host) = host else { unreachable!("drawn with their names") };
        congestion::reactions(chance, host);
    }
}

/// Protects links of some labs by MACsec, and attacks these links.
fn protect(seed: u64, lab: &mut Lab, shape: &mut network::Shape) {
    let chance = &mut Chance::new(seed ^ ABOUT_MACSEC);
    if chance.percent(20) {
        let names = disturbances::links(chance, &mut shape.links);
        lab.faults.extend(disturbances::attacks(chance, &names));
    }
}

/// Gives some labs a second profile, and changes during the run.
fn change(seed: u64, lab: &mut Lab, drawn: &profile::Drawn, shape: &network::Shape) {
    let chance = &mut Chance::new(seed ^ ABOUT_CHANGES);
    if shape.switches > 1 && chance.percent(30) {
        special::kinds(chance, lab, drawn, shape.slowest);
    }
    if chance.percent(25) {
        special::changes(chance, lab, drawn);
    }
}

/// Generates the common fields of all switches.
fn switches(chance: &mut Chance) -> Switch {
    let cpu = chance.percent(5).then(|| Cpu {
        poll: Some(Span(chance.span(20, 500))),
        frame: Some(Span(chance.span(1, 100))),
        byte: None,
    });
    Switch {
        cut_through: chance.percent(15).then_some(true),
        control_frame: chance.percent(5).then(|| Size(chance.between(43, 80))),
        cpu,
        ..Switch::default()
    }
}

/// Generates switches and hosts, some with different clocks.
fn nodes(chance: &mut Chance, shape: &network::Shape, hosts: &[String]) -> Nodes {
    let clocks = chance.percent(50);
    let clock = |chance: &mut Chance| clocks.then(|| network::clock(chance));
    let switches = (1..=shape.switches).map(|n| {
        let clock = clock(chance);
        let name = Some(format!("s{n}"));
        Short::Long(Switch { name, clock, ..Switch::default() })
    });
    let switches = Members::List(switches.collect());
    let hosts = hosts.iter().map(|name| {
        let clock = clock(chance);
        Short::Long(Host { name: Some(name.clone()), clock, ..Host::default() })
    });
    Nodes { switches, hosts: Members::List(hosts.collect()) }
}

/// Returns a host by its name.
fn entry<'a>(nodes: &'a mut Nodes, name: &str) -> &'a mut Host {
    let Members::List(hosts) = &mut nodes.hosts else { unreachable!("hosts are drawn as a list") };
    let found = hosts.iter_mut().find_map(|entry: &mut HostEntry| match entry {
        Short::Long(host) if host.name.as_deref() == Some(name) => Some(host),
        _ => None,
    });
    found.expect("a host is drawn with its name")
}

/// Sets the buffer that the lab's links need, with a small shared pool, and the worst-case time of
/// its flows.
fn finish(chance: &mut Chance, lab: &mut Lab) -> Result<(), ConfigError> {
    let (plan, _) = resolve_raw(lab)?;
    let pool = chance.scale(16_384, 1 << 20);
    // The largest reserve and headroom of all switches, as they share the profile.
    let total = Size(set_aside(&plan) + pool);
    for profile in lab.profiles.values_mut() {
        profile.buffer.total = Some(total);
        congestion::limit_thresholds(profile, total);
        for group in profile.buffer.profiles.values_mut() {
            // A static threshold above the whole buffer would be no limit.
            if let Some(Shared { static_th: Some(most), .. }) = &mut group.shared {
                most.0 = most.0.min(pool);
                if let Some(Lossless { xon: Some(xon), .. }) = &mut group.lossless {
                    xon.0 = xon.0.min(most.0);
                }
            }
        }
    }
    let patience = patience(&plan, total);
    for flow in &mut lab.flows {
        if let Some(Short::Long(TransportLong { roce: Some(roce), .. })) = &mut flow.transport {
            let Some(Span(timeout)) = &mut roce.timeout else { continue };
            *timeout = patience.max(*timeout);
        }
    }
    lab.duration = Some(Span(time(&plan)));
    Ok(())
}

/// Returns the shortest retransmission timeout of RoCE that is no mistake: the time in which the
/// slowest link sends all that may wait for it, which is all traffic or all buffers full of it.
/// With a shorter one, which stays the same after each timeout, senders repeat packets that still
/// wait in the network, and may never end.
fn patience(plan: &LabPlan, Size(buffer): Size) -> Duration {
    let nodes = || plan.network.nodes.iter().map(|node| &node.kind);
    let buffers =
        nodes().filter(|kind| matches!(kind, NodeKind::Switch(_))).count() as u64 * buffer;
    let hosts =
        nodes().filter_map(|kind| if let NodeKind::Host(h) = kind { Some(h) } else { None });
    let traffic: u64 = hosts
        .map(|host| {
            let streams = host.flows.iter().map(|f| f.frames.unwrap_or(0) * u64::from(f.size + 20));
            let messages = host.senders.iter().filter_map(|sender| sender.message);
            streams.sum::<u64>() + messages.map(|m| 2 * m.bytes * m.count).sum::<u64>()
        })
        .sum();
    let slowest = plan.network.links.iter().map(|link| link.rate).min_by_key(|rate| rate.get());
    let bytes = ground::units::Bytes(buffers.min(traffic));
    slowest.map_or(Duration::ZERO, |rate| rate.time_for(bytes))
}

/// Returns the largest sum of reserve and headroom of a switch, in bytes.
fn set_aside(plan: &LabPlan) -> u64 {
    let of_switch = |kind: &NodeKind| {
        let NodeKind::Switch(switch) = kind else { return 0 };
        let groups = switch.buffer.groups.iter().flatten();
        let cells: u64 = groups
            .map(|group| {
                let headroom = match group.kind {
                    GroupKind::Lossless { headroom, .. } => headroom.0,
                    GroupKind::Lossy => 0,
                };
                u64::from(group.reserved.0) + u64::from(headroom)
            })
            .sum();
        cells * u64::from(switch.buffer.cell_bytes)
    };
    plan.network.nodes.iter().map(|node| of_switch(&node.kind)).max().unwrap_or(0)
}

/// Returns a time in which all traffic ends unless there is a deadlock: several times all traffic
/// over the slowest link, and all delays by storms and faults.
fn time(plan: &LabPlan) -> Duration {
    let slowest = plan.network.links.iter().map(|link| link.rate).min_by_key(|rate| rate.get());
    let (mut octets, mut sent) = (0, 0);
    let mut span = Duration::from_millis(5);
    for node in &plan.network.nodes {
        let NodeKind::Host(host) = &node.kind else { continue };
        let before = octets;
        for flow in &host.flows {
            let frames = flow.frames.unwrap_or(0);
            // 20 bytes of preamble and gap.
            octets += frames * u64::from(flow.size + 20);
            sent += frames;
            let line = Line::new(host.rate, host.line);
            span += flow.interval(&line).map_or(Duration::ZERO, |each| each.saturating_mul(frames));
        }
        for sender in &host.senders {
            // Twice the data: room for headers, and for what is sent again.
            octets += sender.message.map_or(0, |message| 2 * message.bytes * message.count);
            sent += sender.message.map_or(0, |m| m.count * (m.bytes / 64 + 1));
            span += RECOVERIES;
        }
        if let Some(qcn) = &host.reactions.qcn {
            // Flows that slow down may stay at the minimum rate to their end.
            span += qcn.min_rate.time_for(ground::units::Bytes(2 * (octets - before)));
        }
        for pause in &host.pauses {
            span += pause.every.saturating_mul(pause.frames);
            span += ground::units::Quanta::MAX.at(host.rate);
        }
    }
    // A switch with a CPU cost forwards frames one by one.
    let busy = plan.network.nodes.iter().map(|node| node.cpu.poll + node.cpu.frame);
    span += busy.max().unwrap_or(Duration::ZERO).saturating_mul(4 * sent);
    let Some(slowest) = slowest else { return span };
    let last = plan.network.faults.iter().map(|fault| fault.at.since(ground::time::Instant::ZERO));
    span += last.max().unwrap_or(Duration::ZERO);
    // A lost resume stops a line until the pause expires.
    span += ground::units::Quanta::MAX.at(slowest).saturating_mul(8);
    // Four times all traffic over the slowest link: a lab that takes longer stands still.
    span + slowest.time_for(ground::units::Bytes(octets * 4))
}

/// A seeded random source.
pub(super) struct Chance(Rng);

impl Chance {
    pub(super) const fn new(seed: u64) -> Self {
        Self(Rng::new(seed))
    }

    /// Returns a 64-bit number.
    pub(super) const fn any(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number from `least` to `most`, uniformly.
    pub(super) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.next_u64() % (most - least + 1)
    }

    /// Returns a number from `least` (not 0) to `most`, uniform on a logarithmic scale.
    pub(super) fn scale(&mut self, least: u64, most: u64) -> u64 {
        // A doubling is drawn first, and then a number within it: small values are as likely as large ones.
        let doublings = u64::from((most / least).ilog2());
        let n = least << self.between(0, doublings);
        self.between(n, (2 * n - 1).min(most).max(n)).min(most)
    }

    /// Returns true with a probability of `n` percent.
    pub(super) fn percent(&mut self, n: u64) -> bool {
        self.0.next_u64() % 100 < n
    }

    /// Returns one of the elements.
    pub(super) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[(self.0.next_u64() % of.len() as u64) as usize].clone()
    }

    /// Returns some of the elements, at least one, in their order.
    pub(super) fn some<T: Clone>(&mut self, of: &[T]) -> Vec<T> {
        // Drawn in any case, so that the stream goes on the same whether or not it is used.
        let first = self.pick(of);
        let rest = of.to_vec();
        let mut chosen: Vec<T> = rest.into_iter().filter(|_| self.percent(50)).collect();
        if chosen.is_empty() {
            chosen.push(first);
        }
        chosen
    }

    /// Returns a time from `least` to `most` nanoseconds, uniform on a logarithmic scale.
    pub(super) fn span(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_nanos(self.scale(least, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_is_in_its_range_and_all_of_it_comes_up() {
        let mut chance = Chance::new(7);
        let drawn: Vec<u64> = (0..2_000).map(|_| chance.scale(3, 100)).collect();
        assert!(drawn.iter().all(|n| (3..=100).contains(n)));
        assert!(drawn.contains(&3) && drawn.contains(&100));
        let drawn: Vec<u64> = (0..100).map(|_| chance.between(5, 7)).collect();
        assert!([5, 6, 7].iter().all(|n| drawn.contains(n)));
        assert!((0..100).all(|_| !chance.some(&[1, 2, 3]).is_empty()));
    }
}
