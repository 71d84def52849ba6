//! The plans of valid configurations.

use super::*;
use crate::plan::{CaptureFormat, FlowPlan, LatencyMode, Obeys, Part, Place};
use ground::time::Duration;
use ground::units::{BitsPerSec, Mac, Priority, PrioritySet, Quanta};
use host::Rate;
use host::plan::stream::{Burst, Edit, Limit, Path, Sizes, Values};
use host::{Operation, Transport, TransportPlan};
use wire::EtherType;

fn priority(n: u8) -> Path {
    Path::Data(Priority::new(n).unwrap())
}

/// An Ethernet header with these fields.
fn ethernet(fields: Value) -> Value {
    json!([{ "ethernet": fields }, {"ipv4": {}}, {"udp": {}}])
}

fn sent(flow: &FlowPlan) -> &StreamPlan {
    match &flow.kind {
        FlowKind::Stream(stream) => stream,
        FlowKind::Roce(_) => panic!("no stream"),
    }
}

#[test]
fn patterns_become_edits_at_their_bits() {
    let values = json!({"values": ["02:00:00:00:00:01", "02:00:00:00:00:02"]});
    let packet = json!([
        {"ethernet": {"src": values, "pfc_queue": {"value": 0}}},
        {"vlan": {"id": {"increment": {"start": 100, "step": 2, "count": 4}}}},
        {"ipv4": {"dst": {"decrement": {"start": "10.0.0.9", "count": 3}},
                  "identification": {"random": {"min": 5, "max": 90, "seed": 7, "count": 10}}}},
        {"udp": {"src_port": {"increment": {"count": 1}}, "dst_port": {"values": [7, 7]}}}
    ]);
    let s = stream(packet, json!({"size": {"fixed": 128}}));
    let edit = |at, skip, bits, values| Edit { at, skip, bits, values };
    assert_eq!(
        s.template.edits,
        [
            edit(6, 0, 48, Values::List(vec![0x0200_0000_0001, 0x0200_0000_0002])),
            edit(14, 4, 12, Values::Increment { start: 100, step: 2, count: 4 }),
            edit(22, 0, 16, Values::Random { min: 5, max: 90, count: 10, seed: 7 }),
            edit(34, 0, 32, Values::Decrement { start: 0x0a00_0009, step: 1, count: 3 }),
        ]
    );
    assert_eq!(s.template.headers[14..16], [0, 100]);
    let any = json!({"random": {"seed": 0, "count": 2}});
    let draw = || stream(ethernet(json!({})), json!({})).template;
    assert_eq!(draw(), draw());
    let packet = json!([{"ethernet": {}}, {"ipv4": {}}, {"tcp": {"src_port": any}}]);
    let seed = || stream(packet.clone(), json!({"size": {"fixed": 128}})).template.edits;
    assert_ne!(seed(), seed(), "a seed of 0 is another one each time");
}

#[test]
fn a_flow_is_sent_by_its_queue_else_by_what_its_frames_say() {
    let of = |packet: Value| stream(packet, json!({"size": {"fixed": 128}})).path;
    let dscp = json!({"priority": {"dscp": {"phb": {"value": 46}}}});
    assert_eq!(of(json!([{"ethernet": {}}])), priority(0));
    assert_eq!(of(json!([{"ethernet": {}}, {"ipv4": dscp}])), priority(5));
    let tag = json!({"priority": {"value": 3}});
    assert_eq!(of(json!([{"ethernet": {}}, {"vlan": tag}, {"ipv4": dscp}])), priority(3));
    let queue = json!({"pfc_queue": {"value": 6}});
    assert_eq!(of(json!([{"ethernet": queue}, {"vlan": tag}, {"ipv4": dscp}])), priority(6));
    assert_eq!(
        of(json!([{"ethernet": {}}, {"ipv6": {"traffic_class": {"value": 0xe3}}}])),
        priority(7)
    );
    assert_eq!(of(json!([{"pfcpause": {}}])), Path::Control);
}

