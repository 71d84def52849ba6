//! Headers of congestion messages and of measurements, judged by the parsers of their formats.

use super::*;
use ground::time::Duration;
use ground::units::{Dscp, Mac, Priority};
use host::plan::stream::Sizes;
use wire::sfcm::{self, Form, Locator};
use wire::{EtherType, WireError, cim, cnm, headroom};

/// Returns the shortest frame of a flow without FCS.
fn frame(packet: Value, more: Value) -> Vec<u8> {
    let stream = stream(packet, more);
    let Sizes::Fixed(size) = stream.sizes else { panic!("{:?}", stream.sizes) };
    let mut frame = stream.template.headers.clone();
    let rest = size as usize - 4 - frame.len();
    frame.extend((0..rest).map(|n| stream.template.payload.octet(n)));
    frame
}

/// Returns the EtherType of a frame and the octets behind it.
fn split(frame: &[u8]) -> (EtherType, &[u8]) {
    (EtherType(u16::from_be_bytes([frame[12], frame[13]])), &frame[14..])
}

fn ip4() -> Value {
    json!({"ipv4": {"src": {"value": "10.0.0.2"}, "dst": {"value": "10.0.0.1"}}})
}

/// A message to 10.0.0.1, whose flow to 10.0.0.2 congests.
fn sfcm4(fields: Value) -> Value {
    let mut header = json!({
        "locator": {"value": 1}, "pcp": {"value": 3}, "dscp": {"value": 26},
        "pause": {"value": 100_000},
        "flow": {"ipv4": {"src": {"value": "10.0.0.1"}, "dst": {"value": "10.0.0.2"},
                          "src_port": {"value": 7}, "dst_port": {"value": 4791}}},
    });
    header.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    json!([{"ethernet": {}}, ip4(), {"udp": {}}, {"sfcm": header}])
}

#[test]
fn a_simplified_message_has_every_field() {
    let frame = frame(sfcm4(json!({})), json!({}));
    let (ethertype, packet) = split(&frame);
    let repr = sfcm::Repr::parse(ethertype, packet).unwrap();
    assert_eq!(repr.headers.dst_port, sfcm::PORT_DEFAULT);
    let message = repr.message;
    assert_eq!(message.pause, Duration::from_micros(100));
    assert_eq!((message.priority, message.dscp), (Priority::ALL[3], Dscp::new(26).unwrap()));
    assert_eq!(message.locator, Locator::Incast);
    let flow = message.flow().unwrap();
    assert_eq!(flow.to_string(), "udp 10.0.0.1 port 7 > 10.0.0.2 port 4791");
    let mut v6 = sfcm4(json!({"flow": {"ipv6": {"src": {"value": "fd00::1"},
                                                 "dst": {"value": "fd00::2"}}}}));
    v6[1] = json!({"ipv6": {"src": {"value": "fd00::2"}, "dst": {"value": "fd00::1"}}});
    let frame = self::frame(v6, json!({}));
    let (ethertype, packet) = split(&frame);
    assert!(sfcm::Repr::parse(ethertype, packet).unwrap().message.flow().unwrap().src.is_ipv6());
}

#[test]
fn an_encapsulated_message_quotes_the_headers_that_follow() {
    let mut packet = sfcm4(json!({"flow": {"msdu": {}}}));
    let list = packet.as_array_mut().unwrap();
    list.push(json!({"ipv4": {"src": {"value": "10.0.0.1"}, "dst": {"value": "10.0.0.2"}}}));
    list.push(json!({"udp": {"src_port": {"value": 7}, "dst_port": {"value": 4791}}}));
    let frame = frame(packet, json!({"size": {"fixed": 120}}));
    let (ethertype, octets) = split(&frame);
    let message = sfcm::Repr::parse(ethertype, octets).unwrap().message;
    assert!(matches!(message.form, Form::Encapsulated(msdu) if msdu.len() == 64), "{message:?}");
    assert_eq!(message.flow().unwrap().dst_port, 4791);
}

#[test]
fn messages_can_be_wrong_on_purpose() {
    for (fields, why) in [
        (json!({"version": {"value": 1}}), WireError::BadVersion),
        (json!({"form": {"value": 2}}), WireError::BadOpcode),
        (json!({"length": {"value": 13}}), WireError::BadLength),
        (json!({"length": {"value": 15}}), WireError::Truncated),
        (json!({"flow": {"ipv4": {"src": {"value": "10.0.0.3"}}}}), WireError::BadAddress),
    ] {
        let frame = frame(sfcm4(fields.clone()), json!({}));
        let (ethertype, packet) = split(&frame);
        assert_eq!(sfcm::Repr::parse(ethertype, packet).err(), Some(why), "{fields}");
    }
    // Trailing octets are not part of a message.
    let frame = frame(sfcm4(json!({})), json!({"size": {"fixed": 80}}));
    let (ethertype, packet) = split(&frame);
    assert_eq!(sfcm::Repr::parse(ethertype, packet).err(), Some(WireError::BadLength));
}

#[test]
fn isolation_messages_go_over_ethernet_and_udp() {
    let header = json!({"cim": {"destination_address": {"value": "02:00:00:00:00:02"},
                                "source_address": {"value": "02:00:00:00:00:01"},
                                "vlan_identifier": {"value": 7}}});
    let quoted = json!({"ipv4": {"src": {"value": "10.0.0.1"}, "dst": {"value": "10.0.0.2"}}});
    let udp = json!({"udp": {"src_port": {"value": 50_000}, "dst_port": {"value": 50_000}}});
    let l2 = json!([{"ethernet": {}}, header, quoted, {"udp": {}}]);
    let l3 = json!([{"ethernet": {}}, ip4(), udp, header, quoted, {"udp": {}}]);
    for (packet, l3) in [(l2, false), (l3, true)] {
        let frame = frame(packet, json!({"size": {"fixed": 150}}));
        let (ethertype, octets) = split(&frame);
        let repr = cim::Repr::parse(ethertype, octets, &cim::Dialect::default()).unwrap();
        assert_eq!(matches!(repr.encapsulation, cim::Encapsulation::Udp(_)), l3);
        assert!(repr.add && repr.dst == "02:00:00:00:00:02".parse::<Mac>().unwrap());
        assert_eq!(repr.vid.unwrap().get(), 7);
        assert_eq!(repr.flow().unwrap().src.to_string(), "10.0.0.1");
    }
}

#[test]
fn notifications_and_measurements_are_read_back() {
    let packet = json!([
        {"ethernet": {}},
        {"cnm": {"feedback": {"value": 63}, "cpid_queue": {"value": 3}, "q_offset": {"value": 65_535},
                 "priority": {"value": 3}}},
        {"ipv4": {}}, {"udp": {}}
    ]);
    let octets = frame(packet, json!({}));
    let (ethertype, octets) = split(&octets);
    let repr = cnm::Repr::parse(ethertype, octets).unwrap();
    assert_eq!((repr.feedback, repr.q_offset, repr.priority), (63, -1, Priority::ALL[3]));
    let packet = json!([
        {"ethernet": {"dst": {"value": "01:80:c2:00:00:0e"}}},
        {"headroom": {"t1": {"value": 77}, "psn": {"value": 9}}}
    ]);
    let octets = frame(packet, json!({}));
    let repr = headroom::Repr::parse(&octets, &headroom::Dialect::default()).unwrap();
    let headroom::Message::Request(request) = repr.message else { panic!("{repr:?}") };
    assert_eq!((request.t1, request.psn), (77, 9));
}
