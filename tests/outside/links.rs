//! tshark judges the messages that stay on their link.
//!
//! If it is not installed a test reports that and passes, except in CI (`CI=true`), where a missing
//! judge is a failure. No dissector knows the headroom measurement message: its proposal has no
//! public code.

use sluice::wire::ptp;

use crate::judges::{faulted, missing, tshark};
use crate::wire_frames::{self, LINK_KINDS, Rng};

/// Seed of all frames: a fixed one, so that a judgement can be repeated.
const SEED: u64 = 1588;

/// Frames of every kind, 25 each.
fn our_frames() -> Vec<(&'static str, Vec<u8>)> {
    let mut rng = Rng(SEED);
    let all = LINK_KINDS.into_iter().flat_map(|kind| [kind; 25]);
    all.map(|kind| (kind, wire_frames::link_frame(kind, &mut rng))).collect()
}

#[test]
fn tshark_decodes_them_without_a_warning() {
    let Some(lines) = faulted("links.pcap", &our_frames()) else { return missing("tshark") };
    assert!(lines.is_empty(), "seed {SEED}: {lines:#?}");
}

#[test]
fn tshark_names_the_ethertype_of_measurements() {
    let mut frames = our_frames();
    frames.retain(|(kind, _)| kind.starts_with("headroom"));
    let args = ["-T", "fields", "-e", "eth.type", "-e", "eth.dst"];
    let Some(lines) = tshark("measurements.pcap", &frames, &args) else {
        return missing("tshark");
    };
    assert_eq!(lines.len(), frames.len());
    assert!(lines.iter().all(|l| l == "0x89a2\t01:80:c2:00:00:0e"), "{lines:#?}");
}

#[test]
fn tshark_reads_in_peer_delay_messages_what_we_put_there() {
    let mut frames = our_frames();
    frames.retain(|(kind, _)| kind.starts_with("pdelay"));
    let fields = "messagetype majorsdoid versionptp minorversionptp messagelength domainnumber \
        flags.twostep correction.ns correction.subns clockidentity sourceportid sequenceid \
        pdrs.requestreceipttimestamp.seconds pdrs.requestreceipttimestamp.nanoseconds \
        pdrs.requestingportidentity pdfu.responseorigintimestamp.seconds \
        pdfu.responseorigintimestamp.nanoseconds pdfu.requestingportidentity";
    let names: Vec<_> = fields.split_whitespace().map(|f| format!("ptp.v2.{f}")).collect();
    let mut args = vec!["-T", "fields", "-E", "separator=;"];
    args.extend(names.iter().flat_map(|f| ["-e", f]));
    let Some(lines) = tshark("peer-delay.pcap", &frames, &args) else { return missing("tshark") };
    assert_eq!(lines.len(), frames.len());
    for ((kind, frame), line) in frames.iter().zip(&lines) {
        let message = ptp::Repr::parse(frame).unwrap().message;
        assert_eq!(line, &words(&message), "{kind}, seed {SEED}");
    }
}

/// Message in the text of tshark.
fn words(m: &ptp::Message) -> String {
    let clock = |id: ptp::PortIdentity| format!("{:#018x}", u64::from_be_bytes(id.clock));
    let time = |t: ptp::Timestamp, id| format!("{};{};{}", t.seconds, t.nanos, clock(id));
    let (kind, times) = match m.body {
        ptp::Body::PdelayReq => (2, ";;;;;".to_owned()),
        ptp::Body::PdelayResp { receipt, requesting } => (3, time(receipt, requesting) + ";;;"),
        ptp::Body::PdelayRespFollowUp { origin, requesting } => {
            (10, ";;;".to_owned() + &time(origin, requesting))
        }
        ptp::Body::Other(kind) => panic!("nobody made a message of type {kind}"),
    };
    // tshark shows negative nanoseconds as unsigned.
    let (ns, rest) = ((m.correction.0 >> 16) as u64, (m.correction.0 & 0xffff) as f64 / 65_536.0);
    let (source, port) = (clock(m.source), m.source.port);
    format!(
        "{kind:#04x};{:#04x};2;1;54;{};{};{ns};{rest};{source};{port};{};{times}",
        m.major_sdo_id,
        m.domain,
        u8::from(m.two_step),
        m.sequence,
    )
}
