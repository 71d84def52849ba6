//! Traffic generator: its ports become hosts of the lab.

use std::collections::BTreeMap;

use serde_json::Value;

use super::NAMELESS;
use super::graph::Graph;
use super::links::LinkSpec;
use crate::raw;
use crate::{LabPlan, LabTester};
use ::otg::engine::Refusal;
use ::otg::model::{self, Config};
use config::{ConfigError, Cx, Place, Warning};
use ground::time::Instant;
use ground::units::{BitsPerSec, Mac};
use host::plan::stream::Values;
use host::{StationPlan, TransportPlan};
use labrun::Record;
use labrun::keep_messages;
use sim::{NodeId, NodeKind, NodePlan};
use switch::{SpreadEntry, StaticEntry};
use tester::plan::{FlowKind, FlowPlan, Location};
use tester::resolve::resolve_on;
use tester::{Punctuality, stations};

/// Bytes of an Ethernet address.
const ADDRESS: usize = 6;

/// Makes testers of the hosts that are generator ports. `None` without a generator, or with an
/// invalid one.
pub(super) fn otg(
    cx: &mut Cx,
    section: &Place<'_>,
    lab: &raw::Lab,
    graph: &Graph<'_>,
    specs: &[LinkSpec],
    nodes: &mut [NodePlan],
) -> Option<LabTester> {
    let raw = lab.otg.as_ref()?;
    let section = section.key("otg");
    let Some(config) = &raw.config else {
        cx.error(&section, "a generator has a `file`, or its configuration as `config`");
        return None;
    };
    let mut config = config.clone();
    place(cx, &section.key("ports"), &mut config, &raw.ports);
    let config = model::parse(&config).map_err(|refusal| refuse(cx, &section, refusal)).ok()?;
    let rates = specs.iter().map(|spec| spec.rate).collect();
    tester(cx, &section, &config, &LinkRates { graph, rates }, nodes)
}

/// Gives a lab without flows the generator of a configuration whose locations are names of hosts, as if its
/// file had it. The rest of the lab is not resolved again. Returns the warnings about the configuration.
///
/// # Errors
/// All errors of the configuration.
pub fn set_tester(lab: &mut LabPlan, config: &Config) -> Result<Vec<Warning>, ConfigError> {
    let (mut cx, place) = (Cx::of_file(NAMELESS), Place::nowhere());
    let graph = Graph::of(&lab.network);
    let rates = lab.network.links.iter().map(|link| link.rate).collect();
    let links = LinkRates { graph: &graph, rates };
    let nodes = &mut lab.network.nodes;
    // Switches that learn have no addresses of hosts.
    let learn = nodes.iter().all(|node| match &node.kind {
        NodeKind::Switch(plan) => plan.bridge.statics.is_empty() && plan.bridge.spread.is_empty(),
        NodeKind::Host(_) => true,
    });
    lab.tester = tester(&mut cx, &place.key("otg"), config, &links, nodes);
    let addresses = lab.tester.as_ref().map(|tester| addresses(&mut cx, &place, tester, learn));
    let wrong = |findings| ConfigError { file: NAMELESS.to_owned(), findings };
    let warnings = cx.finish().map_err(wrong)?;
    keep_messages(nodes, lab.record.messages);
    place_addresses(&graph, &addresses.unwrap_or_default(), nodes);
    Ok(warnings)
}

/// Rates of the links of a lab, by kind.
struct LinkRates<'r, 'g> {
    graph: &'r Graph<'g>,
    rates: Vec<BitsPerSec>,
}

impl LinkRates<'_, '_> {
    /// Returns the rate of a host's link.
    fn of(&self, host: usize) -> BitsPerSec {
        let link = self.graph.nodes[host].ports.first().map(|link| self.graph.links[*link].kind);
        link.map_or(tester::RATE_DEFAULT, |kind| self.rates[kind])
    }
}