#[test]
fn layer_1_says_which_priority_stops_which_queue() {
    let mut config =
        with_flows(json!([flow(ethernet(json!({"pfc_queue": {"value": 2}})), json!({}))]));
    let all: serde_json::Map<_, _> = (0..8).map(|n| (format!("pfc_class_{n}"), json!(n))).collect();
    let obeys = |config: &Value| {
        let plan = good(config);
        (plan.ports[0].obeys, plan.ports[0].pause_delay, sent(&plan.flows[0]).path)
    };
    assert_eq!(obeys(&config), (Obeys::Nothing, Quanta(0), priority(2)));
    config["layer1"][0]["flow_control"] = json!({"ieee_802_1qbb": {"pfc_delay": 9}});
    assert_eq!(obeys(&config), (Obeys::Pfc(PrioritySet::ALL), Quanta(9), priority(2)));
    // A client that cannot omit a class names all eight; the location restricts them.
    config["layer1"][0]["flow_control"] = json!({"ieee_802_1qbb": all});
    config["ports"][0]["location"] = json!("ring:r.a?pfc=3,4");
    assert_eq!(obeys(&config).0, Obeys::Pfc(PrioritySet(0x18)));
    config["layer1"][0]["flow_control"] = json!({"ieee_802_1qbb": {"pfc_class_2": 4}});
    assert_eq!(obeys(&config), (Obeys::Pfc(PrioritySet(0x10)), Quanta(0), priority(4)));
    config["layer1"][0]["flow_control"] = json!({"choice": "ieee_802_3x", "ieee_802_3x": {}});
    assert_eq!(obeys(&config).0, Obeys::Pause);
}

#[test]
fn sizes_rates_and_durations_are_taken_as_they_are() {
    let s = stream(ethernet(json!({})), json!({}));
    assert_eq!((s.sizes, s.pace.rate, s.pace.gap), (Sizes::Fixed(64), Rate::Frames(1000), 12));
    assert_eq!((s.limit, s.delay, s.pace.burst), (Limit::default(), Duration::ZERO, None));
    let mix = json!({"size": {"weight_pairs": {"predefined": "imix"}}, "rate": {"mbps": "500"}});
    let s = stream(ethernet(json!({})), mix);
    assert_eq!(s.sizes, Sizes::Weighted(vec![(64, 7.0), (570, 4.0), (1518, 1.0)]));
    assert_eq!(s.pace.rate, Rate::FrameBits(BitsPerSec::new(500_000_000).unwrap()));
    let share = json!({"rate": {"percentage": 12.5}, "duration": {"burst": {
        "bursts": 3, "packets": 10, "gap": 20, "inter_burst_gap": {"bytes": 1250.0},
        "delay": {"nanoseconds": 30.0}}}});
    let s = stream(ethernet(json!({})), share);
    assert_eq!((s.pace.rate, s.pace.gap), (Rate::LineShare(125_000), 20));
    // 1250 bytes at 10 Gb/s.
    assert_eq!(s.pace.burst, Some(Burst { frames: 10, gap: Duration::from_micros(1) }));
    assert_eq!(s.limit, Limit { frames: Some(30), time: None });
    assert_eq!(s.delay, Duration::from_nanos(30));
    let some = json!({"duration": {"fixed_packets": {"packets": 7, "gap": 0,
        "delay": {"microseconds": 2.5}}}});
    let s = stream(ethernet(json!({})), some);
    assert_eq!((s.limit.frames, s.pace.gap), (Some(7), 12));
    assert_eq!(s.delay, Duration::from_nanos(2500));
    // The longest gap there is, which the rate must not count as a short one.
    let apart = json!({"duration": {"fixed_packets": {"packets": 2, "gap": u32::MAX}}});
    let (_, warnings) = resolved(&with_flows(json!([flow(ethernet(json!({})), apart)]))).unwrap();
    assert!(
        warnings.len() == 1 && warnings[0].contains("gaps of 4294967295 octets"),
        "{warnings:?}"
    );
    let s = stream(ethernet(json!({})), json!({"duration": {"fixed_seconds": {"seconds": 0.5}}}));
    assert_eq!(s.limit.time, Some(Duration::from_millis(500)));
}

