//! What bad input gets, word for word: `refusals.txt` has each file and all that is said of it.
//!
//! With `SLUICE_BLESS=1` the test writes what is said now into the file, to be read and committed.

use super::*;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/config/tests/refusals.txt");

/// The cases: name, text, and what is said of it.
fn cases(golden: &str) -> Vec<(&str, &str, &str)> {
    golden
        .split("=== ")
        .skip(1)
        .map(|case| {
            let (name, rest) = case.split_once('\n').expect("a name line");
            let (text, said) = rest.split_once("---\n").expect("a line ---");
            (name, text, said.trim_end())
        })
        .collect()
}

#[test]
fn every_refusal_says_where_what_and_what_to_do() {
    let golden = std::fs::read_to_string(PATH).unwrap();
    let mut now = String::new();
    for (name, text, _) in cases(&golden) {
        let said = bad(text).join("\n");
        now.push_str(&format!("=== {name}\n{text}---\n{said}\n\n"));
    }
    if std::env::var_os("SLUICE_BLESS").is_some() {
        std::fs::write(PATH, &now).unwrap();
        return;
    }
    let now = cases(&now);
    for ((name, _, was), (_, _, is)) in cases(&golden).into_iter().zip(now) {
        assert_eq!(was, is, "{name}");
    }
}

#[test]
fn every_refusal_names_a_line() {
    let golden = std::fs::read_to_string(PATH).unwrap();
    let cases = cases(&golden);
    assert!(cases.len() > 60);
    for (name, _, said) in cases {
        for line in said.lines() {
            let place = line.strip_prefix("f.yaml:").and_then(|l| l.split(':').next());
            let placed = place.is_some_and(|l| l.parse::<u32>().is_ok());
            assert!(placed || name == "empty", "{name}: {line}");
        }
    }
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
fn a_core_of_another_machine_is_checked_only_here() {
    let text = "ports: [{device: net_null0, core: 70}]";
    assert_eq!(good(text).0.workers[0].core, Some(70));
    assert!(bad(text)[0].contains("there are: 0, 1"));
}
