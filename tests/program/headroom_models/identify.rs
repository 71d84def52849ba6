//! `sluice headroom identify`: the readings of a peer, from a capture of its messages.

use sluice::time::{Duration, Instant};
use sluice::units::Mac;
use sluice::wire;
use sluice::wire::headroom::{
    Adjustment, Compensation, Dialect, KindCodes, LengthField, Message, PduLength, Repr, Request,
    Response, TimeUnit,
};
use text::packets::{Packet, Pcap};

use super::{file, json, refused, sluice};

/// A capture of three requests and their responses, 1 ms apart, in one dialect. The first packet is
/// of another protocol.
fn capture(name: &str, dialect: &Dialect, damaged: bool) -> String {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut file = Pcap::new(std::fs::File::create(&path).unwrap(), false).unwrap();
    let mut packet = |at, octets: &[u8]| {
        file.packet(&Packet { at, octets, len: octets.len() as u32 }).unwrap();
    };
    packet(std::time::Duration::ZERO, &[0; 60]);
    let [asks, answers] = [1, 2].map(|n| Mac([2, 0, 0, 0, 0, n]));
    for psn in 0..3_u8 {
        let since = std::time::Duration::from_micros(1 + u64::from(psn) * 1_000);
        let clock = |hours: u64| {
            let since = Duration::from_nanos(since.as_nanos() as u64);
            dialect.stamp(Instant::ZERO + Duration::from_secs(3_600 * hours) + since)
        };
        let (t1, t2, t3) = (clock(1), clock(50), clock(50));
        let compensation = Adjustment::from_nanos(-7);
        let response = Response { t1, t2, t3, psn, compensation };
        for (src, message) in
            [(asks, Message::Request(Request { t1, psn })), (answers, Message::Response(response))]
        {
            let mut octets = vec![0; dialect.frame_len()];
            let repr = Repr { src, dst: wire::headroom::DESTINATION, message };
            repr.emit(&mut octets, dialect).unwrap();
            if damaged && psn == 2 {
                octets[16] = 255;
            }
            packet(since, &octets);
        }
    }
    format!("identify {}", path.display())
}

#[test]
fn the_readings_of_a_foreign_peer_are_found_in_a_capture() {
    let dialect = Dialect {
        kind: KindCodes::Numbers,
        length: LengthField::Rest,
        unit: TimeUnit::Picoseconds,
        pdu: PduLength::padded(70).unwrap(),
        compensation: Compensation::InResponse,
        ..Dialect::default()
    };
    let found = json(&capture("foreign.pcap", &dialect, false));
    assert_eq!((&found["verdict"], found["peers"].as_array().unwrap().len()), (&"pass".into(), 2));
    let responder = &found["peers"][1];
    assert_eq!(
        (&responder["mac"], &responder["messages"]),
        (&"02:00:00:00:00:02".into(), &3.into())
    );
    let arguments = responder["arguments"].as_str().unwrap();
    for part in
        ["--kinds numbers", "--length rest", "--times ps", "--pdu 70", "--compensation response"]
    {
        assert!(arguments.contains(part), "{part} in {arguments}");
    }
    // Nothing was piggybacked.
    assert_eq!(responder["parts"][3]["state"], "open");
    let out = sluice(&capture("damaged.pcap", &dialect, true));
    let text = String::from_utf8(out.stdout).unwrap();
    assert_eq!(out.status.code(), Some(1), "{text}");
    assert!(text.contains("3 messages, of which 1 fit no reading"), "{text}");
    let path = file("text.pcap", "no capture at all, but long enough for its header");
    refused(&format!("identify {path}"), &[]);
}

#[test]
fn a_capture_that_ends_within_a_packet_is_read_up_to_there() {
    let command = capture("cut.pcap", &Dialect::default(), false);
    let path = command.strip_prefix("identify ").unwrap();
    let octets = std::fs::read(path).unwrap();
    std::fs::write(path, &octets[..octets.len() - 3]).unwrap();
    let found = json(&command);
    let messages: Vec<_> =
        found["peers"].as_array().unwrap().iter().map(|p| &p["messages"]).collect();
    assert_eq!(messages, [3, 2]);
    let said = String::from_utf8(sluice(&command).stderr).unwrap();
    assert!(said.contains("after 6 whole packets"), "{said}");
}
