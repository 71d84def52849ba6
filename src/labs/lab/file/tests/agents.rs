//! Link protocols of labs: initiators, responders, names and addresses.

use super::*;
use crate::NodeOutcome;
use discovery::PfcForm;
use ground::time::Duration;
use ground::units::{BitsPerSec, PrioritySet};
use headroom::Phy;
use link::{AgentsPlan, Method, Preference, Statistic};
use sim::{NodeKind, NodePlan};
use wire::headroom::TimeUnit;

/// Returns the link protocols of a host, or of a switch's port.
fn agents(node: &NodePlan, port: usize) -> Option<&AgentsPlan> {
    match &node.kind {
        NodeKind::Switch(switch) => switch.ports[port].agents.as_ref(),
        NodeKind::Host(host) => host.agents.as_ref(),
    }
}

fn nodes(text: &str) -> Vec<NodePlan> {
    let (lab, mut warnings) = good(text);
    // Host ports with `auto` headroom cause a warning.
    warnings.retain(|warning| !warning.contains("leads to a host"));
    assert_eq!(warnings, Vec::<String>::new());
    lab.plan.network.nodes
}

fn named<'a>(nodes: &'a [NodePlan], name: &str) -> &'a NodePlan {
    nodes.iter().find(|n| n.name() == name).unwrap()
}

#[test]
fn nobody_has_agents_unless_the_file_says_so() {
    for node in nodes("topology: {ring: {switches: 3}}") {
        assert_eq!(agents(&node, 0), None, "{}", node.name());
    }
}

#[test]
fn the_letter_of_the_proposal_is_the_default_of_every_reading() {
    let read = |more: &str, auto: &str| {
        let nodes = nodes(&format!(
            "topology: {{star: {{hosts: 1}}}}\n\
             profiles: {{p: {{defaults: {{pfc: {{}}, headroom: {auto}, dcbx: {{}}, \
             measurement: {{{more}}}}}}}}}"
        ));
        let port = agents(named(&nodes, "s1"), 0).unwrap().clone();
        let is_proposed = matches!(port.dcbx.unwrap().pfc.unwrap().form, PfcForm::Proposed { .. });
        (port.auto.unwrap().statistic, port.measure.unwrap().dialect.pdu.octets(), is_proposed)
    };
    assert_eq!(read("rounds: 7", "auto"), (Statistic::Max, None, false));
    assert_eq!(read("dialect: letter", "auto"), (Statistic::Mean, Some(65), true));
    let own = read("dialect: letter, pdu: 100", "{auto: {statistic: p99}}");
    assert_eq!(own, (Statistic::Percentile(99), Some(100), true));
}

#[test]
fn hosts_answer_a_switch_that_finds_its_headroom() {
    let nodes = nodes(
        "topology: {star: {hosts: 2}}\n\
         profiles: {p: {defaults: {pfc: {}, headroom: auto, measurement: {times: ps, rounds: 7}}}}\n\
         nodes: {hosts: [{name: h2, measurement: {respond: false}}]}",
    );
    let port = agents(named(&nodes, "s1"), 0).unwrap();
    let auto = port.auto.as_ref().unwrap();
    assert_eq!(
        (auto.methods, auto.statistic),
        (Preference::only(Method::RoundTrip), Statistic::Max)
    );
    assert_eq!((auto.cell_bytes, auto.wait), (256, Duration::ZERO));
    assert_eq!((auto.link.interface.phy(), auto.link.cable_m), (Phy::Base100R, 1));
    assert_eq!(port.rate, BitsPerSec::gbps(100));
    assert_eq!(port.measure.as_ref().unwrap().initiate.unwrap().rounds, 7);

    let host = agents(named(&nodes, "h1"), 0).unwrap();
    let measure = host.measure.as_ref().unwrap();
    assert!(measure.respond && measure.initiate.is_none() && host.auto.is_none());
    assert_eq!(measure.dialect.unit, TimeUnit::Picoseconds);
    let NodeKind::Host(station) = &named(&nodes, "h1").kind else { panic!() };
    assert_eq!(host.mac, station.mac);
    // A host that is configured not to answer does not.
    assert_eq!(agents(named(&nodes, "h2"), 0), None);
}

