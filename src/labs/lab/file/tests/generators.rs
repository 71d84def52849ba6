//! Traffic generators in labs: plans and refusals.

use super::*;
use host::FlowId;
use sim::NodeKind;

/// Returns a lab with a generator of two flows between h1 and h2, followed by `more`.
fn lab(otg: &str, more: &str) -> String {
    format!(
        "
topology: {{star: {{hosts: 3}}}}
defaults: {{links: {{rate: 10G}}}}
otg:
{otg}
  config:
    ports: [{{name: p1, location: h1}}, {{name: p2, location: h2}}]
    flows:
      - name: there
        tx_rx: {{port: {{tx_name: p1, rx_names: [p2]}}}}
        packet: [{{ethernet: {{src: {{value: \"02:00:00:00:00:a1\"}}, dst: {{value: \"02:00:00:00:00:a2\"}}}}}}]
        metrics: {{enable: true}}
      - name: back
        tx_rx: {{port: {{tx_name: p2, rx_names: [p1]}}}}
        packet: [{{ethernet: {{src: {{value: \"02:00:00:00:00:a2\"}}, dst: {{value: \"02:00:00:00:00:a1\"}}}}}}]
        metrics: {{enable: true}}
{more}
"
    )
}

fn refusal(text: &str) -> String {
    match examine("f.yaml", text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn hosts_become_ports_and_switches_know_their_addresses() {
    let more = "nodes: {hosts: [h4]}\nlinks: [{from: h4, to: s1}]\nflows: [{from: h3, to: h4}]";
    let (lab, warnings) = good(&lab("", more));
    assert_eq!(warnings, Vec::<String>::new());
    let tester = lab.plan.tester.as_ref().unwrap();
    assert_eq!(tester.rates, [ground::units::BitsPerSec::gbps(10); 2]);
    // Numbers of the lab's flows follow those of the generator's.
    assert_eq!(lab.plan.flows[0].id, FlowId(2));
    for (host, sends) in tester.hosts.iter().zip([0, 1]) {
        let NodeKind::Host(station) = &lab.plan.network.nodes[host.index()].kind else { panic!() };
        assert_eq!(station.tester.streams[0].id, FlowId(sends));
        assert!(station.tester.start.is_some() && station.flows.is_empty());
    }
    let switches = lab.plan.network.nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::Switch(switch) => Some(switch),
        NodeKind::Host(_) => None,
    });
    for switch in switches {
        let known: Vec<String> = switch.bridge.statics.iter().map(|s| s.mac.to_string()).collect();
        for mac in ["02:00:00:00:00:a1", "02:00:00:00:00:a2", "02:00:00:00:00:03"] {
            assert!(known.iter().any(|k| k == mac), "{mac} in {known:?}");
        }
    }
}

fn many(count: u32) -> String {
    format!(
        "dst: {{increment: {{start: \"02:00:00:01:00:00\", step: \"00:00:00:00:00:01\", count: {count}}}}}"
    )
}

/// Frames to the others are flooded, which is not what the author of a loss-free network has in mind.
#[test]
fn destinations_that_switches_are_not_told_of_are_said() {
    let to = |dst: &str| lab("", "").replacen("dst: {value: \"02:00:00:00:00:a2\"}", dst, 1);
    assert_eq!(good(&to(&many(1_024))).1, Vec::<String>::new());
    let learning = to(&many(1_025)) + "profiles: {tor: {bridge: {}}}\n";
    assert_eq!(good(&learning).1, Vec::<String>::new());
    for (dst, part) in [
        (many(1_025), "flow there: the switches know 1024 of its destination addresses"),
        (
            "dst: {random: {min: \"02:00:00:01:00:00\", max: \"02:00:00:01:00:09\", count: 9}}"
                .to_owned(),
            "flow there: the switches know 0 of",
        ),
    ] {
        let warnings = good(&to(&dst)).1;
        assert!(warnings.len() == 1 && warnings[0].contains(part), "{warnings:?}");
    }
}

#[test]
fn what_a_generator_cannot_have_is_refused() {
    let text = lab("", "");
    let cases = [
        (text.replace("location: h2", "location: h9"), "h9"),
        (text.replace("location: h2", "location: s1"), "`s1` is a switch"),
        (text.replace("tx_name: p2", "tx_name: p7"), "p7"),
        (text.replace("\"02:00:00:00:00:a1\"}, dst", "\"02:00:00:00:00:a2\"}, dst"), "two hosts"),
        (lab("", "flows: [{name: own, from: h1, to: h3}]"), "`h1` is a port of `otg`"),
        (lab("  file: nowhere.yaml", ""), "leave out one of them"),
        (lab("  ports: {p9: h3}", ""), "no port `p9`"),
        ("topology: {star: {hosts: 2}}\notg: {}".into(), "a generator has a `file`"),
        ("topology: {star: {hosts: 2}}\notg: {file: nowhere.yaml}".into(), "nowhere.yaml"),
    ];
    for (text, says) in cases {
        let error = refusal(&text);
        assert!(error.contains(says), "{says} in\n{error}");
    }
    let slow = text.replace(
        "    flows:\n",
        "    layer1: [{name: l, port_names: [p1], speed: speed_1_gbps}]\n    flows:\n",
    );
    assert!(refusal(&slow).contains("the link of its host runs at"), "{}", refusal(&slow));
}

#[test]
fn a_capture_is_passed_over_with_a_warning_unless_the_lab_records_its_link() {
    let captured = |more| {
        lab("", more)
            .replace("    flows:\n", "    captures: [{name: c, port_names: [p1]}]\n    flows:\n")
    };
    let (_, warnings) = good(&captured(""));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("port p1: nothing is captured in a lab"), "{warnings:?}");
    let record = "record: {pcapng: [{link: h1-s1, file: h1.pcapng}]}";
    assert_eq!(good(&captured(record)).1, Vec::<String>::new());
}

#[test]
fn a_resolved_lab_takes_a_generator_as_if_its_file_had_it() {
    let text = lab("", "");
    let fabric = text.replace(
        "{star: {hosts: 3}}",
        "{leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2}}\nequal_cost: flow",
    );
    let cases = [
        text.replace("location: h2", "location: h9"),
        text.replace("location: h2", "location: s1"),
        text.replace("tx_name: p2", "tx_name: p7"),
        text.replace("\"02:00:00:00:00:a1\"}, dst", "\"02:00:00:00:00:a2\"}, dst"),
        // Addresses that hosts of the lab have, too, the second one another host.
        text.replace("00:a1", "00:01").replace("00:a2", "00:03"),
        fabric,
        lab("", "profiles: {learning: {bridge: {}}}"),
        text.replacen("dst: {value: \"02:00:00:00:00:a2\"}", &many(1_025), 1),
        text,
    ];
    let (mut accepted, mut warned) = (0, 0);
    for text in cases {
        let mut raw = raw_lab("f.yaml", &config::tree::read(&text, EMPTY).unwrap()).unwrap();
        let whole = resolve_raw(&raw);
        let config = raw.otg.take().and_then(|otg| otg.config).unwrap();
        let mut lab = resolve_raw(&raw).unwrap().0;
        let set = crate::set_tester(&mut lab, &::otg::model::parse(&config).unwrap());
        match (whole, set) {
            (Ok((whole, said)), Ok(warnings)) => {
                assert_eq!(format!("{whole:?}"), format!("{lab:?}"), "{text}");
                let texts = |all: &[config::Warning]| -> Vec<String> {
                    let of_flows = all.iter().filter(|warning| warning.path.starts_with("otg"));
                    of_flows.map(|warning| warning.what.clone()).collect()
                };
                assert_eq!(texts(&said), texts(&warnings), "{text}");
                warned += warnings.len();
                accepted += 1;
            }
            (whole, set) => {
                assert_eq!(whole.unwrap_err().to_string(), set.unwrap_err().to_string())
            }
        }
    }
    assert_eq!(accepted, 5);
    assert!(warned > 0, "the flow with more addresses than switches are given");
}
