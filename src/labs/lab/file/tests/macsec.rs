//! MACsec in labs: configured on links and on nodes.

use super::*;
use ground::units::Mac;
use secure::{PfcAccept, Sci, SecyPlan};
use sim::{NodeKind, NodePlan};

const KEY: &str = "000102030405060708090a0b0c0d0e0f";

/// Returns the address and the SecY of a host, or of a switch's port.
fn secy(node: &NodePlan, port: usize) -> (Mac, Option<&SecyPlan>) {
    match &node.kind {
        NodeKind::Switch(switch) => {
            let port = &switch.ports[port];
            (port.mac, port.secy.as_deref())
        }
        NodeKind::Host(host) => (host.mac, host.secy.as_deref()),
    }
}

fn nodes(text: &str) -> (Vec<NodePlan>, Vec<String>) {
    let (lab, warnings) = good(text);
    (lab.plan.network.nodes, warnings)
}

fn named<'a>(nodes: &'a [NodePlan], name: &str) -> &'a NodePlan {
    nodes.iter().find(|n| n.name() == name).unwrap()
}

fn mirrored(a: (Mac, Option<&SecyPlan>), b: (Mac, Option<&SecyPlan>)) {
    let (Some(one), Some(other)) = (a.1, b.1) else { panic!("an end is plain") };
    assert_eq!(one.sci, Sci { mac: a.0, port: 1 });
    assert_eq!(other.sci, Sci { mac: b.0, port: 1 });
    assert_eq!((one.receive[0].sci, other.receive[0].sci), (other.sci, one.sci));
    assert_eq!(one.receive[0].associations, other.transmit);
    assert_eq!(other.receive[0].associations, one.transmit);
}

#[test]
fn a_link_secures_both_its_ends() {
    let (nodes, warnings) = nodes(&format!(
        "topology: {{parking_lot: {{switches: 2, hosts_per_switch: 1}}}}\n\
         defaults: {{links: {{macsec: {{key: '{KEY}', protect: {{data: false}}}}}}}}\n\
         links: [{{from: s1, to: s2, macsec: {{key: 'f{}'}}}}]",
        &KEY[1..]
    ));
    assert_eq!(warnings, Vec::<String>::new());
    let (s1, s2) = (named(&nodes, "s1"), named(&nodes, "s2"));
    let NodeKind::Switch(switch) = &s1.kind else { panic!() };
    for (n, port) in switch.ports.iter().enumerate() {
        let far = match port.name.as_str() {
            "to_s2" => (s2, {
                let NodeKind::Switch(s2) = &s2.kind else { panic!() };
                s2.ports.iter().position(|p| p.name == "to_s1").unwrap()
            }),
            name => (named(&nodes, &name[3..]), 0),
        };
        mirrored(secy(s1, n), secy(far.0, far.1));
        let plan = port.secy.as_ref().unwrap();
        assert_eq!(plan.protect_data, port.name == "to_s2");
        assert_eq!(plan.accept_pfc, PfcAccept::Protected);
    }
}

#[test]
fn nodes_can_speak_for_themselves() {
    let (nodes, warnings) = nodes(&format!(
        "topology: {{star: {{hosts: 2}}}}\n\
         profiles: {{p: {{defaults: {{pfc: {{}}, macsec: {{key: '{KEY}', accept_pfc: both}}}}}}}}\n\
         defaults: {{hosts: {{macsec: {{key: '{KEY}', use_es: true}}}}}}\n"
    ));
    assert_eq!(warnings, Vec::<String>::new());
    let s1 = named(&nodes, "s1");
    for (n, host) in ["h1", "h2"].into_iter().enumerate() {
        mirrored(secy(s1, n), secy(named(&nodes, host), 0));
    }
    assert_eq!(secy(s1, 0).1.unwrap().accept_pfc, PfcAccept::Both);
}

#[test]
fn ends_that_cannot_understand_each_other_are_said() {
    let star = "topology: {star: {hosts: 1}}\n";
    let host = |macsec: &str| format!("defaults: {{hosts: {{macsec: {{{macsec}}}}}}}\n");
    let profile =
        |macsec: &str| format!("profiles: {{p: {{defaults: {{macsec: {{{macsec}}}}}}}}}\n");
    let key = format!("key: '{KEY}'");
    for (text, what) in [
        (format!("{star}{}", host(&key)), "one end of this link has MACsec"),
        (
            format!(
                "{star}{}{}",
                host(&format!("key: '{KEY}{KEY}', cipher_suite: gcm-aes-256")),
                profile(&key)
            ),
            "different cipher suites",
        ),
        (
            format!("{star}{}{}", host(&key), profile(&format!("key: 'f{}'", &KEY[1..]))),
            "another key",
        ),
    ] {
        let (_, warnings) = nodes(&text);
        assert!(warnings.iter().any(|w| w.contains(what)), "{text}\n{warnings:?}");
    }
}

#[test]
fn links_that_share_an_extended_key_are_said_once() {
    let salt = "salt: e630e81a48de86a21c66fa6d";
    for (hosts, suite, warned) in
        [(3, "gcm-aes-xpn-128", 1), (1, "gcm-aes-xpn-128", 0), (3, "gcm-aes-128", 0)]
    {
        let salt = if suite.contains("xpn") { salt } else { "delay: {}" };
        let (_, warnings) = nodes(&format!(
            "topology: {{star: {{hosts: {hosts}}}}}\n\
             defaults: {{links: {{macsec: {{cipher_suite: {suite}, key: '{KEY}', {salt}}}}}}}\n"
        ));
        let said = warnings.iter().filter(|w| w.contains("another key"));
        assert_eq!(said.count(), warned, "{warnings:?}");
    }
}

#[test]
fn headroom_of_a_secured_link_counts_its_frames_and_its_delays() {
    let given = |macsec: &str| {
        let text = format!(
            "topology: {{star: {{hosts: 2}}}}\nprofiles: {{p: {{buffer: {{cell: 1}}, \
             defaults: {{pfc: {{enable: [3]}}}}}}}}\ndefaults: {{links: {{{macsec}}}}}\n"
        );
        let (lab, _) = good(&text);
        lab.headroom[0].1.required.cells.0
    };
    let plain = given("");
    let pfc = format!("macsec: {{key: '{KEY}', protect: {{data: false}}}}");
    assert!((20..=24).contains(&(given(&pfc) - plain)));
    // A nanosecond at 100 Gb/s is 12.5 bytes on the line, overhead included.
    let delay = format!("macsec: {{key: '{KEY}', delay: {{tx: 500ns, rx: 300ns}}}}");
    let frames = 1_526.0 / (1_526.0 + 20.0 + 24.0);
    let more = f64::from(given(&delay) - given(&format!("macsec: {{key: '{KEY}'}}")));
    assert!((more - 20_000.0 * frames).abs() < 2.0, "{more}");
}
