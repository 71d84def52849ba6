//! Random files: valid ones resolve to plans that a network can be built of, others to an error
//! without a panic.

use proptest::prelude::*;

use super::*;
use ::file::testexamples::{ODD, with_character, with_value};
use sim::Network;

fn topology() -> impl Strategy<Value = String> {
    prop_oneof![
        (1u32..9).prop_map(|n| format!("star: {{hosts: {}}}", n + 1)),
        (1u32..4, 0u32..3)
            .prop_map(|(s, h)| format!("parking_lot: {{switches: {s}, hosts_per_switch: {h}}}")),
        (1u32..4, 1u32..3, 1u32..4).prop_map(|(l, s, h)| {
            format!(
                "leaf_spine: {{leaves: {l}, spines: {s}, hosts_per_leaf: {h}, uplink_rate: 400G}}"
            )
        }),
        Just("fat_tree: {k: 4, uplink_length: 300m}".to_owned()),
        (3u32..6).prop_map(|n| format!("ring: {{switches: {n}}}")),
    ]
}

fn link() -> impl Strategy<Value = String> {
    let rate = prop::sample::select(vec!["10G", "25G", "40G", "100G", "200G", "400G", "37G"]);
    let way = prop::sample::select(vec!["length: 3m", "length: 2km", "delay: 500ns", "delay: 1ps"]);
    let more = prop::sample::select(vec![
        "",
        ", phy: none",
        ", response: 5us",
        ", errors: {ber: 1e-9, loss: 0.01%}",
        ", back: {delay: 3us, response: 1us}",
        ", line_overhead: 0, time_step: 1ns",
    ]);
    (rate, way, more).prop_map(|(r, w, m)| format!("{{rate: {r}, {w}{m}}}"))
}

fn profile() -> impl Strategy<Value = String> {
    let cell = prop::sample::select(vec![1, 64, 80, 208, 256]);
    let shared = prop::sample::select(vec!["dynamic_th: -3", "dynamic_th: 0", "static_th: 200KB"]);
    let frame = prop::sample::select(vec![1522, 9216]);
    let more = prop::sample::select(vec![
        "",
        ", queues: {3: {weight: 5, ecn: {}}, 0: {weight: 1}}",
        ", watchdog: {detection: 1ms}",
        ", headroom: auto, lldp: {}",
        ", headroom: {auto: {method: ptp, statistic: p99}}, dcbx: {ets: {recommend: none}}",
        ", maps: {dscp_to_priority: {10: 3}}",
    ]);
    (cell, shared, frame, more).prop_map(|(c, s, f, m)| {
        format!(
            "{{max_frame: {f}, buffer: {{cell: {c}, profiles: {{p: {{shared: {{{s}}}, lossless: \
             {{}}}}}}}}, defaults: {{pfc: {{enable: [3, 4]}}, priority_groups: {{3: p}}{m}}}}}"
        )
    })
}

fn flow() -> impl Strategy<Value = String> {
    let rate = prop::sample::select(vec!["100%", "0.01%", "3G", "1000pps", "{percentage: 12.5}"]);
    let duration = prop::sample::select(vec![
        "continuous",
        "{frames: 10}",
        "{bytes: 1MB}",
        "{seconds: 20us}",
        "{bytes: hadoop}",
    ]);
    let transport = prop::sample::select(vec![
        "udp",
        "roce",
        "tcp",
        "{roce: {dcqcn: ns3, operation: write, ack_every: 4, messages: {bytes: 9000}}}",
        "{tcp: {initial_window: 2, messages: {bytes: 100, every: 1us, count: 3}}}",
        "{roce: {messages: {bytes: hadoop, load: 3%}}}",
        "{tcp: {messages: {bytes: {points: [[10, 0.5], [2KB, 1]]}, load: {receiver: 1%}, count: 9}}}",
        "{roce: {operation: write, messages: {bytes: websearch, every: 50us, count: 7}}}",
    ]);
    let pattern = prop::sample::select(vec![
        "all_to_all",
        "permutation",
        "random",
        "ring",
        "exchange",
        "all_to_all, from: {random: 1}",
        "all_to_all, on_off: {on: 1us, off: 2us, times: exponential}",
    ]);
    (rate, duration, transport, pattern, 0u8..8, 70u32..1500).prop_map(|(r, d, t, p, n, s)| {
        // Messages of a workload have times of their own.
        let stagger = if t.contains("load") || p == "random" { "0s" } else { "100ns" };
        format!(
            "{{pattern: {p}, rate: {r}, duration: {d}, transport: {t}, priority: {n}, size: {s}, \
             stagger: {stagger}}}"
        )
    })
}

fn a_lab() -> impl Strategy<Value = String> {
    (topology(), link(), profile(), prop::collection::vec(flow(), 0..3), any::<u64>()).prop_map(
        |(topology, link, profile, flows, seed)| {
            format!(
                "seed: {seed}\ntopology: {{{topology}}}\nprofiles: {{tor: {profile}}}\n\
                 defaults: {{links: {link}}}\nflows: [{}]\n",
                flows.join(", ")
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn valid_labs_give_networks_and_survive_being_written(text in a_lab()) {
        let (plan, _) = match parse("f", &text) {
            Ok(found) => found,
            Err(e) => {
                // Refused for a rate that the frame size cannot reach, a frame too short for its
                // headers, or a permutation of one host.
                let known = ["rate", "size", "flows["];
                let all = e.findings.iter().all(|f| known.iter().any(|k| f.path.contains(k)));
                prop_assert!(all, "{e}\n{text}");
                return Ok(());
            }
        };
        let network = Network::new(&plan.network, ());
        prop_assert!(network.is_ok(), "{:?}\n{text}", network.err());
        let lab: raw::Lab =
            config::de::from_tree(&config::tree::read(&text, EMPTY).unwrap()).unwrap();
        let json = config::sparse(&lab).to_string();
        let again = parse("f", &json).unwrap().0;
        prop_assert_eq!(format!("{:?}", plan.network), format!("{:?}", again.network));
    }

    #[test]
    fn no_text_panics(text in "[a-z0-9:{}\\[\\], \n\"'&*!|>#-]{0,200}") {
        let _ = (parse("f", &text), is_lab(&text));
    }

    #[test]
    fn no_change_of_a_character_panics(at in 0usize..4000, c in any::<char>(), n in 0usize..9) {
        let (_, text) = example_labs().swap_remove(n);
        let _ = parse("f", &with_character(&text, at, c));
    }

    #[test]
    fn no_change_of_a_value_panics(
        field in 0usize..40, value in prop::sample::select(ODD.to_vec()), n in 0usize..9,
    ) {
        let (_, text) = example_labs().swap_remove(n);
        let _ = parse("f", &with_value(&text, field, value));
    }
}
