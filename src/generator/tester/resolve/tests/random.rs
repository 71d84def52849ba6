//! Random configurations: the plans of those that resolve are accepted by stations, the others
//! are refused with the path of a field.

use proptest::prelude::*;

use super::*;
use crate::{Punctuality, asked_rates, stations};

/// Usually one of the valid values, sometimes an invalid one.
fn mostly(right: &[Value], wrong: &[Value]) -> impl Strategy<Value = Value> + use<> {
    let (right, wrong) = (right.to_vec(), wrong.to_vec());
    prop_oneof![
        15 => prop::sample::select(right),
        1 => prop::sample::select(wrong),
    ]
}

/// A pattern of a number, sometimes invalid.
fn number() -> impl Strategy<Value = Value> {
    let n = prop_oneof![40 => 0_u32..2, 2 => 0_u32..256, 1 => any::<u32>()];
    let count = prop_oneof![30 => 1_u32..9, 1 => Just(0)];
    (0..7, n, 0_u32..2, count).prop_map(|(kind, n, step, count)| match kind {
        0 => json!({}),
        1 => json!({"values": [n, 1, 0]}),
        2 => json!({"increment": {"start": n, "step": step, "count": count}}),
        3 => json!({"decrement": {"start": n, "step": step, "count": count}}),
        4 => json!({"random": {"min": 0, "max": n, "seed": 1, "count": count}}),
        _ => json!({"value": n}),
    })
}

/// A header with up to three fields set.
fn header() -> impl Strategy<Value = Value> {
    let fields = prop::sample::select(vec![
        ("ethernet", &["ether_type", "pfc_queue"][..]),
        ("ethernet", &["pfc_queue"][..]),
        ("vlan", &["priority", "cfi", "id", "tpid"][..]),
        ("ipv4", &["time_to_live", "identification", "protocol", "total_length"][..]),
        ("ipv6", &["traffic_class", "flow_label", "payload_length", "hop_limit"][..]),
        ("udp", &["src_port", "dst_port", "length"][..]),
        ("tcp", &["src_port", "seq_num", "data_offset", "ctl_syn"][..]),
        ("arp", &["operation", "hardware_type"][..]),
        ("sfcm", &["version", "form", "pause", "length"][..]),
        ("cim", &["add", "vlan_identifier", "length"][..]),
        ("cnm", &["feedback", "length", "ether_type"][..]),
        ("headroom", &["kind", "t1", "p_psn", "compensation"][..]),
        ("pfcpause", &["class_enable_vector", "pause_class_3", "control_op_code"][..]),
        ("ethernetpause", &["time"][..]),
    ]);
    let said = prop::collection::vec((any::<prop::sample::Index>(), number()), 0..3);
    (fields, said).prop_map(|((name, fields), said)| {
        let said: serde_json::Map<_, _> =
            said.into_iter().map(|(i, n)| (fields[i.index(fields.len())].to_owned(), n)).collect();
        json!({ name: said })
    })
}

/// Further settings of a flow, some of them invalid.
fn more() -> impl Strategy<Value = Value> {
    let null = json!(null);
    let size = mostly(
        &[
            json!({"fixed": 300}),
            json!({"increment": {"start": 260, "end": 600, "step": 7}}),
            json!({"random": {"min": 250, "max": 600}}),
            json!({"weight_pairs": {"custom": [{"size": 250, "weight": 2}, {"size": 300}]}}),
            null.clone(),
        ],
        &[
            json!({"fixed": 64}),
            json!({"fixed": 20_000}),
            json!({"random": {"min": 100, "max": 9000}}),
            json!({"increment": {"start": 128, "end": 100}}),
            json!({"weight_pairs": {"predefined": "imix"}}),
        ],
    );
    let rate = mostly(
        &[json!({"pps": 10}), json!({"gbps": 6}), json!({"percentage": 100}), null.clone()],
        &[json!({"pps": 14_880_953}), json!({"percentage": 0.00001})],
    );
    let duration = mostly(
        &[
            json!({"fixed_packets": {"packets": 3, "delay": {"bytes": 100}}}),
            json!({"fixed_seconds": {"seconds": 0.001}}),
            json!({"burst": {"bursts": 2, "packets": 5, "inter_burst_gap": {"nanoseconds": 1}}}),
            json!({"continuous": {"gap": 400}}),
            null.clone(),
        ],
        &[json!({"burst": {"packets": 0}}), json!({"fixed_seconds": {"seconds": -1}})],
    );
    let payload = mostly(
        &[json!({"fixed": {"pattern": "cafe"}}), json!({"choice": "increment_byte"}), null.clone()],
        &[json!({"fixed": {"pattern": ""}})],
    );
    let metrics = mostly(&[json!({"enable": true, "loss": true}), null.clone()], &[null]);
    (size, rate, duration, metrics, payload).prop_map(|(size, rate, duration, metrics, payload)| {
        json!({"size": size, "rate": rate, "duration": duration, "metrics": metrics,
            "payload": payload})
    })
}

fn flows() -> impl Strategy<Value = Vec<Value>> {
    let first = prop_oneof![20 => Just(json!({"ethernet": {}})), 1 => header()];
    let rest = prop::collection::vec(header(), 0..5);
    let names = prop::sample::select(vec!["f", "g", "h", "i", "j", "k", "l", "m"]);
    let one = (first, rest, more(), names).prop_map(|(first, rest, more, name)| {
        let packet = core::iter::once(first).chain(rest).collect();
        let mut flow = flow(packet, more);
        flow["name"] = json!(name);
        flow
    });
    prop::collection::vec(one, 1..3)
}

proptest! {
    #[test]
    fn what_resolves_can_be_sent_and_what_does_not_says_where(flows in flows()) {
        match resolved(&with_flows(json!(flows))) {
            Ok((plan, _)) => {
                let stations = stations(&plan, &asked_rates(&plan), Punctuality::EXACT);
                for station in &stations {
                    prop_assert_eq!(station.check(), Ok(()));
                }
                let streams: usize = stations.iter().map(|s| s.tester.streams.len()).sum();
                prop_assert_eq!(streams, flows.len());
                prop_assert_eq!(plan.flows.len(), flows.len());
            }
            Err(refusal) => {
                prop_assert!(!refusal.errors.is_empty());
                for error in &refusal.errors {
                    prop_assert!(error.starts_with("flows["), "{}", error);
                }
            }
        }
    }

    #[test]
    fn what_a_file_says_is_what_a_client_says(flows in flows()) {
        let config = with_flows(json!(flows));
        let text = serde_json::to_string_pretty(&config).unwrap();
        let file = crate::otg_file::parse("f", &text, &|_| None);
        match (resolved(&config), file) {
            (Ok((plan, _)), Ok((file, _))) => prop_assert_eq!(plan, file.plan),
            (Err(refusal), Err(error)) => {
                let said = |f: &config::Finding| f.mark.is_some() && !f.what.is_empty();
                prop_assert!(error.findings.iter().all(said));
                prop_assert_eq!(refusal.errors.len(), error.findings.len());
            }
            (client, file) => prop_assert!(false, "{:?} and {:?}", client, file),
        }
    }
}
