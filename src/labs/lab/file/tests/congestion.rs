//! Congestion settings that depend on the topology, and warnings of messages that no host obeys.

use super::*;
use ::congestion::isolation::CimType;
use ::congestion::proxy::Senders;
use ::congestion::qcn::ReactionPlan;
use ground::time::Duration;
use host::{SfcPause, StationPlan};
use sim::NodeKind;
use switch::{AttachedKind, SwitchPlan};

fn switch<'a>(lab: &'a Resolved, name: &str) -> &'a SwitchPlan {
    let of_name = |kind: &'a NodeKind| match kind {
        NodeKind::Switch(plan) if plan.name == name => Some(plan),
        _ => None,
    };
    lab.plan.network.nodes.iter().find_map(|node| of_name(&node.kind)).unwrap()
}

fn host<'a>(lab: &'a Resolved, name: &str) -> &'a StationPlan {
    let of_name = |kind: &'a NodeKind| match kind {
        NodeKind::Host(plan) if plan.name == name => Some(plan),
        _ => None,
    };
    lab.plan.network.nodes.iter().find_map(|node| of_name(&node.kind)).unwrap()
}

/// Returns the type of each port's peer, by the port's name.
fn attached(lab: &Resolved, name: &str) -> Vec<(String, AttachedKind)> {
    let plan = switch(lab, name);
    let ports = plan.ports.iter().zip(&plan.congestion.ports);
    ports.map(|(port, attached)| (port.name.clone(), attached.kind)).collect()
}

const LEAVES: &str = "topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2}}\n";

#[test]
fn ports_know_what_they_lead_to() {
    let text = format!(
        "{LEAVES}profiles: {{tor: {{sfc: {{}}, sfc_proxy: {{}}, defaults: {{pfc: {{}}}}}}}}\n\
         nodes: {{hosts: [{{name: h1, sfc: flow}}, {{name: h3, sfc: none}}]}}\n\
         defaults: {{hosts: {{sfc: priority}}}}\n"
    );
    let lab = good(&text).0;
    let expect = [("to_h1", AttachedKind::SfcHost), ("to_h2", AttachedKind::SfcHost)];
    for (name, kind) in expect {
        assert!(attached(&lab, "leaf1").contains(&(name.into(), kind)), "{name}");
    }
    assert!(attached(&lab, "leaf2").contains(&("to_h3".into(), AttachedKind::Host)));
    assert!(attached(&lab, "leaf2").contains(&("to_spine1".into(), AttachedKind::Switch)));
    let pause = |name: &str| host(&lab, name).reactions.sfc.as_ref().map(|sfc| sfc.pause);
    let found = ["h1", "h2", "h3"].map(pause);
    assert_eq!(found, [Some(SfcPause::Flow), Some(SfcPause::Priority), None]);
    // `attached` applies to host ports only.
    let lab = good(&text.replace("pfc: {}", "pfc: {}, attached: auto")).0;
    assert!(attached(&lab, "leaf2").contains(&("to_h3".into(), AttachedKind::Discovered)));
    assert!(attached(&lab, "leaf2").contains(&("to_spine1".into(), AttachedKind::Switch)));
}

#[test]
fn switches_that_isolate_know_each_other_unless_lldp_is_to_find_them() {
    let text = format!(
        "{LEAVES}profiles: {{tor: {{congestion_isolation: {{isolate: {{3: 5}}, min-header-octets: 64}}, \
         defaults: {{pfc: {{}}}}}}}}\n"
    );
    let lab = good(&text).0;
    let peers = &switch(&lab, "leaf1").congestion.isolation.as_ref().unwrap().peers;
    let [(port, peer)] = peers.as_slice() else { panic!("{peers:?}") };
    let spine = switch(&lab, "spine1");
    let far = spine.ports.iter().find(|port| port.name == "to_leaf1").unwrap();
    assert_eq!(switch(&lab, "leaf1").ports[port.index()].name, "to_spine1");
    assert_eq!((peer.cim_type, peer.mac, peer.encap_len), (CimType::L2, far.mac, 64));
    assert_eq!(spine.congestion.isolation.as_ref().unwrap().peers.len(), 2);
    let lab = good(&text.replace("pfc: {}", "pfc: {}, dcbx: {isolation: {}}")).0;
    assert!(switch(&lab, "leaf1").congestion.isolation.as_ref().unwrap().peers.is_empty());
}

#[test]
fn switches_draw_apart() {
    let lab =
        good(&format!("{LEAVES}profiles: {{tor: {{sfc: {{}}, defaults: {{pfc: {{}}}}}}}}\n")).0;
    let seed = |name: &str| switch(&lab, name).congestion.sfc.as_ref().unwrap().point.seed;
    assert!(seed("leaf1") != seed("leaf2") && seed("leaf1") != seed("spine1"));
}