/// On a slow line a flow waits longer for the frames of the others than on a fast one, and sends no fewer for it.
#[test]
fn flows_that_fill_a_slow_line_keep_their_rates() {
    let sizes = [64, 570, 1518, 64, 570, 1518, 64, 570];
    let flows = sizes.into_iter().enumerate().map(|(n, size)| {
        let more = json!({"name": format!("f{n}"), "size": {"fixed": size}, "rate": {"percentage": 12.5},
            "duration": {"fixed_seconds": {"seconds": 1.0}}, "metrics": {"enable": true}});
        flow(ethernet(json!({})), more)
    });
    let mut config = with_flows(flows.collect());
    config["layer1"][0]["speed"] = json!("speed_10_fd_mbps");
    let plan = good(&config);
    let mut runner = crate::virtual_run::VirtualTest::new(plan.clone()).unwrap();
    let limits = crate::drive::Limits { duration: None, drain: Duration::from_millis(10) };
    let ran = crate::drive::drive(&plan, &mut runner, limits, |_, _| true).unwrap();
    let sent = ran.findings.iter().filter(|finding| finding.what.starts_with("sent "));
    assert!(
        sent.clone().count() == 8 && sent.clone().all(|f| f.verdict.is_pass()),
        "{:?}",
        ran.findings
    );
}

/// The last frame is sent as a step of the run ends, and arrives in the next one.
#[test]
fn the_last_frame_of_a_flow_that_is_not_counted_arrives_before_the_end() {
    for rate in [1, 10, 100, 1000] {
        for is_counted in [false, true] {
            let more = json!({"name": "f", "size": {"fixed": 512}, "rate": {"pps": rate},
                "duration": {"fixed_packets": {"packets": 2}}, "metrics": {"enable": is_counted}});
            let plan = good(&with_flows(json!([flow(ethernet(json!({})), more)])));
            let mut runner = crate::virtual_run::VirtualTest::new(plan.clone()).unwrap();
            let limits = crate::drive::Limits { duration: None, drain: Duration::from_secs(2) };
            let ran = crate::drive::drive(&plan, &mut runner, limits, |_, _| true).unwrap();
            let [from, to] = &ran.report.ports[..] else { panic!("{:?}", ran.report.ports) };
            assert_eq!((from.frames_tx, to.frames_rx), (2, 2), "{rate}/s, counted: {is_counted}");
        }
    }
}

#[test]
fn frames_of_a_predefined_mix_grow_to_what_they_need() {
    let packet = json!([{"ethernet": {}}, {"vlan": {}}, {"ipv4": {}}, {"udp": {}}]);
    let mix =
        json!({"size": {"weight_pairs": {"predefined": "imix"}}, "metrics": {"enable": true}});
    let (plan, warnings) = resolved(&with_flows(json!([flow(packet, mix)]))).unwrap();
    let FlowKind::Stream(stream) = &plan.flows[0].kind else { panic!("{plan:?}") };
    assert_eq!(stream.sizes, Sizes::Weighted(vec![(68, 7.0), (570, 4.0), (1518, 1.0)]));
    assert!(warnings[0].contains("64 octets of the mix are sent with 68"), "{warnings:?}");
}

#[test]
fn frames_grow_to_what_they_need_only_if_no_size_is_said() {
    let latency = json!({"enable": true, "mode": "cut_through"});
    let probe = json!({"metrics": {"enable": true, "loss": true, "latency": latency}});
    let s =
        stream(json!([{"ethernet": {}}, {"vlan": {}}, {"ipv6": {}}, {"tcp": {}}]), probe.clone());
    assert_eq!((s.sizes, s.template.probe_at), (Sizes::Fixed(78 + 18 + 4), Some(78)));
    // Ethernet, IPv4, UDP and the probe fill 64 bytes.
    let s =
        stream(ethernet(json!({})), json!({"metrics": {"enable": true}, "size": {"fixed": 64}}));
    assert_eq!((s.sizes, s.template.probe_at), (Sizes::Fixed(64), Some(42)));
    let s = stream(json!([{"pfcpause": {}}]), probe.clone());
    assert_eq!((s.sizes, s.template.probe_at), (Sizes::Fixed(64), None));
    let plan = good(&with_flows(json!([flow(ethernet(json!({})), probe)])));
    let metrics = plan.flows[0].metrics;
    assert_eq!((metrics.enable, metrics.loss, metrics.timestamps), (true, true, false));
    assert_eq!(metrics.latency, Some(LatencyMode::CutThrough));
}

#[test]
fn a_latency_mode_that_is_not_measured_is_named() {
    let metrics = json!({"metrics": {"enable": true, "latency": {"enable": true}}});
    let config = with_flows(json!([flow(ethernet(json!({})), metrics)]));
    let (plan, warnings) = resolve(&model::parse(&config).unwrap()).unwrap();
    assert_eq!(plan.flows[0].metrics.latency, Some(LatencyMode::StoreForward));
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.starts_with("flows[0].metrics.latency.mode"), "{warning}");
    assert!(warning.contains("cut_through"), "{warning}");
}