#[test]
fn switches_answer_each_other_by_the_method_that_is_asked_for() {
    let nodes = nodes(
        "nodes: {switches: [{name: a, profile: finds}, {name: b, profile: plain}], hosts: 1}\n\
         links: [{from: a, to: b}, {from: b, to: h1}]\n\
         profiles:\n  plain: {defaults: {pfc: {}}}\n  \
         finds: {defaults: {pfc: {}, headroom: {auto: {method: ptp}}, ptp: {domain: 7}}}",
    );
    let asks = agents(named(&nodes, "a"), 0).unwrap();
    assert!(asks.measure.is_none() && asks.peer_delay.unwrap().interval.is_some());
    let answers = agents(named(&nodes, "b"), 0).unwrap();
    let ptp = answers.peer_delay.unwrap();
    assert!(ptp.respond && ptp.interval.is_none() && ptp.domain == 7);
    assert!(answers.measure.is_none() && answers.auto.is_none());
    assert_eq!(agents(named(&nodes, "b"), 1), None);
    assert_eq!(agents(named(&nodes, "h1"), 0), None);
}

#[test]
fn neighbours_are_told_who_is_who_and_what_each_can_do() {
    let nodes = nodes(
        "topology: {star: {hosts: 2}}\n\
         profiles: {p: {defaults: {pfc: {enable: [3]}, headroom: auto, \
         queues: {0-2: {weight: 1}, 3: {weight: 3}}, dcbx: {pfc: {form: proposed}, \
         applications: [{priority: 3, udp: 4791}]}}}}\n\
         defaults: {hosts: {dcbx: {pfc: {form: proposed}}}}",
    );
    let of = |name, port| agents(named(&nodes, name), port).unwrap();
    let (first, second) = (of("s1", 0), of("s1", 1));
    let lldp = |a: &AgentsPlan| a.lldp.clone().unwrap();
    assert_eq!(lldp(first).chassis, lldp(second).chassis);
    assert_ne!(lldp(first).chassis, first.mac);
    assert_eq!((&*lldp(second).port_id, &*lldp(second).system_name), ("to_h2", "s1"));
    assert_eq!(first.auto.as_ref().unwrap().wait, Duration::from_secs(3));

    let dcbx = second.dcbx.as_ref().unwrap();
    assert_eq!((dcbx.mac, dcbx.internal_delay), (second.mac, Some(Duration::from_picos(614_400))));
    let (pfc, ets) = (dcbx.pfc.unwrap(), dcbx.ets.unwrap());
    assert!(!pfc.willing && !ets.willing && !pfc.macsec_bound);
    assert_eq!(pfc.enable, PrioritySet(1 << 3));
    assert_eq!(ets.local.bandwidth, [17, 17, 16, 50, 0, 0, 0, 0]);
    assert_eq!(ets.local.algorithm, [2, 2, 2, 2, 0, 0, 0, 0]);
    assert_eq!(ets.recommended, Some(ets.local));

    let host = of("h2", 0);
    let (name, dcbx) = (lldp(host), host.dcbx.as_ref().unwrap());
    assert_eq!((&*name.system_name, &*name.port_id), ("h2", "h2-s1"));
    assert_eq!(name.chassis, host.mac);
    assert!(dcbx.pfc.unwrap().willing && dcbx.ets.unwrap().willing);
    // It answers, because the peer sends requests, and advertises that.
    let form = PfcForm::Proposed { round_trip: true, ptp: false, macsec: false };
    assert_eq!(dcbx.pfc.unwrap().form, form);
}

