//! Golden tests of configuration errors.

use super::*;
use file::{testquoted, testrefusals};

const GOLDEN: &str = "src/files/config/tests/refusals.txt";

#[test]
fn every_refusal_says_where_what_and_what_to_do() {
    testrefusals::hold(GOLDEN, 60, |text| bad(text).join("\n"));
}

#[test]
fn no_text_of_a_file_comes_back_longer_than_a_message_quotes() {
    let said = |text: &str| match parse("f.yaml", text, &Machine::any()) {
        Ok((_, warnings)) => warnings.iter().map(|w| w.line("f.yaml")).collect(),
        Err(error) => error.to_string().lines().map(str::to_owned).collect(),
    };
    testquoted::hold(GOLDEN, "configs/switch", Some(&switch_schema()), 3_000, said);
    // Refused before a tree is built.
    for hostile in ["x".repeat(1 << 20), format!("a: &{0} [*{0}]", "x".repeat(70_000))] {
        let said = said(&format!("ports: [{{device: {hostile}}}]\n"));
        assert!(!said.is_empty() && said.iter().all(|line| line.len() < 400), "{said:?}");
    }
}

#[test]
fn one_cause_at_many_ports_is_one_finding() {
    let of = |ports: usize| {
        let port = |n| format!("  - {{device: net_null{n}, mac: \"01:00:00:00:00:01\"}}\n");
        let text = format!("ports:\n{}", (0..ports).map(port).collect::<String>());
        crate::parse("f.yaml", &text, &Machine::any()).unwrap_err().findings
    };
    assert_eq!(of(3).len(), 3, "a few are told at their places");
    let [one] = &of(30)[..] else { panic!("{:?}", of(30)) };
    assert_eq!(one.path, "ports[0].mac");
    assert!(one.what.ends_with("(and at 29 other places)"), "{}", one.what);
}

#[test]
fn warnings_do_not_refuse() {
    let text = "ports: [{device: net_null0, pfc: {enable: [3]}, maps: {priority_to_queue: {4: 3}},\n\
                watchdog: {detection: 1ms}}]\nobserve: {prometheus: '0.0.0.0:9464'}\n\
                routing: {interfaces: [{vlan: 1, addresses: [10.0.0.1/24]}],\n\
                routes: [{to: 0.0.0.0/0, via: 10.0.0.2}]}\n";
    let (_, warnings) = good(text);
    let all = warnings.join("\n");
    for part in [
        "f.yaml:1:75: ports[0].maps.priority_to_queue: port net_null0 queue 3 is shared by \
         priorities 3 and 4",
        "f.yaml:2:23: ports[0].watchdog.detection: 1ms is less than the longest pause",
        "f.yaml:3:23: observe.prometheus: 0.0.0.0:9464 is open to the network",
        "f.yaml:5:31: routing.routes[0].via: 10.0.0.2 is no neighbour yet",
    ] {
        assert!(all.contains(part), "{part}\nis not in\n{all}");
    }
}

#[test]
fn settings_of_a_queue_that_is_not_monitored_are_kept_for_a_later_mask() {
    let ports = "ports: [{device: net_null0, pfc: {enable: [3]}}, {device: net_null1}]\n";
    for (text, part) in [
        (
            "sfc: {sfcMonitoredQueues: [3], queues: {4: {threshold: 10KB}}}\n",
            "f.yaml:1:44: sfc.queues.4: class 4 is not monitored; add it to `sfcMonitoredQueues`",
        ),
        (
            "congestion_isolation: {isolate: {3: 4}, queues: {4: {threshold: 1KB}}}\n",
            "f.yaml:1:53: congestion_isolation.queues.4: class 4 is not monitored; `queue-map` or",
        ),
    ] {
        let (_, warnings) = good(&format!("{text}{ports}"));
        assert!(warnings.iter().any(|warning| warning.contains(part)), "{warnings:?}");
    }
}

#[test]
fn a_port_of_a_host_that_finds_its_headroom_is_warned_of() {
    let text = |attached| {
        format!(
            "ports: [{{device: net_null0, pfc: {{enable: [3]}}, headroom: auto{attached}}}]\nsfc_proxy: {{}}\n"
        )
    };
    let said = |attached| {
        let (_, warnings) = good(&text(attached));
        warnings.into_iter().filter(|w| w.contains("leads to a host")).collect::<Vec<_>>()
    };
    for attached in [", attached: host", ", attached: sfc_host"] {
        let warnings = said(attached);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].starts_with("f.yaml:1:")
                && warnings[0].contains(": ports[0].headroom: port net_null0 leads"),
            "{warnings:?}"
        );
    }
    assert!(said(", attached: switch").is_empty() && said("").is_empty());
}

#[test]
fn a_core_of_another_machine_is_checked_only_here() {
    let text = "ports: [{device: net_null0, core: 70}]";
    assert_eq!(good(text).0.workers[0].core, Core::Number(70));
    assert!(bad(text)[0].contains("there are: 0, 1"));
}