/// Makes testers of the ports of a configuration.
fn tester(
    cx: &mut Cx,
    place: &Place<'_>,
    config: &Config,
    links: &LinkRates<'_, '_>,
    nodes: &mut [NodePlan],
) -> Option<LabTester> {
    let graph = links.graph;
    // The rate of the link is that of the port, so percentages of the configuration have a meaning.
    let link = |location: &Location| {
        Some(links.of(graph.node(name(location)).filter(|n| graph.is_host(*n))?))
    };
    let found = resolve_on(config, &link).map_err(|refusal| refuse(cx, place, refusal));
    let (plan, warnings) = found.ok()?;
    warnings.into_iter().for_each(|warning| cx.warn(place, warning));
    // A generator with an error is left out as a whole; stations of half of it would cause more errors.
    let before = cx.count();
    let hosts: Vec<_> =
        plan.ports.iter().filter_map(|port| host(cx, place, graph, &port.location)).collect();
    let rates: Vec<_> = hosts.iter().map(|host| links.of(*host)).collect();
    for (port, rate) in plan.ports.iter().zip(&rates) {
        if let Some(asked) = port.rate.filter(|asked| asked != rate) {
            let what = format!(
                "port {} asks for {asked}, and the link of its host runs at {rate}; leave the \
                 `speed` out of `layer1`, or give the link that `rate`",
                port.name
            );
            cx.error(place, what);
        }
    }
    if cx.count() > before {
        return None;
    }
    let stations = stations(&plan, &rates, Punctuality::EXACT);
    for (host, station) in hosts.iter().zip(stations) {
        let node = &mut nodes[*host];
        // Generator ports start together in simulation time, whatever the clocks of their hosts show.
        let start = node.clock.local(Instant::ZERO);
        if let NodeKind::Host(of) = &mut node.kind {
            take_over(of, station, start);
        }
    }
    let hosts = hosts.into_iter().map(|host| NodeId(host as u32)).collect();
    Some(LabTester { plan, hosts, rates })
}

fn refuse(cx: &mut Cx, place: &Place<'_>, refusal: Refusal) {
    refusal.errors.into_iter().for_each(|error| cx.error(place, error));
}

/// Replaces locations by hosts.
fn place(cx: &mut Cx, section: &Place<'_>, config: &mut Value, hosts: &BTreeMap<String, String>) {
    for (name, host) in hosts {
        let ports = config.get_mut("ports").and_then(Value::as_array_mut);
        let port = ports.and_then(|ports| ports.iter_mut().find(|port| port["name"] == **name));
        match port {
            Some(port) => port["location"] = host.clone().into(),
            None => cx.error(&section.key(name), format!("the configuration has no port `{name}`")),
        }
    }
}

/// Returns the host name of a location: the part before its options.
fn name(location: &Location) -> &str {
    location.text.split('?').next().unwrap_or_default()
}

fn host(cx: &mut Cx, place: &Place<'_>, graph: &Graph<'_>, location: &Location) -> Option<usize> {
    let found = graph.find_host(cx, &place.key("ports"), name(location))?;
    if graph.nodes[found].ports.is_empty() {
        cx.error(place, format!("host `{}` has no link to send by", name(location)));
        return None;
    }
    Some(found)
}

/// Gives the host's station the plan of the generator port, from the start on. Its link stays as it
/// is.
fn take_over(target: &mut StationPlan, station: StationPlan, start: Instant) {
    let begin = |plan: TransportPlan| TransportPlan { start, ..plan };
    target.mac = station.mac;
    target.flow_control = station.flow_control;
    target.backlog = station.backlog;
    target.expects = station.expects;
    target.senders = station.senders.into_iter().map(begin).collect();
    target.receivers = station.receivers.into_iter().map(begin).collect();
    target.tester = station.tester;
    target.tester.start = Some(start);
}

/// Warns of ports with OTG captures, which a lab does not write, unless the lab records the link.
pub(super) fn warn_of_captures(
    cx: &mut Cx,
    place: &Place<'_>,
    tester: &LabTester,
    graph: &Graph<'_>,
    record: &Record,
) {
    for (port, host) in tester.plan.ports.iter().zip(&tester.hosts) {
        let Some(link) = graph.nodes[host.index()].ports.first() else { continue };
        let recorded = record.pcapng.iter().any(|(recorded, _)| recorded.index() == *link);
        if port.capture.is_some() && !recorded {
            let what = format!(
                "port {}: nothing is captured in a lab; name the link of its host under \
                 `record.pcapng` to have all that goes over it in a file",
                port.name
            );
            cx.warn(&place.key("otg"), what);
        }
    }
}

/// Returns the generator's addresses and their hosts, for the switches' tables: networks with loops
/// must not flood, unless all switches `learn`.
pub(super) fn addresses(
    cx: &mut Cx,
    place: &Place<'_>,
    tester: &LabTester,
    learn: bool,
) -> BTreeMap<Mac, NodeId> {
    if !learn {
        warn_of_unlisted(cx, place, tester);
    }
    let mut found = BTreeMap::new();
    for (port, host) in tester.plan.ports.iter().zip(&tester.hosts) {
        found.insert(port.mac, *host);
        found.extend(port.interfaces.iter().map(|interface| (interface.mac, *host)));
    }
    for flow in &tester.plan.flows {
        let receiver = flow.rx.first().map(|port| tester.hosts[*port]);
        // The destination is at offset 0 of a frame, the source behind it.
        let ends = [(0, receiver), (ADDRESS, Some(tester.hosts[flow.tx]))];
        for (offset, host) in ends {
            let Some(host) = host else { continue };
            for mac in macs(flow, offset) {
                let before = found.insert(mac, host);
                if before.is_some_and(|before| before != host) {
                    let what = format!(
                        "flow {}: {mac} would be the address of two hosts, so no switch knows \
                         where it is; give each port's flows addresses of their own",
                        flow.name
                    );
                    cx.error(&place.key("otg"), what);
                }
            }
        }
    }
    found
}