#[test]
fn hosts_obey_as_they_are_told() {
    let text = "topology: {star: {hosts: 3}}\n\
                nodes: {hosts: [{name: h1, sfc: {pause: priority, longest: 50us, accept: [10.0.0.3]}, \
                qcn: standard}, {name: h2, sfc: {}, qcn: {active: 50M, keep_min: 10%}}]}\n";
    let lab = good(text).0;
    let sfc = host(&lab, "h1").reactions.sfc.clone().unwrap();
    assert_eq!((sfc.udp_port, sfc.pause), (58_622, SfcPause::Priority));
    assert_eq!(sfc.longest, Duration::from_micros(50));
    assert!(sfc.senders.accept("10.0.0.3".parse().unwrap()));
    assert!(!sfc.senders.accept("10.0.0.2".parse().unwrap()));
    assert_eq!(host(&lab, "h1").reactions.qcn, Some(ReactionPlan::standard()));
    let sfc = host(&lab, "h2").reactions.sfc.clone().unwrap();
    assert_eq!((sfc.pause, sfc.senders), (SfcPause::Flow, Senders::Anybody));
    let qcn = host(&lab, "h2").reactions.qcn.unwrap();
    assert!(qcn.is_sound() && qcn.keep_min == 10);
    assert_eq!(host(&lab, "h3").reactions, host::ReactionsPlan::default());
}

#[test]
fn what_nobody_would_hear_of_is_said() {
    let lab = |profile: &str, host: &str, transport: &str| {
        let text = format!(
            "topology: {{star: {{hosts: 3}}}}\n\
             profiles: {{tor: {{{profile}, defaults: {{pfc: {{enable: [3]}}}}}}}}\n\
             defaults: {{hosts: {{{host}}}}}\n\
             flows: [{{to: h3, priority: 3, transport: {transport}}}]\n"
        );
        good(&text).1
    };
    for (profile, host, transport, what) in [
        ("sfc: {}", "obey: auto", "roce", "no host obeys source flow control messages"),
        ("qcn: {}", "obey: auto", "udp", "no host obeys the congestion notifications"),
        ("fast_cnp: {}", "obey: auto", "tcp", "`fast_cnp` is for flows of RoCEv2"),
        (
            "fast_cnp: {}",
            "sfc: flow",
            "roce",
            "sends source flow control messages, which `h1` and 1 more",
        ),
        (
            "sfc: {}, sfc_proxy: {}",
            "qcn: {}",
            "udp",
            "sends congestion notifications (QCN), which `h1`",
        ),
        (
            "sfc: {sfcMinHeaderOctets: 200}",
            "sfc: flow",
            "roce",
            "profiles.tor.sfc.sfcMinHeaderOctets: the virtual world keeps 124 bytes",
        ),
    ] {
        let warnings = lab(profile, host, transport);
        assert!(warnings.len() == 1 && warnings[0].contains(what), "{profile}: {warnings:?}");
    }
    let text = "topology: {star: {hosts: 3}}\n\
                profiles: {tor: {sfc: {}, sfc_proxy: {}, defaults: {pause: {}}}}\n";
    let warnings = good(text).1;
    let what = "profiles.tor.sfc_proxy: the proxy pauses hosts by PFC, and no port sends it";
    assert!(warnings.len() == 1 && warnings[0].contains(what), "{warnings:?}");
    for (profile, host, transport) in [
        ("sfc: {}", "sfc: flow", "roce"),
        ("sfc: {}, sfc_proxy: {}", "obey: auto", "udp"),
        ("sfc: {sfcMasterEnable: false}", "obey: auto", "udp"),
        ("qcn: {}", "qcn: {}", "udp"),
        ("fast_cnp: {}", "obey: auto", "roce"),
        ("congestion_isolation: {isolate: {3: 2}}", "obey: auto", "udp"),
    ] {
        assert_eq!(lab(profile, host, transport), Vec::<String>::new(), "{profile}");
    }
    let priority = "sfc: {}, sfc_proxy: {}, defaults: {default_priority: 3, pfc: {enable: [3]}}";
    let text = format!(
        "topology: {{star: {{hosts: 2}}}}\nprofiles: {{tor: {{{priority}}}}}\n\
         flows: [{{from: h1, to: h2, transport: ethernet}}]\n"
    );
    let warnings = good(&text).1;
    assert!(warnings.len() == 1 && warnings[0].contains("frames without IP"), "{warnings:?}");
}
