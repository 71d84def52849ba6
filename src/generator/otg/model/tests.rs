use serde_json::{Value, json};

use super::config::Speed;
use super::flow::*;
use super::header::*;
use super::pattern::Values;
use super::*;

fn flow(rest: &Value) -> Value {
    let mut flow = json!({"name": "f", "tx_rx": {"port": {"tx_name": "a", "rx_name": "b"}}});
    flow.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    json!({"flows": [flow]})
}

fn first(config: &Value) -> Flow {
    parse::<Config>(config).unwrap().flows.remove(0)
}

fn refused(config: &Value) -> String {
    parse::<Config>(config).unwrap_err().to_string()
}

#[test]
fn a_choice_may_be_left_out_and_numbers_may_be_text() {
    let f = first(&flow(&json!({
        "rate": {"pps": "1000000"},
        "size": {"choice": "fixed"},
        "duration": {"fixed_packets": {"packets": 5.0, "delay": {"nanoseconds": 5}}},
        "packet": [{"choice": "ethernet"}, {"vlan": {"id": {"increment": {"count": 3}}}}],
    })));
    assert_eq!(f.rate, Some(FlowRate::Pps(1_000_000)));
    assert_eq!(f.size, Some(FlowSize::Fixed(64)));
    let Some(FlowDuration::FixedPackets(fixed)) = &f.duration else { panic!("{f:?}") };
    assert_eq!((fixed.packets, fixed.gap), (5, 12));
    assert_eq!(fixed.delay, Some(FlowDelay::Nanoseconds(5.0)));
    assert_eq!(f.packet[0], FlowHeader::Ethernet(FlowEthernet::default()));
    let FlowHeader::Vlan(vlan) = &f.packet[1] else { panic!("{f:?}") };
    let Values::Increment(counter) = &vlan.id.as_ref().unwrap().values else { panic!("{f:?}") };
    assert_eq!((counter.start, counter.step, counter.count), (None, None, 3));
}

#[test]
fn what_is_left_out_has_the_models_defaults() {
    assert_eq!(FlowRate::default(), FlowRate::Pps(1000));
    assert_eq!(FlowSize::default(), FlowSize::Fixed(64));
    assert_eq!(FlowDuration::default(), FlowDuration::Continuous(Continuous::default()));
    assert_eq!(WeightPairs::default(), WeightPairs::Predefined(Mix::Imix));
    let config = json!({"layer1": [{"name": "l", "port_names": ["p"], "speed": "speed_100_gbps"}]});
    let layer1 = &parse::<Config>(&config).unwrap().layer1[0];
    assert_eq!(
        (layer1.mtu, layer1.promiscuous, layer1.speed),
        (1500, true, Some(Speed::Speed100Gbps))
    );
}

#[test]
fn the_choice_says_which_alternative_is_read() {
    let f = first(&flow(&json!({"rate": {"choice": "mbps", "pps": "7", "mbps": "3"}})));
    assert_eq!(f.rate, Some(FlowRate::Mbps(3)));
    let why = refused(&flow(&json!({"rate": {"pps": "7", "mbps": "3"}})));
    assert_eq!(why, "flows[0].rate: has mbps, pps; keep one, or name it in `choice`");
    let why = refused(&flow(&json!({"rate": {"choice": "pps", "mbps": "3"}})));
    assert_eq!(why, "flows[0].rate: `choice` is pps, and it has mbps alone; keep one");
    let why = refused(&flow(&json!({"rate": {"choice": "pps", "pps": 7, "ppps": 3}})));
    let wanted = "flows[0].rate: unknown field `ppps`; did you mean `pps`? known here: ";
    assert!(why.starts_with(wanted), "{why}");
}

#[test]
fn errors_name_the_field_and_what_is_wanted() {
    let cases = [
        (
            json!({"rate": {"pps": -1}}),
            "flows[0].rate.pps: `-1` cannot be here; write a whole number from 0 to \
             18446744073709551615",
        ),
        (
            json!({"rate": {"pps": "many"}}),
            "flows[0].rate.pps: `many` cannot be here; write a whole number from 0 to \
             18446744073709551615",
        ),
        (
            json!({"packet": [{"ipv4": {"src": {"value": "10.0.0"}}}]}),
            "flows[0].packet[0].ipv4\
             .src.value: `10.0.0` cannot be here; write an IPv4 address, such as \
             192.0.2.1",
        ),
        (
            json!({"metrics": {"latency": {"mode": "fast"}}}),
            "flows[0].metrics.latency.mode: `fast` \
             is not known here; write one of store_forward cut_through",
        ),
        (json!({"size": 64}), "flows[0].size: `64` cannot be here; write an object (FlowSize)"),
    ];
    for (wrong, why) in cases {
        assert_eq!(refused(&flow(&wrong)), why);
    }
    assert_eq!(
        refused(&json!({"ports": [{}]})),
        "ports[0]: `name` is missing; it has no default, so add `name: ...`"
    );
    assert_eq!(refused(&json!([])), "a list cannot be here; write an object (Config)");
}

