//! Frames of flows in OTG compared with scapy, which makes the same frames from the same fields,
//! and with tshark, which finds no fault in those that are meant to be valid.

use serde_json::{Map, Value, json};
use sluice::host::plan::stream::{Path, Sizes};
use sluice::otg::{model, resolve::resolve};
use sluice::port::CONTROL_FRAME_MAX;
use sluice::tester::plan::FlowKind;

use crate::judges::{faulted, hex, missing, python, scapy};
use crate::wire_frames::Rng;

/// Frames of each kind that a judge reads.
const EACH: usize = 20;
/// Seed of all of them: a fixed one, so that a judgement can be repeated.
const SEED: u64 = 8808;

/// A field that may be set: its name and the greatest value, or the kind of its address.
#[derive(Clone, Copy)]
enum Said {
    Number(&'static str, u64),
    /// With a least value, too.
    Between(&'static str, u64, u64),
    Mac(&'static str),
    Ip4(&'static str),
    Ip6(&'static str),
}
use Said::{Between, Ip4, Ip6, Mac, Number};

const ETHERNET: &[Said] = &[Mac("dst"), Mac("src"), Number("pfc_queue", 7)];
const VLAN: &[Said] = &[Number("priority", 7), Number("cfi", 1), Number("id", 4094)];
const IPV4: &[Said] = &[
    Number("identification", 65_535),
    Number("dont_fragment", 1),
    // tshark notes lower hop limits.
    Between("time_to_live", 5, 255),
    Ip4("src"),
    Ip4("dst"),
];
const IPV6: &[Said] = &[
    Number("traffic_class", 255),
    Number("flow_label", 0xf_ffff),
    Number("hop_limit", 255),
    Ip6("src"),
    Ip6("dst"),
];
const UDP: &[Said] = &[Number("src_port", 65_535), Number("dst_port", 65_535)];
const TCP: &[Said] = &[
    Number("dst_port", 65_535),
    Number("seq_num", 0xffff_ffff),
    Number("ecn_cwr", 1),
    Number("ecn_echo", 1),
    Number("ctl_psh", 1),
];
const ARP: &[Said] = &[
    Number("operation", 2),
    Mac("sender_hardware_addr"),
    Ip4("sender_protocol_addr"),
    Mac("target_hardware_addr"),
    Ip4("target_protocol_addr"),
];
const PFC: &[Said] = &[
    Mac("src"),
    Number("class_enable_vector", 255),
    Number("pause_class_0", 65_535),
    Number("pause_class_3", 65_535),
    Number("pause_class_4", 65_535),
    Number("pause_class_7", 65_535),
];
const PAUSE: &[Said] = &[Mac("src"), Number("time", 65_535)];

/// Fields that make frames invalid, by header.
const WRONG: &[(&str, &[Said])] = &[
    ("ethernet", &[Number("ether_type", 65_535)]),
    ("vlan", &[Number("tpid", 65_535), Number("id", 4095)]),
    (
        "ipv4",
        &[
            Number("version", 15),
            Number("header_length", 15),
            Number("total_length", 65_535),
            Number("reserved", 1),
            Number("more_fragments", 1),
            Number("fragment_offset", 8191),
            Number("protocol", 255),
            Number("time_to_live", 4),
        ],
    ),
    (
        "ipv6",
        &[Number("version", 15), Number("payload_length", 65_535), Number("next_header", 255)],
    ),
    ("udp", &[Number("length", 65_535)]),
    ("tcp", &[Number("data_offset", 15), Number("window", 9), Number("ctl_syn", 1)]),
    ("arp", &[Number("operation", 65_535)]),
    (
        "pfcpause",
        &[
            Mac("dst"),
            Number("ether_type", 65_535),
            Number("control_op_code", 65_535),
            Number("class_enable_vector", 65_535),
        ],
    ),
    ("ethernetpause", &[Mac("dst"), Number("control_op_code", 65_535)]),
];

/// Stacks of headers that are judged.
const STACKS: &[&[(&str, &[Said])]] = &[
    &[("ethernet", ETHERNET), ("ipv4", IPV4), ("udp", UDP)],
    &[("ethernet", ETHERNET), ("ipv4", IPV4), ("tcp", TCP)],
    &[("ethernet", ETHERNET), ("vlan", VLAN), ("ipv4", IPV4), ("udp", UDP)],
    &[("ethernet", ETHERNET), ("vlan", VLAN), ("vlan", VLAN), ("ipv6", IPV6), ("tcp", TCP)],
    &[("ethernet", ETHERNET), ("ipv6", IPV6), ("udp", UDP)],
    &[("ethernet", ETHERNET), ("ipv6", IPV6), ("ipv4", IPV4), ("udp", UDP)],
    &[("ethernet", ETHERNET), ("arp", ARP)],
    &[("ethernet", ETHERNET), ("vlan", VLAN), ("arp", ARP)],
    &[("pfcpause", PFC)],
    &[("ethernetpause", PAUSE)],
];

/// A number up to `max`, often one of both ends.
fn number(rng: &mut Rng, max: u64) -> u64 {
    match rng.next() % 4 {
        0 => 0,
        1 => max,
        _ => rng.next() % (max + 1),
    }
}

/// A value for a field.
fn value(rng: &mut Rng, said: Said) -> (&'static str, Value) {
    match said {
        Number(name, max) => (name, json!(number(rng, max))),
        Between(name, min, max) => (name, json!(min + number(rng, max - min))),
        Mac(name) => {
            let n = rng.next().to_be_bytes();
            // A unicast address, which tshark accepts as a source.
            (name, json!(format!("02:{:02x}:{:02x}:{:02x}:{:02x}:01", n[0], n[1], n[2], n[3])))
        }
        Ip4(name) => {
            let n = rng.next().to_be_bytes();
            (name, json!(format!("10.{}.{}.{}", n[0], n[1], n[2])))
        }
        Ip6(name) => (name, json!(format!("2001:db8::{:x}", rng.next() as u16))),
    }
}

/// A header with about half of `fields` set, and all of `also`.
fn header(rng: &mut Rng, name: &str, fields: &[Said], also: &[Said]) -> Value {
    let mut said = Map::new();
    if name == "tcp" {
        // OTG's default, 0, is a window that tshark notes, as it does data of a connection again.
        said.insert("window".into(), json!({"value": 1 + rng.next() % 65_535}));
        said.insert("src_port".into(), json!({"value": 1 + rng.next() % 65_535}));
    }
    let some: Vec<Said> = fields.iter().copied().filter(|_| rng.next() % 2 == 0).collect();
    for field in some.iter().chain(also) {
        let (field, value) = value(rng, *field);
        said.insert(field.into(), json!({"value": value}));
    }
    if name == "ipv4" {
        said.extend(priority(rng));
    }
    json!({ name: said })
}

/// One of the forms of DSCP and ECN, or none.
fn priority(rng: &mut Rng) -> Option<(String, Value)> {
    let mut n = |max: u64| json!({"value": number(rng, max)});
    let said = match n(3)["value"].as_u64() {
        Some(0) => json!({"raw": n(255)}),
        Some(1) => json!({"dscp": {"phb": n(63), "ecn": n(3)}}),
        Some(2) => json!({"tos": {"precedence": n(7), "delay": n(1), "unused": n(1)}}),
        _ => return None,
    };
    Some(("priority".into(), said))
}

/// First frame of a flow with this packet, without FCS, and its path.
fn frame(packet: &Value, size: u64) -> (Vec<u8>, Path) {
    let config = json!({
        "ports": [{"name": "a", "location": "ring:r.a"}],
        "flows": [{
            "name": "f",
            "tx_rx": {"port": {"tx_name": "a"}},
            "packet": packet,
            "size": {"fixed": size},
        }],
    });
    let config = model::parse(&config).expect("a configuration");
    let (mut plan, _) = resolve(&config).unwrap_or_else(|e| panic!("{packet}: {e}"));
    let FlowKind::Stream(stream) = plan.flows.remove(0).kind else { panic!("no stream") };
    assert_eq!(stream.sizes, Sizes::Fixed(size as u32));
    assert!(stream.template.edits.is_empty());
    let mut frame = stream.template.headers;
    frame.resize(size as usize - 4, 0);
    (frame, stream.path)
}

/// Scapy's frames for the same packets; none if it is not installed.
fn by_scapy(asked: &[(Value, u64)]) -> Option<Vec<String>> {
    let lines = asked.iter().map(|(packet, size)| json!({"packet": packet, "size": size}));
    let input: String = lines.map(|line| format!("{line}\n")).collect();
    Some(scapy(python()?, "otg_judge.py", &[], &input))
}

/// Asserts that each frame equals scapy's byte for byte.
fn agree(asked: &[(Value, u64)]) {
    let Some(theirs) = by_scapy(asked) else { return missing("scapy") };
    assert_eq!(theirs.len(), asked.len());
    for ((packet, size), theirs) in asked.iter().zip(theirs) {
        let ours = hex(&frame(packet, *size).0);
        assert_eq!(ours, theirs, "seed {SEED}, {size} octets: {packet}");
    }
}

/// Packets of all stacks in which about half of the fields are set.
fn right() -> Vec<(Value, u64)> {
    let mut rng = Rng(SEED);
    let mut asked = Vec::new();
    for stack in STACKS.iter().flat_map(|s| core::iter::repeat_n(s, EACH)) {
        let packet = stack.iter().map(|(name, fields)| header(&mut rng, name, fields, &[]));
        let packet: Value = packet.collect();
        // Frames of MAC control have separate memory, which is for short ones.
        let most = if packet[0]["ethernet"].is_null() { CONTROL_FRAME_MAX } else { 1518 };
        asked.push((packet, 100 + rng.next() % (u64::from(most) - 99)));
    }
    asked
}

#[test]
fn what_is_said_is_in_the_frame_and_the_rest_is_right() {
    agree(&right());
}

#[test]
fn what_is_wrong_is_sent_as_it_is_said() {
    let mut rng = Rng(SEED);
    let mut asked = Vec::new();
    for stack in STACKS.iter().flat_map(|s| core::iter::repeat_n(s, EACH)) {
        let at = rng.next() as usize % stack.len();
        let packet = stack.iter().enumerate().map(|(i, (name, fields))| {
            let all = WRONG.iter().find(|w| w.0 == *name && i == at).map_or(&[][..], |w| w.1);
            let one = rng.next() as usize % all.len().max(1);
            header(&mut rng, name, fields, all.get(one..=one).unwrap_or_default())
        });
        let packet: Value = packet.collect();
        // Scapy uses these fields as given for its checksums, or for the place of the next header;
        // here a checksum is over the correct values.
        const TAKEN: [&str; 7] = [
            "\"protocol\"",
            "next_header",
            "total_length",
            "payload_length",
            "header_length",
            "data_offset",
            "fragment_offset",
        ];
        let said = packet.to_string();
        if TAKEN.iter().any(|f| said.contains(f)) {
            continue;
        }
        asked.push((packet, 100));
    }
    assert!(asked.len() > 60, "{}", asked.len());
    agree(&asked);
}

#[test]
fn custom_checksums_and_octets_are_sent_as_they_are() {
    agree(&[
        (
            json!([
                {"ethernet": {}},
                {"ipv4": {"header_checksum": {"custom": 4660}}},
                {"udp": {"checksum": {"custom": 0}}}
            ]),
            64,
        ),
        (json!([{"ethernet": {}}, {"ipv6": {}}, {"tcp": {"checksum": {"custom": 65535}}}]), 90),
        (json!([{"ethernet": {}}, {"vlan": {}}, {"custom": {"bytes": "0x88:08 0101"}}]), 64),
        (json!([{"custom": {"bytes": "0180c2000001 020000000001 8808 0101 0008"}}]), 64),
    ]);
}

#[test]
fn tshark_finds_nothing_wrong_with_right_frames() {
    let right: Vec<_> = right().iter().map(|(p, size)| ("frame", frame(p, *size).0)).collect();
    let Some(lines) = faulted("otg_right.pcap", &right) else { return missing("tshark") };
    assert!(lines.is_empty(), "seed {SEED}: {lines:#?}");
}

#[test]
fn tshark_finds_every_checksum_that_is_meant_to_be_bad() {
    let bad = json!({"generated": "bad"});
    let packets = [
        json!([{"ethernet": {}}, {"ipv4": {"header_checksum": bad}}, {"udp": {}}]),
        json!([{"ethernet": {}}, {"ipv4": {}}, {"udp": {"checksum": bad}}]),
        json!([{"ethernet": {}}, {"ipv4": {}}, {"tcp": {"checksum": bad}}]),
        json!([{"ethernet": {}}, {"ipv6": {}}, {"tcp": {"checksum": bad}}]),
    ];
    let frames: Vec<_> = packets.iter().map(|p| ("bad", frame(p, 100).0)).collect();
    let Some(lines) = faulted("otg_bad.pcap", &frames) else { return missing("tshark") };
    assert_eq!(lines.len(), packets.len(), "{lines:#?}");
}

#[test]
fn wrong_pauses_take_the_way_of_control_frames() {
    for packet in [
        json!([{"pfcpause": {"ether_type": {"value": 0x0800}}}]),
        json!([{"ethernetpause": {"control_op_code": {"value": 9}}}]),
        json!([{"custom": {"bytes": "0180c2000001020000000001880801010008"}}]),
        json!([{"custom": {"bytes": "02000000000202000000000181006003880801010008"}}]),
        json!([{"ethernet": {}}, {"vlan": {"tpid": {"value": 0x8808}}}, {"custom": {"bytes": "0101"}}]),
        json!([{"ethernet": {"ether_type": {"value": 0x8808}}}]),
    ] {
        assert_eq!(frame(&packet, 64).1, Path::Control, "{packet}");
    }
    for packet in [
        json!([{"ethernet": {}}]),
        json!([{"custom": {"bytes": "0180c2000001 020000000001 0800"}}]),
        json!([{"ethernet": {}}, {"ipv4": {}}, {"custom": {"bytes": "8808"}}]),
    ] {
        assert!(matches!(frame(&packet, 64).1, Path::Data(_)), "{packet}");
    }
}