#[test]
fn a_service_tag_that_a_port_does_not_keep_is_told() {
    let warned = |location: &str, ether_type: u16| {
        let ether = json!({"ether_type": {"value": ether_type}});
        let packet = json!([{"ethernet": ether}, {"vlan": {}}, {"ipv4": {}}, {"udp": {}}]);
        let mut config = with_flows(json!([flow(packet, json!({"size": {"fixed": 128}}))]));
        config["layer1"] = json!([]);
        config["ports"][1]["location"] = json!(location);
        let warnings = resolve(&model::parse(&config).unwrap()).unwrap().1;
        warnings.iter().any(|warning| warning.contains("service tag (88A8) as a customer tag"))
    };
    assert!(warned("iface:eth1", 0x88a8) && warned("net_af_packet0,iface=eth1", 0x88a8));
    assert!(!warned("iface:eth1", 0x8100) && !warned("0000:3b:00.0", 0x88a8));
}

#[test]
fn octets_take_the_time_of_the_line_that_is_known() {
    let gap = json!({"duration": {"burst": {"inter_burst_gap": {"bytes": 12500.0}}}});
    let mut config = with_flows(json!([flow(ethernet(json!({})), gap)]));
    config["layer1"] = json!([]);
    config["ports"][0]["location"] = json!("iface:eth1");
    let config = model::parse(&config).unwrap();
    let (plan, warnings) = resolve(&config).unwrap();
    assert!(warnings[0].contains("is taken at 10 Gb/s"), "{warnings:?}");
    let link = |_: &_| Some(BitsPerSec::gbps(100));
    let (known, warnings) = super::super::resolve_on(&config, &link).unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    let gap = |plan: &TestPlan| sent(&plan.flows[0]).pace.burst.unwrap().gap;
    assert_eq!(gap(&plan), Duration::from_micros(10));
    assert_eq!(gap(&known), Duration::from_micros(1));
}

/// Two devices on each of two ports: 10.0.0.1 and .3 on the first, .2 and 10.0.1.2 on the second.
fn devices() -> Value {
    let ethernet = |n: u8, port: &str, ip: &str, gateway: &str| {
        json!({"name": format!("e{n}"), "connection": {"port_name": port},
            "mac": format!("02:00:00:00:00:0{n}"),
            "ipv4_addresses": [{"name": format!("i{n}"), "address": ip, "gateway": gateway}]})
    };
    json!([
        {"name": "d1", "ethernets": [ethernet(1, "a", "10.0.0.1", "10.0.0.254")]},
        {"name": "d2", "ethernets": [ethernet(2, "b", "10.0.0.2", "10.0.0.254")]},
        {"name": "d3", "ethernets": [ethernet(3, "a", "10.0.0.3", "10.0.0.254")]},
        {"name": "d4", "ethernets": [ethernet(4, "b", "10.0.1.2", "10.0.1.254")]},
    ])
}

fn between_devices(router: Value, packet: Value) -> TestPlan {
    let mut config =
        with_flows(json!([{"name": "f", "tx_rx": {"device": router}, "packet": packet}]));
    config["devices"] = devices();
    good(&config)
}