#[test]
fn what_has_no_type_is_listed_by_its_path() {
    let config = flow(&json!({
        "egress_packet": [{"choice": "ethernet"}],
        "packet": [
            {"choice": "ethernet", "ethernet": {"dst": {"auto": "00:00:00:00:00:00"}}},
            {"choice": "gre", "gre": {"protocol": {}}},
            {"ipv4": {"options": [{}], "src": {"auto": {"choice": "dhcp"}}, "dst": null}},
            {"choice": "lacp"},
        ],
        "metrics": {"enable": true, "rx_tx_ratio": null},
    }));
    let config = parse::<Config>(&config).unwrap();
    let mut paths = unsupported(&config);
    paths.sort();
    let ipv4 = "flows[0].packet[2].ipv4";
    assert_eq!(
        paths,
        [
            "flows[0].egress_packet",
            "flows[0].packet[1].gre",
            &format!("{ipv4}.options"),
            &format!("{ipv4}.src.auto"),
            "flows[0].packet[3].lacp",
        ]
    );
    assert!(
        unsupported(&parse::<Config>(&json!({"lags": [], "events": null})).unwrap()).is_empty()
    );
}

#[test]
fn what_is_written_reads_back_the_same_and_has_no_nulls() {
    let config = flow(&json!({
        "rate": {"percentage": 12.5}, "size": {"weight_pairs": {"custom": [{"size": 90}]}},
        "duration": {"burst": {"packets": 4, "inter_burst_gap": {"microseconds": 2}}},
        "packet": [
            {"pfcpause": {"pause_class_3": {"value": 65535}}},
            {"custom": {"bytes": "00ff"}},
            {"udp": {"checksum": {"generated": "bad"}, "src_port": {"random": {"count": 9}}}},
            {"arp": {"operation": {"values": [1, 2]}}},
            {"gre": {"x": [1]}},
        ],
        "payload": {"choice": "increment_word"}, "something": {"else": 1},
    }));
    let read = parse::<Config>(&config).unwrap();
    let written = serde_json::to_value(&read).unwrap();
    assert_eq!(parse::<Config>(&written).unwrap(), read);
    assert!(!written.to_string().contains("null"), "{written}");
    assert_eq!(written["flows"][0]["something"], json!({"else": 1}));
    assert_eq!(written["flows"][0]["rate"], json!({"choice": "percentage", "percentage": 12.5}));
    assert_eq!(written["flows"][0]["payload"], json!({"choice": "increment_word"}));
    assert_eq!(serde_json::to_value(Config::default()).unwrap(), json!({}));
}

#[test]
fn a_file_with_lines_can_be_read_too() {
    let text = "flows:\n- name: f\n  tx_rx: {port: {tx_name: a}}\n  rate: {pps: fast}\n";
    let tree = file::tree::read(text, "").unwrap();
    let finding = file::de::from_tree::<Config>(&tree).unwrap_err();
    assert_eq!(finding.mark.map(|m| m.line), Some(4));
    assert_eq!(finding.path, "flows[0].rate.pps");
}

/// `Pattern` is written by hand, for all messages that are patterns.
#[cfg(feature = "server")]
#[test]
fn a_pattern_reads_each_field_that_a_pattern_has() {
    let pool = prost_reflect::DescriptorPool::decode(crate::proto::DESCRIPTORS).unwrap();
    let patterns = pool
        .all_messages()
        .filter(|m| m.parent_message().is_none() && m.name().starts_with("Pattern"));
    let known = |name: &str| name == "choice" || pattern::ALTERNATIVES.contains(&name);
    let mut seen = 0;
    for field in patterns.flat_map(|pattern| pattern.fields().collect::<Vec<_>>()) {
        assert!(known(field.name()), "{} is unknown to `Pattern`", field.full_name());
        seen += 1;
    }
    assert!(seen > 50, "{seen} fields were compared");
    assert!(!known("shuffle"));
}

#[cfg(feature = "server")]
#[test]
fn descriptors_have_neither_our_options_nor_comments() {
    let pool = prost_reflect::DescriptorPool::decode(crate::proto::DESCRIPTORS).unwrap();
    for file in pool.files() {
        assert_ne!(file.name(), "options.proto");
        assert_eq!(file.file_descriptor_proto().source_code_info, None, "{}", file.name());
    }
    assert_eq!(pool.all_extensions().len(), 0);
    let name = pool.get_message_by_name("otg.Port").unwrap().get_field_by_name("name").unwrap();
    assert_eq!(name.options().unknown_fields().count(), 0);
}