#[test]
fn ends_that_write_differently_are_warned_of() {
    let (_, mut warnings) = good(
        "topology: {star: {hosts: 2}}\n\
         profiles: {p: {defaults: {pfc: {}, headroom: auto}}}\n\
         nodes: {hosts: [{name: h2, measurement: {times: ps}}]}",
    );
    warnings.retain(|warning| !warning.contains("leads to a host"));
    assert_eq!(warnings.len(), 1);
    let said = "f.yaml:3:41: nodes.hosts[0].measurement: h2 and the other end of its link \
                write messages differently, so they measure nothing: say the same `times`, \
                `kinds`, `length`, `rides`, `pdu` and `compensation` on both";
    assert_eq!(warnings[0], said);
}

/// A network whose switches use all congestion functions and whose hosts obey messages, but for
/// one.
const PLACES: &str = "
duration: 8s
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2}}
profiles:
  p:
    sfc: {queues: {3: {}}}
    congestion_isolation: {isolate: {3: 4}}
    sfc_proxy: {}
    defaults: {lldp: {}, attached: auto, pfc: {enable: [3]}}
defaults: {hosts: {lldp: {}, sfc: flow}}
nodes: {hosts: [{name: h2, sfc: none}]}
checks:
  - value: {path: nodes.leaf1.ports.to_h1.agents.topology.level, expect: 1}
  - value: {path: nodes.spine1.ports.to_leaf1.agents.topology.level, expect: 2}
";

#[test]
fn a_lab_finds_its_levels_and_which_hosts_obey() {
    let (lab, _) = good(PLACES);
    let options = crate::Options::default();
    let run = crate::run(&lab.plan, crate::World::Virtual, options, |_| {}).unwrap();
    assert!(run.outcome.is_pass(), "{:#?}", run.outcome.checks);
    let leaf = run.outcome.nodes.iter().find_map(|node| match node {
        NodeOutcome::Switch(switch) if switch.name == "leaf1" => Some(switch),
        _ => None,
    });
    let leaf = leaf.expect("the first leaf");
    let steps = |peer: &str| -> Vec<String> {
        let port = leaf.ports.iter().find(|port| port.peer == peer).expect("a port to it");
        port.steps.iter().map(|step| step.what.clone()).collect()
    };
    assert!(steps("h1").iter().any(|step| step.starts_with("SFC: the host obeys messages")));
    assert!(!steps("h2").iter().any(|step| step.starts_with("SFC")));
}

#[test]
fn a_port_of_a_host_that_finds_its_headroom_is_warned_of_once_for_each_profile() {
    let text = "profiles: {a: {defaults: {pfc: {enable: [3]}, headroom: {auto: {limit: 2}}}}, b: {}}\n\
                defaults: {links: {rate: 10G, length: 100m}}\n\
                nodes: {switches: [{name: s1, profile: a}, {name: s2, profile: a}, {name: s3, profile: b}],\n\
                \x20 hosts: [h1, h2, h3]}\n\
                links: [{from: s1, to: h1}, {from: s1, to: h2}, {from: s1, to: s2}, {from: s2, to: s3},\n\
                \x20 {from: s3, to: h3}]\n";
    let said = |text: &str| {
        let of_hosts = |w: &String| w.contains("leads to a host");
        good(text).1.into_iter().filter(of_hosts).collect::<Vec<_>>()
    };
    let warnings = said(text);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    for part in [
        "f.yaml:1:",
        "profiles.a.defaults.headroom: port to_h1 of s1 leads to a host",
        "headroom.auto.limit",
    ] {
        assert!(warnings[0].contains(part), "{part}: {warnings:?}");
    }
    // Links between switches cause no warning.
    let between = text.replace(
        "{from: s1, to: h1}, {from: s1, to: h2}, ",
        "{from: s3, to: h1}, {from: s3, to: h2}, ",
    );
    assert_eq!(said(&between), [] as [String; 0]);
    assert_eq!(said(&text.replace("headroom: {auto: {limit: 2}}", "headroom: computed")).len(), 0);
}