#[test]
fn flows_between_devices_take_their_addresses() {
    let packet = ethernet(json!({}));
    let plan = between_devices(json!({"tx_names": ["i1"], "rx_names": ["i2"]}), packet.clone());
    assert_eq!((plan.flows[0].tx, &plan.flows[0].rx[..]), (0, &[1][..]));
    assert_eq!(plan.ports[0].interfaces.len(), 2);
    assert_eq!(plan.ports[0].mac, "02:00:00:00:00:01".parse::<Mac>().unwrap());
    let headers = &sent(&plan.flows[0]).template.headers;
    assert_eq!(headers[..12], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    assert_eq!(headers[26..34], [10, 0, 0, 1, 10, 0, 0, 2]);
    // Configured values take precedence.
    let said = json!([{"ethernet": {"dst": {"value": "02:00:00:00:00:99"}}},
        {"ipv4": {"src": {"value": "1.2.3.4"}}}]);
    let plan = between_devices(json!({"tx_names": ["i1"], "rx_names": ["i2"]}), said);
    let headers = &sent(&plan.flows[0]).template.headers;
    assert_eq!((headers[5], &headers[26..30]), (0x99, &[1, 2, 3, 4][..]));
}

#[test]
fn neighbours_that_nobody_knows_are_asked_for() {
    let router = json!({"tx_names": ["i1", "i3"], "rx_names": ["i4", "i2"]});
    let mut plan = between_devices(router, ethernet(json!({})));
    assert_eq!(plan.flows.len(), 1, "one port sends all of it");
    let flow = &mut plan.flows[0];
    let asked: Vec<_> = flow
        .resolve
        .iter()
        .map(|r| (r.at, r.nth, &r.interface[..], r.neighbour.to_string()))
        .collect();
    let gateway = || "10.0.0.254".to_owned();
    assert_eq!(asked, [(0, 0, "e1", gateway()), (0, 2, "e3", gateway())]);
    let list = |flow: &FlowPlan| match &sent(flow).template.edits[0] {
        Edit { at: 0, bits: 48, values: Values::List(list), .. } => list.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(list(flow), [0, 0x0200_0000_0002, 0, 0x0200_0000_0002]);
    flow.found(1, Mac([2, 0, 0, 0, 0, 0xaa]));
    flow.found(0, Mac([2, 0, 0, 0, 0, 0xbb]));
    assert_eq!(
        list(flow),
        [0x0200_0000_00bb, 0x0200_0000_0002, 0x0200_0000_00aa, 0x0200_0000_0002]
    );
    assert_eq!(sent(flow).template.headers[..6], [2, 0, 0, 0, 0, 0xbb]);
}

#[test]
fn a_flow_from_an_interfaces_address_goes_to_its_gateway() {
    let mut config = with_flows(json!([flow(
        ethernet(json!({"src": {"value": "02:00:00:00:00:01"}})),
        json!({})
    )]));
    config["devices"] = devices();
    let plan = good(&config);
    assert_eq!(plan.flows[0].resolve.len(), 1);
    // A gateway with a configured address is not resolved.
    config["devices"][0]["ethernets"][0]["ipv4_addresses"][0]["gateway_mac"] =
        json!({"value": "02:00:00:00:00:77"});
    let plan = good(&config);
    assert_eq!((plan.flows[0].resolve.len(), sent(&plan.flows[0]).template.headers[5]), (0, 0x77));
}

#[test]
fn both_directions_are_flows_of_one_name() {
    let packet = json!([{"ethernet": {}}, {"ipv4": {}},
        {"udp": {"src_port": {"value": 5}, "dst_port": {"value": 6}}}]);
    let router = json!({"tx_names": ["e1"], "rx_names": ["e2"], "bidirectional": true});
    let plan = between_devices(router, packet);
    let [there, back] = &plan.flows[..] else { panic!("two flows") };
    assert_eq!((&there.name, there.tx, back.tx), (&back.name, 0, 1));
    assert_ne!(there.id, back.id);
    let headers = &sent(back).template.headers;
    assert_eq!(headers[..12], [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    assert_eq!(headers[26..38], [10, 0, 0, 2, 10, 0, 0, 1, 0, 6, 0, 5]);
    let pairs = json!({"mode": "one_to_one", "tx_names": ["i1", "i2"], "rx_names": ["i2", "i1"]});
    let plan = between_devices(pairs, ethernet(json!({})));
    assert_eq!(plan.flows.iter().map(|f| f.tx).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn captures_say_which_frames_a_port_keeps() {
    let mut config = with_flows(json!([]));
    config["captures"] = json!([{"name": "c", "port_names": ["b"], "format": "pcapng",
        "packet_size": 128, "overwrite": false,
        "filters": [{"ethernet": {"ether_type": {"value": "8808", "mask": "ffff"}}},
                    {"ipv4": {"protocol": {"value": "11", "mask": "ff", "negate": true}}}]}]);
    let plan = good(&config);
    assert_eq!(plan.ports[0].capture, None);
    let capture = plan.ports[1].capture.as_ref().unwrap();
    assert_eq!((capture.format, capture.snap), (CaptureFormat::Pcapng, Some(128)));
    assert!(!capture.overwrite);
    let [kind, protocol] = &capture.filters[0][..] else { panic!("two conditions") };
    assert_eq!((kind.at, &kind.value[..], &kind.mask[..]), (12, &[0x88, 8][..], &[0xff, 0xff][..]));
    assert_eq!((protocol.at, protocol.negate), (9, true));
    assert_eq!(protocol.part, Part::Packet(EtherType::IPV4));
}

#[test]
fn captures_of_one_port_are_one_that_keeps_what_any_wants() {
    let captures = |first: Value, second: Value| {
        let mut config = with_flows(json!([]));
        let one = |name: &str, rest: &Value| {
            let mut capture = json!({"name": name, "port_names": ["b"]});
            capture.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            capture
        };
        config["captures"] = json!([one("c1", &first), one("c2", &second)]);
        good(&config).ports[1].capture.clone().unwrap()
    };
    let pauses = json!({"filters": [{"ethernet": {"ether_type": {"value": "8808"}}}]});
    assert_eq!(captures(pauses.clone(), pauses.clone()).filters.len(), 2);
    assert_eq!(captures(pauses.clone(), json!({})).filters.len(), 0);
    let snap = |n: u32| json!({"packet_size": n});
    assert_eq!(captures(snap(64), snap(128)).snap, Some(128));
    assert_eq!(captures(snap(64), json!({})).snap, None);
}

/// A connection from `i1` to `i2` in a client's form.
fn connection() -> Value {
    let peer = |n: u8, ip: &str, peer: &str| {
        json!({"ipv4_interfaces": [{"ipv4_name": ip, "peers": [{"name": format!("p{n}"),
            "destination_ip_address": peer, "qps": [{"qp_name": format!("q{n}"),
            "connection_type": {"reliable_connection": {"source_qp_number": 100 + u32::from(n)}}}]}]}]})
    };
    let mut config = with_flows(json!([]));
    config["devices"] = devices();
    config["devices"][0]["rocev2"] = peer(1, "i1", "10.0.0.2");
    config["devices"][1]["rocev2"] = peer(2, "i2", "10.0.0.1");
    config["stateful_flows"] = json!({"rocev2": [{"tx_ports": [{"port_name": "a",
        "transmit_type": {"target_line_rate": {"value": 50, "flows": [
            {"name": "r", "tx_endpoint": "q1", "rx_endpoint": "q2", "message_size_unit": "kb",
             "rocev2_verb": {"choice": "send"}}]}}}]}]});
    config
}

fn roce(plan: &TestPlan) -> &TransportPlan {
    match &plan.flows[0].kind {
        FlowKind::Roce(plan) => plan,
        FlowKind::Stream(_) => panic!("no connection"),
    }
}

#[test]
fn connections_have_the_addresses_and_numbers_of_their_queue_pairs() {
    let mut config = connection();
    let plan = good(&config);
    let c = roce(&plan);
    assert_eq!(
        (c.src_ip.to_string(), c.dst_ip.to_string()),
        ("10.0.0.1".into(), "10.0.0.2".into())
    );
    assert_eq!((c.src.0[5], c.dst.0[5], c.priority.get(), c.dscp.get()), (1, 2, 3, 24));
    assert_eq!((c.payload(), c.message.unwrap().bytes), (1024, 1000));
    // Half of 10 Gb/s, with preamble and inter-frame gap.
    let size = u64::from(c.size);
    assert_eq!(c.rate.unwrap().get(), 5_000_000_000 * size / (size + 20));
    let Transport::Roce(r) = &c.kind else { panic!("RoCE") };
    assert_eq!((r.src_qp.get(), r.dst_qp.get(), r.src_port), (101, 102, 49152));
    assert_eq!((r.operation, r.dcqcn, r.ack), (Operation::Send, None, None));
    // The receiver may be given by its port, or omitted.
    let flow = "/stateful_flows/rocev2/0/tx_ports/0/transmit_type/target_line_rate/flows/0";
    config.pointer_mut(flow).unwrap()["rx_endpoint"] = json!("b");
    assert_eq!(good(&config), plan);
    config.pointer_mut(flow).unwrap()["rx_endpoint"] = json!(null);
    assert_eq!(good(&config), plan);
}

#[test]
fn ports_say_how_connections_answer_and_react() {
    let mut config = connection();
    config["options"] = json!({"per_port_options": [
        {"port_name": "a", "protocols": [{"rocev2": {"dcqcn_settings": {
            "alpha_g": 1020, "initial_rate_after_first_cnp": 10, "minimum_rate_limmit": 1}}}]},
        {"port_name": "b", "protocols": [{"rocev2": {"cnp": {"ecn_value": "ect_0",
            "ip_dscp": {"value": 40}, "cnp_delay_timer": 4}}}]},
    ]});
    let plan = good(&config);
    let Transport::Roce(r) = &roce(&plan).kind else { panic!("RoCE") };
    let dcqcn = r.dcqcn.unwrap();
    assert!(dcqcn.is_sound());
    assert_eq!(f64::from(dcqcn.gain) / f64::from(1 << 20), 4.0 / 1024.0);
    assert_eq!(dcqcn.first_rate, BitsPerSec::new(1_000_000_000));
    assert_eq!(dcqcn.min_rate.get(), 100_000_000);
    assert_eq!((r.cnp.dscp.get(), r.cnp.priority.get()), (40, 5));
    assert_eq!(r.cnp_interval, Some(Duration::from_micros(4)));
}

#[test]
fn places_and_numbers_follow_the_configuration() {
    let a = flow(ethernet(json!({})), json!({}));
    let mut b = a.clone();
    b["name"] = json!("g");
    let plan = good(&with_flows(json!([a, b])));
    assert_eq!(plan.ports[1].location.place, Place::Ring { pair: "r".into(), end: 1 });
    assert_eq!(plan.flows.iter().map(|f| f.id.0).collect::<Vec<_>>(), [0, 1]);
    assert_ne!(sent(&plan.flows[0]).seed, sent(&plan.flows[1]).seed);
}

#[test]
fn what_a_client_writes_needs_no_word() {
    // Written by snappi 1.62.0: ports, layer 1, a capture, devices, a measured flow, a storm, and a
    // flow between devices.
    let config: Value = serde_json::from_str(include_str!("client.json")).unwrap();
    let plan = good(&config);
    let (a, b) = (&plan.ports[0], &plan.ports[1]);
    assert_eq!((a.obeys, b.obeys), (Obeys::Pfc(PrioritySet(0x18)), Obeys::Pfc(PrioritySet::ALL)));
    assert_eq!((a.pause_delay, a.rate), (Quanta(3), Some(BitsPerSec::gbps(10))));
    assert_eq!(a.interfaces[0].ipv4[0].0.to_string(), "10.0.0.1");
    assert!(a.capture.is_none() && b.capture.is_some());
    let [data, storm, devices] = &plan.flows[..] else { panic!("three flows") };
    assert_eq!((data.tx, &data.rx[..], sent(data).path), (0, &[1][..], priority(3)));
    assert_eq!(data.metrics.latency, Some(LatencyMode::CutThrough));
    assert_eq!((storm.tx, &storm.rx[..], sent(storm).path), (1, &[0][..], Path::Control));
    assert_eq!(sent(storm).template.headers[14..18], [1, 1, 0, 8]);
    assert_eq!(sent(devices).template.headers[..12], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
}

#[test]
fn flows_of_one_rate_are_spread_unless_their_start_is_said() {
    let packet = || ethernet(json!({}));
    let of = |rate: Value, duration: Value| {
        let flow =
            flow(packet(), json!({"rate": rate, "duration": duration, "size": {"fixed": 128}}));
        let mut flows = vec![flow; 4];
        flows.iter_mut().enumerate().for_each(|(n, flow)| flow["name"] = json!(format!("f{n}")));
        flows[3]["rate"] = json!({"pps": 7});
        let (plan, _) = resolved(&with_flows(json!(flows))).unwrap();
        let delay = |flow| sent(flow).delay.as_picos();
        plan.flows.iter().map(delay).collect::<Vec<_>>()
    };
    let third = 1_000_000_000 / 3;
    let spread = [0, third, 2 * third, 0];
    assert_eq!(of(json!({"pps": 1_000}), json!({"continuous": {}})), spread);
    assert_eq!(of(json!({"pps": 1_000}), json!({"fixed_packets": {"packets": 5}})), spread);
    assert_eq!(of(json!({"bps": 1_024_000}), json!({"fixed_seconds": {"seconds": 1.0}})), spread);
    let at_once = json!({"continuous": {"delay": {"nanoseconds": 0.0}}});
    assert_eq!(of(json!({"pps": 1_000}), at_once), [0; 4]);
    let bursts = json!({"burst": {"packets": 2}});
    assert_eq!(of(json!({"pps": 1_000}), bursts), [0; 4], "bursts are meant as they are");
}