/// Gives the switches that have their hosts' addresses those of the generator, at the ports of its hosts.
pub(super) fn place_addresses(
    graph: &Graph<'_>,
    addresses: &BTreeMap<Mac, NodeId>,
    nodes: &mut [NodePlan],
) {
    let own = |host: &NodeId| super::graph::mac(graph.host_number(host.index()));
    let own: Vec<_> = addresses.iter().map(|(mac, host)| (*mac, own(host))).collect();
    for node in nodes {
        let NodeKind::Switch(plan) = &mut node.kind else { continue };
        let bridge = &mut plan.bridge;
        // Hosts are in the order of their addresses.
        let entry = |(mac, own): &(Mac, Mac)| {
            let n = bridge.statics.binary_search_by_key(own, |entry| entry.mac).ok()?;
            Some(StaticEntry { mac: *mac, ..bridge.statics[n] })
        };
        let statics: Vec<_> = own.iter().filter_map(entry).collect();
        // The host's own address is replaced where the generator uses it, too: an address has one port.
        bridge.statics.retain(|entry| !addresses.contains_key(&entry.mac));
        bridge.statics.extend(statics);
        let several = |(mac, own): &(Mac, Mac)| {
            let n = bridge.spread.binary_search_by_key(own, |entry| entry.mac).ok()?;
            Some(SpreadEntry { mac: *mac, ..bridge.spread[n].clone() })
        };
        let spread: Vec<_> = own.iter().filter_map(several).collect();
        bridge.spread.retain(|entry| !addresses.contains_key(&entry.mac));
        bridge.spread.extend(spread);
        // The table was sized for one address per host.
        bridge.table_size = bridge.table_size.max(bridge.statics.len());
    }
}

/// Warns of flows with more destinations than switches with static addresses are given.
fn warn_of_unlisted(cx: &mut Cx, at: &Place<'_>, tester: &LabTester) {
    for flow in &tester.plan.flows {
        let FlowKind::Stream(stream) = &flow.kind else { continue };
        let edit = stream.template.edits.iter().find(|edit| edit.at == 0);
        let listed = match edit.map(|edit| &edit.values) {
            Some(Values::Increment { count, .. } | Values::Decrement { count, .. })
                if *count > LISTED_MAX =>
            {
                LISTED_MAX
            }
            Some(Values::Random { .. }) => 0,
            _ => continue,
        };
        let what = format!(
            "flow {}: the switches know {listed} of its destination addresses, and flood frames to the others; \
             give it a list, or up to {LISTED_MAX} addresses by `increment`",
            flow.name
        );
        cx.warn(&at.key("otg"), what);
    }
}

/// Most destinations or sources of one flow that switches are given as static addresses.
const LISTED_MAX: u64 = 1_024;

/// Returns the unicast addresses of a flow's frames at an offset.
fn macs(flow: &FlowPlan, offset: usize) -> Vec<Mac> {
    let stream = match &flow.kind {
        FlowKind::Roce(plan) => return vec![if offset == 0 { plan.dst } else { plan.src }],
        FlowKind::Stream(stream) => stream,
    };
    let mac_of = |value: u128| {
        let [.., a, b, c, d, e, f] = value.to_be_bytes();
        Mac([a, b, c, d, e, f])
    };
    let edit = stream.template.edits.iter().find(|edit| usize::from(edit.at) == offset);
    let all: Vec<Mac> = match edit.map(|edit| &edit.values) {
        Some(Values::List(list)) => list.iter().map(|value| mac_of(*value)).collect(),
        Some(Values::Increment { start, step, count }) => (0..(*count).min(LISTED_MAX))
            .map(|n| mac_of(start.wrapping_add(step.wrapping_mul(n.into()))))
            .collect(),
        Some(Values::Decrement { start, step, count }) => (0..(*count).min(LISTED_MAX))
            .map(|n| mac_of(start.wrapping_sub(step.wrapping_mul(n.into()))))
            .collect(),
        Some(Values::Random { .. }) => Vec::new(),
        None => {
            let octets = stream.template.headers.get(offset..offset + ADDRESS);
            let mac = octets.and_then(|octets| octets.try_into().ok()).map(Mac);
            mac.into_iter().collect()
        }
    };
    // A multicast address is no place of a host.
    all.into_iter().filter(|mac| !mac.is_multicast()).collect()
}
